//! Division of a neighbour's receive buffer among virtual lanes.
//!
//! The neighbour's allocation unit is 8 · 2^BufferAlloc bytes. A lane needs space for the data on the wire
//! while credits return, and for packets; all lanes share the rest.

use weft_fabric::Vl;
use weft_wire::Layout;
use weft_wire::sm::{BufferControlTable, PortInfo, VlBufferLimits};

use super::qos::Qos;
use crate::settings::MANAGEMENT_LANE;
use crate::sm::settings::TrafficSettings;

/// Bytes of a link transfer packet (`BYTES_PER_LTP`).
const LTP_BYTES: u32 = 128;
/// Bytes of credits in flight besides the wire, with the 14-bit CRC and with the others.
const LATENCY_CRC_14: u32 = 2_304;
const LATENCY_CRC_OTHER: u32 = 4_224;
const CRC_14: u8 = 1;
/// Bytes of a packet beyond its MTU.
const HEADERS: u32 = 128;

/// The table for `port`, whose cable ends at `neighbour`; nothing where the neighbour tells no
/// buffer.
pub(crate) fn table(
    port: &PortInfo,
    neighbour: &PortInfo,
    qos: &Qos,
    traffic: &TrafficSettings,
) -> Option<[u8; 132]> {
    let unit = 8 << neighbour.buffer_alloc;
    let space = u32::from(neighbour.overall_buffer_space);
    let available = space
        .checked_sub(u32::from(neighbour.vl15_init))
        .filter(|_| space > 0)?;
    let cap = port.mtu_cap.min(neighbour.mtu_cap);
    let wire = wire_bytes(port, neighbour, traffic);
    let lanes: Vec<(Vl, u32)> = qos
        .by_lane()
        .map(|(lane, _)| {
            let packet = qos.mtu(lane, cap).bytes() + HEADERS;
            (lane, u32::from(traffic.dedicated_packets) * packet)
        })
        .collect();
    let min_shared = space * u32::from(traffic.min_shared) / 100;
    let dedicated = fit(&lanes, wire, unit, available.saturating_sub(min_shared));
    let shared = available.saturating_sub(dedicated.iter().sum());
    let mut table = BufferControlTable {
        tx_overall_shared_limit: units(shared),
        ..BufferControlTable::default()
    };
    for ((lane, _), own) in lanes.iter().zip(&dedicated) {
        table.vl[usize::from(lane.0)] = VlBufferLimits {
            tx_dedicated_limit: units(*own),
            tx_shared_limit: units(shared),
        };
    }
    table.vl[usize::from(MANAGEMENT_LANE.0)].tx_dedicated_limit = neighbour.vl15_init;
    let mut bytes = [0; 132];
    table.encode(&mut bytes);
    Some(bytes)
}

/// Units dedicated to each lane: packets and the wire; without the wire where that does not fit;
/// nothing where that does not fit either.
fn fit(lanes: &[(Vl, u32)], wire: u32, unit: u32, available: u32) -> Vec<u32> {
    let with = |extra: u32| -> Vec<u32> {
        lanes
            .iter()
            .map(|(_, packets)| (packets + extra).div_ceil(unit))
            .collect()
    };
    [with(wire), with(0)]
        .into_iter()
        .find(|dedicated| dedicated.iter().sum::<u32>() <= available)
        .unwrap_or_else(|| vec![0; lanes.len()])
}

/// Bytes on the wire and in both ends before a credit returns.
fn wire_bytes(port: &PortInfo, neighbour: &PortInfo, traffic: &TrafficSettings) -> u32 {
    let ltps = |high: u8, low: u8| (u32::from(high) << 8 | u32::from(low)) * LTP_BYTES;
    let depth = |info: &PortInfo| ltps(info.wire_depth_h, info.wire_depth);
    let wire = traffic
        .wire_depth
        .unwrap_or_else(|| depth(port).max(depth(neighbour)));
    let replay = traffic
        .replay_depth
        .unwrap_or_else(|| ltps(port.buffer_depth_h, port.buffer_depth));
    let latency = match port.port_ltp_crc_mode_active {
        CRC_14 => LATENCY_CRC_14,
        _ => LATENCY_CRC_OTHER,
    };
    match (wire, replay) {
        (wire, 0) => wire + latency,
        (0, replay) => replay + latency,
        (wire, replay) => wire.min(replay) + latency,
    }
}

fn units(value: u32) -> u16 {
    value.min(u32::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sm::settings::Settings;
    use weft_wire::enums::Mtu;

    fn port(space: u16) -> PortInfo {
        PortInfo {
            overall_buffer_space: space,
            buffer_alloc: 3,
            vl15_init: 100,
            mtu_cap: Mtu::B10240,
            buffer_depth: 0x80,
            wire_depth: 0x40,
            port_ltp_crc_mode_active: CRC_14,
            ..PortInfo::default()
        }
    }

    fn limits(space: u16) -> Option<BufferControlTable> {
        let settings = Settings::default();
        let neighbour = port(space);
        let bytes = table(
            &port(9),
            &neighbour,
            &Qos::new(&settings, 1),
            &settings.traffic,
        )?;
        Some(BufferControlTable::decode(&bytes).unwrap())
    }

    #[test]
    fn dedicated_and_shared_space_add_up_to_the_neighbours_buffer() {
        let table = limits(2_000).unwrap();
        // 10,240 + 128 bytes of packet, 64 · 128 on the wire, 2,304 of latency, in 64 bytes.
        assert_eq!(table.vl[0].tx_dedicated_limit, 326);
        assert_eq!(table.tx_overall_shared_limit, 2_000 - 100 - 326);
        assert_eq!(table.vl[0].tx_shared_limit, table.tx_overall_shared_limit);
        assert_eq!(table.vl[15].tx_dedicated_limit, 100);
        assert_eq!(table.vl[1], VlBufferLimits::default());
    }

    #[test]
    fn the_shared_part_is_kept_before_lanes_get_theirs() {
        let mut settings = Settings::default();
        let mut dedicated = |percent, space| {
            settings.traffic.min_shared = percent;
            let qos = Qos::new(&settings, 1);
            let bytes = table(&port(9), &port(space), &qos, &settings.traffic).unwrap();
            let table = BufferControlTable::decode(&bytes).unwrap();
            let own = table.vl[0].tx_dedicated_limit;
            assert_eq!(table.tx_overall_shared_limit, space - 100 - own);
            own
        };
        assert_eq!(dedicated(50, 2_000), 326, "more than that is left anyway");
        assert_eq!(dedicated(50, 800), 162, "without the wire");
        assert_eq!(dedicated(90, 800), 0);
    }

    #[test]
    fn a_small_buffer_loses_the_wire_then_all_dedicated_space() {
        assert_eq!(limits(300).unwrap().vl[0].tx_dedicated_limit, 162);
        assert_eq!(limits(200).unwrap().vl[0].tx_dedicated_limit, 0);
        assert_eq!(limits(200).unwrap().tx_overall_shared_limit, 100);
        assert_eq!(limits(0), None);
        assert_eq!(limits(50), None);
    }
}
