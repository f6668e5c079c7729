//! An emulated fabric with its managers under one virtual clock, and the page over it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_emulator::io::{Control, Input as ToFabric};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Snapshot, Tick, Topology};
use weft_health::{
    Attachment, ErrorLog, Finding, Idle, Kind, LastSweep, LinkKey, LossLog, Memory, Moment, Page,
    RequestLog, Shape, Silent, check,
};
use weft_manager::cables::CableMemories;
use weft_manager::io::{Command, Event};
use weft_manager::pm::settings::Resolution;
use weft_manager::pm::{Image, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::sm::Settings;
use weft_testkit::{Tap, Wait, World};
use weft_wire::header::class;
use weft_wire::packet::Packet;

/// Seconds since 1970 at tick 0.
const START: u64 = 1_700_000_000;
const WITHIN: Duration = Duration::from_secs(600);
const KEEP: u64 = 30 * 86_400;

/// Takes the answers to performance management.
#[derive(Debug, Default)]
pub(crate) struct Answers(VecDeque<Packet>);

impl Tap for Answers {
    fn see(&mut self, _: Tick, sent: bool, packet: &Packet) {
        if !sent && packet.mad.get(1) == Some(&class::PERF) {
            self.0.push_back(packet.clone());
        }
    }
}

pub(crate) struct Lab {
    pub(crate) world: World<Answers>,
    pub(crate) topology: Arc<Topology>,
    pm: Pm,
    pub(crate) image: Option<Arc<Image>>,
    pub(crate) memory: Memory,
    pub(crate) errors: ErrorLog,
    pub(crate) losses: LossLog,
    requests: RequestLog,
    silent: BTreeMap<Guid, Silent>,
    last_sweep: Option<LastSweep>,
    reads: bool,
}

impl Lab {
    /// A fabric that is up and has been seen twice.
    pub(crate) fn new(topology: Topology) -> Self {
        Self::with(topology, Duration::ZERO)
    }

    /// The same, swept at an interval; zero: only on demand.
    pub(crate) fn with(topology: Topology, interval: Duration) -> Self {
        let topology = Arc::new(topology);
        let mut settings = Settings::default();
        settings.sweeps.interval = interval;
        let options = Options {
            agent_latency_ns: 20_000,
            hop_latency_ns: 100,
            ..Options::default()
        };
        let world = World::new(Arc::clone(&topology), options, settings, Answers::default());
        let pm = PmSettings {
            interval: Duration::from_secs(60),
            resolution: Resolution {
                local_link_integrity: 1,
                link_error_recovery: 1,
            },
            ..PmSettings::default()
        };
        let mut lab = Self {
            world: world.unwrap(),
            topology,
            pm: Pm::new(pm),
            image: None,
            memory: Memory::default(),
            errors: ErrorLog::default(),
            losses: LossLog::default(),
            requests: RequestLog::default(),
            silent: BTreeMap::new(),
            last_sweep: None,
            reads: false,
        };
        assert_eq!(lab.world.bring_up(WITHIN).unwrap(), Wait::Done);
        lab.settle();
        lab.pass(90);
        lab.sweep();
        lab
    }

    pub(crate) fn now(&self) -> u64 {
        START + self.world.now().0 / 1_000_000_000
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.world.snapshot()
    }

    /// Begins to read counters, twice.
    pub(crate) fn read_counters(&mut self) {
        self.reads = true;
        let unix_s = self.now();
        let now = self.world.now();
        self.pm.handle(now, PmInput::WallClock { unix_s });
        self.pm
            .handle(now, PmInput::Published(self.world.snapshot()));
        self.pass(130);
    }

    pub(crate) fn control(&mut self, control: Control) {
        self.world.control(control).unwrap();
    }

    /// Lets seconds pass.
    pub(crate) fn pass(&mut self, seconds: u64) {
        let until = self.world.now() + Duration::from_secs(seconds);
        loop {
            self.exchange();
            let due = self.pm.deadline().filter(|_| self.reads);
            let stop = due.map_or(until, |due| due.min(until));
            let went_on = self.world.step(stop).unwrap();
            self.take_events();
            if !went_on {
                if self.reads {
                    self.pm.handle(self.world.now(), PmInput::Tick);
                    self.exchange();
                }
                if self.world.now() >= until {
                    return;
                }
            }
        }
    }

    fn exchange(&mut self) {
        let now = self.world.now();
        loop {
            let mut moved = false;
            while let Some(packet) = self.world.tap.0.pop_front() {
                moved = true;
                self.pm.handle(now, PmInput::Received(packet));
            }
            while let Some(output) = self.pm.poll() {
                moved = true;
                match output {
                    PmOutput::Send(packet) => {
                        let (node, port) = self.world.host();
                        let input = ToFabric::Send { node, port, packet };
                        self.world.emulator.handle(now, input).unwrap();
                    }
                    PmOutput::Image(image) => {
                        self.errors.note(self.now(), &image);
                        self.image = Some(image);
                    }
                    PmOutput::Event(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn take_events(&mut self) {
        for (at, event) in self.world.take_events() {
            let at = START + at.0 / 1_000_000_000;
            match event {
                Event::LinkVanished { a, b } => self.losses.note(at, (a.min(b), a.max(b))),
                Event::SweepEnded(report) => {
                    let sweep = LastSweep {
                        ended: at,
                        elapsed_ns: report.elapsed_ns,
                        unfinished: report.unfinished,
                        unused: report.unused,
                    };
                    self.last_sweep = Some(sweep);
                    self.settle();
                }
                _ => {}
            }
        }
    }

    /// What is done after a sweep.
    fn settle(&mut self) {
        let snapshot = self.world.snapshot();
        self.memory
            .look(self.now(), &snapshot.topology, KEEP, |_| None);
        if self.reads {
            self.pm
                .handle(self.world.now(), PmInput::Published(snapshot));
        }
        let silent = self.world.manager().silent();
        self.silent.retain(|guid, _| silent.contains(guid));
        for guid in silent {
            let silent = Silent {
                since: self.now(),
                times: 1,
                attribute: "NodeInfo".to_owned(),
            };
            self.silent.entry(guid).or_insert(silent);
        }
    }

    /// Sweeps everything, to the end.
    pub(crate) fn sweep(&mut self) {
        let id = self.world.command(Command::Sweep);
        let mut waited = 0;
        while self.world.reply(id).is_none() {
            self.pass(1);
            waited += 1;
            assert!(waited < WITHIN.as_secs(), "the sweep does not end");
        }
        self.take_events();
    }

    /// Lets an hour pass, after which losses and errors count no more.
    pub(crate) fn calm(&mut self) {
        self.pass(3_700);
        let now = self.now();
        self.losses.advance(now);
        self.errors.advance(now);
    }

    pub(crate) fn page(&mut self) -> Page {
        let snapshot = self.world.snapshot();
        let manager = self.world.manager();
        let status = manager.status();
        let totals = &status.totals;
        let (barred, drains) = (
            manager.quarantine(self.world.now()),
            manager.arrangement().drains,
        );
        let now = self.now();
        self.requests
            .note(now, [totals.sent, totals.retries, totals.timeouts]);
        check(&Moment {
            now,
            snapshot: &snapshot,
            memory: &self.memory,
            intended: None,
            cables: &CableMemories::default(),
            image: self.image.as_ref(),
            errors: &self.errors,
            losses: &self.losses,
            barred: &barred,
            drains: &drains,
            silent: &self.silent,
            role: SmState::MASTER,
            requests: self.requests.last_hour(status.round_trip_ns),
            attachment: Attachment {
                attached: true,
                since: START,
            },
            last_sweep: self.last_sweep.as_ref(),
            sweep_interval: 0,
            paused_until: None,
            mandate_unknown: None,
            shape: &Shape::of(
                &snapshot.topology,
                &self.memory,
                Idle::of(&snapshot.topology, &drains, self.last_sweep.as_ref()),
            ),
        })
    }

    /// The only finding.
    pub(crate) fn only(&mut self) -> Finding {
        let found = self.page().findings.into_iter();
        // Names of a fabric that is as it was found are no fault that was planted.
        let mut found: Vec<Finding> = found.filter(|one| one.kind != Kind::SameName).collect();
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    pub(crate) fn guid(&self, node: NodeId) -> Guid {
        self.topology.node(node).unwrap().guid()
    }

    pub(crate) fn end(&self, at: PortRef) -> (Guid, PortNum) {
        (self.guid(at.node), at.port)
    }

    pub(crate) fn name(&self, node: NodeId) -> String {
        self.topology.node(node).unwrap().name()
    }

    /// Hosts of a switch.
    pub(crate) fn hosts_of(&self, switch: NodeId) -> Vec<NodeId> {
        let ports = self.topology.node(switch).unwrap().external_ports();
        let peers = ports.filter_map(|(_, port)| port.peer);
        let hosts = peers.filter(|peer| self.topology.switch_index(peer.node).is_none());
        hosts.map(|peer| peer.node).collect()
    }

    /// A switch with hosts that the manager does not sit on.
    pub(crate) fn edge(&self) -> NodeId {
        let own = self.topology.find(self.world.host().0).unwrap();
        let mut switches = self.topology.switches().iter().rev();
        *switches
            .find(|switch| {
                let hosts = self.hosts_of(**switch);
                !hosts.is_empty() && !hosts.contains(&own)
            })
            .unwrap()
    }

    /// A link of a switch to another one, by its near end.
    pub(crate) fn link_between(&self, switch: NodeId) -> (PortRef, PortRef) {
        let mut ports = self.topology.node(switch).unwrap().external_ports();
        ports
            .find_map(|(port, info)| {
                let peer = info.peer?;
                let is_switch = self.topology.switch_index(peer.node).is_some();
                let end = PortRef { node: switch, port };
                is_switch.then_some((end, peer))
            })
            .unwrap()
    }

    /// The only cable of a host, from the host.
    pub(crate) fn link_of(&self, host: NodeId) -> (PortRef, PortRef) {
        let mut ports = self.topology.node(host).unwrap().external_ports();
        let (port, peer) = ports
            .find_map(|(port, info)| Some((port, info.peer?)))
            .unwrap();
        (PortRef { node: host, port }, peer)
    }

    pub(crate) fn key(&self, (a, b): (PortRef, PortRef)) -> LinkKey {
        let (a, b) = (self.end(a), self.end(b));
        (a.min(b), a.max(b))
    }
}

/// The two ends of a finding, in the order of a link's key.
pub(crate) fn ends(finding: &Finding) -> LinkKey {
    let b = finding.b.as_ref().unwrap();
    let ends = [&finding.a, b].map(|end| (end.node, end.port.unwrap()));
    (ends[0].min(ends[1]), ends[0].max(ends[1]))
}

/// Kinds of all findings but names, in order.
pub(crate) fn kinds(page: &Page) -> Vec<Kind> {
    let kinds = page.findings.iter().map(|finding| finding.kind);
    kinds.filter(|kind| *kind != Kind::SameName).collect()
}
