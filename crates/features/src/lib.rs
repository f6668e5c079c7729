//! Empty: the crate exists for the features in its manifest.
//!
//! Cargo selects the features of a third-party crate by the packages that one command builds. The
//! terminal of `weft` needs more of `mio` or `syn` than the daemon does, so that without this crate
//! `cargo run --bin weftd` and `cargo build` would compile most of their dependencies once each.
//! Every package with a program depends on it. `tests/features` finds what the manifest lacks.
