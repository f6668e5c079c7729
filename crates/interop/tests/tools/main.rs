//! The vendor's tools print under Weft's daemon what they print under the vendor's manager.
#![allow(clippy::unwrap_used)]

mod cases;
mod compare;
mod pair;
mod reasons;

use std::collections::BTreeSet;

use cases::{CLEARING, QUERIES};
use compare::compare;
use pair::Pair;
use reasons::REASONS;

/// Runs tools on both and compares; gives what is wrong and which reasons were needed.
fn judge(pair: &Pair, lines: &[&str]) -> (Vec<String>, BTreeSet<usize>) {
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for line in lines {
        let both = pair.run(line);
        let bad = |ran: &&weft_interop::Ran| {
            !ran.good || ran.text.contains("Failed") || ran.text.contains("FAILED")
        };
        if let Some(bad) = both.iter().find(bad) {
            wrong.push(format!("{line}: {}", bad.text));
            continue;
        }
        let [weft, vendor] = &both;
        let verdict = compare(line, [&weft.text, &vendor.text], REASONS);
        if !verdict.differences.is_empty() {
            wrong.push(format!("{line}:\n{}", verdict.differences.join("\n")));
        }
        for place in &verdict.needed {
            println!("  but for: {}", REASONS[*place].why);
        }
        needed.extend(verdict.needed);
    }
    (wrong, needed)
}

#[test]
fn all_tools_agree_on_a_small_fabric() {
    let Some(pair) = Pair::start("fattree:32,radix=8") else {
        return;
    };
    let queries = QUERIES.iter().map(|(line, _)| *line);
    let lines: Vec<&str> = queries.chain(CLEARING.iter().copied()).collect();
    let (wrong, needed) = judge(&pair, &lines);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let idle: Vec<&str> = (0..)
        .zip(REASONS)
        .filter(|(place, reason)| !reason.chance && !needed.contains(place))
        .map(|(_, reason)| reason.why)
        .collect();
    assert!(idle.is_empty(), "no reason any more: {idle:#?}");
}

#[test]
fn tools_agree_on_eleven_hundred_hosts() {
    let Some(pair) = Pair::start("fattree:1152") else {
        return;
    };
    let large = QUERIES.iter().filter(|(_, large)| *large);
    let lines: Vec<&str> = large.map(|(line, _)| *line).collect();
    let (wrong, _) = judge(&pair, &lines);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
