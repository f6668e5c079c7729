//! Limits of access.toml beyond roles, tried on a running daemon: how much of the fabric at once, when, with which reason.

use std::process::Output;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::access::{at_socket, rule, rules_of, socket_of};
use crate::harness::{Daemon, Start, text};
use crate::process::output;
use crate::quarantine::json;

/// Four core switches, of which some may be drained.
const TREE: &str = "fattree:32,radix=8";
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const DAY: u64 = 24 * 3600;

fn start_in(dir: TempDir, rules: &str, zone: &str) -> Daemon {
    std::fs::copy(crate::harness::stock_config(), dir.path().join("opafm.xml")).unwrap();
    std::fs::write(rules_of(dir.path()), rules).unwrap();
    let (file, socket) = (rules_of(dir.path()), socket_of(dir.path()));
    let mut start = Start::in_dir(dir, TREE);
    start.command.env("TZ", zone);
    let own = ["--access", file.to_str().unwrap(), "--listen", &socket];
    start.args(&own).up()
}

fn start(rules: &str) -> Daemon {
    start_in(tempfile::tempdir().unwrap(), rules, "UTC0")
}

/// An order of somebody at the Unix socket, who administers.
fn orders(daemon: &Daemon, args: &[&str]) -> Output {
    output(&mut at_socket(daemon, args))
}

fn done(daemon: &Daemon, args: &[&str]) {
    let done = orders(daemon, args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
}

/// Refused by a limit, which is in the answer and in the record of changes.
fn refused(daemon: &Daemon, args: &[&str], words: &str) {
    let told = || {
        let listed = text(&orders(daemon, &["audit", "list", "--json"]).stdout);
        let all = listed.lines().map(json);
        let told = all.filter(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            one["result"] == "permission_denied" && message.contains(words)
        });
        told.count()
    };
    let before = told();
    let refused = orders(daemon, args);
    let said = text(&refused.stderr);
    assert!(!refused.status.success(), "{args:?} is done");
    assert!(said.contains(words), "{args:?}: {said}");
    assert_eq!(told(), before + 1, "{words}");
}

fn drained(daemon: &Daemon) -> usize {
    daemon
        .weft_ok(&["route", "drains"])
        .lines()
        .filter(|line| line.starts_with("core"))
        .count()
}

#[test]
fn a_third_switch_is_not_drained_where_two_may_be_at_once() {
    let daemon = start("[[limit]]\nname = \"two switches\"\ndrained_switches = 2\n");
    done(&daemon, &["drain", "node:core1"]);
    done(&daemon, &["drain", "node:core2"]);
    let words =
        "the limit \"two switches\" allows at most 2 drained switches, and this would make 3";
    refused(&daemon, &["drain", "node:core3"], words);
    assert_eq!(drained(&daemon), 2);
    // One that comes back makes place for another, and taking that back counts as a drain too.
    done(&daemon, &["undrain", "node:core1"]);
    done(&daemon, &["drain", "node:core3"]);
    done(&daemon, &["undrain", "node:core3"]);
    rule(
        &daemon,
        "[[limit]]\nname = \"one switch\"\ndrained_switches = 1\n",
    );
    refused(&daemon, &["route", "rollback"], "the limit \"one switch\"");
    rule(
        &daemon,
        "[[limit]]\nname = \"links only\"\ndrained_links = 0\n",
    );
    done(&daemon, &["route", "rollback"]);
    assert_eq!(drained(&daemon), 2);
    // Of another role it does not count; more than allowed are drained already, and less is always allowed.
    rule(
        &daemon,
        "[[limit]]\nname = \"none\"\ndrained_switches = 0\nroles = [\"operate\"]\n",
    );
    done(&daemon, &["drain", "node:core4"]);
    rule(
        &daemon,
        "[[limit]]\nname = \"none\"\ndrained_switches = 0\n",
    );
    done(&daemon, &["undrain", "node:core4"]);
    assert_eq!(drained(&daemon), 2);
}

#[test]
fn ports_beyond_a_limit_are_not_disabled() {
    let daemon = start("[[limit]]\nname = \"three ports\"\ndisabled_ports = 3\n");
    let disable = |port| ["port", "disable", "--reason", "x", port];
    let list = daemon.dir.path().join("ports");
    let listed = ["port", "disable", "--from", list.to_str().unwrap()];
    // The second and the third edge switch.
    let line = |edge: u8, port: u8| format!("0x001175010200000{edge};{port};SW;edge{edge};x\n");
    let (b, c, d) = (line(2, 2), line(3, 1), line(3, 2));
    done(&daemon, &disable("node:edge2:port:1"));
    std::fs::write(&list, format!("{b}{c}{d}")).unwrap();
    let words = "SetPorts: the limit \"three ports\" allows at most 3 disabled ports, and this would make 4";
    refused(&daemon, &listed, words);
    refused(&daemon, &[&listed[..], &["-n"]].concat(), words);
    std::fs::write(&list, format!("{b}{c}")).unwrap();
    done(&daemon, &listed);
    refused(
        &daemon,
        &disable("node:edge3:port:2"),
        "SetPortState: the limit \"three ports\"",
    );
    // One that is off already makes no more of them.
    done(&daemon, &disable("node:edge3:port:1"));
    done(
        &daemon,
        &["port", "enable", "--reason", "x", "node:edge2:port:1"],
    );
    done(&daemon, &disable("node:edge3:port:2"));
    let shown = daemon.weft_ok(&["port", "list", "--disabled", "--json"]);
    assert_eq!(shown.matches("\"reason\"").count(), 3, "{shown}");
}

/// Seconds since 1970.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs()
}

/// A zone in which it is about noon, and the day of the week there. 1 January 1970 was a Thursday.
fn noon() -> (String, &'static str) {
    let hour = (now() % DAY / 3600) as i64;
    // As POSIX has it: three letters, and the hours by which it is west of Greenwich.
    let zone = format!("LAB{}", hour - 12);
    let local = now().cast_signed() - (hour - 12) * 3600;
    let day = local.cast_unsigned() / DAY + 3;
    (zone, DAYS[(day % 7) as usize])
}

#[test]
fn what_a_limit_forbids_on_a_day_is_done_on_another() {
    let (zone, today) = noon();
    let rules = |days: &str| {
        format!(
            "[[limit]]\nname = \"not on {days}\"\ndays = [\"{days}\"]\n\
             methods = [\"ApplyRoutePlan\", \"SetPortState\"]\n"
        )
    };
    let daemon = start_in(tempfile::tempdir().unwrap(), &rules(today), &zone);
    let words = format!("ApplyRoutePlan: the limit \"not on {today}\" allows none now");
    refused(&daemon, &["drain", "node:core1"], &words);
    assert_eq!(drained(&daemon), 0);
    let disable = ["port", "disable", "--reason", "x", "node:edge2:port:1"];
    refused(&daemon, &disable, "SetPortState: the limit");
    done(&daemon, &["sweep", "--wait"]);
    let others = DAYS.iter().filter(|day| **day != today);
    let others: Vec<String> = others.map(|day| format!("\"{day}\"")).collect();
    rule(
        &daemon,
        &format!(
            "[[limit]]\nname = \"others\"\ndays = [{}]\n",
            others.join(", ")
        ),
    );
    done(&daemon, &["drain", "node:core1"]);
    // At noon, and at no other time of this day.
    rule(
        &daemon,
        "[[limit]]\nname = \"lunch\"\nhours = [\"11:00-14:00\"]\n",
    );
    refused(&daemon, &["undrain", "node:core1"], "the limit \"lunch\"");
    rule(
        &daemon,
        "[[limit]]\nname = \"night\"\nhours = [\"14:00-11:00\"]\n",
    );
    done(&daemon, &["undrain", "node:core1"]);
    // A bad file leaves the limits before in force, and says where it is bad.
    std::fs::write(
        rules_of(daemon.dir.path()),
        "[[limit]]\nname = \"a\"\nhours = [\"9-17\"]\n",
    )
    .unwrap();
    daemon.signal("HUP");
    daemon.logs("'9-17' is not a range of hours; expected one such as 08:00-18:30");
    assert!(daemon.log().contains("line 3"), "{}", daemon.log());
    done(&daemon, &["drain", "node:core1"]);
    // In another zone it is another day.
    let (_, dir) = daemon.stop();
    let hours: i64 = zone[3..].parse().unwrap();
    let zone = format!("LAB{}", if hours > 0 { hours - 24 } else { hours + 24 });
    let daemon = start_in(dir, &rules(today), &zone);
    done(&daemon, &["undrain", "node:core1"]);
}

#[test]
fn a_reason_is_given_where_a_limit_asks_for_one() {
    let daemon = start(
        "[[limit]]\nname = \"why\"\nreason = true\nmethods = [\"SetPortState\", \"ApplyRoutePlan\"]\n",
    );
    let port = "node:edge2:port:1";
    refused(
        &daemon,
        &["port", "disable", port],
        "the limit \"why\" asks for a reason (--reason)",
    );
    refused(
        &daemon,
        &["port", "disable", "--reason", " ", port],
        "the limit \"why\"",
    );
    done(&daemon, &["port", "disable", "--reason", "bad cable", port]);
    refused(
        &daemon,
        &["drain", "node:core1"],
        "ApplyRoutePlan: the limit \"why\"",
    );
    done(&daemon, &["drain", "--reason", "firmware", "node:core1"]);
    // Of others nothing is asked.
    rule(
        &daemon,
        "[[limit]]\nname = \"why\"\nreason = true\ncallers = [\"user:nobody\"]\n",
    );
    done(&daemon, &["undrain", "node:core1"]);
}

#[test]
fn a_limit_that_is_not_enforced_only_tells_what_it_would_refuse() {
    let daemon = start("[[limit]]\nname = \"try\"\ndrained_switches = 0\nenforce = false\n");
    done(&daemon, &["drain", "node:core1"]);
    daemon.logs("not refused, as the limit is not enforced: ApplyRoutePlan: the limit \"try\"");
    assert_eq!(drained(&daemon), 1);
}

#[test]
fn of_many_clients_at_once_no_more_disable_ports_than_a_limit_allows() {
    let daemon = start("[[limit]]\nname = \"three ports\"\ndisabled_ports = 3\n");
    let clients: Vec<_> = (2..=5)
        .flat_map(|edge| [1, 2].map(|port| format!("node:edge{edge}:port:{port}")))
        .map(|port| {
            let mut command = at_socket(&daemon, &["port", "disable", "--reason", "x", &port]);
            std::thread::spawn(move || output(&mut command))
        })
        .collect();
    let ended = clients.into_iter().map(|client| client.join().unwrap());
    let (did, did_not): (Vec<Output>, Vec<Output>) = ended.partition(|one| one.status.success());
    assert_eq!(did.len(), 3);
    for one in did_not {
        let said = format!("{}{}", text(&one.stdout), text(&one.stderr));
        assert!(said.contains("the limit \"three ports\""), "{said}");
    }
    let listed = daemon.weft_ok(&["port", "list", "--disabled", "--json"]);
    assert_eq!(listed.matches("\"reason\"").count(), 3, "{listed}");
}
