//! A manager and an emulated fabric under one virtual clock.

#![allow(clippy::unwrap_used, dead_code)]

use std::sync::Arc;

use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_emulator::{Emulator, Options};
use weft_fabric::enums::PortState;
use weft_fabric::{FabricSpec, Guid, Lid, NodeId, PortNum, PortRef, Snapshot, Tick, Topology};
use weft_manager::{Event, Input, Manager, Output, Planner, Settings, SweepReport};
use weft_wire::packet::Packet;

/// Steps after which a test has run away.
const STEPS_MAX: u64 = 200_000_000;

pub(crate) struct World {
    pub(crate) manager: Manager,
    /// Computes plans; at once unless a test replaces it.
    pub(crate) planner: Planner,
    pub(crate) emulator: Emulator,
    pub(crate) topology: Arc<Topology>,
    pub(crate) own: (Guid, PortNum),
    pub(crate) now: Tick,
    pub(crate) events: Vec<Event>,
    pub(crate) persisted: Option<Vec<u8>>,
    pub(crate) published: u64,
    /// The last that was.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    pub(crate) notices: Vec<Vec<u8>>,
    /// Number of ports that had to register again, for each loss.
    pub(crate) lost: Vec<usize>,
    pub(crate) replies: Vec<(u64, Result<weft_manager::Reply, weft_manager::CommandError>)>,
    /// Every datagram that the manager sent, where recording is on.
    pub(crate) sent: Option<Vec<Packet>>,
    /// The manager's port is gone: nothing leaves by it, nothing arrives.
    pub(crate) port_is_gone: bool,
    /// The largest number of requests in flight at once.
    pub(crate) outstanding_max: usize,
}

pub(crate) fn fabric(spec: &str) -> Topology {
    spec.parse::<FabricSpec>().unwrap().generate().unwrap()
}

/// Settings with sweeps only when something calls for one.
pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.sweeps.interval = std::time::Duration::ZERO;
    settings
}

pub(crate) fn with_lmc(lmc: u8) -> Settings {
    let mut settings = settings();
    settings.lids.lmc = weft_fabric::Lmc(lmc);
    settings
}

pub(crate) fn latency() -> Options {
    Options {
        agent_latency_ns: 20_000,
        hop_latency_ns: 1_000,
        ..Options::default()
    }
}

/// A cable between two switches that the manager's own leaf does not have.
pub(crate) fn far_link(world: &World) -> (Guid, PortNum) {
    let topology = &world.topology;
    let (own, _) = topology.hfis().next().unwrap();
    let leaf = topology
        .peer(PortRef {
            node: own,
            port: PortNum(1),
        })
        .unwrap()
        .node;
    let is_switch = |end: PortRef| topology.node(end.node).unwrap().is_switch();
    let link = topology
        .links()
        .find(|(a, b)| is_switch(*a) && is_switch(*b) && a.node != leaf && b.node != leaf);
    let (a, _) = link.unwrap();
    (topology.node(a.node).unwrap().guid(), a.port)
}

impl World {
    /// A described fabric, stock settings: the first sweep and what follows it have ended.
    pub(crate) fn settled(spec: &str) -> Self {
        let mut world = Self::new(spec, settings());
        world.sweep();
        world.run_for(3.0);
        world.events.clear();
        world
    }

    pub(crate) fn new(spec: &str, settings: Settings) -> Self {
        Self::with(fabric(spec), settings, latency(), None)
    }

    pub(crate) fn with(
        topology: Topology,
        settings: Settings,
        options: Options,
        stored: Option<&[u8]>,
    ) -> Self {
        let topology = Arc::new(topology);
        let (_, own) = topology.hfis().next().unwrap();
        let own = (own.guid(), PortNum(1));
        Self {
            manager: Manager::new(settings, stored),
            planner: Planner::default(),
            emulator: Emulator::new(Arc::clone(&topology), options).unwrap(),
            topology,
            own,
            now: Tick(0),
            events: Vec::new(),
            persisted: None,
            published: 0,
            snapshot: None,
            notices: Vec::new(),
            lost: Vec::new(),
            replies: Vec::new(),
            sent: None,
            port_is_gone: false,
            outstanding_max: 0,
        }
    }

    /// A new manager on the same fabric.
    pub(crate) fn restart(&mut self, settings: Settings, stored: Option<&[u8]>) {
        // A program that starts anew does not get what was meant for the old one.
        while self.emulator.poll().is_some() {}
        self.manager = Manager::new(settings, stored);
        self.planner = Planner::default();
        self.events.clear();
    }

    pub(crate) fn control(&mut self, control: Control) {
        self.emulator
            .handle(self.now, ToFabric::Control(control))
            .unwrap();
    }

    /// Hands over what both sides have for each other, at one moment.
    fn exchange(&mut self) {
        loop {
            let mut moved = false;
            while let Some(output) = self.manager.poll() {
                moved = true;
                self.take(output);
            }
            while let Some(planned) = self.planner.ready(self.now) {
                moved = true;
                self.manager.handle(self.now, planned);
            }
            while let Some(FromFabric::Deliver { node, port, packet }) = self.emulator.poll() {
                moved = true;
                if (node, port) == self.own && !self.port_is_gone {
                    self.manager.handle(self.now, Input::Received(packet));
                }
            }
            self.outstanding_max = self.outstanding_max.max(self.manager.status().outstanding);
            if !moved {
                return;
            }
        }
    }

    fn take(&mut self, output: Output) {
        match output {
            Output::Send(packet) => {
                if let Some(sent) = &mut self.sent {
                    sent.push(packet.clone());
                }
                if self.port_is_gone {
                    return;
                }
                let (node, port) = self.own;
                self.emulator
                    .handle(self.now, ToFabric::Send { node, port, packet })
                    .unwrap();
            }
            Output::Plan(input) => self.planner.begin(self.now, input),
            Output::Publish(snapshot) => {
                self.published += 1;
                self.snapshot = Some(snapshot);
            }
            Output::Persist(bytes) => self.persisted = Some(bytes),
            Output::Event(event) => self.events.push(event),
            Output::Notice(bytes) => self.notices.push(bytes),
            Output::RegistrationsLost { asked } => self.lost.push(asked),
            Output::Reply { id, result } => self.replies.push((id, result)),
        }
    }

    /// Lets time pass until `done` or `until`; returns whether it was done.
    pub(crate) fn run(&mut self, until: Tick, done: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..STEPS_MAX {
            self.exchange();
            if done(self) {
                return true;
            }
            let next = [
                self.manager.deadline(),
                self.planner.deadline(),
                self.emulator.deadline(),
            ];
            let Some(next) = next
                .into_iter()
                .flatten()
                .min()
                .filter(|next| *next <= until)
            else {
                self.now = until;
                return false;
            };
            self.now = self.now.max(next);
            self.emulator.handle(self.now, ToFabric::Tick).unwrap();
            if self.manager.deadline().is_some_and(|due| due <= self.now) {
                self.manager.handle(self.now, Input::Tick);
            }
        }
        panic!("no end in sight at {:?}", self.now);
    }

    pub(crate) fn run_for(&mut self, seconds: f64) {
        let until = Tick(self.now.0 + (seconds * 1e9) as u64);
        self.run(until, |_| false);
    }

    /// Lets the next sweep end.
    pub(crate) fn sweep(&mut self) -> SweepReport {
        let before = self.reports().len();
        let until = Tick(self.now.0 + 3_600_000_000_000);
        let ended = self.run(until, |world| world.reports().len() > before);
        assert!(ended, "no sweep ended: {:?}", self.manager.status());
        self.reports().last().unwrap().clone()
    }

    /// Requests a sweep and runs until it has ended.
    pub(crate) fn forced_sweep(&mut self) -> SweepReport {
        let command = weft_manager::Command::Sweep;
        self.manager
            .handle(self.now, Input::Command { id: 1, command });
        self.sweep()
    }

    pub(crate) fn reports(&self) -> Vec<SweepReport> {
        let reports = self.events.iter().filter_map(|event| match event {
            Event::SweepEnded(report) => Some(report.clone()),
            _ => None,
        });
        reports.collect()
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        let faults = self.events.iter().filter_map(|event| match event {
            Event::DeviceFault { node, what } => Some(format!("{node:?} {what}")),
            _ => None,
        });
        faults.collect()
    }

    /// State of a port as the device has it.
    pub(crate) fn state(&self, guid: Guid, port: PortNum) -> PortState {
        let network = self.emulator.network();
        let device = network.device(network.find(guid).unwrap()).unwrap();
        network.state(device.port(port).unwrap())
    }

    /// Number of times that port 1 of a host has been asked to register again.
    pub(crate) fn reregistrations(&self, host: Guid) -> u32 {
        let network = self.emulator.network();
        let device = network.device(network.find(host).unwrap()).unwrap();
        network
            .port(device.port(PortNum(1)).unwrap())
            .reregistrations()
    }

    /// Both ends of every cable that is whole, as devices.
    pub(crate) fn cabled(&self) -> Vec<(Guid, PortNum)> {
        let network = self.emulator.network();
        let all = self.topology.links().flat_map(|(a, b)| [a, b]);
        let ends = all.map(|end| (self.topology.node(end.node).unwrap().guid(), end.port));
        ends.filter(|(guid, port)| {
            let device = network.device(network.find(*guid).unwrap()).unwrap();
            network.state(device.port(*port).unwrap()) != PortState::DOWN
        })
        .collect()
    }

    /// The LIDs of all end ports, by their registers.
    pub(crate) fn lids(&self) -> Vec<u32> {
        let network = self.emulator.network();
        let ends = self.topology.end_ports();
        ends.map(|(end, ..)| {
            let device = network.device(end.node).unwrap();
            network.port(device.port(end.port).unwrap()).info().lid.0
        })
        .collect()
    }

    pub(crate) fn assert_all_active(&self) {
        for (guid, port) in self.cabled() {
            assert_eq!(
                self.state(guid, port),
                PortState::ACTIVE,
                "port {port} of {guid}"
            );
        }
    }

    /// The LIDs of a port as the device has them.
    fn lids_of(&self, node: NodeId, port: PortNum) -> std::ops::Range<u32> {
        let network = self.emulator.network();
        let guid = self.topology.node(node).unwrap().guid();
        let device = network.device(network.find(guid).unwrap()).unwrap();
        let info = network.port(device.port(port).unwrap()).info();
        assert_ne!(info.lid, Lid(0), "{guid} has no LID");
        info.lid.0..info.lid.0 + info.lmc.lids()
    }

    /// Follows the devices' own tables from every end port to every LID of every other one, over
    /// active links. Returns the number of paths.
    pub(crate) fn walk_all(&self) -> usize {
        assert_eq!(self.no_way(), None);
        self.ways().len()
    }

    /// A host and a LID that it cannot reach.
    pub(crate) fn no_way(&self) -> Option<(PortRef, u32)> {
        let ways = self.ways().into_iter();
        let mut broken = ways.filter(|(from, lid, to)| !self.walk(*from, *lid, *to));
        broken.next().map(|(from, lid, _)| (from, lid))
    }

    /// All pairs of an end port and a LID, with the owner of the LID.
    fn ways(&self) -> Vec<(PortRef, u32, PortRef)> {
        let ends: Vec<PortRef> = self.topology.end_ports().map(|(end, ..)| end).collect();
        let mut owner = std::collections::BTreeMap::new();
        for end in &ends {
            for lid in self.lids_of(end.node, end.port) {
                assert_eq!(owner.insert(lid, *end), None, "LID {lid} twice");
            }
        }
        let to = |from: &PortRef| {
            let from = *from;
            owner.iter().map(move |(lid, to)| (from, *lid, *to))
        };
        ends.iter().flat_map(to).collect()
    }

    /// Whether the devices' tables lead from one host's port 1 to another's LIDs, over active links.
    pub(crate) fn has_way(&self, from: &str, to: &str) -> bool {
        let node = |name: &str| {
            let mut nodes = self.topology.nodes();
            nodes.find(|(_, node)| node.name() == name).unwrap().0
        };
        let port = |node| PortRef {
            node,
            port: PortNum(1),
        };
        let (from, to) = (port(node(from)), port(node(to)));
        self.lids_of(to.node, to.port)
            .all(|lid| self.walk(from, lid, to))
    }

    fn walk(&self, from: PortRef, lid: u32, to: PortRef) -> bool {
        if from.node == to.node {
            return true;
        }
        let network = self.emulator.network();
        let topology = &self.topology;
        let mut at = match topology.node(from.node).unwrap().is_switch() {
            true => from.node,
            false => topology.peer(from).unwrap().node,
        };
        for _ in 0..64 {
            if at == to.node {
                return true;
            }
            let switch = network.switch(at);
            let Some(egress) = switch.and_then(|switch| switch.egress(Lid(lid))) else {
                return false;
            };
            let guid = topology.node(at).unwrap().guid();
            if self.state(guid, egress) != PortState::ACTIVE {
                return false;
            }
            let Some(peer) = topology.peer(PortRef {
                node: at,
                port: egress,
            }) else {
                return false;
            };
            at = peer.node;
        }
        false
    }

    /// Checks that the published tables equal those of the switches.
    pub(crate) fn assert_tables_published(&self) {
        let snapshot = self.manager.snapshot();
        for (index, node) in snapshot.topology.switches().iter().enumerate() {
            let guid = snapshot.topology.node(*node).unwrap().guid();
            let network = self.emulator.network();
            let switch = network.switch(network.find(guid).unwrap()).unwrap();
            let row = snapshot.linear.row(weft_fabric::SwitchIndex(index as u32));
            assert!(!row.is_empty(), "no table of {guid}");
            for (lid, entry) in row.iter().enumerate() {
                let held = switch.egress(Lid(lid as u32)).map_or(0xFF, |port| port.0);
                assert_eq!(held, *entry, "LID {lid} at {guid}");
            }
        }
    }
}
