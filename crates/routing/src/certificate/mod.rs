//! The certificate: properties that tables must have before any of them is written.
//!
//! - Every switch, so every HFI on it too, reaches every LID to which cables lead.
//! - No route runs in a circle.
//! - The links that data traffic holds while it waits for the next one form no cycle, in each of
//!   the lanes that the destinations are spread over. Where lanes have halves, the two halves of a link
//!   count as two links, and packets change halves as SCtoSC tables make them. Virtual lanes beyond that (several levels of traffic) each hold a part of such a lane.
//!   Management traffic to switches has its own lane, whose packets are dropped instead of waiting, and
//!   is in no graph.
//! - All of this for every port of every adaptive group, and, by [`certify_transition`], for every
//!   mixture of old and new entries while tables are written.
//!
//! It reads the topology independently and shares no code with the engines.

mod again;
mod answers;
mod changes;
mod classes;
mod dependency;
mod diagnosis;
mod finding;
mod follow;
mod multicast;
mod proof;
#[cfg(test)]
mod samples;
mod tile;
mod transition;
mod view;

use weft_fabric::{LinearTables, NodeId, PortGroupTables, Topology};
use weft_state::State;

use self::dependency::Dependencies;
use self::diagnosis::Diagnosis;
pub use self::finding::{Channel, Drop, Finding, Hop, Refusal};
pub use self::multicast::{
    MulticastCertificate, MulticastFinding, MulticastRefusal, certify_multicast, multicast_step,
};
pub(crate) use self::proof::Proof;
pub use self::transition::{Old, Transition, certify_transition, certify_transition_over};
pub(crate) use self::transition::{transition, transition_over};
use self::view::View;

/// Linear tables and the adaptive groups that go with them.
#[derive(Debug, Clone, Copy)]
pub struct Tables<'a> {
    /// Linear forwarding tables, with the lane of each LID.
    pub linear: &'a LinearTables,
    /// Adaptive groups, empty where adaptive routing is off.
    pub groups: &'a PortGroupTables,
}

/// Proof that tables are good for one topology; only [`certify`] makes one.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub struct Certificate {
    /// LIDs that were followed, of HFIs and of switches.
    lids: u64,
    /// Switch-to-LID routes that arrive.
    routes: u64,
    disconnected: u64,
    parts: Vec<Vec<NodeId>>,
    channels: u64,
    dependencies: u64,
    lanes: u8,
}

impl Certificate {
    /// LIDs that were followed, of HFIs and of switches.
    pub fn lids(&self) -> u64 {
        self.lids
    }

    /// Pairs of a switch and a LID whose route arrives.
    pub fn routes(&self) -> u64 {
        self.routes
    }

    /// Pairs of a switch and a LID without a route because no working cables lead there.
    pub fn disconnected(&self) -> u64 {
        self.disconnected
    }

    /// The parts of the fabric that no working cable joins, as switches; one when all hangs
    /// together.
    pub fn parts(&self) -> &[Vec<NodeId>] {
        &self.parts
    }

    /// Directed links between switches.
    pub fn channels(&self) -> u64 {
        self.channels
    }

    /// Pairs of successive links that data traffic uses, lane by lane; they close no cycle.
    pub fn dependencies(&self) -> u64 {
        self.dependencies
    }

    /// Lanes that the destinations are spread over.
    pub fn lanes(&self) -> u8 {
        self.lanes
    }
}

/// Certifies tables.
///
/// # Errors
/// [`Refusal`] with the finding.
pub fn certify(topology: &Topology, tables: Tables<'_>) -> Result<Certificate, Refusal> {
    judge(topology, tables).map(|judged| judged.certificate)
}

/// Result of certifying good tables.
#[derive(Debug, State)]
struct Judged {
    certificate: Certificate,
    view: View,
    /// Their dependencies by lane, or more; without a cycle.
    graphs: Vec<Dependencies>,
}

fn judge(topology: &Topology, tables: Tables<'_>) -> Result<Judged, Refusal> {
    let shared = View::shared_lids(topology);
    if !shared.is_empty() {
        return Err(Refusal::new(shared));
    }
    let view = View::new(topology, tables.linear.lanes());
    let layers = [tables];
    let followed = follow::follow(&view, &layers, &classes::coarse(&view));
    let clean = followed.looping.is_empty() && followed.dropped.is_empty();
    if !clean || followed.is_cyclic() {
        let diagnosis = Diagnosis {
            topology,
            view: &view,
            layers: &layers,
        };
        return Err(Refusal::new(diagnosis.findings(&followed, Refusal::LIMIT)));
    }
    let graphs: Vec<Dependencies> = followed.lanes.into_iter().map(|lane| lane.graph).collect();
    Ok(Judged {
        certificate: summary(&view, &graphs),
        view,
        graphs,
    })
}

fn summary(view: &View, graphs: &[Dependencies]) -> Certificate {
    let mut members = vec![0u64; view.parts as usize];
    for part in &view.part {
        members[*part as usize] += 1;
    }
    let reach = |end: &view::End| members[view.part[end.switch as usize] as usize];
    let ends = view.ends.iter();
    let attached: u64 = ends.clone().map(|end| u64::from(end.lids)).sum();
    let routes: u64 = ends.map(|end| u64::from(end.lids) * reach(end)).sum();
    let all = (attached + view.detached) * view.len() as u64;
    Certificate {
        lids: attached,
        routes,
        disconnected: all - routes,
        parts: view.part_lists(),
        channels: view.cable_directions() as u64,
        dependencies: graphs.iter().map(Dependencies::count).sum(),
        lanes: graphs.len() as u8,
    }
}
