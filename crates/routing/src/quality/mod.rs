//! Quality of linear tables: how many flows meet on a link under patterns of traffic that
//! represent real ones.
//!
//! Only links between switches count: contention at a host's own link does not depend on
//! routes. A flow is one host sending to another one at full rate. If the receiver has 2^LMC LIDs
//! the flow is split evenly over them. A flow's bandwidth is its share of its busiest link
//! if all flows there share evenly, as a fraction of the rate of a host's link; widths and speeds
//! are ignored.
//!
//! All-to-all, shifts and random permutations are the measures of Gliksberg et al. (*High-Quality
//! Fault-Resilient Routing in Fat Trees*, IEEE Micro 40(1)); effective bisection bandwidth is that
//! of Hoefler et al. (*Multistage Switches are not Crossbars*, CLUSTER 2008): the mean share of
//! random pairs, one half of the hosts sending to the other.
//!
//! It reads the topology independently and shares no code with the engines. Results are the same for
//! any number of threads.

mod all_to_all;
mod patterns;
mod random;
mod view;

use std::collections::BTreeMap;

use weft_fabric::{LinearTables, PortRef, Topology};

pub use self::all_to_all::AllToAll;
pub use self::patterns::Pattern;
use self::view::View;

/// Parts in which a flow is counted: the LIDs of the highest LMC.
const PARTS: u32 = 128;

/// Number of patterns to examine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Most shifts; where there are more, these many, evenly spaced.
    pub shifts: u32,
    /// Random permutations.
    pub permutations: u32,
    /// Random bisections.
    pub bisections: u32,
    /// Seed of all random patterns.
    pub seed: u64,
}

impl Default for Effort {
    /// Every shift, 1,000 permutations and 1,000 bisections.
    fn default() -> Self {
        Self {
            shifts: u32::MAX,
            permutations: 1_000,
            bisections: 1_000,
            seed: 1,
        }
    }
}

/// Result of an assessment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quality {
    /// Host ports with a LID at a working cable.
    pub hosts: u32,
    /// Ordered pairs of hosts of which a LID of the second is not reached from the first.
    pub unroutable: u64,
    /// Every host sends to every other one.
    pub all_to_all: AllToAll,
    /// Host i sends to host i + k, for every k. Hosts are numbered along the fabric: those of one
    /// switch, then those of the switches nearest to it, and so on.
    pub shifts: Pattern,
    /// Every host sends to another one, chosen at random, and receives from one.
    pub permutations: Pattern,
    /// One half of the hosts, chosen at random, sends to the other; its bandwidth is the effective
    /// bisection bandwidth.
    pub bisection: Pattern,
}

/// Flows on each working link between switches, by the port that sends.
pub type LinkFlows = BTreeMap<PortRef, f64>;

/// Judges linear tables. Adaptive groups are not looked at: they move flows away from links that
/// are found to be busy here.
pub fn assess(topology: &Topology, linear: &LinearTables, effort: &Effort) -> Quality {
    assess_with_flows(topology, linear, effort).0
}

/// Judges linear tables, and tells the flows on each link when every host sends to every other one.
pub fn assess_with_flows(
    topology: &Topology,
    linear: &LinearTables,
    effort: &Effort,
) -> (Quality, LinkFlows) {
    let view = View::new(topology, linear);
    let followed = all_to_all::assess(&view);
    let quality = Quality {
        hosts: view.hosts.len() as u32,
        unroutable: followed.unroutable,
        all_to_all: followed.summary,
        shifts: patterns::shifts(&view, effort.shifts),
        permutations: patterns::permutations(&view, effort.permutations, effort.seed),
        bisection: patterns::bisections(&view, effort.bisections, effort.seed),
    };
    let links = view.senders(topology).zip(followed.flows);
    let links = links.enumerate().filter(|(link, _)| view.is_link(*link));
    (quality, links.map(|(_, flows)| flows).collect())
}

/// Assesses linear tables under one pattern: pairs of a sending and a receiving host port, each of
/// which sends once and receives once at most. Pairs with a port that is not a host's are left out.
pub fn assess_pattern(
    topology: &Topology,
    linear: &LinearTables,
    pairs: &[(PortRef, PortRef)],
) -> Pattern {
    let view = View::new(topology, linear);
    let place: BTreeMap<PortRef, u32> = view.hosts.iter().map(|host| host.at).zip(0..).collect();
    let pairs = pairs.iter().filter_map(|(from, to)| {
        let (from, to) = (place.get(from)?, place.get(to)?);
        (from != to).then_some((*from, *to))
    });
    patterns::single(&view, pairs.collect())
}
