//! CAMINOS, cycle by cycle for phits, event by event for idle parts.

use std::path::Path;

use super::process::{Cost, number_after, run};
use super::{OMNI_PATH, Simulator, Traffic, Tree};
use crate::Failure;

const NAME: &str = "CAMINOS 0.6.3";

pub(super) const CAMINOS: Simulator = Simulator {
    name: NAME,
    program: "bin/caminos",
    packet: "one phit",
    tree: OMNI_PATH,
    traffic: &Traffic::ALL,
    lengths: [200, 1_000],
    run: simulate,
};

fn simulate(program: &Path, dir: &Path, traffic: Traffic, cycles: u32) -> Result<Cost, Failure> {
    let file = dir.join("experiment.cfg");
    std::fs::write(&file, experiment(OMNI_PATH, traffic, cycles))
        .map_err(Failure::io("CAMINOS's experiment"))?;
    let (said, seconds) = run(NAME, program, dir, &["experiment.cfg"])?;
    let accepted = number_after(NAME, &said, "accepted_load:")?;
    let packets = accepted * f64::from(cycles) * f64::from(OMNI_PATH.hosts());
    let hops = packets * OMNI_PATH.mean_hops();
    Ok(Cost { hops, seconds })
}

fn experiment(tree: Tree, traffic: Traffic, cycles: u32) -> String {
    let Tree { edges, cores } = tree;
    let hosts = tree.hosts();
    let (pattern, load) = match traffic {
        Traffic::Half => ("Uniform", 0.5),
        Traffic::All => ("Uniform", 1.0),
        Traffic::Permutation => ("RandomPermutation", 1.0),
    };
    format!(
        "Configuration {{
    random_seed: 1,
    warmup: 0,
    measured: {cycles},
    topology: XGFT {{ height: 1, down: [{edges}], up: [{cores}], servers_per_leaf: {cores} }},
    traffic: HomogeneousTraffic {{ pattern: {pattern}, servers: {hosts}, load: {load:.1}, message_size: 1 }},
    maximum_packet_size: 1,
    router: Basic {{
        virtual_channels: 8,
        virtual_channel_policies: [ EnforceFlowControl, Random ],
        delay: 0,
        buffer_size: 8,
        bubble: false,
        flit_size: 1,
        intransit_priority: false,
        allow_request_busy_port: true,
        output_buffer_size: 4,
        output_priorize_lowest_label: false,
    }},
    routing: UpDown,
    link_classes: [ LinkClass {{ delay: 1 }}, LinkClass {{ delay: 1 }} ],
}}
"
    )
}
