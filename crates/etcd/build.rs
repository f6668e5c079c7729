//! Compiles etcd.proto without protoc.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=etcd.proto");
    let descriptors = protox::compile(["etcd.proto"], ["."])?;
    tonic_prost_build::configure()
        .build_server(false)
        .compile_fds(descriptors)?;
    Ok(())
}
