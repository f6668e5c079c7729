//! The oracles object to what is broken on purpose.

#![allow(clippy::unwrap_used)]

use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Lmc};
use weft_lab::oracle::drained::{Part, Spare};
use weft_lab::oracle::{
    Breach, Invariant, choices, deadlock, drained, lids, multicast, partitions, reach,
};
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
            checks: (false, false),
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
        adaptive: Vec::new(),
        mft: Vec::new(),
        keys: Vec::new(),
    };
    let host = |s: usize| NodeView {
        guid: Guid(100 + s as u64),
        switch: false,
        ports: vec![None, port(1 + s as u32, Some((s, 3)))],
        lft: Vec::new(),
        adaptive: Vec::new(),
        mft: Vec::new(),
        keys: Vec::new(),
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

/// A ring of three whose row 0 runs along a line: switch 0 to 1 to 2, with a host on each.
fn line() -> FabricView {
    let mut view = ring(3);
    for (switch, ports) in [vec![1, 3], vec![1, 2, 3], vec![2, 3]]
        .into_iter()
        .enumerate()
    {
        view.nodes[switch].mft = vec![ports];
    }
    view
}

fn group() -> multicast::Group {
    multicast::Group {
        row: 0,
        receivers: vec![Guid(100), Guid(101), Guid(102)],
        senders: Vec::new(),
    }
}

#[test]
fn multicast_that_arrives_once_has_no_breach() {
    let view = line();
    assert_eq!(multicast::check_loops(&view), []);
    assert_eq!(multicast::check_delivery(&view, 0, &[group()]), []);
}

#[test]
fn multicast_that_goes_astray_is_reported() {
    // Beyond the line: the cable that closes the ring.
    let mut view = line();
    view.nodes[2].mft[0].push(1);
    view.nodes[0].mft[0].push(2);
    assert_eq!(
        broken(&multicast::check_loops(&view)),
        [Invariant::LoopFree]
    );
    // A switch that leaves a host, or a neighbour, out.
    for port in [1, 3] {
        let mut view = line();
        view.nodes[0].mft[0].retain(|other| *other != port);
        let breaches = multicast::check_delivery(&view, 0, &[group()]);
        assert_eq!(broken(&breaches), [Invariant::Reachable], "port {port}");
    }
    // A host that is no member, and a row without a group.
    let mut fewer = group();
    fewer.receivers.pop();
    let breaches = multicast::check_delivery(&line(), 0, &[fewer]);
    assert_eq!(broken(&breaches), [Invariant::Reachable]);
    let breaches = multicast::check_delivery(&line(), 0, &[]);
    assert_eq!(broken(&breaches), [Invariant::TablesAsIntended]);
}

/// A pair whose hosts have the management key, with ports that check it.
fn checked() -> FabricView {
    let mut view = pair();
    for node in &mut view.nodes {
        let ports = node.ports.len();
        node.keys = vec![vec![0x7FFF]; ports];
        if let Some(port) = node.ports.get_mut(3).and_then(Option::as_mut) {
            port.checks = (true, true);
        }
    }
    view
}

#[test]
fn ports_that_let_too_much_through_are_reported() {
    let secured = |full: &[u64]| partitions::Secured {
        key: 5,
        full: full.iter().map(|guid| Guid(*guid)).collect(),
        limited: std::collections::BTreeSet::new(),
    };
    assert_eq!(partitions::check(&checked(), 0, &[secured(&[])]), []);
    let breaks: [fn(&mut FabricView); 4] = [
        |view| {
            view.nodes[0].ports[3]
                .as_mut()
                .into_iter()
                .for_each(|port| port.checks.1 = false)
        },
        |view| {
            view.nodes[0].ports[1]
                .as_mut()
                .into_iter()
                .for_each(|port| port.checks.0 = true)
        },
        |view| view.nodes[0].keys[3].push(0x8005),
        |view| {
            view.nodes[0].keys[3].push(5);
            view.nodes[2].keys[1].push(5);
        },
    ];
    for (index, change) in breaks.iter().enumerate() {
        let mut view = checked();
        change(&mut view);
        let breaches = partitions::check(&view, 0, &[secured(&[])]);
        assert_eq!(broken(&breaches), [Invariant::Isolated], "{index}");
    }
    let breaches = partitions::check(&checked(), 0, &[secured(&[100])]);
    assert_eq!(broken(&breaches), [Invariant::Isolated]);
}

#[test]
fn what_leads_over_a_drained_part_is_seen() {
    let mut view = ring(4);
    // Everything goes one way round.
    let link = Part::Link(Guid(1), 1);
    assert_eq!(
        broken(&drained::check(&view, 0, link)),
        [Invariant::Drained]
    );
    assert_eq!(drained::can_spare(&view, 0, &[link]), Spare::Yes);
    let two = [link, Part::Link(Guid(3), 1)];
    assert_eq!(drained::can_spare(&view, 0, &two), Spare::No);
    let switch = [Part::Switch(Guid(2))];
    assert_eq!(drained::can_spare(&view, 0, &switch), Spare::No);
    // Routes along a line, which do not need the link from the last switch to the first.
    for target in 0..4 {
        for s in (0..4).filter(|s| *s != target) {
            let port = if s > target { 2 } else { 1 };
            view.nodes[s].lft[1 + target] = port;
            view.nodes[s].lft[5 + target] = port;
        }
    }
    let last = Part::Link(Guid(4), 1);
    assert_eq!(drained::check(&view, 0, last), []);
    let mut chooses = view.clone();
    chooses.nodes[0].adaptive = vec![Vec::new(), Vec::new(), vec![2]];
    assert_eq!(
        broken(&drained::check(&chooses, 0, last)),
        [Invariant::Drained]
    );
    let mut pulled = view.clone();
    pulled.nodes[0].ports[2].as_mut().unwrap().peer = None;
    pulled.nodes[3].ports[1].as_mut().unwrap().peer = None;
    assert_eq!(drained::check_pulled(&view, &pulled, 0, None), []);
    pulled.nodes[1].lft[1] = 0xFF;
    let lost = drained::check_pulled(&view, &pulled, 0, None);
    assert_eq!(broken(&lost), [Invariant::Drained]);
}

/// Lets a switch choose among ports for a LID.
fn choose(view: &mut FabricView, switch: usize, lid: usize, ports: &[u8]) {
    let node = &mut view.nodes[switch];
    node.adaptive.resize(node.lft.len(), Vec::new());
    node.adaptive[lid] = ports.to_vec();
}

#[test]
fn what_adaptive_switches_may_choose_is_followed() {
    let mut view = pair();
    // Two cables between the two switches: either does.
    choose(&mut view, 0, 2, &[1, 2]);
    assert_eq!(choices::check(&view, 0), []);
    // A port that leads back.
    choose(&mut view, 1, 2, &[1, 3]);
    assert_eq!(broken(&choices::check(&view, 0)), [Invariant::LoopFree]);
    assert_eq!(reach::check_loops(&view), []);
    // A host that the LID is not of.
    let mut view = pair();
    choose(&mut view, 0, 2, &[1, 3]);
    assert_eq!(broken(&choices::check(&view, 0)), [Invariant::Reachable]);
    // A port without a link is no choice.
    view.nodes[0].ports[3].as_mut().unwrap().peer = None;
    assert_eq!(choices::check(&view, 0), []);
}

#[test]
fn a_ring_deadlocks_as_soon_as_switches_may_go_round_it() {
    // Each to its neighbours the shorter way.
    let mut view = ring(4);
    for switch in 0..4 {
        view.nodes[switch].lft[1 + (switch + 3) % 4] = 2;
    }
    let across = |view: &mut FabricView, switch: usize| {
        let lid = 1 + (switch + 2) % 4;
        view.nodes[switch].lft[lid] = 2;
        choose(view, switch, lid, &[1, 2]);
    };
    // From 0 either way, from 1 by port 2, from 2 and 3 by port 1: no ring.
    across(&mut view, 0);
    for switch in [1, 2, 3] {
        view.nodes[switch].lft[1 + (switch + 2) % 4] = if switch == 1 { 2 } else { 1 };
    }
    let ring_of = |view: &FabricView| broken(&deadlock::check(view));
    let before = ring_of(&view);
    (1..4).for_each(|switch| across(&mut view, switch));
    assert_eq!(
        (before, ring_of(&view)),
        (vec![], vec![Invariant::DeadlockFree])
    );
}
