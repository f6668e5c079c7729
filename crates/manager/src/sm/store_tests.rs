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
        notes: Notes::from([
            noted(3, 17, "a bad cable: ü", Some(9)),
            noted(5, 1, "", None),
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
        successors: Successors::from([successor(4, "failed"), successor(5, "")]),
        isolation: KeptIsolation {
            offenders: vec![
                offender(2, ErrorRule::SymbolErrors, Some(Tick(1 << 61))),
                offender(4, ErrorRule::Discards, None),
                offender(6, ErrorRule::LinkQuality, None),
            ],
            taken: vec![Tick(1 << 60), Tick((1 << 60) + 1)],
        },
        term: 7,
    }
}

fn noted(node: u64, port: u8, reason: &str, far: Option<u64>) -> (End, Noted) {
    let called = |name: &str, is_switch| Called {
        name: name.to_owned(),
        is_switch,
    };
    let noted = Noted {
        since: Tick(1 << 60),
        note: PortNote {
            reason: reason.to_owned(),
            author: "root@head1".to_owned(),
            peer: "192.0.2.7:41".to_owned(),
        },
        near: called("edge1", true),
        far: far.map(|far| ((Guid(far), PortNum(1)), called("node9 hfi1_0", false))),
    };
    ((Guid(node), PortNum(port)), noted)
}

fn offender(node: u64, rule: ErrorRule, until: Option<Tick>) -> Offender {
    Offender {
        excess: LinkExcess {
            port: (Guid(node), PortNum(1)),
            far: (Guid(node + 1), PortNum(48)),
            rule,
            window: Duration::from_secs(720),
            measured: 900,
            limit: 742,
            bits: u64::MAX,
            is_over: true,
        },
        offences: 3,
        since: Tick(1 << 60),
        until,
        returned: Tick((1 << 60) + 5),
    }
}

fn by_hand(node: u64, comment: &str) -> (End, Placed) {
    let placed = Placed {
        since: Tick(7),
        comment: comment.to_owned(),
    };
    ((Guid(node), PortNum(1)), placed)
}

fn successor(old: u64, reason: &str) -> (Guid, Successor) {
    let successor = Successor {
        new: Guid(old + 0x100),
        since: Tick(1 << 50),
        reason: reason.to_owned(),
    };
    (Guid(old), successor)
}

fn bytes_of(kept: &Kept) -> Vec<u8> {
    let keep = Keep {
        lids: &kept.lids,
        drains: &kept.drains,
        disabled: &kept.disabled,
        notes: &kept.notes,
        quarantine: &kept.quarantine,
        by_hand: &kept.by_hand,
        successors: &kept.successors,
        isolation: &kept.isolation,
        term: kept.term,
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
        number(&now, 32, 4) as usize,
        number(&now, 36, 4) as usize,
        number(&now, 40, 4) as usize,
        number(&now, 44, 4) as usize * OFFENDER,
        number(&now, 48, 4) as usize * TIME,
        number(&now, 52, 4) as usize,
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
    let fifth = Kept { term: 0, ..kept() };
    assert_eq!(decode(&of_version(5, 9), SUBNET).unwrap(), fifth);
    assert_eq!(
        bytes_of(&fifth),
        of_version(5, 9),
        "programs before read it"
    );
    let fourth = Kept {
        notes: Notes::new(),
        ..fifth
    };
    assert_eq!(decode(&of_version(4, 8), SUBNET).unwrap(), fourth);
    let third = Kept {
        successors: Successors::new(),
        isolation: KeptIsolation::default(),
        ..fourth
    };
    assert_eq!(decode(&of_version(3, 5), SUBNET).unwrap(), third);
    let second = Kept {
        quarantine: BTreeMap::new(),
        by_hand: ByHand::default(),
        ..third
    };
    assert_eq!(decode(&of_version(2, 3), SUBNET).unwrap(), second);
    let first = Kept {
        disabled: Disabled::new(),
        ..second
    };
    assert_eq!(decode(&of_version(1, 2), SUBNET).unwrap(), first);
    let mut next = stored();
    next[11] = 7;
    assert_eq!(decode(&next, SUBNET), Err(StoreError::Version { found: 7 }));
    assert_eq!(written_by_newer(&next), Some((7, 6)));
}

#[test]
fn a_term_that_none_could_follow_is_refused() {
    for term in [TERM_MAX + 1, u64::MAX] {
        let last = Kept { term, ..kept() };
        let refused = decode(&bytes_of(&last), SUBNET);
        assert_eq!(refused, Err(StoreError::Term { term }));
    }
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
