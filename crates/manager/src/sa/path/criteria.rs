//! Criteria of a path query besides the two ends.

use weft_wire::enums::Mtu;
use weft_wire::id::{PKey, Sl};
use weft_wire::sa::PathRecord;

use crate::rates::mbps;
use crate::sa::query::{Query, Refusal};
use crate::sa::selector::Selector;

/// Bits of the component mask (`IB_PATH_RECORD_COMP_*`).
pub(crate) mod component {
    pub(crate) const SERVICE_ID: [u32; 2] = [0, 1];
    pub(crate) const DGID: u32 = 2;
    pub(crate) const SGID: u32 = 3;
    pub(crate) const DLID: u32 = 4;
    pub(crate) const SLID: u32 = 5;
    pub(crate) const RAW_TRAFFIC: u32 = 6;
    pub(crate) const NUMB_PATH: u32 = 12;
    pub(crate) const P_KEY: u32 = 13;
    pub(crate) const SL: u32 = 15;
    pub(crate) const MTU_SELECTOR: u32 = 16;
    pub(crate) const MTU: u32 = 17;
    pub(crate) const RATE_SELECTOR: u32 = 18;
    pub(crate) const RATE: u32 = 19;
    pub(crate) const LIFE_SELECTOR: u32 = 20;
    pub(crate) const LIFE: u32 = 21;
    pub(crate) const PREFERENCE: u32 = 22;
}

/// Largest MTU code in a path query.
const MTU_MAX: u8 = 7;
/// Lowest and highest rate codes in a path query.
const RATES: std::ops::RangeInclusive<u8> = 2..=18;

/// A value with how it is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selected {
    pub(crate) selector: Selector,
    pub(crate) value: u8,
}

/// Criteria of a query; `None` accepts anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathCriteria {
    pub(crate) service_id: Option<u64>,
    pub(crate) pkey: Option<PKey>,
    pub(crate) sl: Option<Sl>,
    mtu: Option<Selected>,
    rate: Option<Selected>,
    life: Option<Selected>,
    /// No path is like that: raw packets, or a preference that no path has.
    impossible: bool,
}

impl PathCriteria {
    /// Criteria of a PathRecord query.
    pub(crate) fn of(query: &Query<'_>, record: &PathRecord) -> Result<Self, Refusal> {
        let has_service = component::SERVICE_ID.iter().any(|bit| query.has(*bit));
        let criteria = Self {
            service_id: has_service.then_some(record.service_id),
            pkey: query.has(component::P_KEY).then_some(record.p_key),
            sl: query.has(component::SL).then_some(record.sl),
            mtu: selected(
                query.has(component::MTU_SELECTOR),
                query.has(component::MTU),
                record.mtu_selector,
                record.mtu.0,
            ),
            rate: selected(
                query.has(component::RATE_SELECTOR),
                query.has(component::RATE),
                record.rate_selector,
                record.rate,
            ),
            life: selected(
                query.has(component::LIFE_SELECTOR),
                query.has(component::LIFE),
                record.pkt_life_time_selector,
                record.pkt_life_time,
            ),
            impossible: query.has(component::RAW_TRAFFIC) && record.raw_traffic
                || query.has(component::PREFERENCE) && record.preference != 0,
        };
        criteria.checked()
    }

    /// A criteria of its parts, for queries of another record.
    pub(crate) fn of_parts(
        service_id: Option<u64>,
        pkey: Option<PKey>,
        sl: Option<Sl>,
        [mtu, rate, life]: [Option<Selected>; 3],
    ) -> Result<Self, Refusal> {
        Self {
            service_id,
            pkey,
            sl,
            mtu,
            rate,
            life,
            impossible: false,
        }
        .checked()
    }

    /// Refuses values that do not exist and bounds that nothing can meet.
    fn checked(self) -> Result<Self, Refusal> {
        let mtu_ok = self.mtu.is_none_or(|mtu| match (mtu.selector, mtu.value) {
            (_, 0) => false,
            (Selector::Greater, MTU_MAX) | (Selector::Less, 1) => false,
            (_, value) => value <= MTU_MAX,
        });
        let rate_ok = self.rate.is_none_or(|rate| {
            let unmeetable = match rate.selector {
                Selector::Greater => rate.value == *RATES.end(),
                Selector::Less => rate.value == *RATES.start(),
                _ => false,
            };
            RATES.contains(&rate.value) && !unmeetable
        });
        match mtu_ok && rate_ok {
            true => Ok(self),
            false => Err(Refusal::INVALID),
        }
    }

    /// Whether a path with these values meets the criteria.
    #[inline]
    pub(crate) fn admits(&self, mtu: Mtu, rate: u8, life: u8) -> bool {
        let meets = |asked: Option<Selected>, have: u32, value: fn(u8) -> u32| {
            asked.is_none_or(|asked| asked.selector.admits(have, value(asked.value)))
        };
        !self.impossible
            && meets(self.mtu, mtu.0.into(), u32::from)
            && meets(self.rate, mbps(rate), mbps)
            && meets(self.life, life.into(), u32::from)
    }
}

/// A requested value: without its selector it must match exactly, and the best available needs
/// no value.
pub(crate) fn selected(
    has_selector: bool,
    has_value: bool,
    selector: u8,
    value: u8,
) -> Option<Selected> {
    let selector = match has_selector {
        true => Selector::of(selector),
        false => Selector::Equal,
    };
    (has_value && selector != Selector::Best).then_some(Selected { selector, value })
}
