//! Traffic demands of hosts.

use std::sync::Arc;

use super::routes::Flow;
use crate::network::{Network, PortIndex};
use crate::traffic::Host;

/// Traffic that a host wants to send, as long as the demand exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// The sender, an HFI's port.
    pub from: PortIndex,
    /// Receivers.
    pub to: Receivers,
    /// At most so much of a link of four lanes: over 0, up to 1.
    pub limit: f64,
    /// Flits of each packet on the link.
    pub flits: u32,
}

/// Receivers of a host's traffic.
#[derive(Debug, Clone, PartialEq)]
pub enum Receivers {
    /// One host.
    One(PortIndex),
    /// All of these but the sender, the same to each.
    Others(Arc<[PortIndex]>),
    /// A part to one host, the rest to all of these but the sender, the same to each. The sender
    /// does not send to itself.
    Hotspot {
        /// The one host.
        hot: PortIndex,
        /// Its part, 0 to 1.
        part: f64,
        /// The others, `hot` among them.
        hosts: Arc<[PortIndex]>,
    },
}

impl Demand {
    /// Number of receivers.
    pub fn receivers(&self) -> usize {
        match &self.to {
            Receivers::One(_) => 1,
            Receivers::Others(hosts) | Receivers::Hotspot { hosts, .. } => {
                hosts.len().saturating_sub(1)
            }
        }
    }

    /// Calls `each` with every receiver and its fraction of the traffic; the fractions add up to 1.
    pub(super) fn each_receiver(&self, mut each: impl FnMut(PortIndex, f64)) {
        let own = self.from;
        let spread = |hosts: &[PortIndex], part: f64, each: &mut dyn FnMut(PortIndex, f64)| {
            let others = hosts.iter().filter(|to| **to != own);
            let count = others.clone().count().max(1);
            others.for_each(|to| each(*to, part / count as f64));
        };
        match &self.to {
            Receivers::One(to) => each(*to, 1.0),
            Receivers::Others(hosts) => spread(hosts, 1.0, &mut each),
            Receivers::Hotspot { hot, part, hosts } if *hot != own => {
                each(*hot, *part);
                spread(hosts, 1.0 - part, &mut each);
            }
            Receivers::Hotspot { hosts, .. } => spread(hosts, 1.0, &mut each),
        }
    }

    /// Calls `each` with the flow to every receiver that has a LID and its fraction of the traffic.
    pub(super) fn each_flow(&self, network: &Network, mut each: impl FnMut(Flow, PortIndex, f64)) {
        self.each_receiver(|to, part| {
            let [from, host] = [self.from, to].map(|port| host(network, port));
            if host.lid.0 != 0 && part > 0.0 {
                each(Flow::new(&from, &host), to, part);
            }
        });
    }
}

fn host(network: &Network, port: PortIndex) -> Host {
    let info = network.port(port).info();
    Host {
        port,
        lid: info.lid,
        lids: info.lmc.lids(),
    }
}
