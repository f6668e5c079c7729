//! `cablehealth`: what the modules at both ends of every cable measure, and what cable it is.

use std::fmt;

use serde::Serialize;
use weft_fabric::cables::{LaneReadings, Readings, measures};
use weft_fabric::enums::NodeType;
use weft_fabric::topology::node_type;
use weft_fabric::{CableIdentity, CableText, Guid, PortRef, Snapshot, links_upward};

use crate::cable::identity;
use crate::extent::Extent;
use crate::focus::{Head, Options};
use crate::links::is_internal;
use crate::names::as_text;
use crate::tables::end_port_lid;
use crate::xml::{Xml, XmlWriter, port_id};

/// Cables with what their modules measure, lines of fields for other programs.
#[derive(Debug, Clone, Serialize)]
pub struct CableHealthReport {
    #[serde(flatten)]
    head: Head,
    /// The two ends of each cable between two chassis, in order of the first one's GUID and port.
    pub cables: Vec<[CableEnd; 2]>,
}

/// One end of a cable.
#[derive(Debug, Clone, Serialize)]
pub struct CableEnd {
    /// Name of the node.
    pub name: String,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// LID of the port, or of its switch.
    pub lid: u32,
    /// Its port.
    pub port: u8,
    /// What the cable says of itself; none where it has not been read.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    cable: Option<Known>,
    #[serde(skip)]
    extent: Extent,
}

/// A cable whose memory has been read.
#[derive(Debug, Clone, Serialize)]
struct Known {
    length: String,
    vendor: String,
    part_number: String,
    serial_number: String,
    date: String,
    /// What its module measures; none where that has not been read.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
}

/// What a module measures; lanes 1 to 4 are at 0 to 3.
#[derive(Debug, Clone, Copy, Serialize)]
struct Measured {
    temperature_celsius: f64,
    volts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive_milliwatts: Option<[f64; 4]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transmit_milliwatts: Option<[f64; 4]>,
}

/// Makes the report.
pub fn cablehealth(snapshot: &Snapshot, options: &Options) -> CableHealthReport {
    let links = links_upward(&snapshot.topology).into_iter();
    let links = links.filter(|(from, to)| {
        !is_internal(snapshot, *from, *to) && (options.port(*from) || options.port(*to))
    });
    let cables = links.filter_map(|(from, to)| {
        let end = |at| CableEnd::new(snapshot, at, options.extent);
        Some([end(from)?, end(to)?])
    });
    CableHealthReport {
        head: Head::new("Cable Health Report", options),
        cables: cables.collect(),
    }
}

impl CableEnd {
    fn new(snapshot: &Snapshot, at: PortRef, extent: Extent) -> Option<Self> {
        let node = snapshot.topology.node(at.node)?;
        let cable = identity(snapshot, at).map(|identity| Known {
            length: identity.length(),
            vendor: identity.text(CableText::Vendor),
            part_number: identity.text(CableText::PartNumber),
            serial_number: identity.text(CableText::SerialNumber),
            date: identity.date(),
            measured: measured(snapshot, at, &identity),
        });
        Some(Self {
            name: node.name(),
            node_type: node_type(node),
            guid: node.guid(),
            lid: end_port_lid(snapshot, at),
            port: at.port.0,
            cable,
            extent,
        })
    }

    /// Its fields as text, `NA` for what is not known.
    fn fields(&self) -> Vec<String> {
        let mut fields = vec![
            self.name.clone(),
            self.node_type.0.to_string(),
            self.guid.to_string(),
            self.extent
                .passing(format_args!("{:#x}", self.lid), "xxxxxxxx"),
            format!("{:>3}", self.port),
        ];
        let measured = self.cable.as_ref().and_then(|cable| cable.measured);
        let module = measured.map(|read| [read.temperature_celsius, read.volts]);
        fields.extend(numbers(module));
        for lanes in [
            measured.and_then(|read| read.receive_milliwatts),
            measured.and_then(|read| read.transmit_milliwatts),
        ] {
            fields.extend(numbers(lanes));
        }
        match &self.cable {
            Some(cable) => fields.extend([
                cable.length.clone(),
                cable.vendor.clone(),
                cable.part_number.clone(),
                cable.serial_number.clone(),
                cable.date.clone(),
            ]),
            None => fields.extend([NOT_KNOWN; 5].map(str::to_owned)),
        }
        fields
    }
}

const NOT_KNOWN: &str = "NA";

fn numbers<const N: usize>(values: Option<[f64; N]>) -> [String; N] {
    match values {
        Some(values) => values.map(|value| format!("{value:.2}")),
        None => [(); N].map(|()| NOT_KNOWN.to_owned()),
    }
}

/// What a module measures. A cable without electronics has no monitors: there are zeros in their places.
fn measured(snapshot: &Snapshot, at: PortRef, identity: &CableIdentity<'_>) -> Option<Measured> {
    let guid = snapshot.topology.node(at.node)?.guid();
    let readings = match snapshot.cables.module(guid, at.port) {
        Some(module) => module.readings(),
        None if !measures(identity.memory()) => NOTHING,
        None => return None,
    };
    Some(Measured {
        temperature_celsius: readings.temperature,
        volts: readings.voltage,
        receive_milliwatts: readings.lanes.map(|lanes| lanes.receive_power),
        transmit_milliwatts: readings.lanes.map(|lanes| lanes.transmit_power),
    })
}

const NOTHING: Readings = Readings {
    temperature: 0.0,
    voltage: 0.0,
    lanes: Some(LaneReadings {
        receive_power: [0.0; 4],
        bias: [0.0; 4],
        transmit_power: [0.0; 4],
    }),
};

/// Names of the fields of an end.
const FIELDS: [&str; 20] = [
    "Node Name",
    "Node Type",
    "Node GUID",
    "LID",
    "PortNum",
    "Temperature",
    "Voltage",
    "RX_1",
    "RX_2",
    "RX_3",
    "RX_4",
    "TX_1",
    "TX_2",
    "TX_3",
    "TX_4",
    "Cable Length",
    "Vendor Name",
    "Vendor PartNumber",
    "Vendor SerialNumber",
    "Vendor Manufacture Date",
];

/// Opareport has no XML of this report; names of elements are those of fields.
impl Xml for CableHealthReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("CableHealth", |to| {
            self.head.write_xml(to);
            for ends in &self.cables {
                to.within("Cable", |to| {
                    for end in ends {
                        let id = port_id(end.guid, end.port);
                        to.within_as("Port", format_args!("{id}"), |to| {
                            for (name, value) in FIELDS.iter().zip(end.fields()) {
                                to.text(&name.replace([' ', '_'], ""), value.trim_start());
                            }
                        });
                    }
                });
            }
            to.value("CableCount", self.cables.len());
        });
    }
}

impl fmt::Display for CableHealthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.write_focus(f)?;
        if self.cables.is_empty() {
            return writeln!(f, "No Cable Health Records Returned");
        }
        writeln!(f, "{}", self.head.title)?;
        for side in ["Pri", "Sec"] {
            for name in FIELDS {
                write!(f, "{side} {name};")?;
            }
        }
        writeln!(f)?;
        for ends in &self.cables {
            for field in ends.iter().flat_map(CableEnd::fields) {
                write!(f, "{field};")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
