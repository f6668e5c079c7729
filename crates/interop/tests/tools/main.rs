//! The vendor's tools print under Weft's daemon what they print under the vendor's manager.
#![allow(clippy::unwrap_used)]

mod cases;
mod compare;
mod pair;
mod reasons;
mod screens;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cases::{CLEARING, QUERIES};
use compare::compare;
use pair::Pair;
use reasons::REASONS;

/// For how long a tool may run again until it says the same on both: tools wait a fraction of a second
/// for an answer, which a busy machine can exceed, and the vendor's manager sweeps again some time after
/// a port has changed. What is really different stays so.
const SETTLING: Duration = Duration::from_secs(30);
/// Between two runs of a tool.
const PAUSE: Duration = Duration::from_millis(300);

/// Runs tools on both and compares; gives what is wrong and which reasons were needed.
fn judge(pair: &Pair, lines: &[&str]) -> (Vec<String>, BTreeSet<usize>) {
    let (mut wrong, mut needed) = (Vec::new(), BTreeSet::new());
    for line in lines {
        let until = Instant::now() + SETTLING;
        let mut told = judge_once(pair, line);
        while told.is_err() && Instant::now() < until {
            std::thread::sleep(PAUSE);
            told = judge_once(pair, line);
        }
        match told {
            Ok(reasons) => needed.extend(reasons),
            Err(what) => wrong.push(what),
        }
    }
    (wrong, needed)
}

/// The reasons that a tool's difference needed, or what is wrong.
fn judge_once(pair: &Pair, line: &str) -> Result<BTreeSet<usize>, String> {
    let both = pair.run(line);
    let bad = |ran: &&weft_interop::Ran| {
        !ran.good || ran.text.contains("Failed") || ran.text.contains("FAILED")
    };
    if let Some(bad) = both.iter().find(bad) {
        return Err(format!("{line}: {}", bad.text));
    }
    let [weft, vendor] = &both;
    let verdict = compare(line, [&weft.text, &vendor.text], REASONS);
    if !verdict.differences.is_empty() {
        return Err(format!("{line}:\n{}", verdict.differences.join("\n")));
    }
    for place in &verdict.needed {
        println!("  but for: {}", REASONS[*place].why);
    }
    Ok(verdict.needed)
}

/// Disables, enables and bounces a host's link; gives what is wrong.
fn change_a_port(pair: &Pair) -> Vec<String> {
    let mut wrong = Vec::new();
    for (action, hosts) in [("disable", 31), ("enable", 32), ("bounce", 32)] {
        let line = format!("opaportconfig -l 2 -m 2 {action}");
        let expected = format!("Number of HFIs: {hosts}\n");
        wrong.extend(judge(pair, &[&line]).0);
        pair.wait_for("opafabricinfo", &[&expected]);
        if action != "disable" {
            // The tools count a link as soon as it is up.
            pair.wait_until_active();
        }
        wrong.extend(judge(pair, &["opareport -q -o links", "opareport -q -o lids"]).0);
    }
    wrong
}

#[test]
fn all_tools_agree_on_a_small_fabric() {
    let Some(pair) = Pair::start("fattree:32,radix=8") else {
        return;
    };
    let queries: Vec<&str> = QUERIES.iter().map(|(line, _)| *line).collect();
    let (mut wrong, needed) = judge(&pair, &queries);
    wrong.extend(screens::differences(&pair));
    wrong.extend(change_a_port(&pair));
    pair.wait_for_images();
    wrong.extend(judge(&pair, CLEARING).0);
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
