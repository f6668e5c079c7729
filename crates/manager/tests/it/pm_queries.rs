//! Queries of performance administration about groups, virtual fabrics and counters, against what
//! the image holds.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::pm_common::Watched;
use crate::pm_common::client::{FABRIC, focus, get, group, set, table, watched};
use weft_fabric::{Lid, PortNum, Snapshot};
use weft_manager::pm::{PmInput, PmSettings};
use weft_wire::class_port_info::ClassPortInfo;
use weft_wire::pa::*;
use weft_wire::pm::{Counter, CounterSelectMask, PortMask, VlCounter, VlCounterSelectMask};
use weft_wire::text::Text;

/// No such parameter: a field or the attribute modifier is wrong (`MAD_STATUS_BAD_FIELD`).
const BAD_FIELD: u16 = 0x001C;
/// `MAD_STATUS_SA_REQ_INVALID`.
const REQ_INVALID: u16 = 0x0200;

#[test]
fn before_the_first_image_everything_is_unavailable() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    let answer = table(&mut watched, attribute::GROUP_LIST, &ImageId::default());
    assert_eq!(answer.status, status::UNAVAILABLE);
    let info: ClassPortInfo = get(
        &mut watched,
        attribute::CLASS_PORT_INFO,
        &ImageId::default(),
    )
    .one();
    assert_eq!((info.class_version, info.cap_mask), (0x80, 0x3D00));
    watched.sweep();
    let answer = table(&mut watched, attribute::GROUP_LIST, &ImageId::default());
    assert_eq!(answer.records.len(), 3);
    watched.tell(PmInput::StandBy);
    let answer = table(&mut watched, attribute::GROUP_LIST, &ImageId::default());
    assert_eq!(answer.status, status::UNAVAILABLE);
}

#[test]
fn groups_and_virtual_fabrics_are_listed() {
    let mut watched = watched();
    let groups: Vec<GroupList> =
        table(&mut watched, attribute::GROUP_LIST, &ImageId::default()).read();
    let names: Vec<_> = groups
        .iter()
        .map(|group| group.group_name.text().into_owned())
        .collect();
    assert_eq!(names, ["All", "HFIs", "SWs", "Nobody"]);
    let groups: Vec<GroupList2> =
        table(&mut watched, attribute::GROUP_LIST2, &ImageId::default()).read();
    assert_eq!(groups.len(), 4);
    assert!(groups.iter().all(|group| group.image_id.image_number != 0));
    let fabrics: Vec<VfList> = table(&mut watched, attribute::VF_LIST, &ImageId::default()).read();
    let names: Vec<_> = fabrics
        .iter()
        .map(|fabric| fabric.vf_name.text().into_owned())
        .collect();
    assert_eq!(names, ["Default", "Admin"]);
    let fabrics: Vec<VfList2> =
        table(&mut watched, attribute::VF_LIST2, &ImageId::default()).read();
    assert_eq!(fabrics.len(), 2);
}

#[test]
fn the_ports_nodes_and_links_of_groups_are_those_of_the_fabric() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let active = (image.roster.hfi_ports + image.roster.switch_ports) as usize;
    for (name, ports, nodes) in [
        ("All", active, image.roster.members.len()),
        ("HFIs", image.roster.hfi_ports as usize, 32),
        (
            "SWs",
            image.roster.switch_ports as usize,
            image.roster.switches as usize,
        ),
        ("Nobody", 0, 0),
    ] {
        let config: Vec<GroupConfigRsp> =
            table(&mut watched, attribute::GROUP_CONFIG, &group(name)).read();
        assert_eq!(config.len(), ports, "{name}");
        assert!(config.is_sorted_by_key(|port| (port.node_lid, port.port_number)));
        let request = GroupNodeInfoReq {
            group_name: Text::new(name),
            ..GroupNodeInfoReq::default()
        };
        let found: Vec<GroupNodeInfoRsp> =
            table(&mut watched, attribute::GROUP_NODE_INFO, &request).read();
        assert_eq!(found.len(), nodes, "{name}");
        let in_masks: usize = found.iter().map(|node| node.port_select_mask.len()).sum();
        assert_eq!(in_masks, ports);
    }
    let request = GroupLinkInfoReq {
        group_name: Text::new("All"),
        ..GroupLinkInfoReq::default()
    };
    let links: Vec<GroupLinkInfoRsp> =
        table(&mut watched, attribute::GROUP_LINK_INFO, &request).read();
    assert_eq!(links.len(), image.roster.links as usize);
    for link in &links {
        assert!(link.from_lid <= link.to_lid);
        let place = image.find(link.from_lid, link.from_port).unwrap();
        let other = image.roster.ports[place].neighbor.unwrap() as usize;
        let other = &image.roster.ports[other];
        assert_eq!(
            (image.roster.member_of(other).lid, other.number),
            (link.to_lid, link.to_port)
        );
    }
    let one = GroupLinkInfoReq {
        lid: links[0].from_lid,
        port: links[0].from_port,
        ..request
    };
    let found: Vec<GroupLinkInfoRsp> = table(&mut watched, attribute::GROUP_LINK_INFO, &one).read();
    assert_eq!(found, links[..1]);
    let beyond = GroupLinkInfoReq {
        port: PortNum(200),
        ..one
    };
    let answer = table(&mut watched, attribute::GROUP_LINK_INFO, &beyond);
    assert_eq!(answer.status, status::INVALID_PARAMETER);
}

#[test]
fn nodes_are_found_by_any_of_their_names() {
    let mut watched = watched();
    let all = GroupNodeInfoReq {
        group_name: Text::new("All"),
        ..GroupNodeInfoReq::default()
    };
    let nodes: Vec<GroupNodeInfoRsp> = table(&mut watched, attribute::GROUP_NODE_INFO, &all).read();
    let wanted = nodes[5];
    for request in [
        GroupNodeInfoReq {
            node_guid: wanted.node_guid,
            ..all
        },
        GroupNodeInfoReq {
            node_lid: wanted.node_lid,
            ..all
        },
        GroupNodeInfoReq {
            node_desc: wanted.node_desc,
            ..all
        },
    ] {
        let found: GroupNodeInfoRsp =
            table(&mut watched, attribute::GROUP_NODE_INFO, &request).one();
        assert_eq!(found, wanted);
    }
    let none = GroupNodeInfoReq {
        node_guid: wanted.node_guid,
        node_lid: Lid(wanted.node_lid.0 + 1),
        ..all
    };
    assert!(
        table(&mut watched, attribute::GROUP_NODE_INFO, &none)
            .records
            .is_empty()
    );
}

#[test]
fn statistics_count_every_port_once() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let (hfi, switch) = (image.roster.hfi_ports, image.roster.switch_ports);
    for (name, internal, external) in [
        ("All", hfi + switch, 0),
        ("HFIs", 0, hfi),
        ("SWs", switch - hfi, hfi),
        ("Nobody", 0, 0),
    ] {
        let info: GroupInfo = table(&mut watched, attribute::GROUP_INFO, &group(name)).one();
        assert_eq!(
            (info.num_internal_ports, info.num_external_ports),
            (internal, external),
            "{name}"
        );
        let util = info.internal_util_stats;
        assert_eq!(util.num_bw_buckets, 10);
        assert_eq!(util.bw_buckets.iter().sum::<u32>(), internal);
        assert_eq!(
            info.send_util_stats.bw_buckets.iter().sum::<u32>(),
            external
        );
        assert_eq!(
            info.recv_util_stats.bw_buckets.iter().sum::<u32>(),
            external
        );
        let buckets = info.internal_category_stats.ports;
        assert_eq!(
            buckets
                .iter()
                .map(|bucket| bucket.routing_errors)
                .sum::<u32>(),
            internal
        );
        // An idle fabric is in the lowest bucket everywhere.
        assert_eq!(buckets[0].integrity_errors, internal, "{name}: {info}");
        assert_eq!((util.pma_no_resp_ports, util.topo_incomp_ports), (0, 0));
        let rate = |ports: u32| if ports == 0 { 0 } else { 16 };
        assert_eq!(
            (info.max_internal_rate, info.max_external_rate),
            (rate(internal), rate(external))
        );
    }
    let request = VfConfigReq {
        vf_name: Text::new("Default"),
        ..VfConfigReq::default()
    };
    let info: VfInfo = table(&mut watched, attribute::VF_INFO, &request).one();
    assert_eq!(
        (info.num_ports, info.max_internal_mbps),
        (hfi + switch, 12_500)
    );
    let ports: Vec<VfConfigRsp> = table(&mut watched, attribute::VF_CONFIG, &request).read();
    assert_eq!(ports.len() as u32, info.num_ports);
}

#[test]
fn counters_are_those_of_the_image_its_delta_or_the_running_totals() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let own = image
        .roster
        .members
        .iter()
        .position(|member| member.guid == watched.own.0)
        .unwrap();
    let lid = image.roster.members[own].lid;
    let place = image.roster.port_of(own, PortNum(1)).unwrap();
    let request = |flags| PortCounters {
        node_lid: lid,
        port_number: PortNum(1),
        flags,
        ..PortCounters::default()
    };
    let pkts = Counter::XmitPkts as usize;
    let plain: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(0)).one();
    assert_eq!(plain.port_xmit_pkts, image.counters(place)[pkts]);
    assert_eq!((plain.flags, plain.link_quality_indicator), (0, 5));
    assert_eq!(u64::from(plain.image_id.image_time), image.unix_time);
    let delta: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(1)).one();
    assert_eq!(delta.port_xmit_pkts, image.delta(place).counters[pkts]);
    assert!(
        delta.flags == 1 && delta.port_xmit_pkts > 0 && delta.port_xmit_pkts < plain.port_xmit_pkts
    );
    let user: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(8)).one();
    assert_eq!((user.port_xmit_pkts, user.flags), (delta.port_xmit_pkts, 8));
    assert_eq!(user.image_id, ImageId::default());
    // Setting the running totals to zero touches nothing else.
    let clear = ClearPortCounters {
        node_lid: lid,
        port_number: PortNum(1),
        counter_select_mask: CounterSelectMask {
            port_xmit_pkts: true,
            ..CounterSelectMask::default()
        },
    };
    let done: ClearPortCounters = set(&mut watched, attribute::CLEAR_PORT_COUNTERS, &clear).one();
    assert_eq!(done, clear);
    let user: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(8)).one();
    assert_eq!(
        (user.port_xmit_pkts, user.port_xmit_data),
        (0, delta.port_xmit_data)
    );
    let again: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(0)).one();
    assert_eq!(again, plain);
    let all = ClearAllPortCounters {
        counter_select_mask: CounterSelectMask::all(),
    };
    assert_eq!(
        set(&mut watched, attribute::CLEAR_ALL_PORT_COUNTERS, &all).status,
        0
    );
    let user: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(8)).one();
    assert_eq!((user.port_xmit_data, user.port_rcv_data), (0, 0));
    watched.sweep();
    let user: PortCounters = get(&mut watched, attribute::PORT_COUNTERS, &request(8)).one();
    assert!(user.port_xmit_data > 0, "they go on from zero");
}

#[test]
fn what_makes_no_sense_is_refused_as_the_vendor_does() {
    let mut watched = watched();
    let port = |lid, port, flags| PortCounters {
        node_lid: Lid(lid),
        port_number: PortNum(port),
        flags,
        ..PortCounters::default()
    };
    for (request, expected) in [
        (port(0, 1, 0), status::INVALID_PARAMETER),
        (port(1, 1, 9), status::INVALID_PARAMETER),
        (port(0xBFFF, 1, 0), status::NO_PORT),
        (port(1, 77, 0), status::NO_PORT),
        (
            PortCounters {
                image_id: ImageId {
                    image_offset: 1,
                    ..ImageId::default()
                },
                ..port(1, 1, 0)
            },
            BAD_FIELD,
        ),
        (
            PortCounters {
                image_id: ImageId {
                    image_offset: -5i32 as u32,
                    ..ImageId::default()
                },
                ..port(1, 1, 0)
            },
            status::NO_IMAGE,
        ),
        (
            PortCounters {
                image_id: ImageId {
                    image_number: 12,
                    ..ImageId::default()
                },
                ..port(1, 1, 0)
            },
            BAD_FIELD,
        ),
        (
            PortCounters {
                image_id: ImageId {
                    image_number: u64::MAX,
                    image_time: 5,
                    ..ImageId::default()
                },
                ..port(1, 1, 0)
            },
            status::NO_IMAGE,
        ),
    ] {
        assert_eq!(
            get(&mut watched, attribute::PORT_COUNTERS, &request).status,
            expected,
            "{request}"
        );
    }
    let clear = |lid, port, select| ClearPortCounters {
        node_lid: Lid(lid),
        port_number: PortNum(port),
        counter_select_mask: CounterSelectMask::from_bits(select),
    };
    for (request, expected) in [
        (clear(0, 1, !0), status::INVALID_PARAMETER),
        (clear(1, 1, 0), status::INVALID_PARAMETER),
        (clear(0xBFFF, 1, !0), status::NO_PORT),
    ] {
        assert_eq!(
            set(&mut watched, attribute::CLEAR_PORT_COUNTERS, &request).status,
            expected
        );
    }
    assert_eq!(
        table(&mut watched, attribute::GROUP_INFO, &group("None")).status,
        status::NO_GROUP
    );
    assert_eq!(
        table(&mut watched, attribute::GROUP_CONFIG, &group("")).status,
        status::INVALID_PARAMETER
    );
    let request = VfConfigReq {
        vf_name: Text::new("None"),
        ..VfConfigReq::default()
    };
    assert_eq!(
        table(&mut watched, attribute::VF_INFO, &request).status,
        status::NO_VF
    );
    assert_eq!(
        table(
            &mut watched,
            attribute::FOCUS_PORTS,
            &focus("All", 0x0002_0081)
        )
        .status,
        status::INVALID_PARAMETER
    );
    let none = FocusPortsReq {
        range: 0,
        ..focus("All", select::UTIL_HIGH)
    };
    assert_eq!(
        table(&mut watched, attribute::FOCUS_PORTS, &none).status,
        status::INVALID_PARAMETER
    );
    // Each query has one method.
    assert_eq!(
        get(&mut watched, attribute::GROUP_LIST, &ImageId::default()).status,
        REQ_INVALID
    );
    assert_eq!(
        table(&mut watched, attribute::PM_CONFIG, &ImageId::default()).status,
        REQ_INVALID
    );
    assert_eq!(
        set(&mut watched, 0x00B3, &ImageId::default()).status,
        REQ_INVALID
    );
}

#[test]
fn a_port_that_came_after_the_last_sweep_can_be_cleared() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    let whole = Arc::clone(&watched.snapshot);
    let (at, lid, _) = whole.topology.end_ports().last().unwrap();
    let mut before = Snapshot::clone(&whole);
    let node = Arc::make_mut(&mut before.topology).node_mut(at.node);
    node.unwrap().port_mut(at.port).unwrap().info.lid = Lid(0);
    watched.snapshot = Arc::new(before);
    watched.publish();
    // One sweep may have begun with the whole fabric.
    watched.sweep();
    watched.sweep();
    let clear = |port_number| ClearPortCounters {
        node_lid: lid,
        port_number,
        counter_select_mask: CounterSelectMask::from_bits(!0),
    };
    let ask = |watched: &mut Watched, port| {
        set(watched, attribute::CLEAR_PORT_COUNTERS, &clear(port)).status
    };
    assert_eq!(ask(&mut watched, at.port), status::NO_PORT);
    watched.snapshot = whole;
    watched.publish();
    assert_eq!(ask(&mut watched, at.port), 0);
    assert_eq!(ask(&mut watched, PortNum(77)), status::NO_PORT);
}

#[test]
fn a_switch_can_be_cleared_as_a_whole() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let member = image
        .roster
        .members
        .iter()
        .position(|member| member.is_switch)
        .unwrap();
    let lid = image.roster.members[member].lid;
    let clear = ClearPortCounters {
        node_lid: lid,
        port_number: PortNum(255),
        counter_select_mask: CounterSelectMask::all(),
    };
    assert_eq!(
        set(&mut watched, attribute::CLEAR_PORT_COUNTERS, &clear).status,
        0
    );
    for (place, _) in image.roster.ports_of(member) {
        assert_eq!(
            watched.pm.running_total(place).unwrap(),
            [0; Counter::COUNT]
        );
    }
    let host = image
        .roster
        .members
        .iter()
        .find(|member| !member.is_switch)
        .unwrap()
        .lid;
    let clear = ClearPortCounters {
        node_lid: host,
        ..clear
    };
    assert_eq!(
        set(&mut watched, attribute::CLEAR_PORT_COUNTERS, &clear).status,
        status::NO_PORT
    );
}

#[test]
fn counters_of_virtual_fabrics_are_those_of_their_lanes() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let own = image
        .roster
        .members
        .iter()
        .position(|member| member.guid == watched.own.0)
        .unwrap();
    let place = image.roster.port_of(own, PortNum(1)).unwrap();
    let lane = |vl: u8| image.lanes(place).find(|(lane, _)| lane.0 == vl).unwrap().1;
    let request = |name: &str, flags| VfPortCounters {
        node_lid: image.roster.members[own].lid,
        port_number: PortNum(1),
        vf_name: Text::new(name),
        flags,
        ..VfPortCounters::default()
    };
    let pkts = VlCounter::XmitPkts as usize;
    // Both virtual fabrics of the stock file share lane 0.
    let default: VfPortCounters = get(
        &mut watched,
        attribute::VF_PORT_COUNTERS,
        &request("Default", 0),
    )
    .one();
    assert_eq!(
        (default.port_vf_xmit_pkts, default.flags),
        (lane(0)[pkts], 4)
    );
    let hidden: VfPortCounters = get(
        &mut watched,
        attribute::VF_PORT_COUNTERS,
        &request("HIDDEN_VL15_VF", 0),
    )
    .one();
    assert_eq!(
        (hidden.port_vf_xmit_pkts, hidden.flags),
        (lane(15)[pkts], 0)
    );
    assert!(hidden.port_vf_xmit_pkts > 0, "the fabric was brought up");
    let user: VfPortCounters = get(
        &mut watched,
        attribute::VF_PORT_COUNTERS,
        &request("Default", 8),
    )
    .one();
    assert!(user.port_vf_xmit_pkts > 0);
    let clear = ClearVfPortCounters {
        node_lid: image.roster.members[own].lid,
        port_number: PortNum(1),
        vf_name: Text::new("Admin"),
        vf_counter_select_mask: VlCounterSelectMask::from_bits(!0),
    };
    assert_eq!(
        set(&mut watched, attribute::CLEAR_VF_PORT_COUNTERS, &clear).status,
        0
    );
    let user: VfPortCounters = get(
        &mut watched,
        attribute::VF_PORT_COUNTERS,
        &request("Default", 8),
    )
    .one();
    assert_eq!((user.port_vf_xmit_pkts, user.flags), (0, 12));
    let answer = get(
        &mut watched,
        attribute::VF_PORT_COUNTERS,
        &request("None", 0),
    );
    assert_eq!(answer.status, status::NO_VF);
}

#[test]
fn the_configuration_is_what_was_set() {
    let mut watched = watched();
    let config: PmConfig = get(&mut watched, attribute::PM_CONFIG, &ImageId::default()).one();
    assert_eq!(
        (
            config.sweep_interval,
            config.size_history,
            config.size_freeze,
            config.lease
        ),
        (10, 10, 5, 60)
    );
    // VL and HFI counters, 32 and 8 bits cleared, error information.
    assert_eq!(config.pm_flags, 0x73);
    assert_eq!(
        (
            config.integrity_weights.link_downed,
            config.category_thresholds.security_errors
        ),
        (25, 10)
    );
    assert_eq!(
        (
            config.max_parallel_nodes,
            config.pma_batch_size,
            config.error_clear
        ),
        (10, 2, 7)
    );
    assert!(config.memory_footprint > 2 * 200 * 27 * 8);
}

#[test]
fn masks_name_the_ports_of_a_node() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let request = GroupNodeInfoReq {
        group_name: Text::new("SWs"),
        ..GroupNodeInfoReq::default()
    };
    let nodes: Vec<GroupNodeInfoRsp> =
        table(&mut watched, attribute::GROUP_NODE_INFO, &request).read();
    for node in nodes {
        let member = image.roster.member_at(node.node_lid).unwrap();
        let ports = image
            .roster
            .ports_of(member)
            .filter(|(_, port)| port.is_active);
        let expected: PortMask = ports.map(|(_, port)| port.number).collect();
        assert_eq!(node.port_select_mask, expected);
    }
}
