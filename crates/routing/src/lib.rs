//! Routing: engines make forwarding tables and adaptive port groups, the certificate judges them
//! by code that shares nothing with the engines, and the diff orders the writes.
//!
//! [`route`] is the whole way; its result, [`Routed`], can be had only with a [`Certificate`].

mod adaptive;
pub mod certificate;
pub mod diff;
mod engine;
pub mod error;
mod network;
mod paths;
mod planes;
pub mod routed;
pub mod settings;

pub use certificate::{
    Certificate, Channel, Drop, Finding, Hop, Refusal, Tables, Transition, certify,
    certify_transition,
};
pub use diff::{BlockWrite, WritePlan, changed_blocks};
pub use error::RouteError;
pub use routed::{EngineUsed, Note, Routed, route};
pub use settings::{
    AdaptiveAlgorithm, AdaptiveRegister, AdaptiveSettings, EngineKind, FatTreeSettings, Settings,
};
