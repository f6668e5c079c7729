//! Bodies of the fuzz targets in `tests/fuzz`, one module each. They are here so that an ordinary test can
//! replay the corpora in `seeds`, without a fuzzer.

pub mod agents;
pub mod aggregate;
pub mod answers;
pub mod config;
pub mod conversation;
pub mod datagram;
pub mod directed_route;
pub mod fabric_import;
pub mod fabric_spec;
pub mod frames;
pub mod manager;
mod one_switch;
pub mod performance;
pub mod point;
pub mod preload;
pub mod rmpp;
pub mod scenario;
pub mod structures;
pub mod subnet_administration;
pub mod three_hosts;
pub mod traffic_file;

/// Name of a target, which is also its corpus's, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("agents", agents::run),
    ("aggregate", aggregate::run),
    ("answers", answers::run),
    ("config", config::run),
    ("conversation", conversation::run),
    ("datagram", datagram::run),
    ("directed_route", directed_route::run),
    ("fabric_spec", fabric_spec::run),
    ("frames", frames::run),
    ("import", fabric_import::run),
    ("manager", manager::run),
    ("performance", performance::run),
    ("point", point::run),
    ("preload", preload::run),
    ("rmpp", rmpp::run),
    ("scenario", scenario::run),
    ("structures", structures::run),
    ("subnet_administration", subnet_administration::run),
    ("traffic_file", traffic_file::run),
];
