//! Times that people write, and times as they read them: in the local time zone.

use chrono::{DateTime, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeZone};

const ALLOWED: &str =
    "expected a time such as '2026-11-23 03:12', '03:12', '-2h', 'now' or 2026-11-23T03:12:00Z";

/// Milliseconds since 1970 now.
pub(crate) fn now_ms() -> i64 {
    Local::now().timestamp_millis()
}

/// Milliseconds since 1970 of a time in the local time zone.
///
/// # Errors
/// What is allowed.
pub(crate) fn parse(text: &str, now_ms: i64) -> Result<i64, String> {
    parse_in(text, now_ms, &Local)
}

/// The local time zone at a time: `UTC+01:00`.
pub(crate) fn zone(ms: i64) -> String {
    let offset = Local.timestamp_millis_opt(ms).single();
    offset.map_or_else(String::new, |time| format!("UTC{}", time.offset()))
}

/// A time as `2026-11-23 03:12:07`.
pub(crate) fn local(ms: i64) -> String {
    formatted(ms, "%Y-%m-%d %H:%M:%S")
}

/// A time as `2026-11-23 03:12:07.912`.
pub(crate) fn local_fine(ms: i64) -> String {
    formatted(ms, "%Y-%m-%d %H:%M:%S%.3f")
}

fn formatted(ms: i64, format: &str) -> String {
    let time = Local.timestamp_millis_opt(ms).single();
    time.map_or_else(
        || ms.to_string(),
        |time| time.naive_local().format(format).to_string(),
    )
}

fn parse_in<Z: TimeZone>(text: &str, now_ms: i64, zone: &Z) -> Result<i64, String> {
    let text = text.trim();
    let wrong = || format!("'{text}': {ALLOWED}");
    if text == "now" {
        return Ok(now_ms);
    }
    if let Some(span) = text.strip_prefix('-') {
        let at = span_ms(span).and_then(|span| now_ms.checked_sub(span));
        return at.filter(|at| *at >= 0).ok_or_else(wrong);
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return not_before_1970(time.timestamp_millis(), text);
    }
    if let Some(time) = time_of_day(text) {
        return last(time, now_ms, zone).ok_or_else(wrong);
    }
    let time = date_and_time(text).ok_or_else(wrong)?;
    not_before_1970(in_zone(time, text, zone)?, text)
}

fn not_before_1970(ms: i64, text: &str) -> Result<i64, String> {
    match ms >= 0 {
        true => Ok(ms),
        false => Err(format!("'{text}' is before 1970")),
    }
}

/// A number with s, m, h, d or w in milliseconds.
fn span_ms(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        .then(|| digits.parse::<i64>().ok()?.checked_mul(unit))
        .flatten()
}

fn time_of_day(text: &str) -> Option<NaiveTime> {
    let formats = ["%H:%M", "%H:%M:%S"];
    formats
        .iter()
        .find_map(|format| NaiveTime::parse_from_str(text, format).ok())
}

fn date_and_time(text: &str) -> Option<NaiveDateTime> {
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Some(date.and_time(NaiveTime::MIN));
    }
    let formats = [
        "%Y-%m-%d %H:%M",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%dT%H:%M:%S",
    ];
    formats
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
}

/// The last time that it was so late.
fn last<Z: TimeZone>(time: NaiveTime, now_ms: i64, zone: &Z) -> Option<i64> {
    let today = zone.timestamp_millis_opt(now_ms).single()?.date_naive();
    let days = [
        Some(today),
        today.pred_opt(),
        today.pred_opt().and_then(|day| day.pred_opt()),
    ];
    let times = days.into_iter().flatten().filter_map(|day| {
        let at = zone.from_local_datetime(&day.and_time(time)).earliest()?;
        Some(at.timestamp_millis())
    });
    times.into_iter().find(|at| *at <= now_ms)
}

fn in_zone<Z: TimeZone>(time: NaiveDateTime, text: &str, zone: &Z) -> Result<i64, String> {
    match zone.from_local_datetime(&time) {
        MappedLocalTime::Single(at) => Ok(at.timestamp_millis()),
        MappedLocalTime::Ambiguous(..) => Err(format!(
            "'{text}' was twice, when the clocks were put back: say it in RFC 3339 with a zone"
        )),
        MappedLocalTime::None => Err(format!(
            "'{text}' never was: the clocks were put forward over it"
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    /// 2026-11-25T16:30:00+01:00.
    const NOW: i64 = 1_795_620_600_000;

    #[test]
    fn times_are_read() {
        let zone = FixedOffset::east_opt(3600).unwrap();
        for (text, expected) in [
            ("now", Some("2026-11-25T15:30:00Z")),
            ("-2h", Some("2026-11-25T13:30:00Z")),
            ("-90s", Some("2026-11-25T15:28:30Z")),
            ("-1w", Some("2026-11-18T15:30:00Z")),
            ("03:12", Some("2026-11-25T02:12:00Z")),
            ("16:30", Some("2026-11-25T15:30:00Z")),
            ("16:31", Some("2026-11-24T15:31:00Z")),
            ("00:00:01", Some("2026-11-24T23:00:01Z")),
            ("2026-11-23", Some("2026-11-22T23:00:00Z")),
            ("2026-11-23 03:12", Some("2026-11-23T02:12:00Z")),
            (" 2026-11-23 03:12:07 ", Some("2026-11-23T02:12:07Z")),
            ("2026-11-23T03:12", Some("2026-11-23T02:12:00Z")),
            ("2026-11-23T03:12:00Z", Some("2026-11-23T03:12:00Z")),
            (
                "2026-11-23T03:12:00.5-05:00",
                Some("2026-11-23T08:12:00.5Z"),
            ),
            ("24:00", None),
            ("2026-02-30", None),
            ("1969-12-31", None),
            ("", None),
            ("-", None),
            ("-h", None),
            ("--2h", None),
            ("-2", None),
            ("-1.5h", None),
            ("-9223372036854775807w", None),
            ("yesterday", None),
            ("2026-11-23 03:12 CET", None),
        ] {
            let expected = expected.map(|time| {
                DateTime::parse_from_rfc3339(time)
                    .unwrap()
                    .timestamp_millis()
            });
            assert_eq!(parse_in(text, NOW, &zone).ok(), expected, "{text}");
        }
    }
}
