//! Pictures of a running fabric: routes, utilization, drains.

use serde_json::Value;

use crate::harness::{Start, configure_adaptive, wait_for};

#[test]
fn pictures_have_routes_with_alternatives_drains_and_load() {
    let start = Start::new("fattree:16,radix=8");
    configure_adaptive(&start.dir.path().join("opafm.xml"));
    let daemon = start.up();

    let ends = ["node1 hfi1_0", "node16 hfi1_0"];
    let shown = daemon.weft_ok(&["route", "show", ends[0], ends[1], "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let ways = shown["ways"].as_array().unwrap();
    let names: Vec<&str> = ways
        .iter()
        .map(|way| way["way"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["base", "dispersive", "adaptive"]);
    let base = ways[0]["links"].as_array().unwrap();
    assert_eq!(base.len(), 4);
    assert_eq!(base[0]["from"]["node"], ends[0]);
    assert_eq!(base[3]["to"]["node"], ends[1]);
    // The hops that the report of opareport's layout has.
    let points = ends.map(|end| format!("node:{end}"));
    let report = daemon.weft_ok(&[
        "report", "route", "-S", &points[0], "-D", &points[1], "--json",
    ]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let report = report.get("route").unwrap_or(&report);
    let hops = report["routes"][0]["paths"][0]["hops"].as_array().unwrap();
    let ports = |links: &[Value]| -> Vec<Value> {
        links
            .iter()
            .map(|link| link["from"]["port"].clone())
            .collect()
    };
    assert_eq!(ports(base), ports(hops), "{report}");

    let picture = daemon.weft_ok(&["route", "show", ends[0], ends[1], "--svg"]);
    for class in ["base", "dispersive", "adaptive"] {
        assert!(
            picture.contains(&format!("<path class=\"{class}\"")),
            "{class}"
        );
    }
    let same = daemon.weft_ok(&["fabric", "export", "--svg", "--route", ends[0], ends[1]]);
    assert_eq!(same, picture);

    daemon.weft_ok(&["drain", "node:core2"]);
    let drained = wait_for(|| {
        let picture = daemon.weft_ok(&["fabric", "export", "--svg"]);
        picture.contains("class=\"switch out\"").then_some(picture)
    });
    assert_eq!(
        drained.matches("drained</text>").count(),
        1 + 4 + 1,
        "{drained}"
    );

    let pattern = "pairs node1:node16";
    let mut start = vec!["emulator", "traffic", "start", "job"];
    start.extend(pattern.split(' '));
    daemon.weft_ok(&start);
    wait_for(|| {
        let picture = daemon.weft(&["fabric", "export", "--svg", "--hosts", "--load"]);
        let picture = String::from_utf8(picture.stdout).unwrap();
        let busy = picture.matches("<path class=\"load4\"").count();
        (busy > 4).then_some(())
    });

    let refused = daemon.weft_fails(2, &["route", "show", "node:edge1:port:1", "nodetype:FI"]);
    assert!(refused.contains("16 ports"), "{refused}");
    let unknown = daemon.weft_fails(
        1,
        &[
            "fabric",
            "export",
            "--svg",
            "--route",
            "nosuch",
            "node1 hfi1_0",
        ],
    );
    assert!(unknown.contains("nosuch"), "{unknown}");
}
