//! Attack 8: traps without end, with the attacker's own name and with those of switches: changed links, and errors of
//! links that are good.

use rand::RngExt;
use weft_fabric::{Lid, PortNum};
use weft_manager::io::{Event, SweepReason};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::sm::trap::{Trap, TrapChangeCapability, TrapLink, TrapPortChangeState};
use weft_wire::sm::{AttributeId, Notice};
use weft_wire::smp::Smp;

use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;

/// Steps, of 5 ms each.
const STEPS: u32 = 400;
/// 100,000 a second.
const AT_A_STEP: u32 = 500;

/// Sends them from the attacker's port.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.note(format!("{} traps in 2 s", STEPS * AT_A_STEP));
    let ports = site.ports_of_leaf();
    let leaf = site.lid_of_leaf();
    let own = site.attacker.lid;
    for step in 0..STEPS {
        for one in 0..AT_A_STEP {
            let port = ports[site.rng.random_range(0..ports.len())];
            let id = u64::from(step * AT_A_STEP + one);
            let trap = drawn(site.rng.random_range(0..4), leaf, own, port);
            let issuer = if site.rng.random_bool(0.5) { leaf } else { own };
            let notice = Notice::of(&trap, Notice::PRODUCER_SWITCH, issuer);
            site.send_smp_to(site.attacker.sm_lid, smp(id), &notice.to_bytes())?;
        }
        site.pass(STEP)?;
    }
    let sweeps = site.told().filter(|event| {
        let reason = SweepReason::Trap;
        matches!(event, Event::SweepStarted { reason: why, .. } if *why == reason)
    });
    let sweeps = sweeps.count();
    Ok((sweeps > 0).then(|| format!("{sweeps} sweeps")))
}

fn drawn(which: u32, leaf: Lid, own: Lid, port: PortNum) -> Trap {
    match which {
        0 => Trap::PortChangeState(TrapPortChangeState { lid: leaf }),
        1 => Trap::LinkIntegrity(TrapLink { lid: leaf, port }),
        2 => Trap::PortChangeState(TrapPortChangeState { lid: own }),
        _ => Trap::ChangeCapability(TrapChangeCapability {
            lid: own,
            ..TrapChangeCapability::default()
        }),
    }
}

fn smp(id: u64) -> Smp {
    Smp {
        method: method::TRAP,
        ..Smp::get(AttributeId::NOTICE, 0, id, 0)
    }
}
