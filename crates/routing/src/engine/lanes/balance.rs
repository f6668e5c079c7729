//! Loads of links, and the least loaded path to a LID.
//!
//! The cost of a path is the load of its links, as in DFSSSP. In trees uplinks count nothing:
//! all switches then find a path to a LID through the same switch above it, so that the
//! links down from there carry its traffic only, and no two receivers share one before they must.
//! The upward traffic is as even as the assignment of receivers.

use super::{NO_LINK, Ways, first_links};
use crate::engine::levels::{NO_LEVEL, is_mostly_tree, levels};
use crate::engine::neighbours::first_alike;
use crate::network::Network;

/// Loads of all links, by number of the link, and the best path to the current LID.
pub(super) struct Balance<'a> {
    network: &'a Network,
    /// Number of each switch's first link.
    first: Vec<u32>,
    /// Senders whose traffic each link carries, over all LIDs.
    load: Vec<u64>,
    /// Loads arriving at each switch over links.
    through: Vec<u64>,
    /// Links upwards in a tree.
    is_up: Vec<bool>,
    /// There are fewer hosts than links upwards somewhere, so that LIDs of one switch leave some
    /// idle: those of the next one take these first.
    is_sparse: bool,
    /// Number of LIDs of the current end port on each link.
    siblings: Vec<u8>,
    /// The first link from the same switch to the same switch.
    alike: Vec<u32>,
    /// For such first links, the number of LIDs of the current end port on any of them.
    kin: Vec<u8>,
    /// The link of each switch to the LID at hand before it was lifted.
    held: Vec<u32>,
    /// Cost of the best path from each switch, and its first link.
    best: Vec<(u64, u32)>,
}

/// Order of preference of links; less is better.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Merit {
    kin: u8,
    siblings: u8,
    cost: u64,
    is_moved: bool,
    through: u64,
    to: u32,
    load: u64,
    link: u32,
}

impl<'a> Balance<'a> {
    /// Nothing placed yet.
    pub(super) fn new(network: &'a Network) -> Self {
        let first = first_links(network);
        let links = first[network.len()] as usize;
        let (is_up, is_sparse) = ways_up(network);
        Self {
            network,
            load: vec![0; links],
            through: vec![0; network.len()],
            is_up,
            is_sparse,
            siblings: vec![0; links],
            alike: alike(network, &first),
            kin: vec![0; links],
            held: vec![NO_LINK; network.len()],
            best: vec![(0, NO_LINK); network.len()],
            first,
        }
    }

    /// Number of each switch's first link, and past the last one's.
    pub(super) fn first(&self) -> &[u32] {
        &self.first
    }

    /// For each link the first one from the same switch to the same switch.
    pub(super) fn alike(&self) -> &[u32] {
        &self.alike
    }

    /// A new end port: its LIDs shall share as few neighbours and links as they can.
    pub(super) fn next_end(&mut self) {
        self.siblings.fill(0);
        self.kin.fill(0);
    }

    /// Finds the best path from each switch, the nearest first.
    pub(super) fn weigh(&mut self, ways: &Ways, target: usize) {
        self.best[target] = (0, NO_LINK);
        for (from, links) in ways.iter().rev() {
            let merits = links.iter().map(|link| self.merit(from, *link));
            if let Some(merit) = merits.min() {
                self.best[from] = (merit.cost, merit.link);
            }
        }
    }

    /// The first link of the best path from a switch; there must be one.
    pub(super) fn best(&self, from: usize) -> u32 {
        self.best[from].1
    }

    /// Rates a link of a switch, after the paths beyond it.
    pub(super) fn merit(&self, from: usize, index: u16) -> Merit {
        let to = self.network.egress(from)[usize::from(index)].to;
        let link = self.first[from] + u32::from(index);
        let at = link as usize;
        let load = self.load[at];
        let cost = self.best[to as usize].0 + if self.is_up[at] { 0 } else { load };
        let through = if self.is_sparse && cost == 0 {
            self.through[to as usize]
        } else {
            0
        };
        Merit {
            kin: self.kin[self.alike[at] as usize],
            siblings: self.siblings[at],
            cost,
            is_moved: self.held[from] != link,
            through,
            to,
            load,
            link,
        }
    }

    /// A link carries the traffic of some senders to the LID at hand.
    pub(super) fn add(&mut self, link: u32, to: usize, flow: u32) {
        let at = link as usize;
        self.load[at] += u64::from(flow);
        self.through[to] += u64::from(flow);
        self.siblings[at] = self.siblings[at].saturating_add(1);
        let kin = &mut self.kin[self.alike[at] as usize];
        *kin = kin.saturating_add(1);
    }

    /// The LID at hand has not been placed before.
    pub(super) fn hold_nothing(&mut self) {
        self.held.fill(NO_LINK);
    }

    /// A link carries the traffic of some senders no more; it is the switch's first choice where
    /// several are as good.
    pub(super) fn lift(&mut self, from: usize, link: u32, to: usize, flow: u32) {
        self.load[link as usize] -= u64::from(flow);
        self.through[to] -= u64::from(flow);
        self.held[from] = link;
    }
}

/// For each link the first one from the same switch to the same switch.
fn alike(network: &Network, first: &[u32]) -> Vec<u32> {
    let each = (0..network.len()).flat_map(|switch| {
        let same = first_alike(network.egress(switch)).into_iter();
        same.map(move |same| first[switch] + u32::from(same))
    });
    each.collect()
}

/// Marks the uplinks, and tells whether some level has more of them than there are hosts. `None`
/// if the fabric is not a tree.
fn ways_up(network: &Network) -> (Vec<bool>, bool) {
    let level = levels(network).ok();
    let level = level.filter(|level| is_mostly_tree(network, level));
    let level = level.unwrap_or_else(|| vec![0; network.len()]);
    let mut is_up = Vec::new();
    let mut up_from = [0usize; NO_LEVEL as usize + 1];
    for from in 0..network.len() {
        let here = level[from];
        let links = network.egress(from).iter();
        is_up.extend(links.map(|link| level[link.to as usize] > here));
        let up = is_up.iter().rev().take(network.egress(from).len());
        up_from[usize::from(here)] += up.filter(|is_up| **is_up).count();
    }
    let hosts: usize = (0..network.len()).map(|at| network.hfis(at).len()).sum();
    (is_up, up_from.iter().any(|links| *links > hosts))
}
