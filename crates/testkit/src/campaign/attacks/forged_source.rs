//! Attack 5: requests to the SA in the name of other hosts, with their LIDs as source: each leaves its group.

use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sa::attribute as attributes;

use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::LEAVE;

/// Takes every bystander out of the group.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.note("lets every other host leave its group, from that host's LID");
    for victim in site.bystanders.hosts.clone() {
        let record = site.bystanders.membership(victim);
        let lid = site.lid_of(victim.0);
        let what = (method::DELETE, attributes::MC_MEMBER_RECORD, LEAVE);
        let request = site.sa_request(what, &record.to_bytes());
        site.send(Packet {
            slid: lid,
            ..request
        })?;
        site.pass(STEP)?;
    }
    Ok(None)
}
