//! The oracles object to deliberately broken fabrics.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use weft_dataplane::Device;
use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_emulator::observe::SetDone;
use weft_fabric::enums::PortState;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, LinearTables, Lmc, NodeId, PortNum, Sl, Snapshot, Tick};
use weft_manager::io::Event;
use weft_manager::sm::Settings;
use weft_testkit::cluster::Cluster;
use weft_testkit::door::Door;
use weft_testkit::oracle::drained::{Part, Spare};
use weft_testkit::oracle::loops::Circles;
use weft_testkit::oracle::masters::{self, Write};
use weft_testkit::oracle::storm::{self, Budget, Clean};
use weft_testkit::oracle::{
    Breach, Invariant, choices, deadlock, drained, kept, levels, lids, multicast, pairs,
    partitions, published, reach,
};
use weft_testkit::view::channels::{Crossings, LANE_15};
use weft_testkit::view::{self, Channels, FabricView, NodeView, PortView};
use weft_testkit::{NoTap, Wait, World};
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::{DirectedRoute, Smp};

/// Switches in a ring, one host on port 3 of each; port 1 goes to the next switch, port 2 to the one
/// before. Hosts have LIDs 1 to n, switches n + 1 to 2n; switch s is node s, its host node n + s.
pub(crate) fn ring(n: usize) -> FabricView {
    let port = |lid: u32, peer| {
        Some(PortView {
            lid: Lid(lid),
            lmc: Lmc(0),
            state: PortState::ACTIVE,
            peer,
            checks: (false, false),
            permitted: true,
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
        channels: Channels::single_lane(4),
    };
    let host = |s: usize| NodeView {
        guid: Guid(100 + s as u64),
        switch: false,
        ports: vec![None, port(1 + s as u32, Some((s, 3)))],
        lft: Vec::new(),
        adaptive: Vec::new(),
        mft: Vec::new(),
        keys: Vec::new(),
        channels: Channels::single_lane(2),
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

pub(crate) fn broken(breaches: &[Breach]) -> Vec<Invariant> {
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

/// A host behind a cable with too few lanes need not be reached, its port not be active.
#[test]
fn a_link_that_the_policy_refuses_is_no_way() {
    let mut view = pair();
    view.nodes[0].lft[2] = 0xFF;
    for (node, port) in [(1, 3), (3, 1)] {
        let port = view.nodes[node].ports[port].as_mut().unwrap();
        (port.permitted, port.state) = (false, PortState::INIT);
    }
    assert_eq!(view.connected(0), [true, true, true, true]);
    assert_eq!(view.served(0), [true, true, true, false]);
    assert_eq!(reach::check_reachable(&view, 0), []);
    assert_eq!(lids::check(&view, 0), []);
}

#[test]
fn what_the_policy_refuses_is_seen_in_registers() {
    let spec: FabricSpec = "one-switch:4".parse().unwrap();
    let topology = Arc::new(spec.generate().unwrap());
    let (a, _) = topology.links().next().unwrap();
    let cable = topology.node(a.node).unwrap().guid();
    let mut world = World::new(topology, Options::default(), Settings::default(), NoTap).unwrap();
    let (node, port) = (cable, a.port);
    for (lanes, refused) in [(4, 0), (3, 0), (2, 2)] {
        world
            .control(Control::LinkLanes { node, port, lanes })
            .unwrap();
        let view = view::read(world.emulator.network());
        let ends = view.nodes.iter().flat_map(NodeView::external);
        let up = ends.filter(|(_, end)| end.peer.is_some());
        assert_eq!(
            up.filter(|(_, end)| !end.permitted).count(),
            refused,
            "{lanes} lanes"
        );
    }
}

/// A manager that begins by emptying tables ends before it has filled them again.
#[test]
fn a_way_that_a_dead_manager_has_taken_away_is_reported() {
    let spec: FabricSpec = "pgft:2;2,4;1,3;1,2".parse().unwrap();
    let topology = Arc::new(spec.generate().unwrap());
    let mut world = World::new(topology, Options::default(), Settings::default(), NoTap).unwrap();
    let ended = world.bring_up(Duration::from_secs(60)).unwrap();
    assert_eq!(ended, Wait::Done);
    let before = view::read(world.emulator.network());
    world.restart(Settings::default()).unwrap();
    assert_eq!(world.bring_up(Duration::from_secs(60)).unwrap(), Wait::Done);
    let after = view::read(world.emulator.network());
    assert_eq!(kept::check(&before, &after, 0), []);
    let network = world.emulator.network_mut();
    let switches = network.topology().switches().to_vec();
    let emptied = network.switch_mut(switches[0]).unwrap();
    emptied.set_linear_block(0, &[0xFF; 64]).unwrap();
    let after = view::read(world.emulator.network());
    let breaches = kept::check(&before, &after, 0);
    assert_eq!(broken(&breaches), [Invariant::KeepsForwarding]);
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
    // Everything goes in one direction.
    let link = Part::Link(Guid(1), 1);
    assert_eq!(
        broken(&drained::check(&view, 0, link, |_| true)),
        [Invariant::Drained]
    );
    let only_others = |guid| guid != Guid(1) && guid != Guid(2);
    assert_eq!(drained::check(&view, 0, link, only_others), []);
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
    assert_eq!(drained::check(&view, 0, last, |_| true), []);
    let mut chooses = view.clone();
    chooses.nodes[0].adaptive = vec![Vec::new(), Vec::new(), vec![2]];
    assert_eq!(
        broken(&drained::check(&chooses, 0, last, |_| true)),
        [Invariant::Drained]
    );
    let mut pulled = view.clone();
    pulled.nodes[0].ports[2].as_mut().unwrap().peer = None;
    pulled.nodes[3].ports[1].as_mut().unwrap().peer = None;
    assert_eq!(drained::check_pulled(&view, &pulled, 0, None), []);
    pulled.nodes[1].lft[1] = 0xFF;
    let lost = drained::check_pulled(&view, &pulled, 0, None);
    assert_eq!(broken(&lost), [Invariant::Pulled]);
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
    // Each to its neighbours in the shorter direction.
    let mut view = ring(4);
    for switch in 0..4 {
        view.nodes[switch].lft[1 + (switch + 3) % 4] = 2;
    }
    let across = |view: &mut FabricView, switch: usize| {
        let lid = 1 + (switch + 2) % 4;
        view.nodes[switch].lft[lid] = 2;
        choose(view, switch, lid, &[1, 2]);
    };
    // From 0 in both directions, from 1 by port 2, from 2 and 3 by port 1: no ring.
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

/// A pair on which level 3 alone leads anywhere: all other channels to lane 15.
fn one_level() -> (FabricView, BTreeSet<Sl>) {
    let mut view = pair();
    for node in &mut view.nodes {
        for lanes in &mut node.channels.sc_to_vl {
            *lanes = [LANE_15; 32];
            lanes[3] = 1;
        }
    }
    (view, BTreeSet::from([Sl(3)]))
}

#[test]
fn each_level_arrives_where_it_is_used_and_nowhere_else() {
    let (view, used) = one_level();
    assert_eq!(levels::check(&view, 0, &used), []);
    let more = BTreeSet::from([Sl(3), Sl(4)]);
    assert_eq!(
        broken(&levels::check(&view, 0, &more)),
        [Invariant::Reachable]
    );
    // A switch that leads the channel to lane 15, that changes it, a host that does not use it, a
    // level that shares its channel.
    let breaks: [fn(&mut FabricView); 4] = [
        |view| view.nodes[0].channels.sc_to_vl[1][3] = LANE_15,
        |view| {
            let mut map = std::array::from_fn(|channel| channel as u8);
            map[3] = 5;
            view.nodes[1].channels.sc_to_sc = Crossings::Uniform(map);
        },
        |view| view.nodes[2].channels.sl_to_sc[3] = 7,
        |view| view.nodes[3].channels.sl_to_sc[9] = 3,
    ];
    for (index, change) in breaks.iter().enumerate() {
        let mut view = view.clone();
        change(&mut view);
        let breaches = levels::check(&view, 0, &used);
        assert_eq!(broken(&breaches), [Invariant::Reachable], "{index}");
        assert_eq!(reach::check_reachable(&view, 0), [], "{index}");
    }
}

#[test]
fn rings_are_free_where_registers_change_the_lane() {
    // All in one direction, but behind the last switch in another lane.
    let mut view = ring(4);
    assert_eq!(broken(&deadlock::check(&view)), [Invariant::DeadlockFree]);
    let identity: [u8; 32] = std::array::from_fn(|channel| channel as u8);
    for switch in 0..4 {
        let map = |from: u8, to: u8| match (switch, from, to) {
            (0, 2, 1) => std::array::from_fn(|_| 1),
            _ => identity,
        };
        let rows = (1..=3).map(|from| (1..=3).map(|to| map(from, to)).collect());
        let channels = &mut view.nodes[switch].channels;
        channels.sc_to_sc = Crossings::Each(rows.collect());
        channels.sc_to_vl = vec![identity; 4];
    }
    assert_eq!(deadlock::check(&view), []);
    // The same channels in one lane.
    for switch in 0..4 {
        view.nodes[switch].channels.sc_to_vl = vec![[0; 32]; 4];
    }
    assert_eq!(broken(&deadlock::check(&view)), [Invariant::DeadlockFree]);
}

/// Three switches, all in one direction. Traffic to two of the hosts in one lane leaves a gap in the ring,
/// which the answers of the first one to the third in that lane fill.
#[test]
fn answers_in_the_lane_of_the_question_can_close_a_ring() {
    let mut view = ring(3);
    let identity: [u8; 32] = std::array::from_fn(|channel| channel as u8);
    for node in &mut view.nodes {
        node.channels.sc_to_vl = vec![identity; node.ports.len()];
    }
    let levels = |lid: Lid| vec![Sl(u8::from(lid == Lid(3)))];
    assert_eq!(deadlock::check_levels(&view, levels), []);
    let breaches = deadlock::check_answers(&view, levels);
    assert_eq!(broken(&breaches), [Invariant::DeadlockFree]);
    let apart = |lid: Lid| vec![Sl(lid.0 as u8)];
    assert_eq!(deadlock::check_answers(&view, apart), []);
}

/// A pair of hosts, full and limited members of a partition, on ports that check.
fn partition() -> (FabricView, partitions::Secured) {
    let mut view = pair();
    for (host, key) in [(2, 0x8005), (3, 0x0005)] {
        view.nodes[host].keys = vec![vec![], vec![key, 0x7FFF]];
        let switch = &mut view.nodes[host - 2];
        switch.keys = vec![vec![], vec![], vec![], vec![key, 0x7FFF]];
        switch.ports[3].as_mut().unwrap().checks = (true, true);
    }
    let secured = partitions::Secured {
        key: 5,
        full: BTreeSet::from([Guid(100)]),
        limited: BTreeSet::from([Guid(101)]),
    };
    (view, secured)
}

#[test]
fn packets_of_a_partition_come_to_its_members_alone() {
    let (view, secured) = partition();
    let judge = |view: &FabricView, one: &partitions::Secured| {
        broken(&pairs::check(view, 0, std::slice::from_ref(one)))
    };
    assert_eq!(judge(&view, &secured), []);
    let mut fewer = secured.clone();
    fewer.limited.clear();
    assert_eq!(judge(&view, &fewer), [Invariant::Isolated]);
    // A port that does not check lets a limited member claim to be full; a table without the key, or
    // a switch that does not let it out, loses packets.
    let breaks: [fn(&mut FabricView); 4] = [
        |view| view.nodes[1].ports[3].as_mut().unwrap().checks.0 = false,
        |view| view.nodes[1].keys[3][0] = 0x8005,
        |view| view.nodes[2].keys[1].clear(),
        |view| view.nodes[0].keys[3].clear(),
    ];
    for (index, change) in breaks.iter().enumerate() {
        let mut view = view.clone();
        change(&mut view);
        assert_eq!(judge(&view, &secured), [Invariant::Isolated], "{index}");
    }
}

fn write(second: u64, member: usize, part: u64) -> Write {
    Write {
        at: Tick(second * 1_000_000_000),
        member,
        part: Guid(part),
    }
}

#[test]
fn managers_that_take_turns_to_write_for_long_are_reported() {
    let judge = |writes: &[Write]| broken(&masters::check(writes, Duration::from_secs(25)));
    // One alone; one after the other; both at once, but in fabrics of their own; both until they have met.
    let alone: Vec<Write> = (0..9).map(|turn| write(10 * turn, 0, 1)).collect();
    let after: Vec<Write> = (0..9)
        .map(|turn| write(10 * turn, usize::from(turn > 4), 1))
        .collect();
    let apart: Vec<Write> = (0..9)
        .map(|turn| write(10 * turn, turn as usize % 2, turn % 2))
        .collect();
    let brief: Vec<Write> = (0..5)
        .map(|turn| write(5 * turn, turn as usize % 2, 1))
        .collect();
    for sound in [alone, after, apart, brief] {
        assert_eq!(judge(&sound), []);
    }
    let long: Vec<Write> = (0..9)
        .map(|turn| write(5 * turn, turn as usize % 2, 1))
        .collect();
    assert_eq!(judge(&long), [Invariant::OneMaster]);
}

#[test]
fn a_circle_is_excused_only_while_another_manager_writes() {
    let second = |seconds: f64| Tick((seconds * 1e9) as u64);
    let excused = |other: Option<f64>| {
        let sweeps = [1.0, 10.0, 12.0].map(second);
        masters::could_not_know(
            second(12.005),
            masters::IN_FLIGHT_MAX,
            other.map(second),
            sweeps,
        )
    };
    // The Set may have been sent in the sweep that began at 10 s.
    assert!(excused(Some(10.0)) && excused(Some(12.001)));
    assert!(!excused(Some(9.9)), "the sweep has seen those tables");
    assert!(!excused(None));
}

#[test]
fn two_managers_that_do_not_know_each_other_are_reported() {
    let topology: FabricSpec = "one-switch:4".parse().unwrap();
    let topology = topology.generate().unwrap();
    let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    // Their keys differ, so that neither minds the other.
    let hosts = (0..2).map(|number| {
        let mut settings = Settings::default();
        settings.sweeps.interval = Duration::from_secs(5);
        settings.election.sm_key = number as u64 + 1;
        ((hosts[number], PortNum(1)), settings)
    });
    let mut cluster =
        Cluster::new(Arc::new(topology), Options::default(), hosts.collect()).unwrap();
    cluster.start(0).unwrap();
    cluster.start(1).unwrap();
    cluster.run_until(Tick(60_000_000_000)).unwrap();
    let breaches = masters::check(&cluster.take_writes(), Duration::from_secs(25));
    assert_eq!(broken(&breaches), [Invariant::OneMaster]);
}

#[test]
fn a_set_that_closes_a_circle_is_reported_at_once() {
    let spec: FabricSpec = "pgft:2;2,4;1,3;1,2".parse().unwrap();
    let topology = Arc::new(spec.generate().unwrap());
    let mut world = World::new(topology, Options::default(), Settings::default(), NoTap).unwrap();
    let ended = world.bring_up(Duration::from_secs(60)).unwrap();
    assert_eq!(ended, Wait::Done);
    let network = world.emulator.network();
    // A LID goes up from an edge switch to a core switch, whose entry comes to lead back.
    let (edge, _) = network
        .devices()
        .find(|(_, device)| device.is_switch())
        .unwrap();
    let switch = network.switch(edge).unwrap();
    let device = network.device_at(edge);
    let up = |lid: u32| {
        let egress = switch.egress(Lid(lid)).filter(|port| port.0 != 0)?;
        let into = network.peer(device.port(egress)?)?;
        let core = network.node_of(into);
        let own = network.device_at(core).first_port_index();
        let passes = network.switch(core).is_some() && !network.is_own_lid(own, Lid(lid));
        passes.then(|| (lid, core, network.number_of(into)))
    };
    let (lid, core, back) = (1..64).find_map(up).unwrap();
    let done = SetDone {
        now: world.now(),
        from: network.device_at(core).first_port_index(),
        node: core,
        attribute: AttributeId::LINEAR_FDB,
        modifier: 1 << 24,
    };
    let mut circles = Circles::default();
    let holds =
        |(_, device): &(NodeId, &Device)| network.is_own_lid(device.first_port_index(), Lid(lid));
    let (holder, _) = network.devices().find(holds).unwrap();
    let whole = network.switch(core).unwrap().linear_block(0).unwrap();
    let mut round = whole;
    round[lid as usize] = back.0;
    let mut closed_by = |world: &mut World<NoTap>, block: &[u8; 64], done: SetDone| {
        let registers = world.emulator.network_mut().switch_mut(core).unwrap();
        registers.set_linear_block(0, block).unwrap();
        broken(&circles.closed_by(world.emulator.network(), done))
    };
    assert_eq!(closed_by(&mut world, &whole, done), []);
    let closed = [Invariant::LoopFree];
    assert_eq!(closed_by(&mut world, &round, done), closed);
    // A later Set to a switch of the circle, or to the port that holds the LID, has not closed it.
    let edge = SetDone { node: edge, ..done };
    assert_eq!(closed_by(&mut world, &round, edge), []);
    let port = SetDone {
        node: holder,
        attribute: AttributeId::PORT_INFO,
        ..done
    };
    assert_eq!(closed_by(&mut world, &round, port), []);
    // One that closes it a second time has.
    assert_eq!(closed_by(&mut world, &whole, done), []);
    assert_eq!(closed_by(&mut world, &round, done), closed);
    // So has one that gives a port the LID.
    let mut fresh = Circles::default();
    let network = world.emulator.network();
    assert_eq!(
        fresh.closed_by(network, port).len(),
        2,
        "seen from both switches"
    );
}

fn door_of(sweeps: &[u64]) -> Door {
    let mut door = Door::default();
    for requests in sweeps {
        door.sweep_begins();
        for transaction in 0..*requests {
            let mut mad = Vec::new();
            let path = DirectedRoute::new(&[]).unwrap();
            Smp::get(AttributeId::NODE_INFO, 0, transaction, 0).write_directed(
                &path,
                &[],
                &mut mad,
            );
            door.goes_in(Tick(0), &Packet::directed(mad));
        }
        door.sweep_ends();
    }
    door
}

#[test]
fn a_sweep_that_sends_too_much_is_reported() {
    let of = |first, again| Clean { first, again };
    let budget = |loss: f64, open_max| Budget {
        clean: of(100, 40),
        singly: of(200, 60),
        loss,
        open_max,
    };
    let judge = |sweeps: &[u64], loss: f64, open_max: usize| {
        broken(&storm::check(&door_of(sweeps), &budget(loss, open_max)))
    };
    assert_eq!(judge(&[100, 130], 0.0, 256), []);
    assert_eq!(judge(&[100, 131], 0.0, 256), [Invariant::NoStorm]);
    // A tenth lost in each direction: 19 % are retried, 3.6 % a third time, of the 200 requests to nodes that
    // refuse aggregates: 45 retries, 31 more by chance.
    assert_eq!(judge(&[277], 0.1, 512), []);
    assert_eq!(judge(&[278], 0.1, 512), [Invariant::NoStorm]);
    assert_eq!(judge(&[100], 0.0, 99), [Invariant::NoStorm]);
    let again = |sent, loss: f64| {
        let breach = storm::check_again(Some(sent), &budget(loss, 256));
        breach.map(|breach| breach.invariant)
    };
    let storm = Some(Invariant::NoStorm);
    assert_eq!((again(52, 0.0), again(53, 0.0)), (None, storm));
    assert_eq!((again(60, 0.1), again(61, 0.1)), (None, storm));
}

/// The last snapshot of a small fabric, and its events.
fn published_fabric() -> (Snapshot, Vec<(Tick, Event)>) {
    let spec: FabricSpec = "one-switch:3".parse().unwrap();
    let topology = Arc::new(spec.generate().unwrap());
    let mut world = World::new(topology, Options::default(), Settings::default(), NoTap).unwrap();
    assert_eq!(world.bring_up(Duration::from_secs(60)).unwrap(), Wait::Done);
    assert_eq!(world.take_breaches(), []);
    ((*world.snapshot()).clone(), world.take_events())
}

#[test]
fn snapshots_of_two_moments_and_changes_without_an_event_are_reported() {
    let (now, events) = published_fabric();
    let nothing = Snapshot::default();
    let before = Snapshot {
        generation: now.generation - 1,
        ..Snapshot::default()
    };
    assert_eq!(published::check_snapshot(&before, &now), []);
    assert_eq!(published::check_events(&nothing, &now, &events), []);
    assert_eq!(published::check_causes(&events), []);
    let two_moments = |change: &dyn Fn(&mut Snapshot)| {
        let mut now = now.clone();
        change(&mut now);
        broken(&published::check_snapshot(&before, &now))
    };
    let changes: [&dyn Fn(&mut Snapshot); 4] = [
        &|now| now.generation += 1,
        &|now| now.topology = Arc::default(),
        &|now| now.linear = Arc::default(),
        &|now| now.linear = Arc::new(LinearTables::new(vec![vec![0xFF, 200].into()])),
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert_eq!(
            two_moments(change),
            [Invariant::ConsistentSnapshot],
            "{index}"
        );
    }
    let is_cable = |event: &(Tick, Event)| matches!(event.1, Event::LinkAppeared { .. });
    let silent: Vec<(Tick, Event)> = events
        .iter()
        .filter(|event| !is_cable(event))
        .cloned()
        .collect();
    let untold = published::check_events(&nothing, &now, &silent);
    assert_eq!(broken(&untold), [Invariant::EventWithCause]);
    let stray: Vec<(Tick, Event)> = events.into_iter().filter(is_cable).collect();
    assert_eq!(
        broken(&published::check_causes(&stray)),
        [Invariant::EventWithCause]
    );
}
