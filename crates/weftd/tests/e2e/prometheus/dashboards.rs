//! Grafana's dashboards: what is in their files, and their queries.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::server::Monitoring;
use crate::emulator::Emulator;
use crate::harness::{READ_OFTEN, Start, configure, wait_for};

const NAMES: [&str; 3] = ["fabric", "links", "manager"];
/// Columns of a dashboard.
const WIDTH: u64 = 24;

fn dashboards() -> impl Iterator<Item = (&'static str, Value)> {
    NAMES.into_iter().map(|name| {
        let text = super::read(&format!("grafana/weft-{name}.json"));
        (name, serde_json::from_str(&text).unwrap())
    })
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

#[test]
fn panels_have_ids_units_and_places_of_their_own() {
    let mut uids = BTreeSet::new();
    for (name, dashboard) in dashboards() {
        assert!(uids.insert(dashboard["uid"].as_str().unwrap().to_owned()));
        let variables = list(&dashboard["templating"], "list");
        assert_eq!(variables[0]["type"], "datasource", "{name}");
        assert_eq!(variables[0]["query"], "prometheus", "{name}");
        let known: BTreeSet<String> = variables
            .iter()
            .map(|variable| format!("${}", variable["name"].as_str().unwrap()))
            .collect();
        let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
        for panel in list(&dashboard, "panels") {
            let title = panel["title"].as_str().unwrap();
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{name}: {title}");
            assert!(
                !panel["fieldConfig"]["defaults"]["unit"]
                    .as_str()
                    .unwrap()
                    .is_empty(),
                "{title}"
            );
            let [x, y, w, h] =
                ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
            assert!(w > 0 && h > 0 && x + w <= WIDTH, "{name}: {title}");
            for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
                assert!(cells.insert(cell), "{name}: {title} covers another panel");
            }
            let mut refs = BTreeSet::new();
            for target in list(panel, "targets") {
                assert_eq!(
                    target["datasource"]["uid"], "${datasource}",
                    "{name}: {title}"
                );
                assert!(
                    refs.insert(target["refId"].as_str().unwrap().to_owned()),
                    "{title}"
                );
                for variable in variables_of(target["expr"].as_str().unwrap()) {
                    assert!(
                        variable == "$__rate_interval" || known.contains(&variable),
                        "{title}: {variable}"
                    );
                }
            }
            assert!(!refs.is_empty(), "{name}: {title} has no query");
        }
    }
}

/// The variables of a query, each with its `$`.
fn variables_of(query: &str) -> BTreeSet<String> {
    let names = query.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        format!("${}", &rest[..end.unwrap_or(rest.len())])
    });
    names.collect()
}

#[test]
fn every_query_has_a_result_on_a_fabric_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("fattree:16", &socket);
    let ports = [
        "--port-metrics",
        "nodetype:SW",
        "--port-metrics",
        "nodetype:FI",
    ];
    let start = Start::connected(&socket).args(&ports);
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    let Some(monitoring) = Monitoring::start(&daemon) else {
        return;
    };
    daemon.weft_ok(&[
        "emulator", "traffic", "start", "all", "uniform", "--rate", "80",
    ]);
    emulator.change(&["link-quality", "0x0011750102000001", "3", "2"]);
    let mut open: Vec<(String, String)> = Vec::new();
    for (name, dashboard) in dashboards() {
        for panel in list(&dashboard, "panels") {
            for target in list(panel, "targets") {
                let query = target["expr"]
                    .as_str()
                    .unwrap()
                    .replace("$__rate_interval", "10s");
                let query = ["$fabric", "$instance", "$node", "$switch", "$hca"]
                    .iter()
                    .fold(query, |query, name| query.replace(name, ".*"));
                open.push((format!("{name}: {}", panel["title"]), query));
            }
        }
    }
    assert!(open.len() > 40, "{}", open.len());
    let all = open.clone();
    wait_for(|| {
        std::thread::sleep(Duration::from_secs(1));
        daemon.weft_ok(&["sweep", "--wait"]);
        open.retain(|(_, query)| monitoring.query(query).is_empty());
        let left = open.iter().map(|(panel, _)| panel.as_str());
        println!("without a result: {:?}", left.collect::<Vec<_>>());
        open.is_empty().then_some(())
    });
    // Values are those of the fabric, not just some.
    let value = |query: &str| {
        let result = monitoring.query(query);
        result[0]["value"][1]
            .as_str()
            .unwrap()
            .parse::<f64>()
            .unwrap()
    };
    let of = |title: &str| {
        let (_, query) = all.iter().find(|(panel, _)| panel == title).unwrap();
        value(query)
    };
    assert_eq!(of("fabric: \"HFIs\""), 16.0);
    assert_eq!(of("fabric: \"Switches\""), 2.0);
    assert_eq!(of("fabric: \"Links\""), 40.0);
    let quality = "weft_switch_port_link_quality{switch=\"edge1\",port=\"3\"}";
    assert_eq!(value(quality), 2.0);
    assert!(of("fabric: \"Data sent by all ports\"") > 1e9);
}
