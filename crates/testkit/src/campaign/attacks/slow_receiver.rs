//! Attack 10: a host that takes nothing of what is sent to it, so that packets to it fill buffers of links that others use.
//!
//! Packets move by the registers that the managers have written. Others send to the attacker, and to each other beside it;
//! what they get through with and without the attack is compared.

use rand::RngExt;
use rand::seq::SliceRandom;
use weft_dataplane::counters::Counter;
use weft_dataplane::packets::{
    Delivery, Loss, MICRO, Notice, Options, Parcel, Picos, Simulation, Traffic,
};
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Lid, NodeId, Sl};

use super::guard::PM_INTERVAL;
use super::site::Site;
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::Port;
use crate::oracle::{Breach, Invariant};

/// Three whole turns of a lane with opafm.xml's HoqLife (8.4 ms) and VLStallCount (7): it waits for 7 lifetimes, and then drops
/// for 8 what comes. A part of a turn would count the waiting more than the rest.
const LASTS: Picos = 3 * (7 + 8) * 8_389 * MICRO;
/// From one packet of a host to the attacker to its next.
const TO_ATTACKER_EVERY: Picos = 50 * MICRO;
/// From a packet's arrival at a bystander to its sender's next.
const PAUSE: Picos = 20 * MICRO;
/// Size of packets.
const BYTES: u32 = 8_192;
/// Bystanders that send, and those near the attacker that they send to.
const SENDERS_MAX: usize = 8;
const RECEIVERS_MAX: usize = 3;
/// One of so many packets has to get through: half of the time the lane does not wait, and what has waited goes first.
const KEPT_AT_LEAST: u64 = 3;

/// Takes nothing while others send to it.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    let (senders, receivers) = chosen(site);
    let (from, near) = (senders.len(), receivers.len());
    site.note(format!(
        "takes nothing of {from} hosts that send to it and to {near} others"
    ));
    let seed = site.rng.random();
    let (attacker, before) = (site.attacker.port, site.attacker.before);
    let network = site.cluster.emulator.network_mut();
    let traffic = Crossing::new(network, attacker, &senders, &receivers)?;
    let quiet = got_through(network, traffic.clone(), seed, false);
    let during = got_through(network, traffic, seed, true);
    let discards = port_of(network, before).map(|at| network.counter(at, Counter::XmitDiscards));
    if quiet == 0 {
        return Err(RunError::Fabric("no packet arrives in peace".to_owned()));
    }
    if during < quiet / KEPT_AT_LEAST {
        let what = format!("{during} packets of bystanders arrive in place of {quiet}");
        site.harmed(vec![Breach::new(Invariant::Reachable, what)]);
    }
    // The PM reads what the ports counted, and the SA is asked meanwhile.
    site.pass(2 * PM_INTERVAL)?;
    let lost = 100 - (during * 100 / quiet).min(100);
    Ok(Some(format!(
        "{lost} % of bystanders' packets, {} discarded before its port",
        discards.unwrap_or(0)
    )))
}

/// Bystanders that send, if possible from other switches, and others that receive, if possible at the attacker's.
fn chosen(site: &mut Site) -> (Vec<Port>, Vec<Port>) {
    let network = site.cluster.emulator.network();
    let leaf = leaf_of(network, site.attacker.port);
    let mut hosts = site.bystanders.hosts.clone();
    hosts.shuffle(&mut site.rng);
    let (mut near, mut far): (Vec<Port>, Vec<Port>) = hosts
        .into_iter()
        .partition(|host| leaf_of(network, *host) == leaf);
    if far.is_empty() {
        far = near.split_off(near.len() / 2);
    }
    if near.is_empty() {
        near.extend(far.pop());
    }
    near.truncate(RECEIVERS_MAX);
    far.truncate(SENDERS_MAX);
    (far, near)
}

/// A port by node and number.
fn port_of(network: &Network, (node, port): Port) -> Option<PortIndex> {
    network.device_at(network.find(node)?).port(port)
}

fn leaf_of(network: &Network, host: Port) -> Option<NodeId> {
    let peer = network.peer(port_of(network, host)?)?;
    Some(network.node_of(peer))
}

/// Each sender sends to each receiver, again when its packet has arrived or was lost, and to the attacker at a fixed rate.
#[derive(Debug, Clone)]
struct Crossing {
    /// From where to where; a packet's tag is its place here.
    pairs: Vec<(PortIndex, Lid)>,
    senders: Vec<PortIndex>,
    attacker: (PortIndex, Lid),
    /// Packets that have come to receivers.
    came: u64,
}

/// Tag of packets to the attacker, and of the timer of the next.
const ATTACKER: u64 = 1 << 32;

impl Crossing {
    fn new(
        network: &Network,
        attacker: Port,
        senders: &[Port],
        receivers: &[Port],
    ) -> Result<Self, RunError> {
        let place = |host: &Port| {
            let port = port_of(network, *host)?;
            Some((port, network.port(port).info().lid))
        };
        let senders: Vec<PortIndex> = senders
            .iter()
            .filter_map(|host| Some(place(host)?.0))
            .collect();
        let to = receivers.iter().filter_map(|host| Some(place(host)?.1));
        let pairs = to.flat_map(|lid| senders.iter().map(move |from| (*from, lid)));
        let missing = || RunError::Fabric("the attacker's port is gone".to_owned());
        Ok(Self {
            pairs: pairs.collect(),
            attacker: place(&attacker).ok_or_else(missing)?,
            came: 0,
            senders,
        })
    }

    fn send(simulation: &mut Simulation, (from, dlid): (PortIndex, Lid), tag: u64) {
        simulation.send(Parcel {
            from,
            dlid,
            sl: Sl(0),
            bytes: BYTES,
            tag,
        });
    }

    fn send_to_attacker(&self, simulation: &mut Simulation) {
        for from in &self.senders {
            Self::send(simulation, (*from, self.attacker.1), ATTACKER);
        }
        simulation.set_timer(simulation.now() + TO_ATTACKER_EVERY, ATTACKER);
    }
}

impl Traffic for Crossing {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Timer(ATTACKER) => self.send_to_attacker(simulation),
            Notice::Timer(tag) => Self::send(simulation, self.pairs[tag as usize], tag),
            Notice::Delivered(Delivery { tag, .. }) if tag != ATTACKER => {
                self.came += 1;
                simulation.set_timer(simulation.now() + PAUSE, tag);
            }
            Notice::Lost(Loss { tag, .. }) if tag != ATTACKER => {
                simulation.set_timer(simulation.now() + PAUSE, tag);
            }
            _ => {}
        }
    }
}

/// Packets of bystanders that arrive; the ports count what happens under attack.
fn got_through(network: &mut Network, mut traffic: Crossing, seed: u64, attacks: bool) -> u64 {
    let options = Options {
        seed,
        ..Options::default()
    };
    let mut simulation = Simulation::new(network, options);
    if attacks {
        simulation.stop_receiving(traffic.attacker.0);
    }
    for (tag, _) in traffic.pairs.iter().enumerate() {
        simulation.set_timer(PAUSE, tag as u64);
    }
    simulation.set_timer(PAUSE, ATTACKER);
    simulation.run(&mut traffic, LASTS);
    if attacks {
        simulation.settle(network);
    }
    traffic.came
}
