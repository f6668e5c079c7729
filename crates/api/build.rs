//! Compiles the definitions below proto/weft without protoc, and keeps the descriptors for reflection.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

const FILES: [&str; 31] = [
    "v1/types",
    "v1/fabric",
    "v1/route",
    "v1/route_back",
    "v1/port",
    "v1/sweep",
    "v1/config",
    "v1/watch",
    "v1/perf",
    "v1/perf_group",
    "v1/counters",
    "v1/counter_clear",
    "emulator/v1/emulator",
    "v1/manager",
    "v1/virtual_fabric",
    "v1/multicast",
    "v1/fabric_plan",
    "v1/replacement",
    "v1/health",
    "v1/cable",
    "v1/operation",
    "v1/picture",
    "v1/history",
    "v1/audit",
    "v1/incident",
    "v1/moment",
    "v1/change",
    "v1/job",
    "v1/what_if",
    "v1/peer",
    "v1/web",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = "../../proto";
    println!("cargo::rerun-if-changed={root}/weft");
    let files = FILES.map(|name| format!("{root}/weft/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
