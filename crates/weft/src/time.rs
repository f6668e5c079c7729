//! Times as people read and write them.

use std::time::Duration;

use chrono::DateTime;
use serde_json::Value;
use weft_api::time::{Timestamp, unix_ns};

/// Nanoseconds since 1970 as `2026-01-31T23:59:59.123Z`.
pub(crate) fn utc(unix_ns: u64) -> String {
    let (seconds, nanos) = (unix_ns / 1_000_000_000, unix_ns % 1_000_000_000);
    let time = DateTime::from_timestamp(seconds as i64, nanos as u32).unwrap_or_default();
    time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// A field of a message likewise; 1970 where it is absent.
pub(crate) fn utc_of(time: Option<Timestamp>) -> String {
    utc(unix_ns(time))
}

/// A field of a message as JSON; null where it is absent.
pub(crate) fn utc_json(time: Option<Timestamp>) -> Value {
    time.map(|time| utc_of(Some(time))).into()
}

/// Nanoseconds in readable form: `0.21 s`, `3.4 ms`.
pub(crate) fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s >= 0.1 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

/// Parses a duration: a number with ms, s, m or h; without a unit in seconds.
///
/// # Errors
/// The allowed values, also for 0 and for more than a day.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a number over 0 with ms, s, m or h, up to 24h".to_owned();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    let allowed = (1e-3..=86_400.0).contains(&seconds);
    allowed
        .then(|| Duration::from_secs_f64(seconds))
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (unix_s, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_700_000_000, "2023-11-14T22:13:20.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(utc(unix_s * 1_000_000_000), expected);
        }
    }

    #[test]
    fn durations() {
        for (ns, expected) in [
            (210_000_000, "0.21 s"),
            (3_400_000, "3.4 ms"),
            (12_000, "12 µs"),
        ] {
            assert_eq!(duration(ns), expected);
        }
    }

    #[test]
    fn durations_are_read() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("1.5", Some(1500)),
            ("5m", Some(300_000)),
            ("24h", Some(86_400_000)),
            ("25h", None),
            ("0", None),
            ("-1s", None),
            ("nan", None),
            ("inf", None),
            ("10 s", None),
            ("1e9h", None),
            ("s", None),
            ("10d", None),
        ] {
            let read = parse(text).ok().map(|duration| duration.as_millis());
            assert_eq!(read, expected, "{text}");
        }
    }
}
