//! The laboratory: experiments with traffic on a fabric that the manager brings up, compared with
//! published measurements; and the program that runs them, campaigns and recordings.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod attacks;
pub mod experiment;
mod faults;
mod program;
mod replay;
mod run;
mod topologies;

pub use program::main_with;
