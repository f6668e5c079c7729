//! Slurm's lists of names: `node[1-32,40],login1`.

use std::collections::BTreeSet;

/// Most names that a list may stand for.
const NAMES_MAX: usize = 1_000_000;
/// Most digits of a number that is part of a range.
const DIGITS_MAX: usize = 9;

/// Whether text is a name that Slurm takes as one: letters, digits, '-', '_' and '.'.
pub(super) fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !text.is_empty() && text.bytes().all(is_allowed)
}

/// Sorts names as people count: `node2` before `node10`.
pub(super) fn natural(name: &str) -> (&str, u64, usize) {
    let (prefix, digits) = numbered(name);
    (prefix, digits.parse().unwrap_or(0), digits.len())
}

/// A name without its last digits, and these.
fn numbered(name: &str) -> (&str, &str) {
    let prefix = name.trim_end_matches(|character: char| character.is_ascii_digit());
    let digits = name.len() - prefix.len();
    let digits = digits.min(DIGITS_MAX);
    name.split_at(name.len() - digits)
}

/// The shortest list of names, sorted, with ranges for their last numbers.
pub fn compress<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| natural(name));
    names.dedup();
    let mut parts: Vec<String> = Vec::new();
    for same in names.chunk_by(|a, b| can_share(a, b)) {
        parts.push(list_of(same));
    }
    parts.join(",")
}

/// Whether two names can stand in one pair of brackets.
fn can_share(a: &str, b: &str) -> bool {
    let ((prefix, digits), (other, more)) = (numbered(a), numbered(b));
    prefix == other && !digits.is_empty() && !more.is_empty()
}

/// A list of names that differ in their last numbers only.
fn list_of(names: &[&str]) -> String {
    let [first, _, ..] = names else {
        return names.concat();
    };
    let (prefix, _) = numbered(first);
    let digits: Vec<&str> = names.iter().map(|name| numbered(name).1).collect();
    let ranges = digits.chunk_by(|a, b| follows(a, b)).map(|run| match run {
        [one] => (*one).to_owned(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    format!("{prefix}[{}]", ranges.collect::<Vec<_>>().join(","))
}

/// Whether a range that comes to `a` goes on to `b`: the next number, with as many leading zeros as that has.
fn follows(a: &str, b: &str) -> bool {
    let Ok(number) = a.parse::<u64>() else {
        return false;
    };
    format!("{:0width$}", number + 1, width = a.len()) == b
}

/// All names of a list, in its order.
///
/// # Errors
/// What is wrong with it, and that it stands for more than a million names.
pub fn expand(list: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in parts(list)? {
        expand_part(part, &mut names)?;
    }
    match names.iter().find(|name| !is_name(name)) {
        Some(name) => Err(format!(
            "{name:?} is no name: letters, digits, '-', '_' and '.' are allowed"
        )),
        None => Ok(names),
    }
}

/// A list cut at the commas that are not within brackets.
fn parts(list: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut from, mut is_inside) = (Vec::new(), 0, false);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'[' if !is_inside => is_inside = true,
            b']' if is_inside => is_inside = false,
            b'[' | b']' => return Err(format!("brackets of {list:?} do not match")),
            b',' if !is_inside => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    if is_inside {
        return Err(format!("brackets of {list:?} do not match"));
    }
    parts.push(&list[from..]);
    Ok(parts)
}

fn expand_part(part: &str, names: &mut Vec<String>) -> Result<(), String> {
    let mut expanded = vec![String::new()];
    let mut rest = part;
    while let Some((before, (inside, after))) = rest
        .split_once('[')
        .and_then(|(before, tail)| Some((before, tail.split_once(']')?)))
    {
        let numbers = numbers(inside)?;
        bounded(names.len() + expanded.len() * numbers.len())?;
        let with = |name: &String| {
            let name = format!("{name}{before}");
            let each = numbers.iter().map(move |number| format!("{name}{number}"));
            each.collect::<Vec<_>>()
        };
        expanded = expanded.iter().flat_map(with).collect();
        rest = after;
    }
    bounded(names.len() + expanded.len())?;
    names.extend(expanded.into_iter().map(|name| name + rest));
    Ok(())
}

fn bounded(count: usize) -> Result<(), String> {
    match count > NAMES_MAX {
        true => Err(format!("a list of more than {NAMES_MAX} names")),
        false => Ok(()),
    }
}

/// The numbers of `1-3,7`, with their leading zeros.
fn numbers(ranges: &str) -> Result<Vec<String>, String> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| {
            let is_number = text.len() <= DIGITS_MAX && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<usize>().ok().filter(|_| is_number)
        };
        let (Some(from), Some(to)) = (number(first), number(last)) else {
            return Err(format!("{range:?} is no range of numbers, such as 1-32"));
        };
        if to < from {
            return Err(format!("the range {range:?} goes backwards"));
        }
        bounded(numbers.len() + (to - from))?;
        let width = first.len();
        numbers.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Ok(numbers)
}

/// Names of a set, compressed.
pub(super) fn of_set(names: &BTreeSet<String>) -> String {
    compress(names.iter().map(String::as_str))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_short_and_expand_to_the_same_names() {
        for (names, list) in [
            (&["node1"][..], "node1"),
            (&["node10", "node2", "node1"], "node[1-2,10]"),
            (&["n08", "n09", "n10", "n11"], "n[08-11]"),
            (&["n9", "n10"], "n[9-10]"),
            (&["n1", "n01"], "n[1,01]"),
            (&["login", "node3", "a-b1", "a-b2"], "a-b[1-2],login,node3"),
            (&["1", "2"], "[1-2]"),
            (
                &["x99999999999999999998", "x99999999999999999999"],
                "x99999999999[999999998-999999999]",
            ),
        ] {
            assert_eq!(compress(names.iter().copied()), list);
            let expanded: BTreeSet<String> = expand(list).unwrap().into_iter().collect();
            let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(expanded, names, "{list}");
        }
        assert_eq!(
            expand("r[1-2]n[3,05]").unwrap(),
            ["r1n3", "r1n05", "r2n3", "r2n05"]
        );
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (list, why) in [
            ("n[1-2", "do not match"),
            ("n]1", "do not match"),
            ("n[2-1]", "backwards"),
            ("n[1-999999999]", "more than 1000000 names"),
            ("a[1-1000]b[1-1000]c[1-1000]", "more than 1000000 names"),
            ("n[x]", "no range"),
            ("n[]", "no range"),
            ("n[1-2-3]", "no range"),
            ("a,,b", "no name"),
            ("", "no name"),
            ("a b", "no name"),
            ("a\u{1b}", "no name"),
        ] {
            let error = expand(list).unwrap_err();
            assert!(error.contains(why), "{list:?}: {error}");
        }
    }
}
