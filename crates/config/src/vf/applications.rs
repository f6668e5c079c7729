//! Resolves a virtual fabric's applications.

use std::collections::BTreeSet;
use weft_state::State;

use serde::{Deserialize, Serialize};

use crate::objects::{Application, ApplicationSelect, Applications};
use crate::value::{Interval, Masked, Mgid, ServiceId};

/// The service identifier of performance administration (`STL_PM_SERVICE_ID`).
pub const PA_SERVICE_ID: ServiceId = ServiceId(0x1100_d03c_3484_5555);

/// All applications of a virtual fabric, includes expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct ResolvedApplications {
    /// Service identifiers.
    pub service_ids: Vec<ServiceId>,
    /// Ranges of service identifiers.
    pub service_id_ranges: Vec<Interval<ServiceId>>,
    /// Service identifiers by some of their bits.
    pub service_id_masks: Vec<Masked<ServiceId>>,
    /// Multicast groups.
    pub mgids: Vec<Mgid>,
    /// Ranges of multicast groups.
    pub mgid_ranges: Vec<Interval<Mgid>>,
    /// Multicast groups by some of their bits.
    pub mgid_masks: Vec<Masked<Mgid>>,
    /// Subnet administration.
    pub sa: bool,
    /// The performance manager.
    pub pm: bool,
    /// Service identifiers of no other virtual fabric.
    pub unmatched_service_id: bool,
    /// Multicast groups of no other virtual fabric.
    pub unmatched_mgid: bool,
}

impl ResolvedApplications {
    /// Expands the applications of these names; names without an application are given back.
    pub(super) fn resolve<'n>(names: &'n [String], all: &Applications) -> (Self, Vec<&'n str>) {
        let (mut resolved, mut missing) = (Self::default(), Vec::new());
        let mut seen = BTreeSet::new();
        for name in names {
            match all
                .list
                .iter()
                .position(|application| application.name == *name)
            {
                Some(at) => resolved.expand(at, all, &mut seen),
                None => missing.push(name.as_str()),
            }
        }
        (resolved, missing)
    }

    /// Adds an application and its includes, each once: includes can only name earlier ones.
    fn expand(&mut self, at: usize, all: &Applications, seen: &mut BTreeSet<usize>) {
        let mut waiting = vec![at];
        while let Some(at) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            let (earlier, application) = (&all.list[..at], &all.list[at]);
            self.add(application);
            let include = |name: &String| earlier.iter().position(|known| known.name == *name);
            waiting.extend(application.include.iter().rev().filter_map(include));
        }
    }

    fn add(&mut self, application: &Application) {
        self.service_ids.extend(&application.service_ids);
        self.service_id_ranges
            .extend(&application.service_id_ranges);
        self.service_id_masks.extend(&application.service_id_masks);
        self.mgids.extend(&application.mgids);
        self.mgid_ranges.extend(&application.mgid_ranges);
        self.mgid_masks.extend(&application.mgid_masks);
        for select in &application.select {
            match select {
                ApplicationSelect::Sa => self.sa = true,
                ApplicationSelect::Pm => self.pm = true,
                ApplicationSelect::UnmatchedServiceId => self.unmatched_service_id = true,
                ApplicationSelect::UnmatchedMgid => self.unmatched_mgid = true,
            }
        }
    }

    /// Whether a service is named, unmatched ones aside.
    pub fn has_service(&self, id: ServiceId) -> bool {
        self.service_ids.contains(&id)
            || self
                .service_id_ranges
                .iter()
                .any(|range| range.contains(&id))
            || self.service_id_masks.iter().any(|mask| mask.matches(id))
    }

    /// Whether a multicast group is named, unmatched ones aside.
    pub fn has_mgid(&self, mgid: Mgid) -> bool {
        self.mgids.contains(&mgid)
            || self.mgid_ranges.iter().any(|range| range.contains(&mgid))
            || self.mgid_masks.iter().any(|mask| mask.matches(mgid))
    }

    /// Whether performance administration is named.
    pub fn has_pa(&self) -> bool {
        self.has_service(PA_SERVICE_ID)
    }

    /// Whether it has anything that only the management partition may carry.
    pub fn is_management(&self) -> bool {
        self.sa || self.pm || self.has_pa()
    }

    /// Whether it has multicast groups.
    pub fn has_multicast(&self) -> bool {
        self.unmatched_mgid
            || !self.mgids.is_empty()
            || !self.mgid_ranges.is_empty()
            || !self.mgid_masks.is_empty()
    }
}
