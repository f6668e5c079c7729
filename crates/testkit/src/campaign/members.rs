//! Members of multicast groups and partitions, drawn from a seed.

use std::collections::BTreeSet;
use std::fmt;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weft_fabric::enums::Mtu;
use weft_fabric::{Guid, Lid, Tick, Topology};
use weft_manager::MulticastLid;
use weft_manager::sm::Settings;
use weft_manager::sm::settings::{Members as Selected, Partition, Selector};
use weft_routing::RootChoice;

use crate::oracle::multicast::Group;
use crate::oracle::partitions::Secured;

/// Rows that groups may have: two of one block, one of the next.
const ROWS: [u32; 3] = [0, 1, 9];
/// Members change between these, nanoseconds.
const FROM_NS: u64 = 1_000;
const UNTIL_NS: u64 = 4_000_000_000;
/// Draws of their own: other parts of a scenario stay as they are when these change.
const STREAM: u64 = 0x6d63_6173_7400;
/// Key of the secured partition.
const KEY: u16 = 5;
/// A static rate of 25 Gb/s.
const RATE_25G: u8 = 15;

/// Everything about members that a run depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Trees are cut to their members.
    pub pruning: bool,
    /// Choice of the root.
    pub root: RootChoice,
    /// Members passed to the manager, and times, in order of time.
    pub changes: Vec<(Tick, Vec<Group>)>,
    /// Members passed to it in the quiet fabric at the end.
    pub last: Vec<Group>,
    /// A secured partition, where there is one.
    pub secured: Option<Secured>,
}

impl Membership {
    /// The members of a seed.
    pub fn draw(seed: u64, topology: &Topology) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ STREAM);
        let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
        let roots = [
            RootChoice::LeastTotalCost,
            RootChoice::LeastWorstCaseCost,
            RootChoice::ManagerNeighbor,
        ];
        let count = rng.random_range(0..=6);
        let mut changes: Vec<(Tick, Vec<Group>)> = (0..count)
            .map(|_| (draw_time(&mut rng), draw_groups(&mut rng, &hosts)))
            .collect();
        changes.sort_by_key(|(at, _)| *at);
        Self {
            pruning: rng.random_bool(0.5),
            root: roots[rng.random_range(0..roots.len())],
            changes,
            last: draw_groups(&mut rng, &hosts),
            secured: rng
                .random_bool(0.5)
                .then(|| draw_partition(&mut rng, &hosts)),
        }
    }

    /// Puts the administrator's choices into settings.
    pub fn configure(&self, settings: &mut Settings) {
        settings.multicast.pruning = self.pruning;
        settings.multicast.root = self.root;
        let select =
            |guids: &BTreeSet<Guid>| Selected::of(guids.iter().copied().map(Selector::NodeGuid));
        settings
            .partitions
            .extend(self.secured.as_ref().map(|partition| Partition {
                key: partition.key,
                secured: true,
                full: select(&partition.full),
                limited: select(&partition.limited),
            }));
    }
}

/// Evenly over the orders of magnitude, so that many changes meet the first sweep.
fn draw_time(rng: &mut ChaCha8Rng) -> Tick {
    let (from, until) = ((FROM_NS as f64).ln(), (UNTIL_NS as f64).ln());
    Tick(rng.random_range(from..until).exp() as u64)
}

fn draw_groups(rng: &mut ChaCha8Rng, hosts: &[Guid]) -> Vec<Group> {
    let mut groups = Vec::new();
    for row in ROWS {
        if rng.random_bool(0.2) {
            continue;
        }
        let (joined, of_them_receive) = (rng.random_range(0.0..=1.0), rng.random_range(0.5..=1.0));
        let members: Vec<Guid> = hosts
            .iter()
            .copied()
            .filter(|_| rng.random_bool(joined))
            .collect();
        let (receivers, senders) = members
            .into_iter()
            .partition(|_| rng.random_bool(of_them_receive));
        groups.push(Group {
            row,
            receivers,
            senders,
        });
    }
    groups
}

fn draw_partition(rng: &mut ChaCha8Rng, hosts: &[Guid]) -> Secured {
    let mut secured = Secured {
        key: KEY,
        full: BTreeSet::new(),
        limited: BTreeSet::new(),
    };
    for host in hosts {
        match rng.random_range(0..3) {
            0 => secured.full.insert(*host),
            1 => secured.limited.insert(*host),
            _ => false,
        };
    }
    secured
}

/// Groups in the manager's form. A host's port has its node's GUID.
pub fn told(groups: &[Group]) -> Vec<MulticastLid> {
    let each = groups.iter().map(|group| MulticastLid {
        mlid: Lid(Lid::MULTICAST_BASE.0 + group.row),
        mtu: Mtu::B2048,
        rate: RATE_25G,
        receivers: group.receivers.clone(),
        senders: group.senders.clone(),
    });
    each.collect()
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pruned = if self.pruning { "pruned" } else { "whole" };
        writeln!(
            f,
            "  {pruned} multicast trees, root {:?}, secured: {:?}",
            self.root, self.secured
        )?;
        for (at, groups) in &self.changes {
            writeln!(f, "  {:>13} ns  members {groups:?}", at.0)?;
        }
        writeln!(f, "  in the end members {:?}", self.last)
    }
}
