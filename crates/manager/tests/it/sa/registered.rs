//! Registrations of clients: services and members of multicast groups.

use std::time::Duration;

use weft_fabric::{Guid, Sl};
use weft_manager::sa::OwnService;
use weft_manager::{SaInput, SaOutput, SaSettings};
use weft_wire::enums::Mtu;
use weft_wire::header::{method, status as mad_status};
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{
    IbMcMemberRecord, IbServiceRecord, McMemberRecord, ServiceRecord, attribute, status,
};

use crate::sa::client::{Ask, Served};
use crate::sa::records::FABRIC;

const PREFIX: u64 = 0xFE80_0000_0000_0000;

fn served() -> Served {
    Served::new(FABRIC, 0, SaSettings::default())
}

pub(crate) fn gid(interface: Guid) -> Gid {
    Gid {
        prefix: PREFIX,
        interface,
    }
}

pub(crate) fn own(served: &Served) -> Gid {
    gid(served.snapshot.sms[0].port_guid)
}

fn services(served: &mut Served, id: u64) -> Vec<IbServiceRecord> {
    let wanted = IbServiceRecord {
        service_id: id,
        ..IbServiceRecord::default()
    };
    let ask = Ask {
        ib: true,
        ..Ask::new(method::GET_TABLE, attribute::SERVICE_RECORD).with(1, &wanted)
    };
    served.ask(&ask).records()
}

#[test]
fn performance_administration_is_found_at_the_manager() {
    let mut served = served();
    let found = services(&mut served, 0x1100_d03c_3484_5555);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].service_gid, own(&served));
    assert_eq!(&found[0].service_data8[..2], [1, 1]);
    assert_eq!(found[0].service_lease, 120);
}

#[test]
fn the_record_of_performance_administration_has_its_lease_and_the_managers_priority() {
    let performance = OwnService::performance(Duration::from_secs(90), 7);
    let settings = SaSettings {
        own_services: vec![performance],
        ..SaSettings::default()
    };
    let mut served = Served::new(FABRIC, 0, settings);
    let found = services(&mut served, 0x1100_d03c_3484_5555);
    let told = (found[0].service_lease, found[0].service_data16[0]);
    assert_eq!(told, (180, 7));
    served.now = served.now + Duration::from_secs(3_600);
    served.sa.handle(served.now, SaInput::Tick);
    let later = services(&mut served, 0x1100_d03c_3484_5555);
    assert_eq!(later[0].service_lease, 180, "it does not run out");
}

#[test]
fn performance_administration_is_not_found_any_more_when_it_is_switched_off() {
    let mut served = served();
    let record = ServiceRecord {
        service_id: 7,
        service_gid: own(&served),
        service_lease: u32::MAX,
        ..ServiceRecord::default()
    };
    let set = Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, &record);
    assert_eq!(served.ask(&set).status, mad_status::OK);
    served.sa.reconfigure(SaSettings {
        own_services: Vec::new(),
        ..SaSettings::default()
    });
    assert_eq!(services(&mut served, 0x1100_d03c_3484_5555).len(), 0);
    assert_eq!(services(&mut served, 7).len(), 1, "a client's stays");
}

#[test]
fn a_service_lives_as_long_as_its_lease() {
    let mut served = served();
    let record = ServiceRecord {
        service_id: 7,
        service_gid: own(&served),
        service_lease: 10,
        ..ServiceRecord::default()
    };
    let set = Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, &record);
    let told: Vec<ServiceRecord> = served.ask(&set).records();
    assert_eq!(told[0].service_lid, served.snapshot.sms[0].lid);
    assert_eq!(services(&mut served, 7).len(), 1);
    served.now = served.now + Duration::from_secs(11);
    served.sa.handle(served.now, SaInput::Tick);
    assert_eq!(services(&mut served, 7).len(), 0);
}

#[test]
fn a_service_is_deleted_by_who_knows_it() {
    let mut served = served();
    let record = ServiceRecord {
        service_id: 7,
        service_gid: own(&served),
        service_lease: u32::MAX,
        service_key: [3; 16],
        ..ServiceRecord::default()
    };
    let set = |record: &ServiceRecord| {
        Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, record)
    };
    let delete = |record: &ServiceRecord| {
        Ask::new(method::DELETE, attribute::SERVICE_RECORD).with(0x31, record)
    };
    assert_eq!(served.ask(&set(&record)).status, mad_status::OK);
    let stranger = ServiceRecord {
        service_key: [4; 16],
        ..record
    };
    assert_eq!(served.ask(&set(&stranger)).status, status::REQ_INVALID);
    assert_eq!(served.ask(&delete(&stranger)).status, status::NO_RECORDS);
    assert_eq!(served.ask(&delete(&record)).status, mad_status::OK);
    assert_eq!(services(&mut served, 7).len(), 0);
    let nowhere = ServiceRecord {
        service_gid: gid(Guid(5)),
        ..record
    };
    assert_eq!(served.ask(&set(&nowhere)).status, status::REQ_INVALID_GID);
}

pub(crate) const MGID: Gid = Gid {
    prefix: 0xFF12_401B_8001_0000,
    interface: Guid(0xE000_0001),
};

pub(crate) fn membership(port: Gid) -> McMemberRecord {
    McMemberRecord {
        mgid: MGID,
        port_gid: port,
        q_key: 0xB1B,
        p_key: PKey(0x8001),
        sl: Sl(0),
        join_full_member: true,
        ..McMemberRecord::default()
    }
}

/// MGID, port, Q_Key, P_Key, service level, join state.
pub(crate) const CREATE: u64 = 0x7 | 1 << 7 | 1 << 12 | 1 << 17;
/// MGID, port, join state.
pub(crate) const JOIN: u64 = 0x3 | 1 << 17;

pub(crate) fn ask(method: u8, mask: u64, record: &McMemberRecord) -> Ask {
    Ask::new(method, attribute::MC_MEMBER_RECORD).with(mask, record)
}

/// The latest members output for the subnet manager.
pub(crate) fn told(served: &mut Served) -> Vec<weft_manager::MulticastLid> {
    served.now = served.now + Duration::from_secs(1);
    served.sa.handle(served.now, SaInput::Tick);
    let mut last = None;
    while let Some(output) = served.sa.poll() {
        if let SaOutput::Multicast(groups) = output {
            last = Some(groups);
        }
    }
    last.unwrap()
}

#[test]
fn the_first_member_makes_a_group_and_the_last_ends_it() {
    let mut served = served();
    let port = own(&served);
    let record = membership(port);
    let missing = served.ask(&ask(method::SET, JOIN, &record));
    assert_eq!(missing.status, status::REQ_INSUFFICIENT_COMPONENTS);
    let created: Vec<McMemberRecord> = served.ask(&ask(method::SET, CREATE, &record)).records();
    assert_eq!(created[0].mlid.0, 0xF000_0000);
    assert_eq!((created[0].mtu, created[0].rate), (Mtu(7), 16));
    let other = served
        .snapshot
        .topology
        .hfis()
        .nth(4)
        .unwrap()
        .1
        .info
        .port_guid;
    let second = membership(gid(other));
    let joined: Vec<McMemberRecord> = served.ask(&ask(method::SET, JOIN, &second)).records();
    assert!(joined[0].proxy_join && joined[0].join_full_member);
    let groups = told(&mut served);
    let mut expected = vec![port.interface, other];
    expected.sort_unstable();
    assert_eq!(groups[0].receivers, expected);
    let members: Vec<McMemberRecord> = served.ask(&ask(method::GET_TABLE, 1, &record)).records();
    assert_eq!(members.len(), 2);
    for member in [&record, &second] {
        let left = served.ask(&ask(method::DELETE, JOIN, member));
        assert_eq!(left.status, mad_status::OK);
    }
    assert_eq!(told(&mut served), []);
    let gone = served.ask(&ask(method::DELETE, JOIN, &record));
    assert_eq!(gone.status, status::REQ_INVALID);
}

#[test]
fn a_group_keeps_what_it_was_made_with() {
    let mut served = served();
    let record = membership(own(&served));
    assert_eq!(
        served.ask(&ask(method::SET, CREATE, &record)).status,
        mad_status::OK
    );
    for (mask, other) in [
        (JOIN | 4, McMemberRecord { q_key: 1, ..record }),
        (
            JOIN | 1 << 7,
            McMemberRecord {
                p_key: PKey(2),
                ..record
            },
        ),
        (
            JOIN | 3 << 4,
            McMemberRecord {
                mtu_selector: 2,
                mtu: Mtu(4),
                ..record
            },
        ),
        (
            JOIN,
            McMemberRecord {
                join_full_member: false,
                ..record
            },
        ),
    ] {
        let refused = served.ask(&ask(method::SET, mask, &other));
        assert_eq!(refused.status, status::REQ_INVALID, "{mask:#x}");
    }
}

#[test]
fn kernels_join_in_their_own_form() {
    let mut served = served();
    let record = IbMcMemberRecord {
        mgid: MGID,
        port_gid: own(&served),
        q_key: 0xB1B,
        p_key: PKey(0x8001),
        join_full_member: true,
        ..IbMcMemberRecord::default()
    };
    let ask = Ask {
        ib: true,
        ..Ask::new(method::SET, attribute::MC_MEMBER_RECORD)
            .with(0x7 | 1 << 7 | 1 << 12 | 1 << 16, &record)
    };
    let joined: Vec<IbMcMemberRecord> = served.ask(&ask).records();
    assert_eq!((joined[0].mlid, joined[0].mtu), (0xC000, Mtu(7)));
}
