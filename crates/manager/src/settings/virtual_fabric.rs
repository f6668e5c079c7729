//! A virtual fabric as the managers need it.

use std::sync::Arc;

use weft_config::{
    DeviceGroups, ResolvedApplications, ResolvedFabrics, ResolvedMulticastGroup,
    ResolvedVirtualFabric,
};
use weft_fabric::Sl;
use weft_state::State;
use weft_wire::enums::Mtu;
use weft_wire::id::PKey;

use super::members::{Candidate, Members, Selector};

/// A virtual fabric.
#[derive(Debug, Clone, PartialEq, State)]
pub struct VirtualFabric {
    /// Its name.
    pub name: String,
    /// The partition key of a full member.
    pub pkey: PKey,
    /// Limited members are kept from each other.
    pub security: bool,
    /// It carries no traffic.
    pub standby: bool,
    /// Full members.
    pub full: Members,
    /// Limited members.
    pub limited: Members,
    /// Its applications.
    pub applications: ResolvedApplications,
    /// Largest packet, `None` for the links' limit.
    pub max_mtu: Option<Mtu>,
    /// Highest rate (`IB_STATIC_RATE`), `None` for the links' limit.
    pub max_rate: Option<u8>,
    /// Virtual fabrics with equal numbers share service levels and bandwidth.
    pub qos_index: usize,
    /// It has service levels and bandwidth of its own.
    pub qos: bool,
    /// Service level.
    pub sl: Sl,
    /// Service level of multicast.
    pub multicast_sl: Sl,
    /// Packet lifetimes are 2^value times as long.
    pub lifetime_increment: u8,
    /// Share of each link in percent.
    pub bandwidth: u8,
    /// Goes before all that do not.
    pub high_priority: bool,
    /// Flow control is off.
    pub flow_control_disable: bool,
    /// Rank of preemption.
    pub preemption_rank: u8,
    /// Head-of-line lifetime of packets: 4.096 µs · 2^value.
    pub hoq_life: u8,
    /// Groups that are there from the start.
    pub multicast_groups: Vec<ResolvedMulticastGroup>,
}

impl VirtualFabric {
    pub(crate) fn of(
        fabric: &ResolvedVirtualFabric,
        all: &ResolvedFabrics,
        groups: &Arc<DeviceGroups>,
    ) -> Self {
        let qos = all.qos.get(fabric.qos_index).cloned().unwrap_or_default();
        let members = |names: &[String]| {
            Members::of(names.iter().map(|name| Selector::Group {
                groups: Arc::clone(groups),
                name: name.clone(),
            }))
        };
        Self {
            name: fabric.name.clone(),
            pkey: fabric.full_pkey(),
            security: fabric.security,
            standby: fabric.standby,
            full: members(&fabric.members),
            limited: members(&fabric.limited_members),
            applications: fabric.applications.clone(),
            max_mtu: fabric.max_mtu.code().map(Mtu),
            max_rate: fabric.max_rate.code(),
            qos_index: fabric.qos_index,
            qos: qos.qos,
            sl: fabric.sl,
            multicast_sl: fabric.multicast_sl,
            lifetime_increment: qos.pkt_life_time_mult_log2,
            bandwidth: qos.bandwidth.0,
            high_priority: qos.high_priority,
            flow_control_disable: qos.flow_control_disable,
            preemption_rank: qos.preempt_rank,
            hoq_life: qos.hoq_life.0,
            multicast_groups: fabric.multicast_groups.clone(),
        }
    }

    /// The key that a member of this kind has.
    pub fn member_key(&self, full: bool) -> PKey {
        match full || !self.security {
            true => PKey(self.pkey.0 | 0x8000),
            false => PKey(self.pkey.0 & 0x7FFF),
        }
    }

    /// The highest rate in Mb/s, 0 for the links' limit.
    pub fn max_rate_mbps(&self) -> u32 {
        self.max_rate.map_or(0, crate::rates::mbps)
    }

    /// Whether a port is a member, full or limited.
    pub(crate) fn has(&self, port: &Candidate<'_>) -> bool {
        self.full.contains(port) || self.limited.contains(port)
    }
}

/// The virtual fabrics Default and Admin of the stock file.
pub(crate) fn stock_fabrics() -> Vec<VirtualFabric> {
    let default = VirtualFabric {
        name: "Default".into(),
        pkey: PKey(0x8001),
        security: false,
        standby: false,
        full: Members::of([Selector::All]),
        limited: Members::default(),
        applications: ResolvedApplications {
            unmatched_service_id: true,
            unmatched_mgid: true,
            ..ResolvedApplications::default()
        },
        max_mtu: None,
        max_rate: None,
        qos_index: 0,
        qos: false,
        sl: Sl(0),
        multicast_sl: Sl(0),
        lifetime_increment: 0,
        bandwidth: 100,
        high_priority: false,
        flow_control_disable: false,
        preemption_rank: 0,
        hoq_life: 11,
        multicast_groups: Vec::new(),
    };
    let admin = VirtualFabric {
        name: "Admin".into(),
        pkey: PKey::MGMT_FULL,
        security: true,
        full: Members::of([
            Selector::HfiDirectConnect,
            Selector::MgmtAllowed,
            Selector::SwitchPort0,
        ]),
        limited: Members::of([Selector::All]),
        applications: ResolvedApplications {
            service_ids: vec![weft_config::PA_SERVICE_ID],
            sa: true,
            pm: true,
            ..ResolvedApplications::default()
        },
        ..default.clone()
    };
    vec![default, admin]
}
