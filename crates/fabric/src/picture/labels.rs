//! Short names that tell nodes apart, and the order in which people expect them.

use std::collections::BTreeSet;

/// Most characters of a label.
const LABEL_MAX: usize = 18;
/// Shortest part that all names share and labels leave out.
const SHARED_MIN: usize = 4;

/// A label of at most 18 characters for each name; different names get different ones where a way to shorten them does.
pub(super) fn labels(names: &[String]) -> Vec<String> {
    let names: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    if names.iter().all(|name| name.len() <= LABEL_MAX) {
        return names.iter().map(|name| name.iter().collect()).collect();
    }
    let whole = || names.iter().map(Vec::as_slice);
    let (head, tail) = shared(&names);
    let inner = || {
        names
            .iter()
            .map(|name| &name[head..name.len().saturating_sub(tail).max(head)])
    };
    let ways: [Vec<String>; 5] = [
        inner().map(|name| cut(name, LABEL_MAX - 1, 0)).collect(),
        inner().map(|name| cut(name, 0, LABEL_MAX - 1)).collect(),
        inner().map(|name| cut(name, 8, 9)).collect(),
        whole().map(|name| cut(name, 8, 9)).collect(),
        whole().map(|name| cut(name, 0, LABEL_MAX - 1)).collect(),
    ];
    let distinct = |labels: &Vec<String>| labels.iter().collect::<BTreeSet<_>>().len();
    let most = ways.iter().map(distinct).max().unwrap_or(0);
    let best = ways.into_iter().find(|labels| distinct(labels) == most);
    best.unwrap_or_default()
}

/// Characters at the start and at the end that all of several names share.
fn shared(names: &[Vec<char>]) -> (usize, usize) {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return (0, 0);
    };
    let same = |a: &mut dyn Iterator<Item = &char>, b: &mut dyn Iterator<Item = &char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let heads = rest
        .iter()
        .map(|name| same(&mut first.iter(), &mut name.iter()));
    let head = heads.min().unwrap_or(0);
    let tails = rest
        .iter()
        .map(|name| same(&mut first.iter().rev(), &mut name.iter().rev()));
    let shortest = names.iter().map(Vec::len).min().unwrap_or(0);
    let tail = tails.min().unwrap_or(0).min(shortest - head);
    // Numbers stay whole.
    let digits = |part: &[char]| part.iter().rev().take_while(|c| c.is_ascii_digit()).count();
    let head = head - digits(&first[..head]);
    let start = &first[first.len() - tail..];
    let tail = tail - start.iter().take_while(|c| c.is_ascii_digit()).count();
    let long = |part: usize| if part < SHARED_MIN { 0 } else { part };
    (long(head), long(tail))
}

/// The first and the last characters of a name, all of it where it is short enough.
fn cut(name: &[char], first: usize, last: usize) -> String {
    if name.len() <= first + last + 1 {
        return name.iter().collect();
    }
    let (head, tail) = (&name[..first], &name[name.len() - last..]);
    head.iter().chain(['…'].iter()).chain(tail).collect()
}

/// The numbers in a name, in order; those beyond 2^32 count as that.
pub(super) fn numbers(name: &str) -> Vec<u32> {
    let parts = name.split(|c: char| !c.is_ascii_digit());
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_what_tells_them_apart() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let long = names(&[
            "MF0;sat11-0101-0927-20ib0:MQM8700/U1",
            "MF0;sat11-0101-0928-01ib0:MQM8700/U1",
            "MF0;sat11-0101-0930-11ib1:MQM8700/U1",
        ]);
        assert_eq!(labels(&long), ["0927-20ib0", "0928-01ib0", "0930-11ib1"]);
        assert_eq!(labels(&names(&["edge1", "core1"])), ["edge1", "core1"]);
        let label = &labels(&names(&["a very long name of one switch"]))[0];
        assert_eq!(label, "a very long name …");
        assert_eq!(label.chars().count(), LABEL_MAX);
    }
}
