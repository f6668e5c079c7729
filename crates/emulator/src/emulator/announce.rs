//! Traps: when an agent sends one, and sends it again.

use weft_dataplane::PortIndex;
use weft_fabric::NodeId;
use weft_wire::packet::Packet;

use super::Emulator;
use crate::offence::Offence;
use crate::queue::Event;
use crate::trap::{self, News, Step, TrapState};

/// A trap that a node may have to send.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Announcement {
    pub(super) trap: TrapState,
    /// An event is in the queue for it.
    scheduled: bool,
}

impl Emulator {
    /// Switches whose ports went up or down say so, and those with a link that lost lanes: HFIs tell
    /// neither (`hfi1`, `mad.c` sends no such trap).
    pub(super) fn announce_changes(&mut self) {
        self.await_trainings();
        for node in self.network.take_narrowed() {
            self.announce(node, News::Width);
        }
        if self.network.has_changed() {
            for node in self.network.take_changed() {
                self.announce(node, News::Ports);
            }
        }
    }

    pub(super) fn announce(&mut self, node: NodeId, news: News) {
        let (now, interval) = (self.now, self.trap_interval(node));
        let step = self
            .agent(node)
            .announcement(news)
            .trap
            .raise(now, interval);
        self.follow(node, news, step);
    }

    /// A port did not take a datagram for its key: its node tells of it, of the first one until that has been heard.
    pub(super) fn offended(&mut self, news: News, at: PortIndex, packet: &Packet) {
        let offence = Offence::of(packet, self.network.number_of(at));
        self.tell_offence(news, at, offence);
    }

    /// A node tells of a datagram that one of its ports did not take.
    pub(super) fn tell_offence(&mut self, news: News, at: PortIndex, offence: Offence) {
        let node = self.network.node_of(at);
        let trap = &mut self.agent(node).announcement(news).trap;
        if !trap.waiting {
            trap.offence = offence;
        }
        self.announce(node, news);
    }

    /// A node tells something about one of its ports.
    pub(super) fn announce_port(&mut self, news: News, at: PortIndex) {
        let node = self.network.node_of(at);
        let port = self.network.number_of(at);
        self.agent(node).announcement(news).trap.port = port;
        self.announce(node, news);
    }

    pub(super) fn trap_due(&mut self, node: NodeId, news: News) {
        let (now, interval) = (self.now, self.trap_interval(node));
        let announcement = self.agent(node).announcement(news);
        announcement.scheduled = false;
        let step = announcement.trap.due(now, interval);
        self.follow(node, news, step);
    }

    pub(super) fn repress(&mut self, node: NodeId, mad: &[u8]) {
        let number = trap::repressed(mad);
        for news in News::ALL {
            if trap::is_about(mad, news) {
                let step = self.agent(node).announcement(news).trap.repress(number);
                self.follow(node, news, step);
            }
        }
    }

    fn trap_interval(&self, node: NodeId) -> u64 {
        trap::interval_ns(self.network.port(self.trap_port(node)).info())
    }

    /// The port that a node's traps leave from.
    fn trap_port(&self, node: NodeId) -> PortIndex {
        self.network.device_at(node).first_port_index()
    }

    fn follow(&mut self, node: NodeId, news: News, step: Step) {
        if step == Step::Rest {
            return;
        }
        if step == Step::Send && !self.send_trap(node, news) {
            self.agent(node).announcement(news).trap.waiting = false;
            return;
        }
        let now = self.now;
        let announcement = self.agent(node).announcement(news);
        let wait = announcement.trap.next.since(now).as_nanos() as u64;
        // A program may have repressed the trap while it was sent.
        if announcement.trap.waiting && !std::mem::replace(&mut announcement.scheduled, true) {
            self.schedule(wait, Event::Trap { node, news });
        }
    }

    /// Sends a node's trap; returns whether it knows where to.
    fn send_trap(&mut self, node: NodeId, news: News) -> bool {
        let end = self.trap_port(node);
        let agent = self.agent(node);
        let silent = agent.silent;
        let state = agent.announcement(news).trap;
        match trap::packet(&self.network, end, news, &state) {
            Some(_) if silent => true,
            Some(packet) => {
                self.send(end, packet);
                true
            }
            None => false,
        }
    }
}
