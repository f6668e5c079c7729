//! Notices that agents send unasked.

use weft_emulator::io::{Control, Input, Output};
use weft_emulator::trap::SENDS_MAX;
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::Layout;
use weft_wire::bits::store;
use weft_wire::enums::{LinkDownReason, LinkWidth, PortState};
use weft_wire::header::{class, method};
use weft_wire::packet::Packet;
use weft_wire::sm::trap::Trap;
use weft_wire::sm::{AttributeId, Notice};
use weft_wire::smp::SmpView;

use crate::agents::player::{Player, after};

const SWITCH: Lid = Lid(4);

/// A fabric whose switch knows its manager, the player, and its time between traps.
fn player() -> (Player, Guid) {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let (status, _) = player.change_port(&[1], 0, |info| {
        info.lid = SWITCH;
        info.master_sm_lid = Lid(1);
        // 4.096 µs × 2^10 = 4.2 ms.
        info.subnet_timeout = 10;
    });
    assert_eq!(status, 0);
    let switch = player.node_info(&[1]).node_guid;
    (player, switch)
}

const INTERVAL: u64 = 4096 << 10;

fn notice(packet: &Packet) -> (SmpView<'_>, Notice) {
    let view = SmpView::parse(&packet.mad).unwrap();
    assert_eq!(view.header.mgmt_class, class::SM_LID_ROUTED);
    assert_eq!(view.header.method, method::TRAP);
    assert_eq!(view.attribute(), AttributeId::NOTICE);
    let notice = Notice::decode(view.payload).unwrap();
    (view, notice)
}

/// The manager's answer to a trap.
pub(crate) fn repress(trap: &Packet) -> Packet {
    let mut packet = trap.clone();
    std::mem::swap(&mut packet.slid, &mut packet.dlid);
    store(&mut packet.mad, 3, 1, u64::from(method::TRAP_REPRESS));
    packet
}

fn bounce(player: &mut Player, node: Guid) -> Vec<Packet> {
    let port = PortNum(3);
    player.control(Control::LinkDown { node, port });
    player.drain()
}

/// Lets time pass from event to event, up to `end`; returns arriving datagrams with their times.
pub(crate) fn run(player: &mut Player, end: u64) -> Vec<(u64, Packet)> {
    let mut arrived = Vec::new();
    while let Some(next) = player.emulator.deadline().filter(|next| next.0 <= end) {
        player.emulator.handle(next, Input::Tick).unwrap();
        while let Some(Output::Deliver { packet, .. }) = player.emulator.poll() {
            arrived.push((next.0, packet));
        }
    }
    arrived
}

#[test]
fn a_switch_tells_its_manager_of_a_lost_link() {
    let (mut player, switch) = player();
    let traps = bounce(&mut player, switch);
    assert_eq!(traps.len(), 1);
    let (_, notice) = notice(&traps[0]);
    let Some(Trap::PortChangeState(data)) = notice.trap() else {
        panic!("{notice}");
    };
    assert_eq!((data.lid, notice.issuer_lid), (SWITCH, SWITCH));
    assert_eq!(notice.producer_type, Notice::PRODUCER_SWITCH);
    assert_eq!((traps[0].slid, traps[0].dlid), (SWITCH, Lid(1)));
}

#[test]
fn a_trap_is_repeated_at_its_interval_until_it_is_repressed() {
    let (mut player, switch) = player();
    let first = bounce(&mut player, switch).pop().unwrap();
    let again = run(&mut player, 3 * INTERVAL + INTERVAL / 2);
    let times: Vec<_> = again.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [INTERVAL, 2 * INTERVAL, 3 * INTERVAL]);
    assert!(again.iter().all(|(_, packet)| *packet == first));
    assert_eq!(player.exchange(repress(&first)), []);
    assert_eq!(run(&mut player, 100 * INTERVAL), []);
}

#[test]
fn a_manager_that_is_deaf_is_told_a_bounded_number_of_times() {
    let (mut player, switch) = player();
    bounce(&mut player, switch);
    let again = run(&mut player, 1000 * INTERVAL);
    assert_eq!(again.len() as u32, SENDS_MAX - 1);
    // The next change is reported again.
    let now = after(player.emulator.now(), INTERVAL);
    player.emulator.handle(now, Input::Tick).unwrap();
    let port = PortNum(3);
    player.control(Control::LinkUp { node: switch, port });
    assert_eq!(player.drain().len(), 1);
}

#[test]
fn a_change_while_a_trap_waits_is_told_after_it() {
    let (mut player, switch) = player();
    let first = bounce(&mut player, switch).pop().unwrap();
    let port = PortNum(3);
    player.control(Control::LinkUp { node: switch, port });
    assert_eq!(player.drain(), [], "the first one is still out");
    assert_eq!(
        player.exchange(repress(&first)),
        [],
        "not before the interval is over"
    );
    let second = run(&mut player, INTERVAL);
    assert_eq!(second.len(), 1);
    let number = |packet: &Packet| notice(packet).0.header.transaction_id;
    assert_ne!(number(&first), number(&second[0].1));
    // A late repress of the first one does not stop the second.
    player.exchange(repress(&first));
    assert_eq!(run(&mut player, 2 * INTERVAL).len(), 1);
}

#[test]
fn a_node_without_a_manager_is_quiet() {
    let mut player = Player::new("one-switch:3,radix=8");
    player.program_one_switch(3);
    let switch = player.node_info(&[1]).node_guid;
    assert_eq!(bounce(&mut player, switch), []);
    assert_eq!(player.emulator.deadline(), None);
}

#[test]
fn a_host_tells_when_a_subnet_manager_starts_there() {
    let (mut player, _) = player();
    let (status, _) = player.change_port(&[1, 2], 1, |info| info.master_sm_lid = Lid(1));
    assert_eq!(status, 0);
    let topology = player.emulator.network().topology().clone();
    let node = topology.hfis().nth(1).unwrap().1.guid();
    let is_sm = Control::IsSm {
        node,
        port: PortNum(1),
        is_sm: true,
    };
    player.control(is_sm.clone());
    let traps = player.drain();
    let (_, notice) = notice(&traps[0]);
    let Some(Trap::ChangeCapability(data)) = notice.trap() else {
        panic!("{notice}");
    };
    assert!(data.capability_mask.is_sm);
    assert_eq!(
        (data.lid, notice.producer_type),
        (Lid(2), Notice::PRODUCER_HFI)
    );
    player.exchange(repress(&traps[0]));
    player.control(is_sm);
    assert_eq!(player.drain(), [], "that is no news");
    // From now on SMInfo is for the program there.
    let smp = player.smp(method::GET, AttributeId::SM_INFO, 0);
    let mut mad = Vec::new();
    smp.write_lid_routed(&[0; 26], &mut mad);
    let arrived = player.exchange(Packet::lid_routed(Lid(1), Lid(2), mad.clone()));
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].mad, mad);
}

/// Lanes that are lost in one direction leave the other as it is, until the link comes up anew.
#[test]
fn one_direction_loses_lanes_alone() {
    let (mut player, node) = player();
    let port = PortNum(3);
    let lanes = 2;
    player.control(Control::LinkLanesOut { node, port, lanes });
    let told = player.drain();
    assert!(matches!(
        notice(&told[0]).1.trap(),
        Some(Trap::LinkWidth(_))
    ));
    let info = player.port_info_register(node, port);
    let both = [
        info.link_width_downgrade_tx_active,
        info.link_width_downgrade_rx_active,
    ];
    assert_eq!(both.map(|width| width.lanes()), [2, 4]);
    player.control(Control::LinkDown { node, port });
    player.control(Control::LinkUp { node, port });
    let info = player.port_info_register(node, port);
    assert_eq!(info.link_width_active.lanes(), 2, "both alike");
}

/// A link that loses lanes continues with the rest if that is enabled, and its ends report it; otherwise it goes
/// down, and comes up again with the remaining lanes.
#[test]
fn a_link_that_loses_lanes_is_told() {
    let (mut player, node) = player();
    let port = PortNum(3);
    let lanes = |player: &mut Player, lanes| {
        player.control(Control::LinkLanes { node, port, lanes });
        player.drain()
    };
    let told = lanes(&mut player, 3);
    let (_, notice_) = notice(&told[0]);
    assert!(matches!(notice_.trap(), Some(Trap::LinkWidth(_))));
    assert_eq!((told.len(), notice_.issuer_lid), (1, SWITCH));
    player.exchange(repress(&told[0]));
    let info = player.port_info_register(node, port);
    assert_eq!(info.link_width_downgrade_tx_active.lanes(), 3);
    assert_eq!(info.link_width_active.lanes(), 4);
    assert_eq!(info.link_down_reason, LinkDownReason::NONE);
    // Lanes that come back wait until the link comes up again.
    assert!(lanes(&mut player, 4).is_empty());
    let info = player.port_info_register(node, port);
    assert_eq!(info.link_width_downgrade_tx_active.lanes(), 3);
    let (status, _) = player.change_port(&[1], 3, |info| {
        info.link_width_downgrade_enabled = LinkWidth::X4;
    });
    assert_eq!(status, 0);
    let told = lanes(&mut player, 2);
    assert!(matches!(
        notice(&told[0]).1.trap(),
        Some(Trap::PortChangeState(_))
    ));
    let info = player.port_info_register(node, port);
    assert_eq!(info.link_width_active.lanes(), 2);
    assert_eq!(info.port_state, PortState::INIT);
    assert_eq!(info.link_down_reason, LinkDownReason::WIDTH_POLICY);
}
