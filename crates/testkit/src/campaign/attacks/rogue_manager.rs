//! Attack 3: a subnet manager of the highest priority on the attacker's host, with the stock configuration.

use std::time::Duration;

use weft_fabric::enums::SmState;

use super::site::{ROGUE, Site};
use crate::campaign::bring_up::RunError;

/// How long it runs: two sweeps and more.
const TIME: Duration = Duration::from_secs(25);

/// Runs it and ends it.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.note("starts a subnet manager of priority 15");
    site.cluster.start(ROGUE)?;
    site.pass(TIME)?;
    let rogue = site.cluster.running().find(|(number, _)| *number == ROGUE);
    let role = rogue.map_or(SmState::NOT_ACTIVE, |(_, manager)| manager.role());
    site.note(format!("its manager is {role}, and ends"));
    site.cluster.kill(ROGUE)?;
    Ok(site.written())
}
