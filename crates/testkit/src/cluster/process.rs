//! A manager's process: the subnet manager, and where it serves hosts its SA and its PM, wired as the daemon wires them.

use std::sync::Arc;

use weft_fabric::enums::SmState;
use weft_fabric::{Snapshot, Tick};
use weft_manager::io::{Event, Input, Output, Reply};
use weft_manager::pm::{Image, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::sm::Settings;
use weft_manager::{Manager, Planner, Sa, SaInput, SaOutput, SaSettings};
use weft_wire::header::class;
use weft_wire::packet::Packet;

use crate::oracle::counters::Seen;

/// Settings of the cores beside the subnet manager.
#[derive(Debug, Clone, Default)]
pub struct ServiceSettings {
    /// Of the SA.
    pub sa: SaSettings,
    /// Of the PM.
    pub pm: PmSettings,
}

/// State on stable storage, which outlives the process.
#[derive(Debug, Clone, Default)]
pub(super) struct Stored {
    /// Of the subnet manager.
    pub(super) manager: Option<Vec<u8>>,
    /// Registrations of hosts, unless they are stale.
    pub(super) registrations: Option<Vec<u8>>,
    /// The disk has no room.
    full: bool,
    /// The subnet manager's state that is to be written when it has.
    pub(super) unsaved: Option<Vec<u8>>,
}

impl Stored {
    pub(super) fn save(&mut self, bytes: Vec<u8>) {
        let place = match self.full {
            true => &mut self.unsaved,
            false => &mut self.manager,
        };
        *place = Some(bytes);
    }

    /// A file can be removed from a full disk, and no other takes its place.
    pub(super) fn register(&mut self, bytes: Option<Vec<u8>>) {
        self.registrations = bytes.filter(|_| !self.full);
    }

    pub(super) fn set_full(&mut self, full: bool) {
        self.full = full;
        if let Some(bytes) = self.unsaved.take_if(|_| !full) {
            self.manager = Some(bytes);
        }
    }
}

/// Something that a process does.
#[derive(Debug)]
pub(super) enum Act {
    /// It sends a datagram.
    Send(Packet),
    /// It writes its state.
    Persist(Vec<u8>),
    /// It writes the registrations, or withdraws them.
    Register(Option<Vec<u8>>),
    /// It tells an event.
    Event(Event),
    /// It answers a command.
    Reply(u64, Result<Reply, weft_manager::CommandError>),
    /// The totals of the PM, after a sweep.
    Counted(Box<Seen>),
    /// It publishes the fabric.
    Published(Arc<Snapshot>),
    /// One of its cores has told another something.
    Internal,
}

/// The SA and the PM.
#[derive(Debug)]
struct Services {
    sa: Sa,
    pm: Pm,
    /// What the master has published; none in a standby.
    snapshot: Option<Arc<Snapshot>>,
}

/// A process that has been started.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) manager: Manager,
    planner: Planner,
    services: Option<Services>,
}

impl Process {
    /// With the time, and how far the clock on the wall is ahead, seconds.
    pub(super) fn start(
        (now, ahead_s): (Tick, i64),
        settings: Settings,
        services: Option<&ServiceSettings>,
        stored: &Stored,
    ) -> Self {
        let services = services.map(|settings| {
            let mut services = Services::start(now, settings, stored);
            services.tell_time(now, ahead_s);
            services
        });
        Self {
            manager: Manager::new(settings, stored.manager.as_deref()),
            planner: Planner::default(),
            services,
        }
    }

    /// The clock on the wall was set.
    pub(super) fn tell_time(&mut self, now: Tick, ahead_s: i64) {
        if let Some(services) = &mut self.services {
            services.tell_time(now, ahead_s);
        }
    }

    pub(super) fn tick(&mut self, now: Tick) {
        self.manager.handle(now, Input::Tick);
        if let Some(services) = &mut self.services {
            services.sa.handle(now, SaInput::Tick);
            services.pm.handle(now, PmInput::Tick);
        }
    }

    /// Deals a datagram out by its class.
    pub(super) fn receive(&mut self, now: Tick, packet: Packet) {
        match &mut self.services {
            Some(services) if !packet.is_for_sm() => services.receive(now, packet),
            _ => self.manager.handle(now, Input::Received(packet)),
        }
    }

    pub(super) fn deadline(&self) -> Option<Tick> {
        let services = self.services.as_ref();
        let deadlines = [
            self.manager.deadline(),
            self.planner.deadline(),
            services.and_then(|services| services.sa.deadline()),
            services.and_then(|services| services.pm.deadline()),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What it does next.
    pub(super) fn poll(&mut self, now: Tick) -> Option<Act> {
        if let Some(output) = self.manager.poll() {
            return Some(self.take(now, output));
        }
        if let Some(planned) = self.planner.ready(now) {
            self.manager.handle(now, planned);
            return Some(Act::Internal);
        }
        let services = self.services.as_mut()?;
        if let Some(output) = services.sa.poll() {
            return Some(match output {
                SaOutput::Send(packet) => Act::Send(packet),
                SaOutput::Multicast(groups) => {
                    self.manager.handle(now, Input::Multicast(groups));
                    Act::Internal
                }
                SaOutput::Storm(storm) => {
                    self.manager.handle(now, Input::MulticastStorm(storm));
                    Act::Internal
                }
                SaOutput::Groups(_) => Act::Internal,
                SaOutput::Stale => Act::Register(None),
                SaOutput::Persist(bytes) => Act::Register(Some(bytes)),
            });
        }
        let output = services.pm.poll()?;
        Some(services.counted(now, output))
    }

    fn take(&mut self, now: Tick, output: Output) -> Act {
        match output {
            Output::Plan(input) => self.planner.begin(now, input),
            Output::Send(packet) => return Act::Send(packet),
            Output::Persist(bytes) => return Act::Persist(bytes),
            Output::Reply { id, result } => return Act::Reply(id, result),
            Output::Event(event) => {
                if let (Event::Role { role, .. }, Some(services)) = (&event, &mut self.services)
                    && *role != SmState::MASTER
                {
                    services.stand_by(now);
                }
                return Act::Event(event);
            }
            Output::Publish(snapshot) => {
                if let Some(services) = &mut self.services {
                    services.publish(now, Arc::clone(&snapshot));
                }
                return Act::Published(snapshot);
            }
            Output::Notice(notice) => {
                if let Some(services) = &mut self.services {
                    services.sa.handle(now, SaInput::Notice(notice));
                }
            }
            Output::RegistrationsLost { asked } => {
                if let Some(services) = &mut self.services {
                    let lost = SaInput::RegistrationsLost { asked };
                    services.sa.handle(now, lost);
                }
            }
        }
        Act::Internal
    }
}

impl Services {
    fn start(now: Tick, settings: &ServiceSettings, stored: &Stored) -> Self {
        let new = || Sa::new(settings.sa.clone());
        let restored = stored.registrations.as_deref();
        let restored =
            restored.and_then(|bytes| Sa::restored(settings.sa.clone(), bytes, now).ok());
        Self {
            sa: restored.unwrap_or_else(new),
            pm: Pm::new(settings.pm.clone()),
            snapshot: None,
        }
    }

    fn tell_time(&mut self, now: Tick, ahead_s: i64) {
        let unix_s = unix_s(now, ahead_s);
        self.pm.handle(now, PmInput::WallClock { unix_s });
    }

    /// A standby does not answer hosts.
    fn receive(&mut self, now: Tick, packet: Packet) {
        match packet.mad.get(1) {
            Some(&class::SUBN_ADM) if self.snapshot.is_some() => {
                self.sa.handle(now, SaInput::Received(packet));
            }
            Some(&(class::PERF | class::PA)) => self.pm.handle(now, PmInput::Received(packet)),
            _ => {}
        }
    }

    fn publish(&mut self, now: Tick, snapshot: Arc<Snapshot>) {
        self.snapshot = Some(Arc::clone(&snapshot));
        self.sa
            .handle(now, SaInput::Published(Arc::clone(&snapshot)));
        self.pm.handle(now, PmInput::Published(snapshot));
    }

    fn stand_by(&mut self, now: Tick) {
        self.snapshot = None;
        self.pm.handle(now, PmInput::StandBy);
    }

    fn counted(&mut self, now: Tick, output: PmOutput) -> Act {
        match output {
            PmOutput::Send(packet) => Act::Send(packet),
            PmOutput::Image(image) => self.seen(&image),
            PmOutput::Recall(name) => {
                self.pm.handle(now, PmInput::Recalled { name, image: None });
                Act::Internal
            }
            PmOutput::Cleared(_) | PmOutput::Event(_) => Act::Internal,
        }
    }

    fn seen(&self, image: &Image) -> Act {
        Act::Counted(Box::new(Seen::of(&self.pm, image)))
    }
}

/// Seconds since 1970 at tick 0.
const UNIX_START: u64 = 1_700_000_000;

/// What a clock on the wall says that is so many seconds ahead.
pub(super) fn unix_s(now: Tick, ahead_s: i64) -> u64 {
    let unix_s = UNIX_START + now.0 / 1_000_000_000;
    unix_s.saturating_add_signed(ahead_s)
}
