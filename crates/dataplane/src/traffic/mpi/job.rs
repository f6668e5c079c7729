//! A program on its ranks.

use super::nic::{Done, Mpi};
use super::word;
use crate::packets::{MICRO, Notice, Picos, Simulation, Traffic};
use crate::traffic::StreamMix;

/// Interval at which a job checks for its end.
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
    /// Packets by patterns that the same hosts send at the same time.
    beside: StreamMix,
}

impl<P> Job<P> {
    /// A program that has not begun.
    pub fn new(mpi: Mpi, program: P) -> Self {
        Self {
            mpi,
            program,
            beside: StreamMix::default(),
        }
    }

    /// The job with additional packets by patterns.
    #[must_use]
    pub fn beside(self, packets: StreamMix) -> Self {
        Self {
            beside: packets.tagged(word::of(word::STREAMS, 0)),
            ..self
        }
    }

    /// The additional packets.
    pub fn packets(&self) -> &StreamMix {
        &self.beside
    }
}

impl<P: Program> Job<P> {
    /// Lets all ranks start.
    pub fn start(&mut self, simulation: &mut Simulation) {
        self.program.begin(&mut self.mpi, simulation);
        self.beside.start(simulation);
    }

    /// Runs until the program has ended, at most up to `until`; returns whether it has.
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
        let tag = match notice {
            Notice::Delivered(delivery) => delivery.tag,
            Notice::Lost(loss) => loss.tag,
            Notice::Timer(tag) => tag,
            Notice::Room(_) => {
                self.beside.handle(simulation, notice);
                0
            }
        };
        if word::split(tag).0 == word::STREAMS {
            return self.beside.handle(simulation, notice);
        }
        self.mpi.handle(simulation, notice);
        while let Some(done) = self.mpi.next_done() {
            self.program.done(&mut self.mpi, simulation, done);
        }
    }
}
