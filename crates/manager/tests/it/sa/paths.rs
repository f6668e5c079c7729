//! Paths.

use std::sync::Arc;

use weft_fabric::{Guid, Lid, PortNum, PortRef, PortTable};
use weft_manager::SaSettings;
use weft_manager::sa::PathSelection;
use weft_wire::enums::Mtu;
use weft_wire::header::{method, status as mad_status};
use weft_wire::id::{Gid, PKey, Sl};
use weft_wire::sa::{PathRecord, attribute, status};

use crate::sa::client::{Ask, Reply, Served};
use crate::sa::records::FABRIC;

const PREFIX: u64 = 0xFE80_0000_0000_0000;
const DGID: u64 = 1 << 2;
const SGID: u64 = 1 << 3;
const DLID: u64 = 1 << 4;
const SLID: u64 = 1 << 5;
const SERVICE: u64 = 3;
const NUMB: u64 = 1 << 12;
const PKEY: u64 = 1 << 13;
const SL: u64 = 1 << 15;
const MTU: u64 = 3 << 16;
const RATE: u64 = 3 << 18;

struct Ends {
    guids: Vec<Guid>,
    lids: Vec<Lid>,
}

fn ends(served: &Served) -> Ends {
    let topology = &served.snapshot.topology;
    let hfis = topology.hfis().map(|(_, node)| node);
    let (guids, lids) = hfis
        .map(|node| (node.info.port_guid, node.ports().next().unwrap().1.info.lid))
        .unzip();
    Ends { guids, lids }
}

fn gid(interface: Guid) -> Gid {
    Gid {
        prefix: PREFIX,
        interface,
    }
}

fn served(lmc: u8, change: impl FnOnce(&mut SaSettings)) -> (Served, Ends) {
    let mut settings = SaSettings::default();
    change(&mut settings);
    let served = Served::new(FABRIC, lmc, settings);
    let ends = ends(&served);
    (served, ends)
}

fn ask(served: &mut Served, method: u8, mask: u64, record: &PathRecord) -> Reply {
    served.ask(&Ask {
        ib: true,
        ..Ask::new(method, attribute::PATH_RECORD).with(mask, record)
    })
}

fn between(ends: &Ends, from: usize, to: usize) -> PathRecord {
    PathRecord {
        sgid: gid(ends.guids[from]),
        dgid: gid(ends.guids[to]),
        slid: ends.lids[from].0 as u16,
        dlid: ends.lids[to].0 as u16,
        ..PathRecord::default()
    }
}

#[test]
fn a_path_says_what_its_way_allows() {
    let (mut served, ends) = served(0, |_| {});
    let last = ends.guids.len() - 1;
    for mask in [SGID | DGID, SLID | DLID, SGID | DLID, SLID | DGID] {
        let reply = ask(&mut served, method::GET, mask, &between(&ends, 0, last));
        let path: PathRecord = reply.records()[0];
        assert_eq!(path.slid, ends.lids[0].0 as u16);
        assert_eq!(path.dlid, ends.lids[last].0 as u16);
        assert_eq!(
            (path.sgid, path.dgid),
            (gid(ends.guids[0]), gid(ends.guids[last]))
        );
        assert_eq!((path.p_key, path.sl), (PKey(0x8001), Sl(0)));
        assert_eq!((path.mtu, path.rate, path.pkt_life_time), (Mtu(7), 16, 16));
        assert_eq!((path.mtu_selector, path.reversible), (2, true));
    }
}

#[test]
fn every_pair_of_hosts_has_a_path() {
    let (mut served, ends) = served(0, |_| {});
    for from in 0..ends.guids.len() {
        for to in 0..ends.guids.len() {
            let reply = ask(
                &mut served,
                method::GET,
                SGID | DGID,
                &between(&ends, from, to),
            );
            let path: PathRecord = reply.records()[0];
            let expected = if from == to { 0 } else { 16 };
            assert_eq!(path.pkt_life_time, expected, "{from} to {to}");
        }
    }
}

#[test]
fn a_table_has_the_paths_of_every_virtual_fabric_and_to_all() {
    let (mut served, ends) = served(0, |_| {});
    let paths: Vec<PathRecord> = ask(
        &mut served,
        method::GET_TABLE,
        SGID | DGID,
        &between(&ends, 0, 1),
    )
    .records();
    // Default; in Admin both are limited members, unless one may manage.
    let keys: Vec<PKey> = paths.iter().map(|path| path.p_key).collect();
    assert!(keys.contains(&PKey(0x8001)), "{keys:?}");
    let all: Vec<PathRecord> = ask(
        &mut served,
        method::GET_TABLE,
        SGID | NUMB,
        &PathRecord {
            numb_path: 1,
            ..between(&ends, 0, 0)
        },
    )
    .records();
    let ports = served.snapshot.topology.end_ports().count();
    assert_eq!(all.len(), ports);
}

#[test]
fn lids_are_paired_as_configured() {
    for (selection, expected) in [
        (PathSelection::Minimal, 4),
        (PathSelection::Pairwise, 4),
        (PathSelection::OrderAll, 16),
        (PathSelection::SrcDstAll, 16),
    ] {
        let (mut served, ends) = served(2, |settings| settings.paths.selection = selection);
        let record = PathRecord {
            p_key: PKey(0x8001),
            ..between(&ends, 0, 5)
        };
        let paths: Vec<PathRecord> =
            ask(&mut served, method::GET_TABLE, SGID | DGID | PKEY, &record).records();
        let mut pairs: Vec<(u16, u16)> = paths.iter().map(|path| (path.slid, path.dlid)).collect();
        assert_eq!(pairs.len(), expected, "{selection:?}");
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), expected, "{selection:?}: each once");
    }
}

#[test]
fn what_is_asked_for_is_met_or_nothing_comes() {
    let (mut served, ends) = served(0, |_| {});
    let record = between(&ends, 0, 1);
    let cases = [
        (
            MTU,
            PathRecord {
                mtu_selector: 2,
                mtu: Mtu(7),
                ..record
            },
            mad_status::OK,
        ),
        (
            MTU,
            PathRecord {
                mtu_selector: 1,
                mtu: Mtu(5),
                ..record
            },
            status::NO_RECORDS,
        ),
        (
            MTU,
            PathRecord {
                mtu_selector: 0,
                mtu: Mtu(5),
                ..record
            },
            mad_status::OK,
        ),
        (
            MTU,
            PathRecord {
                mtu_selector: 0,
                mtu: Mtu(7),
                ..record
            },
            status::REQ_INVALID,
        ),
        (
            MTU,
            PathRecord {
                mtu_selector: 3,
                ..record
            },
            mad_status::OK,
        ),
        (
            RATE,
            PathRecord {
                rate_selector: 0,
                rate: 9,
                ..record
            },
            mad_status::OK,
        ),
        (
            RATE,
            PathRecord {
                rate_selector: 2,
                rate: 9,
                ..record
            },
            status::NO_RECORDS,
        ),
        (
            RATE,
            PathRecord {
                rate_selector: 0,
                rate: 18,
                ..record
            },
            status::REQ_INVALID,
        ),
        (
            SL,
            PathRecord {
                sl: Sl(0),
                ..record
            },
            mad_status::OK,
        ),
        (
            SL,
            PathRecord {
                sl: Sl(3),
                ..record
            },
            status::NO_RECORDS,
        ),
        (
            PKEY,
            PathRecord {
                p_key: PKey(1),
                ..record
            },
            mad_status::OK,
        ),
        (
            PKEY,
            PathRecord {
                p_key: PKey(0x8002),
                ..record
            },
            status::REQ_INVALID,
        ),
        (
            SERVICE,
            PathRecord {
                service_id: 0x1234,
                ..record
            },
            mad_status::OK,
        ),
    ];
    for (mask, record, expected) in cases {
        let reply = ask(&mut served, method::GET, SGID | DGID | mask, &record);
        assert_eq!(reply.status, expected, "{mask:#x} {record:?}");
    }
}

#[test]
fn a_service_leads_to_its_virtual_fabric() {
    let (mut served, ends) = served(0, |settings| {
        let mut own = settings.fabrics[0].clone();
        own.name = "Storage".into();
        own.pkey = PKey(0x8007);
        own.sl = Sl(4);
        own.max_mtu = Some(Mtu(5));
        own.max_rate = Some(12);
        own.lifetime_increment = 2;
        own.qos_index = 1;
        own.applications = Default::default();
        own.applications.service_ids = vec![weft_config::ServiceId(0x55)];
        settings.fabrics.push(own);
    });
    let record = PathRecord {
        service_id: 0x55,
        ..between(&ends, 0, 1)
    };
    let reply = ask(&mut served, method::GET, SGID | DGID | SERVICE, &record);
    let path: PathRecord = reply.records()[0];
    assert_eq!(
        (path.p_key, path.sl, path.service_id),
        (PKey(0x8007), Sl(4), 0x55)
    );
    assert_eq!((path.mtu, path.rate, path.pkt_life_time), (Mtu(5), 12, 18));
    let other = PathRecord {
        service_id: 0x56,
        ..record
    };
    let reply = ask(&mut served, method::GET, SGID | DGID | SERVICE, &other);
    assert_eq!(reply.records::<PathRecord>()[0].p_key, PKey(0x8001));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (mut served, ends) = served(0, |_| {});
    let record = between(&ends, 0, 1);
    let foreign = Gid {
        prefix: 1,
        ..record.dgid
    };
    let nobody = gid(Guid(0x1234));
    for (method, mask, record, expected) in [
        (
            method::GET,
            DGID,
            record,
            status::REQ_INSUFFICIENT_COMPONENTS,
        ),
        (
            method::GET,
            SGID | DGID,
            PathRecord {
                sgid: nobody,
                ..record
            },
            status::REQ_INVALID_GID,
        ),
        (
            method::GET,
            SGID | DGID,
            PathRecord {
                sgid: gid(Guid(0)),
                ..record
            },
            status::REQ_INVALID_GID,
        ),
        (
            method::GET,
            SGID | DGID,
            PathRecord {
                dgid: nobody,
                ..record
            },
            status::NO_RECORDS,
        ),
        (
            method::GET,
            SGID | DGID,
            PathRecord {
                dgid: foreign,
                ..record
            },
            status::NO_RECORDS,
        ),
        (
            method::GET,
            SLID | DGID,
            PathRecord {
                slid: 0xBFFF,
                ..record
            },
            status::REQ_INVALID,
        ),
        (
            method::GET_TABLE,
            SGID | DGID | NUMB,
            record,
            status::REQ_INVALID,
        ),
        (
            method::SET,
            SGID | DGID,
            record,
            mad_status::UNSUPPORTED_METHOD_ATTRIB,
        ),
    ] {
        let reply = ask(&mut served, method, mask, &record);
        assert_eq!(reply.status, expected, "{mask:#x} {record:?}");
    }
    let stranger = Ask {
        ib: true,
        lid: Lid(0x900),
        ..Ask::new(method::GET, attribute::PATH_RECORD).with(SGID | DGID, &record)
    };
    assert_eq!(served.ask(&stranger).status, status::REQ_INVALID);
}

/// If destinations are spread over lanes the level of a path maps to the virtual lane of
/// its destination at every port, and so does the level of traffic to the manager.
#[test]
fn the_level_of_a_path_leads_to_the_lane_of_its_destination() {
    let mut served = Served::layered("torus:5x5");
    let ends = ends(&served);
    let snapshot = Arc::clone(&served.snapshot);
    let lanes = snapshot.linear.lanes();
    assert!(lanes.count() > 1, "{}", lanes.count());
    let entry = |at: PortRef, kind: PortTable, index: u8| {
        let table = snapshot.port_tables.table(at, kind).unwrap();
        table[usize::from(index)] & 0x1F
    };
    let (source, host) = snapshot.topology.hfis().next().unwrap();
    let source = PortRef {
        node: source,
        port: PortNum(1),
    };
    let all: Vec<PortRef> = snapshot
        .topology
        .links()
        .flat_map(|(a, b)| [a, b])
        .collect();
    let mut used = std::collections::BTreeSet::new();
    for to in 1..ends.guids.len() {
        let reply = ask(
            &mut served,
            method::GET,
            SGID | DGID,
            &between(&ends, 0, to),
        );
        let path: PathRecord = reply.records()[0];
        let sc = entry(source, PortTable::SlToSc, path.sl.0);
        for at in &all {
            let vl = entry(*at, PortTable::ScToVlt, sc);
            assert_eq!(vl, lanes.of(ends.lids[to]), "{at:?}");
        }
        used.insert(path.sl);
    }
    assert_eq!(used.len(), usize::from(lanes.count()));
    let info = host.port(PortNum(1)).unwrap().info;
    let sc = entry(source, PortTable::SlToSc, info.master_sm_sl.0);
    let vl = entry(source, PortTable::ScToVlt, sc);
    assert_eq!(vl, lanes.of(info.master_sm_lid));
}
