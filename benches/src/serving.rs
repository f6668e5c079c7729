//! Response times of the manager of a large fabric: plans are computed on a separate
//! thread, as in weftd, and the longest single call of the core is the longest wait of a client.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use clap::Args;
use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_emulator::{Emulator, Options as EmulatorOptions};
use weft_fabric::{Guid, Node, PortNum, PortRef, Tick, Topology};
use weft_manager::io::{Command, Event, Input, Output, SweepPhase};
use weft_manager::{Manager, Planned, Settings};
use weft_routing::EngineKind;
use weft_testkit::world::first_host;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::{DirectedRoute, Smp};

use crate::Failure;
use crate::fabrics::{TREES, new_tree};
use crate::table::{Table, millis};

/// Interval of polls while a plan is computed.
const EVERY: Duration = Duration::from_millis(1);

const ENGINES: [(&str, EngineKind); 3] = [
    ("fattree", EngineKind::FatTree),
    ("dmodc", EngineKind::Dmodc),
    ("layered", EngineKind::Layered),
];

/// Options of `weft-bench serving`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Number of hosts of the tree.
    #[arg(long, default_value_t = 27_648)]
    hosts: u64,
    /// Percentage of missing links between switches.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=50))]
    gone: u64,
    /// Only this engine: fattree, dmodc or layered.
    #[arg(long)]
    engine: Option<String>,
}

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a fabric cannot be made or does not come up.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "engine",
        "sweep",
        "plan ms",
        "polls during it",
        "longest wait ms",
        "longest call ms: discover",
        "plan",
        "program",
        "activate",
        "idle",
    ]);
    let wanted = |(name, _): &(&str, EngineKind)| {
        let only = options.engine.as_deref();
        only.is_none_or(|only| only == *name)
    };
    for (engine_name, engine) in ENGINES.into_iter().filter(wanted) {
        let mut bench = Bench::new(options, engine)?;
        for name in ["first", "again", "lost link"] {
            match name {
                "first" => bench.give(Input::Tick),
                "again" => bench.give(Input::Command {
                    id: 1,
                    command: Command::Sweep,
                }),
                _ => bench.cut_a_link()?,
            }
            let waits = bench.sweep()?;
            let [discover, plan, program, activate, idle] = waits.calls.map(ms);
            table.row([
                engine_name.to_owned(),
                name.to_owned(),
                ms(waits.plan),
                waits.polls.to_string(),
                ms(waits.poll),
                discover,
                plan,
                program,
                activate,
                idle,
            ]);
        }
    }
    print!("{table}");
    Ok(())
}

fn ms(time: Duration) -> String {
    millis(time.as_secs_f64())
}

/// Longest times.
#[derive(Debug, Default)]
struct Waits {
    plan: Duration,
    polls: u64,
    poll: Duration,
    /// By phase, discover to activate, then between sweeps.
    calls: [Duration; 5],
}

struct Bench {
    topology: Arc<Topology>,
    manager: Manager,
    emulator: Emulator,
    host: (Guid, PortNum),
    now: Tick,
    waits: Waits,
    ended: bool,
}

impl Bench {
    fn new(options: &Options, engine: EngineKind) -> Result<Self, Failure> {
        let hosts = options.hosts;
        let (_, radix) = TREES
            .into_iter()
            .find(|(tree, _)| *tree >= hosts)
            .unwrap_or(TREES[TREES.len() - 1]);
        let topology = Arc::new(new_tree(hosts, radix)?);
        let why = "no HFI has a cable".to_owned();
        let host = first_host(&topology).ok_or(Failure::BringUp { hosts, why })?;
        let mut settings = Settings::default();
        settings.routing.engine = engine;
        let mut bench = Self {
            manager: Manager::new(settings, None),
            emulator: Emulator::new(Arc::clone(&topology), EmulatorOptions::default())
                .map_err(weft_testkit::WorldError::from)?,
            topology,
            host,
            now: Tick(0),
            waits: Waits::default(),
            ended: false,
        };
        let every = 100_u64.checked_div(options.gone).unwrap_or(u64::MAX);
        for (number, link) in (1..).zip(bench.switch_links()) {
            if number % every == 0 {
                bench.cut(link)?;
            }
        }
        Ok(bench)
    }

    fn switch_links(&self) -> Vec<PortRef> {
        let is_switch = |end: &PortRef| self.topology.switch_index(end.node).is_some();
        let links = self.topology.links();
        let links = links.filter(|(a, b)| is_switch(a) && is_switch(b));
        links.map(|(a, _)| a).collect()
    }

    fn cut_a_link(&mut self) -> Result<(), Failure> {
        match self.switch_links().first() {
            Some(link) => self.cut(*link),
            None => Ok(()),
        }
    }

    fn cut(&mut self, end: PortRef) -> Result<(), Failure> {
        let node = self.topology.node(end.node).map(Node::guid);
        let down = Control::LinkDown {
            node: node.unwrap_or_default(),
            port: end.port,
        };
        let done = self.emulator.handle(self.now, ToFabric::Control(down));
        Ok(done.map_err(weft_testkit::WorldError::from)?)
    }

    /// Passes an input to the core and records the time of the call.
    fn give(&mut self, input: Input) {
        let place = match self.manager.status().phase {
            Some(SweepPhase::Discover) => 0,
            Some(SweepPhase::Plan) => 1,
            Some(SweepPhase::Program) => 2,
            Some(SweepPhase::Activate) => 3,
            _ => 4,
        };
        let start = Instant::now();
        self.manager.handle(self.now, input);
        let longest = &mut self.waits.calls[place];
        *longest = start.elapsed().max(*longest);
    }

    /// Runs until a sweep has ended; returns the longest times since the previous one.
    fn sweep(&mut self) -> Result<Waits, Failure> {
        self.ended = false;
        loop {
            self.exchange()?;
            if self.ended {
                return Ok(std::mem::take(&mut self.waits));
            }
            let next = [self.manager.deadline(), self.emulator.deadline()];
            let Some(next) = next.into_iter().flatten().min() else {
                let why = "nothing is left to do, and no sweep has ended".to_owned();
                return Err(Failure::BringUp { hosts: 0, why });
            };
            self.now = self.now.max(next);
            let ticked = self.emulator.handle(self.now, ToFabric::Tick);
            ticked.map_err(weft_testkit::WorldError::from)?;
            if self.manager.deadline().is_some_and(|due| due <= self.now) {
                self.give(Input::Tick);
            }
        }
    }

    fn exchange(&mut self) -> Result<(), Failure> {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            while let Some(output) = self.manager.poll() {
                moved = true;
                match output {
                    Output::Send(packet) => {
                        let (node, port) = self.host;
                        let send = ToFabric::Send { node, port, packet };
                        let sent = self.emulator.handle(self.now, send);
                        sent.map_err(weft_testkit::WorldError::from)?;
                    }
                    Output::Plan(input) => {
                        let planned = self.wait_for(move || input.make());
                        self.give(Input::Planned(Box::new(planned)));
                    }
                    Output::Event(Event::SweepEnded(_)) => self.ended = true,
                    _ => {}
                }
            }
            while let Some(FromFabric::Deliver { packet, .. }) = self.emulator.poll() {
                moved = true;
                self.give(Input::Received(packet));
            }
        }
        Ok(())
    }

    /// Computes the plan on another thread and polls the manager meanwhile.
    fn wait_for(&mut self, make: impl FnOnce() -> Planned + Send + 'static) -> Planned {
        let (done, made) = mpsc::channel();
        let start = Instant::now();
        let thread = std::thread::spawn(move || drop(done.send(make())));
        let planned = loop {
            match made.recv_timeout(EVERY) {
                Ok(planned) => break planned,
                Err(RecvTimeoutError::Disconnected) => panic!("the plan's thread has ended"),
                Err(RecvTimeoutError::Timeout) => self.ask(),
            }
        };
        self.waits.plan = start.elapsed().max(self.waits.plan);
        // All pending output has been sent.
        let _ = thread.join();
        planned
    }

    /// Polls SMInfo as a standby does.
    fn ask(&mut self) {
        let start = Instant::now();
        self.manager.handle(self.now, Input::Received(question()));
        let mut answers = 0;
        while let Some(output) = self.manager.poll() {
            answers += u64::from(matches!(output, Output::Send(_)));
        }
        self.waits.polls += answers;
        self.waits.poll = start.elapsed().max(self.waits.poll);
    }
}

fn question() -> Packet {
    let asked = Smp::get(AttributeId::SM_INFO, 0, 1, 0);
    let mut mad = Vec::new();
    if let Ok(route) = DirectedRoute::new(&[]) {
        asked.write_directed(&route, &[0; 64], &mut mad);
    }
    Packet::directed(mad)
}
