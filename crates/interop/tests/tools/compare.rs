//! Comparison of two printouts, except for allowed differences.

use std::collections::{BTreeMap, BTreeSet};

/// Kind of difference that is allowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// Lines that hold this.
    Line(&'static str),
    /// The text after this in a line, to the next space, comma, quote or angle bracket.
    Value(&'static str),
    /// The text after this in a line, to its end.
    Rest(&'static str),
    /// Whole records, from one line of dashes to the next, that hold this.
    Record(&'static str),
    /// Records that only one of both has, identified by their first line.
    Rare,
    /// The order of records.
    Records,
    /// The order of lines.
    Lines,
}

/// Data for predicates of differences besides the text.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) switch_lids: BTreeSet<u32>,
}

/// Whether the reason covers a text that only one side has.
pub(crate) type Predicate = fn(&Known, &str) -> bool;

/// A difference that has to be.
#[derive(Debug)]
pub(crate) struct Reason {
    /// Beginnings of the command lines that it holds for.
    pub(crate) tools: &'static [&'static str],
    pub(crate) rule: Rule,
    pub(crate) why: &'static str,
    /// File and function of the vendor's source for its side.
    pub(crate) source: &'static str,
    /// Texts that only Weft's output may have, and those that only the vendor's may have.
    pub(crate) may: [Predicate; 2],
    /// Number of differing lines or records of all tools together on the small fabric; `None` if it
    /// depends on time.
    pub(crate) excuses: Option<usize>,
}

/// Result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// The first lines that differ without a reason: `-` Weft's, `+` the vendor's.
    pub(crate) differences: Vec<String>,
    /// Number of lines excused by each reason, by its place in the table.
    pub(crate) excused: BTreeMap<usize, usize>,
}

/// Most lines that are shown.
const SHOWN: usize = 12;

/// Compares the outputs of a tool, Weft's first.
pub(crate) fn compare(known: &Known, line: &str, texts: [&str; 2], reasons: &[Reason]) -> Verdict {
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
            let beyond = beyond(known, reason, &taken);
            verdict.differences.extend(beyond);
            verdict
                .excused
                .insert(place, differing(reason.rule, &taken));
        }
    }
    verdict.differences.extend(differences(&sides));
    verdict
}

/// Excused texts that the reason does not cover.
fn beyond(known: &Known, reason: &Reason, taken: &[Vec<String>; 2]) -> Vec<String> {
    let more = more(taken);
    let wrong = more.iter().filter(|(text, more)| {
        let side = usize::from(**more < 0);
        **more != 0 && !reason.may[side](known, text)
    });
    let shown = wrong.take(SHOWN);
    let said = shown.map(|(text, more)| format!("{more:+} x {text:?}, not: {}", reason.why));
    said.collect()
}

/// Number of excused texts of one side that the other lacks; if only the order may
/// differ, the number in other places.
fn differing(rule: Rule, taken: &[Vec<String>; 2]) -> usize {
    let [ours, theirs] = taken;
    if matches!(rule, Rule::Records | Rule::Lines) {
        return ours.iter().zip(theirs).filter(|(a, b)| a != b).count();
    }
    let more = more(taken);
    let sum = |sign: i64| -> i64 { more.values().map(|more| (more * sign).max(0)).sum() };
    sum(1).max(sum(-1)) as usize
}

/// Surplus of each text on Weft's side over the vendor's.
fn more([ours, theirs]: &[Vec<String>; 2]) -> BTreeMap<&String, i64> {
    let mut more: BTreeMap<&String, i64> = BTreeMap::new();
    ours.iter()
        .for_each(|text| *more.entry(text).or_default() += 1);
    theirs
        .iter()
        .for_each(|text| *more.entry(text).or_default() -= 1);
    more
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

/// Cuts out the text after `text`, up to one of the `ends`.
fn cut(lines: &mut [String], text: &str, ends: &[char]) -> Vec<String> {
    let mut taken = Vec::new();
    for line in lines {
        let Some(at) = line.find(text) else { continue };
        let start = at + text.len();
        let blank = line[start..].len() - line[start..].trim_start().len();
        let value = &line[start + blank..];
        let len = value.find(ends).unwrap_or(value.len());
        taken.push(value[..len].to_owned());
        let after = value[len..].len() - value[len..].trim_start().len();
        line.replace_range(start..start + blank + len + after, " … ");
    }
    taken
}

/// Splits records: text between lines of dashes, and text that begins with a LID. Empty lines at their ends
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

/// The lines of which one side has more, or nothing where both are the same; where only the order
/// differs, that is said.
fn differences(sides: &[Vec<String>; 2]) -> Vec<String> {
    if sides[0] == sides[1] {
        return Vec::new();
    }
    let more = more(sides);
    let only = |sign: char, wanted: i64| -> Vec<String> {
        let lines = more.iter().filter(|(_, more)| more.signum() == wanted);
        lines
            .map(|(line, more)| format!("{sign}{} x {line}", more.abs()))
            .collect()
    };
    let (minus, plus) = (only('-', 1), only('+', -1));
    let mut shown: Vec<String> = Vec::new();
    shown.extend(minus.iter().take(SHOWN).cloned());
    shown.extend(plus.iter().take(SHOWN).cloned());
    let (a, b) = (minus.len(), plus.len());
    shown.push(format!(
        "{a} and {b} lines; beyond these, at most the order differs"
    ));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    const REASONS: &[Reason] = &[Reason {
        tools: &["tool"],
        rule: Rule::Value("Lane:"),
        why: "lane 15 for lane 1",
        source: "none",
        may: [|_, text| text == "15", |_, text| text == "1"],
        excuses: Some(1),
    }];

    fn judged(ours: &str, theirs: &str) -> Verdict {
        let known = Known {
            switch_lids: BTreeSet::new(),
        };
        compare(&known, "tool -o lanes", [ours, theirs], REASONS)
    }

    #[test]
    fn a_reason_excuses_only_what_it_is_about() {
        let verdict = judged("Lane: 15\nLane: 3", "Lane: 1\nLane: 3");
        assert_eq!(verdict.differences, Vec::<String>::new());
        assert_eq!(verdict.excused, BTreeMap::from([(0, 1)]));
        for (ours, theirs) in [("Lane: 14", "Lane: 1"), ("Lane: 15", "Lane: 2")] {
            let verdict = judged(ours, theirs);
            assert_eq!(verdict.differences.len(), 1, "{verdict:?}");
        }
    }
}
