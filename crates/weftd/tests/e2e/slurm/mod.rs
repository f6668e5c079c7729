//! `weft slurm topology`, judged by a real slurmctld and by the vendor's `opa2rm`.

pub(crate) mod accounting;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use weft_interop::Slurmctld;

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, text, wait_for, weft};
use crate::process::{output, program};

// The manager is at the first host.
const EDGE2: &str = "0x0011750102000002";
const HOST2: &str = "0x0011750101000002";
const HOST50: &str = "0x0011750101000032";

/// A daemon at an emulator of its own.
fn up(fabric: &str, dir: &Path) -> (Emulator, Daemon) {
    let socket = dir.join("fabric");
    let emulator = Emulator::start(fabric, &socket);
    (emulator, Start::connected(&socket).up())
}

/// `weft slurm topology` for the Slurm with this configuration, without other variables.
fn topology(daemon: &Daemon, slurm_conf: Option<&Path>, args: &[&str]) -> Output {
    let mut command = program(weft());
    command.env("WEFT_ADDRESS", &daemon.api);
    command.env(
        "SLURM_CONF",
        slurm_conf.unwrap_or(Path::new("/nonexistent")),
    );
    command.args(["slurm", "topology"]).args(args);
    output(&mut command)
}

fn done(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

fn told(output: &Output) -> Value {
    serde_json::from_str(&done(output)).unwrap()
}

/// How edge switch `number` of a generated fat tree has its hosts.
fn range(edge: usize, hosts: usize) -> String {
    format!("node[{}-{}]", (edge - 1) * hosts + 1, edge * hosts)
}

/// What slurmctld has to say of 48 edges with 24 hosts each, by switch.
fn expected(above: &[String]) -> BTreeMap<String, String> {
    let edges = (1..=48).map(|edge| {
        (
            format!("edge{edge}"),
            format!("Level=0 LinkSpeed=1 Nodes={}", range(edge, 24)),
        )
    });
    let above = above.iter().map(|name| {
        (
            name.clone(),
            "Level=1 LinkSpeed=1 Nodes=node[1-1152] Switches=edge[1-48]".to_owned(),
        )
    });
    edges.chain(above).collect()
}

#[test]
fn slurmctld_has_the_tree_of_the_fabric_and_thirty_flaps_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("topology.conf");
    let output = file.to_str().unwrap();
    // Slurm starts with a file of its own, in which all nodes are at one switch.
    fs::write(&file, "SwitchName=all Nodes=node[1-1152]\n").unwrap();
    let Some(slurm) = Slurmctld::start(dir.path(), "node[1-1152]") else {
        return;
    };
    let (emulator, daemon) = up("fattree:1152", dir.path());
    let write = |more: &[&str]| {
        let args = [&["-o", output, "--reconfigure", "--json"], more].concat();
        told(&topology(&daemon, Some(slurm.conf()), &args))
    };
    let first = write(&[]);
    assert_eq!(
        (&first["written"], &first["reconfigured"]),
        (&true.into(), &true.into()),
        "{first}"
    );
    assert_eq!(first["moved"].as_array().unwrap().len(), 1152);
    let cores: Vec<String> = (1..=24).map(|core| format!("core{core}")).collect();
    assert_eq!(slurm.topology(), expected(&cores));

    let skeleton = write(&["--skeleton"]);
    assert_eq!(skeleton["written"], true);
    assert_eq!(slurm.topology(), expected(&["fabric".to_owned()]));

    let before = fs::metadata(&file).unwrap();
    let reconfigured = slurm.reconfigured();
    for flap in 1..=30 {
        // Links of spines and of hosts, and every tenth time a whole switch and a host.
        let port = flap.to_string();
        let whole = flap % 10 == 0;
        let changes: &[[&str; 3]] = match whole {
            true => &[["node-down", EDGE2, ""], ["node-down", HOST50, ""]],
            false => &[["link-down", EDGE2, &port]],
        };
        let call = |change: &[&str; 3]| {
            let args: Vec<&str> = change
                .iter()
                .copied()
                .filter(|arg| !arg.is_empty())
                .collect();
            emulator.change(&args);
        };
        changes.iter().for_each(call);
        swept(&daemon);
        let down = write(&["--skeleton"]);
        assert_eq!(down["changed"], false, "{flap}: {down}");
        if whole {
            assert_eq!(
                down["notes"][0]["nodes"].as_array().unwrap().len(),
                25,
                "{down}"
            );
        }
        let up = changes.iter().map(|change| {
            change.map(|word| match word {
                "link-down" => "link-up",
                "node-down" => "node-up",
                other => other,
            })
        });
        up.for_each(|change| call(&change));
    }
    swept(&daemon);
    assert_eq!(write(&["--skeleton"])["changed"], false);
    let after = fs::metadata(&file).unwrap();
    assert_eq!(
        (before.ino(), before.mtime_nsec()),
        (after.ino(), after.mtime_nsec())
    );
    assert_eq!(
        slurm.reconfigured(),
        reconfigured,
        "slurmctld has read its files again"
    );
}

fn swept(daemon: &Daemon) {
    daemon.weft_ok(&["sweep", "--wait"]);
}

#[test]
fn a_file_stays_where_it_must() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up("pgft:2;4,3;1,2;1,1", dir.path());
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (nodes, file) = (at("nodes"), at("topology.conf"));
    let run = |more: &[&str]| topology(&daemon, None, &[&["--nodes", &nodes], more].concat());
    let refused = |code: i32, args: &[&str]| {
        let output = run(args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        said
    };
    let listed = |list: &str| fs::write(&nodes, list).unwrap();
    let read = || fs::read_to_string(&file).unwrap();

    listed("node[1-12] node99");
    let printed = run(&[]);
    assert!(
        text(&printed.stderr)
            .contains("in no switch, because the fabric does not show them: 1 node (node99)")
    );
    let dry = done(&run(&["-n", "-o", &file]));
    assert!(
        dry.contains(
            "would be written: 12 nodes in 3 leaves, 2 above\n  12 nodes added: node[1-12]\n"
        ),
        "{dry}"
    );
    assert!(!Path::new(&file).exists());
    done(&run(&["-o", &file]));
    assert_eq!(read(), text(&printed.stdout));
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o644
    );
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let whole = read();

    // A host at another switch moves, and nothing else; the permissions stay.
    emulator.change(&["link-down", HOST2, "1"]);
    swept(&daemon);
    assert!(done(&run(&["-o", &file])).contains(": unchanged: "));
    listed("node[1-11]");
    let fewer = done(&run(&["-o", &file]));
    assert!(
        fewer.contains(": written: 11 nodes in 3 leaves, 2 above\n  1 node removed: node12\n"),
        "{fewer}"
    );
    assert!(
        fewer.contains(
            "note: not in the fabric now, left where the file has them: 1 node (node2)\n"
        ),
        "{fewer}"
    );
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o640
    );

    let fewer = read();
    listed("node[1-3]");
    let said = refused(1, &["-o", &file]);
    assert!(
        said.contains("8 of the 11 nodes of the file would no longer be in it"),
        "{said}"
    );
    listed("other[1-3]");
    let said = refused(1, &["-o", &file, "--force"]);
    assert!(
        said.contains("no node that Slurm knows is in the fabric"),
        "{said}"
    );
    listed("node[1-12");
    let said = refused(4, &["-o", &file]);
    assert!(said.contains("nodes: line 1: brackets"), "{said}");
    assert_eq!(read(), fewer);

    // What somebody else wrote is left alone, unless that is asked for.
    listed("node[1-12]");
    fs::write(&file, "SwitchName=x Nodes=node[1-12]\ninclude more\n").unwrap();
    let said = refused(4, &["-o", &file]);
    assert!(
        said.contains("topology.conf: line 2: \"include\": SwitchName="),
        "{said}"
    );
    emulator.change(&["link-up", HOST2, "1"]);
    swept(&daemon);
    done(&run(&["-o", &file, "--force"]));
    assert_eq!(read(), whole);
    fs::write(at("topology.yaml"), "").unwrap();
    let hidden = done(&run(&["-o", &file]));
    assert!(
        hidden.contains("note: Slurm does not read this file, because there is"),
        "{hidden}"
    );

    // Without Slurm nothing is read again, and the old file is back.
    listed("node[1-11]");
    let said = refused(1, &["-o", &file, "--reconfigure", "--timeout", "5s"]);
    assert!(said.contains("`scontrol reconfigure`: "), "{said}");
    assert_eq!(read(), whole);
}

/// Files of both formats and plugins, read with PyYAML by the schema of Slurm's topology.yaml(5).
#[test]
fn yaml_follows_slurms_schema() {
    let Some(python) = weft_peers::program("python3") else {
        return;
    };
    if !Command::new(&python)
        .args(["-c", "import yaml"])
        .status()
        .unwrap()
        .success()
    {
        return weft_peers::not_run("python3 has no module yaml");
    }
    let daemon = Daemon::up("pgft:2;4,3;1,2;1,1");
    let nodes = daemon.dir.path().join("nodes");
    fs::write(&nodes, "node[1-12]").unwrap();
    let file = daemon.dir.path().join("topology.yaml");
    let parsed = |more: &[&str]| -> Value {
        let args = [
            "--nodes",
            nodes.to_str().unwrap(),
            "-o",
            file.to_str().unwrap(),
            "--force",
        ];
        done(&topology(&daemon, None, &[&args, more].concat()));
        let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
        let json = Command::new(&python)
            .args(["-c", script])
            .arg(&file)
            .output()
            .unwrap();
        serde_json::from_slice(&json.stdout).unwrap()
    };
    let edges = |item: &str| -> Vec<Value> {
        let edge =
            |edge: usize| serde_json::json!({item: format!("edge{edge}"), "nodes": range(edge, 4)});
        (1..4).map(edge).collect()
    };
    let mut switches = edges("switch");
    switches.extend(
        (1..3).map(
            |core| serde_json::json!({"switch": format!("core{core}"), "children": "edge[1-3]"}),
        ),
    );
    let tree = serde_json::json!([{"topology": "weft", "cluster_default": true, "tree": {"switches": switches}}]);
    assert_eq!(parsed(&[]), tree);
    let block = serde_json::json!({"block_sizes": [4], "blocks": edges("block")});
    let block = serde_json::json!([{"topology": "weft", "cluster_default": true, "block": block}]);
    assert_eq!(parsed(&["--plugin", "block"]), block);
    let again = topology(
        &daemon,
        None,
        &[
            "--nodes",
            nodes.to_str().unwrap(),
            "-o",
            file.to_str().unwrap(),
            "--plugin",
            "block",
        ],
    );
    assert!(done(&again).contains(": unchanged: "));
}

/// The vendor's program, on the topology that the vendor's opareport makes from an exported snapshot.
#[test]
fn opa2rm_has_the_same_leaves() {
    let (Some(opa2rm), Some(opareport)) = (
        weft_peers::program("opa2rm"),
        weft_peers::program("opareport"),
    ) else {
        return;
    };
    let daemon = Daemon::up("pgft:3;6,3,2;1,2,2;1,1,1");
    let at = |name: &str| daemon.dir.path().join(name);
    let snapshot = at("snapshot.xml");
    daemon.weft_ok(&[
        "fabric",
        "export",
        "--snapshot",
        "-o",
        snapshot.to_str().unwrap(),
    ]);
    let topology_xml = Command::new(opareport)
        .args(["-q", "-x", "-o", "topology", "-X"])
        .arg(&snapshot)
        .output()
        .unwrap();
    fs::write(at("topology.xml"), topology_xml.stdout).unwrap();
    let theirs = Command::new(opa2rm)
        .args(["-q", "-o", "slurm", "-u"])
        .arg(at("topology.xml"))
        .output()
        .unwrap();
    let theirs = leaves(&text(&theirs.stdout));
    assert_eq!(theirs.len(), 6, "{theirs:?}");
    fs::write(at("nodes"), "node[1-36]").unwrap();
    for more in [&["--skeleton"][..], &[]] {
        let ours = topology(
            &daemon,
            None,
            &[&["--nodes", at("nodes").to_str().unwrap()], more].concat(),
        );
        assert_eq!(leaves(&done(&ours)), theirs);
    }
}

/// The nodes of each switch that has any. Both programs write ranges for numbers at the end of names.
fn leaves(conf: &str) -> BTreeSet<(String, String)> {
    let lines = conf
        .lines()
        .filter_map(|line| line.strip_prefix("SwitchName="));
    let leaves = lines.filter_map(|line| line.split_once(" Nodes="));
    leaves
        .map(|(name, nodes)| (name.trim().to_owned(), nodes.trim().to_owned()))
        .collect()
}

#[test]
fn a_node_of_slurm_is_found_by_its_host_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("topology.conf");
    fs::write(&file, "SwitchName=all Nodes=c[1-4]\n").unwrap();
    let Some(slurm) = Slurmctld::start(dir.path(), "c[1-4] NodeHostName=node[1-4]") else {
        return;
    };
    let daemon = Daemon::up("one-switch:4");
    let printed = done(&topology(&daemon, Some(slurm.conf()), &[]));
    assert!(
        printed.ends_with("\nSwitchName=switch1 Nodes=c[1-4]\n"),
        "{printed}"
    );
    wait_for(|| slurm.topology().contains_key("all").then_some(()));
}
