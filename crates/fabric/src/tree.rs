//! Whether a fabric is a clean fat tree, without a file that says how it should be: switches of a tier have equal
//! numbers of hosts and links, and links lead from tier to tier. What most have is taken for right.

use std::collections::BTreeMap;
use std::fmt;

use crate::intended::{Cable, NodeName};
use crate::text::count;
use crate::topology::{Node, NodeId, PortRef, Topology};
use crate::upward::spread;

/// Most odd things that are listed; the rest is counted.
const ODD_MAX: usize = 5_000;
/// With more than one link in this many within a tier, a fabric has no tiers.
pub(crate) const SIDEWAYS_SHARE: usize = 10;

/// The tiers of a fabric, from the hosts up, and what does not fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// HFIs with a link.
    pub hosts: usize,
    /// Tiers of switches, that of hosts' switches first.
    pub tiers: Vec<Tier>,
    /// What does not fit, at most 5,000.
    pub odd: Vec<Odd>,
    /// What does not fit and is not listed.
    pub more: usize,
}

/// A tier of switches; numbers are those of most of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tier {
    /// Switches.
    pub switches: usize,
    /// Hosts of a switch, or links to the tier below.
    pub down: usize,
    /// Links to the tier above.
    pub up: usize,
    /// Links to a switch above that it has any to.
    pub each: usize,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Odd {
    /// So many links stay within a tier that the fabric is no tree; nothing else is listed then.
    NoTree {
        /// Links within a tier.
        sideways: usize,
        /// All links between switches.
        links: usize,
    },
    /// No links lead from a host to the switch.
    Unjoined {
        /// The switch.
        switch: NodeName,
    },
    /// A link within a tier.
    Sideways {
        /// The link.
        link: Cable,
    },
    /// A switch with another number of hosts than most.
    Hosts {
        /// The switch.
        switch: NodeName,
        /// Its hosts.
        found: usize,
        /// Those of most.
        usual: usize,
    },
    /// A switch with another number of links to the tier below than most.
    Down {
        /// The switch.
        switch: NodeName,
        /// Its links.
        found: usize,
        /// Those of most.
        usual: usize,
    },
    /// A switch with another number of links to the tier above than most.
    Up {
        /// The switch.
        switch: NodeName,
        /// Its links.
        found: usize,
        /// Those of most.
        usual: usize,
    },
    /// Two switches of neighbouring tiers with another number of links than most.
    Pair {
        /// The lower switch.
        lower: NodeName,
        /// The upper one.
        upper: NodeName,
        /// Their links.
        found: usize,
        /// Those of most.
        usual: usize,
    },
}

impl Tree {
    /// Looks at a fabric.
    pub fn of(topology: &Topology) -> Self {
        let survey = Survey::of(topology);
        let mut tree = Self {
            hosts: survey.hosts.iter().sum(),
            tiers: (1..=survey.highest)
                .map(|tier| survey.usual(tier))
                .collect(),
            ..Self::default()
        };
        let (sideways, links) = (survey.sideways.len(), survey.links);
        if sideways * SIDEWAYS_SHARE > links {
            tree.odd.push(Odd::NoTree { sideways, links });
            return tree;
        }
        for switch in survey.switches().filter(|id| survey.tier(*id) == u32::MAX) {
            let switch = survey.name(switch);
            tree.note(Odd::Unjoined { switch });
        }
        for (a, b) in &survey.sideways {
            if let Some(link) = Cable::in_fabric(topology, (*a, *b)) {
                tree.note(Odd::Sideways { link });
            }
        }
        survey.judge_hosts_above(&mut tree);
        for tier in 1..=survey.highest {
            let usual = tree.tiers[tier as usize - 1];
            survey.judge(tier, usual, &mut tree);
        }
        tree
    }

    /// Whether everything fits.
    pub fn is_clean(&self) -> bool {
        self.odd.is_empty()
    }

    fn note(&mut self, odd: Odd) {
        match self.odd.len() < ODD_MAX {
            true => self.odd.push(odd),
            false => self.more += 1,
        }
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTree { sideways, links } => write!(
                f,
                "no tree: {sideways} of {links} links between switches stay within a tier"
            ),
            Self::Unjoined { switch } => write!(f, "no host is joined to {switch}"),
            Self::Sideways { link } => write!(f, "within a tier: the link from {link}"),
            Self::Hosts {
                switch,
                found,
                usual,
            } => {
                write!(
                    f,
                    "{switch} has {}, most have {usual}",
                    count(found, "host")
                )
            }
            Self::Down {
                switch,
                found,
                usual,
            } => {
                write!(
                    f,
                    "{switch} has {} down, most have {usual}",
                    count(found, "link")
                )
            }
            Self::Up {
                switch,
                found,
                usual,
            } => {
                write!(
                    f,
                    "{switch} has {} up, most have {usual}",
                    count(found, "link")
                )
            }
            Self::Pair {
                lower,
                upper,
                found,
                usual,
            } => write!(
                f,
                "{} between {lower} and {upper}, most pairs have {usual}",
                count(found, "link")
            ),
        }
    }
}

/// Counts of a fabric, by number of node.
struct Survey<'a> {
    topology: &'a Topology,
    tiers: Vec<u32>,
    highest: u32,
    hosts: Vec<usize>,
    down: Vec<usize>,
    up: Vec<usize>,
    /// Links of each lower switch with each upper one that it has any to.
    pairs: BTreeMap<(NodeId, NodeId), usize>,
    sideways: Vec<(PortRef, PortRef)>,
    /// Between switches.
    links: usize,
}

impl<'a> Survey<'a> {
    fn of(topology: &'a Topology) -> Self {
        let tiers = tiers(topology);
        let reached = tiers.iter().filter(|tier| **tier != u32::MAX);
        let highest = reached.max().copied().unwrap_or(0);
        let none = vec![0; topology.len()];
        let mut survey = Self {
            topology,
            tiers,
            highest,
            hosts: none.clone(),
            down: none.clone(),
            up: none,
            pairs: BTreeMap::new(),
            sideways: Vec::new(),
            links: 0,
        };
        let cables = topology.links().chain(topology.loops());
        cables.for_each(|(a, b)| survey.count(a, b));
        survey
    }

    fn count(&mut self, a: PortRef, b: PortRef) {
        let (lower, upper) = match self.tier(a.node) <= self.tier(b.node) {
            true => (a.node, b.node),
            false => (b.node, a.node),
        };
        let is_switch = |node| self.topology.switch_index(node).is_some();
        match (is_switch(lower), is_switch(upper)) {
            (false, true) => self.hosts[upper.0 as usize] += 1,
            (true, true) => {
                self.links += 1;
                if self.tier(lower) == self.tier(upper) {
                    self.sideways.push((a, b));
                    return;
                }
                self.up[lower.0 as usize] += 1;
                self.down[upper.0 as usize] += 1;
                *self.pairs.entry((lower, upper)).or_default() += 1;
            }
            _ => {}
        }
    }

    fn tier(&self, node: NodeId) -> u32 {
        self.tiers[node.0 as usize]
    }

    fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.topology.switches().iter().copied()
    }

    fn of_tier(&self, tier: u32) -> impl Iterator<Item = NodeId> + '_ {
        self.switches().filter(move |node| self.tier(*node) == tier)
    }

    fn pairs_from(&self, tier: u32) -> impl Iterator<Item = (&(NodeId, NodeId), usize)> {
        let of_tier =
            move |((lower, _), _): &(&(NodeId, NodeId), &usize)| self.tier(*lower) == tier;
        let pairs = self.pairs.iter().filter(of_tier);
        pairs.map(|(pair, links)| (pair, *links))
    }

    /// Hosts of a switch of the lowest tier, links down of another.
    fn below(&self, node: NodeId) -> usize {
        match self.tier(node) {
            1 => self.hosts[node.0 as usize],
            _ => self.down[node.0 as usize],
        }
    }

    /// What most switches of a tier have.
    fn usual(&self, tier: u32) -> Tier {
        Tier {
            switches: self.of_tier(tier).count(),
            down: most(self.of_tier(tier).map(|node| self.below(node))),
            up: most(self.of_tier(tier).map(|node| self.up[node.0 as usize])),
            each: most(self.pairs_from(tier).map(|(_, links)| links)),
        }
    }

    fn judge(&self, tier: u32, usual: Tier, tree: &mut Tree) {
        let uppers: Vec<NodeId> = self.of_tier(tier + 1).collect();
        // Every switch has links to every one above.
        let is_complete = usual.each > 0 && usual.up == usual.each * uppers.len();
        let is_complete_below = tier > 1 && {
            let (below, count) = (tree.tiers[tier as usize - 2], usual.switches);
            below.each > 0 && below.up == below.each * count
        };
        for node in self.of_tier(tier) {
            let (below, up) = (self.below(node), self.up[node.0 as usize]);
            let switch = || self.name(node);
            if tier == 1 && below != usual.down {
                let (switch, found, usual) = (switch(), below, usual.down);
                tree.note(Odd::Hosts {
                    switch,
                    found,
                    usual,
                });
            } else if tier > 1 && below != usual.down && !is_complete_below {
                let (switch, found, usual) = (switch(), below, usual.down);
                tree.note(Odd::Down {
                    switch,
                    found,
                    usual,
                });
            }
            if up != usual.up && !is_complete {
                let (switch, found, usual) = (switch(), up, usual.up);
                tree.note(Odd::Up {
                    switch,
                    found,
                    usual,
                });
            }
            if is_complete {
                self.judge_pairs(node, &uppers, usual.each, tree);
            }
        }
        if !is_complete {
            for ((lower, upper), found) in self
                .pairs_from(tier)
                .filter(|(_, links)| *links != usual.each)
            {
                self.note_pair((*lower, *upper), found, usual.each, tree);
            }
        }
    }

    /// Hosts at switches above the lowest tier.
    fn judge_hosts_above(&self, tree: &mut Tree) {
        for tier in 2..=self.highest {
            let hosts = |node: NodeId| self.hosts[node.0 as usize];
            let usual = most(self.of_tier(tier).map(hosts));
            for node in self.of_tier(tier).filter(|node| hosts(*node) != usual) {
                tree.note(Odd::Hosts {
                    switch: self.name(node),
                    found: hosts(node),
                    usual,
                });
            }
        }
    }

    fn judge_pairs(&self, lower: NodeId, uppers: &[NodeId], usual: usize, tree: &mut Tree) {
        for upper in uppers {
            let found = self.pairs.get(&(lower, *upper)).copied().unwrap_or(0);
            if found != usual {
                self.note_pair((lower, *upper), found, usual, tree);
            }
        }
    }

    fn note_pair(
        &self,
        (lower, upper): (NodeId, NodeId),
        found: usize,
        usual: usize,
        tree: &mut Tree,
    ) {
        let (lower, upper) = (self.name(lower), self.name(upper));
        tree.note(Odd::Pair {
            lower,
            upper,
            found,
            usual,
        });
    }

    fn name(&self, node: NodeId) -> NodeName {
        let none = || NodeName {
            guid: None,
            name: String::new(),
        };
        self.topology
            .node(node)
            .map_or_else(none, NodeName::in_fabric)
    }
}

/// The tier of each node: 0 for HFIs, 1 for hosts' switches, one more with each cable further up; the largest number
/// where no cables lead to hosts.
pub fn tiers(topology: &Topology) -> Vec<u32> {
    let mut tiers = vec![u32::MAX; topology.len()];
    topology.hfis().for_each(|(id, _)| tiers[id.0 as usize] = 0);
    spread(topology, &mut tiers, hosts_switches(topology), 1);
    tiers
}

/// The switches with hosts, without those that are above them: most of their links lead to switches with more hosts.
/// So a host at the wrong switch does not make that switch one of the lowest tier.
pub(crate) fn hosts_switches(topology: &Topology) -> Vec<NodeId> {
    let mut hosts = vec![0_u32; topology.len()];
    let at_hosts = topology.hfis().flat_map(|(_, node)| node.external_ports());
    let peers = at_hosts.filter_map(|(_, port)| port.peer);
    peers.for_each(|peer| hosts[peer.node.0 as usize] += 1);
    let hosts = |node: NodeId| hosts[node.0 as usize];
    let is_above = |node: NodeId| {
        let ports = topology.node(node).map(Node::external_ports);
        let peers = ports
            .into_iter()
            .flatten()
            .filter_map(|(_, port)| port.peer);
        let switches = peers.filter(|peer| topology.switch_index(peer.node).is_some());
        let (all, more) = switches.fold((0, 0), |(all, more), peer| {
            (all + 1, more + usize::from(hosts(peer.node) > hosts(node)))
        });
        more * 2 > all
    };
    let with_hosts = topology.switches().iter().copied();
    let with_hosts = with_hosts.filter(|node| hosts(*node) > 0);
    with_hosts.filter(|node| !is_above(*node)).collect()
}

/// The most frequent number, the larger one of two; 0 of none.
fn most(numbers: impl Iterator<Item = usize>) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    let most = counts
        .into_iter()
        .max_by_key(|(number, count)| (*count, *number));
    most.map_or(0, |(number, _)| number)
}
