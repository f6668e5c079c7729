//! Rules of a quiet fabric, whatever a campaign did before.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::{Lanes, Lid, Sl};
use weft_manager::Manager;
use weft_manager::sm::Settings;
use weft_routing::EngineKind;

use super::DigestedWorld;
use super::bring_up::CONVERGED_WITHIN;
use crate::oracle::multicast::Group;
use crate::oracle::partitions::Secured;
use crate::oracle::{
    Breach, choices, deadlock, levels, lids, multicast, pairs, partitions, quiet, reach, tables,
};
use crate::view::{self, FabricView};
use crate::world::Wait;

/// Lanes for data that emulated ports have.
const DATA_LANES: u8 = 8;
/// The key of the stock partition.
const DEFAULT_KEY: u16 = 1;

/// The devices' registers.
pub(super) fn view(world: &DigestedWorld) -> FabricView {
    view::read(world.emulator.network())
}

/// The place of the manager's host.
pub(super) fn root(world: &DigestedWorld, view: &FabricView) -> usize {
    let (host, _) = world.host();
    view.find(host).unwrap_or_default()
}

/// I9: something that had to end within the bound of convergence did, or it is a breach.
pub(super) fn in_time(wait: Wait, what: &str) -> Option<Breach> {
    quiet::check_in_time(wait, CONVERGED_WITHIN, what)
}

/// The service levels that hosts use: those of the settings, in the lane that path records give a LID.
#[derive(Debug, Clone)]
pub(super) struct UsedLevels {
    settings: Arc<Settings>,
    lanes: Arc<Lanes>,
}

impl UsedLevels {
    /// As currently reported by the manager to hosts.
    pub(super) fn of(manager: &Manager) -> Self {
        Self {
            settings: Arc::new(manager.arrangement().settings),
            lanes: Arc::clone(manager.snapshot().linear.lanes()),
        }
    }

    /// Number of LIDs that another level is used for than before.
    pub(super) fn changed_from(&self, before: &Self) -> usize {
        self.lanes.moved(&before.lanes).count()
    }

    /// Those of packets to a LID.
    pub(super) fn to(&self, lid: Lid) -> Vec<Sl> {
        self.in_lane(self.lanes.of(lid)).collect()
    }

    /// All of them: also those of lanes that no LID is in at the moment.
    fn all(&self) -> BTreeSet<Sl> {
        let lanes = 0..self.prepared();
        lanes.flat_map(|lane| self.in_lane(lane)).collect()
    }

    /// Lanes that ports are to be prepared for: as many as there are for each level where the engine
    /// spreads destinations over lanes, else one.
    pub(super) fn prepared(&self) -> u8 {
        let levels = self.settings.levels.len().max(1) as u8;
        match self.settings.routing.engine {
            EngineKind::Dor | EngineKind::Layered => (DATA_LANES / levels).max(1),
            _ => 1,
        }
    }

    fn in_lane(&self, lane: u8) -> impl Iterator<Item = Sl> {
        let levels = self.settings.levels.iter();
        levels.map(move |level| self.settings.level_in_lane(level.sl, lane))
    }
}

/// I1 for each service level.
pub(super) fn levels(world: &DigestedWorld) -> Vec<Breach> {
    let view = view(world);
    levels::check(
        &view,
        root(world, &view),
        &UsedLevels::of(world.manager()).all(),
    )
}

/// I3 with answers on the service level of the request.
pub(super) fn answers(world: &DigestedWorld) -> Vec<Breach> {
    let used = UsedLevels::of(world.manager());
    deadlock::check_answers(&view(world), |lid| used.to(lid))
}

/// The partition that all hosts are full members of, where the settings are the stock ones.
fn default_partition(view: &FabricView) -> Secured {
    let hosts = view.nodes.iter().filter(|node| !node.switch);
    Secured {
        key: DEFAULT_KEY,
        full: hosts.map(|node| node.guid).collect(),
        limited: BTreeSet::new(),
    }
}

/// All rules of a quiet fabric with these groups, and these partitions besides the
/// default one.
pub(super) fn quiet(world: &DigestedWorld, groups: &[Group], secured: &[Secured]) -> Vec<Breach> {
    let view = view(world);
    let root = root(world, &view);
    rules(&view, root, world.manager(), groups, secured)
}

/// All rules of the fabric that is connected with `root`, the place of its manager's host, as [`quiet`].
pub(super) fn rules(
    view: &FabricView,
    root: usize,
    manager: &Manager,
    groups: &[Group],
    secured: &[Secured],
) -> Vec<Breach> {
    let used = UsedLevels::of(manager);
    let snapshot = manager.snapshot();
    let mut breaches = reach::check_loops(view);
    breaches.extend(reach::check_reachable(view, root));
    breaches.extend(choices::check(view, root));
    breaches.extend(deadlock::check_levels(view, |lid| used.to(lid)));
    breaches.extend(lids::check(view, root));
    breaches.extend(tables::check(view, root, &snapshot));
    breaches.extend(multicast::check_loops(view));
    breaches.extend(multicast::check_delivery(view, root, groups));
    breaches.extend(multicast::check_published(view, root, &snapshot));
    breaches.extend(partitions::check(view, root, secured));
    let all: Vec<Secured> = secured
        .iter()
        .cloned()
        .chain([default_partition(view)])
        .collect();
    breaches.extend(pairs::check(view, root, &all));
    breaches
}
