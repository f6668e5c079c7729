//! The links between two ports in a state of the past.

use weft_api::snapshot::of_pieces;
use weft_api::v1;
use weft_fabric::{Guid, PortNum, PortRef, Snapshot};
use weft_history::{HistoryError, Reader, StateAnswer, StateQuestion};
use weft_report::courses;

/// An end of a way.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) node: Guid,
    pub(crate) port: PortNum,
    /// As people know it.
    pub(crate) name: String,
}

/// The links of the base LID, in order; none where packets do not arrive.
pub(super) type Way = Vec<v1::RouteLink>;

/// The way at a time, milliseconds since 1970, or at the last time before it of which something is known; none where nothing
/// is known before it. With the generation of the snapshot, in the run of the daemon at that time.
pub(super) fn way_at(
    reader: &Reader,
    at_ms: i64,
    ends: &(End, End),
    warnings: &mut Vec<String>,
) -> Result<Option<(Way, u64)>, HistoryError> {
    let mut ask = |at| reader.state(StateQuestion::At(at), &mut |word| warnings.push(word));
    let state = match ask(at_ms)? {
        StateAnswer::Known(state) => state,
        StateAnswer::Unknown {
            before: Some(before),
            ..
        } => match ask(before.time_ms)? {
            StateAnswer::Known(state) => state,
            StateAnswer::Unknown { .. } => return Ok(None),
        },
        StateAnswer::Unknown { before: None, .. } => return Ok(None),
    };
    let generation = state.since.generation;
    let snapshot = of_pieces(&state.pieces);
    let snapshot = snapshot.map_err(|error| HistoryError::Input(error.to_string()))?;
    Ok(Some((way(&snapshot, ends), generation)))
}

fn way(snapshot: &Snapshot, (from, to): &(End, End)) -> Way {
    let find = |end: &End| {
        let node = snapshot.topology.find(end.node)?;
        Some(PortRef {
            node,
            port: end.port,
        })
    };
    let Some((from, to)) = find(from).zip(find(to)) else {
        return Way::new();
    };
    let courses = courses(snapshot, from, to).unwrap_or_default();
    let base = courses.into_iter().next();
    let links = base.into_iter().flat_map(|course| course.links);
    links
        .map(|(out, into)| v1::RouteLink {
            from: Some(named(snapshot, out)),
            to: Some(named(snapshot, into)),
        })
        .collect()
}

fn named(snapshot: &Snapshot, at: PortRef) -> v1::NamedPort {
    let node = snapshot.topology.node(at.node);
    let guid = node.map_or(0, |node| node.guid().0);
    v1::NamedPort {
        port: Some(v1::PortId {
            node_guid: guid,
            port: at.port.0.into(),
        }),
        node_name: node.map_or_else(String::new, weft_fabric::Node::name),
    }
}

/// Whether two ways take the same ports: a node that was renamed is the same.
pub(super) fn is_same(a: &Way, b: &Way) -> bool {
    let ports = |way: &Way| {
        let ends = way.iter().flat_map(|link| [&link.from, &link.to]);
        let ports = ends.map(|end| end.as_ref().and_then(|end| end.port));
        ports.collect::<Vec<_>>()
    };
    ports(a) == ports(b)
}
