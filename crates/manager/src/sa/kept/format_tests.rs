#![allow(clippy::unwrap_used)]

use super::*;

const PREFIX: u64 = 0xFE80_0000_0000_0000;

fn group(mgid: u64) -> Group {
    let gid = Gid {
        prefix: 0xFF12_401B_8001_0000,
        interface: Guid(mgid),
    };
    let member = Gid {
        prefix: PREFIX,
        interface: Guid(77),
    };
    let joined = Member {
        joined: Joined(9),
        proxy: true,
    };
    Group {
        mlid: 12,
        q_key: 0xB1B,
        mtu: Mtu(4),
        rate: 16,
        life: 17,
        sl: Sl(2),
        t_class: 3,
        flow_label: 0xF_FFFF,
        hop_limit: 5,
        creator: Guid(8),
        members: BTreeMap::from([(member, joined)]),
        ..Group::new(gid, PKey(0x8001))
    }
}

fn service(until: Option<Tick>) -> Service {
    Service {
        registrant: Guid(9),
        until,
        record: ServiceRecord {
            service_id: 7,
            service_key: [3; 16],
            ..ServiceRecord::default()
        },
    }
}

fn subscription() -> Subscription {
    Subscription {
        port: Guid(5),
        to: Requester {
            lid: Lid(6),
            served_lid: Lid(1),
            sl: Sl(1),
            pkey: PKey(0xFFFF),
            qp: 1,
        },
        form: Form::Ib,
        info: InformInfo {
            trap_number: 64,
            subscribe: 1,
            ..InformInfo::default()
        },
    }
}

fn encoded() -> Vec<u8> {
    let groups = [group(1), group(2)].map(|group| (group.mgid, group));
    let services = [service(None), service(Some(Tick(10_000_000_000)))];
    encode(
        PREFIX,
        Tick(4_000_000_000),
        3,
        &BTreeMap::from(groups),
        services.iter(),
        &[subscription()],
    )
}

#[test]
fn what_is_written_is_read_and_leases_go_on() {
    let kept = decode(&encoded(), PREFIX, Tick(1_000_000_000)).unwrap();
    assert_eq!(kept.named, 3);
    assert_eq!(kept.groups, [group(1), group(2)]);
    let later = service(Some(Tick(7_000_000_000)));
    assert_eq!(kept.services, [service(None), later]);
    assert_eq!(kept.subscriptions, [subscription()]);
}

#[test]
fn what_is_cut_damaged_or_foreign_is_refused() {
    let bytes = encoded();
    let refused = |bytes: &[u8]| decode(bytes, PREFIX, Tick(0)).unwrap_err();
    for len in 0..bytes.len() {
        refused(&bytes[..len]);
    }
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        refused(&damaged);
    }
    assert_eq!(refused(b""), KeptError::Foreign);
    let mut newer = bytes.clone();
    newer[11] = 2;
    assert_eq!(refused(&newer), KeptError::Version { found: 2 });
    let other = decode(&bytes, 1, Tick(0)).unwrap_err();
    let (found, expected) = (PREFIX, 1);
    assert_eq!(other, KeptError::Subnet { found, expected });
}

/// With the checksum that fits, as another program may have written it.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let content = bytes.len() - CHECKSUM;
    let checksum = crc32c::crc32c(&bytes[..content]);
    bytes[content..].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn values_that_cannot_be_are_refused_though_the_checksum_fits() {
    /// Offset of the number of groups, and of the MLID entry of the first.
    const GROUPS_AT: usize = 28;
    const ENTRY_AT: usize = 40 + 16;
    let mut many = encoded();
    many[GROUPS_AT] = 0xFF;
    let actual = many.len();
    let refused = decode(&signed(many), PREFIX, Tick(0)).unwrap_err();
    assert_eq!(refused, KeptError::Length { actual });
    let mut high = encoded();
    high[ENTRY_AT] = 0xFF;
    let refused = decode(&signed(high), PREFIX, Tick(0)).unwrap_err();
    assert!(refused.to_string().contains("a multicast LID"), "{refused}");
    let groups = BTreeMap::from([1, 2].map(|at| (group(at).mgid, group(1))));
    let nobody: [Service; 0] = [];
    let twice = encode(PREFIX, Tick(0), 0, &groups, nobody.iter(), &[]);
    let refused = decode(&twice, PREFIX, Tick(0)).unwrap_err();
    assert!(refused.to_string().contains("twice"), "{refused}");
}
