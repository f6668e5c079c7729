//! Memories of cables: what cable is in a port, and what the module at that end measures.
//!
//! Places are those of SFF-8636 (QSFP28), and of the vendor's `STL_CABLE_INFO_LOW0_DD` for QSFP-DD. An address is
//! linear: page 0 at 0 to 255, page 3 at 512 to 639.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use weft_state::State;
use weft_wire::id::{Guid, PortNum};

/// The bytes of a cable's memory that say what cable it is: the upper half of page 0.
pub const CABLE_MEMORY: RangeInclusive<u16> = 128..=255;

/// The bytes of [`CABLE_MEMORY`].
pub type CableMemory = [u8; 128];

/// Identifier of a QSFP-DD module, the first byte of each half of page 0.
pub(crate) const QSFP_DD: u8 = 0x18;
/// Offset in [`CableMemory`] of how the cable transmits: high four bits.
const TECHNOLOGY: usize = 147 - 128;
/// Copper without electronics, which measures nothing.
const PASSIVE: RangeInclusive<u8> = 0xA..=0xB;
/// Byte and bit of the status that says that there is no other page than page 0.
const FLAT: (usize, u8) = (2, 1 << 2);

/// Whether a cable of this memory measures anything: all but passive copper.
pub fn measures(memory: &CableMemory) -> bool {
    memory[0] == QSFP_DD || !PASSIVE.contains(&(memory[TECHNOLOGY] >> 4))
}

/// Memories of cables by the ports that they are in.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct CableMemories {
    by_port: BTreeMap<(Guid, PortNum), CableMemory>,
    modules: BTreeMap<(Guid, PortNum), Module>,
}

impl CableMemories {
    /// What cable is in a port of a node, none where it is not known.
    pub fn get(&self, node: Guid, port: PortNum) -> Option<&CableMemory> {
        self.by_port.get(&(node, port))
    }

    /// What the module in a port of a node measured when it was last read, none where it measures nothing or has not
    /// been read.
    pub fn module(&self, node: Guid, port: PortNum) -> Option<&Module> {
        self.modules.get(&(node, port))
    }

    /// Sets what cable is in a port.
    pub fn insert(&mut self, port: (Guid, PortNum), memory: CableMemory) {
        self.by_port.insert(port, memory);
    }

    /// Sets what the module in a port has measured.
    pub fn insert_module(&mut self, port: (Guid, PortNum), module: Module) {
        self.modules.insert(port, module);
    }

    /// Keeps the ports that are wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&(Guid, PortNum)) -> bool) {
        self.by_port.retain(|port, _| is_wanted(port));
        self.modules.retain(|port, _| is_wanted(port));
    }

    /// Ports whose cable is known, with its memory, in order.
    pub fn iter(&self) -> impl Iterator<Item = ((Guid, PortNum), &CableMemory)> {
        self.by_port.iter().map(|(port, memory)| (*port, memory))
    }

    /// Whether both know the same cables in the same ports, whatever modules measure.
    pub fn same_cables(&self, other: &Self) -> bool {
        self.by_port == other.by_port
    }

    /// Modules that were read, in order of their ports.
    pub fn modules(&self) -> impl Iterator<Item = ((Guid, PortNum), &Module)> {
        self.modules.iter().map(|(port, module)| (*port, module))
    }

    /// Ports whose cable is known.
    pub fn len(&self) -> usize {
        self.by_port.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_port.is_empty()
    }
}

/// The monitors of a module as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Module {
    /// Addresses 0 to 63, in which all monitors are.
    pub monitors: [u8; 64],
    /// Page 3 (addresses 512 to 639) with the module's own thresholds; none where it has no such page.
    pub thresholds: Option<[u8; 128]>,
}

/// What a module measures, in each of up to four lanes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Readings {
    /// Degrees Celsius.
    pub temperature: f64,
    /// Supply voltage, volts.
    pub voltage: f64,
    /// Of the lanes; none for a QSFP-DD module, which has them in a page that cannot be read.
    pub lanes: Option<LaneReadings>,
}

/// What a module measures of its lanes; lanes 1 to 4 are at 0 to 3.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneReadings {
    /// Power received, milliwatts.
    pub receive_power: [f64; 4],
    /// Current of the lasers, milliamperes.
    pub bias: [f64; 4],
    /// Power sent, milliwatts.
    pub transmit_power: [f64; 4],
}

/// Thresholds of one quantity, in its unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Beyond these the module does not work as specified.
    pub high_alarm: f64,
    /// See `high_alarm`.
    pub low_alarm: f64,
    /// Between these it is as usual.
    pub high_warning: f64,
    /// See `high_warning`.
    pub low_warning: f64,
}

/// A module's own thresholds, in the units of [`Readings`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Degrees Celsius.
    pub temperature: Limits,
    /// Volts.
    pub voltage: Limits,
    /// Milliwatts.
    pub receive_power: Limits,
    /// Milliamperes.
    pub bias: Limits,
    /// Milliwatts.
    pub transmit_power: Limits,
}

/// Units of the registers: 1/256 °C, 100 µV, 0.1 µW and 2 µA.
const CELSIUS: f64 = 1.0 / 256.0;
const VOLT: f64 = 1e-4;
const MILLIWATT: f64 = 1e-4;
const MILLIAMPERE: f64 = 2e-3;

impl Module {
    /// Whether it has no other page than page 0.
    pub fn is_flat(&self) -> bool {
        self.monitors[FLAT.0] & FLAT.1 != 0
    }

    /// What it measured.
    pub fn readings(&self) -> Readings {
        let bytes = &self.monitors;
        let is_dd = bytes[0] == QSFP_DD;
        let (temperature, voltage) = if is_dd { (14, 16) } else { (22, 26) };
        let lanes = |at: usize, unit: f64| [0, 2, 4, 6].map(|lane| word(bytes, at + lane) * unit);
        Readings {
            temperature: signed(bytes, temperature) * CELSIUS,
            voltage: word(bytes, voltage) * VOLT,
            lanes: (!is_dd).then(|| LaneReadings {
                receive_power: lanes(34, MILLIWATT),
                bias: lanes(42, MILLIAMPERE),
                transmit_power: lanes(50, MILLIWATT),
            }),
        }
    }

    /// Its own thresholds, where it has them.
    pub fn thresholds(&self) -> Option<Thresholds> {
        let page = self.thresholds.as_ref()?;
        let limits = |at: usize, read: fn(&[u8], usize) -> f64, unit: f64| {
            let [high_alarm, low_alarm, high_warning, low_warning] =
                [0, 2, 4, 6].map(|offset| read(page, at - 128 + offset) * unit);
            Limits {
                high_alarm,
                low_alarm,
                high_warning,
                low_warning,
            }
        };
        let thresholds = Thresholds {
            temperature: limits(128, signed, CELSIUS),
            voltage: limits(144, word, VOLT),
            receive_power: limits(176, word, MILLIWATT),
            bias: limits(184, word, MILLIAMPERE),
            transmit_power: limits(192, word, MILLIWATT),
        };
        // A page of zeros is none.
        page.iter().any(|byte| *byte != 0).then_some(thresholds)
    }
}

fn word(bytes: &[u8], at: usize) -> f64 {
    f64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn signed(bytes: &[u8], at: usize) -> f64 {
    f64::from(i16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(identifier: u8) -> Module {
        let mut monitors = [0; 64];
        monitors[0] = identifier;
        for (place, value) in [(14, 0x1E80), (16, 32_000), (22, 0xFB80_u16), (26, 33_000)] {
            monitors[place..place + 2].copy_from_slice(&value.to_be_bytes());
        }
        monitors[40..42].copy_from_slice(&870_u16.to_be_bytes());
        monitors[42..44].copy_from_slice(&3_500_u16.to_be_bytes());
        monitors[50..52].copy_from_slice(&10_000_u16.to_be_bytes());
        Module {
            monitors,
            thresholds: None,
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn quantities_have_their_units() {
        let readings = module(0x11).readings();
        close(readings.temperature, -4.5);
        close(readings.voltage, 3.3);
        let lanes = readings.lanes.unwrap_or(LaneReadings {
            receive_power: [0.0; 4],
            bias: [0.0; 4],
            transmit_power: [0.0; 4],
        });
        close(lanes.receive_power[3], 0.087);
        close(lanes.bias[0], 7.0);
        close(lanes.transmit_power[0], 1.0);
        let readings = module(QSFP_DD).readings();
        close(readings.temperature, 30.5);
        close(readings.voltage, 3.2);
        assert_eq!(readings.lanes, None);
    }

    #[test]
    fn a_page_of_zeros_has_no_thresholds() {
        let mut module = module(0x11);
        module.thresholds = Some([0; 128]);
        assert_eq!(module.thresholds(), None);
        let mut page = [0; 128];
        page[50..52].copy_from_slice(&500_u16.to_be_bytes());
        page[0..2].copy_from_slice(&0x4B00_u16.to_be_bytes());
        module.thresholds = Some(page);
        let thresholds = module.thresholds();
        close(
            thresholds.map_or(0.0, |all| all.receive_power.low_alarm),
            0.05,
        );
        close(
            thresholds.map_or(0.0, |all| all.temperature.high_alarm),
            75.0,
        );
    }

    #[test]
    fn passive_copper_measures_nothing() {
        let mut memory = [0; 128];
        memory[TECHNOLOGY] = 0xA0;
        assert!(!measures(&memory));
        memory[TECHNOLOGY] = 0xC0;
        assert!(measures(&memory));
        memory[TECHNOLOGY] = 0;
        assert!(measures(&memory));
    }
}
