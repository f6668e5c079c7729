//! Switches and links that carry no data, so that they can be pulled.
//!
//! A drained link is left out when routes are made. A drained switch keeps one of its links, over
//! which it is still managed; with a single link nothing can pass through it. A drain that would cut
//! something off has no effect: routes are then made as if nothing were drained.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Snapshot, SwitchIndex, Topology, text};
use weft_routing::{RouteError, Routed, Settings, Tables, certify, reroute, route};
use weft_state::State;

/// HFIs that a refusal names, and bytes of their names: a message has room for 2,000 with the rest.
const LISTED_MAX: usize = 48;
const LISTED_BYTES: usize = 1_500;
/// Note on routes that use drained parts.
pub(super) const LEFT_ASIDE: &str = "drains ignored: they would cut parts off";

/// A switch, or a link between two switches by one of its ends.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, State,
)]
pub enum Drain {
    /// The switch with this GUID.
    Switch(Guid),
    /// The link at this port.
    Link(Guid, PortNum),
}

/// All that is drained. A link is in it by the end with the lower GUID and port.
pub type Drains = BTreeSet<Drain>;

/// A node by its GUID and by what people call it, where that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its GUID.
    pub guid: Guid,
    /// Its description, empty where no such node is in the fabric.
    pub name: String,
}

impl Named {
    fn of(topology: &Topology, guid: Guid) -> Self {
        let node = topology.find(guid).and_then(|node| topology.node(node));
        let name = node.map_or_else(String::new, |node| node.name().to_string());
        Self { guid, name }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.is_empty() {
            true => write!(f, "{}", self.guid),
            false => write!(f, "{} ({})", self.name, self.guid),
        }
    }
}

/// Why something cannot be drained.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DrainError {
    /// No such switch.
    #[error("no switch {0} in the fabric; `weft report nodes` lists them")]
    NoSwitch(Named),
    /// Hosts would be cut off.
    #[error(
        "switch {switch} has {}, which nothing else leads to; move or switch them off first: {}",
        text::count(.hfis.len(), "HFI"),
        listed(.hfis)
    )]
    HasHfis {
        /// The switch.
        switch: Named,
        /// HFIs on it, by their cables.
        hfis: Vec<Named>,
    },
    /// No link between switches.
    #[error(
        "port {port} of {node} has no link to another switch; only those can be drained, \
         `weft port disable` is for the others"
    )]
    NoLink {
        /// The node.
        node: Named,
        /// The port.
        port: PortNum,
    },
    /// Not drained.
    #[error("{0} is not drained; `weft route drains` lists what is")]
    NotDrained(String),
}

/// Names of the first of them, and how many there are besides.
fn listed(hfis: &[Named]) -> String {
    let name = |hfi: &Named| match hfi.name.is_empty() {
        true => hfi.guid.to_string(),
        false => hfi.name.clone(),
    };
    let mut room = LISTED_BYTES;
    let fits = |name: &String| {
        let left = room.checked_sub(name.len() + ", ".len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let names = hfis.iter().take(LISTED_MAX).map(name);
    let names: Vec<String> = names.take_while(fits).collect();
    match hfis.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

impl Drain {
    /// Description: nodes by name and GUID, a link by the end that was named.
    pub fn describe(self, topology: &Topology) -> String {
        match self {
            Self::Switch(guid) => format!("switch {}", Named::of(topology, guid)),
            Self::Link(guid, port) => {
                format!("the link at port {port} of {}", Named::of(topology, guid))
            }
        }
    }

    /// Normalises and validates a new drain.
    ///
    /// # Errors
    /// [`DrainError`].
    pub fn checked(self, topology: &Topology) -> Result<Self, DrainError> {
        match self {
            Self::Switch(switch) => {
                let node = topology.find(switch);
                let node = node.filter(|node| topology.switch_index(*node).is_some());
                let named = Named::of(topology, switch);
                let node = node.ok_or_else(|| DrainError::NoSwitch(named.clone()))?;
                let hfis = neighbours(topology, node).filter(|(_, is_switch)| !is_switch);
                let hfis = hfis.filter_map(|(port, _)| {
                    let hfi = topology.peer(PortRef { node, port })?.node;
                    Some(Named::of(topology, topology.node(hfi)?.guid()))
                });
                let hfis: Vec<Named> = hfis.collect();
                match hfis.is_empty() {
                    true => Ok(self),
                    false => Err(DrainError::HasHfis {
                        switch: named,
                        hfis,
                    }),
                }
            }
            Self::Link(node, port) => {
                let named = |end: PortRef| Some((topology.node(end.node)?.guid(), end.port));
                let ends = self.ends(topology);
                let lower = ends.and_then(|[near, far]| named(near).min(named(far)));
                let node = Named::of(topology, node);
                let (guid, port) = lower.ok_or(DrainError::NoLink { node, port })?;
                Ok(Self::Link(guid, port))
            }
        }
    }

    /// Looks up an existing drain, normalised.
    ///
    /// # Errors
    /// [`DrainError::NotDrained`].
    pub fn found(self, topology: &Topology, drains: &Drains) -> Result<Self, DrainError> {
        let kept = [Ok(self), self.checked(topology)].into_iter().flatten();
        let mut kept = kept.filter(|drain| drains.contains(drain));
        let not_drained = || DrainError::NotDrained(self.describe(topology));
        kept.next().ok_or_else(not_drained)
    }

    /// Both ends of a link between switches, where it is there.
    fn ends(self, topology: &Topology) -> Option<[PortRef; 2]> {
        let Self::Link(guid, port) = self else {
            return None;
        };
        let near = PortRef {
            node: topology.find(guid)?,
            port,
        };
        let far = topology.peer(near)?;
        let ends = [near, far];
        let between = ends
            .iter()
            .all(|end| topology.switch_index(end.node).is_some());
        between.then_some(ends)
    }
}

/// Cabled ports of a node, and whether a switch is behind them.
fn neighbours(topology: &Topology, node: NodeId) -> impl Iterator<Item = (PortNum, bool)> + '_ {
    let ports = topology
        .node(node)
        .into_iter()
        .flat_map(|node| node.external_ports());
    ports.filter_map(|(port, end)| {
        let peer = end.peer?;
        Some((port, topology.switch_index(peer.node).is_some()))
    })
}

/// The fabric without drained parts; drained switches keep one link each, unless nothing needs
/// to reach them.
pub(super) fn without(topology: &Topology, drains: &Drains, managed: bool) -> Topology {
    let mut bare = topology.clone();
    for drain in drains {
        if let Some([near, _]) = drain.ends(topology) {
            bare.disconnect(near);
        }
    }
    let drained: BTreeSet<NodeId> = drains
        .iter()
        .filter_map(|drain| match drain {
            Drain::Switch(guid) => topology.find(*guid),
            Drain::Link(..) => None,
        })
        .collect();
    for &node in &drained {
        let ports: Vec<PortNum> = neighbours(&bare, node).map(|(port, _)| port).collect();
        let at = |port| PortRef { node, port };
        let leads_on = |port: &PortNum| {
            let peer = bare.peer(at(*port));
            peer.is_some_and(|peer| !drained.contains(&peer.node))
        };
        let kept = ports.iter().find(|port| leads_on(port)).or(ports.first());
        let kept = kept.copied().filter(|_| managed);
        for port in ports.into_iter().filter(|port| Some(*port) != kept) {
            bare.disconnect(at(port));
        }
    }
    bare
}

/// Routes around drained parts.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) routed: Routed,
    /// Whether they avoid drained parts. They do not if there are none, or if something would become
    /// unreachable.
    pub(super) spares_drained: bool,
}

/// Routes a fabric around drained parts, unless that cuts something off. The earlier routes `before`
/// reduce the work; the result does not depend on them.
pub(super) fn route_around(
    topology: &Topology,
    drains: &Drains,
    settings: &Settings,
    before: Option<&Routed>,
) -> Result<Around, RouteError> {
    if !drains.is_empty() {
        let bare = without(topology, drains, true);
        if let Ok(routed) = route(&bare, settings)
            && is_whole(topology, &routed)
        {
            return Ok(Around {
                routed,
                spares_drained: true,
            });
        }
    }
    let routed = match before {
        Some(before) => reroute(before, topology, settings)?,
        None => route(topology, settings)?,
    };
    Ok(Around {
        routed,
        spares_drained: false,
    })
}

fn is_whole(topology: &Topology, routed: &Routed) -> bool {
    let tables = Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    };
    certify(topology, tables).is_ok()
}

/// Entries that still lead over a drained part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainUse {
    /// It is in the fabric.
    pub present: bool,
    /// Entries of linear tables that lead over it, but those to a drained switch itself.
    pub routes: u64,
    /// Adaptive groups in use with a port to it.
    pub groups: u64,
    /// Entries of multicast tables that lead over it.
    pub multicast: u64,
}

impl DrainUse {
    /// Nothing leads over it.
    pub fn is_free(&self) -> bool {
        (self.routes, self.groups, self.multicast) == (0, 0, 0)
    }
}

/// Reads in the tables that switches confirmed what leads over a switch or link.
pub fn drain_use(snapshot: &Snapshot, drain: Drain) -> DrainUse {
    let topology = &*snapshot.topology;
    let (ends, own) = match drain {
        Drain::Link(..) => (drain.ends(topology).map(Vec::from), None),
        Drain::Switch(guid) => {
            let node = topology.find(guid);
            let node = node.filter(|node| topology.switch_index(*node).is_some());
            (node.map(|node| towards(topology, node)), node)
        }
    };
    let Some(ends) = ends else {
        return DrainUse::default();
    };
    let own = own.and_then(|node| topology.node(node)?.port(PortNum(0)));
    let own = own.map(|port| port.info.lid.0 as usize);
    let mut found = DrainUse {
        present: true,
        ..DrainUse::default()
    };
    for end in ends {
        if let Some(switch) = topology.switch_index(end.node) {
            count(snapshot, (switch, end.port), own, &mut found);
        }
    }
    found
}

/// The ports of other switches that lead to a node.
fn towards(topology: &Topology, node: NodeId) -> Vec<PortRef> {
    let ports = neighbours(topology, node);
    ports
        .filter_map(|(port, _)| topology.peer(PortRef { node, port }))
        .collect()
}

/// Whether a switch routes adaptively; one that does not may hold groups from before.
fn chooses(topology: &Topology, switch: SwitchIndex) -> bool {
    let node = topology.switches().get(switch.0 as usize);
    let info = node.and_then(|node| topology.node(*node)?.switch);
    info.is_some_and(|info| info.ar_enable)
}

fn count(
    snapshot: &Snapshot,
    (switch, port): (SwitchIndex, PortNum),
    own: Option<usize>,
    found: &mut DrainUse,
) {
    let row = snapshot.linear.row(switch).iter().enumerate();
    let over = row.filter(|(lid, entry)| **entry == port.0 && Some(*lid) != own);
    found.routes += over.count() as u64;
    let groups = snapshot.groups.switches.get(switch.0 as usize);
    if let Some(tables) = groups.filter(|_| chooses(&snapshot.topology, switch)) {
        let of = |group: &u8| tables.groups.get(usize::from(*group));
        let groups = tables.fdb.iter().enumerate();
        let groups = groups.filter(|(lid, _)| Some(*lid) != own);
        let over = groups.filter(|(_, group)| of(group).is_some_and(|ports| ports.contains(port)));
        found.groups += over.count() as u64;
    }
    let rows = snapshot.multicast.row(switch).iter();
    found.multicast += rows.filter(|ports| ports.contains(port)).count() as u64;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use weft_fabric::{FabricSpec, Lid, Lmc};
    use weft_routing::EngineKind;

    use super::*;

    /// Two edge switches with two hosts each under two cores.
    const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";

    fn fabric(spec: &str) -> Topology {
        let mut topology = spec.parse::<FabricSpec>().unwrap().generate().unwrap();
        let ends: Vec<PortRef> = topology.end_ports().map(|(end, ..)| end).collect();
        for (lid, end) in (1..).zip(ends) {
            let node = topology.node_mut(end.node).unwrap();
            let port = node.port_mut(end.port).unwrap();
            (port.info.lid, port.info.lmc) = (Lid(lid), Lmc(0));
        }
        topology
    }

    fn guid(topology: &Topology, name: &str) -> Guid {
        let mut nodes = topology.nodes().map(|(_, node)| node);
        nodes.find(|node| node.name() == name).unwrap().guid()
    }

    fn links_of(topology: &Topology, switch: Guid) -> usize {
        neighbours(topology, topology.find(switch).unwrap()).count()
    }

    fn settings() -> Settings {
        Settings {
            engine: EngineKind::Dmodc,
            ..Settings::default()
        }
    }

    #[test]
    fn a_drained_switch_keeps_one_link_and_nothing_passes_it() {
        let topology = fabric(TREE);
        let core = guid(&topology, "core1");
        let drains = Drains::from([Drain::Switch(core)]);
        assert_eq!(links_of(&topology, core), 2);
        assert_eq!(links_of(&without(&topology, &drains, true), core), 1);
        assert_eq!(links_of(&without(&topology, &drains, false), core), 0);
        let around = route_around(&topology, &drains, &settings(), None).unwrap();
        assert!(around.spares_drained);
        let snapshot = Snapshot {
            linear: around.routed.linear().clone(),
            topology: topology.clone().into(),
            ..Snapshot::default()
        };
        assert!(drain_use(&snapshot, Drain::Switch(core)).is_free());
        let other = drain_use(&snapshot, Drain::Switch(guid(&topology, "core2")));
        assert!(
            other.present && other.routes > 0 && !other.is_free(),
            "{other:?}"
        );
    }

    #[test]
    fn what_would_cut_something_off_is_used_all_the_same() {
        let topology = fabric(TREE);
        let cores = ["core1", "core2"].map(|name| Drain::Switch(guid(&topology, name)));
        let around = route_around(&topology, &Drains::from(cores), &settings(), None).unwrap();
        assert!(!around.spares_drained);
        let plain = weft_routing::route(&topology, &settings()).unwrap();
        assert_eq!(around.routed.linear(), plain.linear());
    }

    #[test]
    fn a_link_has_one_name_and_leads_to_a_switch() {
        let topology = fabric(TREE);
        let (edge, core) = (guid(&topology, "edge1"), guid(&topology, "core1"));
        let up = Drain::Link(edge, PortNum(3)).checked(&topology).unwrap();
        let [near, far] = up.ends(&topology).unwrap();
        let far = Drain::Link(topology.node(far.node).unwrap().guid(), far.port);
        assert_eq!(far.checked(&topology), Ok(up));
        assert_eq!(
            without(&topology, &Drains::from([up]), true).peer(near),
            None
        );
        for (drain, expected) in [
            (
                Drain::Switch(edge),
                format!("switch edge1 ({edge}) has 2 HFIs"),
            ),
            (
                Drain::Switch(Guid(1)),
                format!("no switch {} in the fabric", Guid(1)),
            ),
            (
                Drain::Link(edge, PortNum(1)),
                format!("port 1 of edge1 ({edge}) has no link to another switch"),
            ),
        ] {
            let said = drain.checked(&topology).unwrap_err().to_string();
            assert!(said.starts_with(&expected), "{said}");
        }
        let found = Drain::Switch(core).found(&topology, &Drains::from([up]));
        let said = found.unwrap_err().to_string();
        let expected = format!("switch core1 ({core}) is not drained");
        assert!(said.starts_with(&expected), "{said}");
        assert_eq!(far.found(&topology, &Drains::from([up])), Ok(up));
    }
}
