//! Nodes, ports, switches, links and subnet managers.

use weft_fabric::enums::PortState;
use weft_fabric::{Node, NodeId, Port, PortNum, PortRef, SmRecord};
use weft_wire::sa::{LinkRecord, NodeRecord, PortInfoRecord, SmInfoRecord, SwitchInfoRecord};
use weft_wire::sm::{NodeInfo, SmInfo};

use crate::sa::dispatch::is_full;
use crate::sa::query::{Found, Query, Record, Records, Refusal};
use crate::sa::view::{EndPort, View};

type Answered = Result<Found, Refusal>;

/// A collector whose LID, when the query gives one, is the base LID of the port that has it.
pub(crate) fn records_by_lid<R: Record>(view: &View, query: &Query<'_>) -> Records {
    let mut records = Records::new::<R>(query);
    let end = query.lid().and_then(|lid| view.end(view.by_lid(lid)?));
    if let Some(end) = end {
        records.want(0, &end.lid.0.to_be_bytes());
    }
    records
}

/// The nodes that a query can mean: one where it gives a LID, otherwise all.
pub(crate) fn nodes_of<'v>(
    view: &'v View,
    query: &Query<'_>,
) -> impl Iterator<Item = (NodeId, &'v Node)> + use<'v> {
    let count = view.snapshot.topology.len() as u32;
    let range = match query.lid() {
        None => 0..count,
        Some(lid) => match view.by_lid(lid).and_then(|end| view.end(end)) {
            Some(end) => end.at.node.0..end.at.node.0 + 1,
            None => 0..0,
        },
    };
    range.filter_map(|id| Some((NodeId(id), view.node(NodeId(id))?)))
}

/// The end ports that a query can mean.
pub(crate) fn ends_of<'v>(view: &'v View, query: &Query<'_>) -> &'v [EndPort] {
    match query.lid() {
        None => view.ends(),
        Some(lid) => match view.by_lid(lid) {
            Some(end) => view
                .ends()
                .get(end as usize..=end as usize)
                .unwrap_or_default(),
            None => &[],
        },
    }
}

/// Those of `ends` that the requester may know of: all for a full member of the management
/// partition, otherwise those of nodes with which it shares a partition. It must be in the fabric.
pub(crate) fn visible_ends<'v>(
    view: &'v View,
    query: &Query<'_>,
    ends: &'v [EndPort],
) -> Result<impl Iterator<Item = &'v EndPort> + use<'v>, Refusal> {
    let requester = view.by_lid(query.request.from.lid);
    let requester = requester.ok_or(Refusal::INVALID)?;
    let trusted = is_full(query.request.from.pkey);
    let shares = move |end: &&EndPort| {
        let own = view
            .end(requester)
            .is_some_and(|own| own.at.node == end.at.node);
        let mut of_node = view.ends_of(end.at.node);
        trusted || own || of_node.any(|other| view.share_key(requester, other))
    };
    Ok(ends.iter().filter(shares))
}

/// NodeInfo as one of the node's end ports gives it.
pub(crate) fn node_info(node: &Node, end: &EndPort) -> NodeInfo {
    NodeInfo {
        port_guid: end.guid,
        local_port_num: end.at.port,
        ..node.info
    }
}

pub(crate) fn node_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<NodeRecord>(view, query);
    for end in visible_ends(view, query, ends_of(view, query))? {
        if let Some(node) = view.node(end.at.node) {
            records.push(&NodeRecord {
                lid: end.lid,
                node_info: node_info(node, end),
                node_desc: node.description,
            });
        }
    }
    records.finish()
}

pub(crate) fn port_info_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<PortInfoRecord>(view, query);
    for (id, node) in nodes_of(view, query) {
        // A port without a link is not part of the fabric; query its switch for it.
        let up = |held: &Port| held.info.port_state > PortState::DOWN;
        for (port, held) in node.ports().filter(|(_, held)| up(held)) {
            let Some(lid) = view.lid_of(PortRef { node: id, port }) else {
                continue;
            };
            records.push(&PortInfoRecord {
                end_port_lid: lid,
                port_num: port,
                port_info: held.info,
                ..PortInfoRecord::default()
            });
        }
    }
    records.finish()
}

pub(crate) fn switch_info_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<SwitchInfoRecord>(view, query);
    for (id, node) in nodes_of(view, query) {
        let at = PortRef {
            node: id,
            port: PortNum(0),
        };
        if let (Some(switch_info_data), Some(lid)) = (node.switch, view.lid_of(at)) {
            records.push(&SwitchInfoRecord {
                lid,
                switch_info_data,
            });
        }
    }
    records.finish()
}

pub(crate) fn link_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<LinkRecord>(view, query);
    for (id, node) in nodes_of(view, query) {
        for (port, held) in node.external_ports() {
            let from = PortRef { node: id, port };
            let lids = held
                .peer
                .and_then(|to| Some((view.lid_of(from)?, to, view.lid_of(to)?)));
            if let Some((from_lid, to, to_lid)) = lids {
                records.push(&LinkRecord {
                    from_lid,
                    from_port: port,
                    to_port: to.port,
                    to_lid,
                });
            }
        }
    }
    records.finish()
}

pub(crate) fn sm_info_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<SmInfoRecord>(view, query);
    for sm in &view.snapshot.sms {
        records.push(&SmInfoRecord {
            lid: sm.lid,
            sm_info: sm_info(sm),
        });
    }
    records.finish()
}

/// SMInfo for clients: the key stays among subnet managers.
fn sm_info(sm: &SmRecord) -> SmInfo {
    SmInfo {
        port_guid: sm.port_guid,
        act_count: sm.act_count,
        priority: sm.priority,
        initial_priority: sm.priority,
        sm_state_current: sm.state,
        ..SmInfo::default()
    }
}
