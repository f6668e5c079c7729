//! What the registers show from the death of a master on.

use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_emulator::Emulator;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, NodeId, PortNum};
use weft_wire::sm::AttributeId;

use super::packets::Packets;
use crate::Failure;
use crate::managers::fabric::Fabric;

/// Interval at which the registers are looked at.
const POLL: Duration = Duration::from_millis(1);

/// Counts up to a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) sets: u64,
    /// Changes of states of ports.
    pub(super) state_changes: u64,
    /// Requests to hosts to register again.
    pub(super) asked_again: u64,
    /// Requests for the identity of the standby's switch.
    identities: u64,
}

impl Counts {
    /// Up to now.
    pub(super) fn now(fabric: &Fabric, standby: Guid) -> Result<Self, Failure> {
        let counts = fabric.inspect(move |emulator| {
            let network = emulator.network();
            let ports = network.devices().flat_map(|(_, device)| device.ports());
            let asked = ports.map(|(_, at)| u64::from(network.port(at).reregistrations()));
            Some(Self {
                sets: emulator.stats().sets_total(),
                state_changes: network.state_changes(),
                asked_again: asked.sum(),
                identities: identities(emulator, switch_of(emulator, standby)?),
            })
        })?;
        counts.ok_or_else(|| fabric.failed("the standby has no switch"))
    }
}

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// When somebody first asked for the identity of the standby's switch.
    pub(super) noticed: Option<Instant>,
    /// When the first Set was carried out.
    pub(super) acted: Option<Instant>,
    /// From when all ports that have a link name the standby as their master.
    pub(super) known: Option<Instant>,
    pub(super) packets: Packets,
}

/// Looks until all ports know the standby, which has this LID, or the time is over.
pub(super) fn watch(
    fabric: &Fabric,
    (standby, lid): (Guid, Lid),
    before: Counts,
    mut packets: Packets,
    until: Instant,
) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    while Instant::now() < until && seen.known.is_none() {
        let (asked, sets, known, sent) = fabric.inspect(move |emulator| {
            let switch = switch_of(emulator, standby);
            let asked = switch.is_some_and(|at| identities(emulator, at) > before.identities);
            packets.send(emulator.network());
            let sets = emulator.stats().sets_total();
            (asked, sets, knows(emulator, lid), packets)
        })?;
        packets = sent;
        let now = Instant::now();
        if asked {
            seen.noticed.get_or_insert(now);
        }
        if sets > before.sets {
            seen.acted.get_or_insert(now);
        }
        seen.known = known.then_some(now);
        sleep(POLL);
    }
    seen.packets = packets;
    Ok(seen)
}

/// The switch that a host is cabled to.
fn switch_of(emulator: &Emulator, host: Guid) -> Option<NodeId> {
    let network = emulator.network();
    let at = network.device_at(network.find(host)?).port(PortNum(1))?;
    Some(network.node_of(network.peer(at)?))
}

fn identities(emulator: &Emulator, switch: NodeId) -> u64 {
    emulator.stats().gets(switch, AttributeId::NODE_INFO)
}

/// Whether the end port of each node that has a link names this LID as its master's.
pub(super) fn knows(emulator: &Emulator, lid: Lid) -> bool {
    let network = emulator.network();
    network.devices().all(|(_, device)| {
        let number = PortNum(u8::from(!device.is_switch()));
        device.port(number).is_none_or(|at| {
            let is_up = device.is_switch() || network.state(at) != PortState::DOWN;
            !is_up || network.port(at).info().master_sm_lid == lid
        })
    })
}
