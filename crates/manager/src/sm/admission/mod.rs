//! Devices that are not let into the fabric, as opa-fm does it (`_stl_authentic_node` in `sm_discovery.c`): what they
//! say about themselves is not what the hardware of their neighbour reports, or they are not capable of what a fabric
//! needs.
//!
//! Such a device is no node of the topology, unless other links lead to it that are right. Its link carries no data: a
//! link that does is taken down once, and the manager leaves it in state Init from then on. Each full sweep looks
//! again.
//!
//! | module | contents |
//! |---|---|
//! | `identity` | what a device says about itself |
//! | `link` | what the device at the other end of a link is capable of |
//! | `sweep` | the links of a sweep, and what follows for them |

mod identity;
mod link;
mod sweep;

use std::collections::BTreeMap;

use weft_fabric::Tick;
use weft_fabric::admission::{Defect, Defects, RefusedNode};
use weft_fabric::enums::LinkInitReason;
use weft_fabric::export::escape_name;
use weft_state::State;

use super::port_change::End;
use crate::io::{LinkEnd, UnusedReason};
use crate::refused::RefusedDevice;

pub(super) use identity::{Rejection, check};
pub(super) use link::Needs;

/// What is wrong with a device, with the words for it.
#[derive(Debug, Default)]
struct Findings(Vec<(Defect, String)>);

impl Findings {
    fn add(&mut self, defect: Defect, evidence: String) {
        self.0.push((defect, evidence));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn defects(&self) -> Defects {
        self.0.iter().map(|(defect, _)| *defect).collect()
    }

    fn evidence(&self) -> String {
        let all: Vec<&str> = self.0.iter().map(|(_, words)| words.as_str()).collect();
        all.join("; ")
    }
}

/// A device that is not let into the fabric.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Refusal {
    pub(super) node: RefusedNode,
    pub(super) evidence: String,
}

impl Refusal {
    /// What people are told, at a port under this name.
    fn told(&self, trusted: LinkEnd) -> RefusedDevice {
        let RefusedNode {
            neighbour,
            info,
            description,
            defects,
            ..
        } = self.node;
        RefusedDevice {
            trusted,
            found: LinkEnd {
                node: info.node_guid,
                name: escape_name(description.bytes()),
                port: info.local_port_num,
            },
            neighbour,
            defects,
            evidence: self.evidence.clone(),
        }
    }

    /// Whether another refusal is about the same device with the same defects.
    fn is_same(&self, other: &Self) -> bool {
        let key = |refusal: &Self| {
            let node = &refusal.node;
            (node.neighbour, node.info.node_guid, node.defects)
        };
        key(self) == key(other)
    }
}

/// Devices that are not let into the fabric, by the trusted ports before them.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Refusals {
    /// Those that this sweep has found so far.
    found: BTreeMap<End, Refusal>,
    /// Those of the last sweep, each with the moment at which it was found first.
    kept: BTreeMap<End, (Refusal, Tick)>,
}

impl Refusals {
    /// A sweep begins; one that does not look everywhere keeps what it does not see.
    pub(super) fn begin(&mut self, looks_everywhere: bool) {
        self.found = match looks_everywhere {
            true => BTreeMap::new(),
            false => {
                let kept = self.kept.iter();
                kept.map(|(end, (refusal, _))| (*end, refusal.clone()))
                    .collect()
            }
        };
    }

    fn find(&mut self, refusal: Refusal) {
        self.found.insert(refusal.node.trusted, refusal);
    }

    /// Nothing is wrong with the device behind a port.
    fn withdraw(&mut self, end: End) {
        self.found.remove(&end);
    }

    fn retain(&mut self, keeps: impl Fn(&Refusal) -> bool) {
        self.found.retain(|_, refusal| keeps(refusal));
    }

    /// Whether the device behind a port is refused in this sweep.
    pub(super) fn refuses(&self, end: End) -> bool {
        self.found.contains_key(&end)
    }

    /// Takes over what was found: what is new, and the ports at which it is over.
    fn settle(&mut self, now: Tick) -> (Vec<Refusal>, Vec<End>) {
        let found = std::mem::take(&mut self.found);
        let before = std::mem::take(&mut self.kept);
        let over = before.keys().filter(|end| !found.contains_key(end));
        let over = over.copied().collect();
        let mut new = Vec::new();
        for (end, refusal) in found {
            let known = before.get(&end);
            let since = match known.filter(|(known, _)| known.is_same(&refusal)) {
                Some((_, since)) => *since,
                None => {
                    new.push(refusal.clone());
                    now
                }
            };
            self.kept.insert(end, (refusal, since));
        }
        (new, over)
    }

    /// Those of the last sweep.
    pub(super) fn nodes(&self) -> impl Iterator<Item = RefusedNode> {
        self.kept.values().map(|(refusal, _)| refusal.node)
    }

    /// Why the device behind a port is not let in, none where it is.
    pub(super) fn reason(&self, end: End) -> Option<UnusedReason> {
        let (refusal, _) = self.kept.get(&end)?;
        let defects = refusal.node.defects;
        Some(UnusedReason::Refused { defects })
    }

    /// Why the port before a device that is not let in stays in state Init, none where there is no such device.
    pub(super) fn init_reason(&self, end: End) -> Option<LinkInitReason> {
        let (refusal, _) = self.kept.get(&end)?;
        Some(match refusal.node.defects.is_of_statements() {
            true => LinkInitReason::QUARANTINED,
            false => LinkInitReason::INSUFFICIENT_CAPABILITY,
        })
    }

    /// Forgets all: another manager runs the fabric.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}
