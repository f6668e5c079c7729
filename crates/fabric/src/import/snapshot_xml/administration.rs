//! `<McMembers>` and `<VirtualFabrics>`.

use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, Guid, Lid, PKey, Sl};
use weft_wire::sa::VfInfoRecord;
use weft_wire::text::Text;

use super::port::mtu;
use crate::administration::{GroupMember, JoinState, MulticastGroup};
use crate::export::unescape_name;
use crate::import::ImportError;
use crate::import::xml::Element;
use crate::multicast::{FIRST_MLID, MLIDS};

/// The first multicast LID in InfiniBand's form of 16 bits.
const FIRST_IB_MLID: u32 = 0xC000;

pub(super) fn read_group(element: &Element<'_>) -> Result<MulticastGroup, ImportError> {
    let mut group = MulticastGroup {
        mgid: gid(element, "MGID")?,
        mlid: mlid(element.required("MLID")?).ok_or_else(|| {
            let what = "<MLID> is none".to_owned();
            let allowed = "0xf0000000 to 0xf0003ffe, or 0xc000 to 0xfffe";
            ImportError::new(element.line_of("MLID"), what, allowed)
        })?,
        pkey: PKey(element.optional("P_Key")?.unwrap_or(0)),
        q_key: element.optional("Q_Key")?.unwrap_or(0),
        mtu: element.child("Mtu").map_or(Ok(Mtu(0)), mtu)?,
        rate: at_most(element, "Rate_Int", 63)?,
        lifetime: at_most(element, "PktLifeTime_Int", 63)?,
        sl: Sl(at_most(element, "SL", 31)?),
        hop_limit: element.optional("HopLimit")?.unwrap_or(0),
        flow_label: element.optional::<u32>("FlowLabel")?.unwrap_or(0) & 0xF_FFFF,
        t_class: element.optional("TClass")?.unwrap_or(0),
        permanent: false,
        members: Vec::new(),
    };
    for member in element.all("PortGID") {
        let joined = JoinState(at_most(member, "Membership_Int", 15)?);
        match gid(member, "GID")? {
            // What keeps a configured group.
            port if port == Gid::default() => group.permanent |= joined.has(JoinState::FULL),
            port => group.members.push(GroupMember { port, joined }),
        }
    }
    Ok(group)
}

/// A multicast LID in either form.
pub(super) fn mlid(value: u32) -> Option<Lid> {
    let entry = value
        .checked_sub(FIRST_MLID)
        .or_else(|| value.checked_sub(FIRST_IB_MLID))?;
    (entry < MLIDS).then_some(Lid(FIRST_MLID + entry))
}

fn at_most(element: &Element<'_>, name: &str, max: u8) -> Result<u8, ImportError> {
    let value: u8 = element.optional(name)?.unwrap_or(0);
    let what = || format!("<{name}> is {value}");
    match value <= max {
        true => Ok(value),
        false => Err(ImportError::new(
            element.line_of(name),
            what(),
            format!("0 to {max}"),
        )),
    }
}

fn gid(element: &Element<'_>, name: &str) -> Result<Gid, ImportError> {
    let text = element.child(name).map_or("", |child| child.text.trim());
    let half = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let halves = text
        .split_once(':')
        .and_then(|(high, low)| Some((half(high)?, half(low)?)));
    let (prefix, interface) = halves.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        let what = format!("<{name}> is {shown:?}");
        ImportError::new(element.line_of(name), what, "a GID as 0x…:0x…")
    })?;
    Ok(Gid {
        prefix,
        interface: Guid(interface),
    })
}

pub(super) fn read_virtual_fabric(element: &Element<'_>) -> Result<VfInfoRecord, ImportError> {
    let optional = |name: &str, max: u8| at_most(element, name, max);
    let name = element.child("Name").map_or("", |child| &child.text);
    let mut vf_name = Text::default();
    vf_name
        .iter_mut()
        .zip(unescape_name(name))
        .for_each(|(to, from)| *to = from);
    let sl = |name: &str| element.child(name).map(|_| optional(name, 31)).transpose();
    let (response, multicast) = (sl("RespSL")?, sl("MulticastSL")?);
    Ok(VfInfoRecord {
        vf_index: element.required("Index")?,
        p_key: PKey(element.optional("PKey")?.unwrap_or(0)),
        vf_name,
        service_id: element.optional("ServiceID")?.unwrap_or(0),
        select_flags: optional("SelectFlags", 3)?,
        sl_base: Sl(optional("SL", 31)?),
        mtu_specified: optional("MTUSpecified", 1)? != 0,
        mtu: Mtu(optional("MTU", 63)?),
        rate_specified: optional("RateSpecified", 1)? != 0,
        rate: optional("Rate", 63)?,
        pkt_life_specified: optional("PacketLifeSpecified", 1)? != 0,
        pkt_life_time_inc: optional("PacketLifeTimeInc", 7)?,
        option_flags: optional("OptionFlags", u8::MAX)?,
        bandwidth_percent: optional("BandwidthPercent", u8::MAX)?,
        priority: optional("Priority", 1)? != 0,
        routing_sls: 1,
        preemption_rank: optional("PreemptionRank", 127)?,
        hoq_life: optional("HOQLife", 31)?,
        sl_response_specified: response.is_some(),
        sl_response: Sl(response.map_or_else(|| optional("SLResponse", 31), Ok)?),
        sl_multicast_specified: multicast.is_some(),
        sl_multicast: Sl(multicast.unwrap_or(0)),
        ..VfInfoRecord::default()
    })
}
