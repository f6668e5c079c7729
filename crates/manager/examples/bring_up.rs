//! Brings up an emulated fabric in-process and prints what it took, phase by phase.
//!
//! `cargo run --release -p weft-manager --example bring_up -- fattree:1152`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_emulator::{Emulator, Options};
use weft_fabric::{FabricSpec, Guid, Node, PortNum, PortRef, Tick, Topology};
use weft_manager::{Command, Event, Input, Manager, Output, Settings, SweepReport};

/// Both sides, and how much time each of them took.
struct Run {
    manager: Manager,
    emulator: Emulator,
    own: (Guid, PortNum),
    started: Instant,
    in_manager: Duration,
    in_emulator: Duration,
    phases: Vec<(String, Duration)>,
    report: Option<SweepReport>,
}

impl Run {
    fn new(topology: Topology, settings: Settings) -> Option<Self> {
        let topology = Arc::new(topology);
        let own = topology
            .hfis()
            .next()
            .map(|(_, node)| (node.guid(), PortNum(1)))?;
        Some(Self {
            manager: Manager::new(settings, None),
            emulator: Emulator::new(topology, Options::default()).ok()?,
            own,
            started: Instant::now(),
            in_manager: Duration::ZERO,
            in_emulator: Duration::ZERO,
            phases: Vec::new(),
            report: None,
        })
    }

    fn now(&self) -> Tick {
        Tick(self.started.elapsed().as_nanos() as u64)
    }

    fn tell_manager(&mut self, input: Input) {
        let before = Instant::now();
        let now = self.now();
        self.manager.handle(now, input);
        self.in_manager += before.elapsed();
    }

    fn tell_emulator(&mut self, input: ToFabric) {
        let before = Instant::now();
        let now = self.now();
        if let Err(error) = self.emulator.handle(now, input) {
            eprintln!("emulator: {error}");
        }
        self.in_emulator += before.elapsed();
    }

    /// Runs until a sweep has ended.
    fn sweep(&mut self) -> SweepReport {
        self.report = None;
        loop {
            while let Some(output) = self.manager.poll() {
                self.take(output);
            }
            if let Some(report) = self.report.take() {
                return report;
            }
            let mut moved = false;
            while let Some(FromFabric::Deliver { node, port, packet }) = self.emulator.poll() {
                if (node, port) == self.own {
                    moved = true;
                    self.tell_manager(Input::Received(packet));
                }
            }
            if !moved {
                self.tell_emulator(ToFabric::Tick);
                self.tell_manager(Input::Tick);
            }
        }
    }

    fn take(&mut self, output: Output) {
        match output {
            Output::Send(packet) => {
                let (node, port) = self.own;
                self.tell_emulator(ToFabric::Send { node, port, packet });
            }
            Output::Event(Event::Phase(phase)) => {
                self.phases
                    .push((format!("{phase:?}"), self.started.elapsed()));
            }
            Output::Event(Event::SweepEnded(report)) => self.report = Some(report),
            Output::Event(Event::DeviceFault { node, what }) => {
                eprintln!("fault of {node:?}: {what}")
            }
            _ => {}
        }
    }

    fn print(&mut self, what: &str, report: &SweepReport, took: Duration) {
        println!(
            "{what}: {:.3} s, of it manager {:.3} s, emulator {:.3} s",
            took.as_secs_f64(),
            self.in_manager.as_secs_f64(),
            self.in_emulator.as_secs_f64()
        );
        let ms = report.phase_ns.map(|ns| ns as f64 / 1e6);
        println!(
            "  discover {:.1} ms, plan {:.1} ms, program {:.1} ms, activate {:.1} ms",
            ms[0], ms[1], ms[2], ms[3]
        );
        println!(
            "  {} datagrams, {} retries, {} Sets; {} switches, {} HFIs, {} links, {} active ports",
            report.sent,
            report.retries,
            report.sets,
            report.switches,
            report.hfis,
            report.links,
            report.active_ports
        );
        println!("  {}; unfinished: {:?}", report.routing, report.unfinished);
        (self.in_manager, self.in_emulator) = (Duration::ZERO, Duration::ZERO);
    }
}

/// Peak of this process' memory in MiB, 0 where the system does not tell.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// The last cable between two switches, none where there is none.
fn last_cable(topology: &Topology) -> Option<(Guid, PortNum)> {
    let is_switch = |end: PortRef| topology.node(end.node).is_some_and(Node::is_switch);
    let (end, _) = topology
        .links()
        .filter(|(a, b)| is_switch(*a) && is_switch(*b))
        .last()?;
    Some((topology.node(end.node)?.guid(), end.port))
}

fn main() -> ExitCode {
    let spec = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "fattree:1152".into());
    let topology = match spec.parse::<FabricSpec>().map(|spec| spec.generate()) {
        Ok(Ok(topology)) => topology,
        Ok(Err(error)) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let cable = last_cable(&topology);
    let Some(mut run) = Run::new(topology, Settings::default()) else {
        eprintln!("{spec} has no HFI");
        return ExitCode::FAILURE;
    };
    run.tell_manager(Input::Tick);
    let report = run.sweep();
    let took = run.started.elapsed();
    run.print("bring-up", &report, took);
    for count in run.manager.status().by_attribute {
        println!(
            "  {}: {} Gets, {} Sets",
            count.attribute, count.gets, count.sets
        );
    }
    let before = run.started.elapsed();
    run.tell_manager(Input::Command {
        id: 1,
        command: Command::Sweep,
    });
    let report = run.sweep();
    let took = run.started.elapsed() - before;
    run.print("forced sweep of the unchanged fabric", &report, took);
    if let Some((node, port)) = cable {
        run.tell_emulator(ToFabric::Control(Control::LinkDown { node, port }));
        let report = run.sweep();
        let took = Duration::from_nanos(report.elapsed_ns);
        run.print(
            "sweep after one link between switches was cut",
            &report,
            took,
        );
    }
    println!("peak memory {} MiB", peak_mib());
    ExitCode::SUCCESS
}
