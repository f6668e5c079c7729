//! The vendor's tools and what they name.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weft_fabric::{Guid, PortNum};

use crate::End;
use crate::lab::Lab;

/// Longest run of a tool, seconds.
const PATIENCE: u32 = 600;
/// How long opareport waits for answers, ms: large ones take longer than its second on a busy machine.
const WAIT: &str = "--timeout 10000";
/// Runs of a script that cannot be told to wait longer.
const TRIES: usize = 5;
/// The first active port, as the scripts call it.
const PORT: &str = "0:0";

/// What one tool names.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) tool: &'static str,
    pub(crate) ends: BTreeSet<End>,
}

/// The tools on a fabric's first host, with files in a directory of their own.
pub(crate) struct Vendor<'a> {
    lab: &'a Lab,
    directory: PathBuf,
}

impl<'a> Vendor<'a> {
    pub(crate) fn of(lab: &'a Lab) -> Self {
        let directory = lab.fabric.directory().join("analysis");
        std::fs::create_dir_all(&directory).unwrap();
        Self { lab, directory }
    }

    fn run(&self, line: &str) -> String {
        let ran = self.lab.fabric.run_within(&self.lab.host, line, PATIENCE);
        ran.text
    }

    /// opafabricanalysis remembers the fabric as it is.
    pub(crate) fn take_baseline(&self) {
        let said = self.analyse_fabric("-b");
        assert!(said.contains("Baselined"), "{said}");
    }

    /// Runs opafabricanalysis, again where an answer was late.
    fn analyse_fabric(&self, options: &str) -> String {
        let mut said = String::new();
        for _ in 0..TRIES {
            said = self.run(&self.fabric_analysis(options));
            if !said.contains("Unable to access fabric") {
                break;
            }
        }
        said
    }

    fn fabric_analysis(&self, options: &str) -> String {
        let (directory, file) = (self.directory.display(), self.lab.file());
        let file = file.display();
        format!("opafabricanalysis -d {directory} -T {file} {options}")
    }

    /// What each tool names. opafabricanalysis is last, as it clears counters.
    pub(crate) fn reports(&self) -> Vec<Report> {
        let opareport = self.opareport();
        let links = self.link_analysis();
        let fabric = self.changes_and_errors();
        let report = |tool, ends| Report { tool, ends };
        vec![
            report("opareport", opareport),
            report("opalinkanalysis", links),
            report("opafabricanalysis", fabric),
        ]
    }

    fn opareport(&self) -> BTreeSet<End> {
        let file = self.lab.file();
        let verify = format!("-o verifyall -T {}", file.display());
        let mut found = BTreeSet::new();
        for (report, elements) in [
            ("-o errors", &["LinkErrors"][..]),
            ("-o slowlinks", &["LinksExpected"][..]),
            (
                &verify,
                &["VerifyFIs", "VerifySWs", "VerifyLinks", "VerifySMs"][..],
            ),
        ] {
            let text = self.run(&format!("opareport {WAIT} -q -x {report} 2>/dev/null"));
            for element in elements {
                let ends = in_xml(&text, element);
                found.extend(ends.unwrap_or_else(|| panic!("no {element}: {text}")));
            }
        }
        found
    }

    /// opalinkanalysis's reports, and its list of what is to be repaired.
    fn link_analysis(&self) -> BTreeSet<End> {
        let (directory, file) = (self.directory.display(), self.lab.file());
        let file = file.display();
        let snapshot = self.directory.join("snapshot.xml");
        let snapshot = snapshot.display();
        self.run(&format!("opareport {WAIT} -q -s -o snapshot > {snapshot}"));
        let said = self.run(&format!(
            "FF_RESULT_DIR={directory} opalinkanalysis -X {snapshot} -T {file} all verifyall"
        ));
        assert!(said.contains("Links Checked"), "{said}");
        let mut found = in_text(&said);
        let list =
            std::fs::read_to_string(self.directory.join("punchlist.csv")).unwrap_or_default();
        for line in list.lines() {
            let device = line.split(';').nth(1).unwrap();
            // Where a report has a second problem of a link, the script writes it without the link's ends.
            if device.trim() == "p" {
                continue;
            }
            for (name, port) in in_list(device) {
                let guids = self.lab.named(&name);
                assert!(!guids.is_empty(), "{name:?}: {line}");
                // Several nodes of one name cannot be told apart in this list; the reports tell which it is.
                found.extend(
                    guids
                        .iter()
                        .filter(|_| guids.len() == 1)
                        .map(|guid| (*guid, port)),
                );
            }
        }
        found
    }

    /// What opafabricanalysis says of health and of changes since its baseline.
    fn changes_and_errors(&self) -> BTreeSet<End> {
        let said = self.analyse_fabric("");
        assert!(said.contains("Fabric configuration changed"), "{said}");
        assert!(said.contains("Fabric possible errors found"), "{said}");
        let mut found = BTreeSet::new();
        for kind in ["errors", "links.changes", "comps.changes"] {
            let file = self.directory.join(format!("latest/fabric.{PORT}.{kind}"));
            found.extend(in_text(&std::fs::read_to_string(file).unwrap()));
        }
        found
    }
}

/// Ports within an element of an XML report, each with its NodeGUID, then its PortNum.
fn in_xml(text: &str, element: &str) -> Option<BTreeSet<End>> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let (_, rest) = text.split_once(&open)?;
    let (section, _) = rest.split_once(&close)?;
    let value = |text: &str| text.split('<').next().unwrap_or_default().to_owned();
    let nodes = section.split("<NodeGUID>").skip(1).map(|part| {
        let guid = guid(&value(part)).unwrap();
        let part = part.split("</Node>").next().unwrap_or_default();
        let port = part.split_once("<PortNum>").map(|(_, port)| value(port));
        let port = port.and_then(|port| port.parse().ok()).unwrap_or(0);
        (guid, PortNum(port))
    });
    Some(nodes.collect())
}

/// Ports in a report as text: a NodeGUID, then the port, where it is no whole node.
fn in_text(text: &str) -> BTreeSet<End> {
    let ends = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let node = words.by_ref().find_map(guid)?;
        let port = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Some((node, PortNum(port)))
    });
    ends.collect()
}

fn guid(word: &str) -> Option<Guid> {
    let digits = word
        .strip_prefix("0x")
        .filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(Guid)
}

/// Names with ports in a line of the list: `edge1 p5 node3 hfi1_0 p1`, or a node's name.
fn in_list(text: &str) -> Vec<(String, PortNum)> {
    let (mut ends, mut name) = (Vec::new(), Vec::new());
    for word in text.split_whitespace() {
        let port = word.strip_prefix('p').and_then(|port| port.parse().ok());
        match port.filter(|_| !name.is_empty()) {
            Some(port) => ends.push((std::mem::take(&mut name).join(" "), PortNum(port))),
            None => name.push(word),
        }
    }
    if !name.is_empty() {
        ends.push((name.join(" "), PortNum(0)));
    }
    ends
}
