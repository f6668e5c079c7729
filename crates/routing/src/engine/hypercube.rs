//! `hypercube`: one neighbour for each destination switch, by the configured cost and order
//! of the ports of each switch; links to it take turns.
//!
//! If all ports have equal cost and are numbered by dimension, that is e-cube routing, which
//! closes no credit cycle.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{LinearTables, PortNum, UNREACHABLE};

use super::lanes::{Channels, Waits, Ways, Widening, first_links};
use super::rows::deliver;
use super::{Choices, Engine, Plan};
use crate::adaptive::PortSets;
use crate::network::{EndPort, Network};
use crate::routed::EngineUsed;
use crate::settings::{HypercubeSettings, PortCost};

const FAR: u32 = u32::MAX;

/// The engine.
pub(crate) struct Hypercube<'a> {
    pub(crate) settings: &'a HypercubeSettings,
    /// Find sets of ports for adaptive groups, too.
    pub(crate) adaptive: bool,
}

impl Engine for Hypercube<'_> {
    fn name(&self) -> EngineUsed {
        EngineUsed::Hypercube
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        let costs = Costs::new(network, self.settings);
        let targets: Vec<Vec<u32>> = (0..network.len())
            .into_par_iter()
            .map(|target| costs.distances(network, target))
            .collect();
        let rows = (0..network.len())
            .into_par_iter()
            .map(|switch| self.row(network, &costs, &targets, switch));
        let rows: Vec<Arc<[u8]>> = rows.collect();
        let choices = match self.adaptive {
            true => sets(network, &costs, &targets, &rows).map(Choices::Sets),
            false => None,
        };
        Ok(Plan {
            choices: choices.unwrap_or(Choices::None),
            ..Plan::new(LinearTables::new(rows))
        })
    }
}

/// By switch, the sets of ports for the choice of LIDs of HFIs: paths of least cost
/// that close no credit cycle with the routes; `None` if the routes close one by themselves.
fn sets(
    network: &Network,
    costs: &Costs,
    targets: &[Vec<u32>],
    rows: &[Arc<[u8]>],
) -> Option<Vec<PortSets>> {
    let first = first_links(network);
    let channels = Channels::whole(network);
    let mut lanes = [Waits::new(channels.len())];
    let mut widening = Widening::new((network, &first, &channels), rows, &mut lanes);
    let lids = |target: usize| {
        let ends = network.hfis(target).iter();
        ends.flat_map(EndPort::lids)
    };
    let mut all = (0..network.len()).flat_map(lids);
    if !all.all(|lid| widening.trace(lid, 0)) {
        return None;
    }
    widening.add_parallel_links();
    for (target, distance) in targets.iter().enumerate() {
        let ways = Ways::new(network, distance, |from, link| {
            let links = network.egress(from);
            let index = links.binary_search_by_key(&link.port, |link| link.port);
            index.is_ok_and(|index| costs.is_on_way(network, distance, (from, index)))
        });
        lids(target).for_each(|lid| widening.lid(&ways, lid, 0));
    }
    Some(widening.finish())
}

impl Hypercube<'_> {
    /// The table of one switch: all that is not routed last, then the rest, by switch and port.
    fn row(
        &self,
        network: &Network,
        costs: &Costs,
        targets: &[Vec<u32>],
        switch: usize,
    ) -> Arc<[u8]> {
        let len = (network.max_lid as usize + 1).next_multiple_of(LFT_BLOCK);
        let mut row = vec![UNREACHABLE; len];
        let mut turns = vec![0usize; network.len()];
        for last in [false, true] {
            for (target, distance) in targets.iter().enumerate() {
                let links = costs.links(network, distance, switch);
                let hfis = network.hfis(target).iter();
                let wanted = |end: &&EndPort| self.settings.route_last.contains(&end.at) == last;
                let own = network.management(target).filter(|_| !last);
                for end in hfis.filter(wanted).chain(own) {
                    if target == switch {
                        deliver(&mut row, end);
                    } else if let Some((to, ports)) = &links {
                        // Each neighbour's links take turns, whatever the destination.
                        let turn = &mut turns[*to as usize];
                        for entry in &mut row[end.entries()] {
                            *entry = ports[*turn % ports.len()];
                            *turn += 1;
                        }
                    }
                }
            }
        }
        Arc::from(row)
    }
}

/// Cost and order of each port of each switch.
struct Costs {
    /// By switch, like [`Network::egress`].
    ports: Vec<Vec<PortCost>>,
    /// For each switch its neighbours with the number of their link to it.
    back: Vec<Vec<(u32, u32)>>,
}

impl Costs {
    fn new(network: &Network, settings: &HypercubeSettings) -> Self {
        let cost = |switch: usize, port: u8| {
            let at = (network.switches[switch].node, PortNum(port));
            let plain = PortCost {
                order: port,
                cost: HypercubeSettings::COST,
            };
            settings.ports.get(&at).copied().unwrap_or(plain)
        };
        let mut back = vec![Vec::new(); network.len()];
        let ports = (0..network.len()).map(|switch| {
            let links = network.egress(switch).iter();
            let links = links.zip(0..).map(|(link, index)| {
                back[link.to as usize].push((switch as u32, index));
                cost(switch, link.port)
            });
            links.collect()
        });
        let ports = ports.collect();
        Self { ports, back }
    }

    /// Least costs from everywhere to a switch; no step is free.
    fn distances(&self, network: &Network, target: usize) -> Vec<u32> {
        let mut distance = vec![FAR; network.len()];
        distance[target] = 0;
        let mut queue = BinaryHeap::from([Reverse((0u32, target))]);
        while let Some(Reverse((far, at))) = queue.pop() {
            if far > distance[at] {
                continue;
            }
            for &(from, link) in &self.back[at] {
                let from = from as usize;
                let step = self.ports[from][link as usize].cost.max(1);
                let total = far.saturating_add(u32::from(step));
                if total < distance[from] {
                    distance[from] = total;
                    queue.push(Reverse((total, from)));
                }
            }
        }
        distance
    }

    /// Whether a link of a switch is on a path of least cost.
    fn is_on_way(
        &self,
        network: &Network,
        distance: &[u32],
        (switch, index): (usize, usize),
    ) -> bool {
        let far = distance[network.egress(switch)[index].to as usize];
        let step = self.ports[switch][index].cost.max(1);
        far != FAR && far.saturating_add(u32::from(step)) == distance[switch]
    }

    /// The next neighbour, the one whose port comes first, and the ports to it.
    fn links(&self, network: &Network, distance: &[u32], switch: usize) -> Option<(u32, Vec<u8>)> {
        let egress = network.egress(switch);
        let costs = &self.ports[switch];
        let on_way = |index: &usize| self.is_on_way(network, distance, (switch, *index));
        let mut ways: Vec<usize> = (0..egress.len()).filter(on_way).collect();
        ways.sort_by_key(|index| (costs[*index].order, egress[*index].port));
        let to = egress[*ways.first()?].to;
        let to_it = ways.iter().filter(|index| egress[**index].to == to);
        let best = to_it.clone().map(|index| egress[*index].rate).max();
        let fast = to_it.filter(|index| Some(egress[**index].rate) == best);
        Some((to, fast.map(|index| egress[*index].port).collect()))
    }
}
