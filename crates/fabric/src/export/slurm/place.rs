//! From a fabric, and the file that is there, to the places of Slurm's nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::hostlist::compress;
use super::{KnownNodes, Plugin, Shape, SlurmTopology, full, names, skeleton};
use crate::text::count;
use crate::topology::{NodeId, Topology};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The nodes that Slurm knows; no others are placed.
    pub known: &'a KnownNodes,
    /// Slurm's plugin.
    pub plugin: Plugin,
    /// What stands above the leaf switches of a tree.
    pub shape: Shape,
    /// Sizes of blocks; that of the smallest block if there are none.
    pub block_sizes: &'a [u32],
    /// The file that is there.
    pub old: Option<&'a SlurmTopology>,
    /// Leaves out what the old file has and the fabric has not.
    pub prune: bool,
}

/// A topology for Slurm, and what people should know about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placed {
    /// What to write.
    pub topology: SlurmTopology,
    /// Remarks.
    pub notes: Vec<Note>,
}

/// A remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Nodes that are not in the fabric now; they stay where the old file has them.
    Kept(Vec<String>),
    /// Links between switches that the old file has and the fabric has not; they stay. Their number.
    KeptLinks(usize),
    /// Nodes of Slurm that neither the fabric nor the old file has.
    Unplaced(Vec<String>),
    /// Hosts in the fabric that Slurm does not know.
    Unknown(Vec<String>),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, what: &str, noun: &str, names: &[String]| {
            let compressed = compress(names.iter().map(String::as_str));
            write!(f, "{what}: {} ({compressed})", count(names.len(), noun))
        };
        match self {
            Self::Kept(nodes) => list(
                f,
                "not in the fabric now, left where the file has them",
                "node",
                nodes,
            ),
            Self::KeptLinks(links) => {
                write!(
                    f,
                    "links between switches that are not in the fabric now, left in the file: {links}"
                )
            }
            Self::Unplaced(nodes) => list(
                f,
                "in no switch, because the fabric does not show them",
                "node",
                nodes,
            ),
            Self::Unknown(hosts) => list(
                f,
                "left out, because Slurm does not know them",
                "host",
                hosts,
            ),
        }
    }
}

/// A fabric with the names that its switches have in the file.
pub(super) struct View<'a> {
    pub(super) topology: &'a Topology,
    /// Of every switch.
    pub(super) names: BTreeMap<NodeId, String>,
    /// 1 for the switches of hosts, one more with each link upwards; the largest number if there is no way. By node.
    pub(super) tiers: Vec<u32>,
    /// Whether hosts at switches of upper tiers are below a leaf of their own.
    splits: bool,
}

impl View<'_> {
    pub(super) fn tier(&self, switch: NodeId) -> u32 {
        self.tiers
            .get(switch.0 as usize)
            .copied()
            .unwrap_or(u32::MAX)
    }

    /// The name of the leaf with the hosts of a switch. Slurm's switches have nodes or switches below them, not both.
    pub(super) fn leaf(&self, switch: NodeId) -> String {
        let mut name = self.names.get(&switch).cloned().unwrap_or_default();
        if self.splits && self.tier(switch) != 1 {
            name = leaf_of_own(&name);
            while self.names.values().any(|other| *other == name) {
                name.push('_');
            }
        }
        name
    }
}

/// The leaf of the hosts at a switch of an upper tier.
pub(super) fn leaf_of_own(switch: &str) -> String {
    format!("{switch}_nodes")
}

/// Places the nodes of Slurm. Those that are not in the fabric now, and links between switches that are not, stay as they
/// are in the old file, unless `prune` is set.
pub fn place(topology: &Topology, request: &Request<'_>) -> Placed {
    let names = names::of_switches(topology, request.old);
    let kept = request.old.filter(|_| !request.prune);
    let view = View {
        topology,
        tiers: full::tiers(topology, &names, kept),
        names,
        splits: request.plugin == Plugin::Tree && request.shape == Shape::Full,
    };
    let mut notes = Vec::new();
    let leaves = leaves(&view, request, &mut notes);
    let above = match (request.plugin, request.shape) {
        (Plugin::Block, _) => BTreeMap::new(),
        (Plugin::Tree, Shape::Skeleton) => {
            skeleton::with_roots(&view, &leaves, BTreeMap::new(), request.old)
        }
        (Plugin::Tree, Shape::Full) => {
            let (above, kept) = full::above(&view, &leaves, kept);
            if kept > 0 {
                notes.push(Note::KeptLinks(kept));
            }
            skeleton::with_roots(&view, &leaves, above, request.old)
        }
    };
    let block_sizes = match request.plugin {
        Plugin::Tree => Vec::new(),
        Plugin::Block => block_sizes(request, &leaves),
    };
    let topology = SlurmTopology {
        plugin: request.plugin,
        leaves,
        above,
        block_sizes,
    };
    Placed { topology, notes }
}

fn block_sizes(request: &Request<'_>, blocks: &BTreeMap<String, BTreeSet<String>>) -> Vec<u32> {
    if !request.block_sizes.is_empty() {
        return request.block_sizes.to_vec();
    }
    let smallest = blocks.values().map(BTreeSet::len).min();
    smallest.map(|size| size as u32).into_iter().collect()
}

/// The leaf switches with their nodes.
fn leaves(
    view: &View<'_>,
    request: &Request<'_>,
    notes: &mut Vec<Note>,
) -> BTreeMap<String, BTreeSet<String>> {
    let seen = Seen::of(view, request.known);
    let old = request.old.map(SlurmTopology::leaf_of).unwrap_or_default();
    let mut leaves: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut kept, mut unplaced) = (Vec::new(), Vec::new());
    for node in request.known.nodes() {
        let before = old.get(node).copied();
        let leaf = match seen.leaf(node, before) {
            Some(leaf) => leaf,
            None => match before.filter(|_| !request.prune) {
                Some(leaf) => {
                    kept.push(node.to_owned());
                    leaf
                }
                None => {
                    unplaced.push(node.to_owned());
                    continue;
                }
            },
        };
        let nodes = leaves.entry(leaf.to_owned()).or_default();
        nodes.insert(node.to_owned());
    }
    let unknown = seen.unknown.into_iter().collect();
    let all = [
        Note::Kept(kept),
        Note::Unplaced(unplaced),
        Note::Unknown(unknown),
    ];
    notes.extend(all.into_iter().filter(|note| match note {
        Note::Kept(names) | Note::Unplaced(names) | Note::Unknown(names) => !names.is_empty(),
        Note::KeptLinks(_) => true,
    }));
    leaves
}

/// Where the fabric shows the nodes of Slurm.
#[derive(Default)]
struct Seen {
    /// Leaves of each node, that of its first HFI first.
    leaves: BTreeMap<String, Vec<String>>,
    /// Hosts that Slurm does not know.
    unknown: BTreeSet<String>,
    /// How many nodes are at a leaf, and at two.
    at_one: BTreeMap<String, usize>,
    at_two: BTreeMap<(String, String), usize>,
}

impl Seen {
    fn of(view: &View<'_>, known: &KnownNodes) -> Self {
        let mut seen = Self::default();
        let mut hfis: Vec<_> = view
            .topology
            .hfis()
            .map(|(_, node)| (node.name(), node.guid(), node))
            .collect();
        hfis.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        for (name, _, node) in hfis {
            let peers = node.external_ports().filter_map(|(_, port)| port.peer);
            let switches = peers.filter(|peer| view.names.contains_key(&peer.node));
            let leaves: Vec<String> = switches.map(|peer| view.leaf(peer.node)).collect();
            seen.add(&name, &leaves, known);
        }
        for leaves in seen.leaves.values() {
            for a in leaves {
                *seen.at_one.entry(a.clone()).or_default() += 1;
                for b in leaves.iter().filter(|b| *b != a) {
                    *seen.at_two.entry((a.clone(), b.clone())).or_default() += 1;
                }
            }
        }
        seen
    }

    /// An HFI: its description is the name of its host and, after a space, its own.
    fn add(&mut self, description: &str, leaves: &[String], known: &KnownNodes) {
        let Some(host) = description.split_whitespace().next() else {
            return;
        };
        let mut is_known = false;
        for node in known.on_host(host) {
            is_known = true;
            let of_node = self.leaves.entry(node.to_owned()).or_default();
            for leaf in leaves {
                if !of_node.contains(leaf) {
                    of_node.push(leaf.clone());
                }
            }
        }
        if !is_known {
            self.unknown.insert(host.to_owned());
        }
    }

    /// The leaf of a node: the old one if it has an HFI there, or if an HFI of it is where those of most nodes of the old
    /// leaf have one too, so that the link of the other is down and the host is where it was; else that of its first HFI.
    fn leaf<'a>(&'a self, node: &str, old: Option<&'a str>) -> Option<&'a str> {
        let leaves = self.leaves.get(node)?;
        let first = leaves.first()?;
        let is_same = |old: &str| {
            leaves.iter().any(|leaf| {
                let pair = (old.to_owned(), leaf.clone());
                let both = self.at_two.get(&pair).copied().unwrap_or(0);
                let all = self.at_one.get(old).copied().unwrap_or(0);
                leaf == old || (both > 0 && both * 2 >= all)
            })
        };
        Some(old.filter(|old| is_same(old)).unwrap_or(first))
    }
}
