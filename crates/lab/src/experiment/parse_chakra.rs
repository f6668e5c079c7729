//! Execution traces of Chakra (Sridharan and others 2023; MLCommons): a graph of computations and communication for
//! each rank, a file each. Collectives are made of messages.

use std::collections::BTreeMap;

use weft_dataplane::packets::{MICRO, NANO};
use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::chakra_schema as schema;
use super::chakra_schema::{Node, Nodes};
use super::collectives::{
    self, AllGather, AllReduce, Alltoall, Barrier, Bcast, Collective, Gather, Member, Reduce,
    ReduceScatter, Scatter, Sequence, TAGS,
};
use super::parse_goal::COMPUTE_MAX;
use super::parse_traffic::BYTES_MAX;
use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most};

/// A type of collective.
struct Kind {
    name: &'static str,
    of: &'static dyn Collective,
    has_root: bool,
}

/// The types by number.
const KINDS: [Kind; 10] = [
    kind("ALL_REDUCE", &AllReduce, false),
    kind("REDUCE", &Reduce, true),
    kind("ALL_GATHER", &AllGather, false),
    kind("GATHER", &Gather, true),
    kind("SCATTER", &Scatter, true),
    kind("BROADCAST", &Bcast, true),
    kind("ALL_TO_ALL", &Alltoall, false),
    kind("REDUCE_SCATTER", &ReduceScatter, false),
    kind("REDUCE_SCATTER_BLOCK", &ReduceScatter, false),
    kind("BARRIER", &Barrier, false),
];
/// Those of which bytes mean something else than to the collective: blocks for all members together, and none.
const ALL_TO_ALL: usize = 6;
const BARRIER: usize = 9;

const fn kind(name: &'static str, of: &'static dyn Collective, has_root: bool) -> Kind {
    Kind { name, of, has_root }
}

/// Longest name of a group, bytes.
const NAME_MAX: u64 = 256;
/// Processors of a rank: its accelerator, and the host's.
const ACCELERATOR: u32 = 0;
const HOST: u32 = 1;

/// A node that has been read.
struct Step {
    id: u64,
    waits: Vec<u64>,
    work: Work,
}

enum Work {
    One(Operation),
    Collective { group: String, call: Call },
}

/// What all members of a group must call alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    /// Of [`KINDS`].
    kind: usize,
    bytes: u64,
    root: Option<u64>,
}

/// The operations of each rank. `open` returns the content of a rank's file; processors compute `speed` operations a
/// second where a computation has no duration.
///
/// # Errors
/// The first rank and node that is wrong, and what is allowed; those of `open`.
pub(super) fn read(
    ranks: u32,
    speed: Option<f64>,
    mut open: impl FnMut(u32) -> Checked<Vec<u8>>,
) -> Checked<Vec<RankSchedule>> {
    let mut all = Vec::new();
    let mut entries = 0;
    for rank in 0..ranks {
        let content = open(rank)?;
        let steps = steps(&content, ranks, speed, &mut entries);
        all.push(steps.map_err(|what| format!("rank {rank}: {what}"))?);
    }
    let groups = Groups::of(&all)?;
    let (mut schedules, mut operations) = (Vec::new(), 0);
    for (rank, steps) in (0..).zip(all) {
        let schedule = groups.schedule(rank, &steps, &mut operations);
        schedules.push(schedule.map_err(|what| format!("rank {rank}: {what}"))?);
    }
    matched(&schedules)?;
    Ok(schedules)
}

/// `entries` counts nodes and dependencies of all ranks.
fn steps(
    content: &[u8],
    ranks: u32,
    speed: Option<f64>,
    entries: &mut usize,
) -> Checked<Vec<Step>> {
    let mut steps = Vec::new();
    for node in Nodes::new(content)? {
        let node = node?;
        *entries += 1 + node.ctrl_deps.len() + node.data_deps.len();
        at_most(*entries, OPERATIONS_MAX, "nodes and dependencies")?;
        let told = |what: String| format!("node {}: {what}", node.id);
        let work = work(&node, ranks, speed).map_err(told)?;
        let mut waits = [&node.ctrl_deps[..], &node.data_deps].concat();
        waits.sort_unstable();
        waits.dedup();
        let id = node.id;
        steps.push(Step { id, waits, work });
    }
    Ok(steps)
}

fn work(node: &Node, ranks: u32, speed: Option<f64>) -> Checked<Work> {
    let given = |name: &str| -> Checked<u64> {
        let number = node.number(name)?;
        number.ok_or_else(|| format!("no {name}"))
    };
    let bytes = || -> Checked<u64> { within("comm_size", given("comm_size")?, BYTES_MAX) };
    let peer = |name: &str| -> Checked<u32> {
        within(name, given(name)?, u64::from(ranks) - 1).map(|peer| peer as u32)
    };
    let tag = || -> Checked<u32> {
        let tag = node.number("comm_tag")?.unwrap_or(0);
        within("comm_tag", tag, u64::from(TAGS) - 1).map(|tag| tag as u32)
    };
    Ok(Work::One(match node.kind {
        schema::METADATA | schema::MEM_LOAD | schema::MEM_STORE | schema::COMP => {
            let is_host = node.number("is_cpu_op")?.is_some_and(|is| is != 0);
            Operation::Compute {
                span: nanos(node, speed)? * NANO,
                processor: if is_host { HOST } else { ACCELERATOR },
            }
        }
        schema::COMM_SEND => Operation::Send {
            to: peer("comm_dst")?,
            bytes: bytes()?,
            tag: tag()?,
        },
        schema::COMM_RECV => Operation::Receive {
            from: peer("comm_src")?,
            tag: tag()?,
        },
        schema::COMM_COLL => {
            let most = KINDS.len() as u64 - 1;
            let kind = within("comm_type", given("comm_type")?, most)? as usize;
            let group = node.text("pg_name");
            within("length of pg_name", group.len() as u64, NAME_MAX)?;
            return Ok(Work::Collective {
                group: group.to_owned(),
                call: Call {
                    kind,
                    bytes: match kind {
                        BARRIER => 0,
                        _ => bytes()?,
                    },
                    root: node.number("root_rank")?,
                },
            });
        }
        other => return Err(format!("type {other}, allowed: 1 to 7")),
    }))
}

/// Time of a node, nanoseconds.
fn nanos(node: &Node, speed: Option<f64>) -> Checked<u64> {
    let micros = node.duration_micros;
    let most = COMPUTE_MAX * NANO / MICRO;
    let operations = match (node.kind, micros) {
        (schema::COMP, 0) => node.number("num_ops")?.unwrap_or(0),
        _ => 0,
    };
    if operations == 0 {
        return within("duration_micros", micros, most).map(|micros| micros * (MICRO / NANO));
    }
    let speed = speed.ok_or_else(|| {
        "num_ops and no duration: add flops=, those of a processor in a second".to_owned()
    })?;
    let nanos = (operations as f64 / speed * 1e9).round();
    match nanos <= COMPUTE_MAX as f64 {
        true => Ok(nanos as u64),
        false => Err(format!("num_ops {operations} take more than an hour")),
    }
}

fn within(name: &str, value: u64, most: u64) -> Checked<u64> {
    match value <= most {
        true => Ok(value),
        false => Err(format!("{name} {value}, allowed: at most {most}")),
    }
}

/// Ranks that call collectives together.
struct Group {
    /// Its number among all groups.
    number: usize,
    /// In ascending order.
    members: Vec<u32>,
}

/// Groups by name; without a name all ranks.
struct Groups(BTreeMap<String, Group>);

impl Groups {
    /// The ranks that call something in a group are its members; all of them must call the same.
    fn of(all: &[Vec<Step>]) -> Checked<Self> {
        let mut members: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut calls: BTreeMap<&str, Vec<(Call, u32)>> = BTreeMap::new();
        let count = all.len() as u32;
        for (rank, steps) in (0..).zip(all) {
            for (group, number, call) in numbered(steps) {
                let ranks = members.entry(group.to_owned()).or_default();
                if ranks.last() != Some(&rank) {
                    ranks.push(rank);
                }
                let calls = calls.entry(group).or_default();
                if number == calls.len() {
                    calls.push((call, 0));
                }
                match calls.get_mut(number) {
                    Some((known, times)) if *known == call => *times += 1,
                    _ => {
                        return Err(format!(
                            "collective {number} of group {group:?} at rank {rank} is another one than before: {}",
                            named(call)
                        ));
                    }
                }
            }
        }
        for (group, calls) in calls {
            let wanted = match group {
                "" => count,
                group => members.get(group).map_or(0, Vec::len) as u32,
            };
            if let Some(number) = calls.iter().position(|(_, times)| *times != wanted) {
                let (call, times) = calls[number];
                return Err(format!(
                    "collective {number} of group {group:?} ({}) is called by {times} ranks of {wanted}",
                    named(call)
                ));
            }
        }
        let groups = members.into_iter().enumerate();
        let groups = groups.map(|(number, (name, members))| (name, Group { number, members }));
        Ok(Self(groups.collect()))
    }

    fn schedule(&self, rank: u32, steps: &[Step], operations: &mut usize) -> Checked<RankSchedule> {
        let mut sequence = Sequence::default();
        let mut calls = numbered(steps);
        // First and last operation of each node.
        let mut ends: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
        for step in steps {
            let told = |what: String| format!("node {}: {what}", step.id);
            let before = sequence.schedule.operations.len();
            sequence.last = None;
            match &step.work {
                Work::One(operation) => sequence.go(*operation),
                Work::Collective { .. } => {
                    sequence.wait_for(&[]);
                    if let Some(call) = calls.next() {
                        self.collective(rank, call, &mut sequence).map_err(told)?;
                    }
                }
            }
            *operations += sequence.schedule.operations.len() - before;
            at_most(*operations, OPERATIONS_MAX, "operations")?;
            let last = sequence.last.unwrap_or(before as u32);
            if ends.insert(step.id, (before as u32, last)).is_some() {
                return Err(told("there are two".to_owned()));
            }
        }
        let mut schedule = sequence.schedule;
        for step in steps {
            for wait in &step.waits {
                let first = ends.get(&step.id).map(|(first, _)| *first);
                let last = ends.get(wait).map(|(_, last)| *last);
                let (Some(first), Some(last)) = (first, last) else {
                    return Err(format!(
                        "node {} waits for {wait}, which is not there",
                        step.id
                    ));
                };
                schedule.ended[last as usize].push(first);
            }
        }
        match schedule.circle() {
            None => Ok(schedule),
            Some(stuck) => {
                let of = ends
                    .iter()
                    .find(|(_, (first, last))| (*first..=*last).contains(&stuck));
                let id = of.map_or(0, |(id, _)| *id);
                Err(format!(
                    "node {id} waits for itself, through what it depends on"
                ))
            }
        }
    }

    /// Tags tell collectives of the same ranks apart, also those of other groups.
    fn collective(
        &self,
        rank: u32,
        (group, number, call): (&str, usize, Call),
        state: &mut Sequence,
    ) -> Checked<()> {
        let Some(Group {
            number: of,
            members,
        }) = self.0.get(group)
        else {
            return Ok(());
        };
        let tag = (number * self.0.len() + of) as u64;
        let tag = within("collectives", tag, u64::from(TAGS) - 1)?;
        let place = |rank: u64| {
            let rank = u32::try_from(rank).ok()?;
            members.binary_search(&rank).ok().map(|place| place as u32)
        };
        let place_here = place(rank.into()).unwrap_or(0);
        let member = Member::new(members, place_here, TAGS + tag as u32);
        let kind = &KINDS[call.kind];
        // The first member, where none is named.
        let root = match call.root.filter(|_| kind.has_root) {
            Some(root) => place(root).ok_or_else(|| format!("root_rank {root} is no member"))?,
            None => 0,
        };
        // Blocks of one size, in which all bytes have room.
        let bytes = match call.kind {
            ALL_TO_ALL => call.bytes.div_ceil(members.len().max(1) as u64),
            _ => call.bytes,
        };
        let seed = 0;
        kind.of
            .act(member, collectives::Call { bytes, root, seed }, state);
        Ok(())
    }
}

/// The collectives of a rank, each with its group and its number in that.
fn numbered(steps: &[Step]) -> impl Iterator<Item = (&str, usize, Call)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    steps.iter().filter_map(move |step| {
        let Work::Collective { group, call } = &step.work else {
            return None;
        };
        let count = counts.entry(group).or_default();
        *count += 1;
        Some((&group[..], *count - 1, *call))
    })
}

fn named(call: Call) -> String {
    let Call { kind, bytes, .. } = call;
    let name = KINDS[kind].name;
    match call.root {
        Some(root) => format!("{name} of {bytes} bytes, root_rank {root}"),
        None => format!("{name} of {bytes} bytes"),
    }
}
