//! Port counters.

use weft_fabric::enums::{LinkSpeed, NodeType};
use weft_manager::pm::{Counters, Image, LaneCounters, Reading, RosterPort};
use weft_manager::port_totals::PortTotals;
use weft_wire::pm::{Counter, VlCounter};

use crate::time::{duration, known_s, timestamp_s};
use crate::v1;

macro_rules! counters {
    ($($counter:ident => $field:ident,)*) => {
        /// Name of a counter: its field in [`v1::PortCounts`].
        pub fn counter_name(counter: Counter) -> &'static str {
            match counter {
                $(Counter::$counter => stringify!($field),)*
            }
        }

        /// A counter of a message, none where it was not asked for.
        pub fn count_of(counts: &v1::PortCounts, counter: Counter) -> Option<u64> {
            match counter {
                $(Counter::$counter => counts.$field,)*
            }
        }

        /// Increase of a counter a second, none where it was not asked for.
        pub fn rate_of(rates: &v1::PortRates, counter: Counter) -> Option<f64> {
            match counter {
                $(Counter::$counter => rates.$field,)*
            }
        }

        fn set_count(counts: &mut v1::PortCounts, counter: Counter, value: u64) {
            match counter {
                $(Counter::$counter => counts.$field = Some(value),)*
            }
        }

        fn set_rate(rates: &mut v1::PortRates, counter: Counter, value: f64) {
            match counter {
                $(Counter::$counter => rates.$field = Some(value),)*
            }
        }
    };
}

counters! {
    XmitData => xmit_data,
    RcvData => rcv_data,
    XmitPkts => xmit_pkts,
    RcvPkts => rcv_pkts,
    MulticastXmitPkts => multicast_xmit_pkts,
    MulticastRcvPkts => multicast_rcv_pkts,
    XmitWait => xmit_wait,
    SwPortCongestion => sw_port_congestion,
    RcvFecn => rcv_fecn,
    RcvBecn => rcv_becn,
    XmitTimeCong => xmit_time_cong,
    XmitWastedBw => xmit_wasted_bw,
    XmitWaitData => xmit_wait_data,
    RcvBubble => rcv_bubble,
    MarkFecn => mark_fecn,
    RcvConstraintErrors => rcv_constraint_errors,
    RcvSwitchRelayErrors => rcv_switch_relay_errors,
    XmitDiscards => xmit_discards,
    XmitConstraintErrors => xmit_constraint_errors,
    RcvRemotePhysicalErrors => rcv_remote_physical_errors,
    LocalLinkIntegrityErrors => local_link_integrity_errors,
    RcvErrors => rcv_errors,
    ExcessiveBufferOverruns => excessive_buffer_overruns,
    FmConfigErrors => fm_config_errors,
    LinkErrorRecovery => link_error_recovery,
    LinkDowned => link_downed,
    UncorrectableErrors => uncorrectable_errors,
}

/// What a client wants to know about each port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedCounters {
    /// Bits of counters, by their place.
    counters: u32,
    /// Whether counters of lanes are wanted.
    pub lanes: bool,
    /// Whether those of virtual fabrics are.
    pub virtual_fabrics: bool,
}

impl WantedCounters {
    /// All counters of ports.
    pub const ALL: Self = Self {
        counters: !0,
        lanes: false,
        virtual_fabrics: false,
    };

    /// As a request has them.
    ///
    /// # Errors
    /// A name that is no counter's, with those that are.
    pub fn new(selection: Option<&v1::CounterSelection>) -> Result<Self, String> {
        let Some(selection) = selection else {
            return Ok(Self::ALL);
        };
        let counters = counters_named(selection.counters.as_ref())?.into_iter();
        Ok(Self {
            counters: counters.fold(0, |bits, counter| bits | 1 << counter as u32),
            lanes: selection.lanes,
            virtual_fabrics: selection.virtual_fabrics,
        })
    }

    /// Whether it takes much more than the counters of ports.
    pub fn is_large(self) -> bool {
        self.lanes || self.virtual_fabrics
    }

    fn has(self, counter: Counter) -> bool {
        self.counters >> counter as u32 & 1 == 1
    }

    fn counts(self, values: impl Iterator<Item = (Counter, u64)>) -> v1::PortCounts {
        let mut counts = v1::PortCounts::default();
        for (counter, value) in values.filter(|(counter, _)| self.has(*counter)) {
            set_count(&mut counts, counter, value);
        }
        counts
    }

    fn rates(self, values: impl Iterator<Item = (Counter, u64)>, span_ns: u64) -> v1::PortRates {
        let mut rates = v1::PortRates::default();
        let seconds = span_ns as f64 / 1e9;
        for (counter, value) in values.filter(|(counter, _)| self.has(*counter)) {
            set_rate(&mut rates, counter, value as f64 / seconds);
        }
        rates
    }
}

/// The counters of a mask; all where it has none.
///
/// # Errors
/// A name that is no counter's, with those that are.
pub fn counters_named(mask: Option<&prost_types::FieldMask>) -> Result<Vec<Counter>, String> {
    let paths = mask.into_iter().flat_map(|mask| &mask.paths);
    let named = paths.map(|path| counter_named(path));
    let named = named.collect::<Result<Vec<Counter>, String>>()?;
    Ok(match named.is_empty() {
        true => Counter::ALL.to_vec(),
        false => named,
    })
}

/// A counter by its name.
///
/// # Errors
/// What is allowed.
pub fn counter_named(name: &str) -> Result<Counter, String> {
    let found = Counter::ALL
        .into_iter()
        .find(|counter| counter_name(*counter) == name);
    found.ok_or_else(|| {
        let names = Counter::ALL.map(counter_name);
        format!("'{name}' is no counter; there are: {}", names.join(", "))
    })
}

fn of_port(counters: Counters) -> impl Iterator<Item = (Counter, u64)> {
    Counter::ALL.into_iter().zip(counters)
}

fn of_lane(counters: LaneCounters) -> impl Iterator<Item = (Counter, u64)> {
    VlCounter::TOTALS.into_iter().zip(counters)
}

/// Whether a port has counted errors.
pub fn has_errors(counters: &Counters) -> bool {
    counters[Counter::DATA..].iter().any(|count| *count != 0)
}

impl v1::CounterSelection {
    /// These counters by their names, all if there are none.
    pub fn named(names: &[String], lanes: bool, virtual_fabrics: bool) -> Self {
        let paths = names.to_vec();
        Self {
            counters: Some(prost_types::FieldMask { paths }),
            lanes,
            virtual_fabrics,
        }
    }
}

impl v1::PortCounts {
    /// Of totals that were recorded.
    pub fn of(totals: &Counters, wanted: WantedCounters) -> Self {
        wanted.counts(of_port(*totals))
    }
}

impl v1::PortRates {
    /// Of increases a second.
    pub fn of(per_second: &[f64; Counter::COUNT], wanted: WantedCounters) -> Self {
        let mut rates = Self::default();
        let values = Counter::ALL.into_iter().zip(per_second);
        for (counter, value) in values.filter(|(counter, _)| wanted.has(*counter)) {
            set_rate(&mut rates, counter, *value);
        }
        rates
    }
}

impl v1::CounterImage {
    /// Of an image.
    pub fn of(image: &Image) -> Self {
        Self {
            number: image.number,
            time: Some(timestamp_s(image.unix_time)),
            span: Some(duration(image.span_ns)),
        }
    }
}

impl v1::PortCounters {
    /// The counters of a port by its place, none if it was never read.
    pub fn of(totals: &PortTotals, place: usize, wanted: WantedCounters) -> Option<Self> {
        let (image, total) = (totals.image()?, totals.port(place)?);
        let port = image.roster.ports.get(place)?;
        let reading = reading(image.reading(place));
        let is_read = reading == v1::CounterReading::Done && image.span_ns > 0;
        let rates = is_read.then(|| {
            let counted = image.delta(place).counters;
            wanted.rates(of_port(counted), image.span_ns)
        });
        let neighbor = port.neighbor.and_then(|place| end(image, place as usize));
        let since_clear = totals.since_clear(place);
        let mut message = Self {
            port: end(image, place),
            neighbor,
            lid: image.roster.member_of(port).lid.0,
            reading: reading.into(),
            rate_gbps: rate_gbps(port),
            link_quality: image.known_quality(place).unwrap_or(0).into(),
            lanes_down: port.lanes_down.into(),
            since_time: known_s(total.since_unix_s),
            bridges: total.bridges,
            bridged_time: known_s(total.bridged_unix_s),
            totals: Some(wanted.counts(of_port(total.counters))),
            rates,
            categories: categories(image, place),
            lanes: Vec::new(),
            lanes_since_time: known_s(total.lanes_since_unix_s),
            virtual_fabrics: Vec::new(),
            cleared_time: since_clear.and_then(|since| known_s(since.unix_s)),
            since_clear: since_clear.map(|since| wanted.counts(of_port(since.counters))),
            errors_time: image.errors_at(place).and_then(known_s),
        };
        if wanted.is_large() {
            let lanes = Lanes {
                totals: totals.lanes(place),
                steps: image.lane_deltas(place).map(|(_, lane)| lane).collect(),
                span_ns: if is_read { image.span_ns } else { 0 },
                wanted,
            };
            if wanted.lanes {
                message.lanes = lanes.each();
            }
            if wanted.virtual_fabrics {
                message.virtual_fabrics = lanes.virtual_fabrics(image, port);
            }
        }
        Some(message)
    }
}

/// Counters of a port's lanes.
struct Lanes {
    totals: Vec<(weft_fabric::Vl, LaneCounters)>,
    /// What each counted since the image before.
    steps: Vec<LaneCounters>,
    /// 0 where there are no rates.
    span_ns: u64,
    wanted: WantedCounters,
}

impl Lanes {
    fn each(&self) -> Vec<v1::LaneCounters> {
        let lanes = self.totals.iter().zip(&self.steps);
        lanes
            .map(|((vl, totals), steps)| {
                let (totals, rates) = self.counted(*totals, *steps);
                v1::LaneCounters {
                    vl: vl.0.into(),
                    totals: Some(totals),
                    rates,
                }
            })
            .collect()
    }

    fn virtual_fabrics(&self, image: &Image, port: &RosterPort) -> Vec<v1::VirtualFabricCounters> {
        let fabrics = image.roster.fabrics.iter().enumerate();
        let carried = fabrics.filter(|(bit, _)| port.fabrics >> bit & 1 == 1);
        carried
            .map(|(_, fabric)| {
                let (mut sums, mut steps) = ([0; VlCounter::COUNT], [0; VlCounter::COUNT]);
                for ((vl, totals), step) in self.totals.iter().zip(&self.steps) {
                    if fabric.lanes >> vl.0 & 1 == 1 {
                        add(&mut sums, totals);
                        add(&mut steps, step);
                    }
                }
                let (totals, rates) = self.counted(sums, steps);
                v1::VirtualFabricCounters {
                    name: fabric.name.clone(),
                    vls: fabric.lanes,
                    totals: Some(totals),
                    rates,
                }
            })
            .collect()
    }

    fn counted(
        &self,
        totals: LaneCounters,
        steps: LaneCounters,
    ) -> (v1::PortCounts, Option<v1::PortRates>) {
        let rates = (self.span_ns > 0).then(|| self.wanted.rates(of_lane(steps), self.span_ns));
        (self.wanted.counts(of_lane(totals)), rates)
    }
}

fn add(sums: &mut LaneCounters, more: &LaneCounters) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum = sum.saturating_add(*more);
    }
}

pub(super) fn reading(reading: Reading) -> v1::CounterReading {
    match reading {
        Reading::Done | Reading::ClearFailed => v1::CounterReading::Done,
        Reading::Skipped => v1::CounterReading::Skipped,
        Reading::Failed => v1::CounterReading::Failed,
    }
}

pub(super) fn end(image: &Image, place: usize) -> Option<v1::LinkEnd> {
    let port = image.roster.ports.get(place)?;
    let member = image.roster.member_of(port);
    let node = image.roster.snapshot.topology.node(member.node);
    let kind = match member.is_switch {
        true => NodeType::SWITCH,
        false => NodeType::HFI,
    };
    Some(v1::LinkEnd {
        port: Some(super::port((member.guid, port.number))),
        node_type: i32::from(kind.0),
        node_name: node.map(|node| node.name()).unwrap_or_default(),
    })
}

/// Rate of a port's link in the direction of sending, Gb/s as in its name.
pub(super) fn rate_gbps(port: &RosterPort) -> f64 {
    let lane = match port.speed {
        LinkSpeed::G12_5 => 12.5,
        LinkSpeed::G25 => 25.0,
        _ => 0.0,
    };
    match port.is_active {
        true => lane * f64::from(port.width_tx.lanes()),
        false => 0.0,
    }
}

pub(super) fn categories(image: &Image, place: usize) -> Option<v1::CounterCategories> {
    Some(image.port(place)?.categories().into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_the_names_of_their_fields() {
        for counter in Counter::ALL {
            assert_eq!(counter_named(counter_name(counter)), Ok(counter));
        }
        let said = counter_named("xmit").unwrap_err();
        assert!(
            said.contains("'xmit' is no counter; there are: xmit_data, rcv_data"),
            "{said}"
        );
    }

    #[test]
    fn only_counters_that_are_asked_for_are_in_a_message() {
        let mask = prost_types::FieldMask {
            paths: vec!["rcv_errors".to_owned()],
        };
        let selection = v1::CounterSelection {
            counters: Some(mask),
            ..v1::CounterSelection::default()
        };
        let wanted = WantedCounters::new(Some(&selection)).unwrap();
        let counts = wanted.counts(of_port([7; Counter::COUNT]));
        let expected = v1::PortCounts {
            rcv_errors: Some(7),
            ..v1::PortCounts::default()
        };
        assert_eq!(counts, expected);
        let all = WantedCounters::new(None).unwrap();
        let rates = all.rates(of_port([5; Counter::COUNT]), 2_000_000_000);
        for counter in Counter::ALL {
            assert_eq!(rate_of(&rates, counter), Some(2.5));
        }
    }
}
