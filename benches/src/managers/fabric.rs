//! The emulated fabric behind its socket, and its record of a manager.

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use weft_emulator::host::{HostHandle, spawn_task};
use weft_emulator::io::Control;
use weft_emulator::server::Server;
use weft_emulator::stats::Burst;
use weft_emulator::{Emulator, Options};
use weft_fabric::enums::PortState;
use weft_fabric::{NodeId, PortNum, PortRef, Tick, Topology};
use weft_transport::Address;
use weft_wire::sm::AttributeId;

use crate::Failure;
use crate::fabrics::new_tree;

/// Ports of the switches.
const RADIX: u8 = 48;
/// Polling interval of the emulator.
const POLL: Duration = Duration::from_millis(1);
/// No datagram for so long means that a sweep is over; on large fabrics managers compute for longer
/// than on small ones.
const QUIET: Duration = Duration::from_secs(3);
const QUIET_LARGE: Duration = Duration::from_secs(30);
/// Hosts from which a fabric is large.
const LARGE: u64 = 10_000;
/// Longest that a sweep may take: a serial manager, slow agents and the largest fabric.
const PATIENCE: Duration = Duration::from_secs(1800);

/// An emulated fabric that programs can connect to.
pub(crate) struct Fabric {
    pub(crate) hosts: u64,
    topology: Arc<Topology>,
    handle: HostHandle,
    runtime: Runtime,
    dir: TempDir,
}

/// Counts of the agents at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Time of the first request to a switch.
    pub(super) first_at_switch: Tick,
    /// When the first, the last datagram since the last silence was answered.
    pub(super) first: Tick,
    pub(super) last: Tick,
    pub(super) last_set: Tick,
    /// When a port was set last.
    pub(super) last_port_set: Tick,
    pub(super) datagrams: u64,
    pub(crate) sets: u64,
}

/// A cable that was cut: its two ends, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    ends: [PortRef; 2],
    pub(super) at: Tick,
}

impl Fabric {
    /// A fat tree that has just been switched on.
    pub(crate) fn start(hosts: u64, latency_us: u64) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::BringUp {
            hosts,
            why: error.to_string(),
        };
        let topology = Arc::new(new_tree(hosts, RADIX)?);
        let options = Options {
            agent_latency_ns: latency_us * 1_000,
            ..Options::default()
        };
        let dir = tempfile::tempdir().map_err(Failure::io("temporary directory"))?;
        // Sockets and fabric on one thread, as in weft-emulator.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(Failure::io("runtime"))?;
        let handle = {
            let _entered = runtime.enter();
            spawn_task(Arc::clone(&topology), options).map_err(|error| failed(&error))?
        };
        let address = Address::Unix(dir.path().join("fabric.sock"));
        let server = runtime.block_on(Server::listen(&address, false));
        let server = server.map_err(|error| failed(&error))?;
        runtime.spawn(server.run(handle.clone(), std::future::pending()));
        Ok(Self {
            hosts,
            topology,
            handle,
            runtime,
            dir,
        })
    }

    /// Address for programs.
    pub(crate) fn address(&self) -> Address {
        Address::Unix(self.dir.path().join("fabric.sock"))
    }

    /// Directory for programs.
    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn failed(&self, why: impl Into<String>) -> Failure {
        Failure::BringUp {
            hosts: self.hosts,
            why: why.into(),
        }
    }

    pub(crate) fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&Emulator) -> R + Send + 'static,
    ) -> Result<R, Failure> {
        let seen = self.runtime.block_on(self.handle.inspect(look));
        seen.map_err(|error| self.failed(error.to_string()))
    }

    /// Gets and Sets of each attribute by now.
    pub(super) fn attributes(&self) -> Result<Vec<(u64, u64)>, Failure> {
        self.inspect(|emulator| {
            let all = AttributeId::ALL.iter();
            all.map(|attribute| emulator.stats().total(*attribute))
                .collect()
        })
    }

    /// Datagrams of performance management since the last silence.
    pub(crate) fn performance(&self) -> Result<Option<Burst>, Failure> {
        self.inspect(|emulator| emulator.stats().performance())
    }

    /// Counts up to now.
    pub(crate) fn moment(&self) -> Result<Moment, Failure> {
        self.inspect(moment)
    }

    /// Waits for the first sweep: every port Active, then nothing for a while.
    pub(crate) fn wait_until_up(&self) -> Result<Moment, Failure> {
        self.wait("not all ports are Active", |emulator| {
            emulator.stats().first_at_switch().is_some() && all_active(emulator)
        })
    }

    /// Waits until the manager starts to act; returns the time.
    pub(super) fn wait_for_work(&self, before: Moment) -> Result<Tick, Failure> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let now = self.moment()?;
            if now.last > before.last {
                return Ok(now.first);
            }
            sleep(POLL);
        }
        Err(self.failed("the manager does nothing"))
    }

    /// Waits until nothing has happened for a while.
    pub(crate) fn wait_until_quiet(&self) -> Result<Moment, Failure> {
        self.wait("the manager does not come to rest", |_| true)
    }

    /// Waits until no route leads to a cut cable, then until nothing has happened for a while.
    pub(super) fn wait_until_around(&self, cut: Cut) -> Result<Moment, Failure> {
        self.wait("routes still lead to the cut cable", move |emulator| {
            cut.ends.iter().all(|end| !leads_to(emulator, *end))
        })
    }

    fn wait(
        &self,
        why: &str,
        done: impl Fn(&Emulator) -> bool + Send + Copy + 'static,
    ) -> Result<Moment, Failure> {
        let start = Instant::now();
        let mut busy = start;
        let mut last = Tick::default();
        let silence = match self.hosts {
            LARGE.. => QUIET_LARGE,
            _ => QUIET,
        };
        while start.elapsed() < PATIENCE {
            let quiet = busy.elapsed() >= silence;
            let (seen, done) =
                self.inspect(move |emulator| (moment(emulator), quiet && done(emulator)))?;
            if done {
                return Ok(seen);
            }
            if std::mem::replace(&mut last, seen.last) != seen.last {
                busy = Instant::now();
            }
            sleep(POLL);
        }
        Err(self.failed(why))
    }

    /// The nodes and cables.
    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Changes it.
    pub(crate) fn control(&self, control: Control) -> Result<(), Failure> {
        let done = self.runtime.block_on(self.handle.control(control));
        done.map(drop)
            .map_err(|error| self.failed(error.to_string()))
    }

    /// Waits for something that is asynchronous.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Cuts a cable between two switches.
    pub(super) fn cut_a_link(&self) -> Result<Cut, Failure> {
        let switch = |end: &PortRef| self.topology.switch_index(end.node).is_some();
        let mut links = self.topology.links();
        let (a, b) = links
            .find(|(a, b)| switch(a) && switch(b))
            .ok_or_else(|| self.failed("no cable between two switches"))?;
        let node = self.topology.node(a.node).map(|node| node.guid());
        let control = Control::LinkDown {
            node: node.unwrap_or_default(),
            port: a.port,
        };
        let done = self.runtime.block_on(self.handle.control(control));
        let at = done.map_err(|error| self.failed(error.to_string()))?;
        Ok(Cut { ends: [a, b], at })
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        self.runtime.block_on(self.handle.stop());
    }
}

fn moment(emulator: &Emulator) -> Moment {
    let stats = emulator.stats();
    Moment {
        first_at_switch: stats.first_at_switch().unwrap_or_default(),
        first: stats.first().unwrap_or_default(),
        last: stats.last().unwrap_or_default(),
        last_set: stats.last_set().unwrap_or_default(),
        last_port_set: stats.last_port_set().unwrap_or_default(),
        datagrams: stats.datagrams(),
        sets: stats.sets_total(),
    }
}

/// Whether every cabled port carries data.
fn all_active(emulator: &Emulator) -> bool {
    let network = emulator.network();
    network.devices().all(|(_, device)| {
        device
            .ports()
            .filter(|(port, at)| *port != PortNum(0) && network.peer(*at).is_some())
            .all(|(_, at)| network.state(at) == PortState::ACTIVE)
    })
}

/// Whether a switch forwards anything to a port.
fn leads_to(emulator: &Emulator, end: PortRef) -> bool {
    let switch = emulator.network().switch(NodeId(end.node.0));
    switch.is_some_and(|switch| {
        let top = switch.info().linear_fdb_top as usize;
        let used = switch.linear().iter().take(top + 1);
        used.into_iter().any(|port| *port == end.port.0)
    })
}
