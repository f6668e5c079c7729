//! `verifysms`.

use std::fmt;

use serde::Serialize;
use weft_fabric::expected::{ExpectedEnd, ExpectedSm};
use weft_fabric::{Guid, PortNum, SmRecord, Snapshot};

use super::{
    Comparison, FoundEnd, Skipped, end_differences, problems_xml, told, write_guid, write_problems,
};
use crate::expectations::Expectations;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text_opt;
use crate::sms::SmEntry;
use crate::xml::{Xml, XmlWriter, port_id};

/// The line over subnet managers.
const HEADER: &str = "NodeGUID          Port PortGUID         Type Name";

/// Subnet managers that differ.
#[derive(Debug, Clone, Serialize)]
pub struct VerifySmsReport {
    #[serde(flatten)]
    head: Head,
    /// Subnet managers of the fabric and of the file.
    #[serde(flatten)]
    pub compared: Comparison<SmProblem, ExpectedSmProblem>,
    #[serde(skip)]
    detail: Detail,
}

/// A subnet manager that is not as the file has it.
#[derive(Debug, Clone, Serialize)]
pub struct SmProblem {
    /// It.
    #[serde(flatten)]
    pub sm: SmEntry,
    /// What differs; nothing where the file does not have it.
    pub differences: Vec<String>,
    /// In a word.
    pub problem: &'static str,
}

/// A subnet manager of the file that is missing or twice there.
#[derive(Debug, Clone, Serialize)]
pub struct ExpectedSmProblem {
    /// NodeGUID.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub guid: Option<Guid>,
    /// Name of its node.
    pub name: Option<String>,
    /// Line of the file, from 1.
    pub line: u64,
    /// In a word.
    pub problem: &'static str,
    #[serde(skip)]
    end: ExpectedEnd,
    #[serde(skip)]
    node_details: Option<String>,
    #[serde(skip)]
    sm_details: Option<String>,
}

/// Makes the report.
pub fn verifysms(snapshot: &Snapshot, options: &Options) -> VerifySmsReport {
    let lacks = |file: &Expectations| (!file.file.has_nodes).then_some(Skipped::NoNodes);
    let (compared, file) = Comparison::begin(options, lacks);
    let mut report = VerifySmsReport {
        head: Head::new("SMs Topology Verification", options),
        compared,
        detail: options.detail,
    };
    if let Some(file) = file {
        report.tell_focus(snapshot, options, file);
        report.look_at_fabric(snapshot, options, file);
        report.look_at_file(snapshot, options, file);
    }
    report
}

impl VerifySmsReport {
    fn tell_focus(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        let named = options.entries().into_iter().flat_map(|all| &all.sms);
        let entries = named.filter_map(|entry| {
            let found = file.sms.get(*entry).copied().flatten();
            let port = found.and_then(|place| snapshot.sms.get(place));
            let details = port.and_then(|sm| options.node_details(sm.port.node));
            let sm = file.file.sms.get(*entry)?;
            Some(ExpectedSmProblem::new(sm, details, ""))
        });
        let told = entries.map(|entry| {
            told(
                |f| entry.write_entry(f),
                |to| entry.write_xml_as(to, "InputSM"),
            )
        });
        self.head.tell("Input SM", &told.collect::<Vec<_>>());
    }

    fn look_at_fabric(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        let mut sms: Vec<_> = snapshot.sms.iter().enumerate().collect();
        sms.sort_by_key(|(_, sm)| sm.port_guid);
        self.compared.fabric.total = sms.len();
        let wanted = |(place, sm): &(usize, &SmRecord)| {
            let entry = file.sm_entry(*place);
            options.port(sm.port) || entry.is_some_and(|entry| options.sm_entry(entry))
        };
        for (place, sm) in sms.into_iter().filter(wanted) {
            self.compared.fabric.checked += 1;
            let Some(entry) = SmEntry::new(snapshot, options, place, sm) else {
                continue;
            };
            let expected = file
                .sm_entry(place)
                .and_then(|entry| file.file.sms.get(entry));
            let differences = expected.map_or_else(Vec::new, |expected| compare(&entry, expected));
            let problem = match expected {
                None => {
                    self.compared.counts.unexpected += 1;
                    "Unexpected SM"
                }
                Some(_) if differences.is_empty() => continue,
                Some(_) => {
                    self.compared.counts.different += 1;
                    "SM Attributes Inconsistent"
                }
            };
            self.compared.found.push(SmProblem {
                sm: entry,
                differences,
                problem,
            });
        }
    }

    fn look_at_file(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        self.compared.input.total = file.file.sms.len();
        for (entry, (sm, found)) in file.file.sms.iter().zip(&file.sms).enumerate() {
            let port = found
                .and_then(|place| snapshot.sms.get(place))
                .map(|sm| sm.port);
            let named = port.is_some_and(|port| options.port(port));
            if !named && !options.sm_entry(entry) {
                continue;
            }
            self.compared.input.checked += 1;
            let problem = match found {
                None => {
                    self.compared.counts.missing += 1;
                    "Missing SM"
                }
                Some(place) if file.sm_entry(*place) != Some(entry) => {
                    self.compared.counts.duplicate += 1;
                    "Duplicate SM in input"
                }
                Some(_) => continue,
            };
            let details = port.and_then(|port| options.node_details(port.node));
            let problem = ExpectedSmProblem::new(sm, details, problem);
            self.compared.expected.push(problem);
        }
    }
}

fn compare(sm: &SmEntry, expected: &ExpectedSm) -> Vec<String> {
    let found = FoundEnd {
        guid: sm.guid,
        name: &sm.name,
        port: PortNum(sm.port),
        port_guid: sm.port_guid,
        node_type: sm.node_type,
    };
    end_differences(&expected.end, &found)
}

impl SmProblem {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let sm = &self.sm;
        let (guid, port, port_guid) = (sm.guid, sm.port, sm.port_guid);
        writeln!(
            f,
            "{guid} {port:>3} {port_guid} {} {}",
            sm.node_type, sm.name
        )?;
        sm.write_details(f, 4)?;
        write_problems(f, 0, self.differences.iter().filter(|_| detail.lists()))?;
        writeln!(f, "{}", self.problem)
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let sm = &self.sm;
        let attributes = port_id(sm.guid, sm.port);
        to.within_as("SM", format_args!("{attributes}"), |to| {
            to.value("NodeGUID", sm.guid);
            to.value("PortNum", sm.port);
            to.value("PortGUID", sm.port_guid);
            to.node_type(sm.node_type);
            to.text("NodeDesc", &sm.name);
            to.text_if("NodeDetails", sm.node_details.as_deref());
            to.text_if("SMDetails", sm.sm_details.as_deref());
            problems_xml(to, self.differences.iter().filter(|_| detail.lists()));
            to.text("Problem", self.problem);
        });
    }
}

impl ExpectedSmProblem {
    fn new(sm: &ExpectedSm, node_details: Option<String>, problem: &'static str) -> Self {
        Self {
            guid: sm.end.guid,
            name: sm.end.name.clone(),
            line: sm.line,
            problem,
            end: sm.end.clone(),
            node_details,
            sm_details: sm.details.clone(),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_entry(f)?;
        writeln!(f, "{}", self.problem)
    }

    fn write_entry(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = &self.end;
        write_guid(f, end.guid)?;
        match end.port {
            Some(port) => write!(f, " {:>3}", port.0)?,
            None => write!(f, "    ")?,
        }
        match end.port_guid {
            Some(guid) => write!(f, " {guid}")?,
            None => write!(f, "{:18}", "")?,
        }
        match end.node_type {
            Some(kind) => write!(f, " {kind}")?,
            None => write!(f, "   ")?,
        }
        if let Some(name) = &end.name {
            write!(f, " {name}")?;
        }
        writeln!(f)?;
        if let Some(details) = &self.node_details {
            writeln!(f, "    NodeDetails: {details}")?;
        }
        match &self.sm_details {
            Some(details) => writeln!(f, "    SMDetails: {details}"),
            None => Ok(()),
        }
    }

    fn write_xml(&self, to: &mut XmlWriter) {
        self.write_xml_as(to, "SM");
    }

    fn write_xml_as(&self, to: &mut XmlWriter, tag: &str) {
        let end = &self.end;
        to.within_as(tag, format_args!("id=\"{:#018x}\"", self.line), |to| {
            if let Some(guid) = end.guid {
                to.value("NodeGUID", guid);
            }
            if let Some(port) = end.port {
                to.value("PortNum", port);
            }
            if let Some(kind) = end.node_type {
                to.node_type(kind);
            }
            to.text_if("NodeDesc", end.name.as_deref());
            to.text_if("NodeDetails", self.node_details.as_deref());
            to.text_if("SMDetails", self.sm_details.as_deref());
            if let Some(guid) = end.port_guid {
                to.value("PortGUID", guid);
            }
            if !self.problem.is_empty() {
                to.text("Problem", self.problem);
            }
        });
    }
}

impl Xml for VerifySmsReport {
    fn xml(&self, to: &mut XmlWriter) {
        let detail = self.detail;
        to.within_remarked("VerifySMs", "SM Topology Verification", |to| {
            if let Some(skipped) = self.compared.skipped {
                return to.line(format_args!("<!-- {skipped} -->"));
            }
            self.compared.write_xml(
                to,
                (&self.head, detail),
                "SMs",
                |sm, to| sm.write_xml(to, detail.within()),
                |sm, to| sm.write_xml(to),
            );
        });
    }
}

impl fmt::Display for VerifySmsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compared.write(
            f,
            (&self.head, self.detail),
            ("SMs", HEADER),
            |sm, f| sm.write(f, self.detail.within()),
            |sm, f| sm.write(f),
        )
    }
}
