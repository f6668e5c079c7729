//! Flows along the programmed tables, and routes that switches move.

use weft_fabric::{Lid, NodeId, PortNum};

use super::Shares;
use crate::constants::{ADAPTIVE_LOOKS_MAX, ADAPTIVE_PERIOD, FULL_LINK};
use crate::forward::HOPS_MAX;
use crate::network::{Network, PortIndex};
use crate::packets::{Algorithm, Mask, NANO, Random, carries_data, groups, masks};
use crate::traffic::Host;

/// Routing state of a switch.
#[derive(Debug, Clone)]
struct Switch {
    routes: Vec<u8>,
    /// The routes as they were written.
    programmed: Vec<u8>,
    ports: u8,
    base: u32,
    /// Its adaptive routing, if enabled.
    adaptive: Option<Adaptive>,
}

/// Adaptive routing settings (`AdaptiveRouting` of SwitchInfo).
#[derive(Debug, Clone)]
struct Adaptive {
    /// Only those whose port is lost.
    lost_only: bool,
    algorithm: Algorithm,
    /// Nanoseconds from one look at its ports to the next.
    period_ns: u64,
    /// When it looks next, nanoseconds.
    next_ns: u64,
    /// Group by LID and ports by group.
    groups: Vec<u8>,
    masks: Vec<Mask>,
}

/// The other end of a port's cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Nothing that data could reach now.
    Nothing,
    /// An HFI's port.
    Host(PortIndex),
    /// A switch, by its place.
    Switch(u32),
}

/// The routes of a fabric.
#[derive(Debug, Clone, Default)]
pub struct Routes {
    switches: Vec<Switch>,
    behind: Vec<Behind>,
}

/// A flow from one host to another, and the LIDs that it rotates over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The sender.
    pub from: PortIndex,
    /// The first LID of its data.
    pub lid: Lid,
    /// Number of LIDs, the first included.
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
        let ports = 0..network.port_count() as u32;
        let switches = network.topology().switches().iter();
        Self {
            switches: switches.filter_map(|id| read(network, *id)).collect(),
            behind: ports.map(|at| behind(network, PortIndex(at))).collect(),
        }
    }

    /// Reads the tables and links anew. Routes that switches have moved stay where they are until
    /// they are written differently or the switch no longer adapts; those whose port is lost are
    /// moved at once. Says how many were.
    pub fn refresh(&mut self, network: &Network, random: &mut Random) -> u64 {
        let before = std::mem::replace(self, Self::new(network));
        for (switch, before) in self.switches.iter_mut().zip(before.switches) {
            switch.keep_moved(before);
        }
        let behind = &self.behind;
        let switches = self.switches.iter_mut();
        switches
            .map(|switch| switch.move_lost(behind, random))
            .sum()
    }

    /// Whether any switch moves routes because of congestion.
    pub fn adapt(&self) -> bool {
        self.switches.iter().any(Switch::looks)
    }

    /// The links, named by their sending ports, of a packet to a LID; none when it does not arrive.
    pub fn path(&self, from: PortIndex, lid: Lid) -> Option<Vec<u32>> {
        let mut path = Vec::new();
        self.walk(from, lid, &mut path).map(|_| path)
    }

    /// Writes the links of a packet to a LID over `path`; returns where it arrives, if it does.
    pub fn walk(&self, from: PortIndex, lid: Lid, path: &mut Vec<u32>) -> Option<PortIndex> {
        path.clear();
        let mut at = from.0;
        path.push(at);
        loop {
            let index = match *self.behind.get(at as usize)? {
                Behind::Nothing => return None,
                Behind::Host(port) => return Some(port),
                Behind::Switch(index) => index,
            };
            let switch = self.switches.get(index as usize)?;
            let route = switch.routes.get(lid.0 as usize).copied()?;
            if route == 0 || route > switch.ports || path.len() as u32 >= HOPS_MAX {
                return None;
            }
            at = switch.base + u32::from(route);
            path.push(at);
        }
    }

    /// When switches look at their ports next, nanoseconds; none when none ever does.
    pub(super) fn next_look(&self) -> Option<u64> {
        let looks = self.switches.iter().filter_map(|switch| {
            let adaptive = switch.adaptive.as_ref().filter(|own| !own.lost_only);
            adaptive.map(|adaptive| adaptive.next_ns)
        });
        looks.min()
    }

    /// Switches whose time has come look at their ports: from each congested one the route of one
    /// LID, as `pick` gives it by link, goes to another port of the LID's group on whose link less
    /// waits. Says how many have moved.
    pub(super) fn look_around(
        &mut self,
        now_ns: u64,
        pick: impl Fn(usize) -> Option<Lid>,
        waiting: impl Fn(usize) -> f64,
        random: &mut Random,
    ) -> u64 {
        let mut moved = 0;
        let behind = &self.behind;
        let waiting = |link: usize| match behind.get(link) {
            Some(Behind::Nothing) | None => f64::MAX,
            Some(_) => waiting(link),
        };
        for switch in &mut self.switches {
            if !switch.is_due(now_ns) {
                continue;
            }
            for port in 1..=switch.ports {
                if let Some(lid) = pick(switch.link(port)) {
                    moved += u64::from(switch.move_route(lid.0, port, waiting, random));
                }
            }
        }
        moved
    }

    /// The rates of flows; 0 for a flow without a path.
    pub fn rates(&self, flows: &[Flow]) -> Vec<f64> {
        let (shares, arrive) = self.shares(flows);
        let rates = shares.rates().into_iter().zip(arrive);
        rates
            .map(|(rate, arrives)| if arrives { rate } else { 0.0 })
            .collect()
    }

    fn shares(&self, flows: &[Flow]) -> (Shares, Vec<bool>) {
        let mut shares = Shares::new(self.behind.len());
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
        for _ in 0..ADAPTIVE_LOOKS_MAX {
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
        let links = self.behind.len();
        let mut used = vec![0.0; links];
        let mut wanted = vec![0.0; links];
        let mut crossing: Vec<Vec<u32>> = vec![Vec::new(); links];
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
            if !self.switches[index].looks() {
                continue;
            }
            for port in 1..=self.switches[index].ports {
                let link = self.switches[index].link(port);
                if used[link] < FULL_LINK || crossing[link].len() < 2 {
                    continue;
                }
                let pick = random.below(crossing[link].len() as u32) as usize;
                let flow = flows[crossing[link][pick] as usize];
                let lid = flow.lid.0 + random.below(flow.lids);
                let waiting = |link: usize| {
                    if used[link] < FULL_LINK {
                        0.0
                    } else {
                        wanted[link]
                    }
                };
                moved += u64::from(self.switches[index].move_route(lid, port, waiting, random));
            }
        }
        moved
    }
}

fn read(network: &Network, id: NodeId) -> Option<Switch> {
    let registers = network.switch(id)?;
    let info = registers.info();
    let device = network.device_at(id);
    let enabled = info.ar_enable && !info.ar_pause;
    let adaptive = enabled.then(|| Adaptive {
        lost_only: info.ar_lost_routes_only,
        algorithm: Algorithm::of(info),
        period_ns: (ADAPTIVE_PERIOD / NANO) << info.ar_frequency,
        next_ns: 0,
        groups: groups(registers, info),
        masks: masks(registers, info),
    });
    Some(Switch {
        routes: registers.linear().to_vec(),
        programmed: registers.linear().to_vec(),
        ports: device.ports().map(|(number, _)| number.0).max()?,
        base: device.port(PortNum(0))?.0,
        adaptive,
    })
}

fn behind(network: &Network, at: PortIndex) -> Behind {
    let Some(peer) = network.peer(at).filter(|_| carries_data(network, at)) else {
        return Behind::Nothing;
    };
    let index = network.topology().switch_index(network.node_of(peer));
    index.map_or(Behind::Host(peer), |index| Behind::Switch(index.0))
}

impl Switch {
    /// The link of a port.
    fn link(&self, port: u8) -> usize {
        (self.base + u32::from(port)) as usize
    }

    /// Whether it moves routes because of congestion.
    fn looks(&self) -> bool {
        let adaptive = self.adaptive.as_ref();
        adaptive.is_some_and(|adaptive| !adaptive.lost_only)
    }

    /// Whether it checks its ports now; if so sets the time of the next check.
    fn is_due(&mut self, now_ns: u64) -> bool {
        let adaptive = self.adaptive.as_mut();
        let Some(adaptive) = adaptive.filter(|own| !own.lost_only && own.next_ns <= now_ns) else {
            return false;
        };
        adaptive.next_ns = now_ns.saturating_add(adaptive.period_ns);
        true
    }

    /// Keeps the moved routes after its registers were read again.
    fn keep_moved(&mut self, before: Self) {
        let Some(adaptive) = &mut self.adaptive else {
            return;
        };
        if let Some(before) = &before.adaptive {
            adaptive.next_ns = before.next_ns;
        }
        let routes = self.routes.iter_mut().zip(&self.programmed);
        let old = before.routes.iter().zip(&before.programmed);
        for ((route, programmed), (moved, old)) in routes.zip(old) {
            if programmed == old {
                *route = *moved;
            }
        }
    }

    /// Moves the routes whose port is lost; returns their number.
    fn move_lost(&mut self, behind: &[Behind], random: &mut Random) -> u64 {
        let mut moved = 0;
        if self.adaptive.is_none() {
            return moved;
        }
        for lid in 0..self.routes.len() {
            let route = self.routes[lid];
            let known = route != 0 && route <= self.ports;
            let lost = |port: u8| behind.get(self.link(port)) == Some(&Behind::Nothing);
            if known && lost(route) {
                let waiting = |link: usize| match behind.get(link) {
                    Some(Behind::Nothing) | None => f64::MAX,
                    Some(_) => 0.0,
                };
                moved += u64::from(self.move_route(lid as u32, route, waiting, random));
            }
        }
        moved
    }

    /// Moves the route of a LID that leaves by `from` to a port of its group where less waits, by
    /// the switch's algorithm; returns whether it did.
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
        let Some(adaptive) = &self.adaptive else {
            return false;
        };
        let group = adaptive.groups.get(place).copied().unwrap_or(u8::MAX);
        let Some(mask) = adaptive.masks.get(usize::from(group)) else {
            return false;
        };
        let load = |port: u8| waiting(self.link(port));
        let members = (1..=self.ports).filter(|port| {
            let bit = usize::from(port - 1);
            mask[bit / 64] & 1 << (bit % 64) != 0 && load(*port) < load(from)
        });
        let members: Vec<u8> = members.collect();
        let least = members
            .iter()
            .map(|port| load(*port))
            .fold(f64::MAX, f64::min);
        let any = adaptive.algorithm == Algorithm::Random;
        let best: Vec<u8> = members
            .into_iter()
            .filter(|port| any || load(*port) <= least)
            .collect();
        let pick = match adaptive.algorithm {
            Algorithm::Greedy => 0,
            _ => random.below(best.len() as u32) as usize,
        };
        let Some(port) = best.get(pick) else {
            return false;
        };
        self.routes[place] = *port;
        true
    }
}
