//! What the administrator may choose about subnet administration: plain data.

use std::sync::Arc;

use weft_config::sm::MlidShare;
use weft_config::{
    DeviceGroups, Instance, Mgid, ResolvedApplications, ResolvedFabrics, ResolvedMulticastGroup,
    ResolvedVirtualFabric, ServiceId, VfError,
};
use weft_fabric::Sl;
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey};

pub use weft_config::PathSelection;

use super::services::OwnService;
use crate::gsi::Limits;
use crate::lanes::LaneLevels;
use crate::sm::settings::{Members, Selector};

/// How to answer. [`SaSettings::default`] is what the stock opafm.xml says.
#[derive(Debug, Clone, PartialEq)]
pub struct SaSettings {
    /// Upper half of all GIDs (`<SubnetPrefix>`).
    pub subnet_prefix: u64,
    /// Longest time to an answer that clients are told: 4.096 µs · 2^value (`<SaRespTime>`).
    pub resp_time: u8,
    /// How paths are given.
    pub paths: PathSettings,
    /// Multicast groups.
    pub multicast: MulticastSettings,
    /// The virtual fabrics, in the order of the file; those on standby among them.
    pub fabrics: Vec<VirtualFabric>,
    /// The device groups of the file.
    pub groups: Arc<DeviceGroups>,
    /// How much is taken on at once.
    pub limits: Limits,
    /// Services that are kept; one more is refused.
    pub services_max: usize,
    /// Subscriptions that are kept; one more is refused.
    pub subscriptions_max: usize,
    /// How much of that one client may take.
    pub quotas: Quotas,
    /// Services of the manager itself.
    pub own_services: Vec<OwnService>,
}

/// What one port may register; more is refused with `ERR_NO_RESOURCES`, as the vendor's manager does
/// where a table is full (opa-fm, sa_McMemberRecord.c).
///
/// These are bounds against a host that takes everything from the others, well above what hosts need:
/// IPoIB joins some ten groups an interface and creates one for each IPv6 address, a service of an
/// application is registered once a host, and the kernel and the vendor's tools subscribe to a handful
/// of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotas {
    /// Services that it has registered.
    pub services: usize,
    /// Its subscriptions.
    pub subscriptions: usize,
    /// Groups that it has created.
    pub groups: usize,
    /// Multicast LIDs of the groups that it has created: one of so many of `mlids_max`, at least one.
    pub mlid_share: u32,
    /// Groups that it is in.
    pub memberships: usize,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            services: 64,
            subscriptions: 128,
            groups: 256,
            mlid_share: 8,
            memberships: 1_024,
        }
    }
}

/// How paths are given.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSettings {
    /// Which pairs of LIDs make paths (`<PathSelection>`).
    pub selection: PathSelection,
    /// Lifetimes by the number of hops, 1 to 9 and more (`<DynamicPacketLifetime>`), or one for all
    /// (`<PacketLifetime>`): 4.096 µs · 2^value.
    pub lifetimes: [u8; 9],
    /// A table query must say the source GID and the number of paths (`<QueryValidation>`).
    pub validate: bool,
    /// Both ends must be in the virtual fabric of the path (`<EnforceVFPathRecord>`); otherwise it
    /// is enough that they share its partition and its service levels.
    pub enforce_fabric: bool,
}

/// Multicast groups.
#[derive(Debug, Clone, PartialEq)]
pub struct MulticastSettings {
    /// Most multicast LIDs (`<MLIDTableCap>`), 1 to 16,383.
    pub mlids_max: u32,
    /// Groups that share multicast LIDs (`<MLIDShare>`).
    pub shares: Vec<MlidShare>,
    /// Groups may be created whose MTU or rate some links lack (`<DisableStrictCheck>`).
    pub lenient: bool,
    /// Groups in all; one more is refused.
    pub groups_max: usize,
    /// Members of all groups together; one more is refused. What is kept of them over a restart has 18
    /// bytes each.
    pub members_max: usize,
}

/// A virtual fabric.
#[derive(Debug, Clone, PartialEq)]
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
    /// What it carries.
    pub applications: ResolvedApplications,
    /// Largest packet, none for what the links can do.
    pub max_mtu: Option<Mtu>,
    /// Highest rate (`IB_STATIC_RATE`), none for what the links can do.
    pub max_rate: Option<u8>,
    /// Which virtual fabrics share service levels and bandwidth: equal numbers do.
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
    /// How long a packet may stay at the head of a queue: 4.096 µs · 2^value.
    pub hoq_life: u8,
    /// Groups that are there from the start.
    pub multicast_groups: Vec<ResolvedMulticastGroup>,
}

impl Default for PathSettings {
    fn default() -> Self {
        Self {
            selection: PathSelection::Minimal,
            lifetimes: [16; 9],
            validate: false,
            enforce_fabric: true,
        }
    }
}

impl Default for MulticastSettings {
    fn default() -> Self {
        Self {
            mlids_max: 1_024,
            shares: Vec::new(),
            lenient: false,
            groups_max: 16_384,
            members_max: 1 << 20,
        }
    }
}

impl Default for SaSettings {
    fn default() -> Self {
        Self {
            subnet_prefix: 0xFE80_0000_0000_0000,
            resp_time: 19,
            paths: PathSettings::default(),
            multicast: MulticastSettings::default(),
            fabrics: stock_fabrics(),
            groups: Arc::default(),
            limits: Limits::default(),
            services_max: 4_096,
            subscriptions_max: 65_536,
            quotas: Quotas::default(),
            own_services: vec![OwnService::performance()],
        }
    }
}

impl SaSettings {
    /// What one instance of a configuration asks for.
    ///
    /// # Errors
    /// [`VfError`] when its virtual fabrics do not go together.
    pub fn from_config(instance: &Instance) -> Result<Self, VfError> {
        let sm = &instance.sm;
        let fabrics = instance.resolve_fabrics()?;
        let groups = Arc::new(instance.device_groups.clone());
        let shares = &sm.multicast.mlid_shares;
        Ok(Self {
            subnet_prefix: instance.shared.subnet_prefix,
            resp_time: sm.sa_resp_time.0.min(31),
            paths: PathSettings {
                selection: sm.path_selection,
                lifetimes: match sm.dynamic_packet_lifetime.enable {
                    true => sm.dynamic_packet_lifetime.by_hops().map(|life| life.0),
                    false => [sm.packet_lifetime.0; 9],
                },
                validate: sm.query_validation,
                enforce_fabric: sm.enforce_vf_path_record,
            },
            multicast: MulticastSettings {
                mlids_max: sm.multicast.mlid_table_cap,
                shares: shares
                    .iter()
                    .filter(|share| share.enable)
                    .cloned()
                    .collect(),
                lenient: sm.multicast.disable_strict_check,
                ..MulticastSettings::default()
            },
            fabrics: fabrics
                .fabrics
                .iter()
                .map(|fabric| VirtualFabric::of(fabric, &fabrics, &groups))
                .collect(),
            groups,
            own_services: match instance.pm.start {
                true => vec![OwnService::performance()],
                false => Vec::new(),
            },
            ..Self::default()
        })
    }
}

impl SaSettings {
    /// What stands for each service level in each lane.
    pub(crate) fn lane_levels(&self) -> LaneLevels {
        LaneLevels::new(
            self.active()
                .flat_map(|fabric| [fabric.sl, fabric.multicast_sl]),
        )
    }

    /// Whether a service belongs to a virtual fabric: it names it, or takes what no other one names.
    pub(crate) fn has_service(&self, fabric: &VirtualFabric, id: u64) -> bool {
        let id = ServiceId(id);
        let named = |fabric: &VirtualFabric| fabric.applications.has_service(id);
        named(fabric) || fabric.applications.unmatched_service_id && !self.active().any(named)
    }

    /// Whether a multicast group belongs to a virtual fabric, in the same way.
    pub(crate) fn has_mgid(&self, fabric: &VirtualFabric, mgid: &Gid) -> bool {
        let mgid = Mgid::new(mgid.prefix, mgid.interface.0);
        let named = |fabric: &VirtualFabric| fabric.applications.has_mgid(mgid);
        named(fabric) || fabric.applications.unmatched_mgid && !self.active().any(named)
    }

    /// The virtual fabrics that carry traffic.
    pub(crate) fn active(&self) -> impl Iterator<Item = &VirtualFabric> {
        self.fabrics.iter().filter(|fabric| !fabric.standby)
    }
}

impl VirtualFabric {
    fn of(
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
}

/// The virtual fabrics Default and Admin of the stock file.
fn stock_fabrics() -> Vec<VirtualFabric> {
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
