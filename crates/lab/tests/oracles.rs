//! The oracles object to what is broken on purpose.

use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Lmc};
use weft_lab::oracle::{Breach, Invariant, deadlock, lids, reach};
use weft_lab::view::{FabricView, NodeView, PortView};

/// Switches in a ring, one host on port 3 of each; port 1 goes to the next switch, port 2 to the one
/// before. Hosts have LIDs 1 to n, switches n + 1 to 2n; switch s is node s, its host node n + s.
fn ring(n: usize) -> FabricView {
    let port = |lid: u32, peer| {
        Some(PortView {
            lid: Lid(lid),
            lmc: Lmc(0),
            state: PortState::ACTIVE,
            peer,
        })
    };
    let switch = |s: usize| NodeView {
        guid: Guid(1 + s as u64),
        switch: true,
        ports: vec![
            port((n + 1 + s) as u32, None),
            port(0, Some(((s + 1) % n, 2))),
            port(0, Some(((s + n - 1) % n, 1))),
            port(0, Some((n + s, 1))),
        ],
        lft: vec![0xFF; 2 * n + 1],
    };
    let host = |s: usize| NodeView {
        guid: Guid(100 + s as u64),
        switch: false,
        ports: vec![None, port(1 + s as u32, Some((s, 3)))],
        lft: Vec::new(),
    };
    let mut view = FabricView {
        nodes: (0..n).map(switch).chain((0..n).map(host)).collect(),
    };
    for s in 0..n {
        for target in 0..n {
            let (host, own) = (1 + target, n + 1 + target);
            let egress = if s == target { [3, 0] } else { [1, 1] };
            view.nodes[s].lft[host] = egress[0];
            view.nodes[s].lft[own] = egress[1];
        }
    }
    view
}

/// Two switches: whatever is routed there has no ring to close.
fn pair() -> FabricView {
    ring(2)
}

fn broken(breaches: &[Breach]) -> Vec<Invariant> {
    let mut kinds: Vec<Invariant> = breaches.iter().map(|breach| breach.invariant).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_sound_pair_has_no_breach() {
    let view = pair();
    assert_eq!(reach::check_reachable(&view, 0), []);
    assert_eq!(reach::check_loops(&view), []);
    assert_eq!(deadlock::check(&view), []);
    assert_eq!(lids::check(&view, 0), []);
}

#[test]
fn a_ring_routed_one_way_round_can_deadlock() {
    let view = ring(4);
    assert_eq!(reach::check_reachable(&view, 0), []);
    assert_eq!(broken(&deadlock::check(&view)), [Invariant::DeadlockFree]);
}

#[test]
fn a_missing_entry_is_unreachable_and_no_loop() {
    let mut view = pair();
    view.nodes[0].lft[2] = 0xFF;
    assert_eq!(
        broken(&reach::check_reachable(&view, 0)),
        [Invariant::Reachable]
    );
    assert_eq!(reach::check_loops(&view), []);
}

#[test]
fn a_port_that_is_not_active_is_reported() {
    let mut view = pair();
    if let Some(port) = view.nodes[1].ports[3].as_mut() {
        port.state = PortState::ARMED;
    }
    let breaches = reach::check_reachable(&view, 0);
    assert_eq!(broken(&breaches), [Invariant::Reachable]);
    assert!(breaches[0].what.contains("Armed"), "{}", breaches[0]);
}

#[test]
fn two_switches_that_send_a_lid_to_each_other_loop() {
    let mut view = ring(3);
    view.nodes[0].lft[3] = 1;
    view.nodes[1].lft[3] = 2;
    assert_eq!(broken(&reach::check_loops(&view)), [Invariant::LoopFree]);
}

#[test]
fn lids_must_be_given_unique_aligned_and_stable() {
    let cases: [(Lid, Lmc); 3] = [(Lid(0), Lmc(0)), (Lid(2), Lmc(0)), (Lid(1), Lmc(1))];
    for (lid, lmc) in cases {
        let mut view = pair();
        if let Some(port) = view.nodes[2].ports[1].as_mut() {
            (port.lid, port.lmc) = (lid, lmc);
        }
        assert_eq!(
            broken(&lids::check(&view, 0)),
            [Invariant::LidsInOrder],
            "{lid} {lmc}"
        );
    }
    let before = lids::by_guid(&pair());
    let mut after = before.clone();
    after.insert(Guid(100), Lid(9));
    assert_eq!(
        broken(&lids::check_stable(&before, &after)),
        [Invariant::LidsInOrder]
    );
    assert_eq!(lids::check_stable(&before, &before), []);
}
