#![allow(clippy::unwrap_used)]
use super::super::flapping::KEPT_LOSSES_MAX;
use super::super::quarantine::COMMENT_MAX;
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
        quarantine: BTreeMap::from([(
            (Guid(3), PortNum(4)),
            Sentence {
                count: 25,
                since: Tick(1 << 60),
                until: Tick((1 << 60) + 900),
                losses: (0..KEPT_LOSSES_MAX as u64).map(Tick).collect(),
            },
        )]),
        by_hand: ByHand(BTreeMap::from([
            by_hand(8, ""),
            by_hand(9, &"ü".repeat(COMMENT_MAX / 2)),
        ])),
    }
}

fn by_hand(node: u64, comment: &str) -> (End, Placed) {
    let placed = Placed {
        since: Tick(7),
        comment: comment.to_owned(),
    };
    ((Guid(node), PortNum(1)), placed)
}

fn bytes_of(kept: &Kept) -> Vec<u8> {
    let keep = Keep {
        lids: &kept.lids,
        drains: &kept.drains,
        disabled: &kept.disabled,
        quarantine: &kept.quarantine,
        by_hand: &kept.by_hand,
    };
    encode(keep, SUBNET)
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

/// The format of an earlier version, with a header and a number of sections of its own, for what it has of [`kept`].
fn of_version(version: u8, sections: usize) -> Vec<u8> {
    let now = stored();
    let kept = kept();
    let lens = [
        kept.lids.entries().len() * LID,
        kept.drains.len() * DRAIN,
        kept.disabled.len() * PORT,
    ];
    let content: usize = lens.iter().take(sections).sum();
    let (sizes, begin) = (&now[12..20 + 4 * sections], 20 + 4 * UNITS.len());
    let mut then = [
        &now[..8],
        &[0, 0, 0, version],
        sizes,
        &now[begin..begin + content],
    ]
    .concat();
    let checksum = crc32c::crc32c(&then);
    then.extend_from_slice(&checksum.to_be_bytes());
    then
}

#[test]
fn the_versions_before_are_read() {
    let second = Kept {
        quarantine: BTreeMap::new(),
        by_hand: ByHand::default(),
        ..kept()
    };
    assert_eq!(decode(&of_version(2, 3), SUBNET).unwrap(), second);
    let first = Kept {
        disabled: Disabled::new(),
        ..second
    };
    assert_eq!(decode(&of_version(1, 2), SUBNET).unwrap(), first);
    let mut next = stored();
    next[11] = 4;
    assert_eq!(decode(&next, SUBNET), Err(StoreError::Version { found: 4 }));
    assert_eq!(written_by_newer(&next), Some((4, 3)));
}

#[test]
fn a_list_of_quarantine_that_ends_within_an_entry_is_refused() {
    let good = stored();
    let by_hand = number(&good, 36, 4) as u32;
    let quarantine = number(&good, 32, 4) as u32;
    // The border between both lists is moved.
    for moved in [1, 9, 30] {
        let mut bad = good[..good.len() - CHECKSUM].to_vec();
        bad[32..36].copy_from_slice(&(quarantine - moved).to_be_bytes());
        bad[36..40].copy_from_slice(&(by_hand + moved).to_be_bytes());
        let checksum = crc32c::crc32c(&bad);
        bad.extend_from_slice(&checksum.to_be_bytes());
        assert_eq!(decode(&bad, SUBNET), Err(StoreError::Quarantine), "{moved}");
    }
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
