//! Agents' answers after a sweep to the readers of cables and the writers of congestion control, between
//! snapshots, other settings and passing time.

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_manager::cables::{Cables, CablesInput, CablesOutput, CablesSettings};
use weft_manager::congestion::{Congestion, CongestionInput, CongestionOutput, CongestionSettings};
use weft_wire::header::method;
use weft_wire::packet::Packet;

use crate::three_hosts::FABRIC;

/// Outputs to one input: more than there can be on so small a fabric.
const OUTPUTS_MAX: usize = 10_000;
/// Offsets of a datagram's method, status and payload.
const METHOD_AT: usize = 3;
const STATUS_AT: usize = 4;
const PAYLOAD_AT: usize = 32;

/// Both clients of agents, and their pending requests.
struct Asking {
    cables: Cables,
    congestion: Congestion,
    snapshot: Arc<Snapshot>,
    sent: VecDeque<Packet>,
    now: Tick,
}

/// Lets agents of three hosts at a switch answer as `bytes` say, between snapshots, other settings and
/// time that passes.
///
/// # Panics
/// When one of them does not come to an end.
pub fn run(bytes: &[u8]) {
    let mut asking = Asking {
        cables: Cables::new(CablesSettings::default()),
        congestion: Congestion::new(settings(true)),
        snapshot: Arc::clone(&FABRIC),
        sent: VecDeque::new(),
        now: Tick(0),
    };
    asking.publish();
    let mut rest = bytes;
    while let Some((step, after)) = rest.split_first() {
        rest = asking.step(*step, after);
    }
}

fn settings(enable: bool) -> CongestionSettings {
    let mut settings = CongestionSettings::default();
    settings.control.enable = enable;
    settings
}

impl Asking {
    /// Executes the step of a byte; returns the rest of the input.
    fn step<'a>(&mut self, step: u8, rest: &'a [u8]) -> &'a [u8] {
        let mut rest = rest;
        match step % 8 {
            0 => self.publish(),
            1 => self.congestion(CongestionInput::StandBy),
            2 => self.congestion(CongestionInput::Settings(settings(step & 8 == 0))),
            3 => self.now = Tick(self.now.0 + u64::from(step) * 10_000_000),
            4 => self.sent.rotate_left(usize::from(self.sent.len() > 1)),
            _ => rest = self.answer(rest),
        }
        self.cables(CablesInput::Tick);
        self.congestion(CongestionInput::Tick);
        rest
    }

    fn publish(&mut self) {
        self.cables(CablesInput::Published(Arc::clone(&self.snapshot)));
        self.congestion(CongestionInput::Published(Arc::clone(&self.snapshot)));
    }

    /// Answers the oldest request: a length, a status, then that much of the payload.
    fn answer<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(([len, status], rest)) = bytes.split_first_chunk::<2>() else {
            return &[];
        };
        let (payload, rest) = rest.split_at(usize::from(*len).min(rest.len()));
        let Some(mut packet) = self.sent.pop_front() else {
            return rest;
        };
        std::mem::swap(&mut packet.slid, &mut packet.dlid);
        let mad = &mut packet.mad;
        mad.resize((PAYLOAD_AT + usize::from(*len) * 8).max(mad.len()), 0);
        mad[METHOD_AT] = method::GET_RESP;
        mad[STATUS_AT..STATUS_AT + 2].copy_from_slice(&[0, *status]);
        mad[PAYLOAD_AT..PAYLOAD_AT + payload.len()].copy_from_slice(payload);
        self.cables(CablesInput::Received(packet.clone()));
        self.congestion(CongestionInput::Received(packet));
        rest
    }

    fn cables(&mut self, input: CablesInput) {
        self.cables.handle(self.now, input);
        let (cables, sent) = (&mut self.cables, &mut self.sent);
        drain(
            || cables.poll(),
            |output| match output {
                CablesOutput::Send(packet) => sent.push_back(packet),
                CablesOutput::Memories(_) => {}
            },
        );
    }

    fn congestion(&mut self, input: CongestionInput) {
        self.congestion.handle(self.now, input);
        let (congestion, sent) = (&mut self.congestion, &mut self.sent);
        drain(
            || congestion.poll(),
            |output| match output {
                CongestionOutput::Send(packet) => sent.push_back(packet),
                CongestionOutput::Held(_) | CongestionOutput::Refused { .. } => {}
            },
        );
    }
}

/// Takes all outputs to one input.
fn drain<O>(poll: impl FnMut() -> Option<O>, mut take: impl FnMut(O)) {
    let mut count = 0;
    for output in std::iter::from_fn(poll).take(OUTPUTS_MAX) {
        count += 1;
        take(output);
    }
    assert!(count < OUTPUTS_MAX);
}
