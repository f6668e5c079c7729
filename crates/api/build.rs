//! Compiles proto/weft/v1 without protoc, and keeps the descriptors for reflection.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

const FILES: [&str; 12] = [
    "types",
    "fabric",
    "route",
    "port",
    "sweep",
    "config",
    "watch",
    "perf",
    "emulator",
    "manager",
    "virtual_fabric",
    "fabric_plan",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = "../../proto";
    println!("cargo::rerun-if-changed={root}");
    let files = FILES.map(|name| format!("{root}/weft/v1/{name}.proto"));
    let descriptors = protox::compile(files, [root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
