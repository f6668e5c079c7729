//! Quarantine of ports: by an operator's order, its list, and its end.
//!
//! The link of such a port is left out of routes like that of one that went down too often, see
//! [`super::barred_links`], until the port is released. What the manager would use all the same is refused at once:
//! its own link, and links without which switches would be cut off. All of it outlasts a restart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::text::is_hidden;
use weft_fabric::{PortNum, PortRef, Tick};
use weft_state::State;

use super::Manager;
use super::barred_links::Barred;
use super::port_change::End;
use crate::io::{BarredPort, CommandError, Event, Input, LinkEnd, SweepReason, UnusedReason};

/// Most ports that are in quarantine by hand; more are refused.
pub const PORTS_MAX: usize = 16_384;
/// Most bytes of an operator's words.
pub const COMMENT_MAX: usize = 200;
/// Type of a neighbour in PortInfo that is a switch.
const SWITCH: u8 = 1;

/// Why a port is not put into quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuarantineError {
    /// No such port, another manager runs the fabric, or it is the manager's own link.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There is no link to leave out.
    #[error(
        "{port} has no link, and had none since the manager started: routes do not use it anyway"
    )]
    NoLink {
        /// The port.
        port: LinkEnd,
    },
    /// A host would be cut off.
    #[error(
        "{port} is on the only link of a host, which would be cut off; `weft quarantine add --force` does that"
    )]
    Host {
        /// The port.
        port: LinkEnd,
    },
    /// Switches would be cut off, or another link would have to be used that is not to be.
    #[error(
        "without the link at {port} a part of the fabric would be cut off, or only be reached over links that are \
         in quarantine or held back: it would be used all the same"
    )]
    LastWay {
        /// The port.
        port: LinkEnd,
    },
    /// The operator's words are too long, or have characters that act on a terminal.
    #[error("the reason is longer than {COMMENT_MAX} bytes, or has control characters")]
    Comment,
    /// Too many ports.
    #[error(
        "{PORTS_MAX} ports are in quarantine by hand already, which is the most; release some first"
    )]
    Many,
}

/// An operator's order to put a port into quarantine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantineOrder {
    /// Why, in the operator's words, at most [`COMMENT_MAX`] bytes; may be empty.
    pub comment: String,
    /// Also where a host is cut off.
    pub force: bool,
}

/// Ports that an operator has put into quarantine.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub(crate) struct ByHand(pub(super) BTreeMap<End, Placed>);

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Placed {
    pub since: Tick,
    pub comment: String,
}

impl ByHand {
    pub(super) fn ends(&self) -> impl Iterator<Item = End> {
        self.0.keys().copied()
    }

    pub(super) fn contains(&self, end: End) -> bool {
        self.0.contains_key(&end)
    }

    /// Puts a port into quarantine; one that is in it gets another comment.
    fn put(&mut self, now: Tick, end: End, comment: String) {
        let since = self.0.get(&end).map_or(now, |placed| placed.since);
        self.0.insert(end, Placed { since, comment });
    }
}

impl Manager {
    /// The ports whose links are not to be used: they went down too often, are in quarantine by hand, are not
    /// as the topology file has them, or lead to devices that are not let into the fabric.
    pub fn quarantine(&self, now: Tick) -> Vec<BarredPort> {
        let ends = self.devices.barred_ends().into_iter();
        let barred = ends.filter_map(|end| self.barred_port(now, end));
        let planning = &self.planning;
        let unintended = &planning.plan.routes.unintended;
        let unintended = planning.unintended_since.list(now, unintended);
        let refused = self.devices.refused_ports(now);
        let errors = self.links_listed(now);
        let all = barred.chain(unintended).chain(refused);
        all.chain(errors).collect()
    }

    /// A port's entry in that list.
    pub(super) fn barred_port(&self, now: Tick, end: End) -> Option<BarredPort> {
        let flapping = &self.devices.flapping;
        let (since, left, comment, reason) = match self.devices.by_hand.0.get(&end) {
            Some(placed) => {
                let comment = placed.comment.clone();
                (placed.since, None, comment, UnusedReason::QuarantinedByHand)
            }
            None => {
                let bar = flapping.bar(end)?;
                let left = bar.until.since(now);
                (bar.since, Some(left), String::new(), flapping.reason(end)?)
            }
        };
        Some(BarredPort {
            port: self.devices.link_end(end),
            reason,
            losses: flapping.losses(end).len() as u32,
            since: now.since(since),
            left,
            comment,
            errors: None,
        })
    }

    /// Puts a port into quarantine until [`Self::release`]; a sweep leaves its link out of routes.
    ///
    /// # Errors
    /// [`QuarantineError`]; nothing has changed then.
    pub fn put_in_quarantine(
        &mut self,
        now: Tick,
        end: End,
        order: QuarantineOrder,
    ) -> Result<(), QuarantineError> {
        self.may_quarantine(end, &order)?;
        self.devices.by_hand.put(now, end, order.comment.clone());
        self.out.event(Event::PortQuarantined {
            port: self.devices.link_end(end),
            losses: self.devices.flapping.losses(end).len() as u32,
            by_hand: Some(order.comment),
        });
        self.persist();
        self.sweep
            .request(now, SweepReason::Forced, &self.settings.sweeps);
        self.handle(now, Input::Tick);
        Ok(())
    }

    /// Lets the link of a port be used again, and forgets its losses. Returns whether it was not to be used.
    pub fn release(&mut self, now: Tick, end: End) -> bool {
        let ends = [Some(end), self.devices.far_end(end)];
        let released = ends.into_iter().flatten().map(|end| self.end_bar(now, end));
        if released.filter(|released| *released).count() == 0 {
            return false;
        }
        self.persist();
        self.sweep
            .request(now, SweepReason::Forced, &self.settings.sweeps);
        self.handle(now, Input::Tick);
        true
    }

    /// Ends all that bars the link at a port; returns whether anything did.
    fn end_bar(&mut self, now: Tick, end: End) -> bool {
        let quarantined = self.devices.flapping.bar(end);
        let is_told = quarantined.is_some_and(|bar| bar.is_quarantine());
        let by_hand = self.devices.by_hand.0.remove(&end).is_some();
        if by_hand && !is_told {
            self.out
                .event(Event::PortReleased(self.devices.link_end(end)));
        }
        let isolated = self.devices.isolation.forgive(now, end);
        self.tell_isolation(now);
        self.devices.flapping.forgive(end) || by_hand || isolated
    }

    /// Whether [`Self::put_in_quarantine`] would do it.
    ///
    /// # Errors
    /// Why not.
    pub fn may_quarantine(&self, end: End, order: &QuarantineOrder) -> Result<(), QuarantineError> {
        self.must_be_master()?;
        let index = self.ports().external_port(end)?;
        if order.comment.len() > COMMENT_MAX || order.comment.contains(is_hidden) {
            return Err(QuarantineError::Comment);
        }
        let (node, port) = end;
        let peer = self.planning.plan.peer(index, port);
        let peer = peer.map(|peer| (self.devices[peer.node].identity.guid, peer.port));
        let named = || self.devices.link_end(end);
        let far = peer.or_else(|| self.devices.far_end(end));
        let far = far.ok_or_else(|| QuarantineError::NoLink { port: named() })?;
        if [node, far.0]
            .map(|node| self.devices.find(node))
            .contains(&Some(0))
        {
            return Err(CommandError::OwnLink { node, port }.into());
        }
        if !order.force && self.is_hosts_link(index, port, far) {
            return Err(QuarantineError::Host { port: named() });
        }
        let barred = self.devices.barred();
        if !self.can_do_without(end, barred, UnusedReason::QuarantinedByHand) {
            return Err(QuarantineError::LastWay { port: named() });
        }
        let is_new = !self.devices.by_hand.contains(end);
        match is_new && self.devices.by_hand.0.len() >= PORTS_MAX {
            true => Err(QuarantineError::Many),
            false => Ok(()),
        }
    }

    /// Whether a link, or the last one that there was, has an end that is no switch's.
    pub(super) fn is_hosts_link(&self, index: u32, port: PortNum, far: End) -> bool {
        let device = &self.devices[index];
        let far_is_switch = match self.devices.find(far.0) {
            Some(far) => self.devices[far].is_switch(),
            None => {
                let info = device.observed.port(port);
                info.is_some_and(|info| info.neighbor_node_type == SWITCH)
            }
        };
        !(device.is_switch() && far_is_switch)
    }

    /// Whether routes would leave out the link at a port for a reason, and all those of `barred` that they leave out
    /// already. A link that is down is not missed.
    pub(super) fn can_do_without(
        &self,
        end: End,
        mut barred: Barred,
        reason: UnusedReason,
    ) -> bool {
        let plan = &self.planning.plan;
        let Some(at) = self.devices.port_ref(end) else {
            return true;
        };
        if plan.topology.peer(at).is_none() {
            return true;
        }
        let mut needed: Vec<PortRef> = self.unused_with(&barred).ends().collect();
        barred.insert(at, reason);
        needed.push(at);
        let unused = self.unused_with(&barred);
        needed.iter().all(|end| unused.reason(*end).is_some())
    }

    /// Whether the next sweep leaves a link out of routes.
    pub(super) fn will_leave_out(&self, end: End) -> bool {
        let unused = self.unused_with(&self.devices.barred());
        let at = self.devices.port_ref(end);
        at.is_some_and(|at| unused.reason(at).is_some())
    }
}
