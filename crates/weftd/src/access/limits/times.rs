//! Days of the week and hours of the day at which a limit holds, in the time zone of the daemon.

use std::fmt;

use chrono::{Datelike, Local, Timelike, Weekday};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Minutes of an hour, and of a day.
const HOUR: u16 = 60;
const DAY: u16 = 24 * HOUR;

/// A minute of a day of the week.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) day: Weekday,
    pub(super) minute: u16,
}

impl Moment {
    /// By the clock of this host, in the time zone of `TZ` or `/etc/localtime`.
    pub(super) fn now() -> Self {
        let now = Local::now();
        Self {
            day: now.weekday(),
            minute: now.hour() as u16 * HOUR + now.minute() as u16,
        }
    }
}

/// A day of the week, `Friday` or `fri`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Day(Weekday);

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let day = text.parse().map(Self);
        day.map_err(|_| {
            de::Error::custom(format!(
                "'{text}' is no day of the week; expected Monday to Sunday"
            ))
        })
    }
}

impl Day {
    fn name(self) -> &'static str {
        match self.0 {
            Weekday::Mon => "Monday",
            Weekday::Tue => "Tuesday",
            Weekday::Wed => "Wednesday",
            Weekday::Thu => "Thursday",
            Weekday::Fri => "Friday",
            Weekday::Sat => "Saturday",
            Weekday::Sun => "Sunday",
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

/// Hours of a day, `08:00-18:30`; `22:00-06:00` go on until the next morning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hours {
    from: u16,
    to: u16,
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |minutes: u16| format!("{:02}:{:02}", minutes / HOUR, minutes % HOUR);
        write!(f, "{}-{}", of(self.from), of(self.to))
    }
}

impl Serialize for Hours {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Hours {
    fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from)?, minute(to)?);
        (from < DAY && from != to).then_some(Self { from, to })
    }
}

/// A minute of a day, `18:30`; `24:00` is its end.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let number = |digits: &str| {
        let is_number = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| digits.parse::<u16>().ok()).flatten()
    };
    let minute = number(minute).filter(|minute| *minute < HOUR)?;
    Some(number(hour)? * HOUR + minute).filter(|minute| *minute <= DAY)
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| {
            let what =
                format!("'{text}' is not a range of hours; expected one such as 08:00-18:30");
            de::Error::custom(what)
        })
    }
}

/// When a limit holds: always where neither days nor hours are given.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Times {
    pub(super) days: Vec<Day>,
    pub(super) hours: Vec<Hours>,
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.days.iter().map(Day::to_string);
        let hours = self.hours.iter().map(Hours::to_string);
        let all: Vec<String> = days.chain(hours).collect();
        f.write_str(&all.join(", "))
    }
}

impl Times {
    /// Whether the limit holds at a moment. Hours after midnight belong to the day on which they began.
    pub(super) fn has(&self, now: Moment) -> bool {
        let is_day = |day| self.days.is_empty() || self.days.contains(&Day(day));
        if self.hours.is_empty() {
            return is_day(now.day);
        }
        let Moment { day, minute } = now;
        self.hours.iter().any(|hours| match hours.from < hours.to {
            true => is_day(day) && (hours.from..hours.to).contains(&minute),
            false => {
                let evening = is_day(day) && minute >= hours.from;
                evening || (is_day(day.pred()) && minute < hours.to)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use Weekday::{Fri, Sat, Sun, Thu};

    use super::*;

    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        days: Vec<Day>,
        #[serde(default)]
        hours: Vec<Hours>,
    }

    fn times(text: &str) -> Result<Times, String> {
        let file: Result<File, _> = toml::from_str(text);
        file.map(|File { days, hours }| Times { days, hours })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn hours_after_midnight_belong_to_the_day_before() {
        for (text, day, minute, expected) in [
            ("", Sun, "03:00", true),
            ("days = [\"Friday\"]", Fri, "00:00", true),
            ("days = [\"fri\", \"SAT\"]", Sat, "23:59", true),
            ("days = [\"Friday\"]", Sat, "00:00", false),
            ("hours = [\"08:00-18:30\"]", Sun, "07:59", false),
            ("hours = [\"08:00-18:30\"]", Sun, "08:00", true),
            ("hours = [\"08:00-18:30\"]", Sun, "18:29", true),
            ("hours = [\"08:00-18:30\"]", Sun, "18:30", false),
            (
                "hours = [\"08:00-09:00\", \"22:00-24:00\"]",
                Sun,
                "23:59",
                true,
            ),
            (
                "days = [\"fri\"]\nhours = [\"22:00-06:00\"]",
                Fri,
                "21:59",
                false,
            ),
            (
                "days = [\"fri\"]\nhours = [\"22:00-06:00\"]",
                Fri,
                "22:00",
                true,
            ),
            (
                "days = [\"fri\"]\nhours = [\"22:00-06:00\"]",
                Sat,
                "05:59",
                true,
            ),
            (
                "days = [\"fri\"]\nhours = [\"22:00-06:00\"]",
                Sat,
                "06:00",
                false,
            ),
            (
                "days = [\"fri\"]\nhours = [\"22:00-06:00\"]",
                Fri,
                "05:59",
                false,
            ),
            (
                "days = [\"thu\"]\nhours = [\"00:00-24:00\"]",
                Thu,
                "00:00",
                true,
            ),
        ] {
            let minute = super::minute(minute).expect("a time");
            let has = times(text).expect(text).has(Moment { day, minute });
            assert_eq!(has, expected, "{text} at {day} {minute}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_line() {
        for wrong in [
            "8:00-9:00",
            "08:00",
            "08:00-08:00",
            "24:00-01:00",
            "08:00-24:01",
            "08:60-09:00",
            "-",
            "+8:00-09:00",
            "08:00-09:00-10:00",
            "",
        ] {
            let why = times(&format!("\nhours = [\"{wrong}\"]")).expect_err(wrong);
            assert!(
                why.contains("line 2") && why.contains("expected one such as"),
                "{why}"
            );
        }
        for wrong in ["Freitag", "5", ""] {
            let why = times(&format!("\ndays = [\"{wrong}\"]")).expect_err(wrong);
            assert!(
                why.contains("line 2") && why.contains("no day of the week"),
                "{why}"
            );
        }
    }
}
