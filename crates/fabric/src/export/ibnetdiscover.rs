//! The text format of `ibnetdiscover`, for programs that read only that.
//!
//! Names are escaped by [`super::escape_name`]. Data without a field in the format (states,
//! tables) is dropped; a width of n lanes is written `nxEDR`, the InfiniBand generation of the same
//! speed per lane.

use std::io::{self, BufWriter, Write};

use weft_wire::id::{Guid, PortNum};

use super::escape_name;
use crate::topology::{Node, Port, PortRef, Topology};

/// Writes a topology; `sink` need not be buffered. Reading it with
/// [`crate::import::import_ibnetdiscover`] gives the same nodes, cables, widths and LIDs, freshly
/// powered on.
///
/// # Errors
/// The sink's.
pub fn write_ibnetdiscover(topology: &Topology, sink: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    for (_, node) in topology.nodes() {
        write_node(&mut out, topology, node)?;
    }
    out.flush()
}

fn write_node(out: &mut impl Write, topology: &Topology, node: &Node) -> io::Result<()> {
    let info = &node.info;
    let (keyword, property) = if node.is_switch() {
        ("Switch", "switchguid")
    } else {
        ("Ca", "caguid")
    };
    writeln!(
        out,
        "vendid={:#x}\ndevid={:#x}",
        info.vendor_id, info.device_id
    )?;
    writeln!(out, "sysimgguid={:#x}", info.system_image_guid.0)?;
    write!(out, "{property}={:#x}", info.node_guid.0)?;
    let name = escape_name(node.description.bytes());
    if node.is_switch() {
        writeln!(out, "({:x})", info.port_guid.0)?;
    } else {
        writeln!(out)?;
    }
    write!(
        out,
        "{keyword}\t{} {}\t\t# \"{name}\"",
        info.num_ports,
        id(node)
    )?;
    match node.port(PortNum(0)) {
        Some(port) => writeln!(
            out,
            " enhanced port 0 lid {} lmc {}",
            port.info.lid.0, port.info.lmc
        )?,
        None => writeln!(out)?,
    }
    for (number, port) in node.external_ports() {
        if let Some(peer) = port.peer {
            write_port(out, topology, node, (number, port), peer)?;
        }
    }
    writeln!(out)
}

fn write_port(
    out: &mut impl Write,
    topology: &Topology,
    node: &Node,
    (number, port): (PortNum, &Port),
    peer: PortRef,
) -> io::Result<()> {
    // A topology's cables have two ends.
    let Some(other) = topology.node(peer.node) else {
        return Ok(());
    };
    write!(out, "[{number}]")?;
    if !node.is_switch() {
        write!(out, "({:x}) ", node.port_guid(number).unwrap_or(Guid(0)).0)?;
    }
    write!(out, "\t{}[{}]", id(other), peer.port)?;
    if !other.is_switch() {
        write!(
            out,
            "({:x}) ",
            other.port_guid(peer.port).unwrap_or(Guid(0)).0
        )?;
    }
    write!(out, "\t\t# ")?;
    if !node.is_switch() {
        write!(out, "lid {} lmc {} ", port.info.lid.0, port.info.lmc)?;
    }
    let name = escape_name(other.description.bytes());
    let end = if other.is_switch() {
        PortNum(0)
    } else {
        peer.port
    };
    let lid = other.port(end).map_or(0, |port| port.info.lid.0);
    let lanes = port.width().lanes();
    writeln!(out, "\"{name}\" lid {lid} {lanes}xEDR")
}

fn id(node: &Node) -> String {
    let kind = if node.is_switch() { 'S' } else { 'H' };
    format!("\"{kind}-{:016x}\"", node.guid().0)
}
