//! What waits for what in a lane: links, or halves of links where the lane has halves.

use weft_fabric::datelines::ring_port;
use weft_fabric::{Datelines, Half, PortNum, RingPort};

use super::first_links;
use crate::network::Network;

/// The channels of one lane, as numbers: that of the link, or twice that for its first half and one more
/// for its second one.
#[derive(Debug, Clone)]
pub(crate) struct Channels {
    links: u32,
    /// Positions in rings of the sending and the receiving port of each link; empty where lanes have no
    /// halves.
    rings: Vec<[RingPort; 2]>,
}

/// The channels that packets at a switch take over one of its links: one, or both halves.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Taken([Option<u32>; 2]);

impl Taken {
    pub(crate) fn add(&mut self, channel: u32) {
        self.0[channel as usize % 2] = Some(channel);
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().flatten()
    }
}

impl Channels {
    /// Lanes without halves.
    pub(crate) fn whole(network: &Network) -> Self {
        Self {
            links: first_links(network)[network.len()],
            rings: Vec::new(),
        }
    }

    /// Lanes whose packets change halves at datelines.
    pub(crate) fn halves(network: &Network, datelines: &Datelines) -> Self {
        let ring = |switch: usize, port: u8| {
            let ports = datelines.of(network.switches[switch].guid);
            ring_port(ports, PortNum(port))
        };
        let rings = (0..network.len()).flat_map(|from| {
            let links = network.egress(from).iter();
            links.map(move |link| [ring(from, link.port), ring(link.to as usize, link.far_port)])
        });
        Self {
            rings: rings.collect(),
            ..Self::whole(network)
        }
    }

    /// Number of channels.
    pub(crate) fn len(&self) -> usize {
        match self.has_halves() {
            true => self.links as usize * 2,
            false => self.links as usize,
        }
    }

    pub(crate) fn has_halves(&self) -> bool {
        !self.rings.is_empty()
    }

    /// The link of a channel, and its half.
    pub(crate) fn link(&self, channel: u32) -> (u32, Half) {
        match self.has_halves() {
            true => (channel / 2, Half::ALL[channel as usize % 2]),
            false => (channel, Half::First),
        }
    }

    /// The channel of a link in a half.
    pub(crate) fn of(&self, link: u32, half: Half) -> u32 {
        match self.has_halves() {
            true => link * 2 + half as u32,
            false => link,
        }
    }

    /// The channel in which packets of HFIs on a switch take a link.
    pub(crate) fn entered(&self, link: u32) -> u32 {
        match self.rings.get(link as usize) {
            Some([egress, _]) => self.of(link, RingPort::default().onward(*egress, Half::First)),
            None => link,
        }
    }

    /// The channel in which packets that come in one channel take a link.
    #[inline]
    pub(crate) fn onward(&self, channel: u32, link: u32) -> u32 {
        let Some([egress, _]) = self.rings.get(link as usize) else {
            return link;
        };
        let (before, half) = self.link(channel);
        let [_, ingress] = self.rings[before as usize];
        self.of(link, ingress.onward(*egress, half))
    }
}
