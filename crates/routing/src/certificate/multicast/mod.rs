//! The certificate of multicast tables.
//!
//! For each group, the cables that any row names close no circle. So a packet reaches each switch
//! at most once, whoever sent it. Over each cable of the group's tree with a member on one side and
//! a receiver on the other, the row on the member's side has the port: so the packet of every
//! member reaches every receiver that links and switches with enough capacity connect to it. No row
//! leads to an end port that is not a receiver.
//!
//! It reads the topology independently and shares no code with the code that makes the tables.

mod cables;
mod finding;
mod group;

use std::collections::BTreeMap;

use weft_fabric::{FIRST_MLID, Lid, MulticastTables, PortMask, SwitchIndex, Topology};
use weft_state::State;

use self::cables::{Cables, Sets};
pub use self::finding::{MulticastFinding, MulticastRefusal};
use self::group::Judge;
use crate::multicast::MulticastGroup;

/// Proof that multicast tables are good for one topology; only [`certify_multicast`] makes one.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct MulticastCertificate {
    pub(self) groups: u64,
    pub(self) receivers: u64,
    pub(self) cables: u64,
}

impl MulticastCertificate {
    /// Groups that were followed.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Receivers of all groups, each reached exactly once by every member that it is joined to.
    pub fn receivers(&self) -> u64 {
        self.receivers
    }

    /// Cables of the trees of all groups.
    pub fn cables(&self) -> u64 {
        self.cables
    }
}

/// Certifies multicast tables.
///
/// # Errors
/// [`MulticastRefusal`] with the finding.
pub fn certify_multicast(
    topology: &Topology,
    tables: &MulticastTables,
    groups: &[MulticastGroup],
) -> Result<MulticastCertificate, MulticastRefusal> {
    let cables = Cables::new(topology);
    let mut certificate = MulticastCertificate::default();
    let mut findings = Vec::new();
    let mut judge = Judge::new(topology, &cables, tables);
    for group in groups {
        judge.group(group, &mut certificate, &mut findings);
    }
    without_group(topology, tables, groups, &mut findings);
    match findings.is_empty() {
        true => Ok(certificate),
        false => Err(MulticastRefusal::new(findings)),
    }
}

/// Rows without a group.
fn without_group(
    topology: &Topology,
    tables: &MulticastTables,
    groups: &[MulticastGroup],
    findings: &mut Vec<MulticastFinding>,
) {
    let asked: BTreeMap<Lid, ()> = groups.iter().map(|group| (group.mlid, ())).collect();
    for (index, node) in topology.switches().iter().enumerate() {
        for (row, mask) in tables.row(SwitchIndex(index as u32)).iter().enumerate() {
            let mlid = Lid(FIRST_MLID + row as u32);
            if !mask.is_empty() && !asked.contains_key(&mlid) {
                findings.push(MulticastFinding::NoGroup {
                    mlid,
                    switch: *node,
                });
            }
        }
    }
}

/// The first step from rows that switches may hold to their new rows; `None` if they may be
/// written in any order.
///
/// Switches take their new rows one by one, so packets meet every mixture. If the cables of old
/// and new rows of a LID together close a circle, the step keeps of that LID only the ports in both:
/// part of one tree at every moment, during this step and the next.
pub fn multicast_step(
    topology: &Topology,
    held: &MulticastTables,
    wanted: &MulticastTables,
) -> Option<MulticastTables> {
    let cables = Cables::new(topology);
    let switches = topology.switches().len();
    let entries = held.entries().max(wanted.entries());
    let mut sets = Sets::new(switches);
    let mut middle: Option<Vec<Vec<PortMask>>> = None;
    for row in 0..entries {
        let pairs = |switch: usize| {
            let index = SwitchIndex(switch as u32);
            let at =
                |tables: &MulticastTables| tables.row(index).get(row).copied().unwrap_or_default();
            (at(held), at(wanted))
        };
        if (0..switches).all(|switch| pairs(switch).0 == pairs(switch).1) {
            continue;
        }
        let either = |switch: usize| pairs(switch).0 | pairs(switch).1;
        if cables.circle(&mut sets, either).is_none() {
            continue;
        }
        let middle = middle.get_or_insert_with(|| padded(wanted, switches, entries));
        for (switch, rows) in middle.iter_mut().enumerate() {
            let (old, new) = pairs(switch);
            rows[row] = old & new;
        }
    }
    middle.map(|rows| MulticastTables::new(rows.into_iter().map(Into::into).collect()))
}

fn padded(tables: &MulticastTables, switches: usize, entries: usize) -> Vec<Vec<PortMask>> {
    let row = |switch: usize| {
        let mut row = tables.row(SwitchIndex(switch as u32)).to_vec();
        row.resize(entries, PortMask::EMPTY);
        row
    };
    (0..switches).map(row).collect()
}
