//! Writes counts to the registers that agents read.

use weft_fabric::Vl;

use super::Picos;
use super::lane::{Errors, Rare, Received};
use super::simulation::Simulation;
use crate::counters::{Counter, VlCounter};
use crate::network::{Network, PortIndex};

/// Counts that are in the registers already.
#[derive(Debug, Clone, Default)]
pub(super) struct Settled {
    lanes: Vec<Counts>,
    /// Times by [`PORT_TIMES`], and errors.
    ports: Vec<([Picos; 2], Errors)>,
}

/// All that is counted for one lane, in the registers' units but for [`TIMES`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts([u64; 12]);

/// Positions of a lane's times, in picoseconds until they go into registers.
const TIMES: [usize; 2] = [4, 11];
/// Position of its idle flits inside packets.
const BUBBLES: usize = 6;

const LANE_COUNTERS: [VlCounter; 12] = [
    VlCounter::XmitData,
    VlCounter::RcvData,
    VlCounter::XmitPkts,
    VlCounter::RcvPkts,
    VlCounter::XmitWait,
    VlCounter::SwPortCongestion,
    VlCounter::XmitWaitData,
    VlCounter::XmitDiscards,
    VlCounter::MarkFecn,
    VlCounter::RcvFecn,
    VlCounter::RcvBecn,
    VlCounter::XmitTimeCong,
];

/// Times of a port that are not the sums of its lanes'.
const PORT_TIMES: [Counter; 2] = [Counter::XmitWait, Counter::XmitTimeCong];

/// Traffic of one lane of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkBalance {
    /// The sending port.
    pub port: PortIndex,
    /// The lane.
    pub vl: Vl,
    /// Packets that it sent.
    pub sent: u64,
    /// Packets that the other end received.
    pub received: u64,
    /// Packets that were lost with the link.
    pub lost: u64,
    /// Packets that wait to be sent.
    pub waiting: u64,
    /// Packets behind the head of the other end's input queue, see
    /// [`Queueing::Fifo`](super::Queueing::Fifo).
    pub behind: u64,
    /// Units of the other end's buffer taken up.
    pub used: u32,
    /// Units that may be.
    pub limit: u32,
}

impl LinkBalance {
    pub(super) fn has_something(&self) -> bool {
        self.sent + self.waiting + u64::from(self.used) > 0
    }

    /// Together with what another simulation knows of the same lane.
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            waiting: self.waiting + other.waiting,
            behind: self.behind + other.behind,
            used: self.used + other.used,
            ..self
        }
    }
}

impl Simulation {
    /// Adds what was counted since the last call to the registers.
    pub fn settle(&mut self, network: &mut Network) {
        self.settled
            .lanes
            .resize(self.lanes.len(), Counts::default());
        self.settled
            .ports
            .resize(self.ports.len(), ([0; 2], Errors::default()));
        for at in 0..self.lanes.len() {
            let (mut counts, before) = (self.counts(at), self.settled.lanes[at]);
            if counts == before {
                continue;
            }
            let index = at / self.width;
            let mut amounts = Counts(std::array::from_fn(|n| counts.0[n] - before.0[n]));
            for time in TIMES {
                let (count, left) = self.waits(index, amounts.0[time]);
                amounts.0[time] = count;
                counts.0[time] -= left;
            }
            self.settled.lanes[at] = counts;
            let port = PortIndex(index as u32);
            let vl = Self::vl(at, self.width);
            write(network, port, vl, amounts);
            if let Some(peer) = network.peer(port).filter(|_| amounts.0[BUBBLES] > 0) {
                // Idle flits in the middle of a packet are received as such.
                let receiver = network.counters(peer);
                receiver.add_lane(vl, VlCounter::RcvBubble, amounts.0[BUBBLES]);
            }
        }
        for index in 0..self.ports.len() {
            self.settle_port(network, index);
        }
    }

    fn settle_port(&mut self, network: &mut Network, index: usize) {
        let errors = self.errors[index];
        let congested = self.congestion.times.of_port(index, self.now);
        let mut times = [self.wait_of(index), congested];
        let (times_before, before) = self.settled.ports[index];
        for (place, counter) in PORT_TIMES.into_iter().enumerate() {
            let (count, left) = self.waits(index, times[place] - times_before[place]);
            times[place] -= left;
            if count > 0 {
                network
                    .counters(PortIndex(index as u32))
                    .add(counter, count);
            }
        }
        self.settled.ports[index] = (times, errors);
        let amounts = [
            (Counter::RcvSwitchRelayErrors, errors.relay - before.relay),
            (Counter::RcvErrors, errors.receive - before.receive),
            (Counter::XmitDiscards, errors.discards - before.discards),
            (
                Counter::MulticastXmitPkts,
                errors.groups_sent - before.groups_sent,
            ),
            (
                Counter::MulticastRcvPkts,
                errors.groups_received - before.groups_received,
            ),
        ];
        for (counter, amount) in amounts.into_iter().filter(|(_, amount)| *amount > 0) {
            network
                .counters(PortIndex(index as u32))
                .add(counter, amount);
        }
    }

    /// Time in which a port had something to send and could not.
    fn wait_of(&self, index: usize) -> Picos {
        let port = &self.ports[index];
        port.wait + self.now.saturating_sub(port.idle_since)
    }

    /// Counts of a port's XmitWait or XmitTimeCong in a time, and the time that is left: a count depends on the link's
    /// width and speed, which can change.
    fn waits(&self, index: usize, time: Picos) -> (u64, Picos) {
        let port = &self.ports[index];
        let count = Picos::from(port.flit.max(1)) * Picos::from(port.wait_unit.max(1));
        (time / count, time % count)
    }

    fn counts(&self, at: usize) -> Counts {
        let (lane, rare, received) = (&self.lanes[at], &self.rare[at], &self.received[at]);
        let Rare {
            discards,
            congestion,
            bubbles,
            ..
        } = *rare;
        let Received { data, packets } = *received;
        let marks = self.congestion.marks(at);
        Counts([
            lane.data,
            data,
            lane.packets,
            packets,
            lane.wait,
            congestion,
            bubbles,
            discards,
            marks.made,
            marks.forward,
            marks.backward,
            self.congestion.times.of_lane(at, self.now),
        ])
    }

    /// Traffic of each lane of each link, without idle ones.
    pub fn balances(&self) -> Vec<LinkBalance> {
        let lanes = (0..self.lanes.len()).map(|at| self.balance(at));
        lanes.filter(LinkBalance::has_something).collect()
    }

    pub(super) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn balance(&self, at: usize) -> LinkBalance {
        let (index, vl) = (at / self.width, at % self.width);
        let lane = &self.lanes[at];
        let peer = self.ports[index].peer as usize;
        let input = peer.saturating_mul(self.width) + vl;
        let received = self.received.get(input);
        let behind = self.inputs.get(input).map(|input| input.behind);
        LinkBalance {
            port: PortIndex(index as u32),
            vl: Vl(vl as u8),
            sent: lane.packets,
            received: received.map_or(0, |received| received.packets),
            lost: self.rare[at].lost,
            waiting: self.waiting_in(at).count() as u64,
            behind: self.packets_of(behind.unwrap_or_default()).count() as u64,
            used: lane.used,
            limit: u32::from(lane.dedicated) + u32::from(lane.shared),
        }
    }

    /// Time in which a port has sent, at the rates that its link had then.
    pub fn link_time(&self, at: PortIndex) -> Picos {
        let (flits, time) = self.paces[at.0 as usize];
        let now = Picos::from(self.ports[at.0 as usize].flit);
        time + (self.flits_sent(at) - flits) * now
    }

    /// The link of a port has another rate from now on.
    pub(super) fn note_pace(&mut self, index: usize) {
        let at = PortIndex(index as u32);
        self.paces[index] = (self.flits_sent(at), self.link_time(at));
    }

    /// Flits that a port has sent on all its lanes.
    pub fn flits_sent(&self, at: PortIndex) -> u64 {
        let lanes = &self.lanes[at.0 as usize * self.width..][..self.width];
        lanes.iter().map(|lane| lane.data).sum()
    }
}

fn write(network: &mut Network, port: PortIndex, vl: Vl, amounts: Counts) {
    let registers = network.counters(port);
    for (counter, amount) in LANE_COUNTERS.into_iter().zip(amounts.0) {
        match (counter, amount) {
            (_, 0) => {}
            // The port counts the time in which no lane could send, or any is congested; its lanes may
            // be so together.
            (VlCounter::XmitWait | VlCounter::XmitTimeCong, amount) => {
                registers.add_lane_only(vl, counter, amount)
            }
            (_, amount) => registers.add_lane(vl, counter, amount),
        }
    }
}
