//! Requests to agents by LID, for those that work on published snapshots: bounded, matched with their
//! answers, sent again.

use weft_fabric::{Lid, Sl, Tick};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::smp::{Smp, SmpView};

use crate::sm::rtt::RoundTrip;
use crate::sm::transactions::{Budget, Expired, Target, Transactions};

/// The requests of one asker that wait for their answers; `T` is what it attaches.
#[derive(Debug)]
pub(crate) struct Agents<T> {
    transactions: Transactions<T>,
    round_trip: RoundTrip,
    /// LID of the manager's port.
    own_lid: Lid,
}

impl<T: Copy> Agents<T> {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            transactions: Transactions::new(budget),
            round_trip: RoundTrip::default(),
            own_lid: Lid(0),
        }
    }

    /// Takes in where requests are sent from.
    pub(crate) fn sit_at(&mut self, own_lid: Lid) {
        self.own_lid = own_lid;
    }

    pub(crate) fn has_room(&self) -> bool {
        self.transactions.has_room()
    }

    /// Whether nobody is being asked.
    pub(crate) fn is_idle(&self) -> bool {
        self.transactions.outstanding() == 0
    }

    /// The request as it is to be sent; its answer will have `tag`.
    pub(crate) fn ask(&mut self, now: Tick, to: Lid, smp: &Smp, payload: &[u8], tag: T) -> Packet {
        let mut mad = Vec::new();
        smp.write_lid_routed(payload, &mut mad);
        let target = Target {
            node: 0,
            round_trip: self.round_trip,
            silent: false,
        };
        self.transactions.begin(now, target, tag, &mut mad);
        self.packet(to, mad)
    }

    /// A datagram from the manager's port to an agent.
    pub(crate) fn packet(&self, dlid: Lid, mad: Vec<u8>) -> Packet {
        Packet {
            slid: self.own_lid,
            dlid,
            sl: Sl(0),
            pkey: PKey::MGMT_FULL,
            dest_qp: 0,
            src_qp: 0,
            mad,
        }
    }

    /// What was asked and its answer; none where the datagram answers nothing.
    pub(crate) fn take<'a>(&mut self, now: Tick, packet: &'a Packet) -> Option<(T, SmpView<'a>)> {
        let answer = SmpView::parse(&packet.mad).ok()?;
        if answer.directed.is_some() || !answer.is_response() {
            return None;
        }
        let fits = |_: u32, request: &[u8]| {
            SmpView::parse(request).is_ok_and(|asked| {
                asked.attribute() == answer.attribute()
                    && asked.header.attribute_modifier == answer.header.attribute_modifier
            })
        };
        let id = answer.header.transaction_id;
        let found = self.transactions.take(now, id, fits)?;
        let measured = found.round_trip_ns.into_iter();
        measured.for_each(|ns| self.round_trip.sample(ns));
        Some((found.tag, answer))
    }

    /// The next request that was not answered in time.
    pub(crate) fn expire(&mut self, now: Tick) -> Option<Expired<T>> {
        self.transactions.expire(now)
    }

    /// Ends an input: places of requests that ended may be given anew.
    pub(crate) fn settle(&mut self) {
        self.transactions.settle();
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.transactions.deadline()
    }
}
