//! Changes of ports by order: read first, written only if that changes something, and answered by the
//! resulting state.

use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::PhysState;
use weft_wire::sm::PortInfo;
use weft_wire::smp::SmpView;

use super::commands::Commands;
use super::devices::Devices;
use super::plan::Plan;
use super::port_registers::{Answered, Register};
use super::{Manager, Tag};
use crate::io::{CommandError, PortAction, PortNote, PortOrder, Reply, SweepReason};

/// Most ports that are remembered as switched off; more are refused.
const DISABLED_MAX: usize = 16_384;

/// A port of a node.
pub(crate) type End = (Guid, PortNum);

/// A change of a port.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(super) struct PortChange {
    /// Number of the command.
    pub(super) id: u64,
    /// The port that was named.
    pub(super) named: End,
    /// The other end of its cable, where that is known.
    peer: Option<End>,
    /// The end of its cable at which its link is taken down or let come up.
    pub(super) at: End,
    pub(super) action: PortAction,
    note: PortNote,
}

/// Request of the first change that is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(super) enum Step {
    /// The read of its state.
    Read,
    /// The write.
    Write,
    /// The link trains again with what was written.
    Retrain,
}

impl Step {
    /// Whether it changes a device.
    pub(super) fn is_write(self) -> bool {
        self != Self::Read
    }
}

impl PortAction {
    /// Whether a port in this state is as the action wants it, as far as its link is concerned.
    pub(super) fn holds(self, held: PhysState) -> bool {
        match self {
            Self::Disable => held == PhysState::DISABLED,
            Self::Enable => !matches!(held, PhysState::DISABLED | PhysState::OFFLINE),
            Self::Bounce | Self::Led(_) | Self::Link(_) => held != PhysState::LINK_UP,
        }
    }

    /// Whether a device that answers a write with this state obeys. One whose link is going down may
    /// be in transition to or from `Disabled` (hfi1 driver, `set_link_state`: through `HLS_GOING_OFFLINE`).
    pub(super) fn follows(self, held: PhysState) -> bool {
        match self {
            // It may have trained again by then.
            Self::Bounce | Self::Led(_) | Self::Link(_) => held != PhysState::DISABLED,
            _ => held == PhysState::OFFLINE || self.holds(held),
        }
    }

    pub(super) fn wanted(self) -> PhysState {
        match self {
            Self::Disable => PhysState::DISABLED,
            Self::Enable | Self::Bounce | Self::Led(_) | Self::Link(_) => PhysState::POLLING,
        }
    }
}

/// The fabric in which ports are to be changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports<'a> {
    pub devices: &'a Devices,
    pub plan: &'a Plan,
}

impl Ports<'_> {
    /// The number of the node that has an external port, or is an HFI with that port.
    ///
    /// # Errors
    /// [`CommandError::NoNode`], [`CommandError::NoPort`].
    pub(super) fn external_port(&self, (guid, port): End) -> Result<u32, CommandError> {
        let index = self.devices.find(guid);
        let (index, node) = index
            .and_then(|index| Some((index, self.devices[index].observed.node.as_ref()?)))
            .ok_or(CommandError::NoNode { node: guid })?;
        let (first, last) = (PortNum(1), PortNum(node.info.num_ports));
        match (first..=last).contains(&port) {
            true => Ok(index),
            false => Err(CommandError::NoPort {
                node: guid,
                port,
                first,
                last,
            }),
        }
    }

    /// The end of a cable to change: the one that the manager does not reach over that cable, so
    /// that its answer returns and it can be reached again.
    fn nearer_end(&self, index: u32, named: End) -> End {
        let own = &self.devices[index];
        let Some(peer) = self.plan.peer(index, named.1) else {
            return named;
        };
        let other = &self.devices[peer.node];
        let beyond = own
            .identity
            .path
            .split_last()
            .is_some_and(|(last, before)| *last == peer.port && *before == *other.identity.path);
        match beyond {
            true => (other.identity.guid, peer.port),
            false => named,
        }
    }
}

impl Commands {
    /// The change for a command.
    pub(super) fn port_change(
        &self,
        fabric: Ports<'_>,
        id: u64,
        order: PortOrder,
    ) -> Result<PortChange, CommandError> {
        let PortOrder {
            node,
            port,
            action,
            note,
            ..
        } = order;
        note.check()?;
        let named = (node, port);
        let switched_off = match action {
            PortAction::Led(_) | PortAction::Link(_) => None,
            _ => self.disabled.get(&named).copied(),
        };
        let (at, peer) = match switched_off {
            // A port that is switched off may have taken its node out of the fabric.
            Some(at) => (at, None),
            None => self.end_to_change(fabric, named, action)?,
        };
        Ok(PortChange {
            id,
            named,
            peer,
            at,
            action,
            note,
        })
    }

    /// The end to change, and the other end of the named port's cable.
    fn end_to_change(
        &self,
        fabric: Ports<'_>,
        named: End,
        action: PortAction,
    ) -> Result<(End, Option<End>), CommandError> {
        let (guid, port) = named;
        let index = fabric.external_port(named)?;
        let peer = fabric.plan.peer(index, port);
        let own = index == 0 || peer.is_some_and(|peer| peer.node.0 == 0);
        match action {
            PortAction::Disable | PortAction::Bounce | PortAction::Link(_) if own => {
                return Err(CommandError::OwnLink { node: guid, port });
            }
            PortAction::Disable if self.disabled.len() >= 2 * DISABLED_MAX => {
                let most = DISABLED_MAX;
                return Err(CommandError::ManyDisabled { most });
            }
            _ => {}
        }
        let other = peer.map(|peer| (fabric.devices[peer.node].identity.guid, peer.port));
        Ok((fabric.nearer_end(index, named), other))
    }
}

impl Manager {
    /// Whether ports could be changed, each and all together, as far as can be said without asking their devices; what
    /// cuts something off is refused unless `force`.
    ///
    /// # Errors
    /// That another manager is master; for each port the errors of [`crate::Command::Port`] that come before anything is
    /// sent.
    pub fn may_change(
        &self,
        ends: &[(Guid, PortNum)],
        action: PortAction,
        force: bool,
    ) -> Result<Vec<Result<(), CommandError>>, CommandError> {
        self.must_be_master()?;
        let each = ends.iter().map(|end| {
            let order = PortOrder::new(*end, action);
            self.commands.port_change(self.ports(), 0, order).map(drop)
        });
        let mut results: Vec<_> = each.collect();
        if !force {
            self.refuse_cuts(ends, action, &mut results);
        }
        Ok(results)
    }

    /// Number of hops from the manager to a node, none if it is not in the fabric.
    pub fn hops_to(&self, node: Guid) -> Option<usize> {
        let index = self.devices.find(node)?;
        Some(self.devices[index].identity.path.len())
    }

    /// The change for a command, which nothing forbids.
    pub(super) fn permitted_change(
        &self,
        id: u64,
        order: PortOrder,
    ) -> Result<PortChange, CommandError> {
        self.must_be_master()?;
        let (end, action) = ((order.node, order.port), order.action);
        let force = order.force;
        let change = self.commands.port_change(self.ports(), id, order)?;
        let mut result = [Ok(())];
        if !force {
            self.refuse_cuts(&[end], action, &mut result);
        }
        let [result] = result;
        result.map(|()| change)
    }

    pub(super) fn ports(&self) -> Ports<'_> {
        Ports {
            devices: &self.devices,
            plan: &self.planning.plan,
        }
    }

    /// Begins the first waiting change, unless one is running, or a handover to another manager, or its node has to be
    /// found on another way first.
    pub(super) fn next_port_change(&mut self, now: Tick) {
        while self.commands.step.is_none() && self.election.may_write() {
            let Some(waiting) = self.commands.ports.front().cloned() else {
                return;
            };
            if self.way_is_stale(waiting.named) || self.way_is_stale(waiting.at) {
                return;
            }
            // Which end is nearer may have changed since it was asked for.
            let (node, port) = waiting.named;
            let order = PortOrder {
                node,
                port,
                action: waiting.action,
                force: true,
                note: waiting.note,
            };
            match self.commands.port_change(self.ports(), waiting.id, order) {
                Ok(change) => {
                    if let Some(first) = self.commands.ports.front_mut() {
                        *first = change.clone();
                    }
                    self.send_port_request(now, &change, Step::Read);
                }
                Err(error) => self.end_port_change(now, Err(error)),
            }
        }
    }

    /// Whether the directed route to a node leads over a link that was taken down by order: the sweep after that finds
    /// another one.
    fn way_is_stale(&self, (guid, _): End) -> bool {
        let taken = &self.commands.taken;
        let Some(node) = self.devices.find(guid) else {
            return false;
        };
        if taken.is_empty() || self.sweep.pause.is_some() {
            return false;
        }
        let mut at = 0;
        for port in self.devices[node].identity.path.iter() {
            if taken.contains_key(&(self.devices[at].identity.guid, *port)) {
                return true;
            }
            match self.planning.plan.peer(at, *port) {
                Some(peer) => at = peer.node.0,
                None => return false,
            }
        }
        false
    }

    /// Whether a change has to begin again, because the directed route to its node is another one now.
    fn way_has_changed(&self, change: &PortChange) -> bool {
        let index = self.devices.find(change.at.0);
        let is_near =
            index.is_some_and(|index| self.ports().nearer_end(index, change.at) == change.at);
        !is_near || self.way_is_stale(change.at)
    }

    fn send_port_request(&mut self, now: Tick, change: &PortChange, step: Step) {
        let register = Register::of(change, step);
        let (guid, port) = register.at;
        let Some(node) = self.devices.find(guid) else {
            return self.end_port_change(now, Err(CommandError::NoNode { node: guid }));
        };
        self.start_batch(node, step.is_write());
        let info = self.commands.port_info.as_deref();
        register.ask(&mut self.requests.batch, port, change.action, info);
        self.commands.step = Some(step);
        self.send_batch(now, node, Tag::Port);
    }

    fn end_port_change(&mut self, now: Tick, result: Result<Reply, CommandError>) {
        self.commands.step = None;
        self.commands.port_info = None;
        let Some(change) = self.commands.ports.pop_front() else {
            return;
        };
        let id = change.id;
        if result.is_ok() {
            let is_led = matches!(change.action, PortAction::Led(_));
            self.note_taken(&change);
            self.note_change(now, change);
            self.persist();
            match is_led && self.sweep.phase().is_none() {
                // Nothing else changes with it.
                true => self.publish(),
                false => {
                    self.sweep
                        .request(now, SweepReason::Forced, &self.settings.sweeps);
                }
            }
        }
        self.out.reply(id, result);
    }

    /// Notes that a link was taken down, if only for a moment.
    fn note_taken(&mut self, change: &PortChange) {
        if matches!(change.action, PortAction::Enable | PortAction::Led(_)) {
            return;
        }
        let ends = [Some(change.named), Some(change.at), change.peer];
        let sweep = self.sweep.number + 1;
        let ends = ends.into_iter().flatten();
        self.commands.taken.extend(ends.map(|end| (end, sweep)));
    }

    /// Notes which ports are switched off.
    fn note_change(&mut self, now: Tick, change: PortChange) {
        match change.action {
            PortAction::Disable => {
                let is_again = self.commands.disabled.contains_key(&change.at);
                let far = [Some(change.named), change.peer].into_iter().flatten();
                let far = far.into_iter().find(|end| *end != change.at);
                let far = far.or_else(|| self.far_of_disabled(change.at));
                let is_told = change.note != PortNote::default();
                if is_told || !is_again {
                    let noted = self.noted(now, change.at, far, change.note);
                    self.commands.note(change.at, noted);
                }
                // Either end is a name for it when its node is out of the fabric.
                let names = [Some(change.named), change.peer].into_iter().flatten();
                let names = names.map(|name| (name, change.at));
                self.commands.disabled.extend(names);
            }
            PortAction::Enable => {
                self.commands.disabled.retain(|_, at| *at != change.at);
                self.commands.notes.remove(&change.at);
            }
            PortAction::Bounce | PortAction::Led(_) | PortAction::Link(_) => {}
        }
    }

    /// A device has answered a request about a port.
    pub(super) fn port_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        let (step, change) = (self.commands.step, self.commands.ports.front().cloned());
        let (Some(step), Some(change)) = (step, change) else {
            return;
        };
        let register = Register::of(&change, step);
        let answered = register.answered(view, &change, step);
        match answered {
            Ok(_) if step == Step::Read && !self.election.may_write() => {
                // It begins again if the other manager does not take over.
                self.commands.step = None;
                return;
            }
            Ok(Answered::Write(_)) if self.way_has_changed(&change) => {
                // A sweep has found its node over another link meanwhile: that may be the one to take down.
                self.commands.step = None;
                return self.next_port_change(now);
            }
            Ok(Answered::Write(info)) => {
                self.commands.port_info = info;
                return self.send_port_request(now, &change, Step::Write);
            }
            Ok(Answered::Retrain(held)) => {
                self.port_confirmed(register.at, |info| *info = held_port(&held, info));
                return self.send_port_request(now, &change, Step::Retrain);
            }
            Ok(Answered::Done) => self.end_port_change(now, Ok(Reply::PortChanged)),
            Ok(Answered::Info(held)) => {
                self.port_confirmed(register.at, |info| *info = held_port(&held, info));
                self.end_port_change(now, Ok(Reply::PortChanged));
            }
            Ok(Answered::State(held)) => {
                self.port_confirmed(register.at, |info| info.phys_state = held);
                self.end_port_change(now, Ok(Reply::PortChanged));
            }
            Ok(Answered::Led(on)) => {
                self.port_confirmed(register.at, |info| info.led_enabled = on);
                self.end_port_change(now, Ok(Reply::PortChanged));
            }
            Err(error) => self.end_port_change(now, Err(error)),
        }
        self.next_port_change(now);
    }

    /// Records what a port has confirmed.
    fn port_confirmed(&mut self, (guid, port): End, change: impl FnOnce(&mut PortInfo)) {
        if let Some(node) = self.devices.find(guid) {
            self.devices[node].observed.update_port(port, change);
        }
    }

    /// Refuses the changes of which nothing is written yet: this manager is not the master any more.
    pub(super) fn refuse_port_changes(&mut self) {
        let Err(error) = self.must_be_master() else {
            return;
        };
        let written = usize::from(self.commands.step.is_some_and(Step::is_write));
        if written == 0 {
            self.requests
                .transactions
                .withdraw(|tag| matches!(tag, Tag::Port));
            self.commands.step = None;
        }
        for change in self
            .commands
            .ports
            .split_off(written.min(self.commands.ports.len()))
        {
            self.out.reply(change.id, Err(error.clone()));
        }
    }

    /// A device has not answered a request about a port.
    pub(super) fn port_not_answered(&mut self, now: Tick, attempts: u32) {
        let change = self.commands.ports.front();
        let node = change.map_or(Guid(0), |change| change.at.0);
        self.end_port_change(now, Err(CommandError::NoAnswer { node, attempts }));
        self.next_port_change(now);
    }
}

/// PortInfo of a port as it has answered, with the number and states that are learned elsewhere.
fn held_port(answered: &PortInfo, held: &PortInfo) -> PortInfo {
    PortInfo {
        local_port_num: held.local_port_num,
        client_reregister: false,
        port_state: held.port_state,
        phys_state: held.phys_state,
        neighbor_node_guid: held.neighbor_node_guid,
        neighbor_port_num: held.neighbor_port_num,
        ..*answered
    }
}
