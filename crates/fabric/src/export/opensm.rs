//! The dump files of OpenSM (`opensm-subnet.lst`, `opensm.fdbs`, `opensm.mcfdbs`), for programs
//! that check or draw from them, such as `ibdmchk` of ibutils.
//!
//! The format is limited to InfiniBand: LIDs of 16 bits, widths 1x and 4x (two or three lanes are
//! written `1x`), speeds of an InfiniBand generation. Names are escaped by [`super::escape_name`],
//! braces as well. OpenSM's columns for hops are omitted from `opensm.fdbs`.

use std::io::{self, BufWriter, Write};

use weft_wire::enums::{LinkSpeed, PortState};
use weft_wire::id::{Guid, Lid, PortNum};

use super::escape_name;
use crate::multicast::{FIRST_MLID, MulticastTables};
use crate::tables::{LinearTables, UNREACHABLE};
use crate::topology::{Node, NodeId, Port, PortRef, SwitchIndex, Topology};

/// The highest unicast LID of InfiniBand.
const UNICAST_MAX: u32 = 0xBFFF;
/// The first multicast LID of InfiniBand.
const MULTICAST_FIRST: u32 = 0xC000;

/// Writes `opensm-subnet.lst`: every cable from both ends; nodes without one are not in it.
///
/// # Errors
/// The sink's, and [`io::ErrorKind::InvalidInput`] for a LID above 0xBFFF.
pub fn write_subnet_list(topology: &Topology, sink: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    check_lids(topology)?;
    for (node, data) in topology.nodes() {
        for (number, port) in data.external_ports() {
            let far = port
                .peer
                .and_then(|peer| Some((topology.node(peer.node)?, peer)));
            if let Some((other, peer)) = far {
                let near = PortRef { node, port: number };
                write_end(&mut out, data, near)?;
                write!(out, " ")?;
                write_end(&mut out, other, peer)?;
                write_link(&mut out, port)?;
            }
        }
    }
    out.flush()
}

/// Writes `opensm.fdbs`: linear tables of all switches that have a cable.
///
/// # Errors
/// The sink's, and [`io::ErrorKind::InvalidInput`] for a LID above 0xBFFF.
pub fn write_fdbs(topology: &Topology, linear: &LinearTables, sink: impl Write) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    check_lids(topology)?;
    for (switch, guid) in cabled_switches(topology) {
        writeln!(out, "dump_ucast_routes: Switch {:#018x}", guid.0)?;
        writeln!(out, "LID    : Port : Hops : Optimal")?;
        for (lid, entry) in linear.row(switch).iter().enumerate().skip(1) {
            match *entry {
                UNREACHABLE => writeln!(out, "0x{lid:04X} : UNREACHABLE")?,
                port => writeln!(out, "0x{lid:04X} : {port:03}")?,
            }
        }
    }
    out.flush()
}

/// Writes `opensm.mcfdbs`: multicast tables of all switches that have a cable.
///
/// # Errors
/// The sink's.
pub fn write_mcfdbs(
    topology: &Topology,
    multicast: &MulticastTables,
    sink: impl Write,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, sink);
    for (switch, guid) in cabled_switches(topology) {
        let entries = 0..multicast.row(switch).len() as u32;
        let rows = entries.map(|entry| (entry, multicast.ports(switch, Lid(FIRST_MLID + entry))));
        let mut rows = rows.filter(|(_, ports)| !ports.is_empty()).peekable();
        if rows.peek().is_some() {
            writeln!(out, "\nSwitch {:#018x}\nLID    : Out Port(s)", guid.0)?;
        }
        for (entry, ports) in rows {
            write!(out, "0x{:04X} :", MULTICAST_FIRST + entry)?;
            ports
                .iter()
                .try_for_each(|port| write!(out, " 0x{:03X}", port.0))?;
            writeln!(out)?;
        }
    }
    out.flush()
}

fn check_lids(topology: &Topology) -> io::Result<()> {
    let last = |(_, lid, lmc): (_, Lid, weft_wire::id::Lmc)| lid.0 + lmc.lids() - 1;
    match topology
        .end_ports()
        .map(last)
        .find(|lid| *lid > UNICAST_MAX)
    {
        Some(lid) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("LID {lid:#x} does not fit the format, whose last one is {UNICAST_MAX:#x}"),
        )),
        None => Ok(()),
    }
}

fn cabled_switches(topology: &Topology) -> impl Iterator<Item = (SwitchIndex, Guid)> + '_ {
    let cabled = |node: &&NodeId| {
        let ports = topology
            .node(**node)
            .into_iter()
            .flat_map(Node::external_ports);
        ports.into_iter().any(|(_, port)| port.peer.is_some())
    };
    let switches = topology.switches().iter().filter(cabled);
    switches.filter_map(|node| {
        let guid = topology.node(*node)?.guid();
        Some((topology.switch_index(*node)?, guid))
    })
}

fn write_end(out: &mut impl Write, node: &Node, at: PortRef) -> io::Result<()> {
    let info = &node.info;
    let (kind, own) = match node.is_switch() {
        true => ("SW", PortNum(0)),
        false => ("CA", at.port),
    };
    let guid = node.port_guid(own).unwrap_or(info.port_guid);
    let lid = node.port(own).map_or(0, |port| port.info.lid.0);
    let name = escape_name(node.description.bytes());
    let name = name.replace('{', "\\x7b").replace('}', "\\x7d");
    write!(
        out,
        "{{ {kind} Ports:{:02X} SystemGUID:{:016x} NodeGUID:{:016x} PortGUID:{:016x} \
         VenID:{:06X} DevID:{:04X} Rev:{:08X} {{{name}}} LID:{lid:04X} PN:{:02X} }}",
        info.num_ports,
        info.system_image_guid.0,
        info.node_guid.0,
        guid.0,
        info.vendor_id,
        info.device_id,
        info.revision,
        at.port.0
    )
}

fn write_link(out: &mut impl Write, port: &Port) -> io::Result<()> {
    let width = if port.width().lanes() == 4 {
        "4x"
    } else {
        "1x"
    };
    let state = match port.info.port_state {
        PortState::DOWN => "DWN",
        PortState::INIT => "INI",
        PortState::ARMED => "ARM",
        _ => "ACT",
    };
    let is_slow = port.info.link_speed_active == LinkSpeed::G12_5;
    let speed = if is_slow { "10" } else { "25" };
    writeln!(out, " PHY={width} LOG={state} SPD={speed}")
}
