//! Traffic in a running fabric: jobs that start and stop, rates that follow changes.

use weft_dataplane::fluid::Live;
use weft_dataplane::fluid::demand::Demand;
use weft_dataplane::fluid::live::{WAYS_MAX, goodput};
use weft_fabric::text::is_hidden;
use weft_fabric::{NodeId, Tick};

use super::Emulator;
use crate::io::{ControlError, TrafficError};
use crate::queue::Event;
use crate::traffic::{JobReport, NAME_MAX, PAYLOAD, TrafficJob, TrafficReport, demands};

/// Most jobs at a time; one more is refused.
pub const JOBS_MAX: usize = 64;

/// The jobs and their throughput.
#[derive(Debug)]
pub(super) struct Traffic {
    live: Live,
    jobs: Vec<(TrafficJob, Vec<Demand>)>,
    /// Something has changed since the rates were computed.
    stale: bool,
    /// When an event in the queue comes back to it.
    scheduled: Option<Tick>,
}

impl Traffic {
    fn new(seed: u64) -> Self {
        Self {
            live: Live::new(seed),
            jobs: Vec::new(),
            stale: false,
            scheduled: None,
        }
    }

    fn all_demands(&self) -> Vec<Demand> {
        let demands = self.jobs.iter().flat_map(|(_, demands)| demands);
        demands.cloned().collect()
    }

    fn ways(&self) -> usize {
        let demands = self.jobs.iter().flat_map(|(_, demands)| demands);
        demands.map(Demand::receivers).sum()
    }

    fn report(&self) -> TrafficReport {
        let mut rates = self.live.rates();
        let jobs = self.jobs.iter().map(|(job, demands)| {
            let (own, rest) = rates.split_at(demands.len().min(rates.len()));
            rates = rest;
            job_report(job, own)
        });
        TrafficReport {
            jobs: jobs.collect(),
            routes_moved: self.live.routes_moved(),
        }
    }
}

fn job_report(job: &TrafficJob, rates: &[f64]) -> JobReport {
    let payload = |rate: f64| goodput(rate, job.payload, job.flits());
    let slowest = rates.iter().copied().reduce(f64::min);
    let fastest = rates.iter().copied().reduce(f64::max);
    JobReport {
        job: job.clone(),
        senders: rates.len() as u32,
        blocked: rates.iter().filter(|rate| **rate == 0.0).count() as u32,
        bytes_per_second: payload(rates.iter().sum()),
        slowest: payload(slowest.unwrap_or(0.0)),
        fastest: payload(fastest.unwrap_or(0.0)),
    }
}

impl Emulator {
    /// Nodes and cables, as they were switched on, less the cables that were cut for good.
    pub fn topology(&self) -> &std::sync::Arc<weft_fabric::Topology> {
        self.network.topology()
    }

    /// Current state of the traffic jobs.
    pub fn traffic(&self) -> TrafficReport {
        let traffic = self.traffic.as_ref();
        traffic.map(|traffic| traffic.report()).unwrap_or_default()
    }

    pub(super) fn start_traffic(&mut self, job: TrafficJob) -> Result<(), ControlError> {
        check(&job)?;
        let demands = demands(&self.network, &job).map_err(TrafficError::Pattern)?;
        let seed = self.options.seed;
        let traffic = self
            .traffic
            .get_or_insert_with(|| Box::new(Traffic::new(seed)));
        if traffic.jobs.iter().any(|(other, _)| other.name == job.name) {
            return Err(TrafficError::Exists(job.name).into());
        }
        if traffic.jobs.len() >= JOBS_MAX {
            return Err(TrafficError::TooManyJobs { max: JOBS_MAX }.into());
        }
        let ways = traffic.ways() + demands.iter().map(Demand::receivers).sum::<usize>();
        if ways > WAYS_MAX {
            let max = WAYS_MAX;
            return Err(TrafficError::TooManyWays { ways, max }.into());
        }
        traffic.jobs.push((job, demands));
        self.jobs_changed();
        Ok(())
    }

    /// Stops a job, or all where no name is given.
    pub(super) fn stop_traffic(&mut self, name: Option<String>) -> Result<(), ControlError> {
        let jobs = self.traffic.as_mut().map(|traffic| &mut traffic.jobs);
        let stopped = jobs.map_or(0, |jobs| {
            let before = jobs.len();
            jobs.retain(|(job, _)| name.as_ref().is_some_and(|name| *name != job.name));
            before - jobs.len()
        });
        match name {
            Some(name) if stopped == 0 => return Err(TrafficError::NoJob(name).into()),
            _ if stopped > 0 => self.jobs_changed(),
            _ => {}
        }
        Ok(())
    }

    fn jobs_changed(&mut self) {
        if let Some(traffic) = &mut self.traffic {
            let demands = traffic.all_demands();
            traffic
                .live
                .set_demands(&mut self.network, self.now, demands);
            traffic.stale = false;
        }
        self.schedule_traffic();
    }

    /// Tables, links or LIDs may have changed.
    pub(super) fn traffic_changed(&mut self) {
        let busy = self.traffic.as_mut();
        if let Some(traffic) = busy.filter(|traffic| !traffic.jobs.is_empty()) {
            traffic.stale = true;
            self.traffic_step();
        }
    }

    /// An event that was scheduled for it has come.
    pub(super) fn traffic_due(&mut self) {
        let now = self.now;
        if let Some(traffic) = &mut self.traffic
            && traffic.scheduled.is_some_and(|at| at <= now)
        {
            traffic.scheduled = None;
            self.traffic_step();
        }
    }

    /// Performs the steps that are due.
    fn traffic_step(&mut self) {
        let now = self.now;
        if let Some(traffic) = &mut self.traffic {
            let live = &mut traffic.live;
            if traffic.stale && live.may_refresh_at() <= now {
                live.refresh(&mut self.network, now);
                traffic.stale = false;
            } else if live.next_look().is_some_and(|at| at <= now) {
                live.look(&mut self.network, now);
            }
        }
        self.schedule_traffic();
    }

    fn schedule_traffic(&mut self) {
        let Some(traffic) = &mut self.traffic else {
            return;
        };
        let due = match traffic.stale {
            true => Some(traffic.live.may_refresh_at()),
            false => traffic.live.next_look(),
        };
        let Some(due) = due.filter(|due| traffic.scheduled.is_none_or(|at| *due < at)) else {
            return;
        };
        // Where the queue is full, the next change or reading of counters finds it still to be done.
        if self.queue.push(due, Event::Traffic) {
            traffic.scheduled = Some(due);
        }
    }

    /// Brings the counters of a node's ports up to now.
    pub(super) fn settle_traffic(&mut self, node: NodeId) {
        if let Some(traffic) = &mut self.traffic {
            traffic.live.settle(&mut self.network, node, self.now);
            if traffic.scheduled.is_none() {
                self.schedule_traffic();
            }
        }
    }
}

fn check(job: &TrafficJob) -> Result<(), ControlError> {
    let range = |what, value, allowed| ControlError::Range {
        what,
        value,
        allowed,
    };
    let len = job.name.chars().count();
    if len == 0 || len > NAME_MAX {
        let allowed = "1 to 64 characters";
        return Err(range("length of the name", len as f64, allowed));
    }
    if job.name.contains(is_hidden) {
        return Err(TrafficError::HiddenName(job.name.clone()).into());
    }
    if !(job.rate_percent > 0.0 && job.rate_percent <= 100.0) {
        let allowed = "over 0, up to 100 percent";
        return Err(range("rate", job.rate_percent, allowed));
    }
    if job.payload < PAYLOAD.0 || job.payload > PAYLOAD.1 {
        let allowed = "8 to 10240 bytes";
        return Err(range("payload", f64::from(job.payload), allowed));
    }
    Ok(())
}
