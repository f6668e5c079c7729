//! CableInfo: the memory of the cable in a port.

use weft_dataplane::optics::Optics;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortType;
use weft_wire::sm::{CableInfo, CableInfoModifier};

use super::{Failure, Request};

/// Bytes that a cable has: page 0, lower and upper half, and pages 1 to 3 (SFF-8636), at linear addresses.
const MEMORY: usize = 640;
/// Start of the upper half of page 0, and of page 3.
const UPPER: usize = 128;
const PAGE_3: usize = 512;

/// Offset and bytes (SFF-8636, and `STL_CABLE_INFO_STD` for the upper half).
type Content = &'static [(usize, &'static [u8])];

/// Memory of every cable.
const COMMON: Content = &[
    // QSFP28, in both halves.
    (0, &[0x11]),
    (UPPER, &[0x11]),
    // Connector: no separable connector.
    (UPPER + 2, &[0x23]),
    // 25.78 Gb/s a lane in units of 100 Mb/s does not fit one byte: extended.
    (UPPER + 12, &[0xFF]),
    (UPPER + 20, b"Weft emulator   "),
    (UPPER + 37, &[0x00, 0x11, 0x75]),
    (UPPER + 56, b"A "),
    (UPPER + 84, b"160101  "),
    // OPA certified, for 100 Gb/s.
    (UPPER + 122, &[0xAB]),
    (UPPER + 124, &[0x04]),
];
/// Memory of a copper cable: page 0 only, 2 m, passive, unequalised.
const COPPER: Content = &[
    (2, &[0x04]),
    (UPPER + 18, &[2]),
    (UPPER + 19, &[0xA0]),
    (UPPER + 40, b"WEFT-CU-2M      "),
];
/// Memory of an optical cable: 10 m in units of 2 m, 850 nm, with monitors of average power and of everything else,
/// and thresholds.
const OPTICAL: Content = &[
    (UPPER + 18, &[5]),
    (UPPER + 19, &[0x00]),
    (UPPER + 40, b"WEFT-AOC-10M    "),
    (UPPER + 92, &[0x3C]),
    // High and low alarm, high and low warning: 75, -5, 70 and 0 °C.
    (PAGE_3, &[75, 0, 0xFB, 0, 70, 0, 0, 0]),
    // 3.63, 2.97, 3.465 and 3.135 V.
    (
        PAGE_3 + 16,
        &[0x8D, 0xCC, 0x74, 0x04, 0x87, 0x5A, 0x7A, 0x76],
    ),
    // Received: 3.4, 0.04, 1.7 and 0.1 mW.
    (
        PAGE_3 + 48,
        &[0x84, 0xD0, 0x01, 0x90, 0x42, 0x68, 0x03, 0xE8],
    ),
    // Current: 12, 2, 10 and 4 mA.
    (
        PAGE_3 + 56,
        &[0x17, 0x70, 0x03, 0xE8, 0x13, 0x88, 0x07, 0xD0],
    ),
    // Sent: 3.4, 0.1, 1.7 and 0.2 mW.
    (
        PAGE_3 + 64,
        &[0x84, 0xD0, 0x03, 0xE8, 0x42, 0x68, 0x07, 0xD0],
    ),
];
/// Offsets of the part number and the serial number, 16 bytes each.
const PART: usize = UPPER + 40;
const SERIAL: usize = UPPER + 68;
/// Check codes: of bytes 128 to 190 and 192 to 222.
const CHECK_BASE: usize = UPPER + 63;
const CHECK_EXTENDED: usize = UPPER + 95;

pub(super) fn cable_info(
    network: &Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.read_only()?;
    let modifier = CableInfoModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, 1, false)?;
    let at = request.device(network).port(ports.first);
    let at = at.filter(|at| has_memory(network, *at));
    let at = at.ok_or(Failure::Invalid)?;
    // What the bus of the module does not give: `hfi1`, `mad.c`, `__subn_get_opa_cable_info`.
    if network.is_cable_busy(at) {
        return Err(Failure::Invalid);
    }
    let (start, len) = (modifier.address, u16::from(modifier.len_less_one) + 1);
    let page = CableInfo::PAGE_LEN;
    if start / page != (start + len - 1) / page {
        return Err(Failure::Invalid);
    }
    let memory = memory(network, at);
    let wanted = memory
        .iter()
        .skip(usize::from(start))
        .take(usize::from(len));
    data.fill(0);
    for (to, from) in data.iter_mut().zip(wanted) {
        *to = *from;
    }
    Ok(())
}

/// A module is in the port's cage: there is a cable.
fn has_memory(network: &Network, at: PortIndex) -> bool {
    network.port(at).info().port_type == PortType::STANDARD && network.has_cable(at)
}

fn memory(network: &Network, at: PortIndex) -> [u8; MEMORY] {
    let mut memory = [0; MEMORY];
    let optics = network.optics(at);
    let kind = if optics.is_some() { OPTICAL } else { COPPER };
    for (place, bytes) in COMMON.iter().chain(kind) {
        put(&mut memory, *place, bytes);
    }
    if let Some(optics) = optics {
        put_monitors(&mut memory, &optics);
    }
    put(&mut memory, SERIAL, &network.cable_serial(at));
    if let Some(part) = network.cable_part(at) {
        put(&mut memory, PART, &part);
    }
    memory[CHECK_BASE] = sum(&memory[UPPER..CHECK_BASE]);
    memory[CHECK_EXTENDED] = sum(&memory[CHECK_BASE + 1..CHECK_EXTENDED]);
    memory
}

fn put(memory: &mut [u8; MEMORY], place: usize, bytes: &[u8]) {
    for (to, from) in memory.iter_mut().skip(place).zip(bytes) {
        *to = *from;
    }
}

/// Writes what the module measures.
fn put_monitors(memory: &mut [u8; MEMORY], optics: &Optics) {
    put(memory, 22, &optics.temperature.to_be_bytes());
    put(memory, 26, &optics.voltage.to_be_bytes());
    let lanes = [
        (34, optics.receive_power),
        (42, optics.bias),
        (50, optics.transmit_power),
    ];
    for (place, values) in lanes {
        for (lane, value) in values.iter().enumerate() {
            put(memory, place + 2 * lane, &value.to_be_bytes());
        }
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}
