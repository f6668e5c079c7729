//! From an objection of the certificate to the loop, the drop or the cycle itself. Not fast.

use std::collections::{BTreeMap, VecDeque};

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use weft_fabric::{Lid, PortNum, PortRef, SwitchIndex, Topology, UNREACHABLE};

use super::Tables;
use super::classes::Class;
use super::dependency::Dependencies;
use super::finding::{Channel, Drop, Finding, Hop};
use super::follow::{Followed, Lane};
use super::view::{Link, View};

/// Reads tables LID by LID.
pub(super) struct Diagnosis<'a> {
    pub(super) topology: &'a Topology,
    pub(super) view: &'a View,
    pub(super) layers: &'a [Tables<'a>],
}

impl Diagnosis<'_> {
    /// Up to `limit` findings: loops first, then drops, then credit cycles.
    pub(super) fn findings(&self, followed: &Followed, limit: usize) -> Vec<Finding> {
        let loops = followed.looping.iter();
        let mut findings: Vec<Finding> = loops
            .filter_map(|class| self.loop_of(class))
            .take(limit)
            .collect();
        let drops = followed.dropped.iter();
        let drops = drops.filter_map(|(switch, class)| self.drop_of(*switch, class));
        findings.extend(drops.take(limit - findings.len()));
        if findings.len() < limit {
            let lanes = followed.lanes.iter().zip(0..);
            let cycles = lanes.filter_map(|(lane, number)| self.cycle_of(lane, number));
            findings.extend(cycles.take(limit - findings.len()));
        }
        findings
    }

    /// The ports that a switch may send a LID to.
    fn ports(&self, switch: usize, lid: u32) -> Vec<u8> {
        let at = SwitchIndex(switch as u32);
        let mut ports = Vec::new();
        for tables in self.layers {
            let row = tables.linear.row(at);
            ports.push(row.get(lid as usize).copied().unwrap_or(UNREACHABLE));
            let group = tables.groups.group(at, Lid(lid));
            ports.extend(
                group
                    .into_iter()
                    .flat_map(|group| group.iter())
                    .map(|port| port.0),
            );
        }
        ports
    }

    /// The links that a switch may send a LID to; none at its own switch's port to it.
    fn steps(&self, switch: usize, lid: u32) -> impl Iterator<Item = usize> + '_ {
        let ports = self.ports(switch, lid);
        ports
            .into_iter()
            .filter_map(move |port| self.view.link_at(switch, port))
    }

    /// A loop that a LID's routes run in.
    fn loop_of(&self, class: &Class) -> Option<Finding> {
        let lid = class.lid?;
        let mut graph = DiGraph::<(), usize>::new();
        (0..self.view.len()).for_each(|_| {
            graph.add_node(());
        });
        for switch in 0..self.view.len() {
            for link in self.steps(switch, lid) {
                let to = self.view.links[link].to as usize;
                graph.add_edge(NodeIndex::new(switch), NodeIndex::new(to), link);
            }
        }
        let steps = |switch: usize| -> Vec<usize> { self.steps(switch, lid).collect() };
        let circle = tarjan_scc(&graph).into_iter().find(|part| part.len() > 1)?;
        let members: Vec<usize> = circle.into_iter().map(NodeIndex::index).collect();
        let cycle = shortest_cycle(&members, |from| {
            let next = steps(from).into_iter();
            next.map(|link| self.view.links[link].to as usize).collect()
        })?;
        let hops = cycle.iter().enumerate().map(|(index, from)| {
            let to = cycle[(index + 1) % cycle.len()];
            let leads = |link: &usize| self.view.links[*link].to as usize == to;
            let link = steps(*from).into_iter().find(leads);
            Hop {
                switch: self.view.nodes[*from],
                egress: PortNum(link.map_or(UNREACHABLE, |link| self.view.links[link].port)),
            }
        });
        Some(Finding::Loop {
            lid: Lid(lid),
            hops: hops.collect(),
        })
    }

    /// The first LID of a class that a switch drops.
    fn drop_of(&self, switch: u32, class: &Class) -> Option<Finding> {
        let at = self.view.nodes[switch as usize];
        class.lids(self.view).find_map(|lid| {
            let ports = self.ports(switch as usize, lid).into_iter();
            let mut reasons = ports.filter_map(|port| self.wrong(switch, class, lid, port));
            reasons.next().map(|why| Finding::Dropped {
                lid: Lid(lid),
                from: at,
                at,
                why,
            })
        })
    }

    fn wrong(&self, switch: u32, class: &Class, lid: u32, port: u8) -> Option<Drop> {
        let ends = &self.view.ends[class.first_end as usize..class.last_end as usize];
        let own = ends
            .iter()
            .find(|end| (end.lid..end.lid + end.lids).contains(&lid))?;
        let home = own.switch == switch && own.port == port;
        if home || self.view.link_at(switch as usize, port).is_some() {
            return None;
        }
        if port == UNREACHABLE {
            return Some(Drop::NoEntry);
        }
        let node = self.view.nodes[switch as usize];
        let at = PortRef {
            node,
            port: PortNum(port),
        };
        let dead = Drop::DeadPort(at.port);
        let end = if port == 0 {
            Some(at)
        } else {
            self.topology.peer(at)
        };
        Some(end.map_or(dead, Drop::WrongEndPort))
    }

    /// The shortest cycle of dependencies in a lane through the first link that is on one.
    fn cycle_of(&self, Lane { graph, cyclic }: &Lane, number: u8) -> Option<Finding> {
        let circle = circles(self.view, graph, cyclic).into_iter().next()?;
        let cycle = shortest_cycle(&circle, |link| graph.successors(self.view, link).collect())?;
        let channels = cycle.iter().enumerate().map(|(index, link)| {
            let next = cycle[(index + 1) % cycle.len()];
            let Link {
                port,
                far_port,
                from,
                to,
                ..
            } = self.view.links[*link];
            Channel {
                from: self.port_ref(from, port),
                to: self.port_ref(to, far_port),
                lid: Lid(self.lid_over(*link, next, number).unwrap_or(0)),
            }
        });
        Some(Finding::CreditCycle {
            channels: channels.collect(),
        })
    }

    fn port_ref(&self, switch: u32, port: u8) -> PortRef {
        PortRef {
            node: self.view.nodes[switch as usize],
            port: PortNum(port),
        }
    }

    /// A LID of an HFI that goes in a lane over one link and then over the next one.
    fn lid_over(&self, link: usize, next: usize, lane: u8) -> Option<u32> {
        let Link { from, port, to, .. } = self.view.links[link];
        let onward = self.view.links[next].port;
        let hfis = self.view.ends.iter().filter(|end| end.is_hfi());
        let mut lids = hfis.flat_map(|end| end.lid..end.lid + end.lids);
        let is_in = |lid: u32| {
            let mut tables = self.layers.iter();
            tables.any(|tables| tables.linear.lanes().of(Lid(lid)) == lane)
        };
        lids.find(|lid| {
            is_in(*lid)
                && self.ports(from as usize, *lid).contains(&port)
                && self.ports(to as usize, *lid).contains(&onward)
        })
    }
}

/// The sets of links that wait for each other, each sorted, in order of their first.
pub(super) fn circles(view: &View, graph: &Dependencies, cyclic: &[usize]) -> Vec<Vec<usize>> {
    let mut waits = DiGraph::<usize, ()>::new();
    let node: BTreeMap<usize, NodeIndex> = cyclic
        .iter()
        .map(|link| (*link, waits.add_node(*link)))
        .collect();
    for (link, from) in &node {
        for next in graph.successors(view, *link) {
            if let Some(to) = node.get(&next) {
                waits.add_edge(*from, *to, ());
            }
        }
    }
    let parts = tarjan_scc(&waits).into_iter().filter(|part| part.len() > 1);
    let mut circles: Vec<Vec<usize>> = parts
        .map(|part| part.into_iter().map(|index| waits[index]).collect())
        .collect();
    circles.iter_mut().for_each(|circle| circle.sort_unstable());
    circles.sort_unstable();
    circles
}

/// The shortest cycle through the smallest of some nodes that all reach each other.
fn shortest_cycle(members: &[usize], next: impl Fn(usize) -> Vec<usize>) -> Option<Vec<usize>> {
    let start = *members.iter().min()?;
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(from) = queue.pop_front() {
        for to in next(from) {
            if to == start {
                let mut cycle = vec![from];
                while let Some(&earlier) = cycle.last().and_then(|last| before.get(last)) {
                    cycle.push(earlier);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if members.contains(&to) && !before.contains_key(&to) {
                before.insert(to, from);
                queue.push_back(to);
            }
        }
    }
    None
}
