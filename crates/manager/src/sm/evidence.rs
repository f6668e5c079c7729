//! Why a port is in quarantine, or is not: losses of its link, thresholds, and what routes do now.

use std::time::Duration;

use weft_fabric::{Guid, PortNum, PortRef, Snapshot, Tick};

use super::Manager;
use super::barred_links::rank;
use super::port_change::End;
use super::settings::FlapSettings;
use super::unused_links::is_barred;
use crate::io::{BarredPort, CommandError, LinkEnd, UnusedReason};

/// Most hops of a way round a link.
const HOPS_MAX: usize = 64;

/// What the manager knows about the losses of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The end that was asked for, and the other end of the link, or of the last one, where that is known.
    pub ends: Vec<EndEvidence>,
    /// When a link goes down too often; none where losses are not counted.
    pub thresholds: Option<FlapSettings>,
    /// What routes do with the link.
    pub link: LinkUse,
}

/// What is known of one end of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndEvidence {
    /// The port.
    pub port: LinkEnd,
    /// How long ago its link was lost, each time within `WindowSize`, the first one first.
    pub losses: Vec<Duration>,
    /// Its entry in the list of quarantine, none where it has none.
    pub bar: Option<BarredPort>,
}

/// What routes do with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkUse {
    /// It is down, or its ends do not agree.
    Down,
    /// It is up and may be used.
    Used,
    /// It is not to be used, but a part of the fabric would be cut off without it.
    UsedAllTheSame,
    /// It is used until the next sweep has ended.
    UsedUntilSweep,
    /// Routes leave it out.
    LeftOut(UnusedReason),
}

impl Manager {
    /// Losses of a port's link, and what follows from them.
    ///
    /// # Errors
    /// [`CommandError::NoNode`], [`CommandError::NoPort`], [`CommandError::NotMaster`].
    pub fn explain(&self, now: Tick, end: End) -> Result<Evidence, CommandError> {
        self.must_be_master()?;
        let index = self.ports().external_port(end)?;
        let ends = [Some(end), self.devices.far_end(end)];
        let ends = ends.into_iter().flatten();
        Ok(Evidence {
            ends: ends.map(|end| self.end_evidence(now, end)).collect(),
            thresholds: self.settings.links.flapping,
            link: self.link_use(index, end),
        })
    }

    fn end_evidence(&self, now: Tick, end: End) -> EndEvidence {
        let window = self.settings.links.flapping.map(|settings| settings.window);
        let losses = self.devices.flapping.losses(end).map(|at| now.since(at));
        let counts = losses.filter(|age| window.is_none_or(|window| *age <= window));
        EndEvidence {
            port: self.devices.link_end(end),
            losses: counts.collect(),
            bar: self.barred_port(now, end).or_else(|| {
                let planning = &self.planning;
                let unintended = &planning.plan.routes.unintended;
                let unintended = planning.unintended_since.at(now, unintended, end);
                let refused = unintended.or_else(|| self.devices.refused_port(now, end));
                refused.or_else(|| self.link_listed(now, end))
            }),
        }
    }

    fn link_use(&self, index: u32, end: End) -> LinkUse {
        let plan = &self.planning.plan;
        let Some(peer) = plan.peer(index, end.1) else {
            let refused = self.devices.refusals.reason(end);
            return refused.map_or(LinkUse::Down, LinkUse::LeftOut);
        };
        // A look may have seen it go since the last sweep.
        if self.devices.flapping.was_up(end) == Some(false) {
            return LinkUse::Down;
        }
        let far = (self.devices[peer.node].identity.guid, peer.port);
        let bars = [end, far].map(|end| self.devices.bar(end));
        let bar = bars.into_iter().flatten().max_by_key(rank);
        match (plan.routes.unused.reason_of(end), bar) {
            // Routes may have been made before the last losses.
            (Some(reason), Some(bar)) if is_barred(&reason) => LinkUse::LeftOut(bar),
            (Some(reason), _) => LinkUse::LeftOut(reason),
            (None, None) => LinkUse::Used,
            (None, Some(_)) if self.will_leave_out(end) => LinkUse::UsedUntilSweep,
            (None, Some(_)) => LinkUse::UsedAllTheSame,
        }
    }
}

/// The ports by which packets leave each switch on the way from one end of a link between switches to the other, as
/// the switches' tables have it; empty where that is no such link, or they lead nowhere.
pub fn way_round(snapshot: &Snapshot, (guid, port): (Guid, PortNum)) -> Vec<LinkEnd> {
    let topology = &*snapshot.topology;
    let walk = || {
        let mut node = topology.find(guid)?;
        let far = topology.peer(PortRef { node, port })?.node;
        let lid = topology.node(far)?.port(PortNum(0))?.info.lid;
        let mut way = Vec::new();
        while node != far && way.len() < HOPS_MAX {
            let switch = topology.switch_index(node)?;
            let port = snapshot.linear.egress(switch, lid)?;
            let name = topology.node(node)?;
            way.push(LinkEnd {
                node: name.guid(),
                name: name.name().to_string(),
                port,
            });
            node = topology.peer(PortRef { node, port })?.node;
        }
        (node == far).then_some(way)
    };
    walk().unwrap_or_default()
}
