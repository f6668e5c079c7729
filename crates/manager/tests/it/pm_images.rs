//! Queries of performance administration about images and about ports that stand out, and how
//! queries and answers travel.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::pm_common::Watched;
use crate::pm_common::client::{FABRIC, focus, get, group, packet, query, set, table, watched};
use weft_emulator::io::Control;
use weft_fabric::{Lid, PKey, PortNum};
use weft_manager::pm::{PmInput, PmOutput, PmSettings};
use weft_wire::header::method;
use weft_wire::pa::*;
use weft_wire::text::Text;

/// `MAD_STATUS_SA_NO_RESOURCES`.
const NO_RESOURCES: u16 = 0x0100;

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
    // Unused images are released.
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
