//! Settings of all managers, made of one instance of opafm.xml at once.

pub(crate) mod lane_levels;
pub(crate) mod members;
pub(crate) mod virtual_fabric;

use std::sync::Arc;

use weft_config::link_rules::{Action, LinkRules};
use weft_config::{DeviceGroups, Instance, ResolvedFabrics, RoutingAlgorithm};

pub use members::{Members, Selector};
pub use virtual_fabric::VirtualFabric;

use weft_wire::id::Vl;

use crate::cables::CablesSettings;
use crate::congestion::CongestionSettings;
use crate::dbsync::DbSyncSettings;
use crate::pm::PmSettings;
use crate::sa::SaSettings;
use crate::sm::settings::{Settings, SettingsError, TopologySettings};

/// The lane of subnet management.
pub(crate) const MANAGEMENT_LANE: Vl = Vl(15);

/// Settings of the managers of one fabric. Their defaults equal the stock opafm.xml.
#[derive(Debug, Clone, PartialEq)]
pub struct ManagerSettings {
    /// The subnet manager.
    pub sm: Settings,
    /// Subnet administration.
    pub sa: SaSettings,
    /// The performance manager, none where it is not to run.
    pub pm: Option<PmSettings>,
    /// Settings of cable reading.
    pub cables: CablesSettings,
    /// Congestion control.
    pub congestion: CongestionSettings,
    /// Copy of registrations to standbys.
    pub dbsync: DbSyncSettings,
}

impl Default for ManagerSettings {
    fn default() -> Self {
        Self {
            sm: Settings::default(),
            sa: SaSettings::default(),
            pm: Some(PmSettings::default()),
            cables: CablesSettings::default(),
            congestion: CongestionSettings::default(),
            dbsync: DbSyncSettings::default(),
        }
    }
}

impl ManagerSettings {
    /// Settings of one instance of a configuration.
    ///
    /// # Errors
    /// [`SettingsError`] for a setting that the managers do not support.
    pub fn from_config(instance: &Instance) -> Result<Self, SettingsError> {
        let resolved = Resolved::of(instance)?;
        let sm = Settings::from_config(&resolved)?;
        let pm = instance.pm.start;
        Ok(Self {
            sa: SaSettings::from_config(&resolved),
            pm: pm.then(|| PmSettings::from_config(&resolved, &sm)),
            cables: CablesSettings::from_config(instance),
            congestion: CongestionSettings::from_config(instance),
            dbsync: DbSyncSettings::from_config(instance),
            sm,
        })
    }

    /// Puts rules for links with errors in force. Where symbol errors are measured, performance management reads
    /// every change of their counters, however small, in place of what `<Resolution>` says.
    ///
    /// # Errors
    /// [`SettingsError::LinkRules`] where a rule is applied and no performance manager is to run.
    pub fn apply_link_rules(&mut self, rules: LinkRules) -> Result<(), SettingsError> {
        if !rules.is_on() {
            return Ok(());
        }
        let pm = self.pm.as_mut().ok_or(SettingsError::LinkRules)?;
        if rules.symbol_errors.action != Action::Off {
            pm.resolution.local_link_integrity = 1;
        }
        self.sm.links.errors = Some(rules);
        Ok(())
    }

    /// Reads the topology file of an instance, where it has one in force; `read` returns the bytes of a file.
    ///
    /// # Errors
    /// [`SettingsError::Topology`] where it cannot be read, or is no topology.
    pub fn read_topology(
        &mut self,
        instance: &Instance,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<(), SettingsError> {
        self.sm.topology = TopologySettings::from_config(instance, read)?;
        Ok(())
    }
}

/// An instance with its virtual fabrics resolved, which several managers' settings are made of.
pub(crate) struct Resolved<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) fabrics: ResolvedFabrics,
    pub(crate) groups: Arc<DeviceGroups>,
}

impl<'a> Resolved<'a> {
    fn of(instance: &'a Instance) -> Result<Self, SettingsError> {
        Ok(Self {
            instance,
            fabrics: instance.resolve_fabrics()?,
            groups: Arc::new(instance.device_groups.clone()),
        })
    }

    /// Whether multicast uses the lanes of its virtual fabric's other traffic (`<OverlayMulticast>`).
    pub(crate) fn overlays_multicast(&self) -> bool {
        let sm = &self.instance.sm;
        let mesh = sm.mesh_torus.as_ref();
        let is_wanted = mesh.is_some_and(|mesh| mesh.overlay_multicast);
        is_wanted && sm.routing_algorithm == RoutingAlgorithm::Dor
    }

    /// All virtual fabrics, those on standby among them, in the order of the file.
    pub(crate) fn virtual_fabrics(&self) -> impl Iterator<Item = VirtualFabric> + '_ {
        let all = self.fabrics.fabrics.iter();
        all.map(|fabric| VirtualFabric::of(fabric, &self.fabrics, &self.groups))
    }
}
