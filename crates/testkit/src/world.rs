//! One manager, one emulated fabric, one clock that moves only when nothing is left to do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weft_emulator::{Emulator, Options, io as emulated};
use weft_fabric::{Guid, PortNum, Snapshot, Tick, Topology};
use weft_manager::congestion::{Congestion, CongestionInput, CongestionOutput, CongestionSettings};
use weft_manager::io::{Command, CommandError, Event, Input, Output, Reply};
use weft_manager::sm::Settings;
use weft_manager::sm::reroute::{Arrangement, Basis, Change, Condition, RerouteError};
use weft_manager::{Manager, MulticastLid, Planner, Sa, SaInput, SaOutput, SaSettings};
use weft_replay::{Recorded, Recorder, ReplayedManager};
use weft_wire::header::class;
use weft_wire::packet::Packet;

use thiserror::Error;

use crate::administration::Administration;
use crate::door::Door;
use crate::oracle::Breach;
use crate::reader::Reader;
use crate::tape::Tape;

/// Longest time for which devices' answers about congestion control are waited for.
pub const CONTROL_MAX: Duration = Duration::from_secs(600);

/// Why a world cannot be made or cannot go on.
#[derive(Debug, Error)]
pub enum WorldError {
    /// No HFI with a cable for the manager to sit on.
    #[error("the fabric has no HFI with a cable for the manager to sit on")]
    NoHost,
    /// The emulator refused.
    #[error(transparent)]
    Control(#[from] emulated::ControlError),
    /// A recording cannot begin.
    #[error("no recording begins: {0}")]
    Tape(#[from] std::io::Error),
    /// The manager and the emulator keep each other busy without time passing.
    #[error("{steps} datagrams at {now_ns} ns without time passing")]
    Livelock {
        /// Datagrams that went to and fro.
        steps: u64,
        /// When.
        now_ns: u64,
    },
}

/// Whether what was waited for came in time.
#[must_use = "what did not come in time is a breach"]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// It came.
    Done,
    /// The time was over first.
    TimedOut,
}

/// Sees every datagram that crosses the manager's port.
pub trait Tap {
    /// A datagram; `sent` by the manager, or received by it.
    fn see(&mut self, now: Tick, sent: bool, packet: &Packet);
}

/// A tap that looks at nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTap;

impl Tap for NoTap {
    fn see(&mut self, _: Tick, _: bool, _: &Packet) {}
}

/// Datagrams at one moment that are taken for a livelock, for each port of the fabric.
const STEPS_PER_PORT_MAX: u64 = 2_000;
/// Ports that a node may have.
const PORTS_MAX: u64 = 256;

/// A manager that is started, recorded where there is a tape, and the recorder of its subnet administration.
fn started(
    now: Tick,
    settings: Settings,
    stored: Option<&[u8]>,
    tape: Option<&Tape>,
) -> Result<(Recorded, Option<Recorder>), WorldError> {
    let recorders = tape.map(|tape| tape.recorders("testkit")).transpose()?;
    let (recorder, sa_recorder) = recorders.unzip();
    let manager = Recorded::new(now, settings, stored, recorder);
    Ok((manager, sa_recorder))
}

/// A manager and the fabric that it manages.
#[derive(Debug)]
pub struct World<T: Tap = NoTap> {
    /// The fabric.
    pub emulator: Emulator,
    /// Observer of the manager's port.
    pub tap: T,
    manager: Recorded,
    /// Where its inputs are recorded, and those of later ones.
    tape: Option<Tape>,
    planner: Planner,
    /// Records subnet administration, once that begins.
    sa_recorder: Option<Recorder>,
    administration: Option<Administration>,
    /// Writes congestion control, after the first request.
    congestion: Option<Congestion>,
    /// Its settings that devices refused.
    refusals: Vec<String>,
    now: Tick,
    host: (Guid, PortNum),
    steps_max: u64,
    /// Moments in a row at which no time passed.
    standing: u64,
    door: Door,
    /// Judges what is published; none in measurements, which also count no requests.
    reader: Option<Reader>,
    events: Vec<(Tick, Event)>,
    stored: Option<Vec<u8>>,
    replies: BTreeMap<u64, Result<Reply, CommandError>>,
    commands: u64,
}

impl<T: Tap> World<T> {
    /// A fabric that has just been switched on, and a manager on its first cabled HFI.
    ///
    /// # Errors
    /// [`WorldError::NoHost`], or the emulator's objections to the options.
    pub fn new(
        topology: Arc<Topology>,
        options: Options,
        settings: Settings,
        tap: T,
    ) -> Result<Self, WorldError> {
        Self::taped(topology, options, settings, tap, None)
    }

    /// As [`Self::new`], with recordings of the managers.
    ///
    /// # Errors
    /// As there, or [`WorldError::Tape`].
    pub fn taped(
        topology: Arc<Topology>,
        options: Options,
        settings: Settings,
        tap: T,
        tape: Option<Tape>,
    ) -> Result<Self, WorldError> {
        let host = first_host(&topology).ok_or(WorldError::NoHost)?;
        let ports: usize = topology.nodes().map(|(_, node)| node.ports().len()).sum();
        let mut emulator = Emulator::new(topology, options)?;
        let (node, port) = host;
        let is_sm = emulated::Control::IsSm {
            node,
            port,
            is_sm: true,
        };
        emulator.handle(Tick(0), emulated::Input::Control(is_sm))?;
        let (mut manager, sa_recorder) = started(Tick(0), settings, None, tape.as_ref())?;
        manager.handle(Tick(0), Input::Tick);
        Ok(Self {
            emulator,
            tap,
            manager,
            tape,
            planner: Planner::default(),
            sa_recorder,
            administration: None,
            congestion: None,
            refusals: Vec::new(),
            now: Tick(0),
            host,
            steps_max: STEPS_PER_PORT_MAX * ports as u64,
            standing: 0,
            door: Door::default(),
            reader: Some(Reader::default()),
            events: Vec::new(),
            stored: None,
            replies: BTreeMap::new(),
            commands: 0,
        })
    }

    /// A manager of a recording that goes on with another fabric, from `now`. `host` is its port there, and `plan` what it
    /// has asked for and has not yet. Subnet administration goes on beside it where it is given.
    pub fn going_on(
        now: Tick,
        (manager, plan): ReplayedManager,
        administration: Option<Administration>,
        emulator: Emulator,
        host: (Guid, PortNum),
        tap: T,
    ) -> Self {
        let nodes = emulator.network().devices().len() as u64;
        let mut planner = Planner::default();
        if let Some(plan) = plan {
            planner.begin(now, plan);
        }
        Self {
            emulator,
            tap,
            manager,
            tape: None,
            planner,
            sa_recorder: None,
            administration,
            congestion: None,
            refusals: Vec::new(),
            now,
            host,
            steps_max: STEPS_PER_PORT_MAX * PORTS_MAX * nodes,
            standing: 0,
            door: Door::default(),
            reader: None,
            events: Vec::new(),
            stored: None,
            replies: BTreeMap::new(),
            commands: 0,
        }
    }

    /// Without the checks of publications and the count of requests, whose time is not to be measured.
    #[must_use]
    pub fn without_reader(mut self) -> Self {
        self.reader = None;
        self
    }

    /// The manager's port.
    pub fn host(&self) -> (Guid, PortNum) {
        self.host
    }

    /// The time.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The manager.
    pub fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The latest published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.manager.snapshot()
    }

    /// Requests into the fabric of the manager, and of earlier ones.
    pub fn door(&self) -> &Door {
        &self.door
    }

    /// Subnet administration, where there is one.
    pub fn administration(&self) -> Option<&Sa> {
        self.administration.as_ref().map(Administration::sa)
    }

    /// The datagrams that it sent since the last call.
    pub fn take_answers(&mut self) -> Vec<(Tick, Packet)> {
        let administration = self.administration.as_mut();
        administration.map_or_else(Vec::new, Administration::take_sent)
    }

    /// The manager's events since the last call.
    pub fn take_events(&mut self) -> Vec<(Tick, Event)> {
        std::mem::take(&mut self.events)
    }

    /// Breaches of the rules about publications and events since the last call.
    pub fn take_breaches(&mut self) -> Vec<Breach> {
        self.reader.as_mut().map(Reader::take).unwrap_or_default()
    }

    /// Ends the manager as a crash would, and starts a new one with its stored state.
    ///
    /// # Errors
    /// [`WorldError::Tape`].
    pub fn restart(&mut self, settings: Settings) -> Result<(), WorldError> {
        let stored = self.stored.as_deref();
        let started = started(self.now, settings, stored, self.tape.as_ref())?;
        (self.manager, self.sa_recorder) = started;
        self.administration = None;
        self.planner = Planner::new(self.planner.takes());
        if let Some(reader) = &mut self.reader {
            reader.begin();
        }
        self.manager.handle(self.now, Input::Tick);
        Ok(())
    }

    /// Begins subnet administration beside the manager, recorded where that is.
    pub fn administer(&mut self, settings: SaSettings) {
        let recorder = self.sa_recorder.take();
        let start = (Tick(0), Sa::new(settings));
        self.administration = Some(Administration::recorded(self.now, start, recorder));
        self.administered(SaInput::Published(self.manager.snapshot()));
    }

    /// Ends the recording of the manager with all that it has done.
    pub fn end_tape(&mut self) {
        if let Some(administration) = &mut self.administration {
            administration.flush(self.now);
        }
        self.manager.stop_recording();
    }

    /// Has plans take so long from now on; at first they take no time.
    pub fn plans_take(&mut self, time: Duration) {
        self.planner = Planner::new(time);
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

    /// Sends the manager a command; [`Self::reply`] has the answer later.
    pub fn command(&mut self, command: Command) -> u64 {
        self.commands += 1;
        let id = self.commands;
        self.manager
            .handle(self.now, Input::Command { id, command });
        id
    }

    /// Inputs of a plan of a change of routes.
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn basis(&mut self, change: Change) -> Result<Basis, RerouteError> {
        self.manager.basis(change)
    }

    /// Puts an arrangement in force; returns the number of the sweep that will have done it.
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn adopt(
        &mut self,
        condition: &Condition,
        wanted: Arrangement,
    ) -> Result<u64, RerouteError> {
        let (_, sweep) = self.manager.adopt(self.now, condition, wanted)?;
        Ok(sweep)
    }

    /// Passes the members of multicast groups to the manager.
    pub fn multicast(&mut self, groups: Vec<MulticastLid>) {
        self.manager.handle(self.now, Input::Multicast(groups));
    }

    /// The answer to a command, once.
    pub fn reply(&mut self, id: u64) -> Option<Result<Reply, CommandError>> {
        self.replies.remove(&id)
    }

    /// Lets everything happen that happens up to `until`.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn run_until(&mut self, until: Tick) -> Result<(), WorldError> {
        while self.step(until)? {}
        Ok(())
    }

    /// Lets everything happen up to `within` from now, or until `done` says so.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn run_while(
        &mut self,
        within: Duration,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> Result<Wait, WorldError> {
        let until = self.now + within;
        loop {
            if done(self) {
                return Ok(Wait::Done);
            }
            if !self.step(until)? {
                return Ok(if done(self) {
                    Wait::Done
                } else {
                    Wait::TimedOut
                });
            }
        }
    }

    /// Lets the first sweep end.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn bring_up(&mut self, within: Duration) -> Result<Wait, WorldError> {
        let ended = |world: &mut Self| {
            world.manager.status().phase.is_none() && world.snapshot().generation > 0
        };
        self.run_while(within, ended)
    }

    /// Configures all devices of a fabric that is up by the settings, for at most [`CONTROL_MAX`], as those
    /// that do not answer are asked again for ever; returns the refused settings.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn control_congestion(
        &mut self,
        settings: CongestionSettings,
    ) -> Result<Vec<String>, WorldError> {
        let mut writer = Congestion::new(settings);
        writer.handle(self.now, CongestionInput::Published(self.snapshot()));
        self.congestion = Some(writer);
        self.exchange()?;
        let until = self.now + CONTROL_MAX;
        let due = |world: &Self| world.congestion.as_ref().and_then(Congestion::deadline);
        while let Some(next) = due(self).filter(|next| *next <= until) {
            self.step(next)?;
        }
        self.congestion = None;
        Ok(std::mem::take(&mut self.refusals))
    }

    /// When the next thing happens.
    pub fn deadline(&self) -> Option<Tick> {
        let writer = self.congestion.as_ref().and_then(Congestion::deadline);
        let administration = self.administration.as_ref();
        let deadlines = [
            self.manager.deadline(),
            self.planner.deadline(),
            self.emulator.deadline(),
            administration.and_then(Administration::deadline),
            writer,
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Whether the manager has nothing to do but wait.
    pub fn is_idle(&self) -> bool {
        self.manager.status().phase.is_none()
    }

    /// On to the next moment up to `until`, and everything of it; returns whether there is one.
    ///
    /// # Errors
    /// [`WorldError::Livelock`].
    pub fn step(&mut self, until: Tick) -> Result<bool, WorldError> {
        self.exchange()?;
        self.pass_on();
        match self.deadline().filter(|next| *next <= until) {
            None => {
                self.now = self.now.max(until);
                Ok(false)
            }
            Some(next) => {
                self.note_time(next)?;
                self.emulator.handle(self.now, emulated::Input::Tick)?;
                self.manager.handle(self.now, Input::Tick);
                self.administered(SaInput::Tick);
                if let Some(writer) = &mut self.congestion {
                    writer.handle(self.now, CongestionInput::Tick);
                }
                self.exchange()?;
                Ok(true)
            }
        }
    }

    /// Has recordings of both written, as the daemon does from time to time, so that neither's come much later than the other's.
    fn pass_on(&mut self) {
        if let Some(administration) = &mut self.administration {
            administration.flush(self.now);
            self.manager.flush();
        }
    }

    /// Advances to a requested moment; a past one must not recur.
    fn note_time(&mut self, next: Tick) -> Result<(), WorldError> {
        self.standing = if next > self.now {
            0
        } else {
            self.standing + 1
        };
        if self.standing > self.steps_max {
            return Err(self.livelock());
        }
        self.now = self.now.max(next);
        Ok(())
    }

    fn livelock(&self) -> WorldError {
        WorldError::Livelock {
            steps: self.steps_max,
            now_ns: self.now.0,
        }
    }

    /// Carries datagrams to and fro until neither side has any.
    fn exchange(&mut self) -> Result<(), WorldError> {
        for _ in 0..self.steps_max {
            let moved = self.take_from_manager()?
                | self.take_from_administration()?
                | self.take_from_writer()?
                | self.take_from_emulator();
            if !moved {
                return Ok(());
            }
        }
        Err(self.livelock())
    }

    fn take_from_manager(&mut self) -> Result<bool, WorldError> {
        let mut moved = false;
        while let Some(output) = self.manager.poll() {
            moved = true;
            match output {
                Output::Send(packet) => self.send(packet)?,
                Output::Plan(input) => self.planner.begin(self.now, input),
                Output::Publish(snapshot) => {
                    if let Some(reader) = &mut self.reader {
                        reader.published(&snapshot);
                    }
                    self.administered(SaInput::Published(snapshot));
                }
                Output::Persist(bytes) => self.stored = Some(bytes),
                Output::Event(event) => self.note(event),
                Output::Notice(notice) => self.administered(SaInput::Notice(notice)),
                Output::RegistrationsLost { asked } => {
                    self.administered(SaInput::RegistrationsLost { asked });
                }
                Output::Reply { id, result } => {
                    self.replies.insert(id, result);
                }
            }
        }
        while let Some(planned) = self.planner.ready(self.now) {
            moved = true;
            self.manager.handle(self.now, planned);
        }
        Ok(moved)
    }

    /// Passes an input to subnet administration, where there is one.
    fn administered(&mut self, input: SaInput) {
        if let Some(administration) = &mut self.administration {
            administration.handle(self.now, input);
        }
    }

    fn take_from_administration(&mut self) -> Result<bool, WorldError> {
        let mut moved = false;
        while let Some(output) = self
            .administration
            .as_mut()
            .and_then(|administration| administration.poll(self.now))
        {
            moved = true;
            match output {
                SaOutput::Send(packet) => self.send(packet)?,
                SaOutput::Multicast(groups) => self.multicast(groups),
                SaOutput::Storm(storm) => {
                    self.manager.handle(self.now, Input::MulticastStorm(storm));
                }
                SaOutput::Groups(_) | SaOutput::Stale | SaOutput::Persist(_) => {}
            }
        }
        Ok(moved)
    }

    fn note(&mut self, event: Event) {
        if let Some(reader) = &mut self.reader {
            reader.told(self.now, &event);
        }
        match event {
            Event::SweepStarted { .. } => self.door.sweep_begins(),
            Event::SweepEnded(_) => self.door.sweep_ends(),
            _ => {}
        }
        self.events.push((self.now, event));
    }

    fn take_from_writer(&mut self) -> Result<bool, WorldError> {
        let mut moved = false;
        while let Some(output) = self.congestion.as_mut().and_then(Congestion::poll) {
            moved = true;
            match output {
                CongestionOutput::Send(packet) => self.send(packet)?,
                CongestionOutput::Held(_) => {}
                CongestionOutput::Refused {
                    node,
                    attribute,
                    status,
                    ..
                } => self.refusals.push(format!(
                    "{node} answers {attribute:?} with status {status:#06x}"
                )),
            }
        }
        Ok(moved)
    }

    /// Sends a datagram from the manager's port.
    fn send(&mut self, packet: Packet) -> Result<(), WorldError> {
        self.tap.see(self.now, true, &packet);
        if self.reader.is_some() {
            self.door.goes_in(self.now, &packet);
        }
        let (node, port) = self.host;
        let input = emulated::Input::Send { node, port, packet };
        Ok(self.emulator.handle(self.now, input)?)
    }

    fn take_from_emulator(&mut self) -> bool {
        let mut moved = false;
        while let Some(emulated::Output::Deliver { node, port, packet }) = self.emulator.poll() {
            moved = true;
            if (node, port) == self.host {
                self.tap.see(self.now, false, &packet);
                if self.reader.is_some() {
                    self.door.comes_out(&packet);
                }
                if let Some(writer) = &mut self.congestion {
                    writer.handle(self.now, CongestionInput::Received(packet.clone()));
                }
                match &mut self.administration {
                    Some(administration) if packet.mad.get(1) == Some(&class::SUBN_ADM) => {
                        administration.handle(self.now, SaInput::Received(packet));
                    }
                    _ => self.manager.handle(self.now, Input::Received(packet)),
                }
            }
        }
        moved
    }
}

/// The first HFI port with a cable, in order of nodes.
pub fn first_host(topology: &Topology) -> Option<(Guid, PortNum)> {
    topology.hfis().find_map(|(_, node)| {
        let (port, _) = node
            .external_ports()
            .find(|(_, port)| port.peer.is_some())?;
        Some((node.guid(), port))
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use weft_fabric::FabricSpec;

    use super::*;

    #[test]
    fn congestion_control_of_a_device_that_never_answers_is_not_waited_for_without_end() {
        let spec: FabricSpec = "one-switch:4".parse().unwrap();
        let topology = Arc::new(spec.generate().unwrap());
        let (_, last) = topology.hfis().last().unwrap();
        let node = last.guid();
        let (options, settings) = (Options::default(), Settings::default());
        let mut world = World::new(topology, options, settings, NoTap).unwrap();
        assert_eq!(world.bring_up(CONTROL_MAX).unwrap(), Wait::Done);
        let silent = true;
        let silence = emulated::Control::Silence { node, silent };
        world.control(silence).unwrap();
        let (before, mut settings) = (world.now(), CongestionSettings::default());
        settings.control.enable = true;
        let refused = world.control_congestion(settings).unwrap();
        assert_eq!(refused, Vec::<String>::new());
        assert!(world.now().since(before) <= CONTROL_MAX);
    }
}
