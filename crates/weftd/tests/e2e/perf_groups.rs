//! Groups of ports of the performance manager, and its settings.

use serde_json::Value;
use tonic::Code;
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::time::{ns, unix_s};
use weft_api::{FieldMask, v1};

use crate::harness::{Daemon, PATIENCE, READ_OFTEN, Start, configure, wait_for};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";
/// A change of the configuration: the second edge switch is a device group, and that a group of ports.
pub(crate) const SECOND: (&str, &str) = (
    "\n    </DeviceGroups>",
    "
      <DeviceGroup><Name>edge2</Name><NodeGUID>0x0011750102000002</NodeGUID></DeviceGroup>
    </DeviceGroups>
    <PmPortGroups>
      <PmPortGroup><Name>Second</Name><Enable>1</Enable><Monitor>edge2</Monitor></PmPortGroup>
    </PmPortGroups>",
);

/// A daemon with that group.
fn daemon() -> Daemon {
    let start = Start::new(TREE);
    let changes = [READ_OFTEN[0], SECOND];
    configure(&start.dir.path().join("opafm.xml"), &changes);
    start.up()
}

/// A client of it. While commands of `weft` run in a test, nothing answers the daemon's pings: it is made after them.
async fn client(daemon: &Daemon) -> Client {
    Client::connect(&daemon.api, None).await.unwrap()
}

/// The groups once they are as they should be.
async fn groups(
    client: &Client,
    are_right: impl Fn(&v1::ListPerfGroupsResponse) -> bool,
) -> v1::ListPerfGroupsResponse {
    let read = async {
        loop {
            let request = v1::ListPerfGroupsRequest::default();
            match client.perf_groups().list_perf_groups(request).await {
                Ok(listed) if are_right(listed.get_ref()) => return listed.into_inner(),
                Ok(_) => {}
                Err(status) => assert_eq!(status.code(), Code::FailedPrecondition, "{status:?}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap()
}

fn sides(group: &v1::PerfGroup) -> (&v1::PerfGroupSide, &v1::PerfGroupSide) {
    (
        group.internal.as_ref().unwrap(),
        group.external.as_ref().unwrap(),
    )
}

fn total(traffic: Option<&v1::PerfGroupTraffic>) -> u64 {
    traffic.unwrap().total_mbytes_per_second
}

#[tokio::test]
async fn groups_have_the_traffic_and_errors_of_their_ports() {
    let daemon = daemon();
    daemon.weft_ok(&["emulator", "traffic", "start", "all", "uniform"]);
    let client = client(&daemon).await;
    let listed = groups(&client, |listed| {
        let all = listed.groups[0].internal.as_ref().unwrap();
        total(all.sent.as_ref()) > 0
    })
    .await;
    let image = listed.image.as_ref().unwrap();
    assert!(unix_s(image.time) > 1_700_000_000 && ns(image.span) > 0);
    let names: Vec<(&str, bool)> = listed
        .groups
        .iter()
        .map(|group| (&*group.name, group.built_in))
        .collect();
    assert_eq!(
        names,
        [
            ("All", true),
            ("HFIs", true),
            ("SWs", true),
            ("Second", false)
        ]
    );
    // Ports whose neighbour is in the group too; a switch's port 0 has none.
    let counts = listed.groups.iter().map(|group| {
        let (internal, external) = sides(group);
        (internal.ports, external.ports)
    });
    assert_eq!(
        counts.collect::<Vec<_>>(),
        [(72, 0), (0, 16), (40, 16), (1, 8)]
    );
    for group in &listed.groups {
        let (internal, external) = sides(group);
        for side in [internal, external] {
            let errors = side.errors.as_ref().unwrap();
            assert_eq!(errors.ports.len(), 5);
            let ports = errors.ports.iter().map(|ports| ports.integrity);
            assert_eq!(ports.sum::<u32>(), side.ports, "{group:?}");
            let sent = side.sent.as_ref().unwrap();
            let ports: u32 = sent.ports_by_utilization.iter().sum();
            assert_eq!((ports, sent.ports_by_utilization.len()), (side.ports, 10));
        }
        let (rate, linked) = match external.ports {
            0 => (internal.most_gbps, internal.least_gbps),
            _ => (external.most_gbps, external.least_gbps),
        };
        assert_eq!((rate, linked), (100.0, 100.0), "{group:?}");
    }
    // What hosts send is what switches receive from outside, and the other way round.
    let (_, hosts) = sides(&listed.groups[1]);
    let (_, switches) = sides(&listed.groups[2]);
    assert!(total(hosts.sent.as_ref()) > 0, "{hosts:?}");
    assert_eq!(
        total(hosts.sent.as_ref()),
        total(switches.received.as_ref())
    );
    assert_eq!(
        total(hosts.received.as_ref()),
        total(switches.sent.as_ref())
    );

    let names = vec!["Second".to_owned(), "nobody".to_owned()];
    let request = v1::ListPerfGroupsRequest {
        names,
        ..v1::ListPerfGroupsRequest::default()
    };
    let refused = client.perf_groups().list_perf_groups(request).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let facts = refused.get_details_error_info().unwrap().metadata;
    assert_eq!(facts["name"], "nobody");
    assert_eq!(facts["allowed"], "All, HFIs, SWs, Second");
}

#[tokio::test]
async fn ports_of_a_group_come_in_pages_with_the_fields_that_are_wanted() {
    let daemon = daemon();
    let client = client(&daemon).await;
    groups(&client, |_| true).await;
    let mut service = client.perf_groups();
    let mut request = v1::ListGroupPortsRequest {
        group: "Second".to_owned(),
        page_size: 4,
        ..v1::ListGroupPortsRequest::default()
    };
    let mut ports = Vec::new();
    loop {
        let page = service.list_group_ports(request.clone()).await.unwrap();
        let page = page.into_inner();
        assert!(page.ports.len() <= 4);
        ports.extend(page.ports);
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    let numbers: Vec<u32> = ports
        .iter()
        .map(|port| port.port.as_ref().unwrap().port.unwrap().port)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for (number, port) in numbers.iter().zip(&ports) {
        assert_eq!(port.port.as_ref().unwrap().node_name, "edge2");
        assert_eq!(port.internal, *number == 0, "{port:?}");
        assert_eq!(port.neighbor.is_some(), *number > 0, "{port:?}");
        assert_eq!(port.reading(), v1::CounterReading::Done, "{port:?}");
    }
    request.point = "node:edge2:port:5".to_owned();
    let paths = ["port.port", "sent.utilization"]
        .map(str::to_owned)
        .to_vec();
    request.read_mask = Some(FieldMask { paths });
    let one = service.list_group_ports(request.clone()).await.unwrap();
    let one = one.into_inner().ports;
    let port = one[0].port.as_ref().unwrap();
    assert_eq!((one.len(), port.port.unwrap().port), (1, 5));
    assert_eq!((&*port.node_name, one[0].lid), ("", 0));
    assert!(one[0].neighbor.is_none() && one[0].sent.is_some());

    let paths = vec!["sent.usage".to_owned()];
    request.read_mask = Some(FieldMask { paths });
    let refused = service.list_group_ports(request.clone()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let fields = refused.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields[0].field, "read_mask");
    let facts = refused.get_details_error_info().unwrap().metadata;
    assert_eq!(facts["path"], "sent.usage");
    assert!(facts["allowed"].contains("utilization"), "{facts:?}");
    request.group = "second".to_owned();
    request.read_mask = None;
    let refused = service.list_group_ports(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

#[tokio::test]
async fn settings_are_those_of_the_configuration() {
    let daemon = daemon();
    let mut service = client(&daemon).await.perf_groups();
    let settings = service.get_perf_config(v1::GetPerfConfigRequest {}).await;
    let settings = settings.unwrap().into_inner();
    assert_eq!(ns(settings.interval), 1_000_000_000);
    assert_eq!(settings.groups, ["All", "HFIs", "SWs", "Second"]);
    assert_eq!(settings.total_images, 10);
    let thresholds = settings.thresholds.unwrap();
    assert_eq!((thresholds.integrity, thresholds.security), (100, 10));
    assert_eq!(settings.integrity_weights.unwrap().link_downed, 25);
    assert_eq!(settings.congestion_weights.unwrap().sw_port_congestion, 100);
    let file = daemon.dir.path().join("opafm.xml");
    let changes = [(
        "<SweepInterval>10</SweepInterval>",
        "<SweepInterval>7</SweepInterval>",
    )];
    configure(&file, &changes);
    daemon.weft_ok(&["config", "reload"]);
    let mut service = client(&daemon).await.perf_groups();
    let settings = service.get_perf_config(v1::GetPerfConfigRequest {}).await;
    let settings = settings.unwrap().into_inner();
    assert_eq!(ns(settings.interval), 7_000_000_000);
    assert_eq!(settings.groups.len(), 3);
}

#[test]
fn the_command_prints_groups_their_ports_and_the_settings() {
    let daemon = daemon();
    daemon.weft_ok(&["emulator", "traffic", "start", "all", "uniform"]);
    let listed = wait_for(|| {
        let listed = daemon.weft(&["pm", "groups", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).ok()?;
        let sent = &listed["groups"][0]["internal"]["sent"]["total_mbytes_per_second"];
        (sent.as_u64()? > 0).then_some(listed)
    });
    let group = &listed["groups"][3];
    assert_eq!(group["name"], "Second", "{listed}");
    assert_eq!(group["external"]["ports"], 8, "{group}");
    assert_eq!(group["internal"]["received"], Value::Null, "{group}");

    let text = daemon.weft_ok(&["pm", "groups"]);
    let cells = |line: &str| {
        let words = line.split("  ").map(str::trim);
        let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
        words.collect::<Vec<_>>()
    };
    let row = |start: [&str; 2]| {
        let rows = text.lines().map(cells);
        let mut found = rows.filter(|row| row.len() > 2 && row[..2] == start);
        found.next().unwrap_or_else(|| panic!("{start:?}: {text}"))
    };
    // What hosts send is what switches receive.
    assert_eq!(row(["HFIs", "out"])[2..], row(["SWs", "in"])[2..], "{text}");
    assert_eq!(row(["Second", "out"])[2], "8", "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    let text = daemon.weft_ok(&["pm", "groups", "Second"]);
    for fact in ["Links: 100 Gb/s", "USED %", "THRESHOLD", "no answer: 0"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    let refused = daemon.weft_fails(1, &["pm", "groups", "second"]);
    assert!(refused.contains("All, HFIs, SWs, Second"), "{refused}");

    let asked = ["pm", "ports", "Second", "--sort", "utilization", "--json"];
    let ports: Value = serde_json::from_str(&daemon.weft_ok(&asked)).unwrap();
    let used = |port: &Value| port["utilization_percent"].as_f64().unwrap();
    let used: Vec<f64> = ports["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(used)
        .collect();
    assert!(used.len() == 9 && used[0] > used[8], "{ports}");
    assert!(used.is_sorted_by(|a, b| a >= b), "{ports}");
    let text = daemon.weft_ok(&["pm", "ports", "Second", "--sort", "data", "--lowest", "-n1"]);
    // Its port 0, which carries nothing.
    assert!(
        text.contains("\nedge2:0 ") && text.ends_with("\n1 port\n"),
        "{text}"
    );
    let text = daemon.weft_ok(&["pm", "ports", "Second", "-F", "node:edge2:port:5"]);
    assert!(
        text.contains("\nedge2:5 ") && text.contains(" border "),
        "{text}"
    );

    let settings = daemon.weft_ok(&["pm", "config", "--json"]);
    let settings: Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["interval_seconds"], 1.0);
    assert_eq!(settings["thresholds"]["integrity"], 100);
    assert_eq!(settings["groups"][3], "Second");
    let text = daemon.weft_ok(&["pm", "config"]);
    assert!(
        text.contains("Integrity from        100, tell 10\n"),
        "{text}"
    );
}
