//! A performance manager on an emulated fabric that a subnet manager has brought up.

#![allow(clippy::unwrap_used, dead_code)]

pub(crate) mod client;

use std::sync::Arc;

use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_emulator::{Emulator, ErrorCounts, Options};
use weft_fabric::{Guid, PortNum, Snapshot, Tick};
use weft_manager::Settings;
use weft_manager::pm::{ClearOutcome, Image, Pm, PmEvent, PmInput, PmOutput, PmReport, PmSettings};
use weft_wire::packet::Packet;
use weft_wire::pm::Counter;

use crate::common::{World, latency};

/// Seconds since 1970 at tick 0.
pub(crate) const UNIX_START: u64 = 1_700_000_000;

pub(crate) struct Watched {
    pub(crate) pm: Pm,
    pub(crate) emulator: Emulator,
    pub(crate) own: (Guid, PortNum),
    pub(crate) now: Tick,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) events: Vec<PmEvent>,
    pub(crate) images: Vec<Arc<Image>>,
    pub(crate) cleared: Vec<ClearOutcome>,
    pub(crate) sent: Vec<Packet>,
    /// The largest number of requests in flight at once.
    pub(crate) outstanding_max: usize,
    outstanding: usize,
}

impl Watched {
    pub(crate) fn new(spec: &str, settings: PmSettings) -> Self {
        Self::with(spec, settings, latency())
    }

    pub(crate) fn with(spec: &str, settings: PmSettings, options: Options) -> Self {
        let sm = Settings {
            sweeps: weft_manager::sm::settings::SweepSettings {
                interval: std::time::Duration::ZERO,
                ..Default::default()
            },
            ..Settings::default()
        };
        let mut world = World::with(crate::common::fabric(spec), sm, options, None);
        world.sweep();
        let mut watched = Self {
            pm: Pm::new(settings),
            snapshot: world.manager.snapshot(),
            emulator: world.emulator,
            own: world.own,
            now: world.now,
            events: Vec::new(),
            images: Vec::new(),
            cleared: Vec::new(),
            sent: Vec::new(),
            outstanding_max: 0,
            outstanding: 0,
        };
        let unix_s = UNIX_START + watched.now.0 / 1_000_000_000;
        watched.tell(PmInput::WallClock { unix_s });
        watched.publish();
        watched
    }

    pub(crate) fn tell(&mut self, input: PmInput) {
        self.pm.handle(self.now, input);
    }

    pub(crate) fn publish(&mut self) {
        let snapshot = Arc::clone(&self.snapshot);
        self.tell(PmInput::Published(snapshot));
    }

    pub(crate) fn control(&mut self, control: Control) {
        self.emulator
            .handle(self.now, ToFabric::Control(control))
            .unwrap();
    }

    fn exchange(&mut self) {
        loop {
            let mut moved = false;
            while let Some(output) = self.pm.poll() {
                moved = true;
                self.take(output);
            }
            while let Some(FromFabric::Deliver { node, port, packet }) = self.emulator.poll() {
                moved = true;
                if (node, port) == self.own {
                    self.outstanding = self.outstanding.saturating_sub(1);
                    self.pm.handle(self.now, PmInput::Received(packet));
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn take(&mut self, output: PmOutput) {
        match output {
            PmOutput::Send(packet) => {
                self.sent.push(packet.clone());
                self.outstanding += 1;
                self.outstanding_max = self.outstanding_max.max(self.outstanding);
                let (node, port) = self.own;
                self.emulator
                    .handle(self.now, ToFabric::Send { node, port, packet })
                    .unwrap();
            }
            PmOutput::Image(image) => self.images.push(image),
            PmOutput::Recall(name) => panic!("{name:?} is to be read again"),
            PmOutput::Cleared(outcome) => self.cleared.push(outcome),
            PmOutput::Event(event) => self.events.push(event),
        }
    }

    /// Lets time pass until `done` or `until`; returns whether it was done.
    pub(crate) fn run(&mut self, until: Tick, done: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..50_000_000u64 {
            self.exchange();
            if done(self) {
                return true;
            }
            let deadlines = [self.pm.deadline(), self.emulator.deadline()];
            let next = deadlines.into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else {
                self.now = until;
                return false;
            };
            self.now = self.now.max(next);
            self.emulator.handle(self.now, ToFabric::Tick).unwrap();
            if self.pm.deadline().is_some_and(|due| due <= self.now) {
                self.pm.handle(self.now, PmInput::Tick);
            }
        }
        panic!("no end in sight at {:?}", self.now);
    }

    /// Lets the next sweep end.
    pub(crate) fn sweep(&mut self) -> Arc<Image> {
        let before = self.images.len();
        let until = Tick(self.now.0 + 3_600_000_000_000);
        assert!(self.run(until, |watched| watched.images.len() > before));
        Arc::clone(self.images.last().unwrap())
    }

    /// What a device's register holds.
    pub(crate) fn register(&self, (node, port): (Guid, PortNum), counter: Counter) -> u64 {
        let network = self.emulator.network();
        let device = network.device(network.find(node).unwrap()).unwrap();
        network.counter(device.port(port).unwrap(), counter)
    }

    /// A device counts errors. Without a discard, few symbol errors do not change its summary of errors, so that the
    /// manager does not read them (`<Resolution>`).
    pub(crate) fn count(&mut self, at: (Guid, PortNum), symbol_errors: u64, discards: u64) {
        let (node, port) = at;
        let errors = ErrorCounts {
            symbol_errors,
            discards,
            ..ErrorCounts::default()
        };
        self.control(Control::CountErrors { node, port, errors });
    }

    pub(crate) fn report(&self) -> PmReport {
        let mut reports = self.events.iter().filter_map(|event| match event {
            PmEvent::SweepEnded(report) => Some(*report),
            _ => None,
        });
        reports.next_back().unwrap()
    }
}
