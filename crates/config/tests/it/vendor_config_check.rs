//! The vendor's `config_check` and ours check the same files: its stock file, and mutations of it.
//!
//! Every file that the vendor rejects must be rejected here. A file that only we reject must break
//! a rule that the documentation lists as stricter than the vendor's.

#![allow(clippy::unwrap_used)]

mod mutations;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mutations::Mutation;
use weft_config::{Config, Instance, RoutingAlgorithm, Rule, Severity, check, reference};

const TOOL: &str = "/usr/lib/opa-fm/bin/config_check";
const STOCK: &str = "/etc/opa-fm/opafm.xml";

/// The stock file, where the vendor's tool and file are installed (Debian: opa-fm).
pub(crate) fn stock() -> Option<String> {
    let _tool = weft_peers::program(TOOL)?;
    Some(std::fs::read_to_string(weft_peers::program(STOCK)?).unwrap())
}

/// Whether the vendor accepts a file, and its output.
pub(crate) fn vendor(directory: &Path, text: &str) -> (bool, String) {
    let file = directory.join("opafm.xml");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(TOOL)
        .args(["-s", "-v", "-c"])
        .arg(&file)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// The vendor's verdicts, with as many of its processes at a time as there are processors.
fn verdicts(texts: Vec<&str>) -> Vec<(bool, String)> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let part = texts.len().div_ceil(threads).max(1);
    let judge = |texts: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        texts
            .iter()
            .map(|text| vendor(directory.path(), text))
            .collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = texts
            .chunks(part)
            .map(|texts| scope.spawn(move || judge(texts)))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    })
}

/// Whether we accept a file, and the rules of our errors.
fn ours(text: &str) -> (bool, Vec<Rule>, String) {
    let checked = check(text, "opafm.xml");
    let errors: Vec<_> = checked.errors().collect();
    let said = errors
        .iter()
        .map(|finding| finding.to_string())
        .collect::<Vec<_>>()
        .join("; ");
    assert_eq!(checked.config.is_some(), errors.is_empty());
    (
        errors.is_empty(),
        errors.iter().map(|finding| finding.rule).collect(),
        said,
    )
}

#[test]
fn whatever_the_vendor_rejects_is_rejected() {
    let Some(stock) = stock() else {
        return;
    };
    let mutations = mutations::all(&stock, std::env::var_os("WEFT_THOROUGH").is_some());
    assert!(mutations.len() > 700, "only {} mutations", mutations.len());
    let verdicts = verdicts(
        mutations
            .iter()
            .map(|mutation| mutation.text.as_str())
            .collect(),
    );
    let (mut rejected, mut looser, mut unlisted) = (0, Vec::new(), Vec::new());
    let mut chances_accepted = 0;
    let mut stricter: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for (Mutation { name, text }, (vendor_accepts, vendor_says)) in mutations.iter().zip(verdicts) {
        let (we_accept, rules, we_say) = ours(text);
        rejected += usize::from(!vendor_accepts);
        chances_accepted += usize::from(vendor_accepts && name.starts_with("virtual fabrics "));
        if we_accept && !vendor_accepts {
            let reason = vendor_says
                .lines()
                .find(|line| line.contains("error") || line.contains("Duplicate"));
            looser.push(format!("{name}: {}", reason.unwrap_or(&vendor_says)));
        }
        if vendor_accepts && !we_accept {
            match rules.iter().find(|rule| !rule.is_stricter_than_vendor()) {
                Some(rule) => unlisted.push(format!("{name}: {rule:?}: {we_say}")),
                None => stricter.entry(rules[0]).or_default().push(name.clone()),
            }
        }
    }
    let total = mutations.len();
    println!(
        "{total} mutations: the vendor rejects {rejected}, we alone reject {}",
        stricter.values().map(Vec::len).sum::<usize>()
    );
    for (rule, names) in &stricter {
        println!("  stricter: {rule:?}: {}", names.join(" | "));
    }
    assert!(
        looser.is_empty(),
        "rejected by the vendor, accepted by us:\n{}",
        looser.join("\n")
    );
    assert!(
        unlisted.is_empty(),
        "rejected by us without a listed reason:\n{}",
        unlisted.join("\n")
    );
    assert!(
        chances_accepted > 40,
        "the vendor accepts only {chances_accepted} files with virtual fabrics made by chance"
    );
    assert!(
        rejected > 150,
        "the vendor rejects only {rejected}: the mutations test too little"
    );
}

/// What the stock file asks for that has no effect here.
const IGNORED: &[&str] = &[
    "Config/Common/Shared/SubnetSize",
    "Config/Common/Shared/CoreDumpLimit",
    "Config/Common/Shared/SslSecurityEnable",
    "Config/Common/Pm/ImageUpdateInterval",
];

#[test]
fn the_stock_file_says_nothing_wrong_and_a_few_things_that_have_no_effect() {
    let Some(stock) = stock() else {
        return;
    };
    let checked = check(&stock, STOCK);
    let found = checked.findings.iter();
    let found: Vec<_> = found.map(|one| (one.rule, one.path.as_str())).collect();
    let expected: Vec<_> = IGNORED.iter().map(|path| (Rule::Ignored, *path)).collect();
    assert_eq!(found, expected);
    let config = checked.config.unwrap();
    assert_eq!(config.instances.len(), 4);
    assert!(config.instances[0].starts_sm());
    assert!(!config.instances[1].starts_sm());
}

#[test]
fn our_own_file_says_what_the_stock_file_says() {
    let Some(stock) = stock() else {
        return;
    };
    let own = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../config/opafm.xml"
    ))
    .unwrap();
    let directory = tempfile::tempdir().unwrap();
    assert!(vendor(directory.path(), &own).0);
    let checked = check(&own, "config/opafm.xml");
    assert_eq!(checked.findings, []);
    let own = switched_on(checked.config.unwrap());
    let mut stock = switched_on(check(&stock, STOCK).config.unwrap());
    // The one value on purpose: the best engine for the fabric that is found.
    assert_eq!(own.sm.routing_algorithm, RoutingAlgorithm::Auto);
    stock.sm.routing_algorithm = RoutingAlgorithm::Auto;
    assert_eq!(own.resolve_fabrics(), stock.resolve_fabrics());
    for group in &own.device_groups.list {
        assert_eq!(Some(group), stock.device_groups.get(&group.name));
    }
    for application in &own.applications.list {
        assert_eq!(Some(application), stock.applications.get(&application.name));
    }
    assert_eq!(own.virtual_fabrics, stock.virtual_fabrics);
    assert_eq!(with_effect(own), with_effect(stock));
}

/// Path and value of each element of `Shared`, `Sm` and `Pm` that has an effect.
fn with_effect(instance: Instance) -> Vec<(String, String)> {
    let config = Config {
        instances: vec![instance],
    };
    let rows = reference();
    let has_effect = |path: &str| {
        let row = rows.iter().find(|row| row.path == path);
        row.is_some_and(|row| row.no_effect.is_none())
    };
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in config.effective_xml().lines().skip(1).map(str::trim) {
        let tag = line.trim_start_matches(['<', '/']);
        let (tag, rest) = tag.split_once('>').unwrap_or((tag, ""));
        match (line.starts_with("</"), rest.split_once("</")) {
            (true, _) => drop(open.pop()),
            (false, None) => open.push(tag.to_owned()),
            (false, Some((value, _))) => {
                let section = open.get(2..).unwrap_or_default().join("/");
                let path = format!("{section}/{tag}");
                let of_a_manager = ["Shared/", "Sm/", "Pm/"];
                if of_a_manager.iter().any(|top| path.starts_with(top)) && has_effect(&path) {
                    found.push((path, value.to_owned()));
                }
            }
        }
    }
    assert!(found.len() > 100, "only {}", found.len());
    found
}

/// The first instance without the samples that are switched off.
fn switched_on(config: Config) -> Instance {
    let mut first = config.instances.into_iter().next().unwrap();
    first.virtual_fabrics.list.retain(|fabric| fabric.enable);
    first.sm.multicast.mlid_shares.retain(|share| share.enable);
    first
        .sm
        .multicast
        .multicast_groups
        .retain(|group| group.create);
    first
}

#[test]
fn the_vendor_accepts_the_effective_configuration() {
    let Some(stock) = stock() else {
        return;
    };
    let mut dumps = vec![("the whole stock file".to_owned(), dump(&stock).unwrap())];
    let accepted = mutations::all(&stock, false)
        .into_iter()
        .filter_map(|Mutation { name, text }| Some((name, dump(&text)?)));
    dumps.extend(accepted.step_by(8));
    assert!(dumps.len() > 40, "only {} files dumped", dumps.len());
    let verdicts = verdicts(dumps.iter().map(|(_, text)| text.as_str()).collect());
    for ((name, _), (accepted, said)) in dumps.iter().zip(verdicts) {
        assert!(accepted, "{name}: {said}");
    }
}

/// The effective configuration of a file that we accept; it must read as the same configuration.
fn dump(text: &str) -> Option<String> {
    let config = check(text, "opafm.xml").config?;
    let dump = config.effective_xml();
    let again = check(&dump, "effective.xml");
    assert_eq!(again.config.as_ref(), Some(&config), "{:?}", again.findings);
    Some(dump)
}

#[test]
fn warnings_are_no_errors_and_errors_are_no_warnings() {
    for rule in Rule::ALL
        .iter()
        .filter(|rule| rule.is_stricter_than_vendor())
    {
        assert!(rule.explanation().ends_with('.'), "{rule:?}");
    }
    assert!(Severity::Error < Severity::Warning);
}
