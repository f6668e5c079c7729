//! No text makes the reader of scenarios panic, take long or accept a scenario that it cannot run.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_lab::experiment::Scenario;
use weft_lab::experiment::parse::CASES_MAX;

const EXAMPLES: [&str; 12] = [
    include_str!("../../../../examples/e1-adaptive-routing.scenario"),
    include_str!("../../../../examples/e2-dispersive-routing.scenario"),
    include_str!("../../../../examples/e3-one-switch.scenario"),
    include_str!("../../../../examples/e4-congestion-discards.scenario"),
    include_str!("../../../../examples/e5-transfer-methods.scenario"),
    include_str!("../../../../examples/e6-bisection.scenario"),
    include_str!("../../../../examples/e7-switch-buffer.scenario"),
    include_str!("../../../../examples/faults.scenario"),
    include_str!("../../../../examples/jobs.scenario"),
    include_str!("../../../../examples/tapers.scenario"),
    include_str!("../../../../examples/patterns.scenario"),
    include_str!("../../../../examples/preemption.scenario"),
];
const CONFIG: &[u8] = include_bytes!("../../../../config/opafm.xml");
const FABRIC: &[u8] = include_bytes!("../../../../examples/four-hosts.ibnetdiscover");

/// Words that settings, traffic and their values are made of.
fn word() -> impl Strategy<Value = String> {
    let known: Vec<String> = EXAMPLES
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(str::to_owned)
        .chain(["config a.xml", "fabric a.ibnetdiscover", "case", "\n", "="].map(str::to_owned))
        .collect();
    prop_oneof![
        8 => prop::sample::select(known),
        1 => any::<u64>().prop_map(|number| number.to_string()),
        1 => "\\PC{0,12}",
    ]
}

/// An example whose words are replaced, dropped or joined, and whose lines are doubled, exchanged and
/// dropped.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (
        0..5_u8,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        word(),
    );
    let edits = prop::collection::vec(edit, 1..10);
    (prop::sample::select(EXAMPLES.to_vec()), edits).prop_map(|(text, edits)| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (kind, a, b, word) in edits {
            let (a, other) = (a.index(lines.len()), lines[b.index(lines.len())].clone());
            match kind {
                0 => lines.insert(a, other),
                1 if lines.len() > 1 => drop(lines.remove(a)),
                2 => lines[a] = format!("{} {word}", lines[a]),
                3 => lines[a] = format!("{word} {}", lines[a]),
                _ => {
                    let mut words: Vec<&str> = lines[a].split(' ').collect();
                    let at = b.index(words.len());
                    words[at] = &word;
                    lines[a] = words.join(" ");
                }
            }
        }
        lines.join("\n")
    })
}

/// A refusal has a line of the text and a reason; an accepted scenario is within its limits.
fn check(text: &str) -> Result<(), TestCaseError> {
    let open = |file: &str| match file.ends_with(".xml") {
        true => Ok(CONFIG.to_vec()),
        false => Ok(FABRIC.to_vec()),
    };
    match Scenario::read(text, open) {
        Ok(scenario) => {
            prop_assert!((1..=CASES_MAX).contains(&scenario.cases.len()));
            for case in &scenario.cases {
                prop_assert!(!case.limit.is_zero() && case.ranks > 0 && case.runs > 0);
            }
        }
        Err(error) => {
            prop_assert!(!error.what.is_empty());
            prop_assert!(
                (1..=text.lines().count().max(1)).contains(&error.line),
                "{error}"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_examples_do_no_harm(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn words_in_any_order_do_no_harm(words in prop::collection::vec(word(), 0..40)) {
        check(&words.join(" "))?;
    }

    #[test]
    fn any_text_does_no_harm(text in "\\PC*") {
        check(&text)?;
    }
}

/// The examples themselves are accepted, so that mutations are close to valid texts.
#[test]
fn examples_are_taken() {
    for text in EXAMPLES {
        check(text).unwrap();
        text.parse::<Scenario>().unwrap();
    }
}
