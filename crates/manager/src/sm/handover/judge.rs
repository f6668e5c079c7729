//! Which partitions are handed over, and what ports hold until then.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::PortNum;
use weft_wire::enums::PortState;

use super::At;
use super::keys::{Keys, reduced};
use crate::sm::devices::{Devices, Observed};
use crate::sm::plan::Plan;
use crate::sm::program::is_live;
use crate::sm::tables::{Kind, TableId};

/// A port whose table is to change.
struct Change {
    at: At,
    wanted: TableId,
    held: Keys,
}

/// Ports whose tables change, and what that means for partitions.
#[derive(Default)]
pub(super) struct Judgement {
    changes: Vec<Change>,
    /// Ports in use whose tables are not known.
    pub(super) unread: BTreeSet<At>,
    /// Ports of switches that carry data, do not check keys, and are to check them.
    unchecking: BTreeSet<At>,
    /// Those that check keys and are not to check them any more, with their tables.
    checking: BTreeMap<At, TableId>,
    lost: BTreeSet<u16>,
    gained: BTreeSet<u16>,
}

/// Compares what ports hold with what they are to have.
pub(super) fn judge(plan: &Plan, devices: &Devices) -> Judgement {
    let mut judgement = Judgement::default();
    for (node, tables) in (0..).zip(&plan.tables) {
        let Some(device) = devices.get(node) else {
            continue;
        };
        for port in device.ports_with_tables() {
            let ids = tables.get(device.observed.port_index(port));
            let wanted = ids.map_or(TableId::UNKNOWN, |ids| ids[Kind::PKeys.index()]);
            judgement.compare(plan, devices, (node, port), wanted);
        }
    }
    judgement
}

impl Judgement {
    fn compare(&mut self, plan: &Plan, devices: &Devices, at: At, wanted: TableId) {
        let device = &devices[at.0];
        let observed = &device.observed;
        let held = observed.table(at.1, Kind::PKeys);
        if held == wanted {
            return;
        }
        let is_end = at.1 == device.end_port();
        let checks = checks(observed, at.1);
        if wanted == TableId::UNKNOWN {
            self.checking.extend(checks.then_some((at, held)));
        } else if held == TableId::UNKNOWN && is_live(observed, at.1) {
            self.unread.insert(at);
        } else if !is_end && !checks && carries_data(observed, at.1) {
            self.unchecking.insert(at);
        } else {
            let content = |id| Keys::of(devices.tables.content(id));
            let (held, new) = (content(held), content(wanted));
            let guard = guard(plan, devices, at);
            let passes = |partition: &u16| {
                let rank = guard.as_ref().map(|guard| guard.rank(*partition));
                rank.is_none_or(|rank| rank > new.rank(*partition))
            };
            self.lost.extend(held.more_than(&new).filter(passes));
            self.gained.extend(new.more_than(&held));
            self.changes.push(Change { at, wanted, held });
        }
    }

    /// Whether some port loses a partition and another one gains it.
    fn hands_over(&self) -> bool {
        !self.lost.is_disjoint(&self.gained)
    }

    /// What ports have until all losses are confirmed, where it is not their planned table. Names new tables.
    pub(super) fn meanwhile(&self, devices: &mut Devices) -> BTreeMap<At, TableId> {
        if !self.hands_over() {
            return BTreeMap::new();
        }
        let tables = &mut devices.tables;
        let mut meanwhile = self.checking.clone();
        for Change { at, wanted, held } in &self.changes {
            let is_handed_over =
                |partition| self.lost.contains(&partition) && self.gained.contains(&partition);
            let table = reduced(tables.content(*wanted), held, is_handed_over);
            let id = table.map(|table| tables.intern(&table));
            meanwhile.extend(id.filter(|id| id != wanted).map(|id| (*at, id)));
        }
        meanwhile
    }

    /// Ports of switches that begin to check keys when all partitions are handed over: what their HFIs keep
    /// must pass meanwhile.
    pub(super) fn later(&self) -> BTreeSet<At> {
        match self.hands_over() {
            true => self.unchecking.clone(),
            false => BTreeSet::new(),
        }
    }
}

/// The keys that the port of a switch before a host lets pass, none where it checks nothing. A host that is silent is cut
/// off there from what it should have given up.
fn guard(plan: &Plan, devices: &Devices, (node, port): At) -> Option<Keys> {
    let peer = plan.peer(node, port)?;
    let device = devices.get(peer.node.0)?;
    let info = device.observed.port(peer.port)?;
    let table = device.observed.table(peer.port, Kind::PKeys);
    let checks = info.partition_enforcement_inbound && info.partition_enforcement_outbound;
    let is_host = !devices[node].is_switch();
    (is_host && device.is_switch() && checks && table != TableId::UNKNOWN)
        .then(|| Keys::of(devices.tables.content(table)))
}

fn checks(observed: &Observed, port: PortNum) -> bool {
    let info = observed.port(port);
    info.is_some_and(|info| info.partition_enforcement_inbound)
}

fn carries_data(observed: &Observed, port: PortNum) -> bool {
    let info = observed.port(port);
    info.is_some_and(|info| info.port_state >= PortState::ARMED)
}
