//! Cable memories, read from agents that the test plays.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{World, settings};
use weft_fabric::{Snapshot, Tick};
use weft_manager::cables::{Cables, CablesInput, CablesOutput, CablesSettings};
use weft_wire::header::status;
use weft_wire::packet::Packet;
use weft_wire::smp::{SmpView, respond};

const SECOND: u64 = 1_000_000_000;

/// A reader with a fabric to read.
struct Reading {
    cables: Cables,
    now: Tick,
    /// Memories that are known.
    known: usize,
    /// Requests, those sent again included.
    sent: usize,
}

impl Reading {
    fn new() -> Self {
        let mut reading = Self {
            cables: Cables::new(CablesSettings::default()),
            now: Tick(0),
            known: 0,
            sent: 0,
        };
        let snapshot = fabric();
        reading
            .cables
            .handle(reading.now, CablesInput::Published(snapshot));
        reading
    }

    /// Lets time pass; agents answer with this status, or not at all.
    fn run_for(&mut self, seconds: u64, code: Option<u16>) {
        let until = Tick(self.now.0 + seconds * SECOND);
        loop {
            while let Some(output) = self.cables.poll() {
                self.take(output, code);
            }
            let Some(next) = self.cables.deadline().filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            self.cables.handle(self.now, CablesInput::Tick);
        }
    }

    fn take(&mut self, output: CablesOutput, code: Option<u16>) {
        match (output, code) {
            (CablesOutput::Memories(memories), _) => self.known = memories.len(),
            (CablesOutput::Send(asked), code) => {
                self.sent += 1;
                if let Some(code) = code {
                    let answer = CablesInput::Received(answer(&asked, code));
                    self.cables.handle(self.now, answer);
                }
            }
        }
    }
}

fn fabric() -> Arc<Snapshot> {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.manager.snapshot()
}

fn answer(asked: &Packet, code: u16) -> Packet {
    let view = SmpView::parse(&asked.mad).unwrap();
    let mut mad = Vec::new();
    respond(&view, code, &[7; 64], &mut mad);
    Packet {
        slid: asked.dlid,
        dlid: asked.slid,
        mad,
        ..asked.clone()
    }
}

#[test]
fn a_memory_that_was_not_answered_for_is_read_later_though_no_snapshot_follows() {
    let mut reading = Reading::new();
    reading.run_for(600, None);
    assert_eq!(reading.known, 0);
    let before = reading.sent;
    reading.run_for(3_600, None);
    let ports = 2 * fabric().topology.links().count();
    // Two halves, three attempts each, about every five minutes.
    let hour = reading.sent - before;
    assert!(
        (30 * ports..80 * ports).contains(&hour),
        "{hour} for {ports} ports"
    );
    reading.run_for(3_600, Some(status::OK));
    assert_eq!(reading.known, ports);
    assert_eq!(reading.cables.deadline(), None);
}

#[test]
fn a_port_that_refuses_is_not_asked_again() {
    let mut reading = Reading::new();
    reading.run_for(60, Some(status::UNSUPPORTED_METHOD_ATTRIB));
    let before = reading.sent;
    assert!(before > 0);
    assert_eq!(reading.cables.deadline(), None);
    reading.run_for(3_600, Some(status::OK));
    assert_eq!((reading.sent, reading.known), (before, 0));
}
