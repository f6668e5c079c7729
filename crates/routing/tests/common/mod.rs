//! Fabrics for tests, and an oracle that follows routes by itself.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub)]

pub mod damage;
pub mod judges;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weft_fabric::cabling::Cabling;
use weft_fabric::enums::LinkWidth;
use weft_fabric::{
    FabricSpec, Lid, LinearTables, Lmc, NodeId, PortGroupTables, PortNum, PortRef, SwitchIndex,
    Topology,
};
use weft_routing::{
    Dimension, DorSettings, EngineKind, FatTreeSettings, Lanes, Routed, Settings, route,
};

/// A described fabric with LIDs.
pub fn fabric(spec: &str, lmc: u8) -> Topology {
    let spec: FabricSpec = spec.parse().unwrap();
    let mut topology = spec.generate().unwrap();
    give_lids(&mut topology, Lmc(lmc));
    topology
}

/// LIDs in order of nodes, switches without LMC.
pub fn give_lids(topology: &mut Topology, lmc: Lmc) {
    let mut next = lmc.lids();
    let ends: Vec<PortRef> = topology.end_ports().map(|(end, _, _)| end).collect();
    for end in ends {
        let node = topology.node_mut(end.node).unwrap();
        let lmc = if node.is_switch() { Lmc(0) } else { lmc };
        let port = node.port_mut(end.port).unwrap();
        port.info.lid = Lid(next);
        port.info.lmc = lmc;
        next += lmc.lids();
    }
}

pub fn settings(engine: EngineKind, tiers: u8) -> Settings {
    Settings {
        engine,
        fat_tree: FatTreeSettings {
            tier_count: tiers,
            ..FatTreeSettings::default()
        },
        ..Settings::default()
    }
}

/// Port that owns a LID.
pub fn owner(topology: &Topology, lid: Lid) -> Option<PortRef> {
    let ends = topology.end_ports();
    let has = |base: Lid, lmc: Lmc| base.0 != 0 && (base.0..base.0 + lmc.lids()).contains(&lid.0);
    ends.into_iter()
        .find(|(_, base, lmc)| has(*base, *lmc))
        .map(|(at, _, _)| at)
}

/// All LIDs with their owners.
pub fn lids(topology: &Topology) -> Vec<(Lid, PortRef)> {
    let ends = topology.end_ports().filter(|(_, lid, _)| lid.0 != 0);
    ends.flat_map(|(at, lid, lmc)| (0..lmc.lids()).map(move |i| (Lid(lid.0 + i), at)))
        .collect()
}

/// The switches on the path from a switch to a LID and their egress ports, or why it does not
/// arrive.
pub fn walk(
    topology: &Topology,
    tables: &LinearTables,
    from: NodeId,
    lid: Lid,
    owner: PortRef,
) -> Result<Vec<(NodeId, PortNum)>, String> {
    let mut at = from;
    let mut hops = Vec::new();
    loop {
        let switch = topology.switch_index(at).unwrap();
        let port = tables.egress(switch, lid).ok_or("dropped")?;
        hops.push((at, port));
        let next = match port {
            PortNum(0) => PortRef { node: at, port },
            _ => topology
                .peer(PortRef { node: at, port })
                .ok_or("dead port")?,
        };
        if next == owner {
            return Ok(hops);
        }
        if topology.switch_index(next.node).is_none() || port.0 == 0 {
            return Err("wrong end port".into());
        }
        at = next.node;
        if hops.len() > topology.len() {
            return Err("loop".into());
        }
    }
}

/// Hops between all switches by plain breadth-first search.
pub fn hops(topology: &Topology) -> BTreeMap<(NodeId, NodeId), usize> {
    let mut all = BTreeMap::new();
    for &from in topology.switches() {
        let mut queue = VecDeque::from([(from, 0)]);
        while let Some((at, far)) = queue.pop_front() {
            if all.contains_key(&(from, at)) {
                continue;
            }
            all.insert((from, at), far);
            for (_, port) in topology.node(at).unwrap().external_ports() {
                let to = port.peer.map(|peer| peer.node);
                let to = to.filter(|to| topology.switch_index(*to).is_some());
                queue.extend(to.map(|to| (to, far + 1)));
            }
        }
    }
    all
}

/// The switch that an end port is on.
pub fn home(topology: &Topology, end: PortRef) -> Option<NodeId> {
    match topology.switch_index(end.node) {
        Some(_) => Some(end.node),
        None => topology.peer(end).map(|peer| peer.node),
    }
    .filter(|node| topology.switch_index(*node).is_some())
}

/// Judges linear tables: everything reachable, optionally over the fewest hops, and no cycle of
/// waiting links among the routes between HFIs.
pub fn judge(topology: &Topology, tables: &LinearTables, minimal: bool) -> Result<(), String> {
    judge_each(topology, tables, Lanes::SINGLE, |_| minimal)
}

/// Checks each lane separately. Shortest paths are required of switches with HFIs: others send
/// management only, which may take detours.
pub fn judge_lanes(
    topology: &Topology,
    tables: &LinearTables,
    lanes: &Lanes,
    minimal: bool,
) -> Result<(), String> {
    judge_each(topology, tables, lanes, |sends| minimal && sends)
}

fn judge_each(
    topology: &Topology,
    tables: &LinearTables,
    lanes: &Lanes,
    minimal: impl Fn(bool) -> bool,
) -> Result<(), String> {
    let hops = hops(topology);
    let mut waits = vec![Waits::new(); usize::from(lanes.count())];
    for (lid, owner) in lids(topology) {
        let Some(home) = home(topology, owner) else {
            continue;
        };
        let waits = &mut waits[usize::from(lanes.of(lid))];
        for &from in topology.switches() {
            let Some(far) = hops.get(&(from, home)) else {
                continue;
            };
            let route = walk(topology, tables, from, lid, owner)
                .map_err(|why| format!("{from:?} to {lid}: {why}"))?;
            let is_host = |(_, port): (PortNum, &weft_fabric::Port)| {
                let far = port.peer.map(|peer| peer.node);
                far.is_some_and(|far| topology.switch_index(far).is_none())
            };
            let sends = topology.node(from).unwrap().external_ports().any(is_host);
            if minimal(sends) && route.len() != far + 1 {
                return Err(format!(
                    "{from:?} to {lid}: {} hops, {far} do",
                    route.len() - 1
                ));
            }
            if sends && owner.port.0 != 0 {
                for pair in in_halves(topology, lanes, &route).windows(2) {
                    waits.entry(pair[0]).or_default().insert(pair[1]);
                }
            }
        }
    }
    match waits.iter().position(has_cycle) {
        Some(lane) => Err(format!("credit cycle in lane {lane}")),
        None => Ok(()),
    }
}

/// Adds the dependencies if each switch may have either table's entry for a LID.
pub fn mixed_waits(
    topology: &Topology,
    tables: [&LinearTables; 2],
    lid: Lid,
    end: PortRef,
    waits: &mut Waits,
) {
    let home = home(topology, end).unwrap();
    let next = |at: NodeId| -> Vec<(PortNum, NodeId)> {
        let entries = tables.map(|tables| tables.egress(index(topology, at), lid));
        let ports = entries.into_iter().flatten().filter(|_| at != home);
        let to = |port: PortNum| {
            topology
                .peer(PortRef { node: at, port })
                .map(|far| (port, far.node))
        };
        ports.filter_map(to).collect()
    };
    for &at in topology.switches() {
        for (port, to) in next(at) {
            for (onward, _) in next(to) {
                waits.entry((at, port)).or_default().insert((to, onward));
            }
        }
    }
}

/// The port that stands for `port` in the second half of a lane.
const SECOND: u8 = 128;

/// The link that a packet takes out of a switch, with [`SECOND`] added to its port in the second half of the
/// lane; `before` is the link over which it came, none from an HFI.
pub fn in_half(
    topology: &Topology,
    lanes: &Lanes,
    before: Option<(NodeId, PortNum)>,
    (at, port): (NodeId, PortNum),
) -> (NodeId, PortNum) {
    let Some(datelines) = lanes.datelines() else {
        return (at, port);
    };
    let ring = |at: NodeId, port: u8| {
        let ports = datelines.of(topology.node(at).unwrap().guid());
        ports.get(usize::from(port)).copied().unwrap_or_default()
    };
    let goes_on = |(from, sent): (NodeId, PortNum)| {
        let cable = PortRef {
            node: from,
            port: PortNum(sent.0 % SECOND),
        };
        let ingress = topology.peer(cable).unwrap();
        let (came, goes) = (ring(at, ingress.port.0), ring(at, port.0));
        sent.0 >= SECOND && came.ring == goes.ring && goes.ring > 0
    };
    match ring(at, port.0).crosses || before.is_some_and(goes_on) {
        true => (at, PortNum(port.0 + SECOND)),
        false => (at, port),
    }
}

/// The links of a route from an HFI, each in its half of the lane.
pub fn in_halves(
    topology: &Topology,
    lanes: &Lanes,
    route: &[(NodeId, PortNum)],
) -> Vec<(NodeId, PortNum)> {
    let links = route.iter().scan(None, |before, hop| {
        *before = Some(in_half(topology, lanes, *before, *hop));
        *before
    });
    links.collect()
}

/// Directed links, by sending switch and port, and those that each waits for.
pub type Waits = BTreeMap<(NodeId, PortNum), BTreeSet<(NodeId, PortNum)>>;

/// Removes nodes without dependencies until none is left, or only cycles.
pub fn has_cycle(waits: &Waits) -> bool {
    let mut waits = waits.clone();
    loop {
        let before = waits.len();
        let busy: BTreeSet<_> = waits.keys().copied().collect();
        waits.retain(|_, next| next.iter().any(|next| busy.contains(next)));
        if waits.len() == before {
            return before > 0;
        }
    }
}

/// A switch by name of its place.
pub fn index(topology: &Topology, node: NodeId) -> SwitchIndex {
    topology.switch_index(node).unwrap()
}

pub fn routed(topology: &Topology, settings: &Settings) -> Routed {
    route(topology, settings).unwrap()
}

pub fn no_groups() -> PortGroupTables {
    PortGroupTables::default()
}

/// The first port of a switch that leads to another.
pub fn port_to(topology: &Topology, from: NodeId, to: NodeId) -> PortNum {
    let mut ports = topology.node(from).unwrap().external_ports();
    let leads = |port: &weft_fabric::Port| port.peer.is_some_and(|peer| peer.node == to);
    ports.find(|(_, port)| leads(port)).unwrap().0
}

/// A ring of switches in which every route runs in the same direction.
pub fn clockwise(topology: &Topology) -> LinearTables {
    let switches = topology.switches();
    let onward = |at: usize| port_to(topology, switches[at], switches[(at + 1) % switches.len()]);
    let rows = (0..switches.len()).map(|at| {
        let mut row = vec![0xFF; 64];
        for (lid, end) in lids(topology) {
            row[lid.0 as usize] = match home(topology, end) {
                Some(home) if home == switches[at] && end.node == home => 0,
                Some(home) if home == switches[at] => topology.peer(end).unwrap().port.0,
                _ => onward(at).0,
            };
        }
        Arc::from(row)
    });
    LinearTables::new(rows.collect())
}

/// Pulls some of the cables between switches.
pub fn degrade(topology: &mut Topology, seed: u64, per_mille: u64) {
    let links: Vec<(PortRef, PortRef)> = topology.links().collect();
    let mut state = seed;
    for (a, b) in links {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let both =
            topology.switch_index(a.node).is_some() && topology.switch_index(b.node).is_some();
        if both && (state >> 33) % 1000 < per_mille {
            topology.disconnect(a);
        }
    }
}

/// Switches joined at random, some with hosts.
pub fn irregular(switches: usize, links: &[(usize, usize)], hosts: &[usize]) -> Topology {
    let mut cabling = Cabling::with_capacity(hosts.len());
    let hfis: Vec<_> = hosts.iter().map(|_| cabling.add_hfi().unwrap()).collect();
    let nodes: Vec<_> = (0..switches)
        .map(|index| {
            cabling
                .add_switch(&format!("sw{index}"), 100, None)
                .unwrap()
        })
        .collect();
    let mut used = vec![0u8; switches];
    let mut port = |at: usize| {
        used[at] += 1;
        (nodes[at], used[at])
    };
    for (hfi, at) in hfis.into_iter().zip(hosts) {
        let end = port(at % switches);
        cabling.connect((hfi, 1), end, LinkWidth::X4).unwrap();
    }
    for (a, b) in links {
        let (a, b) = (a % switches, b % switches);
        if a != b {
            let (a, b) = (port(a), port(b));
            cabling.connect(a, b, LinkWidth::X4).unwrap();
        }
    }
    let mut topology = cabling.build().unwrap();
    give_lids(&mut topology, Lmc(0));
    topology
}

/// Settings for the grids that the generator makes with one host a switch: sizes of dimensions and
/// links between neighbours.
pub fn dor(sizes: &[u8], links: u8, toroidal: bool, lanes: u8) -> Settings {
    let mut port = 2;
    let dimensions = sizes.iter().map(|&length| {
        let sets = if length > 2 { 2 } else { 1 };
        let back = port + if sets == 2 { links } else { 0 };
        let pairs = (0..links).map(|link| (port + link, back + link)).collect();
        port += links * sets;
        Dimension {
            toroidal: toroidal && length > 2,
            length,
            pairs,
        }
    });
    let dimensions = dimensions.collect();
    Settings {
        lanes,
        dor: DorSettings {
            dimensions,
            ..DorSettings::default()
        },
        ..settings(EngineKind::Dor, 1)
    }
}

/// Changes one entry.
pub fn change(
    tables: &LinearTables,
    topology: &Topology,
    at: NodeId,
    lid: Lid,
    port: u8,
) -> LinearTables {
    let mut rows: Vec<Arc<[u8]>> = topology
        .switches()
        .iter()
        .map(|node| Arc::clone(tables.row_shared(index(topology, *node)).unwrap()))
        .collect();
    Arc::make_mut(&mut rows[index(topology, at).0 as usize])[lid.0 as usize] = port;
    LinearTables::new(rows)
}
