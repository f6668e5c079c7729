//! Intended state of a port or a switch, and the part to write.

use std::sync::Arc;

use weft_fabric::tables::SwitchPortGroups;
use weft_fabric::{Lid, Lmc, NodeId, PortNum, PortRef};
use weft_wire::enums::PortState;
use weft_wire::sm::{PortInfo, SwitchInfo};

use crate::settings::MANAGEMENT_LANE;
use crate::sm::devices::{Device, Devices};
use crate::sm::plan::Plan;
use crate::sm::settings::{LinkPolicy, Settings};
use crate::sm::tables::{Kind, TableId};
use crate::sm::wanted::port::{Context, Place, same_settings, to_set, wanted};
use crate::sm::wanted::preemption::marks_lanes;
use crate::sm::wanted::switch;

/// Inputs of writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needs<'a> {
    pub settings: &'a Settings,
    pub plan: &'a Plan,
    /// Confirmed state of nodes.
    pub devices: &'a Devices,
    /// Number of the sweep: nodes that have not answered in it do not work.
    pub sweep: u64,
    /// What is confirmed is written all the same.
    pub rewrites: bool,
}

impl<'a> Needs<'a> {
    /// Confirmed state of the port at the other end of a good link.
    pub(crate) fn peer_info(&self, node: u32, port: PortNum) -> Option<(&'a Device, &'a PortInfo)> {
        let peer = self.plan.peer(node, port)?;
        let device = self.devices.get(peer.node.0)?;
        device.observed.port(peer.port).map(|info| (device, info))
    }

    /// Whether a port may be armed and activated: it has settings and its link is not refused.
    pub(crate) fn may_carry_data(&self, node: u32, port: PortNum) -> bool {
        let end = (self.devices[node].identity.guid, port);
        !self.plan.is_refused(node, port)
            && self.devices.refusals.reason(end).is_none()
            && self.wanted_port(node, port).is_some()
    }

    /// PortInfo of a port as it should be, none for a port that the manager leaves alone. A port whose
    /// link is refused keeps its settings and says why it stays in Init.
    pub(crate) fn wanted_port(&self, node: u32, port: PortNum) -> Option<PortInfo> {
        let device = &self.devices[node];
        let held = device.observed.port(port)?;
        let neighbour = self.peer_info(node, port);
        let place = match (device.is_switch(), port.0) {
            (true, 0) => Place::Management,
            (true, _) => Place::External,
            (false, _) => Place::Hfi,
        };
        match place {
            Place::Management => {}
            Place::External if neighbour.is_none() => {
                let end = (device.identity.guid, port);
                let link_init_reason = self.devices.refusals.init_reason(end)?;
                return Some(PortInfo {
                    link_init_reason,
                    ..*held
                });
            }
            _ => drop(neighbour?),
        }
        if place != Place::External && self.plan.late_lids.contains(&NodeId(node)) {
            return None;
        }
        let at = PortRef {
            node: NodeId(node),
            port,
        };
        let faces_hfi = neighbour.is_some_and(|(peer, _)| !peer.is_switch());
        let policy = self.policy(device.is_switch(), neighbour.map(|(peer, _)| peer));
        if let Some(link_init_reason) = self.plan.routes.unused.init_reason(at) {
            return Some(PortInfo {
                link_init_reason,
                ..*held
            });
        }
        let (lid, lmc) = match (place, self.plan.peer(node, port)) {
            (Place::External, Some(peer)) if faces_hfi => self.lids_let_in(peer.node),
            (Place::External, _) => (Lid(0), Lmc(0)),
            _ => self.plan.lids[node as usize],
        };
        let is_guest = |(device, far): (&Device, &PortInfo)| {
            let guid = device.identity.guid;
            !far.mgmt_allowed && !self.settings.admission.is_appliance(guid)
        };
        let guest = faces_hfi && place == Place::External && neighbour.is_some_and(is_guest);
        let qos = self.plan.qos.as_ref()?;
        let keys = &self.devices.keys;
        let context = Context {
            settings: self.settings,
            qos,
            sm_lid: self.plan.sm_lid(),
            sm_sl: self.plan.sm_sl(self.settings),
            place,
            lid,
            lmc,
            m_key: match place {
                Place::External => 0,
                _ => keys.wanted(self.settings, (device.identity.guid, port)),
            },
            neighbour: neighbour.map(|(_, info)| info),
            markers: qos.preempts() && self.has_markers(node, port),
            faces_guest: guest,
            // Only ports that are to check keys get a table of keys.
            enforces: place == Place::External && self.is_to_check(node, port, held),
            policy,
        };
        Some(wanted(held, &context))
    }

    /// LIDs of which the port before an HFI lets packets in: its own, or any if it is not to be doubted.
    fn lids_let_in(&self, hfi: NodeId) -> (Lid, Lmc) {
        let guid = self.devices[hfi].identity.guid;
        match self.settings.admission.doubts(guid) {
            true => self.plan.lids[hfi.0 as usize],
            false => (Lid::PERMISSIVE, Lmc(0)),
        }
    }

    /// Whether a switch's port is to check keys; not before it has its table.
    fn is_to_check(&self, node: u32, port: PortNum, held: &PortInfo) -> bool {
        match self.plan.handover.is_untouched(node, port) {
            true => held.partition_enforcement_inbound,
            false => self.wanted_table(node, port, Kind::PKeys) != TableId::UNKNOWN,
        }
    }

    /// Whether both ends of a port's cable can mark lanes.
    fn has_markers(&self, node: u32, port: PortNum) -> bool {
        let can = |node: NodeId, port: PortNum| {
            let node = self.devices[node].observed.node.as_deref();
            node.is_some_and(|node| marks_lanes(node, port))
        };
        can(NodeId(node), port)
            && self
                .plan
                .peer(node, port)
                .is_some_and(|peer| can(peer.node, peer.port))
    }

    fn policy(&self, is_switch: bool, peer: Option<&Device>) -> &'a LinkPolicy {
        let between_switches = is_switch && peer.is_none_or(Device::is_switch);
        self.settings.link_policy(between_switches)
    }

    /// PortInfo to be written, none where the port holds it already.
    pub(crate) fn port_to_write(&self, node: u32, port: PortNum) -> Option<PortInfo> {
        let wanted = self.wanted_port(node, port)?;
        let held = self.devices[node].observed.port(port)?;
        (self.rewrites || !same_settings(&wanted, held)).then(|| to_set(&wanted))
    }

    /// A table to be written, [`TableId::UNKNOWN`] where the port holds it already, or stays in Init because
    /// its link is refused: an HFI that is power-cycled meanwhile could not be told from one that has it.
    pub(crate) fn table_to_write(&self, node: u32, port: PortNum, kind: Kind) -> TableId {
        let device = &self.devices[node];
        let wanted = self.wanted_table(node, port, kind);
        let held = device.observed.table(port, kind);
        let waits = || kind == Kind::PKeys && self.plan.handover.is_untouched(node, port);
        if (held == wanted && !self.rewrites) || waits() {
            return TableId::UNKNOWN;
        }
        let in_use = |info: &PortInfo| info.port_state >= PortState::ARMED;
        let is_in_use = device.observed.port(port).is_some_and(in_use);
        let serves = || {
            agree_where_used(
                self.devices.tables.content(held),
                self.devices.tables.content(wanted),
            )
        };
        let needless = match is_in_use {
            true => kind.is_fixed_in_use() && serves(),
            // Maps of service channels are the switch's.
            false => kind != Kind::ScToSc && self.plan.is_refused(node, port),
        };
        match needless {
            true => TableId::UNKNOWN,
            false => wanted,
        }
    }

    /// The table that a port should hold for now: the planned one, unless it waits for other ports to give up
    /// partitions.
    pub(crate) fn wanted_table(&self, node: u32, port: PortNum, kind: Kind) -> TableId {
        let meanwhile = match kind {
            Kind::PKeys => self.plan.handover.meanwhile(node, port),
            _ => None,
        };
        meanwhile.unwrap_or_else(|| self.planned_table(node, port, kind))
    }

    /// Whether a node has P_Key tables, or ports that check them, to be written.
    pub(crate) fn lacks_keys(&self, node: u32) -> bool {
        self.devices[node].ports_with_tables().any(|port| {
            self.table_to_write(node, port, Kind::PKeys) != TableId::UNKNOWN
                || self.port_to_write(node, port).is_some()
        })
    }

    /// The table of a port in the plan.
    pub(crate) fn planned_table(&self, node: u32, port: PortNum, kind: Kind) -> TableId {
        let index = self.devices[node].observed.port_index(port);
        let tables = self
            .plan
            .tables
            .get(node as usize)
            .and_then(|ports| ports.get(index));
        tables.map_or(TableId::UNKNOWN, |ids| ids[kind.index()])
    }

    /// The adaptive groups that a switch should have, `None` if it cannot have any. Routes without
    /// groups need empty ones: those of earlier routes are not proved for these.
    pub(crate) fn wanted_groups(&self, node: u32) -> Option<Arc<SwitchPortGroups>> {
        let index = self.plan.topology.switch_index(NodeId(node))?;
        let capable = self.devices[node]
            .observed
            .node
            .as_ref()?
            .switch?
            .is_adaptive_routing_supported;
        let groups = self.plan.routes.routed.as_ref()?.groups();
        let own = groups.switches.get(index.0 as usize);
        let wanted = capable && self.settings.routing.adaptive.is_some();
        wanted.then(|| own.map(Arc::clone).unwrap_or_default())
    }

    /// SwitchInfo of a switch as it should be while tables are still to be written; none where it can
    /// wait for them.
    pub(crate) fn wanted_switch_first(&self, node: u32, pause: bool) -> Option<SwitchInfo> {
        let wanted = self.wanted_switch(node, pause)?;
        let top = self.devices[node]
            .observed
            .node
            .as_ref()?
            .switch?
            .linear_fdb_top;
        let waits = self.plan.late_tops && wanted.linear_fdb_top > top;
        let linear_fdb_top = if waits { top } else { wanted.linear_fdb_top };
        (linear_fdb_top != 0).then_some(SwitchInfo {
            linear_fdb_top,
            ..wanted
        })
    }

    /// SwitchInfo of a switch as it should be.
    pub(crate) fn wanted_switch(&self, node: u32, pause: bool) -> Option<SwitchInfo> {
        let held = self.devices[node].observed.node.as_ref()?.switch?;
        let routing = self.settings.routing.adaptive.as_ref();
        let wanted = switch::wanted(
            &held,
            &self.settings.traffic,
            self.plan.top,
            routing,
            self.wanted_groups(node).map(|groups| groups.groups.len()),
            pause,
        );
        Some(SwitchInfo {
            multicast_fdb_top: self.multicast_top(node, &held),
            ..wanted
        })
    }

    /// Whether a node has confirmed the LID that it is to have.
    pub(crate) fn has_its_lid(&self, node: u32) -> bool {
        let device = &self.devices[node];
        let held = device
            .observed
            .port(device.end_port())
            .map(|info| (info.lid, info.lmc));
        let wanted = self.plan.lids.get(node as usize).copied();
        wanted.is_some_and(|(lid, _)| lid.0 != 0) && held == wanted
    }
}

/// Whether a map of channels to lanes that a port holds serves as well as the wanted one: equal for
/// management's channel and those with a lane. Other managers map channels that carry nothing otherwise.
fn agree_where_used(held: &[u8], wanted: &[u8]) -> bool {
    let mut channels = held.iter().zip(wanted).enumerate();
    held.len() == wanted.len()
        && channels.all(|(sc, (held, wanted))| {
            let unused = *wanted == MANAGEMENT_LANE.0 && sc != usize::from(MANAGEMENT_LANE.0);
            unused || held == wanted
        })
}

#[cfg(test)]
mod tests {
    use super::agree_where_used;

    /// Levels 0 and 1 with lanes of their own; all other channels on lane 15.
    fn wanted() -> [u8; 32] {
        let mut map = [15; 32];
        map[..2].copy_from_slice(&[0, 1]);
        map
    }

    #[test]
    fn maps_may_differ_in_channels_that_carry_nothing() {
        // As the vendor's manager fills it: lane by lane, again and again.
        let mut held: [u8; 32] = std::array::from_fn(|sc| sc as u8 % 8);
        held[15] = 15;
        assert!(agree_where_used(&held, &wanted()));
    }

    #[test]
    fn a_channel_in_use_or_managements_on_another_lane_counts() {
        for sc in [0, 1, 15] {
            let mut held = wanted();
            held[sc] = 3;
            assert!(!agree_where_used(&held, &wanted()), "SC {sc}");
        }
        assert!(!agree_where_used(&[], &wanted()), "nothing is known");
    }
}
