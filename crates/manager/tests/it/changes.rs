//! The fabric changes: links and nodes come and go, managers restart.
#![allow(clippy::unwrap_used)]

use crate::common::{World, fabric, far_link, latency, settings, with_lmc};
use weft_emulator::io::Control;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::{
    Command, CommandError, Event, Input, PortAction, PortOrder, Reply, SweepReason, SweepReport,
};
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, Notice, Trap};

#[test]
fn a_cut_link_is_told_by_a_trap_and_routed_around_with_few_writes() {
    let mut world = World::new("fattree:32,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let blocks_before = world.emulator.stats().total(AttributeId::LINEAR_FDB).1;
    let (node, port) = far_link(&world);
    world.control(Control::LinkDown { node, port });
    let report = world.sweep();
    assert_eq!(report.reason, Some(SweepReason::Trap));
    assert!(
        world
            .events
            .iter()
            .any(|event| matches!(event, Event::LinkVanished { .. }))
    );
    world.run_for(5.0);
    world.assert_all_active();
    world.assert_tables_published();
    world.walk_all();
    let writes = world.emulator.stats().total(AttributeId::LINEAR_FDB).1 - blocks_before;
    let switches = world.topology.switches().len() as u64;
    // One drain and one final write each at the most; here a table is a single block.
    assert!(
        writes > 0 && writes <= 2 * switches,
        "{writes} table writes"
    );
    world.control(Control::LinkUp { node, port });
    world.run_for(5.0);
    world.assert_all_active();
    world.walk_all();
    assert!(
        world
            .events
            .iter()
            .any(|event| matches!(event, Event::LinkAppeared { .. }))
    );
    let report = world.forced_sweep();
    assert_eq!(report.sets, 0, "{report:?}");
}

#[test]
fn a_restarted_manager_keeps_the_lids_and_writes_nothing() {
    for lmc in [0, 2] {
        for stored in [true, false] {
            let mut world = World::new("fattree:32,radix=8", with_lmc(lmc));
            world.sweep();
            world.run_for(3.0);
            let bytes = world.persisted.clone().filter(|_| stored);
            let before = world.lids();
            let sets = world.emulator.stats().sets_total();
            world.restart(with_lmc(lmc), bytes.as_deref());
            // It holds the registrations, so that no port is asked to register again.
            let now = world.now;
            world.manager.handle(now, Input::Multicast(Vec::new()));
            let report = world.sweep();
            assert_eq!(world.lids(), before);
            assert_eq!(report.unfinished, Vec::<String>::new());
            assert_eq!(report.sets, 0, "lmc {lmc}, stored {stored}: {report:?}");
            assert_eq!(world.emulator.stats().sets_total(), sets);
            world.assert_tables_published();
        }
    }
}

#[test]
fn a_corrupt_store_is_refused_and_lids_are_learnt_from_the_fabric() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let before = world.lids();
    let mut bytes = world.persisted.clone().unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    world.restart(settings(), Some(&bytes));
    world.sweep();
    assert!(world.events.iter().any(|event| matches!(
        event,
        Event::StateRefused { why } if why.contains("checksum")
    )));
    assert_eq!(world.lids(), before);
}

#[test]
fn another_lmc_moves_the_fabric_over() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let now = world.now;
    world.manager.reconfigure(now, with_lmc(2));
    world.run_for(30.0);
    world.assert_all_active();
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn a_silent_hfi_delays_nobody_for_long_and_is_told() {
    let mut world = World::new("fattree:16,radix=8", settings());
    let silent = world.topology.hfis().nth(5).unwrap().1.guid();
    world.control(Control::Silence {
        node: silent,
        silent: true,
    });
    let report = world.sweep();
    assert!(report.elapsed_ns < 1_000_000_000, "{report:?}");
    assert_eq!((report.hfis, report.active_ports), (15, 62));
    assert!(world.events.iter().any(|event| matches!(
        event,
        Event::NodeSilent { node, .. } if *node == silent
    )));
    world.control(Control::Silence {
        node: silent,
        silent: false,
    });
    world.run_for(120.0);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn a_silent_switch_that_is_known_keeps_its_place_for_a_while() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let spine = *world.topology.switches().last().unwrap();
    let node = world.topology.node(spine).unwrap().guid();
    world.control(Control::Silence { node, silent: true });
    let sets = world.emulator.stats().sets_total();
    let report = world.forced_sweep();
    assert_eq!(report.switches, 6);
    assert_eq!(world.emulator.stats().sets_total(), sets);
    assert!(!report.unfinished.is_empty() && !report.only_links);
    world.run_for(700.0);
    let report = world.reports().last().unwrap().clone();
    assert_eq!(report.switches, 5, "in the end it is left out: {report:?}");
    world.control(Control::Silence {
        node,
        silent: false,
    });
    world.forced_sweep();
    world.run_for(300.0);
    assert_eq!(world.manager.snapshot().topology.switches().len(), 6);
    world.walk_all();
}

#[test]
fn a_node_that_is_switched_off_and_on_is_set_up_again() {
    for pick in ["hfi", "switch"] {
        let mut world = World::new("fattree:16,radix=8", settings());
        world.sweep();
        world.run_for(3.0);
        let before = world.lids();
        let node = match pick {
            "hfi" => world.topology.hfis().nth(7).unwrap().1.guid(),
            _ => world
                .topology
                .node(*world.topology.switches().last().unwrap())
                .unwrap()
                .guid(),
        };
        world.control(Control::NodeDown { node });
        world.run_for(5.0);
        assert!(
            world.manager.snapshot().topology.find(node).is_none(),
            "{pick}"
        );
        world.control(Control::NodeUp { node });
        world.run_for(10.0);
        world.assert_all_active();
        world.walk_all();
        assert_eq!(world.lids(), before, "{pick}");
        assert_eq!(world.forced_sweep().sets, 0, "{pick}");
    }
}

#[test]
fn a_lossy_fabric_comes_up_within_bounds() {
    for (loss, seconds) in [(0.1, 30.0), (0.3, 900.0)] {
        let mut options = latency();
        options.seed = 7;
        options.faults.loss = loss;
        options.faults.duplicate = 0.05;
        options.faults.reorder = 0.05;
        options.faults.delay_max_ns = 500_000;
        let mut world = World::with(fabric("fattree:32,radix=8"), settings(), options, None);
        // At such a loss some node is silent in almost every sweep; its ports stay active.
        let until = Tick((seconds * 1e9) as u64);
        let is_up = |report: &SweepReport| report.hfis == 32 && report.active_ports == 128;
        let up = world.run(until, |world| {
            world.reports().last().is_some_and(is_up) && world.no_way().is_none()
        });
        assert!(up, "{:?}", world.reports().last());
        world.assert_all_active();
        world.walk_all();
        let budget = settings().requests.outstanding;
        assert!(world.outstanding_max <= budget, "{}", world.outstanding_max);
    }
}

#[test]
fn the_same_seed_gives_the_same_datagrams() {
    let run = || {
        let mut options = latency();
        options.seed = 11;
        options.faults.loss = 0.05;
        options.faults.delay_max_ns = 300_000;
        let mut world = World::with(fabric("fattree:16,radix=8"), settings(), options, None);
        world.sent = Some(Vec::new());
        world.run_for(20.0);
        world.sent.unwrap()
    };
    let (a, b) = (run(), run());
    assert!(a.len() > 100);
    assert!(a == b, "{} and {} datagrams", a.len(), b.len());
}

#[test]
fn nodes_are_numbered_alike_whatever_the_order_of_answers() {
    let snapshot = |delay_max_ns: u64| {
        let mut options = latency();
        options.seed = delay_max_ns;
        options.faults.delay_max_ns = delay_max_ns;
        let mut world = World::with(fabric("fattree:32,radix=8"), settings(), options, None);
        world.sweep();
        world.manager.snapshot()
    };
    let (quick, slow) = (snapshot(0), snapshot(900_000));
    assert!(*quick.topology == *slow.topology);
    assert_eq!(quick.linear, slow.linear);
}

fn port_command(world: &mut World, id: u64, node: Guid, port: PortNum, action: PortAction) {
    let command = Command::Port(PortOrder::new((node, port), action));
    let now = world.now;
    world.manager.handle(now, Input::Command { id, command });
    world.run_for(5.0);
}

#[test]
fn ports_can_be_switched_off_and_on() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let (hfi, _) = world
        .topology
        .hfis()
        .nth(9)
        .map(|(id, node)| (node.guid(), id))
        .unwrap();
    let (switch, uplink) = far_link(&world);
    for (id, (node, port)) in [(hfi, PortNum(1)), (switch, uplink)]
        .into_iter()
        .enumerate()
    {
        let id = id as u64 * 2;
        port_command(&mut world, id, node, port, PortAction::Disable);
        assert_eq!(world.replies.last(), Some(&(id, Ok(Reply::PortChanged))));
        assert_eq!(world.state(node, port), PortState::DOWN);
        port_command(&mut world, id + 1, node, port, PortAction::Enable);
        assert_eq!(
            world.replies.last(),
            Some(&(id + 1, Ok(Reply::PortChanged)))
        );
        assert_eq!(world.state(node, port), PortState::ACTIVE);
        world.walk_all();
    }
}

#[test]
fn commands_that_cannot_be_carried_out_are_refused() {
    let mut world = World::new("fattree:16,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let own = world.own.0;
    let (switch, _) = far_link(&world);
    let disable = PortAction::Disable;
    port_command(&mut world, 1, Guid(99), PortNum(1), disable);
    port_command(&mut world, 2, switch, PortNum(0), disable);
    port_command(&mut world, 3, switch, PortNum(200), disable);
    port_command(&mut world, 4, own, PortNum(1), disable);
    let results: Vec<_> = world
        .replies
        .iter()
        .map(|(_, result)| result.clone())
        .collect();
    assert!(matches!(results[0], Err(CommandError::NoNode { .. })));
    assert!(matches!(results[1], Err(CommandError::NoPort { .. })));
    assert!(matches!(results[2], Err(CommandError::NoPort { .. })));
    assert!(matches!(results[3], Err(CommandError::OwnLink { .. })));
}

#[test]
fn a_slow_hfi_keeps_nobody_waiting_for_longer_than_the_patience() {
    let mut world = World::new("fattree:16,radix=8", settings());
    let slow = world.topology.hfis().nth(5).unwrap().1.guid();
    world.control(Control::Slow {
        node: slow,
        extra_ns: 2_000_000_000,
    });
    let report = world.sweep();
    assert!(report.elapsed_ns < 1_000_000_000, "{report:?}");
    assert_eq!(report.active_ports, 62);
    assert!(!report.unfinished.is_empty());
    // A busy agent that is merely slower than the others is waited for.
    let mut world = World::new("fattree:16,radix=8", settings());
    world.control(Control::Slow {
        node: slow,
        extra_ns: 100_000_000,
    });
    world.run_for(60.0);
    world.assert_all_active();
    world.walk_all();
}

#[test]
fn links_that_flap_during_a_sweep_come_up_in_the_end() {
    let mut world = World::new("fattree:32,radix=8", settings());
    let (node, port) = far_link(&world);
    let hfi = world.topology.hfis().nth(20).unwrap().1.guid();
    for step in 0..40 {
        world.run_for(0.000_02);
        let (node, port) = if step % 4 < 2 {
            (node, port)
        } else {
            (hfi, PortNum(1))
        };
        world.control(match step % 2 {
            0 => Control::LinkDown { node, port },
            _ => Control::LinkUp { node, port },
        });
    }
    world.run_for(60.0);
    world.assert_all_active();
    world.assert_tables_published();
    world.walk_all();
    assert_eq!(world.forced_sweep().sets, 0);
}

#[test]
fn subscribers_are_told_of_end_ports_and_of_each_trap_once() {
    let mut world = World::new("fattree:32,radix=8", settings());
    world.sweep();
    world.run_for(3.0);
    let take = |world: &mut World| -> Vec<Trap> {
        let notices = std::mem::take(&mut world.notices);
        let decoded = notices.iter().map(|bytes| Notice::decode(bytes).unwrap());
        decoded.filter_map(|notice| notice.trap()).collect()
    };
    let gid = |trap: &Trap| match trap {
        Trap::GidNowInService(data) => Some((true, data.gid.interface)),
        Trap::GidOutOfService(data) => Some((false, data.gid.interface)),
        _ => None,
    };
    let all: Vec<(bool, Guid)> = take(&mut world).iter().filter_map(gid).collect();
    assert_eq!(
        all.len(),
        world.topology.len(),
        "each node has one end port"
    );
    assert!(all.iter().all(|(in_service, _)| *in_service));
    let (_, last) = world.topology.hfis().last().unwrap();
    let (node, port) = (last.guid(), PortNum(1));
    for (change, in_service) in [
        (Control::LinkDown { node, port }, false),
        (Control::LinkUp { node, port }, true),
    ] {
        world.control(change);
        world.run_for(5.0);
        let told = take(&mut world);
        let services: Vec<(bool, Guid)> = told.iter().filter_map(gid).collect();
        assert_eq!(services, [(in_service, node)]);
        let traps = told
            .iter()
            .filter(|trap| matches!(trap, Trap::PortChangeState(_)));
        assert!(traps.count() >= 1, "{told:?}");
    }
}

#[test]
fn every_full_sweep_writes_all_again_where_that_is_asked_for() {
    let mut again = settings();
    again.requests.rewrites = true;
    let mut world = World::new("fattree:8,radix=4", again);
    world.sweep();
    world.run_for(5.0);
    let [first, second] = [(); 2].map(|()| world.forced_sweep());
    assert!(first.sets > 0, "{first:?}");
    assert_eq!(first.sets, second.sets);
    assert_eq!(second.unfinished, Vec::<String>::new());
    world.assert_all_active();
    world.walk_all();
    world.manager.reconfigure(world.now, settings());
    world.run_for(5.0);
    assert_eq!(world.forced_sweep().sets, 0);
}

/// Whenever it comes up during a sweep, devices confirm everything else.
#[test]
fn a_link_that_comes_up_during_a_sweep_leaves_nothing_else_undone() {
    let mut seen_at_one_end = 0;
    for step in 0..160 {
        let mut world = World::settled("fattree:16,radix=8");
        let (node, port) = far_link(&world);
        world.control(Control::LinkDown { node, port });
        world.run_for(20.0);
        let before = world.reports().len();
        world.manager.handle(
            world.now,
            Input::Command {
                id: 1,
                command: Command::Sweep,
            },
        );
        world.run_for(f64::from(step) * 2.5e-5);
        world.control(Control::LinkUp { node, port });
        world.run_for(20.0);
        for report in &world.reports()[before..] {
            let is_unfinished = !report.unfinished.is_empty();
            assert_eq!(report.only_links, is_unfinished, "{report:?}");
            seen_at_one_end += usize::from(is_unfinished);
        }
        world.assert_all_active();
    }
    assert!(seen_at_one_end > 0, "no sweep has met it half way");
}
