//! The topology files that a configuration names, checked with it.

use std::collections::BTreeSet;
use std::path::Path;

use weft_config::explain::explain;
use weft_config::sm::LidStrategy;
use weft_config::{Checked, Config, Finding, Rule, Severity};
use weft_fabric::Lid;
use weft_fabric::import::{import_topology, import_topology_with_lids};

const ELEMENT: &str = "Sm/PreDefinedTopology/TopologyFilename";

/// Adds an error for each topology file in force that cannot be read, or is no topology; the configuration cannot be
/// used then.
pub(super) fn check(checked: &mut Checked, file: &Path, text: &[u8]) {
    let Some(config) = &checked.config else {
        return;
    };
    let errors = errors(config, file, text);
    if !errors.is_empty() {
        checked.findings.extend(errors);
        checked.config = None;
    }
}

fn errors(config: &Config, file: &Path, text: &[u8]) -> Vec<Finding> {
    let mut known = BTreeSet::new();
    let instances = config.instances.iter().enumerate();
    let started = instances.filter(|(_, instance)| instance.starts_sm());
    let wrong = started.filter_map(|(number, instance)| {
        let section = &instance.sm.pre_defined_topology;
        let named = section.topology_filename.as_ref();
        let named = named.filter(|named| section.is_usable() && known.insert(*named))?;
        let why = read(named, instance.sm.lid_strategy).err()?;
        // A checked file is UTF-8.
        let text = String::from_utf8_lossy(text);
        let places = explain(ELEMENT, &text, config, number);
        let line = places.first().and_then(|one| one.values.first()?.line);
        Some(Finding {
            severity: Severity::Error,
            rule: Rule::TopologyFile,
            file: file.to_string_lossy().into_owned(),
            line: line.unwrap_or(0),
            path: ELEMENT.to_owned(),
            message: format!("{named}: {why}"),
            allowed: "a topology file that can be read".to_owned(),
        })
    });
    wrong.collect()
}

fn read(file: &str, lids: LidStrategy) -> Result<(), String> {
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let imported = match lids {
        LidStrategy::Serial => import_topology(&text),
        LidStrategy::Topology => import_topology_with_lids(&text, Lid::MAX_UNICAST_16),
    };
    imported.map(drop).map_err(|error| error.to_string())
}
