//! `dispersion`: how disjoint the paths to the LIDs of a host are.
//!
//! With an LMC of n a port answers to 2^n LIDs, and senders spread their packets over them
//! (dispersive routing). The benefit depends on how many of their paths share nothing:
//! links between switches, or switches on the path besides the first and the last one. The
//! upper bound is the number of disjoint shortest paths in the cabling (max-flow).

mod disjoint;
mod fabric;
mod flow;
mod measure;
mod pair;
mod view;
mod xml;

pub use fabric::{
    DispersionReport, DispersionRow, MAX_SAMPLE, SAMPLE, Sample, UnevenPair, dispersion,
};
pub use measure::{Disjoint, Spread};
pub use pair::{
    DispersedPath, PairDispersion, PairDispersionReport, SharedLink, SharedSwitch,
    dispersion_between,
};
