//! A program on its ranks.

use super::nic::{Done, Mpi};
use crate::packets::{MILLI, Notice, Picos, Simulation, Traffic};

/// A benchmark: what its ranks do, all together.
pub trait Program {
    /// All ranks start.
    fn begin(&mut self, mpi: &mut Mpi, simulation: &mut Simulation);
    /// Something that a rank waited for has happened.
    fn done(&mut self, mpi: &mut Mpi, simulation: &mut Simulation, done: Done);
    /// Whether all ranks have ended.
    fn has_ended(&self) -> bool;
}

/// A program with its ranks' messages.
#[derive(Debug, Clone)]
pub struct Job<P> {
    /// The messages.
    pub mpi: Mpi,
    /// The program.
    pub program: P,
}

impl<P: Program> Job<P> {
    /// Runs the program from the beginning to its end, at most up to `until`; says whether it
    /// ended.
    pub fn run(&mut self, simulation: &mut Simulation, until: Picos) -> bool {
        self.program.begin(&mut self.mpi, simulation);
        while !self.program.has_ended() {
            let Some(next) = simulation.deadline().filter(|next| *next <= until) else {
                return false;
            };
            simulation.run(self, (next + MILLI / 100).min(until));
        }
        true
    }
}

impl<P: Program> Traffic for Job<P> {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        self.mpi.handle(simulation, notice);
        while let Some(done) = self.mpi.next_done() {
            self.program.done(&mut self.mpi, simulation, done);
        }
    }
}
