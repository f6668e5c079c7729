//! The ways of packets from one port to another, for pictures: that of the base LID, what switches may choose in place
//! of it, and those of the other LIDs.

use std::collections::BTreeSet;

use thiserror::Error;
use weft_fabric::picture::{Course, Way};
use weft_fabric::{Lid, PortRef, Snapshot};

use crate::route::walk;

/// Why there is no way.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoCourse {
    /// An end without a LID.
    #[error("port {port} of {node} has no LID yet")]
    NoLid {
        /// Name of the node.
        node: String,
        /// The port.
        port: u8,
    },
    /// Packets stop on the way.
    #[error("packets do not arrive: {0}")]
    Stops(String),
}

/// All ways from one port to another.
///
/// # Errors
/// [`NoCourse`] where the base LID of one end has none.
pub fn courses(snapshot: &Snapshot, from: PortRef, to: PortRef) -> Result<Vec<Course>, NoCourse> {
    lids(snapshot, from)?;
    let (lid, count) = lids(snapshot, to)?;
    let (links, stopped) = walk(snapshot, from, to, lid);
    if let Some(why) = stopped {
        return Err(NoCourse::Stops(why));
    }
    let others = (1..count).filter_map(|offset| {
        let (links, stopped) = walk(snapshot, from, to, Lid(lid.0.saturating_add(offset)));
        stopped.is_none().then_some(Course {
            way: Way::Dispersive,
            links,
        })
    });
    let others: Vec<Course> = others.collect();
    let adaptive = alternatives(snapshot, &links, to, lid);
    let mut courses = vec![Course {
        way: Way::Base,
        links,
    }];
    courses.extend(others);
    courses.extend(Some(adaptive).filter(|course| !course.links.is_empty()));
    Ok(courses)
}

/// The base LID of a port, and the number of its LIDs.
fn lids(snapshot: &Snapshot, at: PortRef) -> Result<(Lid, u32), NoCourse> {
    let topology = &snapshot.topology;
    let info = topology.port(at).map(|port| &port.info);
    let info = info.filter(|info| info.lid.is_unicast());
    let name = || {
        topology
            .node(at.node)
            .map_or_else(String::new, weft_fabric::Node::name)
    };
    let info = info.ok_or_else(|| NoCourse::NoLid {
        node: name(),
        port: at.port.0,
    })?;
    Ok((info.lid, info.lmc.lids()))
}

/// All links that packets to a LID may take from switches on its route, and from those on, by adaptive routing, less the
/// route itself.
fn alternatives(
    snapshot: &Snapshot,
    route: &[(PortRef, PortRef)],
    to: PortRef,
    lid: Lid,
) -> Course {
    let topology = &snapshot.topology;
    let mut seen = BTreeSet::new();
    let mut links = BTreeSet::new();
    let mut open: Vec<_> = route.iter().map(|(_, into)| into.node).collect();
    while let Some(node) = open.pop() {
        let Some(switch) = topology
            .switch_index(node)
            .filter(|_| node != to.node && seen.insert(node))
        else {
            continue;
        };
        let group = snapshot.groups.group(switch, lid);
        let group = group.into_iter().flat_map(|ports| ports.iter());
        for port in group.chain(snapshot.linear.egress(switch, lid)) {
            let out = PortRef { node, port };
            if let Some(into) = topology.peer(out) {
                links.insert((out, into));
                open.push(into.node);
            }
        }
    }
    Course {
        way: Way::Adaptive,
        links: links
            .into_iter()
            .filter(|link| !route.contains(link))
            .collect(),
    }
}
