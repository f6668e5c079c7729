//! Tables of ports.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use weft_wire::Layout;
use weft_wire::id::{PortNum, Vl};
use weft_wire::sm::{
    BufferControlTable, CapabilityMask3, PartitionTable, PortInfo, VlArbMatrix, VlArbTable,
};

use super::Writer;
use crate::port_tables::{PortTable, TableId, channel_maps};
use crate::topology::{Node, NodeId, PortRef};

/// Values of `VLSchedulingConfig`: lanes are scheduled by arbitration tables.
const BY_ARBITRATION: u8 = 0;
/// A packet on this channel is dropped; opareport leaves such entries out of maps between channels.
const NO_CHANNEL: u8 = 15;

/// The text of each table that has been written, with how many entries of it count.
pub(super) type TableTexts = BTreeMap<(PortTable, TableId, u8), String>;

impl<W: Write> Writer<'_, W> {
    /// The maps, buffers, arbitration and partition keys of a port, in opareport's order.
    pub(super) fn port_tables(
        &mut self,
        (id, node): (NodeId, &Node),
        port: PortNum,
        info: &PortInfo,
    ) -> io::Result<()> {
        if !self.with_tables() {
            return Ok(());
        }
        let at = PortRef { node: id, port };
        let is_end = !node.is_switch() || port.0 == 0;
        let tables = &self.snapshot.port_tables;
        // opareport expects a map of service levels wherever an end port has any table.
        if is_end && tables.table(at, PortTable::SlToSc).is_none() {
            return Ok(());
        }
        let managed = if node.is_switch() {
            node.port(PortNum(0)).map(|port| &port.info)
        } else {
            Some(info)
        };
        let able = managed
            .map(|info| info.capability_mask3)
            .unwrap_or_default();
        for (kind, entries) in kinds(node, port, info, able) {
            let table = (kind, tables.id(at, kind), entries);
            let Some(content) = tables.content(table.1) else {
                continue;
            };
            let text = self
                .tables
                .entry(table)
                .or_insert_with(|| text(kind, content, entries));
            self.out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Whether tables of ports are written.
    pub(super) fn with_tables(&self) -> bool {
        self.options.port_tables && !self.snapshot.lacking.port_tables
    }
}

/// The tables that the format has for a port, with the number of entries that count.
fn kinds(
    node: &Node,
    port: PortNum,
    info: &PortInfo,
    able: CapabilityMask3,
) -> Vec<(PortTable, u8)> {
    let is_end = !node.is_switch() || port.0 == 0;
    let mut kinds = match is_end {
        true => vec![(PortTable::SlToSc, 32), (PortTable::ScToSl, 32)],
        false => vec![(PortTable::ScToSc, node.info.num_ports)],
    };
    if able.is_vlr_supported {
        kinds.push((PortTable::ScToVlr, 32));
    }
    kinds.push((PortTable::ScToVlt, 32));
    if port.0 != 0 {
        kinds.push((PortTable::ScToVlnt, 32));
    }
    kinds.push((PortTable::Buffers, 32));
    if able.vl_scheduling_config == BY_ARBITRATION {
        kinds.push((PortTable::ArbitrationLow, info.vl_arbitration_low_cap));
        kinds.push((PortTable::ArbitrationHigh, info.vl_arbitration_high_cap));
        kinds.push((PortTable::Preemption, 32));
    }
    kinds.push((PortTable::PKeys, 32));
    kinds
}

fn text(kind: PortTable, content: &[u8], entries: u8) -> String {
    match kind {
        PortTable::SlToSc => map("SLtoSCMap", "SC", "SL", content),
        PortTable::ScToSl => map("SCtoSLMap", "SL", "SC", content),
        PortTable::ScToVlr => map("SCtoVLrMap", "VLr", "SC", content),
        PortTable::ScToVlt => map("SCtoVLtMap", "VLt", "SC", content),
        PortTable::ScToVlnt => map("SCtoVLntMap", "VLnt", "SC", content),
        PortTable::ScToSc => channels(content),
        PortTable::Buffers => buffers(content),
        PortTable::ArbitrationLow => turns("VLArbitrationLow", content, entries),
        PortTable::ArbitrationHigh => turns("VLArbitrationHigh", content, entries),
        PortTable::Preemption => matrix(content),
        PortTable::PKeys => keys(content),
    }
}

/// An element with the lines of its content.
fn element(name: &str, lines: impl Iterator<Item = String>) -> String {
    let mut text = format!("<{name}>\n");
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    // Writing to a string does not fail.
    let _ = writeln!(text, "</{name}>");
    text
}

fn map(name: &str, value: &str, key: &str, content: &[u8]) -> String {
    let entries = content.iter().enumerate();
    let lines = entries
        .map(|(index, entry)| format!("<{value} {key}=\"{index}\">{}</{value}>", entry & 0x1F));
    element(name, lines)
}

fn channels(content: &[u8]) -> String {
    let maps = channel_maps(content);
    if maps.is_empty() {
        return String::new();
    }
    element(
        "SCtoSCMap",
        maps.iter().flat_map(|(map, ports)| {
            let start = format!("<OutputPort ports=\"{}\">", ports.ranges());
            let entries = map.iter().enumerate().map(|(sc, to)| (sc, to & 0x1F));
            let entries = entries.filter(|(sc, to)| *sc == 0 || *to != NO_CHANNEL);
            let lines = entries.map(|(sc, to)| format!("<SC SC=\"{sc}\">{to}</SC>"));
            let end = std::iter::once("</OutputPort>".to_owned());
            std::iter::once(start)
                .chain(lines)
                .chain(end)
                .collect::<Vec<_>>()
        }),
    )
}

fn buffers(content: &[u8]) -> String {
    let Ok(table) = BufferControlTable::decode(content) else {
        return String::new();
    };
    let overall = format!(
        "<TxOverallSharedLimit>{}</TxOverallSharedLimit>",
        table.tx_overall_shared_limit
    );
    let lanes = table.vl.iter().enumerate().flat_map(|(vl, limits)| {
        let (dedicated, shared) = (limits.tx_dedicated_limit, limits.tx_shared_limit);
        [
            format!("<VLLimit VL=\"{vl}\">"),
            format!("<TxDedicatedLimit>{dedicated}</TxDedicatedLimit>"),
            format!("<TxSharedLimit>{shared}</TxSharedLimit>"),
            "</VLLimit>".to_owned(),
        ]
    });
    element("BufferControlTable", std::iter::once(overall).chain(lanes))
}

fn turns(name: &str, content: &[u8], entries: u8) -> String {
    let Ok(table) = VlArbTable::decode(content) else {
        return String::new();
    };
    let turns = table.elements.iter().take(usize::from(entries));
    element(
        name,
        turns.map(|turn| {
            let Vl(vl) = turn.vl;
            format!("<Weight VL=\"{vl}\">{}</Weight>", turn.weight)
        }),
    )
}

fn matrix(content: &[u8]) -> String {
    let Ok(table) = VlArbMatrix::decode(content) else {
        return String::new();
    };
    let rows = table.matrix.iter().enumerate();
    element(
        "VLArbitrationPreemptMatrix",
        rows.map(|(vl, lanes)| format!("<MatrixEntry VL=\"{vl}\">{lanes}</MatrixEntry>")),
    )
}

/// Keys up to the last that is one, so that each keeps its place.
fn keys(content: &[u8]) -> String {
    let Ok(table) = PartitionTable::decode(content) else {
        return String::new();
    };
    let keys = table.partition_table_block.map(|key| key.0);
    let last = keys.iter().rposition(|key| key & 0x7FFF != 0).unwrap_or(0);
    let keys = keys.into_iter().take(last + 1);
    element(
        "PKeyTable",
        keys.map(|key| format!("<PKey>{key:#06x}</PKey>")),
    )
}
