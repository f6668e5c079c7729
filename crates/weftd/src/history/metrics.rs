//! Metrics of the history: a bounded number of series.

use std::fmt;
use std::sync::atomic::Ordering;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::History;

impl History {
    /// Writes the metrics.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let state = self.state().clone();
        let help = "Bytes of the files of the past, by table and resolution";
        let mut family =
            encoder.encode_descriptor("history_bytes", help, None, MetricType::Gauge)?;
        let states = ("states", "", state.usage.states);
        let tables = state.usage.tables.iter();
        let tables = tables.map(|(table, bytes)| (table.name(), table.resolution(), *bytes));
        for (table, resolution, bytes) in tables.chain([states]) {
            let labels = [("table", table), ("resolution", resolution)];
            ConstGauge::new(bytes as i64).encode(family.encode_family(&labels)?)?;
        }
        let gauges = [
            (
                "history_budget_bytes",
                "Bytes that these files may have",
                self.place.budget,
            ),
            (
                "history_unwritten",
                "1 while something of the past cannot be kept",
                u64::from(!state.failure.is_empty()),
            ),
            (
                "history_last_write_timestamp_seconds",
                "Last write of the history, seconds since 1970",
                state.written_unix_s,
            ),
            (
                "history_oldest_timestamp_seconds",
                "Oldest row of the history, seconds since 1970",
                state.usage.oldest_ms.unwrap_or(0) as u64 / 1000,
            ),
        ];
        for (name, help, value) in gauges {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value as i64).encode(encoder)?;
        }
        let help = "Rows, and states of the fabric, that were recorded, by table";
        let mut family =
            encoder.encode_descriptor("history_rows", help, None, MetricType::Counter)?;
        for (table, rows) in [
            ("counters", state.rows),
            ("events", state.events),
            ("states", state.states),
        ] {
            ConstCounter::new(rows).encode(family.encode_family(&[("table", table)])?)?;
        }
        let help = "Readings, events and states that were not recorded: no time, or nothing can be written";
        let mut family =
            encoder.encode_descriptor("history_dropped", help, None, MetricType::Counter)?;
        for (table, dropped) in [
            ("counters", &self.readings_dropped),
            ("events", &self.events_dropped),
            ("states", &self.states_dropped),
        ] {
            let dropped = ConstCounter::new(dropped.load(Ordering::Relaxed));
            dropped.encode(family.encode_family(&[("table", table)])?)?;
        }
        Ok(())
    }
}
