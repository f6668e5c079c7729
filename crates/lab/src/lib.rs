//! The laboratory: experiments with traffic on a fabric that the manager brings up, compared with
//! published measurements.

pub mod experiment;
