//! The laboratory: manager and emulator under one virtual clock, deterministic from a seed, judged
//! by oracles that share no code with either.

pub mod campaign;
pub mod cluster;
pub mod door;
pub mod experiment;
pub mod oracle;
mod reader;
pub mod view;
pub mod world;

pub use world::{NoTap, Tap, Wait, World, WorldError};
