//! Links that break a rule for links with errors ([`weft_config::link_rules`]): which of them are taken out of use,
//! and for how long.
//!
//! | module | contents |
//! |---|---|
//! | here | verdicts, from what was measured, the rules and the time |
//! | `fabric` | what of it the fabric allows, and its effects |
//!
//! A link out of use cannot be measured like one that carries data: it comes back when its time is over, which
//! doubles with each offence, and is judged again when a whole window has passed since. How much is out of use is
//! bounded; what the bounds keep in use is told, once.

mod fabric;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_config::link_rules::{Action, Hold, Hosts, LinkRules};
use weft_fabric::Tick;
use weft_state::State;

use super::port_change::End;
use crate::io::{Spared, Standing};
use crate::link_errors::{LinkExcess, TOLD_MAX};

/// The time for which links are counted that were taken out of use.
const HOUR: Duration = Duration::from_secs(3600);
/// Offences of links in use are remembered so long at least: as long as the longest window.
const REMEMBERED: Duration = Duration::from_secs(86_400);
/// Most links whose offences are remembered; beyond, those longest in use again are forgotten.
const OFFENDERS_MAX: usize = 16_384;
/// Time between two looks whether the fabric can do without a link that was kept in use.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Looks at the fabric for one reading of the counters.
const LOOKS_MAX: u32 = 4;

/// What the fabric says about a link that is to be taken out of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It can do without it.
    Fits,
    /// The link is gone, or out of use for another reason.
    Out,
    /// It cannot.
    Kept(Spared),
}

/// A link that was taken out of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(crate) struct Offender {
    /// What it was taken out of use for.
    pub excess: LinkExcess,
    /// Offences in a row; 0 when an operator has forgiven them.
    pub offences: u32,
    pub since: Tick,
    /// Until when it is out of use; none when it is in use again.
    pub until: Option<Tick>,
    /// Since when it is in use again.
    pub returned: Tick,
}

/// A link that breaks a rule and stays in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
struct Noted {
    excess: LinkExcess,
    standing: Standing,
    since: Tick,
    /// When the fabric was last looked at for it.
    looked: Option<Tick>,
}

/// Why a verdict is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum OverReason {
    /// The link was out of use for its time.
    Time,
    /// An operator has released it.
    ByHand,
    /// The rules are not what they were.
    Rules,
    /// The link, which stayed in use, is below half of its limit, or gone.
    Below,
}

impl fmt::Display for OverReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "its time is over",
            Self::ByHand => "it was released by hand",
            Self::Rules => "the rules have changed",
            Self::Below => "it is well below the limit again, or gone",
        })
    }
}

/// A change that people want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
enum News {
    /// A link breaks a rule, for the first time since it was last below.
    Verdict {
        excess: LinkExcess,
        standing: Standing,
        /// For how long it is out of use, and how often that has happened in a row.
        hold: Duration,
        offences: u32,
    },
    /// That is over.
    Over {
        excess: LinkExcess,
        was_out: bool,
        why: OverReason,
    },
}

/// Links that break a rule, by the lower of their ends.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Isolation {
    offenders: BTreeMap<End, Offender>,
    noted: BTreeMap<End, Noted>,
    /// When links were taken out of use, within the last hour.
    taken: VecDeque<Tick>,
    /// When they would have been.
    dry_taken: VecDeque<Tick>,
    news: Vec<News>,
    /// What an earlier run has left is not compared with the time yet.
    is_restored: bool,
}

/// What outlasts a restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeptIsolation {
    pub offenders: Vec<Offender>,
    pub taken: Vec<Tick>,
}

impl Offender {
    /// How long a link is out of use at its offence of this number, from 1.
    fn hold(hold: &Hold, offences: u32) -> Duration {
        let doublings = offences.saturating_sub(1).min(31);
        hold.first.saturating_mul(1 << doublings).min(hold.most)
    }
}

/// Whether links of hosts may be taken out of use at a time.
fn hosts_may(hosts: Hosts, now: Tick) -> bool {
    hosts.may(now.0 / 1_000_000_000)
}

impl Isolation {
    /// Judges the links that break a rule at a moment; `fit` says what the fabric says about one more.
    fn judge(
        &mut self,
        now: Tick,
        all: &[LinkExcess],
        rules: &LinkRules,
        mut fit: impl FnMut(&Self, &LinkExcess) -> Fit,
    ) {
        self.forget(now, rules);
        let mut looks = 0;
        for excess in all {
            self.refresh(excess);
        }
        let mut judged = BTreeSet::new();
        let mut over: Vec<&LinkExcess> = all.iter().filter(|excess| excess.is_over).collect();
        // Those that the fabric was not looked at for come first, then those for which that is longest ago.
        over.sort_by_key(|excess| self.looked(excess));
        for excess in over {
            if judged.contains(&excess.link()) {
                continue;
            }
            let Some(is_dry) = self.is_judged(now, excess, rules) else {
                continue;
            };
            judged.insert(excess.link());
            if let Some(spared) = self.beyond(is_dry, rules) {
                self.note(now, excess, Standing::Spared(spared), false);
                continue;
            }
            if looks == LOOKS_MAX || !self.is_due(now, excess) {
                continue;
            }
            let fit = fit(self, excess);
            looks += u32::from(matches!(fit, Fit::Fits | Fit::Kept(Spared::LastPath)));
            match fit {
                Fit::Out => {}
                Fit::Kept(spared) => self.note(now, excess, Standing::Spared(spared), true),
                Fit::Fits if is_dry => {
                    self.dry_taken.push_back(now);
                    self.note(now, excess, Standing::DryRun, true);
                }
                Fit::Fits => self.take(now, excess, &rules.hold),
            }
        }
        // Of a list that was cut short nobody knows which links are missing because they are below.
        if all.len() < TOLD_MAX {
            self.end_notes(all);
        }
    }

    /// Takes over what was measured last for a link that stays in use.
    fn refresh(&mut self, excess: &LinkExcess) {
        let noted = self.noted.get_mut(&excess.link());
        let same = |one: &LinkExcess| (one.port, one.rule, one.window);
        if let Some(noted) = noted.filter(|noted| same(&noted.excess) == same(excess)) {
            noted.excess = *excess;
        }
    }

    /// Whether a link is to be judged, and if so whether it only tells.
    fn is_judged(&self, now: Tick, excess: &LinkExcess, rules: &LinkRules) -> Option<bool> {
        let link = excess.link();
        if let Some(offender) = self.offenders.get(&link) {
            let has_passed = now.since(offender.returned) >= excess.window;
            if offender.until.is_some() || !has_passed {
                return None;
            }
        }
        let noted = self.noted.get(&link);
        match excess.rule.action(rules) {
            Action::Off => None,
            Action::Quarantine => Some(false),
            Action::DryRun if noted.is_some_and(|noted| noted.standing == Standing::DryRun) => None,
            Action::DryRun => Some(true),
        }
    }

    /// The bound that keeps one more link in use.
    fn beyond(&self, is_dry: bool, rules: &LinkRules) -> Option<Spared> {
        let bounds = &rules.bounds;
        let dry = self.noted.values();
        let dry = dry.filter(|noted| noted.standing == Standing::DryRun);
        let (taken, at_once) = match is_dry {
            true => (self.dry_taken.len(), self.out().count() + dry.count()),
            false => (self.taken.len(), self.out().count()),
        };
        if taken >= bounds.most_per_hour as usize {
            let most = bounds.most_per_hour;
            return Some(Spared::PerHour { most });
        }
        let most = bounds.most_at_once;
        (at_once >= most as usize).then_some(Spared::AtOnce { most })
    }

    /// Whether the fabric is to be looked at for a link, for which that was perhaps done lately.
    fn is_due(&self, now: Tick, excess: &LinkExcess) -> bool {
        let looked = self.looked(excess);
        looked.is_none_or(|at| now.since(at) >= LOOK_EVERY)
    }

    /// When the fabric was last looked at for a link that stays in use.
    fn looked(&self, excess: &LinkExcess) -> Option<Tick> {
        self.noted.get(&excess.link())?.looked
    }

    /// Notes a link that stays in use; tells of it if it is new, or is only told of from now on.
    fn note(&mut self, now: Tick, excess: &LinkExcess, standing: Standing, looked: bool) {
        let before = self.noted.get(&excess.link()).copied();
        let is_news = before.is_none_or(|before| {
            std::mem::discriminant(&before.standing) != std::mem::discriminant(&standing)
        });
        let looked = match looked {
            true => Some(now),
            false => before.and_then(|before| before.looked),
        };
        let noted = Noted {
            excess: *excess,
            standing,
            since: before.map_or(now, |before| before.since),
            looked,
        };
        self.noted.insert(excess.link(), noted);
        if is_news {
            self.news.push(News::Verdict {
                excess: *excess,
                standing,
                hold: Duration::ZERO,
                offences: 0,
            });
        }
    }

    fn take(&mut self, now: Tick, excess: &LinkExcess, hold: &Hold) {
        let link = excess.link();
        let before = self.offenders.get(&link);
        let before = before.filter(|before| now.since(before.returned) < hold.most);
        let offences = before.map_or(0, |before| before.offences).saturating_add(1);
        let time = Offender::hold(hold, offences);
        self.make_room();
        let offender = Offender {
            excess: *excess,
            offences,
            since: now,
            until: Some(now + time),
            returned: now,
        };
        self.offenders.insert(link, offender);
        self.noted.remove(&link);
        self.taken.push_back(now);
        self.news.push(News::Verdict {
            excess: *excess,
            standing: Standing::Isolated,
            hold: time,
            offences,
        });
    }

    fn make_room(&mut self) {
        if self.offenders.len() < OFFENDERS_MAX {
            return;
        }
        let in_use = self.offenders.iter().filter(|(_, one)| one.until.is_none());
        let oldest = in_use.min_by_key(|(_, one)| one.returned);
        if let Some(link) = oldest.map(|(link, _)| *link) {
            self.offenders.remove(&link);
        }
    }

    /// Ends the notes of links that do not break a rule any more.
    fn end_notes(&mut self, all: &[LinkExcess]) {
        let still: BTreeSet<End> = all.iter().map(LinkExcess::link).collect();
        let news = &mut self.news;
        self.noted.retain(|link, noted| {
            let stays = still.contains(link);
            if !stays {
                news.push(News::Over {
                    excess: noted.excess,
                    was_out: false,
                    why: OverReason::Below,
                });
            }
            stays
        });
    }

    /// Forgets what is too old to count.
    fn forget(&mut self, now: Tick, rules: &LinkRules) {
        for taken in [&mut self.taken, &mut self.dry_taken] {
            while taken.front().is_some_and(|at| now.since(*at) >= HOUR) {
                taken.pop_front();
            }
        }
        let time = rules.hold.most.max(REMEMBERED);
        self.offenders
            .retain(|_, one| one.until.is_some() || now.since(one.returned) < time);
    }

    /// The links out of use.
    pub(super) fn out(&self) -> impl Iterator<Item = &Offender> {
        let offenders = self.offenders.values();
        offenders.filter(|offender| offender.until.is_some())
    }

    /// A link that is out of use, by either of its ends.
    pub(super) fn out_at(&self, end: End) -> Option<&Offender> {
        self.out()
            .find(|one| [one.excess.port, one.excess.far].contains(&end))
    }

    /// When the first link comes back.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.out().filter_map(|offender| offender.until).min()
    }

    /// Lets links be used again whose time is over; returns whether there were any.
    fn release(&mut self, now: Tick) -> bool {
        let due = |one: &Offender| one.until.is_some_and(|until| until <= now);
        self.end_where(now, OverReason::Time, due)
    }

    /// Lets a link be used again by an operator's order, and forgives its offences; returns whether it was out of
    /// use.
    pub(super) fn forgive(&mut self, now: Tick, end: End) -> bool {
        let of = |one: &Offender| [one.excess.port, one.excess.far].contains(&end);
        let ended = self.end_where(now, OverReason::ByHand, of);
        for offender in self.offenders.values_mut().filter(|one| of(one)) {
            offender.offences = 0;
        }
        ended
    }

    fn end_where(&mut self, now: Tick, why: OverReason, ends: impl Fn(&Offender) -> bool) -> bool {
        let before = self.news.len();
        let out = self.offenders.values_mut();
        for offender in out.filter(|one| one.until.is_some() && ends(one)) {
            (offender.until, offender.returned) = (None, now);
            self.news.push(News::Over {
                excess: offender.excess,
                was_out: true,
                why,
            });
        }
        self.news.len() > before
    }

    /// Follows other rules: links are used again that these do not take out of use. What was only told of is judged
    /// anew.
    pub(super) fn follow(&mut self, now: Tick, rules: Option<&LinkRules>) {
        let stays = |one: &Offender| {
            rules.is_some_and(|rules| one.excess.rule.action(rules) == Action::Quarantine)
        };
        self.end_where(now, OverReason::Rules, |one| !stays(one));
        for offender in self.offenders.values_mut() {
            let most = rules.map(|rules| offender.since + rules.hold.most);
            offender.until = offender
                .until
                .map(|until| most.map_or(until, |most| until.min(most)));
        }
        let noted = std::mem::take(&mut self.noted).into_values();
        self.news.extend(noted.map(|noted| News::Over {
            excess: noted.excess,
            was_out: false,
            why: OverReason::Rules,
        }));
        self.dry_taken.clear();
    }

    /// Forgets everything without a word: another manager is master.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// What is to outlast a restart.
    pub(super) fn kept(&self) -> KeptIsolation {
        KeptIsolation {
            offenders: self.offenders.values().copied().collect(),
            taken: self.taken.iter().copied().collect(),
        }
    }

    /// Takes over what an earlier run has left.
    pub(super) fn restore(&mut self, kept: KeptIsolation) {
        let offenders = kept.offenders.into_iter();
        self.offenders = offenders.map(|one| (one.excess.link(), one)).collect();
        self.taken = kept.taken.into();
        self.is_restored = true;
    }

    /// Compares that with the time, once: where the clock was set back meanwhile, no link is out of use for longer
    /// than the longest time from now on.
    fn settle(&mut self, now: Tick, hold: &Hold) {
        if !std::mem::take(&mut self.is_restored) {
            return;
        }
        for offender in self.offenders.values_mut() {
            offender.since = offender.since.min(now);
            offender.returned = offender.returned.min(now);
            offender.until = offender.until.map(|until| until.min(now + hold.most));
        }
        self.taken.retain(|at| *at <= now);
    }
}

#[cfg(test)]
mod tests;
