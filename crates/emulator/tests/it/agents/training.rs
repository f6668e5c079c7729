//! Links that take their time to come up, fail, or stay in a state.

use weft_dataplane::training::{LinkTraining, Stuck};
use weft_emulator::io::{Control, ControlError, Input, Output};
use weft_fabric::enums::{LinkDownReason, OfflineDisabledReason, PhysState, PortState};
use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_wire::sm::{AttributeId, Notice, PortInfo, PortStateInfo};

use crate::agents::player::{ONE, Player};
use crate::agents::traps::repress;

const MS: u64 = 1_000_000;
const SWITCH: &[u8] = &[1];
/// The port whose link is trained, and the host there.
const PORT: PortNum = PortNum(3);

/// A fabric whose switch sends its traps, and the switch.
fn player() -> (Player, Guid) {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let (status, _) = player.change_port(SWITCH, 0, |info| {
        info.lid = Lid(4);
        info.master_sm_lid = Lid(1);
        // No repeated traps while the test looks: 4.096 µs × 2^22 = 17 s.
        info.subnet_timeout = 22;
    });
    assert_eq!(status, 0);
    let switch = player.node_info(SWITCH).node_guid;
    (player, switch)
}

/// Cuts the link and mends it, with its training; the trap of the loss is taken. Returns when.
fn bounce(player: &mut Player, switch: Guid, how: LinkTraining) -> u64 {
    let at = Some((switch, PORT));
    player.control(Control::LinkTraining { at, how });
    player.control(Control::LinkDown {
        node: switch,
        port: PORT,
    });
    let traps = player.drain();
    assert_eq!(traps.len(), 1);
    player.exchange(repress(&traps[0]));
    // Far enough from it that the next one is not held back.
    let now = player.emulator.now().0 + 60_000 * MS;
    assert_eq!(run(player, now), []);
    player.control(Control::LinkUp {
        node: switch,
        port: PORT,
    });
    now
}

/// Lets time pass; returns when which traps came.
fn run(player: &mut Player, end: u64) -> Vec<(u64, u16)> {
    let mut traps = Vec::new();
    loop {
        let next = player.emulator.deadline().filter(|next| next.0 <= end);
        let now = next.unwrap_or(Tick(end));
        player.emulator.handle(now, Input::Tick).unwrap();
        while let Some(Output::Deliver { packet, .. }) = player.emulator.poll() {
            let view = weft_wire::smp::SmpView::parse(&packet.mad).unwrap();
            let notice = <Notice as weft_wire::Layout>::decode(view.payload).unwrap();
            traps.push((now.0, notice.trap_number));
        }
        if next.is_none() {
            return traps;
        }
    }
}

/// What the switch answers of its port; traps may be on their way beside it.
fn states(player: &mut Player) -> (PhysState, PortState) {
    player.drain();
    let modifier = ONE | u32::from(PORT.0);
    let state: PortStateInfo = player.read(SWITCH, AttributeId::PORT_STATE_INFO, modifier);
    (state.phys_state, state.port_state)
}

#[test]
fn a_link_polls_trains_and_tells_when_it_is_up() {
    let (mut player, switch) = player();
    let how = LinkTraining {
        polling_ns: 10 * MS,
        training_ns: 20 * MS,
        ..LinkTraining::default()
    };
    let up = bounce(&mut player, switch, how);
    assert_eq!(states(&mut player), (PhysState::POLLING, PortState::DOWN));
    assert_eq!(run(&mut player, up + 10 * MS), []);
    assert_eq!(states(&mut player), (PhysState::TRAINING, PortState::DOWN));
    let far = player.get(&[], AttributeId::PORT_INFO, ONE);
    assert_eq!(far.0, 0, "other links stay up");
    assert_eq!(run(&mut player, up + 29 * MS), []);
    assert_eq!(run(&mut player, up + 31 * MS), [(up + 30 * MS, 128)]);
    assert_eq!(states(&mut player), (PhysState::LINK_UP, PortState::INIT));
}

#[test]
fn a_link_that_is_cut_in_training_is_not_up_later() {
    let (mut player, switch) = player();
    let how = LinkTraining {
        training_ns: 20 * MS,
        ..LinkTraining::default()
    };
    let down = bounce(&mut player, switch, how);
    run(&mut player, down + 15 * MS);
    player.control(Control::LinkDown {
        node: switch,
        port: PORT,
    });
    assert_eq!(run(&mut player, down + 100 * MS), []);
    assert_eq!(states(&mut player), (PhysState::OFFLINE, PortState::DOWN));
}

#[test]
fn a_bounce_by_the_manager_trains_too() {
    // The switch knows no manager, and sends no traps.
    let mut player = Player::new("one-switch:3,radix=8");
    let switch = player.node_info(SWITCH).node_guid;
    let how = LinkTraining {
        training_ns: 20 * MS,
        ..LinkTraining::default()
    };
    player.control(Control::LinkTraining { at: None, how });
    let now = player.emulator.now().0;
    let (status, info) =
        player.change_port(SWITCH, PORT.0, |info| info.phys_state = PhysState::POLLING);
    assert_eq!((status, info.port_state), (0, PortState::DOWN));
    assert_eq!(info.link_down_reason, LinkDownReason::FM_BOUNCE);
    run(&mut player, now + 21 * MS);
    assert_eq!(states(&mut player), (PhysState::LINK_UP, PortState::INIT));
    assert!(player.port_info_register(switch, PORT).port_state == PortState::INIT);
}

#[test]
fn a_link_fails_and_polls_again() {
    let (mut player, switch) = player();
    let how = LinkTraining {
        polling_ns: 10 * MS,
        training_ns: 10 * MS,
        failing: 1_000_000,
        ..LinkTraining::default()
    };
    let up = bounce(&mut player, switch, how);
    run(&mut player, up + 15 * MS);
    assert_eq!(states(&mut player).0, PhysState::TRAINING);
    run(&mut player, up + 25 * MS);
    assert_eq!(states(&mut player), (PhysState::POLLING, PortState::DOWN));
    assert_eq!(run(&mut player, up + 10_000 * MS), []);
    // Repaired, it is up without further ado.
    let at = Some((switch, PORT));
    player.control(Control::LinkTraining {
        at,
        how: LinkTraining::default(),
    });
    assert_eq!(states(&mut player), (PhysState::LINK_UP, PortState::INIT));
}

#[test]
fn half_of_the_attempts_fail_by_seed() {
    let times = |seed: u64| {
        let topology = crate::agents::player::fabric("one-switch:7,radix=8");
        let options = weft_emulator::Options {
            seed,
            ..weft_emulator::Options::default()
        };
        let mut player = Player::with(topology, options);
        let how = LinkTraining {
            polling_ns: MS,
            training_ns: MS,
            jitter_ns: MS,
            failing: 500_000,
            ..LinkTraining::default()
        };
        player.control(Control::LinkTraining { at: None, how });
        let switch = player.node_info(SWITCH).node_guid;
        player.control(Control::NodeDown { node: switch });
        player.control(Control::NodeUp { node: switch });
        let up = |player: &Player| -> Vec<bool> {
            let ports = (1..=7).map(|port| player.port_info_register(switch, PortNum(port)));
            ports
                .map(|info| info.port_state == PortState::INIT)
                .collect()
        };
        let mut seen = Vec::new();
        for step in 1..40 {
            run(&mut player, step * MS);
            seen.push(up(&player));
        }
        assert!(seen[38].iter().all(|up| *up), "{seen:?}");
        assert!(seen[5].iter().any(|up| !*up), "{seen:?}");
        seen
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

#[test]
fn ends_are_stuck_in_each_state() {
    let stuck = |state| LinkTraining {
        polling_ns: MS,
        training_ns: MS,
        stuck: Some(state),
        ..LinkTraining::default()
    };
    let cases = [
        (Stuck::Polling, PhysState::POLLING, PhysState::POLLING),
        (Stuck::Training, PhysState::TRAINING, PhysState::TRAINING),
        (Stuck::Offline, PhysState::OFFLINE, PhysState::POLLING),
    ];
    for (state, here, there) in cases {
        let (mut player, switch) = player();
        let up = bounce(&mut player, switch, stuck(state));
        assert_eq!(run(&mut player, up + 1_000 * MS), []);
        assert_eq!(states(&mut player), (here, PortState::DOWN), "{state:?}");
        let near: PortInfo = player.read(SWITCH, AttributeId::PORT_INFO, ONE | u32::from(PORT.0));
        let expected = match state {
            Stuck::Offline => OfflineDisabledReason::TRANSIENT,
            _ => OfflineDisabledReason::NONE,
        };
        assert_eq!(near.offline_disabled_reason, expected);
        let far = host_port(&player);
        assert_eq!((far.phys_state, far.port_state), (there, PortState::DOWN));
    }
}

/// PortInfo of the host at the port.
fn host_port(player: &Player) -> PortInfo {
    let hosts = player.emulator.network().topology().hfis();
    let host = hosts.map(|(_, node)| node.guid()).nth(2).unwrap();
    player.port_info_register(host, PortNum(1))
}

#[test]
fn one_end_is_up_before_the_other() {
    let (mut player, switch) = player();
    let how = LinkTraining {
        training_ns: 10 * MS,
        lag_ns: 50 * MS,
        ..LinkTraining::default()
    };
    let up = bounce(&mut player, switch, how);
    assert_eq!(run(&mut player, up + 11 * MS), [(up + 10 * MS, 128)]);
    assert_eq!(states(&mut player), (PhysState::LINK_UP, PortState::INIT));
    assert_eq!(host_port(&player).phys_state, PhysState::TRAINING);
    let smp = player.smp(1, AttributeId::NODE_INFO, 0);
    assert_eq!(player.directed(&[1, PORT.0], smp, &[]), None);
    // The HFI tells nobody that its end is up.
    assert_eq!(run(&mut player, up + 1_000 * MS), []);
    assert_eq!(host_port(&player).port_state, PortState::INIT);
    let smp = player.smp(1, AttributeId::NODE_INFO, 0);
    assert!(player.directed(&[1, PORT.0], smp, &[]).is_some());
}

#[test]
fn a_link_that_is_cut_while_one_end_is_up_is_down_at_both() {
    let (mut player, switch) = player();
    let how = LinkTraining {
        training_ns: 10 * MS,
        lag_ns: 50 * MS,
        ..LinkTraining::default()
    };
    let up = bounce(&mut player, switch, how);
    run(&mut player, up + 11 * MS);
    player.control(Control::LinkDown {
        node: switch,
        port: PORT,
    });
    run(&mut player, up + 1_000 * MS);
    assert_eq!(states(&mut player).1, PortState::DOWN);
    assert_eq!(host_port(&player).port_state, PortState::DOWN);
}

#[test]
fn values_out_of_range_are_refused() {
    let (mut player, switch) = player();
    let long = LinkTraining {
        training_ns: u64::MAX,
        ..LinkTraining::default()
    };
    let endless = LinkTraining {
        failing: 1,
        ..LinkTraining::default()
    };
    let too_often = LinkTraining {
        failing: 1_000_001,
        training_ns: MS,
        ..LinkTraining::default()
    };
    for how in [long, endless, too_often] {
        let at = Some((switch, PORT));
        let control = Input::Control(Control::LinkTraining { at, how });
        let refused = player.emulator.handle(Tick(0), control);
        assert!(
            matches!(refused, Err(ControlError::Range { .. })),
            "{how:?}"
        );
    }
}
