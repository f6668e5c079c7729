//! The manager's own port, read every two seconds between sweeps.
//!
//! No trap tells the manager that the switch behind its port has restarted: that switch has no LID and no
//! tables, so that neither its traps nor those of others arrive, and HFIs send none about their links.
//! opa-fm reads its port for this reason, too (`sm_async.c`, PR 111216).

use std::time::Duration;

use weft_fabric::{Lid, Tick};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::enums::{PortState, SmState};
use weft_wire::sm::{AttributeId, PortInfo, PortModifier};
use weft_wire::smp::SmpView;

use super::election::Input::Replaced;
use super::{Manager, Tag};
use crate::io::SweepReason;

/// Time from one reading to the next.
const INTERVAL: Duration = Duration::from_secs(2);

/// Readings of the manager's own port.
#[derive(Debug, Clone, Default, State)]
pub(super) struct OwnPort {
    /// When it is read next, none before the first sweep.
    due: Option<Tick>,
    /// A request is in flight.
    is_asked: bool,
}

impl Manager {
    /// When the port has to be read, none while a sweep reads it anyway.
    pub(super) fn own_port_due(&self) -> Option<Tick> {
        // A standby polls the master, by which it notices.
        let looks = matches!(self.election.role(), SmState::MASTER | SmState::DISCOVERING);
        let idle = self.sweep.phase().is_none() && looks;
        let own_port = &self.requests.own_port;
        own_port.due.filter(|_| idle && !own_port.is_asked)
    }

    /// Reads the port if it is due.
    pub(super) fn read_own_port(&mut self, now: Tick) {
        if self.sweep.phase().is_some() {
            self.requests.own_port.due = Some(now + INTERVAL);
        }
        let is_due = self.own_port_due().is_some_and(|due| due <= now);
        let Some((node, port)) = self.devices.own_end().filter(|_| is_due) else {
            return;
        };
        if !self.requests.transactions.has_room() {
            return;
        }
        self.start_batch(node, false);
        let modifier = PortModifier::one(port).bits();
        self.requests
            .batch
            .push(AttributeId::PORT_INFO, modifier, PortInfo::LEN, |_| {});
        self.requests.own_port = OwnPort {
            due: Some(now + INTERVAL),
            is_asked: true,
        };
        self.send_batch(now, node, Tag::OwnPort);
    }

    /// The port's agent has answered. A link that has come or gone since the last sweep starts one.
    pub(super) fn own_port_answered(&mut self, now: Tick, view: &SmpView<'_>) {
        self.requests.own_port.is_asked = false;
        let Ok(info) = PortInfo::decode(view.payload) else {
            return;
        };
        let own = self.planning.plan.sm_lid();
        let foreign = ![Lid(0), own].contains(&info.master_sm_lid) && own != Lid(0);
        if view.status() == 0 && foreign && self.election.is_master() {
            self.tell_election(now, Replaced("its own port names another master"));
            return;
        }
        let known = self.devices.own_port().map(|known| known.port_state);
        let has_changed = known.is_some_and(|known| known != info.port_state);
        if view.status() == 0 && has_changed && info.port_state < PortState::ARMED {
            self.sweep
                .request(now, SweepReason::OwnPort, &self.settings.sweeps);
        }
    }

    /// The port's agent has not answered: the next reading finds out more.
    pub(super) fn own_port_not_answered(&mut self) {
        self.requests.own_port.is_asked = false;
    }
}
