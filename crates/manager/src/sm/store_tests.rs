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
    }
}

fn stored() -> Vec<u8> {
    let Kept { lids, drains } = kept();
    encode(&lids, &drains, SUBNET)
}

#[test]
fn what_is_kept_comes_back_as_it_was() {
    assert_eq!(decode(&stored(), SUBNET).unwrap(), kept());
    let nothing = Kept::default();
    let bytes = encode(&nothing.lids, &nothing.drains, SUBNET);
    assert_eq!(decode(&bytes, SUBNET).unwrap(), nothing);
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
