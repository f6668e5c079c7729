//! Paths: request, available paths, and records.
//!
//! The order of checks, and the status of each failure, follow the reference manager, so
//! that its clients see familiar behaviour.

mod criteria;
mod fill;
mod group;
mod multi;
mod pairs;

pub(crate) use criteria::{PathCriteria, component};
pub(crate) use multi::multi_path_records;

use weft_fabric::{Guid, Lid};
use weft_wire::header::method;
use weft_wire::id::Gid;
use weft_wire::sa::PathRecord;

use super::Sa;
use super::query::{Found, Query, Refusal};
use super::settings::SaSettings;
use super::view::{End, View};
use fill::{Collector, Pair};

/// Paths that a query without a number gets for each pair of ports, where it may get several.
const PATHS_BY_DEFAULT: usize = 127;

/// Data for answers to a query.
pub(crate) struct Paths<'a> {
    pub(crate) view: &'a View,
    pub(crate) settings: &'a SaSettings,
}

/// Answers a PathRecord query.
pub(crate) fn path_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let paths = Paths {
        view: &sa.view,
        settings: &sa.settings,
    };
    let record: PathRecord = query.record()?;
    let criteria = PathCriteria::of(query, &record)?;
    let limit = limit(&paths, query, &record)?;
    let requester = paths.requester(query)?;
    let source = paths.source(query, &record)?;
    let view = paths.view;
    let lacks_key = criteria
        .pkey
        .is_some_and(|key| view.key_of(source, key).is_none());
    if lacks_key || !view.share_key(requester, source) {
        return Err(Refusal::INVALID);
    }
    let mut found = Collector::new(limit);
    let source_lid = query.has(component::SLID).then(|| Lid(record.slid.into()));
    let target_lid = query.has(component::DLID).then(|| Lid(record.dlid.into()));
    if !query.has(component::DGID) && !query.has(component::DLID) {
        paths.to_all(&criteria, requester, (source, source_lid), &mut found);
        return found.finish();
    }
    if query.has(component::DGID) && is_multicast(&record.dgid) {
        return group::group_path(sa, &criteria, source, record.dgid);
    }
    let target = paths.target(query, &record)?;
    if !view.share_key(requester, target) {
        return Err(Refusal::INVALID);
    }
    paths.between(
        &criteria,
        &Pair {
            source,
            source_lid,
            target,
            target_lid,
        },
        &mut found,
    );
    found.finish()
}

/// Most paths that the query gets for a pair of ports.
fn limit(paths: &Paths<'_>, query: &Query<'_>, record: &PathRecord) -> Result<usize, Refusal> {
    if query.method() == method::GET {
        return Ok(1);
    }
    let has_number = query.has(component::NUMB_PATH);
    let has_source = query.has(component::SGID);
    if paths.settings.paths.validate && !(has_source && has_number) {
        return Err(Refusal::TOO_LITTLE);
    }
    match (has_number, record.numb_path) {
        (true, 0) => Err(Refusal::INVALID),
        (true, number) => Ok(number.into()),
        (false, _) => Ok(PATHS_BY_DEFAULT),
    }
}

/// Whether a GID is that of a multicast group.
pub(crate) fn is_multicast(gid: &Gid) -> bool {
    gid.prefix >> 56 == 0xFF
}

impl Paths<'_> {
    /// The requester, which must be in the fabric.
    pub(crate) fn requester(&self, query: &Query<'_>) -> Result<End, Refusal> {
        let end = self.view.by_lid(query.request.from.lid);
        end.ok_or(Refusal::INVALID)
    }

    fn source(&self, query: &Query<'_>, record: &PathRecord) -> Result<End, Refusal> {
        if query.has(component::SGID) {
            return match self.by_gid(&record.sgid)? {
                Some(end) if self.is_active(end) => Ok(end),
                _ => Err(Refusal::INVALID_GID),
            };
        }
        if query.has(component::SLID) {
            let end = self.view.by_lid(Lid(record.slid.into()));
            let end = end.filter(|end| self.is_active(*end));
            return end.ok_or(Refusal::INVALID);
        }
        Err(Refusal::TOO_LITTLE)
    }

    fn target(&self, query: &Query<'_>, record: &PathRecord) -> Result<End, Refusal> {
        let end = match query.has(component::DGID) {
            true => self.by_gid(&record.dgid)?,
            false => self.view.by_lid(Lid(record.dlid.into())),
        };
        let end = end.filter(|end| self.is_active(*end));
        end.ok_or(Refusal::NO_RECORDS)
    }

    /// Owner of a GID of this subnet.
    pub(crate) fn by_gid(&self, gid: &Gid) -> Result<Option<End>, Refusal> {
        if gid.prefix != self.settings.subnet_prefix {
            return Err(Refusal::NO_RECORDS);
        }
        if gid.interface == Guid(0) {
            return Err(Refusal::INVALID_GID);
        }
        Ok(self.view.by_guid(gid.interface))
    }

    pub(crate) fn is_active(&self, end: End) -> bool {
        self.view.end(end).is_some_and(|end| end.active)
    }

    /// Paths to every port that the requester may know of.
    fn to_all(
        &self,
        criteria: &PathCriteria,
        requester: End,
        (source, source_lid): (End, Option<Lid>),
        found: &mut Collector,
    ) {
        for target in 0..self.view.ends().len() as End {
            if !self.is_active(target) || !self.view.share_key(requester, target) {
                continue;
            }
            found.next_pair();
            let pair = Pair {
                source,
                source_lid,
                target,
                target_lid: None,
            };
            self.between(criteria, &pair, found);
        }
    }
}
