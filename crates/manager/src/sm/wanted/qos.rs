//! From service levels to service channels, virtual lanes and arbitration.
//!
//! The n-th service level in use gets service channel n and virtual lane n. Levels and channels
//! that are not in use lead to channel 15 and lane 15, where data packets are dropped. Where lanes have
//! halves, the second half of a lane has the channels of the next lane, which no LID is in. Multicast that is overlaid
//! on another level has a channel of its own in that level's last lane.

use std::borrow::Cow;

use weft_fabric::{Half, Lanes, RingPort, Sc, Sl, Vl};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::enums::Mtu;
use weft_wire::sm::{ScScMap, ScSlMap, ScVlMap, SlScMap, VlArbElement, VlArbMatrix, VlArbTable};

use super::arbitration::{Share, WEIGHT_MAX, turns};
use crate::settings::MANAGEMENT_LANE;
use crate::settings::lane_levels::LaneLevels;
use crate::sm::settings::{Level, Settings};

/// The channel, the level and the lane of management, where data packets are dropped, have one number.
const MANAGEMENT: u8 = MANAGEMENT_LANE.0;
/// Percentage of the bandwidth from which a lane without priority beside others of its kind does not wait longer.
const SHARE_UNSCALED: u8 = 25;
/// Arbitration weights count 64 bytes.
const WEIGHT_UNIT: u32 = 64;

/// The levels in use, each with its own channel and lane.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Qos {
    /// Those of the first lane, then those that stand for them in the others.
    levels: Vec<Level>,
    /// Number in each lane.
    per_lane: usize,
    /// Levels without a lane of their own, and the places of those whose lanes they use. Their channels follow
    /// those of the others, and no switch changes them.
    overlaid: Vec<(Level, usize)>,
    /// Most data lanes that are handed out, at least 1.
    lanes_max: usize,
}

impl Qos {
    /// The levels in order of their numbers; of two with one number the first counts. Where
    /// destinations are spread over several lanes, what stands for each level in these follows and
    /// shares its bandwidth. Those beyond the most lanes that are handed out share the last one.
    pub(crate) fn new(settings: &Settings, lanes: u8) -> Self {
        let mut levels: Vec<Level> = Vec::new();
        let is_own = |level: &&Level| level.overlays.is_none();
        let own = settings.levels.iter().filter(is_own);
        let overlaid = settings.levels.iter().filter(|level| !is_own(level));
        for level in own.chain(overlaid) {
            if levels.iter().all(|known| known.sl != level.sl) {
                levels.push(*level);
            }
        }
        levels.sort_by_key(|level| level.sl);
        let names = LaneLevels::of(&levels);
        let overlaid: Vec<Level> = levels
            .extract_if(.., |level| level.overlays.is_some())
            .collect();
        if levels.is_empty() {
            levels.push(Level::default());
        }
        let lanes = lanes.max(1);
        let in_lane = |level: &Level, lane| Level {
            sl: names.in_lane(level.sl, lane),
            bandwidth: part(level.bandwidth, lane, lanes),
            ..*level
        };
        let all = (0..lanes).flat_map(|lane| levels.iter().map(move |level| (level, lane)));
        let last = usize::from(lanes - 1) * levels.len();
        let under = |level: &Level| {
            let mut others = levels.iter();
            let base = others.position(|other| Some(other.sl) == level.overlays);
            last + base.unwrap_or(0)
        };
        Self {
            levels: all.map(|(level, lane)| in_lane(level, lane)).collect(),
            per_lane: levels.len(),
            overlaid: overlaid
                .iter()
                .map(|level| (*level, under(level)))
                .collect(),
            lanes_max: usize::from(settings.traffic.lanes_max.max(1)),
        }
    }

    /// The same for a port with `lanes` data lanes: levels for which there is none share the last one.
    pub(crate) fn within(&self, lanes: u8) -> Cow<'_, Self> {
        let lanes = usize::from(lanes.max(1));
        match lanes < usize::from(self.lanes()) {
            true => Cow::Owned(Self {
                lanes_max: lanes,
                ..self.clone()
            }),
            false => Cow::Borrowed(self),
        }
    }

    /// Data lanes in use.
    pub(crate) fn lanes(&self) -> u8 {
        self.levels.len().min(self.lanes_max) as u8
    }

    /// Each lane in use with the level that it serves first.
    pub(crate) fn by_lane(&self) -> impl Iterator<Item = (Vl, &Level)> {
        self.levels
            .iter()
            .take(self.lanes_max)
            .enumerate()
            .map(|(lane, level)| (Vl(lane as u8), level))
    }

    fn channel(place: usize) -> Sc {
        // Channel 15 is management's.
        let channel = place as u8;
        Sc(channel + u8::from(channel >= MANAGEMENT))
    }

    /// The lane of a level's packets.
    pub(crate) fn lane(&self, sl: Sl) -> Vl {
        let place = self.all().position(|level| level.sl == sl);
        place.map_or(Vl(MANAGEMENT), |place| self.lane_at(place))
    }

    /// The levels by place: those that are overlaid on others come last.
    fn all(&self) -> impl Iterator<Item = &Level> {
        let overlaid = self.overlaid.iter().map(|(level, _)| level);
        self.levels.iter().chain(overlaid)
    }

    /// The place with a channel.
    fn place_of(&self, sc: Sc) -> Option<usize> {
        (0..self.all().count()).find(|place| Self::channel(*place) == sc)
    }

    fn lane_at(&self, place: usize) -> Vl {
        let overlaid = place.checked_sub(self.levels.len());
        let under = overlaid.and_then(|place| self.overlaid.get(place));
        let place = under.map_or(place, |(_, under)| *under);
        Vl(place.min(self.lanes_max - 1) as u8)
    }

    pub(crate) fn sl_to_sc(&self) -> SlScMap {
        SlScMap::from_fn(|sl: Sl| {
            let place = self.all().position(|level| level.sl == sl);
            place.map_or(Sc(MANAGEMENT), Self::channel)
        })
    }

    pub(crate) fn sc_to_sl(&self) -> ScSlMap {
        ScSlMap::from_fn(|sc| {
            let level = self.place_of(sc).and_then(|place| self.all().nth(place));
            level.map_or(Sl(MANAGEMENT), |level| level.sl)
        })
    }

    /// Map of service channels from one port of a switch to another one, by their positions in rings.
    pub(crate) fn sc_to_sc(&self, lanes: &Lanes, ingress: RingPort, egress: RingPort) -> ScScMap {
        let onward = |sc: Sc| {
            let place = self
                .place_of(sc)
                .filter(|place| *place < self.levels.len())?;
            let (first, half) = match place / self.per_lane % 2 {
                0 => (place, Half::First),
                _ => (place - self.per_lane, Half::Second),
            };
            let onward = match ingress.onward(egress, half) {
                Half::First => first,
                Half::Second => first + self.per_lane,
            };
            (onward < self.levels.len()).then(|| Self::channel(onward))
        };
        match lanes.datelines() {
            Some(_) => ScScMap::from_fn(|sc| onward(sc).unwrap_or(sc)),
            None => ScScMap::identity(),
        }
    }

    pub(crate) fn sc_to_vl(&self) -> ScVlMap {
        ScVlMap::from_fn(|sc| {
            let place = self.place_of(sc);
            place.map_or(Vl(MANAGEMENT), |place| self.lane_at(place))
        })
    }

    /// Largest packet on a lane between two ports that can do `cap`: none on a lane that is not in
    /// use.
    pub(crate) fn mtu(&self, lane: Vl, cap: Mtu) -> Mtu {
        let level = self.by_lane().find(|(vl, _)| *vl == lane);
        level.map_or(Mtu(0), |(_, level)| {
            level.max_mtu.map_or(cap, |most| most.min(cap))
        })
    }

    /// Turns of the lanes without priority, by their shares of the bandwidth. `mtu_cap` is the
    /// link's maximum, `room` the port's VL.ArbitrationLowCap; `None` if the port has no such
    /// table.
    pub(crate) fn arbitration_low(&self, mtu_cap: Mtu, room: u8) -> Option<[u8; 256]> {
        let lanes = self.by_lane().filter(|(_, level)| !level.high_priority);
        let shares: Vec<Share> = lanes.map(|(vl, _)| self.share(vl)).collect();
        let turns = turns(&shares, self.packet_weight(mtu_cap), usize::from(room));
        table(turns.into_iter(), room)
    }

    /// Turns of the lanes with priority: one for the largest packet each.
    pub(crate) fn arbitration_high(&self, mtu_cap: Mtu, room: u8) -> Option<[u8; 256]> {
        let weight = self.packet_weight(mtu_cap);
        let lanes = self.by_lane().filter(|(_, level)| level.high_priority);
        table(lanes.map(|(vl, _)| VlArbElement { vl, weight }), room)
    }

    /// Total bandwidth share of a lane's levels.
    fn share(&self, vl: Vl) -> Share {
        let in_lane = |place: usize| self.lane_at(place) == vl;
        let levels = self.all().enumerate();
        let levels = levels.filter(|(place, level)| in_lane(*place) && !level.high_priority);
        let percent: u32 = levels.map(|(_, level)| u32::from(level.bandwidth)).sum();
        Share {
            vl,
            percent: percent.clamp(1, 100) as u8,
        }
    }

    /// The weight of the largest packet on any lane of a link that can do `mtu_cap`.
    fn packet_weight(&self, mtu_cap: Mtu) -> u8 {
        let largest = self.by_lane().map(|(vl, _)| self.mtu(vl, mtu_cap).bytes());
        let weight = largest.max().unwrap_or(0) / WEIGHT_UNIT;
        weight.clamp(1, u32::from(WEIGHT_MAX)) as u8
    }

    /// Steps of 4,096 bytes that lanes with priority may send before the others have a turn: the
    /// number of levels with priority (the vendor's manager counts virtual fabrics). With 0 each
    /// of their packets would wait for one of the others.
    pub(crate) fn high_limit(&self) -> u16 {
        self.by_lane()
            .filter(|(_, level)| level.high_priority)
            .count() as u16
    }

    /// For each lane the lanes whose packets its own may interrupt: those of lower rank, but rank 0
    /// takes no part.
    fn interrupts(&self) -> [u32; 32] {
        let mut matrix = [0; 32];
        for (by, level) in self.by_lane() {
            let lower = self.by_lane().filter(|(_, other)| {
                other.preempt_rank > 0 && other.preempt_rank < level.preempt_rank
            });
            matrix[usize::from(by.0)] = lower.map(|(lane, _)| 1 << lane.0).sum();
        }
        matrix
    }

    /// Whether packets of a lane may wait longer than those of others (`sm_qos.c`, where opa-fm scales
    /// timers): others have priority, its share is below a quarter, or it is interrupted without limit.
    pub(crate) fn waits(&self, lane: Vl, is_unlimited: bool) -> bool {
        let by = |high| {
            self.by_lane()
                .filter(move |(_, level)| level.high_priority == high)
        };
        let has_priority = by(true).any(|(vl, _)| vl == lane);
        let is_outranked = by(true).count() > 0 || self.share(lane).percent < SHARE_UNSCALED;
        let bit = 1 << lane.0;
        let is_interrupted = self.interrupts().iter().any(|lanes| lanes & bit != 0);
        (!has_priority && is_outranked) || (is_unlimited && is_interrupted)
    }

    /// Whether packets of some lane may interrupt those of another.
    pub(crate) fn preempts(&self) -> bool {
        self.levels.iter().any(|level| level.preempt_rank > 0) && self.interrupts() != [0; 32]
    }

    /// The preemption matrix; nothing where no lane may interrupt another.
    pub(crate) fn preemption(&self) -> Option<[u8; 256]> {
        let matrix = self.interrupts();
        let mut bytes = [0; 256];
        VlArbMatrix { matrix }.encode(&mut bytes);
        (matrix != [0; 32]).then_some(bytes)
    }

    /// One bit a lane on which flow control is off.
    pub(crate) fn flow_control_mask(&self) -> u32 {
        let off = self
            .by_lane()
            .filter(|(_, level)| level.flow_control_disable);
        off.map(|(vl, _)| 1 << vl.0).sum()
    }
}

/// Part of lane `lane` of `lanes` of a share in whole percent; together they have all of it.
fn part(percent: u8, lane: u8, lanes: u8) -> u8 {
    let part = (u16::from(percent) + u16::from(lane)) / u16::from(lanes);
    part as u8 // At most the share itself.
}

fn table(entries: impl Iterator<Item = VlArbElement>, cap: u8) -> Option<[u8; 256]> {
    if cap == 0 {
        return None;
    }
    let mut table = VlArbTable::default();
    for (to, entry) in table
        .elements
        .iter_mut()
        .zip(entries)
        .take(usize::from(cap))
    {
        *to = entry;
    }
    let mut bytes = [0; 256];
    table.encode(&mut bytes);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn with_levels(sls: &[u8]) -> Qos {
        let levels = sls.iter().map(|sl| Level {
            sl: Sl(*sl),
            ..Level::default()
        });
        let settings = Settings {
            levels: levels.collect(),
            ..Settings::default()
        };
        Qos::new(&settings, 1)
    }

    #[test]
    fn the_stock_levels_share_one_lane() {
        let qos = Qos::new(&Settings::default(), 1);
        assert_eq!(qos.lanes(), 1);
        assert_eq!(qos.sl_to_sc().get(Sl(0)), Sc(0));
        assert_eq!(qos.sl_to_sc().get(Sl(1)), Sc(15));
        assert_eq!(qos.sc_to_vl().get(Sc(0)), Vl(0));
        assert_eq!(qos.sc_to_vl().get(Sc(15)), Vl(15));
    }

    #[test]
    fn overlaid_multicast_uses_the_last_lane_of_its_base() {
        let level = |sl, overlays: Option<u8>| Level {
            sl: Sl(sl),
            bandwidth: 25,
            overlays: overlays.map(Sl),
            ..Level::default()
        };
        let settings = Settings {
            levels: vec![
                level(0, None),
                level(1, Some(0)),
                level(2, None),
                level(3, Some(2)),
            ],
            ..Settings::default()
        };
        let qos = Qos::new(&settings, 2);
        // Two levels in two lanes each.
        assert_eq!(qos.lanes(), 4);
        let of = |sl| (qos.sl_to_sc().get(Sl(sl)).0, qos.lane(Sl(sl)).0);
        assert_eq!([0, 1, 2, 3].map(of), [(0, 0), (4, 2), (1, 1), (5, 3)]);
        let lanes = [0, 1, 2, 3, 4, 5].map(|sc| qos.sc_to_vl().get(Sc(sc)).0);
        assert_eq!(lanes, [0, 1, 2, 3, 2, 3]);
        let levels = [0, 1, 4, 5].map(|sc| qos.sc_to_sl().get(Sc(sc)).0);
        assert_eq!(levels, [0, 2, 1, 3]);
        // Half of each base's share in each of its lanes, and all of its multicast's.
        let shares = [0, 1, 2, 3].map(|vl| qos.share(Vl(vl)).percent);
        assert_eq!(shares, [12, 12, 38, 38]);
        assert_eq!(qos.within(1).lane(Sl(3)), Vl(0));
    }

    #[test]
    fn levels_and_channels_map_back_and_forth() {
        let qos = with_levels(&[4, 0, 9, 4]);
        assert_eq!(qos.lanes(), 3);
        for sl in [0, 4, 9].map(Sl) {
            let sc = qos.sl_to_sc().get(sl);
            assert_eq!(qos.sc_to_sl().get(sc), sl);
            assert!(qos.sc_to_vl().get(sc).0 < 3);
        }
    }

    #[test]
    fn every_lane_of_a_level_has_its_own_channel_and_virtual_lane() {
        let qos = Qos::new(&Settings::default(), 4);
        assert_eq!(qos.lanes(), 4);
        let levels = LaneLevels::of(&[Level::default()]);
        for lane in 0..4 {
            let sc = qos.sl_to_sc().get(levels.in_lane(Sl(0), lane));
            assert_eq!(qos.sc_to_vl().get(sc), Vl(lane));
        }
        assert!(qos.by_lane().all(|(_, level)| level.bandwidth == 25));
    }

    #[test]
    fn levels_share_the_last_lane_of_a_port_that_has_too_few() {
        let qos = with_levels(&[0, 1, 2]);
        let few = qos.within(2);
        assert_eq!((qos.within(3).lanes(), few.lanes()), (3, 2));
        let lanes = [0, 1, 2].map(|sl| few.sc_to_vl().get(few.sl_to_sc().get(Sl(sl))));
        assert_eq!(lanes, [Vl(0), Vl(1), Vl(1)]);
        assert_eq!(
            few.sl_to_sc(),
            qos.sl_to_sc(),
            "packets keep their channels"
        );
        assert_eq!(few.mtu(Vl(2), Mtu::B8192), Mtu(0));
        assert_eq!(few.share(Vl(1)).percent, 100, "of both");
    }

    #[test]
    fn lanes_with_priority_may_send_a_step_each_before_the_others() {
        assert_eq!(with_levels(&[0, 1, 2]).high_limit(), 0);
        let level = |sl, high_priority| Level {
            sl: Sl(sl),
            high_priority,
            ..Level::default()
        };
        let settings = Settings {
            levels: vec![level(0, false), level(1, true), level(2, true)],
            ..Settings::default()
        };
        assert_eq!(Qos::new(&settings, 1).high_limit(), 2);
    }

    #[test]
    fn a_port_without_arbitration_gets_no_table() {
        let qos = with_levels(&[0]);
        assert_eq!(qos.arbitration_low(Mtu::B10240, 0), None);
        let table = qos.arbitration_low(Mtu::B10240, 4);
        assert_eq!(table.map(|table| table[1]), Some(160));
    }

    /// A level that is spread over lanes keeps its share, to the percent.
    #[test]
    fn the_lanes_of_a_level_share_its_bandwidth_out() {
        for (percent, lanes) in [(30, 8), (33, 4), (2, 4), (100, 3)] {
            let parts = (0..lanes).map(|lane| part(percent, lane, lanes));
            assert_eq!(parts.sum::<u8>(), percent, "{percent} over {lanes}");
        }
    }

    /// Nine levels have eight lanes: the last two share one, and its turns are those of both.
    #[test]
    fn levels_in_one_lane_have_the_shares_of_both() {
        let level = |sl| Level {
            sl: Sl(sl),
            bandwidth: 10,
            ..Level::default()
        };
        let settings = Settings {
            levels: (0..9).map(level).collect(),
            ..Settings::default()
        };
        let qos = Qos::new(&settings, 1);
        let table = qos.arbitration_low(Mtu::B10240, 16).unwrap();
        let turns = VlArbTable::decode(&table).unwrap().elements;
        let of = |vl| {
            turns
                .iter()
                .filter(move |turn| turn.vl == Vl(vl) && turn.weight > 0)
        };
        assert_eq!((of(0).count(), of(6).count(), of(7).count()), (1, 1, 2));
    }
}
