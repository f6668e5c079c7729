//! Operations of a rank one after the other.

use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

/// A rank that does one thing after the other.
#[derive(Debug, Clone, Default)]
pub struct Sequence {
    pub(crate) schedule: RankSchedule,
    /// What the next operation waits for.
    pub(crate) last: Option<u32>,
}

impl Sequence {
    /// An operation that begins after the last one that was waited for.
    pub fn begin(&mut self, operation: Operation) -> u32 {
        let number = self.schedule.add(operation);
        if let Some(last) = self.last {
            self.schedule.ended[last as usize].push(number);
        }
        number
    }

    /// An operation that the next one waits for.
    pub fn go(&mut self, operation: Operation) {
        self.last = Some(self.begin(operation));
    }

    /// All of these begin, and the next operation waits for each.
    pub fn together(&mut self, operations: impl IntoIterator<Item = Operation>) {
        let numbers: Vec<u32> = operations.into_iter().map(|one| self.begin(one)).collect();
        self.wait_for(&numbers);
    }

    /// The next operation waits for these, which have begun.
    pub fn wait_for(&mut self, numbers: &[u32]) {
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
