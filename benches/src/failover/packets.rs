//! Packets that are followed through the switches' registers while a master is replaced.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum};

/// Pairs of hosts.
const PAIRS: usize = 64;
/// Most switches on a way.
const SWITCHES_MAX: u32 = 16;

/// Pairs of hosts, of which one sends to the other, and what became of that.
#[derive(Debug, Default)]
pub(super) struct Packets {
    pairs: Vec<[Guid; 2]>,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

impl Packets {
    /// Between hosts that are far apart, except these.
    pub(super) fn between(hosts: &[Guid], except: &[Guid]) -> Self {
        let half = hosts.len() / 2;
        let step = (half / PAIRS).max(1);
        let pairs = (0..half)
            .step_by(step)
            .map(|at| [hosts[at], hosts[at + half]]);
        let pairs = pairs.filter(|pair| pair.iter().all(|host| !except.contains(host)));
        Self {
            pairs: pairs.collect(),
            ..Self::default()
        }
    }

    /// Each pair sends one packet now.
    pub(super) fn send(&mut self, network: &Network) {
        for [from, to] in &self.pairs {
            self.sent += 1;
            self.lost += u64::from(arrives(network, *from, *to).is_none());
        }
    }
}

/// Follows the linear tables over active ports; none where the packet does not arrive.
fn arrives(network: &Network, from: Guid, to: Guid) -> Option<()> {
    let port = |host| network.device_at(network.find(host)?).port(PortNum(1));
    let (mut at, target) = (port(from)?, port(to)?);
    let lid = network.port(target).info().lid;
    for _ in 0..SWITCHES_MAX {
        let far = cross(network, at)?;
        if far == target {
            return Some(());
        }
        let node = network.node_of(far);
        let routes = network.switch(node)?.linear();
        let next = *routes.get(usize::try_from(lid.0).ok()?)?;
        at = network.device_at(node).port(PortNum(next))?;
    }
    None
}

/// The other end of a link, where both are active.
fn cross(network: &Network, at: PortIndex) -> Option<PortIndex> {
    let far = network.peer(at)?;
    let active = |at| network.state(at) == PortState::ACTIVE;
    (active(at) && active(far)).then_some(far)
}
