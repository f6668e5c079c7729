//! The fabric of an attack, its clock, and its judges.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_dataplane::{Network, PortIndex};
use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_emulator::observe::{Observer, SetDone};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, NodeId, PortNum, Tick, Topology};
use weft_manager::io::Event;
use weft_wire::packet::Packet;
use weft_wire::sa::attribute as attributes;
use weft_wire::smp::{DirectedRoute, Smp};

use super::bystanders::Bystanders;
use super::{Attack, Guard};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::Port;
use crate::cluster::{Cluster, Delivered};
use crate::oracle::{Breach, Invariant, lids};
use crate::sa_request::{SaRequest, own_and_sm, to_sm};
use crate::view;
use crate::world::WorldError;

/// The honest managers' numbers.
pub(super) const HONEST: std::ops::Range<usize> = 0..2;
/// The attacker's manager, where he runs one.
pub(super) const ROGUE: usize = 2;
/// Between two requests of bystanders, and two steps of an attack.
pub(super) const STEP: Duration = Duration::from_millis(5);
/// Steps between two looks at the registers.
const LOOK_EVERY: u32 = 50;
/// The fabric must be well in so long, without an attack.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);
/// It is left alone for so long then.
const STILL: Duration = Duration::from_secs(12);
/// Kinds of harm that are told.
pub(super) const HARM_MAX: usize = 8;

/// The attacker's host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attacker {
    pub(super) port: Port,
    /// Its LID before the attack, and that of the master.
    pub(super) lid: Lid,
    pub(super) sm_lid: Lid,
    /// The switch's port before it.
    pub(super) before: Port,
    /// The attacker's own node and port.
    node: NodeId,
    at: PortIndex,
}

/// Sets that the attacker's port has made at other nodes.
#[derive(Debug, Clone, Default)]
struct Writes(Arc<Mutex<Written>>);

#[derive(Debug, Default)]
struct Written {
    by: Option<(PortIndex, NodeId)>,
    sets: BTreeMap<String, u64>,
}

impl Observer for Writes {
    fn set_done(&mut self, network: &Network, done: SetDone) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others = written
            .by
            .is_some_and(|(port, node)| done.from == port && done.node != node);
        if others {
            let kind = match network.device_at(done.node).is_switch() {
                true => "a switch",
                false => "another host",
            };
            *written
                .sets
                .entry(format!("{} of {kind}", done.attribute))
                .or_default() += 1;
        }
    }
}

/// A fabric with two managers, an attacker, and bystanders.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) cluster: Cluster,
    pub(super) rng: ChaCha8Rng,
    pub(super) attacker: Attacker,
    pub(super) bystanders: Bystanders,
    /// What has come to the attacker's port since it was last taken.
    pub(super) received: Vec<Packet>,
    pub(super) harm: Vec<Breach>,
    /// Rules that are broken, and whether the attacker's writes are among the harm.
    pub(super) broken: Vec<Invariant>,
    pub(super) tells_writes: bool,
    pub(super) steps: Vec<(Tick, String)>,
    pub(super) events: Vec<(Tick, usize, Event)>,
    /// When the attack began.
    begun: Option<Tick>,
    /// LIDs of all but the attacker before the attack.
    pub(super) lids: BTreeMap<Guid, Lid>,
    writes: Writes,
    count: u32,
    transaction: u64,
}

impl Site {
    /// A fabric without power until now.
    pub(super) fn new(
        attack: Attack,
        guard: Guard,
        topology: &Arc<Topology>,
        seed: u64,
    ) -> Result<Self, RunError> {
        let own = u64::from(attack.number()) << 40;
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ own);
        let mut hosts: Vec<Port> = topology
            .hfis()
            .map(|(_, it)| (it.guid(), PortNum(1)))
            .collect();
        if hosts.len() < 5 {
            return Err(RunError::Fabric(
                "an attack needs five hosts or more".to_owned(),
            ));
        }
        let mut draw = || hosts.swap_remove(rng.random_range(0..hosts.len()));
        let managers = [draw(), draw()];
        let port = draw();
        hosts.sort_unstable();
        let (settings, services) = guard.settings(&hosts)?;
        let manager = |host, priority| {
            let mut settings = settings.clone();
            settings.election.priority = priority;
            (host, settings)
        };
        let mut members = vec![manager(managers[0], 2), manager(managers[1], 1)];
        if attack == Attack::RogueManager {
            // The attacker knows no key.
            let (mut stock, _) = Guard::Stock.settings(&hosts)?;
            stock.election.priority = 15;
            members.push((port, stock));
        }
        let options = Options {
            seed,
            agent_latency_ns: 20_000,
            hop_latency_ns: 100,
            ..Options::default()
        };
        let cluster = Cluster::new(Arc::clone(topology), options, members)?.serving(services);
        let attacker = place(cluster.emulator.network(), port)?;
        let mut site = Self {
            bystanders: Bystanders::new(hosts, topology),
            cluster,
            rng,
            attacker,
            received: Vec::new(),
            harm: Vec::new(),
            broken: Vec::new(),
            tells_writes: false,
            steps: Vec::new(),
            events: Vec::new(),
            begun: None,
            lids: BTreeMap::new(),
            writes: Writes::default(),
            count: 0,
            transaction: 0,
        };
        site.cluster.emulator.observe(Box::new(site.writes.clone()));
        Ok(site)
    }

    /// Starts the managers and lets the bystanders join their group, until all is well.
    ///
    /// # Errors
    /// [`RunError::Clean`] when it is not well.
    pub(super) fn settle(&mut self) -> Result<(), RunError> {
        for member in HONEST {
            self.cluster.start(member)?;
        }
        let start = self.cluster.now();
        loop {
            self.run(LOOK_EVERY * STEP)?;
            let wrong = self.judge();
            let passed = self.cluster.now().since(start);
            if wrong.is_empty() && passed > STILL {
                break;
            }
            if passed > SETTLED_WITHIN {
                return Err(not_well("before the attack", &wrong));
            }
        }
        self.bystanders.join(&mut self.cluster)?;
        self.run(STILL)?;
        self.lids = lids::by_guid(&view::read(self.cluster.emulator.network()));
        self.bystanders.begin(self.lids.clone());
        self.lids.remove(&self.attacker.port.0);
        let mut wrong = self.judge();
        wrong.extend(self.judge_registers());
        wrong.extend(self.bystanders.harm());
        if !wrong.is_empty() || self.bystanders.group().is_none() {
            return Err(not_well(
                "when the bystanders have joined their group",
                &wrong,
            ));
        }
        let known = own_and_sm(self.cluster.emulator.network(), self.attacker.port);
        (self.attacker.lid, self.attacker.sm_lid) = known.unwrap_or_default();
        let mut written = self.writes.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.by = Some((self.attacker.at, self.attacker.node));
        drop(written);
        self.events.clear();
        self.begun = Some(self.cluster.now());
        Ok(())
    }

    fn run(&mut self, time: Duration) -> Result<(), RunError> {
        self.cluster.run_until(self.cluster.now() + time)?;
        self.events.append(&mut self.cluster.take_events());
        for delivered in self.cluster.take_delivered() {
            self.take(delivered);
        }
        Ok(())
    }

    fn take(&mut self, delivered: Delivered) {
        match delivered.host == self.attacker.port {
            true => self.received.push(delivered.packet),
            false => self.bystanders.take(&delivered),
        }
    }

    /// Lets time pass; bystanders ask, and what they notice is written down.
    pub(super) fn pass(&mut self, time: Duration) -> Result<(), RunError> {
        let until = self.cluster.now() + time;
        while self.cluster.now() < until {
            let hosts = &self.bystanders.hosts;
            let mut draw = || hosts[self.rng.random_range(0..hosts.len())];
            let (from, to) = (draw(), draw());
            self.bystanders.ask(&mut self.cluster, from, to)?;
            self.run(STEP.min(until.since(self.cluster.now())))?;
            self.count += 1;
            if self.count.is_multiple_of(LOOK_EVERY) {
                self.bystanders.look_for_lost(self.cluster.now());
                let seen = self.judge_registers();
                self.harmed(seen);
            }
        }
        Ok(())
    }

    /// Notes what the attacker does.
    pub(super) fn note(&mut self, what: impl Into<String>) {
        self.steps.push((self.cluster.now(), what.into()));
    }

    /// Sends a datagram from the attacker's port.
    pub(super) fn send(&mut self, packet: Packet) -> Result<(), WorldError> {
        self.cluster.send_from(self.attacker.port, packet)
    }

    /// Sends a request of subnet management along a route.
    pub(super) fn send_smp(
        &mut self,
        smp: Smp,
        ports: &[PortNum],
        payload: &[u8],
    ) -> Result<(), RunError> {
        let route =
            DirectedRoute::new(ports).map_err(|error| RunError::Fabric(error.to_string()))?;
        let mut mad = Vec::new();
        smp.write_directed(&route, payload, &mut mad);
        Ok(self.send(Packet::directed(mad))?)
    }

    /// Sends a request of subnet management to a LID.
    pub(super) fn send_smp_to(
        &mut self,
        dlid: Lid,
        smp: Smp,
        payload: &[u8],
    ) -> Result<(), WorldError> {
        let mut mad = Vec::new();
        smp.write_lid_routed(payload, &mut mad);
        self.send(Packet::lid_routed(self.attacker.lid, dlid, mad))
    }

    /// A request to the SA.
    pub(super) fn sa_request(
        &mut self,
        (method, attribute, mask): (u8, u16, u64),
        record: &[u8],
    ) -> Packet {
        self.transaction += 1;
        let request = SaRequest {
            method,
            attribute,
            ib: attribute == attributes::PATH_RECORD,
            mask,
            record,
            transaction: self.transaction,
        };
        let Attacker { lid, sm_lid, .. } = self.attacker;
        to_sm((lid, sm_lid), request.mad())
    }

    /// Sends the SA a request.
    pub(super) fn send_to_sa(
        &mut self,
        what: (u8, u16, u64),
        record: &[u8],
    ) -> Result<(), WorldError> {
        let request = self.sa_request(what, record);
        self.send(request)
    }

    /// M_Key of the attacker's own port, by its register.
    pub(super) fn own_m_key(&self) -> u64 {
        let network = self.cluster.emulator.network();
        network.port(self.attacker.at).info().m_key
    }

    /// The LID of a node other than the attacker, before the attack.
    pub(super) fn lid_of(&self, node: Guid) -> Lid {
        self.lids.get(&node).copied().unwrap_or_default()
    }

    /// Sets of all managers since this was called last.
    pub(super) fn sets(&mut self) -> usize {
        self.cluster.take_writes().len()
    }

    /// The ports of the attacker's leaf that have cables, but the one before the attacker.
    pub(super) fn ports_of_leaf(&self) -> Vec<PortNum> {
        let network = self.cluster.emulator.network();
        let (guid, own) = self.attacker.before;
        let leaf = network.find(guid).map(|node| network.device_at(node));
        let ports = leaf.into_iter().flat_map(weft_dataplane::Device::ports);
        let cabled = ports.filter(|(port, at)| *port != own && network.peer(*at).is_some());
        cabled.map(|(port, _)| port).collect()
    }

    /// The LID of the attacker's leaf.
    pub(super) fn lid_of_leaf(&self) -> Lid {
        self.lid_of(self.attacker.before.0)
    }

    /// State of the switch's port before the attacker.
    pub(super) fn state_before(&self) -> PortState {
        let network = self.cluster.emulator.network();
        let peer = network.peer(self.attacker.at);
        peer.map_or(PortState::DOWN, |at| network.state(at))
    }

    /// The attacker's link goes down and up, as with a driver that is loaded anew.
    pub(super) fn bounce(&mut self) -> Result<(), RunError> {
        let (node, port) = self.attacker.port;
        self.cluster.control(Control::LinkDown { node, port })?;
        self.pass(STEP)?;
        self.cluster.control(Control::LinkUp { node, port })?;
        Ok(())
    }

    /// Sets of the attacker at others' devices until now, in words; none where there are none.
    pub(super) fn written(&self) -> Option<String> {
        let written = self.writes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sets = written
            .sets
            .iter()
            .map(|(what, count)| format!("{count} × {what}"));
        let sets: Vec<String> = sets.collect();
        (!sets.is_empty()).then(|| sets.join(", "))
    }
}

fn not_well(when: &str, wrong: &[Breach]) -> RunError {
    let wrong: Vec<String> = wrong.iter().take(HARM_MAX).map(Breach::to_string).collect();
    RunError::Fabric(format!(
        "the fabric is not well {when}: {}",
        wrong.join("; ")
    ))
}

fn place(network: &Network, port: Port) -> Result<Attacker, RunError> {
    let node = network.find(port.0).unwrap_or(NodeId(0));
    let at = network.device_at(node).port(port.1);
    let peer = at.and_then(|at| network.peer(at));
    let (Some(at), Some(peer)) = (at, peer) else {
        return Err(RunError::Fabric(
            "the attacker's host has no cable".to_owned(),
        ));
    };
    let leaf = network.device_at(network.node_of(peer));
    Ok(Attacker {
        port,
        lid: Lid(0),
        sm_lid: Lid(0),
        before: (leaf.info.node_guid, network.number_of(peer)),
        node,
        at,
    })
}
