//! Requests to agents by LID, for those that work on published snapshots.

use weft_fabric::{Lid, Sl, Tick};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::smp::{Smp, SmpView};

use super::transactions::{Answered, Budget, Expired, Target, Transactions};

/// A request: its destination, and the caller's tag.
#[derive(Debug, Clone, Copy)]
struct Asked<T> {
    to: Lid,
    tag: T,
}

/// Pending requests of one client; `T` is its tag.
#[derive(Debug)]
pub(crate) struct Agents<T> {
    transactions: Transactions<Asked<T>>,
    /// The queue pair of the agents, and of the asker: 0 for subnet management, 1 for other classes.
    qp: u32,
    /// LID of the manager's port.
    own_lid: Lid,
    sl: Sl,
}

/// Result of a timeout.
#[derive(Debug)]
pub(crate) enum Unanswered<T> {
    /// Send this datagram again.
    Again {
        /// The caller's tag.
        tag: T,
        /// The request.
        packet: Packet,
    },
    /// The agent did not answer.
    GivenUp {
        /// The agent's number.
        node: u32,
        /// The caller's tag.
        tag: T,
    },
}

/// A subnet management datagram by LID.
pub(crate) fn lid_routed(smp: &Smp, payload: &[u8]) -> Vec<u8> {
    let mut mad = Vec::new();
    smp.write_lid_routed(payload, &mut mad);
    mad
}

impl<T: Copy> Agents<T> {
    pub(crate) fn new(budget: Budget, qp: u32) -> Self {
        Self {
            transactions: Transactions::new(budget),
            qp,
            own_lid: Lid(0),
            sl: Sl(0),
        }
    }

    /// Changes the bounds; for requests in flight they hold from their next timeout on.
    pub(crate) fn set_budget(&mut self, budget: Budget) {
        self.transactions.set_budget(budget);
    }

    /// Sets the source LID of requests, and their service level.
    pub(crate) fn sit_at(&mut self, own_lid: Lid, sl: Sl) {
        (self.own_lid, self.sl) = (own_lid, sl);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.transactions.has_room()
    }

    /// Whether no request is pending.
    pub(crate) fn is_idle(&self) -> bool {
        self.transactions.outstanding() == 0
    }

    /// The request as it is to be sent; its answer will have `tag`.
    pub(crate) fn ask(
        &mut self,
        now: Tick,
        to: Lid,
        target: Target,
        mut mad: Vec<u8>,
        tag: T,
    ) -> Packet {
        let asked = Asked { to, tag };
        self.transactions.begin(now, target, asked, &mut mad);
        self.packet(to, mad)
    }

    fn packet(&self, dlid: Lid, mad: Vec<u8>) -> Packet {
        Packet {
            slid: self.own_lid,
            dlid,
            sl: self.sl,
            pkey: PKey::MGMT_FULL,
            dest_qp: self.qp,
            src_qp: self.qp,
            mad,
        }
    }

    /// Ends and returns the request that a datagram answers; `None` if it is not from the requested
    /// agent, or does not fit the request.
    pub(crate) fn take(
        &mut self,
        now: Tick,
        packet: &Packet,
        transaction_id: u64,
        fits: impl FnOnce(&[u8]) -> bool,
    ) -> Option<Answered<T>> {
        let is_answer = |asked: &Asked<T>, request: &[u8]| packet.slid == asked.to && fits(request);
        let found = self.transactions.take(now, transaction_id, is_answer)?;
        Some(Answered {
            node: found.node,
            tag: found.tag.tag,
            request: found.request,
            round_trip_ns: found.round_trip_ns,
        })
    }

    /// The request to a subnet management agent, and its answer; `None` if the datagram answers
    /// nothing.
    pub(crate) fn take_smp<'a>(
        &mut self,
        now: Tick,
        packet: &'a Packet,
    ) -> Option<(T, SmpView<'a>)> {
        let answer = SmpView::parse(&packet.mad).ok()?;
        if answer.directed.is_some() || !answer.is_response() {
            return None;
        }
        let fits = |request: &[u8]| {
            SmpView::parse(request).is_ok_and(|asked| {
                asked.attribute() == answer.attribute()
                    && asked.header.attribute_modifier == answer.header.attribute_modifier
            })
        };
        let found = self.take(now, packet, answer.header.transaction_id, fits)?;
        Some((found.tag, answer))
    }

    /// The next request that was not answered in time.
    pub(crate) fn expire(&mut self, now: Tick) -> Option<Unanswered<T>> {
        Some(match self.transactions.expire(now)? {
            Expired::Again { tag, mad, .. } => Unanswered::Again {
                tag: tag.tag,
                packet: self.packet(tag.to, mad),
            },
            Expired::GivenUp { node, tag, .. } => Unanswered::GivenUp { node, tag: tag.tag },
        })
    }

    /// Ends an input: places of requests that ended may be given anew.
    pub(crate) fn settle(&mut self) {
        self.transactions.settle();
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        self.transactions.deadline()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use weft_wire::sm::AttributeId;
    use weft_wire::smp::respond;

    use super::*;
    use crate::ask::Patience;

    const PATIENCE: Patience = Patience {
        first: Duration::from_millis(10),
        floor: Duration::from_millis(10),
        ceiling: Duration::from_millis(40),
        attempts: 3,
    };

    /// A client at LID 1 with a request to the agent at LID 7, and that request.
    fn asked() -> (Agents<&'static str>, Packet) {
        let mut agents = Agents::new(Budget::new(4, 4, PATIENCE), 0);
        agents.sit_at(Lid(1), Sl(0));
        let smp = Smp::get(AttributeId::CABLE_INFO, 3, 0, 0);
        let mad = lid_routed(&smp, &[]);
        let request = agents.ask(Tick(0), Lid(7), Target::default(), mad, "tag");
        (agents, request)
    }

    fn answer(request: &Packet, from: Lid) -> Packet {
        let asked = SmpView::parse(&request.mad).unwrap();
        let mut mad = Vec::new();
        respond(&asked, 0, &[0; 64], &mut mad);
        Packet {
            slid: from,
            dlid: request.slid,
            mad,
            ..request.clone()
        }
    }

    #[test]
    fn only_who_was_asked_answers() {
        let (mut agents, request) = asked();
        let stranger = answer(&request, Lid(8));
        assert!(agents.take_smp(Tick(1), &stranger).is_none());
        assert!(!agents.is_idle(), "the request still waits");
        let right = answer(&request, Lid(7));
        let (tag, _) = agents.take_smp(Tick(2), &right).unwrap();
        assert!(tag == "tag" && agents.is_idle());
        assert!(agents.take_smp(Tick(3), &right).is_none(), "it came twice");
    }

    #[test]
    fn what_is_not_answered_is_sent_again_and_given_up() {
        let (mut agents, request) = asked();
        let mut sent = vec![request];
        let given_up = loop {
            let now = agents.deadline().unwrap();
            match agents.expire(now).unwrap() {
                Unanswered::Again { packet, .. } => sent.push(packet),
                Unanswered::GivenUp { tag, .. } => break tag,
            }
            agents.settle();
        };
        assert_eq!(given_up, "tag");
        assert!(sent.len() >= 3 && sent.iter().all(|again| *again == sent[0]));
    }
}
