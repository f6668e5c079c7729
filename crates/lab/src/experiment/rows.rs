//! Results as rows of tables: what JSON Lines and Parquet have of each case.

use std::borrow::Cow;

use super::intervals::Intervals;
use super::parse_sweep::SWEEPS_MAX;
use super::perform::{Latencies, Outcome, PERCENTILES};
use super::report;
use super::scenario::{Case, Scenario};
use super::values::micros;

/// A table of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    /// What was measured, beside what was published of it; or what was published and not measured.
    Measurement,
    /// The run of a case.
    Run,
    /// Links, the busiest first.
    Link,
    /// Ranks of messages.
    Rank,
    /// Messages, one by one.
    Message,
    /// Percentiles of the times of messages and packets.
    Latency,
    /// Their histograms, where the case asks for them.
    Bucket,
    /// The fabric in each interval of time.
    Interval,
    /// Each job in it.
    JobInterval,
    /// Each link in it.
    LinkInterval,
}

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Real,
    Count,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    /// There is none.
    None,
    Text(Cow<'a, str>),
    Real(f64),
    Count(u64),
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<u64> for Cell<'_> {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// A column: its name, and the type of its values.
pub(super) type Column = (&'static str, Type);

/// Columns of every table: the case, its place among those of its sweeps, and the assumed constant that is at one of its
/// bounds.
pub(super) const OF_CASE: [Column; 3 + 2 * SWEEPS_MAX + 2] = [
    ("experiment", Type::Text),
    ("case", Type::Text),
    ("series", Type::Text),
    ("swept", Type::Text),
    ("at", Type::Real),
    ("swept_2", Type::Text),
    ("at_2", Type::Real),
    ("swept_3", Type::Text),
    ("at_3", Type::Real),
    ("assumed", Type::Text),
    ("assumed_at", Type::Real),
];

impl Table {
    pub(super) const ALL: [Self; 10] = [
        Self::Measurement,
        Self::Run,
        Self::Link,
        Self::Rank,
        Self::Message,
        Self::Latency,
        Self::Bucket,
        Self::Interval,
        Self::JobInterval,
        Self::LinkInterval,
    ];

    /// Its name: `kind` in JSON Lines, and that of its file of Parquet.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Measurement => "measurement",
            Self::Run => "run",
            Self::Link => "link",
            Self::Rank => "rank",
            Self::Latency => "latency",
            Self::Bucket => "bucket",
            Self::Message => "message",
            Self::Interval => "interval",
            Self::JobInterval => "job_interval",
            Self::LinkInterval => "link_interval",
        }
    }

    /// Its columns after those of the case.
    pub(super) fn columns(self) -> &'static [Column] {
        use Type::{Count, Real, Text};
        match self {
            Self::Measurement => &[
                ("metric", Text),
                ("value", Real),
                ("unit", Text),
                ("least", Real),
                ("most", Real),
                ("published", Text),
                ("verdict", Text),
            ],
            Self::Run => &[
                ("virtual_us", Real),
                ("packet_hops", Count),
                ("lost", Count),
                ("routes_moved", Count),
                ("method", Text),
            ],
            Self::Link => &[
                ("from", Text),
                ("to", Text),
                ("percent", Real),
                ("xmit_wait", Count),
                ("xmit_discards", Count),
            ],
            Self::Rank => &[
                ("job", Text),
                ("rank", Count),
                ("us", Real),
                ("bytes_sent", Count),
                ("bytes_received", Count),
            ],
            Self::Message => &[
                ("job", Text),
                ("from_rank", Count),
                ("to_rank", Count),
                ("bytes", Count),
                ("begun_us", Real),
                ("us", Real),
            ],
            Self::Latency => &[("job", Text), ("percentile", Real), ("us", Real)],
            Self::Bucket => &[
                ("job", Text),
                ("us", Real),
                ("us_last", Real),
                ("count", Count),
            ],
            Self::Interval => &[
                ("from_us", Real),
                ("to_us", Real),
                ("delivered", Count),
                ("lost", Count),
                ("packet_hops", Count),
                ("in_flight", Count),
            ],
            Self::JobInterval => &[
                ("job", Text),
                ("from_us", Real),
                ("to_us", Real),
                ("came", Count),
                ("bytes", Count),
            ],
            Self::LinkInterval => &[
                ("from", Text),
                ("to", Text),
                ("from_us", Real),
                ("to_us", Real),
                ("percent", Real),
            ],
        }
    }
}

/// A row: its table, and a value for each of its columns.
pub(super) type Row<'a> = (Table, Vec<Cell<'a>>);

/// Values of [`OF_CASE`].
pub(super) fn of_case<'a>(scenario: &'a Scenario, case: &'a Case) -> [Cell<'a>; OF_CASE.len()] {
    let point = case.point.as_ref();
    let swept = |place: usize| point.and_then(|point| point.all().nth(place));
    let word = |place: usize| Cell::from(swept(place).map(|one| one.word.as_str()));
    let value = |place: usize| Cell::from(swept(place).map(|one| one.value));
    [
        scenario.title.as_str().into(),
        case.name.as_str().into(),
        point.map(|point| point.series.as_str()).into(),
        word(0),
        value(0),
        word(1),
        value(1),
        word(2),
        value(2),
        case.constant().map(|one| one.word.as_str()).into(),
        case.constant().map(|one| one.value).into(),
    ]
}

/// All rows of a case, without its own columns.
pub(super) fn rows<'a>(case: &'a Case, outcome: &'a Outcome) -> impl Iterator<Item = Row<'a>> + 'a {
    let measured = report::rows_of(case, outcome).map(|row| (Table::Measurement, measured(&row)));
    let links = outcome.links.iter().map(|link| {
        let cells = vec![
            link.from.as_str().into(),
            link.to.as_str().into(),
            link.percent.into(),
            link.xmit_wait.into(),
            link.xmit_discards.into(),
        ];
        (Table::Link, cells)
    });
    let ranks = outcome.ranks.iter().map(|rank| {
        let cells = vec![
            rank.job.as_deref().into(),
            u64::from(rank.rank).into(),
            micros(rank.time).into(),
            rank.sent.into(),
            rank.received.into(),
        ];
        (Table::Rank, cells)
    });
    let messages = outcome.messages.iter().map(|one| {
        let cells = vec![
            one.job.as_deref().into(),
            u64::from(one.from).into(),
            u64::from(one.to).into(),
            one.bytes.into(),
            micros(one.begun).into(),
            micros(one.time).into(),
        ];
        (Table::Message, cells)
    });
    let latencies = outcome.latencies.iter().flat_map(latencies);
    let with_buckets = outcome.latencies.iter().filter(|_| case.latencies);
    measured
        .chain([(Table::Run, run(outcome))])
        .chain(links)
        .chain(ranks)
        .chain(messages)
        .chain(latencies)
        .chain(with_buckets.flat_map(buckets))
        .chain(intervals(&outcome.intervals))
}

fn intervals(all: &Intervals) -> impl Iterator<Item = Row<'_>> {
    let spans = || {
        all.spans()
            .map(|(begin, end)| [begin, end].map(|at| Cell::from(micros(at))))
    };
    let fabric = spans().zip(&all.fabric).map(|(span, one)| {
        let counts = [one.delivered, one.lost, one.hops, one.in_flight];
        let counts = counts.map(Cell::from);
        (Table::Interval, span.into_iter().chain(counts).collect())
    });
    let jobs = all.jobs.iter().flat_map(move |job| {
        spans().zip(&job.came).map(|([begin, end], came)| {
            let (name, counts) = (job.job.as_deref().into(), [came.count, came.bytes]);
            let [count, bytes] = counts.map(Cell::from);
            (Table::JobInterval, vec![name, begin, end, count, bytes])
        })
    });
    let links = all.links.iter().flat_map(move |link| {
        spans().zip(&link.percent).map(|([begin, end], percent)| {
            let [from, to] = [&link.from, &link.to].map(|name| Cell::from(name.as_str()));
            (
                Table::LinkInterval,
                vec![from, to, begin, end, (*percent).into()],
            )
        })
    });
    fabric.chain(jobs).chain(links)
}

fn latencies(of: &Latencies) -> impl Iterator<Item = Row<'_>> {
    PERCENTILES.into_iter().filter_map(|percent| {
        let time = of.histogram.percentile(percent)?;
        let cells = vec![
            of.job.as_deref().into(),
            percent.into(),
            micros(time).into(),
        ];
        Some((Table::Latency, cells))
    })
}

fn buckets(of: &Latencies) -> impl Iterator<Item = Row<'_>> {
    of.histogram.buckets().map(|bucket| {
        let cells = vec![
            of.job.as_deref().into(),
            micros(bucket.first).into(),
            micros(bucket.last).into(),
            bucket.count.into(),
        ];
        (Table::Bucket, cells)
    })
}

fn run(outcome: &Outcome) -> Vec<Cell<'_>> {
    vec![
        micros(outcome.span).into(),
        outcome.hops.into(),
        outcome.lost.into(),
        outcome.moved.into(),
        outcome.method.as_deref().into(),
    ]
}

/// A figure that was published and not measured has no value, and no unit.
fn measured<'a>(row: &report::Row<'a>) -> Vec<Cell<'a>> {
    let unit = row.measured.map(|(_, unit)| unit);
    let published = row
        .published
        .map(|figure| figure.with_unit(unit.unwrap_or("")));
    vec![
        row.metric.into(),
        row.measured.map(|(value, _)| value).into(),
        unit.into(),
        row.spread.map(|(least, _)| least).into(),
        row.spread.map(|(_, most)| most).into(),
        published.into(),
        row.verdict().map(|verdict| verdict.to_string()).into(),
    ]
}
