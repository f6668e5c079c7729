//! Statistics of the ports of a group or a virtual fabric.

use weft_wire::pa::{CategoryBucket, CategoryStats, CategorySummary, UtilStats};

use crate::pm::categories::Scene;
use crate::pm::settings::Categories;
use crate::rates;

/// Buckets of utilization: a tenth of a link each.
const UTIL_BUCKETS: u64 = 10;
/// Buckets of a category: a quarter of the threshold each, and one for all above.
const CATEGORY_BUCKETS: usize = 5;

/// Data and packets of ports, added up.
#[derive(Debug, Default)]
pub(super) struct Utilization {
    stats: UtilStats,
    ports: u32,
}

impl Utilization {
    /// Adds a port's traffic; `None` for the unknown end of a link.
    pub(super) fn add(&mut self, scene: &Scene<'_>, place: Option<usize>) {
        let (mbps, kpps, full) = place.map_or((0, 0, 0), |place| {
            let full = rates::data_mbytes(scene.static_rate(place));
            (scene.send_mbps(place), scene.send_kpps(place), full)
        });
        let stats = &mut self.stats;
        let first = self.ports == 0;
        self.ports += 1;
        stats.total_mbps += u64::from(mbps);
        stats.total_kpps += u64::from(kpps);
        stats.max_mbps = stats.max_mbps.max(mbps);
        stats.max_kpps = stats.max_kpps.max(kpps);
        stats.min_mbps = if first {
            mbps
        } else {
            stats.min_mbps.min(mbps)
        };
        stats.min_kpps = if first {
            kpps
        } else {
            stats.min_kpps.min(kpps)
        };
        let bucket = (u64::from(mbps) * UTIL_BUCKETS)
            .checked_div(u64::from(full))
            .unwrap_or(0);
        stats.bw_buckets[bucket.min(UTIL_BUCKETS - 1) as usize] += 1;
    }

    /// Counts a port without a reading.
    pub(super) fn add_failed(&mut self) {
        let failed = &mut self.stats.pma_no_resp_ports;
        *failed = failed.saturating_add(1);
    }

    /// Counts a port without a known neighbour.
    pub(super) fn add_without_neighbor(&mut self) {
        let lonely = &mut self.stats.topo_incomp_ports;
        *lonely = lonely.saturating_add(1);
    }

    pub(super) fn finish(mut self) -> UtilStats {
        let average = |total: u64| {
            let average = total.checked_div(u64::from(self.ports)).unwrap_or(0);
            u32::try_from(average).unwrap_or(u32::MAX)
        };
        self.stats.num_bw_buckets = UTIL_BUCKETS as u32;
        self.stats.avg_mbps = average(self.stats.total_mbps);
        self.stats.avg_kpps = average(self.stats.total_kpps);
        self.stats
    }
}

/// Categories of ports: the highest values, and the number of ports by distance to the thresholds.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    most: Categories,
    utilization: u32,
    discards: u32,
    buckets: [[u32; 6]; CATEGORY_BUCKETS],
}

impl Trouble {
    /// Adds a port; of a link with one end outside both ends, the worse one counts.
    pub(super) fn add(
        &mut self,
        scene: &Scene<'_>,
        ends: impl Iterator<Item = usize>,
        thresholds: &Categories,
    ) {
        let mut worst = [0; 6];
        for place in ends {
            let values = scene.categories(place).values();
            worst = std::array::from_fn(|category| worst[category].max(values[category]));
            let used = scene.utilization(place, scene.send_mbps(place));
            self.utilization = self.utilization.max(used);
            self.discards = self.discards.max(scene.discards(place));
        }
        let most = self.most.values();
        self.most = Categories::from_fn(|category| most[category].max(worst[category]));
        let thresholds = thresholds.values();
        for category in 0..6 {
            let bucket = bucket(worst[category], thresholds[category]);
            self.buckets[bucket][category] += 1;
        }
    }

    pub(super) fn finish(self) -> CategoryStats {
        let most = &self.most;
        let narrow = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
        CategoryStats {
            category_maximums: CategorySummary {
                integrity_errors: most.integrity,
                congestion: most.congestion,
                sma_congestion: most.sma_congestion,
                bubble: most.bubble,
                security_errors: most.security,
                routing_errors: most.routing,
                utilization_pct10: narrow(self.utilization),
                discards_pct10: narrow(self.discards),
            },
            ports: self.buckets.map(|ports| CategoryBucket {
                integrity_errors: ports[0],
                congestion: ports[1],
                sma_congestion: ports[2],
                bubble: ports[3],
                security_errors: ports[4],
                routing_errors: ports[5],
            }),
        }
    }
}

/// Index of a value relative to a threshold; 0 if there is none.
fn bucket(value: u32, threshold: u32) -> usize {
    let quarters = u64::from(value) * (CATEGORY_BUCKETS as u64 - 1);
    let bucket = quarters.checked_div(u64::from(threshold)).unwrap_or(0);
    bucket.min(CATEGORY_BUCKETS as u64 - 1) as usize
}

/// The slowest and the fastest of some links, as static rates.
#[derive(Debug, Default)]
pub(super) struct Rates {
    range: Option<(u8, u8)>,
}

impl Rates {
    pub(super) fn add(&mut self, rate: u8) {
        let (least, most) = self.range.unwrap_or((rate, rate));
        let slower = rates::data_mbytes(rate) < rates::data_mbytes(least);
        let faster = rates::data_mbytes(rate) > rates::data_mbytes(most);
        self.range = Some((
            if slower { rate } else { least },
            if faster { rate } else { most },
        ));
    }

    pub(super) fn least(&self) -> u8 {
        self.range.map_or(rates::DONT_CARE, |range| range.0)
    }

    pub(super) fn most(&self) -> u8 {
        self.range.map_or(rates::DONT_CARE, |range| range.1)
    }

    /// The fastest, in 10^6 bytes a second.
    pub(super) fn most_mbps(&self) -> u32 {
        rates::data_mbytes(self.most())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_quarters_of_the_threshold() {
        for (value, threshold, expected) in [
            (0, 100, 0),
            (24, 100, 0),
            (25, 100, 1),
            (99, 100, 3),
            (100, 100, 4),
            (u32::MAX, 100, 4),
            (50, 0, 0),
        ] {
            assert_eq!(bucket(value, threshold), expected, "{value} of {threshold}");
        }
    }

    #[test]
    fn rates_are_compared_by_what_they_carry() {
        let mut rates = Rates::default();
        assert_eq!((rates.least(), rates.most()), (0, 0));
        for rate in [9, 16, 12] {
            rates.add(rate);
        }
        assert_eq!(
            (rates.least(), rates.most(), rates.most_mbps()),
            (12, 16, 12_500)
        );
    }
}
