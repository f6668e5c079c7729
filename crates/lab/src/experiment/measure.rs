//! Measurements of one run of a case with messages.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_dataplane::constants::BENCHMARK_SPREAD;
use weft_dataplane::packets::{MILLI, Picos, Random, Simulation, Totals};
use weft_dataplane::traffic::mpi::{
    Bandwidth, Benchmark, Job, Jobs, Mpi, Part, PingPong, Program, ProgramBook, RankResult, Stack,
};
use weft_dataplane::traffic::{Histogram, Hosts, StreamMix};
use weft_fabric::Sl;

use super::intervals::{Came, Intervals};
use super::links::LinkUse;
use super::managed::Managed;
use super::perform::{ExperimentError, Latencies, Measurement, MessageUse, RankUse, named};
use super::placement::Placed;
use super::scenario::{Beside, Case, Pairs, Traffic};
use super::stage::Staged;
use super::task::Task;
use super::values::picos;
use super::watch::Watch;
use super::{bisection, bound, deadlock, place, rounds, spectrum, stream, task};

/// Size of messages, as it is swept.
const BYTES: &str = "bytes";

/// Measurements of each pair of ranks, and the times of all messages.
type OfPairs<T> = (Vec<((u32, u32), T)>, Histogram);

/// One run of a case.
pub(super) struct Ran {
    pub(super) measurements: Result<Vec<Measurement>, ExperimentError>,
    pub(super) totals: Totals,
    /// Totals at the start of the traffic.
    pub(super) before: Totals,
    /// Virtual time that it took.
    pub(super) span: Picos,
    /// Routes that switches have moved.
    pub(super) moved: u64,
    /// Packets that switches have marked.
    pub(super) marked: u64,
    /// Time that the manager took after the last fault.
    pub(super) reprogrammed: Option<Measurement>,
    pub(super) links: Vec<LinkUse>,
    pub(super) intervals: Intervals,
    /// Of messages: each rank.
    pub(super) ranks: Vec<RankUse>,
    /// Messages that were kept.
    pub(super) messages: Vec<MessageUse>,
    /// Times of messages or packets.
    pub(super) latencies: Vec<Latencies>,
    /// Method of sending messages, if their size is swept.
    pub(super) method: Option<String>,
}

/// A fabric with messages to come.
pub(super) struct Stage<'a> {
    case: &'a Case,
    managed: Managed,
    hosts: Hosts,
    placed: Placed,
    simulation: Simulation,
    seed: u64,
    /// When the case's own traffic begins.
    begin: Picos,
    watch: Watch,
    before: Totals,
    /// What had come at the end of the case's own traffic and of each named job's.
    came: Vec<Came>,
    ranks: Vec<RankUse>,
    messages: Vec<MessageUse>,
    latencies: Vec<Latencies>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(case: &'a Case, staged: Staged, seed: u64) -> Result<Self, ExperimentError> {
        let options = case.hardware.options(seed);
        let begin = begin(case, seed);
        let hosts = place::hosts(&staged, case, seed)?;
        Ok(Self {
            case,
            placed: Placed::new(staged.network(), &hosts, case, seed)?,
            hosts,
            simulation: Simulation::new(staged.network(), options),
            watch: Watch::new(staged.network(), case),
            before: Totals::default(),
            came: Vec::new(),
            ranks: Vec::new(),
            messages: Vec::new(),
            latencies: Vec::new(),
            managed: Managed::new(staged, begin),
            begin,
            seed,
        })
    }

    pub(super) fn run(mut self) -> Ran {
        let measurements = self.measure();
        let names: Vec<Option<String>> = self
            .case
            .told_names()
            .map(|name| name.map(str::to_owned))
            .collect();
        let method = self.method();
        let (links, intervals) = self.watch.results(
            &mut self.simulation,
            &mut self.managed,
            self.begin,
            std::mem::take(&mut self.came),
            &names,
        );
        Ran {
            measurements,
            totals: self.simulation.totals(),
            before: self.before,
            span: self.simulation.now(),
            moved: self.simulation.routes_moved(),
            marked: self.simulation.packets_marked(),
            reprogrammed: self.managed.reprogrammed(),
            links,
            intervals,
            ranks: std::mem::take(&mut self.ranks),
            messages: std::mem::take(&mut self.messages),
            latencies: std::mem::take(&mut self.latencies),
            method,
        }
    }

    /// Whether the size of messages is swept.
    fn is_over_size(&self) -> bool {
        let point = self.case.point.as_ref();
        point.is_some_and(|point| point.value(BYTES).is_some())
    }

    /// Method of sending messages, if their size is swept.
    fn method(&self) -> Option<String> {
        let point = self.case.point.as_ref();
        let bytes = point?.value(BYTES)? as u64;
        let method = self.mpi(self.case.stack).method(0, bytes)?;
        Some(method.to_string())
    }

    fn measure(&mut self) -> Result<Vec<Measurement>, ExperimentError> {
        match self.case.traffic {
            Traffic::AllPairs {
                bytes,
                skip,
                iterations,
                sessions,
                large,
            } => self.all_pairs(bytes, (skip, iterations), sessions, large),
            Traffic::Bisection { matchings } => Ok(bisection::measure(
                self.managed.network(),
                &self.hosts,
                matchings,
                self.seed,
            )),
            _ => self.benchmarks(),
        }
    }

    /// Runs the case's own traffic, and the additional jobs.
    fn benchmarks(&mut self) -> Result<Vec<Measurement>, ExperimentError> {
        let case = self.case;
        let stack = task::stack(&case.traffic, case.stack);
        let mut mpi = self.mpi(stack);
        self.trace(&mut mpi);
        let pairs = self.pairs(&case.traffic, self.placed.own(), case.ranks, &case.pairs)?;
        let links = self.links(&pairs);
        enough_ranks(&case.traffic, mpi.len())?;
        let own = task::benchmark(Task {
            traffic: &case.traffic,
            stack,
            pairs,
            ranks: 0..mpi.len() as u32,
            seed: self.seed,
        })?;
        let mut parts: Vec<Part> = own
            .into_iter()
            .map(|benchmark| part(benchmark, 0, self.begin))
            .collect();
        for (place, beside) in case.beside.iter().enumerate() {
            parts.extend(self.join(&mut mpi, beside, place)?);
        }
        let job = Job::new(mpi, Jobs::new(parts)).beside(self.packets());
        let job = self.drive(self.begin, job)?;
        self.ranks = self.rank_uses(&job);
        self.messages = self.message_uses(&job);
        self.latencies = self.latencies(&job).collect();
        Ok(self.results(&job, links))
    }

    /// Times of the messages or packets of the case's own traffic, and of each job's.
    fn latencies(&self, job: &Job<Jobs>) -> impl Iterator<Item = Latencies> {
        let mut messages = job.mpi.latencies();
        let own = messages.next().cloned();
        let mut packets = job.packets().kinds().iter();
        let of_job = move |beside: &Arc<Beside>| {
            let found = match beside.traffic {
                Traffic::Stream { .. } => packets.next()?.latencies(),
                _ => messages.next()?,
            };
            Latencies::new(Some(beside.name.as_deref()?), found.clone())
        };
        let own = own.and_then(|own| Latencies::new(None, own));
        own.into_iter()
            .chain(self.case.beside.iter().filter_map(of_job))
    }

    /// Has messages of the program that was added last kept, if the case asks for that.
    fn trace(&self, mpi: &mut Mpi) {
        if self.case.messages > 0 {
            mpi.trace(self.case.messages as usize);
        }
    }

    /// The programs of the case's own traffic and of each named job, each with its name, its place and when it began.
    fn programs(&self) -> impl Iterator<Item = (Option<&'a str>, usize, Picos)> {
        let messages = self.case.beside.iter();
        let messages = messages.filter(|one| !matches!(one.traffic, Traffic::Stream { .. }));
        let begin = self.begin;
        let jobs = messages.zip(1..);
        let jobs = jobs.filter_map(move |(one, place)| {
            Some((Some(one.name.as_deref()?), place, one.begins(begin)))
        });
        std::iter::once((None, 0, begin)).chain(jobs)
    }

    /// What became of the ranks of the case's own traffic and of each named job.
    fn rank_uses(&self, job: &Job<Jobs>) -> Vec<RankUse> {
        let books: Vec<&ProgramBook> = job.mpi.programs().collect();
        let benchmarks: Vec<&Benchmark> = job.program.benchmarks().collect();
        let mut all = Vec::new();
        for (name, place, begin) in self.programs() {
            let (Some(book), Some(benchmark)) = (books.get(place), benchmarks.get(place)) else {
                continue;
            };
            let end = books
                .get(place + 1)
                .map_or(job.mpi.len(), |next| next.first as usize);
            let ranks = &job.mpi.rank_books()[book.first as usize..end];
            let results: Vec<RankResult> = match benchmark {
                Benchmark::Schedule(one) => one.results().collect(),
                _ => ranks
                    .iter()
                    .map(|rank| RankResult {
                        time: rank.last.saturating_sub(begin),
                        sent: rank.sent,
                    })
                    .collect(),
            };
            let uses = ranks.iter().zip(results).zip(0..);
            all.extend(uses.map(|((book, result), rank)| RankUse {
                job: name.map(str::to_owned),
                rank,
                time: result.time,
                sent: result.sent,
                received: book.received,
            }));
        }
        all
    }

    /// The messages that were kept.
    fn message_uses(&self, job: &Job<Jobs>) -> Vec<MessageUse> {
        let books: Vec<&ProgramBook> = job.mpi.programs().collect();
        let traced = job.mpi.traced().iter().filter_map(|one| {
            let program = books.partition_point(|book| book.first <= one.to) - 1;
            let (name, ..) = self.programs().find(|(_, place, _)| *place == program)?;
            let first = books[program].first;
            Some(MessageUse {
                job: name.map(str::to_owned),
                from: one.from - first,
                to: one.to - first,
                bytes: one.bytes,
                begun: one.begun.saturating_sub(self.begin),
                time: one.ended - one.begun,
            })
        });
        traced.collect()
    }

    /// Measurements of the case's own traffic, and of each job, under its name.
    fn results(&self, job: &Job<Jobs>, links: usize) -> Vec<Measurement> {
        let now = self.simulation.now();
        let mut benchmarks = job.program.benchmarks();
        let mut packets = job.packets().kinds().iter();
        let own = benchmarks.next();
        let mut found = own.map_or(Vec::new(), |own| {
            let stack = task::stack(&self.case.traffic, self.case.stack);
            task::results((&self.case.traffic, stack), own, now)
        });
        found.extend(self.bound(links));
        for beside in &self.case.beside {
            let measured = match beside.traffic {
                Traffic::Stream { .. } => packets.next().map(|kind| stream::since_begin(kind, now)),
                _ => benchmarks.next().map(|one| {
                    let stack = task::stack(&beside.traffic, beside.stack);
                    task::results((&beside.traffic, stack), one, now)
                }),
            };
            let Some(name) = &beside.name else { continue };
            found.extend(named(name, measured.unwrap_or_default()));
        }
        found
    }

    /// Bound set by the links, if the size of messages is swept.
    fn bound(&self, links: usize) -> Option<Measurement> {
        match self.case.traffic {
            _ if !self.is_over_size() => None,
            Traffic::Latency { bytes, .. } => Some(bound::latency(bytes)),
            Traffic::Bandwidth { .. } | Traffic::Copies { .. } => Some(bound::bandwidth(links)),
            _ => None,
        }
    }

    /// Links by which hosts send in the case's own traffic.
    fn links(&self, pairs: &[(u32, u32)]) -> usize {
        let hosts: BTreeSet<u32> = pairs
            .iter()
            .map(|(from, _)| from / self.case.ranks)
            .collect();
        hosts.len() * self.case.traffic.ways() as usize
    }

    /// Adds the ranks of the job at a place to the existing ones, and returns their benchmark; `None` if it sends
    /// packets by a pattern.
    fn join(
        &self,
        mpi: &mut Mpi,
        beside: &Beside,
        place: usize,
    ) -> Result<Option<Part>, ExperimentError> {
        if matches!(beside.traffic, Traffic::Stream { .. }) {
            return Ok(None);
        }
        let first = mpi.len() as u32;
        let stack = task::stack(&beside.traffic, beside.stack).on(&self.case.hardware.hosts);
        let placed = self.placed.job(place);
        mpi.add(
            &ranks(placed, beside.ranks),
            stack,
            beside.sl.unwrap_or(Sl(0)),
        );
        if beside.name.is_some() {
            self.trace(mpi);
        }
        let pairs = self.pairs(&beside.traffic, placed, beside.ranks, &beside.pairs)?;
        let pairs = pairs.into_iter().map(|(a, b)| (first + a, first + b));
        let ranks = first..mpi.len() as u32;
        let benchmark = task::benchmark(Task {
            traffic: &beside.traffic,
            stack,
            pairs: pairs.collect(),
            ranks,
            seed: self.seed,
        })?;
        let begin = beside.begins(self.begin);
        Ok(benchmark.map(|benchmark| part(benchmark, first, begin)))
    }

    /// Packets by patterns in addition to messages.
    fn packets(&self) -> StreamMix {
        let count = self.hosts.len() as u32;
        let kinds = stream::beside(self.case, count, self.seed, self.begin);
        StreamMix::new(&self.hosts, kinds)
    }

    /// The pairs of some traffic on hosts, none where it has none.
    fn pairs(
        &self,
        traffic: &Traffic,
        placed: &[u32],
        ranks: u32,
        pairs: &Pairs,
    ) -> Result<Vec<(u32, u32)>, ExperimentError> {
        if !traffic.has_pairs() {
            return Ok(Vec::new());
        }
        let network = self.managed.network();
        let ports = placed.iter().filter_map(|host| self.hosts.get(*host));
        let hosts = Hosts::new(network, ports.map(|host| host.port));
        place::pairs(network, &hosts, ranks, pairs)
    }

    fn mpi(&self, stack: Stack) -> Mpi {
        let ranks = ranks(self.placed.own(), self.case.ranks);
        let level = self.case.sl.unwrap_or(Sl(0));
        let stack = stack.on(&self.case.hardware.hosts);
        Mpi::new(self.hosts.clone(), &ranks, stack, level)
    }

    /// Runs a job to its end, whose own traffic begins after a while.
    fn drive<P: Program>(
        &mut self,
        begin: Picos,
        mut job: Job<P>,
    ) -> Result<Job<P>, ExperimentError> {
        let limit = begin.saturating_add(picos(self.case.limit));
        job.start(&mut self.simulation);
        if begin > 0 {
            job.advance(&mut self.simulation, begin);
            self.before = self.simulation.totals();
        }
        let now = self.simulation.now();
        if self.watch.next() <= now {
            self.watch
                .look(&self.simulation, now, || came(self.case, &job));
        }
        loop {
            let (look, kept_up) = (self.watch.next(), self.managed.next());
            let until = look.min(kept_up).min(limit);
            if job.advance(&mut self.simulation, until) {
                self.came = came(self.case, &job);
                self.managed.check_faults(self.simulation.now())?;
                return Ok(job);
            }
            let is_over = self.simulation.deadline().is_none() && kept_up == Picos::MAX;
            if until == limit || is_over {
                self.came = came(self.case, &job);
                let now = self.simulation.now();
                return Err(self.not_ended(if is_over { now } else { limit }));
            }
            self.simulation.run(&mut job, until);
            if until == look {
                self.watch
                    .look(&self.simulation, until, || came(self.case, &job));
            }
            // A look changes nothing.
            if until == kept_up {
                self.managed.keep_up(&mut self.simulation, until)?;
            }
        }
    }

    /// The case is given up at a time.
    fn not_ended(&self, now: Picos) -> ExperimentError {
        match self.simulation.deadlock() {
            Some(circle) => deadlock::told(self.managed.network(), &circle, now),
            None => ExperimentError::NotEnded {
                millis: u128::from(now / MILLI),
                lost: self.simulation.totals().lost,
            },
        }
    }

    /// mpi_nxnlatbw: latencies, then bandwidths.
    fn all_pairs(
        &mut self,
        bytes: u64,
        (skip, iterations): (u32, u32),
        sessions: u32,
        large: Option<u64>,
    ) -> Result<Vec<Measurement>, ExperimentError> {
        let stack = self.case.stack;
        let on_link = |bytes| stack.on_link(bytes);
        let (latencies, histogram) = self.tournament(
            sessions,
            |pairs| PingPong::new(pairs, on_link(bytes), skip, iterations),
            PingPong::latencies,
        )?;
        self.latencies = Latencies::new(None, histogram).into_iter().collect();
        let (network, ranks) = (self.managed.network(), self.case.ranks);
        let mut found = spectrum::measurements(network, &self.hosts, ranks, &latencies);
        if let Some(large) = large {
            let (mut rates, _) = self.tournament(
                sessions,
                |pairs| task::of_all_pairs(pairs, on_link(large)),
                Bandwidth::of_pairs,
            )?;
            let share = task::data_share(stack, large);
            rates.iter_mut().for_each(|(_, rate)| *rate *= share);
            found.extend(spectrum::bandwidths(ranks, &rates));
        }
        Ok(found)
    }

    /// Every rank with every other one, in both directions, a limited number of pairs at a time; returns the
    /// measurements of each pair.
    fn tournament<P: Program, T>(
        &mut self,
        sessions: u32,
        program: impl Fn(Vec<(u32, u32)>) -> P,
        measured: impl Fn(&P) -> Option<Vec<T>>,
    ) -> Result<OfPairs<T>, ExperimentError> {
        let ranks = self.hosts.len() as u32 * self.case.ranks;
        let (mut all, mut histogram) = (Vec::new(), Histogram::default());
        for round in rounds::rounds(ranks, sessions) {
            for turned in [false, true] {
                let turn = |(a, b): &(u32, u32)| if turned { (*b, *a) } else { (*a, *b) };
                let pairs: Vec<_> = round.iter().map(turn).collect();
                let program = program(pairs.clone());
                let job = self.drive(0, Job::new(self.mpi(self.case.stack), program))?;
                let values = measured(&job.program).unwrap_or_default();
                all.extend(pairs.into_iter().zip(values));
                job.mpi.latencies().for_each(|one| histogram.merge(one));
            }
        }
        Ok((all, histogram))
    }
}

/// The hosts of ranks, `each` per host, by number.
fn ranks(placed: &[u32], each: u32) -> Vec<u32> {
    let of_host = |host: &u32| std::iter::repeat_n(*host, each as usize);
    placed.iter().flat_map(of_host).collect()
}

/// What has come of the case's own traffic, and of each named job.
fn came<P>(case: &Case, job: &Job<P>) -> Vec<Came> {
    let mut programs = job.mpi.programs().map(|program| Came {
        count: program.latencies.count(),
        bytes: program.bytes,
    });
    let mut kinds = job.packets().kinds().iter().map(stream::came);
    let own = programs.next();
    let jobs = case.beside.iter().filter_map(|one| {
        let found = match one.traffic {
            Traffic::Stream { .. } => kinds.next(),
            _ => programs.next(),
        };
        found.filter(|_| one.name.is_some())
    });
    own.into_iter().chain(jobs).collect()
}

fn part(benchmark: Benchmark, first: u32, begin: Picos) -> Part {
    Part {
        benchmark,
        first,
        begin,
    }
}

/// Whether there are the ranks that a file names.
fn enough_ranks(traffic: &Traffic, there: usize) -> Result<(), ExperimentError> {
    let Traffic::File { file, ranks } = traffic else {
        return Ok(());
    };
    match ranks.len() <= there {
        true => Ok(()),
        false => Err(ExperimentError::Pairs {
            what: format!(
                "{file} has {} ranks where there are {there}, allowed: at most as many; \
                 hosts and ranks make more",
                ranks.len()
            ),
        }),
    }
}

/// Start of a case's own traffic: after the warm-up of unmeasured traffic.
fn begin(case: &Case, seed: u64) -> Picos {
    let warms_up = |beside: &Arc<Beside>| beside.name.is_none() && beside.traffic.is_messages();
    if !case.beside.iter().any(warms_up) {
        return 0;
    }
    let spread = Random::new(seed).bits() % BENCHMARK_SPREAD;
    picos(case.warm_up).saturating_add(spread)
}
