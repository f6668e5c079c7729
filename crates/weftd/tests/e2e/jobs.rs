//! `weft job slow`: what was planted on links of a job is found, what was not is not accused, and Slurm's accounting tells
//! which job it was.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::{Instant, SystemTime};

use serde_json::Value;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for, weft};
use crate::process::{output, program};
use crate::quarantine::json;
use crate::slurm::accounting::Slurm;

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "fattree:16,radix=8";

fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    weft_api::time::timestamp(since.unwrap().as_nanos() as u64).to_string()
}

/// A daemon that reads counters every second, on an emulator of its own.
fn up(dir: &Path) -> (Emulator, Daemon) {
    let emulator = Emulator::start(TREE, &dir.join("fabric"));
    let start = Start::connected(&emulator.socket());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    (emulator, start.up())
}

/// Readings of the counters between two changes.
const READINGS: u64 = 5;

/// Waits until the history has readings of a port.
fn until_read(daemon: &Daemon) {
    wait_for(|| {
        let shown = daemon.weft(&["counters", "--json", "-F", "node:edge1", "--from", "-10m"]);
        let shown = shown.status.success().then(|| json(&text(&shown.stdout)))?;
        let samples = shown["ports"][0]["samples"].as_array()?.len();
        (samples > 2).then_some(())
    });
}

fn slow(daemon: &Daemon, nodes: &str, from: &str, to: &str) -> Value {
    let shown = daemon.weft_ok(&["job", "slow", nodes, "--from", from, "--to", to, "--json"]);
    json(&shown)
}

fn kinds(job: &Value) -> Vec<(&str, String)> {
    let findings = job["findings"].as_array().unwrap().iter();
    findings
        .map(|one| {
            let from = &one["from"];
            let at = format!(
                "{}:{}",
                from["name"].as_str().unwrap_or_default(),
                from["port"]
            );
            (one["kind"].as_str().unwrap(), at)
        })
        .collect()
}

#[test]
fn what_made_a_job_slow_is_found_and_a_quiet_job_is_not_accused() {
    let dir = tempfile::tempdir().unwrap();
    let (emulator, daemon) = up(dir.path());
    until_read(&daemon);
    let quiet_from = now();
    daemon.readings(READINGS);
    let quiet_to = now();
    // The reading in which the quiet time ends has nothing of what follows.
    daemon.readings(2);
    let (begun, since) = (now(), Instant::now());
    // Three hosts send to one: its link is full, and they wait for it.
    emulator.change(&[
        "traffic",
        "start",
        "in",
        "pairs",
        "node2:node1",
        "node5:node1",
        "node9:node1",
    ]);
    daemon.readings(READINGS);
    emulator.change(&["count-errors", "edge2:1", "--rcv-errors", "30"]);
    daemon.readings(READINGS);
    emulator.change(&["link-down", "edge3:5"]);
    daemon.readings(READINGS);
    let (ended, took) = (now(), since.elapsed().as_secs_f64());
    emulator.change(&["traffic", "stop"]);

    let job = slow(&daemon, "node[1-2,5,9]", &begun, &ended);
    assert_eq!(job["comparison"], "before", "{job}");
    assert_eq!(job["hosts"].as_array().unwrap().len(), 4);
    let found = kinds(&job);
    let (full, full_at) = &found[0];
    assert_eq!(
        (*full, full_at.starts_with("edge1:")),
        ("full", true),
        "{found:?}"
    );
    assert_eq!(job["findings"][0]["to"]["name"], "node1 hfi1_0", "{job}");
    let waiting = job["findings"][0]["waiting"].as_array().unwrap();
    assert_eq!(waiting.len(), 3, "{job}");
    assert_eq!(job["findings"][0]["waiting_count"], 3, "{job}");
    assert_eq!(job["more_findings"], false, "{job}");
    let cost = job["findings"][0]["cost_seconds"].as_f64().unwrap();
    // Each of three hosts had a third of what it wanted, for about the whole time.
    let share = cost / took;
    assert!((1.0..2.7).contains(&share), "{cost} s in {took} s");
    let planted = |kind: &str, name: &str| {
        let found = found.iter();
        found
            .clone()
            .any(|(one, at)| *one == kind && at.starts_with(name))
    };
    assert!(planted("errors", "node5 "), "{found:?}");
    assert!(
        planted("down", "edge3:5") || planted("down", "core"),
        "{found:?}"
    );
    assert_eq!(found.len(), 3, "{found:?}");
    let events = job["events"].as_array().unwrap();
    assert!(
        events.iter().any(|event| event["event"] == "link_vanished"),
        "{events:?}"
    );

    // Before anything happened, and of hosts that had nothing to do with it.
    for (nodes, from, to) in [
        ("node[1-2,5,9]", &quiet_from, &quiet_to),
        ("node[6-8]", &begun, &ended),
    ] {
        let job = slow(&daemon, nodes, from, to);
        assert_eq!(kinds(&job), [], "{nodes}: {job}");
        assert!(!job["links"].as_array().unwrap().is_empty());
    }

    let shown = daemon.weft_ok(&[
        "job",
        "slow",
        "node[1-2,5,9,77]",
        "--from",
        &begun,
        "--to",
        &ended,
    ]);
    for told in [
        "The job on node[1-2,5,9,77]\nfrom ",
        "not in the fabric of then: node77\n4 host ports and ",
        "compared with the time before",
        "\n1. edge1:",
        " to node1 hfi1_0:1 was full: ",
        " s: 3 hosts waited, node2 hfi1_0:1, node5 hfi1_0:1 and 1 more\n",
        "   next: weft counters -F nodeguid:",
        " USED % USUAL WAIT % USUAL ERRORS  LINK\n",
        "link vanished",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let wide = shown.lines().filter(|line| line.chars().count() > 80);
    let wide: Vec<&str> = wide.filter(|line| !line.contains("next: ")).collect();
    assert!(wide.is_empty(), "{wide:?}");
}

#[test]
fn questions_that_make_no_sense_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = up(dir.path());
    until_read(&daemon);
    for (code, args, told) in [
        (
            1,
            &["node[77-78]", "--from", "-1s"][..],
            "none of them was in the fabric of then",
        ),
        (2, &["node[1-", "--from", "-1m"], "brackets"),
        (2, &["node1", "--from", "tomorrow"], "--from: 'tomorrow'"),
        (
            2,
            &["node1", "--from", "-1m", "--to", "-2m"],
            "is not before --to",
        ),
        (2, &["node1", "--job", "7"], "cannot be used with"),
        (2, &[], "required"),
        (
            1,
            &["node1", "--from", "1999-01-01", "--to", "1999-01-02"],
            "nothing is known of ",
        ),
        (2, &["--job", "4711;reboot"], "is no number of a job"),
    ] {
        let error = daemon.weft_fails(code, &[&["job", "slow"], args].concat());
        assert!(error.contains(told), "{args:?}: {error}");
    }
    let alone = daemon.weft(&["job", "slow", "node1", "--from", "-1s"]);
    let told = text(&alone.stderr);
    assert!(told.contains("name further hosts"), "{told}");
    let without = Start::new(TREE).args(&["--history", "off"]).up();
    let error = without.weft_fails(1, &["job", "slow", "node1", "--from", "-1m"]);
    assert!(error.contains("weftd keeps no history"), "{error}");
}

/// `weft job slow --job ID` with a program `sacct` that prints what `printed` has.
fn with_sacct(daemon: &Daemon, dir: &Path, script: &str, id: &str) -> Output {
    let file = dir.join("sacct");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", dir.display());
    let mut command = program(weft());
    command.env("WEFT_ADDRESS", &daemon.api).env("PATH", path);
    command.args(["--timeout", "2s", "job", "slow", "--job", id, "--json"]);
    output(&mut command)
}

#[test]
fn slurms_accounting_tells_hosts_and_times() {
    let dir = tempfile::tempdir().unwrap();
    let (_emulator, daemon) = up(dir.path());
    until_read(&daemon);
    // As sacct's manual has it: -P separates columns by bars, -n has no heading, SLURM_TIME_FORMAT is one of strftime.
    let script = "[ \"$SLURM_TIME_FORMAT\" = %s ] || exit 3\n\
        [ \"$*\" = '-j 4711 -X -n -P -o JobID,State,NodeList,Start,End,JobName' ] || exit 4\n\
        now=$(date +%s)\n\
        echo \"4711|RUNNING|node[1-2,5]|$((now - 2))|Unknown|solver|x\"";
    let job = with_sacct(&daemon, dir.path(), script, "4711");
    assert!(job.status.success(), "{}", text(&job.stderr));
    assert_eq!(
        json(&text(&job.stdout))["hosts"].as_array().unwrap().len(),
        3
    );
    for (script, told) in [
        ("true", "sacct knows no job 12"),
        ("echo no database >&2; exit 1", "no database"),
        ("exec sleep 60", "no answer within"),
        ("exec yes 12345678", "bytes"),
    ] {
        let refused = with_sacct(&daemon, dir.path(), script, "12");
        let error = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{script}: {error}");
        assert!(error.contains(told), "{script}: {error}");
    }
}

/// A job that a real Slurm has run, while a host sent to another one of it: sacct tells its hosts and times.
#[test]
fn a_job_of_a_real_slurm_is_looked_into_by_its_number() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("slurm")).unwrap();
    let nodes = ["node1", "node2", "node5"];
    let Some(slurm) = Slurm::start(&dir.path().join("slurm"), &nodes) else {
        return;
    };
    let (emulator, daemon) = up(dir.path());
    until_read(&daemon);
    let slow = |id: &str| {
        let mut command = program(weft());
        let path = format!(
            "{}:/usr/bin:/bin",
            slurm.sacct().parent().unwrap().display()
        );
        command.env("WEFT_ADDRESS", &daemon.api).env("PATH", path);
        command.env("SLURM_CONF", slurm.conf());
        output(command.args(["job", "slow", "--job", id, "--json"]))
    };
    let id = slurm.run("solver", 8);
    emulator.change(&[
        "traffic",
        "start",
        "in",
        "pairs",
        "node5:node1",
        "node2:node1",
    ]);
    daemon.readings(READINGS);
    let running = slow(&id);
    assert!(running.status.success(), "{}", text(&running.stderr));
    slurm.until(&id, "COMPLETED");
    emulator.change(&["traffic", "stop"]);

    let ended = slow(&id);
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let job = json(&text(&ended.stdout));
    assert_eq!(job["hosts"].as_array().unwrap().len(), 3, "{job}");
    let [from, to] = ["from", "to"].map(|name| job[name].as_str().unwrap());
    let times = slurm.times(&id);
    let (start, end) = times.split_once('|').unwrap();
    assert!(
        from.starts_with(start) && to.starts_with(end),
        "{times}: {job}"
    );
    assert_eq!(kinds(&job)[0].0, "full", "{job}");
    assert_eq!(job["findings"][0]["to"]["name"], "node1 hfi1_0", "{job}");
    let unknown = slow("4711");
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("sacct knows no job 4711"));
    // One that waits for the nodes of another has no time to look at.
    slurm.run("first", 60);
    let waits = slurm.submit("second", 1);
    slurm.until(&waits, "PENDING");
    let refused = text(&slow(&waits).stderr);
    assert!(
        refused.contains("has not begun: it is PENDING"),
        "{refused}"
    );
}

/// The real sacct says that there is no accounting.
#[test]
fn where_slurm_keeps_no_accounting_sacct_says_so() {
    let Some(sacct) = weft_peers::program("sacct") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let conf = dir.path().join("slurm.conf");
    fs::write(
        &conf,
        "ClusterName=weft\nSlurmctldHost=localhost(127.0.0.1)\nAuthType=auth/none\nCredType=cred/none\n\
         AccountingStorageType=accounting_storage/none\nNodeName=node1\nPartitionName=all Nodes=ALL\n",
    )
    .unwrap();
    let daemon = Daemon::up(TREE);
    let mut command = program(weft());
    let path = format!("{}:/usr/bin:/bin", sacct.parent().unwrap().display());
    command.env("WEFT_ADDRESS", &daemon.api).env("PATH", path);
    command
        .env("SLURM_CONF", &conf)
        .args(["job", "slow", "--job", "12"]);
    let refused = output(&mut command);
    let error = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(
        error.contains("`sacct -j 12 -X -n -P ") && error.contains("ccounting"),
        "{error}"
    );
    let mut command = program(weft());
    command
        .env("WEFT_ADDRESS", &daemon.api)
        .env("PATH", "/nonexistent");
    let refused = output(command.args(["job", "slow", "--job", "12"]));
    let error = text(&refused.stderr);
    assert!(
        error.contains("give hosts and times: weft job slow NODES"),
        "{error}"
    );
}
