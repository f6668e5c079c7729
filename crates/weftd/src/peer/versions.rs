//! Settings that only one of two daemons of a pair knows, since the other one is older: they are told, and make no standby
//! inactive, so that a pair can be upgraded one after the other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::settings::{Settings, element};

/// A configuration that says nothing.
const EMPTY: &str = "<Config><Common><Shared/><Sm/><Fe/><Pm/></Common>\
                     <Fm><Shared/><Sm/><Fe/><Pm/></Fm></Config>";

/// The elements of opafm.xml that this program knows, with the sections around them.
static KNOWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    weft_config::reference()
        .into_iter()
        .map(|row| row.path)
        .collect()
});

/// Settings that this program writes out whatever the file says: those right below a section. Elsewhere a daemon that
/// knows a setting may lack it too.
static ALWAYS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let config = weft_config::check(EMPTY, "").config;
    let text = config.map_or_else(String::new, |config| config.effective_xml());
    let settings = Settings::of(&text, 0);
    let paths = settings.paths().filter(|path| section(path).is_some());
    paths.cloned().collect()
});

/// The section of a setting that is right below it.
fn section(path: &str) -> Option<&str> {
    let (section, name) = path.split_once('/')?;
    let is_section = ["Shared", "Sm", "Fe", "Pm"].contains(&section);
    (is_section && !name.contains(['/', '['])).then_some(section)
}

/// The elements that another daemon has written out, and their sections.
#[derive(Debug)]
pub(super) struct Theirs<'a>(BTreeSet<&'a str>);

impl<'a> Theirs<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        let all = settings.paths();
        Self(
            all.flat_map(|path| [element(path), section(path).unwrap_or_default()])
                .collect(),
        )
    }

    /// Whether the other daemon does not know the element at the end of this path of the own settings: it would have
    /// written it out.
    pub(super) fn do_not_know(&self, path: &str) -> bool {
        let has_section = section(path).is_some_and(|section| self.0.contains(section));
        has_section && ALWAYS.contains(path) && !self.0.contains(element(path))
    }
}

/// Whether this program does not know the setting of this path. Those of `Shared` are written out in the sections as well.
pub(super) fn is_unknown_here(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').map(element).collect();
    let shared = [&["Shared"], &names[1..]].concat();
    ![names, shared]
        .iter()
        .any(|names| KNOWN.contains(&names.join("/")))
}
