//! The ports of an image as bytes.

use weft_fabric::{Guid, Lid, NodeId, PortNum, Vl};
use weft_wire::Layout;
use weft_wire::enums::{LinkSpeed, LinkWidth, Mtu};
use weft_wire::pa::ImageSm;
use weft_wire::text::Text;

use super::bytes::{Malformed, Reading};
use crate::pm::roster::{BUILT_IN_GROUPS, FabricLanes, Member, Roster, RosterPort};
use crate::pm::settings::{FABRICS_MAX, USER_GROUPS_MAX};

/// Lanes that there are.
const LANES_MAX: usize = 32;
/// Ports of an image at most: a damaged number must not fill the memory.
const PORTS_MAX: usize = 1 << 20;
/// Stands for no neighbour.
const NONE: u32 = u32::MAX;
/// Bytes of an agent, and of a port, at least.
const MEMBER: usize = 22;
const PORT: usize = 22;

/// Appends a list of ports.
pub(super) fn write(out: &mut Vec<u8>, roster: &Roster) {
    names(out, roster.groups.iter().map(String::as_str));
    names(
        out,
        roster.fabrics.iter().map(|fabric| fabric.name.as_str()),
    );
    for fabric in &roster.fabrics {
        out.extend(fabric.lanes.to_le_bytes());
    }
    out.push(roster.lanes.len() as u8);
    out.extend(roster.lanes.iter().map(|vl| vl.0));
    for count in [
        roster.sms,
        roster.switches,
        roster.hfi_ports,
        roster.switch_ports,
        roster.links,
    ] {
        out.extend(count.to_le_bytes());
    }
    for record in &roster.sm_records {
        out.extend(record.to_bytes());
    }
    out.extend((roster.members.len() as u32).to_le_bytes());
    for member in &roster.members {
        out.extend(member.guid.0.to_le_bytes());
        out.extend(member.lid.0.to_le_bytes());
        out.extend(member.lids.to_le_bytes());
        out.extend(member.ports.to_le_bytes());
        out.push(u8::from(member.is_switch) | u8::from(member.is_read) << 1);
        text(out, member.description.bytes());
    }
    out.extend((roster.ports.len() as u32).to_le_bytes());
    for port in &roster.ports {
        out.push(port.number.0);
        out.push(u8::from(port.is_active));
        out.extend(port.neighbor.unwrap_or(NONE).to_le_bytes());
        out.extend(port.speed.0.to_le_bytes());
        out.extend(port.width_tx.0.to_le_bytes());
        out.extend(port.width_rx.0.to_le_bytes());
        out.push(port.lanes_down);
        out.push(port.mtu.0);
        out.extend(port.groups.to_le_bytes());
        out.extend(port.internal.to_le_bytes());
        out.extend(port.fabrics.to_le_bytes());
    }
}

fn names<'a>(out: &mut Vec<u8>, names: impl ExactSizeIterator<Item = &'a str>) {
    out.push(names.len() as u8);
    for name in names {
        text(out, name.as_bytes());
    }
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    let bytes = bytes.get(..usize::from(u8::MAX)).unwrap_or(bytes);
    out.push(bytes.len() as u8);
    out.extend(bytes);
}

/// Reads a list of ports.
pub(super) fn read(from: &mut Reading<'_>) -> Result<Roster, Malformed> {
    let groups = read_names(from, BUILT_IN_GROUPS.len() + USER_GROUPS_MAX)?;
    let fabrics = read_names(from, FABRICS_MAX)?.into_iter();
    let fabrics = fabrics.map(|name| {
        let lanes = 0;
        FabricLanes { name, lanes }
    });
    let mut roster = Roster {
        groups,
        fabrics: fabrics.collect(),
        ..Roster::default()
    };
    for fabric in &mut roster.fabrics {
        fabric.lanes = from.u32()?;
    }
    let lanes = usize::from(from.u8()?);
    roster.lanes = from.bytes(lanes)?.iter().map(|vl| Vl(*vl)).collect();
    // They are found by bisection.
    let ascend = roster.lanes.is_sorted_by(|a, b| a < b);
    from.check(
        ascend
            && roster
                .lanes
                .last()
                .is_none_or(|vl| usize::from(vl.0) < LANES_MAX),
    )?;
    roster.sms = from.u32()?;
    roster.switches = from.u32()?;
    roster.hfi_ports = from.u32()?;
    roster.switch_ports = from.u32()?;
    roster.links = from.u32()?;
    for record in &mut roster.sm_records {
        let bytes = from.bytes(<ImageSm as Layout>::LEN)?;
        *record = ImageSm::decode(bytes).map_err(|_| Malformed(from.part))?;
    }
    read_members(from, &mut roster)?;
    read_ports(from, &mut roster)?;
    Ok(roster)
}

fn read_names(from: &mut Reading<'_>, most: usize) -> Result<Vec<String>, Malformed> {
    let count = usize::from(from.u8()?);
    from.check(count <= most)?;
    (0..count)
        .map(|_| Ok(String::from_utf8_lossy(read_text(from)?).into_owned()))
        .collect()
}

fn read_text<'a>(from: &mut Reading<'a>) -> Result<&'a [u8], Malformed> {
    let len = usize::from(from.u8()?);
    from.bytes(len)
}

fn read_members(from: &mut Reading<'_>, roster: &mut Roster) -> Result<(), Malformed> {
    let mut first = 0u32;
    let mut after = 0;
    for _ in 0..from.count(MEMBER)? {
        let guid = Guid(from.u64()?);
        let lid = Lid(from.u32()?);
        let (lids, ports) = (from.u32()?, from.u32()?);
        let flags = from.u8()?;
        let name = read_text(from)?;
        // They are found by bisection.
        let ascends = roster.members.is_empty() || lid.0 > after;
        from.check(ascends && flags <= 3 && name.len() <= 64)?;
        let mut description = Text([0; 64]);
        description.0[..name.len()].copy_from_slice(name);
        roster.members.push(Member {
            // The nodes of an image on the disk are in no snapshot.
            node: NodeId(u32::MAX),
            guid,
            description,
            lid,
            lids,
            is_switch: flags & 1 != 0,
            is_read: flags & 2 != 0,
            first,
            ports,
        });
        after = lid.0;
        first = first.checked_add(ports).ok_or(Malformed(from.part))?;
    }
    Ok(())
}

fn read_ports(from: &mut Reading<'_>, roster: &mut Roster) -> Result<(), Malformed> {
    let count = from.count(PORT)?;
    let last = roster.members.last();
    let expected = last.map_or(0, |member| member.first + member.ports);
    from.check(count == expected as usize && count <= PORTS_MAX)?;
    roster.ports.reserve(count);
    for index in 0..roster.members.len() {
        for _ in 0..roster.members[index].ports {
            let port = read_port(from, index as u32)?;
            let inside = port.neighbor.is_none_or(|other| (other as usize) < count);
            from.check(inside)?;
            roster.ports.push(port);
        }
    }
    Ok(())
}

fn read_port(from: &mut Reading<'_>, member: u32) -> Result<RosterPort, Malformed> {
    Ok(RosterPort {
        member,
        number: PortNum(from.u8()?),
        is_active: from.u8()? != 0,
        neighbor: Some(from.u32()?).filter(|other| *other != NONE),
        speed: LinkSpeed(from.u16()?),
        width_tx: LinkWidth(from.u16()?),
        width_rx: LinkWidth(from.u16()?),
        lanes_down: from.u8()?,
        mtu: Mtu(from.u8()?),
        groups: from.u16()?,
        internal: from.u16()?,
        fabrics: from.u32()?,
    })
}
