//! Settings that only one of two daemons of a pair knows, since the other one is older: they are told, and make no standby
//! inactive, so that a pair can be upgraded one after the other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use weft_config::{Row, reference};

use super::settings::element;

/// The elements of opafm.xml that this program knows, and those of them that it always writes out.
static OWN: LazyLock<Elements> = LazyLock::new(|| Elements::of(&reference()));

#[derive(Debug)]
struct Elements {
    known: BTreeSet<String>,
    always: BTreeSet<String>,
}

impl Elements {
    fn of(rows: &[Row]) -> Self {
        let tags = |rows: &mut dyn Iterator<Item = &Row>| {
            rows.map(|row| row.tag().to_owned())
                .collect::<BTreeSet<_>>()
        };
        let known = tags(&mut rows.iter());
        let may_lack = |row: &&Row| row.default.is_empty() || row.alias_of.is_some();
        let sometimes = tags(&mut rows.iter().filter(may_lack));
        let always = known.difference(&sometimes).cloned().collect();
        Self { known, always }
    }
}

/// The elements that another daemon has written out.
#[derive(Debug)]
pub(super) struct Theirs<'a> {
    elements: BTreeSet<&'a str>,
    sections: BTreeSet<String>,
}

impl<'a> Theirs<'a> {
    /// From the paths of its settings.
    pub(super) fn new(paths: impl Iterator<Item = &'a String> + Clone) -> Self {
        Self {
            elements: paths.clone().map(|path| element(path)).collect(),
            sections: paths.map(|path| section(path)).collect(),
        }
    }

    /// Whether the other daemon does not know the element at the end of this path of the own settings: it would have
    /// written it out.
    pub(super) fn do_not_know(&self, path: &str) -> bool {
        let name = element(path);
        let writes = OWN.always.contains(name) && self.sections.contains(&section(path));
        writes && !self.elements.contains(name)
    }
}

/// Whether this program does not know the element at the end of this path.
pub(super) fn is_unknown_here(path: &str) -> bool {
    !OWN.known.contains(element(path))
}

/// The path of the element around the last one, without numbers.
fn section(path: &str) -> String {
    let around = path.rsplit_once('/').map_or("", |(around, _)| around);
    let steps = around.split('/').map(element);
    steps.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_program_always_writes_out_is_there() {
        let stock = include_str!("../../../../config/opafm.xml");
        let checked = weft_config::check(stock, "opafm.xml");
        let effective = checked.config.expect("the stock file").effective_xml();
        for name in &OWN.always {
            assert!(effective.contains(&format!("<{name}>")), "{name}");
        }
        assert!(OWN.always.len() > 200, "{}", OWN.always.len());
        for line in effective.lines() {
            let leaf = line
                .trim()
                .strip_prefix('<')
                .filter(|_| line.contains("</"));
            let name = leaf.and_then(|leaf| leaf.split('>').next());
            let Some(name) = name.filter(|name| !name.starts_with(['/', '!', '?'])) else {
                continue;
            };
            let is_section = ["Shared", "Sm", "Fe", "Pm"].contains(&name);
            assert!(is_section || !is_unknown_here(name), "{name}");
        }
    }
}
