//! Options of changes that have many.

use std::os::unix::ffi::OsStringExt;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use weft_emulator::io::{Faults, LinkTrap};
use weft_emulator::module::Measured;
use weft_emulator::{Claims, ErrorCounts};
use weft_fabric::{Guid, Lid};
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, NodeDescription};
use weft_wire::text::Text;

/// What happens to datagrams in transit.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TransitFields {
    /// Fraction of datagrams that are lost: 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    loss: f64,
    /// Fraction that arrive twice: 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    duplicate: f64,
    /// Fraction that are overtaken by later ones: 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0)]
    reorder: f64,
}

impl TransitFields {
    /// The faults, with the shortest and the longest delay, nanoseconds.
    pub(crate) fn faults(self, delay_min_ns: u64, delay_max_ns: u64) -> Faults {
        Faults {
            loss: self.loss,
            duplicate: self.duplicate,
            reorder: self.reorder,
            delay_min_ns,
            delay_max_ns,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct MeasuredFields {
    /// Degrees Celsius: -128 to 127
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    temperature: Option<f64>,
    /// Supply voltage in volts: 0 to 6.5535
    #[arg(long, value_name = "V")]
    voltage: Option<f64>,
    /// Power received in milliwatts: 0 to 6.5535
    #[arg(long, value_name = "MW")]
    rx_power: Option<f64>,
    /// Current of the lasers in milliamperes: 0 to 131.07
    #[arg(long, value_name = "MA")]
    tx_bias: Option<f64>,
    /// Power sent in milliwatts: 0 to 6.5535
    #[arg(long, value_name = "MW")]
    tx_power: Option<f64>,
    /// Only of this lane: 1 to 4
    #[arg(long, value_name = "LANE", value_parser = clap::value_parser!(u8).range(1..=4))]
    lane: Option<u8>,
}

impl From<&MeasuredFields> for Measured {
    fn from(fields: &MeasuredFields) -> Self {
        Self {
            temperature: fields.temperature,
            voltage: fields.voltage,
            receive_power: fields.rx_power,
            bias: fields.tx_bias,
            transmit_power: fields.tx_power,
            lane: fields.lane,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ClaimedFields {
    /// NodeGUID: 0x0011750101000001
    #[arg(long, value_name = "GUID", value_parser = guid)]
    node_guid: Option<Guid>,
    /// PortGUID
    #[arg(long, value_name = "GUID", value_parser = guid)]
    port_guid: Option<Guid>,
    /// Largest packet, as in PortInfo: 1 is 256 bytes, 5 is 4096
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u8).range(0..=15))]
    mtu: Option<u8>,
    /// Data lanes
    #[arg(long, value_name = "LANES", value_parser = clap::value_parser!(u8).range(0..=31))]
    lanes: Option<u8>,
    /// Packet formats by bit: 1 8B, 2 9B, 4 10B, 8 16B
    #[arg(long, value_name = "BITS")]
    packet_formats: Option<u16>,
    /// Entries of a switch's forwarding table
    #[arg(long, value_name = "ENTRIES")]
    table_size: Option<u32>,
    /// Attribute that the agent refuses to write: 0x1b is the multicast forwarding table
    #[arg(long, value_name = "ID", value_parser = attribute)]
    refuses: Option<AttributeId>,
    /// Attribute that it does not write, though it answers without an error
    #[arg(long, value_name = "ID", value_parser = attribute)]
    ignores: Option<AttributeId>,
    /// Attribute that it does not write, though it answers as if it had
    #[arg(long, value_name = "ID", value_parser = attribute)]
    pretends: Option<AttributeId>,
    /// Attribute that it writes, though it answers with an error
    #[arg(long, value_name = "ID", value_parser = attribute)]
    denies: Option<AttributeId>,
    /// LID that its answers come from
    #[arg(long, value_name = "LID")]
    answers_from: Option<u32>,
}

impl From<&ClaimedFields> for Claims {
    fn from(claim: &ClaimedFields) -> Self {
        Self {
            node_guid: claim.node_guid,
            port_guid: claim.port_guid,
            mtu: claim.mtu,
            lanes: claim.lanes,
            packet_formats: claim.packet_formats,
            table_size: claim.table_size,
            refuses: claim.refuses,
            ignores: claim.ignores,
            pretends: claim.pretends,
            denies: claim.denies,
            answers_from: claim.answers_from.map(Lid),
        }
    }
}

/// What a node reports of a link.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TrapField {
    Integrity,
    Overrun,
    Watchdog,
}

impl From<TrapField> for LinkTrap {
    fn from(field: TrapField) -> Self {
        match field {
            TrapField::Integrity => Self::Integrity,
            TrapField::Overrun => Self::Overrun,
            TrapField::Watchdog => Self::Watchdog,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CountedFields {
    /// Transfers received with a wrong checksum (LocalLinkIntegrityErrors)
    #[arg(long, value_name = "N", default_value_t = 0)]
    symbol_errors: u64,
    /// Packets dropped before they were sent (XmitDiscards)
    #[arg(long, value_name = "N", default_value_t = 0)]
    discards: u64,
    /// Packets received with errors (RcvErrors)
    #[arg(long, value_name = "N", default_value_t = 0)]
    rcv_errors: u64,
    /// Errors that nothing repairs (UncorrectableErrors): the counter ends at 255
    #[arg(long, value_name = "N", default_value_t = 0)]
    uncorrectable: u64,
    /// Packets received without credits (ExcessiveBufferOverruns)
    #[arg(long, value_name = "N", default_value_t = 0)]
    overruns: u64,
    /// Settings of the two ends that do not fit (FMConfigErrors)
    #[arg(long, value_name = "N", default_value_t = 0)]
    fm_config: u64,
}

impl From<&CountedFields> for ErrorCounts {
    fn from(counted: &CountedFields) -> Self {
        Self {
            symbol_errors: counted.symbol_errors,
            discards: counted.discards,
            receive_errors: counted.rcv_errors,
            uncorrectable: counted.uncorrectable,
            buffer_overruns: counted.overruns,
            fm_config: counted.fm_config,
        }
    }
}

fn attribute(text: &str) -> Result<AttributeId, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
    value
        .map(AttributeId)
        .ok_or("0x and up to 4 hexadecimal digits".to_owned())
}

/// A description of the bytes of a word, which need not be text.
pub(crate) fn description() -> impl TypedValueParser<Value = NodeDescription> {
    OsStringValueParser::new().try_map(|word| {
        let (bytes, mut field) = (word.into_vec(), [0; NodeDescription::LEN]);
        let start = field.get_mut(..bytes.len()).ok_or("at most 64 bytes")?;
        start.copy_from_slice(&bytes);
        Ok::<_, &str>(NodeDescription {
            node_string: Text(field),
        })
    })
}

pub(crate) fn guid(text: &str) -> Result<Guid, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value
        .map(Guid)
        .ok_or("0x and up to 16 hexadecimal digits".to_owned())
}
