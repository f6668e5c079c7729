//! Datagrams sent by a program.

use std::time::Duration;

use weft_wire::Layout;
use weft_wire::bits::store;
use weft_wire::header::{MadHeader, method};
use weft_wire::packet::Packet;

use super::agents::{Agent, RmppOwner};
use super::requests::{Request, key};
use super::transfer::{Transfer, header_len, segment_len};
use super::{Address, Core, Message, PortId, SendError, address};

/// Offset of the flags of the RMPP header.
const FLAGS_AT: usize = 26;
const ACTIVE: u8 = 1;

/// A message as a program sends it.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The agent's number at the port.
    pub agent: u32,
    /// Destination.
    pub address: Address,
    /// Datagram or, for kernel RMPP, message.
    pub data: Vec<u8>,
    /// Timeout of the answer, milliseconds; 0: none is expected.
    pub timeout_ms: u32,
    /// Number of retries.
    pub retries: u32,
}

/// Whether a datagram's RMPP header is in use.
pub(super) fn is_active(mad: &[u8]) -> bool {
    mad.get(FLAGS_AT).is_some_and(|flags| flags & ACTIVE != 0)
}

impl Core {
    /// Sends a message from an open port.
    ///
    /// # Errors
    /// [`SendError`]; then nothing is sent.
    pub fn send(
        &mut self,
        now: Duration,
        port: PortId,
        mut outgoing: Outgoing,
    ) -> Result<(), SendError> {
        if !self.is_open(port) {
            return Err(SendError::NoPort);
        }
        let (agent_key, agent) = self
            .agents
            .at_port(port, outgoing.agent)
            .ok_or(SendError::NoAgent)?;
        let segmented = segments(&agent, &outgoing.data);
        check_length(&outgoing.data, segmented.is_some())?;
        if !method::is_response(outgoing.data[3]) {
            store(&mut outgoing.data, 8, 4, u64::from(agent_key));
        }
        let returned = (port, returned(&outgoing));
        let packet = address::packet(&outgoing.address, &self.status, agent.qp(), outgoing.data)
            .ok_or(SendError::PKeyIndex {
                index: outgoing.address.pkey_index,
            })?;
        let key = key(&packet.mad, packet.dlid);
        let timeout = Duration::from_millis(u64::from(outgoing.timeout_ms));
        let waits = !timeout.is_zero() || segmented.is_some();
        if waits && (self.requests.contains(&key) || self.transfers.contains(&key)) {
            return Err(SendError::Duplicate);
        }
        let len = packet.mad.len();
        if waits && (self.requests.is_full() || self.transfers.is_full(len)) {
            return Err(SendError::Busy);
        }
        if let Some(header) = segmented {
            let patience = (timeout, outgoing.retries);
            let transfer = Transfer::new(agent_key, packet, returned, header, patience);
            self.transfers.add(now, key, transfer, &mut self.packets);
            return Ok(());
        }
        if !timeout.is_zero() {
            let request = Request {
                packet: packet.clone(),
                returned,
                timeout,
                retries_left: outgoing.retries,
            };
            self.requests.add(now, key, request);
        }
        self.packets.push(packet);
        Ok(())
    }
}

/// The header of the segments that a message is to be cut into, if it is.
fn segments(agent: &Agent, data: &[u8]) -> Option<usize> {
    let kernel = agent.rmpp == RmppOwner::Kernel && is_active(data);
    let header = header_len(*data.get(1)?).filter(|_| kernel)?;
    (data.len() >= header).then_some(header)
}

fn check_length(data: &[u8], segmented: bool) -> Result<(), SendError> {
    let len = data.len();
    let fits = match segmented {
        true => len <= super::assembly::MESSAGE_MAX,
        false => len <= segment_len(data).max(Packet::MAD_LEN_MAX),
    };
    match len >= MadHeader::LEN && fits {
        true => Ok(()),
        false => Err(SendError::Length { len }),
    }
}

/// The message returned to a program without an answer.
fn returned(outgoing: &Outgoing) -> Message {
    let header = outgoing.data.get(..MadHeader::LEN).unwrap_or_default();
    Message {
        agent: outgoing.agent,
        status: 0,
        timeout_ms: outgoing.timeout_ms,
        retries: outgoing.retries,
        address: outgoing.address,
        data: header.to_vec(),
    }
}
