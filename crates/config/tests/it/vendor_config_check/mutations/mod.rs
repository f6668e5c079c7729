//! Mutations of a configuration file: every tag with assorted values, deletions, duplications,
//! unknown tags, broken references, broken XML.

mod fabrics;

/// A changed file and a description of the change.
pub(crate) struct Mutation {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Mutations of a file, in a fixed order; with `thorough`, every tag with every value.
///
/// The vendor's tool takes a long time for each further `Fm`, so only the first one is kept.
pub(crate) fn all(stock: &str, thorough: bool) -> Vec<Mutation> {
    let plain = with_one_fm(&without_comments(stock));
    let every = if thorough { 1 } else { 8 };
    let mut mutations = vec![Mutation {
        name: "unchanged".to_owned(),
        text: plain.clone(),
    }];
    mutations.extend(values(&plain, every));
    mutations.extend(deletions(&plain, every));
    mutations.extend(duplications(&plain, every));
    mutations.extend(truncations(&plain));
    mutations.extend(insertions(&plain));
    mutations.extend(replacements(&plain));
    mutations.extend(qualities_of_service(&plain));
    mutations.extend(fabrics::by_chance(
        &plain,
        if thorough { 4_000 } else { 300 },
    ));
    mutations
}

fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    plain + rest
}

fn with_one_fm(text: &str) -> String {
    let second = text
        .match_indices("<Fm>")
        .nth(1)
        .map_or(text.len(), |(at, _)| at);
    let end = text
        .rfind("</Config>")
        .expect("the stock file has a Config");
    format!("{}{}", &text[..second.min(end)], &text[end..])
}

/// A line that holds one whole element: where its value is, and its tag.
struct Leaf<'a> {
    tag: &'a str,
    start: usize,
    end: usize,
    line: std::ops::Range<usize>,
}

/// Elements with a text, the first of each tag.
fn leaves(text: &str) -> Vec<Leaf<'_>> {
    let mut leaves: Vec<Leaf<'_>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let Some(open) = line.find('<') else { continue };
        let Some(close) = line[open..].find('>').map(|close| open + close) else {
            continue;
        };
        let tag = &line[open + 1..close];
        let Some(end) = line.find(&format!("</{tag}>")) else {
            continue;
        };
        if !leaves.iter().any(|leaf| leaf.tag == tag) {
            leaves.push(Leaf {
                tag,
                start: range.start + close + 1,
                end: range.start + end,
                line: range,
            });
        }
    }
    leaves
}

/// Values that are wrong nearly everywhere, or nearly nowhere, or at an edge.
const VALUES: &[&str] = &[
    "",
    "abc",
    "-1",
    "0",
    "1",
    "8",
    "101",
    "300",
    "70000",
    "0xffffffffff",
    "5 6",
    "7%",
    "0x7fff",
    "9ms",
    "All",
    "Unlimited",
];

/// Each tag with each value, or with one value in `every`, starting at a different one for each tag.
fn values(text: &str, every: usize) -> Vec<Mutation> {
    let set = |leaf: &Leaf<'_>, value: &str| Mutation {
        name: format!("{} = `{value}`", leaf.tag),
        text: format!("{}{value}{}", &text[..leaf.start], &text[leaf.end..]),
    };
    let leaves = leaves(text);
    let chosen = |at: usize| VALUES.iter().skip(at % every).step_by(every);
    leaves
        .iter()
        .enumerate()
        .flat_map(|(at, leaf)| chosen(at).map(move |value| set(leaf, value)))
        .collect()
}

fn deletions(text: &str, every: usize) -> Vec<Mutation> {
    let delete = |leaf: &Leaf<'_>| Mutation {
        name: format!("without {}", leaf.tag),
        text: format!("{}{}", &text[..leaf.line.start], &text[leaf.line.end..]),
    };
    leaves(text)
        .iter()
        .step_by(every)
        .map(delete)
        .chain(sections(text).into_iter().map(|(tag, range)| Mutation {
            name: format!("without section {tag}"),
            text: format!("{}{}", &text[..range.start], &text[range.end..]),
        }))
        .collect()
}

fn duplications(text: &str, every: usize) -> Vec<Mutation> {
    let double = |leaf: &Leaf<'_>| Mutation {
        name: format!("twice {}", leaf.tag),
        text: format!(
            "{}{}{}",
            &text[..leaf.line.end],
            &text[leaf.line.clone()],
            &text[leaf.line.end..]
        ),
    };
    leaves(text)
        .iter()
        .skip(every / 2)
        .step_by(every)
        .map(double)
        .chain(sections(text).into_iter().map(|(tag, range)| Mutation {
            name: format!("twice section {tag}"),
            text: format!(
                "{}{}{}",
                &text[..range.end],
                &text[range.clone()],
                &text[range.end..]
            ),
        }))
        .collect()
}

/// Elements that hold others, from their first line to the end of their last, the first of each tag.
fn sections(text: &str) -> Vec<(String, std::ops::Range<usize>)> {
    let mut sections: Vec<(String, std::ops::Range<usize>)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (start, trimmed) = (at, line.trim());
        at += line.len();
        let Some(tag) = trimmed
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
        else {
            continue;
        };
        if tag.contains(['/', '<', '?']) || sections.iter().any(|(known, _)| known == tag) {
            continue;
        }
        if let Some(end) = text[at..].find(&format!("</{tag}>")) {
            sections.push((tag.to_owned(), start..at + end + tag.len() + 4));
        }
    }
    sections
}

fn truncations(text: &str) -> Vec<Mutation> {
    let cut = |part: usize| {
        let mut end = text.len() * part / 12;
        while !text.is_char_boundary(end) {
            end += 1;
        }
        Mutation {
            name: format!("cut after {part}/12"),
            text: text[..end].to_owned(),
        }
    };
    (0..12).map(cut).collect()
}

fn at_end_of(text: &str, closing: &str, insert: &str) -> Option<String> {
    text.contains(closing)
        .then(|| text.replacen(closing, &format!("{insert}\n{closing}"), 1))
}

/// Elements put at the end of the first section of their kind.
const INSERTIONS: &[(&str, &str)] = include!("insertions.in");

fn insertions(text: &str) -> Vec<Mutation> {
    let insert = |(section, insert): &(&str, &str)| Mutation {
        name: format!("{section} + {insert}"),
        text: at_end_of(text, &format!("</{section}>"), insert)
            .expect("the stock file has all sections"),
    };
    INSERTIONS.iter().map(insert).collect()
}

/// Replacements of the first occurrence of a text.
const REPLACEMENTS: &[(&str, &str)] = include!("replacements.in");

fn replacements(text: &str) -> Vec<Mutation> {
    let replace = |(from, to): &(&str, &str)| {
        assert!(text.contains(from), "the stock file has no {from}");
        Mutation {
            name: format!("{from} -> {to}"),
            text: text.replacen(from, to, 1),
        }
    };
    REPLACEMENTS.iter().map(replace).collect()
}

/// Settings of the stock file's two enabled virtual fabrics in place of `<QOS>0</QOS>`, and a `QOSGroup`.
const QUALITIES: &[(&str, &str, &str)] = &[
    (
        "<QOS>1</QOS><Bandwidth>50%</Bandwidth>",
        "<QOS>1</QOS><Bandwidth>50%</Bandwidth>",
        "",
    ),
    (
        "<QOS>1</QOS><Bandwidth>40%</Bandwidth>",
        "<QOS>1</QOS><Bandwidth>50%</Bandwidth>",
        "",
    ),
    ("<QOS>1</QOS>", "<QOS>1</QOS><Bandwidth>50%</Bandwidth>", ""),
    (
        "<QOS>1</QOS><Bandwidth>50%</Bandwidth>",
        "<QOS>1</QOS><HighPriority>1</HighPriority>",
        "",
    ),
    (
        "<QOS>1</QOS><HighPriority>1</HighPriority>",
        "<QOS>1</QOS><HighPriority>1</HighPriority>",
        "",
    ),
    (
        "<QOS>1</QOS><Bandwidth>100%</Bandwidth>",
        "<QOS>1</QOS>",
        "",
    ),
    (
        "<QOS>1</QOS><BaseSL>1</BaseSL>",
        "<QOS>1</QOS><BaseSL>1</BaseSL><HighPriority>0</HighPriority>",
        "",
    ),
    (
        "<QOS>1</QOS><BaseSL>1</BaseSL><MulticastSL>2</MulticastSL>",
        "<QOS>1</QOS><BaseSL>1</BaseSL>",
        "",
    ),
    (
        "<QOS>1</QOS><BaseSL>1</BaseSL><Bandwidth>60%</Bandwidth>",
        "<QOS>1</QOS><BaseSL>1</BaseSL><Bandwidth>60%</Bandwidth>",
        "",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>q</QOSGroup>",
        "<BaseSL>2</BaseSL>",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOS>0</QOS>",
        "<BaseSL>2</BaseSL>",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>other</QOSGroup>",
        "<BaseSL>2</BaseSL>",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>q</QOSGroup>",
        "<Bandwidth>30%</Bandwidth>",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>q</QOSGroup>",
        "<MulticastSL>2</MulticastSL>",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>q</QOSGroup>",
        "<PreemptRank>128</PreemptRank>",
    ),
    (
        "<QOSGroup>q</QOSGroup><QOS>0</QOS>",
        "<QOSGroup>q</QOSGroup>",
        "",
    ),
    (
        "<QOSGroup>q</QOSGroup><BaseSL>2</BaseSL>",
        "<QOSGroup>q</QOSGroup>",
        "",
    ),
    (
        "<QOSGroup>q</QOSGroup>",
        "<QOSGroup>q</QOSGroup>",
        "<HighPriority>1</HighPriority><Bandwidth>30%</Bandwidth>",
    ),
];

fn qualities_of_service(text: &str) -> Vec<Mutation> {
    let change = |(default, admin, group): &(&str, &str, &str)| {
        let mut text = text
            .replacen("<QOS>0</QOS>", default, 1)
            .replacen("<QOS>0</QOS>", admin, 1);
        if default.contains("QOSGroup") {
            let group = format!(
                "<QOSGroup><Name>q</Name><Enable>1</Enable>{group}</QOSGroup>\n</QOSGroups>"
            );
            text = text.replacen("</QOSGroups>", &group, 1);
        }
        Mutation {
            name: format!("QOS: {default} and {admin} with {group}"),
            text,
        }
    };
    QUALITIES.iter().map(change).collect()
}
