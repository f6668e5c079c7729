//! Tables of a port (maps of service levels and channels, arbitration, partition keys), as the vendor's tools print them.

use serde::Serialize;
use weft_fabric::port_tables::channel_maps;
use weft_fabric::{Node, PortNum, PortRef, PortTable, Snapshot};
use weft_wire::sm::{PartitionTable, PortInfo, VlArbMatrix, VlArbTable};

use crate::tables::table;
use crate::xml::XmlWriter;

/// Entries of a map.
const ENTRIES: usize = 32;
/// Turns of arbitration in a line, rows of a matrix in a line, keys in a line.
const TURNS: usize = 5;
const ROWS: usize = 4;
const KEYS: usize = 6;
/// Turns of a table.
const ALL_TURNS: usize = 128;

/// The tables of a port as far as they are known.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TablesEntry {
    /// Channel of each service level, of an end port.
    #[serde(skip_serializing_if = "Option::is_none")]
    sl_to_sc: Option<Vec<u8>>,
    /// Service level of each channel, of an end port.
    #[serde(skip_serializing_if = "Option::is_none")]
    sc_to_sl: Option<Vec<u8>>,
    /// Channel behind the switch of each channel before it, by egress ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sc_to_sc: Vec<Channels>,
    /// Where lanes are scheduled by tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    arbitration: Option<Arbitration>,
    /// Partition keys up to the last that is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    p_keys: Option<Vec<u16>>,
}

/// A map between channels with the egress ports that have it.
#[derive(Debug, Clone, Serialize)]
struct Channels {
    ports: String,
    map: Vec<u8>,
}

#[derive(Debug, Clone, Serialize)]
struct Arbitration {
    low: Vec<Turn>,
    high: Vec<Turn>,
    /// For each lane the lanes that it may preempt, a bit each.
    preemption: Vec<u32>,
}

/// A lane's turn with its weight; those without weight are left out.
#[derive(Debug, Clone, Copy, Serialize)]
struct Turn {
    vl: u8,
    weight: u8,
    #[serde(skip)]
    place: usize,
}

impl TablesEntry {
    /// The tables of a port; none where nothing is known of them.
    pub(crate) fn of(snapshot: &Snapshot, at: PortRef) -> Option<Self> {
        if snapshot.lacking.port_tables {
            return None;
        }
        let tables = &snapshot.port_tables;
        PortTable::ALL
            .iter()
            .find(|kind| **kind != PortTable::Buffers && tables.table(at, **kind).is_some())?;
        let node = snapshot.topology.node(at.node)?;
        let is_end = !node.is_switch() || at.port.0 == 0;
        let map = |kind| {
            let content = tables.table(at, kind).filter(|_| is_end)?;
            Some(content.iter().map(|entry| entry & 0x1F).collect())
        };
        let between = tables.table(at, PortTable::ScToSc).filter(|_| !is_end);
        let keys = table::<PartitionTable>(snapshot, at, PortTable::PKeys);
        Some(Self {
            sl_to_sc: map(PortTable::SlToSc),
            sc_to_sl: map(PortTable::ScToSl),
            sc_to_sc: between.map_or_else(Vec::new, channels),
            arbitration: Arbitration::of(snapshot, at, node),
            p_keys: keys.map(|keys| known_keys(&keys)),
        })
    }

    /// Its lines; those of lists are four columns deeper.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(map) = &self.sl_to_sc {
            lines.push("SLtoSC:".to_owned());
            lines.extend(map_lines(map, "SL: ", "SC: "));
        }
        if let Some(map) = &self.sc_to_sl {
            lines.push("SCtoSL:".to_owned());
            lines.extend(map_lines(map, "SC: ", "SL: "));
        }
        if !self.sc_to_sc.is_empty() {
            lines.push("SCtoSC:".to_owned());
        }
        for Channels { ports, map } in &self.sc_to_sc {
            lines.push(format!("ports: {ports}"));
            lines.extend(map_lines(map, "        SC: ", "       SC': "));
        }
        if let Some(arbitration) = &self.arbitration {
            lines.extend(arbitration.lines());
        }
        let keys = self.p_keys.iter().flat_map(|keys| keys.chunks(KEYS));
        for (index, keys) in keys.enumerate() {
            let title = if index == 0 { "P_Key Table:" } else { "" };
            let keys: String = keys.iter().map(|key| format!("0x{key:04X} ")).collect();
            lines.push(format!("{title:>12}{keys}"));
        }
        lines
    }

    /// Writes its elements.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter) {
        if let Some(map) = &self.sl_to_sc {
            to.within("SLtoSCMap", |to| map_xml(to, map, "SC", "SL"));
        }
        if let Some(map) = &self.sc_to_sl {
            to.within("SCtoSLMap", |to| map_xml(to, map, "SL", "SC"));
        }
        if !self.sc_to_sc.is_empty() {
            to.within("SCtoSCMap", |to| {
                for Channels { ports, map } in &self.sc_to_sc {
                    to.within_as("OutputPorts", format_args!("ports=\"{ports}\""), |to| {
                        map_xml(to, map, "SC", "SC");
                    });
                }
            });
        }
        if let Some(arbitration) = &self.arbitration {
            arbitration.write_xml(to);
        }
        if let Some(keys) = &self.p_keys {
            to.within("PKeyTable", |to| {
                for key in keys {
                    to.value("PKey", format_args!("{key:#06x}"));
                }
            });
        }
    }
}

/// Two lines of keys and of values for each half of a map.
fn map_lines(map: &[u8], keys: &str, values: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (half, entries) in map.chunks(ENTRIES / 2).enumerate() {
        let first = half * ENTRIES / 2;
        let names: Vec<String> = (first..first + entries.len())
            .map(|key| format!("{key:02}"))
            .collect();
        lines.push(format!("{keys}{}", names.join(" ")));
        let entries: String = entries.iter().map(|entry| format!("{entry:02} ")).collect();
        lines.push(format!("{values}{entries}"));
    }
    lines
}

fn map_xml(to: &mut XmlWriter, map: &[u8], value: &str, key: &str) {
    for (index, entry) in map.iter().enumerate() {
        to.line(format_args!("<{value} {key}=\"{index}\">{entry}</{value}>"));
    }
}

fn channels(content: &[u8]) -> Vec<Channels> {
    let maps = channel_maps(content).into_iter();
    let maps = maps.map(|(map, ports)| Channels {
        ports: ports.ranges(),
        map: map.iter().map(|entry| entry & 0x1F).collect(),
    });
    maps.collect()
}

/// Keys up to the last that is one.
fn known_keys(keys: &PartitionTable) -> Vec<u16> {
    let keys = keys.partition_table_block.map(|key| key.0);
    let last = keys.iter().rposition(|key| key & 0x7FFF != 0).unwrap_or(0);
    keys[..=last].to_vec()
}

impl Arbitration {
    /// None where a node schedules lanes in another way.
    fn of(snapshot: &Snapshot, at: PortRef, node: &Node) -> Option<Self> {
        let managed = if node.is_switch() {
            PortNum(0)
        } else {
            at.port
        };
        let uses_tables = |info: &PortInfo| info.capability_mask3.vl_scheduling_config == 0;
        node.port(managed).filter(|port| uses_tables(&port.info))?;
        let turns = |kind| {
            let of: VlArbTable = table(snapshot, at, kind).unwrap_or_default();
            let turns = of.elements.iter().enumerate().map(|(place, turn)| Turn {
                vl: turn.vl.0,
                weight: turn.weight,
                place,
            });
            turns.filter(|turn| turn.weight != 0).collect()
        };
        let matrix: VlArbMatrix = table(snapshot, at, PortTable::Preemption).unwrap_or_default();
        Some(Self {
            low: turns(PortTable::ArbitrationLow),
            high: turns(PortTable::ArbitrationHigh),
            preemption: matrix.matrix.to_vec(),
        })
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (title, turns) in [
            ("Low", &self.low[..]),
            ("High", &self.high[..]),
            ("Preempt", &[][..]),
        ] {
            lines.push(format!("VL Arbitration {title}:"));
            for turns in turns.chunks(TURNS) {
                let turns = turns
                    .iter()
                    .map(|turn| format!("{:02}/{:03} ", turn.vl, turn.weight));
                lines.push(format!("    {}", turns.collect::<String>()));
            }
            // opareport begins another line after a full one where the table goes on.
            let goes_on = turns.last().is_none_or(|turn| turn.place + 1 < ALL_TURNS);
            if turns.len().is_multiple_of(TURNS) && goes_on {
                lines.push("    ".to_owned());
            }
        }
        lines.push("VL Preemption Matrix:".to_owned());
        for (line, rows) in self.preemption.chunks(ROWS).enumerate() {
            let rows = (line * ROWS..)
                .zip(rows)
                .map(|(vl, lanes)| format!("{vl:02}:{lanes:08x} "));
            lines.push(format!("    {}", rows.collect::<String>()));
        }
        lines
    }

    fn write_xml(&self, to: &mut XmlWriter) {
        for (tag, turns) in [
            ("VLArbitrationLow", &self.low[..]),
            ("VLArbitrationHigh", &self.high[..]),
            ("VLArbitrationPreempt", &[][..]),
        ] {
            to.within(tag, |to| {
                for Turn { vl, weight, .. } in turns {
                    to.line(format_args!("<Weight VL=\"{vl}\">{weight}</Weight>"));
                }
            });
        }
        to.within("VLPreemptionMatrix", |to| {
            for (vl, lanes) in self.preemption.iter().enumerate() {
                to.line(format_args!("<Element VL=\"{vl}\">{lanes}</Element>"));
            }
        });
    }
}
