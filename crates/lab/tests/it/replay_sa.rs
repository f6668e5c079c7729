//! Replays of subnet administration beside the manager by the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use weft_emulator::io::{Control, Input};
use weft_fabric::{Guid, PortNum};
use weft_manager::{Command as Order, SaSettings};
use weft_testkit::sa_request::{SaRequest, own_and_sm, to_sm};
use weft_testkit::{NoTap, Tape, Wait, World};
use weft_wire::Layout;
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::method;
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{ServiceRecord, attribute};

const MINUTE: Duration = Duration::from_secs(60);
/// Seconds for which services hold.
const LEASE: u32 = 100;

/// A fabric that is up with subnet administration, which its hosts ask.
struct Asked {
    world: World,
    hosts: Vec<(Guid, PortNum)>,
    transaction: u64,
}

impl Asked {
    fn begin(spec: &str, tape: &Tape) -> Self {
        let fabric = spec.parse::<weft_fabric::generate::FabricSpec>().unwrap();
        let fabric = Arc::new(fabric.generate().unwrap());
        let hosts = fabric.hfis().map(|(_, node)| (node.guid(), PortNum(1)));
        let hosts = hosts.collect();
        let (options, settings) = (Default::default(), Default::default());
        let mut world = World::taped(fabric, options, settings, NoTap, Some(tape.clone())).unwrap();
        assert_eq!(world.bring_up(MINUTE).unwrap(), Wait::Done);
        world.administer(SaSettings::default());
        Self {
            world,
            hosts,
            transaction: 0x100,
        }
    }

    /// A host sends a request; returns its transaction.
    fn ask(&mut self, host: usize, method: u8, attribute: u16, record: &[u8]) -> u64 {
        self.transaction += 1;
        let request = SaRequest {
            method,
            attribute,
            ib: false,
            // What is registered has all components.
            mask: if method == method::SET { u64::MAX } else { 0 },
            record,
            transaction: self.transaction,
        };
        let (node, port) = self.hosts[host];
        let lids = own_and_sm(self.world.emulator.network(), (node, port)).unwrap();
        let packet = to_sm(lids, request.mad());
        let send = Input::Send { node, port, packet };
        self.world.emulator.handle(self.world.now(), send).unwrap();
        self.wait(1);
        self.transaction
    }

    /// A host registers a service.
    fn register(&mut self, host: usize, service_id: u64) {
        let (node, port) = self.hosts[host];
        let snapshot = self.world.snapshot();
        let node = snapshot.topology.find(node).unwrap();
        let node = snapshot.topology.node(node).unwrap();
        let record = ServiceRecord {
            service_id,
            service_p_key: PKey::MGMT_FULL,
            service_gid: Gid {
                prefix: SaSettings::default().subnet_prefix,
                interface: node.port_guid(port).unwrap(),
            },
            service_lease: LEASE,
            ..ServiceRecord::default()
        };
        let mut bytes = [0; ServiceRecord::LEN];
        record.encode(&mut bytes);
        self.ask(host, method::SET, attribute::SERVICE_RECORD, &bytes);
    }

    fn wait(&mut self, seconds: u64) {
        let until = self.world.now() + Duration::from_secs(seconds);
        self.world.run_until(until).unwrap();
    }

    fn sweep(&mut self) {
        let id = self.world.command(Order::Sweep);
        let done = self
            .world
            .run_while(MINUTE, |world| world.reply(id).is_some());
        assert_eq!(done.unwrap(), Wait::Done);
    }

    fn services(&self) -> usize {
        self.world.administration().unwrap().registered().services
    }

    fn seconds(&self) -> f64 {
        Duration::from_nanos(self.world.now().0).as_secs_f64()
    }

    fn written(mut self, tape: &Tape, directory: &Path) -> PathBuf {
        self.world.end_tape();
        let file = directory.join("both.weftrec");
        fs::write(&file, &tape.files()[0]).unwrap();
        file
    }
}

fn replay(file: &Path, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let output = command.arg("replay").arg(file).args(more).arg("--json");
    let output = output.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_time_is_that_of_both() {
    let directory = tempfile::tempdir().unwrap();
    let tape = Tape::default();
    let mut asked = Asked::begin("fattree:4", &tape);
    let mut at = Vec::new();
    for service in 0..4 {
        asked.register(1, 7 + service);
        asked.wait(2);
        let sweep = asked.world.manager().status().sweep;
        at.push((asked.seconds(), sweep, asked.services() as u64));
        // What comes next is no request.
        asked.wait(1);
        asked.sweep();
    }
    assert_eq!(at[3].2, at[0].2 + 3);
    let file = asked.written(&tape, directory.path());
    let whole = replay(&file, &["--steps"]);
    assert_eq!(whole["same"], true, "{whole}");
    for (seconds, sweep, services) in at {
        let found = replay(&file, &["--until", &seconds.to_string()]);
        assert_eq!(found["stopped"], true, "{found}");
        assert_eq!(found["sa"]["services"], services, "{found}");
        // The step at which it stops may be the order to sweep again.
        let swept = found["state"]["sweep"].as_u64().unwrap();
        assert!((sweep..=sweep + 1).contains(&swept), "{found}");
    }
}

#[test]
fn subnet_administration_goes_on_with_the_manager() {
    let directory = tempfile::tempdir().unwrap();
    let tape = Tape::default();
    let mut asked = Asked::begin("fattree:16", &tape);
    let own = asked.services();
    let subscription = InformInfo {
        lid_range_begin: weft_fabric::Lid(0xFFFF_FFFF),
        is_generic: 1,
        subscribe: 1,
        inform_type: 0xFFFF,
        trap_number: 0xFFFF,
        qp_number: 1,
        producer_type: 0xFF_FFFF,
        ..InformInfo::default()
    };
    let mut bytes = [0; InformInfo::LEN];
    subscription.encode(&mut bytes);
    asked.ask(2, method::SET, attribute::INFORM_INFO, &bytes);
    asked.register(1, 7);
    assert_eq!(asked.services(), own + 1);
    let registered = asked.world.administration().unwrap().registered();
    assert_eq!(registered.subscriptions, 1);
    let (node, port) = asked.hosts[3];
    let control = Control::LinkDown { node, port };
    asked.world.control(control).unwrap();
    asked.wait(2);
    asked.sweep();
    let file = asked.written(&tape, directory.path());
    let until = ["--until", "event:NodeVanished"];
    let then = replay(&file, &until);
    assert_eq!(then["sa"]["services"], own as u64 + 1, "{then}");
    let on = |seconds: &str| replay(&file, &[&until[..], &["--go-on", seconds]].concat());
    let soon = on("30");
    assert_eq!(soon["sa"]["services"], own as u64 + 1, "{soon}");
    // The host that answers again is told to who subscribed to that.
    let reports = soon["answers"].as_array().unwrap().iter();
    let reports: Vec<&str> = reports
        .map(|answer| answer["what"].as_str().unwrap())
        .collect();
    assert!(
        reports
            .iter()
            .any(|report| report.contains("Notice method 0x06")),
        "{soon}"
    );
    let later = on("200");
    assert_eq!(later["sa"]["services"], own as u64, "{later}");
}

#[test]
fn a_recording_is_cut_down_to_what_an_answer_needs() {
    let directory = tempfile::tempdir().unwrap();
    let tape = Tape::default();
    let mut asked = Asked::begin("fattree:16", &tape);
    let mut refused = 0;
    for round in 0..3 {
        for host in 1..8 {
            let transaction = asked.ask(host, method::GET, attribute::CLASS_PORT_INFO, &[0; 8]);
            if (round, host) == (1, 5) {
                refused = transaction;
            }
        }
        asked.sweep();
    }
    let file = asked.written(&tape, directory.path());
    let until = format!("answer:transaction {refused:#x} ");
    let out = directory.path().join("short.weftrec");
    let found = replay(
        &file,
        &["--until", &until, "--shorten", out.to_str().unwrap()],
    );
    assert_eq!(found["is_least"], true, "{found}");
    // Its state and the request.
    assert_eq!(found["inputs"], 2, "{found}");
    assert!(found["inputs_before"].as_u64().unwrap() > 50, "{found}");
    let short = replay(&out, &["--until", &until]);
    assert_eq!(
        (&short["same"], &short["stopped"]),
        (&Value::Bool(true), &Value::Bool(true))
    );
    assert_eq!(short["inputs"]["sa-received"], 1, "{short}");
}
