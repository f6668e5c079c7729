//! Tables of ports: maps, buffers, arbitration, partition keys.

use weft_wire::Layout;
use weft_wire::id::PortNum;
use weft_wire::sm::{BufferControlTable, PartitionTable, VlArbMatrix, VlArbTable};

use crate::import::ImportError;
use crate::import::xml::Element;
use crate::port_tables::{
    NodeTables, PORT_TABLES, PortTable, PortTableIds, PortTablesBuilder, TableId, UNKNOWN_CHANNEL,
};
use crate::topology::Node;

/// Keys, channels and lanes of a map.
const ENTRIES: usize = 32;
/// Entry for what a map between channels leaves out: such packets are dropped.
const NO_CHANNEL: u8 = 15;

/// The tables of all ports of a node.
pub(super) fn read_node_tables(
    element: &Element<'_>,
    node: &Node,
    builder: &mut PortTablesBuilder,
) -> Result<NodeTables, ImportError> {
    let first = node.first_port();
    let mut ports = vec![[TableId::UNKNOWN; PORT_TABLES]; node.ports().len()];
    for child in element.all("PortInfo") {
        let number: u8 = child.required("PortNum")?;
        let ids = number.checked_sub(first.0).map(usize::from);
        if let Some(ids) = ids.and_then(|index| ports.get_mut(index)) {
            *ids = read_port(child, node, builder)?;
        }
    }
    Ok(NodeTables { first, ports })
}

fn read_port(
    port: &Element<'_>,
    node: &Node,
    builder: &mut PortTablesBuilder,
) -> Result<PortTableIds, ImportError> {
    let mut ids = [TableId::UNKNOWN; PORT_TABLES];
    for kind in PortTable::ALL {
        let Some(table) = port.child(name(kind)) else {
            continue;
        };
        let content = match kind {
            PortTable::PKeys => keys(table)?,
            PortTable::SlToSc => map(table, "SC", "SL")?,
            PortTable::ScToSl => map(table, "SL", "SC")?,
            PortTable::ScToVlr => map(table, "VLr", "SC")?,
            PortTable::ScToVlt => map(table, "VLt", "SC")?,
            PortTable::ScToVlnt => map(table, "VLnt", "SC")?,
            PortTable::ArbitrationLow | PortTable::ArbitrationHigh => turns(table)?,
            PortTable::Buffers => buffers(table)?,
            PortTable::Preemption => matrix(table)?,
            PortTable::ScToSc => channels(table, node.info.num_ports)?,
        };
        ids[kind as usize] = builder.content(&content);
    }
    Ok(ids)
}

fn name(kind: PortTable) -> &'static str {
    match kind {
        PortTable::PKeys => "PKeyTable",
        PortTable::SlToSc => "SLtoSCMap",
        PortTable::ScToSl => "SCtoSLMap",
        PortTable::ScToVlr => "SCtoVLrMap",
        PortTable::ScToVlt => "SCtoVLtMap",
        PortTable::ScToVlnt => "SCtoVLntMap",
        PortTable::ArbitrationLow => "VLArbitrationLow",
        PortTable::ArbitrationHigh => "VLArbitrationHigh",
        PortTable::Buffers => "BufferControlTable",
        PortTable::Preemption => "VLArbitrationPreemptMatrix",
        PortTable::ScToSc => "SCtoSCMap",
    }
}

/// The index that an attribute names, below `size`.
fn index(element: &Element<'_>, attribute: &str, size: usize) -> Result<usize, ImportError> {
    let index: usize = element.numbered(attribute)?;
    let what = || format!("attribute {attribute} of <{}> is {index}", element.name);
    let allowed = || format!("0 to {}", size - 1);
    match index < size {
        true => Ok(index),
        false => Err(ImportError::new(element.line, what(), allowed())),
    }
}

/// A service level, channel or lane.
fn five_bits(element: &Element<'_>) -> Result<u8, ImportError> {
    let value: u8 = element.number()?;
    let what = || format!("<{}> is {value}", element.name);
    match value < 32 {
        true => Ok(value),
        false => Err(ImportError::new(element.line, what(), "0 to 31")),
    }
}

fn map(table: &Element<'_>, value: &str, key: &str) -> Result<Vec<u8>, ImportError> {
    let mut content = vec![0; ENTRIES];
    for entry in table.all(value) {
        content[index(entry, key, ENTRIES)?] = five_bits(entry)?;
    }
    Ok(content)
}

fn channels(table: &Element<'_>, ports: u8) -> Result<Vec<u8>, ImportError> {
    let mut content = vec![UNKNOWN_CHANNEL; ENTRIES * usize::from(ports)];
    for egress in table.all("OutputPort") {
        let mut map = [NO_CHANNEL; ENTRIES];
        for entry in egress.all("SC") {
            map[index(entry, "SC", ENTRIES)?] = five_bits(entry)?;
        }
        for PortNum(port) in egress_ports(egress)? {
            let at = ENTRIES * usize::from(port).saturating_sub(1);
            if let Some(place) = content.get_mut(at..at + ENTRIES).filter(|_| port != 0) {
                place.copy_from_slice(&map);
            }
        }
    }
    Ok(content)
}

/// `1-3,7` in attribute `ports`, or one number in attribute `port`.
fn egress_ports(element: &Element<'_>) -> Result<Vec<PortNum>, ImportError> {
    let Some(text) = element.attribute("ports") else {
        return Ok(vec![PortNum(element.numbered("port")?)]);
    };
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u8, u8) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last).then_some(first..=last)
    };
    let ranges = text.split(',').map(range).collect::<Option<Vec<_>>>();
    let ranges = ranges.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let what = format!("attribute ports of <OutputPort> is {shown:?}");
        ImportError::new(element.line, what, "ports from 0 to 255 as in 1-3,7")
    })?;
    Ok(ranges.into_iter().flatten().map(PortNum).collect())
}

fn buffers(element: &Element<'_>) -> Result<Vec<u8>, ImportError> {
    let mut table = BufferControlTable {
        tx_overall_shared_limit: element.optional("TxOverallSharedLimit")?.unwrap_or(0),
        ..BufferControlTable::default()
    };
    for limits in element.all("VLLimit") {
        let lane = &mut table.vl[index(limits, "VL", ENTRIES)?];
        lane.tx_dedicated_limit = limits.optional("TxDedicatedLimit")?.unwrap_or(0);
        lane.tx_shared_limit = limits.optional("TxSharedLimit")?.unwrap_or(0);
    }
    Ok(table.to_bytes())
}

fn turns(element: &Element<'_>) -> Result<Vec<u8>, ImportError> {
    let mut table = VlArbTable::default();
    let most = table.elements.len();
    let mut places = table.elements.iter_mut();
    for turn in element.all("Weight") {
        let place = places.next().ok_or_else(|| {
            let what = format!("too many <Weight> in <{}>", element.name);
            ImportError::new(turn.line, what, format!("up to {most}"))
        })?;
        place.vl.0 = index(turn, "VL", ENTRIES)? as u8;
        place.weight = turn.number()?;
    }
    Ok(table.to_bytes())
}

fn matrix(element: &Element<'_>) -> Result<Vec<u8>, ImportError> {
    let mut table = VlArbMatrix::default();
    for row in element.all("MatrixEntry") {
        table.matrix[index(row, "VL", ENTRIES)?] = row.number()?;
    }
    Ok(table.to_bytes())
}

/// The first block of keys; those beyond it are not kept.
fn keys(element: &Element<'_>) -> Result<Vec<u8>, ImportError> {
    let mut table = PartitionTable::default();
    for (place, key) in table
        .partition_table_block
        .iter_mut()
        .zip(element.all("PKey"))
    {
        place.0 = key.number()?;
    }
    Ok(table.to_bytes())
}
