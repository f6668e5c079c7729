//! Settings of subnet administration: plain data.

use std::sync::Arc;
use std::time::Duration;

use weft_config::sm::{McDosAction, MlidShare};
use weft_config::{DeviceGroups, Mgid, ServiceId};
use weft_state::State;
use weft_wire::id::Gid;

pub use weft_config::PathSelection;

use super::multicast::MulticastStormSettings;
use super::services::OwnService;
use crate::gsi::Limits;
use crate::io::PortAction;
use crate::settings::lane_levels::LaneLevels;
use crate::settings::virtual_fabric::stock_fabrics;
use crate::settings::{Resolved, VirtualFabric};

/// Settings of subnet administration. [`SaSettings::default`] equals the stock opafm.xml.
#[derive(Debug, Clone, PartialEq, State)]
pub struct SaSettings {
    /// Upper half of all GIDs (`<SubnetPrefix>`).
    pub subnet_prefix: u64,
    /// Response time reported to clients: 4.096 µs · 2^value (`<SaRespTime>`).
    pub resp_time: u8,
    /// Settings of paths.
    pub paths: PathSettings,
    /// Multicast groups.
    pub multicast: MulticastSettings,
    /// The virtual fabrics, in the order of the file; those on standby among them.
    pub fabrics: Vec<VirtualFabric>,
    /// Multicast with a level of its own uses the lanes of its virtual fabric's other traffic
    /// (`<OverlayMulticast>` with `dor`), so that its level is the same in all lanes.
    pub overlays_multicast: bool,
    /// The device groups of the file.
    pub groups: Arc<DeviceGroups>,
    /// Limits of work in progress.
    pub limits: Limits,
    /// A busy SA gives no answer, instead of one that says so (`<NoReplyIfBusy>`).
    pub silent_if_busy: bool,
    /// Services that are kept; one more is refused.
    pub services_max: usize,
    /// Subscriptions that are kept; one more is refused.
    pub subscriptions_max: usize,
    /// Limits of one client.
    pub quotas: Quotas,
    /// Services of the manager itself.
    pub own_services: Vec<OwnService>,
}

/// Limits of one port's registrations; more are refused with `ERR_NO_RESOURCES`, as by the vendor's manager
/// if a table is full (opa-fm, sa_McMemberRecord.c).
///
/// They protect against a host that takes everything from the others, and are well above the needs of hosts:
/// IPoIB joins some ten groups per interface and creates one for each IPv6 address, an application
/// registers a service once per host, and the kernel and the vendor's tools subscribe to a handful
/// of notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub struct Quotas {
    /// Services that it has registered.
    pub services: usize,
    /// Its subscriptions.
    pub subscriptions: usize,
    /// Groups that it has created.
    pub groups: usize,
    /// Multicast LIDs of the groups that it has created: this divisor of `mlids_max`, at least one.
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

/// Settings of paths.
#[derive(Debug, Clone, PartialEq, State)]
pub struct PathSettings {
    /// Choice of the LID pairs that form paths (`<PathSelection>`).
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
#[derive(Debug, Clone, PartialEq, State)]
pub struct MulticastSettings {
    /// Most multicast LIDs (`<MLIDTableCap>`), 1 to 16,383.
    pub mlids_max: u32,
    /// Groups that share multicast LIDs (`<MLIDShare>`).
    pub shares: Vec<MlidShare>,
    /// Groups may be created whose MTU or rate some links lack (`<DisableStrictCheck>`).
    pub lenient: bool,
    /// Groups in all; one more is refused.
    pub groups_max: usize,
    /// Ports that end groups too often; none where nothing happens to them.
    pub storms: Option<MulticastStormSettings>,
    /// Members of all groups together; one more is refused. Each takes 18 bytes of storage over a
    /// restart.
    pub members_max: usize,
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
            storms: None,
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
            overlays_multicast: false,
            groups: Arc::default(),
            limits: Limits::default(),
            silent_if_busy: false,
            services_max: 4_096,
            subscriptions_max: 65_536,
            quotas: Quotas::default(),
            own_services: vec![OwnService::performance(Duration::from_secs(60), 0)],
        }
    }
}

impl SaSettings {
    /// Settings of a configuration.
    pub(crate) fn from_config(from: &Resolved<'_>) -> Self {
        let (instance, sm) = (from.instance, &from.instance.sm);
        let shares = &sm.multicast.mlid_shares;
        Self {
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
                storms: (sm.mc_dos_threshold != 0).then_some(MulticastStormSettings {
                    most: sm.mc_dos_threshold,
                    window: sm.mc_dos_interval,
                    action: match sm.mc_dos_action {
                        McDosAction::Disable => PortAction::Disable,
                        McDosAction::Bounce => PortAction::Bounce,
                    },
                }),
                ..MulticastSettings::default()
            },
            fabrics: from.virtual_fabrics().collect(),
            overlays_multicast: from.overlays_multicast(),
            groups: Arc::clone(&from.groups),
            silent_if_busy: sm.no_reply_if_busy,
            own_services: match instance.pm.start {
                true => {
                    let (lease, priority) =
                        (instance.pm.service_lease, sm.election.priority.min(15));
                    vec![OwnService::performance(lease, priority)]
                }
                false => Vec::new(),
            },
            ..Self::default()
        }
    }
}

impl SaSettings {
    /// Levels that replace each service level in each lane.
    pub(crate) fn lane_levels(&self) -> LaneLevels {
        let own = self.active().map(|fabric| fabric.sl);
        let multicast = || self.active().map(|fabric| fabric.multicast_sl);
        match self.overlays_multicast {
            true => LaneLevels::new(own, multicast()),
            false => LaneLevels::new(own.chain(multicast()), []),
        }
    }

    /// Whether a service belongs to a virtual fabric: it names it, or takes what no other one names.
    pub(crate) fn has_service(&self, fabric: &VirtualFabric, id: u64) -> bool {
        let id = ServiceId(id);
        let named = |fabric: &VirtualFabric| fabric.applications.has_service(id);
        named(fabric) || fabric.applications.unmatched_service_id && !self.active().any(named)
    }

    /// Whether a multicast group belongs to a virtual fabric, by the rule above.
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
