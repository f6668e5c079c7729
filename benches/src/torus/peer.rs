//! OpenSM's torus-2QoS on the same torus: linear tables and SL to VL maps from its dumps, service levels of
//! paths from its subnet administration.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_fabric::{LinearTables, Lmc, NodeId, PortNum, PortRef, Sl, Topology};
use weft_routing::EngineKind;

use super::registers;
use super::{Ready, Torus, ours};
use crate::Failure;
use crate::opensm::dumps::{LOG_LEVEL, Nodes, lines, read_nodes, read_tables, used, with_lids};
use crate::opensm::{LOG, Simulator, client, command, name, socket, switch_guid};

/// The engine, and how the log names it.
const ENGINE: &str = "torus-2QoS";
/// The file with the coordinates of some switches.
const SEEDS: &str = "torus-2QoS.conf";
/// The line of the log that ends the first sweep.
const UP: &str = "SUBNET UP";
const PATIENCE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// VL by service level.
pub(super) type LaneMap = [u8; 16];

/// What OpenSM has written and tells.
pub(super) struct Tables {
    /// With its LIDs.
    pub(super) topology: Topology,
    pub(super) linear: LinearTables,
    /// The map of each pair of ports of a switch, ingress first, and of a host's port as a pair of port 0.
    pub(super) lanes: BTreeMap<(NodeId, PortNum, PortNum), LaneMap>,
    /// Service level by number of the source and then of the destination, hosts in order of nodes.
    pub(super) levels: Vec<Sl>,
}

/// The torus without some of its links with OpenSM's tables in its registers; none where it refuses to route it
/// with torus-2QoS. Buffers and arbitration are those that `dor` has in two lanes.
pub(super) fn bring_up(torus: &Torus, cuts: &[PortRef]) -> Result<Option<Ready>, Failure> {
    let Some(tables) = route(torus, cuts)? else {
        return Ok(None);
    };
    let ready = ours::bring_up(torus, &[], EngineKind::Dor, false)?;
    registers::write(ready, cuts, &tables).map(Some)
}

fn failed(why: impl Into<String>) -> Failure {
    Failure::OpenSm {
        engine: ENGINE.to_owned(),
        why: why.into(),
    }
}

/// OpenSM, stopped when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn route(torus: &Torus, cuts: &[PortRef]) -> Result<Option<Tables>, Failure> {
    let mut topology = torus.topology.clone();
    for cut in cuts {
        topology.disconnect(*cut);
    }
    let dir = tempfile::tempdir().map_err(Failure::io("temporary directory"))?;
    let dir = dir.path();
    let seeds = seeds(torus, &topology)?;
    std::fs::write(dir.join(SEEDS), seeds).map_err(Failure::io(SEEDS))?;
    let socket = socket();
    let _fabric = Simulator::start(&topology, dir, &socket)?;
    // Without -Q it writes no SL to VL maps; -d 2 has it write its log at once.
    let opensm = command(&topology, dir, &socket)
        .args([
            "-Q",
            "-d",
            "2",
            "-R",
            ENGINE,
            "--torus_config",
            SEEDS,
            "-D",
            LOG_LEVEL,
        ])
        .spawn()
        .map_err(Failure::io("opensm"))?;
    let opensm = Running(opensm);
    wait(dir)?;
    if used(dir)?.as_deref() != Some(ENGINE) {
        return Ok(None);
    }
    let nodes = read_nodes(dir, &topology)?;
    let topology = with_lids(&topology, &nodes, Lmc(0));
    let levels = levels(&topology, &nodes, &socket)?;
    // Its dumps are whole by now.
    drop(opensm);
    let lanes = read_lanes(dir, &nodes)?;
    let linear = read_tables(dir, &topology, &nodes)?;
    Ok(Some(Tables {
        topology,
        linear,
        lanes,
        levels,
    }))
}

/// Waits until its first sweep is over.
fn wait(dir: &Path) -> Result<(), Failure> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        // The log may not be there yet.
        let log = std::fs::read(dir.join(LOG)).unwrap_or_default();
        if String::from_utf8_lossy(&log).contains(UP) {
            return Ok(());
        }
        sleep(POLL);
    }
    Err(failed(format!("not {UP} after {} s", PATIENCE.as_secs())))
}

/// Its configuration: the radix of each dimension, and the neighbours of one switch that has all of its links,
/// in both directions, as a radix of four requires.
fn seeds(torus: &Torus, topology: &Topology) -> Result<String, Failure> {
    let dimensions = torus.grid.dimensions.iter();
    let mut text = dimensions.fold("torus".to_owned(), |text, size| format!("{text} {size}"));
    let ports: Vec<(u8, u8)> = (0..torus.grid.dimensions.len())
        .flat_map(|dimension| torus.grid.port_pairs(dimension))
        .collect();
    let beyond = |node: NodeId, port: u8| {
        let port = PortNum(port);
        topology.peer(PortRef { node, port }).map(|peer| peer.node)
    };
    let is_whole = |node: &&NodeId| {
        let mut pairs = ports.iter();
        pairs.all(|&(up, down)| {
            [up, down]
                .iter()
                .all(|port| beyond(**node, *port).is_some())
        })
    };
    let from = topology.switches().iter().find(is_whole);
    let from = *from.ok_or_else(|| failed("each switch lacks links"))?;
    for (axis, &(up, down)) in ["x", "y", "z"].iter().zip(&ports) {
        for (way, port) in [('p', up), ('m', down)] {
            if let Some(to) = beyond(from, port) {
                let [from, to] = [from, to].map(|node| switch_guid(node.0 as usize));
                let _ = write!(text, "\n{axis}{way}_link 0x{from:x} 0x{to:x}");
            }
        }
    }
    text.push('\n');
    Ok(text)
}

/// Asks for the path of each pair of hosts.
fn levels(topology: &Topology, nodes: &Nodes, socket: &str) -> Result<Vec<Sl>, Failure> {
    let lids: BTreeMap<NodeId, u32> = nodes.values().map(|(node, lid)| (*node, lid.0)).collect();
    let hosts: Vec<u32> = topology
        .hfis()
        .filter_map(|(node, _)| lids.get(&node).copied())
        .collect();
    // OpenSM itself is on the first host.
    let (asking, _) = topology.hfis().nth(1).ok_or_else(|| failed("one host"))?;
    let asking = name(topology, asking.0 as usize);
    let mut levels = Vec::new();
    for from in &hosts {
        for to in &hosts {
            levels.push(if from == to {
                Sl(0)
            } else {
                level(&asking, socket, *from, *to)?
            });
        }
    }
    Ok(levels)
}

/// The service level in the path record of two LIDs.
fn level(asking: &str, socket: &str, from: u32, to: u32) -> Result<Sl, Failure> {
    let output = client("saquery", asking, socket)
        .args(["-p", "--slid", &from.to_string(), "--dlid", &to.to_string()])
        .output()
        .map_err(Failure::io("saquery"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    told_level(&text).ok_or_else(|| failed(format!("no path from LID {from} to {to}")))
}

/// `sl......................0x5`.
fn told_level(text: &str) -> Option<Sl> {
    let mut lines = text.lines().map(str::trim);
    let hex = lines.find_map(|line| line.strip_prefix("sl."))?;
    let hex = hex.trim_start_matches('.').strip_prefix("0x")?;
    u8::from_str_radix(hex, 16)
        .ok()
        .filter(|sl| *sl < 16)
        .map(Sl)
}

fn read_lanes(
    dir: &Path,
    nodes: &Nodes,
) -> Result<BTreeMap<(NodeId, PortNum, PortNum), LaneMap>, Failure> {
    let mut lanes = BTreeMap::new();
    let mut at = None;
    for line in lines(dir, "opensm-sl2vl.dump")? {
        let line = line?;
        if let Some((_, rest)) = line.split_once(", base LID ") {
            let lid = rest.split(',').next().and_then(|lid| lid.parse().ok());
            let mut all = nodes.values();
            at = lid.and_then(|lid: u32| all.find(|(_, other)| other.0 == lid));
        } else if let (Some((node, _)), Some((ingress, egress, map))) = (at, lane_map(&line)) {
            lanes.insert((*node, ingress, egress), map);
        }
    }
    Ok(lanes)
}

/// `1   3   : 0  0  1  1 …`: ingress, egress, and the VL of each service level.
fn lane_map(line: &str) -> Option<(PortNum, PortNum, LaneMap)> {
    let (ports, lanes) = line.split_once(':')?;
    let mut ports = ports.split_whitespace().map(str::parse::<u8>);
    let (ingress, egress) = (ports.next()?.ok()?, ports.next()?.ok()?);
    let lanes: Result<Vec<u8>, _> = lanes.split_whitespace().map(str::parse).collect();
    let map = LaneMap::try_from(lanes.ok()?).ok()?;
    Some((PortNum(ingress), PortNum(egress), map))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn maps_and_levels_are_read() {
        let line = "3   1   : 2  3  2  3  2  3  2  3  6  7  6  7  6  7  6  7 ";
        let map = [2, 3, 2, 3, 2, 3, 2, 3, 6, 7, 6, 7, 6, 7, 6, 7];
        assert_eq!(lane_map(line), Some((PortNum(3), PortNum(1), map)));
        assert_eq!(lane_map("#in out : 0  1  2  3"), None);
        let record =
            "PathRecord dump:\n\t\tslid....2\n\t\tsl......................0x5\n\t\tmtu...0x83";
        assert_eq!(told_level(record), Some(Sl(5)));
        assert_eq!(told_level("no records"), None);
    }

    #[test]
    fn the_seed_is_a_switch_with_all_links() {
        let torus = Torus::new(4).unwrap();
        let whole = seeds(&torus, &torus.topology).unwrap();
        let first = torus.topology.switches()[0];
        let guid = format!("0x{:x}", switch_guid(first.0 as usize));
        assert!(whole.starts_with("torus 4 4 4\nxp_link "), "{whole}");
        assert_eq!(whole.matches(&guid).count(), 6, "{whole}");
        let mut cut = torus.topology.clone();
        cut.disconnect(PortRef {
            node: first,
            port: PortNum(2),
        });
        assert!(
            !seeds(&torus, &cut)
                .unwrap()
                .contains(&format!("xp_link {guid} "))
        );
    }
}
