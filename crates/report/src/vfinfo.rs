//! `vfinfo`: every virtual fabric that carries traffic.

use std::fmt;

use serde::Serialize;
use weft_fabric::{PortRef, Snapshot};
use weft_wire::sa::VfInfoRecord;

use crate::RULE;
use crate::codes;
use crate::focus::{Detail, Head, Options};
use crate::links::LinkEnd;
use crate::tables::{is_member, known_ports};
use crate::xml::{Xml, XmlWriter};

/// Bits of `select_flags`.
const SELECT: [(u8, &str); 2] = [(1, "PKEY "), (2, "SL ")];
/// Bits of `option_flags`.
const OPTIONS: [(u8, &str); 3] = [(1, "Security "), (QOS, "QoS "), (4, "FlowCtrlDisable")];
const QOS: u8 = 2;

/// The virtual fabrics.
#[derive(Debug, Clone, Serialize)]
pub struct FabricsReport {
    #[serde(flatten)]
    head: Head,
    /// In the order of the configuration.
    pub virtual_fabrics: Vec<FabricEntry>,
    /// Whether members are known.
    #[serde(skip)]
    with_members: bool,
    #[serde(skip)]
    detail: Detail,
}

/// A virtual fabric.
#[derive(Debug, Clone, Serialize)]
pub struct FabricEntry {
    /// Its place in the configuration.
    pub index: u16,
    /// Its name.
    pub name: String,
    /// Partition key.
    pub pkey: u16,
    /// Base service level.
    pub sl: u8,
    /// Service level of multicast, where it has one of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast_sl: Option<u8>,
    /// Applications find it by its partition key.
    pub by_pkey: bool,
    /// Applications find it by its service level.
    pub by_sl: bool,
    /// Largest packet, bytes; none for no limit.
    pub max_mtu: Option<u32>,
    /// Highest static rate; none for no limit.
    pub max_rate: Option<&'static str>,
    /// Members are limited to each other.
    pub security: bool,
    /// It has a share of the bandwidth, or priority.
    pub qos: bool,
    /// Share of the bandwidth, percent; 0 for none.
    pub bandwidth_percent: u8,
    /// Goes before others.
    pub high_priority: bool,
    /// End ports in it, as far as the tables of ports are known.
    pub members: Vec<LinkEnd>,
    #[serde(skip)]
    record: VfInfoRecord,
}

/// Makes the report.
pub fn vfinfo(snapshot: &Snapshot, options: &Options) -> FabricsReport {
    let ends = ends(snapshot, options);
    let all = snapshot.administration.virtual_fabrics.iter();
    FabricsReport {
        head: Head::new("vFabrics", options),
        virtual_fabrics: all
            .map(|record| FabricEntry::new(snapshot, record, &ends))
            .collect(),
        with_members: !snapshot.lacking.port_tables,
        detail: options.detail,
    }
}

/// End ports in the focus: those of HFIs, then those of switches.
fn ends(snapshot: &Snapshot, options: &Options) -> Vec<PortRef> {
    let is_switch = |at: &PortRef| snapshot.topology.switch_index(at.node).is_some();
    let known = known_ports(snapshot).into_iter();
    let mut ends: Vec<PortRef> = known
        .filter(|at| options.port(*at) && (!is_switch(at) || at.port.0 == 0))
        .collect();
    // The sort is stable: in order of GUID and port in each half.
    ends.sort_by_key(is_switch);
    ends
}

impl FabricEntry {
    fn new(snapshot: &Snapshot, record: &VfInfoRecord, ends: &[PortRef]) -> Self {
        let has = |flags: u8, flag: u8| flags & flag != 0;
        let members = ends.iter().filter(|at| is_member(snapshot, **at, record));
        Self {
            index: record.vf_index,
            name: record.vf_name.text().into_owned(),
            pkey: record.p_key.0,
            sl: record.sl_base.0,
            multicast_sl: record
                .sl_multicast_specified
                .then_some(record.sl_multicast.0),
            by_pkey: has(record.select_flags, SELECT[0].0),
            by_sl: has(record.select_flags, SELECT[1].0),
            max_mtu: record.mtu_specified.then(|| record.mtu.bytes()),
            max_rate: record
                .rate_specified
                .then(|| codes::static_rate(record.rate)),
            security: has(record.option_flags, OPTIONS[0].0),
            qos: has(record.option_flags, QOS),
            bandwidth_percent: record.bandwidth_percent,
            high_priority: record.priority,
            members: members
                .filter_map(|at| LinkEnd::plain(snapshot, *at))
                .collect(),
            record: *record,
        }
    }

    fn lifetime(&self) -> String {
        match self.record.pkt_life_specified {
            true => (1_u32 << self.record.pkt_life_time_inc).to_string(),
            false => "unspecified".to_owned(),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let record = &self.record;
        writeln!(f, "vFabric Index: {}   Name: {} ", self.index, self.name)?;
        write!(f, "PKey: {:#x}   SL: {}", self.pkey, self.sl)?;
        if let Some(sl) = self.multicast_sl {
            write!(f, " McastSL: {sl}")?;
        }
        if detail < Detail::USUAL {
            return writeln!(f);
        }
        let select = record.select_flags;
        let colon = if select == 0 { "" } else { ":" };
        let [by_pkey, by_sl] = SELECT.map(|flag| word(select, flag));
        let lifetime = self.lifetime();
        writeln!(
            f,
            "  Select: {select:#x}{colon} {by_pkey}{by_sl}  PktLifeTimeMult: {lifetime} "
        )?;
        match self.max_mtu {
            Some(mtu) => write!(f, "MaxMtu: {mtu:>5}  ")?,
            None => write!(f, "MaxMtu: unlimited  ")?,
        }
        let rate = self
            .max_rate
            .map_or("unlimited", |_| codes::infiniband_rate(record.rate));
        let flags = record.option_flags;
        let colon = if flags == 0 { "" } else { ":" };
        let words: String = OPTIONS.map(|flag| word(flags, flag)).concat();
        writeln!(f, "MaxRate: {rate}   Options: {flags:#04x}{colon} {words}")?;
        self.write_qos(f)
    }

    fn write_qos(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.bandwidth_percent;
        match (self.qos, self.high_priority, share) {
            (false, ..) => write!(f, "QOS: Disabled")?,
            (true, false, _) => write!(f, "QOS: Bandwidth: {share:>3}%")?,
            (true, true, 0) => write!(f, "QOS: HighPriority")?,
            (true, true, _) => write!(f, "QOS: Bandwidth: {share:>3}%  Priority: high")?,
        }
        let (rank, life) = (self.record.preemption_rank, self.record.hoq_life);
        writeln!(
            f,
            "  PreemptionRank: {rank}  HoQLife: {}",
            codes::timeout(life)
        )
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.value("Index", self.index);
        to.text("Name", &self.name);
        to.value("PKey", format_args!("{:#06x}", self.pkey));
        to.value("SL", self.sl);
        if let Some(sl) = self.multicast_sl {
            to.value("MulticastSL", sl);
        }
        if detail < Detail::USUAL {
            return;
        }
        let record = &self.record;
        let words = |flags: u8, all: &[(u8, &'static str)]| -> String {
            all.iter().map(|flag| word(flags, *flag)).collect()
        };
        to.value("Select", words(record.select_flags, &SELECT));
        to.value("Select_Hex", format_args!("{:#04x}", record.select_flags));
        to.value("PktLifeTimeMult", self.lifetime());
        match self.max_mtu {
            Some(mtu) => to.value("MaxMtu", mtu),
            None => to.value("MaxMtu", "unlimited"),
        }
        to.value("MaxRate", self.max_rate.unwrap_or("unlimited"));
        let off = if record.option_flags & OPTIONS[2].0 != 0 {
            " "
        } else {
            ""
        };
        let options = words(record.option_flags, &OPTIONS) + off;
        to.value("Options", options);
        to.value("Options_Hex", format_args!("{:#04x}", record.option_flags));
        to.within("QOS", |to| {
            if self.qos {
                to.value("Bandwidth_Percent", self.bandwidth_percent);
                to.value(
                    "Priority",
                    if self.high_priority { "True" } else { "False" },
                );
            }
        });
        to.value("PreemptionRank", record.preemption_rank);
        let life = record.hoq_life;
        to.coded("HoQLife", &codes::timeout(life), life);
    }
}

/// The word of a flag that is set.
fn word(flags: u8, (flag, word): (u8, &'static str)) -> &'static str {
    if flags & flag != 0 { word } else { "" }
}

impl FabricsReport {
    fn listed(&self) -> impl Iterator<Item = &FabricEntry> {
        self.virtual_fabrics.iter().filter(|_| self.detail.lists())
    }

    fn lists_members(&self) -> bool {
        self.detail > Detail::USUAL && self.with_members
    }
}

impl Xml for FabricsReport {
    fn xml(&self, to: &mut XmlWriter) {
        self.head.write_xml(to);
        to.within("vFabrics", |to| {
            for fabric in self.listed() {
                to.within("vFabric", |to| {
                    fabric.write_xml(to, self.detail);
                    for member in fabric.members.iter().filter(|_| self.lists_members()) {
                        member.xml(to);
                    }
                });
            }
            to.value("Count", self.virtual_fabrics.len());
        });
    }
}

impl fmt::Display for FabricsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.write_focus(f)?;
        writeln!(f, "vFabrics:")?;
        for (place, fabric) in self.listed().enumerate() {
            if place > 0 {
                writeln!(f)?;
            }
            fabric.write(f, self.detail)?;
            if !self.lists_members() {
                continue;
            }
            writeln!(f, "     NodeGUID          Port Type Name")?;
            for LinkEnd {
                guid,
                port,
                node_type,
                name,
                ..
            } in &fabric.members
            {
                writeln!(f, "     {guid} {port:>3} {node_type}   {name}")?;
            }
        }
        if self.listed().next().is_some() {
            writeln!(f)?;
        }
        writeln!(f, "{} VFs\n{RULE}", self.virtual_fabrics.len())
    }
}
