//! Quotas of one client, and effects of a reload of the configuration on groups.

use std::time::Duration;

use weft_fabric::{Guid, Lid};
use weft_manager::sa::Quotas;
use weft_manager::{ManagerSettings, SaInput, SaSettings};
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::{method, status as mad_status};
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{McMemberRecord, ServiceRecord, attribute, status};

use crate::sa::client::{Ask, Served};
use crate::sa::records::FABRIC;
use crate::sa::registered::{CREATE, JOIN, MGID, ask, gid, membership, own, told};

fn served() -> Served {
    let quotas = Quotas {
        services: 3,
        subscriptions: 3,
        groups: 5,
        mlid_share: 256,
        memberships: 6,
    };
    let settings = SaSettings {
        quotas,
        ..SaSettings::default()
    };
    Served::new(FABRIC, 0, settings)
}

/// A host other than the manager's: the GUID of its port, and its LID.
fn other(served: &Served) -> (Guid, Lid) {
    let (id, node) = served.snapshot.topology.hfis().nth(4).unwrap();
    let end = served.snapshot.topology.end_ports();
    let mut end = end.filter(|(end, ..)| end.node == id);
    let (at, ..) = end.next().unwrap();
    let port = served.snapshot.topology.port(at).unwrap();
    (node.info.port_guid, port.info.lid)
}

fn service(served: &mut Served, id: u64) -> u16 {
    let record = ServiceRecord {
        service_id: id,
        service_gid: own(served),
        service_lease: u32::MAX,
        ..ServiceRecord::default()
    };
    let set = Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, &record);
    served.ask(&set).status
}

fn service_of(served: &mut Served, lid: Lid, id: u64) -> u16 {
    let record = ServiceRecord {
        service_id: id,
        service_gid: own(served),
        service_lease: u32::MAX,
        ..ServiceRecord::default()
    };
    let set = Ask {
        lid,
        ..Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, &record)
    };
    served.ask(&set).status
}

#[test]
fn a_client_has_so_many_services_and_another_has_its_own() {
    let mut served = served();
    for id in 0..3 {
        assert_eq!(service(&mut served, id), mad_status::OK);
    }
    assert_eq!(service(&mut served, 9), status::NO_RESOURCES);
    assert_eq!(service(&mut served, 1), mad_status::OK, "it renews its own");
    let (_, lid) = other(&served);
    assert_eq!(service_of(&mut served, lid, 9), mad_status::OK);
}

fn subscribe(served: &mut Served, lid: Lid, trap_number: u16) -> u16 {
    let info = InformInfo {
        lid_range_begin: Lid::PERMISSIVE,
        is_generic: 1,
        subscribe: 1,
        inform_type: 0xFFFF,
        trap_number,
        producer_type: 0x00FF_FFFF,
        ..InformInfo::default()
    };
    let set = Ask {
        lid,
        ..Ask::new(method::SET, attribute::INFORM_INFO).with(0, &info)
    };
    served.ask(&set).status
}

#[test]
fn a_client_has_so_many_subscriptions() {
    let mut served = served();
    let (_, lid) = other(&served);
    for trap in 64..67 {
        assert_eq!(subscribe(&mut served, lid, trap), mad_status::OK);
    }
    assert_eq!(subscribe(&mut served, lid, 67), status::NO_RESOURCES);
    assert_eq!(subscribe(&mut served, lid, 64), mad_status::OK, "again");
    assert_eq!(subscribe(&mut served, Lid(0), 67), mad_status::OK);
}

/// A port joins a group of its own, by itself.
fn create(served: &mut Served, port: Guid, lid: Lid, number: u64) -> u16 {
    let record = McMemberRecord {
        mgid: Gid {
            interface: Guid(MGID.interface.0 + number),
            ..MGID
        },
        ..membership(gid(port))
    };
    let join = Ask {
        lid,
        ..ask(method::SET, CREATE, &record)
    };
    served.ask(&join).status
}

#[test]
fn a_client_creates_so_many_groups_and_takes_so_many_lids() {
    let mut served = served();
    let (port, lid) = other(&served);
    // One 256th of 1,024 multicast LIDs.
    for number in 0..4 {
        assert_eq!(create(&mut served, port, lid, number), mad_status::OK);
    }
    assert_eq!(create(&mut served, port, lid, 4), status::NO_RESOURCES);
    let own = own(&served).interface;
    assert_eq!(create(&mut served, own, Lid(0), 5), mad_status::OK);
    assert_eq!(
        create(&mut served, port, lid, 5),
        mad_status::OK,
        "it joins"
    );
    let record = membership(gid(port));
    let leave = Ask {
        lid,
        ..ask(method::DELETE, JOIN, &record)
    };
    assert_eq!(served.ask(&leave).status, mad_status::OK);
    assert_eq!(
        create(&mut served, port, lid, 4),
        mad_status::OK,
        "room again"
    );
}

#[test]
fn a_port_is_in_so_many_groups() {
    let mut served = served();
    let (port, lid) = other(&served);
    let own = own(&served).interface;
    for number in 0..4 {
        assert_eq!(create(&mut served, own, Lid(0), number), mad_status::OK);
        assert_eq!(create(&mut served, port, lid, number), mad_status::OK);
    }
    for number in 4..6 {
        assert_eq!(create(&mut served, port, lid, number), mad_status::OK);
    }
    assert_eq!(create(&mut served, port, lid, 6), status::NO_RESOURCES);
    assert_eq!(create(&mut served, port, lid, 3), mad_status::OK, "again");
}

/// The stock settings, whose first virtual fabric has another partition.
fn moved(key: u16) -> SaSettings {
    let mut settings = SaSettings::default();
    settings.fabrics[0].pkey = PKey(key);
    settings
}

#[test]
fn groups_of_partitions_that_are_gone_go_with_their_members() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    let port = own(&served).interface;
    assert_eq!(create(&mut served, port, Lid(0), 0), mad_status::OK);
    assert_eq!(told(&mut served).len(), 1);
    served.sa.reconfigure(moved(0x8005));
    assert_eq!(told(&mut served), [], "their tables are emptied");
    let record = membership(gid(port));
    let left = served.ask(&ask(method::DELETE, JOIN, &record));
    assert_eq!(left.status, status::REQ_INVALID);
    served.now = served.now + Duration::from_secs(1);
    served.sa.handle(served.now, SaInput::Tick);
    let again = ask(method::SET, CREATE, &record);
    assert_eq!(served.ask(&again).status, status::REQ_INVALID);
}

#[test]
fn configured_groups_follow_the_configuration() {
    let text = std::fs::read(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/opafm.xml"),
    );
    let text = String::from_utf8(text.unwrap()).unwrap();
    let settings = |key: &str| {
        let text = text.replace("0x0001", key);
        let parsed = weft_config::check(&text, "opafm.xml");
        let config = parsed
            .config
            .unwrap_or_else(|| panic!("{:?}", parsed.findings));
        ManagerSettings::from_config(&config.instances[0])
            .unwrap()
            .sa
    };
    let mut served = Served::new(FABRIC, 0, settings("0x0001"));
    let keys = |served: &mut Served| -> Vec<u16> {
        let all = Ask::new(method::GET_TABLE, attribute::MC_MEMBER_RECORD);
        let all: Vec<McMemberRecord> = served.ask(&all).records();
        all.iter().map(|group| group.p_key.0).collect()
    };
    let before = keys(&mut served);
    assert!(before.contains(&0x8001), "{before:x?}");
    served.sa.reconfigure(settings("0x0005"));
    let after = keys(&mut served);
    assert_eq!(after.len(), before.len(), "{after:x?}");
    assert!(!after.contains(&0x8001), "{after:x?}");
    assert!(after.contains(&0x8005), "{after:x?}");
}
