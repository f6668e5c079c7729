//! Virtual fabrics: listed, their members, and whether one port reaches another.

use serde_json::Value;

use crate::harness::{Daemon, Start, configure, wait_for};
use crate::watch::Watcher;

const FABRIC: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The end of the section with the virtual fabrics.
const END: &str = "    </VirtualFabrics>";
/// The end of the section with the device groups.
const GROUPS_END: &str = "    </DeviceGroups>";

/// Two virtual fabrics besides the stock ones: Blue with nodes 1 and 2 in full and 3 and 4 limited, and Red on standby.
const FABRICS: &str = r"
      <VirtualFabric>
        <Name>Blue</Name>
        <Enable>1</Enable>
        <PKey>0x0005</PKey>
        <Security>1</Security>
        <QOS>1</QOS>
        <BaseSL>2</BaseSL>
        <MulticastSL>3</MulticastSL>
        <Bandwidth>30%</Bandwidth>
        <MaxMTU>4096</MaxMTU>
        <MaxRate>50g</MaxRate>
        <Member>Front</Member>
        <LimitedMember>Back</LimitedMember>
        <Application>Verbs</Application>
      </VirtualFabric>
      <VirtualFabric>
        <Name>Red</Name>
        <Enable>1</Enable>
        <Standby>1</Standby>
        <PKey>0x0006</PKey>
        <Security>1</Security>
        <QOS>0</QOS>
        <Member>Front</Member>
        <Application>Verbs</Application>
      </VirtualFabric>
";
const GROUPS: &str = r"
      <DeviceGroup>
        <Name>Front</Name>
        <NodeDesc>node1 hfi1_0</NodeDesc>
        <NodeDesc>node2 hfi1_0</NodeDesc>
      </DeviceGroup>
      <DeviceGroup>
        <Name>Back</Name>
        <NodeDesc>node3 hfi1_0</NodeDesc>
        <NodeDesc>node4 hfi1_0</NodeDesc>
      </DeviceGroup>
";
const APPLICATION: &str = r"
      <Application>
        <Name>Verbs</Name>
        <ServiceID>0x1234</ServiceID>
      </Application>
";

/// Adds these virtual fabrics to the stock file, and leaves `Default` to nodes 1 and 2.
pub(crate) fn two_more(start: &Start) {
    let file = start.dir.path().join("opafm.xml");
    let (fabrics, groups) = (format!("{FABRICS}{END}"), format!("{GROUPS}{GROUPS_END}"));
    let applications = format!("{APPLICATION}    </Applications>");
    let changes = [
        (END, &*fabrics),
        (GROUPS_END, &groups),
        ("    </Applications>", &applications),
        ("<Member>All</Member>", "<Member>Front</Member>"),
    ];
    configure(&file, &changes);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn up() -> Daemon {
    let start = Start::new(FABRIC);
    two_more(&start);
    start.up()
}

/// `weft vf check` of two hosts, with its exit code.
fn check(daemon: &Daemon, a: &str, b: &str) -> (Option<i32>, Value) {
    let [a, b] = [a, b].map(|name| format!("node:{name} hfi1_0"));
    let ran = daemon.weft(&["vf", "check", &a, &b, "--json"]);
    (
        ran.status.code(),
        json(&String::from_utf8_lossy(&ran.stdout)),
    )
}

#[test]
fn virtual_fabrics_are_listed_with_their_members() {
    let daemon = up();
    let listed = json(&daemon.weft_ok(&["vf", "list", "--json"]));
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Default", "Admin", "Blue", "Red"]);
    let blue = &listed[2];
    for (field, expected) in [
        ("index", Value::from(2)),
        ("pkey", "0x0005".into()),
        ("sl", 2.into()),
        ("multicast_sl", 3.into()),
        ("max_mtu", 4096.into()),
        ("max_rate_mbps", 50_000.into()),
        ("bandwidth_percent", 30.into()),
        ("security", true.into()),
        ("standby", false.into()),
        ("full_members", 2.into()),
        ("limited_members", 2.into()),
    ] {
        assert_eq!(blue[field], expected, "{field} of {blue}");
    }
    let levels = blue["levels"].as_array().unwrap();
    let sls: Vec<u64> = levels
        .iter()
        .map(|level| level["sl"].as_u64().unwrap())
        .collect();
    assert_eq!(sls, [2, 3]);
    assert_ne!(levels[0]["vl"], levels[1]["vl"], "{blue}");
    assert_eq!(listed[3]["standby"], true);
    assert_eq!(listed[3]["full_members"], 0);
    let text = daemon.weft_ok(&["vf", "list"]);
    assert!(text.contains("secured, QOS"), "{text}");
    assert!(text.contains("standby, secured"), "{text}");

    let members = json(&daemon.weft_ok(&["vf", "members", "Blue", "--json"]));
    let members: Vec<(&str, bool, &str)> = members
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["port"]["name"].as_str().unwrap(),
                one["full"].as_bool().unwrap(),
                one["device_groups"][0].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        members,
        [
            ("node1 hfi1_0", true, "Front"),
            ("node2 hfi1_0", true, "Front"),
            ("node3 hfi1_0", false, "Back"),
            ("node4 hfi1_0", false, "Back"),
        ]
    );
    let text = daemon.weft_ok(&["vf", "members", "Blue"]);
    assert!(text.contains("port 1: limited, by Back\n"), "{text}");
    assert_eq!(
        daemon.weft_ok(&["vf", "members", "Red"]),
        "Red has no members\n"
    );
    let wrong = daemon.weft_fails(1, &["vf", "members", "Green"]);
    assert!(
        wrong.contains("there is no virtual fabric 'Green'"),
        "{wrong}"
    );
}

#[test]
fn a_check_says_by_what_a_port_reaches_another_or_why_not() {
    let daemon = up();
    let (code, found) = check(&daemon, "node3", "node1");
    assert_eq!(code, Some(0), "{found}");
    let reached = &found["reached"];
    assert_eq!(
        reached.as_array().unwrap().len(),
        2,
        "Admin and Blue: {found}"
    );
    let blue = &reached[1];
    assert_eq!(blue["virtual_fabric"], "Blue");
    assert_eq!(
        (&blue["source_pkey"], &blue["destination_pkey"]),
        (&"0x0005".into(), &"0x8005".into())
    );
    assert_eq!(
        (&blue["sl"], &blue["mtu"], &blue["rate_mbps"]),
        (&2.into(), &4096.into(), &50_000.into())
    );
    let hops = blue["hops"].as_array().unwrap();
    assert_eq!(hops.len(), 4, "two edges and a core: {blue}");
    assert_eq!(hops[0]["from"]["name"], "node3 hfi1_0");
    assert_eq!(hops[3]["to"]["name"], "node1 hfi1_0");
    let tables: Vec<&str> = blue["registers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["table"].as_str().unwrap())
        .collect();
    let of = |table| tables.iter().filter(|one| **one == table).count();
    assert_eq!(
        of("P_KeyTable"),
        4,
        "both ends, and both switch ports that check: {blue}"
    );
    assert_eq!(
        (of("SLtoSCMappingTable"), of("SCtoVLtMappingTable")),
        (1, 4)
    );
    assert_eq!(found["not_reached"][0]["virtual_fabric"], "Default");
    assert_eq!(
        found["not_reached"][0]["why"],
        "node3 hfi1_0 port 1 is not a member"
    );

    // Of the hosts only the first may manage: the others are limited members of Admin.
    let (code, found) = check(&daemon, "node3", "node4");
    assert_eq!(code, Some(1), "{found}");
    let text = daemon.weft(&["vf", "check", "node:node3 hfi1_0", "node:node4 hfi1_0"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains(") port 1 does not reach node4 hfi1_0"),
        "{text}"
    );
    for fabric in ["Admin", "Blue"] {
        let why =
            format!("not in {fabric}: both are limited members, and these reach full members only");
        assert!(text.contains(&why), "{text}");
    }
    let text = daemon.weft_ok(&["vf", "check", "node:node3 hfi1_0", "node:node1 hfi1_0"]);
    assert!(
        text.contains("in Blue: keys 0x0005 (limited) and 0x8005 (full), SL 2, MTU 4096, rate 50g"),
        "{text}"
    );
    assert!(text.contains("P_KeyTable of edge2"), "{text}");
}

#[test]
fn a_point_that_is_no_single_end_port_is_refused() {
    let daemon = up();
    for (args, code, expected) in [
        (
            ["nodetype:FI", "node:node1 hfi1_0"],
            1,
            "names 4 end ports; name one",
        ),
        (
            ["node:node1 hfi1_0", "node:edge1:port:1"],
            1,
            "names no end port",
        ),
        (["node:node1 hfi1_0", "node:nobody"], 1, "destination: "),
        (["nonsense", "node:node1 hfi1_0"], 2, "nonsense"),
    ] {
        let said = daemon.weft_fails(code, &[&["vf", "check"], &args[..]].concat());
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

/// The daemon's file with the members of Blue in each other's place, another MTU, and without Red.
fn exchanged(daemon: &Daemon) -> String {
    let text = std::fs::read_to_string(daemon.dir.path().join("opafm.xml")).unwrap();
    let members = "<Member>Front</Member>\n        <LimitedMember>Back<";
    let other = "<Member>Back</Member>\n        <LimitedMember>Front<";
    assert_eq!(text.matches(members).count(), 1);
    let text = text.replace(members, other);
    let text = text.replace("<MaxMTU>4096<", "<MaxMTU>2048<");
    let (before, red) = text.split_once("<Name>Red</Name>").unwrap();
    format!(
        "{before}<Name>Red</Name>{}",
        red.replacen("<Enable>1<", "<Enable>0<", 1)
    )
}

#[test]
fn a_change_is_planned_shown_by_a_reload_and_told() {
    let daemon = up();
    let new = daemon.dir.path().join("new.xml");
    std::fs::write(&new, exchanged(&daemon)).unwrap();
    let plan = ["vf", "plan", new.to_str().unwrap()];
    let planned = json(&daemon.weft_ok(&[&plan[..], &["--json"]].concat()));
    let change = &planned["plan"];
    assert_eq!(change["removed"], Value::from(vec!["Red"]), "{planned}");
    assert_eq!(change["handed_over"], Value::from(vec!["0x0005"]));
    assert_eq!(change["changed"][0]["name"], "Blue");
    let mtu = &change["changed"][0]["settings"][0];
    assert_eq!(
        (&mtu["element"], &mtu["before"], &mtu["after"]),
        (&"MaxMTU".into(), &"4096".into(), &"2048".into())
    );
    let ports = change["ports"].as_array().unwrap();
    assert_eq!(ports.len(), 4, "{planned}");
    assert_eq!(ports[0]["port"]["name"], "node1 hfi1_0");
    assert_eq!(ports[0]["loses"], Value::from(vec!["0x8005"]));
    assert_eq!(ports[0]["gains"], Value::from(vec!["0x0005"]));
    assert_eq!(ports[2]["gains"], Value::from(vec!["0x8005"]));
    let text = daemon.weft_ok(&plan);
    for line in [
        "gone: Red\n",
        "changed: Blue: MaxMTU 4096 to 2048\n",
        "port 1: loses 0x8005; gains 0x0005\n",
        "handed over, by those that lose it first: 0x0005\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(
        check(&daemon, "node3", "node4").0,
        Some(1),
        "a plan changes nothing"
    );

    let (mut watcher, _) = Watcher::start(&daemon, &[]);
    std::fs::rename(&new, daemon.dir.path().join("opafm.xml")).unwrap();
    let dry = daemon.weft_ok(&["config", "reload", "--dry-run"]);
    assert!(dry.contains(&text), "{dry}");
    let reloaded = daemon.weft_ok(&["config", "reload"]);
    assert!(reloaded.contains(&text), "{reloaded}");
    let told = watcher.until("virtual_fabrics_changed")["data"].clone();
    assert_eq!(
        (&told["ports"], &told["losing_ports"]),
        (&4.into(), &4.into())
    );
    daemon.logs(
        "virtual fabrics changed: 0 new, 1 gone, 1 with other settings; other keys for 4 ports",
    );
    wait_for(|| (check(&daemon, "node3", "node4").0 == Some(0)).then_some(()));
    assert_eq!(
        check(&daemon, "node1", "node2").1["reached"][0]["virtual_fabric"],
        "Default"
    );
    let again = daemon.weft_ok(&[
        "vf",
        "plan",
        daemon.dir.path().join("opafm.xml").to_str().unwrap(),
    ]);
    assert!(
        again.ends_with("the virtual fabrics stay as they are\n"),
        "{again}"
    );

    let wrong = daemon.dir.path().join("wrong.xml");
    std::fs::write(&wrong, "<Config>").unwrap();
    let refused = daemon.weft(&["vf", "plan", wrong.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
}

/// Reports on virtual fabrics, groups and what switches hold are the same from the daemon, from its export, and by
/// opareport if that is installed.
#[test]
fn reports_are_the_same_live_and_from_a_file() {
    let daemon = up();
    let file = daemon.dir.path().join("fabric.xml");
    let file = file.to_str().unwrap();
    daemon.weft_ok(&["fabric", "export", "--snapshot", "-V", "-o", file]);
    for report in [
        "vfinfo",
        "vfmember",
        "mcgroups",
        "mcast",
        "bfrctrl",
        "portgroups",
        "portusage",
        "pathusage",
        "validatevlroutes",
        "validatevlcreditloops",
        "validatemcroutes",
    ] {
        let live = daemon.weft_ok(&["report", report, "-d", "3"]);
        let stored = daemon.weft_ok(&["report", report, "-d", "3", "-X", file]);
        assert_eq!(live, stored, "{report}");
        let usual = daemon.weft_ok(&["report", report]);
        let mut opareport = std::process::Command::new("opareport");
        opareport.args(["-q", "-X", file, "-o", report]);
        if let Some(theirs) = weft_peers::output(&mut opareport) {
            assert_eq!(usual, String::from_utf8_lossy(&theirs.stdout), "{report}");
        }
    }
    let info = daemon.weft_ok(&["report", "vfinfo"]);
    assert!(
        info.contains("Name: Blue \nPKey: 0x5   SL: 2 McastSL: 3"),
        "{info}"
    );
    assert!(!info.contains("Red"), "on standby:\n{info}");
    let members = daemon.weft_ok(&["report", "vfmember", "-F", "node:node3 hfi1_0"]);
    assert!(members.contains("    Blue\t2\t\t2\t"), "{members}");
    let groups = daemon.weft_ok(&["report", "mcgroups", "--json"]);
    let permanent = json(&groups)["groups"].as_array().unwrap().len();
    assert!(permanent > 0, "{groups}");

    let text = daemon.weft_ok(&["report", "dgmember"]);
    assert!(text.contains("Device Group: Front\n    LID: 0x"), "{text}");
    let json = json(&daemon.weft_ok(&["report", "dgmember", "--json"]));
    let front = json["groups"].as_array().unwrap();
    let front = front.iter().find(|group| group["name"] == "Front").unwrap();
    assert_eq!(front["members"].as_array().unwrap().len(), 2, "{front}");
    let said = daemon.weft_fails(2, &["report", "dgmember", "-X", file]);
    assert!(said.contains("no device groups"), "{said}");

    // A file with a fault is one: exit code 1, and the text says where.
    let whole = std::fs::read_to_string(file).unwrap();
    let lost = whole.replacen("<Value LID=\"0x1\">", "<Value LID=\"0x3f\">", 1);
    std::fs::write(file, lost).unwrap();
    let ran = daemon.weft(&["report", "validateroutes", "-X", file]);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert!(text.contains("-> 0x00000001 0x"), "{text}");
}
