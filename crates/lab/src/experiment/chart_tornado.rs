//! Plots of what a result hangs on: a bar for each assumed constant, from the result at its least to that at its most.

use super::chart::COLOURS;
use super::chart_bars::Bars;
use super::tornado::Tornado;

/// The document.
pub(super) fn draw(tornado: &Tornado<'_>, title: &str) -> String {
    let bars = &tornado.bars;
    let changes: Vec<[Option<f64>; 2]> = bars.iter().map(|bar| tornado.changes(bar)).collect();
    let most = changes.iter().flatten().flatten().copied();
    let most = most.map(f64::abs).fold(0.0, f64::max);
    let mut drawing = Bars::begin(title, bars.len(), [-most, most].into_iter(), false);
    for (place, (bar, changes)) in bars.iter().zip(&changes).enumerate() {
        let [least, most] = bar.assumed.bounds;
        let name = format!("{}, {least} to {most}", bar.assumed.word);
        drawing.name(place, &name);
        let ends = changes.iter().zip(COLOURS);
        let ends = ends.filter_map(|(change, colour)| Some(((*change)?, colour)));
        let mut ends: Vec<(f64, &str)> = ends.collect();
        // The longer one first: the shorter one is seen before it.
        ends.sort_by(|(one, _), (other, _)| other.abs().total_cmp(&one.abs()));
        for (change, colour) in ends {
            let fill = format!("fill=\"{colour}\" fill-opacity=\"0.8\"");
            drawing.bar(place, change, &fill);
        }
    }
    let unit = match tornado.unit() {
        "%" => "percent",
        unit => unit,
    };
    drawing.end(&format!(
        "change in {unit}: blue at the least, orange at the most of what is assumed"
    ))
}
