//! CableInfo: the memory of the cable in a port.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortType;
use weft_wire::sm::{CableInfo, CableInfoModifier};

use super::{Failure, Request};

/// Bytes that a cable has: page 0, lower and upper half (SFF-8636).
const MEMORY: usize = 256;
/// Start of the upper half.
const UPPER: usize = 128;

/// Memory of every cable: offset, bytes (SFF-8636, and `STL_CABLE_INFO_STD` for the upper
/// half).
const CONTENT: &[(usize, &[u8])] = &[
    // QSFP28, in both halves.
    (0, &[0x11]),
    (UPPER, &[0x11]),
    // Connector: no separable connector.
    (UPPER + 2, &[0x23]),
    // 25.78 Gb/s a lane in units of 100 Mb/s does not fit one byte: extended.
    (UPPER + 12, &[0xFF]),
    // Copper, 2 m.
    (UPPER + 18, &[2]),
    // Passive copper, unequalised.
    (UPPER + 19, &[0xA0]),
    (UPPER + 20, b"Weft emulator   "),
    (UPPER + 37, &[0x00, 0x11, 0x75]),
    (UPPER + 40, b"WEFT-CU-2M      "),
    (UPPER + 56, b"A "),
    (UPPER + 84, b"160101  "),
    // OPA certified, for 100 Gb/s.
    (UPPER + 122, &[0xAB]),
    (UPPER + 124, &[0x04]),
];
/// Offset and length of the serial number.
const SERIAL: (usize, usize) = (UPPER + 68, 16);
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
    for (place, bytes) in CONTENT {
        for (to, from) in memory.iter_mut().skip(*place).zip(*bytes) {
            *to = *from;
        }
    }
    let serial = serial(network, at);
    for (to, from) in memory.iter_mut().skip(SERIAL.0).take(SERIAL.1).zip(serial) {
        *to = from;
    }
    memory[CHECK_BASE] = sum(&memory[UPPER..CHECK_BASE]);
    memory[CHECK_EXTENDED] = sum(&memory[CHECK_BASE + 1..CHECK_EXTENDED]);
    memory
}

/// Serial number, equal at both ends of a cable: from the node and port of its lower end.
fn serial(network: &Network, at: PortIndex) -> [u8; 16] {
    let lower = network.peer(at).map_or(at, |peer| at.min(peer));
    let guid = network.device_at(network.node_of(lower)).info.node_guid.0;
    let text = format!(
        "W{:012X}{:03}",
        guid & 0xFFFF_FFFF_FFFF,
        network.number_of(lower).0
    );
    let mut serial = [b' '; 16];
    for (to, from) in serial.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    serial
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}
