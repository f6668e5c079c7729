//! Links that break a rule, in the fabric: which of them it can do without, and what becomes of them.

use std::time::Duration;

use weft_config::link_rules::LinkRules;
use weft_fabric::Tick;

use super::{Fit, Isolation, News, hosts_may};
use crate::io::{
    BarredPort, ErrorEntry, Event, LinkEnd, LinkErrors, Spared, Standing, SweepReason, UnusedReason,
};
use crate::link_errors::LinkExcess;
use crate::sm::Manager;
use crate::sm::barred_links::Barred;
use crate::sm::port_change::End;

impl Manager {
    /// Performance management has read the counters: these links break a rule, and no other.
    pub(in crate::sm) fn links_with_errors(&mut self, now: Tick, all: &[LinkExcess]) {
        let Some(rules) = self.settings.links.errors else {
            return;
        };
        if !self.election.is_master() {
            return;
        }
        let mut isolation = std::mem::take(&mut self.devices.isolation);
        isolation.judge(now, all, &rules, |isolation, excess| {
            self.fit(now, isolation, excess, &rules)
        });
        self.devices.isolation = isolation;
        self.tell_isolation(now);
    }

    /// Lets links be used again whose time is over.
    pub(in crate::sm) fn release_isolated(&mut self, now: Tick) {
        let Some(rules) = &self.settings.links.errors else {
            return;
        };
        self.devices.isolation.settle(now, &rules.hold);
        if self.devices.isolation.release(now) {
            self.tell_isolation(now);
        }
    }

    /// Reports verdicts; where they change what is used, that is kept, and a sweep follows.
    pub(in crate::sm) fn tell_isolation(&mut self, now: Tick) {
        let news = std::mem::take(&mut self.devices.isolation.news);
        let mut changes = false;
        for one in news {
            let (event, is_change) = self.told(one);
            changes |= is_change;
            self.out.event(event);
        }
        if changes {
            self.persist();
            let reason = SweepReason::LinkErrors;
            self.sweep.request(now, reason, &self.settings.sweeps);
        }
    }

    fn told(&self, news: News) -> (Event, bool) {
        let ends = |excess: &LinkExcess| {
            let [a, b] = [excess.port, excess.far];
            (self.devices.link_end(a), self.devices.link_end(b))
        };
        match news {
            News::Verdict {
                excess,
                standing,
                hold,
                offences,
            } => {
                let (a, b) = ends(&excess);
                let errors = LinkErrors {
                    a,
                    b,
                    excess,
                    standing,
                    hold,
                    offences,
                };
                (Event::LinkErrors(errors), standing == Standing::Isolated)
            }
            News::Over {
                excess,
                was_out,
                why,
            } => {
                let (a, b) = ends(&excess);
                let rule = excess.rule;
                let over = Event::LinkErrorsOver {
                    a,
                    b,
                    rule,
                    was_out,
                    why,
                };
                (over, was_out)
            }
        }
    }

    /// Whether the fabric can do without a link besides those that are out of use.
    fn fit(&self, now: Tick, isolation: &Isolation, excess: &LinkExcess, rules: &LinkRules) -> Fit {
        let LinkExcess { port, far, .. } = *excess;
        let plan = &self.planning.plan;
        let Some(index) = self.devices.find(port.0) else {
            return Fit::Out;
        };
        let peer = plan.peer(index, port.1);
        let peer = peer.map(|peer| (self.devices[peer.node].identity.guid, peer.port));
        let is_barred = [port, far]
            .iter()
            .any(|end| self.devices.bar(*end).is_some());
        if peer != Some(far) || is_barred || plan.routes.unused.reason_of(port).is_some() {
            return Fit::Out;
        }
        let nodes = [port.0, far.0].map(|node| self.devices.find(node));
        if nodes.contains(&Some(0)) {
            return Fit::Kept(Spared::OwnLink);
        }
        if self.is_hosts_link(index, port.1, far) {
            return match hosts_may(rules.bounds.hosts, now) {
                true => Fit::Fits,
                false => Fit::Kept(Spared::Host),
            };
        }
        let mut barred = self.devices.barred();
        barred.extend(self.isolated(isolation));
        let reason = UnusedReason::Errors { rule: excess.rule };
        match self.can_do_without(port, barred, reason) {
            true => Fit::Fits,
            false => Fit::Kept(Spared::LastPath),
        }
    }

    fn isolated(&self, isolation: &Isolation) -> Barred {
        let out = isolation.out().filter_map(|one| {
            let reason = UnusedReason::Errors {
                rule: one.excess.rule,
            };
            Some((self.devices.port_ref(one.excess.port)?, reason))
        });
        out.collect()
    }

    /// The links that break a rule, as entries of the list of quarantine.
    pub(in crate::sm) fn links_listed(&self, now: Tick) -> Vec<BarredPort> {
        let isolation = &self.devices.isolation;
        let out = isolation.out().map(|one| {
            let left = one.until.map(|until| until.since(now));
            self.entry(&one.excess, Standing::Isolated, now.since(one.since), left)
        });
        let noted = isolation.noted.values();
        let noted = noted.map(|one| {
            let since = now.since(one.since);
            self.entry(&one.excess, one.standing, since, None)
        });
        out.chain(noted).collect()
    }

    /// The entry of the link at one of its ends.
    pub(in crate::sm) fn link_listed(&self, now: Tick, end: End) -> Option<BarredPort> {
        let names = |one: &BarredPort| {
            let far = one.errors.as_ref().map(|errors| &errors.far);
            let is_end = |port: &LinkEnd| (port.node, port.port) == end;
            is_end(&one.port) || far.is_some_and(is_end)
        };
        self.links_listed(now).into_iter().find(names)
    }

    fn entry(
        &self,
        excess: &LinkExcess,
        standing: Standing,
        since: Duration,
        left: Option<Duration>,
    ) -> BarredPort {
        BarredPort {
            port: self.devices.link_end(excess.port),
            reason: UnusedReason::Errors { rule: excess.rule },
            losses: 0,
            since,
            left,
            comment: excess.to_string(),
            errors: Some(ErrorEntry {
                far: self.devices.link_end(excess.far),
                standing,
            }),
        }
    }

    /// Follows other rules.
    pub(in crate::sm) fn follow_link_rules(&mut self, now: Tick) {
        let rules = self.settings.links.errors;
        self.devices.isolation.follow(now, rules.as_ref());
        self.tell_isolation(now);
    }
}
