//! Records read from the fabric.

use weft_fabric::Lid;
use weft_fabric::enums::{NodeType, PortState};
use weft_manager::SaSettings;
use weft_wire::enums::Mtu;
use weft_wire::header::{method, status as mad_status};
use weft_wire::id::PKey;
use weft_wire::sa::{
    IbNodeRecord, IbPortInfoRecord, LinkRecord, NodeRecord, PortInfoRecord, SmInfoRecord,
    SwitchInfoRecord, attribute, status,
};

use crate::sa::client::{Ask, Served};

/// Two tiers, 16 hosts.
pub(crate) const FABRIC: &str = "fattree:16,radix=8";

fn served() -> Served {
    Served::new(FABRIC, 0, SaSettings::default())
}

#[test]
fn nodes_are_all_there_with_their_lids() {
    let mut served = served();
    let all = served.ask(&Ask::new(method::GET_TABLE, attribute::NODE_RECORD));
    assert_eq!(all.method, method::GET_TABLE | method::RESPONSE);
    let records: Vec<NodeRecord> = all.records();
    let topology = &served.snapshot.topology;
    assert_eq!(records.len(), topology.len());
    for record in records {
        let node = topology
            .node(topology.find(record.node_info.node_guid).unwrap())
            .unwrap();
        let port = node.port(record.node_info.local_port_num).unwrap();
        assert_eq!(record.lid, port.info.lid);
        assert_eq!(record.node_desc, node.description);
    }
}

#[test]
fn components_select() {
    let mut served = served();
    let topology = std::sync::Arc::clone(&served.snapshot.topology);
    let (_, hfi) = topology.hfis().nth(3).unwrap();
    let lid = hfi.ports().next().unwrap().1.info.lid;
    let switches = topology.switches().len();
    let wanted = NodeRecord {
        lid,
        node_info: weft_wire::sm::NodeInfo {
            node_type: weft_fabric::enums::NodeType::SWITCH,
            node_guid: hfi.guid(),
            ..Default::default()
        },
        node_desc: hfi.description,
    };
    for (mask, expected) in [
        (1, 1),
        (0x100, 1),
        (0x8000, 1),
        (0x10, switches),
        (0x11, 0),
        (0x101, 1),
    ] {
        let ask = Ask::new(method::GET_TABLE, attribute::NODE_RECORD).with(mask, &wanted);
        let found: Vec<NodeRecord> = served.ask(&ask).records();
        assert_eq!(found.len(), expected, "mask {mask:#x}");
    }
}

#[test]
fn a_get_wants_exactly_one() {
    let mut served = served();
    let lid = served.snapshot.sms[0].lid;
    for (mask, lid, expected) in [
        (0, lid, status::TOO_MANY_RECORDS),
        (1, lid, mad_status::OK),
        (1, Lid(0xBFFF), status::NO_RECORDS),
    ] {
        let wanted = NodeRecord {
            lid,
            ..NodeRecord::default()
        };
        let ask = Ask::new(method::GET, attribute::NODE_RECORD).with(mask, &wanted);
        let reply = served.ask(&ask);
        assert_eq!((reply.status, reply.method), (expected, method::GET_RESP));
    }
}

#[test]
fn ports_and_switches_say_what_the_snapshot_says() {
    let mut served = served();
    let topology = std::sync::Arc::clone(&served.snapshot.topology);
    let ports: Vec<PortInfoRecord> = served
        .ask(&Ask::new(method::GET_TABLE, attribute::PORT_INFO_RECORD))
        .records();
    let expected: usize = topology.nodes().map(|(_, node)| node.ports().len()).sum();
    assert_eq!(ports.len(), expected);
    let switches: Vec<SwitchInfoRecord> = served
        .ask(&Ask::new(method::GET_TABLE, attribute::SWITCH_INFO_RECORD))
        .records();
    assert_eq!(switches.len(), topology.switches().len());
    let first = switches[0];
    let of_one: Vec<PortInfoRecord> = served
        .ask(
            &Ask::new(method::GET_TABLE, attribute::PORT_INFO_RECORD).with(
                3,
                &PortInfoRecord {
                    end_port_lid: first.lid,
                    port_num: weft_fabric::PortNum(2),
                    ..PortInfoRecord::default()
                },
            ),
        )
        .records();
    let node = topology.node(topology.switches()[0]).unwrap();
    assert_eq!(of_one.len(), 1);
    assert_eq!(
        of_one[0].port_info,
        node.port(weft_fabric::PortNum(2)).unwrap().info
    );
}

#[test]
fn every_link_is_there_in_both_directions() {
    let mut served = served();
    let links: Vec<LinkRecord> = served
        .ask(&Ask::new(method::GET_TABLE, attribute::LINK_RECORD))
        .records();
    assert_eq!(links.len(), 2 * served.snapshot.topology.links().count());
    for link in &links {
        let back = LinkRecord {
            from_lid: link.to_lid,
            from_port: link.to_port,
            to_port: link.from_port,
            to_lid: link.from_lid,
        };
        assert!(links.contains(&back), "{link:?}");
    }
}

#[test]
fn the_master_is_told_without_its_key() {
    let mut served = served();
    let found: Vec<SmInfoRecord> = served
        .ask(&Ask::new(method::GET_TABLE, attribute::SM_INFO_RECORD))
        .records();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].lid, served.snapshot.sms[0].lid);
    assert_eq!(found[0].sm_info.sm_key, 0);
}

#[test]
fn who_may_not_ask_gets_no_answer() {
    let mut served = served();
    for (attribute, pkey, sm_key, ib, silent) in [
        (
            attribute::PORT_INFO_RECORD,
            PKey::MGMT_LIMITED,
            0,
            false,
            true,
        ),
        (
            attribute::PORT_INFO_RECORD,
            PKey::MGMT_LIMITED,
            0,
            true,
            false,
        ),
        (attribute::LINK_RECORD, PKey::MGMT_LIMITED, 0, true, true),
        (attribute::NODE_RECORD, PKey::MGMT_LIMITED, 0, false, false),
        (attribute::NODE_RECORD, PKey::MGMT_LIMITED, 0, true, false),
        (attribute::NODE_RECORD, PKey::MGMT_FULL, 7, false, true),
        (0x7777, PKey::MGMT_LIMITED, 0, false, true),
        (0x7777, PKey::MGMT_FULL, 0, false, false),
    ] {
        let ask = Ask {
            pkey,
            sm_key,
            ib,
            ..Ask::new(method::GET_TABLE, attribute)
        };
        assert_eq!(served.is_silent(&ask), silent, "{attribute:#x} {pkey} {ib}");
    }
    assert_eq!(served.sa.counters().dropped, 4);
}

#[test]
fn what_is_not_served_is_refused() {
    let mut served = served();
    let unknown = Ask::new(method::GET_TABLE, 0x7777);
    assert_eq!(
        served.ask(&unknown).status,
        mad_status::UNSUPPORTED_METHOD_ATTRIB
    );
    let set = Ask::new(method::SET, attribute::NODE_RECORD);
    assert_eq!(
        served.ask(&set).status,
        mad_status::UNSUPPORTED_METHOD_ATTRIB
    );
    let ib = Ask {
        ib: true,
        ..Ask::new(method::GET_TABLE, attribute::LINK_RECORD)
    };
    assert_eq!(
        served.ask(&ib).status,
        mad_status::UNSUPPORTED_CLASS_OR_VERSION
    );
}

#[test]
fn every_attribute_is_answered() {
    let mut served = served();
    for (attribute, at_least) in [
        (attribute::SC_TO_SC_RECORD, 1),
        (attribute::LINEAR_FDB_RECORD, 1),
        (attribute::MULTICAST_FDB_RECORD, 0),
        (attribute::P_KEY_TABLE_RECORD, 16),
        (attribute::VL_ARBITRATION_RECORD, 16),
        (attribute::SL_TO_SC_RECORD, 16),
        (attribute::SC_TO_SL_RECORD, 16),
        (attribute::SC_TO_VLT_RECORD, 16),
        (attribute::SC_TO_VLNT_RECORD, 16),
        (attribute::SC_TO_VLR_RECORD, 16),
        (attribute::BUFFER_CONTROL_RECORD, 16),
        (attribute::PORT_GROUP_FDB_RECORD, 0),
        (attribute::PORT_GROUP_TABLE_RECORD, 0),
        (attribute::VF_INFO_RECORD, 2),
        (attribute::QUARANTINED_NODE_RECORD, 0),
        (attribute::CONGESTION_INFO_RECORD, 0),
        (attribute::SWITCH_CONGESTION_RECORD, 0),
        (attribute::SWITCH_PORT_CONGESTION_RECORD, 0),
        (attribute::HFI_CONGESTION_RECORD, 0),
        (attribute::HFI_CONGESTION_CONTROL_RECORD, 0),
        (attribute::DEVICE_GROUP_NAME_RECORD, 0),
        (attribute::DEVICE_GROUP_MEMBER_RECORD, 0),
        (attribute::DEVICE_TREE_MEMBER_RECORD, 16),
        (attribute::SWITCH_COST_RECORD, 1),
        (attribute::FABRIC_INFO_RECORD, 1),
    ] {
        let reply = served.ask(&Ask::new(method::GET_TABLE, attribute));
        assert_eq!(reply.status, mad_status::OK, "{attribute:#x}");
        let count = reply.data.len().checked_div(reply.stride).unwrap_or(0);
        assert!(count >= at_least, "{attribute:#x}: {count} records");
    }
}

#[test]
fn a_trace_goes_from_end_to_end() {
    use weft_wire::sa::{PathRecord, TraceRecord};
    let mut served = served();
    let topology = std::sync::Arc::clone(&served.snapshot.topology);
    let lids: Vec<u16> = topology
        .hfis()
        .map(|(_, node)| node.ports().next().unwrap().1.info.lid.0 as u16)
        .collect();
    let asked = PathRecord {
        slid: lids[0],
        dlid: lids[lids.len() - 1],
        ..PathRecord::default()
    };
    let ask = Ask::new(method::GET_TRACE_TABLE, attribute::TRACE_RECORD).with(0x30, &asked);
    let steps: Vec<TraceRecord> = served.ask(&ask).records();
    assert_eq!(steps.len(), 5, "two hosts and three switches");
    let first = topology.hfis().next().unwrap().1.guid();
    assert_eq!(steps[0].node_id.0.swap_bytes() ^ 0x5555_5555, first.0);
}

#[test]
fn paths_between_many_ports_come_at_once() {
    use weft_wire::Layout;
    use weft_wire::sa::{MultiPathRecord, PathRecord};
    let mut served = served();
    let guids = served
        .snapshot
        .topology
        .hfis()
        .take(5)
        .map(|(_, node)| node.info.port_guid);
    let guids: Vec<_> = guids.collect();
    let head = MultiPathRecord {
        numb_path: 1,
        sgid_count: 2,
        dgid_count: 3,
        ..MultiPathRecord::default()
    };
    let mut ask = Ask::new(method::GET_MULTI, attribute::MULTI_PATH_RECORD).with(1 << 6, &head);
    assert_eq!(ask.data.len(), MultiPathRecord::LEN);
    for guid in guids {
        ask.data.extend(0xFE80_0000_0000_0000_u64.to_be_bytes());
        ask.data.extend(guid.0.to_be_bytes());
    }
    let paths: Vec<PathRecord> = served.ask(&ask).records();
    assert_eq!(paths.len(), 6);
}

#[test]
fn kernels_ask_for_nodes_and_ports_in_infinibands_form() {
    let mut served = served();
    let last = served.snapshot.topology.hfis().last().unwrap().1.clone();
    let port = last.ports().next().unwrap().1.info;
    let by_lid = |attribute: u16| Ask {
        ib: true,
        pkey: PKey::MGMT_LIMITED,
        mask: 1,
        data: (port.lid.0 as u16).to_be_bytes().to_vec(),
        ..Ask::new(method::GET, attribute)
    };
    let node: IbNodeRecord = served.ask(&by_lid(attribute::NODE_RECORD)).records()[0];
    assert_eq!(node.node_guid, last.guid());
    assert_eq!(node.port_guid, last.info.port_guid);
    assert_eq!((node.base_version, node.node_type), (1, NodeType::HFI));
    assert_eq!(node.node_desc, last.description);
    let told: IbPortInfoRecord = served.ask(&by_lid(attribute::PORT_INFO_RECORD)).records()[0];
    assert_eq!(u32::from(told.lid), port.lid.0);
    assert_eq!(told.port_state, PortState::ACTIVE);
    assert_eq!((told.neighbor_mtu, told.mtu_cap), (Mtu(4), Mtu(4)));
    let all = Ask {
        ib: true,
        ..Ask::new(method::GET_TABLE, attribute::NODE_RECORD)
    };
    let nodes: Vec<IbNodeRecord> = served.ask(&all).records();
    assert_eq!(nodes.len(), served.snapshot.topology.len());
}

#[test]
fn a_client_sees_the_nodes_that_it_shares_a_partition_with() {
    let hosts = |settings: SaSettings, pkey: PKey, ib: bool| {
        let mut served = Served::new(FABRIC, 0, settings);
        let last = served.snapshot.topology.hfis().last().unwrap().1;
        let lid = last.ports().next().unwrap().1.info.lid;
        let ask = Ask {
            pkey,
            lid,
            ib,
            ..Ask::new(method::GET_TABLE, attribute::NODE_RECORD)
        };
        let reply = served.ask(&ask);
        reply.data.len() / reply.stride
    };
    let alone = SaSettings {
        fabrics: Vec::new(),
        ..SaSettings::default()
    };
    for ib in [false, true] {
        assert_eq!(hosts(alone.clone(), PKey::MGMT_LIMITED, ib), 1);
        let all = hosts(alone.clone(), PKey::MGMT_FULL, ib);
        assert!(all > 1);
        assert!(hosts(SaSettings::default(), PKey::MGMT_LIMITED, ib) > 1);
    }
}
