//! What the cable in a port says of itself, as the vendor's tools print it.

use serde::Serialize;
use weft_fabric::enums::PortType;
use weft_fabric::{CableIdentity, CableText, PortRef, Snapshot};

use crate::focus::Detail;
use crate::xml::XmlWriter;

/// The level up to which a cable is told in lines of columns; beyond it, each field has a line.
const COLUMNS_UP_TO: Detail = Detail(6);

/// A cable.
#[derive(Debug, Clone, Serialize)]
pub struct CableEntry {
    /// Form and kind, such as `QSFP AOC`.
    pub kind: String,
    /// Kind in words.
    pub technology: String,
    /// What the module's other side takes.
    pub connector: &'static str,
    /// Code of the module's form.
    pub identifier: u8,
    /// In metres, such as `3m`; empty where a transceiver has none.
    pub length: String,
    /// Name of the manufacturer.
    pub vendor: String,
    /// IEEE OUI of the manufacturer.
    pub oui: u32,
    /// The manufacturer's part number.
    pub part_number: String,
    /// The manufacturer's revision.
    pub revision: String,
    /// The manufacturer's serial number.
    pub serial_number: String,
    /// When it was made, with the lot.
    pub date: String,
    /// The most power that it takes.
    pub power: String,
    #[serde(skip)]
    is_double: bool,
}

/// What the cable in a port says of itself; none where that is not known, and for ports that take no cable.
pub(crate) fn identity(snapshot: &Snapshot, at: PortRef) -> Option<CableIdentity<'_>> {
    let guid = snapshot.topology.node(at.node)?.guid();
    let port = snapshot.topology.port(at)?;
    let memory = snapshot.cables.get(guid, at.port)?;
    (port.info.port_type == PortType::STANDARD).then(|| CableIdentity::new(memory))
}

impl CableEntry {
    /// The cable in a port.
    pub(crate) fn of(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        identity(snapshot, at).map(|identity| Self::new(&identity))
    }

    fn new(identity: &CableIdentity<'_>) -> Self {
        let [high, middle, low] = identity.oui().map(u32::from);
        Self {
            kind: identity.short_kind(),
            technology: identity.long_kind(),
            connector: identity.connector(),
            identifier: identity.identifier(),
            length: identity.length(),
            vendor: identity.text(CableText::Vendor),
            oui: high << 16 | middle << 8 | low,
            part_number: identity.text(CableText::PartNumber),
            revision: identity.text(CableText::Revision),
            serial_number: identity.text(CableText::SerialNumber),
            date: identity.date(),
            power: identity.power(),
            is_double: identity.is_double(),
        }
    }

    /// Its lines; none at a level that has only counts.
    pub(crate) fn lines(&self, detail: Detail) -> Vec<String> {
        match detail {
            Detail::COUNTS => Vec::new(),
            Detail::BRIEF => vec![self.first_line()],
            detail if detail <= COLUMNS_UP_TO => vec![
                self.first_line(),
                columns(&[
                    (0, self.power.as_str()),
                    (36, "S/N "),
                    (40, self.serial_number.as_str()),
                    (57, "Mfg "),
                    (61, self.date.as_str()),
                ]),
                format!("OUI 0x{:06X}", self.oui),
            ],
            _ => self.fields(),
        }
    }

    fn first_line(&self) -> String {
        const WIDTH: usize = 75;
        let kind = format!("{},", self.kind);
        let line = columns(&[
            (0, kind.as_str()),
            (25, self.length.as_str()),
            (29, self.vendor.as_str()),
            (47, "P/N "),
            (51, self.part_number.as_str()),
            (69, "Rev "),
            (73, self.revision.as_str()),
        ]);
        format!("{line:<WIDTH$}")
    }

    /// A line for each field.
    fn fields(&self) -> Vec<String> {
        let mut fields = vec![("Identifier", format!("{:#x}", self.identifier))];
        if self.is_double {
            fields.push(("PowerMax", self.power.clone()));
        }
        fields.extend([
            ("Connector", self.connector.to_owned()),
            ("DeviceTech", self.technology.clone()),
            (self.length_name(), self.length.clone()),
            ("VendorName", self.vendor.clone()),
            ("VendorOUI", format!("{:#08x}", self.oui)),
            ("VendorPN", self.part_number.clone()),
            ("VendorRev", self.revision.clone()),
        ]);
        if !self.is_double {
            fields.push(("PowerClass", self.power.clone()));
        }
        fields.extend([
            ("VendorSN", self.serial_number.clone()),
            ("DateCode", self.date.clone()),
        ]);
        let lines = fields
            .into_iter()
            .map(|(name, value)| format!("    {name}: {value}"));
        std::iter::once("QSFP Interpreted CableInfo:".to_owned())
            .chain(lines)
            .collect()
    }

    fn length_name(&self) -> &'static str {
        match self.is_double {
            true => "CableLength",
            false => "OM4Length",
        }
    }

    /// Writes its element; none at a level that has only counts.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        if detail == Detail::COUNTS {
            return;
        }
        let is_brief = detail <= COLUMNS_UP_TO;
        let oui = format!("{:#x}", self.oui);
        to.within("CableInfo", |to| {
            match is_brief {
                true => to.text("DeviceTechShort", &self.kind),
                false => {
                    to.value("Identifier", format_args!("{:#x}", self.identifier));
                    to.text_if("PowerMax", self.is_double.then_some(self.power.as_str()));
                    to.text("Connector", self.connector);
                    to.text("DeviceTech", &self.technology);
                }
            }
            to.text(self.length_name(), &self.length);
            to.text("Length", &self.length);
            to.text("VendorName", &self.vendor);
            let oui_is_early = self.is_double && !is_brief;
            to.text_if("VendorOUI", oui_is_early.then_some(oui.as_str()));
            to.text("VendorPN", &self.part_number);
            to.text("VendorRev", &self.revision);
            let power = match (self.is_double, is_brief) {
                (true, true) => Some("PowerMax"),
                (false, false) => Some("PowerClass"),
                _ => None,
            };
            if let Some(name) = power {
                to.text(name, &self.power);
            }
            to.text("VendorSN", &self.serial_number);
            to.text("DateCode", &self.date);
            to.text_if("VendorOUI", (!oui_is_early).then_some(oui.as_str()));
        });
    }
}

/// Texts from their columns on; a later one covers what an earlier one has there.
fn columns(texts: &[(usize, &str)]) -> String {
    let mut line: Vec<char> = Vec::new();
    for (column, text) in texts {
        line.resize(line.len().max(*column), ' ');
        for (at, character) in (*column..).zip(text.chars()) {
            match line.get_mut(at) {
                Some(place) => *place = character,
                None => line.push(character),
            }
        }
    }
    line.into_iter().collect()
}
