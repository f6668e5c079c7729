//! From two ports to records: virtual fabrics, limits of the path, pairs of LIDs.

use std::sync::Arc;

use weft_fabric::{Guid, Lid};
use weft_wire::Layout;
use weft_wire::enums::Mtu;
use weft_wire::id::{Gid, PKey, Sl};
use weft_wire::sa::PathRecord;

use super::pairs::LidPairs;
use super::{PathCriteria, Paths};
use crate::rates::slower;
use crate::sa::query::{ANSWER_BYTES_MAX, Found, Refusal};
use crate::sa::view::{End, EndPort, Way};
use crate::settings::VirtualFabric;

/// "Exactly" in answers.
const EQUAL: u8 = 2;
/// Identifies GIDs made of a LID that 16 bits cannot carry.
const LID_GID: u64 = 0x00_066A << 40;

/// Two ports, and the LIDs of theirs that are given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) source: End,
    pub(crate) source_lid: Option<Lid>,
    pub(crate) target: End,
    pub(crate) target_lid: Option<Lid>,
}

/// Collects path records, up to a number for each pair of ports.
#[derive(Debug)]
pub(crate) struct Collector {
    data: Vec<u8>,
    limit: usize,
    /// Records that this pair may still get.
    left: usize,
}

impl Collector {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            data: Vec::new(),
            limit,
            left: limit,
        }
    }

    /// From now on records of another pair come.
    pub(crate) fn next_pair(&mut self) {
        self.left = self.limit;
    }

    pub(crate) fn push(&mut self, record: &PathRecord) {
        let start = self.data.len();
        self.data.resize(start + PathRecord::LEN, 0);
        if let Some(to) = self.data.get_mut(start..) {
            record.encode(to);
        }
        self.left = self.left.saturating_sub(1);
    }

    /// Nothing more is taken for this pair, or at all.
    fn is_full(&self) -> bool {
        self.left == 0 || self.data.len() >= ANSWER_BYTES_MAX
    }

    pub(crate) fn finish(self) -> Result<Found, Refusal> {
        if self.data.len() >= ANSWER_BYTES_MAX {
            return Err(Refusal::NO_RESOURCES);
        }
        Ok(Found {
            count: self.data.len() / PathRecord::LEN,
            stride: PathRecord::LEN,
            data: Arc::new(self.data),
        })
    }
}

/// Parameters of a path from its virtual fabrics.
#[derive(Debug, Clone, Copy)]
struct Terms {
    pkey: PKey,
    sl: Sl,
    mtu: Mtu,
    rate: u8,
    life: u8,
}

impl Paths<'_> {
    /// The paths between two ports, as many as `found` takes.
    pub(crate) fn between(&self, criteria: &PathCriteria, pair: &Pair, found: &mut Collector) {
        let (Some(source), Some(target)) = (self.view.end(pair.source), self.view.end(pair.target))
        else {
            return;
        };
        let Some(way) = self.view.way(pair.source, pair.target) else {
            return;
        };
        let all = 0..self.settings.fabrics.len();
        let carrying: Vec<usize> = all
            .filter(|index| self.carries(criteria, pair, *index))
            .collect();
        for position in 0..carrying.len() {
            if found.is_full() {
                return;
            }
            if let Some(terms) = self.terms(&carrying, position, way)
                && criteria.admits(terms.mtu, terms.rate, terms.life)
            {
                self.fill(criteria, pair, (source, target), &terms, found);
            }
        }
    }

    /// Parameters from a virtual fabric, with all later ones that share its partition and service
    /// level; `None` if an earlier one has covered it.
    fn terms(&self, carrying: &[usize], position: usize, way: Way) -> Option<Terms> {
        let fabric = |position: &usize| self.settings.fabrics.get(*position);
        let own = fabric(carrying.get(position)?)?;
        let alike = |other: &&VirtualFabric| {
            other.pkey.0 & 0x7FFF == own.pkey.0 & 0x7FFF && other.sl == own.sl
        };
        let (earlier, rest) = carrying.split_at(position);
        if earlier.iter().filter_map(fabric).any(|other| alike(&other)) {
            return None;
        }
        let mut terms = Terms {
            pkey: own.pkey,
            sl: own.sl,
            mtu: way.mtu,
            rate: way.rate,
            life: 0,
        };
        for other in rest.iter().filter_map(fabric).filter(alike) {
            terms.mtu = other.max_mtu.map_or(terms.mtu, |most| terms.mtu.min(most));
            terms.rate = other
                .max_rate
                .map_or(terms.rate, |most| slower(terms.rate, most));
            terms.life = terms.life.max(other.lifetime_increment);
        }
        terms.life = (terms.life + self.lifetime(way.hops)).min(63);
        Some(terms)
    }

    fn lifetime(&self, hops: u8) -> u8 {
        let lifetimes = &self.settings.paths.lifetimes;
        match hops {
            0 => 0,
            hops => lifetimes[usize::from(hops - 1).min(lifetimes.len() - 1)],
        }
    }

    /// Whether a virtual fabric carries the requested traffic from one port to the other.
    fn carries(&self, criteria: &PathCriteria, pair: &Pair, index: usize) -> bool {
        let Some(fabric) = self.settings.fabrics.get(index) else {
            return false;
        };
        let key_fits = criteria
            .pkey
            .is_none_or(|key| key.0 & 0x7FFF == fabric.pkey.0 & 0x7FFF);
        !fabric.standby
            && key_fits
            && criteria.sl.is_none_or(|sl| sl == fabric.sl)
            && self.joins(pair, index)
            && criteria
                .service_id
                .is_none_or(|id| self.settings.has_service(fabric, id))
    }

    /// Whether both ports are in a virtual fabric, one of them as a full member.
    fn joins(&self, pair: &Pair, index: usize) -> bool {
        let (a, b) = (pair.source, pair.target);
        let member = |end| self.view.membership(end, index);
        if self.settings.paths.enforce_fabric {
            return match (member(a), member(b)) {
                (Some(a_full), Some(b_full)) => a_full || b_full || a == b,
                _ => false,
            };
        }
        // One end in this one as a full member, the other in any with its partition and levels.
        let fabrics = &self.settings.fabrics;
        let alike = |other: usize| {
            let (Some(this), Some(that)) = (fabrics.get(index), fabrics.get(other)) else {
                return false;
            };
            !that.standby
                && that.pkey.0 & 0x7FFF == this.pkey.0 & 0x7FFF
                && that.qos_index == this.qos_index
        };
        let reached = |from: End, to: End| {
            let near = member(from).is_some_and(|full| full || a == b);
            near && (0..fabrics.len())
                .any(|other| alike(other) && self.view.membership(to, other).is_some())
        };
        reached(a, b) || reached(b, a)
    }

    fn fill(
        &self,
        criteria: &PathCriteria,
        pair: &Pair,
        (source, target): (&EndPort, &EndPort),
        terms: &Terms,
        found: &mut Collector,
    ) {
        let pairs = LidPairs::new(
            self.settings.paths.selection,
            (source.lid, source.lmc),
            (target.lid, target.lmc),
            pair.source_lid,
            pair.target_lid,
        );
        let p_key = self.view.key_of(pair.source, terms.pkey);
        let template = PathRecord {
            service_id: criteria.service_id.unwrap_or(0),
            dgid: self.gid(target.guid),
            sgid: self.gid(source.guid),
            reversible: true,
            p_key: p_key.unwrap_or(terms.pkey),
            mtu_selector: EQUAL,
            mtu: terms.mtu,
            rate_selector: EQUAL,
            rate: terms.rate,
            pkt_life_time_selector: EQUAL,
            pkt_life_time: terms.life,
            ..PathRecord::default()
        };
        let lanes = self.view.snapshot.linear.lanes();
        let levels = self.settings.lane_levels();
        for (slid, dlid) in pairs {
            if found.is_full() {
                return;
            }
            let record = PathRecord {
                sl: levels.in_lane(terms.sl, lanes.of(dlid)),
                ..template
            };
            found.push(&self.with_lids(record, slid, dlid));
        }
    }

    fn gid(&self, interface: Guid) -> Gid {
        Gid {
            prefix: self.settings.subnet_prefix,
            interface,
        }
    }

    /// LIDs that 16 bits cannot carry go in the GIDs, and the hop limit says so.
    fn with_lids(&self, record: PathRecord, slid: Lid, dlid: Lid) -> PathRecord {
        let highest = Lid::MAX_UNICAST_16;
        let short = |lid: Lid| match lid <= highest {
            true => lid.0 as u16,
            false => (lid.0 & 0x3FFF) as u16,
        };
        let record = PathRecord {
            slid: short(slid),
            dlid: short(dlid),
            ..record
        };
        if slid <= highest && dlid <= highest {
            return record;
        }
        PathRecord {
            hop_limit: 1,
            sgid: self.gid(Guid(LID_GID | u64::from(slid.0))),
            dgid: self.gid(Guid(LID_GID | u64::from(dlid.0))),
            ..record
        }
    }
}
