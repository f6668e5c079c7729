//! LIDs in lanes; those that fit no other use the last one: up first and then down.

use std::collections::BTreeSet;

use super::{Placing, Ways};
use crate::adaptive::PortSets;
use crate::engine::updown;
use crate::network::{EndPort, Network};
use crate::routed::Note;

/// Places LIDs in lanes; those that fit no other in the last one.
pub(crate) struct Detours<'a> {
    network: &'a Network,
    rank: Vec<u32>,
    last: usize,
    lids: u64,
    /// LIDs that are reached up first and then down.
    up_down: BTreeSet<u32>,
    /// Number of those that are longer for some HFI than necessary.
    longer: u64,
}

impl<'a> Detours<'a> {
    /// `last` is the lane for LIDs that fit no other.
    pub(crate) fn new(network: &'a Network, last: usize) -> Self {
        Self::by_rank(network, last, updown::rank(network))
    }

    /// With unique ranks by which detours go up and down.
    pub(crate) fn by_rank(network: &'a Network, last: usize, rank: Vec<u32>) -> Self {
        Self {
            network,
            rank,
            last,
            lids: 0,
            up_down: BTreeSet::new(),
            longer: 0,
        }
    }

    /// Routes of LIDs without regard to dependencies; returns whether all HFIs reach everything that
    /// is connected.
    pub(crate) fn draft(&self, placing: &mut Placing<'_>) -> bool {
        let mut is_all = true;
        for target in self.homes(0..self.network.len()) {
            let shortest = Ways::shortest(self.network, target);
            let up_down = self.all_up_down(target);
            let ways = up_down.as_ref().unwrap_or(&shortest);
            is_all &= ways.is_whole(&shortest);
            for (_, lids) in ends(self.network, target) {
                placing.next_end();
                lids.for_each(|lid| placing.draft(ways, target, lid));
            }
        }
        is_all
    }

    /// Those of some switches that have HFIs.
    fn homes(&self, targets: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        targets.filter(|target| !self.network.hfis(*target).is_empty())
    }

    /// The paths to a switch up and then down if there is no lane for others.
    fn all_up_down(&self, target: usize) -> Option<Ways> {
        (self.last == 0).then(|| self.up_down(target))
    }

    fn up_down(&self, target: usize) -> Ways {
        Ways::up_down(self.network, &self.rank, target)
    }

    /// Routes to a switch and all HFIs on it, which have been drafted, over `ways` if they fit a
    /// lane.
    pub(crate) fn switch(&mut self, placing: &mut Placing<'_>, ways: &Ways, target: usize) {
        placing.management(ways, target);
        let mut up_down = self.all_up_down(target);
        let drafted = up_down.clone();
        for (end, lids) in ends(self.network, target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in lids {
                self.lids += 1;
                placing.lift(drafted.as_ref().unwrap_or(ways), target, lid);
                if !placing.place(ways, target, lid, 0..self.last) {
                    let up_down = up_down.get_or_insert_with(|| self.up_down(target));
                    self.detour(placing, (up_down, ways), target, lid);
                }
            }
        }
    }

    /// Routes to a LID in the last lane; counted if that is longer for some HFI.
    fn detour(
        &mut self,
        placing: &mut Placing<'_>,
        (up_down, shortest): (&Ways, &Ways),
        target: usize,
        lid: u32,
    ) {
        placing.place(up_down, target, lid, self.last..self.last + 1);
        self.up_down.insert(lid);
        self.longer += u64::from(up_down.is_longer(shortest));
    }

    /// Routes to a switch and all HFIs on it over `ways`, in one of the first `lanes` lanes; false
    /// if that closes a cycle in all of them.
    pub(crate) fn try_switch(
        &mut self,
        placing: &mut Placing<'_>,
        ways: &Ways,
        target: usize,
        lanes: usize,
    ) -> bool {
        placing.management(ways, target);
        for (end, lids) in ends(self.network, target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in lids {
                self.lids += 1;
                if !placing.place(ways, target, lid, 0..lanes) {
                    return false;
                }
            }
        }
        true
    }

    /// Routes to a switch and all HFIs on it over `ways` with detours, in any lane but the last one, or else
    /// up and then down in the last one; false if that closes a cycle, which it cannot where all in that lane
    /// go up and then down.
    pub(crate) fn around(&mut self, placing: &mut Placing<'_>, ways: &Ways, target: usize) -> bool {
        placing.management(ways, target);
        let mut up_down = None;
        for (end, lids) in ends(self.network, target) {
            placing.deliver(target, end);
            placing.next_end();
            for lid in lids {
                self.longer += 1;
                self.lids += 1;
                if placing.place(ways, target, lid, 0..self.last.max(1)) {
                    continue;
                }
                let up_down = up_down.get_or_insert_with(|| self.up_down(target));
                if !placing.place(up_down, target, lid, self.last..self.last + 1) {
                    return false;
                }
                self.up_down.insert(lid);
            }
        }
        true
    }

    /// By switch, the sets of ports for the choice of LIDs of HFIs: out of the
    /// paths of its LID's placement: up first and then down, or `ways` to its switch.
    pub(crate) fn sets(
        &self,
        placing: &mut Placing<'_>,
        targets: impl Iterator<Item = usize>,
        ways: impl Fn(usize) -> Option<Ways>,
    ) -> Vec<PortSets> {
        let mut lanes = placing.take_lanes();
        let mut widening = placing.widening(&mut lanes);
        for target in self.homes(targets) {
            let plain = ways(target).unwrap_or_default();
            let lids = self.network.hfis(target).iter().flat_map(EndPort::lids);
            let (up_down, own): (Vec<u32>, Vec<u32>) =
                lids.partition(|lid| self.up_down.contains(lid));
            own.iter()
                .for_each(|lid| widening.lid(&plain, *lid, placing.lane(*lid)));
            if !up_down.is_empty() {
                let ways = self.up_down(target);
                let lids = up_down.iter();
                lids.for_each(|lid| widening.lid(&ways, *lid, placing.lane(*lid)));
            }
        }
        widening.finish()
    }

    /// Notes for the administrator.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let note = Note::Detours {
            lids: self.longer,
            of: self.lids,
            lanes: self.last as u8 + 1,
        };
        Vec::from_iter((self.longer > 0).then_some(note))
    }
}

/// The end ports on a switch, and their LIDs in the order in which they are placed. That begins with
/// another LID at each, and once all links have had one with yet another: each link so serves base
/// LIDs as often as those with an offset, and libraries that send over one of these reach all links.
fn ends(
    network: &Network,
    target: usize,
) -> impl Iterator<Item = (&EndPort, impl Iterator<Item = u32> + use<>)> {
    let links = network.egress(target).len() as u32;
    (0..).zip(network.hfis(target)).map(move |(index, end)| {
        let (first, lids) = (end.lids().start, end.lmc.lids());
        let around = (links / lids).max(1);
        let turn = index % around + index / around;
        (end, (0..lids).map(move |lid| first + (lid + turn) % lids))
    })
}
