//! Where packets cross the datelines of a torus.
//!
//! In each ring the dateline is between the last coordinate and the first. Coordinates are turned so
//! that it stays where it was; where there was none, the switch with the lowest GUID is the first.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::datelines::RingPorts;
use weft_fabric::{Datelines, Guid, PortNum, RingPort};

use super::grid::{Grid, Way};
use crate::network::Network;
use crate::settings::Dimension;

impl Grid<'_> {
    /// The dimensions whose rings need a dateline, by number.
    fn rings(&self) -> impl Iterator<Item = (usize, &Dimension)> {
        let dimensions = self.settings.dimensions.iter().enumerate();
        dimensions.filter(|(_, data)| data.is_ring())
    }

    /// Number of dimensions whose rings need a dateline.
    pub(super) fn ring_count(&self) -> usize {
        self.rings().count()
    }

    /// Turns the rings of each part of the fabric so that datelines stay where they are.
    pub(super) fn turn(&mut self, network: &Network) {
        let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (switch, (part, _)) in self.place.iter().enumerate() {
            parts.entry(*part).or_default().push(switch);
        }
        let rings: Vec<(usize, u8)> = self
            .rings()
            .map(|(ring, data)| (ring, data.length))
            .collect();
        for members in parts.values() {
            for &(ring, length) in &rings {
                let last = self.last_coordinate(network, members, ring);
                for &switch in members {
                    let at = &mut self.place[switch].1[ring];
                    *at = (*at - last - 1).rem_euclid(i32::from(length));
                }
            }
        }
    }

    /// The coordinate before the dateline: the one that most switches beside datelines tell, or the one
    /// before the switch with the lowest GUID.
    fn last_coordinate(&self, network: &Network, members: &[usize], ring: usize) -> i32 {
        let length = i32::from(self.settings.dimensions[ring].length);
        let pairs = &self.settings.dimensions[ring].pairs;
        let crosses = |switch: usize, port: u8| {
            let at = (network.switches[switch].guid, PortNum(port));
            self.settings.crossings.contains(&at)
        };
        let mut votes: BTreeMap<i32, usize> = BTreeMap::new();
        for &switch in members {
            let at = self.place[switch].1[ring];
            for &(up, down) in pairs {
                let lasts = [(up, at), (down, at - 1)];
                let told = lasts.iter().filter(|(port, _)| crosses(switch, *port));
                told.for_each(|(_, last)| *votes.entry(last.rem_euclid(length)).or_default() += 1);
            }
        }
        let most = votes.into_iter().max_by_key(|(_, votes)| *votes);
        let elsewhere = || match self.settings.crossings.is_empty() {
            true => self.before_lowest(network, members, ring),
            false => self.least_crossed(members, ring),
        };
        most.map_or_else(elsewhere, |(last, _)| last)
    }

    /// The coordinate before the switch with the lowest GUID.
    fn before_lowest(&self, network: &Network, members: &[usize], ring: usize) -> i32 {
        let first = members
            .iter()
            .min_by_key(|switch| network.switches[**switch].guid);
        first.map_or(0, |first| self.place[*first].1[ring] - 1)
    }

    /// The coordinate for the dateline of a part that has none, beside the fewest of its switches: those
    /// change nothing.
    fn least_crossed(&self, members: &[usize], ring: usize) -> i32 {
        let length = i32::from(self.settings.dimensions[ring].length);
        let beside = |last: &i32| {
            let next = (last + 1) % length;
            let places = members.iter().map(|switch| self.place[*switch].1[ring]);
            places.filter(|at| at == last || *at == next).count()
        };
        (0..length).min_by_key(beside).unwrap_or(0)
    }

    /// The positions of all ports in rings, whether a cable is there or not.
    pub(super) fn datelines(&self, network: &Network) -> Datelines {
        let switches = (0..network.len()).map(|switch| {
            let guid: Guid = network.switches[switch].guid;
            (guid, self.ring_ports(switch))
        });
        Datelines::new(switches)
    }

    fn ring_ports(&self, switch: usize) -> RingPorts {
        let mut ports: Vec<RingPort> = Vec::new();
        for (ring, data) in self.rings() {
            let at = self.place[switch].1[ring];
            for &(up, down) in &data.pairs {
                for (port, way) in [(up, Way::Up), (down, Way::Down)] {
                    let first = match way {
                        Way::Up => i32::from(data.length) - 1,
                        Way::Down => 0,
                    };
                    let port = usize::from(port);
                    ports.resize(ports.len().max(port + 1), RingPort::default());
                    ports[port] = RingPort {
                        ring: ring as u8 + 1,
                        crosses: at == first,
                    };
                }
            }
        }
        Arc::from(ports)
    }
}
