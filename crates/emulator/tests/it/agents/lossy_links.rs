//! Links that lose management datagrams in one direction, and cables that damage ever more packets.

use weft_emulator::io::{Control, ControlError, Input};
use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::header::method;
use weft_wire::sm::AttributeId;

use crate::agents::player::{ONE, Player};

const SECOND: u64 = 1_000_000_000;
const PORT: PortNum = PortNum(1);

fn lose(player: &mut Player, node: Guid, loss: f64) {
    player.control(Control::LinkLoss {
        node,
        port: PORT,
        loss,
    });
}

/// Writes a block of the switch's table; whether an answer comes, and whether it was written.
fn write(player: &mut Player, byte: u8) -> (bool, bool) {
    let smp = player.smp(method::SET, AttributeId::LINEAR_FDB, ONE);
    let answered = player.directed(&[1], smp, &[byte; 64]).is_some();
    let network = player.emulator.network();
    let switch = network.topology().switches()[0];
    let block = network.switch(switch).unwrap().linear_block(0).unwrap();
    (answered, block == [byte; 64])
}

#[test]
fn what_a_port_sends_is_lost_and_what_it_receives_is_not() {
    let mut player = Player::new("one-switch:2,radix=4");
    let (host, switch) = (player.host, player.node_info(&[1]).node_guid);
    assert_eq!(write(&mut player, 1), (true, true));
    lose(&mut player, host, 1.0);
    assert_eq!(write(&mut player, 2), (false, false), "the request is lost");
    lose(&mut player, host, 0.0);
    lose(&mut player, switch, 1.0);
    assert_eq!(write(&mut player, 3), (false, true), "the answer is lost");
    lose(&mut player, switch, 0.0);
    assert_eq!(write(&mut player, 4), (true, true));
    assert_eq!(player.emulator.losses().by_fault, 2);
    assert_eq!(player.emulator.losses().no_way, 0);
}

#[test]
fn a_share_is_lost_the_same_way_every_time() {
    let answers = || {
        let mut player = Player::new("one-switch:2,radix=4");
        let host = player.host;
        lose(&mut player, host, 0.3);
        let smp = |player: &mut Player| player.smp(method::GET, AttributeId::NODE_INFO, 0);
        let ask = |_| {
            let smp = smp(&mut player);
            player.directed(&[1], smp, &[]).is_some()
        };
        (0..1000).map(ask).collect::<Vec<bool>>()
    };
    let first = answers();
    let lost = first.iter().filter(|answered| !**answered).count();
    assert!((250..350).contains(&lost), "{lost}");
    assert_eq!(answers(), first);
}

#[test]
fn a_share_that_is_none_is_refused() {
    let mut player = Player::new("one-switch:2,radix=4");
    let control = Control::LinkLoss {
        node: player.host,
        port: PORT,
        loss: 1.5,
    };
    let now = player.emulator.now();
    let refused = player.emulator.handle(now, Input::Control(control));
    let range = ControlError::Range {
        what: "loss",
        value: 1.5,
        allowed: "0 to 1",
    };
    assert_eq!(refused, Err(range));
}

/// Damaged packets of a million at the cable of a host, second by second from `from` on.
fn errors(player: &mut Player, seconds: impl Iterator<Item = u64>) -> Vec<u32> {
    let at = |second| {
        let now = Tick(second * SECOND);
        player.emulator.handle(now, Input::Tick).unwrap();
        let network = player.emulator.network();
        let host = network.find(player.host).unwrap();
        network.cable_errors(network.device_at(host).port(PORT).unwrap())
    };
    seconds.map(at).collect()
}

#[test]
fn errors_rise_by_the_same_factor_until_they_are_set_or_at_their_end() {
    let mut player = Player::new("one-switch:2,radix=4");
    let node = player.host;
    let rise = Control::ErrorsRise {
        node,
        port: PORT,
        to: 10_000,
        over_ns: 16 * SECOND,
    };
    player.control(rise.clone());
    let risen = errors(&mut player, [0, 4, 8, 12, 16, 100].into_iter());
    assert_eq!(risen, [1, 10, 100, 1_000, 10_000, 10_000]);
    player.control(rise.clone());
    assert_eq!(errors(&mut player, 104..105), [10]);
    // One that begins while another waits goes on, whatever the other's next step was to be.
    player.control(rise);
    assert_eq!(errors(&mut player, [108, 120].into_iter()), [10, 10_000]);
    let good = Control::CableErrors {
        node,
        port: PORT,
        errors: 0,
    };
    player.control(good);
    assert_eq!(errors(&mut player, 120..146), [0; 26]);
}
