//! Spanning trees: one for each part of the fabric that links of a class hold together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use weft_fabric::{Guid, PortMask, PortNum};

use super::graph::{Class, Graph};
use super::root::Costs;

/// Link of a switch to the one above it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Up {
    /// Its port.
    pub(super) port: PortNum,
    /// The switch above.
    pub(super) parent: u32,
    /// That switch's port.
    pub(super) far_port: PortNum,
}

/// The trees of a class.
#[derive(Debug)]
pub(super) struct Forest {
    /// Switches in an order in which each comes after the one above it.
    pub(super) order: Vec<u32>,
    /// Uplink of each switch; `None` for roots and for switches in no tree.
    pub(super) up: Vec<Option<Up>>,
    /// The root of each switch's tree, none for switches without rows for the class.
    pub(super) root: Vec<Option<u32>>,
    /// Ports of each switch that are in its tree.
    pub(super) ports: Vec<PortMask>,
}

/// A path to a switch that is not in a tree yet: cost from the root, then tie breakers.
type Way = Reverse<(u64, Guid, PortNum, u32, u32, PortNum)>;

impl Forest {
    /// Cheapest paths from the root, and from the best switch of each part that it is not in.
    pub(super) fn grow(graph: &Graph, class: Class, root: Option<usize>, costs: &Costs) -> Self {
        let count = graph.len();
        let mut forest = Self {
            order: Vec::with_capacity(count),
            up: vec![None; count],
            root: vec![None; count],
            ports: vec![PortMask::EMPTY; count],
        };
        let mut roots: Vec<usize> = (0..count).collect();
        roots.sort_by_key(|switch| (Some(*switch) != root, costs.order(graph, *switch)));
        for root in roots {
            if forest.root[root].is_none() && graph.holds(root, class) {
                forest.grow_from(graph, class, root);
            }
        }
        forest
    }

    fn grow_from(&mut self, graph: &Graph, class: Class, root: usize) {
        let mut ways = BinaryHeap::new();
        self.root[root] = Some(root as u32);
        self.reach(graph, class, root, 0, &mut ways);
        while let Some(Reverse((cost, _, port, parent, switch, far_port))) = ways.pop() {
            let switch = switch as usize;
            if self.root[switch].is_some() {
                continue;
            }
            self.root[switch] = Some(root as u32);
            self.up[switch] = Some(Up {
                port: far_port,
                parent,
                far_port: port,
            });
            self.ports[switch].insert(far_port);
            self.ports[parent as usize].insert(port);
            self.reach(graph, class, switch, cost, &mut ways);
        }
    }

    /// Takes a switch in and notes the ways on from it.
    fn reach(
        &mut self,
        graph: &Graph,
        class: Class,
        switch: usize,
        cost: u64,
        ways: &mut BinaryHeap<Way>,
    ) {
        self.order.push(switch as u32);
        let usable = graph
            .links(switch)
            .iter()
            .filter(|link| graph.carries(switch, link, class));
        for link in usable.filter(|link| self.root[link.to as usize].is_none()) {
            let cost = cost + u64::from(link.cost);
            let guid = graph.guid(switch);
            ways.push(Reverse((
                cost,
                guid,
                link.port,
                switch as u32,
                link.to,
                link.far_port,
            )));
        }
    }
}
