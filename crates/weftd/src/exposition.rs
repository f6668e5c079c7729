//! The text in which metrics are read: OpenMetrics, or the older one of Prometheus.

use std::collections::BTreeMap;

/// Text format of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposition {
    /// <https://prometheus.io/docs/specs/om/open_metrics_spec/>
    OpenMetrics,
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.
    Prometheus,
}

impl Exposition {
    /// Chooses by the header `Accept`: OpenMetrics if it has the higher weight, or comes first.
    pub(crate) fn accepted(accept: &str) -> Self {
        let weight = |wanted: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                (parts.next() == Some(wanted)).then(|| {
                    let mut weights = parts.filter_map(|part| part.strip_prefix("q="));
                    weights
                        .next()
                        .map_or(1.0, |text| text.parse().unwrap_or(0.0))
                })
            });
            ranges.fold(0.0, f64::max)
        };
        let open = weight("application/openmetrics-text");
        match open > 0.0 && open >= weight("text/plain") {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// The media type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The text, from that of OpenMetrics.
    pub(crate) fn text(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Prometheus => prometheus(&open_metrics),
        }
    }
}

/// Metrics in the older text. There a family of counters is called as its samples are, `_total`
/// included, an info is a gauge, and there are neither units nor an end.
fn prometheus(open_metrics: &str) -> String {
    let suffixes: BTreeMap<&str, &str> = open_metrics.lines().filter_map(family).collect();
    let mut out = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some(kind @ ("HELP" | "TYPE")), Some(name), Some(rest)) => {
                let suffix = suffixes.get(name).copied().unwrap_or_default();
                let rest = match (kind, rest) {
                    ("TYPE", "info") => "gauge",
                    ("TYPE", "unknown") => "untyped",
                    (_, rest) => rest,
                };
                out += &format!("# {kind} {name}{suffix} {rest}\n");
            }
            (Some("#"), ..) => {}
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

/// Splits a sample line into its family's name and the rest.
fn family(line: &str) -> Option<(&str, &str)> {
    let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
    let suffix = match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    Some((name, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_get_what_they_accept() {
        use Exposition::{OpenMetrics, Prometheus};
        let modern = "application/openmetrics-text;version=1.0.0;q=0.5,\
            application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, expected) in [
            ("", Prometheus),
            ("*/*", Prometheus),
            ("text/plain", Prometheus),
            ("application/openmetrics-text", OpenMetrics),
            (modern, OpenMetrics),
            ("text/plain, application/openmetrics-text;q=0.1", Prometheus),
            ("application/openmetrics-text;q=nonsense", Prometheus),
        ] {
            assert_eq!(Exposition::accepted(accept), expected, "{accept}");
        }
    }

    #[test]
    fn families_are_called_as_their_samples() {
        let open = "# HELP weft_build Version.\n# TYPE weft_build info\n\
            weft_build_info{version=\"1\"} 1\n# HELP weft_sweeps Sweeps.\n# TYPE weft_sweeps counter\n\
            weft_sweeps_total{reason=\"start\"} 1\n# TYPE weft_age_seconds gauge\n\
            # UNIT weft_age_seconds seconds\nweft_age_seconds 2\n# EOF\n";
        let expected = "# HELP weft_build_info Version.\n# TYPE weft_build_info gauge\n\
            weft_build_info{version=\"1\"} 1\n# HELP weft_sweeps_total Sweeps.\n\
            # TYPE weft_sweeps_total counter\nweft_sweeps_total{reason=\"start\"} 1\n\
            # TYPE weft_age_seconds gauge\nweft_age_seconds 2\n";
        assert_eq!(prometheus(open), expected);
    }
}
