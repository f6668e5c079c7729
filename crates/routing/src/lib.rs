//! Routing: engines make forwarding tables and adaptive port groups, the certificate checks them
//! with code that shares nothing with the engines, and the diff orders the writes.
//!
//! [`route`] does everything; its result, [`Routed`], exists only with a [`Certificate`].
//! [`reroute`] does it after a change, reusing an earlier result.
//! [`route_by`] does it with a custom [`Engine`].
//! [`route_multicast`] does it for multicast.
//! [`LoopPaths`] has loops for a test of links, and [`certify_loops`] judges them.

mod adaptive;
pub mod certificate;
pub mod diff;
mod engine;
pub mod error;
mod kinds;
mod loops;
pub mod multicast;
mod network;
mod paths;
mod planes;
pub mod quality;
pub mod routed;
mod search;
mod sets;
pub mod settings;

pub use certificate::{
    Certificate, Channel, Drop, Finding, Hop, MulticastCertificate, MulticastFinding,
    MulticastRefusal, Old, Refusal, Tables, Transition, certify, certify_multicast,
    certify_transition, certify_transition_over, multicast_step,
};
pub use diff::{BlockWrite, WritePlan, changed_blocks};
pub use engine::{Engine, Plan};
pub use error::RouteError;
pub use loops::{
    LOOP_LENGTH, LoopCoverage, LoopFault, LoopPath, LoopPaths, LoopSettings, certify_loops,
};
pub use multicast::{
    MulticastGroup, MulticastNote, MulticastRequest, MulticastSettings, RootChoice,
    RoutedMulticast, route_multicast,
};
pub use network::{Egress, EndPort, Network};
pub use routed::{EngineUsed, Note, Routed, reroute, route, route_by};
pub use settings::{
    AdaptiveAlgorithm, AdaptiveRegister, AdaptiveSettings, Dimension, DorSettings, EngineKind,
    FatTreeSettings, HypercubeSettings, OrderGroup, PortCost, Settings,
};
pub use weft_fabric::Lanes;
