//! The vendor's tools print under Weft's daemon the same as under the vendor's manager.
#![allow(clippy::unwrap_used)]

mod cases;
mod compare;
mod pair;
mod predicates;
mod reasons;
mod screens;

use std::collections::BTreeMap;
use std::time::Duration;

use cases::{CLEARING, QUERIES};
use compare::compare;
use pair::Pair;
use reasons::REASONS;
use weft_interop::Ran;

/// Maximum number of calls of one tool: tools wait a fraction of a second for an answer, which a busy machine
/// can exceed. Only a tool that failed is called again; one with different output on both never is.
const CALLS_MAX: u32 = 3;
/// Calls of all tools of a test that may fail.
const FAILED_MAX: u32 = 6;
/// Before a tool that failed is called again.
const PAUSE: Duration = Duration::from_millis(300);

/// Result of many tools.
#[derive(Debug, Default)]
struct Judged {
    /// Differences.
    wrong: Vec<String>,
    /// Number of lines excused by each reason, by its place in the table.
    excused: BTreeMap<usize, usize>,
    /// Calls that failed and were made again.
    failed: u32,
}

impl Judged {
    /// Runs tools on both and compares.
    fn judge(&mut self, pair: &Pair, lines: &[&str]) {
        for line in lines {
            match self.run(pair, line) {
                Ok(both) => self.compare(pair, line, &both),
                Err(what) => self.wrong.push(what),
            }
        }
    }

    /// Runs a tool on both, again where it failed on one.
    fn run(&mut self, pair: &Pair, line: &str) -> Result<[Ran; 2], String> {
        let mut failure = String::new();
        for call in 1..=CALLS_MAX {
            let both = pair.run(line);
            let Some(bad) = both.iter().find(|ran| has_failed(ran)) else {
                return Ok(both);
            };
            failure = format!("{line}: call {call} failed: {}", bad.text);
            println!("  {failure}");
            self.failed += 1;
            std::thread::sleep(PAUSE);
        }
        Err(failure)
    }

    fn compare(&mut self, pair: &Pair, line: &str, [weft, vendor]: &[Ran; 2]) {
        let verdict = compare(&pair.known, line, [&weft.text, &vendor.text], REASONS);
        if !verdict.differences.is_empty() {
            let what = verdict.differences.join("\n");
            self.wrong.push(format!("{line}:\n{what}"));
        }
        for (place, excused) in verdict.excused {
            let reason = &REASONS[place];
            println!("  but for {excused} x: {} ({})", reason.why, reason.source);
            *self.excused.entry(place).or_default() += excused;
        }
    }

    /// Fails the test with all that is wrong.
    fn assert_good(&self) {
        println!("{} calls failed and were made again", self.failed);
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
        let failed = self.failed;
        assert!(
            failed <= FAILED_MAX,
            "{failed} calls failed, {FAILED_MAX} may"
        );
    }
}

fn has_failed(ran: &Ran) -> bool {
    !ran.good || ran.text.contains("Failed") || ran.text.contains("FAILED")
}

/// Disables, enables and bounces a host's link.
fn change_a_port(pair: &Pair, judged: &mut Judged) {
    for (action, hosts) in [("disable", 31), ("enable", 32), ("bounce", 32)] {
        let line = format!("opaportconfig -l 2 -m 2 {action}");
        let expected = format!("Number of HFIs: {hosts}\n");
        let sweeps = pair.vendors_sweeps();
        judged.judge(pair, &[&line]);
        pair.wait_for("opafabricinfo", &[&expected]);
        pair.wait_for_a_sweep_after(sweeps);
        if action != "disable" {
            // The tools count a link as soon as it is up.
            pair.wait_until_active();
        }
        judged.judge(pair, &["opareport -q -o links", "opareport -q -o lids"]);
    }
}

#[test]
fn all_tools_agree_on_a_small_fabric() {
    let Some(pair) = Pair::start("fattree:32,radix=8") else {
        return;
    };
    let queries: Vec<&str> = QUERIES.iter().map(|(line, _)| *line).collect();
    let mut judged = Judged::default();
    judged.judge(&pair, &queries);
    judged.wrong.extend(pinned(&judged.excused));
    judged.wrong.extend(screens::differences(&pair));
    change_a_port(&pair, &mut judged);
    pair.wait_for_images();
    judged.judge(&pair, CLEARING);
    judged.assert_good();
}

/// Reasons that excused a different number than in the table.
fn pinned(excused: &BTreeMap<usize, usize>) -> Vec<String> {
    let wrong = REASONS.iter().enumerate().filter_map(|(place, reason)| {
        let found = excused.get(&place).copied().unwrap_or_default();
        let pinned = reason.excuses?;
        let (rule, why) = (reason.rule, reason.why);
        (found != pinned).then(|| format!("{rule:?} excuses {found}, not {pinned}: {why}"))
    });
    wrong.collect()
}

#[test]
fn tools_agree_on_eleven_hundred_hosts() {
    let Some(pair) = Pair::start("fattree:1152") else {
        return;
    };
    let large = QUERIES.iter().filter(|(_, large)| *large);
    let lines: Vec<&str> = large.map(|(line, _)| *line).collect();
    let mut judged = Judged::default();
    judged.judge(&pair, &lines);
    judged.assert_good();
}
