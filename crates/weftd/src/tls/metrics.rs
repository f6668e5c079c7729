//! When certificates end, as a metric.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Tls;

impl Tls {
    /// Writes the metric.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "When a certificate ends, seconds since 1970: the API's own, and the first of the authority of clients";
        let mut family = encoder.encode_descriptor(
            "certificate_end_timestamp_seconds",
            help,
            None,
            MetricType::Gauge,
        )?;
        for (name, end) in self.ends() {
            let Some(end) = end.and_then(|end| i64::try_from(end).ok()) else {
                continue;
            };
            ConstGauge::new(end).encode(family.encode_family(&[("certificate", name)])?)?;
        }
        Ok(())
    }
}
