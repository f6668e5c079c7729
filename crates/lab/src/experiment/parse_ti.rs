//! Time-independent traces of SimGrid (`smpirun -trace-ti`): what each rank of an MPI program did, a line
//! an action. Ranks work off their actions one after the other; collectives are made of messages.

use std::collections::{BTreeMap, VecDeque};

use weft_dataplane::packets::Picos;
use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::parse_traffic::BYTES_MAX;
use super::size::RANKS_MAX;
use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most, decimal, number, unknown};

/// Most flops of a computation.
const FLOPS_MAX: f64 = 1e18;
/// Bytes of SMPI's first datatypes, by the number that its traces have: double, int, char, short, long, float,
/// byte, long long (`smpi_datatype.cpp`).
const TYPES: [u64; 8] = [8, 4, 1, 2, 8, 4, 1, 8];
/// From this tag on the messages of collectives have theirs, each collective of a program its own.
const COLLECTIVES: u32 = 1 << 31;
const ACTIONS: &str = "init, finalize, compute, send, isend, recv, irecv, wait, waitall, barrier, bcast, \
    reduce, allreduce, alltoall";

/// Sender, receiver and tag of a message.
type Ends = (u32, u32, u32);

/// A rank whose actions are being read.
#[derive(Debug, Clone, Default)]
struct Rank {
    schedule: RankSchedule,
    /// What the next action waits for.
    last: Option<u32>,
    /// Sends and receives that nothing has waited for yet, by sender, receiver and tag.
    open: BTreeMap<Ends, VecDeque<u32>>,
    /// Number of collectives so far.
    collectives: u32,
}

impl Rank {
    /// An operation that begins after the last one that was waited for.
    fn begin(&mut self, operation: Operation) -> u32 {
        let number = self.schedule.add(operation);
        if let Some(last) = self.last {
            self.schedule.ended[last as usize].push(number);
        }
        number
    }

    /// An operation that the next one waits for.
    fn go(&mut self, operation: Operation) {
        self.last = Some(self.begin(operation));
    }

    /// All of these begin, and the next action waits for each.
    fn together(&mut self, operations: impl IntoIterator<Item = Operation>) {
        let numbers: Vec<u32> = operations.into_iter().map(|one| self.begin(one)).collect();
        self.wait_for(&numbers);
    }

    /// The next action waits for operations that have begun.
    fn wait_for(&mut self, numbers: &[u32]) {
        let all = self.begin(Operation::Compute {
            span: 0,
            processor: 0,
        });
        for number in numbers {
            self.schedule.ended[*number as usize].push(all);
        }
        self.last = Some(all);
    }
}

/// A collective of a rank.
#[derive(Debug, Clone, Copy)]
struct Collective {
    rank: u32,
    ranks: u32,
    tag: u32,
}

impl Collective {
    fn send(self, to: u32, bytes: u64) -> Operation {
        let tag = self.tag;
        Operation::Send { to, bytes, tag }
    }

    fn receive(self, from: u32) -> Operation {
        let tag = self.tag;
        Operation::Receive { from, tag }
    }

    /// By dissemination: in step k a word to the rank at distance 2^k.
    fn barrier(self, state: &mut Rank) {
        let mut distance = 1;
        while distance < self.ranks {
            let to = (self.rank + distance) % self.ranks;
            let from = (self.rank + self.ranks - distance) % self.ranks;
            state.together([self.send(to, 0), self.receive(from)]);
            distance *= 2;
        }
    }

    /// Down a binomial tree from its root.
    fn bcast(self, state: &mut Rank, root: u32, bytes: u64) {
        let place = (self.rank + self.ranks - root) % self.ranks;
        let at = |place: u32| (place + root) % self.ranks;
        let mut bit = 1;
        while bit < self.ranks && place & bit == 0 {
            bit *= 2;
        }
        if place != 0 {
            state.go(self.receive(at(place - bit)));
        }
        while bit > 1 {
            bit /= 2;
            if place + bit < self.ranks {
                state.go(self.send(at(place + bit), bytes));
            }
        }
    }

    /// Up the same tree.
    fn reduce(self, state: &mut Rank, root: u32, bytes: u64) {
        let place = (self.rank + self.ranks - root) % self.ranks;
        let at = |place: u32| (place + root) % self.ranks;
        let mut bit = 1;
        while bit < self.ranks && place & bit == 0 {
            if place + bit < self.ranks {
                state.go(self.receive(at(place + bit)));
            }
            bit *= 2;
        }
        if place != 0 {
            state.go(self.send(at(place - bit), bytes));
        }
    }

    /// In step k to the rank at distance k.
    fn alltoall(self, state: &mut Rank, bytes: u64) {
        for distance in 1..self.ranks {
            let to = (self.rank + distance) % self.ranks;
            let from = (self.rank + self.ranks - distance) % self.ranks;
            state.together([self.send(to, bytes), self.receive(from)]);
        }
    }
}

/// Who acts, among how many, on processors of so many flops a second.
#[derive(Debug, Clone, Copy)]
struct Actor {
    rank: u32,
    ranks: u32,
    speed: f64,
}

impl Actor {
    /// Adds an action to the rank's.
    fn act(self, state: &mut Rank, action: &str, words: &[&str]) -> Checked<()> {
        match (action, words) {
            ("init" | "finalize", []) => {}
            ("compute", [flops]) => state.go(self.compute(flops)?),
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
                state.wait_for(&[first]);
            }
            ("waitall", [_]) => {
                let open = std::mem::take(&mut state.open);
                let numbers: Vec<u32> = open.into_values().flatten().collect();
                state.wait_for(&numbers);
            }
            _ => return self.collective(state, action, words),
        }
        Ok(())
    }

    fn message(self, state: &mut Rank, waits: bool, operation: Operation, ends: Ends) {
        match waits {
            true => state.go(operation),
            false => {
                let number = state.begin(operation);
                state.open.entry(ends).or_default().push_back(number);
            }
        }
    }

    fn collective(self, state: &mut Rank, action: &str, words: &[&str]) -> Checked<()> {
        let one = Collective {
            rank: self.rank,
            ranks: self.ranks,
            tag: COLLECTIVES + state.collectives,
        };
        match (action, words) {
            ("barrier", []) => one.barrier(state),
            ("bcast", [count, root, kind @ ..]) => {
                one.bcast(state, self.peer(root)?, elements(count, kind)?);
            }
            ("reduce", [count, flops, root, kind @ ..]) => {
                one.reduce(state, self.peer(root)?, elements(count, kind)?);
                state.go(self.compute(flops)?);
            }
            ("allreduce", [count, flops, kind @ ..]) => {
                let bytes = elements(count, kind)?;
                one.reduce(state, 0, bytes);
                state.go(self.compute(flops)?);
                one.bcast(state, 0, bytes);
            }
            ("alltoall", [count, _, kind @ ..]) => {
                one.alltoall(state, elements(count, &kind[..kind.len().min(1)])?);
            }
            _ => {
                let text = [&[action], words].concat().join(" ");
                return Err(unknown("action", &text, ACTIONS));
            }
        }
        state.collectives = (state.collectives + 1) % COLLECTIVES;
        Ok(())
    }

    fn peer(self, text: &str) -> Checked<u32> {
        number(text, 0, u64::from(self.ranks) - 1).map(|rank| rank as u32)
    }

    fn compute(self, flops: &str) -> Checked<Operation> {
        let seconds = decimal(flops, FLOPS_MAX)? / self.speed;
        let span = (seconds * 1e12).min(Picos::MAX as f64) as Picos;
        Ok(Operation::Compute { span, processor: 0 })
    }
}

fn tag_of(text: &str) -> Checked<u32> {
    number(text, 0, u64::from(COLLECTIVES) - 1).map(|tag| tag as u32)
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
            ranks,
            speed,
        };
        let state = &mut all[actor.rank as usize];
        let before = state.schedule.operations.len();
        let done = actor.act(state, action, rest);
        operations += state.schedule.operations.len() - before;
        let done = done.and_then(|()| at_most(operations, OPERATIONS_MAX, "operations"));
        done.map_err(|what| format!("line {}: {what}", index + 1))?;
    }
    let schedules: Vec<RankSchedule> = all.into_iter().map(|rank| rank.schedule).collect();
    matched(&schedules)?;
    Ok(schedules)
}
