//! Plots of what a result hangs on: a bar for each assumed constant, from the result at its least to that at its most.

use std::fmt::Write;

use super::chart::{AXIS, BAR, BOTTOM, COLOURS, GRID, NAMES, TOP, WIDTH, label, open, rule};
use super::scale::Scale;
use super::tornado::Tornado;

/// Pixels for a bound beside its bar.
const BOUND_WIDTH: f64 = 80.0;

/// The document.
pub(super) fn draw(tornado: &Tornado<'_>, title: &str) -> String {
    let bars = &tornado.bars;
    let changes: Vec<[Option<f64>; 2]> = bars.iter().map(|bar| tornado.changes(bar)).collect();
    let height = TOP + BAR * bars.len() as f64 + BOTTOM;
    let most = changes.iter().flatten().flatten().copied();
    let most = most.map(f64::abs).fold(0.0, f64::max);
    let scale = Scale::new([-most, most].into_iter(), Some(false));
    let scale = scale.onto(NAMES, WIDTH - BOUND_WIDTH);
    let mut text = open(WIDTH, height, title);
    let bottom = height - BOTTOM;
    for (value, name) in scale.ticks() {
        let x = scale.place(value);
        rule(&mut text, (x, TOP), (x, bottom), GRID);
        label(&mut text, (x, bottom + 16.0), "middle", &name);
    }
    let zero = scale.place(0.0);
    for (place, (bar, changes)) in bars.iter().zip(&changes).enumerate() {
        let y = TOP + BAR * place as f64;
        let [least, most] = bar.assumed.bounds;
        let name = format!("{}, {least} to {most}", bar.assumed.word);
        label(&mut text, (NAMES - 8.0, y + 16.0), "end", &name);
        let ends = changes.iter().zip(COLOURS);
        let ends = ends.filter_map(|(change, colour)| Some(((*change)?, colour)));
        let mut ends: Vec<(f64, &str)> = ends.collect();
        // The longer one first: the shorter one is seen before it.
        ends.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        for (change, colour) in ends {
            let end = scale.place(change);
            let (x, width) = (zero.min(end), (end - zero).abs());
            let _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\" \
                 fill-opacity=\"0.8\"/>",
                y + 4.0,
                BAR - 8.0
            );
        }
    }
    rule(&mut text, (zero, TOP), (zero, bottom), AXIS);
    let unit = match tornado.unit() {
        "%" => "percent",
        unit => unit,
    };
    let words =
        format!("change in {unit}: blue at the least, orange at the most of what is assumed");
    label(
        &mut text,
        (WIDTH - BOUND_WIDTH, bottom + 36.0),
        "end",
        &words,
    );
    text.push_str("</svg>\n");
    text
}
