//! Constants of the model that are assumed: neither published nor measured, or as somebody's tuning has them. Each has a
//! range in which it may be.

use super::parse_case::buffer;
use super::scenario::Case;
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
}

impl Assumed {
    /// All of them. Where nothing else is known, from half of what is taken to twice as much.
    pub(super) const ALL: [Self; 10] = [
        // A switch's buffer is not public: from half of the HFI's to four times as much.
        new("buffer", "136K", ["68K", "512K"]),
        // At once, or what opa-fm reserves with the longer CRCs.
        new("credit-return", "184ns", ["0ns", "338ns"]),
        // As much less than between blocks again, or no less.
        new("block-latency", "100ns", ["90ns", "110ns"]),
        // Half a channel of memory, or two.
        new("host-rate", "8.532GB/s", ["4.266GB/s", "17.064GB/s"]),
        new("verbs-receive", "400ns", ["200ns", "800ns"]),
        new("verbs-send", "400ns", ["200ns", "800ns"]),
        new("dma-call", "1000ns", ["500ns", "2000ns"]),
        new("send-buffer", "1M", ["512K", "2M"]),
        new("agent-time", "20000ns", ["10000ns", "40000ns"]),
        new("hop-time", "100ns", ["50ns", "200ns"]),
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
}

const fn new(word: &'static str, taken: &'static str, bounds: [&'static str; 2]) -> Assumed {
    Assumed {
        word,
        taken,
        bounds,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use weft_fabric::constants::{BUFFER_SPACE, BUFFER_UNIT};

    use super::super::hardware::Hardware;
    use super::super::hardware_numbers::Number;
    use super::super::parse_sweep::value;
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
