//! Converts registers to simulation state.

use weft_fabric::Vl;
use weft_fabric::enums::PortState;
use weft_wire::Layout;
use weft_wire::sm::{BufferControlTable, PortInfo};

use super::arbiter::Arbiter;
use super::hold::HELD;
use super::lane::{Errors, Lane, Port, Rare, Received};
use super::simulation::{Input, Simulation, Switch};
use super::{Picos, adaptive, multicast};
use crate::constants::{FLIT_ONE_LANE, HEADERS_MAX, LIFETIME_FOREVER, LIFETIME_UNIT};
use crate::forward::{active_lanes, wait_unit};
use crate::network::{NONE, Network, PortIndex};
use crate::registers::{PortRegisters, PortTable};
use crate::switch::multicast_rows;

/// A route to nowhere.
pub(super) const UNREACHABLE: u8 = 0xFF;

impl Simulation {
    /// Reads the registers. Must be called after they were written or a link came up or went down:
    /// packets on a link that is down are dropped, queues and credits of the others stay unchanged.
    pub fn configure(&mut self, network: &Network) {
        if self.ports.is_empty() {
            self.make_room(network);
        }
        let before = self.lifetimes();
        for index in 0..self.ports.len() {
            self.read_port(network, index);
        }
        for index in 0..self.switches.len() {
            self.read_switch(network, index);
        }
        let shorter = self.lifetimes().into_iter().zip(before).enumerate();
        let shorter = shorter.filter(|(_, (now, before))| now < before);
        shorter.for_each(|(at, _)| self.watch_anew(at));
        self.watch_inputs();
        self.read_preemption(network);
        self.read_adaptive(network);
        self.read_congestion(network);
        for index in 0..self.ports.len() {
            self.try_send(index as u32);
        }
    }

    /// Maximum wait of each lane's first packet, the shorter one of both lifetimes.
    fn lifetimes(&self) -> Vec<Picos> {
        let of_lane = |(at, hoq): (usize, &Picos)| {
            let switch = self.ports[at / self.width].switch;
            let switch = self.switches.get(switch as usize);
            switch.map_or(Picos::MAX, |switch| switch.lifetime.min(*hoq))
        };
        self.hoq.iter().enumerate().map(of_lane).collect()
    }

    fn make_room(&mut self, network: &Network) {
        let caps = network.ports.iter().map(|port| port.info().vl_cap);
        self.width = usize::from(caps.max().unwrap_or(1).clamp(1, 31));
        let ports = network.ports.len();
        let lanes = ports * self.width;
        self.ports = (0..ports).map(|index| new_port(network, index)).collect();
        for index in 0..ports {
            let peer = self.ports[index].peer;
            self.ports[index].away =
                peer != NONE && self.share.owns(peer) != self.share.owns(index as u32);
        }
        self.lanes = vec![Lane::default(); lanes];
        self.rare = vec![Rare::default(); lanes];
        self.received = vec![Received::default(); lanes];
        self.inputs = vec![Input::default(); lanes];
        self.hoq = vec![Picos::MAX; lanes];
        self.stall_count = vec![0; lanes];
        self.arbiters = vec![Arbiter::default(); ports];
        self.errors = vec![Errors::default(); ports];
        self.paces = vec![(0, 0); ports];
        self.lids = vec![(0, 0); ports];
        self.sl_maps = vec![0; ports];
        self.switches = vec![Switch::default(); network.switches.len()];
        self.adaptive = adaptive::State::new(network.switches.len(), self.options.seed);
        for end in network.links.iter().filter(|end| end.switch != NONE) {
            let switch = &mut self.switches[end.switch as usize];
            switch.ports = end.last.0;
        }
        for (_, device) in network.devices() {
            if let Some(index) = device.switch() {
                self.switches[index.0 as usize].base = device.first_port_index().0;
            }
        }
    }

    fn read_port(&mut self, network: &Network, index: usize) {
        let at = PortIndex(index as u32);
        let (registers, end) = (network.port(at), &network.links[index]);
        let held = self.lids[index].0 & HELD;
        self.lids[index] = (end.lid | held, end.lmc);
        self.sl_maps[index] = self.map(registers.table(PortTable::SlToSc));
        let lane_map = self.map(registers.table(PortTable::ScToVlt));
        self.ports[index].lane_map = lane_map;
        let up = carries_data(network, at);
        if self.ports[index].up && !up {
            self.lose_link(index);
        }
        self.ports[index].up = up;
        let Some(peer) = network.peer(at).filter(|_| up) else {
            return;
        };
        let info = registers.info();
        let flit = flit_time(info) as u32;
        if self.ports[index].flit != flit {
            self.note_pace(index);
        }
        self.ports[index].flit = flit;
        self.ports[index].wait_unit = wait_unit(info, end.switch != NONE) as u8;
        self.ports[index].lossy = info.flow_control_mask;
        self.ports[index].unit_bits = network.port(peer).info().buffer_alloc;
        self.read_credits(registers, index);
        self.read_lifetimes(info, index, end.switch != NONE);
        let arbiter = Arbiter::new(
            registers.table(PortTable::VlArbHigh),
            registers.table(PortTable::VlArbLow),
            (info.vl_arbitration_high_cap, info.vl_arbitration_low_cap),
            info.vl_high_limit,
        );
        if !self.arbiters[index].is_same_table(&arbiter) {
            self.arbiters[index] = arbiter;
        }
    }

    /// The place of a map among the different ones.
    fn map(&mut self, table: &[u8]) -> u16 {
        let map: [u8; 32] = std::array::from_fn(|key| table.get(key).map_or(0, |to| to & 31));
        let known = self.lane_maps.iter().position(|other| *other == map);
        let place = known.unwrap_or(self.lane_maps.len());
        if place == self.lane_maps.len() {
            self.lane_maps.push(map);
        }
        place as u16
    }

    fn read_credits(&mut self, registers: &PortRegisters, index: usize) {
        let table = BufferControlTable::decode(registers.table(PortTable::BufferControl));
        let table = table.unwrap_or_default();
        let mut smaller = 0_u32;
        let port = &mut self.ports[index];
        port.shared_limit = table.tx_overall_shared_limit;
        let lanes = &mut self.lanes[index * self.width..][..self.width];
        for (vl, lane) in lanes.iter_mut().enumerate() {
            let limits = table.vl[vl];
            lane.dedicated = limits.tx_dedicated_limit;
            lane.shared = limits.tx_shared_limit.min(table.tx_overall_shared_limit);
            let units = u32::from(lane.dedicated) + u32::from(lane.shared);
            let operates = vl < usize::from(registers.info().operational_vl);
            let mtu = registers.info().neighbor_mtu.get(Vl(vl as u8)).bytes();
            let bytes = if mtu == 0 || !operates {
                0
            } else {
                mtu + HEADERS_MAX
            };
            let largest = (bytes / 8).min(units << port.unit_bits);
            let largest = largest.min(u32::from(u16::MAX)) as u16;
            smaller |= u32::from(largest < lane.largest) << vl;
            lane.largest = largest;
        }
        port.shared_used = lanes.iter().map(Lane::shared_used).sum();
        let mut left = smaller & port.waiting;
        while left != 0 {
            self.discard_too_long(index * self.width + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }

    fn read_lifetimes(&mut self, info: &PortInfo, index: usize, of_switch: bool) {
        for vl in 0..self.width {
            let place = index * self.width + vl;
            let queue = info.xmit_q[vl];
            let life = lifetime(queue.hoq_life);
            self.hoq[place] = if of_switch { life } else { Picos::MAX };
            self.stall_count[place] = queue.vl_stall_count;
        }
    }

    fn read_switch(&mut self, network: &Network, index: usize) {
        if !self.moves_switch(index) {
            return;
        }
        let registers = &network.switches[index];
        let switch = &mut self.switches[index];
        switch.lifetime = lifetime(registers.info().life_time_value);
        let top = registers.info().linear_fdb_top as usize + 1;
        let linear = registers.linear();
        let programmed: Vec<u8> = linear[..top.min(linear.len())]
            .iter()
            .map(|port| {
                if *port > switch.ports {
                    UNREACHABLE
                } else {
                    *port
                }
            })
            .collect();
        let moved = |lid: usize| {
            let same = switch.programmed.get(lid) == programmed.get(lid);
            switch.routes.get(lid).copied().filter(|_| same)
        };
        let routes = programmed.iter().enumerate();
        switch.routes = routes
            .map(|(lid, port)| moved(lid).unwrap_or(*port))
            .collect();
        self.adaptive.routes_change |=
            !switch.programmed.is_empty() && switch.programmed != programmed;
        switch.programmed = programmed;
        let top = multicast_rows(registers.info().multicast_fdb_top);
        switch.multicast = multicast::rows(registers, top);
        switch.channels = channels(network, index, switch.ports);
    }
}

fn new_port(network: &Network, index: usize) -> Port {
    let end = &network.links[index];
    Port {
        free_at: 0,
        idle_since: Picos::MAX,
        wait: 0,
        waiting: 0,
        peer: end.peer,
        flit: 0,
        switch: end.switch,
        base: match end.switch {
            NONE => NONE,
            _ => index as u32 - u32::from(end.number.0),
        },
        shared_used: 0,
        shared_limit: 0,
        lane_map: 0,
        up: false,
        unit_bits: 0,
        away: false,
        wait_unit: 1,
        wakes: false,
        preempts: false,
        lossy: 0,
        epoch: 0,
        makes_way: false,
    }
}

/// Same rule as [`Network::cross`]: this end Active, the other at least Armed.
pub(crate) fn carries_data(network: &Network, at: PortIndex) -> bool {
    network.state(at) >= PortState::ACTIVE
        && network
            .peer(at)
            .is_some_and(|peer| network.state(peer) >= PortState::ARMED)
}

/// Rounded up, so that no link is faster than its rate.
pub(crate) fn flit_time(info: &PortInfo) -> Picos {
    let lanes = active_lanes(info);
    let speed = u64::from(info.link_speed_active.lane_mbps()).max(1);
    (FLIT_ONE_LANE * 25_000).div_ceil(speed * u64::from(lanes.max(1)))
}

fn lifetime(value: u8) -> Picos {
    if value >= LIFETIME_FOREVER {
        Picos::MAX
    } else {
        LIFETIME_UNIT << value
    }
}

/// The maps of all pairs of ports, nothing when no channel ever changes.
fn channels(network: &Network, index: usize, ports: u8) -> Option<Vec<[u8; 32]>> {
    let registers = &network.switches[index];
    let identity: [u8; 32] = std::array::from_fn(|sc| sc as u8);
    let uniform = registers.uniform_channel_map();
    if uniform.is_some_and(|map| map == identity) {
        return None;
    }
    let numbers = || (1..=ports).map(weft_fabric::PortNum);
    let pairs = numbers().flat_map(|ingress| numbers().map(move |egress| (ingress, egress)));
    let maps = pairs.map(|(ingress, egress)| {
        let map = registers.channel_map(ingress, egress, ports);
        std::array::from_fn(|sc| map.get(sc).map_or(sc as u8, |to| to & 31))
    });
    Some(maps.collect())
}
