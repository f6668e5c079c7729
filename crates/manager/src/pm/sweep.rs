//! A sweep: every agent is read at its own pace, and none waits for another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weft_fabric::{Lid, PortNum, Tick};
use weft_wire::pm::{Counter, PortErrorInfo};

use super::Pm;
use super::ask::{Ask, Common, Units};
use super::clearing::Orders;
use super::image::{Before, Reading, Sample};
use super::io::{PmEvent, PmOutput, PmReport};
use super::job::{Job, Stage};
use super::roster::Roster;
use crate::ask::rtt::RoundTrip;
use crate::ask::{Target, Unanswered};

/// Sweeps in which the error counters of each port of a switch are read at least once. The sum by which an agent says that
/// they have changed hides the smallest part of two of them, by `<Resolution>` (`res` of the vendor's
/// `STL_DATA_PORT_COUNTERS_REQ`); a third of 48 ports with two lanes is one more datagram to a switch.
pub(super) const ERRORS_EVERY: u64 = 3;

/// Data kept about an agent from sweep to sweep.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peer {
    pub(super) round_trip: RoundTrip,
    /// Whether it has reported its capabilities.
    pub(super) identified: bool,
    /// It did not answer the last time.
    pub(super) silent: bool,
}

/// Tag of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag {
    /// The sweep that it belongs to.
    pub(super) sweep: u64,
    /// The request.
    pub(super) ask: Ask,
}

/// The current sweep.
#[derive(Debug)]
pub(super) struct Sweep {
    /// Tells its requests from those of sweeps before.
    pub(super) id: u64,
    pub(super) roster: Arc<Roster>,
    pub(super) common: Common,
    pub(super) started: Tick,
    /// That moment in seconds since 1970, 0 while no clock was given.
    pub(super) unix_time: u64,
    pub(super) sample: Sample,
    pub(super) before: Option<Before>,
    pub(super) readings: Vec<Reading>,
    pub(super) error_info: BTreeMap<u32, PortErrorInfo>,
    /// Counters that somebody wants set to zero.
    pub(super) orders: Orders,
    pub(super) jobs: Vec<Job>,
    /// Agents that have not begun; those that were silent last.
    waiting: VecDeque<u32>,
    /// Agents that may get more requests.
    ready: VecDeque<u32>,
    /// Agents that have begun and are not done.
    begun: usize,
    /// Agents that are not done.
    pub(super) left: usize,
    /// Those of them that answered the last time.
    lively: usize,
    pub(super) report: PmReport,
    /// Failures that were reported one by one.
    pub(super) failures: u32,
}

impl Sweep {
    /// Place of a port of an agent.
    pub(super) fn place(&self, member: u32, port: PortNum) -> Option<usize> {
        self.roster.port_of(member as usize, port)
    }

    pub(super) fn lid(&self, member: u32) -> Lid {
        let member = self.roster.members.get(member as usize);
        member.map(|member| member.lid).unwrap_or_default()
    }

    /// An agent no longer counts as responsive.
    fn no_longer_lively(&mut self, member: u32) {
        if std::mem::take(&mut self.jobs[member as usize].lively) {
            self.lively = self.lively.saturating_sub(1);
        }
    }

    /// Whether the error counters of a port are read even where its error summary has not changed.
    fn is_due(&self, port: PortNum) -> bool {
        let hides = self.common.units != Units::EXACT;
        hides && u64::from(port.0) % ERRORS_EVERY == self.id % ERRORS_EVERY
    }

    /// Sum of a port's error counters as far as they are known, in the units of the summary.
    pub(super) fn known_errors(&self, place: usize) -> u64 {
        let units = &self.common.units;
        let shift = |counter| match counter {
            Counter::LocalLinkIntegrityErrors => weft_wire::pm::resolution_shift(
                units.local_link_integrity,
                weft_wire::pm::LOCAL_LINK_INTEGRITY_SHIFT,
            ),
            Counter::LinkErrorRecovery => weft_wire::pm::resolution_shift(
                units.link_error_recovery,
                weft_wire::pm::LINK_ERROR_RECOVERY_SHIFT,
            ),
            _ => 0,
        };
        let counters = &self.sample.counters[place];
        let errors = Counter::ALL.into_iter().skip(Counter::DATA);
        errors.fold(0, |sum: u64, counter| {
            sum.wrapping_add(counters[counter as usize] >> shift(counter))
        })
    }
}

impl Pm {
    /// Begins a sweep when it is time and there is something to read.
    pub(super) fn start_due_sweep(&mut self, now: Tick) {
        let due = self.due.is_some_and(|due| due <= now);
        if self.sweep.is_some() || !due {
            return;
        }
        self.due = None;
        self.refresh_roster();
        let Some(own) = self.own_lid() else {
            self.fail_orders();
            return;
        };
        self.sweeps_begun += 1;
        let roster = Arc::clone(&self.roster);
        let orders = self.take_orders(&roster);
        self.agents.sit_at(own, self.settings.sl);
        let common = Common {
            lanes: roster.lane_mask(),
            units: Units::new(&self.settings.resolution),
        };
        let before = self.history.latest().map(|image| Before {
            sample: Arc::clone(&image.sample),
            places: roster.places_in(&image.roster),
        });
        let waiting = self.order_of_agents();
        let jobs = (0..roster.members.len()).map(|index| Job {
            lively: self.is_lively(index as u32),
            ..Job::default()
        });
        let jobs: Vec<Job> = jobs.collect();
        let lively = waiting.iter().filter(|index| jobs[**index as usize].lively);
        let sweep = Sweep {
            id: self.sweeps_begun,
            common,
            started: now,
            sample: Sample::before(&roster, before.as_ref()),
            before,
            readings: vec![Reading::Skipped; roster.ports.len()],
            error_info: BTreeMap::new(),
            orders,
            ready: VecDeque::new(),
            begun: 0,
            left: waiting.len(),
            lively: lively.count(),
            jobs,
            waiting,
            report: PmReport::default(),
            failures: 0,
            unix_time: self.unix_time(now),
            roster,
        };
        self.sweep = Some(sweep);
    }

    /// The agents that are read, those that were silent last.
    fn order_of_agents(&self) -> VecDeque<u32> {
        let members = self.roster.members.iter().enumerate();
        let read = members.filter(|(_, member)| member.is_read);
        let (lively, silent): (Vec<u32>, Vec<u32>) = read
            .map(|(index, _)| index as u32)
            .partition(|index| self.is_lively(*index));
        lively.into_iter().chain(silent).collect()
    }

    fn is_lively(&self, member: u32) -> bool {
        let peer = self.peers.get(member as usize);
        peer.is_none_or(|peer| !peer.silent)
    }

    /// Sends all requests that the bounds allow.
    pub(super) fn pump(&mut self, now: Tick) {
        let nodes = self.settings.requests.nodes();
        while self.agents.has_room() {
            let Some(sweep) = self.sweep.as_mut() else {
                return;
            };
            if let Some(member) = sweep.ready.pop_front() {
                sweep.jobs[member as usize].queued = false;
                self.ask_next(now, member);
            } else if sweep.begun < nodes {
                let Some(member) = sweep.waiting.pop_front() else {
                    return;
                };
                sweep.begun += 1;
                self.advance(member);
            } else {
                return;
            }
        }
    }

    /// Sends an agent's next request.
    fn ask_next(&mut self, now: Tick, member: u32) {
        let per_node = self.settings.requests.per_node();
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        let job = &mut sweep.jobs[member as usize];
        if job.outstanding >= per_node {
            return;
        }
        let Some(ask) = job.asks.pop_front() else {
            return;
        };
        job.outstanding += 1;
        sweep.report.sent += 1;
        let peer = self.peers.get(member as usize).copied().unwrap_or_default();
        let target = Target {
            node: member,
            round_trip: peer.round_trip,
            silent: peer.silent,
        };
        let tag = Tag {
            sweep: sweep.id,
            ask,
        };
        let (to, mad) = (sweep.lid(member), ask.mad(&sweep.common));
        let packet = self.agents.ask(now, to, target, mad, tag);
        self.outputs.push_back(PmOutput::Send(packet));
        self.make_ready(member);
    }

    /// Puts an agent in the queue if it may get more requests.
    fn make_ready(&mut self, member: u32) {
        let per_node = self.settings.requests.per_node();
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        let job = &mut sweep.jobs[member as usize];
        if !job.queued && !job.asks.is_empty() && job.outstanding < per_node {
            job.queued = true;
            sweep.ready.push_back(member);
        }
    }

    /// Continues with an agent whose request has ended.
    pub(super) fn go_on(&mut self, member: u32) {
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        let job = &mut sweep.jobs[member as usize];
        job.outstanding = job.outstanding.saturating_sub(1);
        if job.asks.is_empty() && job.outstanding == 0 {
            self.advance(member);
        } else {
            self.make_ready(member);
        }
    }

    /// Moves an agent to the next stage with requests.
    fn advance(&mut self, member: u32) {
        loop {
            let Some(sweep) = self.sweep.as_mut() else {
                return;
            };
            let job = &mut sweep.jobs[member as usize];
            job.stage = if job.failed {
                Stage::Done
            } else {
                job.stage.next()
            };
            if job.stage == Stage::Done {
                self.agent_done(member);
                return;
            }
            self.fill(member);
            let Some(sweep) = self.sweep.as_ref() else {
                return;
            };
            if !sweep.jobs[member as usize].asks.is_empty() {
                self.make_ready(member);
                return;
            }
        }
    }

    fn agent_done(&mut self, member: u32) {
        if let Some(sweep) = self.sweep.as_mut() {
            sweep.begun = sweep.begun.saturating_sub(1);
            sweep.left = sweep.left.saturating_sub(1);
            sweep.no_longer_lively(member);
        }
    }

    /// Adds the requests of an agent's current stage.
    fn fill(&mut self, member: u32) {
        let identified = self
            .peers
            .get(member as usize)
            .is_some_and(|peer| peer.identified);
        let error_info = self.settings.process.error_info;
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        let roster = Arc::clone(&sweep.roster);
        let lanes = sweep.common.lanes;
        let is_switch = roster.members[member as usize].is_switch;
        let active = roster
            .ports_of(member as usize)
            .filter(|(_, port)| port.is_active);
        let job = &mut sweep.jobs[member as usize];
        match job.stage {
            Stage::Identify if !identified => job.asks.push_back(Ask::Identify),
            Stage::Read if is_switch => {
                job.ask_data(active.map(|(_, port)| port.number), lanes);
            }
            Stage::Read => job
                .asks
                .extend(active.map(|(_, port)| Ask::Status(port.number))),
            Stage::Errors => {
                let due = active.map(|(_, port)| port.number);
                let due: Vec<PortNum> = due.filter(|port| sweep.is_due(*port)).collect();
                let job = &mut sweep.jobs[member as usize];
                if is_switch {
                    due.into_iter().for_each(|port| job.errors.insert(port));
                }
                job.ask_errors(lanes);
            }
            Stage::Clear => {
                let (sample, limits) = (&sweep.sample, &self.limits);
                let (readings, orders) = (&sweep.readings, &sweep.orders);
                let read = active.filter(|(place, _)| readings[*place] == Reading::Done);
                let select = read.map(|(place, port)| {
                    let over = limits.exceeded(&sample.counters[place]);
                    (port.number, over | orders.wanted(place))
                });
                job.ask_clear(select.filter(|(_, select)| *select != 0));
            }
            Stage::Info if error_info => job.ask_info(),
            Stage::Forget => job.ask_forget(),
            _ => {}
        }
    }

    /// Sends again, or gives up, what was not answered in time; gives up on silent agents when
    /// the next sweep is due.
    pub(super) fn expire(&mut self, now: Tick) {
        while let Some(expired) = self.agents.expire(now) {
            let current = self.sweep.as_ref().map(|sweep| sweep.id);
            match expired {
                Unanswered::Again { tag, packet } if Some(tag.sweep) == current => {
                    let Some(sweep) = self.sweep.as_mut() else {
                        continue;
                    };
                    sweep.report.retries += 1;
                    sweep.report.sent += 1;
                    self.outputs.push_back(PmOutput::Send(packet));
                }
                Unanswered::GivenUp { node, tag } if Some(tag.sweep) == current => {
                    self.give_up(node, tag.ask);
                }
                _ => {}
            }
        }
        let overdue = |sweep: &Sweep| {
            sweep.left > 0 && sweep.lively == 0 && now >= sweep.started + self.settings.interval
        };
        if self.sweep.as_ref().is_some_and(overdue) {
            self.give_up_rest();
        }
    }

    /// When silent agents have had their time, none while others are not done.
    pub(super) fn patience_ends(&self) -> Option<Tick> {
        let sweep = self.sweep.as_ref()?;
        (sweep.left > 0 && sweep.lively == 0).then(|| sweep.started + self.settings.interval)
    }

    /// An agent did not answer.
    fn give_up(&mut self, member: u32, ask: Ask) {
        if let Some(peer) = self.peers.get_mut(member as usize) {
            peer.silent = true;
        }
        if let Some(sweep) = self.sweep.as_mut() {
            sweep.no_longer_lively(member);
        }
        self.fail_agent(member, &ask, None);
        self.go_on(member);
    }

    /// An agent refused a request; other ports of it may succeed.
    pub(super) fn refuse(&mut self, member: u32, ask: &Ask, status: u16) {
        self.report_failure(member, ask, Some(status));
        self.fail_ports(member, ask);
    }

    /// Reads nothing more of an agent; its ports that were not read have failed.
    pub(super) fn fail_agent(&mut self, member: u32, ask: &Ask, status: Option<u16>) {
        self.report_failure(member, ask, status);
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        let job = &mut sweep.jobs[member as usize];
        let stage = job.stage;
        job.failed = true;
        job.asks.clear();
        if stage <= Stage::Read {
            let roster = Arc::clone(&sweep.roster);
            let ports = roster.ports_of(member as usize);
            for (place, _) in ports.filter(|(_, port)| port.is_active) {
                if sweep.readings[place] == Reading::Skipped {
                    sweep.readings[place] = Reading::Failed;
                }
            }
        }
        self.fail_ports(member, ask);
    }

    /// The ports of a request have not been read, or not been cleared.
    pub(super) fn fail_ports(&mut self, member: u32, ask: &Ask) {
        let reading = match ask {
            Ask::Identify | Ask::Info(_) | Ask::ForgetInfo(_) => return,
            Ask::Clear(..) => Reading::ClearFailed,
            _ => Reading::Failed,
        };
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        for port in ask.ports().ports() {
            let Some(place) = sweep.place(member, port) else {
                continue;
            };
            sweep.readings[place] = reading;
            let known_before = sweep
                .before
                .as_ref()
                .is_some_and(|before| before.knows(place));
            if reading == Reading::Failed && !known_before {
                // Half a reading is none to count from.
                sweep.sample.known[place] = false;
            }
        }
    }

    fn report_failure(&mut self, member: u32, ask: &Ask, status: Option<u16>) {
        let most = self.settings.failure_messages;
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        sweep.failures = sweep.failures.saturating_add(1);
        if sweep.failures > most {
            return;
        }
        let agent = &sweep.roster.members[member as usize];
        let name = sweep.roster.node(agent).map(|node| node.name());
        let event = PmEvent::NodeFailed {
            node: agent.guid,
            name: name.unwrap_or_default(),
            request: ask.name(),
            status,
        };
        self.outputs.push_back(PmOutput::Event(event));
    }

    /// Gives up all agents that are not done.
    fn give_up_rest(&mut self) {
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        sweep.waiting.clear();
        sweep.ready.clear();
        sweep.left = 0;
        let roster = Arc::clone(&sweep.roster);
        for (index, member) in roster.members.iter().enumerate() {
            if !member.is_read || sweep.jobs[index].stage == Stage::Done {
                continue;
            }
            sweep.jobs[index].failed = true;
            for (place, _) in roster.ports_of(index).filter(|(_, port)| port.is_active) {
                if sweep.readings[place] == Reading::Skipped {
                    sweep.readings[place] = Reading::Failed;
                }
            }
        }
    }
}
