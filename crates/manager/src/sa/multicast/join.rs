//! Joining, creating and leaving groups.

use std::collections::BTreeSet;

use weft_fabric::{Guid, Tick};
use weft_wire::enums::Mtu;
use weft_wire::header::method;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{IbMcMemberRecord, McMemberRecord};

use super::group::{Group, Joined, Member};
use super::{Sa, form};
use crate::gsi::Form;
use crate::io::MulticastStorm;
use crate::rates::{ASCENDING, mbps, slower};
use crate::sa::dispatch::is_full;
use crate::sa::io::SaOutput;
use crate::sa::path::is_multicast;
use crate::sa::query::{Found, Query, Refusal};
use crate::sa::selector::Selector;
use crate::sa::view::{End, EndPort};
use crate::settings::VirtualFabric;

/// Bits of the component mask that mean the same in both forms, and those that are one lower in
/// InfiniBand's (`STL_MCMEMBER_COMPONENTMASK_*`, `IB_MCMEMBER_RECORD_COMP_*`).
mod component {
    pub(super) const MGID: u32 = 0;
    pub(super) const PORT_GID: u32 = 1;
    pub(super) const Q_KEY: u32 = 2;
    pub(super) const MTU_SELECTOR: u32 = 4;
    pub(super) const MTU: u32 = 5;
    pub(super) const T_CLASS: u32 = 6;
    pub(super) const P_KEY: u32 = 7;
    pub(super) const RATE_SELECTOR: u32 = 8;
    pub(super) const RATE: u32 = 9;
    pub(super) const SL: u32 = 12;
    pub(super) const JOIN_STATE: u32 = 17;
    pub(super) const JOIN_STATE_IB: u32 = 16;
}

/// Answers Set and Delete of McMemberRecord.
pub(crate) fn member_changes(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    match query.method() {
        method::SET => join(sa, now, query),
        method::DELETE => leave(sa, now, query),
        _ => super::member_records(sa, query),
    }
}

/// The record of a request in either form, with its flow label.
fn asked(query: &Query<'_>) -> Result<(McMemberRecord, u32), Refusal> {
    match query.form() {
        Form::Opa => query.record().map(|record| (record, 0)),
        Form::Ib => query
            .record()
            .map(|record: IbMcMemberRecord| (form::widened(&record), record.flow_label)),
    }
}

fn answer(query: &Query<'_>, group: &Group, record: &McMemberRecord) -> Found {
    match query.form() {
        Form::Opa => Found::one(record),
        Form::Ib => Found::one(&IbMcMemberRecord {
            flow_label: group.flow_label,
            ..form::narrowed(record)
        }),
    }
}

fn has_join_state(query: &Query<'_>) -> bool {
    query.has(match query.form() {
        Form::Opa => component::JOIN_STATE,
        Form::Ib => component::JOIN_STATE_IB,
    })
}

/// The port that a request is about: the requester's own, or another's by a full member of the
/// management partition.
fn member(sa: &Sa, query: &Query<'_>, record: &McMemberRecord) -> Result<(End, EndPort), Refusal> {
    if !query.has(component::PORT_GID) || !has_join_state(query) {
        return Err(Refusal::TOO_LITTLE);
    }
    if record.port_gid.prefix != sa.settings.subnet_prefix {
        return Err(Refusal::INVALID_GID);
    }
    let end = sa.view.by_guid(record.port_gid.interface);
    let end = end.ok_or(Refusal::INVALID_GID)?;
    let own = sa.view.by_lid(query.request.from.lid) == Some(end);
    if !own && !is_full(query.request.from.pkey) {
        return Err(Refusal::INVALID);
    }
    let port = *sa.view.end(end).ok_or(Refusal::INVALID_GID)?;
    Ok((end, port))
}

fn join(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let (record, flow_label) = asked(query)?;
    let (end, port) = member(sa, query, &record)?;
    let joined = Joined::of(&record);
    if !joined.any() {
        return Err(Refusal::INVALID);
    }
    let mgid = match record.mgid {
        Gid {
            prefix: 0,
            interface: Guid(0),
        } => sa.name_group(),
        mgid if is_multicast(&mgid) && query.has(component::MGID) => mgid,
        _ => return Err(Refusal::INVALID_GID),
    };
    if !sa.groups.all.contains_key(&mgid) {
        let group = new_group(sa, query, &record, mgid, (end, &port))?;
        sa.check_creation(&group)?;
        sa.check_membership(&mgid, &record.port_gid)?;
        sa.add_group(Group {
            flow_label,
            ..group
        })?;
    }
    let proxy = sa.view.by_lid(query.request.from.lid) != Some(end);
    let group = sa.groups.all.get(&mgid).ok_or(Refusal::NO_RESOURCES)?;
    check_join(sa, query, &record, group, (end, &port))?;
    sa.check_membership(&mgid, &record.port_gid)?;
    let Some(group) = sa.groups.all.get_mut(&mgid) else {
        return Err(Refusal::NO_RESOURCES);
    };
    let member = group.members.entry(record.port_gid).or_default();
    let before = *member;
    *member = Member {
        joined: Joined(before.joined.0 | joined.0),
        proxy: proxy || before.proxy,
    };
    let changed = member.joined != before.joined;
    let member = *member;
    let told = answer(
        query,
        group,
        &group.record(Some((&record.port_gid, member))),
    );
    if changed {
        sa.groups.touch(now);
    }
    Ok(told)
}

fn leave(sa: &mut Sa, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
    let (record, _) = asked(query)?;
    member(sa, query, &record)?;
    let group = sa
        .groups
        .all
        .get_mut(&record.mgid)
        .ok_or(Refusal::INVALID)?;
    let held = group
        .members
        .get_mut(&record.port_gid)
        .ok_or(Refusal::INVALID)?;
    let left = Joined(held.joined.0 & Joined::of(&record).0);
    if !left.any() {
        return Err(Refusal::INVALID);
    }
    let was = Member {
        joined: left,
        ..*held
    };
    held.joined.0 &= !left.0;
    if !held.joined.any() {
        group.members.remove(&record.port_gid);
    }
    let told = answer(query, group, &group.record(Some((&record.port_gid, was))));
    if sa.groups.drop_unkept(&record.mgid) {
        sa.count_ended_group(now, record.port_gid.interface);
    }
    sa.groups.touch(now);
    Ok(told)
}

/// Whether a port may join a group: it has the key, it supports the MTU and rate of the group,
/// and the request matches the group.
fn check_join(
    sa: &Sa,
    query: &Query<'_>,
    record: &McMemberRecord,
    group: &Group,
    (end, port): (End, &EndPort),
) -> Result<(), Refusal> {
    // Limited members cannot talk to each other, so that none of them is in a group.
    let full = sa.view.key_of(end, group.pkey) == Some(group.pkey);
    let fits = [
        (
            component::P_KEY,
            record.p_key.0 & 0x7FFF == group.pkey.0 & 0x7FFF,
        ),
        (component::Q_KEY, record.q_key == group.q_key),
        (component::T_CLASS, record.t_class == group.t_class),
        (component::SL, record.sl == group.sl),
    ];
    let said = fits
        .iter()
        .all(|(bit, true_so)| !query.has(*bit) || *true_so);
    let mtu_fits = !query.has(component::MTU)
        || selector(query, component::MTU_SELECTOR, record.mtu_selector)
            .admits(group.mtu.0.into(), record.mtu.0.into());
    let rate_fits = !query.has(component::RATE)
        || selector(query, component::RATE_SELECTOR, record.rate_selector)
            .admits(mbps(group.rate), mbps(record.rate));
    let able = port.mtu >= group.mtu && mbps(port.rate) >= mbps(group.rate);
    match full && said && mtu_fits && rate_fits && able {
        true => Ok(()),
        false => Err(Refusal::INVALID),
    }
}

fn selector(query: &Query<'_>, bit: u32, value: u8) -> Selector {
    match query.has(bit) {
        true => Selector::of(value),
        false => Selector::Equal,
    }
}

/// A group with the parameters of its first member, within the limits of its virtual fabric and the links.
fn new_group(
    sa: &Sa,
    query: &Query<'_>,
    record: &McMemberRecord,
    mgid: Gid,
    (end, port): (End, &EndPort),
) -> Result<Group, Refusal> {
    let needed = [component::P_KEY, component::Q_KEY, component::SL];
    if !needed.iter().all(|bit| query.has(*bit)) {
        return Err(Refusal::TOO_LITTLE);
    }
    if !Joined::of(record).keeps() {
        return Err(Refusal::INVALID);
    }
    let pkey = PKey(record.p_key.0 | 0x8000);
    let fabric = sa.settings.active().find(|fabric| {
        PKey(fabric.pkey.0 | 0x8000) == pkey
            && fabric.multicast_sl == record.sl
            && sa.settings.has_mgid(fabric, &mgid)
    });
    let fabric = fabric.ok_or(Refusal::INVALID)?;
    if sa.view.key_of(end, pkey) != Some(pkey) {
        return Err(Refusal::INVALID);
    }
    let creator = sa.port_of(query).ok_or(Refusal::INVALID)?;
    let (mtu, rate) = chosen(query, record, most(sa, fabric, port));
    Ok(Group {
        q_key: record.q_key,
        mtu: mtu.ok_or(Refusal::INVALID)?,
        rate: rate.ok_or(Refusal::INVALID)?,
        life: sa.settings.paths.lifetimes[8],
        sl: record.sl,
        t_class: record.t_class,
        hop_limit: record.hop_limit,
        creator,
        ..Group::new(mgid, pkey)
    })
}

/// The largest MTU and the highest rate that the links and the virtual fabric allow.
fn most(sa: &Sa, fabric: &VirtualFabric, port: &EndPort) -> (Mtu, u8) {
    let (links_mtu, links_rate) = match sa.settings.multicast.lenient {
        true => (port.mtu, port.rate),
        false => sa.view.least_of_links((port.mtu, port.rate)),
    };
    let mtu = fabric.max_mtu.map_or(links_mtu, |most| links_mtu.min(most));
    let rate = fabric
        .max_rate
        .map_or(links_rate, |most| slower(links_rate, most));
    (mtu, rate)
}

/// MTU and rate for a request, `None` if they are out of range.
fn chosen(
    query: &Query<'_>,
    record: &McMemberRecord,
    (most_mtu, most_rate): (Mtu, u8),
) -> (Option<Mtu>, Option<u8>) {
    let mtu = match query.has(component::MTU) {
        true => chosen_mtu(
            record,
            selector(query, component::MTU_SELECTOR, record.mtu_selector),
            most_mtu,
        ),
        false => Some(most_mtu),
    };
    let rate = match query.has(component::RATE) {
        true => chosen_rate(
            record,
            selector(query, component::RATE_SELECTOR, record.rate_selector),
            most_rate,
        ),
        false => Some(most_rate),
    };
    (mtu, rate)
}

/// The requested MTU, the largest if there is a choice; `None` if it is out of range.
fn chosen_mtu(record: &McMemberRecord, selector: Selector, most: Mtu) -> Option<Mtu> {
    let wanted = match selector {
        Selector::Equal => record.mtu,
        Selector::Best => most,
        Selector::Greater => most.max(Mtu(record.mtu.0.saturating_add(1))),
        Selector::Less => most.min(Mtu(record.mtu.0.saturating_sub(1))),
    };
    (wanted <= most && wanted.bytes() > 0).then_some(wanted)
}

/// The requested rate, the highest if there is a choice; `None` if it is out of range.
fn chosen_rate(record: &McMemberRecord, selector: Selector, most: u8) -> Option<u8> {
    let asked = mbps(record.rate);
    let wanted = match selector {
        Selector::Equal => record.rate,
        Selector::Best => most,
        Selector::Greater if mbps(most) > asked => most,
        Selector::Greater => return None,
        Selector::Less if mbps(most) < asked => most,
        Selector::Less => ASCENDING
            .into_iter()
            .rev()
            .find(|rate| mbps(*rate) < asked)?,
    };
    let known = ASCENDING.contains(&wanted);
    (known && mbps(wanted) <= mbps(most)).then_some(wanted)
}

impl Sa {
    /// A port has ended a group: the subnet manager acts where it does so too often.
    fn count_ended_group(&mut self, now: Tick, port: Guid) {
        let Some(settings) = self.settings.multicast.storms else {
            return;
        };
        if let Some(groups) = self.groups.storms.count(now, port, &settings) {
            let action = settings.action;
            self.outputs.push_back(SaOutput::Storm(MulticastStorm {
                port,
                groups,
                action,
            }));
        }
    }

    /// A GID for a group that was created without one: link-local, not from any well-known scheme.
    fn name_group(&mut self) -> Gid {
        loop {
            self.groups.named += 1;
            let gid = Gid {
                prefix: 0xFF12_A01B_FE80_0000,
                interface: Guid(self.groups.named),
            };
            if !self.groups.all.contains_key(&gid) {
                return gid;
            }
        }
    }

    /// Whether the requester may create one more group, and use one more multicast LID.
    fn check_creation(&self, group: &Group) -> Result<(), Refusal> {
        let quotas = &self.settings.quotas;
        let own = self
            .groups
            .all
            .values()
            .filter(|held| held.creator == group.creator);
        let lids: BTreeSet<u32> = own.clone().map(|held| held.mlid).collect();
        let lids_max = self.settings.multicast.mlids_max / quotas.mlid_share;
        let has_room = own.count() < quotas.groups && lids.len() < lids_max.max(1) as usize;
        has_room.then_some(()).ok_or(Refusal::NO_RESOURCES)
    }

    /// Whether a port may be in one more group, where it is not in this one already.
    fn check_membership(&self, mgid: &Gid, port: &Gid) -> Result<(), Refusal> {
        let groups = &self.groups.all;
        let is_in = |group: &Group| group.members.contains_key(port);
        if groups.get(mgid).is_some_and(is_in) {
            return Ok(());
        }
        let of_port = groups.values().filter(|group| is_in(group)).count();
        let of_all: usize = groups.values().map(|group| group.members.len()).sum();
        let has_room = of_port < self.settings.quotas.memberships
            && of_all < self.settings.multicast.members_max;
        has_room.then_some(()).ok_or(Refusal::NO_RESOURCES)
    }

    fn add_group(&mut self, mut group: Group) -> Result<(), Refusal> {
        if self.groups.all.len() >= self.settings.multicast.groups_max {
            return Err(Refusal::NO_RESOURCES);
        }
        let mlid = self
            .groups
            .mlids
            .assign(&self.settings.multicast, &group.mgid, group.pkey);
        group.mlid = mlid.ok_or(Refusal::NO_RESOURCES)?;
        self.groups.news.push((true, group.mgid));
        self.groups.all.insert(group.mgid, group);
        Ok(())
    }
}
