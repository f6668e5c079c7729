//! Replays of recordings by the program: to a place, on from there, and cut down.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use weft_emulator::io::Control;
use weft_fabric::Guid;
use weft_manager::Command as Order;
use weft_testkit::{NoTap, Tape, Wait, World};

const MINUTE: Duration = Duration::from_secs(60);

fn weft_lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weft-lab"))
}

/// A fabric of `spec` that is up, and the recording of its manager.
fn recorded(spec: &str) -> (World, Tape) {
    let tape = Tape::default();
    (recorded_on(spec, &tape), tape)
}

/// The same on any tape.
fn recorded_on(spec: &str, tape: &Tape) -> World {
    let fabric = spec.parse::<weft_fabric::generate::FabricSpec>().unwrap();
    let fabric = Arc::new(fabric.generate().unwrap());
    let (options, settings) = (Default::default(), Default::default());
    let mut world = World::taped(fabric, options, settings, NoTap, Some(tape.clone())).unwrap();
    assert_eq!(world.bring_up(MINUTE).unwrap(), Wait::Done);
    world
}

fn written(mut world: World, tape: &Tape, directory: &Path) -> PathBuf {
    world.end_tape();
    let file = directory.join("manager.weftrec");
    fs::write(&file, &tape.files()[0]).unwrap();
    file
}

/// A recording of a manager that brings up 4 hosts.
fn recording(directory: &Path) -> PathBuf {
    let (world, tape) = recorded("fattree:4");
    written(world, &tape, directory)
}

fn sweep(world: &mut World) {
    let id = world.command(Order::Sweep);
    let done = world.run_while(MINUTE, |world| world.reply(id).is_some());
    assert_eq!(done.unwrap(), Wait::Done);
}

/// A recording in which a switch does not answer, after other things; and the GUID of the switch.
fn recording_of_silence(directory: &Path) -> (PathBuf, String) {
    let tape = Tape::default();
    let (world, name) = silenced(&tape);
    (written(world, &tape, directory), name)
}

/// What is recorded there, on any tape.
fn silenced(tape: &Tape) -> (World, String) {
    let mut world = recorded_on("fattree:16", tape);
    let snapshot = world.snapshot();
    let switches = snapshot.topology.switches();
    let switch = snapshot.topology.node(*switches.last().unwrap()).unwrap();
    let node: Guid = switch.guid();
    for _ in 0..3 {
        sweep(&mut world);
    }
    let silent = true;
    world.control(Control::Silence { node, silent }).unwrap();
    sweep(&mut world);
    (world, node.to_string())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn replay(file: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let output = weft_lab().arg("replay").arg(file).args(more).output();
    let output = output.unwrap();
    let [text, error] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), text, error)
}

#[test]
fn a_recording_runs_again_to_where_it_is_to_stop() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let (code, text, _) = replay(&file, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("\n  result: the same to the last byte\n"),
        "{text}"
    );
    assert!(text.contains(" 6 nodes, 28 links"), "{text}");
    assert!(text.contains("between sweeps, 0 requests open"), "{text}");
    for (until, state) in [
        ("step:2", "Discover"),
        ("sweep:1", "Discover"),
        ("event:sweepended", "between sweeps"),
        ("0", "between sweeps"),
    ] {
        let (code, text, _) = replay(&file, &["--until", until]);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(state), "{until}: {text}");
    }
    let (code, text, _) = replay(&file, &["--steps", "--last", "0", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let none: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(none["shown"], serde_json::json!([]));
    let (code, text, _) = replay(&file, &["--steps", "--last", "2", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["same"], true);
    assert_eq!(value["shown"].as_array().unwrap().len(), 2);
    assert_eq!(value["state"]["nodes"], 6);
}

#[test]
fn a_recording_that_is_damaged_torn_or_none_says_where_and_what() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    // A chunk of 100 bytes is begun.
    let torn = [&whole[..], &100_u32.to_le_bytes(), b"check"].concat();
    for (bytes, code, said) in [
        (damaged, 1, "damaged at byte "),
        (torn, 0, "was not written whole"),
    ] {
        fs::write(&file, bytes).unwrap();
        let (ended, text, error) = replay(&file, &[]);
        assert_eq!(ended, Some(code), "{text}{error}");
        assert!(text.contains(said), "{text}");
    }
    fs::write(&file, "<Config/>").unwrap();
    let (code, _, error) = replay(&file, &[]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("manager.weftrec: this is no recording"),
        "{error}"
    );
    let (code, _, error) = replay(&file, &["--until", "day:1"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains(
            "wanted step:N, sweep:N, event:KIND, event:KIND:TEXT, answer:TEXT, panic or seconds"
        ),
        "{error}"
    );
}

#[test]
fn a_replay_goes_on_with_a_fabric_in_which_the_silent_switch_answers() {
    let directory = tempfile::tempdir().unwrap();
    let (file, name) = recording_of_silence(directory.path());
    let (code, then, _) = replay(&file, &["--steps", "--last", "1"]);
    assert_eq!(code, Some(0), "{then}");
    assert!(!then.contains("unfinished: [],"), "{then}");
    let until = ["--until", "event:NodeSilent", "--go-on", "30"];
    let (code, text, error) = replay(&file, &until);
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(text.contains(" s  SweepEnded("), "{text}");
    let mut with_json = until.to_vec();
    with_json.push("--json");
    let gone_on = parsed(&replay(&file, &with_json).1);
    let (state, sweeps) = (&gone_on["state"], sweeps(&gone_on));
    assert_eq!(state["phase"], Value::Null);
    assert_eq!(gone_on["links_down"], 0);
    assert_eq!(state["nodes"], gone_on["emulated_nodes"], "{name}");
    assert_eq!(state["links"], gone_on["emulated_links"]);
    let last = sweeps.last().unwrap();
    assert_eq!(last["unfinished"], serde_json::json!([]), "{last}");
    for (more, said) in [
        (&["--go-on", "3"][..], "--until"),
        (&["--until", "sweep:1", "--go-on", "-1"], "--go-on"),
        (
            &["--until", "sweep:1", "--go-on", "NaN"],
            "allowed are 0 to 86400",
        ),
    ] {
        let (code, _, error) = replay(&file, more);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

/// The reports of the sweeps that ended.
fn sweeps(gone_on: &Value) -> Vec<&Value> {
    let events = gone_on["events"].as_array().unwrap().iter();
    events
        .map(|event| &event["event"]["SweepEnded"])
        .filter(|report| !report.is_null())
        .collect()
}

#[test]
fn what_the_manager_had_written_is_in_the_devices_that_it_goes_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let arguments = ["--until", "event:SweepEnded", "--go-on", "700", "--json"];
    let gone_on = parsed(&replay(&file, &arguments).1);
    let sweeps = sweeps(&gone_on);
    assert_eq!(sweeps.len(), 2, "{gone_on}");
    for sweep in sweeps {
        assert!(sweep["asked"].as_u64().unwrap() > 0, "{sweep}");
        assert_eq!(sweep["sets"], 0, "{sweep}");
    }
}

#[test]
fn a_recording_is_cut_down_to_what_a_fault_needs() {
    let directory = tempfile::tempdir().unwrap();
    let (file, name) = recording_of_silence(directory.path());
    let out = directory.path().join("short.weftrec");
    let out_name = out.to_str().unwrap();
    let fault = format!("event:NodeSilent:{name}");
    let shorten = ["--until", &fault, "--shorten", out_name, "--json"];
    let (code, text, error) = replay(&file, &shorten);
    assert_eq!(code, Some(0), "{text}{error}");
    let found = parsed(&text);
    let [before, after] = ["inputs_before", "inputs"].map(|name| found[name].as_u64().unwrap());
    assert!(after * 10 < before, "{found}");
    assert_eq!(found["is_least"], true, "{found}");
    let short = parsed(&replay(&out, &["--json"]).1);
    assert_eq!(short["same"], true, "{short}");
    let (_, steps, _) = replay(&out, &["--steps", "--last", "1"]);
    assert!(
        steps.contains("NodeSilent") && steps.contains(&name),
        "{steps}"
    );
    // A file that is there is not overwritten; a fault that is not there is not found.
    let (code, _, error) = replay(&file, &shorten);
    assert_eq!(code, Some(2));
    assert!(error.contains("short.weftrec: File exists"), "{error}");
    let other = directory.path().join("other.weftrec");
    let other = other.to_str().unwrap();
    for (until, said) in [
        ("panic", "the fault does not show in this recording"),
        ("step:7", "wanted --until event:KIND"),
    ] {
        let (code, _, error) = replay(&file, &["--until", until, "--shorten", other]);
        assert_eq!(code, Some(2));
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_file_without_a_whole_input_is_no_recording() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("short.weftrec");
    let mut bytes = Vec::new();
    weft_replay::Writer::new(&mut bytes, &weft_replay::Header::new(0, "a test")).unwrap();
    let whole = fs::read(recording(directory.path())).unwrap();
    for bytes in [&bytes[..], &whole[..bytes.len() + 100]] {
        fs::write(&file, bytes).unwrap();
        let (code, text, error) = replay(&file, &[]);
        assert_eq!(code, Some(2), "{text}{error}");
        assert!(error.contains("it ends before its first input"), "{error}");
    }
}

/// Files of the first format have the same parts, and another number in their first line.
#[test]
fn a_recording_of_the_first_format_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let file = recording(directory.path());
    let mut bytes = fs::read(&file).unwrap();
    let number = b"weft recording ".len();
    assert_eq!(bytes[number], b'3');
    bytes[number] = b'1';
    fs::write(&file, &bytes).unwrap();
    for arguments in [&[][..], &["--steps"], &["--until", "sweep:1", "--json"]] {
        let (code, text, error) = replay(&file, arguments);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{error}");
        assert!(
            error.contains("of another format than 3")
                && error.contains("the version that recorded it"),
            "{error}"
        );
    }
}

#[test]
fn a_recording_that_begins_with_a_checkpoint_runs_again_and_is_cut_down() {
    let directory = tempfile::tempdir().unwrap();
    let tape = Tape::turning(5, 60);
    let (mut world, name) = silenced(&tape);
    world.end_tape();
    let until = format!("event:NodeSilent:{name}");
    let mut shown = None;
    for (number, bytes) in tape.files().iter().enumerate() {
        let file = directory.path().join(format!("{number}.weftrec"));
        fs::write(&file, bytes).unwrap();
        let (code, text, error) = replay(&file, &["--until", &until, "--json"]);
        assert_eq!(code, Some(0), "{text}{error}");
        if parsed(&text)["stopped"] == true {
            shown = shown.or(Some(file));
        }
    }
    let file = shown.unwrap();
    let (_, text, _) = replay(&file, &["--until", "step:1", "--steps"]);
    assert!(text.contains(": goes on from a checkpoint of "), "{text}");
    assert!(text.contains("fabric: generation"), "{text}");
    let out = directory.path().join("short.weftrec");
    let short = out.to_str().unwrap();
    let (code, text, error) = replay(&file, &["--until", &until, "--shorten", short, "--json"]);
    assert_eq!(code, Some(0), "{text}{error}");
    let found = parsed(&text);
    assert!(
        found["inputs"].as_u64() < found["inputs_before"].as_u64(),
        "{text}"
    );
    let (code, text, _) = replay(&out, &["--until", &until, "--json"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(parsed(&text)["inputs"]["checkpoint"], 1, "{text}");
    assert_eq!(parsed(&text)["stopped"], true, "{text}");
}

#[test]
fn from_a_checkpoint_it_goes_on_as_from_the_managers_start() {
    let directory = tempfile::tempdir().unwrap();
    let (whole, name) = recording_of_silence(directory.path());
    let tape = Tape::turning(5, 60);
    silenced(&tape).0.end_tape();
    let until = format!("event:NodeSilent:{name}");
    let arguments = ["--until", &until, "--go-on", "700", "--json"];
    let expected = parsed(&replay(&whole, &arguments).1);
    assert_eq!(sweeps(&expected).last().unwrap()["sets"], 0, "{expected}");
    let mut from_checkpoints = 0;
    for (number, bytes) in tape.files().iter().enumerate().skip(1) {
        let file = directory.path().join(format!("{number}.weftrec"));
        fs::write(&file, bytes).unwrap();
        let (code, text, error) = replay(&file, &arguments);
        if error.contains("--until's place does not come") {
            continue;
        }
        assert_eq!(code, Some(0), "{text}{error}");
        let gone_on = parsed(&text);
        let what = |of: &Value| {
            let events = of["events"].as_array().unwrap().iter();
            events
                .map(|event| event["event"].clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(what(&gone_on), what(&expected));
        for field in ["state", "emulated_nodes", "emulated_links", "links_down"] {
            assert_eq!(gone_on[field], expected[field], "{field}");
        }
        from_checkpoints += 1;
    }
    assert!(from_checkpoints > 0);
}
