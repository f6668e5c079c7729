//! Constants of the model that are assumed: neither published nor measured, or as somebody's tuning has them. Each has a
//! range in which it may be.

use weft_dataplane::traffic::mpi::Stack;

use super::parse_case::buffer;
use super::scenario::{Case, Traffic};
use super::task;
use super::values::Checked;

/// An assumed constant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumed {
    /// The setting of a scenario that sets it.
    pub(super) word: &'static str,
    /// The value that is taken.
    pub(super) taken: &'static str,
    /// The least and the most that it may be.
    pub(super) bounds: [&'static str; 2],
    /// Whether a case has anything that reads it; else it comes out the same with every value.
    used: fn(&Case) -> bool,
}

impl Assumed {
    /// All of them. Where nothing else is known, from half of what is taken to twice as much.
    pub(super) const ALL: [Self; 11] = [
        // A switch's buffer is not public: from half of the HFI's to four times as much.
        new("buffer", "136K", ["68K", "512K"], has_packets),
        // At once, or what opa-fm reserves with the longer CRCs.
        new("credit-return", "184ns", ["0ns", "338ns"], has_packets),
        // As much less than between blocks again, or no less.
        new("block-latency", "100ns", ["90ns", "110ns"], has_packets),
        // Half a channel of memory, or two.
        new(
            "host-rate",
            "8.532GB/s",
            ["4.266GB/s", "17.064GB/s"],
            |case| has_stack(case, |_| true),
        ),
        new("verbs-receive", "400ns", ["200ns", "800ns"], |case| {
            has_stack(case, |stack| stack.is_kernel())
        }),
        new("verbs-send", "400ns", ["200ns", "800ns"], |case| {
            has_stack(case, |stack| stack.is_connection())
        }),
        new("dma-call", "1000ns", ["500ns", "2000ns"], |case| {
            has_stack(case, |_| true)
        }),
        new("pin-page", "200ns", ["100ns", "400ns"], |case| {
            case.hardware.hosts.cold && has_stack(case, |stack| !stack.is_kernel())
        }),
        new("send-buffer", "1M", ["512K", "2M"], |case| {
            has_stack(case, |stack| !stack.is_kernel())
        }),
        new("agent-time", "20000ns", ["10000ns", "40000ns"], has_faults),
        new("hop-time", "100ns", ["50ns", "200ns"], has_faults),
    ];

    /// The case with this value.
    ///
    /// # Errors
    /// A value that the setting does not take.
    pub(super) fn apply(&self, case: &Case, text: &str) -> Checked<Case> {
        let mut case = case.clone();
        match self.word {
            "buffer" => case.buffer = Some(buffer(text)?),
            word => {
                case.hardware.apply(word, text)?;
            }
        }
        Ok(case)
    }

    /// Whether the case takes what is assumed: it does not set the constant, not even to the same value.
    pub(super) fn is_taken(&self, case: &Case) -> bool {
        !case.set.contains(self.word)
    }

    /// Whether the case has anything that reads it, so that its value can matter.
    pub(super) fn is_used(&self, case: &Case) -> bool {
        (self.used)(case)
    }
}

const fn new(
    word: &'static str,
    taken: &'static str,
    bounds: [&'static str; 2],
    used: fn(&Case) -> bool,
) -> Assumed {
    Assumed {
        word,
        taken,
        bounds,
        used,
    }
}

/// Flows that share links have no packets.
fn has_packets(case: &Case) -> bool {
    !matches!(case.traffic, Traffic::Bisection { .. })
}

/// The manager works during traffic only then.
fn has_faults(case: &Case) -> bool {
    !case.faults.is_empty()
}

/// Whether messages go by such a stack.
fn has_stack(case: &Case, is_such: impl Fn(Stack) -> bool) -> bool {
    let beside = case.beside.iter().map(|one| (&one.traffic, one.stack));
    let all = std::iter::once((&case.traffic, case.stack)).chain(beside);
    let mut messages = all.filter(|(traffic, _)| traffic.is_messages());
    messages.any(|(traffic, stack)| is_such(task::stack(traffic, stack)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use weft_fabric::constants::{BUFFER_SPACE, BUFFER_UNIT};

    use super::super::hardware::Hardware;
    use super::super::hardware_numbers::Number;
    use super::super::parse_sweep::value;
    use super::super::perform::perform;
    use super::super::scenario::Scenario;
    use super::*;

    /// What is said to be taken is so, between its bounds, and each bound is another value.
    #[test]
    fn what_is_said_to_be_taken_is_the_default() {
        let scenario: Scenario = "fabric one-switch:2\ntraffic osu_bw".parse().unwrap();
        let case = &scenario.cases[0];
        for one in Assumed::ALL {
            let word = one.word;
            assert!(one.is_taken(case) && is_default(case, word), "{word}");
            let number = |text: &str| value(word, text).unwrap();
            let [least, most] = one.bounds.map(number);
            let taken = number(one.taken);
            assert!(least < taken && taken < most, "{word}");
            for bound in one.bounds {
                let changed = one.apply(case, bound).unwrap();
                assert!(!is_default(&changed, word), "{word}");
                let others = Assumed::ALL.iter().filter(|other| other.word != word);
                for other in others {
                    assert!(is_default(&changed, other.word), "{word} {}", other.word);
                }
            }
        }
        // As written, of the time of credits without its last digits.
        for one in Assumed::ALL.iter().filter(|one| one.word != "buffer") {
            let number = |case: &Case| kept(case.hardware, one.word) as f64;
            let written = number(&one.apply(case, one.taken).unwrap());
            assert!((written / number(case) - 1.0).abs() < 0.002, "{}", one.word);
        }
        let buffer = u32::from(BUFFER_SPACE) * BUFFER_UNIT;
        assert_eq!(f64::from(buffer), value("buffer", "136K").unwrap());
    }

    /// Whether a case has the default of a constant.
    fn is_default(case: &Case, word: &str) -> bool {
        match word {
            "buffer" => case.buffer.is_none(),
            word => kept(case.hardware, word) == kept(Hardware::default(), word),
        }
    }

    fn kept(mut hardware: Hardware, word: &str) -> u64 {
        *(Number::find(word).unwrap().field)(&mut hardware)
    }

    /// What a case does not use does not change it, in whatever it is measured; and each is used by some case.
    #[test]
    fn what_is_not_used_changes_nothing() {
        let mut used = BTreeSet::new();
        for traffic in [
            "osu_bw bytes=128K skip=1 iterations=2",
            "osu_bw bytes=128K skip=1 iterations=2\nregistration cold",
            "osu_latency bytes=8 iterations=2\nstack sockets\nregistration cold",
            "osu_latency bytes=16K iterations=2\nstack verbs",
            "collective=allreduce bytes=1M",
            "ib_read_bw iterations=20",
            "iperf iterations=2",
            "uniform load=0.5 span=20us",
            "uniform load=0.5 span=20us\nbackground permutation",
            "bisection matchings=10",
            "bisection matchings=10\nadaptive on",
            "uniform load=0.5 span=1ms\nfault 500us link-down edge1:1",
        ] {
            let text = format!("fabric fattree:8,radix=4\ntraffic {traffic}");
            let scenario: Scenario = text.parse().unwrap();
            let case = &scenario.cases[0];
            let outcome = |case: &Case| perform(case, 3, 1).map(|one| format!("{one:?}"));
            let own = outcome(case);
            for one in Assumed::ALL {
                if one.is_used(case) {
                    used.insert(one.word);
                    continue;
                }
                for bound in one.bounds {
                    let changed = outcome(&one.apply(case, bound).unwrap());
                    let same = changed.as_ref().ok() == own.as_ref().ok();
                    assert!(same, "{traffic}: {} {bound}", one.word);
                }
            }
        }
        assert_eq!(used.len(), Assumed::ALL.len(), "{used:?}");
    }

    #[test]
    fn the_documentation_has_all_of_them() {
        let text = include_str!("../../../../docs/research/experiments.md");
        for one in Assumed::ALL {
            let [least, most] = one.bounds;
            let numbers = format!("| {} | {least} | {most} |", one.taken);
            let mut lines = text.lines();
            let word = format!("`{}`", one.word);
            let is_there = lines.any(|line| line.contains(&word) && line.contains(&numbers));
            assert!(is_there, "{word} {numbers}");
        }
    }
}
