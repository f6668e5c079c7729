//! Routes LID by LID, each in the first lane in which it closes no credit cycle.

mod order;
mod ways;
mod widen;

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Lanes, LinearTables, UNREACHABLE};

pub(crate) use self::order::Waits;
pub(crate) use self::ways::Ways;
pub(crate) use self::widen::Widening;
use crate::network::{EndPort, Network};

const NO_LINK: u32 = u32::MAX;

/// Tables and lanes in the making.
pub(crate) struct Placing<'a> {
    network: &'a Network,
    /// Number of each switch's first link.
    first: Vec<u32>,
    lanes: Vec<Waits>,
    rows: Vec<Vec<u8>>,
    lane_of: Vec<u8>,
    /// Senders whose traffic each link carries, over all LIDs.
    load: Vec<u64>,
    /// How many LIDs of the current end port take each link.
    siblings: Vec<u8>,
    /// The first link from the same switch to the same switch.
    alike: Vec<u32>,
    /// For such first links, how many LIDs of the current end port take any of them.
    kin: Vec<u8>,
    tree: Tree,
}

/// Number of each switch's first link, and past the last one's: links are numbered by switch and
/// port.
pub(crate) fn first_links(network: &Network) -> Vec<u32> {
    let mut first = vec![0u32];
    for switch in 0..network.len() {
        first.push(first[switch] + network.egress(switch).len() as u32);
    }
    first
}

/// For each link the first one from the same switch to the same switch.
fn alike(network: &Network, first: &[u32]) -> Vec<u32> {
    let each = (0..network.len()).flat_map(|switch| {
        let egress = network.egress(switch);
        egress.iter().zip(first[switch]..).map(move |(link, own)| {
            let same = egress.iter().position(|other| other.to == link.to);
            same.map_or(own, |same| first[switch] + same as u32)
        })
    });
    each.collect()
}

/// Routes to one LID.
struct Tree {
    /// Senders whose traffic reaches each switch.
    flow: Vec<u32>,
    /// The links that each switch got traffic from, as lists.
    last_in: Vec<u32>,
    earlier: Vec<u32>,
    /// Each switch and its link.
    chosen: Vec<(u32, u32, u32)>,
}

impl<'a> Placing<'a> {
    /// Nothing placed yet, in up to `lanes` lanes.
    pub(crate) fn new(network: &'a Network, lanes: usize) -> Self {
        let first = first_links(network);
        let links = first[network.len()] as usize;
        let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
        Self {
            network,
            lanes: vec![Waits::new(links); lanes],
            rows: vec![vec![UNREACHABLE; len]; network.len()],
            lane_of: vec![0; len],
            load: vec![0; links],
            siblings: vec![0; links],
            alike: alike(network, &first),
            kin: vec![0; links],
            tree: Tree {
                flow: vec![0; network.len()],
                last_in: vec![NO_LINK; network.len()],
                earlier: vec![NO_LINK; links],
                chosen: Vec::with_capacity(network.len()),
            },
            first,
        }
    }

    /// A new end port: its LIDs shall share as few neighbours and links as they can.
    pub(crate) fn next_end(&mut self) {
        self.siblings.fill(0);
        self.kin.fill(0);
    }

    /// Routes to a LID of an HFI in one lane; says whether that closes no cycle. If it does,
    /// nothing has changed.
    pub(crate) fn place(&mut self, ways: &Ways, target: usize, lid: u32, lane: usize) -> bool {
        self.start(target);
        let mark = self.lanes[lane].mark();
        for (from, links) in ways.iter() {
            if !self.choose(from, links, lane) {
                self.lanes[lane].undo(mark);
                return false;
            }
        }
        self.keep(lid, lane as u8);
        true
    }

    fn start(&mut self, target: usize) {
        let senders = (0..self.network.len()).map(|switch| self.network.hfis(switch).len() as u32);
        let slots = self.tree.flow.iter_mut();
        slots.zip(senders).for_each(|(flow, count)| *flow = count);
        self.tree.flow[target] = 0;
        self.tree.last_in.fill(NO_LINK);
        self.tree.chosen.clear();
    }

    /// Gives a switch the link that carries least among those that close no cycle.
    fn choose(&mut self, from: usize, links: &[u16], lane: usize) -> bool {
        let number = |link: &u16| self.first[from] + u32::from(*link);
        let mut open: Vec<u32> = links.iter().map(number).collect();
        open.sort_by_key(|link| {
            let link = *link as usize;
            let kin = self.kin[self.alike[link] as usize];
            (kin, self.siblings[link], self.load[link], link)
        });
        let flow = self.tree.flow[from];
        let waits = &mut self.lanes[lane];
        let mark = waits.mark();
        let fits = |link: &u32| {
            let mut before = self.tree.last_in[from];
            while before != NO_LINK {
                if !waits.add(before, *link) {
                    waits.undo(mark);
                    return false;
                }
                before = self.tree.earlier[before as usize];
            }
            true
        };
        let Some(link) = open.into_iter().find(fits) else {
            return links.is_empty();
        };
        let to = self.network.egress(from)[(link - self.first[from]) as usize].to as usize;
        self.tree.chosen.push((from as u32, link, flow));
        if flow > 0 {
            self.tree.flow[to] += flow;
            self.tree.earlier[link as usize] = std::mem::replace(&mut self.tree.last_in[to], link);
        }
        true
    }

    fn keep(&mut self, lid: u32, lane: u8) {
        for &(from, link, flow) in &self.tree.chosen {
            let from = from as usize;
            let egress = self.network.egress(from)[(link - self.first[from]) as usize];
            self.rows[from][lid as usize] = egress.port;
            self.load[link as usize] += u64::from(flow);
            let siblings = &mut self.siblings[link as usize];
            *siblings = siblings.saturating_add(1);
            let kin = &mut self.kin[self.alike[link as usize] as usize];
            *kin = kin.saturating_add(1);
        }
        self.lane_of[lid as usize] = lane;
    }

    /// Lets a switch deliver to an end port of its own.
    pub(crate) fn deliver(&mut self, switch: usize, end: &EndPort) {
        super::rows::deliver(&mut self.rows[switch], end);
    }

    /// Routes to a switch itself: management, which waits for nothing.
    pub(crate) fn management(&mut self, ways: &Ways, target: usize) {
        let Some(end) = self.network.management(target).copied() else {
            return;
        };
        self.deliver(target, &end);
        for (from, links) in ways.iter().filter(|(_, links)| !links.is_empty()) {
            for index in 0..end.lmc.lids() as usize {
                let link = links[(target + index) % links.len()];
                let port = self.network.egress(from)[usize::from(link)].port;
                self.rows[from][end.lid.0 as usize + index] = port;
            }
        }
    }

    /// The lane of a LID that is placed.
    pub(crate) fn lane(&self, lid: u32) -> usize {
        usize::from(self.lane_of[lid as usize])
    }

    /// Ways for switches that route adaptively, besides what is placed; nothing can be placed
    /// after that.
    pub(crate) fn widening<'w>(&'w self, lanes: &'w mut [Waits]) -> Widening<'w, Vec<u8>> {
        let links = (self.network, &self.first[..]);
        let mut widening = Widening::new(links, &self.rows, lanes);
        widening.add_parallel_links();
        widening
    }

    /// Takes out what links wait for in each lane.
    pub(crate) fn take_lanes(&mut self) -> Vec<Waits> {
        std::mem::take(&mut self.lanes)
    }

    /// What has been placed; lanes that nothing is in are left out.
    pub(crate) fn finish(mut self) -> LinearTables {
        let hfis = self.network.end_ports().filter(|end| end.port != 0);
        let lids = hfis.flat_map(|end| (end.lid.0 as usize..).take(end.lmc.lids() as usize));
        let lids: Vec<usize> = lids.collect();
        let in_use: BTreeSet<u8> = lids.iter().map(|lid| self.lane_of[*lid]).collect();
        for lid in lids {
            let lane = self.lane_of[lid];
            self.lane_of[lid] = in_use.range(..lane).count() as u8;
        }
        let rows = self.rows.into_iter().map(Arc::from).collect();
        LinearTables::new(rows).with_lanes(Arc::new(Lanes::new(self.lane_of)))
    }
}
