//! All devices, and their ports by index.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::enums::PortState;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, SwitchIndex, Topology, TopologyError, Vl};
use weft_wire::sm::{NodeDescription, PortInfo, SwitchInfo};

use crate::bad_cables::BadCable;
use crate::cable_memory::CableEnd;
use crate::constants::QUALITY_EXCELLENT;
use crate::counters::{Counter, PortCounters, Traffic, VL15, VlCounter};
use crate::device::Device;
use crate::lossy_links::LossyLink;
use crate::optics::Optics;
use crate::registers::{PortRegisters, PortTable};
use crate::settings::Refused;
use crate::switch::SwitchRegisters;
use crate::tables::TablePool;
use crate::training::Trainings;

/// A port's dense index in one [`Network`], in the order of nodes and port numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortIndex(pub(crate) u32);

/// No port, or no switch.
pub(crate) const NONE: u32 = u32::MAX;

/// Port data for forwarding, in one cache line.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct LinkEnd {
    /// Counters of VL15.
    pub(crate) management: Traffic,
    /// The other end of the cable, [`NONE`] without one.
    pub(crate) peer: u32,
    pub(crate) node: u32,
    /// [`NONE`] for an HFI.
    pub(crate) switch: u32,
    /// End ports: base LID, 0 for none.
    pub(crate) lid: u32,
    pub(crate) number: PortNum,
    /// Number of the node's last port; its ports are numbered in order in the network too.
    pub(crate) last: PortNum,
    pub(crate) state: PortState,
    pub(crate) lmc: u8,
    /// The cable is cut.
    pub(crate) cut: bool,
    /// The port refuses to leave Init.
    pub(crate) refuses_arm: bool,
    /// Some of the datagrams that it sends are lost.
    pub(crate) loses: bool,
    /// Lanes of the cable that can carry something out of this port.
    pub(crate) lanes: u8,
    /// Lanes of the cable carry 12.5 Gb/s, not 25.
    pub(crate) slow: bool,
    /// What the port says about its link: 5 excellent to 1 bad.
    pub(crate) quality: u8,
}

/// All devices of a fabric.
#[derive(Debug, Clone)]
pub struct Network {
    pub(crate) topology: Arc<Topology>,
    pub(crate) devices: Vec<Device>,
    pub(crate) switches: Vec<SwitchRegisters>,
    pub(crate) ports: Vec<PortRegisters>,
    pub(crate) links: Vec<LinkEnd>,
    pub(crate) pool: TablePool,
    /// Switches with a port whose link came up or went down since the list was last taken.
    pub(crate) changed: Vec<NodeId>,
    /// Switches with a port whose link has lost lanes since the list was last taken.
    pub(crate) narrowed: Vec<NodeId>,
    /// See [`Network::state_changes`].
    pub(crate) state_changes: u64,
    /// See [`Network::link_changes`].
    pub(crate) link_changes: u64,
    /// Bad cables by the ports at both of their ends.
    pub(crate) bad_cables: BTreeMap<PortIndex, BadCable>,
    /// Links that lose datagrams, by the sending port.
    pub(crate) lossy_links: BTreeMap<PortIndex, LossyLink>,
    /// Datagrams that they have lost since that was last taken.
    pub(crate) lost: u64,
    /// What modules measure that do not measure what is usual.
    pub(crate) optics: BTreeMap<PortIndex, Optics>,
    /// How links come up.
    pub(crate) trainings: Trainings,
    /// What cables say of themselves that do not say what is usual.
    pub(crate) cable_ends: BTreeMap<PortIndex, CableEnd>,
    /// Cables that were plugged in since the beginning.
    pub(crate) cables_plugged: u64,
}

impl Network {
    /// The nodes of `topology`, switched on: their links have come up as far as both ends allow,
    /// all else is as the topology says or at its default.
    pub fn new(topology: Arc<Topology>) -> Self {
        let mut network = Self {
            devices: Vec::with_capacity(topology.len()),
            switches: Vec::with_capacity(topology.switches().len()),
            ports: Vec::new(),
            links: Vec::new(),
            pool: TablePool::default(),
            changed: Vec::new(),
            narrowed: Vec::new(),
            state_changes: 0,
            link_changes: 0,
            bad_cables: BTreeMap::new(),
            lossy_links: BTreeMap::new(),
            lost: 0,
            optics: BTreeMap::new(),
            trainings: Trainings::default(),
            cable_ends: BTreeMap::new(),
            cables_plugged: 0,
            topology: topology.clone(),
        };
        for (id, _) in topology.nodes() {
            network.add(id);
        }
        network.connect_cables();
        for index in 0..network.links.len() {
            network.train(PortIndex(index as u32));
        }
        network.changed.clear();
        network
    }

    fn add(&mut self, id: NodeId) {
        let topology = self.topology.clone();
        let Some(node) = topology.node(id) else {
            return;
        };
        let first = PortIndex(self.ports.len() as u32);
        let switch = topology.switch_index(id);
        let device = Device::powered_on(node, first, switch, &mut self.pool);
        self.switches.extend(
            node.switch
                .map(|info| SwitchRegisters::powered_on(info, &mut self.pool)),
        );
        for (number, port) in node.ports() {
            let cap = p_key_cap(&device, node.switch.as_ref(), number);
            let registers = PortRegisters::powered_on(port.info, cap, &mut self.pool);
            self.links.push(LinkEnd {
                management: Traffic::default(),
                peer: NONE,
                node: id.0,
                switch: switch.map_or(NONE, |index| index.0),
                lid: 0,
                number,
                last: device.last_port(),
                state: PortState::DOWN,
                lmc: 0,
                cut: false,
                refuses_arm: false,
                loses: false,
                lanes: u8::MAX,
                slow: false,
                quality: QUALITY_EXCELLENT,
            });
            self.ports.push(registers);
        }
        self.devices.push(device);
        self.reset_link_registers(id);
    }

    fn connect_cables(&mut self) {
        let topology = self.topology.clone();
        for (a, b) in topology.links() {
            if let (Some(a), Some(b)) = (self.port_index(a), self.port_index(b)) {
                self.links[a.0 as usize].peer = b.0;
                self.links[b.0 as usize].peer = a.0;
            }
        }
    }

    fn port_index(&self, at: PortRef) -> Option<PortIndex> {
        self.device(at.node)?.port(at.port)
    }

    /// Resets all registers of a node to their power-on values; its links must be down.
    pub(crate) fn reset(&mut self, id: NodeId) {
        let topology = self.topology.clone();
        let (Some(node), Some(device)) = (topology.node(id), self.devices.get(id.0 as usize))
        else {
            return;
        };
        let (first, switch) = (device.first, device.switch);
        let fresh = Device::powered_on(node, first, switch, &mut self.pool);
        for (number, port) in node.ports() {
            if let Some(index) = fresh.port(number) {
                let cap = p_key_cap(&fresh, node.switch.as_ref(), number);
                self.ports[index.0 as usize] =
                    PortRegisters::powered_on(port.info, cap, &mut self.pool);
                self.links[index.0 as usize].management = Traffic::default();
            }
        }
        if let (Some(index), Some(info)) = (switch, node.switch) {
            self.switches[index.0 as usize] = SwitchRegisters::powered_on(info, &mut self.pool);
        }
        self.devices[id.0 as usize] = fresh;
        self.reset_link_registers(id);
    }

    /// Puts another device of its kind in the place of a node, with another NodeGUID; it is switched off.
    ///
    /// # Errors
    /// [`TopologyError::DuplicateGuid`] when another node has that GUID.
    pub fn exchange(&mut self, id: NodeId, guid: Guid) -> Result<(), TopologyError> {
        Arc::make_mut(&mut self.topology).exchange(id, guid)?;
        self.power_off(id);
        Ok(())
    }

    /// The nodes and cables that it was made from.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// A node by its GUID.
    pub fn find(&self, guid: Guid) -> Option<NodeId> {
        self.topology.find(guid)
    }

    /// A node.
    pub fn device(&self, id: NodeId) -> Option<&Device> {
        self.devices.get(id.0 as usize)
    }

    /// A node that is known to exist: it came out of this network.
    #[inline]
    pub fn device_at(&self, id: NodeId) -> &Device {
        &self.devices[id.0 as usize]
    }

    /// All nodes in order.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = (NodeId, &Device)> {
        let numbered = self.devices.iter().enumerate();
        numbered.map(|(index, device)| (NodeId(index as u32), device))
    }

    /// Number of ports of all nodes, ports 0 of switches among them.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// A switch's registers.
    pub fn switch(&self, id: NodeId) -> Option<&SwitchRegisters> {
        let index = self.device(id)?.switch?;
        self.switches.get(index.0 as usize)
    }

    /// A switch's registers, to write them.
    pub fn switch_mut(&mut self, id: NodeId) -> Option<&mut SwitchRegisters> {
        let index = self.device(id)?.switch?;
        self.switches.get_mut(index.0 as usize)
    }

    /// A switch's registers by its place among the switches.
    pub fn switch_at(&self, index: SwitchIndex) -> Option<&SwitchRegisters> {
        self.switches.get(index.0 as usize)
    }

    /// A port's registers.
    #[inline]
    pub fn port(&self, at: PortIndex) -> &PortRegisters {
        &self.ports[at.0 as usize]
    }

    /// The node that a port is on.
    #[inline]
    pub fn node_of(&self, at: PortIndex) -> NodeId {
        NodeId(self.links[at.0 as usize].node)
    }

    /// A port's number on its node.
    #[inline]
    pub fn number_of(&self, at: PortIndex) -> PortNum {
        self.links[at.0 as usize].number
    }

    /// A port's logical state.
    #[inline]
    pub fn state(&self, at: PortIndex) -> PortState {
        self.links[at.0 as usize].state
    }

    /// The other end of a port's cable, whether the link is up or not.
    #[inline]
    pub fn peer(&self, at: PortIndex) -> Option<PortIndex> {
        let peer = self.links[at.0 as usize].peer;
        (peer != NONE).then_some(PortIndex(peer))
    }

    /// The port that holds a node's LID: 0 of a switch, the port itself of an HFI.
    pub fn end_port(&self, at: PortIndex) -> PortIndex {
        let device = self.device_at(self.node_of(at));
        if device.is_switch() { device.first } else { at }
    }

    /// Switches with a port whose link came up or went down since the last call, each once, in the
    /// order of the first change.
    pub fn take_changed(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.changed)
    }

    /// Whether [`Self::take_changed`] has any switches.
    #[inline]
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Switches with a port whose link went on with fewer lanes since the last call, each once.
    pub fn take_narrowed(&mut self) -> Vec<NodeId> {
        std::mem::take(&mut self.narrowed)
    }

    /// Number of changes of any port's logical state, since the network was made: a link that goes
    /// down and comes up again at one moment counts too.
    pub fn state_changes(&self) -> u64 {
        self.state_changes
    }

    /// Number of times that a port's link came up or went down, since the network was made: while it stands still, the
    /// same nodes are connected.
    pub fn link_changes(&self) -> u64 {
        self.link_changes
    }

    /// Sets the GUID of the system that a node is a part of.
    pub fn set_system_image_guid(&mut self, id: NodeId, guid: Guid) {
        self.devices[id.0 as usize].info.system_image_guid = guid;
    }

    /// Sets what people call a node.
    pub fn set_description(&mut self, id: NodeId, description: NodeDescription) {
        self.devices[id.0 as usize].description = description;
    }

    /// Writes `bytes` into a port's table at `offset`; what would go beyond its end is left out.
    pub fn write_table(&mut self, at: PortIndex, table: PortTable, offset: usize, bytes: &[u8]) {
        let slot = &mut self.ports[at.0 as usize].tables[table as usize];
        *slot = self.pool.patched(slot, offset, bytes);
    }

    /// Writes the SC to SC map of every pair of external ports of a switch that `pairs` holds for.
    ///
    /// # Errors
    /// [`Refused`] when the node is no switch.
    pub fn write_channel_map(
        &mut self,
        id: NodeId,
        map: &[u8; 32],
        pairs: impl Fn(PortNum, PortNum) -> bool,
    ) -> Result<(), Refused> {
        let device = self.device(id).ok_or(Refused)?;
        let (ports, index) = (device.info.num_ports, device.switch.ok_or(Refused)?);
        let map = self.pool.intern(map);
        self.switches[index.0 as usize].set_channel_map(ports, map, pairs);
        Ok(())
    }

    /// Writes `bytes` into a node's congestion setting at `offset`.
    pub fn write_congestion_setting(&mut self, id: NodeId, offset: usize, bytes: &[u8]) {
        let slot = &mut self.devices[id.0 as usize].congestion_setting;
        *slot = self.pool.patched(slot, offset, bytes);
    }

    /// Writes `bytes` into a node's congestion table at `offset`.
    pub fn write_congestion_table(&mut self, id: NodeId, offset: usize, bytes: &[u8]) {
        let slot = &mut self.devices[id.0 as usize].congestion_table;
        *slot = self.pool.patched(slot, offset, bytes);
    }

    /// Number of different tables that all ports together have.
    pub fn distinct_tables(&self) -> usize {
        self.pool.len()
    }

    /// A port's counter.
    pub fn counter(&self, at: PortIndex, counter: Counter) -> u64 {
        let kept = self.port(at).counters.as_ref();
        let kept = kept.map_or(0, |counters| counters.get(counter));
        let lane = VlCounter::TOTALS.iter().position(|total| *total == counter);
        let management = match lane {
            Some(0) => self.management(at, VlCounter::XmitData),
            Some(1) => self.management(at, VlCounter::RcvData),
            Some(2) => self.management(at, VlCounter::XmitPkts),
            Some(3) => self.management(at, VlCounter::RcvPkts),
            _ => 0,
        };
        kept.wrapping_add(management)
    }

    /// A counter of one of a port's lanes.
    pub fn lane_counter(&self, at: PortIndex, vl: Vl, counter: VlCounter) -> u64 {
        let kept = self.port(at).counters.as_ref();
        let kept = kept.map_or(0, |counters| counters.get_lane(vl, counter));
        let management = if vl == VL15 {
            self.management(at, counter)
        } else {
            0
        };
        kept.wrapping_add(management)
    }

    fn management(&self, at: PortIndex, counter: VlCounter) -> u64 {
        self.links[at.0 as usize].management.get(counter)
    }

    /// The counters of a port, to count.
    pub(crate) fn counters(&mut self, at: PortIndex) -> &mut PortCounters {
        self.ports[at.0 as usize].counters.get_or_insert_default()
    }

    /// Sets the counters of a port to zero that `select`, a `CounterSelectMask_t`, names.
    pub fn clear_counters(&mut self, at: PortIndex, select: u32) {
        if let Some(counters) = &mut self.ports[at.0 as usize].counters {
            counters.clear(select);
        }
        let lanes = [
            VlCounter::XmitData,
            VlCounter::RcvData,
            VlCounter::XmitPkts,
            VlCounter::RcvPkts,
        ];
        for lane in lanes {
            if select & VlCounter::TOTALS[lane as usize].select_bit() != 0 {
                self.links[at.0 as usize].management.clear(lane);
            }
        }
    }

    /// Counts errors of a port, as its hardware would.
    pub fn count(&mut self, at: PortIndex, counter: Counter, amount: u64) {
        self.counters(at).add(counter, amount);
    }

    /// What a port says about its link while that is up: 5 excellent to 1 bad.
    pub fn quality(&self, at: PortIndex) -> u8 {
        self.links[at.0 as usize].quality
    }

    /// Sets that.
    pub fn set_quality(&mut self, at: PortIndex, quality: u8) {
        self.links[at.0 as usize].quality = quality;
    }

    /// Forgets the last packet received at a port that could not be forwarded.
    pub fn clear_relay_error(&mut self, at: PortIndex) {
        self.ports[at.0 as usize].relay_error = None;
    }

    /// Copies what forwarding needs of a node's end ports from their registers.
    pub(crate) fn refresh_lid(&mut self, at: PortIndex) {
        let info: &PortInfo = &self.ports[at.0 as usize].info;
        let end = &mut self.links[at.0 as usize];
        end.lid = info.lid.0;
        end.lmc = info.lmc.0;
    }
}

/// Entries of a port's P_Key table: external ports of switches have their own capacity.
fn p_key_cap(device: &Device, switch: Option<&SwitchInfo>, number: PortNum) -> u16 {
    match switch {
        Some(info) if number.0 != 0 => info.partition_enforcement_cap,
        _ => device.info.partition_cap,
    }
}
