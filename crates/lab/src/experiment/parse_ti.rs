//! Time-independent traces of SimGrid (`smpirun -trace-ti`): what each rank of an MPI program did, a line
//! an action. Ranks work off their actions one after the other; collectives are made of messages.

use std::collections::{BTreeMap, VecDeque};

use weft_dataplane::packets::Picos;
use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::collectives::{
    Alltoall, Barrier, Bcast, Call, Collective, Member, Reduce, Sequence, TAGS,
};
use super::parse_traffic::BYTES_MAX;
use super::size::RANKS_MAX;
use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most, decimal, number, unknown};

/// Most flops of a computation.
const FLOPS_MAX: f64 = 1e18;
/// Bytes of SMPI's first datatypes, by the number that its traces have: double, int, char, short, long, float,
/// byte, long long (`smpi_datatype.cpp`).
const TYPES: [u64; 8] = [8, 4, 1, 2, 8, 4, 1, 8];
const ACTIONS: &str = "init, finalize, compute, send, isend, recv, irecv, wait, waitall, barrier, bcast, \
    reduce, allreduce, alltoall";

/// Sender, receiver and tag of a message.
type Ends = (u32, u32, u32);

/// A rank whose actions are being read.
#[derive(Debug, Clone, Default)]
struct Rank {
    sequence: Sequence,
    /// Sends and receives that nothing has waited for yet, by sender, receiver and tag.
    open: BTreeMap<Ends, VecDeque<u32>>,
    /// Number of collectives so far.
    collectives: u32,
}

/// Who acts, among whom, on processors of so many flops a second.
#[derive(Debug, Clone, Copy)]
struct Actor<'a> {
    rank: u32,
    all: &'a [u32],
    speed: f64,
}

impl Actor<'_> {
    /// Adds an action to the rank's.
    fn act(self, state: &mut Rank, action: &str, words: &[&str]) -> Checked<()> {
        match (action, words) {
            ("init" | "finalize", []) => {}
            ("compute", [flops]) => state.sequence.go(self.compute(flops)?),
            ("send" | "isend", [to, tag, rest @ ..]) => {
                let (to, tag) = (self.peer(to)?, tag_of(tag)?);
                let bytes = size(rest)?;
                let send = Operation::Send { to, bytes, tag };
                self.message(state, action == "send", send, (self.rank, to, tag));
            }
            ("recv" | "irecv", [from, tag, rest @ ..]) => {
                let (from, tag) = (self.peer(from)?, tag_of(tag)?);
                size(rest)?;
                let receive = Operation::Receive { from, tag };
                self.message(state, action == "recv", receive, (from, self.rank, tag));
            }
            ("wait", [from, to, tag]) => {
                let wanted = (self.peer(from)?, self.peer(to)?, tag_of(tag)?);
                let first = state.open.get_mut(&wanted).and_then(VecDeque::pop_front);
                let first = first.ok_or_else(|| "wait for what was not begun".to_owned())?;
                state.sequence.wait_for(&[first]);
            }
            ("waitall", [_]) => {
                let open = std::mem::take(&mut state.open);
                let numbers: Vec<u32> = open.into_values().flatten().collect();
                state.sequence.wait_for(&numbers);
            }
            _ => return self.collective(state, action, words),
        }
        Ok(())
    }

    fn message(self, state: &mut Rank, waits: bool, operation: Operation, ends: Ends) {
        match waits {
            true => state.sequence.go(operation),
            false => {
                let number = state.sequence.begin(operation);
                state.open.entry(ends).or_default().push_back(number);
            }
        }
    }

    fn collective(self, state: &mut Rank, action: &str, words: &[&str]) -> Checked<()> {
        let member = Member::new(self.all, self.rank, TAGS + state.collectives);
        let sequence = &mut state.sequence;
        let call = |bytes, root| Call {
            bytes,
            root,
            seed: 0,
        };
        match (action, words) {
            ("barrier", []) => Barrier.act(member, call(0, 0), sequence),
            ("bcast", [count, root, kind @ ..]) => {
                let call = call(elements(count, kind)?, self.peer(root)?);
                Bcast.act(member, call, sequence);
            }
            ("reduce", [count, flops, root, kind @ ..]) => {
                let call = call(elements(count, kind)?, self.peer(root)?);
                Reduce.act(member, call, sequence);
                sequence.go(self.compute(flops)?);
            }
            ("allreduce", [count, flops, kind @ ..]) => {
                let call = call(elements(count, kind)?, 0);
                Reduce.act(member, call, sequence);
                sequence.go(self.compute(flops)?);
                Bcast.act(member, call, sequence);
            }
            ("alltoall", [count, _, kind @ ..]) => {
                let bytes = elements(count, &kind[..kind.len().min(1)])?;
                Alltoall.act(member, call(bytes, 0), sequence);
            }
            _ => {
                let text = [&[action], words].concat().join(" ");
                return Err(unknown("action", &text, ACTIONS));
            }
        }
        state.collectives = (state.collectives + 1) % TAGS;
        Ok(())
    }

    fn peer(self, text: &str) -> Checked<u32> {
        number(text, 0, self.all.len() as u64 - 1).map(|rank| rank as u32)
    }

    fn compute(self, flops: &str) -> Checked<Operation> {
        let seconds = decimal(flops, FLOPS_MAX)? / self.speed;
        let span = (seconds * 1e12).min(Picos::MAX as f64) as Picos;
        Ok(Operation::Compute { span, processor: 0 })
    }
}

fn tag_of(text: &str) -> Checked<u32> {
    number(text, 0, u64::from(TAGS) - 1).map(|tag| tag as u32)
}

/// COUNT and the datatype, or none for bytes.
fn size(words: &[&str]) -> Checked<u64> {
    match words {
        [count, kind @ ..] => elements(count, kind),
        [] => Err("no number of elements".to_owned()),
    }
}

fn elements(count: &str, kind: &[&str]) -> Checked<u64> {
    let bytes = match kind {
        [] => TYPES[0],
        [kind] => TYPES[number(kind, 0, TYPES.len() as u64 - 1)? as usize],
        more => return Err(format!("{:?} is more than a datatype", more.join(" "))),
    };
    Ok(number(count, 0, BYTES_MAX / 8)? * bytes)
}

/// Number of ranks: those that act.
fn count(text: &str) -> Checked<u32> {
    let mut most = 0;
    for (index, line) in text.lines().enumerate() {
        if let Some(rank) = line.split_whitespace().next() {
            let rank = number(rank, 0, RANKS_MAX - 1);
            let rank = rank.map_err(|what| format!("line {}: {what}", index + 1))?;
            most = most.max(rank as u32 + 1);
        }
    }
    match most {
        0 => Err("no actions, allowed: lines RANK ACTION …".to_owned()),
        most => Ok(most),
    }
}

/// The operations of each rank of a program whose processors compute `speed` flops a second.
///
/// # Errors
/// The first line that is wrong, and what is allowed.
pub(super) fn read(text: &str, speed: f64) -> Checked<Vec<RankSchedule>> {
    let ranks = count(text)?;
    let numbers: Vec<u32> = (0..ranks).collect();
    let mut all = vec![Rank::default(); ranks as usize];
    let mut operations = 0;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rank, action, rest @ ..] = &words[..] else {
            if words.is_empty() {
                continue;
            }
            return Err(format!("line {}: a rank without an action", index + 1));
        };
        let actor = Actor {
            rank: number(rank, 0, u64::from(ranks) - 1)? as u32,
            all: &numbers,
            speed,
        };
        let state = &mut all[actor.rank as usize];
        let before = state.sequence.schedule.operations.len();
        let done = actor.act(state, action, rest);
        operations += state.sequence.schedule.operations.len() - before;
        let done = done.and_then(|()| at_most(operations, OPERATIONS_MAX, "operations"));
        done.map_err(|what| format!("line {}: {what}", index + 1))?;
    }
    let schedules = all.into_iter().map(|rank| rank.sequence.schedule);
    let schedules: Vec<RankSchedule> = schedules.collect();
    matched(&schedules)?;
    Ok(schedules)
}
