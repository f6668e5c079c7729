//! Operations of a rank one after the other, and collectives made of messages.

use std::ops::Range;

use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

/// Tags of collectives' messages begin here, each collective has its own.
pub(super) const COLLECTIVES: u32 = 1 << 31;

/// A rank that does one thing after the other.
#[derive(Debug, Clone, Default)]
pub(super) struct Sequence {
    pub(super) schedule: RankSchedule,
    /// What the next operation waits for.
    pub(super) last: Option<u32>,
}

impl Sequence {
    /// An operation that begins after the last one that was waited for.
    pub(super) fn begin(&mut self, operation: Operation) -> u32 {
        let number = self.schedule.add(operation);
        if let Some(last) = self.last {
            self.schedule.ended[last as usize].push(number);
        }
        number
    }

    /// An operation that the next one waits for.
    pub(super) fn go(&mut self, operation: Operation) {
        self.last = Some(self.begin(operation));
    }

    /// All of these begin, and the next operation waits for each.
    pub(super) fn together(&mut self, operations: impl IntoIterator<Item = Operation>) {
        let numbers: Vec<u32> = operations.into_iter().map(|one| self.begin(one)).collect();
        self.wait_for(&numbers);
    }

    /// The next operation waits for these, which have begun.
    pub(super) fn wait_for(&mut self, numbers: &[u32]) {
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

/// The part of one member in a collective.
#[derive(Debug, Clone, Copy)]
pub(super) struct Collective<'a> {
    /// The ranks that take part, in order.
    pub(super) members: &'a [u32],
    /// The member's place among them.
    pub(super) place: u32,
    pub(super) tag: u32,
}

impl Collective<'_> {
    fn count(self) -> u32 {
        self.members.len() as u32
    }

    fn send(self, to: u32, bytes: u64) -> Operation {
        let (to, tag) = (self.members[to as usize], self.tag);
        Operation::Send { to, bytes, tag }
    }

    fn receive(self, from: u32) -> Operation {
        let (from, tag) = (self.members[from as usize], self.tag);
        Operation::Receive { from, tag }
    }

    /// The members at a distance after and before this one.
    fn at_distance(self, distance: u32) -> (u32, u32) {
        let count = self.count();
        (
            (self.place + distance) % count,
            (self.place + count - distance) % count,
        )
    }

    /// By dissemination: in step k a word to the member at distance 2^k.
    pub(super) fn barrier(self, state: &mut Sequence) {
        let mut distance = 1;
        while distance < self.count() {
            let (to, from) = self.at_distance(distance);
            state.together([self.send(to, 0), self.receive(from)]);
            distance *= 2;
        }
    }

    /// Down a binomial tree from its root.
    pub(super) fn bcast(self, state: &mut Sequence, root: u32, bytes: u64) {
        self.down(state, root, |_| bytes);
    }

    /// Up the same tree.
    pub(super) fn reduce(self, state: &mut Sequence, root: u32, bytes: u64) {
        self.up(state, root, |_| bytes);
    }

    /// Up the same tree: each member's `bytes`, with those of all below it (MPICH's `gather_intra_binomial.c`).
    pub(super) fn gather(self, state: &mut Sequence, root: u32, bytes: u64) {
        self.up(state, root, |below| {
            bytes.saturating_mul(u64::from(below.end - below.start))
        });
    }

    /// Down the same tree: to each member its block, with those of all below it (MPICH's `scatter_intra_binomial.c`).
    /// `bytes` are those of all blocks together.
    pub(super) fn scatter(self, state: &mut Sequence, root: u32, bytes: u64) {
        let at = |place: u32| (place + root) % self.count();
        self.down(state, root, |below| {
            below.map(|place| self.block(at(place), bytes)).sum()
        });
    }

    /// Up a binomial tree to its root. `bytes` are what a member sends for all places from its own on that are below it.
    fn up(self, state: &mut Sequence, root: u32, bytes: impl Fn(Range<u32>) -> u64) {
        let (count, place) = (self.count(), self.after(root));
        let at = |place: u32| (place + root) % count;
        let mut bit = 1;
        while bit < count && place & bit == 0 {
            if place + bit < count {
                state.go(self.receive(at(place + bit)));
            }
            bit *= 2;
        }
        if place != 0 {
            let below = place..(place + bit).min(count);
            state.go(self.send(at(place - bit), bytes(below)));
        }
    }

    /// Down the same tree from its root; `bytes` are what goes to a member for all places from its own on that are below it.
    fn down(self, state: &mut Sequence, root: u32, bytes: impl Fn(Range<u32>) -> u64) {
        let (count, place) = (self.count(), self.after(root));
        let at = |place: u32| (place + root) % count;
        let mut bit = 1;
        while bit < count && place & bit == 0 {
            bit *= 2;
        }
        if place != 0 {
            state.go(self.receive(at(place - bit)));
        }
        while bit > 1 {
            bit /= 2;
            let other = place + bit;
            if other < count {
                let below = other..(other + bit).min(count);
                state.go(self.send(at(other), bytes(below)));
            }
        }
    }

    /// The place counted from a root.
    fn after(self, root: u32) -> u32 {
        (self.place + self.count() - root) % self.count()
    }

    /// In step k to the member at distance k.
    pub(super) fn alltoall(self, state: &mut Sequence, bytes: u64) {
        for distance in 1..self.count() {
            let (to, from) = self.at_distance(distance);
            state.together([self.send(to, bytes), self.receive(from)]);
        }
    }

    /// So many steps around the ring: in each of them a block to the next member, and one from the member before.
    /// First its own block goes, then the one before it. `bytes` are those of all blocks together.
    fn ring(self, state: &mut Sequence, steps: u32, bytes: u64) {
        let count = self.count();
        if count < 2 {
            return;
        }
        let (to, from) = self.at_distance(1);
        for step in 0..steps {
            let block = (self.place + count - step % count) % count;
            state.together([self.send(to, self.block(block, bytes)), self.receive(from)]);
        }
    }

    /// Bytes of a block: as even as they can be.
    fn block(self, block: u32, bytes: u64) -> u64 {
        let part = |block: u32| {
            let end = u128::from(bytes) * u128::from(block) / u128::from(self.count());
            end as u64
        };
        part(block + 1) - part(block)
    }

    /// Around a ring: each block is reduced on its way, then goes round once more (Patarasu and Yuan 2009; NCCL's ring).
    pub(super) fn all_reduce(self, state: &mut Sequence, bytes: u64) {
        self.ring(state, 2 * (self.count() - 1), bytes);
    }

    /// The first half of that.
    pub(super) fn reduce_scatter(self, state: &mut Sequence, bytes: u64) {
        self.ring(state, self.count() - 1, bytes);
    }

    /// The second half: each member's `bytes` go round.
    pub(super) fn all_gather(self, state: &mut Sequence, bytes: u64) {
        let all = bytes.saturating_mul(u64::from(self.count()));
        self.ring(state, self.count() - 1, all);
    }
}
