//! Reads the counters of an emulated fabric as the daemon does, in this process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weft_config::link_rules::LinkRules;
use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_emulator::{ErrorCounts, Options as EmulatorOptions};
use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_manager::ManagerSettings;
use weft_manager::pm::{Image, Pm, PmInput, PmOutput};
use weft_routing::EngineKind;
use weft_testkit::{NoTap, Wait, World};
use weft_wire::packet::Packet;

use crate::Failure;
use crate::fabrics::new_tree;

/// Performance management on a fabric that is up.
pub(crate) struct Reader {
    world: World<NoTap>,
    pm: Pm,
    now: Tick,
    hosts: u64,
    counts: Counts,
    /// Requests of this sweep, to tell those that are sent again.
    asked: BTreeSet<(Lid, u64)>,
}

/// What readings have taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    /// Datagrams sent.
    pub(crate) sent: u64,
    /// Those of them that were sent again.
    pub(crate) again: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Time that performance management has computed.
    pub(crate) core: Duration,
}

impl Reader {
    /// On a tree, with rules for links with errors.
    pub(crate) fn new(hosts: u64, radix: u8, rules: LinkRules) -> Result<Self, Failure> {
        Self::with_latency(hosts, radix, rules, 0)
    }

    /// The same, with agents that take this many microseconds for a request.
    pub(crate) fn with_latency(
        hosts: u64,
        radix: u8,
        rules: LinkRules,
        latency_us: u64,
    ) -> Result<Self, Failure> {
        let mut settings = ManagerSettings::default();
        let why = |error: String| Failure::BringUp { hosts, why: error };
        let applied = settings.apply_link_rules(rules);
        applied.map_err(|error| why(error.to_string()))?;
        settings.sm.routing.engine = EngineKind::FatTree;
        let topology = Arc::new(new_tree(hosts, radix)?);
        let options = EmulatorOptions {
            agent_latency_ns: latency_us * 1_000,
            ..EmulatorOptions::default()
        };
        let world = World::new(topology, options, settings.sm, NoTap)?;
        let mut world = world.without_reader();
        let wait = world.bring_up(Duration::from_secs(600))?;
        if wait != Wait::Done {
            return Err(why("not in time".to_owned()));
        }
        let pm = settings.pm.ok_or_else(|| why("no PM".to_owned()))?;
        let mut reader = Self {
            pm: Pm::new(pm),
            now: world.now(),
            world,
            hosts,
            counts: Counts::default(),
            asked: BTreeSet::new(),
        };
        let snapshot = reader.world.snapshot();
        reader.pm.handle(reader.now, PmInput::Published(snapshot));
        Ok(reader)
    }

    /// The ends of all links.
    pub(crate) fn ports(&self) -> Vec<(Guid, PortNum)> {
        let snapshot = self.world.snapshot();
        let topology = &snapshot.topology;
        let ends = topology.links().flat_map(|(a, b)| [a, b]);
        let named = ends.filter_map(|end| Some((topology.node(end.node)?.guid(), end.port)));
        named.collect()
    }

    /// Lets ports count an error.
    pub(crate) fn plant<'a>(
        &mut self,
        ports: impl Iterator<Item = &'a (Guid, PortNum)>,
    ) -> Result<(), Failure> {
        for (node, port) in ports {
            self.control(Control::CountErrors {
                node: *node,
                port: *port,
                errors: ErrorCounts {
                    symbol_errors: 1,
                    discards: 1,
                    ..ErrorCounts::default()
                },
            })?;
        }
        Ok(())
    }

    fn control(&mut self, control: Control) -> Result<(), Failure> {
        let done = self
            .world
            .emulator
            .handle(self.now, ToFabric::Control(control));
        done.map_err(|error| self.failed(error.to_string()))
    }

    pub(crate) fn failed(&self, why: String) -> Failure {
        Failure::BringUp {
            hosts: self.hosts,
            why,
        }
    }

    /// Silences the agents of so many percent of the hosts, those at equal distances; returns their number.
    pub(crate) fn silence(&mut self, percent: u32) -> Result<u64, Failure> {
        if percent == 0 {
            return Ok(0);
        }
        let (own, _) = self.world.host();
        let snapshot = self.world.snapshot();
        let hosts = snapshot.topology.hfis().map(|(_, node)| node.guid());
        let chosen = hosts.step_by((100 / percent.clamp(1, 100)) as usize);
        let chosen: Vec<Guid> = chosen.filter(|guid| *guid != own).collect();
        for node in &chosen {
            let node = *node;
            self.control(Control::Silence { node, silent: true })?;
        }
        Ok(chosen.len() as u64)
    }

    /// What readings have taken since the counts were last forgotten.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn forget_counts(&mut self) {
        self.counts = Counts::default();
        self.asked.clear();
    }

    /// Gives performance management an input.
    fn give(&mut self, input: PmInput) {
        let start = Instant::now();
        self.pm.handle(self.now, input);
        self.counts.core += start.elapsed();
    }

    fn take(&mut self) -> Option<PmOutput> {
        let start = Instant::now();
        let output = self.pm.poll();
        self.counts.core += start.elapsed();
        output
    }

    fn count(&mut self, packet: &Packet) {
        let transaction = packet
            .mad
            .get(8..16)
            .and_then(|bytes| bytes.try_into().ok());
        let transaction = u64::from_be_bytes(transaction.unwrap_or_default());
        self.counts.sent += 1;
        self.counts.bytes_sent += packet.mad.len() as u64;
        let is_new = self.asked.insert((packet.dlid, transaction));
        self.counts.again += u64::from(!is_new);
    }

    /// The next reading of all counters.
    pub(crate) fn read(&mut self) -> Result<Arc<Image>, Failure> {
        let own = self.world.host();
        loop {
            while let Some(output) = self.take() {
                match output {
                    PmOutput::Image(image) => return Ok(image),
                    PmOutput::Send(packet) => {
                        self.count(&packet);
                        let (node, port) = own;
                        let sent = ToFabric::Send { node, port, packet };
                        let sent = self.world.emulator.handle(self.now, sent);
                        sent.map_err(|error| self.failed(error.to_string()))?;
                    }
                    PmOutput::Event(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
                }
            }
            let mut answered = false;
            while let Some(FromFabric::Deliver { node, port, packet }) = self.world.emulator.poll()
            {
                if (node, port) == own {
                    answered = true;
                    self.counts.bytes_received += packet.mad.len() as u64;
                    self.give(PmInput::Received(packet));
                }
            }
            if answered {
                continue;
            }
            let due = [self.pm.deadline(), self.world.emulator.deadline()];
            let due = due.into_iter().flatten().min();
            let due = due.ok_or_else(|| self.failed("no reading comes".to_owned()))?;
            self.now = self.now.max(due);
            let passed = self.world.emulator.handle(self.now, ToFabric::Tick);
            passed.map_err(|error| self.failed(error.to_string()))?;
            self.give(PmInput::Tick);
        }
    }
}
