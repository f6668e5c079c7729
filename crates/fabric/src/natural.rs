//! Order of names as people count.

use std::cmp::Ordering;

/// A name whose numbers count by their values: `edge2` comes before `edge10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Natural<T>(pub T);

impl<T: AsRef<str> + Eq> Ord for Natural<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0.as_ref(), other.0.as_ref())
    }
}

impl<T: AsRef<str> + Eq> PartialOrd for Natural<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    while let (Some(x), Some(y)) = (a_rest.chars().next(), b_rest.chars().next()) {
        let order = match (x.is_ascii_digit(), y.is_ascii_digit()) {
            (true, true) => {
                let (m, n) = (digits(&mut a_rest), digits(&mut b_rest));
                (m.len(), m).cmp(&(n.len(), n))
            }
            _ => {
                a_rest = &a_rest[x.len_utf8()..];
                b_rest = &b_rest[y.len_utf8()..];
                x.cmp(&y)
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    a_rest.len().cmp(&b_rest.len()).then_with(|| a.cmp(b))
}

/// Takes a number from the start of a text, without zeros before it.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    *text = rest;
    number.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count() {
        let sorted = [
            "",
            "18446744073709551616",
            "a",
            "core1",
            "edge",
            "edge02",
            "edge2",
            "edge2-1",
            "edge2b",
            "edge10",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by_key(|name| Natural(*name));
        assert_eq!(names, sorted);
    }
}
