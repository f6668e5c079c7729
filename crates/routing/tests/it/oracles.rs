//! Tables of every engine on small random fabrics, checked by searches of petgraph: reachability
//! and path length, and dependencies of links. It shares nothing with the engines
//! or the certificate.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{degrade, dor, fabric, home, in_halves, irregular, lids, settings, walk};
use petgraph::algo::{dijkstra, is_cyclic_directed};
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use weft_fabric::{Lid, NodeId, PortNum, PortRef, Topology};
use weft_routing::quality::{Effort, assess};
use weft_routing::{EngineKind, EngineUsed, Note, OrderGroup, Routed, Settings, reroute, route};

/// A link by its sending switch and port.
type Channel = (u32, u8);

/// Links that wait for others.
type Waits = BTreeSet<(Channel, Channel)>;

fn is_cyclic(waits: &Waits) -> bool {
    let mut graph: DiGraph<(), ()> = DiGraph::new();
    let mut at: BTreeMap<Channel, NodeIndex> = BTreeMap::new();
    for (link, next) in waits {
        let ends = [link, next].map(|link| *at.entry(*link).or_insert_with(|| graph.add_node(())));
        graph.add_edge(ends[0], ends[1], ());
    }
    is_cyclic_directed(&graph)
}

/// Required length of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    /// The fewest links.
    Least,
    /// The fewest links of all paths that go up and then down.
    UpDown,
    /// Any.
    Any,
}

/// Guarantee of an engine, depending on whether the fabric is whole.
fn promised(routed: &Routed, is_whole: bool) -> Length {
    match routed.engine() {
        EngineUsed::ShortestPath
        | EngineUsed::OpaShortestPath
        | EngineUsed::DgShortestPath
        | EngineUsed::FatTree
        | EngineUsed::Hypercube => Length::Least,
        EngineUsed::Dor if is_whole => Length::Least,
        EngineUsed::Dmodc | EngineUsed::FatTreeUpDown => Length::UpDown,
        _ => Length::Any,
    }
}

/// The fabric as petgraph sees it.
struct Oracle<'a> {
    topology: &'a Topology,
    /// Cables, in both directions.
    cables: DiGraph<(), ()>,
    /// Each switch rising and falling, with free steps from the one to the other.
    up_down: DiGraph<(), u32>,
    rising: BTreeMap<NodeId, NodeIndex>,
    falling: BTreeMap<NodeId, NodeIndex>,
    at: BTreeMap<NodeId, NodeIndex>,
    /// Each cable leads up or down.
    is_tree: bool,
    /// Switches with hosts.
    senders: BTreeSet<NodeId>,
}

impl<'a> Oracle<'a> {
    fn new(topology: &'a Topology) -> Self {
        let mut cables = DiGraph::new();
        let mut up_down = DiGraph::new();
        let switches = || topology.switches().iter().copied();
        let at: BTreeMap<_, _> = switches().map(|node| (node, cables.add_node(()))).collect();
        let rising: BTreeMap<_, _> = switches()
            .map(|node| (node, up_down.add_node(())))
            .collect();
        let falling: BTreeMap<_, _> = switches()
            .map(|node| (node, up_down.add_node(())))
            .collect();
        let hosts = lids(topology)
            .into_iter()
            .filter(|(_, end)| end.port.0 != 0);
        let senders: BTreeSet<NodeId> = hosts.filter_map(|(_, end)| home(topology, end)).collect();
        let both = || {
            topology
                .links()
                .flat_map(|(a, b)| [(a.node, b.node), (b.node, a.node)])
        };
        let inner = || both().filter(|(a, b)| at.contains_key(a) && at.contains_key(b));
        for (a, b) in inner() {
            cables.add_edge(at[&a], at[&b], ());
        }
        let level = levels(&cables, senders.iter().map(|node| at[node]).collect());
        let mut is_tree = true;
        for (a, b) in inner() {
            let (here, there) = (level.get(&at[&a]), level.get(&at[&b]));
            is_tree &= here != there || here.is_none();
            if here < there {
                up_down.add_edge(rising[&a], rising[&b], 1);
                up_down.add_edge(falling[&b], falling[&a], 1);
            }
        }
        for node in switches() {
            up_down.add_edge(rising[&node], falling[&node], 0);
        }
        Self {
            topology,
            cables,
            up_down,
            rising,
            falling,
            at,
            is_tree,
            senders,
        }
    }

    /// Fewest links from a switch to all that it reaches, and those to which it can go up and then
    /// down.
    fn far(&self, from: NodeId) -> [BTreeMap<NodeId, usize>; 2] {
        let all = dijkstra(&self.cables, self.at[&from], None, |_| 1usize);
        let legal = dijkstra(&self.up_down, self.rising[&from], None, |step| {
            *step.weight() as usize
        });
        let to = |node: &NodeId, found: Option<&usize>| found.map(|far| (*node, *far));
        [
            self.at
                .iter()
                .filter_map(|(node, at)| to(node, all.get(at)))
                .collect(),
            self.falling
                .iter()
                .filter_map(|(node, at)| to(node, legal.get(at)))
                .collect(),
        ]
    }

    /// Judges tables.
    fn judge(&self, routed: &Routed, is_whole: bool) -> Result<(), String> {
        let engine = routed.engine();
        let found = self.follow(routed, promised(routed, is_whole))?;
        if let Some(lane) = found.waits.iter().position(is_cyclic) {
            return Err(format!("{engine:?}: a credit cycle in lane {lane}"));
        }
        let told = routed.notes().iter().find_map(|note| match note {
            Note::Detours { lids, .. } => Some(*lids as usize),
            _ => None,
        });
        let longer = found.longer.len();
        match engine {
            EngineUsed::Layered if told.unwrap_or(0) != longer => {
                Err(format!("{longer} LIDs have longer routes, {told:?} told"))
            }
            _ => Ok(()),
        }
    }

    /// Follows each LID from each switch that cables join to it.
    fn follow(&self, routed: &Routed, promise: Length) -> Result<Found, String> {
        let mut found = Found {
            waits: vec![Waits::new(); usize::from(routed.lanes().count())],
            longer: BTreeSet::new(),
        };
        let ends = lids(self.topology);
        for &from in self.topology.switches() {
            let [all, legal] = self.far(from);
            for (lid, owner) in &ends {
                let home = home(self.topology, *owner);
                let Some((home, least)) = home.and_then(|home| Some((home, *all.get(&home)?)))
                else {
                    continue;
                };
                let what = || format!("{:?}, {from:?} to {lid}", routed.engine());
                let route = walk(self.topology, routed.linear(), from, *lid, *owner)
                    .map_err(|why| format!("{}: {why}", what()))?;
                let length = route.len() - 1;
                let best = match promise {
                    Length::Least => Some(least),
                    // Ranks among switches of one level are the engine's choice.
                    Length::UpDown if self.is_tree => legal.get(&home).copied(),
                    Length::UpDown | Length::Any => None,
                };
                if best.is_some_and(|best| best != length) {
                    return Err(format!("{}: {length} links, {best:?} do", what()));
                }
                if self.senders.contains(&from) && owner.port.0 != 0 {
                    let links = in_halves(self.topology, routed.lanes(), &route);
                    found.add(&links, usize::from(routed.lanes().of(*lid)));
                    found.longer.extend((length > least).then_some(*lid));
                }
            }
        }
        Ok(found)
    }
}

/// Findings on routes between hosts.
struct Found {
    /// In each lane.
    waits: Vec<Waits>,
    /// LIDs to which some host has a longer route than there is.
    longer: BTreeSet<Lid>,
}

impl Found {
    fn add(&mut self, route: &[(NodeId, PortNum)], lane: usize) {
        let channel = |hop: &(NodeId, PortNum)| (hop.0.0, hop.1.0);
        let pairs = route.windows(2);
        self.waits[lane].extend(pairs.map(|pair| (channel(&pair[0]), channel(&pair[1]))));
    }
}

/// Links from each switch to the nearest with hosts.
fn levels(cables: &DiGraph<(), ()>, senders: Vec<NodeIndex>) -> BTreeMap<NodeIndex, usize> {
    let mut cables = cables.clone();
    let ground = cables.add_node(());
    for sender in senders {
        cables.add_edge(ground, sender, ());
    }
    let found = dijkstra(&cables, ground, None, |_| 1usize);
    found.into_iter().collect()
}

fn check(
    topology: &Topology,
    settings: &Settings,
    is_whole: bool,
) -> Result<Routed, TestCaseError> {
    let routed = route(topology, settings).unwrap();
    let judged = Oracle::new(topology).judge(&routed, is_whole);
    prop_assert!(judged.is_ok(), "{:?}: {judged:?}", settings.engine);
    Ok(routed)
}

/// Pulls cables, counted modulo their number.
fn pull(topology: &mut Topology, cables: &[usize]) {
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    let between = |(a, b): &(PortRef, PortRef)| {
        [a, b]
            .iter()
            .all(|end| topology.switch_index(end.node).is_some())
    };
    let links: Vec<_> = links.into_iter().filter(between).collect();
    for cable in cables.iter().filter(|_| !links.is_empty()) {
        topology.disconnect(links[cable % links.len()].0);
    }
}

/// Every engine that routes any fabric or a tree.
fn general(topology: &Topology, tiers: u8, lanes: u8, first: usize) -> Vec<Settings> {
    let hosts = topology.hfis().map(|(node, _)| PortRef {
        node,
        port: PortNum(1),
    });
    let group = hosts.step_by(first.max(1)).collect();
    let engines = [
        EngineKind::Automatic,
        EngineKind::Dmodc,
        EngineKind::FatTree,
        EngineKind::ShortestPath,
        EngineKind::OpaShortestPath,
        EngineKind::DgShortestPath,
        EngineKind::Layered,
    ];
    let each = engines.into_iter().map(|engine| Settings {
        lanes: if engine == EngineKind::Layered {
            lanes
        } else {
            1
        },
        routing_order: vec![OrderGroup::Ports(BTreeSet::clone(&group))],
        ..settings(engine, tiers)
    });
    each.collect()
}

const TREES: [(&str, u8); 6] = [
    ("fattree:32,radix=8", 2),
    ("fattree:16,radix=4", 3),
    ("pgft:2;4,4;1,2;1,2;radix=8", 2),
    ("pgft:2;3,5;1,4;1,1;radix=8", 2),
    ("pgft:3;2,3,2;1,2,3;1,1,2;radix=12", 3),
    ("pgft:3;3,2,3;1,3,2;1,1,1;radix=12", 3),
];

/// A grid, its sizes if it has rings or ends from which dimension order can be determined, and whether it
/// has rings.
const GRIDS: [(&str, &[u8], bool); 5] = [
    ("mesh:4x3", &[4, 3], false),
    ("mesh:3x2x2", &[3, 2, 2], false),
    ("torus:5x3", &[5, 3], true),
    ("torus:4x4", &[4, 4], true),
    ("hypercube:4", &[2, 2, 2, 2], false),
];

fn grid_settings(sizes: &[u8], is_ring: bool, lanes: u8) -> Vec<Settings> {
    let layered = Settings {
        lanes,
        ..settings(EngineKind::Layered, 1)
    };
    let cube = settings(EngineKind::Hypercube, 1);
    vec![dor(sizes, 1, is_ring, 8), cube, layered]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn trees(
        seed in any::<u64>(),
        per_mille in 0u64..250,
        which in 0..TREES.len(),
        lmc in 0u8..3,
        lanes in 1u8..5,
        first in 1usize..4,
    ) {
        let (spec, tiers) = TREES[which];
        let mut topology = fabric(spec, lmc);
        degrade(&mut topology, seed, per_mille);
        for settings in general(&topology, tiers, lanes, first) {
            check(&topology, &settings, false)?;
        }
    }

    #[test]
    fn irregular_fabrics(
        switches in 1usize..12,
        links in prop::collection::vec((0usize..12, 0usize..12), 0..40),
        hosts in prop::collection::vec(0usize..12, 1..16),
        lanes in 1u8..9,
        first in 1usize..4,
    ) {
        let topology = irregular(switches, &links, &hosts);
        for settings in general(&topology, 3, lanes, first) {
            check(&topology, &settings, false)?;
        }
    }

    #[test]
    fn grids(
        which in 0..GRIDS.len(),
        cables in prop::collection::vec(any::<usize>(), 0..4),
        lmc in 0u8..2,
        lanes in 1u8..9,
    ) {
        let (spec, sizes, is_ring) = GRIDS[which];
        let mut topology = fabric(spec, lmc);
        pull(&mut topology, &cables);
        for settings in grid_settings(sizes, is_ring, lanes) {
            let routed = check(&topology, &settings, cables.is_empty())?;
            // Engines route fabrics of their own kind themselves.
            if cables.is_empty() && settings.engine == EngineKind::Dor {
                prop_assert_eq!(routed.engine(), EngineUsed::Dor);
            }
        }
    }

    /// After each of some changes: as good as tables made anew.
    #[test]
    fn routing_again(
        which in 0..TREES.len() + GRIDS.len(),
        states in prop::collection::vec(prop::collection::vec(any::<usize>(), 0..4), 1..4),
        lmc in 0u8..2,
        lanes in 1u8..9,
        engine in 0usize..7,
    ) {
        let (whole, settings) = match which.checked_sub(TREES.len()) {
            None => {
                let whole = fabric(TREES[which].0, lmc);
                let mut all = general(&whole, TREES[which].1, lanes, 2);
                (whole, all.swap_remove(engine))
            }
            Some(grid) => {
                let (spec, sizes, is_ring) = GRIDS[grid];
                let mut all = grid_settings(sizes, is_ring, lanes);
                (fabric(spec, lmc), all.swap_remove(engine % 3))
            }
        };
        let effort = Effort { shifts: 8, permutations: 8, bisections: 4, seed: 1 };
        let mut held = route(&whole, &settings).unwrap();
        for cables in states {
            let mut topology = whole.clone();
            pull(&mut topology, &cables);
            held = reroute(&held, &topology, &settings).unwrap();
            let judged = Oracle::new(&topology).judge(&held, cables.is_empty());
            prop_assert!(judged.is_ok(), "{:?}: {judged:?}", settings.engine);
            let anew = route(&topology, &settings).unwrap();
            let [again, anew] = [&held, &anew].map(|one| assess(&topology, one.linear(), &effort));
            prop_assert_eq!(again, anew);
        }
    }
}

/// The oracle itself: routes round a ring close a cycle, and a detour is too long.
#[test]
fn what_is_wrong_is_found() {
    let ring = fabric("torus:5", 0);
    let good = route(
        &ring,
        &Settings {
            lanes: 4,
            ..settings(EngineKind::Layered, 1)
        },
    )
    .unwrap();
    let oracle = Oracle::new(&ring);
    oracle.judge(&good, true).unwrap();
    let other = fabric("torus:5", 0);
    let mut cut = other.clone();
    pull(&mut cut, &[0]);
    // Tables of a ring that lacks a cable, in the whole ring: the long direction.
    let line = route(&cut, &settings(EngineKind::ShortestPath, 1)).unwrap();
    let why = oracle.judge(&line, true).unwrap_err();
    assert!(why.contains("links, Some("), "{why}");
    // Tables of the whole ring, in the ring that lacks a cable: dropped.
    assert!(
        Oracle::new(&cut)
            .judge(&good, true)
            .unwrap_err()
            .contains("dead port")
    );
}
