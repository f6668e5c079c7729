//! Reception of datagrams for a program.

use std::time::Duration;

use weft_wire::Layout;
use weft_wire::header::{MadHeader, method};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{RMPP_AT, RmppHeader, kind};

use super::agents::{Agent, RmppOwner};
use super::assembly::{self, Ack, Outcome};
use super::requests::{Request, key};
use super::send::is_active;
use super::transfer::{Progress, header_len};
use super::{Address, Core, Message};

/// An agent as found for a datagram.
#[derive(Clone, Copy)]
struct Found {
    key: u32,
    number: u32,
    agent: Agent,
}

impl Core {
    /// Processes a datagram from the fabric. Datagrams without a receiver are dropped, as a kernel does.
    pub fn arrive(&mut self, now: Duration, packet: Packet) {
        if packet.mad.len() < MadHeader::LEN {
            return;
        }
        let response = method::is_response(packet.mad[3]);
        let key = match response {
            true => Some((assembly::transaction(&packet.mad) >> 32) as u32),
            false => self.agents.serving(&packet.mad),
        };
        let Some((key, (number, agent))) = key.and_then(|key| Some((key, self.agents.get(key)?)))
        else {
            return;
        };
        let found = Found { key, number, agent };
        let segmented = header_len(packet.mad[1]).is_some() && is_active(&packet.mad);
        if segmented && agent.rmpp == RmppOwner::Kernel {
            self.arrive_rmpp(now, found, packet);
            return;
        }
        let expected = !response || self.is_answer(&packet) || segmented;
        if expected {
            let address = Address::of_source(&packet, &self.status);
            self.hand_over(found, address, packet.mad);
        }
    }

    /// Whether a response answers something that waits, which then waits no more.
    fn is_answer(&mut self, packet: &Packet) -> bool {
        let key = key(&packet.mad, packet.slid);
        self.requests.answered(&key) || self.transfers.remove(&key).is_some()
    }

    fn hand_over(&mut self, found: Found, address: Address, data: Vec<u8>) {
        let message = Message {
            agent: found.number,
            status: 0,
            timeout_ms: 0,
            retries: 0,
            address,
            data,
        };
        self.give(found.agent.port, message);
    }

    fn arrive_rmpp(&mut self, now: Duration, found: Found, packet: Packet) {
        let Ok(rmpp) = RmppHeader::decode(&packet.mad[RMPP_AT..]) else {
            return;
        };
        match rmpp.rmpp_type {
            kind::DATA => self.arrive_segment(now, found, packet),
            kind::ACK | kind::STOP | kind::ABORT => self.arrive_ack(now, found, &packet, &rmpp),
            _ => {}
        }
    }

    fn arrive_segment(&mut self, now: Duration, found: Found, packet: Packet) {
        let transaction = assembly::transaction(&packet.mad);
        let assembly_key = (found.key, transaction, packet.mad[1], packet.slid);
        let outcome = self.assemblies.push(now, assembly_key, &packet.mad);
        self.requests.extend(now, &key(&packet.mad, packet.slid));
        match outcome {
            Outcome::Nothing => {}
            Outcome::Ack(ack) => self.answer(&packet, kind::ACK, 0, ack),
            Outcome::Abort(code) => {
                let none = Ack {
                    segment: 0,
                    window_last: 0,
                };
                self.answer(&packet, kind::ABORT, code, none);
            }
            Outcome::Complete(ack, message) => {
                self.answer(&packet, kind::ACK, 0, ack);
                let wanted = !method::is_response(packet.mad[3]) || self.is_answer(&packet);
                if wanted {
                    let address = Address::of_source(&packet, &self.status);
                    self.hand_over(found, address, message);
                }
            }
        }
    }

    /// Answers a segment where it came from.
    fn answer(&mut self, to: &Packet, kind: u8, code: u8, ack: Ack) {
        self.packets.push(Packet {
            slid: to.dlid,
            dlid: to.slid,
            dest_qp: to.src_qp,
            src_qp: to.dest_qp,
            mad: assembly::answer(&to.mad, kind, code, ack),
            ..to.clone()
        });
    }

    fn arrive_ack(&mut self, now: Duration, found: Found, packet: &Packet, rmpp: &RmppHeader) {
        let transfer_key = key(&packet.mad, packet.slid);
        let progress = self
            .transfers
            .handle(now, &transfer_key, rmpp, &mut self.packets);
        match progress {
            None => {
                // The other side aborts its transfer.
                let transaction = assembly::transaction(&packet.mad);
                let key = (found.key, transaction, packet.mad[1], packet.slid);
                if rmpp.rmpp_type != kind::ACK {
                    self.assemblies.stop(&key);
                }
            }
            Some(Progress::Continue) => {}
            Some(Progress::Refused(transfer)) => self.give_back(transfer.returned),
            Some(Progress::Done(transfer, last)) => {
                let asks = !method::is_response(last.mad[3]) && !transfer.timeout.is_zero();
                if asks {
                    let request = Request {
                        packet: last,
                        returned: transfer.returned,
                        timeout: transfer.timeout,
                        retries_left: transfer.retries,
                    };
                    self.requests.add(now, transfer_key, request);
                }
            }
        }
    }
}
