//! Congestion control is written to the devices of an emulated fabric.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::World;
use weft_emulator::Emulator;
use weft_emulator::io::{Control, Faults, Input as ToFabric, Output as FromFabric};
use weft_fabric::{Guid, Lid, PortNum, Snapshot, Tick};
use weft_manager::SkippedWrites;
use weft_manager::congestion::{
    Congestion, CongestionHeld, CongestionInput, CongestionOutput, CongestionSettings,
};
use weft_wire::Layout;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, HfiCongestionSetting, SwitchCongestionSetting};

const HOSTS: u64 = 32;
const SWITCHES: u64 = 12;
const HOUR: u64 = 3_600_000_000_000;

/// A writer on a fabric that has been brought up.
struct Written {
    congestion: Congestion,
    emulator: Emulator,
    own: (Guid, PortNum),
    now: Tick,
    snapshot: Arc<Snapshot>,
    held: Arc<CongestionHeld>,
    refused: usize,
    /// Requests, those sent again included.
    sent: u64,
}

impl Written {
    fn new(settings: CongestionSettings) -> Self {
        let mut world = World::new("fattree:32,radix=8", crate::common::settings());
        world.sweep();
        Self {
            congestion: Congestion::new(settings),
            snapshot: world.manager.snapshot(),
            emulator: world.emulator,
            own: world.own,
            now: world.now,
            held: Arc::default(),
            refused: 0,
            sent: 0,
        }
    }

    fn publish(&mut self) {
        let snapshot = Arc::clone(&self.snapshot);
        self.tell(CongestionInput::Published(snapshot));
    }

    /// Gives an input and lets everything that comes of it happen.
    fn tell(&mut self, input: CongestionInput) {
        self.congestion.handle(self.now, input);
        self.run_for(HOUR);
    }

    /// Lets time pass, in nanoseconds.
    fn run_for(&mut self, time: u64) {
        let until = Tick(self.now.0 + time);
        loop {
            self.exchange();
            let due = [self.congestion.deadline(), self.emulator.deadline()];
            let next = due.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            self.emulator.handle(self.now, ToFabric::Tick).unwrap();
            self.congestion.handle(self.now, CongestionInput::Tick);
        }
    }

    fn exchange(&mut self) {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            while let Some(output) = self.congestion.poll() {
                moved = true;
                self.take(output);
            }
            while let Some(FromFabric::Deliver { node, port, packet }) = self.emulator.poll() {
                if (node, port) == self.own {
                    moved = true;
                    let input = CongestionInput::Received(packet);
                    self.congestion.handle(self.now, input);
                }
            }
        }
    }

    fn take(&mut self, output: CongestionOutput) {
        let (node, port) = self.own;
        match output {
            CongestionOutput::Send(packet) => {
                self.sent += 1;
                let send = ToFabric::Send { node, port, packet };
                self.emulator.handle(self.now, send).unwrap();
            }
            CongestionOutput::Held(held) => self.held = held,
            CongestionOutput::Refused { .. } => self.refused += 1,
        }
    }

    /// Gets and Sets so far.
    fn asked(&self, attribute: AttributeId) -> (u64, u64) {
        self.emulator.stats().total(attribute)
    }

    /// Settings held by all devices of a kind, each as on the wire.
    fn settings_of(&self, switches: bool) -> Vec<Vec<u8>> {
        let devices = self.emulator.network().devices();
        let of_kind = devices.filter(|(_, device)| device.is_switch() == switches);
        of_kind
            .map(|(_, device)| device.congestion_setting().to_vec())
            .collect()
    }
}

fn on() -> CongestionSettings {
    let mut settings = CongestionSettings::default();
    settings.control.enable = true;
    settings.control.switch.victim_marking_enable = true;
    settings
}

#[test]
fn every_device_is_written_once() {
    let mut written = Written::new(on());
    written.publish();
    let switch = SwitchCongestionSetting::decode(&written.settings_of(true)[0]).unwrap();
    assert_eq!((switch.control_map, switch.threshold), (0x15, 8));
    let host = HfiCongestionSetting::decode(&written.settings_of(false)[0]).unwrap();
    assert_eq!(host.hfi_congestion_entry_list[31].ccti_increase, 5);
    for (attribute, count) in [
        (AttributeId::SWITCH_CONGESTION_SETTING, SWITCHES),
        (AttributeId::HFI_CONGESTION_SETTING, HOSTS),
        (AttributeId::HFI_CONGESTION_CONTROL_TABLE, HOSTS),
    ] {
        assert_eq!(written.asked(attribute), (count, count), "{attribute}");
    }
    assert_eq!(written.held.len() as u64, 3 * HOSTS + 3 * SWITCHES);
    // A later snapshot of the same fabric changes nothing.
    let before = written.emulator.stats().datagrams();
    written.publish();
    assert_eq!(written.emulator.stats().datagrams(), before);
    assert_eq!(written.refused, 0);
}

#[test]
fn a_manager_that_follows_finds_it_as_it_should_be() {
    let mut written = Written::new(on());
    written.publish();
    let sets = written.emulator.stats().sets_total();
    written.congestion = Congestion::new(on());
    written.publish();
    assert_eq!(written.emulator.stats().sets_total(), sets);
    assert!(!written.held.is_empty());
}

#[test]
fn switched_off_it_is_off_everywhere_and_nothing_is_told() {
    let mut written = Written::new(on());
    written.publish();
    written.tell(CongestionInput::Settings(CongestionSettings::default()));
    let all = [written.settings_of(true), written.settings_of(false)].concat();
    assert!(all.iter().flatten().all(|byte| *byte == 0));
    assert!(written.held.is_empty());
}

#[test]
fn where_it_is_not_to_be_written_it_is_read_and_told_as_it_is() {
    let mut written = Written::new(CongestionSettings {
        skips: SkippedWrites(0x400),
        ..on()
    });
    let sets = written.emulator.stats().sets_total();
    written.publish();
    assert_eq!(written.emulator.stats().sets_total(), sets);
    assert_eq!(written.held.len() as u64, 3 * HOSTS + 3 * SWITCHES);
    assert_eq!(written.refused, 0);
    written.tell(CongestionInput::Settings(on()));
    let host = HfiCongestionSetting::decode(&written.settings_of(false)[0]).unwrap();
    assert_eq!(host.hfi_congestion_entry_list[31].ccti_increase, 5);
}

/// A fabric whose last host falls silent before its congestion control is written, and the host's return.
fn one_silent() -> (Written, ToFabric) {
    let mut written = Written::new(on());
    let (id, _) = written.snapshot.topology.hfis().last().unwrap();
    let node = written.snapshot.topology.node(id).unwrap().guid();
    let silence = |silent| ToFabric::Control(Control::Silence { node, silent });
    written.emulator.handle(written.now, silence(true)).unwrap();
    let snapshot = Arc::clone(&written.snapshot);
    let input = CongestionInput::Published(snapshot);
    written.congestion.handle(written.now, input);
    (written, silence(false))
}

#[test]
fn who_did_not_answer_is_asked_again_with_the_next_snapshot() {
    let (mut written, back) = one_silent();
    written.run_for(4_000_000_000);
    let attribute = AttributeId::HFI_CONGESTION_SETTING;
    assert_eq!(written.asked(attribute).1, HOSTS - 1);
    written.emulator.handle(written.now, back).unwrap();
    let snapshot = Arc::clone(&written.snapshot);
    let input = CongestionInput::Published(snapshot);
    written.congestion.handle(written.now, input);
    written.run_for(1_000_000_000);
    assert_eq!(written.asked(attribute).1, HOSTS);
}

#[test]
fn who_did_not_answer_is_asked_again_though_no_snapshot_follows() {
    let (mut written, back) = one_silent();
    written.run_for(60_000_000_000);
    let before = written.sent;
    written.run_for(HOUR);
    let hour = written.sent - before;
    // Some settings, three attempts each, about every five minutes.
    assert!((100..250).contains(&hour), "{hour}");
    let attribute = AttributeId::HFI_CONGESTION_SETTING;
    assert_eq!(written.asked(attribute).1, HOSTS - 1);
    written.emulator.handle(written.now, back).unwrap();
    written.run_for(HOUR);
    assert_eq!(written.asked(attribute).1, HOSTS);
    assert_eq!(written.held.len() as u64, 3 * HOSTS + 3 * SWITCHES);
    assert_eq!(written.congestion.deadline(), None);
}

#[test]
fn lost_and_doubled_answers_do_no_harm() {
    let mut written = Written::new(on());
    let faults = Faults {
        loss: 0.1,
        duplicate: 0.1,
        reorder: 0.1,
        delay_max_ns: 1_000_000,
        ..Faults::default()
    };
    let control = ToFabric::Control(Control::Faults(faults));
    written.emulator.handle(written.now, control).unwrap();
    for _ in 0..5 {
        written.publish();
    }
    let first = written.settings_of(false)[0].clone();
    assert!(first.iter().any(|byte| *byte != 0));
    assert!(written.settings_of(false).iter().all(|one| *one == first));
    assert_eq!(written.refused, 0);
}

#[test]
fn what_nobody_asked_for_is_dropped() {
    let mut written = Written::new(on());
    for len in [0, 3, 24, 80, 300, 2048] {
        let packet = Packet::lid_routed(Lid(2), Lid(1), vec![0x81; len]);
        written.tell(CongestionInput::Received(packet));
    }
    assert!(written.held.is_empty());
    written.tell(CongestionInput::StandBy);
    assert_eq!(written.congestion.deadline(), None);
}
