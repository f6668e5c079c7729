//! What somebody asks for: a sweep, or a port switched off or on.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::{PhysState, PortState, SmState};
use weft_wire::sm::{AttributeId, PortModifier, PortStateInfo};
use weft_wire::smp::SmpView;

use super::{Manager, Tag};
use crate::io::{Command, CommandError, Output, PortAction, Reply, SweepReason};

/// Commands that may wait.
const WAITING_MAX: usize = 64;

type End = (Guid, PortNum);

/// A change of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PortChange {
    id: u64,
    /// The port that was named.
    named: End,
    /// The end of its cable at which the change is made.
    at: End,
    action: PortAction,
}

/// Commands that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Each with the number of the sweep after which it is answered.
    sweeps: Vec<(u64, u64)>,
    ports: VecDeque<PortChange>,
    /// The first of `ports` is on its way.
    under_way: bool,
    /// Ports that are switched off: the named one, and where that was done.
    disabled: BTreeMap<End, End>,
}

impl Manager {
    /// Takes a command.
    pub(super) fn command(&mut self, now: Tick, id: u64, command: Command) {
        let waiting = self.commands.sweeps.len() + self.commands.ports.len();
        if waiting >= WAITING_MAX {
            self.reply(id, Err(CommandError::Busy { waiting }));
            return;
        }
        if let Some(error) = self.not_master() {
            self.reply(id, Err(error));
            return;
        }
        match command {
            Command::Sweep => {
                self.commands.sweeps.push((id, self.sweep.number + 1));
                self.request_sweep(now, SweepReason::Forced);
            }
            Command::Port { node, port, action } => {
                match self.port_change(id, (node, port), action) {
                    Ok(change) => {
                        self.commands.ports.push_back(change);
                        self.next_port_change(now);
                    }
                    Err(error) => self.reply(id, Err(error)),
                }
            }
        }
    }

    /// Why nothing can be asked of this manager, where another one runs the fabric.
    fn not_master(&self) -> Option<CommandError> {
        let role = self.standing.role();
        let waits = matches!(role, SmState::STANDBY | SmState::NOT_ACTIVE);
        waits.then(|| CommandError::NotMaster {
            role,
            master: self.master_guid().unwrap_or_default(),
        })
    }

    fn reply(&mut self, id: u64, result: Result<Reply, CommandError>) {
        self.outputs.push_back(Output::Reply { id, result });
    }

    /// Answers those who waited for the sweep that has just ended.
    pub(super) fn answer_sweep_commands(&mut self) {
        let number = self.sweep.number;
        let (done, waiting) = std::mem::take(&mut self.commands.sweeps)
            .into_iter()
            .partition(|(_, wanted)| *wanted <= number);
        self.commands.sweeps = waiting;
        let failed = self.nodes.first().is_none_or(|own| own.failed);
        let done: Vec<(u64, u64)> = done;
        for (id, _) in done {
            let report = self.sweep.report.clone();
            let why = report.unfinished.first().cloned().unwrap_or_default();
            let result = match (self.not_master(), failed) {
                (Some(error), _) => Err(error),
                (None, true) => Err(CommandError::SweepFailed { why }),
                (None, false) => Ok(Reply::Swept(report)),
            };
            self.reply(id, result);
        }
    }

    fn port_change(
        &self,
        id: u64,
        named: End,
        action: PortAction,
    ) -> Result<PortChange, CommandError> {
        if let Some(at) = self.commands.disabled.get(&named).copied() {
            // A port that is switched off may have taken its node out of the fabric.
            return Ok(PortChange {
                id,
                named,
                at,
                action,
            });
        }
        let (guid, port) = named;
        let index = self.by_guid.get(&guid).copied();
        let (index, node) = index
            .and_then(|index| Some((index, self.nodes[index as usize].node.as_ref()?)))
            .ok_or(CommandError::NoNode { node: guid })?;
        let last = PortNum(node.info.num_ports);
        if !(PortNum(1)..=last).contains(&port) {
            let first = PortNum(1);
            return Err(CommandError::NoPort {
                node: guid,
                port,
                first,
                last,
            });
        }
        let peer = self.peer(index, port);
        if index == 0 || peer.is_some_and(|peer| peer.node.0 == 0) {
            return Err(CommandError::OwnLink { node: guid, port });
        }
        let at = self.nearer_end(index, named);
        Ok(PortChange {
            id,
            named,
            at,
            action,
        })
    }

    /// Which end of a cable is changed: the one that the manager does not reach over that cable, so
    /// that its answer comes back and it can be reached again.
    fn nearer_end(&self, index: u32, named: End) -> End {
        let own = &self.nodes[index as usize];
        let Some(peer) = self.peer(index, named.1) else {
            return named;
        };
        let other = &self.nodes[peer.node.0 as usize];
        let beyond = own
            .path
            .split_last()
            .is_some_and(|(last, before)| *last == peer.port && *before == *other.path);
        match beyond {
            true => (other.guid, peer.port),
            false => named,
        }
    }

    fn next_port_change(&mut self, now: Tick) {
        while !self.commands.under_way {
            let Some(change) = self.commands.ports.front().copied() else {
                return;
            };
            let Some(node) = self.by_guid.get(&change.at.0).copied() else {
                let node = change.at.0;
                self.end_port_change(now, Err(CommandError::NoNode { node }));
                continue;
            };
            let asked = match change.action {
                PortAction::Disable => PhysState::DISABLED,
                PortAction::Enable => PhysState::POLLING,
            };
            let asked = PortStateInfo {
                port_state: PortState::DOWN,
                phys_state: asked,
                ..PortStateInfo::default()
            };
            let modifier = PortModifier::one(change.at.1).bits();
            self.start_batch(node, true);
            self.batch.push(
                AttributeId::PORT_STATE_INFO,
                modifier,
                PortStateInfo::LEN,
                |to| asked.encode(to),
            );
            self.commands.under_way = true;
            self.send_batch(now, node, Tag::Port);
        }
    }

    fn end_port_change(&mut self, now: Tick, result: Result<Reply, CommandError>) {
        self.commands.under_way = false;
        let Some(change) = self.commands.ports.pop_front() else {
            return;
        };
        if result.is_ok() {
            match change.action {
                PortAction::Disable => self.commands.disabled.insert(change.named, change.at),
                PortAction::Enable => self.commands.disabled.remove(&change.named),
            };
            self.request_sweep(now, SweepReason::Forced);
        }
        self.reply(change.id, result);
    }

    /// A device has answered the change of a port.
    pub(super) fn port_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        let node = self
            .commands
            .ports
            .front()
            .map_or(Guid(0), |change| change.at.0);
        let result = match view.status() {
            0 => Ok(Reply::PortChanged),
            status => Err(CommandError::Refused { node, status }),
        };
        self.end_port_change(now, result);
        self.next_port_change(now);
    }

    /// A device has not answered the change of a port.
    pub(super) fn port_not_answered(&mut self, now: Tick, attempts: u32) {
        let node = self
            .commands
            .ports
            .front()
            .map_or(Guid(0), |change| change.at.0);
        self.end_port_change(now, Err(CommandError::NoAnswer { node, attempts }));
        self.next_port_change(now);
    }
}
