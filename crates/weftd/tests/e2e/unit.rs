//! The units that a package installs: the result of their command line, and that systemd accepts them.

use std::path::Path;
use std::process::{Command, Output};

use weft_fabric::enums::PortState;
use weft_interop::Fabric;

use crate::harness::{stock_config, text};
use crate::process::{output, program};

const UNIT: &str = include_str!("../../../../config/weftd.service");
const TEMPLATE: &str = include_str!("../../../../config/weftd@.service");
/// Where more is said about the unit.
const SECURITY: &str = include_str!("../../../../docs/security.md");
const WEFTD: &str = env!("CARGO_BIN_EXE_weftd");

/// The values of a key of the unit, in order.
fn values(key: &str) -> Vec<&'static str> {
    let assigned = UNIT.lines().filter_map(|line| line.split_once('='));
    assigned
        .filter(|(name, _)| *name == key)
        .map(|(_, value)| value)
        .collect()
}

/// The command line that systemd runs: `$WEFTD_ARGS` becomes the words of the variable, which
/// /etc/default/weftd sets, or else the unit. Paths of a package become those of the repository.
fn command_line(configured: Option<&str>) -> Vec<String> {
    let [line] = values("ExecStart")[..] else {
        panic!("a unit of type notify has one ExecStart");
    };
    let assigned = values("Environment").into_iter().find_map(|value| {
        let value = value.trim_matches('"');
        value.strip_prefix("WEFTD_ARGS=")
    });
    let options = configured.or(assigned).unwrap_or_default();
    let config = stock_config().to_string_lossy().into_owned();
    line.split_whitespace()
        .flat_map(|word| match word {
            "/usr/bin/weftd" => vec![WEFTD.to_owned()],
            "/etc/opa-fm/opafm.xml" => vec![config.clone()],
            "$WEFTD_ARGS" => options.split_whitespace().map(str::to_owned).collect(),
            word => vec![word.to_owned()],
        })
        .collect()
}

/// Runs the command line until its first sweep has ended, on ports and state of its own, without the
/// machine's directory for opafmcmd.
fn once(mut command: Command, line: &[String]) -> Output {
    assert_eq!(line[0], WEFTD);
    let state = tempfile::tempdir().unwrap();
    command.args(&line[1..]).arg("--once");
    command.args(["--opafmcmd", "off"]);
    command.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    output(command.arg("--state-dir").arg(state.path()))
}

/// As installed it runs the fabric at the local HFI: here that of an emulated host, which
/// the preload library presents in place of hardware.
#[test]
fn the_fabric_at_this_machines_hfi_is_the_default() {
    let fabric = Fabric::start("one-switch:3");
    let line = command_line(None);
    let ran = once(fabric.command("node1", WEFTD), &line);
    assert!(ran.status.success(), "{line:?}: {}", text(&ran.stderr));
    let view = fabric.view();
    let ports = view.nodes.iter().flat_map(|node| node.external());
    let active = ports.filter(|(_, port)| port.state == PortState::ACTIVE);
    assert_eq!(active.count(), 6, "both ends of three cables");
}

/// Without an HFI it has no fallback: it ends with the exit code for that,
/// and systemd keeps restarting it.
#[test]
fn a_machine_without_an_hfi_is_an_error() {
    let line = command_line(None);
    let ran = once(program(Path::new(WEFTD)), &line);
    assert_eq!(ran.status.code(), Some(4), "{}", text(&ran.stderr));
    assert_eq!(values("StartLimitIntervalSec"), ["0"]);
    let prevents = values("RestartPreventExitStatus");
    assert!(
        !prevents.iter().any(|codes| codes.contains('4')),
        "{prevents:?}"
    );
}

#[test]
fn an_emulated_fabric_is_asked_for() {
    let line = command_line(Some("--emulate one-switch:3"));
    let ran = once(program(Path::new(WEFTD)), &line);
    assert!(ran.status.success(), "{line:?}: {}", text(&ran.stderr));
}

/// Every setting is valid, and the service's privileges stay as few as documented.
#[test]
fn systemd_accepts_the_unit() {
    let Some(systemd) = weft_peers::program("systemd-analyze") else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for (name, unit) in [("weftd.service", UNIT), ("weftd@1.service", TEMPLATE)] {
        let file = directory.path().join(name);
        std::fs::write(&file, unit.replace("/usr/bin/weftd", WEFTD)).unwrap();
        for arguments in [
            &["verify", "--man=no"][..],
            &["security", "--offline=true", "--threshold=12"],
        ] {
            let mut command = Command::new(&systemd);
            let ran = output(command.args(arguments).arg(&file));
            let said = text(&ran.stdout) + &text(&ran.stderr);
            assert!(ran.status.success(), "{name}: {arguments:?}: {said}");
        }
    }
}

/// What the documentation adds to the unit, systemd accepts, with the exposure that is written above it.
#[test]
fn systemd_accepts_what_the_document_adds() {
    let Some(systemd) = weft_peers::program("systemd-analyze") else {
        return;
    };
    let section = SECURITY.split_once("\n## As a service\n").unwrap().1;
    let section = section.split_once("\n## ").unwrap().0;
    let parts: Vec<&str> = section.split("```").collect();
    let [before, first, alone, second, _, third, _] = parts[..] else {
        panic!("{} parts", parts.len());
    };
    // As the document has it: "…: 1.3." becomes 13.
    let stated = |text: &str| {
        let stated = text.trim().rsplit_once(": ").unwrap().1;
        stated.replace('.', "")
    };
    for (added, exposure) in [
        (first, stated(before)),
        (second, stated(alone)),
        (third, "12".to_owned()),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let unit = directory.path().join("weftd.service");
        let more = directory.path().join("weftd.service.d");
        std::fs::create_dir(&more).unwrap();
        let lines = added.strip_prefix("ini\n").unwrap();
        for (file, text) in [(&unit, UNIT), (&more.join("more.conf"), lines)] {
            std::fs::write(file, text.replace("/usr/bin/weftd", WEFTD)).unwrap();
        }
        let threshold = format!("--threshold={exposure}");
        for arguments in [
            &["verify", "--man=no"][..],
            &["security", "--offline=true", &threshold],
        ] {
            let mut command = Command::new(&systemd);
            let ran = output(command.args(arguments).arg(&unit));
            let said = text(&ran.stdout) + &text(&ran.stderr);
            assert!(ran.status.success(), "{arguments:?}: {said}");
        }
    }
}

/// The unit of further instances is the first one's, with the instance in it.
#[test]
fn the_template_is_the_unit_with_the_instance() {
    let (all, aliases) = UNIT
        .split_once("# The names of the vendor's manager")
        .unwrap();
    assert!(
        aliases.ends_with("\nAlias=opafm.service opa-fm.service\n"),
        "{aliases}"
    );
    let expected = all
        .replace("Omni-Path\n", "Omni-Path, instance %i\n")
        .replace("/etc/default/weftd\n", "/etc/default/weftd@%i\n")
        .replace(
            "opafm.xml $WEFTD_ARGS",
            "opafm.xml --instance %i $WEFTD_ARGS",
        );
    assert_eq!(TEMPLATE, expected);
}
