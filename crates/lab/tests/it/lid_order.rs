//! The order of LIDs.

use std::collections::BTreeSet;

use weft_dataplane::packets::Random;
use weft_fabric::PortNum;
use weft_lab::experiment::{Scenario, perform_all, stage};

/// Four hosts on each of four edge switches, four switches above.
const HEAD: &str = "fabric pgft:2;4,4;1,4;1,1\n";

/// The base LIDs of all hosts, in the order of the fabric.
fn lids(text: &str, seed: u64) -> Vec<u32> {
    let scenario: Scenario = format!("{HEAD}traffic bisection\n{text}").parse().unwrap();
    let staged = stage::set(&scenario.cases[0], seed).unwrap();
    let network = staged.network();
    let hosts = network.topology().hfis();
    let ports = hosts.filter_map(|(id, _)| network.device(id)?.port(PortNum(1)));
    ports.map(|port| network.port(port).info().lid.0).collect()
}

#[test]
fn lids_are_drawn_by_the_seed_and_kept_by_the_manager() {
    let rising = |lids: &[u32]| lids.is_sorted();
    let ordered = lids("", 1);
    assert_eq!(ordered, lids("lid-order discovery", 2));
    assert!(rising(&ordered), "{ordered:?}");
    for lmc in [0, 2] {
        let text = format!("lmc {lmc}\nlid-order random");
        let (one, two) = (lids(&text, 1), lids(&text, 2));
        assert_eq!(one, lids(&text, 1));
        assert_ne!(one, two);
        let wanted: BTreeSet<u32> = (1..=16).map(|place| place << lmc).collect();
        assert_eq!(one.iter().copied().collect::<BTreeSet<_>>(), wanted);
        assert!(!rising(&one), "{one:?}");
    }
}

/// Neither the hosts that are drawn nor the ranks that are placed at random go by LIDs.
#[test]
fn lids_are_drawn_apart_from_hosts() {
    let mut hosts: Vec<usize> = (0..16).collect();
    Random::new(1).shuffle(&mut hosts);
    let lids = lids("lid-order random", 1);
    let of_drawn: Vec<u32> = hosts.iter().map(|host| lids[*host]).collect();
    assert!(!of_drawn.is_sorted(), "{of_drawn:?}");
}

/// Hosts that all send to the next switch use each uplink once where routes to consecutive LIDs take turns; with LIDs
/// in any order `shortestpath`, which goes by LIDs, lets some share one. `dmodc` goes by the places of hosts.
#[test]
fn a_shift_suffers_from_lids_in_any_order_where_routes_go_by_them() {
    let text = format!(
        "{HEAD}traffic shift by=4 bytes=8256 span=50us\n\
         case ordered\nengine shortestpath\ncase random\nengine shortestpath\nlid-order random\n\
         case dmodc, ordered\nengine dmodc\ncase dmodc, random\nengine dmodc\nlid-order random\n"
    );
    let scenario: Scenario = text.parse().unwrap();
    let outcomes = perform_all(&scenario, 1, |_, _| {}).unwrap();
    let accepted: Vec<f64> = outcomes
        .iter()
        .map(|one| one.get("accepted").unwrap().value)
        .collect();
    let [ordered, random, dmodc, dmodc_random] = accepted[..] else {
        panic!("{accepted:?}");
    };
    assert!(ordered > 99.0 && random < 90.0, "{accepted:?}");
    assert!(dmodc > 99.0, "{accepted:?}");
    assert!((dmodc_random - dmodc).abs() < 0.5, "{accepted:?}");
}

#[test]
fn another_order_is_refused() {
    let error = "lid-order guid".parse::<Scenario>().unwrap_err();
    assert!(
        error
            .what
            .contains("unknown order \"guid\", allowed: discovery, random"),
        "{error}"
    );
}
