//! A program on its ranks.

use super::nic::{Done, Mpi};
use crate::packets::{MICRO, Notice, Picos, Simulation, Traffic};

/// How often a job looks whether it has ended.
const STRIDE: Picos = 10 * MICRO;

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
    /// Lets all ranks start.
    pub fn start(&mut self, simulation: &mut Simulation) {
        self.program.begin(&mut self.mpi, simulation);
    }

    /// Goes on until the program has ended, at most up to `until`; says whether it has.
    pub fn advance(&mut self, simulation: &mut Simulation, until: Picos) -> bool {
        while !self.program.has_ended() {
            let Some(next) = simulation.deadline().filter(|next| *next <= until) else {
                return false;
            };
            simulation.run(self, (next + STRIDE).min(until));
        }
        true
    }

    /// Both together.
    pub fn run(&mut self, simulation: &mut Simulation, until: Picos) -> bool {
        self.start(simulation);
        self.advance(simulation, until)
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
