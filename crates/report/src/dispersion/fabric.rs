//! The distribution of disjointness over the whole fabric.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use serde::Serialize;
use weft_fabric::{PortRef, Snapshot};

use super::measure::{Measure, Spread};
use super::view::{End, View};
use crate::RULE;
use crate::focus::Detail;
use crate::focus::Options;
use crate::links::LinkEnd;
use crate::names::node_line;

/// Default number of pairs that a report examines.
pub const SAMPLE: u64 = 1 << 18;

/// Maximum number of pairs that a report examines, whatever is requested.
pub const MAX_SAMPLE: u64 = 1 << 22;

/// Uneven pairs that are listed.
const LISTED: usize = 10;

/// Pairs that one thread takes at a time.
const CHUNK: usize = 4096;

/// Selection of pairs: all of them if there are no more than `pairs`, otherwise that number,
/// spread evenly and chosen at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of pairs, at most [`MAX_SAMPLE`].
    pub pairs: u64,
    /// Random seed; equal seeds choose equal pairs.
    pub seed: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self {
            pairs: SAMPLE,
            seed: 1,
        }
    }
}

/// Disjointness of the paths to hosts' LIDs, from the switches that have other hosts.
#[derive(Debug, Clone, Serialize)]
pub struct DispersionReport {
    /// Ports of HFIs with LIDs and a cable to a switch.
    pub hosts: u64,
    /// Switches that have such ports.
    pub switches: u64,
    /// Pairs of such a switch and a host at another one.
    pub pairs: u64,
    /// Pairs that were looked at.
    pub compared: u64,
    /// Seed of the choice; `None` if all pairs were examined.
    pub seed: Option<u64>,
    /// Those among which some LID's route does not arrive.
    pub incomplete: u64,
    /// Paths that share no link between switches.
    pub links_disjoint: Vec<DispersionRow>,
    /// Paths that share no switch besides the first and the last one.
    pub switches_disjoint: Vec<DispersionRow>,
    /// Pairs with the largest deficit, at most ten.
    pub uneven: Vec<UnevenPair>,
    #[serde(skip)]
    detail: Detail,
}

/// Pairs that are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DispersionRow {
    /// LIDs of the host.
    pub lids: u32,
    /// Most disjoint paths of fewest hops that the cables allow, no more than there are LIDs.
    pub possible: u32,
    /// Disjoint paths that the LIDs take.
    pub reached: u32,
    /// Number of pairs.
    pub pairs: u64,
}

/// A pair with fewer disjoint paths than possible.
#[derive(Debug, Clone, Serialize)]
pub struct UnevenPair {
    /// Source of packets: a switch.
    pub from: String,
    /// Destination of packets.
    pub to: LinkEnd,
    /// Number of disjoint paths, reached and possible.
    #[serde(flatten)]
    pub spread: Spread,
}

/// Counts over some pairs.
#[derive(Debug, Default)]
struct Tally {
    compared: u64,
    incomplete: u64,
    links: BTreeMap<(u32, u32, u32), u64>,
    switches: BTreeMap<(u32, u32, u32), u64>,
    uneven: Vec<(u32, End, Spread)>,
}

/// All hosts with the switches that have any.
struct Pairs {
    hosts: Vec<End>,
    switches: Vec<u32>,
}

/// Makes the report.
pub fn dispersion(snapshot: &Snapshot, sample: Sample, detail: Detail) -> DispersionReport {
    let view = View::new(&snapshot.topology);
    let pairs = Pairs::new(snapshot);
    let chosen = pairs.choose(sample);
    let tallies = chosen.par_chunks(CHUNK).map_init(
        || Measure::new(&view, &snapshot.linear),
        |measure, chosen| {
            let mut tally = Tally::default();
            for (from, end) in chosen.iter().map(|index| pairs.get(*index)) {
                tally.add(from, end, measure.spread(from, end));
            }
            tally
        },
    );
    // In order of pairs, however many threads there were.
    let tallies: Vec<Tally> = tallies.collect();
    let all = tallies.into_iter().fold(Tally::default(), Tally::merge);
    let uneven = all.uneven.iter();
    DispersionReport {
        hosts: pairs.hosts.len() as u64,
        switches: pairs.switches.len() as u64,
        pairs: pairs.count(),
        compared: all.compared,
        seed: (all.compared < pairs.count()).then_some(sample.seed),
        incomplete: all.incomplete,
        links_disjoint: rows(&all.links),
        switches_disjoint: rows(&all.switches),
        uneven: uneven
            .filter_map(|pair| UnevenPair::new(snapshot, pair))
            .collect(),
        detail,
    }
}

impl Pairs {
    fn new(snapshot: &Snapshot) -> Self {
        let topology = &snapshot.topology;
        let ends = topology
            .end_ports()
            .filter(|(at, ..)| topology.switch_index(at.node).is_none());
        let mut hosts: Vec<End> = ends
            .filter_map(|(at, ..)| View::end(topology, at))
            .collect();
        hosts.sort_by_key(|end| (end.switch, end.port));
        let mut switches: Vec<u32> = hosts.iter().map(|end| end.switch).collect();
        switches.dedup();
        Self { hosts, switches }
    }

    /// Number of pairs: each host with each switch but its own.
    fn count(&self) -> u64 {
        self.hosts.len() as u64 * self.others()
    }

    fn others(&self) -> u64 {
        (self.switches.len() as u64).saturating_sub(1)
    }

    /// A pair by its number: pairs of one host follow each other.
    fn get(&self, index: u64) -> (u32, &End) {
        let end = &self.hosts[(index / self.others()) as usize];
        let own = self.switches.partition_point(|switch| *switch < end.switch) as u64;
        let other = index % self.others();
        let from = other + u64::from(other >= own);
        (self.switches[from as usize], end)
    }

    /// The numbers of the pairs to look at, in order: one out of each stretch of the same length.
    fn choose(&self, sample: Sample) -> Vec<u64> {
        let (all, most) = (self.count(), sample.pairs.clamp(1, MAX_SAMPLE));
        if all <= most {
            return (0..all).collect();
        }
        let start =
            |stretch: u64| (u128::from(all) * u128::from(stretch) / u128::from(most)) as u64;
        let mut random = SplitMix64::seed_from_u64(sample.seed);
        let each = (0..most).map(|stretch| {
            let (first, end) = (start(stretch), start(stretch + 1));
            first + random.next_u64() % (end - first)
        });
        each.collect()
    }
}

impl Tally {
    fn add(&mut self, from: u32, end: &End, spread: Spread) {
        let Spread {
            lids,
            arriving,
            reached,
            possible,
        } = spread;
        self.compared += 1;
        self.incomplete += u64::from(arriving < lids);
        *self
            .links
            .entry((lids, possible.links, reached.links))
            .or_default() += 1;
        *self
            .switches
            .entry((lids, possible.switches, reached.switches))
            .or_default() += 1;
        if spread.missing() > 0 {
            self.uneven.push((from, *end, spread));
            // Sorted now and then only: most pairs are like the ones before.
            if self.uneven.len() >= LISTED * 8 {
                self.keep_worst();
            }
        }
    }

    fn keep_worst(&mut self) {
        self.uneven
            .sort_by_key(|(_, _, spread)| Reverse(spread.missing()));
        self.uneven.truncate(LISTED);
    }

    fn merge(mut self, other: Self) -> Self {
        self.compared += other.compared;
        self.incomplete += other.incomplete;
        other
            .links
            .into_iter()
            .for_each(|(key, pairs)| *self.links.entry(key).or_default() += pairs);
        let switches = other.switches.into_iter();
        switches.for_each(|(key, pairs)| *self.switches.entry(key).or_default() += pairs);
        self.uneven.extend(other.uneven);
        self.keep_worst();
        self
    }
}

fn rows(counts: &BTreeMap<(u32, u32, u32), u64>) -> Vec<DispersionRow> {
    let row = |(&(lids, possible, reached), &pairs)| DispersionRow {
        lids,
        possible,
        reached,
        pairs,
    };
    counts.iter().map(row).collect()
}

impl UnevenPair {
    fn new(snapshot: &Snapshot, (from, end, spread): &(u32, End, Spread)) -> Option<Self> {
        let from = *snapshot.topology.switches().get(*from as usize)?;
        Some(Self {
            from: node_line(snapshot, from),
            to: LinkEnd::new(snapshot, &Options::default(), PortRef { ..end.at })?,
            spread: *spread,
        })
    }
}

impl DispersionReport {
    fn write_rows(
        &self,
        f: &mut fmt::Formatter<'_>,
        what: &str,
        rows: &[DispersionRow],
    ) -> fmt::Result {
        writeln!(f, "Paths of a host's LIDs that share no {what}:")?;
        writeln!(f, "    LIDs Possible  Reached      Pairs  Percent")?;
        for row in rows {
            let percent = row.pairs as f64 * 100.0 / self.compared.max(1) as f64;
            writeln!(
                f,
                "    {:>4} {:>8} {:>8} {:>10} {percent:>8.2}",
                row.lids, row.possible, row.reached, row.pairs
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for DispersionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Dispersion Summary")?;
        writeln!(f, "{} Hosts at {} Switches", self.hosts, self.switches)?;
        write!(
            f,
            "{} of {} Pairs of a Switch and a Host",
            self.compared, self.pairs
        )?;
        match self.seed {
            Some(seed) => writeln!(f, ", chosen at random by seed {seed}")?,
            None => writeln!(f)?,
        }
        if self.incomplete > 0 {
            writeln!(
                f,
                "{} Pairs with Routes that are Incomplete",
                self.incomplete
            )?;
        }
        self.write_rows(f, "link", &self.links_disjoint)?;
        self.write_rows(f, "switch in between", &self.switches_disjoint)?;
        let listed = self.detail > Detail::BRIEF && !self.uneven.is_empty();
        if listed {
            writeln!(f, "Pairs that lack most, reached of possible:")?;
        }
        for UnevenPair { from, to, spread } in self.uneven.iter().filter(|_| listed) {
            let Spread {
                reached, possible, ..
            } = spread;
            writeln!(
                f,
                "    links {} of {}, switches {} of {}",
                reached.links, possible.links, reached.switches, possible.switches
            )?;
            writeln!(f, "        {from}")?;
            writeln!(f, "    ->  {to}")?;
        }
        writeln!(f, "{RULE}")
    }
}
