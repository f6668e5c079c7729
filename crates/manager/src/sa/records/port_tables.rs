//! Tables of ports, as the devices confirmed them.

use weft_fabric::{Lid, Node, NodeId, PortNum, PortRef, PortTable};
use weft_wire::sa::{
    BufferControlRecord, PKeyTableRecord, ScSlRecord, ScVlRecord, SlScRecord, VlArbRecord,
};
use weft_wire::sm::VlArbSection;

use super::nodes::{nodes_of, records_by_lid};
use crate::sa::query::{Found, Query, Record, Records, Refusal};
use crate::sa::view::View;

type Answered = Result<Found, Refusal>;

/// Identifier of a record besides the LID: four bytes.
type Tail = fn(PortNum) -> [u8; 4];

fn port_first(port: PortNum) -> [u8; 4] {
    [port.0, 0, 0, 0]
}

fn port_only(_: PortNum) -> [u8; 4] {
    [0; 4]
}

/// Block 0, then the port.
fn block_then_port(port: PortNum) -> [u8; 4] {
    [0, 0, port.0, 0]
}

/// The port, then the section of low priority.
fn low_section(port: PortNum) -> [u8; 4] {
    [port.0, VlArbSection::Low as u8, 0, 0]
}

/// The port, then the section of high priority.
fn high_section(port: PortNum) -> [u8; 4] {
    [port.0, VlArbSection::High as u8, 0, 0]
}

/// The port, then the section of the preemption matrix.
fn matrix_section(port: PortNum) -> [u8; 4] {
    [port.0, VlArbSection::Matrix as u8, 0, 0]
}

/// The tables of each port that has a confirmed one of a kind among `kinds`.
fn tables<R: Record>(view: &View, query: &Query<'_>, kinds: &[(PortTable, Tail)]) -> Answered {
    let mut records = records_by_lid::<R>(view, query);
    for (id, node) in nodes_of(view, query) {
        for (port, _) in node.ports() {
            add(view, (id, node, port), kinds, &mut records);
        }
    }
    records.finish()
}

fn add(
    view: &View,
    (id, node, port): (NodeId, &Node, PortNum),
    kinds: &[(PortTable, Tail)],
    records: &mut Records,
) {
    let at = PortRef { node: id, port };
    let Some(Lid(lid)) = view.lid_of(at) else {
        return;
    };
    for (kind, tail) in kinds {
        // First-generation switches have no maps of service levels at their external ports.
        let of_end_ports = matches!(kind, PortTable::SlToSc | PortTable::ScToSl);
        if of_end_ports && node.is_switch() && port.0 != 0 {
            continue;
        }
        if let Some(table) = view.snapshot.port_tables.table(at, *kind) {
            let mut head = [0; 8];
            head[..4].copy_from_slice(&lid.to_be_bytes());
            head[4..].copy_from_slice(&tail(port));
            records.push_parts(&head, table);
        }
    }
}

pub(crate) fn p_key_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<PKeyTableRecord>(view, query, &[(PortTable::PKeys, block_then_port)])
}

pub(crate) fn sl_sc_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<SlScRecord>(view, query, &[(PortTable::SlToSc, port_only)])
}

pub(crate) fn sc_sl_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<ScSlRecord>(view, query, &[(PortTable::ScToSl, port_only)])
}

pub(crate) fn sc_vlr_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<ScVlRecord>(view, query, &[(PortTable::ScToVlr, port_first)])
}

pub(crate) fn sc_vlt_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<ScVlRecord>(view, query, &[(PortTable::ScToVlt, port_first)])
}

pub(crate) fn sc_vlnt_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<ScVlRecord>(view, query, &[(PortTable::ScToVlnt, port_first)])
}

pub(crate) fn vl_arb_records(view: &View, query: &Query<'_>) -> Answered {
    let sections: [(PortTable, Tail); 3] = [
        (PortTable::ArbitrationLow, low_section),
        (PortTable::ArbitrationHigh, high_section),
        (PortTable::Preemption, matrix_section),
    ];
    tables::<VlArbRecord>(view, query, &sections)
}

pub(crate) fn buffer_records(view: &View, query: &Query<'_>) -> Answered {
    tables::<BufferControlRecord>(view, query, &[(PortTable::Buffers, port_first)])
}
