//! Nodes and ports in InfiniBand's form, for clients in kernels.

use weft_fabric::Lid;
use weft_fabric::enums::PortState;
use weft_wire::enums::Mtu;
use weft_wire::header::version;
use weft_wire::sa::{IbNodeRecord, IbPortInfoRecord};
use weft_wire::sm::PortInfo;

use super::nodes::visible_ends;
use crate::sa::query::{Found, Query, Record, Records, Refusal};
use crate::sa::view::View;

/// MTU reported for every port: the largest that clients of this form know.
const MTU: Mtu = Mtu(4);
/// Bits of `IB_CAPABILITY_MASK` that others may know: device and connection management.
const DEVICE_MANAGEMENT: u32 = 1 << 19;
const CONNECTION_MANAGEMENT: u32 = 1 << 16;

type Answered = Result<Found, Refusal>;

/// A LID in 16 bits; 0 for a longer one.
fn short(lid: Lid) -> u16 {
    u16::try_from(lid.0).unwrap_or(0)
}

/// The LID that a record of this form starts with, when it is meant.
fn asked_lid(query: &Query<'_>) -> Option<Lid> {
    let bytes = query.request.data.first_chunk::<2>()?;
    query.has(0).then(|| Lid(u16::from_be_bytes(*bytes).into()))
}

/// A collector that takes any LID of a port for its first.
fn records_by_lid<R: Record>(view: &View, query: &Query<'_>) -> Records {
    let mut records = Records::new::<R>(query);
    let end = asked_lid(query).and_then(|lid| view.end(view.by_lid(lid)?));
    if let Some(end) = end {
        records.want(0, &short(end.lid).to_be_bytes());
    }
    records
}

pub(crate) fn node_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<IbNodeRecord>(view, query);
    for end in visible_ends(view, query, view.ends())? {
        let Some(node) = view.node(end.at.node) else {
            continue;
        };
        records.push(&IbNodeRecord {
            lid: short(end.lid),
            base_version: version::IB,
            class_version: version::IB_SA,
            node_type: node.info.node_type,
            num_ports: node.info.num_ports,
            system_image_guid: node.info.system_image_guid,
            node_guid: node.info.node_guid,
            port_guid: end.guid,
            partition_cap: node.info.partition_cap,
            device_id: node.info.device_id,
            revision: node.info.revision,
            local_port_num: end.at.port,
            vendor_id: node.info.vendor_id,
            node_desc: node.description,
        });
    }
    records.finish()
}

/// Ports, with the fields that other clients than managers may see: position and state.
pub(crate) fn port_info_records(view: &View, query: &Query<'_>) -> Answered {
    let mut records = records_by_lid::<IbPortInfoRecord>(view, query);
    for end in visible_ends(view, query, view.ends())? {
        let Some(node) = view.node(end.at.node) else {
            continue;
        };
        for (number, held) in node.ports() {
            let of_end = node.is_switch() || number == end.at.port;
            if of_end && is_up(&held.info) {
                records.push(&IbPortInfoRecord {
                    end_port_lid: short(end.lid),
                    port_num: number,
                    ..known(&held.info, end.lid)
                });
            }
        }
    }
    records.finish()
}

fn is_up(info: &PortInfo) -> bool {
    info.port_state > PortState::DOWN
}

fn known(info: &PortInfo, lid: Lid) -> IbPortInfoRecord {
    let capability = info.capability_mask;
    let bit = |has: bool, bit: u32| if has { bit } else { 0 };
    IbPortInfoRecord {
        subnet_prefix: info.subnet_prefix,
        lid: short(lid),
        capability_mask: bit(capability.is_device_management_supported, DEVICE_MANAGEMENT)
            | bit(
                capability.is_connection_management_supported,
                CONNECTION_MANAGEMENT,
            ),
        local_port_num: info.local_port_num,
        port_state: info.port_state,
        phys_state: info.phys_state,
        lmc: info.lmc,
        neighbor_mtu: MTU,
        mtu_cap: MTU,
        ..IbPortInfoRecord::default()
    }
}
