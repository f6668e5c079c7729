//! Fabrics generated, imported and exported.
//!
//! One program for all of them: linking is most of the work of building a test.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod examples;
mod generators;
mod hostile;
mod imports;
mod intended;
mod opareport;
mod picture;
mod slurm;
mod studied;
mod tree;
