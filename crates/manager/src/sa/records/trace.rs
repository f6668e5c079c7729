//! The path from one port to another, node by node.

use weft_fabric::{Guid, Lid, Node, NodeId, PortNum, PortRef};
use weft_wire::sa::{PathRecord, TraceRecord};

use crate::sa::Sa;
use crate::sa::path::{PathCriteria, Paths, component};
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::view::{End, View};

/// Nodes that a trace may have; the forwarding tables are certified, so that more is a change that
/// is being made.
const NODES_MAX: usize = 64;
/// These bits of GUIDs are inverted, so that they are not mistaken for addresses.
const VEIL: u64 = 0x5555_5555;
/// Generation of the veiled identifiers.
const GENERATION: u16 = 0xFF;

/// A node on the path.
#[derive(Debug, Clone, Copy)]
struct Step {
    node: NodeId,
    entry: PortNum,
    exit: PortNum,
}

/// A trace request is a path record; its ends are LIDs, or GIDs that stand for base LIDs.
pub(crate) fn trace_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let paths = Paths {
        view: &sa.view,
        settings: &sa.settings,
    };
    let asked: PathRecord = query.record()?;
    let criteria = PathCriteria::of(query, &asked)?;
    let requester = paths.requester(query)?;
    let source = end(
        &paths,
        query,
        [component::SLID, component::SGID],
        (asked.slid, &asked.sgid),
    );
    let source = source.map_err(|refusal| match refusal {
        Refusal::NO_RECORDS => Refusal::INVALID,
        other => other,
    })?;
    let target = end(
        &paths,
        query,
        [component::DLID, component::DGID],
        (asked.dlid, &asked.dgid),
    )?;
    let view = &sa.view;
    let known = [source.0, target.0].map(|end| view.share_key(requester, end));
    let keyless = criteria.pkey.is_some_and(|key| {
        let keys = [source.0, target.0].map(|end| view.key_of(end, key));
        keys.contains(&None)
    });
    if known != [true; 2] || keyless || !view.share_key(source.0, target.0) {
        return Err(Refusal::INVALID);
    }
    let mut records = Records::except::<TraceRecord>(query, u64::MAX);
    for step in steps(view, source, target).unwrap_or_default() {
        if let Some(node) = view.node(step.node) {
            records.push(&record(node, step));
        }
    }
    records.finish()
}

/// The port and the LID of one end.
fn end(
    paths: &Paths<'_>,
    query: &Query<'_>,
    [lid_bit, gid_bit]: [u32; 2],
    (lid, gid): (u16, &weft_wire::id::Gid),
) -> Result<(End, Lid), Refusal> {
    let (found, lid) = if query.has(lid_bit) {
        (paths.view.by_lid(Lid(lid.into())), Lid(lid.into()))
    } else if query.has(gid_bit) {
        let found = paths.by_gid(gid)?;
        let base = found.and_then(|end| paths.view.end(end));
        (found, base.map(|end| end.lid).unwrap_or_default())
    } else {
        return Err(Refusal::TOO_LITTLE);
    };
    let found = found.filter(|end| paths.is_active(*end));
    Ok((found.ok_or(Refusal::NO_RECORDS)?, lid))
}

/// The nodes from one LID to the other, both ends included; `None` if the path is broken.
fn steps(view: &View, (source, _): (End, Lid), (target, lid): (End, Lid)) -> Option<Vec<Step>> {
    let (from, to) = (view.end(source)?.at, view.end(target)?.at);
    let mut steps = vec![Step {
        node: from.node,
        entry: from.port,
        exit: from.port,
    }];
    if source == target {
        return Some(steps);
    }
    let topology = &view.snapshot.topology;
    let mut here = match topology.switch_index(from.node) {
        Some(_) => {
            steps.clear();
            from
        }
        None => topology.peer(from)?,
    };
    while here.node != to.node {
        if steps.len() > NODES_MAX {
            return None;
        }
        let switch = topology.switch_index(here.node)?;
        let exit = view.snapshot.linear.egress(switch, lid)?;
        steps.push(Step {
            node: here.node,
            entry: here.port,
            exit,
        });
        here = topology.peer(PortRef {
            node: here.node,
            port: exit,
        })?;
    }
    steps.push(Step {
        node: to.node,
        entry: here.port,
        exit: PortNum(0),
    });
    Some(steps)
}

fn record(node: &Node, step: Step) -> TraceRecord {
    let veiled = |guid: Guid| Guid(guid.0 ^ VEIL);
    let entry_guid = match node.is_switch() {
        true => Guid(0),
        false => node.port_guid(step.entry).unwrap_or_default(),
    };
    let (entry_port, exit_port) = match node.is_switch() {
        true => (step.entry, step.exit),
        false => (PortNum(0), PortNum(0)),
    };
    TraceRecord {
        id_generation: GENERATION,
        node_type: node.info.node_type,
        entry_port,
        exit_port,
        // The vendor's manager and clients have this one in the order of their processors.
        node_id: Guid(veiled(node.guid()).0.swap_bytes()),
        chassis_id: veiled(node.info.system_image_guid),
        entry_port_id: veiled(entry_guid),
        exit_port_id: veiled(Guid(0)),
    }
}
