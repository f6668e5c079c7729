//! Links that routes would leave out of the present fabric.

use super::Manager;
use super::barred_links::Barred;
use super::plan::Inactive;
use super::unintended::Unintended;
use super::unused_links::UnusedLinks;

impl Manager {
    /// The links of the present fabric that would be left out.
    pub(super) fn unused_with(&self, barred: &Barred) -> UnusedLinks {
        let inactive = Inactive {
            twice: self.devices.inactive_twice(),
            must_prove: false,
        };
        let topology = &self.planning.plan.topology;
        let unintended = Unintended::find(topology, self.settings.topology.as_ref());
        let drains = &self.planning.drains;
        UnusedLinks::find(
            topology,
            &self.settings,
            &inactive,
            barred,
            &unintended,
            drains,
        )
    }
}
