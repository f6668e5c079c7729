//! Read and write access to a node protected by an M_Key.

use weft_emulator::io::Input;
use weft_fabric::PortNum;
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::sm::{AttributeId, PortInfo};

use crate::agents::player::{ONE, Player, after};

const KEY: u64 = 0x1122_3344_5566_7788;
const SECOND: u64 = 1_000_000_000;

/// The player's neighbour has a key; the player forgets it.
fn protected(bits: u8, lease: u16) -> Player {
    let mut player = Player::new("one-switch:2,radix=4");
    let (status, info) = player.change_port(&[1], 0, |info| {
        info.m_key = KEY;
        info.m_key_protect_bits = bits;
        info.m_key_lease_period = lease;
    });
    assert_eq!((status, info.m_key), (0, KEY));
    player
}

fn try_get(player: &mut Player) -> Option<PortInfo> {
    let smp = player.smp(method::GET, AttributeId::PORT_INFO, ONE);
    let (status, payload) = player.directed(&[1], smp, &[])?;
    assert_eq!(status, 0);
    Some(PortInfo::decode(&payload).unwrap())
}

fn try_set(player: &mut Player) -> bool {
    let smp = player.smp(method::SET, AttributeId::LINEAR_FDB, ONE);
    player.directed(&[1], smp, &[1; 64]).is_some()
}

#[test]
fn protection_has_three_grades() {
    // Protect bits, the key that a read without it shows (none: no answer).
    for (bits, shown) in [(0, Some(KEY)), (1, Some(0)), (2, None), (3, None)] {
        let mut player = protected(bits, 0);
        assert_eq!(try_get(&mut player).map(|info| info.m_key), shown, "{bits}");
        assert!(!try_set(&mut player), "{bits}");
        player.m_key = KEY;
        assert!(try_set(&mut player), "{bits}");
        let info = try_get(&mut player).unwrap();
        assert_eq!(info.m_key, KEY);
        let violations = 1 + u16::from(shown.is_none());
        assert_eq!(info.violations_m_key, violations, "{bits}");
    }
}

#[test]
fn without_a_key_any_key_will_do() {
    let mut player = Player::new("one-switch:2,radix=4");
    player.m_key = 7;
    assert!(try_set(&mut player) && try_get(&mut player).is_some());
}

#[test]
fn a_lease_ends_some_time_after_the_first_wrong_key() {
    let mut player = protected(2, 3);
    let start = player.emulator.now();
    let wait = |player: &mut Player, seconds: u64| {
        let now = after(start, seconds * SECOND);
        player.emulator.handle(now, Input::Tick).unwrap();
    };
    wait(&mut player, 100);
    assert!(!try_set(&mut player), "nobody has tried before");
    wait(&mut player, 102);
    assert!(!try_set(&mut player));
    wait(&mut player, 103);
    assert!(try_get(&mut player).is_some());
    let switch = player.node_info(&[1]).node_guid;
    let info = player.port_info_register(switch, PortNum(0));
    assert_eq!(info.m_key_protect_bits, 0);
}

#[test]
fn the_right_key_renews_the_lease() {
    let mut player = protected(2, 3);
    let start = player.emulator.now();
    assert!(!try_set(&mut player));
    player.m_key = KEY;
    assert!(try_set(&mut player));
    player.m_key = 0;
    let late = after(start, 10 * SECOND);
    player.emulator.handle(late, Input::Tick).unwrap();
    assert!(!try_set(&mut player));
}
