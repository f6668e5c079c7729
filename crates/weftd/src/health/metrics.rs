//! Colours and findings as metrics: a bounded number of series, whatever the fabric.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use weft_health::{Color, Kind};

use super::Health;

impl Health {
    /// Writes the metrics; nothing before the first page.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let page = self.page();
        if page.unix_time == 0 {
            return Ok(());
        }
        let help =
            "Colour of the page of what is wrong and of its figures: 0 green, 1 yellow, 2 red";
        let mut family = encoder.encode_descriptor("health", help, None, MetricType::Gauge)?;
        let figures = page.figures.iter();
        let figures = figures.map(|figure| (figure.name.name(), figure.color));
        for (name, color) in std::iter::once(("overall", page.color)).chain(figures) {
            let labels = [("figure", name)];
            ConstGauge::new(number(color)).encode(family.encode_family(&labels)?)?;
        }
        let help = "Findings on the page of what is wrong, by kind";
        let mut family =
            encoder.encode_descriptor("health_findings", help, None, MetricType::Gauge)?;
        for kind in Kind::ALL {
            let count = page.counts.get(&kind).copied().unwrap_or(0);
            let labels = [("kind", kind.name())];
            ConstGauge::new(i64::from(count)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn number(color: Color) -> i64 {
    match color {
        Color::Green => 0,
        Color::Yellow => 1,
        Color::Red => 2,
    }
}
