//! Changes of virtual fabrics.

use weft_fabric::{PKey, PortRef, Snapshot};
use weft_manager::vf::{ChangedFabric, ChangedPort, ChangedSetting, FabricPlan};

use super::port_id;
use crate::v1;

/// Most ports of a plan in a message.
const PORTS_MAX: usize = 10_000;

/// A port with the name of its node.
pub(super) fn named(snapshot: &Snapshot, at: PortRef) -> v1::NamedPort {
    let node = snapshot.topology.node(at.node);
    v1::NamedPort {
        port: port_id(&snapshot.topology, at),
        node_name: node.map_or_else(String::new, |node| node.name()),
    }
}

fn numbers(keys: &[PKey]) -> Vec<u32> {
    keys.iter().map(|key| key.0.into()).collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl v1::FabricPlan {
    /// A change on a fabric.
    pub fn of(snapshot: &Snapshot, plan: FabricPlan) -> Self {
        let port = |change: &ChangedPort| v1::FabricPortChange {
            port: Some(named(snapshot, change.at)),
            joins: change.joins.clone(),
            leaves: change.leaves.clone(),
            gained_pkeys: numbers(&change.gains),
            lost_pkeys: numbers(&change.loses),
        };
        Self {
            more_ports: count(plan.ports.len().saturating_sub(PORTS_MAX)),
            ports: plan.ports.iter().take(PORTS_MAX).map(port).collect(),
            handed_over: numbers(&plan.handed_over),
            changes_levels: plan.changes_levels,
            changed: plan.changed.into_iter().map(Into::into).collect(),
            added: plan.added,
            removed: plan.removed,
        }
    }
}

impl From<ChangedFabric> for v1::ChangedFabric {
    fn from(changed: ChangedFabric) -> Self {
        let setting = |setting: ChangedSetting| v1::ChangedSetting {
            element: setting.element.to_owned(),
            before: setting.before,
            after: setting.after,
        };
        Self {
            name: changed.name,
            settings: changed.settings.into_iter().map(setting).collect(),
        }
    }
}

impl From<&FabricPlan> for v1::VirtualFabricsChanged {
    fn from(plan: &FabricPlan) -> Self {
        let keys = |port: &&ChangedPort| !(port.gains.is_empty() && port.loses.is_empty());
        let names = plan.changed.iter().map(|changed| changed.name.clone());
        let losing = plan.ports.iter().filter(|port| !port.loses.is_empty());
        Self {
            added: plan.added.clone(),
            removed: plan.removed.clone(),
            changed: names.collect(),
            ports: count(plan.ports.iter().filter(keys).count()),
            losing_ports: count(losing.count()),
            handed_over: numbers(&plan.handed_over),
        }
    }
}
