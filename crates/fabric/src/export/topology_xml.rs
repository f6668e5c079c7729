//! The topology file that opareport (`-T`) and PreDefinedTopology of opafm.xml compare a fabric with.

use std::io::{self, BufWriter, Write};

use quick_xml::escape::escape;
use weft_wire::id::{Guid, PortNum};

use crate::snapshot::Snapshot;
use crate::topology::{Node, PortRef, Topology};

/// Writes nodes, cables and subnet managers of a fabric; `sink` need not be buffered.
///
/// # Errors
/// The sink's.
pub fn write_topology(snapshot: &Snapshot, sink: impl Write) -> io::Result<()> {
    let topology = &*snapshot.topology;
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    writeln!(
        out,
        "<?xml version=\"1.0\" encoding=\"utf-8\" ?>\n<Topology>\n<Nodes>"
    )?;
    for (list, switches) in [("FIs", false), ("Switches", true)] {
        writeln!(out, "  <{list}>")?;
        let nodes = topology.nodes().map(|(_, node)| node);
        for node in nodes.filter(|node| node.is_switch() == switches) {
            writeln!(out, "    <Node>")?;
            write_name(&mut out, node, "      ")?;
            write_ports(&mut out, node)?;
            writeln!(out, "    </Node>")?;
        }
        writeln!(out, "  </{list}>")?;
    }
    write_managers(&mut out, snapshot)?;
    writeln!(out, "</Nodes>\n<LinkSummary>")?;
    for (a, b) in topology.links().chain(topology.loops()) {
        writeln!(out, "  <Link>")?;
        write_end(&mut out, topology, a)?;
        write_end(&mut out, topology, b)?;
        writeln!(out, "  </Link>")?;
    }
    writeln!(out, "</LinkSummary>\n</Topology>")?;
    out.flush()
}

fn write_managers(out: &mut impl Write, snapshot: &Snapshot) -> io::Result<()> {
    writeln!(out, "  <SMs>")?;
    for sm in &snapshot.sms {
        let Some(node) = snapshot.topology.node(sm.port.node) else {
            continue;
        };
        writeln!(out, "    <SM>")?;
        write_name(out, node, "      ")?;
        write_port(out, sm.port.port, Some(sm.port_guid))?;
        writeln!(out, "    </SM>")?;
    }
    writeln!(out, "  </SMs>")
}

fn write_end(out: &mut impl Write, topology: &Topology, at: PortRef) -> io::Result<()> {
    let Some(node) = topology.node(at.node) else {
        return Ok(());
    };
    writeln!(out, "    <Port>")?;
    write_name(out, node, "      ")?;
    write_port(out, at.port, node.port_guid(at.port))?;
    writeln!(out, "    </Port>")
}

/// Ports with LIDs, which `LidStrategy` topology keeps. Where LIDs count, the vendor's manager asks for an entry of
/// every port with a cable (`TopologyValidateLinkPort`).
fn write_ports(out: &mut impl Write, node: &Node) -> io::Result<()> {
    for (number, port) in node.ports() {
        let (lid, lmc) = (port.info.lid, port.info.lmc);
        let has_lid = lid.0 != 0 && node.end_ports().any(|(end, _)| end == number);
        if has_lid {
            writeln!(
                out,
                "      <Port><PortNum>{number}</PortNum><LID>{lid}</LID><LMC>{lmc}</LMC></Port>"
            )?;
        } else if port.peer.is_some() {
            writeln!(out, "      <Port><PortNum>{number}</PortNum></Port>")?;
        }
    }
    Ok(())
}

fn write_port(out: &mut impl Write, port: PortNum, guid: Option<Guid>) -> io::Result<()> {
    writeln!(out, "      <PortNum>{port}</PortNum>")?;
    match guid {
        Some(guid) => writeln!(out, "      <PortGUID>{guid}</PortGUID>"),
        None => Ok(()),
    }
}

fn write_name(out: &mut impl Write, node: &Node, indent: &str) -> io::Result<()> {
    let kind = if node.is_switch() { "SW" } else { "FI" };
    let (guid, name) = (node.guid(), node.name());
    writeln!(out, "{indent}<NodeGUID>{guid}</NodeGUID>")?;
    writeln!(out, "{indent}<NodeType>{kind}</NodeType>")?;
    writeln!(out, "{indent}<NodeDesc>{}</NodeDesc>", escape(&name))
}
