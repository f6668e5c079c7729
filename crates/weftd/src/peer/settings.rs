//! The settings of an instance that a pair has in common, and which of them differ.
//!
//! Both daemons write their effective opafm.xml out in one way, so that two texts with the same meaning are the same list.
//! Left out is what may differ from one manager to another: its port, its priorities, its logs.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_api::v1;
use weft_config::MAX_ELEMENTS;

use super::versions::{Theirs, is_unknown_here};

/// Elements that are a manager's own.
const OWN: [&str; 11] = [
    "Start",
    "Name",
    "Hfi",
    "Port",
    "PortGUID",
    "Priority",
    "ElevatedPriority",
    "ConfigConsistencyCheckLevel",
    "SyslogMode",
    "SyslogFacility",
    "Debug",
];
/// Beginnings and ends of names of such elements: `LogLevel`, `SM_LogMask`, `CoreDumpDir`, `Ssl…`.
const OWN_BEGIN: [&str; 4] = ["Log", "CoreDump", "Ssl", "Fm"];
const OWN_END: &str = "_LogMask";
/// Most bytes of settings that are taken from another daemon: above what a configuration of [`MAX_ELEMENTS`] has.
const BYTES_MAX: usize = 32 << 20;
/// Differences that are told.
const TOLD_MAX: usize = 64;
/// Longest value that is told, characters.
const VALUE_MAX: usize = 40;
/// In the place of the value of a setting that an older daemon does not know.
const NOT_KNOWN: &str = "not known";

/// Settings by the paths of their elements below `Fm`: `Sm/Lmc`, `VirtualFabrics/VirtualFabric[2]/Name`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings(BTreeMap<String, String>);

/// A setting with two values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) here: String,
    pub(crate) there: String,
    /// One of the two daemons does not know it, and is older.
    pub(crate) of_version: bool,
}

impl Settings {
    /// Of an instance, from an effective configuration with one element a line.
    pub(crate) fn of(effective: &str, instance: usize) -> Self {
        let mut reader = Reader::default();
        let mut settings = BTreeMap::new();
        for line in effective.lines() {
            let Some((path, value)) = reader.line(line.trim()) else {
                continue;
            };
            let fm = format!("Config/Fm[{}]/", instance + 1);
            // Device groups that instances have in common stand apart.
            let place = path.strip_prefix(&fm);
            let place = place.or_else(|| path.strip_prefix("Config/Common[1]/"));
            if let Some(place) = place.filter(|place| !is_own(place)) {
                let place = place.replace("[1]", "");
                settings.insert(place, masked(&path, value));
            }
        }
        Self(settings)
    }

    /// As bytes for another daemon.
    pub(crate) fn to_bytes(&self) -> Arc<[u8]> {
        // A map of words has no reason to fail.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// From such bytes.
    ///
    /// # Errors
    /// In words, where they are none, or more than a configuration has.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() > BYTES_MAX {
            let len = bytes.len();
            return Err(format!(
                "settings of {len} bytes, at most {BYTES_MAX} are taken"
            ));
        }
        let settings: Self =
            serde_json::from_slice(bytes).map_err(|error| format!("settings: {error}"))?;
        match settings.0.len() {
            0..=MAX_ELEMENTS => Ok(settings),
            more => Err(format!("{more} settings, at most {MAX_ELEMENTS} are taken")),
        }
    }

    /// The paths of all of them.
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    fn value(&self, path: &str) -> &str {
        self.0.get(path).map_or("absent", String::as_str)
    }

    fn difference(&self, other: &Self, theirs: &Theirs<'_>, path: &str) -> Difference {
        let here = !self.0.contains_key(path) && is_unknown_here(path);
        let there = !other.0.contains_key(path) && theirs.do_not_know(path);
        let value = |settings: &Self, not_known| match not_known {
            true => NOT_KNOWN.to_owned(),
            false => settings.value(path).to_owned(),
        };
        Difference {
            path: path.to_owned(),
            here: value(self, here),
            there: value(other, there),
            of_version: here || there,
        }
    }

    /// What differs from another's, in order of the paths. A setting of `Shared` is in force in the other sections too, and
    /// told once.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Difference> {
        let paths = self.0.keys().chain(other.0.keys());
        let paths: std::collections::BTreeSet<&String> = paths.collect();
        let theirs = Theirs::new(other);
        let all = paths.into_iter();
        let all = all.filter(|path| self.0.get(*path) != other.0.get(*path));
        let all = all.map(|path| self.difference(other, &theirs, path));
        let is_shared = |one: &Difference| {
            let (section, name) = one.path.split_once('/').unwrap_or_default();
            let shared = format!("Shared/{name}");
            let values = |path| (self.value(path), other.value(path));
            section != "Shared" && values(&shared) == values(&one.path)
        };
        all.filter(|one| !is_shared(one)).collect()
    }
}

/// The first of these differences, as a message.
pub(super) fn message(differences: &[Difference]) -> v1::SettingDifferences {
    let some = differences.iter().take(TOLD_MAX);
    v1::SettingDifferences {
        count: u32::try_from(differences.len()).unwrap_or(u32::MAX),
        first: some
            .map(|one| v1::SettingDifference {
                path: one.path.clone(),
                here: short(&one.here),
                there: short(&one.there),
            })
            .collect(),
    }
}

/// The same, as seen from the other side.
pub(super) fn turned(differences: &v1::SettingDifferences) -> v1::SettingDifferences {
    let some = differences.first.iter().take(TOLD_MAX);
    v1::SettingDifferences {
        count: differences.count,
        first: some
            .map(|one| v1::SettingDifference {
                path: one.path.chars().take(4 * VALUE_MAX).collect(),
                here: short(&one.there),
                there: short(&one.here),
            })
            .collect(),
    }
}

fn short(value: &str) -> String {
    match value.char_indices().nth(VALUE_MAX) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

fn is_own(place: &str) -> bool {
    let name = element(place);
    // Names and priorities of virtual fabrics are everybody's.
    let of_manager = place.matches('/').count() == 1;
    let begins = OWN_BEGIN.iter().any(|own| name.starts_with(own));
    of_manager && (OWN.contains(&name) || begins || name.ends_with(OWN_END))
}

/// The name of the element at the end of a path.
pub(super) fn element(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.split('[').next().unwrap_or(name)
}

/// Two bytes of a checksum stand in the place of a key: enough to tell two apart and too few to find one.
fn masked(path: &str, value: String) -> String {
    match weft_config::is_key(element(path)) {
        true => format!("a key #{:04x}", crc32c::crc32c(value.as_bytes()) & 0xFFFF),
        false => value,
    }
}

/// Reads lines of the configuration's writer.
#[derive(Debug, Default)]
struct Reader {
    path: Vec<String>,
    /// How often each element was met at each depth, below the present one.
    met: Vec<BTreeMap<String, u32>>,
}

impl Reader {
    /// The path and value of a leaf.
    fn line(&mut self, line: &str) -> Option<(String, String)> {
        let tag = line.strip_prefix('<')?;
        if tag.starts_with(['?', '!']) {
            return None;
        }
        if tag.starts_with('/') {
            self.path.pop();
            self.met.truncate(self.path.len() + 1);
            return None;
        }
        let (name, rest) = tag.split_once('>')?;
        let depth = self.path.len();
        if self.met.len() <= depth {
            self.met.push(BTreeMap::new());
        }
        let times = self.met[depth].entry(name.to_owned()).or_default();
        *times += 1;
        let step = match depth {
            0 => name.to_owned(),
            _ => format!("{name}[{times}]"),
        };
        if rest.is_empty() {
            self.path.push(step);
            return None;
        }
        let value = rest.strip_suffix(&format!("</{name}>"))?;
        let path = [self.path.join("/"), step].join("/");
        Some((path, value.to_owned()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(change: impl Fn(String) -> String) -> Settings {
        let stock = std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../config/opafm.xml"
        ));
        let checked = weft_config::check(change(stock.unwrap()), "opafm.xml");
        Settings::of(&checked.config.unwrap().effective_xml(), 0)
    }

    fn with(elements: &'static str) -> Settings {
        of(|text| {
            let name = "<Name>fm0</Name>";
            assert!(text.contains(name));
            text.replace(name, &format!("{name}{elements}"))
        })
    }

    #[test]
    fn what_is_a_managers_own_may_differ() {
        let stock = of(|text| text);
        assert!(stock.0.contains_key("Sm/Lmc"), "{stock:?}");
        assert!(stock.0.contains_key("VirtualFabrics/VirtualFabric/Name"));
        let own = with(
            "<Priority>5</Priority><ElevatedPriority>8</ElevatedPriority><LogLevel>3</LogLevel>",
        );
        assert_eq!(stock.differences(&own), []);
    }

    #[test]
    fn each_other_setting_is_told_with_both_values() {
        let stock = of(|text| text);
        let other = of(|text| {
            let changed = text.replace("<Lmc>0<", "<Lmc>1<");
            assert_ne!(changed, text);
            changed
        });
        let differences = stock.differences(&other);
        let [one] = differences.as_slice() else {
            panic!("{differences:?}")
        };
        assert_eq!(one.path, "Sm/Lmc");
        assert_eq!([&*one.here, &*one.there], ["0", "1"]);
        assert_eq!(
            turned(&message(&differences)),
            message(&other.differences(&stock))
        );
        let again = Settings::from_bytes(&other.to_bytes()).unwrap();
        assert_eq!(again, other);
        assert!(Settings::from_bytes(b"{").is_err());
        let more = [b" ".repeat(BYTES_MAX), other.to_bytes().to_vec()].concat();
        assert!(Settings::from_bytes(&more).is_err());
        let many = |count: usize| {
            let all = (0..count).map(|number| (number.to_string(), String::new()));
            Settings::from_bytes(&Settings(all.collect()).to_bytes())
        };
        assert!(many(MAX_ELEMENTS).is_ok());
        assert!(many(MAX_ELEMENTS + 1).is_err());
    }

    #[test]
    fn a_shared_setting_is_told_once_and_one_of_a_section_besides() {
        let effective = |shared, own| {
            format!(
                "<Config>\n<Fm>\n<Shared>\n<TagA>{shared}</TagA>\n</Shared>\n<Sm>\n<TagA>{shared}</TagA>\n\
                 </Sm>\n<Fe>\n<TagA>{shared}</TagA>\n</Fe>\n<Pm>\n<TagA>{own}</TagA>\n</Pm>\n</Fm>\n</Config>\n"
            )
        };
        let told = |shared, own| {
            let [one, other] = [(1, 1), (shared, own)]
                .map(|(shared, own)| Settings::of(&effective(shared, own), 0));
            let all = one.differences(&other).into_iter();
            all.map(|one| one.path).collect::<Vec<_>>()
        };
        assert_eq!(told(2, 2), ["Shared/TagA"]);
        assert_eq!(told(2, 3), ["Pm/TagA", "Shared/TagA"]);
        assert_eq!(told(1, 2), ["Pm/TagA"]);
    }

    #[test]
    fn what_this_program_always_writes_out_is_there() {
        let stock = of(|text| text);
        let own = Theirs::new(&stock);
        for row in weft_config::reference() {
            assert!(!own.do_not_know(&row.path), "{}", row.path);
        }
        let of_sections = stock.0.keys().filter(|path| path.contains('/'));
        for path in of_sections {
            assert!(!is_unknown_here(path), "{path}");
        }
    }

    #[test]
    fn what_only_one_of_two_versions_knows_is_told_as_that() {
        let stock = of(|text| text);
        let mut later = stock.clone();
        // Names that other sections have too are new where they are not known.
        let new = [
            "Pm/Lmc",
            "Sm/NewSection/Enable",
            "Sm/NotYetMade",
            "VirtualFabrics/VirtualFabric/NotYetMade",
        ];
        for path in new {
            later.0.insert(path.to_owned(), "3".to_owned());
        }
        let told = |one: &Settings, other: &Settings| {
            let all = one.differences(other).into_iter();
            let words = all.map(|one| (one.path, one.here, one.there, one.of_version));
            words.collect::<Vec<_>>()
        };
        let words = |path: &str, here: &str, there: &str, of_version| {
            (
                path.to_owned(),
                here.to_owned(),
                there.to_owned(),
                of_version,
            )
        };
        assert_eq!(
            told(&stock, &later),
            new.map(|path| words(path, "not known", "3", true))
        );
        // The other way: Lmc is one that each version that knows it writes out.
        let mut earlier = stock.clone();
        earlier.0.remove("Sm/Lmc");
        assert_eq!(
            told(&stock, &earlier),
            [words("Sm/Lmc", "0", "not known", true)]
        );
        assert_eq!(
            told(&earlier, &stock),
            [words("Sm/Lmc", "absent", "0", false)]
        );
        // What the other one may lack though it knows it is a difference, and so is all where there is nothing.
        let mut own = stock.clone();
        own.0
            .insert("Sm/PreDefinedTopology/Enabled".to_owned(), "1".to_owned());
        assert!(told(&own, &stock).iter().all(|one| !one.3));
        let mut more = stock.clone();
        more.0.insert(
            "VirtualFabrics/VirtualFabric[9]/Name".to_owned(),
            "x".to_owned(),
        );
        assert!(told(&more, &stock).iter().all(|one| !one.3));
        let none = stock.differences(&Settings::default());
        assert!(none.iter().all(|one| !one.of_version));
    }

    #[test]
    fn keys_differ_and_are_not_told() {
        let effective = |key| {
            format!(
                "<Config>\n<Fm>\n<Sm>\n<MKey>{key}</MKey>\n<Lmc>0</Lmc>\n</Sm>\n</Fm>\n</Config>\n"
            )
        };
        let [one, other] = ["0x1122334455667788", "0x1122334455667789"]
            .map(|key| Settings::of(&effective(key), 0));
        let differences = one.differences(&other);
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].path, "Sm/MKey");
        assert!(!format!("{one:?}{differences:?}").contains("55667788"));
    }
}
