//! Any datagrams to a receiver and to a sender of messages of several segments: the receiver keeps
//! its limit, the sender ends.

use weft_wire::Layout;
use weft_wire::header::MadHeader;
use weft_wire::rmpp::{Envelope, Progress, RMPP_AT, Receiver, RmppHeader, Sender};

const LIMIT: usize = 4096;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Some((len, rest)) = input.split_first() else {
        return;
    };
    let envelope = Envelope {
        mad: MadHeader::default(),
        class: [0; 20],
    };
    let mut sender = Sender::new(envelope, vec![*len; usize::from(*len)], 16, 3);
    let mut receiver = Receiver::new(LIMIT, 1 + u32::from(*len % 8));
    let mut out = Vec::new();
    for mad in rest.chunks(64) {
        while sender.poll(&mut out) {
            assert!(out.len() > RMPP_AT);
        }
        if let Ok(rmpp) = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default()) {
            let ended = matches!(sender.handle(&rmpp), Ok(Progress::Done) | Err(_));
            if ended && sender.timeout().is_err() {
                return;
            }
        }
        let received = receiver.push(mad);
        if let Some(message) = receiver.message() {
            assert!(message.len() <= LIMIT);
            assert!(received.is_ok() || receiver.envelope().is_some());
        }
    }
}
