//! Makes the fingerprint of the code that a replay runs: the sources of the manager and of what it is made of.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates whose code decides what the manager sends.
const CRATES: [&str; 8] = [
    "state-derive",
    "state",
    "wire",
    "fabric",
    "config",
    "routing",
    "manager",
    "replay",
];

fn main() -> io::Result<()> {
    let here = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let here = here.ok_or_else(|| io::Error::other("Cargo names no folder of the manifest"))?;
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for name in CRATES {
        let folder = here.with_file_name(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources(&folder, &mut files)?;
        files.sort();
        for file in files {
            // FNV-1a: any hash will do that is the same with every compiler.
            for byte in fs::read(file)? {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
            }
        }
    }
    println!("cargo::rustc-env=WEFT_CORE={hash:016x}");
    Ok(())
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
