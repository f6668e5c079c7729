//! Device groups and who is in them.

use weft_fabric::{NodeId, PortRef};
use weft_wire::sa::{DeviceGroupMemberRecord, DeviceGroupNameRecord};
use weft_wire::text::Text;

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::Sa;
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::view::candidate;

pub(crate) fn names(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = Records::new::<DeviceGroupNameRecord>(query);
    for group in &sa.settings.groups.list {
        records.push(&DeviceGroupNameRecord {
            device_group_name: Text::new(&group.name),
        });
    }
    records.finish()
}

/// Every port with a link, once for each group that it is in.
pub(crate) fn members(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = records_by_lid::<DeviceGroupMemberRecord>(&sa.view, query);
    for (id, node) in nodes_of(&sa.view, query) {
        let ports: Vec<PortRef> = node
            .ports()
            .map(|(port, _)| PortRef { node: id, port })
            .collect();
        for at in ports {
            add(sa, id, at, &mut records);
        }
    }
    records.finish()
}

fn add(sa: &Sa, id: NodeId, at: PortRef, records: &mut Records) {
    let topology = &sa.view.snapshot.topology;
    let (Some(node), Some(port)) = (topology.node(id), topology.port(at)) else {
        return;
    };
    let linked = port.info.port_state > weft_fabric::enums::PortState::DOWN;
    let Some(lid) = sa.view.lid_of(at).filter(|_| linked) else {
        return;
    };
    let description = node.name();
    let candidate = candidate(topology, at, node);
    let member = sa
        .settings
        .groups
        .membership(&candidate.facts(&description));
    let groups = sa.settings.groups.list.iter().zip(member);
    for (group, _) in groups.filter(|(_, member)| *member) {
        records.push(&DeviceGroupMemberRecord {
            lid,
            port: at.port,
            device_group_name: Text::new(&group.name),
            guid: node.port_guid(at.port).unwrap_or(node.info.port_guid),
            node_description: node.description,
        });
    }
}
