//! Times and durations of messages, as nanoseconds. What a message holds may be any number: these never fail, and a
//! value beyond what they can hold becomes the nearest that they can. A field that is absent is read as 0.

pub use prost_types::{Duration, Timestamp};

const SECOND: i128 = 1_000_000_000;

/// Nanoseconds since 1970 as a message.
pub fn timestamp(unix_ns: u64) -> Timestamp {
    let (seconds, nanos) = split(unix_ns);
    Timestamp { seconds, nanos }
}

/// Seconds since 1970 as a message.
pub fn timestamp_s(unix_s: u64) -> Timestamp {
    timestamp(unix_s.saturating_mul(1_000_000_000))
}

/// A time whose 0, since 1970, means that there is none, as a field that is absent then.
pub fn known(unix_ns: u64) -> Option<Timestamp> {
    (unix_ns > 0).then(|| timestamp(unix_ns))
}

/// As [`known`], of seconds.
pub fn known_s(unix_s: u64) -> Option<Timestamp> {
    (unix_s > 0).then(|| timestamp_s(unix_s))
}

/// Nanoseconds since 1970 of a field: 0 for what is before that, at most `u64::MAX`.
pub fn unix_ns(time: Option<Timestamp>) -> u64 {
    time.map_or(0, |time| joined(time.seconds, time.nanos))
}

/// Whole seconds since 1970 of a field: 0 for what is before that.
pub fn unix_s(time: Option<Timestamp>) -> u64 {
    unix_ns(time) / 1_000_000_000
}

/// Nanoseconds as a message.
pub fn duration(ns: u64) -> Duration {
    let (seconds, nanos) = split(ns);
    Duration { seconds, nanos }
}

/// A time span as a message.
pub fn span(time: std::time::Duration) -> Duration {
    duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Nanoseconds of a field: 0 for what is negative, at most `u64::MAX`.
pub fn ns(duration: Option<Duration>) -> u64 {
    duration.map_or(0, |duration| joined(duration.seconds, duration.nanos))
}

/// Seconds of a field: 0 for what is negative.
pub fn seconds(duration: Option<Duration>) -> f64 {
    ns(duration) as f64 / 1e9
}

/// Milliseconds since 1970 as a message; what is before that becomes 1970.
pub fn timestamp_ms(unix_ms: i64) -> Timestamp {
    timestamp(ns_of_ms(unix_ms))
}

/// Milliseconds since 1970 of a field: 0 for what is before that.
pub fn unix_ms(time: Option<Timestamp>) -> i64 {
    // It fits: 2^64 nanoseconds are 2^44 milliseconds.
    (unix_ns(time) / 1_000_000) as i64
}

/// Milliseconds as a message; what is negative becomes 0.
pub fn duration_ms(ms: i64) -> Duration {
    duration(ns_of_ms(ms))
}

fn ns_of_ms(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

fn split(ns: u64) -> (i64, i32) {
    let (seconds, nanos) = (ns / 1_000_000_000, ns % 1_000_000_000);
    // Both fit: 2^64 nanoseconds are 18,446,744,073 seconds.
    (
        i64::try_from(seconds).unwrap_or(i64::MAX),
        i32::try_from(nanos).unwrap_or(0),
    )
}

fn joined(seconds: i64, nanos: i32) -> u64 {
    let ns = i128::from(seconds) * SECOND + i128::from(nanos);
    u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_read_back() {
        for ns_of in [
            0,
            1,
            999_999_999,
            1_000_000_000,
            1_700_000_000_123_456_789,
            u64::MAX,
        ] {
            assert_eq!(unix_ns(Some(timestamp(ns_of))), ns_of);
            assert_eq!(ns(Some(duration(ns_of))), ns_of);
        }
    }

    #[test]
    fn milliseconds_are_read_back_from_1970_on() {
        for ms in [0, 1, 999, 1_700_000_000_123] {
            assert_eq!(unix_ms(Some(timestamp_ms(ms))), ms);
            assert_eq!(ns(Some(duration_ms(ms))), ms as u64 * 1_000_000);
        }
        assert_eq!(unix_ms(Some(timestamp_ms(-1))), 0);
        assert_eq!(unix_ms(Some(timestamp_ms(i64::MAX))), 18_446_744_073_709);
    }

    #[test]
    fn absent_is_0_and_0_is_absent() {
        assert_eq!((known(0), known_s(0)), (None, None));
        assert_eq!((unix_ns(None), unix_s(None), ns(None)), (0, 0, 0));
        assert_eq!(known_s(7), known(7_000_000_000));
        assert_eq!(unix_s(known(7_999_999_999)), 7);
        assert_eq!(unix_s(known_s(u64::MAX)), 18_446_744_073);
        let half = std::time::Duration::from_millis(500);
        assert_eq!(seconds(Some(span(half))), 0.5);
        assert_eq!(ns(Some(span(std::time::Duration::MAX))), u64::MAX);
    }

    #[test]
    fn no_message_is_too_bad_to_be_read() {
        for (seconds, nanos, expected) in [
            (i64::MIN, i32::MIN, 0),
            (-1, 999_999_999, 0),
            (0, -1, 0),
            (1, -1, 999_999_999),
            (0, i32::MAX, 2_147_483_647),
            (i64::MAX, i32::MAX, u64::MAX),
            (18_446_744_073, 709_551_616, u64::MAX),
        ] {
            assert_eq!(unix_ns(Some(Timestamp { seconds, nanos })), expected);
            assert_eq!(ns(Some(Duration { seconds, nanos })), expected);
        }
    }
}
