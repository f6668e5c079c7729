//! `brnodes`, `brcomps` and `topology`: nodes and their ports, a line each.

use std::fmt;

use serde::Serialize;
use weft_fabric::{Lid, Snapshot};

use crate::RULE;
use crate::comps::{CompsReport, System, comps};
use crate::focus::{Detail, Options};
use crate::links::{LinksReport, links};
use crate::node::{NodeEntry, PortEntry};
use crate::nodes::{NodeList, NodesReport, nodes};
use crate::sms::{SmEntry, SmList};
use crate::xml::{Xml, XmlWriter, port_id};

/// The line over nodes.
pub(crate) const NODES: &str = "NodeGUID         Type Name";
/// The line over ports.
const PORTS: &str = "Port LID   PortGUID           Width Speed";

/// Nodes by type.
#[derive(Debug, Clone, Serialize)]
pub struct BrnodesReport {
    #[serde(flatten)]
    nodes: NodesReport,
}

/// Nodes by system.
#[derive(Debug, Clone, Serialize)]
pub struct BrcompsReport {
    #[serde(flatten)]
    comps: CompsReport,
}

/// Nodes and links, as a topology file has them.
#[derive(Debug, Clone, Serialize)]
pub struct TopologyReport {
    nodes: NodesReport,
    links: LinksReport,
}

/// Makes the report `brnodes`.
pub fn brnodes(snapshot: &Snapshot, options: &Options) -> BrnodesReport {
    let mut nodes = nodes(snapshot, options);
    nodes.head.title = "Node Type Brief Summary";
    BrnodesReport { nodes }
}

/// Makes the report `brcomps`.
pub fn brcomps(snapshot: &Snapshot, options: &Options) -> BrcompsReport {
    let mut comps = comps(snapshot, options);
    comps.head.title = "Component Brief Summary";
    BrcompsReport { comps }
}

/// Makes the report `topology`.
pub fn topology(snapshot: &Snapshot, options: &Options) -> TopologyReport {
    TopologyReport {
        nodes: nodes(snapshot, options),
        links: links(snapshot, options),
    }
}

fn write_port(f: &mut fmt::Formatter<'_>, indent: usize, port: &PortEntry) -> fmt::Result {
    write!(f, "{:indent$}{:>3} ", "", port.port)?;
    match (port.lid, port.guid) {
        (Some(lid), Some(guid)) => {
            let lid = port.extent.passing(format_args!("{lid:#06x}"), "xxxxxx");
            write!(f, "{lid} {guid}")?;
        }
        _ => write!(f, "{:25}", "")?,
    }
    let rate = format_args!("{:>4} {:>7}", port.width, port.speed);
    writeln!(f, " {}", port.extent.setting(rate, "xxxx xxxxxxx"))
}

fn write_node(
    f: &mut fmt::Formatter<'_>,
    indent: usize,
    node: &NodeEntry,
    detail: Detail,
) -> fmt::Result {
    let (guid, kind, name) = (node.guid, node.node_type, &node.name);
    writeln!(f, "{:indent$}{guid} {kind} {name}", "")?;
    if let Some(details) = &node.node_details {
        writeln!(f, "{:indent$}    NodeDetails: {details}", "")?;
    }
    for port in node.ports.iter().filter(|_| detail.lists()) {
        write_port(f, indent + 4, port)?;
    }
    Ok(())
}

fn write_headings(f: &mut fmt::Formatter<'_>, indent: usize, detail: Detail) -> fmt::Result {
    writeln!(f, "{:indent$}{NODES}", "")?;
    match detail.lists() {
        true => writeln!(f, "{:indent$}    {PORTS}", ""),
        false => Ok(()),
    }
}

fn write_list(
    f: &mut fmt::Formatter<'_>,
    list: &NodeList,
    detail: Detail,
    [things, matching]: [&str; 2],
) -> fmt::Result {
    let colon = if detail.lists() { ":" } else { "" };
    writeln!(
        f,
        "{} Connected {things} in Fabric{colon}",
        list.count.total
    )?;
    if detail.lists() && !list.list.is_empty() {
        write_headings(f, 0, detail.within())?;
    }
    for node in list.list.iter().filter(|_| detail.lists()) {
        write_node(f, 0, node, detail.within())?;
    }
    list.count.write_matching(f, matching)?;
    match detail.lists() {
        true => writeln!(f),
        false => Ok(()),
    }
}

fn write_sms(f: &mut fmt::Formatter<'_>, sms: &SmList, detail: Detail) -> fmt::Result {
    let colon = if detail.lists() { ":" } else { "" };
    writeln!(f, "{} Connected SMs in Fabric{colon}", sms.count.total)?;
    if detail.lists() && !sms.list.is_empty() {
        writeln!(f, "State       GUID               Name")?;
    }
    for sm in sms.list.iter().filter(|_| detail.lists()) {
        writeln!(f, "{} {} {}", sm.state_text(), sm.guid, sm.name)?;
        sm.write_details(f, 4)?;
    }
    sms.count.write_matching(f, "SMs")
}

fn write_system(f: &mut fmt::Formatter<'_>, system: &System, detail: Detail) -> fmt::Result {
    writeln!(f, "{}", system.guid)?;
    for node in system.nodes.iter().filter(|_| detail.lists()) {
        write_node(f, 4, node, detail.within())?;
    }
    Ok(())
}

fn port_xml(to: &mut XmlWriter, node: &NodeEntry, port: &PortEntry) {
    let attributes = port_id(node.guid, port.port);
    to.within_as("Port", format_args!("{attributes}"), |to| {
        to.value("PortNum", port.port);
        if let (Some(lid), Some(guid)) = (port.lid, port.guid) {
            let has_passing = port.extent.has_passing();
            if has_passing {
                to.value("LID", Lid(lid));
            }
            if has_passing && port.info.lmc.0 > 0 {
                to.value("LMC", port.info.lmc.0);
            }
            to.value("PortGUID", guid);
        }
        port.write_rate_xml(to);
    });
}

fn node_xml(to: &mut XmlWriter, node: &NodeEntry, with_ports: bool) {
    to.node((node.guid, node.node_type, &node.name), |to| {
        to.text_if("NodeDetails", node.node_details.as_deref());
        for port in node.ports.iter().filter(|_| with_ports) {
            port_xml(to, node, port);
        }
    });
}

fn list_xml(to: &mut XmlWriter, list: &NodeList, listed: bool, with_ports: bool, names: [&str; 3]) {
    let [tag, count, matching] = names;
    to.within(tag, |to| {
        to.value(count, list.count.total);
        for node in list.list.iter().filter(|_| listed) {
            node_xml(to, node, with_ports);
        }
        list.count.write_xml(to, matching);
    });
}

fn sm_xml(to: &mut XmlWriter, sm: &SmEntry) {
    let attributes = port_id(sm.guid, sm.port);
    to.within_as("SM", format_args!("{attributes}"), |to| {
        if sm.extent.has_passing() {
            to.coded("SMState", &sm.state.to_string(), sm.state.0);
        }
        to.value("NodeGUID", sm.guid);
        to.text("NodeDesc", &sm.name);
        to.text_if("NodeDetails", sm.node_details.as_deref());
        to.text_if("SMDetails", sm.sm_details.as_deref());
        to.value("PortNum", sm.port);
        to.value("PortGUID", sm.port_guid);
        to.node_type(sm.node_type);
    });
}

fn sms_xml(to: &mut XmlWriter, sms: &SmList, listed: bool) {
    to.within("SMs", |to| {
        to.value("ConnectedSMCount", sms.count.total);
        sms.list
            .iter()
            .filter(|_| listed)
            .for_each(|sm| sm_xml(to, sm));
        to.deeper(1, |to| sms.count.write_xml(to, "MatchingSMs"));
    });
}

/// Nodes by type, with their ports from a level of detail on.
fn nodes_xml(to: &mut XmlWriter, nodes: &NodesReport, ports_from: Detail) {
    let (listed, with_ports) = (nodes.detail.lists(), nodes.detail >= ports_from);
    to.within("Nodes", |to| {
        nodes.head.write_xml(to);
        let names = ["FIs", "ConnectedFICount", "MatchingFIs"];
        list_xml(to, &nodes.fis, listed, with_ports, names);
        let names = ["Switches", "ConnectedSwitchCount", "MatchingSwitches"];
        list_xml(to, &nodes.switches, listed, with_ports, names);
        sms_xml(to, &nodes.sms, listed);
    });
}

impl Xml for BrnodesReport {
    fn xml(&self, to: &mut XmlWriter) {
        nodes_xml(to, &self.nodes, Detail::USUAL);
    }
}

impl Xml for TopologyReport {
    fn xml(&self, to: &mut XmlWriter) {
        nodes_xml(to, &self.nodes, Detail::FULL);
        self.links.xml(to);
    }
}

impl Xml for BrcompsReport {
    fn xml(&self, to: &mut XmlWriter) {
        let comps = &self.comps;
        let detail = comps.detail;
        to.within("Components", |to| {
            comps.head.write_xml(to);
            to.within("Systems", |to| {
                to.value("ConnectedSystemCount", comps.count.total);
                for system in comps.systems.iter().filter(|_| detail.lists()) {
                    let attributes = format_args!("id=\"{}\"", system.id);
                    to.within_as("BriefSystem", attributes, |to| {
                        to.value("SystemImageGUID", system.guid);
                        let listed = detail.within().lists();
                        for node in system.nodes.iter().filter(|_| listed) {
                            node_xml(to, node, detail >= Detail::FULL);
                        }
                    });
                }
                comps.count.write_xml(to, "MatchingSystems");
            });
            sms_xml(to, &comps.sms, detail.lists());
        });
    }
}

impl fmt::Display for BrnodesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodesReport {
            head,
            fis,
            switches,
            sms,
            detail,
        } = &self.nodes;
        write!(f, "{head}")?;
        write_list(f, fis, *detail, ["FIs", "FI"])?;
        write_list(f, switches, *detail, ["Switches", "Switches"])?;
        write_sms(f, sms, *detail)?;
        writeln!(f, "{RULE}")
    }
}

impl fmt::Display for BrcompsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comps = &self.comps;
        let detail = comps.detail;
        write!(f, "{}", comps.head)?;
        let colon = if detail.lists() { ":" } else { "" };
        writeln!(
            f,
            "{} Connected Systems in Fabric{colon}",
            comps.count.total
        )?;
        if detail.lists() && !comps.systems.is_empty() {
            writeln!(f, "SystemImage GUID")?;
            if detail.within().lists() {
                write_headings(f, 4, detail.within().within())?;
            }
        }
        for system in comps.systems.iter().filter(|_| detail.lists()) {
            write_system(f, system, detail.within())?;
        }
        comps.count.write_matching(f, "Systems")?;
        writeln!(f)?;
        write_sms(f, &comps.sms, detail)?;
        writeln!(f, "{RULE}")
    }
}

impl fmt::Display for TopologyReport {
    /// Its XML: there is no other form of a topology file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut to = XmlWriter::default();
        self.xml(&mut to);
        f.write_str(&to.into_text())
    }
}
