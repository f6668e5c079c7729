//! Routing and certificate beside writing the same tables with memset.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use weft_fabric::{LinearTables, Topology};
use weft_routing::{EngineKind, RouteError, Routed, Settings, Tables, certify, route};

/// Seconds that the steps took, the least of several runs.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Routing and certificate together.
    pub total: f64,
    /// The certificate alone.
    pub certificate: f64,
    /// Filling tables of the same size, newly allocated, on the same cores.
    pub memset: f64,
}

/// Routes a topology several times.
///
/// # Errors
/// [`RouteError`] when it cannot be routed.
pub fn measure(topology: &Topology, engine: EngineKind, runs: u32) -> Result<Times, RouteError> {
    let settings = Settings {
        engine,
        ..Settings::default()
    };
    let mut times = Times {
        total: f64::INFINITY,
        certificate: f64::INFINITY,
        memset: f64::INFINITY,
    };
    for _ in 0..runs {
        let (seconds, routed) = timed(|| route(topology, &settings));
        let routed = routed?;
        times.total = times.total.min(seconds);
        let seconds = judge(topology, &routed);
        times.certificate = times.certificate.min(seconds);
        let tables = Arc::clone(routed.linear());
        drop(routed);
        let row = tables.row(weft_fabric::SwitchIndex(0)).len();
        let switches = tables.len();
        drop(tables);
        let (seconds, _) = timed(|| black_box(fill(switches, row)));
        times.memset = times.memset.min(seconds);
    }
    Ok(times)
}

fn judge(topology: &Topology, routed: &Routed) -> f64 {
    let tables = Tables {
        linear: routed.linear(),
        groups: routed.groups(),
    };
    timed(|| black_box(certify(topology, tables))).0
}

/// Tables that drop everything.
fn fill(switches: usize, row: usize) -> LinearTables {
    let rows = (0..switches).into_par_iter();
    let rows = rows.map(|_| std::iter::repeat_n(0xFF, row).collect::<Arc<[u8]>>());
    LinearTables::new(rows.collect())
}

/// What a step takes in seconds of wall clock, and its result.
pub fn timed<T>(step: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = step();
    (start.elapsed().as_secs_f64(), result)
}
