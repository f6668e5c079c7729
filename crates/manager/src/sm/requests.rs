//! Datagrams that the manager sends: requests of a batch, and answers.

use weft_fabric::Tick;
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;

use super::{Manager, Tag};
use crate::ask::Target;
use crate::io::Output;

impl Manager {
    /// Starts a request in the batch.
    pub(super) fn start_batch(&mut self, node: u32, set: bool) {
        let aggregates = self.settings.requests.aggregates && !self.devices[node].health.single;
        self.requests.batch.start(set, aggregates);
    }

    /// Sends the batch to a node.
    pub(super) fn send_batch(&mut self, now: Tick, node: u32, tag: Tag) {
        let device = &self.devices[node];
        let m_key = device.identity.m_key.unwrap_or(self.settings.m_key);
        let Ok(mut mad) = self.requests.batch.finish(&device.identity.path, m_key) else {
            // Paths are bounded when they are made.
            return;
        };
        let target = Target {
            node,
            round_trip: device.health.round_trip,
            silent: self.devices.is_silent(node),
        };
        self.requests.transactions.begin(now, target, tag, &mut mad);
        if let Tag::Stage { .. } = tag {
            self.requests.schedule.sent(&mut self.devices[node].work);
        }
        let sets = self.requests.batch.sets();
        if sets > 0 {
            self.devices[node].health.written = self.sweep.number;
        }
        self.sweep.report.sets += sets;
        for attribute in self.requests.batch.attributes() {
            self.out.totals.count(attribute, sets > 0);
        }
        self.send_directed(mad);
    }

    /// Hands out a datagram with a directed route and counts it.
    pub(super) fn send_directed(&mut self, mad: Vec<u8>) {
        self.out.totals.sent += 1;
        self.sweep.report.sent += 1;
        self.out.push(Output::Send(Packet::directed(mad)));
    }

    /// Sends an answer on the return path of a datagram.
    pub(super) fn reply_to(&mut self, packet: &Packet, mad: Vec<u8>) {
        let own = match packet.dlid {
            Lid::PERMISSIVE => Lid::PERMISSIVE,
            _ => self.planning.plan.sm_lid(),
        };
        self.out.totals.sent += 1;
        self.out.push(Output::Send(Packet {
            slid: own,
            dlid: packet.slid,
            sl: Sl(0),
            pkey: PKey::MGMT_FULL,
            dest_qp: packet.src_qp,
            src_qp: 0,
            mad,
        }));
    }
}
