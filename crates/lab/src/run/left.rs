//! How long a run still takes, as far as its cases tell.

use std::time::Duration;

/// Cases that must have ended before anything is said.
pub(super) const CASES_MIN: usize = 3;

/// Time that cases have taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    seconds: Vec<f64>,
}

impl Taken {
    pub(super) fn add(&mut self, case: Duration) {
        self.seconds.push(case.as_secs_f64());
    }

    /// The least and the most time that so many more cases are likely to take with so many at once: within two standard
    /// deviations, if they are as those that have ended. None while too few have ended.
    pub(super) fn left(&self, cases: usize, jobs: usize) -> Option<(Duration, Duration)> {
        let ended = self.seconds.len();
        if ended < CASES_MIN {
            return None;
        }
        let (ended, cases) = (ended as f64, cases as f64);
        let mean = self.seconds.iter().sum::<f64>() / ended;
        let squares = self.seconds.iter().map(|one| (one - mean).powi(2));
        let variance = squares.sum::<f64>() / (ended - 1.0);
        // The mean itself is uncertain, too.
        let spread = 2.0 * (variance * cases * (1.0 + cases / ended)).sqrt();
        let at_once = (jobs as f64).min(cases).max(1.0);
        let wall = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0) / at_once);
        Some((wall(cases * mean - spread), wall(cases * mean + spread)))
    }
}

/// Such times in words, in the unit of the longer: `2 to 4 min left`.
pub(super) fn words(left: Option<(Duration, Duration)>) -> String {
    let Some((least, most)) = left else {
        return "time left not known yet".to_owned();
    };
    let (unit, name) = match most.as_secs() {
        0..=119 => (1.0, "s"),
        120..=7_199 => (60.0, "min"),
        _ => (3_600.0, "h"),
    };
    let least = (least.as_secs_f64() / unit).floor();
    let most = (most.as_secs_f64() / unit).ceil();
    match least == most {
        true => format!("{most} {name} left"),
        false => format!("{least} to {most} {name} left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(seconds: &[u64]) -> Taken {
        let mut taken = Taken::default();
        for one in seconds {
            taken.add(Duration::from_secs(*one));
        }
        taken
    }

    #[test]
    fn equal_cases_give_one_time_and_others_a_range() {
        assert_eq!(
            words(taken(&[10, 10]).left(5, 1)),
            "time left not known yet"
        );
        assert_eq!(words(taken(&[10, 10, 10]).left(5, 1)), "50 s left");
        assert_eq!(words(taken(&[10, 10, 10]).left(60, 2)), "5 min left");
        assert_eq!(words(taken(&[10, 10, 10]).left(0, 2)), "0 s left");
        let (least, most) = taken(&[5, 10, 15]).left(12, 1).unwrap_or_default();
        assert!(
            least < Duration::from_secs(60) && most > Duration::from_secs(180),
            "{least:?} {most:?}"
        );
        let (_, sure) = taken(&[5, 10, 15, 5, 10, 15, 5, 10, 15])
            .left(12, 1)
            .unwrap_or_default();
        assert!(sure < most, "more cases tell more");
        assert!(words(Some((least, most))).ends_with(" min left"));
    }
}
