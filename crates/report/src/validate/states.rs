//! All ways at once: what becomes of packets to a LID, for each switch and channel on which they come in.
//!
//! Forwarding depends on the destination, the switch, the channel and, where maps of channels differ, the ingress port.
//! Ingress ports of a switch with the same maps are one [`Class`]; so that a fabric has about as many classes as
//! switches, and each destination is followed once from each, not from each host.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Lid, PortNum, PortRef, PortTable, Sc, Snapshot, TableId};
use weft_wire::sm::ScVlMap;

use super::walk::{SWITCHES_MAX, answers, channel_map, egress, is_switch};
use crate::tables::{NO_DATA, table};

/// Channels.
const CHANNELS: usize = 32;
/// Nothing is known of a state yet.
const UNKNOWN: u16 = 0;
/// The state is being followed.
const OPEN: u16 = u16::MAX - 1;
/// Packets do not arrive.
const LOST: u16 = u16::MAX;

/// Where packets are, and on which channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    class: u32,
    sc: u8,
}

impl State {
    /// The channel of the packets.
    pub(crate) fn channel(self) -> u8 {
        self.sc
    }
}

/// Ingress ports of a switch that treat packets alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    /// One of them.
    pub(crate) entry: PortRef,
    lanes: Option<ScVlMap>,
}

/// What a switch does with packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next {
    /// It drops them, or they come to a port that does not answer to the LID.
    Lost,
    /// They have arrived by a port of the switch: 0 is its own.
    Arrived(PortRef),
    /// They leave by a port to another switch.
    To(PortRef, State),
}

/// The classes of all switches.
#[derive(Debug)]
pub(crate) struct States<'a> {
    pub(crate) snapshot: &'a Snapshot,
    classes: Vec<Class>,
    /// By switch and port.
    of_port: Vec<Vec<u32>>,
}

impl<'a> States<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot) -> Self {
        let mut states = Self {
            snapshot,
            classes: Vec::new(),
            of_port: Vec::new(),
        };
        for id in snapshot.topology.switches() {
            let mut known: BTreeMap<(bool, TableId, TableId), u32> = BTreeMap::new();
            let node = snapshot.topology.node(*id).into_iter();
            let classes = node.flat_map(|node| node.ports()).map(|(port, _)| {
                let at = PortRef { node: *id, port };
                let table = |kind| snapshot.port_tables.id(at, kind);
                let key = match port {
                    // Nothing is mapped for what a switch sends itself.
                    PortNum(0) => (true, TableId::UNKNOWN, TableId::UNKNOWN),
                    _ => (false, table(PortTable::ScToSc), table(PortTable::ScToVlt)),
                };
                *known.entry(key).or_insert_with(|| states.add(at))
            });
            let classes = classes.collect();
            states.of_port.push(classes);
        }
        states
    }

    fn add(&mut self, entry: PortRef) -> u32 {
        let lanes = table(self.snapshot, entry, PortTable::ScToVlt);
        self.classes.push(Class { entry, lanes });
        self.classes.len() as u32 - 1
    }

    /// The state of packets that come into a switch by a port.
    pub(crate) fn at(&self, entry: PortRef, sc: u8) -> Option<State> {
        let switch = self.snapshot.topology.switch_index(entry.node)?;
        let classes = self.of_port.get(switch.0 as usize)?;
        let class = *classes.get(usize::from(entry.port.0))?;
        Some(State { class, sc })
    }

    /// A port by which packets come into a state.
    pub(crate) fn entry(&self, state: State) -> PortRef {
        // States are made from classes only.
        self.classes[state.class as usize].entry
    }

    /// Channels to which any switch maps one of these.
    pub(crate) fn channels_behind(&self, channels: &BTreeSet<u8>) -> BTreeSet<u8> {
        let tables = &self.snapshot.port_tables;
        let maps = self.classes.iter().filter(|class| class.entry.port.0 != 0);
        let maps = maps.map(|class| tables.id(class.entry, PortTable::ScToSc));
        let maps: BTreeSet<TableId> = maps.collect();
        let maps = maps.into_iter().filter_map(|id| tables.content(id));
        let maps =
            maps.flat_map(|maps| (1..=u8::MAX).filter_map(|port| channel_map(maps, PortNum(port))));
        let behind = maps.flat_map(|map| channels.iter().map(move |sc| map.get(Sc(*sc)).0));
        behind.filter(|sc| *sc != NO_DATA).collect()
    }

    /// Number of states.
    pub(crate) fn len(&self) -> usize {
        self.classes.len() * CHANNELS
    }

    /// Number of a state.
    pub(crate) fn index(&self, state: State) -> usize {
        state.class as usize * CHANNELS + usize::from(state.sc)
    }

    /// What becomes of packets in a state.
    pub(crate) fn next(&self, state: State, lid: Lid) -> Next {
        self.try_next(state, lid).unwrap_or(Next::Lost)
    }

    fn try_next(&self, state: State, lid: Lid) -> Option<Next> {
        let class = self.classes.get(state.class as usize)?;
        let exit = egress(self.snapshot, class.entry.node, lid)?;
        let arrived = |at| answers(self.snapshot, at, lid).then_some(Next::Arrived(exit));
        if exit.port.0 == 0 {
            return arrived(exit);
        }
        let sc = self.behind(class, exit.port, state.sc)?;
        let peer = self.snapshot.topology.peer(exit)?;
        if !is_switch(self.snapshot, peer.node) {
            return arrived(peer);
        }
        // opareport takes port 0 of a switch for the end of a path; no cable leads there.
        Some(Next::To(exit, self.at(peer, sc)?))
    }

    fn behind(&self, class: &Class, exit: PortNum, sc: u8) -> Option<u8> {
        if class.entry.port.0 == 0 {
            return Some(sc);
        }
        let maps = self
            .snapshot
            .port_tables
            .table(class.entry, PortTable::ScToSc);
        let Some(map) = maps.and_then(|maps| channel_map(maps, exit)) else {
            return Some(sc);
        };
        let behind = map.get(Sc(sc));
        let vl = class.lanes.unwrap_or_default().get(behind).0;
        (behind.0 != NO_DATA && vl != NO_DATA).then_some(behind.0)
    }
}

/// How far packets to one LID are from it, by state.
#[derive(Debug)]
pub(crate) struct Distances {
    switches: Vec<u16>,
    path: Vec<State>,
}

impl Distances {
    pub(crate) fn new(states: &States<'_>) -> Self {
        Self {
            switches: vec![UNKNOWN; states.len()],
            path: Vec::new(),
        }
    }

    /// Forgets what is known, for another LID.
    pub(crate) fn clear(&mut self) {
        self.switches.fill(UNKNOWN);
    }

    /// Whether packets arrive.
    pub(crate) fn arrive(&mut self, states: &States<'_>, from: State, lid: Lid) -> bool {
        usize::from(self.switches_from(states, from, lid)) <= SWITCHES_MAX
    }

    /// Switches on the way, beyond [`SWITCHES_MAX`] for packets that do not arrive.
    fn switches_from(&mut self, states: &States<'_>, from: State, lid: Lid) -> u16 {
        let mut state = from;
        let mut distance = loop {
            let known = self.switches[states.index(state)];
            match known {
                UNKNOWN => {}
                OPEN => break LOST,
                known => break known,
            }
            self.switches[states.index(state)] = OPEN;
            self.path.push(state);
            match states.next(state, lid) {
                Next::Lost => break LOST,
                Next::Arrived(_) => break 0,
                Next::To(_, next) => state = next,
            }
        };
        while let Some(state) = self.path.pop() {
            distance = match distance {
                LOST => LOST,
                switches => (switches + 1).min(OPEN - 1),
            };
            self.switches[states.index(state)] = distance;
        }
        distance
    }
}
