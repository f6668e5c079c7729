//! Flows along the programmed tables, and routes that switches move.

use weft_fabric::{Lid, PortNum};

use super::Shares;
use crate::forward::HOPS_MAX;
use crate::network::{Network, PortIndex};
use crate::packets::{Mask, Random, groups, masks};
use crate::traffic::Host;

/// Looks after which switches stop: about a second.
const LOOKS_MAX: u32 = 16;
/// From this share on a link is full.
const FULL: f64 = 0.999;

/// What a switch does with its routes.
#[derive(Debug, Clone)]
struct Switch {
    routes: Vec<u8>,
    ports: u8,
    base: u32,
    /// Group by LID and ports by group, of a switch that adapts.
    groups: Vec<u8>,
    masks: Vec<Mask>,
}

/// The routes of a fabric.
#[derive(Debug, Clone)]
pub struct Routes {
    switches: Vec<Switch>,
    /// The switch that a port's cable leads to, and the port there.
    behind: Vec<Option<(u32, PortIndex)>>,
    links: usize,
}

/// A flow from a host to another one, and the LIDs that it takes in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The sender.
    pub from: PortIndex,
    /// The first LID of its data.
    pub lid: Lid,
    /// How many follow, itself included.
    pub lids: u32,
}

impl Flow {
    /// Between two hosts, as PSM2 sends: of several LIDs the first is for control alone.
    pub fn new(from: &Host, to: &Host) -> Self {
        let own = u32::from(to.lids > 1);
        Self {
            from: from.port,
            lid: Lid(to.lid.0 + own),
            lids: (to.lids - own).max(1),
        }
    }
}

impl Routes {
    /// The routes as the tables have them.
    pub fn new(network: &Network) -> Self {
        let topology = network.topology();
        let switches = topology.switches().iter().filter_map(|id| {
            let registers = network.switch(*id)?;
            let info = registers.info();
            let adapts = info.ar_enable && !info.ar_pause && !info.ar_lost_routes_only;
            let device = network.device_at(*id);
            Some(Switch {
                routes: registers.linear().to_vec(),
                ports: device.ports().map(|(number, _)| number.0).max()?,
                base: device.port(PortNum(0))?.0,
                groups: if adapts {
                    groups(registers, info)
                } else {
                    Vec::new()
                },
                masks: if adapts {
                    masks(registers, info)
                } else {
                    Vec::new()
                },
            })
        });
        let links = network.port_count();
        let behind = (0..links as u32).map(|at| {
            let peer = network.peer(PortIndex(at))?;
            let index = topology.switch_index(network.node_of(peer))?;
            Some((index.0, peer))
        });
        Self {
            switches: switches.collect(),
            behind: behind.collect(),
            links,
        }
    }

    /// Whether any switch moves routes.
    pub fn adapt(&self) -> bool {
        self.switches.iter().any(|switch| !switch.masks.is_empty())
    }

    /// The links, named by their sending ports, of a packet to a LID; none when it does not arrive.
    pub fn path(&self, from: PortIndex, lid: Lid) -> Option<Vec<u32>> {
        let mut path = vec![from.0];
        let mut at = from.0;
        while let Some((index, _)) = *self.behind.get(at as usize)? {
            let switch = self.switches.get(index as usize)?;
            let route = switch.routes.get(lid.0 as usize).copied()?;
            if route == 0 || route > switch.ports || path.len() as u32 >= HOPS_MAX {
                return None;
            }
            at = switch.base + u32::from(route);
            path.push(at);
        }
        Some(path)
    }

    /// The rates of flows; one without a way has 0.
    pub fn rates(&self, flows: &[Flow]) -> Vec<f64> {
        let (shares, arrive) = self.shares(flows);
        let rates = shares.rates().into_iter().zip(arrive);
        rates
            .map(|(rate, arrives)| if arrives { rate } else { 0.0 })
            .collect()
    }

    fn shares(&self, flows: &[Flow]) -> (Shares, Vec<bool>) {
        let mut shares = Shares::new(self.links);
        let mut arrive = Vec::with_capacity(flows.len());
        for flow in flows {
            let lids = (0..flow.lids).map(|step| Lid(flow.lid.0 + step));
            let paths: Option<Vec<Vec<u32>>> = lids.map(|lid| self.path(flow.from, lid)).collect();
            arrive.push(paths.is_some());
            let part = 1.0 / f64::from(flow.lids);
            let links = paths.into_iter().flatten().flatten();
            shares.add(links.map(|link| (link, part)));
        }
        (shares, arrive)
    }

    /// Lets switches move routes while flows go on, one for each full port and look, to the port of
    /// the LID's group that carries least, until none moves or about a second is over; says how
    /// many have moved.
    pub fn settle(&mut self, flows: &[Flow], random: &mut Random) -> u64 {
        let mut moved = 0;
        for _ in 0..LOOKS_MAX {
            let now = self.look(flows, random);
            moved += now;
            if now == 0 {
                break;
            }
        }
        moved
    }

    fn look(&mut self, flows: &[Flow], random: &mut Random) -> u64 {
        let (shares, _) = self.shares(flows);
        let rates = shares.rates();
        let mut used = vec![0.0; self.links];
        let mut wanted = vec![0.0; self.links];
        let mut crossing: Vec<Vec<u32>> = vec![Vec::new(); self.links];
        for (flow, rate) in rates.iter().enumerate() {
            for (link, part) in shares.links_of(flow) {
                let link = *link as usize;
                used[link] += rate * part;
                wanted[link] += part;
                crossing[link].push(flow as u32);
            }
        }
        let mut moved = 0;
        for index in 0..self.switches.len() {
            let (base, ports) = (self.switches[index].base, self.switches[index].ports);
            for port in 1..=ports {
                let link = (base + u32::from(port)) as usize;
                if used[link] < FULL || crossing[link].len() < 2 {
                    continue;
                }
                let pick = random.below(crossing[link].len() as u32) as usize;
                let flow = flows[crossing[link][pick] as usize];
                let lid = flow.lid.0 + random.below(flow.lids);
                let waiting = |link: usize| if used[link] < FULL { 0.0 } else { wanted[link] };
                moved += u64::from(self.switches[index].move_route(lid, port, waiting, random));
            }
        }
        moved
    }
}

impl Switch {
    /// Moves the route of a LID that leaves by `from` to the port of its group where least waits;
    /// says whether it did.
    fn move_route(
        &mut self,
        lid: u32,
        from: u8,
        waiting: impl Fn(usize) -> f64,
        random: &mut Random,
    ) -> bool {
        let place = lid as usize;
        if self.routes.get(place) != Some(&from) {
            return false;
        }
        let group = self.groups.get(place).copied().unwrap_or(u8::MAX);
        let Some(mask) = self.masks.get(usize::from(group)) else {
            return false;
        };
        let load = |port: u8| waiting((self.base + u32::from(port)) as usize);
        let members = (1..=self.ports).filter(|port| {
            let bit = usize::from(port - 1);
            mask[bit / 64] & 1 << (bit % 64) != 0 && load(*port) < load(from)
        });
        let members: Vec<u8> = members.collect();
        let least = members
            .iter()
            .map(|port| load(*port))
            .fold(f64::MAX, f64::min);
        let best: Vec<u8> = members
            .into_iter()
            .filter(|port| load(*port) <= least)
            .collect();
        let pick = random.below(best.len() as u32) as usize;
        let Some(port) = best.get(pick) else {
            return false;
        };
        self.routes[place] = *port;
        true
    }
}
