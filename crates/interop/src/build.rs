//! Programs of other packages of this workspace, built where a test needs them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a program like the file `beside`, and returns its path. With the features of the
/// whole workspace, and the profile of tests, nothing is compiled a second time.
///
/// # Panics
/// When it cannot be built.
pub fn built(program: &str, beside: &Path) -> PathBuf {
    let mut places = beside.ancestors().skip(1);
    let directory = places.find(|place| !place.ends_with("deps")).unwrap();
    let profile = match directory.ends_with("release") {
        true => "release",
        false => "test",
    };
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--workspace", "--bin", program])
        .args(["--profile", profile])
        .arg("--target-dir")
        .arg(directory.parent().unwrap())
        .arg("--manifest-path")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    // What Cargo tells this test about its own package would make dependencies look changed.
    let own = std::env::vars_os().map(|(name, _)| name);
    for name in own.filter(|name| name.to_string_lossy().starts_with("CARGO_PKG_")) {
        build.env_remove(name);
    }
    build.env_remove("CARGO_MANIFEST_DIR");
    assert!(
        build.status().unwrap().success(),
        "{program} cannot be built"
    );
    directory.join(program)
}
