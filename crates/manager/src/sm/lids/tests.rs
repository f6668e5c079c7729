#![allow(clippy::unwrap_used)]
use super::*;

const HIGHEST: Lid = Lid::MAX_UNICAST_16;

fn port(guid: u64, lmc: u8) -> EndPort {
    EndPort {
        owner: (Guid(guid), PortNum(1)),
        lmc: Lmc(lmc),
        reported: Some(Lid(0)),
        wish: Wish::Any,
    }
}

fn ports(guids: std::ops::Range<u64>, lmc: u8) -> Vec<EndPort> {
    guids.map(|guid| port(guid, lmc)).collect()
}

fn numbers(lids: &[Lid]) -> Vec<u32> {
    lids.iter().map(|lid| lid.0).collect()
}

#[test]
fn lids_are_dense_aligned_and_kept() {
    for (lmc, expected) in [(0, vec![1, 2, 3]), (2, vec![4, 8, 12])] {
        let mut map = LidMap::default();
        let first = map.assign(&ports(0..3, lmc), HIGHEST);
        assert_eq!(numbers(&first), expected);
        assert_eq!(map.assign(&ports(0..3, lmc), HIGHEST), first);
        let reversed: Vec<_> = ports(0..3, lmc).into_iter().rev().collect();
        let mut again = map.assign(&reversed, HIGHEST);
        again.reverse();
        assert_eq!(again, first);
    }
}

#[test]
fn preference_is_prescribed_remembered_reported_free() {
    let mut map = LidMap::default();
    map.assign(&ports(1..3, 0), HIGHEST);
    let mut list = ports(1..5, 0);
    list[0].reported = Some(Lid(40)); // remembered as 1
    list[2].reported = Some(Lid(9));
    list[3].wish = Wish::Before(Lid(2)); // takes the LID of node 2
    assert_eq!(numbers(&map.assign(&list, HIGHEST)), [1, 3, 9, 2]);
}

#[test]
fn reported_lids_that_overlap_or_are_not_aligned_are_refused() {
    let mut map = LidMap::default();
    let mut list = ports(0..4, 2);
    list[0].reported = Some(Lid(8));
    list[1].reported = Some(Lid(8));
    list[2].reported = Some(Lid(10));
    list[3].reported = Some(Lid(0xFFFF_FFF0));
    assert_eq!(numbers(&map.assign(&list, HIGHEST)), [8, 4, 12, 16]);
}

#[test]
fn a_port_that_is_not_known_gets_none_before_it_has_been_read() {
    let mut map = LidMap::default();
    let mut list = ports(0..3, 0);
    list[1].reported = None;
    assert_eq!(numbers(&map.assign(&list, HIGHEST)), [1, 0, 2]);
    list[1].reported = Some(Lid(3));
    assert_eq!(numbers(&map.assign(&list, HIGHEST)), [1, 3, 2]);
    list[1].reported = None;
    assert_eq!(
        numbers(&map.assign(&list, HIGHEST)),
        [1, 3, 2],
        "remembered"
    );
}

#[test]
fn the_gone_keep_their_lids_until_space_runs_out_oldest_first() {
    let mut map = LidMap::default();
    map.assign(&ports(0..4, 0), Lid(4));
    map.assign(&ports(1..4, 0), Lid(4)); // 0 gone
    map.assign(&ports(2..4, 0), Lid(4)); // 1 gone later
    let lids = map.assign(&[port(2, 0), port(3, 0), port(9, 0)], Lid(4));
    assert_eq!(numbers(&lids), [3, 4, 1], "node 0 was gone longest");
    let back = map.assign(&[port(1, 0), port(2, 0), port(3, 0), port(9, 0)], Lid(4));
    assert_eq!(numbers(&back), [2, 3, 4, 1]);
    let full = map.assign(&ports(0..6, 0), Lid(4));
    assert_eq!(full.iter().filter(|lid| lid.0 == 0).count(), 2);
}

#[test]
fn another_lmc_moves_only_what_must_move() {
    let mut map = LidMap::default();
    assert_eq!(
        numbers(&map.assign(&ports(0..8, 0), HIGHEST)),
        [1, 2, 3, 4, 5, 6, 7, 8]
    );
    let wide = map.assign(&ports(0..8, 2), HIGHEST);
    assert_eq!((wide[3], wide[7]), (Lid(4), Lid(8)));
    let mut bases = numbers(&wide);
    bases.sort_unstable();
    bases.dedup();
    assert_eq!(bases.len(), 8);
    assert!(bases.iter().all(|base| base % 4 == 0));
}
