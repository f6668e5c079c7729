//! Queries of performance administration: every one that clients know, against what the image
//! holds.

#![allow(clippy::unwrap_used)]

mod common;
mod pm_common;

use std::time::Duration;

use pm_common::Watched;
use pm_common::client::{Answer, ask, packet, query};
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PKey, PortNum};
use weft_manager::pm::settings::PortGroup;
use weft_manager::pm::{PmInput, PmOutput, PmSettings};
use weft_manager::sm::settings::{Members, Selector};
use weft_wire::Layout;
use weft_wire::class_port_info::ClassPortInfo;
use weft_wire::header::method;
use weft_wire::pa::*;
use weft_wire::pm::{Counter, CounterSelectMask, PortMask, VlCounter, VlCounterSelectMask};
use weft_wire::text::Text;

const FABRIC: &str = "fattree:32,radix=8";
/// No such parameter: a field or the attribute modifier is wrong (`MAD_STATUS_BAD_FIELD`).
const BAD_FIELD: u16 = 0x001C;
/// `MAD_STATUS_SA_REQ_INVALID`.
const REQ_INVALID: u16 = 0x0200;
/// `MAD_STATUS_SA_NO_RESOURCES`.
const NO_RESOURCES: u16 = 0x0100;

fn watched() -> Watched {
    let mut settings = PmSettings::default();
    let first_host = Guid(0);
    settings.groups.push(PortGroup {
        name: "Nobody".to_owned(),
        members: Members::of([Selector::NodeGuid(first_host)]),
    });
    let mut watched = Watched::new(FABRIC, settings);
    watched.sweep();
    watched.sweep();
    watched
}

fn get<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    ask(
        &mut watched.pm,
        watched.now,
        method::GET,
        attribute,
        &data.to_bytes(),
    )
}

fn set<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    ask(
        &mut watched.pm,
        watched.now,
        method::SET,
        attribute,
        &data.to_bytes(),
    )
}

fn table<T: Layout>(watched: &mut Watched, attribute: u16, data: &T) -> Answer {
    let now = watched.now;
    ask(
        &mut watched.pm,
        now,
        method::GET_TABLE,
        attribute,
        &data.to_bytes(),
    )
}

fn group(name: &str) -> GroupConfigReq {
    GroupConfigReq {
        group_name: Text::new(name),
        ..GroupConfigReq::default()
    }
}

fn focus(name: &str, select: u32) -> FocusPortsReq {
    FocusPortsReq {
        group_name: Text::new(name),
        select,
        range: 1_000,
        ..FocusPortsReq::default()
    }
}

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
fn images_are_found_by_number_offset_and_time() {
    let settings = PmSettings {
        total_images: 3,
        ..PmSettings::default()
    };
    let mut watched = Watched::new(FABRIC, settings);
    for _ in 0..5 {
        watched.sweep();
    }
    let at = |number, offset: i32, time| ImageId {
        image_number: number,
        image_offset: offset as u32,
        image_time: time,
    };
    let latest: ImageInfo = table(&mut watched, attribute::IMAGE_INFO, &ImageId::default()).one();
    assert_eq!(latest.sweep_start, watched.images[4].unix_time);
    assert_eq!(
        (
            latest.num_hfi_ports,
            latest.num_no_resp_ports,
            latest.image_interval
        ),
        (32, 0, 10)
    );
    assert_eq!(latest.sm_info[0].sm_port_guid, watched.own.0);
    assert_eq!((latest.num_sms, latest.sm_info[1].lid), (1, Lid(0)));
    let before: ImageInfo = table(&mut watched, attribute::IMAGE_INFO, &at(0, -2, 0)).one();
    assert_eq!(before.sweep_start, watched.images[2].unix_time);
    let by_number: ImageInfo = table(
        &mut watched,
        attribute::IMAGE_INFO,
        &at(before.image_id.image_number, 0, 0),
    )
    .one();
    assert_eq!(by_number, before);
    let after: ImageInfo = table(
        &mut watched,
        attribute::IMAGE_INFO,
        &at(before.image_id.image_number, 1, 0),
    )
    .one();
    assert_eq!(after.sweep_start, watched.images[3].unix_time);
    let time = (before.sweep_start + 9) as u32;
    let by_time: ImageInfo =
        table(&mut watched, attribute::IMAGE_INFO, &at(u64::MAX, 0, time)).one();
    assert_eq!(by_time, before);
    for id in [
        at(0, -3, 0),
        at(before.image_id.image_number, -1, 0),
        at(latest.image_id.image_number, 1, 0),
        at(before.image_id.image_number ^ 1 << 40, 0, 0),
    ] {
        assert_eq!(
            table(&mut watched, attribute::IMAGE_INFO, &id).status,
            status::NO_IMAGE,
            "{id}"
        );
    }
}

#[test]
fn held_images_outlive_the_ring_until_their_lease_ends() {
    let settings = PmSettings {
        total_images: 2,
        frozen_images: 2,
        lease: Duration::from_secs(25),
        ..PmSettings::default()
    };
    let mut watched = Watched::new(FABRIC, settings);
    let first = watched.sweep();
    let held: ImageId = set(&mut watched, attribute::FREEZE_IMAGE, &ImageId::default()).one();
    assert_eq!(u64::from(held.image_time), first.unix_time);
    for _ in 0..3 {
        watched.sweep();
        assert_eq!(set(&mut watched, attribute::RENEW_IMAGE, &held).status, 0);
    }
    let info: ImageInfo = table(&mut watched, attribute::IMAGE_INFO, &held).one();
    assert_eq!((info.sweep_start, info.image_id), (first.unix_time, held));
    // Two clients may hold one image, and two images are all that may be held.
    let latest: ImageId = set(&mut watched, attribute::FREEZE_IMAGE, &ImageId::default()).one();
    let shared: ImageId = set(&mut watched, attribute::FREEZE_IMAGE, &ImageId::default()).one();
    assert_ne!(latest.image_number, shared.image_number);
    watched.sweep();
    assert_eq!(
        set(&mut watched, attribute::FREEZE_IMAGE, &ImageId::default()).status,
        NO_RESOURCES
    );
    let moved: MoveFreeze = set(
        &mut watched,
        attribute::MOVE_FREEZE,
        &MoveFreeze {
            old_freeze_image: held,
            new_freeze_image: ImageId::default(),
        },
    )
    .one();
    assert_eq!(
        table(&mut watched, attribute::IMAGE_INFO, &held).status,
        status::NO_IMAGE
    );
    let now: ImageInfo = table(&mut watched, attribute::IMAGE_INFO, &moved.new_freeze_image).one();
    assert_eq!(now.sweep_start, watched.images.last().unwrap().unix_time);
    assert_eq!(
        set(&mut watched, attribute::RELEASE_IMAGE, &latest).status,
        0
    );
    assert_eq!(
        set(&mut watched, attribute::RELEASE_IMAGE, &latest).status,
        status::NO_IMAGE
    );
    assert_eq!(set(&mut watched, attribute::RENEW_IMAGE, &shared).status, 0);
    // What nobody uses is let go.
    for _ in 0..3 {
        watched.sweep();
    }
    assert_eq!(
        set(&mut watched, attribute::RENEW_IMAGE, &shared).status,
        status::NO_IMAGE
    );
    assert_eq!(
        set(&mut watched, attribute::RENEW_IMAGE, &ImageId::default()).status,
        status::NO_IMAGE
    );
}

#[test]
fn focus_lists_every_link_once_in_its_order() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let all: Vec<FocusPort> = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("All", select::UTIL_PKTS_HIGH),
    )
    .read();
    // Every link, and every switch's port 0.
    assert_eq!(all.len() as u32, image.roster.links + image.roster.switches);
    assert!(all.is_sorted_by_key(|port| std::cmp::Reverse(port.value.max(port.neighbor_value))));
    assert!(
        all.iter()
            .all(|port| (port.local_status, port.neighbor_status) == (0, 0))
    );
    assert!(
        all.iter()
            .all(|port| (port.port_number.0 == 0) == (port.neighbor_guid.0 == 0))
    );
    let low: Vec<FocusPort> = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("All", select::UTIL_LOW),
    )
    .read();
    assert!(low.is_sorted_by_key(|port| port.value.min(port.neighbor_value)));
    let window = FocusPortsReq {
        start: 3,
        range: 2,
        ..focus("All", select::UTIL_PKTS_HIGH)
    };
    let window: Vec<FocusPort> = table(&mut watched, attribute::FOCUS_PORTS, &window).read();
    assert_eq!(window, all[3..5]);
    let hosts: Vec<FocusPort> = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("HFIs", select::INTEGRITY),
    )
    .read();
    assert_eq!(hosts.len(), 32);
    let fabric = VfFocusPortsReq {
        vf_name: Text::new("Default"),
        select: select::VF_UTIL_PKTS_HIGH,
        range: 4,
        ..VfFocusPortsReq::default()
    };
    let ports: Vec<VfFocusPort> = table(&mut watched, attribute::VF_FOCUS_PORTS, &fabric).read();
    assert_eq!(ports.len(), 4);
}

#[test]
fn ports_that_did_not_answer_can_be_asked_for() {
    let mut watched = watched();
    let image = watched.images.last().unwrap().clone();
    let none = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("All", select::NO_RESPONSE),
    );
    assert_eq!((none.status, none.records.len()), (0, 0));
    let silent: Vec<_> = image
        .roster
        .members
        .iter()
        .filter(|member| !member.is_switch && member.guid != watched.own.0)
        .take(2)
        .cloned()
        .collect();
    for member in &silent {
        watched.control(Control::Silence {
            node: member.guid,
            silent: true,
        });
    }
    watched.sweep();
    let found: Vec<FocusPort> = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("All", select::NO_RESPONSE),
    )
    .read();
    let lids: Vec<Lid> = found.iter().map(|port| port.node_lid).collect();
    assert_eq!(
        lids,
        silent.iter().map(|member| member.lid).collect::<Vec<_>>()
    );
    assert!(
        found
            .iter()
            .all(|port| (port.local_status, port.neighbor_status) == (2, 0))
    );
    let beyond = FocusPortsReq {
        start: 2,
        ..focus("All", select::NO_RESPONSE)
    };
    assert_eq!(
        table(&mut watched, attribute::FOCUS_PORTS, &beyond).status,
        status::INVALID_PARAMETER
    );
    let port = PortCounters {
        node_lid: silent[0].lid,
        port_number: PortNum(1),
        ..PortCounters::default()
    };
    assert_eq!(
        get(&mut watched, attribute::PORT_COUNTERS, &port).status,
        status::BAD_DATA
    );
    let info: GroupInfo = table(&mut watched, attribute::GROUP_INFO, &group("All")).one();
    assert_eq!(info.internal_util_stats.pma_no_resp_ports, 2);
}

#[test]
fn several_conditions_choose_ports() {
    let mut watched = watched();
    let all: Vec<FocusPort> = table(
        &mut watched,
        attribute::FOCUS_PORTS,
        &focus("HFIs", select::UTIL_PKTS_HIGH),
    )
    .read();
    let condition = |select, comparator, argument| FocusTuple {
        select,
        comparator,
        argument,
    };
    let mut request = FocusMultiReq {
        group_name: Text::new("HFIs"),
        range: 1_000,
        logical_operator: 1,
        ..FocusMultiReq::default()
    };
    request.tuple[0] = condition(select::UTIL_PKTS_HIGH, 3, 0);
    request.tuple[1] = condition(select::INTEGRITY, 4, 0);
    let found: Vec<FocusMultiPort> = table(&mut watched, attribute::FOCUS_MULTI, &request).read();
    assert_eq!(found.len(), all.len());
    request.tuple[1] = condition(select::INTEGRITY, 1, 0);
    assert!(
        table(&mut watched, attribute::FOCUS_MULTI, &request)
            .records
            .is_empty()
    );
    request.logical_operator = 2;
    let found: Vec<FocusMultiPort> = table(&mut watched, attribute::FOCUS_MULTI, &request).read();
    assert_eq!(found.len(), all.len());
    request.logical_operator = 0;
    assert_eq!(
        table(&mut watched, attribute::FOCUS_MULTI, &request).status,
        status::INVALID_PARAMETER
    );
}

#[test]
fn long_answers_come_in_segments() {
    let mut watched = watched();
    let answer = table(&mut watched, attribute::GROUP_CONFIG, &group("All"));
    let bytes = 96 * answer.records.len();
    assert!(bytes > 2 * 1992);
    assert_eq!(answer.segments, bytes.div_ceil(1992));
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
fn only_full_members_of_the_management_partition_are_heard() {
    let mut watched = watched();
    while watched.pm.poll().is_some() {}
    for pkey in [PKey::MGMT_LIMITED, PKey(0x8001)] {
        let mad = query(method::GET, attribute::PM_CONFIG, &[]);
        watched.tell(PmInput::Received(packet(pkey, mad)));
        let answers = std::iter::from_fn(|| watched.pm.poll())
            .filter(|output| matches!(output, PmOutput::Send(_)));
        assert_eq!(answers.count(), 0);
    }
}

#[test]
fn the_service_record_says_where_the_manager_is() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    let record = watched.pm.service_record().unwrap();
    let image = watched.images.last().unwrap();
    let own = image
        .roster
        .members
        .iter()
        .find(|member| member.guid == watched.own.0)
        .unwrap();
    assert_eq!(record.service_id, 0x1100_d03c_3484_5555);
    assert_eq!(
        (record.service_lid, record.service_gid.interface),
        (own.lid, watched.own.0)
    );
    assert_eq!(
        (record.service_lease, record.service_data8[..2].to_vec()),
        (120, vec![1, 1])
    );
    watched.tell(PmInput::StandBy);
    assert_eq!(watched.pm.service_record(), None);
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
