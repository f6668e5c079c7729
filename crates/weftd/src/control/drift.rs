//! Plans that are in force but missing from the configuration file: they end with the daemon,
//! which reports that to clients, also after a restart.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tracing::{error, warn};
use weft_manager::sm::Settings;

use super::Version;
use crate::config::{Source, Usable};
use crate::event_hub::Planned;
use crate::route_settings::{Changed, RouteSettings};
use crate::store;

/// Longest note that is read back, bytes: above any effective configuration.
const MAX_LEN: u64 = 64 << 20;
/// First line of the note.
const MAGIC: &str = "WEFTPLAN 3";
/// Settings that a message names; it says how many more there are.
const NAMED_MAX: usize = 4;

/// Identifies a configuration by its effective settings, so that two texts with the same meaning
/// are equal.
#[derive(Debug, Clone, PartialEq)]
struct Identity {
    settings: Settings,
    /// XML with every value written out; empty for the built-in defaults.
    text: String,
}

/// Plans in force that the configuration file lacks.
#[derive(Debug)]
pub(crate) struct Drift {
    /// The note for the next start; none without a state directory.
    note: Option<PathBuf>,
    file: Identity,
    planned: Planned,
}

impl Drift {
    /// Reads the note of the last run; `usable` is the current content of the configuration file.
    pub(crate) fn open(note: Option<PathBuf>, source: &Source, usable: &Usable) -> Self {
        let file = Identity {
            settings: usable.settings.clone(),
            text: usable.text.clone(),
        };
        let bytes = note.as_ref().and_then(|note| read(note));
        let last = bytes.as_deref().and_then(Note::decode);
        let told = last.map_or_else(String::new, |last| {
            let what = &last.what;
            match last.identity(source) {
                Some(before) if before == file => String::new(),
                Some(before) => format!(
                    "{what} was in force before the restart; the configuration file lacks it and is followed{}",
                    differences(&before, &file, "then")
                ),
                // Another version wrote it.
                None => format!(
                    "{what} was in force before the restart; the configuration file lacks it and is followed"
                ),
            }
        });
        if !told.is_empty() {
            warn!(event = "plan_ended", "{told}");
        }
        Self {
            note,
            file,
            planned: Planned {
                words: told.into(),
                in_force: false,
            },
        }
    }

    /// Message for users; empty if the file contains everything in force.
    pub(crate) fn planned(&self) -> Planned {
        self.planned.clone()
    }

    /// The file was read again and is in force.
    pub(super) async fn reloaded(&mut self, version: &Version) {
        self.file = identity(version);
        self.in_force(version, "").await;
    }

    /// This version is in force, by a plan with the description `what`.
    pub(super) async fn in_force(&mut self, version: &Version, what: &str) {
        let now = identity(version);
        let is_file = now == self.file;
        let words = match is_file {
            true => String::new(),
            false => format!(
                "{what} is in force until weftd ends or reads its configuration file, which lacks it{}",
                differences(&now, &self.file, "now")
            ),
        };
        self.planned = Planned {
            words: words.into(),
            in_force: !is_file,
        };
        let Some(file) = self.note.clone() else {
            return;
        };
        let note = (!is_file).then(|| Note::of(version, what).encode());
        let kept = tokio::task::spawn_blocking(move || keep(&file, note)).await;
        if let Ok(Err(error)) = kept {
            error!(event = "plan_unsaved", %error, "cannot note in the state directory which plan is in force");
        }
    }
}

fn identity(version: &Version) -> Identity {
    Identity {
        settings: version.arrangement.settings.clone(),
        text: version.configuration.text.clone(),
    }
}

/// What is or was in force and the file says otherwise: settings of routes with their values, others by their elements, as
/// some are secret.
fn differences(planned: &Identity, file: &Identity, when: &str) -> String {
    let in_file = RouteSettings::from(&file.settings);
    let routes = in_file.changed(&RouteSettings::from(&planned.settings));
    let words = |one: Changed| {
        let Changed {
            element,
            before,
            after,
        } = one;
        format!("{element} {after} {when}, {before} in the file")
    };
    let mut all: Vec<String> = routes.map(words).collect();
    for element in elements(&planned.text, &file.text) {
        // Those of routes are told with their values.
        if !all.iter().any(|told| told.starts_with(&element)) {
            all.push(element);
        }
    }
    let more = all.len().saturating_sub(NAMED_MAX);
    all.truncate(NAMED_MAX);
    let named = all.join("; ");
    match more {
        0 if named.is_empty() => named,
        0 => format!(": {named}"),
        more => format!(": {named}; and {more} more"),
    }
}

/// Elements with other lines in two configurations that have every value written out, each once; none for the built-in
/// defaults, which have no text.
fn elements(a: &str, b: &str) -> Vec<String> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    let lines = |text: &'_ str| text.lines().map(str::trim).map(str::to_owned).collect();
    let (of_a, of_b): (BTreeSet<String>, BTreeSet<String>) = (lines(a), lines(b));
    let mut names = Vec::new();
    for line in of_a.symmetric_difference(&of_b) {
        let name = line.trim_start_matches(['<', '/']);
        let name = name.split(['>', ' ', '/']).next().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn keep(file: &Path, note: Option<Vec<u8>>) -> std::io::Result<()> {
    match note {
        Some(note) => store::replace(file, &note),
        None if file.exists() => std::fs::remove_file(file),
        None => Ok(()),
    }
}

/// Reads the note; logs an unreadable one and treats it as missing.
fn read(note: &Path) -> Option<Vec<u8>> {
    store::read(note, MAX_LEN).unwrap_or_else(|error| {
        let note = note.display();
        warn!(event = "plan_refused", %error, %note, "cannot read which plan was in force before the last start");
        None
    })
}

/// Stored record of a plan in force.
#[derive(Debug, PartialEq)]
struct Note {
    /// Description of the plan.
    what: String,
    /// The settings of routes, which a way back to a moment takes from there and not from a configuration.
    routes: String,
    /// The configuration, XML with every value written out; empty for the built-in defaults.
    text: String,
}

impl Note {
    fn of(version: &Version, what: &str) -> Self {
        Self {
            what: what.replace('\n', " "),
            routes: RouteSettings::from(&version.arrangement.settings).line(),
            text: version.configuration.text.clone(),
        }
    }

    /// Identity of the stored configuration; `None` if this program cannot use it.
    fn identity(&self, source: &Source) -> Option<Identity> {
        let usable = source.check_or_built_in(&self.text)?;
        let mut settings = usable.settings;
        (settings.routing, settings.multicast) = RouteSettings::read(&self.routes)?;
        Some(Identity {
            settings,
            text: usable.text,
        })
    }

    /// Lines: magic, checksum of all that follows, words, settings of routes; then the configuration.
    fn encode(&self) -> Vec<u8> {
        let Self { what, routes, text } = self;
        let content = format!("{what}\n{routes}\n{text}");
        let checksum = crc32c::crc32c(content.as_bytes());
        format!("{MAGIC}\n{checksum:08x}\n{content}").into_bytes()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (magic, rest) = text.split_once('\n')?;
        let (checksum, content) = rest.split_once('\n')?;
        let checksum = u32::from_str_radix(checksum, 16).ok()?;
        if magic != MAGIC || checksum != crc32c::crc32c(content.as_bytes()) {
            return None;
        }
        let (what, rest) = content.split_once('\n')?;
        let (routes, text) = rest.split_once('\n')?;
        Some(Self {
            what: what.to_owned(),
            routes: routes.to_owned(),
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use weft_config::link_rules::LinkRules;

    use weft_manager::sm::drains::Drains;
    use weft_manager::sm::reroute::Arrangement;
    use weft_routing::EngineKind;

    use super::*;

    const STOCK: &str = include_str!("../../../../config/opafm.xml");

    fn version(usable: Usable) -> Version {
        let (settings, configuration) = usable.split();
        Version {
            arrangement: Arrangement {
                settings,
                drains: Drains::new(),
            },
            configuration: Arc::new(configuration),
        }
    }

    fn usable(text: &str) -> Usable {
        Source::of_tests(None)
            .check(text.to_owned(), LinkRules::default())
            .usable
            .unwrap()
    }

    fn words(drift: &Drift) -> String {
        drift.planned().words.to_string()
    }

    #[tokio::test]
    async fn what_the_file_lacks_is_told_until_the_file_has_it() {
        let dir = tempfile::tempdir().unwrap();
        let note = Some(dir.path().join("plan.0"));
        let source = Source::of_tests(None);
        let mut planned = version(usable(STOCK));
        planned.arrangement.settings.routing.engine = EngineKind::NAMED
            .iter()
            .map(|(_, kind)| *kind)
            .find(|kind| *kind != planned.arrangement.settings.routing.engine)
            .unwrap();
        let mut first = Drift::open(note.clone(), &source, &usable(STOCK));
        assert_eq!(words(&first), "");
        first.in_force(&planned, "another engine").await;
        assert!(words(&first).starts_with("another engine is in force until"));

        let mut second = Drift::open(note.clone(), &source, &usable(STOCK));
        let told = words(&second);
        assert!(
            told.starts_with("another engine was in force before"),
            "{told}"
        );
        second.reloaded(&version(usable(STOCK))).await;
        assert_eq!(words(&second), "");
        assert_eq!(words(&Drift::open(note, &source, &usable(STOCK))), "");
    }

    #[tokio::test]
    async fn a_file_that_says_the_same_in_other_words_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let note = Some(dir.path().join("plan.0"));
        let source = Source::of_tests(None);
        let (from, to) = (
            "<SweepInterval>300</SweepInterval>",
            "<SweepInterval>600</SweepInterval>",
        );
        assert!(STOCK.contains(from));
        let changed = STOCK.replace(from, to);
        let mut drift = Drift::open(note.clone(), &source, &usable(STOCK));
        let planned = version(usable(&changed));
        drift.in_force(&planned, "another configuration").await;
        assert_eq!(
            words(&drift),
            "another configuration is in force until weftd ends or reads its configuration file, which lacks it: SweepInterval"
        );
        let in_other_words = changed.replace(to, "<SweepInterval> 600 </SweepInterval><!-- s -->");
        let now = Drift::open(note.clone(), &source, &usable(&in_other_words));
        assert_eq!(words(&now), "");
        assert_ne!(words(&Drift::open(note, &source, &usable(STOCK))), "");
    }

    #[tokio::test]
    async fn settings_of_routes_that_only_a_moment_had_are_told_with_their_values_also_after_a_restart()
     {
        let dir = tempfile::tempdir().unwrap();
        let note = Some(dir.path().join("plan.0"));
        let source = Source::of_tests(None);
        let mut back = version(usable(STOCK));
        let routing = &mut back.arrangement.settings.routing;
        routing.spine_first = !routing.spine_first;
        let (then, file) = (routing.spine_first, !routing.spine_first);
        let mut drift = Drift::open(note.clone(), &source, &usable(STOCK));
        drift.in_force(&back, "back to 03:10").await;
        let told = words(&drift);
        let ends = format!("which lacks it: SpineFirstRouting {then} now, {file} in the file");
        assert!(told.ends_with(&ends), "{told}");
        let told = words(&Drift::open(note.clone(), &source, &usable(STOCK)));
        let ends = format!("is followed: SpineFirstRouting {then} then, {file} in the file");
        assert!(told.ends_with(&ends), "{told}");
    }

    #[test]
    fn no_more_settings_are_named_than_a_line_takes() {
        let identity = |text: String| Identity {
            settings: Settings::default(),
            text,
        };
        let lines = |value: u8| {
            ["A", "B", "C", "D", "E", "F"].map(|name| format!("  <{name}>{value}</{name}>\n"))
        };
        let [one, two] = [1, 2].map(|value| identity(lines(value).concat()));
        assert_eq!(differences(&one, &two, "now"), ": A; B; C; D; and 2 more");
        assert_eq!(differences(&one, &identity(String::new()), "now"), "");
    }

    #[test]
    fn a_damaged_note_is_none() {
        let note = Note {
            what: "engine dmodc".to_owned(),
            routes: RouteSettings::from(&Settings::default()).line(),
            text: "<Config>\n</Config>".to_owned(),
        };
        let good = note.encode();
        assert_eq!(Note::decode(&good).as_ref(), Some(&note));
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let read = Note::decode(&bad);
            assert!(
                read.is_none() || read.as_ref() == Some(&note),
                "bit {bit}: {read:?}"
            );
        }
        assert_eq!(Note::decode(b""), None);
    }
}
