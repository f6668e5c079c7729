//! Choice of the root of the tree.

use weft_fabric::{PortNum, PortRef};
use weft_state::State;

use super::graph::Graph;
use super::{MulticastRequest, RootChoice, RoutedMulticast};

/// Cost of each switch as the root: less is better.
#[derive(Debug, State)]
pub(super) struct Costs {
    cost: Vec<u64>,
}

impl Costs {
    /// From the costs of the cheapest paths between all switches. 64 switches are searched from at
    /// once, each a bit of a word.
    pub(super) fn new(graph: &Graph, choice: RootChoice) -> Self {
        let mut cost = vec![0; graph.len()];
        if choice != RootChoice::ManagerNeighbor {
            let mut search = Search::new(graph);
            for first in (0..graph.len()).step_by(64) {
                search.from(graph, first, |switch, distance, starts| match choice {
                    RootChoice::LeastWorstCaseCost => cost[switch] = distance.max(cost[switch]),
                    _ => cost[switch] += distance * u64::from(starts),
                });
            }
        }
        Self { cost }
    }

    /// The root of the manager's part of the fabric. The previous one stays unless another one is
    /// better by the configured amount.
    pub(super) fn choose(&self, graph: &Graph, request: &MulticastRequest<'_>) -> Option<usize> {
        let neighbour = neighbour(graph, request)?;
        if request.settings.root == RootChoice::ManagerNeighbor {
            return Some(neighbour);
        }
        let part = part_of(graph, neighbour);
        let before = request.before.and_then(RoutedMulticast::root);
        let before = before.and_then(|guid| graph.find(guid));
        let best = (0..graph.len())
            .filter(|switch| part[*switch])
            .min_by_key(|switch| self.order(graph, *switch))?;
        match before.filter(|before| part[*before]) {
            Some(before) if !self.is_worth_it(before, best, request.settings.min_improvement) => {
                Some(before)
            }
            _ => Some(best),
        }
    }

    /// Sort key of switches, the best root first. GUIDs decide between equal ones, so that
    /// every manager makes the same choice.
    pub(super) fn order(&self, graph: &Graph, switch: usize) -> (u64, weft_fabric::Guid) {
        (self.cost[switch], graph.guid(switch))
    }

    fn is_worth_it(&self, before: usize, best: usize, percent: u8) -> bool {
        let (old, new) = (u128::from(self.cost[before]), u128::from(self.cost[best]));
        new < old && (old - new) * 100 >= old * u128::from(percent)
    }
}

/// The switch next to the manager, or the one that it is on.
fn neighbour(graph: &Graph, request: &MulticastRequest<'_>) -> Option<usize> {
    let node = request.manager;
    let ports = (0..=u8::MAX).map(|port| PortRef {
        node,
        port: PortNum(port),
    });
    ports
        .into_iter()
        .find_map(|end| graph.switch_of(end))
        .map(|(switch, _)| switch)
}

/// The switches that links lead to from one.
fn part_of(graph: &Graph, start: usize) -> Vec<bool> {
    let mut found = vec![false; graph.len()];
    let mut stack = vec![start];
    while let Some(switch) = stack.pop() {
        if !std::mem::replace(&mut found[switch], true) {
            stack.extend(graph.links(switch).iter().map(|link| link.to as usize));
        }
    }
    found
}

/// A search outwards from 64 switches at once, level of cost by level of cost.
struct Search {
    reached: Vec<u64>,
    /// Newly reached columns of the last levels, as many as the highest link cost.
    levels: Vec<Vec<u64>>,
}

impl Search {
    fn new(graph: &Graph) -> Self {
        let levels = usize::from(graph.cost_max()) + 1;
        Self {
            reached: vec![0; graph.len()],
            levels: vec![vec![0; graph.len()]; levels],
        }
    }

    /// Reports for each switch and distance how many of the 64 columns from `first` on are at it.
    fn from(&mut self, graph: &Graph, first: usize, mut tell: impl FnMut(usize, u64, u32)) {
        self.reached.fill(0);
        self.levels.iter_mut().for_each(|level| level.fill(0));
        for switch in first..graph.len().min(first + 64) {
            let bit = 1 << (switch - first);
            self.reached[switch] = bit;
            self.levels[0][switch] = bit;
        }
        let mut idle = 0;
        for distance in 1.. {
            let new = self.level(graph, distance, &mut tell);
            idle = if new { 0 } else { idle + 1 };
            if idle >= self.levels.len() {
                return;
            }
        }
    }

    fn level(
        &mut self,
        graph: &Graph,
        distance: usize,
        tell: &mut impl FnMut(usize, u64, u32),
    ) -> bool {
        let count = self.levels.len();
        let mut level = std::mem::take(&mut self.levels[distance % count]);
        let mut any = false;
        for (switch, fresh) in level.iter_mut().enumerate() {
            let mut found = 0;
            for link in graph.links(switch) {
                let cost = usize::from(link.cost);
                if cost <= distance {
                    found |= self.levels[(distance - cost) % count][link.to as usize];
                }
            }
            *fresh = found & !self.reached[switch];
            self.reached[switch] |= *fresh;
            if *fresh != 0 {
                any = true;
                tell(switch, distance as u64, fresh.count_ones());
            }
        }
        self.levels[distance % count] = level;
        any
    }
}
