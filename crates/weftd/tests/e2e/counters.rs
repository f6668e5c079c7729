//! Counters of ports, by the client, over restarts of the daemon, and as metrics.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use weft_api::v1;
use weft_api::v1::counter_service_client::CounterServiceClient;
use weft_interop::Running;

use crate::emulator::Emulator;
use crate::exposition::promtool_accepts;
use crate::harness::{
    Daemon, PATIENCE, READ_OFTEN, Start, configure, free_address, text, wait_for,
};
use crate::process::{output, program};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// The second edge switch; its ports 5 to 8 lead to cores.
const EDGE: &str = "0x0011750102000002";
const POINT: &str = "node:edge2:port:5";

pub(crate) struct Lab {
    _dir: tempfile::TempDir,
    pub(crate) emulator: Emulator,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let emulator = Emulator::start(TREE, &dir.path().join("fabric"));
        Self {
            _dir: dir,
            emulator,
        }
    }

    /// A daemon that reads counters every second.
    pub(crate) fn daemon(&self, args: &[&str]) -> Daemon {
        let start = Start::connected(&self.emulator.socket());
        configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
        start.args(args).up()
    }

    pub(crate) fn errors(&self, port: &str, symbol_errors: &str, discards: &str) {
        let options = ["--symbol-errors", symbol_errors, "--discards", discards];
        let count = ["count-errors", EDGE, port];
        self.emulator.change(&[&count[..], &options].concat());
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The port's counters once they have been read.
fn counters(daemon: &Daemon) -> Option<Value> {
    let said = daemon.weft(&["counters", "-F", POINT, "--json"]);
    let read = said.status.success().then(|| json(&text(&said.stdout)))?;
    Some(read["ports"][0].clone())
}

/// Waits until a total is this.
pub(crate) fn total(daemon: &Daemon, counter: &str, value: u64) -> Value {
    wait_for(|| counters(daemon).filter(|port| port["totals"][counter] == value))
}

/// Totals are handed on every 10 s.
const HANDED_ON: Duration = Duration::from_secs(12);

#[test]
fn totals_go_on_at_the_standby_of_a_pair() {
    let lab = Lab::new();
    let master = lab.daemon(&[]);
    let peer = ["--peer", &master.api, "--host", "0x0011750101000002"];
    let standby = lab.daemon(&peer);
    total(&master, "xmit_discards", 0);
    lab.errors("5", "700", "40");
    let before = total(&master, "xmit_discards", 40);
    std::thread::sleep(HANDED_ON);
    master.signal("KILL");
    let after = total(&standby, "xmit_discards", 40);
    assert_eq!(after["since"], before["since"]);
    lab.errors("5", "1", "2");
    let later = total(&standby, "xmit_discards", 42);
    assert_eq!(later["totals"]["local_link_integrity_errors"], 701);
}

#[test]
fn totals_outlast_the_daemon_and_are_told_in_every_form() {
    let lab = Lab::new();
    let daemon = lab.daemon(&[]);
    total(&daemon, "xmit_discards", 0);
    lab.errors("5", "700", "40");
    let port = total(&daemon, "xmit_discards", 40);
    assert_eq!(port["totals"]["local_link_integrity_errors"], 700);
    assert_eq!(port["neighbor"]["name"], "core1");
    assert_eq!(
        (&port["bridges"], &port["rate_gbps"]),
        (&0.into(), &100.0.into())
    );
    let since = port["since"].clone();
    let shown = daemon.weft_ok(&["counters", "--only-errors"]);
    assert!(shown.contains("edge2:5 > core1:2"), "{shown}");
    assert!(
        shown.contains("    XmitDiscards 40, LocalLinkIntegrityErrors 700"),
        "{shown}"
    );
    assert_eq!(shown.lines().count(), 4, "{shown}");
    let csv = daemon.weft_ok(&[
        "counters",
        "-F",
        POINT,
        "--per-lane",
        "--csv",
        "--counters",
        "xmit_discards",
    ]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].ends_with("vl,virtual_fabric,xmit_discards"),
        "{csv}"
    );
    assert!(
        lines[1].contains(",edge2,") && lines[1].ends_with(",,,40"),
        "{csv}"
    );
    assert_eq!(lines.len(), 4, "the port, lanes 0 and 15: {csv}");
    let shown = daemon.weft_ok(&["port", "show", POINT]);
    for line in [
        "Port 5 of edge2",
        "state Active",
        "neighbor: port 2 of core1",
        "quarantine: no",
        "drain: no",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    let whole = json(&daemon.weft_ok(&["port", "show", POINT, "--json"]));
    assert_eq!(whole["counters"]["totals"]["xmit_discards"], 40);
    assert_eq!(whole["link"]["state"], "Active");
    let (_, dir) = daemon.stop();
    lab.errors("5", "0", "2");
    let daemon = Start::connected_in(dir, &lab.emulator.socket()).up();
    let port = total(&daemon, "xmit_discards", 42);
    assert_eq!(port["since"], since, "it goes on");
}

#[test]
fn a_watch_has_each_reading_and_wrong_questions_are_explained() {
    let lab = Lab::new();
    let daemon = lab.daemon(&[]);
    total(&daemon, "xmit_discards", 0);
    let lines = daemon.weft_ok(&["counters", "-F", POINT, "--watch", "--count", "3", "--json"]);
    let images: Vec<Value> = lines.lines().map(json).collect();
    let first = images[0]["image"].as_u64().unwrap();
    for (later, image) in images.iter().enumerate() {
        assert_eq!(image["image"], first + later as u64);
        assert_eq!(image["lost_images"], 0);
        assert_eq!(image["ports"][0]["port"]["guid"], EDGE);
    }
    let rate = &images[2]["ports"][0]["per_second"]["xmit_pkts"];
    assert!(rate.as_f64().is_some(), "{rate}");
    let said = daemon.weft_fails(1, &["counters", "-F", "node:nobody"]);
    assert!(said.contains("point: no node named 'nobody'"), "{said}");
    let said = daemon.weft_fails(1, &["counters", "--counters", "xmit"]);
    assert!(
        said.contains("'xmit' is no counter; there are: xmit_data"),
        "{said}"
    );
    daemon.weft_fails(2, &["counters", "--json", "--csv"]);
}

#[test]
fn chosen_ports_have_metrics_as_infiniband_exporter_has() {
    let lab = Lab::new();
    let daemon = lab.daemon(&["--port-metrics", POINT, "--port-metrics", "nodepat:node1 *"]);
    total(&daemon, "xmit_discards", 0);
    lab.errors("5", "0", "9");
    total(&daemon, "xmit_discards", 9);
    let answer = daemon.scrape();
    let (_, metrics) = answer.split_once("\r\n\r\n").unwrap();
    let labels = format!(
        "{{guid=\"{EDGE}\",switch=\"edge2\",port=\"5\",remote_guid=\"0x0011750102000005\",remote_name=\"core1\",remote_port=\"2\"}}"
    );
    let discards = format!("weft_switch_port_transmit_discards_total{labels} 9\n");
    assert!(metrics.contains(&discards), "{metrics}");
    for family in [
        "weft_switch_port_transmit_data_bytes_total",
        "weft_hca_port_receive_data_bytes_total",
        "weft_hca_port_link_downed_total",
        "weft_switch_port_rate_bytes_per_second",
    ] {
        assert!(
            metrics.contains(&format!("\n{family}{{guid=")),
            "{family}: {metrics}"
        );
    }
    assert!(
        metrics.contains("\nweft_port_metrics_ports 2\n"),
        "{metrics}"
    );
    assert!(
        metrics.contains("\nweft_port_metrics_ports_left_out 0\n"),
        "{metrics}"
    );
    promtool_accepts(metrics);
    let weftd = Path::new(env!("CARGO_BIN_EXE_weftd"));
    let args = ["--emulate", "one-switch:2", "--port-metrics", "nonsense"];
    let refused = output(program(weftd).args(args));
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

/// The answer to a query of Prometheus, none while it is not there.
fn ask_prometheus(address: &str, query: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!(
        "GET /api/v1/query?query={query} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn prometheus_reads_the_metrics_of_chosen_ports() {
    let Some(prometheus) = weft_peers::program("prometheus") else {
        return;
    };
    let lab = Lab::new();
    let daemon = lab.daemon(&["--port-metrics", POINT]);
    total(&daemon, "xmit_discards", 0);
    lab.errors("5", "0", "7");
    total(&daemon, "xmit_discards", 7);
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("prometheus.yml");
    let target = daemon
        .metrics
        .trim_start_matches("http://")
        .trim_end_matches("/metrics");
    let text = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- job_name: weft\n  static_configs:\n  - targets: ['{target}']\n"
    );
    std::fs::write(&config, text).unwrap();
    let address = free_address().to_string();
    let mut command = program(&prometheus);
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            dir.path().join("data").display()
        ))
        .arg(format!("--web.listen-address={address}"));
    let _running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let answer = wait_for(|| {
        let answer = ask_prometheus(&address, "weft_switch_port_transmit_discards_total")?;
        answer.contains("remote_name").then_some(answer)
    });
    for part in [
        "\"switch\":\"edge2\"",
        "\"remote_name\":\"core1\"",
        ",\"7\"]",
    ] {
        assert!(answer.contains(part), "{part}: {answer}");
    }
}

/// Watches of all connections, and those of one.
const WATCHES: usize = 1_000;
const OF_ONE: usize = 25;

/// Peak memory of a process, KiB.
fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

/// A connection whose streams hold no more than 64 KiB that nobody reads.
async fn connection(api: &str) -> CounterServiceClient<Channel> {
    let endpoint = Endpoint::from_shared(api.to_owned()).unwrap();
    let endpoint = endpoint.initial_stream_window_size(65_535);
    CounterServiceClient::new(endpoint.connect().await.unwrap())
}

#[test]
fn a_thousand_watches_are_served_while_one_does_not_read() {
    let lab = Lab::new();
    let daemon = lab.daemon(&[]);
    total(&daemon, "xmit_discards", 0);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let before = peak_kib(daemon.pid());
    runtime.block_on(async {
        let everything = v1::WatchPortCountersRequest {
            selection: Some(v1::CounterSelection::named(&[], true, true)),
            ..v1::WatchPortCountersRequest::default()
        };
        let mut slow_one = connection(&daemon.api).await;
        let slow = slow_one.watch_port_counters(everything).await.unwrap();
        let mut slow = slow.into_inner();
        let first = slow.message().await.unwrap().unwrap().image.unwrap().number;
        let one = v1::WatchPortCountersRequest {
            point: POINT.to_owned(),
            ..v1::WatchPortCountersRequest::default()
        };
        let mut watches = Vec::new();
        let mut connections = Vec::new();
        for _ in 0..WATCHES / OF_ONE {
            let mut client = connection(&daemon.api).await;
            for _ in 0..OF_ONE {
                let watch = client.watch_port_counters(one.clone()).await.unwrap();
                watches.push(watch.into_inner());
            }
            connections.push(client);
        }
        let mut latest = 0;
        for _ in 0..8 {
            for watch in &mut watches {
                let message = watch.message().await.unwrap().unwrap();
                assert_eq!(message.lost_images, 0, "nobody waits for the slow one");
                latest = message.image.unwrap().number;
            }
        }
        let mut lost = 0;
        let mut told = Vec::new();
        loop {
            let message = slow.message().await.unwrap().unwrap();
            let number = message.image.unwrap().number;
            lost += message.lost_images;
            told.push(number);
            if number >= latest {
                break;
            }
        }
        let sent = told.len() as u64;
        assert_eq!(first + sent + lost, *told.last().unwrap(), "{told:?}");
        assert!(lost > 0, "{told:?}");
        let refused = slow_one.watch_port_counters(v1::WatchPortCountersRequest {
            point: "node:nobody".to_owned(),
            ..v1::WatchPortCountersRequest::default()
        });
        assert_eq!(refused.await.unwrap_err().code(), Code::NotFound);
    });
    let added = peak_kib(daemon.pid()) - before;
    println!("{added} KiB for {WATCHES} watches");
    assert!(added < 128 << 10, "{added} KiB");
}
