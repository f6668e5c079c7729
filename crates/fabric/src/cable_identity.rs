//! What a cable says of itself: its kind, length, manufacturer and serial number, as the vendor's tools put it.
//!
//! Places are those of the vendor's `STL_CABLE_INFO_STD` (SFF-8636, QSFP) and `STL_CABLE_INFO_UP0_DD` (QSFP-DD).

use std::ops::RangeInclusive;

use crate::cables::{CableMemory, QSFP_DD};

/// Identifiers of QSFP, QSFP+ and QSFP28.
const QSFP: [u8; 3] = [0x0C, 0x0D, 0x11];
/// Connector: the cable is fixed to its module.
const NOT_SEPARABLE: u8 = 0x23;

/// Technologies: light, the code among them that is none, copper without electronics, and with.
const OPTICAL: RangeInclusive<u8> = 0..=9;
const OTHER: u8 = 8;
const PASSIVE: RangeInclusive<u8> = 0xA..=0xB;
const ACTIVE: RangeInclusive<u8> = 0xC..=0xF;

/// Offsets in a memory.
struct Places {
    vendor: usize,
    oui: usize,
    part_number: usize,
    revision: usize,
    serial_number: usize,
    date: usize,
    connector: usize,
    technology: usize,
    length: usize,
}

const STANDARD: Places = Places {
    vendor: 148 - 128,
    oui: 165 - 128,
    part_number: 168 - 128,
    revision: 184 - 128,
    serial_number: 196 - 128,
    date: 212 - 128,
    connector: 130 - 128,
    technology: 147 - 128,
    length: 146 - 128,
};
const DOUBLE: Places = Places {
    vendor: 129 - 128,
    oui: 145 - 128,
    part_number: 148 - 128,
    revision: 164 - 128,
    serial_number: 166 - 128,
    date: 182 - 128,
    connector: 203 - 128,
    technology: 212 - 128,
    length: 202 - 128,
};
/// Extended identifier of a QSFP module, with its power class.
const POWER_CLASS: usize = 129 - 128;
/// Most power that a QSFP-DD module takes, in 0.25 W.
const POWER_MAX: usize = 201 - 128;

/// How a cable carries signals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CableKind {
    /// Light, in a cable or in a transceiver that one plugs into.
    Optical,
    /// Copper without electronics.
    PassiveCopper,
    /// Copper with electronics.
    ActiveCopper,
    /// The code for what has no code.
    Unknown,
}

/// What a cable says of itself.
#[derive(Debug, Clone, Copy)]
pub struct CableIdentity<'a> {
    memory: &'a CableMemory,
}

impl<'a> CableIdentity<'a> {
    /// Reads a memory.
    pub fn new(memory: &'a CableMemory) -> Self {
        Self { memory }
    }

    /// The memory.
    pub fn memory(&self) -> &'a CableMemory {
        self.memory
    }

    fn places(&self) -> &'static Places {
        if self.is_double() { &DOUBLE } else { &STANDARD }
    }

    /// Whether it is of QSFP-DD, which has its own layout.
    pub fn is_double(&self) -> bool {
        self.memory[0] == QSFP_DD
    }

    /// Identifier of the module's form.
    pub fn identifier(&self) -> u8 {
        self.memory[0]
    }

    /// Code of the technology; of a QSFP-DD module all eight bits.
    fn technology(&self) -> u8 {
        let code = self.memory[self.places().technology];
        if self.is_double() { code } else { code >> 4 }
    }

    /// How it carries signals; none for a code that is not defined.
    pub fn kind(&self) -> Option<CableKind> {
        match self.technology() {
            OTHER => Some(CableKind::Unknown),
            code if OPTICAL.contains(&code) => Some(CableKind::Optical),
            code if PASSIVE.contains(&code) => Some(CableKind::PassiveCopper),
            code if ACTIVE.contains(&code) => Some(CableKind::ActiveCopper),
            _ => None,
        }
    }

    fn is_separable(&self) -> bool {
        self.memory[self.places().connector] != NOT_SEPARABLE
    }

    /// Form and kind, such as `QSFP AOC`.
    pub fn short_kind(&self) -> String {
        let form = match self.identifier() {
            code if QSFP.contains(&code) => "QSFP",
            QSFP_DD => "QSFP-DD",
            _ => "Unknown",
        };
        let kind = match self.kind() {
            Some(CableKind::Optical) if self.is_separable() => " Xcvr",
            Some(CableKind::Optical) => " AOC",
            Some(CableKind::PassiveCopper) => " Copper",
            Some(CableKind::ActiveCopper) | None => " ActCu",
            Some(CableKind::Unknown) => "",
        };
        format!("{form}{kind}")
    }

    /// Kind in words, such as `AOC, 850nm VCSEL`.
    pub fn long_kind(&self) -> String {
        let light = [
            "850nm VCSEL",
            "1310nm VCSEL",
            "1550nm VCSEL",
            "1310nm FP",
            "1310nm DFB",
            "1550nm DFB",
            "1310nm EML",
            "1550nm EML",
            "",
            "1490nm DFB",
        ];
        let text = match self.technology() {
            OTHER => "Other/Undefined",
            code if OPTICAL.contains(&code) => {
                let cable = match self.is_separable() {
                    true => "Optical transceiver",
                    false => "AOC",
                };
                return format!("{cable}, {}", light[usize::from(code)]);
            }
            0xA => "Passive copper cable",
            0xB => "Equalized passive copper cable",
            0xC => "Active copper cable, TX and RX repeaters",
            0xD => "Active copper cable, RX repeaters",
            0xE => "Active copper cable, TX repeaters",
            0xF => "Linear active copper cable",
            _ => "Undefined",
        };
        text.to_owned()
    }

    /// What the module's other side takes.
    pub fn connector(&self) -> &'static str {
        match self.memory[self.places().connector] {
            0x0C => "MPO 1x12",
            0x0D => "MPO 2x16",
            NOT_SEPARABLE => "No separable connector",
            0x24 => "MXC 2x16",
            _ => "Unknown",
        }
    }

    /// Length in metres, such as `3m`; empty for a QSFP-DD transceiver, which has none. Of a QSFP transceiver, that of the
    /// longest fibre.
    pub fn length(&self) -> String {
        let code = self.memory[self.places().length];
        let is_cable = match self.kind() {
            Some(CableKind::Optical) => !self.is_separable(),
            Some(CableKind::Unknown) => false,
            _ => true,
        };
        match (self.is_double(), is_cable) {
            (false, true) => format!("{code}m"),
            (false, false) => format!("{}m", u16::from(code) * 2),
            (true, false) => String::new(),
            (true, true) => {
                let base = f32::from(code & 0x3F);
                let metres = base * [0.1, 1.0, 10.0, 100.0][usize::from(code >> 6)];
                match metres <= 6.3 {
                    true => format!("{metres:.1}m"),
                    false => format!("{}m", metres as u32),
                }
            }
        }
    }

    /// The most power that it takes.
    pub fn power(&self) -> String {
        if self.is_double() {
            return format!("{:.2} W max", f32::from(self.memory[POWER_MAX]) / 4.0);
        }
        let code = self.memory[POWER_CLASS];
        let class = match (code & 3, code >> 6) {
            (1, _) => "Power Class 5, 4.0W max",
            (2, _) => "Power Class 6, 4.5W max",
            (3, _) => "Power Class 7, 5.0W max",
            (_, 0) => "Power Class 1, 1.5W max",
            (_, 1) => "Power Class 2, 2.0W max",
            (_, 2) => "Power Class 3, 2.5W max",
            _ => "Power Class 4, 3.5W max",
        };
        class.to_owned()
    }

    /// A field of text, without the spaces and zeros at its end.
    pub fn text(&self, field: CableText) -> String {
        let places = self.places();
        let (at, len) = match field {
            CableText::Vendor => (places.vendor, 16),
            CableText::PartNumber => (places.part_number, 16),
            CableText::Revision => (places.revision, 2),
            CableText::SerialNumber => (places.serial_number, 16),
        };
        let text = lossy(self.raw(at, len));
        text.trim_end_matches([' ', '\0']).to_owned()
    }

    /// IEEE OUI of the manufacturer.
    pub fn oui(&self) -> [u8; 3] {
        let at = self.places().oui;
        [self.memory[at], self.memory[at + 1], self.memory[at + 2]]
    }

    /// When it was made, `20YY/MM/DD-LL` with the lot.
    pub fn date(&self) -> String {
        let code = self.raw(self.places().date, 8);
        let part = |at: usize| lossy(&code[at..at + 2]);
        format!("20{}/{}/{}-{}", part(0), part(2), part(4), part(6))
    }

    fn raw(&self, at: usize, len: usize) -> &'a [u8] {
        &self.memory[at..at + len]
    }
}

/// The fields of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CableText {
    /// Name of the manufacturer.
    Vendor,
    /// Part number.
    PartNumber,
    /// Revision.
    Revision,
    /// Serial number.
    SerialNumber,
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: &[(usize, u8)]) -> CableMemory {
        let mut memory = [0; 128];
        for (at, byte) in bytes {
            memory[at - 128] = *byte;
        }
        memory
    }

    #[test]
    fn kinds_and_lengths() {
        for (bytes, kind, length) in [
            (
                &[(128, 0x11), (130, 0x23), (147, 0xA0), (146, 3)][..],
                "QSFP Copper",
                "3m",
            ),
            (
                &[(128, 0x11), (130, 0x23), (147, 0x00), (146, 10)],
                "QSFP AOC",
                "10m",
            ),
            (
                &[(128, 0x0D), (130, 0x0C), (147, 0x40), (146, 100)],
                "QSFP Xcvr",
                "200m",
            ),
            (&[(128, 0x11), (147, 0xC0), (146, 5)], "QSFP ActCu", "5m"),
            (&[(128, 0x01), (147, 0x80), (146, 5)], "Unknown", "10m"),
            (
                &[(128, 0x18), (203, 0x23), (212, 0x0A), (202, 0x19)],
                "QSFP-DD Copper",
                "2.5m",
            ),
            (
                &[(128, 0x18), (203, 0x23), (212, 0x00), (202, 0x43)],
                "QSFP-DD AOC",
                "3.0m",
            ),
            (
                &[(128, 0x18), (203, 0x23), (212, 0x00), (202, 0x83)],
                "QSFP-DD AOC",
                "30m",
            ),
            (
                &[(128, 0x18), (203, 0x0C), (212, 0x00), (202, 0x83)],
                "QSFP-DD Xcvr",
                "",
            ),
            (
                &[(128, 0x18), (203, 0x23), (212, 0x77), (202, 0x42)],
                "QSFP-DD ActCu",
                "2.0m",
            ),
        ] {
            let memory = memory(bytes);
            let identity = CableIdentity::new(&memory);
            assert_eq!(identity.short_kind(), kind);
            assert_eq!(identity.length(), length, "{kind}");
        }
    }

    #[test]
    fn every_memory_has_texts() {
        for byte in 0..=255 {
            for form in [0, 0x11, QSFP_DD] {
                let mut memory = [byte; 128];
                memory[0] = form;
                let identity = CableIdentity::new(&memory);
                let texts = [
                    identity.short_kind(),
                    identity.long_kind(),
                    identity.power(),
                    identity.text(CableText::Vendor),
                ];
                assert!(
                    texts[..3].iter().all(|text| !text.is_empty()),
                    "{byte} {form}"
                );
                assert!(identity.date().starts_with("20"));
            }
        }
    }
}
