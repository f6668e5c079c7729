//! The core: delivers datagrams in time.

mod announce;
mod cables;
mod controls;
mod flap;
mod reboot;
mod rise;
mod strangers;
mod traffic;
mod training;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weft_dataplane::circles::Circles;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Guid, NodeId, PKey, PortNum, Tick, Topology};
use weft_wire::bits::load;
use weft_wire::header::{class, method};
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;

use crate::agent::sma::{Asked, KeyLease, Witness, at};
use crate::agent::{pma, sma};
use crate::carry::{Lost, carry};
use crate::claims::Claims;
use crate::faults::Fates;
use crate::io::{ControlError, Faults, Input, Output};
use crate::observe::Observer;
use crate::queue::{Arrival, Event, Queue};
use crate::stats::{Answered, Stats};
use crate::trap::News;
use announce::Announcement;
use flap::Flap;
use rise::Rise;
pub use traffic::JOBS_MAX;

/// Requests that wait for one agent at most; more are dropped, as by a VL15 buffer that is full.
pub const AGENT_QUEUE_MAX: u32 = 128;
/// Maximum number of pending outputs; further ones are lost.
pub const OUTPUTS_MAX: usize = 1 << 20;

/// Options of an emulated fabric.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    /// Random seed.
    pub seed: u64,
    /// Time that each agent takes for a request, one after the other; nanoseconds.
    pub agent_latency_ns: u64,
    /// Time that a datagram takes over a link and through the switch before it; nanoseconds.
    pub hop_latency_ns: u64,
    /// Faults of datagrams in transit.
    pub faults: Faults,
}

/// Datagrams that came to nothing, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lost on purpose, by [`Faults::loss`].
    pub by_fault: u64,
    /// Dropped on the path: link down, no route, wrong path, also after packets have circled.
    pub no_way: u64,
    /// The agent was silent, refused (wrong key, unreadable) or had too much to do.
    pub unanswered: u64,
    /// Dropped at the destination without a receiver.
    pub unclaimed: u64,
    /// Too many events or outputs waited.
    pub overflow: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Agent {
    silent: bool,
    extra_ns: u64,
    claims: Claims,
    /// Requests that wait, the one in work included.
    waiting: u32,
    busy_until: Tick,
    lease: KeyLease,
    ports: Announcement,
    capability: Announcement,
    width: Announcement,
    errors: Announcement,
    overruns: Announcement,
    watchdog: Announcement,
    system: Announcement,
    description: Announcement,
    m_key: Announcement,
    p_key: Announcement,
    q_key: Announcement,
}

impl Agent {
    fn announcement(&mut self, news: News) -> &mut Announcement {
        match news {
            News::Ports => &mut self.ports,
            News::Capability => &mut self.capability,
            News::Width => &mut self.width,
            News::Errors => &mut self.errors,
            News::Overruns => &mut self.overruns,
            News::Watchdog => &mut self.watchdog,
            News::System => &mut self.system,
            News::Description => &mut self.description,
            News::MKey => &mut self.m_key,
            News::PKey => &mut self.p_key,
            News::QKey => &mut self.q_key,
        }
    }
}

/// An emulated fabric.
///
/// Call [`Self::handle`] with what happens and with [`Input::Tick`] when [`Self::deadline`] has
/// come, then [`Self::poll`] until it gives nothing.
#[derive(Debug)]
pub struct Emulator {
    network: Network,
    agents: Vec<Agent>,
    stats: Stats,
    losses: Losses,
    options: Options,
    fates: Fates,
    /// Draws for links on their way up: those of datagrams stay as they are.
    training_fates: Fates,
    queue: Queue,
    out: VecDeque<Output>,
    now: Tick,
    changes: u64,
    /// Data packets that circle.
    circles: Circles,
    /// None until the first job of traffic.
    traffic: Option<Box<traffic::Traffic>>,
    /// Links that flap, by the port that was named.
    flaps: BTreeMap<PortIndex, Flap>,
    /// Cables that damage ever more packets, by the port that was named.
    rises: BTreeMap<PortIndex, Rise>,
    /// Nodes that will be powered on, with the number of that change.
    reboots: BTreeMap<NodeId, u64>,
    observer: Option<Box<dyn Observer>>,
}

impl Emulator {
    /// The nodes of `topology`, switched on.
    ///
    /// # Errors
    /// [`ControlError::Range`] when the options' faults are out of range.
    pub fn new(topology: impl Into<Arc<Topology>>, options: Options) -> Result<Self, ControlError> {
        let network = Network::new(topology.into());
        let nodes = network.devices().len();
        let mut fates = Fates::new(options.seed);
        fates.set(options.faults)?;
        Ok(Self {
            network,
            agents: vec![Agent::default(); nodes],
            stats: Stats::new(nodes),
            losses: Losses::default(),
            options,
            fates,
            training_fates: Fates::new(options.seed ^ training::STREAM),
            queue: Queue::default(),
            out: VecDeque::new(),
            now: Tick(0),
            changes: 0,
            circles: Circles::default(),
            traffic: None,
            flaps: BTreeMap::new(),
            rises: BTreeMap::new(),
            reboots: BTreeMap::new(),
            observer: None,
        })
    }

    /// Sets an observer that is called after each Set; it replaces the previous one.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// Processes an input, after everything that is due by `now`.
    ///
    /// # Errors
    /// [`ControlError`] if the input names something missing or is out of range; then it changes
    /// nothing.
    pub fn handle(&mut self, now: Tick, input: Input) -> Result<(), ControlError> {
        self.run(now);
        match input {
            Input::Tick => Ok(()),
            Input::Send { node, port, packet } => self.send_from_program(node, port, packet),
            Input::Control(control) => {
                self.changes += 1;
                self.circles.settle(&mut self.network, now);
                self.control(control)
            }
        }
    }

    /// The next output.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// When it next wants [`Input::Tick`].
    pub fn deadline(&self) -> Option<Tick> {
        self.queue.next()
    }

    /// The devices. Counters of ports that carry [traffic](crate::traffic), or packets that circle, date from the last time
    /// that an agent read them.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The devices, to add the counts of a packet simulation to their links.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Data packets that circle.
    pub fn circling(&self) -> usize {
        self.circles.len()
    }

    /// Requests handled.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Datagrams that came to nothing.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Counts Sets and controls: while it stands still, no register that they write has changed.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The latest time passed in.
    pub fn now(&self) -> Tick {
        self.now
    }

    fn run(&mut self, now: Tick) {
        while let Some((at, event)) = self.queue.pop(now) {
            self.now = self.now.max(at);
            match event {
                Event::Arrive(arrival) => self.arrive(arrival),
                Event::Answer(arrival) => {
                    let node = self.network.node_of(arrival.at);
                    self.agent(node).waiting -= 1;
                    self.answer(arrival);
                }
                Event::Trap { node, news } => self.trap_due(node, news),
                Event::Traffic => self.traffic_due(),
                Event::Flap { at, number } => self.flap_due(at, number),
                Event::Rise { at, number } => self.rise_due(at, number),
                Event::PowerOn { node, number } => self.reboot_due(node, number),
                Event::Training { at, number, fails } => self.training_due(at, number, fails),
            }
        }
        self.now = self.now.max(now);
    }

    fn agent(&mut self, node: NodeId) -> &mut Agent {
        &mut self.agents[node.0 as usize]
    }

    fn schedule(&mut self, after_ns: u64, event: Event) {
        let at = Tick(self.now.0.saturating_add(after_ns));
        if !self.queue.push(at, event) {
            self.losses.overflow += 1;
        }
    }

    fn send_from_program(
        &mut self,
        node: Guid,
        port: PortNum,
        packet: Packet,
    ) -> Result<(), ControlError> {
        let at = self.hfi_port(node, port)?;
        let powered = self
            .network
            .device_at(self.network.node_of(at))
            .is_powered();
        if !powered || packet.mad.len() > Packet::MAD_LEN_MAX {
            self.losses.no_way += 1;
            return Ok(());
        }
        self.send(at, packet);
        Ok(())
    }

    /// A port of an HFI, where programs are.
    pub(crate) fn hfi_port(&self, guid: Guid, port: PortNum) -> Result<PortIndex, ControlError> {
        let node = self.node(guid)?;
        let device = self.network.device_at(node);
        let at = device.port(port).filter(|_| !device.is_switch());
        at.ok_or(ControlError::NoHost { node: guid, port })
    }

    fn node(&self, guid: Guid) -> Result<NodeId, ControlError> {
        let found = self.network.find(guid);
        found.ok_or(ControlError::NoNode { node: guid })
    }

    /// Sends a datagram from a port of an HFI, or from port 0 of a switch.
    fn send(&mut self, from: PortIndex, mut packet: Packet) {
        let (at, hops) = match carry(&mut self.network, from, &mut packet) {
            Ok(arrived) => arrived,
            Err(lost) => {
                self.lose(from, lost, &packet);
                return;
            }
        };
        let arrival = Arrival { from, at, packet };
        if hops == 0 {
            self.arrive(arrival);
            return;
        }
        let way_ns = u64::from(hops).saturating_mul(self.options.hop_latency_ns);
        let [first, second] = self.fates.draw();
        if first.is_none() {
            self.losses.by_fault += 1;
        }
        if let Some(extra) = second {
            self.arrive_after(way_ns.saturating_add(extra), arrival.clone());
        }
        if let Some(extra) = first {
            self.arrive_after(way_ns.saturating_add(extra), arrival);
        }
    }

    /// A datagram does not arrive: it was dropped, or it circles from now on.
    fn lose(&mut self, from: PortIndex, lost: Lost, packet: &Packet) {
        let by_link = self.network.take_lost();
        if by_link > 0 {
            self.losses.by_fault += by_link;
            return;
        }
        let circles = match lost {
            Lost::Dropped => false,
            Lost::Forbidden(at) => {
                self.offended(News::PKey, at, packet);
                false
            }
            Lost::Circles(packet) => {
                let (network, now) = (&mut self.network, self.now);
                self.circles.begin(network, now, from, packet)
            }
        };
        self.losses.no_way += u64::from(!circles);
    }

    fn arrive_after(&mut self, after_ns: u64, arrival: Arrival) {
        if after_ns == 0 {
            self.arrive(arrival);
        } else {
            self.schedule(after_ns, Event::Arrive(arrival));
        }
    }

    /// A datagram has come in by a port of the node that it is for.
    fn arrive(&mut self, arrival: Arrival) {
        let node = self.network.node_of(arrival.at);
        if !self.network.device_at(node).is_powered() {
            self.losses.no_way += 1;
            return;
        }
        match self.receiver(arrival.at, &arrival.packet.mad) {
            Receiver::Agent => self.ask_agent(node, arrival),
            Receiver::Trap => self.repress(node, &arrival.packet.mad),
            Receiver::Program => self.deliver(arrival.at, arrival.packet),
        }
    }

    /// The receiver of a datagram: the agents for requests of subnet and performance management,
    /// the subnet manager for SMInfo if one runs, programs for the rest.
    fn receiver(&self, at: PortIndex, mad: &[u8]) -> Receiver {
        let byte = |place: usize| mad.get(place).copied().unwrap_or(0);
        let (mgmt_class, method) = (byte(at::CLASS), byte(at::METHOD));
        let request = matches!(method, method::GET | method::SET);
        if mgmt_class == class::PERF && request {
            return Receiver::Agent;
        }
        if !class::is_sm(mgmt_class) {
            return Receiver::Program;
        }
        let attribute = AttributeId(load(mad, at::ATTRIBUTE, 2) as u16);
        match method {
            method::TRAP_REPRESS => Receiver::Trap,
            _ if method & method::RESPONSE != 0 => Receiver::Program,
            method::TRAP | method::REPORT => Receiver::Program,
            _ if attribute == AttributeId::SM_INFO && self.runs_sm(at) => Receiver::Program,
            _ => Receiver::Agent,
        }
    }

    fn runs_sm(&self, at: PortIndex) -> bool {
        self.network.port(at).info().capability_mask.is_sm
    }

    fn deliver(&mut self, at: PortIndex, packet: Packet) {
        let device = self.network.device_at(self.network.node_of(at));
        if device.is_switch() {
            self.losses.unclaimed += 1;
            return;
        }
        if self.out.len() >= OUTPUTS_MAX {
            self.losses.overflow += 1;
            return;
        }
        let output = Output::Deliver {
            node: device.info.node_guid,
            port: self.network.number_of(at),
            packet,
        };
        self.out.push_back(output);
    }

    /// Passes a request to a node's agent, which processes one after the other.
    fn ask_agent(&mut self, node: NodeId, arrival: Arrival) {
        let now = self.now;
        let latency = self.options.agent_latency_ns;
        let agent = self.agent(node);
        let latency = latency.saturating_add(agent.extra_ns);
        if agent.silent || agent.waiting >= AGENT_QUEUE_MAX {
            self.losses.unanswered += 1;
            return;
        }
        if latency == 0 && agent.waiting == 0 {
            self.answer(arrival);
            return;
        }
        agent.waiting += 1;
        agent.busy_until = Tick(agent.busy_until.max(now).0.saturating_add(latency));
        let wait = agent.busy_until.since(now).as_nanos() as u64;
        let due = Tick(now.0.saturating_add(wait));
        if self.queue.push(due, Event::Answer(arrival)) {
            return;
        }
        self.agent(node).waiting -= 1;
        self.losses.overflow += 1;
    }

    /// Executes a request at a node's agent and sends the answer.
    fn answer(&mut self, arrival: Arrival) {
        let Arrival {
            from,
            at,
            mut packet,
        } = arrival;
        let node = self.network.node_of(at);
        let asked = Asked {
            node,
            from,
            ingress: at,
            now: self.now,
            claims: self.agents[node.0 as usize].claims,
        };
        let performance = packet.mad.get(at::CLASS) == Some(&class::PERF);
        let set = packet.mad.get(at::METHOD) == Some(&method::SET);
        if performance {
            self.settle_traffic(node);
        }
        if performance {
            self.circles.settle_at(&mut self.network, self.now, node);
        }
        if self.agents[node.0 as usize].silent || !self.network.device_at(node).is_powered() {
            self.losses.unanswered += 1;
            return;
        }
        self.changes += u64::from(set);
        let answered = if performance {
            pma::answer(&mut self.network, asked, &mut packet.mad)
        } else {
            self.answer_management(asked, &mut packet, set)
        };
        let end = self.network.end_port(at);
        if answered.is_some() {
            std::mem::swap(&mut packet.slid, &mut packet.dlid);
            packet.slid = asked.claims.answers_from.unwrap_or(packet.slid);
            std::mem::swap(&mut packet.src_qp, &mut packet.dest_qp);
            if performance {
                self.stats.performance_answered(self.now);
                packet.pkey = management_key(&self.network, end);
            }
            self.send(end, packet);
        } else {
            self.losses.unanswered += 1;
        }
        self.announce_changes();
        if set && !performance {
            self.traffic_changed();
            self.circles_changed(Some(node));
        }
    }

    /// Tables, links or LIDs may have changed, those of one node where it is given.
    fn circles_changed(&mut self, node: Option<NodeId>) {
        if !self.circles.is_empty() {
            let (network, now) = (&mut self.network, self.now);
            self.losses.no_way += self.circles.follow(network, now, node);
        }
    }

    /// Executes a request at a node's subnet management agent, and counts it.
    fn answer_management(&mut self, asked: Asked, packet: &mut Packet, set: bool) -> Option<()> {
        let of = Answered {
            at_switch: self.network.device_at(asked.node).is_switch(),
            at_own_port: is_of_no_hops(&packet.mad),
            set,
        };
        let lease = &mut self.agents[asked.node.0 as usize].lease;
        let observer = self.observer.as_deref_mut();
        let mut witness = Witness {
            stats: &mut self.stats,
            observer: observer.map(|observer| observer as &mut dyn Observer),
            violated: false,
        };
        let network = &mut self.network;
        let answered = sma::answer(network, asked, lease, &mut witness, &mut packet.mad);
        if witness.violated {
            self.offended(News::MKey, asked.ingress, packet);
        }
        answered?;
        self.stats.answered(self.now, of);
        Some(())
    }
}

/// Whether a datagram's directed route is that from a port to itself.
fn is_of_no_hops(mad: &[u8]) -> bool {
    let directed = mad.get(at::CLASS) == Some(&class::SM_DIRECTED_ROUTE);
    directed && mad.get(at::HOP_COUNT) == Some(&0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiver {
    Agent,
    /// The trap that a node repeats is answered.
    Trap,
    Program,
}

/// The management partition's key as a node holds it: full where it is a full member.
fn management_key(network: &Network, end: PortIndex) -> PKey {
    if network.port(end).has_p_key(PKey::MGMT_FULL.0) {
        PKey::MGMT_FULL
    } else {
        PKey::MGMT_LIMITED
    }
}
