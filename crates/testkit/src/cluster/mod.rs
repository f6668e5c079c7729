//! Several managers on one emulated fabric, under one clock that moves only when nothing is left to
//! do.

mod hardship;
mod orders;
mod parts;
mod process;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weft_emulator::{Emulator, Options, io as emulated};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Tick, Topology};
use weft_manager::Manager;
use weft_manager::io::{CommandError, Event, Reply};
use weft_manager::sm::{Settings, Told};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::SmpView;

use crate::digest::Digest;
use crate::oracle::Breach;
use crate::oracle::counters::Seen;
use crate::oracle::masters::Write;
use crate::reader::Reader;
use crate::world::WorldError;

use parts::Parts;
pub use process::ServiceSettings;
use process::{Act, Process, Stored};

/// Datagrams at one moment that are taken for a livelock, for each node of the fabric and each
/// manager.
const STEPS_PER_NODE_MAX: u64 = 20_000;
/// Datagrams for programs on other hosts that are kept between two looks; later ones are dropped, as by a full queue.
const DELIVERED_MAX: usize = 65_536;

/// State of a manager's process.
#[derive(Debug)]
enum Life {
    /// There is none.
    Dead,
    /// Stopped, as by SIGSTOP: it keeps its state and sees nothing.
    Frozen(Box<Process>),
    /// It runs.
    Running(Box<Process>),
}

/// A host with a manager's process, or room for one.
#[derive(Debug)]
struct Member {
    host: (Guid, PortNum),
    settings: Settings,
    life: Life,
    /// Its host has power; without it nothing can start.
    powered: bool,
    stored: Stored,
    /// Since when it has been stopped.
    frozen_at: Tick,
    /// How far its clock is behind.
    behind: Duration,
    /// It was told to read its settings while it was stopped.
    reads_settings: bool,
    /// How far its clock on the wall is ahead of those of others, seconds.
    ahead_s: i64,
    /// Judges what it publishes; none where nobody asks.
    reader: Option<Reader>,
}

impl Member {
    /// What its clock says.
    fn clock(&self, now: Tick) -> Tick {
        now - self.behind
    }
}

/// A datagram for a program on a host where no manager is.
#[derive(Debug, Clone)]
pub struct Delivered {
    /// When.
    pub at: Tick,
    /// The host's port.
    pub host: (Guid, PortNum),
    /// The datagram.
    pub packet: Packet,
}

/// A write by a manager that was no master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalSet {
    /// When.
    pub at: Tick,
    /// Number of the manager.
    pub member: usize,
    /// Its role at that time.
    pub role: SmState,
    /// The written attribute.
    pub attribute: AttributeId,
}

/// Several managers and the fabric that they share.
#[derive(Debug)]
pub struct Cluster {
    /// The fabric.
    pub emulator: Emulator,
    members: Vec<Member>,
    now: Tick,
    steps_max: u64,
    events: Vec<(Tick, usize, Event)>,
    illegal: Vec<IllegalSet>,
    writes: Vec<Write>,
    digest: Digest,
    /// Settings of SA and PM; none where managers have neither.
    services: Option<ServiceSettings>,
    delivered: Vec<Delivered>,
    counted: Vec<(usize, Seen)>,
    parts: Parts,
    replies: BTreeMap<u64, Result<Reply, CommandError>>,
    commands: u64,
}

impl Cluster {
    /// A fabric that has just been switched on, with room for managers on `hosts`; none runs yet.
    ///
    /// # Errors
    /// The emulator's objections to the options.
    pub fn new(
        topology: Arc<Topology>,
        options: Options,
        hosts: Vec<((Guid, PortNum), Settings)>,
    ) -> Result<Self, WorldError> {
        let parts = topology.len() as u64 * hosts.len() as u64;
        let members = hosts.into_iter().map(|(host, settings)| Member {
            host,
            settings,
            life: Life::Dead,
            powered: true,
            stored: Stored::default(),
            frozen_at: Tick(0),
            behind: Duration::ZERO,
            reads_settings: false,
            ahead_s: 0,
            reader: None,
        });
        Ok(Self {
            members: members.collect(),
            emulator: Emulator::new(topology, options)?,
            now: Tick(0),
            steps_max: STEPS_PER_NODE_MAX * parts,
            events: Vec::new(),
            illegal: Vec::new(),
            writes: Vec::new(),
            digest: Digest::default(),
            services: None,
            delivered: Vec::new(),
            counted: Vec::new(),
            parts: Parts::default(),
            replies: BTreeMap::new(),
            commands: 0,
        })
    }

    /// Has the managers that are started from now on serve hosts by an SA, and read counters by a PM.
    #[must_use]
    pub fn serving(mut self, settings: ServiceSettings) -> Self {
        self.services = Some(settings);
        self
    }

    /// Has everything judged that managers publish, and the events about it.
    #[must_use]
    pub fn judged(mut self) -> Self {
        let members = self.members.iter_mut();
        members.for_each(|member| member.reader = Some(Reader::default()));
        self
    }

    /// Breaches of the rules about publications and events since this was last called, each with the manager.
    pub fn take_breaches(&mut self) -> Vec<(usize, Breach)> {
        let members = self.members.iter_mut().enumerate();
        let breaches = members.flat_map(|(number, member)| {
            let breaches = member.reader.as_mut().map(Reader::take);
            let breaches = breaches.unwrap_or_default().into_iter();
            breaches.map(move |breach| (number, breach))
        });
        breaches.collect()
    }

    /// The time.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The host of a manager.
    pub fn host(&self, member: usize) -> Guid {
        self.members[member].host.0
    }

    /// The port of a manager.
    pub fn port(&self, member: usize) -> (Guid, PortNum) {
        self.members[member].host
    }

    /// The managers that run, by number.
    pub fn running(&self) -> impl Iterator<Item = (usize, &Manager)> {
        let members = self.members.iter().enumerate();
        members.filter_map(|(number, member)| match &member.life {
            Life::Running(process) => Some((number, &process.manager)),
            _ => None,
        })
    }

    /// The managers' events since the last call.
    pub fn take_events(&mut self) -> Vec<(Tick, usize, Event)> {
        std::mem::take(&mut self.events)
    }

    /// Writes by managers that were no masters, since this was last called.
    pub fn take_illegal(&mut self) -> Vec<IllegalSet> {
        std::mem::take(&mut self.illegal)
    }

    /// The Sets of all managers since this was last called, in order of time.
    pub fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// Datagrams for programs on hosts without a manager, since this was last called; where managers serve hosts.
    pub fn take_delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.delivered)
    }

    /// The totals of the managers' PMs after each of their sweeps, since this was last called.
    pub fn take_counted(&mut self) -> Vec<(usize, Seen)> {
        std::mem::take(&mut self.counted)
    }

    /// Sends a datagram from a host's port, as a program there.
    ///
    /// # Errors
    /// The emulator's refusal.
    pub fn send_from(&mut self, host: (Guid, PortNum), packet: Packet) -> Result<(), WorldError> {
        let (node, port) = host;
        let sent = emulated::Input::Send { node, port, packet };
        Ok(self.emulator.handle(self.now, sent)?)
    }

    /// Digest of all datagrams of the managers, with their times.
    pub fn datagrams(&self) -> u64 {
        self.digest.value()
    }

    /// Changes the fabric.
    ///
    /// # Errors
    /// The emulator's refusal.
    pub fn control(&mut self, control: emulated::Control) -> Result<(), WorldError> {
        Ok(self
            .emulator
            .handle(self.now, emulated::Input::Control(control))?)
    }

    /// Powers a host off, its manager with it, or on.
    ///
    /// # Errors
    /// The emulator's refusal.
    pub fn power(&mut self, member: usize, on: bool) -> Result<(), WorldError> {
        let (node, _) = self.members[member].host;
        if on {
            self.control(emulated::Control::NodeUp { node })?;
        } else {
            self.kill(member)?;
            self.control(emulated::Control::NodeDown { node })?;
        }
        self.members[member].powered = on;
        Ok(())
    }

    /// Starts a manager that does not run, with its stored state.
    ///
    /// # Errors
    /// The emulator's refusal.
    pub fn start(&mut self, member: usize) -> Result<(), WorldError> {
        let entry = &mut self.members[member];
        if !matches!(entry.life, Life::Dead) || !entry.powered {
            return Ok(());
        }
        let (settings, services) = (entry.settings.clone(), self.services.as_ref());
        entry.behind = Duration::ZERO;
        entry.reads_settings = false;
        if let Some(reader) = &mut entry.reader {
            reader.begin();
        }
        let process = Process::start((self.now, entry.ahead_s), settings, services, &entry.stored);
        entry.life = Life::Running(Box::new(process));
        self.set_is_sm(member, true)?;
        self.tick(member);
        Ok(())
    }

    /// Ends a manager as a crash would.
    ///
    /// # Errors
    /// The emulator's refusal.
    pub fn kill(&mut self, member: usize) -> Result<(), WorldError> {
        self.members[member].life = Life::Dead;
        self.members[member].stored.unsaved = None;
        self.set_is_sm(member, false)
    }

    /// Stops a manager that runs.
    pub fn freeze(&mut self, member: usize) {
        self.members[member].frozen_at = self.now;
        let life = &mut self.members[member].life;
        *life = match std::mem::replace(life, Life::Dead) {
            Life::Running(process) => Life::Frozen(process),
            other => other,
        };
    }

    /// Lets a manager that was stopped go on.
    pub fn thaw(&mut self, member: usize) {
        let life = &mut self.members[member].life;
        *life = match std::mem::replace(life, Life::Dead) {
            Life::Frozen(process) => Life::Running(process),
            other => other,
        };
        if std::mem::take(&mut self.members[member].reads_settings) {
            self.reconfigure(member, self.members[member].settings.clone());
        }
        self.tick(member);
    }

    /// As [`Self::thaw`], but its clock stood still meanwhile, as in a virtual machine that was paused.
    pub fn thaw_unaware(&mut self, member: usize) {
        let entry = &mut self.members[member];
        entry.behind += self.now.since(entry.frozen_at);
        self.thaw(member);
    }

    /// What a manager would find after a restart; none before it has written anything.
    pub fn stored(&self, member: usize) -> Option<&[u8]> {
        self.members[member].stored.manager.as_deref()
    }

    /// What a manager hands on: its last state, also where that could not be written.
    pub fn last_state(&self, member: usize) -> Option<&[u8]> {
        let stored = &self.members[member].stored;
        stored.unsaved.as_deref().or(stored.manager.as_deref())
    }

    /// Tells a manager that runs something of its master, by another way than the fabric.
    pub fn tell(&mut self, member: usize, told: Told) {
        let now = self.members[member].clock(self.now);
        if let Life::Running(process) = &mut self.members[member].life {
            process.manager.tell(now, told);
        }
    }

    fn set_is_sm(&mut self, member: usize, is_sm: bool) -> Result<(), WorldError> {
        let (node, port) = self.members[member].host;
        self.control(emulated::Control::IsSm { node, port, is_sm })
    }

    fn tick(&mut self, member: usize) {
        let now = self.members[member].clock(self.now);
        if let Life::Running(process) = &mut self.members[member].life {
            process.tick(now);
        }
    }

    /// When each of the managers that run wants to be called.
    fn deadlines(&self) -> impl Iterator<Item = Tick> {
        self.members.iter().filter_map(|member| match &member.life {
            Life::Running(process) => Some(process.deadline()? + member.behind),
            _ => None,
        })
    }

    /// Lets everything happen that happens up to `until`.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn run_until(&mut self, until: Tick) -> Result<(), WorldError> {
        while self.step(until)? {}
        Ok(())
    }

    /// On to the next moment up to `until` at which something is to be done; returns whether there is one.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn step(&mut self, until: Tick) -> Result<bool, WorldError> {
        self.exchange()?;
        let deadlines = self.deadlines().chain(self.emulator.deadline());
        let Some(next) = deadlines.min().filter(|next| *next <= until) else {
            self.now = self.now.max(until);
            return Ok(false);
        };
        self.now = self.now.max(next);
        self.emulator.handle(self.now, emulated::Input::Tick)?;
        (0..self.members.len()).for_each(|member| self.tick(member));
        self.exchange()?;
        Ok(true)
    }

    /// Exchanges datagrams until there are none left.
    fn exchange(&mut self) -> Result<(), WorldError> {
        for _ in 0..self.steps_max {
            let mut moved = self.deliver();
            for member in 0..self.members.len() {
                moved |= self.take_from(member)?;
            }
            if !moved {
                return Ok(());
            }
        }
        Err(WorldError::Livelock {
            steps: self.steps_max,
            now_ns: self.now.0,
        })
    }

    fn deliver(&mut self) -> bool {
        let mut moved = false;
        while let Some(emulated::Output::Deliver { node, port, packet }) = self.emulator.poll() {
            moved = true;
            let at = |member: &Member| member.host == (node, port);
            if let Some(member) = self.members.iter().position(at) {
                self.digest.add(self.now, member, false, &packet);
                let now = self.members[member].clock(self.now);
                if let Life::Running(process) = &mut self.members[member].life {
                    process.receive(now, packet);
                }
            } else if self.services.is_some() && self.delivered.len() < DELIVERED_MAX {
                let (at, host) = (self.now, (node, port));
                self.delivered.push(Delivered { at, host, packet });
            }
        }
        moved
    }

    fn take_from(&mut self, member: usize) -> Result<bool, WorldError> {
        let mut moved = false;
        let now = self.members[member].clock(self.now);
        loop {
            let Life::Running(process) = &mut self.members[member].life else {
                return Ok(moved);
            };
            let role = process.manager.role();
            let Some(act) = process.poll(now) else {
                return Ok(moved);
            };
            moved = true;
            let Member { stored, reader, .. } = &mut self.members[member];
            match act {
                Act::Send(packet) => self.send(member, role, packet)?,
                Act::Persist(bytes) => stored.save(bytes),
                Act::Register(bytes) => stored.register(bytes),
                Act::Event(event) => {
                    if let Some(reader) = reader {
                        reader.told(self.now, &event);
                    }
                    self.events.push((self.now, member, event));
                }
                Act::Published(snapshot) => {
                    if let Some(reader) = reader {
                        reader.published(&snapshot);
                    }
                }
                Act::Counted(seen) => self.counted.push((member, *seen)),
                Act::Reply(id, result) => drop(self.replies.insert(id, result)),
                Act::Internal => {}
            }
        }
    }

    fn send(&mut self, member: usize, role: SmState, packet: Packet) -> Result<(), WorldError> {
        self.digest.add(self.now, member, true, &packet);
        if let Ok(view) = SmpView::parse(&packet.mad)
            && view.header.method == method::SET
            && view.attribute() != AttributeId::SM_INFO
        {
            let (at, attribute) = (self.now, view.attribute());
            if role != SmState::MASTER {
                self.illegal.push(IllegalSet {
                    at,
                    member,
                    role,
                    attribute,
                });
            }
            let host = self.members[member].host.0;
            let part = self.parts.of(self.emulator.network(), host);
            self.writes.push(Write { at, member, part });
        }
        let (node, port) = self.members[member].host;
        let sent = emulated::Input::Send { node, port, packet };
        Ok(self.emulator.handle(self.now, sent)?)
    }
}
