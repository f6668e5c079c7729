//! Who or what changed a part of the fabric, and what a change comes from.
//!
//! | module | contents |
//! |---|---|
//! | `who` | `weft who` |
//! | `why` | `weft why` |

mod who;
mod why;

use crate::picture::point;

pub(crate) use who::run as who;
pub(crate) use why::run as why;

/// A point; a node's name, or name and port as changes are told (`edge1:3`), as a point.
pub(crate) fn part(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((name, port)) if is_name(name) && port.parse::<u8>().is_ok() => {
            format!("node:{name}:port:{port}")
        }
        _ => point(text),
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(':') && !weft_report::KEYWORDS.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_named_as_they_are_told() {
        for (text, expected) in [
            ("edge1", "node:edge1"),
            ("edge1:3", "node:edge1:port:3"),
            ("node1 hfi1_0:1", "node:node1 hfi1_0:port:1"),
            ("lid:7", "lid:7"),
            ("node:edge1:port:3", "node:edge1:port:3"),
            ("edge1:300", "edge1:300"),
            (":3", ":3"),
            ("sm", "sm"),
        ] {
            assert_eq!(part(text), expected, "{text}");
        }
    }
}
