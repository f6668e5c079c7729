//! Asking hosts to register again at subnet administration: `ClientReregister` of PortInfo.
//!
//! A host joins multicast groups, offers services and subscribes to notices once. A manager that does
//! not hold these registrations requests them, port by port, until the port has confirmed it; hfi1
//! passes that on as `IB_EVENT_CLIENT_REREGISTER` (drivers/infiniband/hw/hfi1/mad.c,
//! `__subn_set_opa_portinfo`), upon which IPoIB and libraries join again. This applies to ports that are
//! ACTIVE already; the others register when they become so. These are the cases of the vendor's manager
//! (opa-fm, sm_activate.c `_needs_reregistration` and sm_topology.c on partitions that change), which
//! also asks after the sweep, when subnet administration knows the ports. Omni-Path has no capability
//! bit for it (opa-fm, ib_sm.h: `PI_CM_IS_CLIENT_REREGISTER_SUPPORTED` is 0 there).

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{Guid, Lid, PortNum, text};
use weft_state::State;
use weft_wire::enums::PortState;
use weft_wire::sm::PortInfo;

use super::Manager;
use super::devices::{Device, Devices, Stage};
use super::multicast::Update;
use super::plan::MulticastPlan;
use crate::io::Output;
use crate::multicast::MulticastLid;

/// Registrations of clients at subnet administration, as far as the fabric depends on them.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Registrations {
    /// Members of each multicast group; `None` before they are passed in: until then tables stay as they
    /// are found.
    pub members: Option<Arc<Vec<MulticastLid>>>,
    /// Whether the switches have the members' tables.
    pub update: Update,
    pub registering: Registering,
    /// Port of the master whose registrations subnet administration holds.
    pub copied_from: Option<Guid>,
    /// Port of the master that this manager stands by for, or stood by for last.
    pub stood_by_for: Option<Guid>,
}

/// Ports that still have to register again.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Registering {
    /// Nodes whose end ports have not confirmed it. At most as many as the fabric has.
    pending: BTreeSet<Guid>,
    /// This manager has become master and has not looked yet whom it knows.
    takes_over: bool,
    /// It has the registrations of the master before.
    inherited: bool,
    /// The sweep in which ports were last asked.
    asked_in: u64,
}

impl Registering {
    /// This manager has become master, with the registrations of the one before if it has `inherited` them.
    pub(super) fn take_over(&mut self, inherited: bool) {
        (self.takes_over, self.inherited) = (true, inherited);
    }

    /// A node has lost its registrations, or may have.
    fn ask(&mut self, node: Guid) {
        self.pending.insert(node);
    }

    /// The partitions of a node's port have changed: where that is its end port and ACTIVE, its host
    /// registers again.
    pub(super) fn rejoins(&mut self, device: &Device, port: PortNum) {
        if port == device.end_port() && active_end(device).is_some() {
            self.ask(device.identity.guid);
        }
    }

    /// Ports that are not ACTIVE any more register by themselves when they are.
    fn forget_inactive(&mut self, devices: &Devices) {
        self.pending.retain(|guid| {
            let device = devices.find(*guid).and_then(|at| devices.get(at));
            device.is_some_and(|device| active_end(device).is_some())
        });
    }

    /// A node's port has confirmed that it passes the request on.
    pub(super) fn confirmed(&mut self, node: Guid) {
        self.pending.remove(&node);
    }
}

impl Registrations {
    /// This manager stands by for the one on a port. What it has of another master, or of the same one before it was
    /// master itself, does not count.
    pub(super) fn stand_by_for(&mut self, master: Option<Guid>) {
        if self.stood_by_for != master {
            (self.stood_by_for, self.copied_from) = (master, None);
        }
    }

    /// Whether subnet administration holds what the last master had registered; only once, for the next master may
    /// be another.
    fn take_copy(&mut self) -> bool {
        let master = self.stood_by_for.take();
        let copied_from = self.copied_from.take();
        self.members.is_some() && master.is_some() && copied_from == master
    }

    /// Whether this manager's registrations are those of the fabric: most active ports
    /// still name it as their master.
    fn are_of(&self, devices: &Devices, own: Lid) -> bool {
        let active = devices.iter().filter_map(active_end);
        let (all, foreign) = active.fold((0, 0), |(all, foreign), info| {
            (all + 1, foreign + usize::from(is_foreign(info, own)))
        });
        self.members.is_some() && 2 * foreign <= all
    }
}

/// PortInfo of a node's end port, none where it is not ACTIVE or cannot have registered: port 0 of a
/// switch can only where it is an enhanced one, and port 0 of a switch that was just switched on is
/// ACTIVE without a LID.
fn active_end(device: &Device) -> Option<&PortInfo> {
    let switch = device.observed.switch();
    let registers = switch.is_none_or(|switch| switch.enhanced_port0);
    let info = device.observed.port(device.end_port())?;
    (registers && info.lid != Lid(0) && info.port_state == PortState::ACTIVE).then_some(info)
}

impl Manager {
    /// Finds the ports that have to register again: all active ones when this manager takes over
    /// without their registrations, and those that come back ACTIVE after they were gone for readers,
    /// or from another manager.
    pub(super) fn find_unregistered(&mut self) {
        let own = self.planning.plan.sm_lid();
        let takes_over = std::mem::take(&mut self.registrations.registering.takes_over);
        let copied = takes_over && self.registrations.take_copy();
        let inherited = std::mem::take(&mut self.registrations.registering.inherited);
        if copied || takes_over && inherited && self.registrations.members.is_some() {
            // Every port has registered at the last master, and is known from there.
            return;
        }
        if takes_over && !self.registrations.are_of(&self.devices, own) {
            self.lose_registrations();
            return;
        }
        let before = &self.out.published;
        let is_new = |device: &Device| {
            before.generation > 0 && before.topology.find(device.identity.guid).is_none()
        };
        let unknown: Vec<Guid> = self
            .devices
            .iter()
            .filter(|device| {
                active_end(device)
                    .is_some_and(|info| is_new(device) || takes_over && is_foreign(info, own))
            })
            .map(|device| device.identity.guid)
            .collect();
        unknown
            .into_iter()
            .for_each(|node| self.registrations.registering.ask(node));
        self.registrations
            .registering
            .forget_inactive(&self.devices);
    }

    /// Starts without registrations: multicast tables stay as they are found until members are known.
    fn lose_registrations(&mut self) {
        // Tables stay unchanged until members are passed in again.
        self.registrations.forget_members();
        self.planning.plan.multicast = MulticastPlan::default();
        let active = self
            .devices
            .iter()
            .filter(|device| active_end(device).is_some());
        self.registrations.registering.pending =
            active.map(|device| device.identity.guid).collect();
        let asked = self.registrations.registering.pending.len();
        self.out.push(Output::RegistrationsLost { asked });
    }

    /// Asks once per sweep, after all other work; returns whether there is any port to ask.
    pub(super) fn register_again(&mut self) -> bool {
        let number = self.sweep.number;
        let is_first =
            std::mem::replace(&mut self.registrations.registering.asked_in, number) != number;
        if is_first && !self.registrations.registering.pending.is_empty() {
            // A port that registers at once must be known to subnet administration.
            self.publish();
            if self.begin_registering() {
                return true;
            }
        }
        let left = self.registrations.registering.pending.len();
        if left > 0 {
            self.sweep.unfinished(format!(
                "that hosts shall register again is not confirmed by {}",
                text::count(left, "port")
            ));
        }
        false
    }

    fn begin_registering(&mut self) -> bool {
        let mut any = false;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            let able = device.health.works_in(self.sweep.number);
            if able
                && self
                    .registrations
                    .registering
                    .pending
                    .contains(&device.identity.guid)
            {
                self.requests
                    .schedule
                    .begin(node, &mut device.work, Stage::Reregister);
                any = true;
            }
        }
        any
    }
}

/// Whether a port names another manager than the one at `own` as its master.
fn is_foreign(info: &PortInfo, own: Lid) -> bool {
    info.master_sm_lid != Lid(0) && info.master_sm_lid != own
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registrations of the master on a port, at a standby of the one on another.
    fn held(of: Guid, stands_by_for: Guid) -> Registrations {
        let mut registrations = Registrations::default();
        registrations.stand_by_for(Some(stands_by_for));
        registrations.told(Vec::new());
        registrations.copied_from = Some(of);
        registrations
    }

    #[test]
    fn registrations_count_once_and_only_those_of_the_last_master() {
        let mut same = held(Guid(1), Guid(1));
        assert!(same.take_copy());
        assert!(!same.take_copy(), "they are this manager's own now");
        assert!(!held(Guid(1), Guid(2)).take_copy());
        let mut unknown = held(Guid(1), Guid(1));
        unknown.forget_members();
        assert!(!unknown.take_copy(), "members are not known");
    }

    #[test]
    fn a_standby_that_loses_its_master_for_a_moment_keeps_them() {
        let mut held = held(Guid(1), Guid(1));
        held.stand_by_for(Some(Guid(1)));
        assert!(held.take_copy());
        held.copied_from = Some(Guid(1));
        held.stand_by_for(Some(Guid(1)));
        assert!(!held.take_copy(), "it was master itself meanwhile");
    }
}
