//! Disabling and enabling of ports: read first, written only if that changes something, and
//! answered by the resulting state.

use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::{PhysState, PortState};
use weft_wire::sm::{AttributeId, PortModifier, PortStateInfo, decode_blocks};
use weft_wire::smp::SmpView;

use super::commands::Commands;
use super::devices::Devices;
use super::plan::Plan;
use super::{Manager, Tag};
use crate::io::{CommandError, PortAction, Reply, SweepReason};

/// Most ports that are remembered as switched off; more are refused.
const DISABLED_MAX: usize = 16_384;

/// A port of a node.
pub(crate) type End = (Guid, PortNum);

/// A change of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PortChange {
    /// Number of the command.
    pub(super) id: u64,
    /// The port that was named.
    named: End,
    /// The other end of its cable, where that is known.
    peer: Option<End>,
    /// The end of its cable at which the change is made.
    at: End,
    action: PortAction,
}

/// Request of the first change that is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The read of its state.
    Read,
    /// The write.
    Write,
}

impl PortAction {
    /// Whether a port in this state is as the action wants it.
    fn holds(self, held: PhysState) -> bool {
        match self {
            Self::Disable => held == PhysState::DISABLED,
            Self::Enable => !matches!(held, PhysState::DISABLED | PhysState::OFFLINE),
            Self::Bounce => held != PhysState::LINK_UP,
        }
    }

    /// Whether a device that answers a write with this state obeys. One whose link is going down may
    /// be in transition to or from `Disabled` (hfi1 driver, `set_link_state`: through `HLS_GOING_OFFLINE`).
    fn follows(self, held: PhysState) -> bool {
        match self {
            // It may have trained again by then.
            Self::Bounce => held != PhysState::DISABLED,
            _ => held == PhysState::OFFLINE || self.holds(held),
        }
    }

    fn wanted(self) -> PhysState {
        match self {
            Self::Disable => PhysState::DISABLED,
            Self::Enable | Self::Bounce => PhysState::POLLING,
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
        named: End,
        action: PortAction,
    ) -> Result<PortChange, CommandError> {
        let (at, peer) = match self.disabled.get(&named).copied() {
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
            PortAction::Disable | PortAction::Bounce if own => {
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
    /// Whether a port could be changed, as far as can be said without asking its device.
    ///
    /// # Errors
    /// Those of [`crate::Command::Port`] that come before anything is sent.
    pub fn may_change(
        &self,
        node: Guid,
        port: PortNum,
        action: PortAction,
    ) -> Result<(), CommandError> {
        self.must_be_master()?;
        let change = self
            .commands
            .port_change(self.ports(), 0, (node, port), action);
        change.map(drop)
    }

    pub(super) fn ports(&self) -> Ports<'_> {
        Ports {
            devices: &self.devices,
            plan: &self.planning.plan,
        }
    }

    /// Begins the first waiting change, unless one is running, or a handover to another manager.
    pub(super) fn next_port_change(&mut self, now: Tick) {
        while self.commands.step.is_none() && self.election.may_write() {
            let Some(change) = self.commands.ports.front().copied() else {
                return;
            };
            self.send_port_request(now, change, Step::Read);
        }
    }

    fn send_port_request(&mut self, now: Tick, change: PortChange, step: Step) {
        let Some(node) = self.devices.find(change.at.0) else {
            let node = change.at.0;
            return self.end_port_change(now, Err(CommandError::NoNode { node }));
        };
        let modifier = PortModifier::one(change.at.1).bits();
        let asked = PortStateInfo {
            port_state: PortState::DOWN,
            phys_state: change.action.wanted(),
            ..PortStateInfo::default()
        };
        self.start_batch(node, step == Step::Write);
        self.requests.batch.push(
            AttributeId::PORT_STATE_INFO,
            modifier,
            PortStateInfo::LEN,
            |to| asked.encode(to),
        );
        self.commands.step = Some(step);
        self.send_batch(now, node, Tag::Port);
    }

    fn end_port_change(&mut self, now: Tick, result: Result<Reply, CommandError>) {
        self.commands.step = None;
        let Some(change) = self.commands.ports.pop_front() else {
            return;
        };
        if result.is_ok() {
            let disabled = &mut self.commands.disabled;
            match change.action {
                PortAction::Disable => {
                    // Either end is a name for it when its node is out of the fabric.
                    let names = [Some(change.named), change.peer].into_iter().flatten();
                    disabled.extend(names.map(|name| (name, change.at)));
                }
                PortAction::Enable => disabled.retain(|_, at| *at != change.at),
                PortAction::Bounce => {}
            }
            self.persist();
            self.sweep
                .request(now, SweepReason::Forced, &self.settings.sweeps);
        }
        self.out.reply(change.id, result);
    }

    /// A device has answered a request about a port.
    pub(super) fn port_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        let (step, change) = (self.commands.step, self.commands.ports.front().copied());
        let (Some(step), Some(change)) = (step, change) else {
            return;
        };
        match (step, held(view)) {
            (_, Err(status)) => {
                let node = change.at.0;
                self.end_port_change(now, Err(CommandError::Refused { node, status }));
            }
            (Step::Read, Ok(_)) if !self.election.may_write() => {
                // It begins again if the other manager does not take over.
                self.commands.step = None;
                return;
            }
            (Step::Read, Ok(held)) if !change.action.holds(held) => {
                return self.send_port_request(now, change, Step::Write);
            }
            (Step::Write, Ok(held)) if !change.action.follows(held) => {
                let (node, port) = change.at;
                self.end_port_change(now, Err(CommandError::NotDone { node, port, held }));
            }
            (_, Ok(_)) => self.end_port_change(now, Ok(Reply::PortChanged)),
        }
        self.next_port_change(now);
    }

    /// Refuses the changes of which nothing is written yet: this manager is not the master any more.
    pub(super) fn refuse_port_changes(&mut self) {
        let Err(error) = self.must_be_master() else {
            return;
        };
        let written = usize::from(self.commands.step == Some(Step::Write));
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

/// The state in an answer, or the status of a refusal.
fn held(view: &SmpView<'_>) -> Result<PhysState, u16> {
    match view.status() {
        0 => {
            let mut blocks = decode_blocks::<PortStateInfo>(view.payload, 1).flatten();
            Ok(blocks.next().map_or(PhysState::NOP, |held| held.phys_state))
        }
        status => Err(status),
    }
}
