//! What the instruction counts run. `weft-bench` measures the same fabrics. Of the workspace it uses
//! only what is counted: the counts are built optimised, apart from all other tests.

pub mod fabrics;
pub mod network;
