//! Attack 9: a host creates groups and ends them, so that the manager writes trees all the time.

use weft_fabric::Guid;
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::sa::attribute as attributes;

use super::sa_flood::group;
use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::{CREATE, LEAVE};

/// Groups, two at a step: 400 a second.
const GROUPS: u64 = 4_000;

/// Creates and ends them.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.note(format!("creates and ends {GROUPS} groups in 10 s"));
    site.sets(); // those before do not count
    for number in 0..GROUPS {
        let record = group(site, Guid(2 << 32 | number)).to_bytes();
        let join = (method::SET, attributes::MC_MEMBER_RECORD, CREATE);
        site.send_to_sa(join, &record)?;
        if number.is_multiple_of(2) {
            site.pass(STEP)?;
        }
        let leave = (method::DELETE, attributes::MC_MEMBER_RECORD, LEAVE);
        site.send_to_sa(leave, &record)?;
    }
    let sets = site.sets();
    Ok((sets > 0).then(|| format!("{sets} Sets of the managers")))
}
