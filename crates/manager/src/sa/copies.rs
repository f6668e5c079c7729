//! Registrations as they are copied to standbys, and those of a master taken over.

use std::time::Duration;

use weft_fabric::multicast::FIRST_MLID;
use weft_fabric::{Guid, Lid, Sl, Tick};
use weft_wire::class_port_info::InformInfo;
use weft_wire::dbsync::{CONFIGURED_MEMBER, SubscriberKey, SyncGroup, SyncMember};
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{InformInfoRecord, McMemberRecord, ServiceRecord};

use super::Sa;
use super::inform::Subscription;
use super::multicast::{Group, Joined, Member};
use super::services::{FOR_EVER, Service};
use super::view::View;
use crate::dbsync::{CopiedGroup, CopiedSubscription, Inherited, Registrations};
use crate::gsi::{Form, Requester};

/// Queue key of the management queue pairs.
const MANAGEMENT_Q_KEY: u32 = 0x8001_0000;

impl Sa {
    /// All registrations but the manager's own services, for a copy.
    pub fn registrations(&self) -> Registrations {
        let mut copied = Registrations::default();
        for group in self.groups.all.values() {
            copied
                .groups
                .insert(group.mgid, group_copy(&self.view, group));
        }
        for service in self.services.all.values() {
            if service.registrant != Guid(0) {
                let record = service.told(self.now, true);
                let key = (record.service_id, record.service_gid, record.service_p_key);
                copied.services.insert(key, record);
            }
        }
        let prefix = self.settings.subnet_prefix;
        let mut numbers = std::collections::BTreeMap::new();
        for one in &self.subscriptions.all {
            let next: &mut u16 = numbers.entry(one.to.lid).or_default();
            let subscription = subscription_copy(one, prefix, *next);
            *next = next.saturating_add(1);
            let key = weft_wire::Layout::to_bytes(&subscription.key);
            copied.subscriptions.insert(key, subscription);
        }
        copied
    }

    /// Number of changes of registrations so far.
    pub fn change_count(&self) -> u64 {
        self.changes()
    }

    /// Holds a master's registrations in place of its own, and outputs the members. Returns whether all
    /// groups could be had: a LID that they have may be another kind's here.
    pub fn inherit(&mut self, now: Tick, inherited: &Inherited) -> bool {
        self.now = now;
        let Registrations {
            groups,
            services,
            subscriptions,
        } = &*inherited.registrations;
        let wanted: Vec<Group> = groups.values().map(group_of).collect();
        let number = wanted.len();
        self.groups
            .restore(wanted, self.groups.named, &self.settings.multicast);
        let is_whole = self.groups.all.len() == number;
        self.services.clear();
        let services = services.values().map(|record| service_of(record, now));
        self.services.restore(services.collect());
        let subscriptions = subscriptions.values();
        let subscriptions = subscriptions.map(|one| subscription_of(one, &inherited.from));
        self.subscriptions.replace(subscriptions.collect());
        self.drop_undeclared();
        self.create_configured_groups();
        self.tell_groups();
        self.keep(now);
        is_whole
    }
}

fn group_copy(view: &View, group: &Group) -> CopiedGroup {
    let configured = group.permanent.then(|| {
        let member = Member {
            joined: Joined(1),
            proxy: true,
        };
        let record = group.record(Some((&Gid::default(), member)));
        member_copy(record, 0, CONFIGURED_MEMBER, Guid(0))
    });
    let members = group.members.iter().map(|(gid, member)| {
        let record = group.record(Some((gid, *member)));
        let end = view.by_guid(gid.interface).and_then(|end| view.end(end));
        let node = end.and_then(|end| view.node(end.at.node));
        let lid = end.map_or(0, |end| end.lid.0);
        let node = node.map_or(Guid(0), |node| node.guid());
        member_copy(record, lid, gid.interface, node)
    });
    let mut members: Vec<SyncMember> = configured.into_iter().chain(members).collect();
    for (index, member) in (1..).zip(&mut members) {
        member.index = index;
    }
    let keeps = |member: &&SyncMember| Joined(member.state).keeps();
    CopiedGroup {
        group: SyncGroup {
            mgid_reversed: CopiedGroup::reversed(&group.mgid),
            members_full: members.iter().filter(keeps).count() as u32,
            q_key: group.q_key,
            p_key: group.pkey,
            mlid: group.lid(),
            mtu: group.mtu.0,
            rate: group.rate,
            life: group.life,
            sl: group.sl.0,
            flow_label: group.flow_label,
            hop_limit: group.hop_limit,
            t_class: group.t_class,
            scope: group.scope,
            member_count: members.len() as u16,
            index_pool: members.len() as u32,
        },
        members,
    }
}

fn member_copy(member: McMemberRecord, lid: u32, port_guid: Guid, node_guid: Guid) -> SyncMember {
    SyncMember {
        member,
        index: 0,
        slid: Lid(lid),
        proxy: member.proxy_join.into(),
        state: Joined::of(&member).0,
        node_guid,
        port_guid,
    }
}

fn group_of(copied: &CopiedGroup) -> Group {
    let group = &copied.group;
    let members = copied.members.iter();
    let members = members.filter(|member| member.port_guid != CONFIGURED_MEMBER);
    let members = members.map(|member| {
        let joined = Joined(member.state & 0xF);
        let proxy = member.proxy != 0;
        (member.member.port_gid, Member { joined, proxy })
    });
    Group {
        mlid: group.mlid.0.wrapping_sub(FIRST_MLID),
        q_key: group.q_key,
        mtu: Mtu(group.mtu),
        rate: group.rate,
        life: group.life,
        sl: Sl(group.sl),
        t_class: group.t_class,
        flow_label: group.flow_label,
        hop_limit: group.hop_limit,
        scope: group.scope,
        permanent: copied.members.iter().any(is_configured),
        members: members.collect(),
        ..Group::new(copied.mgid(), PKey(group.p_key.0 | 0x8000))
    }
}

fn is_configured(member: &SyncMember) -> bool {
    member.port_guid == CONFIGURED_MEMBER
}

fn service_of(record: &ServiceRecord, now: Tick) -> Service {
    let seconds = Duration::from_secs(record.service_lease.into());
    Service {
        registrant: record.service_gid.interface,
        record: *record,
        until: (record.service_lease != FOR_EVER).then(|| now + seconds),
    }
}

fn subscription_copy(one: &Subscription, prefix: u64, enumeration: u16) -> CopiedSubscription {
    let info = one.info;
    CopiedSubscription {
        key: SubscriberKey {
            subscriber_gid: Gid {
                prefix,
                interface: one.port,
            },
            lid: one.to.lid,
            trap_number: info.trap_number,
            qpn: one.to.qp,
            producer: info.producer_type as u8,
            resp_time_value: info.resp_time_value,
            p_key: one.to.pkey,
            q_key: MANAGEMENT_Q_KEY,
            start_lid: info.lid_range_begin,
            end_lid: info.lid_range_end,
            ib_mode: (one.form == Form::Ib).into(),
        },
        record: InformInfoRecord {
            subscriber_lid: one.to.lid,
            enumeration,
            inform_info_data: info,
        },
    }
}

/// A master's subscription; reports go out from the LID that its requests came to.
fn subscription_of(copied: &CopiedSubscription, from: &Requester) -> Subscription {
    let key = &copied.key;
    Subscription {
        port: key.subscriber_gid.interface,
        to: Requester {
            lid: key.lid,
            served_lid: from.served_lid,
            sl: from.sl,
            pkey: key.p_key,
            qp: key.qpn,
        },
        form: match key.ib_mode {
            0 => Form::Opa,
            _ => Form::Ib,
        },
        info: InformInfo {
            subscribe: 1,
            qp_number: key.qpn,
            ..copied.record.inform_info_data
        },
    }
}
