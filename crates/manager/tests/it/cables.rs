//! Cable memories, read from agents that the test plays.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::{World, settings};
use weft_fabric::{CableMemories, Snapshot, Tick};
use weft_manager::cables::{
    COMPARE_EVERY, CableInfoPolicy, Cables, CablesInput, CablesOutput, CablesSettings,
    MEASURE_EVERY,
};
use weft_wire::header::status;
use weft_wire::packet::Packet;
use weft_wire::sm::CableInfoModifier;
use weft_wire::smp::{SmpView, respond};

const SECOND: u64 = 1_000_000_000;

/// A reader with a fabric to read.
struct Reading {
    cables: Cables,
    now: Tick,
    /// Memories that are known.
    memories: Arc<CableMemories>,
    /// Addresses that were asked for.
    asked: Vec<u16>,
    /// The cables are optical, and their modules have thresholds.
    optical: bool,
    thresholds: bool,
    /// Each byte of the half that has the serial number, where it is not as the other half.
    serial: Option<u8>,
    /// Requests, those sent again included.
    sent: usize,
}

impl Reading {
    fn new() -> Self {
        Self::with(CablesSettings::default())
    }

    fn with(settings: CablesSettings) -> Self {
        let mut reading = Self {
            cables: Cables::new(settings),
            now: Tick(0),
            memories: Arc::default(),
            asked: Vec::new(),
            optical: false,
            thresholds: true,
            serial: None,
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
            (CablesOutput::Memories(memories), _) => self.memories = memories,
            (CablesOutput::Send(asked), code) => {
                self.sent += 1;
                if let Some(code) = code {
                    let answer = CablesInput::Received(self.answer(&asked, code));
                    self.cables.handle(self.now, answer);
                }
            }
        }
    }
}

impl Reading {
    fn answer(&mut self, asked: &Packet, code: u16) -> Packet {
        let view = SmpView::parse(&asked.mad).unwrap();
        let address = CableInfoModifier::from_bits(view.header.attribute_modifier).address;
        self.asked.push(address);
        let (content, code) = match address {
            192.. if address < 256 && self.serial.is_some() => (self.serial.unwrap_or(0), code),
            128.. if address < 256 => (if self.optical { 0 } else { 0xA0 }, code),
            512.. if !self.thresholds => (0, status::UNSUPPORTED_METHOD_ATTRIB),
            _ => (3, code),
        };
        let mut mad = Vec::new();
        respond(&view, code, &[content; 64], &mut mad);
        Packet {
            slid: asked.dlid,
            dlid: asked.slid,
            mad,
            ..asked.clone()
        }
    }

    /// How often an address was asked for.
    fn times(&self, address: u16) -> usize {
        self.asked.iter().filter(|asked| **asked == address).count()
    }

    fn known(&self) -> usize {
        self.memories.len()
    }
}

fn fabric() -> Arc<Snapshot> {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.manager.snapshot()
}

#[test]
fn a_memory_that_was_not_answered_for_is_read_later_though_no_snapshot_follows() {
    let mut reading = Reading::new();
    reading.run_for(600, None);
    assert_eq!(reading.known(), 0);
    let before = reading.sent;
    reading.run_for(3_600, None);
    let ports = 2 * fabric().topology.links().count();
    // Two halves, three attempts each, about every five minutes.
    let hour = reading.sent - before;
    assert!(
        (30 * ports..80 * ports).contains(&hour),
        "{hour} for {ports} ports"
    );
    reading.run_for(1_800, Some(status::OK));
    assert_eq!(reading.known(), ports);
    // Nothing is to be done until cables are compared.
    let quiet = Tick(reading.now.0 + 600 * SECOND);
    assert!(reading.cables.deadline().unwrap() > quiet);
}

#[test]
fn a_port_that_refuses_is_not_asked_again() {
    let mut reading = Reading::new();
    reading.run_for(60, Some(status::UNSUPPORTED_METHOD_ATTRIB));
    let before = reading.sent;
    assert!(before > 0);
    assert_eq!(reading.cables.deadline(), None);
    reading.run_for(3_600, Some(status::OK));
    assert_eq!((reading.sent, reading.known()), (before, 0));
}

#[test]
fn modules_of_both_ends_are_read_again_and_their_thresholds_once() {
    let links = fabric().topology.links().count();
    for policy in [CableInfoPolicy::ByLink, CableInfoPolicy::ByPort] {
        let mut reading = Reading::with(CablesSettings {
            policy,
            ..CablesSettings::default()
        });
        reading.optical = true;
        reading.run_for(60, Some(status::OK));
        assert_eq!(reading.memories.modules().count(), 2 * links);
        let (port, module) = reading.memories.modules().next().unwrap();
        assert!(module.thresholds().is_some());
        assert_eq!(reading.memories.module(port.0, port.1), Some(module));
        assert_eq!(reading.times(0), 2 * links);
        reading.run_for(3 * MEASURE_EVERY.as_secs(), Some(status::OK));
        assert_eq!(reading.times(0), 4 * 2 * links);
        assert_eq!(
            (reading.times(512), reading.times(576)),
            (2 * links, 2 * links)
        );
        reading.cables.handle(reading.now, CablesInput::StandBy);
        reading.run_for(3 * MEASURE_EVERY.as_secs(), Some(status::OK));
        assert_eq!(reading.times(0), 4 * 2 * links, "a standby reads nothing");
        let again = CablesInput::Published(fabric());
        reading.cables.handle(reading.now, again);
        reading.run_for(60, Some(status::OK));
        assert_eq!(reading.times(0), 5 * 2 * links);
    }
}

#[test]
fn a_cable_that_was_exchanged_between_two_snapshots_is_read_again() {
    let links = fabric().topology.links().count();
    let hour = COMPARE_EVERY.as_secs();
    for (policy, read) in [
        (CableInfoPolicy::ByLink, links),
        (CableInfoPolicy::ByPort, 2 * links),
    ] {
        for optical in [false, true] {
            let mut reading = Reading::with(CablesSettings {
                policy,
                ..CablesSettings::default()
            });
            reading.optical = optical;
            reading.run_for(60, Some(status::OK));
            let halves = |reading: &Reading| (reading.times(128), reading.times(192));
            assert_eq!(halves(&reading), (read, read));
            // The same cables: one datagram each.
            reading.run_for(hour, Some(status::OK));
            assert_eq!(halves(&reading), (read, 2 * read));
            let thresholds = reading.times(512);
            reading.serial = Some(7);
            // The fabric is as it was.
            let again = CablesInput::Published(fabric());
            reading.cables.handle(reading.now, again);
            reading.run_for(hour, Some(status::OK));
            assert_eq!(halves(&reading), (2 * read, 4 * read));
            assert_eq!(reading.known(), 2 * links);
            let mut all = reading.memories.iter();
            assert!(all.all(|(_, memory)| memory[64..] == [7; 64]));
            // So are what their modules measure, and the limits of that.
            assert_eq!(reading.times(512), 2 * thresholds);
            let measured = if optical { 2 * links } else { 0 };
            assert_eq!(reading.memories.modules().count(), measured);
        }
    }
}

#[test]
fn a_module_without_thresholds_is_not_asked_for_them_again() {
    let ends = 2 * fabric().topology.links().count();
    let mut reading = Reading::new();
    (reading.optical, reading.thresholds) = (true, false);
    reading.run_for(2 * MEASURE_EVERY.as_secs(), Some(status::OK));
    assert_eq!(reading.memories.modules().count(), ends);
    let mut modules = reading.memories.modules();
    assert!(modules.all(|(_, module)| module.thresholds.is_none()));
    assert!((1..=2 * ends).contains(&(reading.times(512) + reading.times(576))));
    assert!(reading.times(0) >= 2 * ends);
}

#[test]
fn a_reading_that_a_new_fabric_breaks_off_goes_on() {
    let ends = 2 * fabric().topology.links().count();
    let mut reading = Reading::new();
    reading.optical = true;
    reading.run_for(60, Some(status::OK));
    // Agents fall silent while they are read again, and the fabric is published meanwhile.
    reading.run_for(MEASURE_EVERY.as_secs() - 60, None);
    let read = reading.times(0);
    reading
        .cables
        .handle(reading.now, CablesInput::Published(fabric()));
    reading.run_for(60, Some(status::OK));
    assert_eq!(reading.times(0) - read, ends);
}

#[test]
fn nothing_is_read_where_the_policy_says_so() {
    let mut reading = Reading::with(CablesSettings {
        policy: CableInfoPolicy::None,
        ..CablesSettings::default()
    });
    reading.optical = true;
    reading.run_for(2 * MEASURE_EVERY.as_secs(), Some(status::OK));
    assert_eq!((reading.sent, reading.cables.deadline()), (0, None));
}
