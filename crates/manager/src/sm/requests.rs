//! Datagrams that the manager sends: requests of a batch, and answers.

use weft_fabric::Tick;
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;

use super::devices::Stage;
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
        let m_key = self.m_key_of(node);
        let Ok(mut mad) = self.requests.batch.finish(&device.identity.path, m_key) else {
            // Paths are bounded when they are made.
            return;
        };
        let target = Target {
            node,
            round_trip: device.health.round_trip,
            silent: self.devices.is_silent(node) || self.is_given_up(node),
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

    /// Whether the manager on a node is asked that was just found gone: it has been silent for a while already.
    fn is_given_up(&self, node: u32) -> bool {
        let device = &self.devices[node];
        let port = device.observed.node.as_ref();
        let port = port.map(|node| node.info.port_guid);
        device.work.stage == Stage::AskSm
            && port.is_some_and(|port| self.election.has_given_up(port))
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

#[cfg(test)]
mod tests {
    use weft_fabric::{Guid, PortNum};
    use weft_wire::sm::{AttributeId, SmInfo};

    use super::*;
    use crate::sm::Settings;
    use crate::sm::election::Question;

    /// A manager that knows a switch and a host behind it.
    fn manager() -> Manager {
        let mut manager = Manager::new(Settings::default(), None);
        manager.devices.own_or_new();
        for (guid, path) in [(2, &[1][..]), (3, &[1, 2])] {
            let node = manager.devices.add(Guid(guid), guid == 2);
            let path = path.iter().copied().map(PortNum);
            manager.devices[node].identity.path = path.collect();
        }
        manager
    }

    /// Requests in flight to each of these nodes.
    fn in_flight(manager: &Manager) -> [usize; 3] {
        [0, 1, 2].map(|node| manager.requests.transactions.to(node).count())
    }

    #[test]
    fn a_question_to_a_manager_counts_for_the_node_that_it_is_on() {
        let mut manager = manager();
        let path = [PortNum(1), PortNum(2)];
        manager.send_sm_info(Tick(0), &path, None, SmInfo::default(), Question::Poll);
        assert_eq!(in_flight(&manager), [0, 0, 1]);
    }

    #[test]
    fn a_request_does_not_count_for_another_node_when_nodes_are_numbered_anew() {
        let mut manager = manager();
        manager.start_batch(2, false);
        manager
            .requests
            .batch
            .get(AttributeId::PORT_STATE_INFO, 0, 8);
        manager.send_batch(Tick(0), 2, Tag::Port);
        assert_eq!(in_flight(&manager), [0, 0, 1]);
        // Neither node has answered in this sweep: both are left out.
        manager.settle_links();
        manager.devices.add(Guid(4), false);
        manager.devices.add(Guid(5), false);
        assert_eq!(in_flight(&manager), [0, 0, 0]);
        assert_eq!(manager.outstanding(), 1);
    }
}
