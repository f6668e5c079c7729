//! BookSim 2, which works cycle by cycle: a flit crosses a link in a cycle.

use std::path::Path;

use super::process::{Cost, number_after, run};
use super::{SQUARE, Simulator, Traffic};
use crate::Failure;

const NAME: &str = "BookSim 2";

pub(super) const BOOKSIM: Simulator = Simulator {
    name: NAME,
    program: "booksim",
    packet: "one flit",
    tree: SQUARE,
    traffic: &Traffic::ALL,
    lengths: [60, 240],
    run: simulate,
};

fn simulate(program: &Path, dir: &Path, traffic: Traffic, cycles: u32) -> Result<Cost, Failure> {
    let (pattern, rate) = match traffic {
        Traffic::Half => ("uniform", 0.5),
        Traffic::All => ("uniform", 1.0),
        Traffic::Permutation => ("randperm", 1.0),
    };
    let file = dir.join("settings");
    std::fs::write(&file, settings(pattern, rate, cycles))
        .map_err(Failure::io("BookSim's settings"))?;
    let (said, seconds) = run(NAME, program, dir, &["settings"])?;
    let accepted = number_after(NAME, &said, "Accepted packet rate average =")?;
    let packets = accepted * f64::from(cycles) * f64::from(SQUARE.hosts());
    let hops = packets * SQUARE.mean_hops();
    Ok(Cost { hops, seconds })
}

/// One sample from cold, which never counts as settled: it ends with the cycle, and lets nothing drain.
fn settings(pattern: &str, rate: f64, cycles: u32) -> String {
    let k = SQUARE.cores;
    format!(
        "topology = fattree; k = {k}; n = 2; routing_function = nca;
num_vcs = 8; vc_buf_size = 8; packet_size = 1;
traffic = {pattern}; injection_rate = {rate:.1};
sim_type = throughput; sample_period = {cycles}; max_samples = 1; sim_count = 1; seed = 1;
warmup_periods = 0; warmup_thres = 0.0; acc_warmup_thres = 0.0;
stopping_thres = 0.0; acc_stopping_thres = 0.0;
"
    )
}
