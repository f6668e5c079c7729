//! Whether two printouts say the same, but for what may differ.

use std::collections::BTreeSet;

/// What may differ.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// Lines that hold this.
    Line(&'static str),
    /// What follows this in a line, to the next space, comma, quote or angle bracket.
    Value(&'static str),
    /// What follows this in a line, to its end.
    Rest(&'static str),
    /// Whole records, from one line of dashes to the next, that hold this.
    Record(&'static str),
    /// Records that only one of both has, told by their first line.
    Rare,
    /// The order of records.
    Records,
    /// The order of lines.
    Lines,
}

/// A difference that has to be.
#[derive(Debug)]
pub(crate) struct Reason {
    /// Beginnings of the command lines that it holds for.
    pub(crate) tools: &'static [&'static str],
    pub(crate) rule: Rule,
    pub(crate) why: &'static str,
    /// It depends on time whether there is a difference.
    pub(crate) chance: bool,
}

/// What came of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// The first lines that differ without a reason: `-` Weft's, `+` the vendor's.
    pub(crate) differences: Vec<String>,
    /// Places in the table of the reasons that were needed.
    pub(crate) needed: BTreeSet<usize>,
}

/// Most lines that are shown.
const SHOWN: usize = 12;

/// Compares what a tool printed, Weft's first.
pub(crate) fn compare(line: &str, texts: [&str; 2], reasons: &[Reason]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut sides = texts.map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    for (place, reason) in reasons.iter().enumerate() {
        if sides[0] == sides[1] {
            break;
        }
        if !reason.tools.iter().any(|tool| line.starts_with(tool)) {
            continue;
        }
        let heads = heads(&sides);
        let taken = sides
            .each_mut()
            .map(|side| apply(reason.rule, side, &heads));
        if taken[0] != taken[1] {
            verdict.needed.insert(place);
        }
    }
    verdict.differences = differences(&sides);
    verdict
}

/// The first lines of the records that both sides have.
fn heads([ours, theirs]: &[Vec<String>; 2]) -> BTreeSet<String> {
    let heads = |side: &[String]| -> BTreeSet<String> {
        let records = split(side);
        records.iter().filter_map(|record| head(record)).collect()
    };
    &heads(ours) & &heads(theirs)
}

fn head(record: &str) -> Option<String> {
    record.lines().next().map(str::to_owned)
}

/// Takes out of a printout what may differ, and gives what was taken. `heads` are first lines of
/// records that both have.
fn apply(rule: Rule, lines: &mut Vec<String>, heads: &BTreeSet<String>) -> Vec<String> {
    match rule {
        Rule::Line(text) => take(lines, |line| line.contains(text)),
        Rule::Value(text) => cut(lines, text, &[' ', ',', '"', '<', '\'']),
        Rule::Rest(text) => cut(lines, text, &[]),
        Rule::Record(text) => {
            let mut records = split(lines);
            let taken = take(&mut records, |record| record.contains(text));
            *lines = join(records);
            taken
        }
        Rule::Rare => {
            let mut records = split(lines);
            let rare = |record: &String| head(record).is_none_or(|head| !heads.contains(&head));
            let taken = take(&mut records, rare);
            *lines = join(records);
            taken
        }
        Rule::Records => {
            let mut records = split(lines);
            let before = records.clone();
            records.sort_unstable();
            *lines = join(records);
            before
        }
        Rule::Lines => {
            let before = lines.clone();
            lines.sort_unstable();
            before
        }
    }
}

fn take(from: &mut Vec<String>, which: impl Fn(&String) -> bool) -> Vec<String> {
    let (taken, left) = std::mem::take(from).into_iter().partition(which);
    *from = left;
    taken
}

/// Cuts out what follows `text`, up to one of the `ends`.
fn cut(lines: &mut [String], text: &str, ends: &[char]) -> Vec<String> {
    let mut taken = Vec::new();
    for line in lines {
        let Some(at) = line.find(text) else { continue };
        let start = at + text.len();
        let blank = line[start..].len() - line[start..].trim_start().len();
        let value = &line[start + blank..];
        let len = value.find(ends).unwrap_or(value.len());
        taken.push(value[..len].to_owned());
        line.replace_range(start..start + blank + len, " …");
    }
    taken
}

/// Records: what is between lines of dashes, and what begins with a LID. Empty lines at their ends
/// are not part of them.
fn split(lines: &[String]) -> Vec<String> {
    let mut records: Vec<Vec<&str>> = vec![Vec::new()];
    for line in lines {
        let dashes = line.len() > 20 && line.trim().chars().all(|c| c == '-');
        if dashes || line.starts_with("LID: ") {
            records.push(Vec::new());
        }
        if let Some(record) = records.last_mut().filter(|_| !dashes) {
            record.push(line);
        }
    }
    let texts = records.iter().map(|record| record.join("\n"));
    let texts = texts.map(|record| record.trim_end().to_owned());
    texts.filter(|record| !record.is_empty()).collect()
}

fn join(records: Vec<String>) -> Vec<String> {
    let lines = records.iter().flat_map(|record| record.split('\n'));
    lines.map(str::to_owned).collect()
}

/// The lines that are not on both sides, in the order in which they come; how many there are beyond
/// those that are shown.
fn differences([ours, theirs]: &[Vec<String>; 2]) -> Vec<String> {
    if ours == theirs {
        return Vec::new();
    }
    let sets = [ours, theirs].map(|side| side.iter().collect::<BTreeSet<_>>());
    let only = |side: &[String], other: &BTreeSet<&String>, sign: char| -> Vec<String> {
        let lines = side.iter().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign}{line}")).collect()
    };
    let (minus, plus) = (only(ours, &sets[1], '-'), only(theirs, &sets[0], '+'));
    let mut shown: Vec<String> = Vec::new();
    shown.extend(minus.iter().take(SHOWN).cloned());
    shown.extend(plus.iter().take(SHOWN).cloned());
    let (a, b) = (ours.len(), theirs.len());
    shown.push(format!(
        "{} and {} lines of {a} and {b}; the others may differ in order or number",
        minus.len(),
        plus.len()
    ));
    shown
}
