#![allow(clippy::unwrap_used)]
use super::*;

const SUBNET: u64 = 0xFE80;

fn kept() -> Kept {
    let lids = (0..5).map(|node| {
        let owner = (Guid(node), PortNum(1));
        (owner, Lid(2 * (node as u32 + 1)), Lmc(1))
    });
    Kept {
        lids: LidMap::from_entries(lids),
        drains: Drains::from([Drain::Switch(Guid(7)), Drain::Link(Guid(3), PortNum(255))]),
        disabled: Disabled::from([
            ((Guid(9), PortNum(1)), (Guid(3), PortNum(17))),
            ((Guid(3), PortNum(17)), (Guid(3), PortNum(17))),
        ]),
        crossings: Crossings::from([(Guid(4), PortNum(2)), (Guid(5), PortNum(3))]),
    }
}

fn bytes_of(kept: &Kept) -> Vec<u8> {
    let sections = (&kept.lids, &kept.drains, &kept.disabled, &kept.crossings);
    encode(sections, SUBNET)
}

fn stored() -> Vec<u8> {
    bytes_of(&kept())
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    assert_eq!(decode(&stored(), SUBNET).unwrap(), kept());
    let nothing = Kept::default();
    let bytes = bytes_of(&nothing);
    assert_eq!(decode(&bytes, SUBNET).unwrap(), nothing);
}

/// The format of an older version for what it has of [`kept`].
fn of_version(version: u8) -> Vec<u8> {
    let now = stored();
    let kept = kept();
    let lost = [kept.disabled.len() * PORT, kept.crossings.len() * CROSSING];
    let sections = usize::from(version) + 1;
    let lost: usize = lost[sections - 2..].iter().sum();
    let header = PREFIX + sections * 4;
    let content = &now[PREFIX + SECTIONS.len() * 4..now.len() - CHECKSUM - lost];
    let mut then = [&now[..8], &[0, 0, 0, version], &now[12..header], content].concat();
    let checksum = crc32c::crc32c(&then);
    then.extend_from_slice(&checksum.to_be_bytes());
    then
}

#[test]
fn the_versions_before_are_read() {
    let second = Kept {
        crossings: Crossings::new(),
        ..kept()
    };
    assert_eq!(decode(&of_version(2), SUBNET).unwrap(), second);
    let first = Kept {
        disabled: Disabled::new(),
        ..second
    };
    assert_eq!(decode(&of_version(1), SUBNET).unwrap(), first);
    let mut next = stored();
    next[11] = 4;
    assert_eq!(decode(&next, SUBNET), Err(StoreError::Version { found: 4 }));
}

#[test]
fn what_is_not_whole_is_refused() {
    let good = stored();
    for len in 0..good.len() {
        assert!(decode(&good[..len], SUBNET).is_err(), "{len} bytes");
    }
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&bad, SUBNET).is_err(), "bit {bit}");
    }
    assert!(matches!(decode(b"hello", 0), Err(StoreError::Foreign)));
    assert!(matches!(
        decode(&good, 1),
        Err(StoreError::Subnet {
            found: SUBNET,
            expected: 1
        })
    ));
}
