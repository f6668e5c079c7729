//! Lines of bars.

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A bar for a part of the whole, 0 to 1; what is more or less counts as that.
pub(crate) fn bar(part: f64) -> char {
    BARS[((part * 8.0) as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_eighth_has_its_bar_and_nothing_is_too_much() {
        let bars: String = (0..8).map(|n| bar(f64::from(n) / 8.0)).collect();
        assert_eq!(bars, "▁▂▃▄▅▆▇█");
        let odd = [-1.0, f64::NAN, 1.0, 9.0, f64::INFINITY].map(bar);
        assert_eq!(odd, ['▁', '▁', '█', '█', '█']);
    }
}
