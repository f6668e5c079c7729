//! What a configuration changes of the virtual fabrics in force.

use std::sync::Arc;

use tokio::sync::Semaphore;
use weft_config::link_rules::LinkRules;
use weft_config::{Finding, Severity};
use weft_manager::SaSettings;
use weft_manager::vf::FabricPlan;

use super::{Control, Refusal};
use crate::config::Loaded;
use crate::event::DaemonEvent;
use crate::event_hub::EventHub;

/// Configurations that are read at the same time for a plan of virtual fabrics.
const READING_MAX: usize = 2;
static READING: Semaphore = Semaphore::const_new(READING_MAX);

/// The change from some settings to others on the present fabric, none where nothing changes.
pub(super) fn change(
    hub: &EventHub,
    before: &SaSettings,
    after: &SaSettings,
) -> Option<FabricPlan> {
    if before.fabrics == after.fabrics {
        return None;
    }
    let plan = FabricPlan::new(&hub.snapshot(), before, after);
    (!plan.is_empty()).then_some(plan)
}

/// Reports that other virtual fabrics are in force.
pub(super) fn tell(hub: &EventHub, plan: Option<&FabricPlan>) {
    if let Some(plan) = plan {
        hub.tell(DaemonEvent::VirtualFabrics(Box::new(plan.into())));
    }
}

impl Control {
    /// The findings of a configuration, and what it would change from the virtual fabrics of `before`; nothing where it
    /// has errors.
    pub(crate) async fn plan_fabrics(
        &self,
        text: String,
        before: SaSettings,
        hub: Arc<EventHub>,
    ) -> Result<(Vec<Finding>, Option<FabricPlan>), Refusal> {
        let _permit = READING.try_acquire().map_err(|_| Refusal::ManyPlans)?;
        let source = self.source.clone();
        let compared = tokio::task::spawn_blocking(move || {
            // Rules for links do not concern virtual fabrics.
            let Loaded { findings, usable } = source.check(text, LinkRules::default());
            if findings.iter().any(|one| one.severity == Severity::Error) {
                return Ok((findings, None));
            }
            let usable = usable.map_err(|why| Refusal::Config(why.into()))?;
            let plan = change(&hub, &before, &usable.queries.sa);
            Ok((findings, Some(plan.unwrap_or_default())))
        });
        compared
            .await
            .map_err(|error| Refusal::Failed(error.to_string()))?
    }
}
