//! `verifyfis` and `verifysws`.

use std::fmt;

use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::expected::ExpectedNode;
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Node, NodeId, Snapshot};

use super::{Comparison, Skipped, differs, problems_xml, told, write_guid, write_problems};
use crate::brief::NODES;
use crate::expectations::Expectations;
use crate::focus::{Detail, Head, Options};
use crate::names::{as_text, as_text_opt};
use crate::xml::{Xml, XmlWriter};

/// Nodes of one type that differ.
#[derive(Debug, Clone, Serialize)]
pub struct VerifyNodesReport {
    #[serde(flatten)]
    head: Head,
    /// `FI` or `SW`.
    #[serde(rename = "type", serialize_with = "as_text")]
    pub node_type: NodeType,
    /// Nodes of the fabric and of the file.
    #[serde(flatten)]
    pub compared: Comparison<NodeProblem, ExpectedNodeProblem>,
    #[serde(skip)]
    detail: Detail,
}

/// A node that is not as the file has it.
#[derive(Debug, Clone, Serialize)]
pub struct NodeProblem {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_details: Option<String>,
    /// What differs; nothing where the file does not have it.
    pub differences: Vec<String>,
    /// In a word.
    pub problem: String,
}

/// A node of the file that is missing or twice there.
#[derive(Debug, Clone, Serialize)]
pub struct ExpectedNodeProblem {
    /// NodeGUID.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "as_text_opt"
    )]
    pub guid: Option<Guid>,
    /// Its name.
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_details: Option<String>,
    /// Line of the file, from 1.
    pub line: u64,
    /// In a word.
    pub problem: String,
}

/// Makes the report on HFIs or switches.
pub fn verifynodes(snapshot: &Snapshot, options: &Options, kind: NodeType) -> VerifyNodesReport {
    let title = match kind {
        NodeType::SWITCH => "SWs Topology Verification",
        _ => "FIs Topology Verification",
    };
    let lacks = |file: &Expectations| (!file.file.has_nodes).then_some(Skipped::NoNodes);
    let (compared, file) = Comparison::begin(options, lacks);
    let mut report = VerifyNodesReport {
        head: Head::new(title, options),
        node_type: kind,
        compared,
        detail: options.detail,
    };
    if let Some(file) = file {
        report.tell_focus(options, file);
        report.look_at_fabric(snapshot, options, file);
        report.look_at_file(options, file);
    }
    report
}

impl VerifyNodesReport {
    fn tell_focus(&mut self, options: &Options, file: &Expectations) {
        let named = options.entries().into_iter().flat_map(|all| &all.nodes);
        let entries = named.filter_map(|entry| file.file.nodes.get(*entry));
        let told = entries.map(|node| {
            let entry = ExpectedNodeProblem::new(node, String::new());
            told(
                |f| entry.write_entry(f, node.node_type),
                |to| entry.write_xml_as(to, "InputNode", node.node_type),
            )
        });
        self.head.tell("Input Node", &told.collect::<Vec<_>>());
    }

    fn look_at_fabric(&mut self, snapshot: &Snapshot, options: &Options, file: &Expectations) {
        let nodes = snapshot.topology.nodes();
        let mut nodes: Vec<_> = nodes
            .filter(|(_, node)| node_type(node) == self.node_type)
            .collect();
        nodes.sort_by_key(|(_, node)| node.guid());
        self.compared.fabric.total = nodes.len();
        let wanted = |id| {
            let entry = file.node_entry(id);
            options.node(id) || entry.is_some_and(|entry| options.node_entry(entry))
        };
        for (id, node) in nodes.into_iter().filter(|(id, _)| wanted(*id)) {
            self.compared.fabric.checked += 1;
            if let Some(problem) = NodeProblem::new(options, file, id, node) {
                match file.node_entry(id) {
                    Some(_) => self.compared.counts.different += 1,
                    None => self.compared.counts.unexpected += 1,
                }
                self.compared.found.push(problem);
            }
        }
    }

    fn look_at_file(&mut self, options: &Options, file: &Expectations) {
        let entries = file.file.nodes.iter().zip(&file.nodes).enumerate();
        for (entry, (node, found)) in entries {
            if node.node_type != self.node_type {
                continue;
            }
            self.compared.input.total += 1;
            let named = found.is_some_and(|id| options.node(id));
            if !named && !options.node_entry(entry) {
                continue;
            }
            self.compared.input.checked += 1;
            let kind = self.node_type;
            let problem = match found {
                None => {
                    self.compared.counts.missing += 1;
                    format!("Missing {kind}")
                }
                Some(id) if file.node_entry(*id) != Some(entry) => {
                    self.compared.counts.duplicate += 1;
                    format!("Duplicate {kind} in input")
                }
                Some(_) => continue,
            };
            self.compared
                .expected
                .push(ExpectedNodeProblem::new(node, problem));
        }
    }
}

impl NodeProblem {
    fn new(options: &Options, file: &Expectations, id: NodeId, node: &Node) -> Option<Self> {
        let kind = node_type(node);
        let expected = file.node(id);
        let mut differences = Vec::new();
        if let Some(expected) = expected {
            let (guid, name) = (node.guid(), node.name());
            differs(&mut differences, expected.guid.as_ref(), &guid, |other| {
                format!("NodeGuid mismatch: expected: {other} found: {guid}")
            });
            differs(&mut differences, expected.name.as_ref(), &name, |other| {
                format!("NodeDesc mismatch: expected: '{other}' found: '{name}'")
            });
            differs(
                &mut differences,
                Some(&expected.node_type),
                &kind,
                |other| format!("NodeType mismatch: expected: {other} found: {kind}"),
            );
            if differences.is_empty() {
                return None;
            }
        }
        Some(Self {
            guid: node.guid(),
            name: node.name(),
            node_details: options.node_details(id),
            problem: match expected {
                Some(_) => "Node Attributes Inconsistent".to_owned(),
                None => format!("Unexpected {kind}"),
            },
            differences,
        })
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, kind: NodeType, detail: Detail) -> fmt::Result {
        writeln!(f, "{} {kind} {}", self.guid, self.name)?;
        if let Some(details) = &self.node_details {
            writeln!(f, "    NodeDetails: {details}")?;
        }
        write_problems(f, 0, self.differences.iter().filter(|_| detail.lists()))?;
        writeln!(f, "{}", self.problem)
    }

    fn write_xml(&self, to: &mut XmlWriter, kind: NodeType, detail: Detail) {
        to.node((self.guid, kind, &self.name), |to| {
            to.text_if("NodeDetails", self.node_details.as_deref());
            problems_xml(to, self.differences.iter().filter(|_| detail.lists()));
            to.text("Problem", &self.problem);
        });
    }
}

impl ExpectedNodeProblem {
    fn new(node: &ExpectedNode, problem: String) -> Self {
        Self {
            guid: node.guid,
            name: node.name.clone(),
            node_details: node.details.clone(),
            line: node.line,
            problem,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, kind: NodeType) -> fmt::Result {
        self.write_entry(f, kind)?;
        writeln!(f, "{}", self.problem)
    }

    fn write_entry(&self, f: &mut fmt::Formatter<'_>, kind: NodeType) -> fmt::Result {
        write_guid(f, self.guid)?;
        write!(f, " {kind}")?;
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        writeln!(f)?;
        match &self.node_details {
            Some(details) => writeln!(f, "    NodeDetails: {details}"),
            None => Ok(()),
        }
    }

    fn write_xml(&self, to: &mut XmlWriter, kind: NodeType) {
        self.write_xml_as(to, "Node", kind);
    }

    fn write_xml_as(&self, to: &mut XmlWriter, tag: &str, kind: NodeType) {
        to.within_as(tag, format_args!("id=\"{:#018x}\"", self.line), |to| {
            if let Some(guid) = self.guid {
                to.value("NodeGUID", guid);
            }
            to.node_type(kind);
            to.text_if("NodeDesc", self.name.as_deref());
            to.text_if("NodeDetails", self.node_details.as_deref());
            if !self.problem.is_empty() {
                to.text("Problem", &self.problem);
            }
        });
    }
}

impl Xml for VerifyNodesReport {
    fn xml(&self, to: &mut XmlWriter) {
        let (kind, detail) = (self.node_type, self.detail);
        let items = format!("{kind}s");
        let remark = format!("{kind} Topology Verification");
        to.within_remarked(&format!("Verify{items}"), &remark, |to| {
            if let Some(skipped) = self.compared.skipped {
                return to.line(format_args!("<!-- {skipped} -->"));
            }
            self.compared.write_xml(
                to,
                (&self.head, detail),
                &items,
                |node, to| node.write_xml(to, kind, detail.within()),
                |node, to| node.write_xml(to, kind),
            );
            let counts = self.compared.counts;
            to.value("Missing", counts.missing);
            to.value("Unexpected", counts.unexpected);
            to.value("Duplicate", counts.duplicate);
            to.value("Different", counts.different);
        });
    }
}

impl fmt::Display for VerifyNodesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.node_type;
        self.compared.write(
            f,
            (&self.head, self.detail),
            (&format!("{kind}s"), NODES),
            |node, f| node.write(f, kind, self.detail.within()),
            |node, f| node.write(f, kind),
        )
    }
}
