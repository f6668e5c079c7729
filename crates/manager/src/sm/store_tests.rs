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
    }
}

fn bytes_of(kept: &Kept) -> Vec<u8> {
    encode((&kept.lids, &kept.drains, &kept.disabled), SUBNET)
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

/// The format of version 1 for the LIDs and drains of [`kept`].
fn of_version_1() -> Vec<u8> {
    let now = stored();
    let sections = now.len() - CHECKSUM - kept().disabled.len() * PORT;
    let mut then = [&now[..8], &[0, 0, 0, 1], &now[12..28], &now[32..sections]].concat();
    let checksum = crc32c::crc32c(&then);
    then.extend_from_slice(&checksum.to_be_bytes());
    then
}

#[test]
fn the_version_before_is_read() {
    let kept = Kept {
        disabled: Disabled::new(),
        ..kept()
    };
    assert_eq!(decode(&of_version_1(), SUBNET).unwrap(), kept);
    let mut next = stored();
    next[11] = 3;
    assert_eq!(decode(&next, SUBNET), Err(StoreError::Version { found: 3 }));
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
