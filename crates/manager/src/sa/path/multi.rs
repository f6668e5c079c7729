//! Paths between many ports.

use weft_wire::Block;
use weft_wire::id::Gid;
use weft_wire::sa::MultiPathRecord;

use super::criteria::selected;
use super::fill::{Collector, Pair};
use super::{PATHS_BY_DEFAULT, PathCriteria, Paths};
use crate::sa::Sa;
use crate::sa::query::{Found, Query, Refusal};
use crate::sa::view::End;

/// Bits of the component mask (`IB_MULTIPATH_RECORD_COMP_*`).
mod component {
    pub(super) const NUMB_PATH: u32 = 6;
    pub(super) const P_KEY: u32 = 7;
    pub(super) const SL: u32 = 9;
    pub(super) const MTU: [u32; 2] = [10, 11];
    pub(super) const RATE: [u32; 2] = [12, 13];
    pub(super) const LIFE: [u32; 2] = [14, 15];
    pub(super) const SERVICE_ID: [u32; 2] = [16, 21];
}

/// Bytes before the GIDs.
const GIDS_AT: usize = 32;

/// Answers a query for the paths from each of its sources to each of its destinations. Ports that
/// are not there, or that the requester may not know of, have none.
pub(crate) fn multi_path_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let paths = Paths {
        view: &sa.view,
        settings: &sa.settings,
    };
    let asked: MultiPathRecord = query.record()?;
    let criteria = criteria(query, &asked)?;
    let requester = paths.requester(query)?;
    let (sources, targets) = ends(&paths, query, &asked, requester)?;
    let limit = match (query.has(component::NUMB_PATH), asked.numb_path) {
        (true, 0) => return Err(Refusal::INVALID),
        (true, number) => number.into(),
        (false, _) => PATHS_BY_DEFAULT,
    };
    let mut found = Collector::new(limit);
    for source in &sources {
        for target in &targets {
            found.next_pair();
            let pair = Pair {
                source: *source,
                source_lid: None,
                target: *target,
                target_lid: None,
            };
            paths.between(&criteria, &pair, &mut found);
        }
    }
    found.finish()
}

fn criteria(query: &Query<'_>, asked: &MultiPathRecord) -> Result<PathCriteria, Refusal> {
    let both = |bits: [u32; 2], selector: u8, value: u8| {
        selected(query.has(bits[0]), query.has(bits[1]), selector, value)
    };
    let has_service = component::SERVICE_ID.iter().any(|bit| query.has(*bit));
    PathCriteria::of_parts(
        has_service.then_some(asked.service_id),
        query.has(component::P_KEY).then_some(asked.p_key),
        query.has(component::SL).then_some(asked.sl),
        [
            both(component::MTU, asked.mtu_selector, asked.mtu.0),
            both(component::RATE, asked.rate_selector, asked.rate),
            both(
                component::LIFE,
                asked.pkt_life_time_selector,
                asked.pkt_life_time,
            ),
        ],
    )
}

/// Sources and destinations that are there and known to the requester.
fn ends(
    paths: &Paths<'_>,
    query: &Query<'_>,
    asked: &MultiPathRecord,
    requester: End,
) -> Result<(Vec<End>, Vec<End>), Refusal> {
    let (sources, targets) = (usize::from(asked.sgid_count), usize::from(asked.dgid_count));
    let gids = query.request.data.get(GIDS_AT..).unwrap_or_default();
    let mut gids = gids.chunks_exact(Gid::LEN).map(Gid::load);
    if sources == 0 || targets == 0 || gids.len() < sources + targets {
        return Err(Refusal::TOO_LITTLE);
    }
    let mut take = |count: usize| -> Vec<End> {
        let known = |gid: Gid| {
            let end = paths.by_gid(&gid).ok().flatten()?;
            let reachable = paths.is_active(end) && paths.view.share_key(requester, end);
            reachable.then_some(end)
        };
        gids.by_ref().take(count).filter_map(known).collect()
    };
    Ok((take(sources), take(targets)))
}
