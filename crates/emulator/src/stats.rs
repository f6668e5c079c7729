//! Counts and times of requests handled by the agents.

use std::time::Duration;

use weft_fabric::{NodeId, Tick};
use weft_wire::sm::AttributeId;

/// Gets and Sets of each attribute that each node's agent handled, those inside aggregates
/// included; those that it refused because of their attribute or length are not.
#[derive(Debug, Clone)]
pub struct Stats {
    /// By node, then attribute as in [`AttributeId::ALL`], then Get, Set.
    counts: Vec<u32>,
    /// Place in [`AttributeId::ALL`] by the attribute's number.
    places: [u8; 256],
    datagrams: u64,
    performance: Option<Burst>,
    first_at_switch: Option<Tick>,
    /// After a silence.
    first: Option<Tick>,
    last: Option<Tick>,
    last_set: Option<Tick>,
    last_port_set: Option<Tick>,
    /// The datagram being answered sets a port.
    sets_port: bool,
}

/// Datagrams that follow each other with pauses of less than a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// When the first was answered.
    pub first: Tick,
    /// When the last was.
    pub last: Tick,
    /// Their number.
    pub datagrams: u64,
}

/// Longer than any pause within a sweep but those in which routes are computed.
const SILENCE: Duration = Duration::from_secs(1);

/// Kind of an answered datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    /// By a switch.
    pub(crate) at_switch: bool,
    /// By the port that the program itself sits on: managers look at it from time to time without
    /// a sweep.
    pub(crate) at_own_port: bool,
    /// It was a Set.
    pub(crate) set: bool,
}

const UNKNOWN: u8 = u8::MAX;
const PER_NODE: usize = 2 * AttributeId::ALL.len();

impl Stats {
    /// All zero, for `nodes` nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        let mut places = [UNKNOWN; 256];
        for (place, attribute) in AttributeId::ALL.iter().enumerate() {
            if let Some(slot) = places.get_mut(usize::from(attribute.0)) {
                *slot = place as u8;
            }
        }
        Self {
            counts: vec![0; nodes * PER_NODE],
            places,
            datagrams: 0,
            performance: None,
            first_at_switch: None,
            first: None,
            last: None,
            last_set: None,
            last_port_set: None,
            sets_port: false,
        }
    }

    /// Counts a datagram of subnet management that an agent has answered.
    pub(crate) fn answered(&mut self, now: Tick, of: Answered) {
        let Answered {
            at_switch,
            at_own_port,
            set,
        } = of;
        self.datagrams += 1;
        if at_own_port {
            return;
        }
        let silent = self.last.is_none_or(|last| now.since(last) >= SILENCE);
        if silent {
            self.first = Some(now);
        }
        self.last = Some(now);
        if at_switch {
            self.first_at_switch.get_or_insert(now);
        }
        if set {
            self.last_set = Some(now);
        }
        if std::mem::take(&mut self.sets_port) {
            self.last_port_set = Some(now);
        }
    }

    /// Counts a datagram of performance management that an agent has answered.
    pub(crate) fn performance_answered(&mut self, now: Tick) {
        let fresh = Burst {
            first: now,
            last: now,
            datagrams: 0,
        };
        let burst = self
            .performance
            .filter(|burst| now.since(burst.last) < SILENCE);
        let mut burst = burst.unwrap_or(fresh);
        burst.last = now;
        burst.datagrams += 1;
        self.performance = Some(burst);
    }

    /// The datagrams of performance management that agents have answered since the last second of silence; none
    /// before the first.
    pub fn performance(&self) -> Option<Burst> {
        self.performance
    }

    /// Datagrams of subnet management that agents have answered; an aggregate is one.
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }

    /// Time of the first request to a switch: the start of the first sweep, because before it programs
    /// query only their own host.
    pub fn first_at_switch(&self) -> Option<Tick> {
        self.first_at_switch
    }

    /// Time of the first answer after a second of silence. This and the following
    /// exclude a program's requests to its own port.
    pub fn first(&self) -> Option<Tick> {
        self.first
    }

    /// When the last datagram was answered.
    pub fn last(&self) -> Option<Tick> {
        self.last
    }

    /// When the last Set was answered.
    pub fn last_set(&self) -> Option<Tick> {
        self.last_set
    }

    /// When the last Set of PortInfo or PortStateInfo was answered: no port has come up since.
    pub fn last_port_set(&self) -> Option<Tick> {
        self.last_port_set
    }

    pub(crate) fn count(&mut self, node: NodeId, attribute: AttributeId, set: bool) {
        if let Some(place) = self.place(node, attribute, set)
            && let Some(count) = self.counts.get_mut(place)
        {
            *count = count.saturating_add(1);
        }
        let of_port = [AttributeId::PORT_INFO, AttributeId::PORT_STATE_INFO].contains(&attribute);
        self.sets_port |= set && of_port;
    }

    fn place(&self, node: NodeId, attribute: AttributeId, set: bool) -> Option<usize> {
        let place = *self.places.get(usize::from(attribute.0))?;
        let within = usize::from(place) * 2 + usize::from(set);
        (place != UNKNOWN).then_some(node.0 as usize * PER_NODE + within)
    }

    fn get(&self, node: NodeId, attribute: AttributeId, set: bool) -> u64 {
        let place = self.place(node, attribute, set);
        let count = place.and_then(|place| self.counts.get(place));
        count.map_or(0, |count| u64::from(*count))
    }

    /// Gets of an attribute that a node handled.
    pub fn gets(&self, node: NodeId, attribute: AttributeId) -> u64 {
        self.get(node, attribute, false)
    }

    /// Sets of an attribute that a node handled.
    pub fn sets(&self, node: NodeId, attribute: AttributeId) -> u64 {
        self.get(node, attribute, true)
    }

    /// Gets and Sets of an attribute that all nodes handled.
    pub fn total(&self, attribute: AttributeId) -> (u64, u64) {
        let nodes = (0..self.counts.len() / PER_NODE).map(|node| NodeId(node as u32));
        nodes.fold((0, 0), |(gets, sets), node| {
            (
                gets + self.gets(node, attribute),
                sets + self.sets(node, attribute),
            )
        })
    }

    /// Sets of all attributes handled by all nodes; an aggregate counts as its contents.
    pub fn sets_total(&self) -> u64 {
        let attributes = AttributeId::ALL.iter();
        let single = attributes.filter(|attribute| **attribute != AttributeId::AGGREGATE);
        single.map(|attribute| self.total(*attribute).1).sum()
    }
}
