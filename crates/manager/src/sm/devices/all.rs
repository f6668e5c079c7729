//! All nodes, by number and by GUID.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Index, IndexMut, Range};

use weft_fabric::{Guid, Lid, NodeId, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::{PhysState, PortState};
use weft_wire::sm::PortInfo;

use super::device::Device;
use crate::sm::admission::Refusals;
use crate::sm::flapping::Flapping;
use crate::sm::isolation::Isolation;
use crate::sm::keys::{Keys, Tried};
use crate::sm::quarantine::ByHand;
use crate::sm::replacements::Replacements;
use crate::sm::strangers::StrangerRows;
use crate::sm::tables::TableStore;
use crate::sm::trap_storms::Storms;

/// Nodes that are remembered as silent; more get the full patience in each sweep.
const SILENT_MAX: usize = 65_536;

/// Whether a port has a link that datagrams can cross.
pub(crate) fn is_up(info: &PortInfo) -> bool {
    info.port_state >= PortState::INIT && info.phys_state == PhysState::LINK_UP
}

/// All nodes: in the order of the last plan's topology, then those found since. The first is the
/// manager's own.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Devices {
    /// The contents of their ports' tables.
    pub tables: TableStore,
    /// Multicast rows that switches may hold that are not among these nodes.
    pub stranger_rows: StrangerRows,
    /// Ports whose links go down again and again.
    pub flapping: Flapping,
    /// Ports in quarantine by an operator's order.
    pub by_hand: ByHand,
    /// Links that have too many errors.
    pub isolation: Isolation,
    /// Devices that are not let into the fabric.
    pub refusals: Refusals,
    /// Ports that report errors of their links.
    pub storms: Storms,
    /// HFIs in the place of others.
    pub replacements: Replacements,
    /// M_Keys of ports.
    pub keys: Keys,
    all: Vec<Device>,
    by_guid: BTreeMap<Guid, u32>,
    /// Nodes that did not answer the last request; they may have left the fabric since.
    silent: BTreeSet<Guid>,
}

impl Index<u32> for Devices {
    type Output = Device;

    fn index(&self, number: u32) -> &Device {
        &self.all[number as usize]
    }
}

impl IndexMut<u32> for Devices {
    fn index_mut(&mut self, number: u32) -> &mut Device {
        &mut self.all[number as usize]
    }
}

impl Index<NodeId> for Devices {
    type Output = Device;

    fn index(&self, id: NodeId) -> &Device {
        &self[id.0]
    }
}

impl IndexMut<NodeId> for Devices {
    fn index_mut(&mut self, id: NodeId) -> &mut Device {
        &mut self[id.0]
    }
}

impl Devices {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The numbers of all nodes.
    pub(crate) fn numbers(&self) -> Range<u32> {
        0..self.all.len() as u32
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Device> {
        self.all.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Device> {
        self.all.iter_mut()
    }

    /// What was tried to learn nodes' keys says nothing any more.
    pub(crate) fn doubt_keys(&mut self) {
        let identities = self.all.iter_mut().map(|device| &mut device.identity);
        identities.for_each(|identity| identity.tried = Tried::default());
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Device> {
        self.all.get(number as usize)
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut Device> {
        self.all.get_mut(number as usize)
    }

    /// The manager's own node, none before the first sweep.
    pub(crate) fn own(&self) -> Option<&Device> {
        self.all.first()
    }

    /// The manager's own node; its GUID is 0 until it has reported one.
    pub(crate) fn own_or_new(&mut self) -> &mut Device {
        if self.all.is_empty() {
            self.all.push(Device::new(Guid(0), false));
        }
        &mut self.all[0]
    }

    /// GUID of the manager's own port; 0 while it is not known.
    pub(crate) fn own_port_guid(&self) -> Guid {
        let own = self.own().and_then(|own| own.observed.node.as_ref());
        own.map_or(Guid(0), |node| node.info.port_guid)
    }

    /// The manager's own node and port.
    pub(crate) fn own_end(&self) -> Option<(u32, PortNum)> {
        let own = self.own()?;
        Some((self.find(own.identity.guid)?, own.end_port()))
    }

    /// PortInfo of the manager's own port.
    pub(crate) fn own_port(&self) -> Option<&PortInfo> {
        let own = self.own()?;
        own.observed.port(own.end_port())
    }

    /// GUID of the manager's own port, where that has a link.
    pub(crate) fn own_port_with_link(&self) -> Option<Guid> {
        let guid = self.own_port_guid();
        let up = self.own_port().is_some_and(is_up);
        Some(guid).filter(|guid| up && guid.0 != 0)
    }

    /// MasterSMLID of the manager's own port.
    pub(crate) fn own_master_lid(&self) -> Lid {
        self.own_port().map_or(Lid(0), |info| info.master_sm_lid)
    }

    /// The number of the node with a GUID.
    pub(crate) fn find(&self, guid: Guid) -> Option<u32> {
        self.by_guid.get(&guid).copied()
    }

    /// The numbers of the nodes whose GUIDs are between these, in order of their GUIDs.
    pub(crate) fn by_guid(&self, range: (Bound<Guid>, Bound<Guid>)) -> impl Iterator<Item = u32> {
        self.by_guid.range(range).map(|(_, number)| *number)
    }

    /// The number of the node at the end of a directed route.
    pub(crate) fn behind(&self, path: &[PortNum]) -> Option<u32> {
        let mut numbers = self.numbers();
        numbers.find(|node| *self[*node].identity.path == *path)
    }

    /// Adds a node that is not known yet; returns its number.
    pub(crate) fn add(&mut self, guid: Guid, said_switch: bool) -> u32 {
        let number = self.all.len() as u32;
        self.all.push(Device::new(guid, said_switch));
        self.by_guid.insert(guid, number);
        number
    }

    /// Sets the GUID of the manager's own node, after its report.
    pub(crate) fn name_own(&mut self, guid: Guid) {
        self.own_or_new().identity.guid = guid;
        self.by_guid.insert(guid, 0);
    }

    /// Forgets the GUID of the manager's own node.
    pub(crate) fn forget_own_name(&mut self) {
        let guid = std::mem::take(&mut self.own_or_new().identity.guid);
        self.by_guid.remove(&guid);
    }

    /// Numbers the nodes anew: the first becomes that with the first number of `order`, and so on.
    /// Nodes that are not in it are forgotten.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        let mut old: Vec<Option<Device>> = self.all.drain(..).map(Some).collect();
        let in_order = order.iter();
        let devices = in_order.filter_map(|from| old.get_mut(*from as usize)?.take());
        self.all.extend(devices);
        let guids = self.all.iter().map(|device| device.identity.guid);
        self.by_guid = guids.zip(0..).collect();
    }

    /// Another manager may have written to any node: all are read again.
    pub(crate) fn doubt_all(&mut self) {
        self.iter_mut().for_each(|device| {
            (device.health.doubtful, device.health.foreign) = (true, true);
        });
    }

    /// A node has answered, with its round-trip time in nanoseconds if known; returns whether it was silent before.
    pub(crate) fn answered(&mut self, number: u32, now: Tick, round_trip_ns: Option<u64>) -> bool {
        let device = &mut self[number];
        device.health.answered_at = now;
        if let Some(ns) = round_trip_ns {
            device.health.round_trip.sample(ns);
        }
        let guid = device.identity.guid;
        self.silent.remove(&guid)
    }

    /// Nodes that did not answer the last request, by GUID.
    pub(crate) fn silent(&self) -> impl Iterator<Item = Guid> {
        self.silent.iter().copied()
    }

    /// Whether a node did not answer the last request.
    pub(crate) fn is_silent(&self, number: u32) -> bool {
        self.silent.contains(&self[number].identity.guid)
    }

    /// Records that a node has not answered; returns whether that is news.
    pub(crate) fn note_silent(&mut self, number: u32) -> bool {
        let guid = self[number].identity.guid;
        self.silent.len() < SILENT_MAX && self.silent.insert(guid)
    }
}
