//! Routes LID by LID, each in the first lane in which it closes no credit cycle.

mod answers;
mod balance;
mod channels;
mod detours;
mod order;
mod trunks;
mod ways;
mod widen;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Lanes, LinearTables, UNREACHABLE};

use self::balance::Balance;
pub(crate) use self::channels::{Channels, Taken};
pub(crate) use self::detours::Detours;
pub(crate) use self::order::Waits;
use self::trunks::Trunks;
pub(crate) use self::ways::Ways;
pub(crate) use self::widen::Widening;
use crate::network::{EndPort, Network};

const NO_LINK: u32 = u32::MAX;

/// Tables and lanes in the making.
pub(crate) struct Placing<'a> {
    network: &'a Network,
    balance: Balance<'a>,
    trunks: Trunks,
    channels: Channels,
    lanes: Vec<Waits>,
    rows: Vec<Vec<u8>>,
    lane_of: Vec<u8>,
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

/// Routes to one LID.
struct Tree {
    /// Senders whose traffic reaches each switch.
    flow: Vec<u32>,
    /// The channels that each switch got traffic from, as lists.
    last_in: Vec<u32>,
    earlier: Vec<u32>,
    /// Each switch and its link.
    chosen: Vec<(u32, u32, u32)>,
}

impl<'a> Placing<'a> {
    /// Nothing placed yet, in up to `lanes` lanes.
    pub(crate) fn new(network: &'a Network, lanes: usize) -> Self {
        Self::over(network, Channels::whole(network), lanes)
    }

    /// Nothing placed yet, in up to `lanes` lanes that have `channels`.
    pub(crate) fn over(network: &'a Network, channels: Channels, lanes: usize) -> Self {
        let balance = Balance::new(network);
        let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
        Self {
            network,
            trunks: Trunks::new(network, balance.alike()),
            balance,
            lanes: vec![Waits::new(channels.len()); lanes],
            rows: vec![vec![UNREACHABLE; len]; network.len()],
            lane_of: vec![0; len],
            tree: Tree {
                flow: vec![0; network.len()],
                last_in: vec![NO_LINK; network.len()],
                earlier: vec![NO_LINK; channels.len()],
                chosen: Vec::with_capacity(network.len()),
            },
            channels,
        }
    }

    /// A new end port: its LIDs shall share as few neighbours and links as they can.
    pub(crate) fn next_end(&mut self) {
        self.balance.next_end();
        self.trunks.next_end();
    }

    /// Routes to a LID of an HFI as if nothing waited for anything, so that those placed before it
    /// know where it wants to go. [`Self::lift`] takes it out again.
    pub(crate) fn draft(&mut self, ways: &Ways, target: usize, lid: u32) {
        self.balance.weigh(ways, target);
        self.start(target);
        for (from, links) in ways.iter().filter(|(_, links)| !links.is_empty()) {
            self.go(from, self.best(from, links));
        }
        self.keep(lid, 0);
    }

    /// Removes a LID that was drafted over the same paths.
    pub(crate) fn lift(&mut self, ways: &Ways, target: usize, lid: u32) {
        self.balance.hold_nothing();
        self.start(target);
        for (from, links) in ways.iter() {
            let entry = &mut self.rows[from][lid as usize];
            let egress = self.network.egress(from);
            let by_port = |link: &u16| egress[usize::from(*link)].port.cmp(entry);
            if let Ok(at) = links.binary_search_by(by_port) {
                let to = egress[usize::from(links[at])].to as usize;
                let flow = self.tree.flow[from];
                let link = self.balance.first()[from] + u32::from(links[at]);
                self.balance.lift(from, link, to, flow);
                self.tree.flow[to] += flow;
                *entry = UNREACHABLE;
            }
        }
    }

    /// Routes to a LID of an HFI in the first of some lanes where that closes no cycle; says
    /// whether there is one. If there is none, nothing has changed.
    pub(crate) fn place(
        &mut self,
        ways: &Ways,
        target: usize,
        lid: u32,
        mut lanes: Range<usize>,
    ) -> bool {
        self.balance.weigh(ways, target);
        let lane = lanes.find(|lane| self.fits(ways, target, *lane));
        if let Some(lane) = lane {
            self.keep(lid, lane as u8);
        }
        lane.is_some()
    }

    fn fits(&mut self, ways: &Ways, target: usize, lane: usize) -> bool {
        self.start(target);
        let mark = self.lanes[lane].mark();
        let fits = ways
            .iter()
            .all(|(from, links)| links.is_empty() || self.choose(from, links, lane));
        if !fits {
            self.lanes[lane].undo(mark);
        }
        fits
    }

    fn start(&mut self, target: usize) {
        let senders = (0..self.network.len()).map(|switch| self.network.senders(switch));
        let slots = self.tree.flow.iter_mut();
        slots.zip(senders).for_each(|(flow, count)| *flow = count);
        self.tree.flow[target] = 0;
        self.tree.last_in.fill(NO_LINK);
        self.tree.chosen.clear();
        self.trunks.start(target);
    }

    /// Assigns a switch the best link among those that close no cycle.
    fn choose(&mut self, from: usize, links: &[u16], lane: usize) -> bool {
        let best = self.best(from, links);
        if self.waits(from, best, lane) {
            self.go(from, best);
            return true;
        }
        let first = self.balance.first()[from];
        let others = links
            .iter()
            .filter(|link| first + u32::from(**link) != best);
        let mut others: Vec<u16> = others.copied().collect();
        others.sort_by_cached_key(|link| self.balance.merit(from, *link));
        let mut others = others.into_iter().map(|link| first + u32::from(link));
        let other = others.find(|link| self.waits(from, *link, lane));
        if let Some(link) = other {
            self.go(from, link);
        }
        other.is_some()
    }

    /// The best link of a switch whose incoming traffic is known: in the trunk of the best path,
    /// the link on which fewest senders have other LIDs of the end port.
    fn best(&self, from: usize, links: &[u16]) -> u32 {
        let best = self.balance.best(from);
        if !self.trunks.are_there() {
            return best;
        }
        let (first, alike) = (self.balance.first()[from], self.balance.alike());
        let number = |link: u16| first + u32::from(link);
        let is_alike = |link: &u16| alike[number(*link) as usize] == alike[best as usize];
        let shared = |link: &u16| {
            let shared = self.trunks.shared(from, number(*link));
            (shared, self.balance.merit(from, *link))
        };
        let trunk = links.iter().copied().filter(is_alike);
        trunk.min_by_key(shared).map_or(best, number)
    }

    /// Lets all channels over which traffic comes to a switch wait for one of its own links, unless
    /// that closes a cycle.
    fn waits(&mut self, from: usize, link: u32, lane: usize) -> bool {
        let waits = &mut self.lanes[lane];
        let mark = waits.mark();
        let mut before = self.tree.last_in[from];
        while before != NO_LINK {
            if !waits.add(before, self.channels.onward(before, link)) {
                waits.undo(mark);
                return false;
            }
            before = self.tree.earlier[before as usize];
        }
        true
    }

    /// The traffic at a switch leaves it over a link.
    fn go(&mut self, from: usize, link: u32) {
        let index = (link - self.balance.first()[from]) as usize;
        let to = self.network.egress(from)[index].to as usize;
        let flow = self.tree.flow[from];
        self.tree.chosen.push((from as u32, link, flow));
        self.trunks.go(from, to);
        if flow > 0 {
            self.tree.flow[to] += flow;
            for channel in self.taken(from, link).iter() {
                let last = std::mem::replace(&mut self.tree.last_in[to], channel);
                self.tree.earlier[channel as usize] = last;
            }
        }
    }

    /// The channels in which the traffic at a switch takes a link.
    fn taken(&self, from: usize, link: u32) -> Taken {
        let mut taken = Taken::default();
        if self.network.senders(from) > 0 || !self.channels.has_halves() {
            taken.add(self.channels.entered(link));
        }
        let mut before = self.tree.last_in[from];
        while before != NO_LINK && self.channels.has_halves() {
            taken.add(self.channels.onward(before, link));
            before = self.tree.earlier[before as usize];
        }
        taken
    }

    fn keep(&mut self, lid: u32, lane: u8) {
        for &(from, link, flow) in &self.tree.chosen {
            let from = from as usize;
            let index = (link - self.balance.first()[from]) as usize;
            let egress = self.network.egress(from)[index];
            self.rows[from][lid as usize] = egress.port;
            self.balance.add(link, egress.to as usize, flow);
            self.trunks.add(from, link);
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

    /// Additional paths for switches that route adaptively; nothing can be placed
    /// after that.
    pub(crate) fn widening<'w>(&'w self, lanes: &'w mut [Waits]) -> Widening<'w, Vec<u8>> {
        let links = (self.network, self.balance.first(), &self.channels);
        let mut widening = Widening::new(links, &self.rows, lanes);
        widening.add_parallel_links();
        widening
    }

    /// Takes the dependencies of each lane.
    pub(crate) fn take_lanes(&mut self) -> Vec<Waits> {
        std::mem::take(&mut self.lanes)
    }

    /// The placed routes, without empty lanes.
    pub(crate) fn finish(mut self) -> LinearTables {
        let hfis = self.network.end_ports().filter(|end| end.port != 0);
        let lids = hfis.flat_map(|end| end.entries());
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
