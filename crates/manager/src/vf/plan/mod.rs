//! What other virtual fabrics would change: fabrics, members, keys.

mod fabrics;

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{PKey, PortRef, Sl, Snapshot};

pub use fabrics::{ChangedFabric, ChangedSetting};

use super::{Fabrics, end_ports};
use crate::sa::SaSettings;
use crate::settings::VirtualFabric;

const FULL: u16 = 0x8000;
/// The key of a limited member of the management partition, which every port has.
const MANAGEMENT: PKey = PKey(0x7FFF);

/// A change of virtual fabrics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FabricPlan {
    /// Names of new ones.
    pub added: Vec<String>,
    /// Names of those that go.
    pub removed: Vec<String>,
    /// Those that stay, with other settings.
    pub changed: Vec<ChangedFabric>,
    /// Ports that join or leave some, or get other keys, in order of node and port.
    pub ports: Vec<ChangedPort>,
    /// Partitions that some ports lose and others gain: these wait until all losses are confirmed.
    pub handed_over: Vec<PKey>,
    /// Other service levels are in use: ports that carry data keep their maps of channels to lanes until their links
    /// go down.
    pub changes_levels: bool,
}

/// A port that a change of virtual fabrics concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPort {
    /// The port.
    pub at: PortRef,
    /// Virtual fabrics that it joins.
    pub joins: Vec<String>,
    /// Virtual fabrics that it leaves.
    pub leaves: Vec<String>,
    /// Keys that its P_Key table has after the change only.
    pub gains: Vec<PKey>,
    /// Keys that it has before the change only.
    pub loses: Vec<PKey>,
}

impl FabricPlan {
    /// The change from some virtual fabrics to others on a fabric.
    pub fn new(snapshot: &Snapshot, before: &SaSettings, after: &SaSettings) -> Self {
        let mut plan = Self {
            changes_levels: levels(before) != levels(after),
            ..Self::default()
        };
        plan.compare_fabrics(before, after);
        let both = [before, after].map(|settings| Fabrics::new(snapshot, settings));
        let (mut lost, mut gained) = (BTreeSet::new(), BTreeSet::new());
        for (at, _) in end_ports(&snapshot.topology) {
            let [old, new] = both.map(|fabrics| Held::of(&fabrics, at));
            lost.extend(old.has_more_than(&new));
            gained.extend(new.has_more_than(&old));
            plan.ports.extend(changed(at, &old, &new));
        }
        plan.handed_over = lost.intersection(&gained).map(|key| PKey(*key)).collect();
        plan
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The virtual fabrics and keys of a port.
struct Held {
    /// Names.
    fabrics: Vec<String>,
    /// By partition, the key with the port's bit of membership.
    keys: BTreeMap<u16, PKey>,
}

impl Held {
    fn of(fabrics: &Fabrics<'_>, at: PortRef) -> Self {
        let mut held = Self {
            fabrics: Vec::new(),
            keys: BTreeMap::from([(MANAGEMENT.0, MANAGEMENT)]),
        };
        for fabric in &fabrics.settings.fabrics {
            let Some(full) = fabrics.membership(fabric, at) else {
                continue;
            };
            let key = fabric.member_key(full);
            let own = held.keys.entry(key.0 & !FULL).or_insert(key);
            own.0 |= key.0;
            held.fabrics.push(fabric.name.clone());
        }
        held
    }

    /// The partitions in which it has more than another, or has what the other lacks.
    fn has_more_than<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u16> + 'a {
        let rank = |key: Option<&PKey>| key.map_or(0, |key| 1 + (key.0 >> 15));
        let more = move |(partition, key): &(&u16, &PKey)| {
            rank(Some(key)) > rank(other.keys.get(partition))
        };
        self.keys
            .iter()
            .filter(more)
            .map(|(partition, _)| *partition)
    }

    /// What it has and another has not.
    fn without(&self, other: &Self) -> (Vec<String>, Vec<PKey>) {
        let names = self
            .fabrics
            .iter()
            .filter(|name| !other.fabrics.contains(name));
        let keys = self.keys.iter();
        let keys = keys.filter(|(partition, key)| other.keys.get(partition) != Some(key));
        (
            names.cloned().collect(),
            keys.map(|(_, key)| *key).collect(),
        )
    }
}

fn changed(at: PortRef, old: &Held, new: &Held) -> Option<ChangedPort> {
    let (leaves, loses) = old.without(new);
    let (joins, gains) = new.without(old);
    let any = !(leaves.is_empty() && loses.is_empty() && joins.is_empty() && gains.is_empty());
    any.then_some(ChangedPort {
        at,
        joins,
        leaves,
        gains,
        loses,
    })
}

/// The service levels in use.
fn levels(settings: &SaSettings) -> BTreeSet<Sl> {
    let levels = |fabric: &VirtualFabric| [fabric.sl, fabric.multicast_sl];
    settings.active().flat_map(levels).collect()
}
