//! Whether other people's programs are there.

use std::path::{Path, PathBuf};

/// Where the vendor's manager is.
pub const VENDOR_SM: &str = "/usr/lib/opa-fm/runtime/sm";

/// Whether other people's programs have to be there: `WEFT_PEERS=required`.
pub fn peers_required() -> bool {
    std::env::var("WEFT_PEERS").is_ok_and(|value| value == "required")
}

/// Where a program is: a path, or a name to be found in `PATH`. None, said aloud, when it is not
/// there and need not be.
///
/// # Panics
/// When it is not there and has to be.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    directories.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    let found = match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(|path| path.exists()),
        false => directories
            .iter()
            .map(|directory| directory.join(name))
            .find(|path| Path::exists(path)),
    };
    if found.is_none() {
        assert!(!peers_required(), "{name} is not installed");
        println!("not run: {name} is not installed");
    }
    found
}
