//! Third-party programs and data that tests compare Weft with, if this machine has them.
//!
//! A test asks for its peers and returns if the answer is `None`. That is never silent: the
//! missing peer is printed, and appended to the file that `WEFT_NOT_RUN` names, from which
//! `tests/run` prints its summary. With `WEFT_PEERS=required` it is a failure.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The vendor's fabric manager, from Debian's package opa-fm.
pub const VENDOR_SM: &str = "/usr/lib/opa-fm/runtime/sm";

/// A program: a path, or a name that is looked up in `PATH` and the directories for administrators.
///
/// # Panics
/// When it is missing and `WEFT_PEERS=required`.
pub fn program(name: &str) -> Option<PathBuf> {
    let found = match name.contains('/') {
        true => Some(PathBuf::from(name)).filter(|path| path.exists()),
        false => in_path(name),
    };
    if found.is_none() {
        not_run(format_args!("{name} is not installed"));
    }
    found
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut directories = std::env::split_paths(&path).chain(administrators);
    directories.find_map(|directory| Some(directory.join(name)).filter(|path| path.is_file()))
}

/// Runs a program to its end, whatever its exit status is.
///
/// # Panics
/// When it is missing and `WEFT_PEERS=required`.
pub fn output(command: &mut Command) -> Option<Output> {
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            let program = command.get_program().display();
            not_run(format_args!("{program} cannot be run: {error}"));
            None
        }
    }
}

/// A file of the public data that is not part of the repository, in the directory that
/// `WEFT_TOPOLOGIES` names.
///
/// # Panics
/// When it is missing and `WEFT_PEERS=required`.
pub fn public_file(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("WEFT_TOPOLOGIES").map(PathBuf::from);
    let path = directory.map(|directory| directory.join(name));
    let found = path.filter(|path| path.exists());
    if found.is_none() {
        not_run(format_args!("there is no $WEFT_TOPOLOGIES/{name}"));
    }
    found
}

/// Says that the calling test is not run, or only in part, and why.
///
/// # Panics
/// With `WEFT_PEERS=required`, and when the file that `WEFT_NOT_RUN` names cannot be written.
pub fn not_run(why: impl Display) {
    let required = std::env::var_os("WEFT_PEERS").is_some_and(|value| value == "required");
    assert!(!required, "{why}, and WEFT_PEERS=required");
    let line = format!("{}: {why}", running());
    println!("not run: {line}");
    if let Some(file) = std::env::var_os("WEFT_NOT_RUN") {
        append(Path::new(&file), &line);
    }
}

/// The name of the calling test after that of its crate, as `routing::ibdmchk::trees`.
fn running() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    // Cargo adds a hash to the name of a test's program.
    let stem = stem.rsplit_once('-').map_or(&*stem, |(name, _hash)| name);
    let thread = std::thread::current();
    format!("{stem}::{}", thread.name().unwrap_or("?"))
}

/// Adds a line in one write, so that tests of several processes can share the file.
fn append(file: &Path, line: &str) {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    assert!(written.is_ok(), "{}: {written:?}", file.display());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Runs the ignored test of this name again, in a process with these variables.
    fn again(test: &str, variables: &[(&str, &Path)]) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture"]);
        command.env_remove("WEFT_PEERS").env_remove("WEFT_NOT_RUN");
        command.envs(variables.iter().copied()).output().unwrap()
    }

    #[test]
    fn a_missing_peer_is_printed_and_recorded() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("not-run");
        for _ in 0..2 {
            let ran = again("tests::needs_what_is_missing", &[("WEFT_NOT_RUN", &file)]);
            assert!(ran.status.success(), "{ran:?}");
            let printed = String::from_utf8(ran.stdout).unwrap();
            assert!(printed.contains("not run: weft_peers::"), "{printed}");
        }
        let recorded = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = recorded.lines().collect();
        assert_eq!(lines.len(), 6, "{recorded}");
        for missing in ["no-such-program is not", "/no/such/file is not", "be run"] {
            assert!(recorded.contains(missing), "{missing}: {recorded}");
        }
    }

    #[test]
    fn a_missing_peer_fails_where_peers_are_required() {
        let required = [("WEFT_PEERS", Path::new("required"))];
        let ran = again("tests::needs_what_is_missing", &required);
        assert!(!ran.status.success(), "{ran:?}");
    }

    #[test]
    fn what_is_there_is_found() {
        assert!(in_path("sh").is_some());
        assert_eq!(program("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert!(output(&mut Command::new("true")).unwrap().status.success());
    }

    /// Only for `again`: requires a peer that no machine has.
    #[test]
    #[ignore = "the other tests run it in processes of its own"]
    fn needs_what_is_missing() {
        assert_eq!(program("no-such-program"), None);
        assert_eq!(program("/no/such/file"), None);
        assert!(output(&mut Command::new("no-such-program")).is_none());
    }
}
