//! Every report of opareport on a running fabric beside that of `weft report`, as text and as XML.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum};
use weft_interop::vendor_sm::{SmSettings, turn};
use weft_interop::{Fabric, Weftd, topology_file};
use weft_peers::program;

const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(300);
/// The host that the manager and tools run on.
const HOST: &str = "node1";
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
const FILE: &str = "fabric.topology";
/// Reports of opareport's help that are no reports of the fabric: a file, which is judged by itself, and nothing.
const NOT_REPORTS: [&str; 2] = ["snapshot", "none"];
/// opareport does not list this report in its help, and prints it as text only.
const CABLEHEALTH: &str = "cablehealth";
/// Reports at levels of detail that show cables, and tables of ports.
const DETAILED: [(&str, &str); 8] = [
    ("nodes", "-d 3"),
    ("nodes", "-d 4 -V"),
    ("nodes", "-d 9"),
    ("comps", "-d 5 -V"),
    ("links", "-d 3"),
    ("links", "-d 4"),
    ("slowlinks", "-d 5"),
    ("links", "-d 9 -F cabinftype:optical"),
];
/// opareport prints this one right only after `portusage`.
const LIDUSAGE: &str = "portusage lidusage";
/// Reports that opareport makes otherwise of a running fabric than of a snapshot, so that it makes them of its own snapshot
/// here: it asks subnet administration for every path of every virtual fabric, where ours follow the tables, and it leaves
/// levels and lanes out where no switch changes the channel of packets.
const OF_SNAPSHOT: [&str; 3] = ["route", "validatevlroutes", "validatevlcreditloops"];
const SNAPSHOT: &str = "snapshot.xml";
/// Only what outlasts a restart, and only what is the hardware's.
const EXTENTS: [&str; 2] = ["-P", "-H"];
/// Reports on tables, which opareport does not read from a running fabric with these options, so that it tells of none or
/// crashes; of a file it makes them as without.
const OF_TABLES: [&str; 13] = [
    "linear",
    "mcast",
    "mcgroups",
    "portgroups",
    "portusage",
    "pathusage",
    "treepathusage",
    "validatepgs",
    "validateroutes",
    "validatecreditloops",
    "validatemcroutes",
    "vfmember",
    "bfrctrl",
];
const ENDS: &str = "-S nodeguid:0x0011750101000001 -D nodeguid:0x0011750101000005";

struct Lab {
    fabric: Fabric,
    weftd: Weftd,
}

impl Lab {
    /// A fat tree with adaptive routing beside a topology file that has two hosts in each other's place. If the file is
    /// enforced, they are in quarantine.
    fn start(enforced: bool) -> Self {
        let fabric = Fabric::start("fattree:32,radix=8");
        let settings = SmSettings {
            pm: true,
            full: true,
            topology: enforced.then_some(FILE),
            changes: READINGS,
            ..SmSettings::default()
        };
        let file = swapped(&topology_file(fabric.topology()));
        std::fs::write(fabric.directory().join(FILE), file).unwrap();
        let mut weftd = Weftd::start(&fabric, HOST, &settings);
        weftd.wait_until_master(PATIENCE);
        Self { fabric, weftd }
    }

    fn guid(&self, name: &str) -> Guid {
        let mut nodes = self.fabric.topology().nodes();
        nodes
            .find(|(_, node)| node.name() == name)
            .unwrap()
            .1
            .guid()
    }

    /// Gives an HFI a narrow and bad link and a link between switches errors, and cuts another.
    fn plant(&self) {
        let (host, edge) = (self.guid("node7 hfi1_0"), self.guid("edge2"));
        let one = PortNum(1);
        self.fabric.control(Control::LinkLanes {
            node: host,
            port: one,
            lanes: 3,
        });
        self.fabric.control(Control::LinkQuality {
            node: host,
            port: one,
            quality: 2,
        });
        self.fabric.control(Control::CountErrors {
            node: edge,
            port: PortNum(5),
            errors: ErrorCounts {
                symbol_errors: 2_000,
                discards: 300,
                ..ErrorCounts::default()
            },
        });
        self.fabric.control(Control::LinkDown {
            node: edge,
            port: PortNum(6),
        });
        self.weft(&["sweep", "--wait"]);
        self.wait_for_counters();
    }

    /// Waits until the daemon has read what the devices have counted and what they say of their links.
    fn wait_for_counters(&self) {
        let until = Instant::now() + PATIENCE;
        let read = |point: &str| -> Option<Value> {
            let text = self.weft(&["counters", "-F", point, "--json"]);
            let read: Value = serde_json::from_str(&text).ok()?;
            Some(read["ports"][0].clone())
        };
        loop {
            let link = read("node:node7 hfi1_0").unwrap_or_default();
            let errors = read("node:edge2:port:5").unwrap_or_default();
            let is_read = link["link_quality"] == 2
                && errors["totals"]["local_link_integrity_errors"] == 2_000;
            if is_read {
                return;
            }
            assert!(Instant::now() < until, "{link} {errors}");
            std::thread::sleep(PAUSE);
        }
    }

    /// What the client prints; reports that find faults end with 1.
    fn weft(&self, arguments: &[&str]) -> String {
        let ran = self.weftd.client(arguments);
        let wrong = String::from_utf8_lossy(&ran.stderr).into_owned();
        let code = ran.status.code();
        assert!(code <= Some(1) && code.is_some(), "{arguments:?}: {wrong}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// What opareport prints, without what it says on standard error.
    fn opareport(&self, arguments: &str) -> String {
        let ran = self
            .fabric
            .run(HOST, &format!("opareport -q {arguments} 2>/dev/null"));
        assert!(ran.good, "{arguments}: {}", ran.text);
        ran.text
    }

    /// Where both first print something else.
    fn difference(&self, names: &str, options: &str) -> Option<String> {
        let named: String = names.split(' ').map(|name| format!("-o {name} ")).collect();
        let mut options = format!("{named}{options}");
        if names == "route" {
            options += &format!(" {ENDS}");
        }
        if names.starts_with("verify") {
            let file = self.fabric.directory().join(FILE);
            options += &format!(" -T {}", file.display());
        }
        let mut their_options = options.clone();
        let is_limited = EXTENTS.iter().any(|extent| options.contains(extent));
        if OF_SNAPSHOT.contains(&names) || is_limited && OF_TABLES.contains(&names) {
            let file = self.fabric.directory().join(SNAPSHOT);
            their_options += &format!(" -X {}", file.display());
        }
        let words = options.split_whitespace();
        let ours: Vec<&str> = ["report"].into_iter().chain(words).collect();
        let (ours, theirs) = (self.weft(&ours), self.opareport(&their_options));
        let (ours, theirs) = (shown(&with_rate_as_trained(&ours)), shown(&theirs));
        assert!(!ours.is_empty() || !theirs.is_empty(), "{options}");
        let line = |text: &[String], at: usize| text.get(at).cloned();
        let longest = ours.len().max(theirs.len());
        let mut lines = 0..longest;
        let at = lines.find(|at| line(&ours, *at) != line(&theirs, *at))?;
        let around = |text: &[String]| {
            let lines = text.iter().skip(at.saturating_sub(2)).take(6);
            lines
                .map(|line| format!("    {line}\n"))
                .collect::<String>()
        };
        let [ours, theirs] = [around(&ours), around(&theirs)];
        Some(format!(
            "{options}, line {at}\n  ours\n{ours}  opareport\n{theirs}"
        ))
    }
}

/// A topology file with two hosts in each other's place.
fn swapped(text: &str) -> String {
    let swap = |text: &str, a: &str, b: &str| text.replace(a, "@").replace(b, a).replace('@', b);
    let text = swap(text, ">node3 hfi1_0<", ">node4 hfi1_0<");
    swap(&text, "0x0011750101000003", "0x0011750101000004")
}

/// Our report with the rate that opareport tells of the narrow link: the one with which it came up.
fn with_rate_as_trained(text: &str) -> String {
    // `linkinfo` does not line rates up.
    let text = text.replace("      75g      ", "      100g      ");
    let text = text.replace(" 75g ", "100g ");
    let text = text.replace("<Rate>75g</Rate>", "<Rate>100g</Rate>");
    text.replace("<Rate_Int>9</Rate_Int>", "<Rate_Int>16</Rate_Int>")
}

/// The lines of a report without what depends on the moment: the head of XML with its time and options, and the addresses
/// in memory that opareport gives entries of a topology file as ids.
fn shown(text: &str) -> Vec<String> {
    // The power class, in whose place opareport prints the revision.
    let lines = (text.lines())
        .filter(|line| !line.starts_with("<Report date=") && !line.contains(" PowerClass: "));
    let line = |line: &str| match line.split_once(" id=\"0x") {
        Some((start, end)) if end.ends_with("\">") && !end.contains(':') => format!("{start}>"),
        _ => line.to_owned(),
    };
    without_unset(lines.map(line).collect())
}

/// Lines without the tables that the manager has not set and so does not know: SCtoSC as devices have it by themselves,
/// and partition keys that are all 0.
fn without_unset(lines: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut inside = false;
    for (place, line) in lines.iter().enumerate() {
        let text = line.trim();
        let goes_on = ["ports:", "SC:", "SC':"]
            .iter()
            .any(|start| text.starts_with(start));
        let is_at = |ahead: usize, wanted: &str| {
            lines
                .get(place + ahead)
                .is_some_and(|line| line.trim() == wanted)
        };
        let key = "<PKey>0x0000</PKey>";
        let empty = is_at(0, "<PKeyTable>") && is_at(1, key) && is_at(2, "</PKeyTable>");
        match text {
            "SCtoSC:" | "<SCtoSCMap>" => inside = true,
            _ if empty => inside = true,
            "</SCtoSCMap>" => {}
            _ if text.starts_with('<') || goes_on => {}
            _ => inside = false,
        }
        if !inside && text != "P_Key Table:0x0000" {
            kept.push(line.clone());
        }
        inside &= !["</SCtoSCMap>", "</PKeyTable>"].contains(&text);
    }
    kept
}

fn help() -> String {
    let help = Command::new("opareport").arg("--help").output().unwrap();
    String::from_utf8([help.stdout, help.stderr].concat()).unwrap()
}

/// The options that opareport lists in its help, as it writes them: `-v/--verbose`.
fn options() -> BTreeSet<String> {
    let help = help();
    let lines = help.lines().filter_map(|line| line.strip_prefix("    "));
    let words = lines.filter_map(|line| line.split(' ').next());
    let options = words.filter(|word| word.starts_with("--") || word.contains("/--"));
    options.map(str::to_owned).collect()
}

/// Every option of opareport in a call of ours, and whether it does something, or nothing that could be missed; else it is
/// refused with a reason. `-h` is the client's help, `FILE` the topology file, `SNAPSHOT` one of opareport's.
const OPTIONS: [(&str, &str, bool); 31] = [
    ("--help", "OPTION", true),
    ("--timeout", "links OPTION 5s", true),
    ("-v/--verbose", "links OPTION", false),
    ("-q/--quiet", "links OPTION", true),
    ("-h/--hfi", "links OPTION 1", false),
    ("-p/--port", "links OPTION 1", false),
    ("-o/--output", "OPTION links", true),
    ("-d/--detail", "links OPTION 1", true),
    ("-P/--persist", "links OPTION", true),
    ("-H/--hard", "links OPTION", true),
    ("-N/--noname", "links OPTION", true),
    ("-x/--xml", "links OPTION", true),
    ("-X/--infile", "links OPTION SNAPSHOT", true),
    ("-T/--topology", "links OPTION FILE", true),
    ("-s/--stats", "links OPTION", true),
    ("-i/--interval", "errors OPTION 1", true),
    ("-b/--begin", "errors OPTION -1s", true),
    ("-e/--end", "errors OPTION now", true),
    ("-C/--clear", "errors OPTION", true),
    ("-a/--clearall", "errors OPTION", true),
    ("-m/--smadirect", "links OPTION", false),
    ("-M/--pmadirect", "errors OPTION", false),
    ("-A/--allports", "links OPTION", true),
    ("-c/--config", "errors OPTION /dev/null", true),
    ("-L/--limit", "errors -F nodetype:SW OPTION", true),
    ("-F/--focus", "links OPTION nodetype:SW", true),
    ("-S/--src", "route OPTION lid:1 -D lid:3", true),
    ("-D/--dest", "route -S lid:1 OPTION lid:3", true),
    ("-Q/--quietfocus", "links -F lid:1 OPTION", true),
    ("-r/--routes", "links OPTION", true),
    ("-V/--vltables", "links OPTION", true),
];

/// Calls with each option of opareport, in both spellings.
fn judge_options(lab: &Lab) {
    let directory = lab.fabric.directory();
    let [file, snapshot] = [FILE, SNAPSHOT].map(|name| directory.join(name).display().to_string());
    let mut rest = options();
    for (listed, call, works) in OPTIONS {
        assert!(rest.remove(listed), "opareport has no {listed}");
        for option in listed.split('/').filter(|option| *option != "-h") {
            let words = call.split(' ').map(|word| match word {
                "OPTION" => option,
                "FILE" => &file,
                "SNAPSHOT" => &snapshot,
                word => word,
            });
            let arguments: Vec<&str> = ["report"].into_iter().chain(words).collect();
            let ran = lab.weftd.client(&arguments);
            let wrong = String::from_utf8_lossy(&ran.stderr);
            let reason =
                wrong.contains(&format!("{} of opareport is not there: ", spelled(listed)));
            assert_eq!(ran.status.success(), works, "{arguments:?}: {wrong}");
            assert_eq!(reason, !works, "{arguments:?}: {wrong}");
        }
    }
    assert!(rest.is_empty(), "{rest:?}");
}

/// An option as the refusal names it.
fn spelled(listed: &str) -> &str {
    match listed.split_once('/') {
        Some(("-h", long)) => long,
        Some((short, _)) => short,
        None => listed,
    }
}

/// The reports that opareport lists in its help.
fn listed() -> BTreeSet<String> {
    let help = help();
    let (_, rest) = help.split_once("Report Types:\n").unwrap();
    let (types, _) = rest.split_once("Point Syntax:").unwrap();
    let names = types.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?.split(' ').next()?;
        (!name.is_empty()).then(|| name.to_owned())
    });
    let mut names: BTreeSet<String> = names.collect();
    for name in NOT_REPORTS {
        assert!(names.remove(name), "{help}");
    }
    names
}

/// What was counted up to now, and in the last second, in which nothing was.
fn judge_times(lab: &Lab) {
    let thresholds = lab.fabric.directory().join("integrity.conf");
    std::fs::write(&thresholds, "LocalLinkIntegrityErrors 100\n").unwrap();
    let config = ["-c", thresholds.to_str().unwrap()];
    let errors =
        |options: &[&str]| lab.weft(&[&["report", "errors"][..], &config, options].concat());
    let counted = "LocalLinkIntegrityErrors: 2000 ";
    for (options, is_counted) in [
        (&["-e", "now"][..], true),
        (&["-b", "-1s"][..], false),
        (&["-b", "-2s", "-e", "now"][..], false),
    ] {
        let text = errors(options);
        assert_eq!(text.contains(counted), is_counted, "{options:?}: {text}");
    }
    let refused = lab.weftd.client(&["report", "errors", "-b", "2020-01-01"]);
    let wrong = String::from_utf8_lossy(&refused.stderr);
    assert!(wrong.contains("no reading of counters is kept"), "{wrong}");
}

/// Reports of opareport on a file of ours with everything in it, beside those on its own file. It makes the same of both but
/// for fields that only one has.
fn judge_snapshot(lab: &Lab) -> Vec<String> {
    let directory = lab.fabric.directory();
    let [ours, theirs] = ["ours.xml", "theirs.xml"].map(|name| directory.join(name));
    std::fs::write(&ours, lab.weft(&["report", "snapshot", "-s", "-V"])).unwrap();
    std::fs::write(&theirs, lab.opareport("-o snapshot -s -r -V")).unwrap();
    let mut found = Vec::new();
    for options in [
        "-o errors",
        "-o links -d 4",
        "-o links -F cabinftype:optical",
    ] {
        let [ours, theirs] =
            [&ours, &theirs].map(|file| lab.opareport(&format!("{options} -X {}", file.display())));
        let [ours, theirs] = [with_rate_as_trained(&ours), theirs];
        if shown(&ours) != shown(&theirs) {
            found.push(format!("{options}\n  ours\n{ours}  opareport\n{theirs}"));
        }
        assert!(theirs.lines().count() > 10, "{options}: {theirs}");
    }
    let counted = |file: &PathBuf| {
        let text = lab.opareport(&format!("-o nodes -d 5 -X {}", file.display()));
        text.matches("PortStatus:").count()
    };
    assert_eq!(counted(&ours), counted(&theirs));
    assert!(counted(&ours) > 60);
    found
}

/// Reports with a part of the data: each once as text and as XML, those of nodes and their ports in every way.
fn judge_extents(lab: &Lab, names: &BTreeSet<String>) -> Vec<String> {
    let made = names.iter().filter(|name| {
        !["linkinfo", "quarantinednodes", "topology", "lidusage"].contains(&name.as_str())
    });
    let mut found = Vec::new();
    for name in made {
        found.extend(lab.difference(name, "-P"));
        // opareport complains of it, and makes the same report.
        let hard = (name != "mcgroups").then(|| lab.difference(name, "-H -x"));
        found.extend(hard.flatten());
    }
    for name in ["nodes", "brnodes"] {
        for options in [
            "-P -x",
            "-H",
            "-P -H",
            "-P -d 9 -V",
            "-H -d 9 -V",
            "-H -d 9 -x",
            "-P -d 9 -x",
        ] {
            found.extend(lab.difference(name, options));
        }
    }
    for (name, options) in [
        ("linkinfo", "-P"),
        ("topology", "-P -x"),
        (CABLEHEALTH, "-H"),
    ] {
        found.extend(lab.difference(name, options));
    }
    let lasting = lab.weft(&["report", "nodes", "-P"]);
    assert!(lasting.contains("LID: xxxxxxxxxx"), "{lasting}");
    found
}

#[test]
fn a_running_fabric_is_reported_as_opareport_does() {
    if program("opareport").is_none() {
        return;
    }
    let _turn = turn();
    let names = listed();
    assert!(names.len() >= 50, "{names:?}");
    let lab = Lab::start(false);
    lab.plant();
    let file = lab.fabric.directory().join(SNAPSHOT);
    std::fs::write(file, lab.opareport("-o snapshot -r -V")).unwrap();
    let mut found = Vec::new();
    for name in names.iter().map(String::as_str).chain([LIDUSAGE]) {
        for form in ["", "-x"] {
            // opareport has no XML of the one, and no text of the other; nobody is in quarantine here.
            let only = match name {
                "linkinfo" => form.is_empty(),
                "topology" => !form.is_empty(),
                name => name != "quarantinednodes",
            };
            found.extend(only.then(|| lab.difference(name, form)).flatten());
        }
    }
    found.extend(lab.difference(CABLEHEALTH, ""));
    for (name, options) in DETAILED {
        let forms = ["", " -x"].map(|form| lab.difference(name, &format!("{options}{form}")));
        found.extend(forms.into_iter().flatten());
    }
    found.extend(judge_extents(&lab, &names));
    found.extend(judge_snapshot(&lab));
    judge_times(&lab);
    judge_options(&lab);
    drop(lab);
    let lab = Lab::start(true);
    let shown = lab.weft(&["report", "quarantinednodes"]);
    assert_eq!(shown.matches("Violation(s):").count(), 2, "{shown}");
    let forms = ["", "-x"].map(|form| lab.difference("quarantinednodes", form));
    found.extend(forms.into_iter().flatten());
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found.join("\n")
    );
}
