//! Reports against the vendor's opareport itself, on the same snapshot with the same options.
#![allow(clippy::unwrap_used)]

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use weft_fabric::Snapshot;
use weft_fabric::import::{import_expected, import_fabric};
use weft_report::point::{Known, NotFound};
use weft_report::{
    Detail, Expectations, Focus, Kind, Options, Point, Request, Sample, Selection, document,
    without_names, xml_without_names,
};

/// A snapshot for both.
pub(crate) struct Judged {
    file: tempfile::NamedTempFile,
    snapshot: Snapshot,
    details: &'static [u8],
    expected: Option<(tempfile::NamedTempFile, Arc<Expectations>)>,
    differences: RefCell<Vec<String>>,
}

impl Drop for Judged {
    fn drop(&mut self) {
        let differences = self.differences.borrow();
        if !differences.is_empty() && !std::thread::panicking() {
            let shown: Vec<&str> = differences.iter().take(6).map(String::as_str).collect();
            panic!("{} differences:\n{}", differences.len(), shown.join("\n"));
        }
    }
}

impl Judged {
    pub(crate) fn new(text: &str, details: &'static [u8]) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let snapshot = import_fabric(text.as_bytes()).unwrap();
        Self {
            file,
            snapshot,
            details,
            expected: None,
            differences: RefCell::default(),
        }
    }

    /// The same with a topology file.
    pub(crate) fn expecting(mut self, text: &str) -> Self {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let expected = import_expected(text.as_bytes()).unwrap();
        let expected = Arc::new(Expectations::new(&self.snapshot, expected));
        self.expected = Some((file, expected));
        self
    }

    /// Compares one report, as text and as XML, at every level of detail; `None` where opareport is
    /// not installed and not required.
    pub(crate) fn judge(&self, name: &str, points: &[&str]) -> Option<()> {
        self.judge_as(name, points, &[false, true])
    }

    /// The same of the text alone.
    pub(crate) fn judge_text(&self, name: &str, points: &[&str]) -> Option<()> {
        self.judge_as(name, points, &[false])
    }

    /// The same of what `comparable` leaves of both.
    pub(crate) fn judge_comparable(
        &self,
        name: &str,
        points: &[&str],
        comparable: fn(&str) -> String,
    ) -> Option<()> {
        self.judge_each(name, points, &[false, true], comparable)
    }

    fn judge_as(&self, name: &str, points: &[&str], forms: &[bool]) -> Option<()> {
        self.judge_each(name, points, forms, str::to_owned)
    }

    fn judge_each(
        &self,
        name: &str,
        points: &[&str],
        forms: &[bool],
        comparable: fn(&str) -> String,
    ) -> Option<()> {
        for detail in self.details {
            for xml in forms {
                // opareport has no XML of this report.
                if *xml && name == "linkinfo" {
                    continue;
                }
                let level = detail.to_string();
                let file = self.file.path().to_str().unwrap();
                let mut options = vec!["-q", "-X", file, "-o", name, "-d", &level];
                options.extend(xml.then_some("-x"));
                options.extend(points);
                if let Some((file, _)) = &self.expected {
                    options.extend(["-T", file.path().to_str().unwrap()]);
                }
                let theirs = opareport(&options)?;
                let ours = self.ours(name, points, *detail, xml.then(|| options.join(" ")));
                let [ours, theirs] = [ours, theirs].map(|text| match self.expected {
                    Some(_) => without_addresses(&text),
                    None => text,
                });
                let [ours, theirs] = [ours, theirs].map(|text| comparable(&text));
                let differs = difference(&ours, &theirs, &options[3..].join(" "));
                self.differences.borrow_mut().extend(differs);
            }
        }
        Some(())
    }

    fn select(&self, text: &str) -> Selection {
        let (_, found) = self.found(text);
        found.unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// A point, and what it names in the fabric.
    fn found(&self, text: &str) -> (Point, Result<Selection, NotFound>) {
        let point = Point::parse(text, &|_| unreachable!()).unwrap();
        let known = Known {
            expected: self.expected.as_ref().map(|(_, expected)| &**expected),
            counts: self.snapshot.counts.as_deref(),
        };
        let found = point.select_with(&self.snapshot, known);
        (point, found)
    }

    pub(crate) fn ours(
        &self,
        name: &str,
        points: &[&str],
        detail: u8,
        xml: Option<String>,
    ) -> String {
        let point = |option: &str| {
            let at = points.iter().position(|text| *text == option)?;
            Some(self.select(points[at + 1]))
        };
        let mut options = Options {
            detail: Detail(detail),
            quiet: points.contains(&"-Q"),
            expected: self.expected.as_ref().map(|(_, expected)| expected.clone()),
            counts: self.snapshot.counts.clone(),
            ..Options::default()
        };
        let nameless = points.contains(&"-N");
        let nameless = nameless.then(|| without_names(&self.snapshot));
        let shown = nameless.as_ref().unwrap_or(&self.snapshot);
        options.focus = match points.iter().position(|text| *text == "-F") {
            Some(at) if name.starts_with("verify") => {
                let (point, found) = self.found(points[at + 1]);
                Some(Focus::of_point(shown, &point, found, &options).unwrap())
            }
            _ => point("-F").map(|found| Focus::new(shown, &found, &options)),
        };
        let request = Request {
            snapshot: shown,
            options,
            ends: point("-S").zip(point("-D")),
            sample: Sample::default(),
            counted: None,
        };
        let report = Kind::named(name).unwrap().make(&request).unwrap();
        let Some(options) = xml else {
            return report.to_string();
        };
        let text = document(self.snapshot.unix_time, &options, [&report as _]);
        match nameless {
            Some(_) => xml_without_names(&text),
            None => text,
        }
    }
}

/// XML without the addresses in memory that opareport gives entries of a topology file as ids.
fn without_addresses(text: &str) -> String {
    let line = |line: &str| match line.split_once(" id=\"0x") {
        Some((start, end)) if !end.contains(':') => format!("{start}>\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Where two outputs differ, with the lines around.
fn difference(ours: &str, theirs: &str, what: &str) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let differs = ours.lines().zip(theirs.lines()).position(|(a, b)| a != b);
    let line = differs.unwrap_or(ours.lines().count().min(theirs.lines().count()));
    let around = |text: &str| {
        let lines: Vec<&str> = text.lines().skip(line.saturating_sub(3)).take(7).collect();
        lines.join("\n")
    };
    let (ours, theirs) = (around(ours), around(theirs));
    Some(format!(
        "{what}: line {}\nours:\n{ours}\nopareport:\n{theirs}\n",
        line + 1
    ))
}

/// Output of opareport; `None` if it is not installed and not required.
fn opareport(options: &[&str]) -> Option<String> {
    let mut command = Command::new("opareport");
    command.env("TZ", "UTC").args(options);
    let output = weft_peers::output(&mut command)?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn committed() -> String {
    let path: &Path = &PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path.join("tests/data/fattree4.snapshot.xml")).unwrap();
    let nodes = text.split_inclusive("</Node>");
    nodes.map(with_lids_of_switches).collect()
}

/// A node whose ports have its LID where they have none of their own, as subnet administration tells it.
fn with_lids_of_switches(node: &str) -> String {
    const NONE: &str = "<EndPortLID>0x00000000<";
    let mut lids = node.split("<EndPortLID>").skip(1);
    let own = lids.find_map(|rest| {
        let (lid, _) = rest.split_once('<')?;
        (lid != "0x00000000").then_some(lid)
    });
    match own {
        Some(lid) => node.replace(NONE, &format!("<EndPortLID>{lid}<")),
        None => node.to_owned(),
    }
}

/// Reports on the nodes and links of a focus.
pub(crate) const FOCUSED: &[&str] = &[
    "brcomps",
    "brnodes",
    "comps",
    "extislinks",
    "extlinks",
    "filinks",
    "ious",
    "islinks",
    "lids",
    "linear",
    "linkinfo",
    "links",
    "misconfiglinks",
    "misconnlinks",
    "nodes",
    "otherports",
    "slowconfiglinks",
    "slowconnlinks",
    "slowlinks",
];

/// Points that name the same on both sides: opareport does not see ports that are down.
const POINTS: &[&str] = &[
    "gid:0xfe80000000000000:0x0011750101000011",
    "lid:3",
    "lid:3:node",
    "lid:5:port:1",
    "portguid:0x0011750101000012",
    "nodeguid:0x00117501020e0001",
    "nodeguid:0x00117501020e0001:port:48",
    "systemguid:0x00117501020e0001",
    "node:node1 hfi1_0",
    "node:node1 hfi1_0:port:1",
    "nodepat:node*",
    "nodepat:node[12] hfi1_0:port:1",
    "nodepat:*e1",
    "nodetype:SW",
    "nodetype:SW:port:1",
    "nodetype:FI",
    "rate:75g",
    "portstate:active",
    "sm",
];

#[test]
fn every_report_point_and_detail() {
    let judged = Judged::new(&committed(), &[0, 1, 2]);
    for name in FOCUSED {
        if judged.judge(name, &[]).is_none() {
            return;
        }
        judged.judge(name, &["-Q"]).unwrap();
        judged.judge(name, &["-Q", "-F", "lid:3"]).unwrap();
        for point in POINTS {
            judged.judge(name, &["-F", point]).unwrap();
        }
    }
}

/// One fabric, whole and with a fault in one forwarding table.
fn route_snapshots() -> Vec<String> {
    let whole = committed();
    let core2 = whole.find("<NodeDesc>core2</NodeDesc>").unwrap();
    let entry = "<Value LID=\"0x3\">2</Value>";
    let at = core2 + whole[core2..].find(entry).unwrap();
    let changed = |to: &str| whole[..at].to_owned() + to + &whole[at + entry.len()..];
    vec![
        changed(""),
        changed("<Value LID=\"0x3\">1</Value>"),
        changed("<Value LID=\"0x3\">0</Value>"),
        changed("<Value LID=\"0x3\">9</Value>"),
        whole.clone(),
    ]
}

#[test]
fn every_route() {
    let pairs = [
        ("lid:1", "lid:3"),
        ("lid:1", "lid:2"),
        ("lid:1", "lid:1"),
        ("lid:1", "lid:8"),
        ("lid:5", "lid:8"),
        ("lid:5", "lid:4"),
        ("nodepat:node*", "nodepat:node*"),
        ("nodepat:node*:port:1", "nodetype:FI"),
        ("lid:1", "systemguid:0x0011750101000012"),
        ("sm", "rate:75g"),
    ];
    for text in route_snapshots() {
        let judged = Judged::new(&text, &[0, 1, 2, 3, 4, 5]);
        for (from, to) in pairs {
            if judged.judge("route", &["-S", from, "-D", to]).is_none() {
                return;
            }
        }
    }
}

/// opareport counts LIDs only where `portusage` is asked for too: else it has no room for them, and
/// writes over its stack.
#[test]
fn the_use_of_lids() {
    let judged = Judged::new(&committed(), &[]);
    let file = judged.file.path().to_str().unwrap();
    for points in [&[][..], &["-F", "nodepat:edge*"], &["-F", "lid:1"], &["-Q"]] {
        for detail in [0u8, 1, 2, 3] {
            let level = detail.to_string();
            let both = [
                "-q",
                "-X",
                file,
                "-o",
                "portusage",
                "-o",
                "lidusage",
                "-d",
                &level,
            ];
            let Some(theirs) = opareport(&[&both[..], points].concat()) else {
                return;
            };
            let ours = judged.ours("lidusage", points, detail, None);
            assert!(theirs.ends_with(&ours), "{ours}\n{theirs}");
            let xml = judged.ours("lidusage", points, detail, Some(String::new()));
            let theirs = opareport(&[&both[..], points, &["-x"]].concat()).unwrap();
            let (_, ours) = xml.split_once("<LIDUsage>").unwrap();
            assert!(theirs.ends_with(ours), "{ours}\n{theirs}");
        }
    }
}

#[test]
fn the_topology_file() {
    let judged = Judged::new(&committed(), &[0, 1, 2, 3, 4]);
    let file = judged.file.path().to_str().unwrap();
    for detail in judged.details {
        for points in [&[][..], &["-F", "nodetype:FI"], &["-F", "node:edge1"]] {
            let level = detail.to_string();
            let mut options = vec!["-q", "-X", file, "-o", "topology", "-d", &level];
            options.extend(points);
            let Some(theirs) = opareport(&options) else {
                return;
            };
            let ours = judged.ours("topology", points, *detail, Some(options.join(" ")));
            assert_eq!(ours, theirs, "{options:?}");
        }
    }
}

/// A snapshot with another value of an element of one port.
pub(crate) fn changed(whole: &str, name: &str, port: &str, tag: &str, value: &str) -> String {
    let find = |from: usize, what: String| from + whole[from..].find(&what).unwrap();
    let node = find(0, format!("<NodeDesc>{name}</NodeDesc>"));
    let port = find(node, format!("<PortNum>{port}</PortNum>"));
    let start = find(port, format!("<{tag}>")) + tag.len() + 2;
    let end = find(start, "</".to_owned());
    whole[..start].to_owned() + value + &whole[end..]
}

/// A link that lost lanes since it came up: opareport shows the rate with which it came up.
#[test]
fn a_link_that_lost_lanes() {
    let tag = "LinkWidthDowngradeTxActive_Int";
    let judged = Judged::new(&changed(&committed(), "node1 hfi1_0", "1", tag, "4"), &[]);
    let file = judged.file.path().to_str().unwrap();
    for (name, lost) in [
        ("slowlinks", true),
        ("slowconnlinks", true),
        ("misconfiglinks", false),
    ] {
        let Some(theirs) = opareport(&["-q", "-X", file, "-o", name]) else {
            return;
        };
        let rate = "100g 0x0011750101000011   1 FI";
        let ours = judged.ours(name, &[], 2, None);
        assert_eq!(ours, theirs.replace(rate, " 75g 0x0011750101000011   1 FI"));
        assert_eq!(theirs.contains(rate), lost, "{theirs}");
    }
}

/// Snapshots with faults of links and ports: less width, another speed, less enabled, less that a port
/// can do, several widths at once, a card without a SystemImageGUID.
fn faulty() -> Vec<String> {
    let whole = committed();
    let with = |(name, number): (&str, &str), tag: &str, value: &str| {
        changed(&whole, name, number, tag, value)
    };
    let node1 = ("node1 hfi1_0", "1");
    let core1 = ("core1", "1");
    vec![
        with(node1, "LinkWidthActive_Int", "2"),
        with(node1, "LinkSpeedActive_Int", "1"),
        with(node1, "LinkWidthEnabled_Int", "7"),
        with(node1, "LinkSpeedEnabled_Int", "1"),
        with(core1, "LinkWidthDowngradeEnabled_Int", "3"),
        with(core1, "LinkWidthSupported_Int", "7"),
        with(core1, "LinkSpeedSupported_Int", "3"),
        with(core1, "LinkWidthDowngradeSupported_Int", "1"),
        with(core1, "LinkWidthActive_Int", "12"),
        with(core1, "LinkWidthEnabled_Int", "0"),
        with(node1, "SystemImageGUID", "0x0"),
    ]
}

#[test]
fn faults_of_links() {
    for text in faulty() {
        let judged = Judged::new(&text, &[1, 2, 3]);
        for name in FOCUSED {
            // The rate of a port that reports two widths means nothing.
            let two = *name == "linkinfo" && text.contains("<LinkWidthActive_Int>12<");
            let skipped = two || ["nodes", "comps"].contains(name);
            if !skipped && judged.judge(name, &[]).is_none() {
                return;
            }
        }
        judged
            .judge("slowconnlinks", &["-F", "node:core1"])
            .unwrap();
    }
}

/// The reports that compare with a topology file.
const VERIFY: [&str; 8] = [
    "verifyextislinks",
    "verifyextlinks",
    "verifyfilinks",
    "verifyfis",
    "verifyislinks",
    "verifylinks",
    "verifysms",
    "verifysws",
];

const PORTS_1: &str = "nodepat:*:port:1";
/// Parts of the fabric that they are limited to.
const VERIFIED: [&[&str]; 6] = [
    &[],
    &["-F", "nodetype:FI"],
    &["-F", "node:edge1"],
    &["-F", PORTS_1],
    &["-Q", "-F", "nodepat:core*"],
    &["-F", "lid:1"],
];

/// Topology files that differ from the committed fabric: one of its own, with details, and with nodes,
/// links and subnet managers that are missing, twice there, changed or connected otherwise.
pub(crate) fn topologies() -> Vec<String> {
    let snapshot = import_fabric(committed().as_bytes()).unwrap();
    let request = Request {
        snapshot: &snapshot,
        options: Options::default(),
        ends: None,
        sample: Sample::default(),
        counted: None,
    };
    let report = Kind::named("topology").unwrap().make(&request).unwrap();
    let own = document(0, "", [&report as _]);
    let name = |name: &str| format!("<NodeDesc>{name}</NodeDesc>");
    let once = |from: &str, to: &str| {
        assert!(own.contains(from), "{from}");
        own.replacen(from, to, 1)
    };
    let cable = "<Cable><CableLength>3m</CableLength><CableLabel>S1 &amp; S2</CableLabel>\
                 <CableDetails>copper</CableDetails></Cable>";
    let noted = own
        .replace(
            "<Internal>0",
            &format!("<LinkDetails>a link</LinkDetails>{cable}<Internal>0"),
        )
        .replace(
            "<NodeType>SW<",
            "<NodeDetails>a 'switch'</NodeDetails><NodeType>SW<",
        )
        .replace(
            "<PortNum>1<",
            "<PortDetails>a port</PortDetails><PortNum>1<",
        )
        .replace("<SMState>", "<SMDetails>a manager</SMDetails><SMState>");
    let link = own.find("    <Link id").unwrap();
    let end = link + own[link..].find("</Link>").unwrap() + "</Link>\n".len();
    let (before, first, after) = (&own[..link], &own[link..end], &own[end..]);
    let spare = "<Link><Rate>100g</Rate><MTU>8192</MTU><Port><NodeDesc>node9</NodeDesc><PortNum>1</PortNum>\
                 <NodeType>FI</NodeType></Port><Port><NodeDesc>edge1</NodeDesc><PortNum>9</PortNum>\
                 <NodeType>SW</NodeType></Port></Link>\n";
    let half = "<Link><Internal>1</Internal><Port><NodeDesc>edge1</NodeDesc><PortNum>1</PortNum></Port><Port>\
                <NodeGUID>0x0011750101000077</NodeGUID><PortNum>1</PortNum></Port></Link>\n";
    vec![
        noted.clone(),
        once("0x0011750101000014", "0x0011750101000099").replace(&name("node4 hfi1_0"), ""),
        own.replace(&name("core2"), &name("core9")),
        own.replace("<PortNum>47<", "<PortNum>46<"),
        own.replace("<Rate>100g", "<Rate>50g")
            .replace("<Rate_Int>16", "<Rate_Int>12"),
        own.replace("<Internal>0", "<MTU>2048</MTU><Internal>0"),
        own.replace("<NodeType>FI</NodeType>", "")
            .replace("<NodeType_Int>1<", "<NodeType_Int>2<"),
        format!("{before}{after}"),
        format!("{before}{first}{first}{after}"),
        format!("{before}{spare}{half}{after}"),
        noted.replace("0x00117501020e0001", "0x00117501020e0002"),
        noted.replace(
            "<PortGUID>0x0011750101000011",
            "<PortGUID>0x0011750101000012",
        ),
        once(
            "</SMs>",
            "<SM><NodeDesc>edge1</NodeDesc></SM><SM><PortGUID>0x0011750101000011</PortGUID></SM></SMs>",
        ),
        format!("<Topology><LinkSummary>{first}</LinkSummary></Topology>"),
        "<Topology><Nodes><FIs></FIs></Nodes></Topology>".to_owned(),
    ]
}

#[test]
fn differences_from_a_topology_file() {
    for topology in topologies() {
        let judged = Judged::new(&committed(), &[0, 1, 2, 3]).expecting(&topology);
        for name in VERIFY {
            for points in VERIFIED {
                // opareport forgets the ports of the fabric where one of several managers of a file is left.
                let forgets = name == "verifysms" && points.contains(&PORTS_1);
                if forgets && topology.contains("</SM><SM>") {
                    continue;
                }
                if judged.judge(name, points).is_none() {
                    return;
                }
            }
        }
    }
    let judged = Judged::new(&committed(), &[0, 2]);
    VERIFY.iter().all(|name| judged.judge(name, &[]).is_some());
}

#[test]
fn a_point_may_name_what_only_the_file_has() {
    // The second core switch is called otherwise there; a link is there twice, and one leads to a node that is not.
    for (file, points, names) in [
        (2, ["-F", "node:core9"], ["verifysws", "verifylinks"]),
        (2, ["-F", "nodepat:core9"], ["verifysws", "verifyislinks"]),
        (9, ["-F", "node:node9"], ["verifylinks", "verifyfilinks"]),
        (
            9,
            ["-F", "node:node9:port:1"],
            ["verifylinks", "verifyfilinks"],
        ),
        (
            9,
            ["-F", "nodeguid:0x0011750101000077"],
            ["verifylinks", "verifyextlinks"],
        ),
        (4, ["-F", "rate:50g"], ["verifylinks", "verifyislinks"]),
        (0, ["-F", "labelpat:S1*"], ["verifylinks", "verifyfilinks"]),
    ] {
        let judged = Judged::new(&committed(), &[0, 1, 2, 3]).expecting(&topologies()[file]);
        for name in names {
            if judged.judge(name, &points).is_none() {
                return;
            }
        }
    }
}

#[test]
fn what_a_topology_file_says_in_other_reports() {
    let judged = Judged::new(&committed(), &[0, 1, 2]).expecting(&topologies()[0]);
    for name in FOCUSED {
        for points in [&[][..], &["-F", "node:edge1"], &["-F", "nodepat:*:port:1"]] {
            if judged.judge(name, points).is_none() {
                return;
            }
        }
    }
    judged.judge("route", &["-S", "lid:1", "-D", "nodepat:node3*"]);
}

/// Text without what stands in no snapshot: what the neighbour is, where opareport says of each that it is
/// an HFI and has no right to manage, and the port that the answer came from.
pub(crate) fn as_far_as_snapshots_go(text: &str) -> String {
    let unknown = |line: &&str| line.contains("NeighborMode") || line.contains("<LocalPort>");
    let lines = text.lines().filter(|line| !unknown(line));
    let line = |line: &str| match line.split_once("LocalPort: ") {
        Some((start, end)) => format!("{start}LocalPort: {}\n", &end[3..]),
        None => format!("{line}\n"),
    };
    lines.map(line).collect()
}

#[test]
fn everything_of_every_port() {
    let mut snapshots = faulty();
    snapshots.push(committed());
    for text in snapshots {
        let judged = Judged::new(&text, &[]);
        let file = judged.file.path().to_str().unwrap();
        for (name, detail) in [("nodes", 3u8), ("comps", 4)] {
            for xml in [false, true] {
                let level = detail.to_string();
                let mut options = vec!["-q", "-X", file, "-o", name, "-d", &level];
                options.extend(xml.then_some("-x"));
                let Some(theirs) = opareport(&options) else {
                    return;
                };
                let line = xml.then(|| options.join(" "));
                let ours = as_far_as_snapshots_go(&judged.ours(name, &[], detail, line));
                let theirs = as_far_as_snapshots_go(&theirs);
                let differs = difference(&ours, &theirs, &options[3..].join(" "));
                judged.differences.borrow_mut().extend(differs);
            }
        }
    }
}
