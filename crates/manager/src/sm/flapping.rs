//! Ports whose links go down again and again (`<LongTermPortQuarantine>`).
//!
//! Each loss of a port's link counts for `<WindowSize>`. A link with [`HELD_FROM`] losses is held back: routes
//! use it when it has had none for [`HOLD_FIRST`], which doubles with each further one. At `<HighThreshold>`
//! losses the port is in quarantine, for `<WindowSize>` at least and until no more than `<LowThreshold>` losses
//! are in the window, as with opa-fm (`sm_flapping.c`), which does not hold links back before.
//!
//! What keeps the fabric together stays in use, see [`super::unused_links`].

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::PortState;

use super::settings::FlapSettings;
use crate::io::UnusedReason;

/// Losses within the window at which a link is held back.
const HELD_FROM: u32 = 2;
/// From the last loss to the use of a link that is held back for the first time.
const HOLD_FIRST: Duration = Duration::from_secs(2);
/// Most losses that are remembered of a port; higher thresholds count as this one.
const LOSSES_MAX: usize = 1_024;
/// Time between two looks for ports that need not be watched any more.
const PRUNE_EVERY: Duration = Duration::from_secs(1);
/// Most losses of a port in quarantine that outlast a restart, the last ones.
pub(super) const KEPT_LOSSES_MAX: usize = 64;
/// Most ports whose losses are counted.
const PORTS_MAX: usize = 65_536;

/// A port of a node.
type End = (Guid, PortNum);

/// Losses of links, by the ports that saw them.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Flapping {
    watched: BTreeMap<End, Watched>,
    /// Ports whose links are not to be used.
    bars: BTreeMap<End, Bar>,
    /// The first bar ends at this time or later.
    due: Option<Tick>,
    /// Ports without a loss in the window were last forgotten at this time.
    pruned: Tick,
    news: Vec<News>,
    /// Bars of an earlier run are not compared with the time yet.
    is_restored: bool,
}

/// A quarantine that outlasts a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// Losses within the window when it began.
    pub count: u32,
    pub since: Tick,
    pub until: Tick,
    /// The last losses, at most [`KEPT_LOSSES_MAX`], in order of time.
    pub losses: Vec<Tick>,
}

/// A verdict on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) enum News {
    /// It is in quarantine, for so many losses within the window.
    Quarantined(End, u32),
    /// Its quarantine is over.
    Released(End),
}

/// A port whose link was lost within the window.
#[derive(Debug, Clone, State)]
struct Watched {
    /// Losses within the window, in order of time.
    losses: VecDeque<Tick>,
    /// None where the manager has not seen it since it started.
    last: Option<LinkState>,
}

/// State of a port, as far as it tells that its link was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) struct LinkState {
    pub state: PortState,
    /// `IsSMConfigurationStarted`, which is cleared when the link goes down.
    pub is_marked: bool,
}

impl LinkState {
    /// Whether the link has gone down since it was in this state.
    fn is_lost(self, now: Self) -> bool {
        let is_up = self.state >= PortState::INIT;
        let bounced = now.state == PortState::INIT && self.is_marked && !now.is_marked;
        is_up && (now.state < self.state || bounced)
    }
}

/// Why a port's link is not to be used for a while.
#[derive(Debug, Clone, Copy, State)]
pub(super) struct Bar {
    reason: UnusedReason,
    pub(super) since: Tick,
    pub(super) until: Tick,
}

impl Bar {
    /// The verdict on a port at its last loss, which is in `losses`.
    fn after(
        before: Option<Self>,
        losses: &VecDeque<Tick>,
        settings: &FlapSettings,
    ) -> Option<Self> {
        let now = *losses.back()?;
        let count = losses.len() as u32;
        let was_quarantined = before.filter(|bar| bar.is_quarantine());
        let high = settings.high.clamp(1, LOSSES_MAX as u32);
        if was_quarantined.is_some() || count >= high {
            let reason = UnusedReason::Quarantined { losses: count };
            let new = Self {
                reason,
                since: now,
                until: now,
            };
            let bar = was_quarantined.unwrap_or(new);
            let until = bar.quarantined_until(losses, settings);
            return Some(Self { until, ..bar });
        }
        let doublings = count.checked_sub(HELD_FROM)?.min(16);
        let until = now
            + HOLD_FIRST
                .saturating_mul(1 << doublings)
                .min(settings.window);
        let reason = UnusedReason::HeldBack { losses: count };
        let new = Self {
            reason,
            since: now,
            until,
        };
        Some(before.map_or(new, |bar| Self { until, ..bar }))
    }

    pub(super) fn is_quarantine(&self) -> bool {
        self.reason.is_quarantine()
    }

    /// The end of a quarantine: a window has passed, and at most `low` losses are in the last one.
    fn quarantined_until(&self, losses: &VecDeque<Tick>, settings: &FlapSettings) -> Tick {
        let above = losses.len().checked_sub(settings.low as usize + 1);
        let last_above = above.and_then(|index| losses.get(index)).copied();
        let until = last_above.map_or(self.since, |at| at.max(self.since)) + settings.window;
        // Not all losses outlast a restart.
        until.max(self.until)
    }
}

impl Flapping {
    /// A port is in a state, and was in `before` when it was last read in a sweep; a loss of its link counts if
    /// there are settings. Returns whether the state is news.
    pub(super) fn seen(
        &mut self,
        now: Tick,
        end: End,
        (before, state): (LinkState, LinkState),
        settings: Option<&FlapSettings>,
    ) -> bool {
        let watched = self.watched.get_mut(&end);
        let last = watched.and_then(|watched| watched.last.replace(state));
        let last = last.unwrap_or(before);
        if let Some(settings) = settings.filter(|_| last.is_lost(state)) {
            self.lost(now, end, state, settings);
        }
        last != state
    }

    fn lost(&mut self, now: Tick, end: End, last: LinkState, settings: &FlapSettings) {
        if !self.watched.contains_key(&end) {
            self.prune(now, settings.window);
            if self.watched.len() >= PORTS_MAX {
                return;
            }
        }
        let losses = VecDeque::new();
        let watched = self.watched.entry(end);
        let last = Some(last);
        let losses = &mut watched.or_insert(Watched { losses, last }).losses;
        forget_old(losses, now, settings.window);
        if losses.len() == LOSSES_MAX {
            losses.pop_front();
        }
        losses.push_back(now);
        let count = losses.len() as u32;
        let before = self.bars.get(&end).copied();
        if let Some(bar) = Bar::after(before, losses, settings) {
            if bar.is_quarantine() && !before.is_some_and(|bar| bar.is_quarantine()) {
                self.news.push(News::Quarantined(end, count));
            }
            self.bars.insert(end, bar);
            self.due = Some(self.due.map_or(bar.until, |due| due.min(bar.until)));
        }
    }

    /// Forgets ports without a loss in the window, from time to time: there may be many.
    fn prune(&mut self, now: Tick, window: Duration) {
        if now.since(self.pruned) < PRUNE_EVERY {
            return;
        }
        self.pruned = now;
        let bars = &self.bars;
        self.watched.retain(|end, watched| {
            forget_old(&mut watched.losses, now, window);
            !watched.losses.is_empty() || bars.contains_key(end)
        });
    }

    /// The first bar ends at this time or later.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Ends the bars that are over; returns their ports, and whether their links are up.
    pub(super) fn release(&mut self, now: Tick) -> Vec<(End, bool)> {
        if self.due.is_none_or(|due| due > now) {
            return Vec::new();
        }
        let over = self.bars.iter().filter(|(_, bar)| bar.until <= now);
        let over: Vec<End> = over.map(|(end, _)| *end).collect();
        let is_up = |end: End| self.was_up(end) == Some(true);
        let released = over.iter().map(|end| (*end, is_up(*end))).collect();
        over.iter().for_each(|end| self.end(*end));
        self.due = self.bars.values().map(|bar| bar.until).min();
        released
    }

    /// Ends a bar.
    fn end(&mut self, end: End) {
        let bar = self.bars.remove(&end);
        if bar.is_some_and(|bar| bar.is_quarantine()) {
            self.news.push(News::Released(end));
        }
    }

    /// Ends a bar by request, and forgets what led to it; returns whether there was one.
    pub(super) fn forgive(&mut self, end: End) -> bool {
        let barred = self.bars.contains_key(&end);
        self.end(end);
        self.watched.remove(&end);
        barred
    }

    /// Ends all bars, and forgets what led to them.
    pub(super) fn forgive_all(&mut self) {
        let ends: Vec<End> = self.bars.keys().copied().collect();
        ends.into_iter().for_each(|end| self.end(end));
        (self.watched, self.due) = (BTreeMap::new(), None);
    }

    /// Verdicts since the last call.
    pub(super) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Why a port's link is not to be used, none where it may.
    pub(super) fn reason(&self, end: End) -> Option<UnusedReason> {
        Some(self.bars.get(&end)?.reason)
    }

    /// The ports whose links are not to be used.
    pub(super) fn barred(&self) -> impl Iterator<Item = End> {
        self.bars.keys().copied()
    }

    /// For which time a port's link is not to be used.
    pub(super) fn bar(&self, end: End) -> Option<&Bar> {
        self.bars.get(&end)
    }

    /// When a port's link was lost, as far as that is remembered.
    pub(super) fn losses(&self, end: End) -> impl ExactSizeIterator<Item = Tick> {
        let watched = self.watched.get(&end);
        let losses = watched.map(|watched| watched.losses.iter().copied());
        losses.unwrap_or_default()
    }

    /// Whether a port's link was up when its state was last told, none where its losses are not watched.
    pub(super) fn was_up(&self, end: End) -> Option<bool> {
        let last = self.watched.get(&end)?.last?;
        Some(last.state >= PortState::INIT)
    }

    /// The quarantines, to outlast a restart.
    pub(super) fn sentences(&self) -> BTreeMap<End, Sentence> {
        let bars = self.bars.iter().filter_map(|(end, bar)| {
            let UnusedReason::Quarantined { losses: count } = bar.reason else {
                return None;
            };
            let losses = self.losses(*end);
            let left_out = losses.len().saturating_sub(KEPT_LOSSES_MAX);
            let sentence = Sentence {
                count,
                since: bar.since,
                until: bar.until,
                losses: losses.skip(left_out).collect(),
            };
            Some((*end, sentence))
        });
        bars.collect()
    }

    /// Takes over the quarantines of an earlier run.
    pub(super) fn restore(&mut self, sentences: BTreeMap<End, Sentence>) {
        for (end, sentence) in sentences {
            let reason = UnusedReason::Quarantined {
                losses: sentence.count,
            };
            let Sentence { since, until, .. } = sentence;
            let bar = Bar {
                reason,
                since,
                until,
            };
            self.bars.insert(end, bar);
            let losses = sentence.losses.into();
            self.watched.insert(end, Watched { losses, last: None });
        }
        self.due = self.bars.values().map(|bar| bar.until).min();
        self.is_restored = true;
    }

    /// Compares the quarantines of an earlier run with the time, once: where the clock was set back meanwhile, none
    /// lasts longer than a window from now on.
    pub(super) fn settle(&mut self, now: Tick, window: Duration) {
        if !std::mem::take(&mut self.is_restored) {
            return;
        }
        for bar in self.bars.values_mut() {
            bar.since = bar.since.min(now);
            bar.until = bar.until.min(now + window);
        }
        for watched in self.watched.values_mut() {
            watched.losses.retain(|at| *at <= now);
        }
        self.due = self.bars.values().map(|bar| bar.until).min();
    }

    /// Whether a node has ports that are watched.
    pub(super) fn watches(&self, node: Guid) -> bool {
        let ports = (node, PortNum(0))..=(node, PortNum(u8::MAX));
        self.watched.range(ports).next().is_some()
    }

    /// Forgets all losses without a word: another manager is master.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn forget_old(losses: &mut VecDeque<Tick>, now: Tick, window: Duration) {
    while losses.front().is_some_and(|at| *at + window < now) {
        losses.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: End = (Guid(1), PortNum(7));
    const SETTINGS: FlapSettings = FlapSettings {
        window: Duration::from_secs(900),
        high: 4,
        low: 1,
    };

    fn at(seconds: u64) -> Tick {
        Tick(seconds * 1_000_000_000)
    }

    const UP: LinkState = LinkState {
        state: PortState::ACTIVE,
        is_marked: true,
    };
    const DOWN: LinkState = LinkState {
        state: PortState::DOWN,
        is_marked: false,
    };
    const BACK: LinkState = LinkState {
        state: PortState::INIT,
        is_marked: false,
    };

    /// The link goes down and comes back.
    fn lose(flapping: &mut Flapping, seconds: u64) {
        for state in [DOWN, BACK] {
            flapping.seen(at(seconds), END, (UP, state), Some(&SETTINGS));
        }
    }

    fn lost_at(seconds: &[u64]) -> Flapping {
        let mut flapping = Flapping::default();
        seconds.iter().for_each(|at| lose(&mut flapping, *at));
        flapping
    }

    fn until(flapping: &Flapping) -> Tick {
        flapping.bars[&END].until
    }

    #[test]
    fn each_loss_counts_once_however_often_it_is_seen() {
        let marked = LinkState {
            is_marked: true,
            ..BACK
        };
        let states = [
            UP, DOWN, DOWN, BACK, BACK, marked, BACK, BACK, DOWN, UP, BACK,
        ];
        let mut flapping = Flapping::default();
        for state in states {
            flapping.seen(at(10), END, (UP, state), Some(&SETTINGS));
        }
        assert_eq!(flapping.watched[&END].losses.len(), 4);
    }

    #[test]
    fn one_loss_in_the_window_bars_nothing() {
        for seconds in [&[10][..], &[10, 911]] {
            let flapping = lost_at(seconds);
            assert_eq!(flapping.reason(END), None);
            assert_eq!(flapping.deadline(), None);
        }
    }

    #[test]
    fn further_losses_hold_a_link_back_for_twice_as_long_each() {
        let mut flapping = lost_at(&[10, 20]);
        assert_eq!(until(&flapping), at(22));
        lose(&mut flapping, 21);
        assert_eq!(until(&flapping), at(25));
        assert_eq!(
            flapping.deadline(),
            Some(at(22)),
            "looked at once too early"
        );
        assert_eq!(flapping.release(at(22)), []);
        assert_eq!(flapping.deadline(), Some(at(25)));
        let held = UnusedReason::HeldBack { losses: 2 };
        assert_eq!(flapping.reason(END), Some(held));
        assert!(flapping.watches(Guid(1)) && !flapping.watches(Guid(2)));
        assert_eq!(flapping.release(at(24)), []);
        assert_eq!(flapping.release(at(25)), [(END, true)]);
        assert_eq!((flapping.reason(END), flapping.deadline()), (None, None));
    }

    #[test]
    fn a_quarantine_lasts_until_few_losses_are_in_the_window() {
        let mut flapping = lost_at(&[10, 20, 30, 40]);
        let quarantined = UnusedReason::Quarantined { losses: 4 };
        assert_eq!(flapping.reason(END), Some(quarantined));
        assert_eq!(until(&flapping), at(940), "a window at least");
        lose(&mut flapping, 100);
        lose(&mut flapping, 200);
        assert_eq!(flapping.reason(END), Some(quarantined), "told once");
        assert_eq!(until(&flapping), at(1000), "one may stay");
        assert_eq!(flapping.release(at(1000)), [(END, true)]);
        lose(&mut flapping, 1001);
        let held = UnusedReason::HeldBack { losses: 2 };
        assert_eq!(flapping.reason(END), Some(held));
    }

    #[test]
    fn a_quarantine_outlasts_a_restart_and_a_clock_that_is_set_back() {
        let before = lost_at(&[10, 20, 30, 40, 50]);
        let kept = before.sentences();
        assert_eq!(kept[&END].losses, [10, 20, 30, 40, 50].map(at));
        let restarted = |now| {
            let mut flapping = Flapping::default();
            flapping.restore(kept.clone());
            flapping.settle(at(now), SETTINGS.window);
            flapping
        };
        let mut flapping = restarted(100);
        let quarantined = UnusedReason::Quarantined { losses: 4 };
        assert_eq!(flapping.reason(END), Some(quarantined));
        assert_eq!(
            (until(&flapping), flapping.deadline()),
            (at(940), Some(at(940)))
        );
        assert_eq!(flapping.was_up(END), None);
        lose(&mut flapping, 200);
        assert_eq!(flapping.losses(END).len(), 6);
        assert_eq!(until(&flapping), at(950), "one may stay");

        let mut flapping = restarted(25);
        assert_eq!(until(&flapping), at(925), "a window from now on");
        assert_eq!(flapping.losses(END).collect::<Vec<_>>(), [10, 20].map(at));
        assert_eq!(flapping.release(at(925)), [(END, false)]);
        assert_eq!(flapping.sentences(), BTreeMap::new());
    }

    #[test]
    fn memory_is_bounded_by_the_window_and_by_numbers() {
        let mut flapping = lost_at(&[10]);
        let other = (Guid(2), PortNum(1));
        flapping.seen(at(911), other, (UP, DOWN), Some(&SETTINGS));
        assert_eq!(flapping.watched.len(), 1, "what is over is forgotten");
        let settings = FlapSettings {
            high: u32::MAX,
            ..SETTINGS
        };
        for _ in 0..2 * LOSSES_MAX {
            flapping.lost(at(911), END, DOWN, &settings);
        }
        assert_eq!(flapping.watched[&END].losses.len(), LOSSES_MAX);
        let quarantined = flapping.reason(END);
        assert!(matches!(
            quarantined,
            Some(UnusedReason::Quarantined { .. })
        ));
    }
}
