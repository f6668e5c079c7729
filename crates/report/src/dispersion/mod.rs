//! `dispersion`: how far the LIDs of a host lead over different ways.
//!
//! With an LMC of n a port answers to 2^n LIDs, and senders spread their packets over them
//! (dispersive routing). What that is worth depends on how many of their paths share nothing:
//! links between switches, or switches on the way besides the first and the last one. What would
//! be possible is the most disjoint paths of fewest hops that the cables allow (max-flow).

mod disjoint;
mod fabric;
mod flow;
mod measure;
mod pair;
mod view;

pub use fabric::{
    DispersionReport, DispersionRow, MAX_SAMPLE, SAMPLE, Sample, UnevenPair, dispersion,
};
pub use measure::{Disjoint, Spread};
pub use pair::{
    DispersedPath, PairDispersion, PairDispersionReport, SharedLink, SharedSwitch,
    dispersion_between,
};
