//! Categories of trouble: one number per port for each, from the counts of the port and its neighbour.
//!
//! Shares of a whole are in units of 0.01 % for waiting and bubbles and of 0.1 % for the rest, each
//! times its weight. Values stay at the largest that fits.

use weft_fabric::enums::LinkWidth;
use weft_wire::pm::{Counter, VlCounter};
use weft_wire::{Layout, pa};

use super::counters::LaneCounters;
use super::image::{Delta, Image, QUALITY_EXCELLENT};
use super::settings::{Categories, CongestionWeights, IntegrityWeights, PmSettings};
use crate::rates;
use crate::settings::MANAGEMENT_LANE;

/// Flits of 8 bytes in 10^6 bytes.
const FLITS_PER_MB: u64 = 125_000;

/// Weights of an image's counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weights {
    integrity: IntegrityWeights,
    congestion: CongestionWeights,
    /// Whether lanes are counted separately.
    per_lane: bool,
}

impl Weights {
    pub(crate) fn of(settings: &PmSettings) -> Self {
        Self {
            integrity: settings.integrity,
            congestion: settings.congestion,
            per_lane: settings.process.lanes,
        }
    }

    /// The weights as on the wire, and whether lanes are counted.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = pa::IntegrityWeights::from(self.integrity).to_bytes();
        bytes.extend(pa::CongestionWeights::from(self.congestion).to_bytes());
        bytes.push(self.per_lane.into());
        bytes
    }

    /// The weights of [`Self::to_bytes`]; none of fewer bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (integrity, rest) = bytes.split_at_checked(pa::IntegrityWeights::LEN)?;
        let (congestion, lanes) = rest.split_at_checked(pa::CongestionWeights::LEN)?;
        Some(Self {
            integrity: pa::IntegrityWeights::decode(integrity).ok()?.into(),
            congestion: pa::CongestionWeights::decode(congestion).ok()?.into(),
            per_lane: *lanes.first()? != 0,
        })
    }

    /// Bytes of all weights.
    pub(crate) const LEN: usize = pa::IntegrityWeights::LEN + pa::CongestionWeights::LEN + 1;
}

/// An image together with how its counters weigh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    image: &'a Image,
    weights: &'a Weights,
}

/// Counts of one port or lane that concern congestion.
#[derive(Debug, Clone, Copy, Default)]
struct Traffic {
    xmit_data: u64,
    xmit_pkts: u64,
    rcv_pkts: u64,
    xmit_wait: u64,
    time_cong: u64,
    discards: u64,
    rcv_fecn: u64,
    rcv_becn: u64,
    mark_fecn: u64,
}

impl Traffic {
    fn of_port(delta: &Delta) -> Self {
        let get = |counter: Counter| delta.counters[counter as usize];
        Self {
            xmit_data: get(Counter::XmitData),
            xmit_pkts: get(Counter::XmitPkts),
            rcv_pkts: get(Counter::RcvPkts),
            xmit_wait: get(Counter::XmitWait),
            time_cong: get(Counter::XmitTimeCong),
            discards: get(Counter::SwPortCongestion),
            rcv_fecn: get(Counter::RcvFecn),
            rcv_becn: get(Counter::RcvBecn),
            mark_fecn: get(Counter::MarkFecn),
        }
    }

    fn of_lanes(lanes: &LaneCounters) -> Self {
        let get = |counter: VlCounter| lanes[counter as usize];
        Self {
            xmit_data: get(VlCounter::XmitData),
            xmit_pkts: get(VlCounter::XmitPkts),
            rcv_pkts: get(VlCounter::RcvPkts),
            xmit_wait: get(VlCounter::XmitWait),
            time_cong: get(VlCounter::XmitTimeCong),
            discards: get(VlCounter::SwPortCongestion),
            rcv_fecn: get(VlCounter::RcvFecn),
            rcv_becn: get(VlCounter::RcvBecn),
            mark_fecn: get(VlCounter::MarkFecn),
        }
    }
}

fn narrow(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// `part` of `whole` in units of one `scale`th, times `weight`; 0 when there is no part.
fn share(part: u64, whole: u64, weight: u8, scale: u32) -> u128 {
    if part == 0 || whole == 0 {
        return 0;
    }
    u128::from(part) * u128::from(weight) * u128::from(scale) / u128::from(whole)
}

impl<'a> Scene<'a> {
    pub(crate) fn new(image: &'a Image) -> Self {
        Self {
            image,
            weights: &image.weights,
        }
    }

    /// The image.
    pub(crate) fn image(&self) -> &'a Image {
        self.image
    }

    /// All categories of a port.
    pub(crate) fn categories(&self, place: usize) -> Categories {
        let own = self.image.delta(place);
        let other = self.neighbor(place).map(|place| self.image.delta(place));
        Categories {
            integrity: self.integrity(&own, other.as_ref()),
            congestion: self.congestion(place, &own, other.as_ref()),
            sma_congestion: self.sma_congestion(place),
            bubble: self.bubble(place, &own, other.as_ref()),
            security: security(&own, other.as_ref()),
            routing: narrow(u128::from(
                own.counters[Counter::RcvSwitchRelayErrors as usize],
            )),
        }
    }

    fn neighbor(&self, place: usize) -> Option<usize> {
        let port = self.image.roster.ports.get(place)?;
        port.neighbor.map(|place| place as usize)
    }

    fn is_switch(&self, place: usize) -> bool {
        let roster = &self.image.roster;
        let port = roster.ports.get(place);
        port.is_some_and(|port| roster.member_of(port).is_switch)
    }

    /// Switches count waiting in cycles: two flit times each on a link of four lanes.
    fn flit_times(&self, place: usize, waited: u64) -> u64 {
        if !self.is_switch(place) {
            return waited;
        }
        let port = self.image.roster.ports.get(place);
        let lanes = port.map_or(LinkWidth::X4, |port| port.width_tx).lanes();
        waited.saturating_mul(2 * u64::from(4 / lanes.clamp(1, 4)))
    }

    /// Flit times in which a port had data to send and did not.
    pub(crate) fn waited(&self, place: usize) -> u64 {
        let counters = self.image.delta(place).counters;
        self.flit_times(place, counters[Counter::XmitWait as usize])
    }

    /// Bytes a second that a port's link carries, 0 where its rate is not known.
    pub(crate) fn capacity(&self, place: usize) -> f64 {
        let rate = self.static_rate(place);
        match rate != rates::INVALID {
            true => f64::from(rates::data_mbytes(rate)) * 1e6,
            false => 0.0,
        }
    }

    fn integrity(&self, own: &Delta, other: Option<&Delta>) -> u32 {
        let weights = &self.weights.integrity;
        let counted = [
            (
                Counter::LocalLinkIntegrityErrors,
                weights.local_link_integrity,
            ),
            (Counter::RcvErrors, weights.rcv_errors),
            (Counter::LinkErrorRecovery, weights.link_error_recovery),
            (Counter::LinkDowned, weights.link_downed),
            (Counter::UncorrectableErrors, weights.uncorrectable),
            (Counter::FmConfigErrors, weights.fm_config),
        ];
        let weigh = |delta: &Delta, counter: Counter, weight: u8| {
            u128::from(delta.counters[counter as usize]) * u128::from(weight)
        };
        let quality_lost = QUALITY_EXCELLENT.saturating_sub(own.quality);
        let sum: u128 = counted
            .into_iter()
            .map(|(counter, weight)| weigh(own, counter, weight))
            .chain([
                u128::from(own.lanes_down) * u128::from(weights.lanes_down),
                ((1 << quality_lost) - 1) * u128::from(weights.link_quality),
                other.map_or(0, |other| {
                    weigh(
                        other,
                        Counter::ExcessiveBufferOverruns,
                        weights.buffer_overruns,
                    )
                }),
            ])
            .sum();
        narrow(sum)
    }

    fn congestion(&self, place: usize, own: &Delta, other: Option<&Delta>) -> u32 {
        let mut traffic = Traffic::of_port(own);
        traffic.xmit_wait = self.worst_wait(place, traffic.xmit_wait);
        let other = other.map(Traffic::of_port);
        self.congestion_of(place, traffic, other)
    }

    /// The time that a port's data waited; where its lanes are known, the square of the worst
    /// lane's over all lanes': a little on many lanes is not as bad as much on one.
    fn worst_wait(&self, place: usize, total: u64) -> u64 {
        if !self.weights.per_lane || total == 0 {
            return total;
        }
        let waits = self.image.lane_deltas(place);
        let worst = waits.map(|(_, lane)| lane[VlCounter::XmitWait as usize]);
        let worst = u128::from(worst.max().unwrap_or(0));
        u64::try_from(worst * worst / u128::from(total)).unwrap_or(u64::MAX)
    }

    fn congestion_of(&self, place: usize, own: Traffic, other: Option<Traffic>) -> u32 {
        let weights = &self.weights.congestion;
        let wait = self.flit_times(place, own.xmit_wait);
        let time = self.flit_times(place, own.time_cong);
        let with = |waited: u64| own.xmit_data.saturating_add(waited);
        let becn = if self.is_switch(place) {
            0
        } else {
            own.rcv_becn
        };
        let mut sum = share(wait, with(wait), weights.xmit_wait, 10_000)
            + share(time, with(time), weights.xmit_time, 1_000)
            + share(becn, own.rcv_pkts, weights.rcv_becn, 1_000)
            + share(own.mark_fecn, own.xmit_pkts, weights.mark_fecn, 1_000)
            + u128::from(own.discards) * u128::from(weights.discards);
        if let Some(other) = other {
            sum += share(other.rcv_fecn, other.xmit_pkts, weights.rcv_fecn, 1_000);
        }
        narrow(sum)
    }

    fn sma_congestion(&self, place: usize) -> u32 {
        let Some(own) = self.management_lane(place) else {
            return 0;
        };
        let other = self
            .neighbor(place)
            .and_then(|place| self.management_lane(place));
        self.congestion_of(place, own, other)
    }

    fn management_lane(&self, place: usize) -> Option<Traffic> {
        let mut lanes = self.image.lane_deltas(place);
        let lane = lanes.find(|(vl, _)| *vl == MANAGEMENT_LANE)?;
        Some(Traffic::of_lanes(&lane.1))
    }

    fn bubble(&self, place: usize, own: &Delta, other: Option<&Delta>) -> u32 {
        let get = |delta: &Delta, counter: Counter| delta.counters[counter as usize];
        let gaps = get(own, Counter::XmitWastedBw).saturating_add(get(own, Counter::XmitWaitData));
        let sent = self.bubble_share(place, gaps, get(own, Counter::XmitData));
        let received = other.map_or(0, |other| {
            let gaps = get(own, Counter::RcvBubble);
            self.bubble_share(place, gaps, get(other, Counter::RcvData))
        });
        sent.max(received)
    }

    fn bubble_share(&self, place: usize, gaps: u64, data: u64) -> u32 {
        let gaps = self.flit_times(place, gaps);
        narrow(share(gaps, data.saturating_add(gaps), 1, 10_000))
    }

    /// Congestion of a virtual fabric at a port: of its lanes alone.
    pub(crate) fn fabric_congestion(&self, place: usize, lanes: u32) -> u32 {
        let own = self.sum(place, lanes);
        let other = self.neighbor(place).map(|place| self.sum(place, lanes));
        self.congestion_of(
            place,
            Traffic::of_lanes(&own),
            other.map(|other| Traffic::of_lanes(&other)),
        )
    }

    /// Bubbles of a virtual fabric at a port: of its lanes alone.
    pub(crate) fn fabric_bubble(&self, place: usize, lanes: u32) -> u32 {
        let own = self.sum(place, lanes);
        let get = |lanes: &LaneCounters, counter: VlCounter| lanes[counter as usize];
        let gaps =
            get(&own, VlCounter::XmitWastedBw).saturating_add(get(&own, VlCounter::XmitWaitData));
        let sent = self.bubble_share(place, gaps, get(&own, VlCounter::XmitData));
        let received = self.neighbor(place).map_or(0, |other| {
            let other = self.sum(other, lanes);
            let gaps = get(&own, VlCounter::RcvBubble);
            self.bubble_share(place, gaps, get(&other, VlCounter::RcvData))
        });
        sent.max(received)
    }

    /// Total counts of some lanes of a port.
    pub(crate) fn sum(&self, place: usize, lanes: u32) -> LaneCounters {
        let mut sum = [0; VlCounter::COUNT];
        for (vl, lane) in self.image.lane_deltas(place) {
            if lanes >> vl.0 & 1 == 1 {
                super::counters::add_lane(&mut sum, &lane);
            }
        }
        sum
    }

    /// Data that a port sent, or its neighbour received if that is more, 10^6 bytes a second.
    pub(crate) fn send_mbps(&self, place: usize) -> u32 {
        self.rate(place, [Counter::XmitData, Counter::RcvData], FLITS_PER_MB)
    }

    /// Packets that a port sent, or its neighbour received if that is more, thousands a second.
    pub(crate) fn send_kpps(&self, place: usize) -> u32 {
        self.rate(place, [Counter::XmitPkts, Counter::RcvPkts], 1_000)
    }

    fn rate(&self, place: usize, counters: [Counter; 2], unit: u64) -> u32 {
        let interval = u64::from(self.image.interval_s.max(1));
        let count = |place: usize, counter: Counter| {
            self.image.delta(place).counters[counter as usize] / unit / interval
        };
        let own = count(place, counters[0]);
        let other = self.neighbor(place).map(|place| count(place, counters[1]));
        narrow(u128::from(own.max(other.unwrap_or(0))))
    }

    /// Rate of a virtual fabric's lanes, MB/s.
    pub(crate) fn fabric_mbps(&self, place: usize, lanes: u32) -> u32 {
        let counters = [VlCounter::XmitData, VlCounter::RcvData];
        self.fabric_rate(place, lanes, counters, FLITS_PER_MB)
    }

    /// Rate of a virtual fabric's lanes, thousand packets per second.
    pub(crate) fn fabric_kpps(&self, place: usize, lanes: u32) -> u32 {
        let counters = [VlCounter::XmitPkts, VlCounter::RcvPkts];
        self.fabric_rate(place, lanes, counters, 1_000)
    }

    fn fabric_rate(&self, place: usize, lanes: u32, counters: [VlCounter; 2], unit: u64) -> u32 {
        let interval = u64::from(self.image.interval_s.max(1));
        let count = |place: usize, counter: VlCounter| {
            self.sum(place, lanes)[counter as usize] / unit / interval
        };
        let own = count(place, counters[0]);
        let other = self.neighbor(place).map(|place| count(place, counters[1]));
        narrow(u128::from(own.max(other.unwrap_or(0))))
    }

    /// The static rate at which a port receives.
    pub(crate) fn static_rate(&self, place: usize) -> u8 {
        let port = self.image.roster.ports.get(place);
        port.map_or(rates::DONT_CARE, |port| {
            rates::of_link(port.speed, port.width_rx)
        })
    }

    /// Share of a link that `mbps` are, in units of 0.1 %.
    pub(crate) fn utilization(&self, place: usize, mbps: u32) -> u32 {
        let rate = self.static_rate(place);
        match rate != rates::INVALID {
            true => narrow(u128::from(mbps) * 1_000 / u128::from(rates::data_mbytes(rate).max(1))),
            false => 0,
        }
    }

    /// Share of the packets that a port should have sent and dropped, in units of 0.1 %.
    pub(crate) fn discards(&self, place: usize) -> u32 {
        let counters = self.image.delta(place).counters;
        let dropped = counters[Counter::XmitDiscards as usize];
        let all = dropped.saturating_add(counters[Counter::XmitPkts as usize]);
        narrow(share(dropped, all, 1, 1_000))
    }
}

fn security(own: &Delta, other: Option<&Delta>) -> u32 {
    let sent = own.counters[Counter::XmitConstraintErrors as usize];
    let received = other.map_or(0, |other| {
        other.counters[Counter::RcvConstraintErrors as usize]
    });
    narrow(u128::from(sent) + u128::from(received))
}
