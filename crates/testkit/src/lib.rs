//! The test kit: manager and emulator under one virtual clock, deterministic from a seed, checked by
//! oracles that share no code with either.
//!
//! | module | contents |
//! |---|---|
//! | [`world`] | one manager with one emulator |
//! | [`administration`] | subnet administration beside it |
//! | [`cluster`] | several managers with one emulator |
//! | [`door`] | datagrams counted where they enter the emulator |
//! | [`digest`] | datagrams and times of a run, to compare it with another |
//! | [`sa_request`] | requests of hosts to subnet administration |
//! | [`tape`] | recordings of the managers of a run |
//! | [`view`] | the fabric as its registers describe it |
//! | [`oracle`] | the rules of a fabric |
//! | [`campaign`] | faults drawn from a seed, and checks of the rules after each |

pub mod administration;
pub mod campaign;
pub mod cluster;
pub mod digest;
pub mod door;
pub mod grid;
pub mod oracle;
mod reader;
pub mod sa_request;
pub mod tape;
pub mod view;
pub mod world;

pub use administration::Administration;
pub use tape::Tape;
pub use world::{NoTap, Tap, Wait, World, WorldError};
