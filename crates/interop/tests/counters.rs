//! Counters of ports beside those that the vendor's tools read from the same devices, and while such tools clear them.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::Value;
use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::PortNum;
use weft_interop::vendor_sm::{SmSettings, turn};
use weft_interop::{Fabric, Weftd};
use weft_peers::program;

const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(300);
/// Counters are read more often than by default.
const READINGS: &[(&str, &str)] = &[
    (
        "<SweepInterval>10</SweepInterval>",
        "<SweepInterval>2</SweepInterval>",
    ),
    (
        "<ImageUpdateInterval>5</ImageUpdateInterval>",
        "<ImageUpdateInterval>1</ImageUpdateInterval>",
    ),
];
/// The host that the manager and tools run on.
const HOST: &str = "node1";
/// A port between switches.
const POINT: &str = "node:edge2:port:5";
const PORT: u8 = 5;

/// Lines of opapmaquery, and the totals that they are. Data and packets go on while tools ask.
const SETTLED: [(&str, &str); 12] = [
    ("Uncorrectable Errors", "uncorrectable_errors"),
    ("Link Downed", "link_downed"),
    ("Rcv Errors", "rcv_errors"),
    ("Exc. Buffer Overrun", "excessive_buffer_overruns"),
    ("FM Config Errors", "fm_config_errors"),
    ("Local Link Integ Err", "local_link_integrity_errors"),
    ("Link Error Recovery", "link_error_recovery"),
    ("Rcv Rmt Phys Err", "rcv_remote_physical_errors"),
    ("Xmit Constraint", "xmit_constraint_errors"),
    ("Rcv Constraint", "rcv_constraint_errors"),
    ("Rcv Sw Relay Err", "rcv_switch_relay_errors"),
    ("Xmit Discards", "xmit_discards"),
];

struct Lab {
    fabric: Fabric,
    weftd: Weftd,
}

impl Lab {
    /// A fabric whose manager has read a port that then counted 700 symbol errors and 40 discards.
    fn start(changes: &'static [(&'static str, &'static str)]) -> Self {
        let fabric = Fabric::start("fattree:32,radix=8");
        let settings = SmSettings {
            pm: true,
            changes,
            ..SmSettings::default()
        };
        let mut weftd = Weftd::start(&fabric, HOST, &settings);
        weftd.wait_until_master(PATIENCE);
        let lab = Self { fabric, weftd };
        lab.total("xmit_discards", 0);
        lab.count(700, 40);
        lab
    }

    /// The port's counters once a total is this.
    fn total(&self, counter: &str, value: u64) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let ran = self.weftd.client(&["counters", "-F", POINT, "--json"]);
            let read: Option<Value> = serde_json::from_slice(&ran.stdout).ok();
            let port = read.map(|read| read["ports"][0].clone());
            if let Some(port) = port
                .as_ref()
                .filter(|port| port["totals"][counter] == value)
            {
                return port.clone();
            }
            assert!(
                Instant::now() < until,
                "{counter} is to be {value}: {port:?} {ran:?}"
            );
            std::thread::sleep(PAUSE);
        }
    }

    fn tool(&self, line: &str) -> String {
        let ran = self.fabric.run(HOST, line);
        assert!(ran.good, "{line}: {}", ran.text);
        ran.text
    }

    /// What the vendor's tool reads from the device.
    fn register(&self, lid: u64, label: &str) -> u64 {
        let text = self.tool(&format!("opapmaquery -o getportstatus -l {lid} -m {PORT}"));
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(label));
        let number = line.and_then(|line| line.split_whitespace().last()?.parse().ok());
        number.unwrap_or_else(|| panic!("{label}: {text}"))
    }

    fn count(&self, symbol_errors: u64, discards: u64) {
        let topology = self.fabric.topology();
        let mut nodes = topology.nodes();
        let edge = nodes.find(|(_, node)| node.name() == "edge2").unwrap().1;
        self.fabric.control(Control::CountErrors {
            node: edge.guid(),
            port: PortNum(PORT),
            errors: ErrorCounts {
                symbol_errors,
                discards,
                ..ErrorCounts::default()
            },
        });
    }
}

#[test]
fn totals_are_the_registers_and_go_on_when_tools_clear_them() {
    if program("opapmaquery").is_none() || program("opareport").is_none() {
        return;
    }
    let _turn = turn();
    let lab = Lab::start(&[]);
    let port = lab.total("xmit_discards", 40);
    let lid = port["lid"].as_u64().unwrap();
    for (label, counter) in SETTLED {
        assert_eq!(port["totals"][counter], lab.register(lid, label), "{label}");
    }
    // The report of links with errors is opareport's.
    let config = lab.fabric.directory().join("opamon.conf");
    std::fs::write(&config, "XmitDiscards 5\nLocalLinkIntegrityErrors 699\n").unwrap();
    let config = config.to_str().unwrap();
    let ours = lab.weftd.told(&["report", "errors", "-c", config]);
    let theirs = lab.tool(&format!("opareport -q -o errors -c {config}"));
    assert!(
        ours.contains("XmitDiscards: 40 Exceeds Threshold: 5"),
        "{ours}"
    );
    assert!(theirs.contains(ours.trim_end()), "{ours}\nbut\n{theirs}");

    // Another client clears the device.
    lab.tool(&format!(
        "opapmaquery -o clearportstatus -l {lid} -n 0x{:x}",
        1u64 << PORT
    ));
    assert_eq!(lab.register(lid, "Xmit Discards"), 0);
    lab.count(11, 2);
    let port = lab.total("xmit_discards", 42);
    assert_eq!(port["totals"]["local_link_integrity_errors"], 711);
    assert_eq!(lab.register(lid, "Local Link Integ Err"), 11);
    assert_eq!(port["bridges"], 1, "{port}");
    let sent = port["totals"]["xmit_pkts"].as_u64().unwrap();
    assert!(sent > lab.register(lid, "Xmit Pkts"), "{port}");

    // opareport clears what performance administration shows, and devices where it is told to ask them.
    // What is counted between two of the manager's readings and cleared before the second is lost to all.
    for (clear, discards) in [
        ("opareport -q -a -o none", 43),
        ("opareport -q -M -a -o none", 44),
    ] {
        lab.tool(clear);
        lab.count(1, 1);
        lab.total("xmit_discards", discards);
    }
    assert_eq!(lab.register(lid, "Xmit Discards"), 1);
    let port = lab.total("xmit_discards", 44);
    assert_eq!(port["totals"]["local_link_integrity_errors"], 713);
}

/// The lines of a report without the head of XML, which has the time and the options.
fn lines(text: &str) -> Vec<&str> {
    let lines = text.lines();
    lines
        .filter(|line| !line.starts_with("<Report date="))
        .collect()
}

#[test]
fn counters_are_set_to_zero_as_opareport_does() {
    if program("opapmaquery").is_none() || program("opareport").is_none() {
        return;
    }
    let _turn = turn();
    let lab = Lab::start(READINGS);
    let lid = lab.total("xmit_discards", 40)["lid"].as_u64().unwrap();
    let config = lab.fabric.directory().join("opamon.conf");
    std::fs::write(&config, "XmitDiscards 1\nRcvErrors 1\n").unwrap();
    let config = config.to_str().unwrap();

    // What is told of it, by opareport first: it asks performance administration, which counts for itself.
    let focus = ["-F", POINT];
    for (options, says) in [
        (&["-o", "errors", "-C"][..], "XmitDiscards: 40 Exceeds"),
        (&["-o", "none", "-C", "-a"], "LocalLinkIntegrityErrors"),
        (
            &["-o", "errors", "-C", focus[0], focus[1]],
            "Cleared 2 Ports on 2 Nodes",
        ),
        (
            &["-o", "errors", "-C", "-L", focus[0], focus[1]],
            "Cleared 1 Ports on 1 Nodes",
        ),
        (&["-o", "none", "-a", "-x"], "<ClearedPorts>"),
        (
            &["-o", "errors", "-C", "-x", focus[0], focus[1]],
            "<ClearedNodes>2<",
        ),
    ] {
        let options = [options, &["-c", config]].concat();
        let theirs = lab.tool(&format!("opareport -q {}", options.join(" ")));
        let ours = lab.weftd.told(&[&["report"][..], &options].concat());
        assert!(ours.contains(says), "{options:?}: {ours}");
        assert_eq!(lines(&ours), lines(&theirs), "{options:?}");
    }

    // The device has lost it, and both reports count from there on; totals go on, and nobody else was it.
    for label in ["Xmit Discards", "Local Link Integ Err"] {
        assert_eq!(lab.register(lid, label), 0, "{label}");
    }
    lab.count(11, 2);
    let port = lab.total("xmit_discards", 42);
    assert_eq!(port["since_clear"]["xmit_discards"], 2, "{port}");
    assert_eq!(port["totals"]["local_link_integrity_errors"], 711);
    assert_eq!(port["bridges"], 0, "{port}");
    let ours = lab.weftd.told(&["report", "errors", "-c", config]);
    let theirs = lab.tool(&format!("opareport -q -o errors -c {config}"));
    assert!(
        ours.contains("XmitDiscards: 2 Exceeds Threshold: 1"),
        "{ours}"
    );
    assert_eq!(ours, theirs);

    // Who wanted it, and why, is recorded.
    let reason = "cable replaced";
    let arguments = [
        "report",
        "none",
        "-a",
        "-F",
        "node:edge2",
        "--reason",
        reason,
    ];
    let cleared = lab.weftd.told(&[&arguments[..], &["--json"]].concat());
    let cleared: Value = serde_json::from_str(&cleared).unwrap();
    assert_eq!(cleared["failed_ports"], 0, "{cleared}");
    let who = lab.weftd.told(&["who", "--json"]);
    let last: Value = serde_json::from_str(who.lines().next().unwrap()).unwrap();
    assert_eq!(
        last["what"], "set 27 counters of node:edge2 to zero",
        "{who}"
    );
    assert_eq!(last["reason"], reason);
    assert_ne!(last["author"], "", "{who}");
}
