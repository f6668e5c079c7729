//! State of a check: the document, the definitions so far, and the findings.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, Problem, Rule, Severity};
use crate::secret;
use crate::syntax::{Kind, Notes, Syntax};
use crate::xml::{Document, Id};

/// Maximum number of findings of one check; a last one reports that there were more.
pub const MAX_FINDINGS: usize = 1000;

/// Collects findings, each once although `Common` is read again for every instance.
pub(crate) struct Findings {
    file: String,
    list: Vec<Finding>,
    seen: BTreeSet<(u32, Option<Id>, String)>,
    dropped: bool,
}

impl Findings {
    pub(crate) fn new(file: &str) -> Self {
        Self {
            file: file.to_owned(),
            list: Vec::new(),
            seen: BTreeSet::new(),
            dropped: false,
        }
    }

    /// Adds a finding about a line; `path` and `allowed` are only called if it is kept.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        (line, element): (u32, Option<Id>),
        path: impl FnOnce() -> String,
        problem: Problem,
        allowed: impl FnOnce() -> String,
    ) {
        let key = (line, element, problem.message.clone());
        if self.seen.contains(&key) {
            return;
        }
        if self.list.len() >= MAX_FINDINGS {
            self.dropped = true;
            return;
        }
        self.seen.insert(key);
        let Problem { rule, message } = problem;
        let (file, path, allowed) = (self.file.clone(), path(), allowed());
        self.list.push(Finding {
            severity,
            rule,
            file,
            line,
            path,
            message,
            allowed,
        });
    }

    /// Whether any finding forbids the use of the file.
    pub(crate) fn has_errors(&self) -> bool {
        self.dropped
            || self
                .list
                .iter()
                .any(|finding| finding.severity == Severity::Error)
    }

    /// All findings in the order of lines.
    pub(crate) fn into_list(mut self) -> Vec<Finding> {
        self.list
            .sort_by(|a, b| (a.line, &a.path, a.severity).cmp(&(b.line, &b.path, b.severity)));
        if self.dropped {
            let message = format!("more than {MAX_FINDINGS} findings; the others are not listed");
            let rule = Rule::Count;
            let (path, allowed) = (String::new(), String::new());
            self.list.push(Finding {
                severity: Severity::Error,
                rule,
                file: self.file,
                line: 0,
                path,
                message,
                allowed,
            });
        }
        self.list
    }
}

/// A name that other elements may refer to.
#[derive(Default)]
struct Definition {
    /// The first object of that name that counts: some may be disabled, and then may share a name.
    enabled: Option<Id>,
    /// Whether one stands in the `Fm`.
    in_fm: bool,
}

/// The state of reading one instance: `Common`, then its `Fm`.
pub(crate) struct Cx<'d> {
    pub(crate) document: &'d Document<'d>,
    pub(crate) findings: &'d mut Findings,
    /// All objects in the order in which they were read.
    objects: Vec<(Kind, Id)>,
    /// Their names.
    names: BTreeMap<Kind, BTreeMap<String, Definition>>,
    /// The elements whose children make up the instance, lowest precedence first.
    pub(crate) layers: Vec<Id>,
    pub(crate) in_common: bool,
}

impl<'d> Cx<'d> {
    pub(crate) fn new(document: &'d Document<'d>, findings: &'d mut Findings) -> Self {
        Self {
            document,
            findings,
            objects: Vec::new(),
            names: BTreeMap::new(),
            layers: Vec::new(),
            in_common: true,
        }
    }

    pub(crate) fn error(&mut self, id: Id, rule: Rule, message: impl Into<String>) {
        self.add(
            Severity::Error,
            id,
            Problem::new(rule, message),
            String::new,
        );
    }

    pub(crate) fn warn(&mut self, id: Id, rule: Rule, message: impl Into<String>) {
        self.add(
            Severity::Warning,
            id,
            Problem::new(rule, message),
            String::new,
        );
    }

    /// Adds a finding about an element; `allowed` is only called if it is kept.
    pub(crate) fn add(
        &mut self,
        severity: Severity,
        id: Id,
        problem: Problem,
        allowed: impl FnOnce() -> String,
    ) {
        let document = self.document;
        let place = (document.line(id), Some(id));
        self.findings
            .add(severity, place, || document.path(id), problem, allowed);
    }

    /// Reads the text of an element; a text that cannot be read is a finding.
    pub(crate) fn parse<S: Syntax>(&mut self, syntax: &S, id: Id) -> Option<S::Value> {
        self.refuse_children(id);
        let text = self.document.text(id);
        if text.trim_ascii().is_empty() {
            if syntax.may_be_empty() {
                self.warn(id, Rule::NoEffect, "the element is empty and is ignored");
                return None;
            }
            self.add(
                Severity::Error,
                id,
                Problem::form("the element is empty"),
                || syntax.allowed(),
            );
            return None;
        }
        let mut notes = Notes::new();
        let parsed = syntax.parse(text, &mut notes);
        let is_key = secret::is_key(self.document.name(id));
        let told = |problem: Problem| match is_key {
            true => problem.without_value(),
            false => problem,
        };
        for note in notes.into_iter().map(told) {
            self.add(Severity::Warning, id, note, || syntax.allowed());
        }
        match parsed {
            Ok(value) => {
                self.refer(syntax.refers_to(), id);
                Some(value)
            }
            Err(problem) => {
                self.add(Severity::Error, id, told(problem), || syntax.allowed());
                None
            }
        }
    }

    fn refer(&mut self, kind: Option<Kind>, id: Id) {
        let Some(kind) = kind else { return };
        let name = self.document.text(id).trim_ascii();
        if self.named(kind, name).is_some() {
            return;
        }
        let problem = Problem::new(
            Rule::Undefined,
            format!("no {} `{name}` is defined above", kind.tag()),
        );
        let document = self.document;
        let known = self.names.get(&kind);
        let allowed = || {
            let known = known.into_iter().flat_map(BTreeMap::keys);
            let near = suggestion(name, known.map(String::as_str));
            near.map_or(String::new(), |near| format!("perhaps {near}"))
        };
        let place = (document.line(id), Some(id));
        let path = || document.path(id);
        self.findings
            .add(Severity::Error, place, path, problem, allowed);
    }

    fn named(&self, kind: Kind, name: &str) -> Option<&Definition> {
        self.names.get(&kind)?.get(name)
    }

    pub(crate) fn is_enabled(&self, kind: Kind, name: &str) -> bool {
        self.named(kind, name)
            .is_some_and(|known| known.enabled.is_some())
    }

    pub(crate) fn is_in_fm(&self, kind: Kind, name: &str) -> bool {
        self.named(kind, name).is_some_and(|known| known.in_fm)
    }

    /// Notes an object; a name that another enabled object of the kind has is a finding.
    pub(crate) fn define(&mut self, kind: Kind, name: &str, id: Id, enabled: bool) {
        self.objects.push((kind, id));
        let names = self.names.entry(kind).or_default();
        let known = names.entry(name.to_owned()).or_default();
        known.in_fm |= !self.in_common;
        if !enabled {
            return;
        }
        let first = *known.enabled.get_or_insert(id);
        if first != id && !name.is_empty() {
            let message = format!(
                "{} `{name}` is already defined at line {}",
                kind.tag(),
                self.document.line(first)
            );
            self.error(id, Rule::Name, message);
        }
    }

    /// The elements of all objects of a kind, in the order in which they were read.
    pub(crate) fn ids_of(&self, kind: Kind) -> Vec<Id> {
        self.objects
            .iter()
            .filter(|(known, _)| *known == kind)
            .map(|(_, id)| *id)
            .collect()
    }

    /// The element that gives a value its last word, else the closest one around it.
    pub(crate) fn place(&self, path: &[&str]) -> Id {
        (0..=path.len())
            .rev()
            .find_map(|length| {
                self.layers
                    .iter()
                    .rev()
                    .find_map(|&layer| self.document.find_last(layer, &path[..length]))
            })
            .unwrap_or(self.document.root())
    }

    /// Refuses the second copy of an element that holds others.
    pub(crate) fn is_second_section(&mut self, id: Id) -> bool {
        let section = self.document.children(id).next().is_some();
        if section {
            let message = "this section is repeated; its second copy is not read";
            self.error(id, Rule::StrictTwice, message);
        }
        section
    }

    /// All elements of a path, in the order in which they were read.
    pub(crate) fn all(&self, path: &[&str]) -> Vec<Id> {
        let mut found = self.layers.clone();
        for name in path {
            let children = found.iter().flat_map(|&id| self.document.children(id));
            found = children
                .filter(|&child| self.document.name(child) == *name)
                .collect();
        }
        found
    }

    /// An element that its place does not know: it is ignored, as the vendor ignores it.
    pub(crate) fn unknown(&mut self, id: Id, known: impl FnOnce() -> Vec<&'static str>) {
        let name = self.document.name(id);
        let allowed = || {
            let near = suggestion(name, known().into_iter());
            near.map_or(String::new(), |near| format!("perhaps `{near}`"))
        };
        let problem = Problem::new(
            Rule::UnknownElement,
            "this element is not known here and is ignored",
        );
        self.add(Severity::Warning, id, problem, allowed);
    }

    /// Children that an element must have.
    pub(crate) fn require(&mut self, id: Id, names: &[&str]) {
        for name in names
            .iter()
            .filter(|name| !self.document.has_child(id, name))
        {
            self.error(
                id,
                Rule::Count,
                format!("a {} is missing; it may be empty", name),
            );
        }
    }

    /// Elements with text only have no children.
    fn refuse_children(&mut self, id: Id) {
        if self.document.children(id).next().is_some() {
            self.error(
                id,
                Rule::Form,
                "an element inside of an element that has a value",
            );
        }
        self.refuse_attributes(id);
    }

    pub(crate) fn refuse_attributes(&mut self, id: Id) {
        if self.document.has_attributes(id) {
            self.warn(
                id,
                Rule::StrictXml,
                "attributes have no meaning here and are ignored",
            );
        }
    }
}

/// The known name that is nearest to a wrong one, if any is near.
pub(crate) fn suggestion<'n>(wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const LONGEST: usize = 64;
    if wrong.len() > LONGEST {
        return None;
    }
    let near = known.map(|name| (distance(wrong, name), name)).min()?;
    (near.0 <= 1 + wrong.len() / 4).then_some(near.1)
}

/// The number of letters to change, add or remove between two words, letter case aside.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
