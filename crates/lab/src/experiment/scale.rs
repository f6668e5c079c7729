//! Axes: values to places, and the values that are named.

/// Least ratio of largest to smallest value from which an axis has decades by itself.
const DECADES_FROM: f64 = 500.0;
/// Position of 0 on a logarithmic axis: this fraction of the smallest value.
const ZERO_PART: f64 = 0.3;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Positions of low and high, pixels.
    from: f64,
    to: f64,
}

impl Scale {
    /// An axis for values; logarithmic if requested or, if that is left open, if they need it.
    pub(super) fn new(values: impl Iterator<Item = f64>, logarithmic: Option<bool>) -> Self {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let high = values.iter().copied().fold(f64::MIN, f64::max);
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        let positive = values.iter().copied().filter(|value| *value > 0.0);
        let least = positive.fold(f64::MAX, f64::min);
        let wide = least < f64::MAX && high / least >= DECADES_FROM;
        if logarithmic.unwrap_or(wide) && least < f64::MAX {
            let low = if low <= 0.0 { least * ZERO_PART } else { least };
            return Self::spanning(low, high.max(low * 10.0), true);
        }
        let (low, high) = (low.min(0.0), high.max(0.0));
        let room = if high > low { 0.05 * (high - low) } else { 1.0 };
        let low = if low < 0.0 { low - room } else { 0.0 };
        Self::spanning(low, high + room, false)
    }

    fn spanning(low: f64, high: f64, logarithmic: bool) -> Self {
        Self {
            low,
            high,
            logarithmic,
            from: 0.0,
            to: 1.0,
        }
    }

    /// The axis from one pixel to another.
    pub(super) fn onto(mut self, from: f64, to: f64) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// Position of a value.
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = if self.logarithmic {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + part * (self.to - self.from)
    }

    /// Values to name, with their names.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        if self.logarithmic {
            return self.decades();
        }
        let rough = (self.high - self.low) / 6.0;
        let unit = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|times| times * unit);
        let step = steps
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(unit);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last)
            .map(|tick| (tick as f64 * step, name(tick as f64 * step)))
            .collect()
    }

    fn decades(&self) -> Vec<(f64, String)> {
        let first = self.low.log10().ceil() as i32;
        let last = self.high.log10().floor() as i32;
        let every = ((last - first) / 8 + 1) as usize;
        let powers = (first..=last).step_by(every);
        powers
            .map(|power| (10_f64.powi(power), name(10_f64.powi(power))))
            .collect()
    }
}

fn name(value: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = units.into_iter().find(|(unit, _)| value.abs() >= *unit);
    let (unit, letter) = unit.unwrap_or((1.0, ""));
    let digits = format!("{:.3}", value / unit);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}{letter}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends_and_ticks_are_round() {
        let scale = Scale::new([12.4, 24.8].into_iter(), None).onto(100.0, 200.0);
        assert!(scale.place(24.8) > 190.0 && scale.place(0.0) == 100.0);
        let names: Vec<String> = scale.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["0", "5", "10", "15", "20", "25"]);
        let scale = Scale::new([1.0, 4_194_304.0].into_iter(), None);
        let names: Vec<String> = scale.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["1", "10", "100", "1k", "10k", "100k", "1M"]);
    }

    #[test]
    fn zero_has_a_place_on_an_axis_of_decades() {
        let scale = Scale::new([0.0, 10.0, 1e6].into_iter(), Some(true)).onto(0.0, 100.0);
        assert_eq!(scale.place(0.0), 0.0);
        assert!(scale.place(10.0) > 5.0);
        let all_zero = Scale::new([0.0, 0.0].into_iter(), Some(true));
        assert!(all_zero.place(0.0).is_finite());
    }
}
