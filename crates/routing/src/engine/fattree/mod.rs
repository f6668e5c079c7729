//! `fattree`: least cost, each route placed by the position of its switch in its tier and a count
//! of the routes placed before.

mod place;

use std::sync::Arc;

use weft_fabric::{LinearTables, Topology, UNREACHABLE};

use self::place::{Lists, Place};
use super::dmodc::dividers;
use super::levels::{kin, rank};
use super::neighbours::{by_neighbour, shared_chassis};
use super::rows::{KindRows, Memory, bits, consecutive, copied_row, lids, new_row, rows_by_kind};
use super::targets::{Target, targets};
use super::tiers::Tiers;
use super::{Engine, Plan, Pruning};
use crate::network::Network;
use crate::paths::{Candidates, Paths};
use crate::routed::EngineUsed;
use crate::settings::FatTreeSettings;

/// The engine.
pub(crate) struct FatTree<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) settings: &'a FatTreeSettings,
    /// Only paths that go up first and then down.
    pub(crate) up_down: bool,
}

impl Engine for FatTree<'_> {
    fn name(&self) -> EngineUsed {
        match self.up_down {
            false => EngineUsed::FatTree,
            true => EngineUsed::FatTreeUpDown,
        }
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let tiers = Tiers::find(self.topology, network, self.settings)?;
        let edges = edges(network, &tiers);
        let paths = self.paths(network, &edges, &tiers);
        let pruning = Pruning {
            spine_first: true,
            tier: tiers.tier.clone(),
        };
        let linear = self
            .rows(network, (&tiers, &edges), (&paths, &pruning))
            .tables();
        Ok(Plan::on_paths(linear, paths, pruning))
    }
}

/// Switches with HFIs: tier by tier in order of place, those without a tier last.
fn edges(network: &Network, tiers: &Tiers) -> Vec<u32> {
    let outside =
        (0..network.len() as u32).filter(|switch| tiers.tier[*switch as usize] == Tiers::NONE);
    let inside = tiers.members.iter().flatten().copied();
    inside
        .chain(outside)
        .filter(|switch| !network.hfis(*switch as usize).is_empty())
        .collect()
}

fn columns(network: &Network, edges: &[u32], tiers: &Tiers) -> Vec<u32> {
    let others = kin(network, &tiers.tier, edges);
    let mut column = vec![0; network.len()];
    for (place, switch) in edges.iter().chain(&others).enumerate() {
        column[*switch as usize] = place as u32;
    }
    column
}

impl FatTree<'_> {
    fn paths(&self, network: &Network, edges: &[u32], tiers: &Tiers) -> Paths {
        let column = columns(network, edges, tiers);
        match self.up_down {
            true => Paths::up_down(network, column, rank(&tiers.tier)),
            false => Paths::shortest(network, column),
        }
    }

    fn rows<'a>(
        &'a self,
        network: &'a Network,
        (tiers, edges): (&'a Tiers, &[u32]),
        (paths, pruning): (&'a Paths, &'a Pruning),
    ) -> Rows<'a> {
        Rows {
            settings: self.settings,
            network,
            below: dividers(network, &tiers.tier),
            tiers,
            edges: self.edges(network, edges),
            targets: targets(network, paths, |switch| tiers.index[switch]),
            switch_of: paths.switches(),
            paths,
            pruning,
        }
    }

    fn edges(&self, network: &Network, edges: &[u32]) -> Vec<Edge> {
        let late = &self.settings.route_last;
        let edge = |(place, switch): (usize, &u32)| {
            let switch = *switch as usize;
            let hfis = network.hfis(switch);
            let has_late = hfis.iter().any(|end| late.contains(&end.at));
            Edge {
                switch,
                first_lid: consecutive(hfis).filter(|_| !has_late),
                end: place + 1,
                has_late,
            }
        };
        let mut edges: Vec<Edge> = edges.iter().enumerate().map(edge).collect();
        for place in (1..edges.len()).rev() {
            let (before, end) = (&edges[place - 1], edges[place].end);
            let next_lid = before
                .first_lid
                .map(|lid| lid + network.hfis(before.switch).len());
            if next_lid.is_some() && next_lid == edges[place].first_lid {
                edges[place - 1].end = end;
            }
        }
        edges
    }
}

/// A destination: a switch with HFIs. Its place among all of them is its column.
struct Edge {
    switch: usize,
    /// Its HFIs' first LID when they have one each, one after the other, and none is routed last.
    first_lid: Option<usize>,
    /// The place after the last one that LIDs go on to without a gap.
    end: usize,
    /// Whether any of them is routed last.
    has_late: bool,
}

/// Inputs of rows.
struct Rows<'a> {
    settings: &'a FatTreeSettings,
    network: &'a Network,
    tiers: &'a Tiers,
    edges: Vec<Edge>,
    /// By switch.
    targets: Vec<Target>,
    /// By switch, number of upward paths below.
    below: Vec<u32>,
    /// By column.
    switch_of: Vec<u32>,
    paths: &'a Paths,
    pruning: &'a Pruning,
}

impl Rows<'_> {
    /// The tables of all switches.
    fn tables(&self) -> LinearTables {
        rows_by_kind(self.network, &self.kinds(), self)
    }

    /// The switches that have the same candidates and place switches as destinations alike.
    fn kinds(&self) -> Vec<Vec<u32>> {
        self.paths.kinds().split(|switch| {
            let (tier, below) = (self.tiers.tier[switch], self.below[switch]);
            (tier, below, shared_chassis(self.network, switch))
        })
    }

    /// Placement of a switch's routes, before the first one.
    fn place<'b>(&'b self, candidates: &'b Candidates, switch: usize) -> Place<'b> {
        let mut place = Place::new(self.settings, self.network, self.tiers, candidates, switch);
        place.below = self.below[switch] as usize;
        place
    }

    /// Routes to all HFIs and to some switches, where other ones are in the row already. Routes to
    /// HFIs are counted from the switch's place, so all are placed again; those to switches follow
    /// from the destination.
    fn again(
        &self,
        place: &mut Place<'_>,
        row: &mut [u8],
        targets: impl Iterator<Item = usize> + Clone,
    ) {
        for target in targets.clone() {
            lids(self.network, target, |lids| row[lids].fill(UNREACHABLE));
        }
        self.hfis(place, row);
        for target in targets {
            place.towards(row, &self.targets[target]);
        }
    }

    /// Routes to all HFIs.
    fn hfis(&self, place: &mut Place<'_>, row: &mut [u8]) {
        place.edge_switches(row, self.paths, &self.edges, false);
        if self.edges.iter().any(|edge| edge.has_late) {
            place.edge_switches(row, self.paths, &self.edges, true);
        }
    }
}

impl KindRows for Rows<'_> {
    type Lists = Lists;

    fn write(&self, memory: &mut Memory<Lists>, switch: usize) -> Arc<[u8]> {
        let order = by_neighbour(self.network, switch);
        let goes_on = self.pruning.refill(
            &mut memory.candidates,
            (self.network, self.paths),
            (switch, &order),
            &mut memory.columns,
        );
        let mut place = self.place(&memory.candidates, switch);
        let before = memory.before(|lists| goes_on && place.goes_on(lists));
        let row = match before {
            Some((before, row)) => copied_row(row, |row| {
                let changed = bits(&memory.columns).map(|column| self.switch_of[column] as usize);
                self.again(&mut place, row, changed.chain([before, switch]));
            }),
            None => new_row(self.network, |row| {
                self.hfis(&mut place, row);
                place.management(row, &self.targets);
            }),
        };
        let lists = place.into_lists();
        memory.keep(switch, &row, lists);
        row
    }

    fn rewrite(
        &self,
        memory: &mut Memory<Lists>,
        (first, switch): (usize, usize),
        _: Option<&[u8]>,
        row: &mut [u8],
    ) {
        let candidates = &mut memory.candidates;
        let columns = (self.paths.column(first), self.paths.column(switch));
        candidates.exchange(columns.0, columns.1);
        let mut place = self.place(candidates, switch);
        self.again(&mut place, row, [first, switch].into_iter());
        candidates.exchange(columns.0, columns.1);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;
    use crate::engine::rows::tests::check;
    use crate::kinds::tests::fabrics;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_copied_row_is_what_is_placed_for_its_switch(
            topology in fabrics(),
            (up_down, spine_first) in any::<(bool, bool)>(),
            (converge, pass_through, late) in any::<(bool, bool, bool)>(),
        ) {
            let network = Network::new(&topology).unwrap();
            let late = network.end_ports().filter(|_| late).step_by(5);
            let settings = FatTreeSettings {
                tier_count: 3,
                converge,
                pass_through,
                route_last: late.map(|end| end.at).collect(),
                ..FatTreeSettings::default()
            };
            let engine = FatTree {
                topology: &topology,
                settings: &settings,
                up_down,
            };
            let tiers = Tiers::find(&topology, &network, &settings).unwrap();
            let edges = edges(&network, &tiers);
            let paths = engine.paths(&network, &edges, &tiers);
            let pruning = Pruning {
                spine_first,
                tier: tiers.tier.clone(),
            };
            let rows = engine.rows(&network, (&tiers, &edges), (&paths, &pruning));
            check(&network, &rows.kinds(), &rows)?;
        }
    }
}
