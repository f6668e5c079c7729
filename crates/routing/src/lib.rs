//! Routing: engines make forwarding tables and adaptive port groups, the certificate judges them
//! by code that shares nothing with the engines, and the diff orders the writes.
//!
//! [`route`] is the whole way; its result, [`Routed`], can be had only with a [`Certificate`].
//! [`route_multicast`] is the same for multicast.

mod adaptive;
pub mod certificate;
pub mod diff;
mod engine;
pub mod error;
mod lanes;
pub mod multicast;
mod network;
mod paths;
mod planes;
pub mod routed;
pub mod settings;

pub use certificate::{
    Certificate, Channel, Drop, Finding, Hop, MulticastCertificate, MulticastFinding,
    MulticastRefusal, Refusal, Tables, Transition, certify, certify_multicast, certify_transition,
    multicast_step,
};
pub use diff::{BlockWrite, WritePlan, changed_blocks};
pub use error::RouteError;
pub use lanes::Lanes;
pub use multicast::{
    MulticastGroup, MulticastNote, MulticastRequest, MulticastSettings, RootChoice,
    RoutedMulticast, route_multicast,
};
pub use routed::{EngineUsed, Note, Routed, route};
pub use settings::{
    AdaptiveAlgorithm, AdaptiveRegister, AdaptiveSettings, EngineKind, FatTreeSettings, Settings,
};
