//! Times as people read and write them.

use std::time::Duration;

/// Nanoseconds since 1970 as `2026-01-31T23:59:59.123Z`.
pub(crate) fn utc(unix_ns: u64) -> String {
    let millis = unix_ns / 1_000_000;
    let (days, in_day) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = date(days);
    let (seconds, millis) = (in_day / 1000, in_day % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a day since 1970, by eras of 400 years that begin on 1 March.
fn date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, in_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let day_of_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
