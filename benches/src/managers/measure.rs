//! Measurements of one manager on one fabric.

use weft_fabric::Tick;

use super::Case;
use super::fabric::{Fabric, Moment};
use super::programs::{Kind, Manager, Programs};
use crate::Failure;

/// Gets and Sets of each attribute, in the order of `AttributeId::ALL`.
pub(super) type Counts = Vec<(u64, u64)>;

/// Measurements of one manager on one fabric.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) first: Work,
    pub(super) again: Work,
    pub(super) lost: Work,
    pub(super) peak_mib: u64,
    /// Time on processors from its start to the end.
    pub(super) cpu_ms: u64,
    /// Gets and Sets of each attribute in each of the three.
    pub(super) attributes: [Counts; 3],
}

/// A sweep as the fabric saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    pub(super) seconds: f64,
    pub(super) datagrams: u64,
    pub(super) sets: u64,
}

impl Work {
    fn between((start, end): (Tick, Tick), before: Moment, after: Moment) -> Self {
        Self {
            seconds: end.since(start).as_secs_f64(),
            datagrams: after.datagrams - before.datagrams,
            sets: after.sets - before.sets,
        }
    }

    fn faster(self, other: Self) -> Self {
        if other.seconds < self.seconds {
            other
        } else {
            self
        }
    }
}

impl Measured {
    /// The better of both in each figure.
    pub(super) fn best(self, other: Self) -> Self {
        Self {
            first: self.first.faster(other.first),
            again: self.again.faster(other.again),
            lost: self.lost.faster(other.lost),
            peak_mib: self.peak_mib.min(other.peak_mib),
            cpu_ms: self.cpu_ms.min(other.cpu_ms),
            attributes: self.attributes,
        }
    }
}

/// Starts a manager on a fabric that has just been switched on, and lets it work.
pub(super) fn measure(programs: &Programs, kind: Kind, case: Case) -> Result<Measured, Failure> {
    let fabric = Fabric::start(case.hosts, case.latency_us)?;
    let manager = Manager::start(programs, kind, &fabric)?;
    let (before, counts) = (fabric.moment()?, fabric.attributes()?);
    let up = fabric.wait_until_up()?;
    let first = Work::between((up.first_at_switch, up.last_port_set), before, up);
    let counts = [counts, fabric.attributes()?];

    manager.sweep()?;
    let start = fabric.wait_for_work(up)?;
    let swept = fabric.wait_until_quiet()?;
    let again = Work::between((start, swept.last), up, swept);
    let [before_first, after_first] = counts;
    let after_again = fabric.attributes()?;

    let cut = fabric.cut_a_link()?;
    let around = fabric.wait_until_around(cut)?;
    let lost = Work::between((cut.at, around.last_set), swept, around);
    let after_lost = fabric.attributes()?;
    Ok(Measured {
        first,
        again,
        lost,
        peak_mib: manager.peak_mib(),
        cpu_ms: manager.cpu_ms(),
        attributes: [
            difference(&after_first, &before_first),
            difference(&after_again, &after_first),
            difference(&after_lost, &after_again),
        ],
    })
}

fn difference(after: &[(u64, u64)], before: &[(u64, u64)]) -> Counts {
    let pairs = after.iter().zip(before);
    pairs.map(|(a, b)| (a.0 - b.0, a.1 - b.1)).collect()
}
