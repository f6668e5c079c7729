//! Which lines about exceeded thresholds have the cause of the errors (`SweepErrorInfoLogThresholds`).

use crate::logging::CauseLimits;

/// Lines with a cause in this reading of the counters.
#[derive(Debug, Default)]
pub(super) struct Causes {
    integrity: u32,
    security: u32,
    routing: u32,
}

impl Causes {
    /// Whether one more line of a category has its cause.
    pub(super) fn has_cause(&mut self, category: &str, limits: &CauseLimits) -> bool {
        let (count, most) = match category {
            "integrity" => (&mut self.integrity, limits.integrity),
            "security" => (&mut self.security, limits.security),
            "routing" => (&mut self.routing, limits.routing),
            _ => return true,
        };
        let has = most.is_none_or(|most| *count < most);
        *count += u32::from(has);
        has
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_limited_by_category() {
        let limits = CauseLimits {
            integrity: None,
            security: Some(2),
            routing: Some(0),
        };
        let mut causes = Causes::default();
        let mut count = |category| {
            (0..5)
                .filter(|_| causes.has_cause(category, &limits))
                .count()
        };
        assert_eq!(
            ["integrity", "security", "routing"].map(&mut count),
            [5, 2, 0]
        );
        assert_eq!(count("congestion"), 5, "it has no limit");
    }
}
