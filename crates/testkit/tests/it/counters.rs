//! I11: totals of the performance manager go up, whatever becomes of counters and ports.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_dataplane::PortIndex;
use weft_emulator::io::{Control, Faults, Input, Output};
use weft_emulator::traffic::TrafficJob;
use weft_emulator::{Emulator, Options};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PortNum, Snapshot, Tick};
use weft_manager::io::Command;
use weft_manager::pm::{Image, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::sm::Settings;
use weft_testkit::oracle::Invariant;
use weft_testkit::oracle::counters::{self, Seen};
use weft_testkit::{NoTap, Wait, World};

const FABRIC: &str = "pgft:2;2,4;1,3;1,2";
const WITHIN: Duration = Duration::from_secs(60);
const SEEDS: u64 = 16;
const SWEEPS: usize = 20;

/// A performance manager on a fabric under traffic.
struct Reader {
    pm: Pm,
    emulator: Emulator,
    own: (Guid, PortNum),
    now: Tick,
    /// With and without one of the hosts.
    snapshots: [Arc<Snapshot>; 2],
}

/// The fabric's state after another sweep of everything.
fn swept(world: &mut World) -> Arc<Snapshot> {
    let id = world.command(Command::Sweep);
    let answered = world.run_while(WITHIN, |world| world.reply(id).is_some());
    assert_eq!(answered.unwrap(), Wait::Done);
    world.snapshot()
}

impl Reader {
    fn new(seed: u64) -> Self {
        let topology = FABRIC.parse::<FabricSpec>().unwrap().generate().unwrap();
        let (_, last) = topology.hfis().last().unwrap();
        let node = last.guid();
        let options = Options {
            seed,
            agent_latency_ns: 20_000,
            hop_latency_ns: 100,
            ..Options::default()
        };
        let topology = Arc::new(topology);
        let mut world = World::new(topology, options, Settings::default(), NoTap).unwrap();
        assert_eq!(world.bring_up(WITHIN).unwrap(), Wait::Done);
        world.control(Control::NodeDown { node }).unwrap();
        let without = swept(&mut world);
        world.control(Control::NodeUp { node }).unwrap();
        let with = swept(&mut world);
        assert_eq!(with.topology.len(), without.topology.len() + 1);
        let settings = PmSettings {
            interval: Duration::from_secs(1),
            ..PmSettings::default()
        };
        Self {
            pm: Pm::new(settings),
            own: world.host(),
            now: world.now(),
            emulator: world.emulator,
            snapshots: [with, without],
        }
    }

    fn control(&mut self, control: Control) {
        self.emulator
            .handle(self.now, Input::Control(control))
            .unwrap();
    }

    fn publish(&mut self, which: usize) {
        let snapshot = Arc::clone(&self.snapshots[which]);
        self.pm.handle(self.now, PmInput::Published(snapshot));
    }

    /// Hands over what both sides have for each other; the image of a sweep that has ended.
    fn exchange(&mut self) -> Option<Arc<Image>> {
        let (node, port) = self.own;
        let mut image = None;
        loop {
            let mut moved = false;
            while let Some(output) = self.pm.poll() {
                moved = true;
                match output {
                    PmOutput::Send(packet) => {
                        let send = Input::Send { node, port, packet };
                        self.emulator.handle(self.now, send).unwrap();
                    }
                    PmOutput::Image(done) => image = Some(done),
                    PmOutput::Event(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
                }
            }
            while let Some(Output::Deliver { packet, .. }) = self.emulator.poll() {
                moved = true;
                self.pm.handle(self.now, PmInput::Received(packet));
            }
            if !moved {
                return image;
            }
        }
    }

    /// State after the next sweep.
    fn sweep(&mut self) -> Seen {
        loop {
            if let Some(image) = self.exchange() {
                return Seen::of(&self.pm, &image);
            }
            let next = [self.pm.deadline(), self.emulator.deadline()];
            self.now = self.now.max(next.into_iter().flatten().min().unwrap());
            self.emulator.handle(self.now, Input::Tick).unwrap();
            self.pm.handle(self.now, PmInput::Tick);
        }
    }

    /// Clears counters, silences agents, loses datagrams, takes ports down and up.
    fn disturb(&mut self, rng: &mut ChaCha8Rng) {
        match rng.random_range(0..4) {
            0 => {
                let network = self.emulator.network_mut();
                let devices = network.devices().map(|(_, device)| device);
                let ports: Vec<PortIndex> = devices
                    .flat_map(|device| device.ports())
                    .map(|(_, at)| at)
                    .collect();
                for at in ports {
                    let select: u32 = rng.random();
                    let some = [0, select][rng.random_range(0..2)];
                    network.clear_counters(at, some);
                }
            }
            1 => {
                let nodes = self.snapshots[0].topology.nodes();
                let nodes: Vec<Guid> = nodes.skip(1).map(|(_, node)| node.guid()).collect();
                let node = nodes[rng.random_range(0..nodes.len())];
                let silent = rng.random_bool(0.5);
                self.control(Control::Silence { node, silent });
            }
            2 => {
                let loss = [0.0, 0.1][rng.random_range(0..2)];
                let faults = Faults {
                    loss,
                    ..Faults::default()
                };
                self.control(Control::Faults(faults));
            }
            _ => self.publish(rng.random_range(0..2)),
        }
    }
}

#[test]
fn totals_go_up_whatever_becomes_of_counters_and_ports() {
    for seed in 0..SEEDS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut reader = Reader::new(seed);
        let uniform = "uniform".parse().unwrap();
        reader.control(Control::TrafficStart(TrafficJob::new("all", uniform)));
        reader.publish(0);
        let mut before = reader.sweep();
        for _ in 0..SWEEPS {
            reader.disturb(&mut rng);
            let now = reader.sweep();
            assert_eq!(counters::check(&before, &now), [], "seed {seed}");
            before = now;
        }
        let counted = before.totals.values().flatten();
        assert!(counted.sum::<u64>() > 1_000_000, "seed {seed}: no traffic");
    }
}

/// Totals that equal the devices' own counters would decrease.
#[test]
fn counters_that_go_back_are_reported() {
    let mut reader = Reader::new(0);
    let uniform = "uniform".parse().unwrap();
    reader.control(Control::TrafficStart(TrafficJob::new("all", uniform)));
    reader.publish(0);
    reader.sweep();
    let before = reader.sweep();
    let port = *before.totals.keys().next().unwrap();
    let mut lower = reader.sweep();
    assert_eq!(counters::check(&before, &lower), []);
    lower.totals.get_mut(&port).unwrap()[0] = 0;
    let mut again = before.clone();
    again.totals.remove(&port);
    let rules = |before: &Seen, now: &Seen| -> Vec<Invariant> {
        let breaches = counters::check(before, now).into_iter();
        breaches.map(|breach| breach.invariant).collect()
    };
    assert!(before.totals[&port][0] > 0, "{port:?}");
    assert_eq!(rules(&before, &lower), [Invariant::CountersGoUp]);
    assert_eq!(
        rules(&before, &again),
        [Invariant::CountersGoUp],
        "no newer image"
    );
}
