//! Virtual fabrics, their members, and whether one port reaches another.

use weft_fabric::{PortRef, Snapshot};
use weft_manager::vf::{Fabrics, Hop, LevelUse, Listed, Member, Reach, Refused, Register, Route};

use super::fabric_plan::named;
use crate::v1;

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl From<Listed<'_>> for v1::VirtualFabric {
    fn from(listed: Listed<'_>) -> Self {
        let fabric = listed.fabric;
        Self {
            name: fabric.name.clone(),
            index: count(listed.index),
            pkey: fabric.member_key(false).0.into(),
            sl: fabric.sl.0.into(),
            multicast_sl: fabric.multicast_sl.0.into(),
            levels: listed.levels.into_iter().map(Into::into).collect(),
            max_mtu: fabric.max_mtu.map_or(0, |mtu| mtu.bytes()),
            max_rate_mbps: fabric.max_rate_mbps(),
            qos: fabric.qos,
            bandwidth_percent: match fabric.high_priority {
                true => 0,
                false => fabric.bandwidth.into(),
            },
            high_priority: fabric.high_priority,
            preemption_rank: fabric.preemption_rank.into(),
            flow_control_disabled: fabric.flow_control_disable,
            lifetime_increment: fabric.lifetime_increment.into(),
            hoq_life: fabric.hoq_life.into(),
            qos_index: count(fabric.qos_index),
            security: fabric.security,
            standby: fabric.standby,
            full_members: count(listed.full),
            limited_members: count(listed.limited),
        }
    }
}

impl From<LevelUse> for v1::ServiceLevel {
    fn from(level: LevelUse) -> Self {
        let (sc, vl) = level.channel.unwrap_or_default();
        Self {
            sl: level.sl.0.into(),
            confirmed: level.channel.is_some(),
            sc: sc.0.into(),
            vl: vl.0.into(),
        }
    }
}

impl v1::VirtualFabricMember {
    /// A member on a snapshot.
    pub fn of(snapshot: &Snapshot, member: Member) -> Self {
        Self {
            port: Some(named(snapshot, member.at)),
            full: member.full,
            device_groups: member.groups,
        }
    }
}

impl v1::CheckReachResponse {
    /// The answer about two end ports.
    pub fn of(fabrics: &Fabrics<'_>, source: PortRef, destination: PortRef) -> Self {
        let snapshot = fabrics.snapshot();
        let Reach {
            routes,
            refused,
            stray_keys,
        } = fabrics.reach(source, destination);
        let not_reached = |Refused { fabric, why }: &Refused| v1::NotReached {
            virtual_fabric: fabrics.name(*fabric).to_owned(),
            index: count(*fabric),
            why: why.words(&snapshot.topology),
        };
        let reached = |route| reached(snapshot, fabrics, route);
        Self {
            source: Some(named(snapshot, source)),
            destination: Some(named(snapshot, destination)),
            reachable: !routes.is_empty(),
            reached: routes.iter().map(reached).collect(),
            not_reached: refused.iter().map(not_reached).collect(),
            stray_pkeys: stray_keys.iter().map(|key| key.0.into()).collect(),
            generation: snapshot.generation,
        }
    }
}

fn reached(snapshot: &Snapshot, fabrics: &Fabrics<'_>, route: &Route) -> v1::Reached {
    let [own, other] = route.keys;
    let hop = |hop: &Hop| v1::ReachedHop {
        from: Some(named(snapshot, hop.from)),
        to: Some(named(snapshot, hop.to)),
        sc: hop.sc.0.into(),
        vl: hop.vl.0.into(),
        mtu: hop.mtu.bytes(),
        rate_mbps: hop.rate_mbps,
    };
    let register = |register: &Register| v1::PortRegister {
        port: Some(named(snapshot, register.at)),
        table: register.value.table().to_owned(),
        entry: register.value.to_string(),
    };
    v1::Reached {
        virtual_fabric: fabrics.name(route.fabric).to_owned(),
        index: count(route.fabric),
        source_pkey: own.key.0.into(),
        destination_pkey: other.key.0.into(),
        sl: route.sl.0.into(),
        mtu: route.mtu,
        rate_mbps: route.rate_mbps,
        hops: route.hops.iter().map(hop).collect(),
        registers: route.registers.iter().map(register).collect(),
    }
}
