//! Carries a datagram to its destination node: by directed route, by LID, or both.

use weft_dataplane::circles::CirclingPacket;
use weft_dataplane::counters::VL15;
use weft_dataplane::forward::{Channel, Dropped, HOPS_MAX, flits};
use weft_dataplane::{Arrival, Network, PortIndex};
use weft_fabric::{Lid, PortNum};
use weft_wire::bits::load;
use weft_wire::header::{class, status, version};
use weft_wire::packet::Packet;
use weft_wire::smp::{DIRECTED_HEADER_LEN, Hop, advance};

use crate::agent::ib;
use crate::agent::sma::at;

const HOP_POINTER: usize = 6;
const HOP_COUNT: usize = 7;
const DR_SLID: usize = 32;
const DR_DLID: usize = 36;

/// Why a datagram does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It was dropped, which the counters record.
    Dropped,
    /// It circles.
    Circles(CirclingPacket),
    /// The port does not let its P_Key through.
    Forbidden(PortIndex),
}

/// Carries a datagram from a port of an HFI, or from port 0 of a switch, to its destination node.
/// Returns its ingress port there and the number of links crossed.
///
/// # Errors
/// [`Lost`].
pub(crate) fn carry(
    network: &mut Network,
    from: PortIndex,
    packet: &mut Packet,
) -> Result<(PortIndex, u32), Lost> {
    let directed = packet.mad.get(at::CLASS) == Some(&class::SM_DIRECTED_ROUTE);
    if !directed {
        let arrival = by_lid(network, from, packet)?;
        return Ok((arrival.port, arrival.hops));
    }
    if packet.mad.get(at::BASE_VERSION) == Some(&version::IB) {
        // Of InfiniBand's directed routes only those to the port itself are answered.
        let local = packet.mad.len() == ib::MAD_LEN && packet.mad.get(HOP_COUNT) == Some(&0);
        return local.then_some((from, 0)).ok_or(Lost::Dropped);
    }
    directed_route(network, from, packet).ok_or(Lost::Dropped)
}

fn by_lid(network: &mut Network, from: PortIndex, packet: &Packet) -> Result<Arrival, Lost> {
    let management = packet
        .mad
        .get(at::CLASS)
        .is_none_or(|mgmt_class| class::is_sm(*mgmt_class));
    let channel = if management {
        Channel::Management
    } else {
        Channel::Data(packet.sl, packet.pkey)
    };
    let flits = flits(packet.mad.len());
    let Packet { slid, dlid, .. } = *packet;
    let arrived = network.route(from, slid, dlid, channel, flits);
    arrived.map_err(|dropped| match (dropped, channel) {
        (Dropped::Circle(_), Channel::Data(..)) => Lost::Circles(CirclingPacket {
            slid,
            dlid,
            channel,
            flits,
        }),
        (Dropped::Forbidden(at), _) => Lost::Forbidden(at),
        _ => Lost::Dropped,
    })
}

fn directed_route(
    network: &mut Network,
    from: PortIndex,
    packet: &mut Packet,
) -> Option<(PortIndex, u32)> {
    if packet.mad.len() < DIRECTED_HEADER_LEN {
        return None;
    }
    let (mut here, mut hops, mut ingress) = (from, 0, PortNum(0));
    if starts_by_lid(&packet.mad) {
        let arrival = by_lid(network, from, packet).ok()?;
        (here, hops, ingress) = came_in(network, arrival, 0);
    }
    // Each turn moves the hop pointer, and there and back again are 2 × 64 hops.
    while hops <= 2 * HOPS_MAX {
        let device = network.device_at(network.node_of(here));
        match advance(&mut packet.mad, ingress, device.is_switch()) {
            Hop::Deliver => return Some((here, hops)),
            Hop::Discard => return None,
            Hop::Forward(port) => {
                let out = device.port(port).filter(|_| port != PortNum(0))?;
                let crossed = network.cross(out, flits(packet.mad.len()), VL15);
                here = crossed.ok()?;
                ingress = network.number_of(here);
                hops += 1;
            }
            Hop::LidRoute(lid) => {
                let end = network.end_port(here);
                packet.slid = network.port(end).info().lid;
                packet.dlid = lid;
                let arrival = by_lid(network, end, packet).ok()?;
                (here, hops, ingress) = came_in(network, arrival, hops);
            }
        }
    }
    None
}

fn came_in(network: &Network, arrival: Arrival, before: u32) -> (PortIndex, u32, PortNum) {
    let ingress = match arrival.hops {
        0 => PortNum(0),
        _ => network.number_of(arrival.port),
    };
    (arrival.port, before + arrival.hops, ingress)
}

/// Whether the part before the directed route is still ahead: outbound, if it does not
/// start at the sender; on the return path, if it did not end at the receiver.
fn starts_by_lid(mad: &[u8]) -> bool {
    let permissive = |place: usize| Lid(load(mad, place, 4) as u32) == Lid::PERMISSIVE;
    let (pointer, count) = (load(mad, HOP_POINTER, 1), load(mad, HOP_COUNT, 1));
    if load(mad, at::STATUS, 2) as u16 & status::DIRECTION == 0 {
        pointer == 0 && !permissive(DR_SLID)
    } else {
        pointer == count + 1 && !permissive(DR_DLID)
    }
}
