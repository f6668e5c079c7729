//! Several instances of one opafm.xml on one host.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use weft_interop::Running;

use crate::harness::{stock_config, text, wait_for, weft};
use crate::process::{output, program};

/// The stock configuration with all of its 8 instances in use.
fn configure(dir: &Path) -> PathBuf {
    let stock = std::fs::read_to_string(stock_config()).unwrap();
    let more: String = (1..8)
        .map(|instance| {
            format!(
                "<Fm><Shared><Start>1</Start><Name>fm{instance}</Name></Shared><Sm/><Fe/><Pm/></Fm>"
            )
        })
        .collect();
    let (before, after) = stock.rsplit_once("</Fm>").unwrap();
    let file = dir.join("opafm.xml");
    std::fs::write(&file, format!("{before}</Fm>{more}{after}")).unwrap();
    file
}

/// The daemon of an instance, with that instance's own ports.
fn command(dir: &Path, instance: &str, fabric: &str) -> Command {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    command.args(["--instance", instance, "--emulate", fabric]);
    command.arg("--config").arg(dir.join("opafm.xml"));
    command.arg("--state-dir").arg(dir.join("state"));
    command.arg("--opafmcmd").arg(dir.join("sockets"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn ask(words: &[&str]) -> Output {
    output(program(weft()).args(words))
}

fn hosts(instance: &str) -> Option<u64> {
    let ran = ask(&["--instance", instance, "fabric", "show", "--json"]);
    let shown: serde_json::Value = serde_json::from_slice(&ran.stdout).ok()?;
    shown["hfis"].as_u64()
}

#[test]
fn each_instance_has_ports_state_and_sockets_of_its_own() {
    let dir: TempDir = tempfile::tempdir().unwrap();
    configure(dir.path());
    let mut sixth = command(dir.path(), "6", "one-switch:3");
    let mut seventh = command(dir.path(), "7", "one-switch:5");
    let _running = [Running::start(&mut sixth), Running::start(&mut seventh)];
    for (instance, expected) in [("6", 3), ("7", 5)] {
        wait_for(|| hosts(instance).filter(|hosts| *hosts == expected));
    }
    for port in [9375, 9385] {
        std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
    }
    for file in [
        "state/state.6",
        "state/state.7",
        "sockets/sm_6",
        "sockets/pm_7",
    ] {
        wait_for(|| dir.path().join(file).exists().then_some(()));
    }

    let again = output(&mut command(dir.path(), "6", "one-switch:3"));
    assert_eq!(again.status.code(), Some(6), "{}", text(&again.stderr));

    let both = ask(&[
        "--instance",
        "6",
        "--address",
        "http://127.0.0.1:9373",
        "fabric",
        "show",
    ]);
    assert_eq!(both.status.code(), Some(2));
    let said = text(&both.stderr);
    assert!(said.contains("give one of them"), "{said}");
}

#[test]
fn an_instance_beyond_the_last_is_wrong_usage() {
    for client in [Path::new(env!("CARGO_BIN_EXE_weftd")), weft()] {
        let ran = output(program(client).args(["--instance", "8"]));
        assert_eq!(ran.status.code(), Some(2));
        let said = text(&ran.stderr);
        assert!(said.contains("8 is not in 0..=7"), "{said}");
    }
}
