//! Commands: a sweep, or disabling and enabling a port.

use std::collections::{BTreeMap, VecDeque};

use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;

use super::disabled::{Noted, Notes};
use super::port_change::{End, PortChange, Step};
use super::{Manager, Tag};
use crate::io::{
    Command, CommandError, LinkEnd, PortAction, PortNote, PortOrder, Reply, SweepReason,
};
use weft_wire::sm::PortInfo;

/// Ports that are switched off, by either end of their cables, and at which end that was done.
pub(crate) type Disabled = BTreeMap<End, End>;

/// Commands that may wait.
const WAITING_MAX: usize = 64;
/// The number of commands that the manager gives itself.
const NO_COMMAND: u64 = u64::MAX;
/// Author of the changes that it makes by itself.
const MANAGER: &str = "weftd";

/// Commands that are not answered yet.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Commands {
    /// Each with the number of the sweep after which it is answered.
    sweeps: Vec<(u64, u64)>,
    pub(super) ports: VecDeque<PortChange>,
    /// Current step of the first of `ports`; `None` before it begins.
    pub(super) step: Option<Step>,
    pub(super) disabled: Disabled,
    /// Why ports are switched off, and by whom.
    pub(super) notes: Notes,
    /// Ends of links that were taken down by order, with the number of the sweep after which no route to a node leads
    /// over them any more.
    pub(super) taken: BTreeMap<End, u64>,
    /// PortInfo that the first of `ports` writes.
    pub(super) port_info: Option<Box<PortInfo>>,
}

impl Commands {
    /// Notes why a port is switched off. As many are kept as ports that are switched off.
    pub(super) fn note(&mut self, at: End, noted: Noted) {
        self.notes.insert(at, noted);
    }
}

impl Manager {
    /// Takes a command.
    pub(super) fn command(&mut self, now: Tick, id: u64, command: Command) {
        let waiting = self.commands.sweeps.len() + self.commands.ports.len();
        if waiting >= WAITING_MAX {
            self.out.reply(id, Err(CommandError::Busy { waiting }));
            return;
        }
        if let Some(error) = self.not_master() {
            self.out.reply(id, Err(error));
            return;
        }
        match command {
            Command::Sweep if self.sweep.pause.is_some() => {
                self.out.reply(id, Err(CommandError::Paused));
            }
            Command::Sweep => {
                self.commands.sweeps.push((id, self.sweep.number + 1));
                self.sweep
                    .request(now, SweepReason::Forced, &self.settings.sweeps);
            }
            Command::Port(order) => match self.permitted_change(id, order) {
                Ok(change) => {
                    self.commands.ports.push_back(change);
                    self.next_port_change(now);
                }
                Err(error) => self.out.reply(id, Err(error)),
            },
        }
    }

    /// Begins to change a port that nobody asked to be changed, for this reason; none where it may not be.
    pub(super) fn change_unasked(
        &mut self,
        now: Tick,
        at: (Guid, PortNum),
        action: PortAction,
        reason: &str,
    ) -> Option<LinkEnd> {
        let order = PortOrder {
            force: true,
            note: PortNote {
                reason: reason.to_owned(),
                author: MANAGER.to_owned(),
                peer: String::new(),
            },
            ..PortOrder::new(at, action)
        };
        self.permitted_change(NO_COMMAND, order.clone()).ok()?;
        let end = self.devices.link_end(at);
        self.command(now, NO_COMMAND, Command::Port(order));
        Some(end)
    }

    /// Ends all commands, because nothing can be sent any more: running ones are not repeated.
    pub(super) fn end_commands(&mut self) {
        self.requests
            .transactions
            .withdraw(|tag| matches!(tag, Tag::Port));
        let sweeps = std::mem::take(&mut self.commands.sweeps);
        for (id, _) in sweeps {
            self.out
                .reply(id, Err(CommandError::Detached { begun: true }));
        }
        let mut begun = self.commands.step.take().is_some_and(Step::is_write);
        self.commands.port_info = None;
        for change in std::mem::take(&mut self.commands.ports) {
            self.out
                .reply(change.id, Err(CommandError::Detached { begun }));
            begun = false;
        }
    }

    /// Answers the commands that waited for the sweep that has just ended.
    pub(super) fn answer_sweep_commands(&mut self) {
        let number = self.sweep.number;
        self.commands.taken.retain(|_, wanted| *wanted > number);
        let (done, waiting) = std::mem::take(&mut self.commands.sweeps)
            .into_iter()
            .partition(|(_, wanted)| *wanted <= number);
        self.commands.sweeps = waiting;
        let failed = self.devices.own().is_none_or(|own| own.health.failed);
        let done: Vec<(u64, u64)> = done;
        for (id, _) in done {
            let report = self.sweep.report.clone();
            let why = report.unfinished.first().cloned().unwrap_or_default();
            let result = match (self.not_master(), failed) {
                (Some(error), _) => Err(error),
                (None, true) => Err(CommandError::SweepFailed { why }),
                (None, false) => Ok(Reply::Swept(report)),
            };
            self.out.reply(id, result);
        }
    }
}
