//! The laboratory: experiments with traffic on a fabric that the manager brings up, measured beside
//! what was published.

pub mod experiment;
