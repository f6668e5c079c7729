//! The HFIs that take part in traffic.

use std::sync::Arc;

use weft_fabric::{Lid, PortNum, Sl};

use super::levels::{LEVELS, PathLevels};
use crate::network::{Network, PortIndex};

/// An HFI's port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The port.
    pub port: PortIndex,
    /// Its first LID.
    pub lid: Lid,
    /// It answers to this many LIDs from there.
    pub lids: u32,
}

/// Hosts by number, and back, with their path data for each other.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    hosts: Vec<Host>,
    /// Number by port, `u32::MAX` where there is none.
    numbers: Vec<u32>,
    levels: PathLevels,
    /// Service levels of paths, by number of the source and then of the destination; empty where the
    /// destination alone decides.
    of_paths: Arc<[Sl]>,
    /// The least of the MTUs of their ports for each service level, 0 where none has one.
    mtus: [u32; LEVELS as usize],
}

impl Hosts {
    /// All HFIs with a LID, in order of nodes.
    pub fn all(network: &Network) -> Self {
        let hfis = network.topology().hfis();
        let ports = hfis.filter_map(|(id, _)| network.device(id)?.port(PortNum(1)));
        Self::new(network, ports)
    }

    /// These ports, in this order, without those that have no LID.
    pub fn new(network: &Network, ports: impl IntoIterator<Item = PortIndex>) -> Self {
        let mut hosts = Self::default();
        for port in ports {
            let info = network.port(port).info();
            if info.lid != Lid(0) {
                hosts.heed_mtus(network, port);
                hosts.add(Host {
                    port,
                    lid: info.lid,
                    lids: info.lmc.lids(),
                });
            }
        }
        hosts
    }

    /// Hosts whose paths have these service levels; the default is the configured levels.
    #[must_use]
    pub fn with_levels(self, levels: PathLevels) -> Self {
        Self { levels, ..self }
    }

    /// Hosts whose paths have these service levels whatever level a user means: by number of the source, and for
    /// each of them by number of the destination.
    #[must_use]
    pub fn with_levels_of_paths(self, of_paths: Arc<[Sl]>) -> Self {
        Self { of_paths, ..self }
    }

    /// The service level of the path from one host to the first LID of another, for the one that a user means.
    #[inline]
    pub fn level_between(&self, from: u32, to: u32, level: Sl) -> Sl {
        let place = from as usize * self.hosts.len() + to as usize;
        let of_path = self.of_paths.get(place).copied();
        let to_lid = || self.get(to).map(|host| self.level_to(host.lid, level));
        of_path.or_else(to_lid).unwrap_or(level)
    }

    /// The service level of the path to a LID, for the one that a user means.
    #[inline]
    pub fn level_to(&self, lid: Lid, level: Sl) -> Sl {
        self.levels.to(lid, level)
    }

    fn heed_mtus(&mut self, network: &Network, port: PortIndex) {
        let info = network.port(port).info();
        for level in 0..LEVELS {
            let lane = network.lanes_along(&[port.0], Sl(level)).next();
            let mtu = lane.map_or(0, |lane| info.neighbor_mtu.get(lane).bytes());
            let least = &mut self.mtus[usize::from(level)];
            if mtu > 0 && (*least == 0 || mtu < *least) {
                *least = mtu;
            }
        }
    }

    /// Most bytes of payload in a packet of a service level between any two of them; none where it has
    /// no lane that carries data.
    pub fn mtu(&self, level: Sl) -> Option<u32> {
        Some(self.mtus[usize::from(level.0 % LEVELS)]).filter(|mtu| *mtu > 0)
    }

    fn add(&mut self, host: Host) {
        let place = host.port.0 as usize;
        if self.numbers.len() <= place {
            self.numbers.resize(place + 1, u32::MAX);
        }
        self.numbers[place] = self.hosts.len() as u32;
        self.hosts.push(host);
    }

    /// Number of hosts.
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// A host by its number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&Host> {
        self.hosts.get(number as usize)
    }

    /// A port's number.
    #[inline]
    pub fn number(&self, port: PortIndex) -> Option<u32> {
        let number = self.numbers.get(port.0 as usize).copied();
        number.filter(|number| *number != u32::MAX)
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Host> {
        self.hosts.iter()
    }
}
