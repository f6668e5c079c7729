//! `<McMembers>` and `<VirtualFabrics>`.

use std::io::{self, Write};

use quick_xml::escape::escape;
use weft_wire::id::Gid;
use weft_wire::sa::VfInfoRecord;

use super::{Writer, lid};
use crate::administration::{GroupMember, JoinState, MulticastGroup};
use crate::export::escape_name;

impl<W: Write> Writer<'_, W> {
    pub(super) fn administration(&mut self) -> io::Result<()> {
        let administration = &self.snapshot.administration;
        writeln!(self.out, "<McMembers>")?;
        for group in administration.groups.iter() {
            self.multicast_group(group)?;
        }
        writeln!(self.out, "</McMembers>")?;
        // opareport refuses an element without any.
        if administration.virtual_fabrics.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "<VirtualFabrics>")?;
        for fabric in &administration.virtual_fabrics {
            self.virtual_fabric(fabric)?;
        }
        writeln!(self.out, "</VirtualFabrics>")
    }

    fn multicast_group(&mut self, group: &MulticastGroup) -> io::Result<()> {
        writeln!(self.out, "<MulticastGroup id=\"{}\">", gid(group.mgid))?;
        self.field("MGID", gid(group.mgid))?;
        self.field("MLID", lid(group.mlid))?;
        self.field("P_Key", format_args!("{:#06x}", group.pkey.0))?;
        self.field("Mtu", group.mtu.bytes())?;
        self.field("Rate_Int", group.rate)?;
        self.field("PktLifeTime_Int", group.lifetime)?;
        self.field("Q_Key", format_args!("{:#010x}", group.q_key))?;
        self.field("SL", format_args!("{:#x}", group.sl.0))?;
        self.field("HopLimit", format_args!("{:#x}", group.hop_limit))?;
        self.field("FlowLabel", format_args!("{:#x}", group.flow_label))?;
        self.field("TClass", format_args!("{:#04x}", group.t_class))?;
        for member in &group.members {
            self.member(member)?;
        }
        if group.members.is_empty() {
            // opareport crashes on a group without any; a member without a port counts as none.
            let joined = JoinState(u8::from(group.permanent));
            self.member(&GroupMember {
                port: Gid::default(),
                joined,
            })?;
        }
        writeln!(self.out, "</MulticastGroup>")
    }

    fn member(&mut self, member: &GroupMember) -> io::Result<()> {
        writeln!(self.out, "<PortGID id=\"{}\">", gid(member.port))?;
        self.field("GID", gid(member.port))?;
        self.field("Membership_Int", member.joined.0)?;
        writeln!(self.out, "</PortGID>")
    }

    fn virtual_fabric(&mut self, of: &VfInfoRecord) -> io::Result<()> {
        writeln!(self.out, "<VF>")?;
        self.field("Index", of.vf_index)?;
        self.some("PKey", of.p_key.0)?;
        self.field("Name", escape(escape_name(of.vf_name.bytes())))?;
        if of.service_id != 0 {
            self.field("ServiceID", format_args!("{:#018x}", of.service_id))?;
        }
        self.field("SelectFlags", of.select_flags)?;
        self.field("SL", of.sl_base)?;
        if of.sl_response_specified {
            self.field("RespSL", of.sl_response)?;
        }
        if of.sl_multicast_specified {
            self.field("MulticastSL", of.sl_multicast)?;
        }
        self.field("MTUSpecified", u8::from(of.mtu_specified))?;
        self.field("MTU", of.mtu.0)?;
        self.field("RateSpecified", u8::from(of.rate_specified))?;
        self.field("Rate", of.rate)?;
        self.field("PacketLifeSpecified", u8::from(of.pkt_life_specified))?;
        self.field("PacketLifeTimeInc", of.pkt_life_time_inc)?;
        if of.option_flags != 0 {
            self.field("OptionFlags", format_args!("{:#04x}", of.option_flags))?;
        }
        self.some("BandwidthPercent", of.bandwidth_percent)?;
        self.field("SLResponse", of.sl_response)?;
        self.field("Priority", u8::from(of.priority))?;
        self.field("PreemptionRank", of.preemption_rank)?;
        self.field("HOQLife", of.hoq_life)?;
        writeln!(self.out, "</VF>")
    }

    /// An element that the format leaves out for 0.
    fn some(&mut self, name: &str, value: impl Into<u32>) -> io::Result<()> {
        match value.into() {
            0 => Ok(()),
            value => self.field(name, value),
        }
    }
}

fn gid(gid: Gid) -> String {
    format!("{:#018x}:{:#018x}", gid.prefix, gid.interface.0)
}
