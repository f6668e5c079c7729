//! The Python package: built, checked by mypy, and used on an emulated fabric.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text};

/// What the package is built, checked and used with.
const TOOLS: [&str; 8] = [
    "setuptools",
    "grpcio-tools",
    "mypy-protobuf",
    "mypy",
    "grpc-stubs",
    "types-protobuf",
    "pandas",
    "pandas-stubs",
];

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/python")
}

/// A directory for Python's programs, kept between runs.
struct Python(PathBuf);

impl Python {
    /// With the package, built anew. `None` where Python is not installed or its packages cannot be fetched.
    fn with_package() -> Option<Self> {
        let system = weft_peers::program("python3")?;
        let python = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join("python"));
        if !python.0.join("complete").exists() {
            let made = Command::new(system)
                .args(["-m", "venv"])
                .arg(&python.0)
                .output()
                .unwrap();
            let fetched = made.status.success().then(|| python.pip(&TOOLS));
            let fetched = fetched.unwrap_or(made);
            if !fetched.status.success() {
                let why = text(&fetched.stdout) + &text(&fetched.stderr);
                weft_peers::not_run(format_args!("no Python with {TOOLS:?}: {why}"));
                return None;
            }
            std::fs::write(python.0.join("complete"), "").unwrap();
        }
        let package = package();
        let options = ["--no-build-isolation", "--no-deps", "--force-reinstall"];
        let built = python.pip(&[&options[..], &[package.to_str().unwrap()]].concat());
        assert!(
            built.status.success(),
            "{}{}",
            text(&built.stdout),
            text(&built.stderr)
        );
        Some(python)
    }

    fn pip(&self, what: &[&str]) -> Output {
        let mut command = self.command();
        command.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        command.args(what).output().unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.0.join("bin/python"));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.0.join("bin").display()));
        command
    }

    /// Runs a script of the package's directory; exit code and output.
    fn script(&self, daemon: &Daemon, script: &str, args: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command();
        command
            .env("WEFT_ADDRESS", &daemon.api)
            .arg(package().join(script))
            .args(args);
        let ended = command.output().unwrap();
        (
            ended.status.code(),
            text(&ended.stdout) + &text(&ended.stderr),
        )
    }
}

#[test]
fn the_package_is_typed_and_its_calls_and_examples_work() {
    let Some(python) = Python::with_package() else {
        return;
    };
    for what in [&["-p", "weft"][..], &["examples", "tests"]] {
        let mut mypy = python.command();
        mypy.args(["-m", "mypy", "--strict", "--cache-dir"])
            .arg(python.0.join("mypy"))
            .args(what);
        let checked = mypy.current_dir(package()).output().unwrap();
        assert!(
            checked.status.success(),
            "{}{}",
            text(&checked.stdout),
            text(&checked.stderr)
        );
    }

    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("pgft:2;4,3;1,2;1,1", &socket);
    let start = Start::connected(&socket);
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    assert_eq!(
        python.script(&daemon, "tests/calls.py", &[]),
        (Some(0), String::new())
    );

    let drain = |args: &[&str]| python.script(&daemon, "examples/drain_switch.py", args);
    assert_eq!(
        drain(&["core1"]),
        (Some(0), "core1 is safe to pull\n".to_owned())
    );
    assert!(daemon.weft_ok(&["route", "drains"]).contains("core1"));
    assert_eq!(
        drain(&["core1", "--undrain"]),
        (Some(0), "core1 is in use again\n".to_owned())
    );
    let (code, said) = drain(&["edge1"]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("edge1 stays in use: switch edge1 "),
        "{said}"
    );
    let (code, said) = drain(&["nosuch"]);
    assert_eq!(
        (code, said.as_str()),
        (
            Some(1),
            "NOT_FOUND: focus: no node named 'nosuch' in the fabric\n"
        )
    );

    worst_links(&python, &daemon, &emulator);

    let file = dir.path().join("links.csv");
    let (code, said) = python.script(&daemon, "examples/report.py", &[file.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("18 links, "), "{said}");
    let table = std::fs::read_to_string(file).unwrap();
    assert_eq!(table.lines().count(), 19);
    assert!(table.contains("\nnode1 hfi1_0,1,edge1,1,100g,"), "{table}");
}

/// A link between switches is put into quarantine; the only one of a host stays.
fn worst_links(python: &Python, daemon: &Daemon, emulator: &Emulator) {
    let links = daemon.weft_ok(&["report", "links"]);
    let core = links.lines().collect::<Vec<_>>();
    let link = core
        .windows(2)
        .find(|pair| pair[0].contains(" edge1") && pair[1].contains(" core1"))
        .unwrap();
    let port = link[0].split_whitespace().nth(2).unwrap();
    let edge1 = "0x0011750102000001";
    // Counts are seen by the reading after them, until the next one.
    for _ in 0..20 {
        emulator.change(&["count-errors", edge1, port, "--discards", "500"]);
        emulator.change(&["count-errors", edge1, "2", "--discards", "100"]);
        std::thread::sleep(std::time::Duration::from_millis(700));
        let (code, said) = python.script(daemon, "examples/worst_links.py", &[]);
        assert_eq!(code, Some(0), "{said}");
        if said.is_empty() {
            continue;
        }
        let lines: Vec<&str> = said.lines().collect();
        assert!(
            lines.iter().any(|line| line.contains(" is in quarantine: ")
                && line.contains(" packets discarded in ")),
            "{said}"
        );
        let listed = daemon.weft_ok(&["quarantine", "list"]);
        assert_eq!(listed.lines().count(), 1, "{listed}");
        assert!(
            listed.contains("edge1") || listed.contains("core1"),
            "{listed}"
        );
        assert!(listed.contains(" packets discarded in "), "{listed}");
        return;
    }
    panic!("no reading shows the discards");
}
