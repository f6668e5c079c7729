//! The configuration file: read, checked, made into settings.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing::warn;
use weft_config::link_rules::LinkRules;
use weft_config::{Checked, Finding, Rule, Severity, check};
use weft_fabric::Guid;
use weft_fabric::import::TOPOLOGY_FILE_MAX;
use weft_manager::ManagerSettings;
use weft_manager::sm::Settings;
use weft_manager::sm::settings::{Fencing, SettingsError};
use weft_transport::umad::PortSpec;

use crate::args::Args;
use crate::error::DaemonError;
use crate::event_hub::InForce;
use crate::link_rules::LinkRulesFile;
use crate::logging::LogSettings;
use crate::peer;
use crate::query_thread::QuerySettings;

/// Path in the vendor's package.
const STOCK: &str = "/etc/opa-fm/opafm.xml";

/// Maximum number of findings logged individually; the rest is counted.
const LOGGED_MAX: usize = 20;

/// The configuration file, and the instance in it.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    file: Option<PathBuf>,
    link_rules: LinkRulesFile,
    instance: usize,
    fencing: Option<Fencing>,
}

/// A configuration that can be put in force.
#[derive(Debug)]
pub(crate) struct Usable {
    pub(crate) settings: Settings,
    pub(crate) queries: QuerySettings,
    pub(crate) in_force: InForce,
    /// XML with every value written out, keys included; empty for the built-in defaults.
    pub(crate) text: String,
    /// The HFI port of this machine that the instance is for.
    pub(crate) port: PortSpec,
    pub(crate) log: LogSettings,
}

/// Why a configuration cannot be put in force, in words.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// Something in it is wrong.
    Refused(String),
    /// The instance has `Start` 0.
    NotStarted(String),
}

impl From<Unusable> for String {
    fn from(why: Unusable) -> Self {
        match why {
            Unusable::Refused(why) | Unusable::NotStarted(why) => why,
        }
    }
}

impl From<Unusable> for DaemonError {
    fn from(why: Unusable) -> Self {
        match why {
            Unusable::Refused(why) => Self::Config(why),
            Unusable::NotStarted(why) => Self::NotStarted(why),
        }
    }
}

/// Result of reading the file.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// All findings.
    pub(crate) findings: Vec<Finding>,
    /// The settings to put in force.
    pub(crate) usable: Result<Usable, Unusable>,
}

impl Loaded {
    /// How to log, by default where the configuration cannot be used.
    pub(crate) fn log_settings(&self) -> LogSettings {
        let usable = self.usable.as_ref();
        usable.map_or_else(|_| LogSettings::default(), |usable| usable.log.clone())
    }
}

impl Source {
    /// The source named on the command line; an emulated fabric needs no file.
    pub(crate) fn new(args: &Args) -> Result<Self, DaemonError> {
        let stock = || Some(PathBuf::from(STOCK)).filter(|stock| stock.exists());
        let file = args.config.clone().or_else(stock);
        if file.is_none() && args.emulate.is_none() {
            let why = format!("--config FILE is needed: there is no {STOCK}");
            return Err(DaemonError::Usage(why));
        }
        if file.is_none() && args.instance != 0 {
            let why = "--instance needs --config FILE".to_owned();
            return Err(DaemonError::Usage(why));
        }
        Ok(Self {
            file,
            link_rules: LinkRulesFile(args.link_rules.clone()),
            instance: args.instance.into(),
            fencing: args.fencing.fencing()?,
        })
    }

    /// The file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Number of the instance in it, from 0.
    pub(crate) fn instance(&self) -> usize {
        self.instance
    }

    /// Reads and checks it.
    pub(crate) fn load(&self) -> Result<Loaded, DaemonError> {
        let Some(file) = &self.file else {
            let (usable, findings) = self.link_rules.apply(|rules| self.built_in(rules));
            return Ok(Loaded { findings, usable });
        };
        let bytes = std::fs::read(file).map_err(|source| DaemonError::ConfigFile {
            file: file.clone(),
            source,
        })?;
        let checked = check(bytes, &file.to_string_lossy());
        Ok(self.loaded(checked))
    }

    /// Checks a text in place of the file, with the rules for links that are in force: their file is read at the start
    /// and at a reload only.
    pub(crate) fn check(&self, text: String, rules: LinkRules) -> Loaded {
        let checked = check(text, "text");
        let usable = self.usable(&checked, rules);
        Loaded {
            findings: checked.findings,
            usable,
        }
    }

    fn loaded(&self, checked: Checked) -> Loaded {
        let (usable, more) = self.link_rules.apply(|rules| self.usable(&checked, rules));
        let mut findings = checked.findings;
        findings.extend(more);
        Loaded { findings, usable }
    }

    /// Checks a stored configuration text, empty for the built-in defaults; `None` if this program
    /// cannot use it.
    pub(crate) fn check_or_built_in(&self, text: &str) -> Option<Usable> {
        match text {
            "" => self.link_rules.apply(|rules| self.built_in(rules)).0.ok(),
            text => self.loaded(check(text, "text")).usable.ok(),
        }
    }

    /// The built-in defaults.
    fn built_in(&self, rules: LinkRules) -> Result<Usable, Unusable> {
        let mut usable = built_in(rules)?;
        usable.settings.fencing.clone_from(&self.fencing);
        Ok(usable)
    }

    /// The first instance of this file.
    #[cfg(test)]
    pub(crate) fn of_tests(file: Option<PathBuf>) -> Self {
        Self {
            file,
            link_rules: LinkRulesFile(None),
            instance: 0,
            fencing: None,
        }
    }

    fn usable(&self, checked: &Checked, rules: LinkRules) -> Result<Usable, Unusable> {
        let Some(config) = &checked.config else {
            return Err(Unusable::Refused(refusal(checked)));
        };
        let count = config.instances.len();
        let instance = config.instances.get(self.instance).ok_or_else(|| {
            Unusable::Refused(format!(
                "--instance {}: the file has {count} instances, counted from 0",
                self.instance
            ))
        })?;
        check_started(instance, self.instance)?;
        let all = settings(instance, rules);
        let all = all.map_err(|error| Unusable::Refused(error.to_string()))?;
        let (mut settings, queries) = split(all);
        settings.fencing.clone_from(&self.fencing);
        let text = config.effective_xml();
        let in_force = InForce {
            effective: config.effective_xml_without_keys(),
            instance: instance.shared.name.clone(),
            settings: Some(Arc::new(peer::Settings::of(&text, self.instance))),
            refuses_other_settings: instance.shared.config_consistency_check_level > 1,
        };
        let port = port_of(&instance.shared);
        Ok(Usable {
            settings,
            queries,
            in_force,
            text,
            port,
            log: LogSettings::of(instance),
        })
    }
}

/// Settings of an instance, with the topology file that it names, and rules for links with errors.
fn settings(
    instance: &weft_config::Instance,
    rules: LinkRules,
) -> Result<ManagerSettings, SettingsError> {
    let mut all = ManagerSettings::from_config(instance)?;
    all.apply_link_rules(rules)?;
    all.read_topology(instance, |file| {
        read_at_most(Path::new(file), TOPOLOGY_FILE_MAX)
    })?;
    Ok(all)
}

/// The bytes of a file that is no longer than `most` bytes; otherwise why not, in words.
pub(crate) fn read_at_most(file: &Path, most: u64) -> Result<Vec<u8>, String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    read_opened(opened, most)
}

/// The bytes of a file that is open already, as [`read_at_most`] has them.
pub(crate) fn read_opened(file: File, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    match (bytes.len() as u64 > most, most >> 20) {
        (false, _) => Ok(bytes),
        (true, 0) => Err(format!("it is longer than {most} bytes")),
        (true, mebibytes) => Err(format!("it is longer than {mebibytes} MiB")),
    }
}

/// Logs the warnings of a file that comes into force, the first of them each, and one line for all
/// values that this program does not heed.
pub(crate) fn log_warnings(findings: &[Finding]) {
    let warnings = || {
        findings
            .iter()
            .filter(|one| one.severity == Severity::Warning)
    };
    let told = warnings().filter(|one| one.rule != Rule::Ignored);
    for finding in told.take(LOGGED_MAX) {
        warn!(event = "config_finding", "{finding}");
    }
    let ignored: Vec<&Finding> = warnings().filter(|one| one.rule == Rule::Ignored).collect();
    if let Some(first) = ignored.first() {
        let (count, file) = (ignored.len(), &first.file);
        let values = match count {
            1 => "value has",
            _ => "values have",
        };
        warn!(
            event = "config_ignored",
            count,
            file,
            "{count} {values} no effect here in {file}; to list: weft config check {file}"
        );
    }
}

/// The SM of an instance runs unless a section has `Start` 0; `number` is its place in the file.
fn check_started(instance: &weft_config::Instance, number: usize) -> Result<(), Unusable> {
    if instance.starts_sm() {
        return Ok(());
    }
    let section = match instance.shared.start {
        true => "Sm",
        false => "Shared",
    };
    let name = &instance.shared.name;
    Err(Unusable::NotStarted(format!(
        "instance {number} ({name}) is not to run: <Start> of its <{section}> is 0; \
         set it to 1, or choose another one with --instance"
    )))
}

/// Splits settings into those of the manager's thread and those of the queries thread.
fn split(all: ManagerSettings) -> (Settings, QuerySettings) {
    let ManagerSettings {
        sm,
        sa,
        pm,
        cables,
        congestion,
        dbsync,
    } = all;
    let queries = QuerySettings {
        link_rules: sm.links.errors,
        intended: sm.topology.as_ref().map(|file| Arc::clone(&file.intended)),
        sweep_interval: sm.sweeps.interval,
        subnet_prefix: sm.subnet_prefix,
        sa,
        pm,
        cables,
        congestion,
        dbsync,
    };
    (sm, queries)
}

/// `<PortGUID>` where it is given, else `<Hfi>` and `<Port>`.
fn port_of(shared: &weft_config::Shared) -> PortSpec {
    match shared.port_guid {
        Guid(0) => PortSpec::Number {
            hfi: shared.hfi,
            port: u8::try_from(shared.port).unwrap_or(u8::MAX),
        },
        guid => PortSpec::Guid(guid),
    }
}

/// The configuration without a file: the defaults of every element.
fn built_in(rules: LinkRules) -> Result<Usable, Unusable> {
    let in_force = InForce {
        effective: String::new(),
        instance: "built-in defaults".to_owned(),
        settings: None,
        refuses_other_settings: false,
    };
    let mut all = ManagerSettings::default();
    let applied = all.apply_link_rules(rules);
    applied.map_err(|error| Unusable::Refused(error.to_string()))?;
    let (settings, queries) = split(all);
    Ok(Usable {
        settings,
        queries,
        in_force,
        text: String::new(),
        port: PortSpec::Number { hfi: 1, port: 1 },
        log: LogSettings::default(),
    })
}

fn refusal(checked: &Checked) -> String {
    refused("the configuration", checked.errors())
}

/// The first errors of a file, one per line, and the number of further ones.
pub(crate) fn refused<'a>(what: &str, errors: impl Iterator<Item = &'a Finding>) -> String {
    let errors: Vec<String> = errors.map(ToString::to_string).collect();
    let mut lines = vec![match errors.len() {
        1 => format!("{what} has an error"),
        count => format!("{what} has {count} errors"),
    }];
    lines.extend(errors.iter().take(LOGGED_MAX).cloned());
    if errors.len() > LOGGED_MAX {
        let rest = errors.len() - LOGGED_MAX;
        lines.push(format!(
            "and {rest} more; `weft config check FILE` lists all"
        ));
    }
    lines.join("\n")
}
