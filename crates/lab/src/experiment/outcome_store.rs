//! Outcomes as text, so that a run that was interrupted can go on.
//!
//! One line for each thing, its words apart by tabs; numbers that count are kept bit by bit. The first line says who
//! wrote it, and the lines of one outcome follow those of another, so that a file grows by what is new. Each of these parts
//! ends with a line with a CRC-32C of everything before it. A last part that does not fit is one that was being written
//! when the run ended: it counts as not there.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::hash::Hasher;

use thiserror::Error;
use twox_hash::XxHash64;
use weft_dataplane::traffic::Histogram;

use super::intervals::{Came, FabricInterval, Intervals, JobIntervals, LinkIntervals};
use super::links::LinkUse;
use super::perform::{Latencies, Measurement, MessageUse, Outcome, RankUse};
use super::scenario::{Case, Point, Swept};

/// Version of the model. It is raised with every change that can alter the outcome of a scenario:
/// of packets and traffic, of routes, of the manager's writes, of
/// measurements. Outcomes of two models are never in one table.
pub const MODEL: u32 = 8;

const SUM: &str = "sum\t";
/// Bytes of the line with a checksum.
const SUM_LENGTH: usize = SUM.len() + 9;
/// How a file of any version begins.
const HEADER: &str = "weft-lab state ";

/// The first line.
fn header() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{HEADER}8, version {version}, model {MODEL}")
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
    let unwritten = |one: &Swept| Swept {
        text: String::new(),
        ..one.clone()
    };
    let point = case.point.as_ref().map(|point| Point {
        series: String::new(),
        first: unwritten(&point.first),
        others: point.others.iter().map(unwritten).collect(),
    });
    let case = Case {
        name: String::new(),
        baseline: None,
        published: Vec::new(),
        latencies: false,
        assumed: None,
        set: BTreeSet::new(),
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

/// The end of a text with outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// Checksum of everything before it.
    sum: u32,
    /// Bytes before it.
    pub length: u64,
}

impl End {
    /// The end of a text without outcomes, and that text.
    pub fn begin() -> (Self, String) {
        let mut end = Self::default();
        let text = end.close(header() + "\n");
        (end, text)
    }

    /// What is to be added for an outcome.
    pub fn add(&mut self, key: &str, outcome: &Outcome) -> String {
        let mut part = String::new();
        write_outcome(&mut part, key, outcome);
        self.close(part)
    }

    /// A part with its checksum.
    fn close(&mut self, mut part: String) -> String {
        let sum = crc32c::crc32c_append(self.sum, part.as_bytes());
        part.push_str(&format!("{SUM}{sum:08x}\n"));
        self.pass(&part);
        part
    }

    /// Goes behind a part that has its checksum.
    fn pass(&mut self, part: &str) {
        self.sum = crc32c::crc32c_append(self.sum, part.as_bytes());
        self.length += part.len() as u64;
    }
}

/// The parts of a text whose checksums fit, without those.
struct Parts<'a> {
    text: &'a str,
    end: End,
}

impl Parts<'_> {
    /// Whether nothing is left but one part that was being written.
    fn is_whole(&self) -> bool {
        let rest = &self.text[self.end.length as usize..];
        let sum = part_length(rest);
        sum.is_none_or(|length| length == rest.len())
    }
}

/// Bytes of the first part of a text, with its checksum.
fn part_length(text: &str) -> Option<usize> {
    let start = match text.starts_with(SUM) {
        true => 0,
        false => text.find("\nsum\t")? + 1,
    };
    let line = text[start..].split_inclusive('\n').next()?;
    line.ends_with('\n').then_some(start + line.len())
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.end.length as usize..];
        let (part, _) = rest.split_at(part_length(rest)?);
        let (body, sum) = part.split_at_checked(part.len().checked_sub(SUM_LENGTH)?)?;
        let wanted = crc32c::crc32c_append(self.end.sum, body.as_bytes());
        if sum != format!("{SUM}{wanted:08x}\n") {
            return None;
        }
        self.end.pass(part);
        Some(body)
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
        let (mut end, mut text) = End::begin();
        for (key, outcome) in &self.0 {
            text.push_str(&end.add(key, outcome));
        }
        text
    }

    /// From text.
    ///
    /// # Errors
    /// [`KeepError`] for anything that [`Self::to_text`] did not begin.
    pub fn from_text(text: &str) -> Result<Self, KeepError> {
        Self::read(text).map(|(kept, _)| kept)
    }

    /// From text, with its end, where the next outcome goes.
    ///
    /// # Errors
    /// See [`Self::from_text`].
    pub fn read(text: &str) -> Result<(Self, End), KeepError> {
        let found = text.lines().next().unwrap_or("");
        if found.starts_with(HEADER) && found != header() {
            let found = found.to_owned();
            return Err(KeepError::Model { found });
        }
        let mut parts = Parts {
            text,
            end: End::default(),
        };
        parts.next().ok_or(KeepError::Checksum)?;
        let (mut kept, mut before) = (Self::default(), 1);
        for part in &mut parts {
            for line in part.lines() {
                before += 1;
                kept.add(line).ok_or(KeepError::Line(before))?;
            }
            before += 1;
        }
        match parts.is_whole() {
            true => Ok((kept, parts.end)),
            false => Err(KeepError::Checksum),
        }
    }

    fn add(&mut self, line: &str) -> Option<()> {
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
        let (old, new) = (format!("model {MODEL}"), format!("model {}", MODEL + 1));
        for other in [
            text.replace(&old, &new),
            text.replace("version ", "version 9"),
            text.replace("state 8", "state 7"),
        ] {
            let error = OutcomeStore::from_text(&other).unwrap_err();
            assert!(matches!(error, KeepError::Model { .. }), "{error}");
            assert!(error.to_string().contains(&old), "{error}");
        }
    }

    /// Keys of the outcomes of a text.
    fn keys(text: &str) -> Result<Vec<String>, KeepError> {
        let kept = OutcomeStore::from_text(text)?;
        Ok(kept.0.into_iter().map(|(key, _)| key).collect())
    }

    /// What was damaged counts as not there if it is the last outcome, which may have been being written; in all others it is an
    /// error.
    #[test]
    fn damage_is_found() {
        let text = kept().to_text();
        let first = key_of(FIRST, 1);
        let last = text.rfind("case\t").unwrap();
        for place in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else {
                continue;
            };
            match keys(&changed) {
                Ok(keys) => assert!(
                    place + 1 >= last - SUM_LENGTH && (keys.is_empty() || keys == [first.clone()]),
                    "{place}"
                ),
                Err(_) => assert!(place < last, "byte {place}"),
            }
        }
        assert!(OutcomeStore::from_text("").is_err());
    }

    /// However much of it has reached the disk, what is whole is read, and the next outcome goes behind that.
    #[test]
    fn a_text_that_ends_anywhere_has_what_is_whole() {
        let all = kept();
        let text = all.to_text();
        let (_, begin) = End::begin();
        for length in 0..text.len() {
            let Ok((kept, end)) = OutcomeStore::read(&text[..length]) else {
                assert!(length < begin.len(), "{length}");
                continue;
            };
            assert!(end.length as usize <= length);
            let (mut end, mut again) = (end, text[..end.length as usize].to_owned());
            for (key, outcome) in &all.0[kept.0.len()..] {
                again += &end.add(key, outcome);
            }
            assert_eq!(again, text, "{length}");
        }
        let (kept, end) = OutcomeStore::read(&text).unwrap();
        assert_eq!((kept.0.len(), end.length as usize), (2, text.len()));
        // An outcome in the middle that is gone is missed.
        let second = text.rfind("case\t").unwrap();
        let without = format!("{begin}{}", &text[second..]) + &text[begin.len()..];
        assert!(OutcomeStore::from_text(&without).is_err());
    }
}
