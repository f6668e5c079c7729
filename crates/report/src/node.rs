//! One node in a report.

use std::fmt::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use weft_fabric::enums::{NodeType, PortState};
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, Node, NodeId, Port, PortNum, PortRef, Snapshot};
use weft_wire::sm::{PortInfo, SwitchInfo};

use crate::cable::CableEntry;
use crate::extent::Extent;
use crate::focus::{Detail, Options};
use crate::links::{LinkEnd, LinkNotes};
use crate::names::{as_text, as_text_opt, port_guid, rate, speed, width};
use crate::port_counts::CountsEntry;
use crate::port_details;
use crate::qos_tables::TablesEntry;
use crate::xml::{XmlWriter, port_id};

/// A node and its ports.
#[derive(Debug, Clone, Serialize)]
pub struct NodeEntry {
    /// Its name.
    pub name: String,
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// What the topology file says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node_details: Option<String>,
    /// External ports.
    pub num_ports: u8,
    /// Entries of its P_Key table.
    pub partition_cap: u16,
    /// Equal for all nodes of one chassis or card.
    #[serde(serialize_with = "as_text")]
    pub system_image_guid: Guid,
    /// Version of its datagrams.
    pub base_version: u8,
    /// Version of its subnet management class.
    pub sma_version: u8,
    /// IEEE OUI of the manufacturer.
    pub vendor_id: u32,
    /// Chosen by the manufacturer.
    pub device_id: u16,
    /// Chosen by the manufacturer.
    pub revision: u32,
    /// Fields of a switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchEntry>,
    /// Ports that are not down, a switch's port 0 included.
    pub connected_ports: usize,
    /// Those of them that the focus leaves.
    pub ports: Vec<PortEntry>,
}

/// Fields of a switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchEntry {
    /// LID of its port 0.
    pub lid: u32,
    /// Its SwitchInfo.
    #[serde(flatten)]
    pub info: SwitchSettings,
    #[serde(skip)]
    extent: Extent,
}

/// Registers of SwitchInfo as the vendor's tools show them.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchSettings {
    /// Entries of the linear forwarding table.
    pub linear_fdb_cap: u32,
    /// Highest LID that is forwarded.
    pub linear_fdb_top: u32,
    /// Entries of the multicast forwarding table.
    pub multicast_fdb_cap: u32,
    /// Entries of the partition table of an external port.
    pub partition_enforcement_cap: u16,
    /// A port changed its state.
    pub port_state_change: bool,
    /// Packet lifetime: 4.096 µs × 2^value, unlimited from 20 on.
    pub life_time_value: u8,
    /// Port 0 is a full end port.
    pub enhanced_port0: bool,
    /// Register AdaptiveRouting.
    pub adaptive_routing: u16,
    /// Register CapabilityMask, the bits that have a meaning.
    pub capability_mask: u16,
    /// Routing modes that it can do.
    pub routing_mode_supported: u8,
    /// Routing mode in use.
    pub routing_mode_enabled: u8,
    /// IPv6 address.
    pub ip_v6: Ipv6Addr,
    /// IPv4 address.
    pub ip_v4: Ipv4Addr,
}

/// A port that is not down.
#[derive(Debug, Clone, Serialize)]
pub struct PortEntry {
    /// Its number.
    pub port: u8,
    /// LID of an end port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lid: Option<u32>,
    /// GUID of an end port.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub guid: Option<Guid>,
    /// The other end of its cable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbor: Option<LinkEnd>,
    /// Logical state.
    #[serde(serialize_with = "as_text")]
    pub state: PortState,
    /// Lanes in use.
    pub width: String,
    /// Speed of a lane.
    pub speed: String,
    /// Lanes times speed.
    pub rate: String,
    /// Fewer lanes carry packets than the link was trained to.
    pub downgraded: bool,
    /// What the topology file says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    port_details: Option<String>,
    /// What its cable says of itself, its tables and its counters, where the level of detail has them and they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cable: Option<CableEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tables: Option<Box<TablesEntry>>,
    #[serde(rename = "counters", skip_serializing_if = "Option::is_none")]
    counts: Option<CountsEntry>,
    #[serde(skip)]
    link: LinkNotes,
    #[serde(skip)]
    pub(crate) extent: Extent,
    #[serde(skip)]
    pub(crate) info: PortInfo,
}

impl NodeEntry {
    /// A node with those of its connected ports that the options leave.
    pub(crate) fn new(snapshot: &Snapshot, id: NodeId, node: &Node, options: &Options) -> Self {
        let connected = || {
            node.ports()
                .filter(|(number, port)| is_connected(*number, port))
        };
        let ports = connected().filter(|(port, _)| {
            options.port(PortRef {
                node: id,
                port: *port,
            })
        });
        Self {
            name: node.name().to_string(),
            guid: node.guid(),
            node_type: node_type(node),
            node_details: options.node_details(id),
            num_ports: node.info.num_ports,
            partition_cap: node.info.partition_cap,
            system_image_guid: node.info.system_image_guid,
            base_version: node.info.base_version,
            sma_version: node.info.class_version,
            vendor_id: node.info.vendor_id,
            device_id: node.info.device_id,
            revision: node.info.revision,
            switch: node
                .switch
                .as_ref()
                .map(|info| SwitchEntry::new(node, info, options.extent)),
            connected_ports: connected().count(),
            ports: ports
                .map(|(port, data)| {
                    PortEntry::new(snapshot, options, PortRef { node: id, port }, data)
                })
                .collect(),
        }
    }

    /// The node's lines, `indent` columns deep; `detail` lists its ports, otherwise they are counted.
    pub(crate) fn text(&self, detail: Detail, indent: usize) -> String {
        let mut out = Indented {
            out: String::new(),
            indent,
        };
        out.line(4, format_args!("Name: {}", self.name));
        out.line(
            8,
            format_args!("NodeGUID: {} Type: {}", self.guid, self.node_type),
        );
        if let Some(details) = &self.node_details {
            out.line(8, format_args!("NodeDetails: {details}"));
        }
        out.line(
            8,
            format_args!(
                "Ports: {} PartitionCap: {} SystemImageGuid: {}",
                self.num_ports, self.partition_cap, self.system_image_guid
            ),
        );
        out.line(
            8,
            format_args!(
                "BaseVer: {} SmaVer: {} VendorID: {:#06x} DeviceID: {:#06x} Rev: {:#x}",
                self.base_version, self.sma_version, self.vendor_id, self.device_id, self.revision
            ),
        );
        if let Some(switch) = &self.switch {
            switch.write(&mut out);
        }
        let listed = detail.lists();
        let colon = if listed { ":" } else { "" };
        out.line(
            4,
            format_args!("{} Connected Ports{colon}", self.connected_ports),
        );
        for port in self.ports.iter().filter(|_| listed) {
            port.write(&mut out, detail.within());
        }
        out.out
    }
}

impl NodeEntry {
    /// The node's element; `detail` lists its ports, otherwise they are counted.
    pub(crate) fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.within_as("Node", format_args!("id=\"{}\"", self.guid), |to| {
            to.text("NodeDesc", &self.name);
            to.node_type(self.node_type);
            to.text_if("NodeDetails", self.node_details.as_deref());
            to.value("BaseVer", self.base_version);
            to.value("SmaVer", self.sma_version);
            to.value("NumPorts", self.num_ports);
            to.value("SystemImageGUID", self.system_image_guid);
            to.value("NodeGUID", self.guid);
            to.value("PartitionCap", self.partition_cap);
            to.value("DeviceID", format_args!("{:#x}", self.device_id));
            to.value("Revision", format_args!("{:#x}", self.revision));
            to.value("VendorID", format_args!("{:#x}", self.vendor_id));
            if let Some(switch) = &self.switch {
                switch.write_xml(to);
            }
            to.value("ConnectedPorts", self.connected_ports);
            for port in self.ports.iter().filter(|_| detail.lists()) {
                port.write_xml(to, self.guid, detail.within());
            }
        });
    }
}

/// Whether a port counts as connected: a switch's port 0, and every port that is not down.
pub(crate) fn is_connected(number: PortNum, port: &Port) -> bool {
    number.0 == 0 || port.peer.is_some() || port.info.port_state.0 > PortState::DOWN.0
}

struct Indented {
    out: String,
    indent: usize,
}

impl Indented {
    fn line(&mut self, deeper: usize, text: fmt::Arguments<'_>) {
        let indent = if deeper == 0 { 0 } else { self.indent + deeper };
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }
}

impl SwitchEntry {
    fn new(node: &Node, info: &SwitchInfo, extent: Extent) -> Self {
        let lid = node.port(PortNum(0)).map_or(Lid(0), |port| port.info.lid);
        let info = SwitchSettings {
            linear_fdb_cap: info.linear_fdb_cap,
            linear_fdb_top: info.linear_fdb_top,
            multicast_fdb_cap: info.multicast_fdb_cap,
            partition_enforcement_cap: info.partition_enforcement_cap,
            port_state_change: info.port_state_change,
            life_time_value: info.life_time_value,
            enhanced_port0: info.enhanced_port0,
            adaptive_routing: adaptive_routing(info),
            capability_mask: capability_mask(info),
            routing_mode_supported: info.routing_mode_supported,
            routing_mode_enabled: info.routing_mode_enabled,
            ip_v6: Ipv6Addr::from(info.ip_addr_ipv6),
            ip_v4: Ipv4Addr::from(info.ip_addr_ipv4),
        };
        Self {
            lid: lid.0,
            info,
            extent,
        }
    }

    fn write_xml(&self, to: &mut XmlWriter) {
        let info = &self.info;
        let has_passing = self.extent.has_passing();
        if has_passing {
            to.value("LID", Lid(self.lid));
        }
        to.value("LinearFDBCap", info.linear_fdb_cap);
        to.value("MulticastFDBCap", info.multicast_fdb_cap);
        if has_passing {
            to.value("LinearFDBTop", info.linear_fdb_top);
        }
        to.value("IPAddrIPV6", info.ip_v6);
        to.value("IPAddrIPV4", info.ip_v4);
        to.value("U1", format_args!("{:#04x}", info.u1()));
        if has_passing {
            to.value("PortStateChange", u8::from(info.port_state_change));
            to.value("SwitchLifeTime", info.life_time_value);
        }
        to.value("PartitionEnforcementCap", info.partition_enforcement_cap);
        let supported = info.routing_mode_supported;
        to.value("RoutingModeSupported", format_args!("{supported:#04x}"));
        let enabled = info.routing_mode_enabled;
        if has_passing {
            to.value("RoutingModeEnabled", format_args!("{enabled:#04x}"));
        }
        to.value("U2", format_args!("{:#04x}", info.u2()));
        to.value("Capability", if info.enhanced_port0 { "E0 " } else { "" });
        if has_passing {
            adaptive_routing_xml(to, info.adaptive_routing);
        }
        let mask = info.capability_mask;
        if mask != 0 {
            to.value("StlCapabilityMask", format_args!("{mask:#06x}"));
            to.value("StlCapability", if mask & 1 != 0 { "AR " } else { "" });
        }
    }

    fn write(&self, out: &mut Indented) {
        let info = &self.info;
        let (u1, u2) = (info.u1(), info.u2());
        let extent = self.extent;
        out.line(
            8,
            format_args!(
                "LID: {} LinearFDBCap: {:>5} LinearFDBTop: {} MCFDBCap: {:>5}",
                extent.passing(Lid(self.lid), "xxxxxxxxxx"),
                info.linear_fdb_cap,
                extent.passing(format_args!("{:#010x}", info.linear_fdb_top), "xxxxxxxxxx"),
                info.multicast_fdb_cap
            ),
        );
        out.line(
            8,
            format_args!(
                "PartEnfCap: {:>5} U1: {u1:#04x} PortStateChange: {}  SwitchLifeTime {}",
                info.partition_enforcement_cap,
                extent.passing(u8::from(info.port_state_change), "x"),
                extent.passing(format_args!("{:>2}", info.life_time_value), "x")
            ),
        );
        let e0 = if info.enhanced_port0 { "E0 " } else { "" };
        out.line(8, format_args!("U2: {u2:#04x}: {e0}"));
        let ar = info.adaptive_routing;
        out.line(
            8,
            format_args!(
                "AR: {}",
                extent.passing(
                    format_args!("{ar:#06x}: {}", adaptive_routing_text(ar)),
                    "xxxxxx: x"
                )
            ),
        );
        out.line(
            8,
            format_args!(
                "CapabilityMask: {:#06x}: {}",
                info.capability_mask,
                capability_text(info.capability_mask)
            ),
        );
        out.line(
            8,
            format_args!(
                "Routing Mode: Supported: {:#x} Enabled {}",
                info.routing_mode_supported,
                extent.passing(format_args!("{:#x}", info.routing_mode_enabled), "x")
            ),
        );
        out.line(
            8,
            format_args!("IPAddrIPV6:  {} IPAddrIPV4: {}", info.ip_v6, info.ip_v4),
        );
    }
}

impl SwitchSettings {
    /// Register U1.
    fn u1(&self) -> u8 {
        self.life_time_value << 3 | u8::from(self.port_state_change) << 2
    }

    /// Register U2.
    fn u2(&self) -> u8 {
        u8::from(self.enhanced_port0) << 3
    }
}

/// The register `STL_SWITCH_INFO.AdaptiveRouting` from its fields.
fn adaptive_routing(info: &SwitchInfo) -> u16 {
    u16::from(info.ar_enable) << 15
        | u16::from(info.ar_pause) << 14
        | u16::from(info.ar_algorithm) << 11
        | u16::from(info.ar_frequency) << 8
        | u16::from(info.ar_lost_routes_only) << 7
        | u16::from(info.ar_threshold) << 4
}

fn adaptive_routing_xml(to: &mut XmlWriter, register: u16) {
    to.value("AdaptiveRouting", format_args!("{:#04x}", register as u8));
    to.value("LostRoutesOnly", register >> 7 & 1);
    to.value("Pause", register >> 14 & 1);
    to.value("Enable", register >> 15);
    to.value("Algorithm", register >> 11 & 7);
    to.value("Frequency", register >> 8 & 7);
    to.value("Threshold", register >> 4 & 7);
}

fn adaptive_routing_text(register: u16) -> String {
    let on = if register & 0x8000 != 0 { "On " } else { "" };
    let pause = if register & 0x4000 != 0 { "Pause " } else { "" };
    let algorithm = match register >> 11 & 7 {
        0 => "Random",
        2 => "RGreedy",
        _ => "Greedy",
    };
    let lost = if register & 0x80 != 0 {
        " LostOnly"
    } else {
        ""
    };
    let (frequency, threshold) = (register >> 8 & 7, register >> 4 & 7);
    format!("{on}{pause}{algorithm}{lost} F{frequency} T{threshold}")
}

/// The register `STL_SWITCH_INFO.CapabilityMask`, the bits that have a meaning.
fn capability_mask(info: &SwitchInfo) -> u16 {
    u16::from(info.is_extended_scsc_supported) << 3
        | u16::from(info.is_addr_range_config_supported) << 2
        | u16::from(info.is_adaptive_routing_supported)
}

fn capability_text(mask: u16) -> String {
    let range = if mask & 4 != 0 { "ARC " } else { "" };
    let adaptive = if mask & 1 != 0 { "AR " } else { "" };
    format!("{range}{adaptive}")
}

impl PortEntry {
    fn new(snapshot: &Snapshot, options: &Options, at: PortRef, port: &Port) -> Self {
        let info = &port.info;
        let guid = port_guid(&snapshot.topology, at);
        let used = [
            info.link_width_downgrade_tx_active,
            info.link_width_downgrade_rx_active,
        ];
        let shows_more = options.detail >= Detail::FULL;
        let shows_tables = shows_more && options.extent.has_passing();
        Self {
            port: at.port.0,
            lid: guid.map(|_| info.lid.0),
            guid,
            neighbor: port
                .peer
                .and_then(|peer| LinkEnd::new(snapshot, options, peer)),
            state: info.port_state,
            width: width(info.link_width_active),
            speed: speed(info.link_speed_active),
            rate: rate(info),
            downgraded: used.iter().any(|width| *width != info.link_width_active),
            port_details: options.port_details(at),
            cable: shows_more.then(|| CableEntry::of(snapshot, at)).flatten(),
            tables: shows_tables
                .then(|| TablesEntry::of(snapshot, at))
                .flatten()
                .map(Box::new),
            counts: options.counts(at).filter(|_| shows_more),
            link: options.link_notes(at),
            extent: options.extent,
            info: *info,
        }
    }

    fn write_xml(&self, to: &mut XmlWriter, node: Guid, detail: Detail) {
        let attributes = port_id(node, self.port);
        to.within_as("PortInfo", format_args!("{attributes}"), |to| {
            to.value("PortNum", self.port);
            if let (Some(lid), Some(guid)) = (self.lid, self.guid) {
                if self.extent.has_passing() {
                    to.value("LID", Lid(lid));
                }
                to.value("GUID", guid);
            }
            to.text_if("PortDetails", self.port_details.as_deref());
            if let Some(neighbor) = &self.neighbor {
                to.within("Neighbor", |to| {
                    neighbor.write_xml(to, detail, |_| ());
                    if self.has_link_notes(detail) {
                        self.link.write_xml(to);
                    }
                });
            }
            if detail.lists() {
                return self.write_more_xml(to, detail);
            }
            self.write_rate_xml(to);
        });
    }

    /// Writes how fast it is, which is not the hardware's.
    pub(crate) fn write_rate_xml(&self, to: &mut XmlWriter) {
        if self.extent.has_settings() {
            let (width, speed) = (self.info.link_width_active, self.info.link_speed_active);
            to.coded("LinkWidthActive", &self.width, width.0);
            to.coded("LinkSpeedActive", &self.speed, speed.0);
        }
    }

    /// Writes everything of the port.
    fn write_more_xml(&self, to: &mut XmlWriter, detail: Detail) {
        port_details::write_xml(to, &self.info, self.extent);
        to.deeper(1, |to| {
            if let Some(tables) = self.tables.as_ref().filter(|_| detail > Detail::BRIEF) {
                tables.write_xml(to);
            }
            if let Some(counts) = &self.counts {
                counts.write_xml(to, detail.below(2));
            }
        });
        if let Some(cable) = &self.cable {
            cable.write_xml(to, detail);
        }
    }

    /// The lines of everything of the port.
    fn more_lines(&self, detail: Detail) -> Vec<String> {
        let mut lines = port_details::lines(&self.info, self.extent);
        if let Some(tables) = self.tables.as_ref().filter(|_| detail > Detail::BRIEF) {
            lines.extend(tables.lines());
        }
        if let Some(counts) = &self.counts {
            lines.extend(counts.lines(detail.below(2)));
        }
        if let Some(cable) = &self.cable {
            lines.extend(cable.lines(detail));
        }
        lines
    }

    /// Whether the cable is told of: not at the first level at which ports have more.
    fn has_link_notes(&self, detail: Detail) -> bool {
        detail != Detail::BRIEF
    }

    fn write(&self, out: &mut Indented, detail: Detail) {
        match (self.lid, self.guid) {
            (Some(lid), Some(guid)) => out.line(
                8,
                format_args!(
                    "PortNum: {:>3} LID: {} GUID: {guid}",
                    self.port,
                    self.extent.passing(Lid(lid), "xxxxxxxxxx")
                ),
            ),
            _ => out.line(8, format_args!("PortNum: {:>3}", self.port)),
        }
        if let Some(details) = &self.port_details {
            out.line(12, format_args!("PortDetails: {details}"));
        }
        if let Some(neighbor) = &self.neighbor {
            out.line(12, format_args!("Neighbor:  Name: {}", neighbor.name));
            out.line(
                16,
                format_args!(
                    "NodeGUID: {} Type: {} PortNum: {:>3}",
                    neighbor.guid, neighbor.node_type, neighbor.port
                ),
            );
            // Writing to a String cannot fail.
            let _ = neighbor.write_notes(&mut out.out, out.indent + 16, detail);
            for line in self
                .link
                .lines()
                .iter()
                .filter(|_| self.has_link_notes(detail))
            {
                out.line(16, format_args!("{line}"));
            }
        }
        if detail.lists() {
            for line in self.more_lines(detail) {
                let deeper = match port_details::is_outdented(&line, self.extent) {
                    _ if line.is_empty() => 0,
                    true => 8,
                    false => 12,
                };
                out.line(deeper, format_args!("{line}"));
            }
            return;
        }
        let downgraded = if self.downgraded { "Yes" } else { "No" };
        let rate = self.extent.setting(
            format_args!(
                "Width: {:>4} Speed: {:>7} Downgraded? {downgraded:>3}",
                self.width, self.speed
            ),
            "Width: xxxx Speed: xxxxxxx Downgraded? xxx",
        );
        out.line(12, format_args!("{rate}"));
    }
}
