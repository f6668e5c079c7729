//! The program: campaigns from the command line, and readers of its output.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Command, Stdio};

fn weft_lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weft-lab"))
}

#[test]
fn the_last_seed_is_one_too() {
    let output = weft_lab()
        .args(["election", "--seed", "18446744073709551615"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("seed 18446744073709551615: "), "{text}");
    assert!(text.contains("\n1 seeds, "), "{text}");
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("t.scenario");
    fs::write(
        &scenario,
        "fabric one-switch:2\ntraffic osu_latency iterations=1\n",
    )
    .unwrap();
    let scenario = scenario.to_str().unwrap();
    for arguments in [&["run", scenario][..], &["election", "--seeds", "0..1"]] {
        let mut command = weft_lab();
        let command = command.args(arguments).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), error.as_str()), (Some(0), ""));
    }
}

#[test]
fn an_output_that_is_full_is_an_error_without_a_panic() {
    let full = || {
        fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for arguments in [
        &["election", "--seeds", "0..1"][..],
        &["run", "/nonexistent"],
    ] {
        let mut command = weft_lab();
        let command = command.args(arguments).stdout(full()).stderr(full());
        assert_eq!(command.status().unwrap().code(), Some(2), "{arguments:?}");
    }
}

/// One switch and its hosts as ibnetdiscover has them.
fn dump(hosts: u8) -> String {
    let switch = "11750102000001";
    let mut all = String::new();
    let mut ports = String::new();
    for host in 1..=hosts {
        let guid = format!("117501010000{host:02x}");
        let name = format!("h{host} hfi1_0");
        all += &format!(
            "vendid=0x1175\ndevid=0x24f0\nsysimgguid=0x{guid}\ncaguid=0x{guid}\nCa\t1 \"H-00{guid}\"\t\t# \"{name}\"\n\
             [1]({guid}) \t\"S-00{switch}\"[{host}]\t\t# lid 0 lmc 0 \"sw\" lid 0 4xEDR\n\n"
        );
        ports += &format!("[{host}]\t\"H-00{guid}\"[1]({guid}) \t\t# \"{name}\" lid 0 4xEDR\n");
    }
    format!(
        "{all}vendid=0x1175\ndevid=0xabd1\nsysimgguid=0x{switch}\nswitchguid=0x{switch}({switch})\n\
         Switch\t48 \"S-00{switch}\"\t\t# \"sw\" enhanced port 0 lid 0 lmc 0\n{ports}"
    )
}

#[test]
fn an_attack_is_carried_out_on_a_fabric_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("fabric.ibnetdiscover");
    for (hosts, code, told) in [
        (4, 1, "an attack needs five hosts or more"),
        (6, 0, "stopped"),
    ] {
        fs::write(&file, dump(hosts)).unwrap();
        let attack = [
            "attack", "--attack", "1", "--guard", "fenced", "--seed", "0",
        ];
        let mut command = weft_lab();
        let output = command
            .args(attack)
            .arg("--fabric")
            .arg(&file)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.contains(told),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(output.status.code(), Some(code), "{text}");
    }
}
