//! A packet comes in, is routed and queued.

use super::configure::UNREACHABLE;
use super::multicast::is_group;
use super::simulation::{Notice, Simulation};
use super::store::Delivery;
use super::{Picos, Queueing};
use crate::forward::HOPS_MAX;
use crate::network::{NONE, PortIndex};

impl Simulation {
    /// A head has entered a switch and crossed it in the fastest time.
    pub(super) fn arrive(&mut self, id: u32) {
        let packet = *self.store.get(id);
        let (ingress, lane) = (packet.ingress as usize, usize::from(packet.lane));
        let upstream = self.ports[ingress].peer as usize;
        if self.ports[upstream].epoch != packet.epoch {
            self.lose_on_link(id, upstream);
            return;
        }
        let input = ingress * self.width + lane;
        let received = &mut self.received[input];
        received.data += u64::from(packet.flits);
        received.packets += 1;
        let of_group = is_group(packet.dlid);
        self.errors[ingress].groups_received += u64::from(of_group);
        if packet.flits >= self.preemption.large_min && !of_group {
            self.begins_to_come(id, input);
        }
        if self.options.queueing == Queueing::Fifo {
            let queue = &mut self.inputs[input];
            if queue.busy {
                queue.behind.push(&mut self.store, id);
                return;
            }
            queue.busy = true;
        }
        self.forward(id);
    }

    /// The packet behind the head of an input queue comes to the head.
    pub(super) fn advance(&mut self, input: usize) {
        match self.inputs[input].behind.pop(&self.store) {
            Some(id) => self.forward(id),
            None => self.inputs[input].busy = false,
        }
    }

    /// Through the forwarding table to the queue of an egress lane.
    fn forward(&mut self, id: u32) {
        let packet = self.store.get(id);
        if is_group(packet.dlid) {
            self.replicate(id);
            return;
        }
        let ingress = &self.ports[packet.ingress as usize];
        let (base, at) = (ingress.base, packet.ingress);
        let switch = &self.switches[ingress.switch as usize];
        let route = switch.routes.get(packet.dlid as usize).copied();
        let route = route.unwrap_or(UNREACHABLE);
        if route == UNREACHABLE || u32::from(packet.hops) >= HOPS_MAX {
            self.errors[at as usize].relay += 1;
            self.drop_packet(id, at, 0);
            return;
        }
        if route == 0 {
            self.hand_over(id, base);
            return;
        }
        self.cross(id, route, true);
    }

    /// Through a switch to the queue of an egress lane; the packet keeps its input buffer until it
    /// leaves, or does not `hold` any.
    pub(super) fn cross(&mut self, id: u32, route: u8, hold: bool) {
        let packet = self.store.get_mut(id);
        let at = packet.ingress;
        let ingress = &self.ports[at as usize];
        let base = ingress.base;
        let switch = &self.switches[ingress.switch as usize];
        let number = (at - base) as u8;
        let latency = latency(&self.options, number, route);
        packet.ready = packet.entered + latency;
        packet.tail += latency;
        if let Some(maps) = &switch.channels {
            let place = usize::from(number - 1) * usize::from(switch.ports);
            packet.sc = maps[place + usize::from(route - 1)][usize::from(packet.sc)];
        }
        if !hold {
            packet.ingress = NONE;
        }
        let egress = base + u32::from(route);
        let map = usize::from(self.ports[egress as usize].lane_map);
        let lane = self.lane_maps[map][usize::from(packet.sc)];
        self.enqueue(id, egress, lane);
    }

    /// A packet has come to an HFI whole.
    pub(super) fn deliver(&mut self, id: u32) {
        let packet = *self.store.get(id);
        let at = packet.ingress as usize;
        let upstream = self.ports[at].peer as usize;
        if self.ports[upstream].epoch != packet.epoch {
            self.lose_on_link(id, upstream);
            return;
        }
        let received = &mut self.received[at * self.width + usize::from(packet.lane)];
        received.data += u64::from(packet.flits);
        received.packets += 1;
        let of_group = is_group(packet.dlid);
        self.errors[at].groups_received += u64::from(of_group);
        let (lid, lmc) = self.lids[at];
        if lid == 0 || packet.dlid >> lmc != lid >> lmc {
            self.receive_other(id, at as u32, of_group);
            return;
        }
        self.hand_over(id, at as u32);
    }

    /// Hands a packet to the owner of the port.
    pub(super) fn hand_over(&mut self, id: u32, at: u32) {
        let packet = self.store.remove(id);
        if packet.flits >= self.preemption.large_min {
            self.stops_coming(id, packet.ingress, packet.lane);
        }
        self.release(&packet, self.now.max(packet.tail));
        self.totals.delivered += 1;
        if packet.marks != 0 && self.take_marks(&packet) {
            return;
        }
        self.notices.push(Notice::Delivered(Delivery {
            at: PortIndex(at),
            dlid: weft_fabric::Lid(packet.dlid),
            tag: packet.tag,
            flits: packet.flits,
            hops: packet.hops,
            born: packet.born,
        }));
    }
}

#[inline]
fn latency(options: &super::Options, ingress: u8, egress: u8) -> Picos {
    let block = |port: u8| port.wrapping_sub(1) / crate::constants::BLOCK_PORTS;
    if block(ingress) == block(egress) {
        options.block_latency
    } else {
        options.switch_latency
    }
}
