//! Bars below each other, each with its name at the left, from zero to a value.

use std::fmt::Write;

use super::chart::{AXIS, BOTTOM, GRID, TOP, WIDTH, label, open, rule};
use super::scale::Scale;

/// Height of a bar with the space around it, and place of its name, pixels.
const BAR: f64 = 24.0;
const NAMES: f64 = 280.0;
/// Pixels for a value beside its bar.
const VALUES: f64 = 80.0;

/// A drawing of bars, as SVG.
pub(super) struct Bars {
    text: String,
    scale: Scale,
    bottom: f64,
}

impl Bars {
    /// Begins a drawing of so many bars, whose axis has all these values.
    pub(super) fn begin(
        title: &str,
        count: usize,
        values: impl Iterator<Item = f64>,
        logarithmic: bool,
    ) -> Self {
        let height = TOP + BAR * count as f64 + BOTTOM;
        let scale = Scale::new(values, Some(logarithmic)).onto(NAMES, WIDTH - VALUES);
        let mut text = open(WIDTH, height, title);
        let bottom = height - BOTTOM;
        for (value, name) in scale.ticks() {
            let x = scale.place(value);
            rule(&mut text, (x, TOP), (x, bottom), GRID);
            label(&mut text, (x, bottom + 16.0), "middle", &name);
        }
        Self {
            text,
            scale,
            bottom,
        }
    }

    fn top(place: usize) -> f64 {
        TOP + BAR * place as f64
    }

    /// The bar at a place, with the attributes of its colour.
    pub(super) fn bar(&mut self, place: usize, value: f64, fill: &str) {
        let y = Self::top(place) + 4.0;
        let (zero, end) = (self.scale.place(0.0), self.scale.place(value));
        let (x, width, height) = (zero.min(end), (end - zero).abs(), BAR - 8.0);
        let _ = writeln!(
            self.text,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {fill}/>"
        );
    }

    /// Its name.
    pub(super) fn name(&mut self, place: usize, name: &str) {
        let y = Self::top(place) + 16.0;
        label(&mut self.text, (NAMES - 8.0, y), "end", name);
    }

    /// Words behind the bar of a value.
    pub(super) fn words(&mut self, place: usize, value: f64, words: &str) {
        let x = self.scale.place(value).max(self.scale.place(0.0)) + 4.0;
        let y = Self::top(place) + 16.0;
        label(&mut self.text, (x, y), "start", words);
    }

    /// A mark across the bar, at a value of the axis.
    pub(super) fn mark(&mut self, place: usize, value: f64, style: &str) {
        let (x, y) = (self.scale.place(value), Self::top(place));
        rule(&mut self.text, (x, y), (x, y + BAR), style);
    }

    /// The document, with what the axis is about.
    pub(super) fn end(mut self, words: &str) -> String {
        let zero = self.scale.place(0.0);
        rule(&mut self.text, (zero, TOP), (zero, self.bottom), AXIS);
        let at = (WIDTH - VALUES, self.bottom + 36.0);
        label(&mut self.text, at, "end", words);
        self.text.push_str("</svg>\n");
        self.text
    }
}
