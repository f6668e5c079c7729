//! More paths for placed LIDs: every other candidate that closes no cycle in the LID's
//! lane, for switches that route adaptively.
//!
//! Parallel links come first, for all LIDs: if two switches have several links, a route may
//! take any of them unless the links then wait for each other in a circle. After that each LID in
//! order gets all remaining candidates.

use weft_fabric::{PortMask, PortNum};

use super::{Channels, Taken, Waits, Ways};
use crate::adaptive::PortSets;
use crate::network::{Egress, Network};

const NO_LINK: u16 = u16::MAX;

/// Paths under construction.
pub(crate) struct Widening<'a, R> {
    network: &'a Network,
    /// Number of each switch's first link.
    first: &'a [u32],
    channels: &'a Channels,
    rows: &'a [R],
    lanes: &'a mut [Waits],
    /// Link of each switch and port: 256 entries a switch.
    link_at: Vec<u16>,
    /// By switch, the channels over which packets to the LID may come.
    incoming: Vec<Vec<u32>>,
    /// Other candidates of the switch at hand.
    others: Vec<u16>,
    sets: Vec<PortSets>,
}

impl<'a, R: AsRef<[u8]>> Widening<'a, R> {
    /// For routes in `rows`, with the dependencies of each lane; `first` is
    /// the result of [`first_links`](super::first_links).
    pub(crate) fn new(
        (network, first, channels): (&'a Network, &'a [u32], &'a Channels),
        rows: &'a [R],
        lanes: &'a mut [Waits],
    ) -> Self {
        let mut link_at = vec![NO_LINK; network.len() * 256];
        for switch in 0..network.len() {
            for (index, link) in network.egress(switch).iter().enumerate() {
                link_at[switch * 256 + usize::from(link.port)] = index as u16;
            }
        }
        Self {
            network,
            first,
            channels,
            rows,
            lanes,
            link_at,
            incoming: vec![Vec::new(); network.len()],
            others: Vec::new(),
            sets: vec![PortSets::default(); network.len()],
        }
    }

    /// Adds what links wait for on the routes to a LID, where that is not known yet; returns whether
    /// it closes no cycle.
    pub(crate) fn trace(&mut self, lid: u32, lane: usize) -> bool {
        self.incoming.iter_mut().for_each(Vec::clear);
        let mut from = (0..self.network.len()).filter(|at| self.network.senders(*at) > 0);
        from.all(|at| {
            let Some(own) = self.own(at, lid) else {
                return true;
            };
            let to = self.network.egress(at)[usize::from(own)].to as usize;
            let channel = self.channels.entered(self.first[at] + u32::from(own));
            self.goes_on(to, channel, (lid, lane))
        })
    }

    /// Lets all links that join the same two switches wait as one of them does, in the same half.
    pub(crate) fn add_parallel_links(&mut self) {
        let alike = self.parallel_links();
        if alike.iter().all(|links| links.len() == 1) {
            return;
        }
        let channels = self.channels;
        for waits in &mut *self.lanes {
            for (from, to) in waits.pairs().to_vec() {
                let ((link, half), (next, next_half)) = (channels.link(from), channels.link(to));
                for link in &alike[link as usize] {
                    for next in &alike[next as usize] {
                        // One that closes a cycle is tried again for each LID by itself.
                        let (from, to) = (channels.of(*link, half), channels.of(*next, next_half));
                        let _ = waits.add(from, to);
                    }
                }
            }
        }
    }

    /// For each link all links from the same switch to the same switch.
    fn parallel_links(&self) -> Vec<Vec<u32>> {
        let each = (0..self.network.len()).flat_map(|switch| {
            let egress = self.network.egress(switch);
            egress.iter().map(move |link| {
                let numbers = (self.first[switch]..).zip(egress);
                let alike = numbers.filter(|(_, other)| other.to == link.to);
                alike.map(|(number, _)| number).collect()
            })
        });
        each.collect()
    }

    /// Adds paths to a LID in its lane, from some that lead to its switch.
    pub(crate) fn lid(&mut self, ways: &Ways, lid: u32, lane: usize) {
        self.incoming.iter_mut().for_each(Vec::clear);
        for (from, links) in ways.iter() {
            let Some(own) = self.own(from, lid) else {
                continue;
            };
            if !self.is_busy(from) {
                continue;
            }
            let egress = self.network.egress(from);
            self.arrive(from, own);
            let mut ports = PortMask::from_iter([PortNum(egress[usize::from(own)].port)]);
            self.list_others(egress, links, own);
            for index in 0..self.others.len() {
                let link = self.others[index];
                if self.fits(from, link, (lid, lane)) {
                    ports.insert(PortNum(egress[usize::from(link)].port));
                    self.arrive(from, link);
                }
            }
            self.sets[from].add(ports, lid..lid + 1);
        }
    }

    /// The candidates besides the linear entry that are no slower, those to the same neighbour
    /// first.
    fn list_others(&mut self, egress: &[Egress], links: &[u16], own: u16) {
        let link = |index: u16| &egress[usize::from(index)];
        let wanted = |index: &u16| *index != own && link(*index).rate >= link(own).rate;
        self.others.clear();
        self.others.extend(links.iter().copied().filter(wanted));
        let is_elsewhere = |index: &u16| link(*index).to != link(own).to;
        self.others.sort_by_key(is_elsewhere);
    }

    /// The link of a switch's linear entry.
    fn own(&self, switch: usize, lid: u32) -> Option<u16> {
        let port = self.rows[switch].as_ref()[lid as usize];
        let link = self.link_at[switch * 256 + usize::from(port)];
        (link != NO_LINK).then_some(link)
    }

    /// Packets may now come over a link.
    fn arrive(&mut self, from: usize, link: u16) {
        let to = self.network.egress(from)[usize::from(link)].to as usize;
        let taken = self.taken(from, self.first[from] + u32::from(link));
        self.incoming[to].extend(taken.iter());
    }

    /// The channels in which packets at a switch take a link.
    fn taken(&self, from: usize, link: u32) -> Taken {
        let mut taken = Taken::default();
        if self.network.senders(from) > 0 {
            taken.add(self.channels.entered(link));
        }
        let before = self.incoming[from].iter();
        before.for_each(|before| taken.add(self.channels.onward(*before, link)));
        taken
    }

    /// Lets the channels before a link wait for it, and it for those that come after it, unless that
    /// closes a cycle.
    fn fits(&mut self, from: usize, link: u16, (lid, lane): (u32, usize)) -> bool {
        let to = self.network.egress(from)[usize::from(link)].to as usize;
        let link = self.first[from] + u32::from(link);
        let mark = self.lanes[lane].mark();
        let (before, channels) = (&self.incoming[from], self.channels);
        let waits = &mut self.lanes[lane];
        let mut before = before.iter();
        let fits = before.all(|before| waits.add(*before, channels.onward(*before, link)));
        let mut taken = self.taken(from, link).iter();
        let fits = fits && taken.all(|channel| self.goes_on(to, channel, (lid, lane)));
        if !fits {
            self.lanes[lane].undo(mark);
        }
        fits
    }

    /// Adds the dependency of a channel to a switch on that of the switch's linear entry, and so on
    /// for new switches on the route; for all where packets may come in another half than before.
    fn goes_on(&mut self, mut at: usize, mut channel: u32, (lid, lane): (u32, usize)) -> bool {
        while let Some(next) = self.own(at, lid) {
            let onward = self
                .channels
                .onward(channel, self.first[at] + u32::from(next));
            if !self.lanes[lane].add(channel, onward) {
                return false;
            }
            if self.is_busy(at) && !self.channels.has_halves() {
                return true;
            }
            at = self.network.egress(at)[usize::from(next)].to as usize;
            channel = onward;
        }
        true
    }

    /// Whether packets to the LID leave a switch, sent by HFIs on it or come from others.
    fn is_busy(&self, switch: usize) -> bool {
        self.network.senders(switch) > 0 || !self.incoming[switch].is_empty()
    }

    /// The sets of ports of each switch.
    pub(crate) fn finish(self) -> Vec<PortSets> {
        self.sets
    }
}
