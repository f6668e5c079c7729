//! Device groups and their members.

use std::sync::Arc;

use weft_fabric::enums::PortState;
use weft_fabric::{DeviceGroup, Node, NodeId, PortRef, Snapshot};
use weft_wire::sa::{DeviceGroupMemberRecord, DeviceGroupNameRecord};
use weft_wire::text::Text;

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::view::View;
use crate::sa::{Sa, SaSettings};
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
    let nodes = nodes_of(&sa.view, query);
    for group in grouped(&sa.view, &sa.settings, nodes) {
        group.members.iter().for_each(|record| records.push(record));
    }
    records.finish()
}

/// The device groups of the settings with their ports in a snapshot, in the order of the records.
pub fn device_groups(settings: &SaSettings, snapshot: Arc<Snapshot>) -> Vec<DeviceGroup> {
    let view = View::new(snapshot, settings);
    grouped(&view, settings, view.snapshot.topology.nodes())
}

fn grouped<'v>(
    view: &View,
    settings: &SaSettings,
    nodes: impl Iterator<Item = (NodeId, &'v Node)>,
) -> Vec<DeviceGroup> {
    let ports: Vec<(DeviceGroupMemberRecord, Vec<bool>)> = nodes
        .flat_map(|(id, node)| {
            let ports = node.ports();
            ports.filter_map(move |(port, _)| {
                membership(view, settings, node, PortRef { node: id, port })
            })
        })
        .collect();
    let groups = settings.groups.list.iter().enumerate();
    let grouped = groups.map(|(place, group)| {
        let is_member = |member: &[bool]| member.get(place).copied().unwrap_or(false);
        let device_group_name = Text::new(&group.name);
        let members = ports.iter().filter(|(_, member)| is_member(member));
        let members = members.map(|(record, _)| DeviceGroupMemberRecord {
            device_group_name,
            ..*record
        });
        DeviceGroup {
            name: group.name.clone(),
            members: members.collect(),
        }
    });
    grouped.collect()
}

/// A port with a link as a member, and of which groups; its record names none yet.
fn membership(
    view: &View,
    settings: &SaSettings,
    node: &Node,
    at: PortRef,
) -> Option<(DeviceGroupMemberRecord, Vec<bool>)> {
    let topology = &view.snapshot.topology;
    let port = topology.port(at)?;
    let linked = port.info.port_state > PortState::DOWN;
    let lid = view.lid_of(at).filter(|_| linked)?;
    let description = node.name();
    let candidate = Candidate::new(topology, node, at);
    let mut member = vec![false; settings.groups.list.len()];
    for facts in candidate.facts(&description) {
        let named = settings.groups.membership(&facts);
        member
            .iter_mut()
            .zip(named)
            .for_each(|(all, one)| *all |= one);
    }
    let record = DeviceGroupMemberRecord {
        lid,
        port: at.port,
        guid: node.port_guid(at.port).unwrap_or(node.info.port_guid),
        node_description: node.description,
        ..DeviceGroupMemberRecord::default()
    };
    Some((record, member))
}
