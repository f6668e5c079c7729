//! Outcomes as text, so that a run that was interrupted can go on.
//!
//! One line for each thing, its words apart by tabs; numbers that count are kept bit by bit. The
//! last line has a CRC-32C of all before it.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::hash::Hasher;

use thiserror::Error;
use twox_hash::XxHash64;
use weft_dataplane::traffic::Histogram;

use super::intervals::{Came, FabricInterval, Intervals, JobIntervals, LinkIntervals};
use super::links::LinkUse;
use super::perform::{Latencies, Measurement, MessageUse, Outcome, RankUse};
use super::scenario::{Case, Point};

/// Version of the model. It is raised with every change that can alter the outcome of a scenario:
/// of packets and traffic, of routes, of the manager's writes, of
/// measurements. Outcomes of two models are never in one table.
pub const MODEL: u32 = 8;

const SUM: &str = "sum\t";

/// The first line.
fn header() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("weft-lab state 7, version {version}, model {MODEL}")
}

/// Why a text holds no outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeepError {
    /// It is damaged, or something else.
    #[error("checksum does not fit")]
    Checksum,
    /// It was written by another program or model.
    #[error(
        "written as {found:?}, this program goes on with {:?} only: remove it, or name another file \
         and begin anew without --resume",
        header()
    )]
    Model {
        /// Its first line.
        found: String,
    },
    /// A line of another form.
    #[error("line {0} is not understood")]
    Line(usize),
}

/// Stored outcomes: a key of the case and its outcome.
#[derive(Debug, Clone, Default)]
pub struct OutcomeStore(pub Vec<(String, Outcome)>);

/// Names a case among all runs: a hash of everything that its outcome depends on, the contents of named files
/// included, and the seed. How the scenario is written, names, and what was published are no part of it.
pub fn key(case: &Case, seed: u64) -> String {
    let point = case.point.as_ref().map(|point| Point {
        series: String::new(),
        ..point.clone()
    });
    let case = Case {
        name: String::new(),
        baseline: None,
        published: Vec::new(),
        latencies: false,
        point,
        ..case.clone()
    };
    let mut hashed = Hashed(XxHash64::with_seed(0));
    // Hashing cannot fail.
    let _ = write!(hashed, "{case:?}");
    format!("{:016x}-{seed}", hashed.0.finish())
}

/// Hashes text as it is written.
struct Hashed(XxHash64);

impl Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl OutcomeStore {
    /// Outcome of a case, if it is there.
    pub fn get(&self, key: &str) -> Option<&Outcome> {
        self.0
            .iter()
            .find(|(other, _)| other == key)
            .map(|(_, outcome)| outcome)
    }

    /// All of it as text.
    pub fn to_text(&self) -> String {
        let mut text = header() + "\n";
        for (key, outcome) in &self.0 {
            write_outcome(&mut text, key, outcome);
        }
        let sum = crc32c::crc32c(text.as_bytes());
        text.push_str(&format!("{SUM}{sum:08x}\n"));
        text
    }

    /// From text.
    ///
    /// # Errors
    /// [`KeepError`] for anything that [`Self::to_text`] did not make.
    pub fn from_text(text: &str) -> Result<Self, KeepError> {
        let end = text.rfind(SUM).ok_or(KeepError::Checksum)?;
        let (body, sum) = text.split_at(end);
        let wanted = format!("{SUM}{:08x}\n", crc32c::crc32c(body.as_bytes()));
        if sum != wanted {
            return Err(KeepError::Checksum);
        }
        let found = body.lines().next().unwrap_or("");
        if found != header() {
            let found = found.to_owned();
            return Err(KeepError::Model { found });
        }
        let mut kept = Self::default();
        for (index, line) in body.lines().enumerate().skip(1) {
            kept.read(line).ok_or(KeepError::Line(index + 1))?;
        }
        Ok(kept)
    }

    fn read(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split('\t').collect();
        if let ["case", key, span, hops, lost, moved, method] = words[..] {
            let outcome = Outcome {
                span: span.parse().ok()?,
                hops: hops.parse().ok()?,
                lost: lost.parse().ok()?,
                moved: moved.parse().ok()?,
                method: (!method.is_empty()).then(|| method.to_owned()),
                ..Outcome::default()
            };
            self.0.push((key.to_owned(), outcome));
            return Some(());
        }
        let (_, outcome) = self.0.last_mut()?;
        match words[..] {
            ["metric", metric, bits, unit, ref spread @ ..] => {
                outcome.measurements.push(Measurement {
                    metric: Cow::Owned(metric.to_owned()),
                    value: from_bits(bits)?,
                    unit: Cow::Owned(unit.to_owned()),
                    spread: match *spread {
                        [] => None,
                        [least, most] => Some((from_bits(least)?, from_bits(most)?)),
                        _ => return None,
                    },
                });
            }
            ["link", from, to, bits, wait, discards] => outcome.links.push(LinkUse {
                from: from.to_owned(),
                to: to.to_owned(),
                percent: from_bits(bits)?,
                xmit_wait: wait.parse().ok()?,
                xmit_discards: discards.parse().ok()?,
            }),
            ["rank", job, rank, time, sent, received] => outcome.ranks.push(RankUse {
                job: name(job),
                rank: rank.parse().ok()?,
                time: time.parse().ok()?,
                sent: sent.parse().ok()?,
                received: received.parse().ok()?,
            }),
            ["message", job, from, to, bytes, begun, time] => outcome.messages.push(MessageUse {
                job: name(job),
                from: from.parse().ok()?,
                to: to.parse().ok()?,
                bytes: bytes.parse().ok()?,
                begun: begun.parse().ok()?,
                time: time.parse().ok()?,
            }),
            ["moments", ref moments @ ..] => {
                outcome.intervals.moments = each(moments, |one| one.parse().ok())?;
            }
            ["interval", delivered, lost, hops, in_flight] => {
                outcome.intervals.fabric.push(FabricInterval {
                    delivered: delivered.parse().ok()?,
                    lost: lost.parse().ok()?,
                    hops: hops.parse().ok()?,
                    in_flight: in_flight.parse().ok()?,
                });
            }
            ["job-intervals", job, ref came @ ..] => outcome.intervals.jobs.push(JobIntervals {
                job: name(job),
                came: each(came, |one| {
                    let (count, bytes) = one.split_once(':')?;
                    Some(Came {
                        count: count.parse().ok()?,
                        bytes: bytes.parse().ok()?,
                    })
                })?,
            }),
            ["link-intervals", from, to, ref percent @ ..] => {
                outcome.intervals.links.push(LinkIntervals {
                    from: from.to_owned(),
                    to: to.to_owned(),
                    percent: each(percent, from_bits)?,
                });
            }
            ["latency", job, longest, ref buckets @ ..] => outcome.latencies.push(Latencies {
                job: name(job),
                histogram: histogram(longest, buckets)?,
            }),
            _ => return None,
        }
        Some(())
    }
}

/// Name of a job; none for a case's own traffic.
fn name(job: &str) -> Option<String> {
    (!job.is_empty()).then(|| job.to_owned())
}

/// A value of each word.
fn each<T>(words: &[&str], value: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    words.iter().map(|word| value(word)).collect()
}

/// From its longest time, and for each bucket its first time and how many fell into it.
fn histogram(longest: &str, buckets: &[&str]) -> Option<Histogram> {
    let bucket = |text: &&str| {
        let (time, count) = text.split_once(':')?;
        Some((time.parse().ok()?, count.parse().ok()?))
    };
    let buckets: Option<Vec<(u64, u64)>> = buckets.iter().map(bucket).collect();
    Histogram::of(buckets?, longest.parse().ok()?)
}

fn from_bits(text: &str) -> Option<f64> {
    u64::from_str_radix(text, 16).ok().map(f64::from_bits)
}

fn write_outcome(text: &mut String, key: &str, outcome: &Outcome) {
    let Outcome {
        span,
        hops,
        lost,
        moved,
        method,
        ..
    } = outcome;
    let method = method.as_deref().unwrap_or("");
    text.push_str(&format!(
        "case\t{key}\t{span}\t{hops}\t{lost}\t{moved}\t{method}\n"
    ));
    for one in &outcome.measurements {
        let bits = one.value.to_bits();
        text.push_str(&format!("metric\t{}\t{bits:x}\t{}", one.metric, one.unit));
        if let Some((least, most)) = one.spread {
            let (least, most) = (least.to_bits(), most.to_bits());
            text.push_str(&format!("\t{least:x}\t{most:x}"));
        }
        text.push('\n');
    }
    for rank in &outcome.ranks {
        let RankUse {
            rank,
            time,
            sent,
            received,
            job,
        } = rank;
        let job = job.as_deref().unwrap_or("");
        text.push_str(&format!(
            "rank\t{job}\t{rank}\t{time}\t{sent}\t{received}\n"
        ));
    }
    for message in &outcome.messages {
        let MessageUse {
            from,
            to,
            bytes,
            begun,
            time,
            job,
        } = message;
        let job = job.as_deref().unwrap_or("");
        text.push_str(&format!(
            "message\t{job}\t{from}\t{to}\t{bytes}\t{begun}\t{time}\n"
        ));
    }
    for one in &outcome.latencies {
        let job = one.job.as_deref().unwrap_or("");
        let longest = one.histogram.longest();
        text.push_str(&format!("latency\t{job}\t{longest}"));
        for bucket in one.histogram.buckets() {
            text.push_str(&format!("\t{}:{}", bucket.first, bucket.count));
        }
        text.push('\n');
    }
    for link in &outcome.links {
        let bits = link.percent.to_bits();
        let (from, to) = (without_tabs(&link.from), without_tabs(&link.to));
        let (wait, discards) = (link.xmit_wait, link.xmit_discards);
        text.push_str(&format!(
            "link\t{from}\t{to}\t{bits:x}\t{wait}\t{discards}\n"
        ));
    }
    write_intervals(text, &outcome.intervals);
}

fn write_intervals(text: &mut String, intervals: &Intervals) {
    let Intervals {
        moments,
        fabric,
        jobs,
        links,
    } = intervals;
    if moments.is_empty() {
        return;
    }
    let mut line = |head: &str, words: &mut dyn Iterator<Item = String>| {
        text.push_str(head);
        words.for_each(|word| {
            text.push('\t');
            text.push_str(&word);
        });
        text.push('\n');
    };
    line("moments", &mut moments.iter().map(u64::to_string));
    for one in fabric {
        let counts = [one.delivered, one.lost, one.hops, one.in_flight];
        line("interval", &mut counts.iter().map(u64::to_string));
    }
    for one in jobs {
        let head = format!("job-intervals\t{}", one.job.as_deref().unwrap_or(""));
        let came = one.came.iter();
        line(
            &head,
            &mut came.map(|came| format!("{}:{}", came.count, came.bytes)),
        );
    }
    for one in links {
        let (from, to) = (without_tabs(&one.from), without_tabs(&one.to));
        let head = format!("link-intervals\t{from}\t{to}");
        let percent = one.percent.iter();
        line(
            &head,
            &mut percent.map(|percent| format!("{:x}", percent.to_bits())),
        );
    }
}

/// Names come from fabrics and may hold anything.
fn without_tabs(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::experiment::Scenario;

    /// Key of the only case of a scenario with these lines.
    fn key_of(lines: &str, seed: u64) -> String {
        let text = format!("fabric one-switch:4\n{lines}\n");
        let scenario: Scenario = text.parse().unwrap();
        key(&scenario.cases[0], seed)
    }

    const FIRST: &str = "traffic osu_bw bytes=1K";
    const SECOND: &str = "traffic osu_bw bytes=2K";

    #[test]
    fn a_key_is_of_what_decides_the_outcome() {
        let first = key_of(FIRST, 1);
        for same in [
            "# A comment.\ntraffic osu_bw   bytes=1024",
            "experiment T\ncase named\ntraffic osu_bw bytes=1K\npublished bandwidth 3 5%",
            "latencies on\ntraffic osu_bw bytes=1K",
        ] {
            assert_eq!(key_of(same, 1), first, "{same}");
        }
        for other in [
            SECOND,
            "hosts 2\ntraffic osu_bw bytes=1K",
            "links on\ntraffic osu_bw bytes=1K",
        ] {
            assert_ne!(key_of(other, 1), first, "{other}");
        }
        assert_ne!(key_of(FIRST, 2), first);
    }

    fn latencies() -> Latencies {
        let mut histogram = Histogram::default();
        [5, 1_000, 1_001, u64::MAX]
            .iter()
            .for_each(|time| histogram.add(*time));
        let job = Some("io".to_owned());
        Latencies { job, histogram }
    }

    fn rank() -> RankUse {
        RankUse {
            job: None,
            rank: 2,
            time: 3,
            sent: 4,
            received: 5,
        }
    }

    fn message() -> MessageUse {
        MessageUse {
            job: Some("io".to_owned()),
            from: 1,
            to: 2,
            bytes: 3,
            begun: 4,
            time: u64::MAX,
        }
    }

    fn intervals() -> Intervals {
        let came = |count| Came { count, bytes: 7 };
        Intervals {
            moments: vec![0, 10, 15],
            fabric: vec![
                FabricInterval {
                    delivered: 1,
                    lost: 2,
                    hops: 3,
                    in_flight: 4,
                },
                FabricInterval::default(),
            ],
            jobs: vec![
                JobIntervals {
                    job: None,
                    came: vec![came(1), came(2)],
                },
                JobIntervals {
                    job: Some("io".to_owned()),
                    came: vec![came(3), came(4)],
                },
            ],
            links: vec![LinkIntervals {
                from: "a b".to_owned(),
                to: "c".to_owned(),
                percent: vec![0.1 + 0.2, 100.0],
            }],
        }
    }

    fn kept() -> OutcomeStore {
        let outcome = Outcome {
            measurements: vec![Measurement {
                metric: Cow::Borrowed("time"),
                value: 0.1 + 0.2,
                unit: Cow::Borrowed("us"),
                spread: Some((0.1, 0.7)),
            }],
            links: vec![LinkUse {
                from: "a\tb".to_owned(),
                to: "c".to_owned(),
                percent: 99.9,
                xmit_wait: 11,
                xmit_discards: 12,
            }],
            ranks: vec![rank()],
            messages: vec![message()],
            intervals: intervals(),
            latencies: vec![latencies()],
            span: 7,
            method: Some("eager by SDMA".to_owned()),
            hops: 8,
            lost: 9,
            moved: 10,
        };
        OutcomeStore(vec![
            (key_of(FIRST, 1), outcome.clone()),
            (key_of(SECOND, 1), outcome),
        ])
    }

    #[test]
    fn what_was_written_comes_back_bit_by_bit() {
        let text = kept().to_text();
        let back = OutcomeStore::from_text(&text).unwrap();
        assert_eq!(back.to_text(), text);
        let outcome = back.get(&key_of(SECOND, 1)).unwrap();
        assert_eq!(outcome.get("time").unwrap().value, 0.1 + 0.2);
        assert_eq!(outcome.get("time").unwrap().spread, Some((0.1, 0.7)));
        assert_eq!(outcome.links[0].from, "a b");
        assert_eq!(outcome.ranks, [rank()]);
        assert_eq!(outcome.messages, [message()]);
        assert_eq!(outcome.intervals, intervals());
        assert_eq!(outcome.latencies, [latencies()]);
        assert!(back.get(&key_of(SECOND, 2)).is_none());
    }

    #[test]
    fn outcomes_of_another_model_are_refused() {
        let text = kept().to_text();
        let body = text.split_once(SUM).unwrap().0;
        let of = |body: String| {
            let sum = crc32c::crc32c(body.as_bytes());
            OutcomeStore::from_text(&format!("{body}{SUM}{sum:08x}\n"))
        };
        assert!(of(body.to_owned()).is_ok());
        let (old, new) = (format!("model {MODEL}"), format!("model {}", MODEL + 1));
        for other in [
            body.replace(&old, &new),
            body.replace("version ", "version 9"),
            body.replace("state 7", "state 6"),
        ] {
            let error = of(other).unwrap_err();
            assert!(matches!(error, KeepError::Model { .. }), "{error}");
            assert!(error.to_string().contains(&old), "{error}");
        }
    }

    #[test]
    fn damage_is_found() {
        let text = kept().to_text();
        for place in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                assert!(OutcomeStore::from_text(&changed).is_err(), "byte {place}");
            }
        }
        assert!(OutcomeStore::from_text("").is_err());
        assert!(OutcomeStore::from_text(&text[..text.len() / 2]).is_err());
    }
}
