//! `weft-lab replay --go-on`: what would have come next in a fabric whose nodes all answer.
//!
//! The fabric is emulated from what the recording shows: each node as it was with most cables, and all links of then.
//! What the manager sent up to the place is sent to it, and links go down and come up as the manager published, so that
//! its registers are those that the manager wrote. Where the recording begins with a checkpoint, devices begin with what
//! they had confirmed until then. Subnet administration goes on beside the manager; no program runs on the hosts, so that nobody asks
//! it anything, registers or answers its reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use weft_emulator::{Emulator, Options, io::Control, io::Input};
use weft_fabric::topology::TopologyBuilder;
use weft_fabric::{Guid, Node, PortNum, PortRef, Snapshot, Tick, Topology, powered_on};
use weft_manager::io::Event;
use weft_manager::sm::device_registers::DeviceRegisters;
use weft_manager::{Manager, Output, Sa};
use weft_replay::{Step, What};
use weft_testkit::{Administration, NoTap, World};
use weft_wire::enums::SmState;
use weft_wire::packet::Packet;

use super::found::{FileReplay, Found, sa_json, sa_words, state_json, state_words};
use super::registers;
use super::words::sent_words;
use super::{Arguments, open};

/// Longest time, seconds.
const SECONDS_MAX: f64 = 86_400.0;
/// Events, and datagrams of subnet administration, that are printed at most.
const EVENTS_MAX: usize = 10_000;

/// A port by its node's GUID.
type End = (Guid, PortNum);

/// Reads a time.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds: &f64| (0.0..=SECONDS_MAX).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("allowed are 0 to {SECONDS_MAX} seconds"))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// Goes on; returns what to print.
pub(super) fn run(
    arguments: &Arguments,
    found: &Found,
    replay: FileReplay,
    time: Duration,
) -> Result<String, String> {
    if let Some(panic) = &found.panic {
        return Err(format!("nothing goes on after a panic: {panic}"));
    }
    if !found.is_stopped {
        return Err("--until's place does not come in this recording".to_owned());
    }
    let seen = Seen::all(open(&arguments.file)?)?;
    let (topology, host) = seen.fabric()?;
    let up_to = open(&arguments.file)?;
    let begin = Emulated::new(&topology, host, seen.checkpoint.as_ref())?;
    let Emulated {
        mut emulator, down, ..
    } = begin.after(up_to, found.steps)?;
    let (manager, sa) = replay.into_both().ok_or("the recording is empty")?;
    let administration = sa.map(|sa| Administration::new(found.last, sa));
    if seen.checkpoint.is_some() {
        // Some of it was sent before the checkpoint, and confirmed since.
        registers::write(emulator.network_mut(), manager.0.device_registers());
    }
    let before = manager.0.snapshot();
    let mut world = World::going_on(found.last, manager, administration, emulator, host, NoTap);
    let until = found.last + time;
    world.run_until(until).map_err(|error| error.to_string())?;
    let told = Told {
        topology: &topology,
        down,
        silent: missing(&topology, &before),
        events: world.take_events(),
        answers: world.take_answers(),
    };
    let ends = (world.manager(), world.administration());
    Ok(match arguments.json {
        true => format!("{}\n", told.json(found, ends, until)),
        false => told.text(found, ends, until),
    })
}

/// Names of the nodes that the manager did not have.
fn missing(topology: &Topology, snapshot: &Snapshot) -> Vec<String> {
    let nodes = topology.nodes().map(|(_, node)| node);
    let missing = nodes.filter(|node| snapshot.topology.find(node.guid()).is_none());
    missing.map(Node::name).collect()
}

/// A node as it was with most cables.
struct Cabled {
    node: Arc<Node>,
    /// Its ports with cables, and their other ends.
    cables: Vec<(PortNum, End)>,
}

/// Nodes of a recording, and where the manager was.
#[derive(Default)]
struct Seen {
    nodes: BTreeMap<Guid, Cabled>,
    /// Port GUID of the manager.
    own: Option<Guid>,
    /// The checkpoint that the recording begins with.
    checkpoint: Option<Start>,
}

/// The fabric at a checkpoint.
struct Start {
    topology: Arc<Topology>,
    registers: Vec<DeviceRegisters>,
}

impl Seen {
    fn all(mut replay: FileReplay) -> Result<Self, String> {
        let mut seen = Self::default();
        while let Ok(Some(step)) = replay.next() {
            if let (What::Checkpoint(_), Some(manager)) = (&step.what, replay.manager()) {
                let snapshot = manager.snapshot();
                seen.take(&snapshot);
                seen.checkpoint = Some(Start {
                    topology: Arc::clone(&snapshot.topology),
                    registers: manager.device_registers().collect(),
                });
            }
            for snapshot in published(&step) {
                seen.take(snapshot);
            }
            let status = replay.manager().map(Manager::status);
            let master = status.filter(|status| status.role == SmState::MASTER);
            seen.own = master.and_then(|status| status.master).or(seen.own);
        }
        match seen.nodes.is_empty() {
            true => Err("the recording shows no fabric: no sweep ends in it".to_owned()),
            false => Ok(seen),
        }
    }

    fn take(&mut self, snapshot: &Snapshot) {
        let topology = &snapshot.topology;
        for node in topology.nodes_shared() {
            let cables: Vec<(PortNum, End)> = node
                .ports()
                .filter_map(|(number, port)| Some((number, end(topology, port.peer?)?)))
                .collect();
            let known = self.nodes.get(&node.guid());
            if known.is_none_or(|known| known.cables.len() <= cables.len()) {
                let (guid, node) = (node.guid(), Arc::clone(node));
                self.nodes.insert(guid, Cabled { node, cables });
            }
        }
    }

    /// The fabric, switched on, and the manager's port.
    fn fabric(&self) -> Result<(Arc<Topology>, End), String> {
        let failed = |error: weft_fabric::topology::TopologyError| error.to_string();
        let mut builder = TopologyBuilder::new();
        let mut ids = BTreeMap::new();
        for (guid, known) in &self.nodes {
            let mut node = Node::clone(&known.node);
            let numbers: Vec<PortNum> = node.ports().map(|(number, _)| number).collect();
            for number in numbers {
                if let Some(port) = node.port_mut(number) {
                    port.peer = None;
                }
            }
            ids.insert(*guid, builder.add(node).map_err(failed)?);
        }
        for (guid, known) in &self.nodes {
            for (port, (far, far_port)) in &known.cables {
                let ends = [(guid, port), (far, far_port)].map(|(guid, port)| {
                    let (node, port) = (*ids.get(guid)?, *port);
                    Some(PortRef { node, port })
                });
                // A cable that was moved is where the first of its nodes had it.
                if let [Some(a), Some(b)] = ends {
                    let _ = builder.connect(a, b);
                }
            }
        }
        let topology = builder.build().map_err(failed)?;
        let topology = powered_on::restart(&topology).map_err(failed)?;
        let host = self.own.and_then(|own| host(&topology, own));
        let host = host.ok_or("the manager is never master in this recording")?;
        Ok((Arc::new(topology), host))
    }
}

/// The HFI port of a GUID.
fn host(topology: &Topology, own: Guid) -> Option<End> {
    topology.hfis().find_map(|(_, node)| {
        let mut ports = node.ports().map(|(number, _)| number);
        let port = ports.find(|number| node.port_guid(*number) == Some(own))?;
        Some((node.guid(), port))
    })
}

fn published(step: &Step) -> impl Iterator<Item = &Arc<Snapshot>> {
    step.outputs.iter().filter_map(|output| match output {
        Output::Publish(snapshot) => Some(snapshot),
        _ => None,
    })
}

fn end(topology: &Topology, at: PortRef) -> Option<End> {
    Some((topology.node(at.node)?.guid(), at.port))
}

/// Both ends of each link, the lower one first.
fn links(topology: &Topology) -> BTreeSet<[End; 2]> {
    let links = topology.links();
    let ends = links.filter_map(|(a, b)| Some([end(topology, a)?, end(topology, b)?]));
    ends.map(|[a, b]| [a.min(b), a.max(b)]).collect()
}

/// The emulated fabric.
struct Emulated {
    emulator: Emulator,
    /// The manager's port.
    host: End,
    /// All links.
    links: BTreeSet<[End; 2]>,
    /// Those that are down.
    down: BTreeSet<[End; 2]>,
}

impl Emulated {
    /// The fabric as it was at the checkpoint, else just switched on.
    fn new(
        topology: &Arc<Topology>,
        host: End,
        checkpoint: Option<&Start>,
    ) -> Result<Self, String> {
        let emulator = Emulator::new(Arc::clone(topology), Options::default()).map_err(refused)?;
        let mut emulated = Self {
            emulator,
            host,
            links: links(topology),
            down: BTreeSet::new(),
        };
        let ((node, port), is_sm) = (host, true);
        emulated.handle(Tick(0), Input::Control(Control::IsSm { node, port, is_sm }))?;
        if let Some(start) = checkpoint {
            emulated.match_links(Tick(0), &start.topology)?;
            registers::write(
                emulated.emulator.network_mut(),
                start.registers.iter().cloned(),
            );
        }
        Ok(emulated)
    }

    /// The same after what the manager sent in these steps.
    fn after(mut self, mut replay: FileReplay, steps: u64) -> Result<Self, String> {
        loop {
            let step = replay.next().map_err(|error| error.to_string())?;
            let Some(step) = step.filter(|step| step.number <= steps) else {
                return Ok(self);
            };
            let (node, port) = self.host;
            for output in step.outputs {
                match output {
                    Output::Send(packet) => {
                        self.handle(step.at, Input::Send { node, port, packet })?;
                    }
                    Output::Publish(snapshot) => self.match_links(step.at, &snapshot.topology)?,
                    _ => {}
                }
            }
        }
    }

    /// Takes links down and lets them come up, so that those of this topology are up.
    fn match_links(&mut self, now: Tick, topology: &Topology) -> Result<(), String> {
        let gone = gone(&self.links, topology);
        let changed: Vec<[End; 2]> = gone.symmetric_difference(&self.down).copied().collect();
        for link in changed {
            self.handle(now, change(link, gone.contains(&link)))?;
        }
        self.down = gone;
        Ok(())
    }

    fn handle(&mut self, now: Tick, input: Input) -> Result<(), String> {
        self.emulator.handle(now, input).map_err(refused)?;
        // What devices answered then is in the recording.
        while self.emulator.poll().is_some() {}
        Ok(())
    }
}

fn refused(error: weft_emulator::io::ControlError) -> String {
    error.to_string()
}

/// Links whose nodes are there, and which are not.
fn gone(all: &BTreeSet<[End; 2]>, topology: &Topology) -> BTreeSet<[End; 2]> {
    let there = links(topology);
    let has = |end: End| topology.find(end.0).is_some();
    let gone = all.difference(&there);
    gone.filter(|link| link.iter().all(|end| has(*end)))
        .copied()
        .collect()
}

fn change([(node, port), _]: [End; 2], is_down: bool) -> Input {
    Input::Control(match is_down {
        true => Control::LinkDown { node, port },
        false => Control::LinkUp { node, port },
    })
}

/// What is told of it.
struct Told<'a> {
    topology: &'a Topology,
    down: BTreeSet<[End; 2]>,
    /// Names of the nodes that the manager did not have.
    silent: Vec<String>,
    events: Vec<(Tick, Event)>,
    /// Datagrams of subnet administration.
    answers: Vec<(Tick, Packet)>,
}

/// The manager at the end, and subnet administration where there is one.
type Ends<'a> = (&'a Manager, Option<&'a Sa>);

impl Told<'_> {
    /// Events and datagrams in order, in words.
    fn lines(&self) -> Vec<(Tick, String)> {
        let events = self.events.iter();
        let events = events.map(|(at, event)| (*at, format!("{event:?}")));
        let answers = self.answers.iter().map(|(at, packet)| {
            let words = format!("subnet administration {}", sent_words(packet));
            (*at, words)
        });
        let mut lines: Vec<(Tick, String)> = events.chain(answers).collect();
        lines.sort_by_key(|(at, _)| *at);
        lines
    }

    fn text(&self, found: &Found, (manager, sa): Ends<'_>, until: Tick) -> String {
        let (nodes, links) = (self.topology.len(), self.topology.links().count());
        let down = self.down.len();
        let mut text = format!(
            "from step {}, {:.6} s\n  emulated: {nodes} nodes, {links} links, {down} of them down as then\n",
            found.steps,
            found.seconds(found.last)
        );
        if !self.silent.is_empty() {
            let _ = writeln!(text, "  answer now: {}", self.silent.join(", "));
        }
        let lines = self.lines();
        for (at, words) in lines.iter().take(EVENTS_MAX) {
            let _ = writeln!(text, "{:12.6} s  {words}", found.seconds(*at));
        }
        let more = lines.len().saturating_sub(EVENTS_MAX);
        if more > 0 {
            let _ = writeln!(text, "and {more} more events and datagrams");
        }
        let _ = writeln!(text, "at {:.6} s", found.seconds(until));
        text + &state_words(manager) + &sa.map(sa_words).unwrap_or_default()
    }

    fn json(&self, found: &Found, (manager, sa): Ends<'_>, until: Tick) -> Value {
        let events = self.events.iter().take(EVENTS_MAX);
        let events: Vec<Value> = events
            .map(|(at, event)| json!({ "seconds": found.seconds(*at), "event": event }))
            .collect();
        let answers = self.answers.iter().take(EVENTS_MAX);
        let answers: Vec<Value> = answers
            .map(
                |(at, packet)| json!({ "seconds": found.seconds(*at), "what": sent_words(packet) }),
            )
            .collect();
        json!({
            "from_step": found.steps,
            "from_seconds": found.seconds(found.last),
            "emulated_nodes": self.topology.len(),
            "emulated_links": self.topology.links().count(),
            "links_down": self.down.len(),
            "answer_now": self.silent,
            "events": events,
            "events_left_out": self.events.len().saturating_sub(EVENTS_MAX),
            "answers": answers,
            "answers_left_out": self.answers.len().saturating_sub(EVENTS_MAX),
            "seconds": found.seconds(until),
            "state": state_json(manager),
            "sa": sa.map(sa_json),
        })
    }
}
