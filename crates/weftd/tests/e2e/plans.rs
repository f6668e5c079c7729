//! Plans of routes, carried out and undone; switches and links drained.

use serde_json::Value;

use crate::harness::{Daemon, Start, wait_for, wait_for_links};

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// All forwarding tables as text.
fn tables(daemon: &Daemon) -> String {
    daemon.weft_ok(&["report", "linear"])
}

#[test]
fn an_engine_is_planned_applied_and_undone() {
    let daemon = Daemon::up(TREE);
    let before = tables(&daemon);
    let engine = if before_engine(&daemon) == "shortestpath" {
        "dmodc"
    } else {
        "shortestpath"
    };
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", engine, "--json"]));
    let plan = &planned["plan"];
    assert_eq!(plan["engine"], engine, "{planned}");
    assert_ne!(plan["engine_before"], engine);
    assert!(plan["routes"].as_u64().unwrap() > 0, "{planned}");
    assert!(plan["blocks"].as_u64().unwrap() > 0);
    assert_eq!(plan["certificate"]["disconnected"], 0);
    for quality in ["before", "after"] {
        let quality = &plan[quality];
        assert_eq!(quality["hosts"], 16, "{planned}");
        assert_eq!(quality["shifts"]["patterns"], 15);
        assert_eq!(quality["permutations"]["patterns"], 1000);
        assert!(quality["all_to_all_over_bound"].as_f64().unwrap() >= 1.0);
    }
    assert_eq!(tables(&daemon), before, "a plan changes nothing");

    let id = planned["plan_id"].to_string();
    let said = daemon.weft_ok(&["route", "apply", &id]);
    assert!(said.contains(&format!("plan {id} is in force")), "{said}");
    assert!(said.contains(&format!("routing: {engine}")), "{said}");
    let after = tables(&daemon);
    assert_ne!(after, before);
    let again = daemon.weft_fails(1, &["route", "apply", &id]);
    assert!(
        again.contains(&format!("plan {id} is not remembered")),
        "{again}"
    );

    let other = daemon.weft_fails(1, &["route", "rollback", "77"]);
    let expected = format!("plan 77 is not the one that was carried out last: that is plan {id}, ");
    assert!(other.contains(&expected), "{other}");
    assert_eq!(tables(&daemon), after, "nothing was undone");
    let undone = daemon.weft_ok(&["route", "rollback", &id]);
    assert!(
        undone.contains(&format!("undone: engine {engine}")),
        "{undone}"
    );
    assert_eq!(tables(&daemon), before);
    let nothing = daemon.weft_fails(1, &["route", "rollback"]);
    assert!(
        nothing.contains("no plan has been carried out"),
        "{nothing}"
    );
}

fn before_engine(daemon: &Daemon) -> String {
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", "auto", "--json"]));
    planned["plan"]["engine_before"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_plan_that_needs_other_lanes_says_what_ports_in_use_keep() {
    let daemon = Daemon::up("torus:4x4");
    let notes = |engine: &str| {
        let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", engine, "--json"]));
        planned["plan"]["notes"].to_string()
    };
    let about_lanes = "virtual lane(s), 1 at present";
    let more = notes("layered");
    assert!(more.contains(about_lanes) && more.contains("drop what comes in them"));
    assert!(!notes("shortestpath").contains(about_lanes));
}

#[test]
fn a_plan_for_a_fabric_that_has_changed_is_refused() {
    let daemon = Daemon::up(TREE);
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", "shortestpath", "--json"]));
    let id = planned["plan_id"].to_string();
    daemon.weft_ok(&["port", "disable", "node:edge1:port:5"]);
    wait_for_links(&daemon, 31);
    daemon.weft_ok(&["sweep", "--wait"]);
    let refused = daemon.weft_fails(1, &["route", "apply", &id]);
    assert!(
        refused.contains("has changed since; plan again"),
        "{refused}"
    );
}

#[test]
fn a_configuration_is_planned_before_it_is_in_force() {
    let daemon = Daemon::up(TREE);
    let file = daemon.dir.path().join("opafm.xml");
    let text = std::fs::read_to_string(&file).unwrap();
    let other = daemon.dir.path().join("other.xml");
    let path = other.to_str().unwrap();
    let from = "<SweepInterval>300</SweepInterval>";
    let to = "<SweepInterval>600</SweepInterval>";
    assert!(text.contains(from));
    std::fs::write(&other, text.replace(from, to)).unwrap();
    let planned = json(&daemon.weft_ok(&["route", "plan", "--config", path, "--json"]));
    assert_eq!(planned["plan"]["routes"], 0, "{planned}");
    let effective = || daemon.weft_ok(&["config", "show", "--effective"]);
    assert!(effective().contains(from));
    daemon.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
    assert!(effective().contains(to));
    let undone = daemon.weft_ok(&["route", "rollback"]);
    assert!(undone.contains("undone: another configuration"), "{undone}");
    assert!(effective().contains(from));

    std::fs::write(&other, text.replace("<Lmc>0</Lmc>", "<Lmc>9</Lmc>")).unwrap();
    let wrong = daemon.weft(&["route", "plan", "--config", path]);
    assert_eq!(wrong.status.code(), Some(1));
    let said = crate::harness::text(&wrong.stdout);
    assert!(
        said.contains("other.xml:") && said.contains("Lmc"),
        "{said}"
    );
    std::fs::write(&other, text.replace("<Lmc>0</Lmc>", "<Lmc>1</Lmc>")).unwrap();
    let lids = daemon.weft_fails(1, &["route", "plan", "--config", path]);
    assert!(lids.contains("gives other LIDs"), "{lids}");
}

/// Whether a switch is on a path between hosts.
fn is_on_a_way(daemon: &Daemon, name: &str) -> bool {
    let routes = daemon.weft_ok(&["report", "route", "-S", "nodetype:FI", "-D", "nodetype:FI"]);
    routes.contains(name)
}

#[test]
fn a_switch_is_drained_and_taken_back() {
    let daemon = Daemon::up(TREE);
    let before = tables(&daemon);
    assert!(is_on_a_way(&daemon, "core2"));
    let tried = daemon.weft_ok(&["drain", "-n", "node:core2"]);
    assert!(tried.contains("routes move"), "{tried}");
    assert!(is_on_a_way(&daemon, "core2"), "a dry run changes nothing");

    let said = daemon.weft_ok(&["drain", "node:core2"]);
    assert!(
        said.contains("nothing leads over it any more\nsafe to pull\n"),
        "{said}"
    );
    assert!(!is_on_a_way(&daemon, "core2"));
    let listed = daemon.weft_ok(&["route", "drains"]);
    assert_eq!(listed, "core2: safe to pull\n");
    let listed = json(&daemon.weft_ok(&["route", "drains", "--json"]));
    assert_eq!(listed[0]["routes"], 0, "{listed}");
    let swept = json(&daemon.weft_ok(&["sweep", "--wait", "--json"]));
    assert_eq!(
        swept["switches"], 8,
        "a drained switch is still managed: {swept}"
    );

    let back = daemon.weft_ok(&["undrain", "node:core2"]);
    assert!(back.contains("core2 is in use again"), "{back}");
    assert_eq!(tables(&daemon), before, "as if nothing had been");
    assert_eq!(daemon.weft_ok(&["route", "drains"]), "nothing is drained\n");
}

#[test]
fn a_restart_keeps_what_is_drained() {
    let daemon = Daemon::up(TREE);
    daemon.weft_ok(&["drain", "node:core2"]);
    daemon.weft_ok(&["drain", "node:edge1:port:5"]);
    let tables_before = tables(&daemon);
    let listed = daemon.weft_ok(&["route", "drains"]);
    assert_eq!(listed.matches("safe to pull").count(), 2, "{listed}");
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));

    let again = Start::in_dir(dir, TREE).up();
    assert_eq!(again.weft_ok(&["route", "drains"]), listed);
    assert_eq!(tables(&again), tables_before);
    again.weft_ok(&["undrain", "node:core2"]);
    assert!(is_on_a_way(&again, "core2"));
}

#[test]
fn a_restart_says_which_plan_it_does_not_follow() {
    let daemon = Daemon::up(TREE);
    let shown = |daemon: &Daemon| json(&daemon.weft_ok(&["fabric", "show", "--json"]));
    assert_eq!(shown(&daemon)["planned"], "");
    let planned = json(&daemon.weft_ok(&["route", "plan", "--engine", "fattree", "--json"]));
    daemon.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
    let text = daemon.weft_ok(&["fabric", "show"]);
    let expected = "Plan: engine fattree is in force until weftd ends";
    assert!(text.contains(expected), "{text}");
    let (code, dir) = daemon.stop();
    assert_eq!(code, Some(0));

    let again = Start::in_dir(dir, TREE).up();
    let said = shown(&again)["planned"].to_string();
    let expected = "engine fattree was in force before the restart";
    assert!(said.contains(expected), "{said}");
    again.weft_ok(&["config", "reload"]);
    assert_eq!(shown(&again)["planned"], "");
}

#[test]
fn a_link_is_drained_by_either_end() {
    let daemon = Daemon::up(TREE);
    let said = json(&daemon.weft_ok(&["drain", "--json", "node:edge1:port:5"]));
    assert_eq!(said["safe_to_pull"], true, "{said}");
    assert_eq!(said["drain"]["routes"], 0);
    daemon.weft_ok(&["port", "disable", "node:edge1:port:5"]);
    wait_for_links(&daemon, 31);
    let sets = json(&daemon.weft_ok(&["sweep", "--wait", "--json"]));
    assert_eq!(sets["unfinished"].as_array().unwrap().len(), 0, "{sets}");
}

#[test]
fn what_nothing_else_leads_to_is_not_drained() {
    let daemon = Daemon::up(TREE);
    for (code, arguments, expected) in [
        (
            1,
            ["drain", "node:edge1"],
            "switch edge1 (0x0011750102000001) has 4 HFIs",
        ),
        (
            1,
            ["drain", "node:edge1:port:1"],
            "port 1 of edge1 (0x0011750102000001) has no link to another switch",
        ),
        (
            1,
            ["undrain", "node:core1"],
            "switch core1 (0x0011750102000005) is not drained",
        ),
        (
            2,
            ["drain", "nodetype:SW"],
            "names neither one switch nor one port",
        ),
        (1, ["drain", "node:nosuch"], "no node named 'nosuch'"),
    ] {
        let said = daemon.weft_fails(code, &arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let unknown = daemon.weft_fails(1, &["route", "plan", "--engine", "magic"]);
    assert!(unknown.contains("allowed: auto, dmodc"), "{unknown}");
    for core in ["core1", "core2", "core3"] {
        daemon.weft_ok(&["drain", &format!("node:{core}")]);
    }
    let last = daemon.weft_fails(1, &["drain", "node:core4"]);
    let expected =
        "without switch core4 (0x0011750102000008), parts of the fabric would be cut off";
    assert!(last.contains(expected), "{last}");
    let undone = daemon.weft_ok(&["route", "rollback"]);
    assert!(
        undone.contains("undone: drain switch core3 (0x"),
        "{undone}"
    );
}

#[test]
fn a_drained_switch_that_was_pulled_keeps_its_name() {
    let daemon = Daemon::up(TREE);
    let said = daemon.weft_ok(&["drain", "node:core2"]);
    assert!(said.contains("routes moved"), "{said}");
    let links = json(&daemon.weft_ok(&["report", "links", "-F", "node:core2", "--json"]));
    for link in links["links"].as_array().unwrap() {
        let ends = [&link["from"], &link["to"]];
        let far = ends.iter().find(|end| end["name"] != "core2").unwrap();
        let name = far["name"].as_str().unwrap();
        daemon.weft_ok(&[
            "port",
            "disable",
            &format!("node:{name}:port:{}", far["port"]),
        ]);
    }
    let listed = || daemon.weft_ok(&["route", "drains"]);
    wait_for(|| (listed() == "core2: not in the fabric\n").then_some(()));
    let undrained = daemon.weft_ok(&["undrain", "node:core2"]);
    assert_eq!(
        undrained,
        "core2 is no longer drained; it is not in the fabric, and data will go over it once it is back\n"
    );
    assert_eq!(listed(), "nothing is drained\n");
}

#[test]
fn adaptive_routing_is_planned_alone() {
    let daemon = Daemon::up(TREE);
    let groups = || {
        let report = daemon.weft_ok(&["report", "portgroups"]);
        let counted = report
            .lines()
            .filter_map(|line| line.split_once("Num Groups :"));
        let counted = counted.map(|(_, count)| count.trim().parse::<u32>().unwrap());
        counted.sum::<u32>()
    };
    assert_eq!(groups(), 0);
    for (code, args, expected) in [
        (2, &["--threshold", "7"][..], "--adaptive"),
        (2, &["--adaptive", "on", "--threshold", "8"], "1..=7"),
        (2, &["--adaptive", "perhaps"], "on, off"),
    ] {
        let said = daemon.weft_fails(code, &[&["route", "plan"], args].concat());
        assert!(said.contains(expected), "{args:?}: {said}");
    }
    let on = [
        "route",
        "plan",
        "--adaptive",
        "on",
        "--threshold",
        "7",
        "--json",
    ];
    let planned = json(&daemon.weft_ok(&on));
    assert_eq!(
        planned["plan"]["certificate"]["disconnected"], 0,
        "{planned}"
    );
    assert_eq!(groups(), 0, "a plan changes nothing");
    daemon.weft_ok(&["route", "apply", &planned["plan_id"].to_string()]);
    assert!(groups() > 0);
    let listed = daemon.weft_ok(&["operation", "list"]);
    assert!(
        listed.contains("adaptive routing on, threshold 7"),
        "{listed}"
    );

    let off = json(&daemon.weft_ok(&["route", "plan", "--adaptive", "off", "--json"]));
    daemon.weft_ok(&["route", "apply", &off["plan_id"].to_string()]);
    assert_eq!(groups(), 0);
    daemon.weft_ok(&["route", "rollback"]);
    assert!(groups() > 0, "that it was off is undone");
}
