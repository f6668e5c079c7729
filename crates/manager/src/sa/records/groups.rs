//! Device groups and their members.

use weft_fabric::enums::PortState;
use weft_fabric::{Node, PortRef};
use weft_wire::sa::{DeviceGroupMemberRecord, DeviceGroupNameRecord};
use weft_wire::text::Text;

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::Sa;
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::settings::members::Candidate;

pub(crate) fn names(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = Records::new::<DeviceGroupNameRecord>(query);
    for group in &sa.settings.groups.list {
        records.push(&DeviceGroupNameRecord {
            device_group_name: Text::new(&group.name),
        });
    }
    records.finish()
}

/// Every port with a link, once for each group that it is in, group by group: clients count on it.
pub(crate) fn members(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = records_by_lid::<DeviceGroupMemberRecord>(&sa.view, query);
    let ports: Vec<(DeviceGroupMemberRecord, Vec<bool>)> = nodes_of(&sa.view, query)
        .flat_map(|(id, node)| {
            let ports = node.ports();
            ports.filter_map(move |(port, _)| membership(sa, node, PortRef { node: id, port }))
        })
        .collect();
    for (place, group) in sa.settings.groups.list.iter().enumerate() {
        let device_group_name = Text::new(&group.name);
        let is_member = |member: &[bool]| member.get(place).copied().unwrap_or(false);
        for (record, _) in ports.iter().filter(|(_, member)| is_member(member)) {
            records.push(&DeviceGroupMemberRecord {
                device_group_name,
                ..*record
            });
        }
    }
    records.finish()
}

/// A port with a link as a member, and of which groups; its record names none yet.
fn membership(sa: &Sa, node: &Node, at: PortRef) -> Option<(DeviceGroupMemberRecord, Vec<bool>)> {
    let topology = &sa.view.snapshot.topology;
    let port = topology.port(at)?;
    let linked = port.info.port_state > PortState::DOWN;
    let lid = sa.view.lid_of(at).filter(|_| linked)?;
    let description = node.name();
    let candidate = Candidate::new(topology, node, at);
    let member = sa
        .settings
        .groups
        .membership(&candidate.facts(&description));
    let record = DeviceGroupMemberRecord {
        lid,
        port: at.port,
        guid: node.port_guid(at.port).unwrap_or(node.info.port_guid),
        node_description: node.description,
        ..DeviceGroupMemberRecord::default()
    };
    Some((record, member))
}
