//! The hosts of a job and the links that they used, by the tables of some moments.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{PortRef, Snapshot, Topology};
use weft_traffic::job::{End, JobLink};
use weft_traffic::link::{capacity, full_capacity, wait_unit};
use weft_traffic::links_between;

use super::{NoAnswer, Port};

/// Hosts of a request, and their ports in one fabric.
pub(crate) const HOSTS_MAX: usize = 4_096;

/// Which hosts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Names of hosts.
    pub(crate) hosts: BTreeSet<String>,
    /// Points, resolved in each fabric.
    pub(crate) points: Vec<weft_report::Point>,
}

/// Hosts and links of all moments that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Used {
    /// End ports of the hosts, with the names of their nodes.
    pub(crate) hosts: BTreeMap<Port, String>,
    /// Names of hosts that were found.
    pub(crate) found: BTreeSet<String>,
    /// Links by their ends, with the flit times that are one count of XmitWait. Of a link at several moments the slowest
    /// rate and the most destinations count.
    pub(crate) links: BTreeMap<(Port, Port), (JobLink, f64)>,
}

impl Used {
    /// Adds the hosts and links of a moment.
    ///
    /// # Errors
    /// [`NoAnswer::Hosts`], [`NoAnswer::Stopped`].
    pub(crate) fn add(
        &mut self,
        snapshot: &Snapshot,
        asked: &Asked,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), NoAnswer> {
        let topology = &*snapshot.topology;
        let ends = self.ends(snapshot, asked);
        if ends.len() > HOSTS_MAX {
            return Err(NoAnswer::Hosts(ends.len()));
        }
        for at in &ends {
            if let Some(end) = end(topology, *at) {
                self.hosts.insert((end.guid, end.port), end.name);
            }
        }
        let links = links_between(snapshot, &ends, stop).ok_or(NoAnswer::Stopped)?;
        for ((from, to), destinations) in links {
            let (Some(a), Some(b)) = (end(topology, from), end(topology, to)) else {
                continue;
            };
            let key = ((a.guid, a.port), (b.guid, b.port));
            let unit = wait_unit(topology, from);
            let (link, _) = self.links.entry(key).or_insert_with(|| {
                let link = JobLink {
                    from: a,
                    to: b,
                    ..JobLink::default()
                };
                (link, unit)
            });
            link.destinations = link.destinations.max(destinations);
            let rate = capacity(topology, from);
            link.capacity = match (link.capacity, rate) {
                (Some(before), Some(rate)) => Some(before.min(rate)),
                (before, rate) => before.or(rate),
            };
            link.full_capacity = link.full_capacity.or(full_capacity(topology, from));
        }
        Ok(())
    }

    fn ends(&mut self, snapshot: &Snapshot, asked: &Asked) -> Vec<PortRef> {
        let topology = &snapshot.topology;
        let points = asked.points.iter();
        let selections = points.filter_map(|point| point.select(snapshot).ok());
        let selected: BTreeSet<PortRef> = selections
            .flat_map(|selection| selection.end_ports(snapshot))
            .collect();
        let mut ends = Vec::new();
        for (at, lid, _) in topology.end_ports() {
            let node = topology.node(at.node).filter(|node| !node.is_switch());
            let Some(node) = node.filter(|_| lid.is_unicast()) else {
                continue;
            };
            let name = node.name();
            let host = name.split(' ').next().unwrap_or_default();
            let is_named = asked.hosts.contains(host);
            if is_named {
                self.found.insert(host.to_owned());
            }
            if is_named || selected.contains(&at) {
                ends.push(at);
            }
        }
        ends
    }
}

fn end(topology: &Topology, at: PortRef) -> Option<End> {
    let node = topology.node(at.node)?;
    Some(End {
        guid: node.guid().0,
        port: at.port.0,
        name: node.name(),
        is_host: !node.is_switch(),
    })
}
