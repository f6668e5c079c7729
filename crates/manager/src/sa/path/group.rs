//! Paths to multicast groups.

use weft_wire::id::Gid;
use weft_wire::sa::PathRecord;

use super::PathCriteria;
use super::fill::Collector;
use crate::sa::Sa;
use crate::sa::query::{Found, Refusal};
use crate::sa::view::End;

/// The path from a member to its group, if it matches the request.
pub(super) fn group_path(
    sa: &Sa,
    criteria: &PathCriteria,
    source: End,
    mgid: Gid,
) -> Result<Found, Refusal> {
    let group = sa.groups.all.get(&mgid).ok_or(Refusal::NO_RECORDS)?;
    let port = sa.view.end(source).ok_or(Refusal::NO_RECORDS)?;
    let sgid = Gid {
        prefix: sa.settings.subnet_prefix,
        interface: port.guid,
    };
    let mut found = Collector::new(1);
    let admitted = criteria.admits(group.mtu, group.rate, group.life)
        && criteria.sl.is_none_or(|sl| sl == group.sl)
        && criteria
            .pkey
            .is_none_or(|key| key.0 & 0x7FFF == group.pkey.0 & 0x7FFF);
    if admitted && group.members.contains_key(&sgid) {
        found.push(&PathRecord {
            service_id: criteria.service_id.unwrap_or(0),
            dgid: mgid,
            sgid,
            dlid: (group.lid().0 & 0x3FFF) as u16 | 0xC000,
            slid: port.lid.0 as u16,
            flow_label: group.flow_label,
            hop_limit: group.hop_limit,
            reversible: true,
            p_key: group.pkey,
            sl: group.sl,
            mtu_selector: 2,
            mtu: group.mtu,
            rate_selector: 2,
            rate: group.rate,
            pkt_life_time_selector: 2,
            pkt_life_time: group.life,
            ..PathRecord::default()
        });
    }
    found.finish()
}
