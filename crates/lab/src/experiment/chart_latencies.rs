//! Plots of the times of messages and packets: the share that has come within a time, or, where the axis is
//! logarithmic, the share that took longer.

use weft_dataplane::traffic::Histogram;

use super::chart::{Area, legend, line, stroke};
use super::perform::{Outcome, asked_latencies};
use super::scale::Scale;
use super::scenario::{Plot, Scenario};
use super::values::micros;

/// A plot of the cases that have such times, none where none has.
pub(super) fn draw(scenario: &Scenario, outcomes: &[Outcome], plot: &Plot) -> Option<String> {
    let all = asked_latencies(scenario, outcomes);
    let curves = all.map(|(name, histogram)| (name, points(histogram, plot.logarithmic)));
    let curves: Vec<(String, Vec<(f64, f64)>)> = curves.collect();
    let points = || curves.iter().flat_map(|(_, points)| points.iter().copied());
    points().next()?;
    let area = Area::new(
        Scale::new(points().map(|(time, _)| time), Some(true)),
        Scale::new(points().map(|(_, share)| share), Some(plot.logarithmic)),
    );
    let up = match plot.logarithmic {
        true => "% longer",
        false => "% within",
    };
    let mut text = area.begin(&plot.title, "us", up);
    for (place, (name, points)) in curves.iter().enumerate() {
        let (_, stroke) = stroke(place);
        let places: Vec<(f64, f64)> = points.iter().map(|point| area.place(*point)).collect();
        line(&mut text, &places, &stroke);
        legend(&mut text, place, name, &stroke);
    }
    text.push_str("</svg>\n");
    Some(text)
}

/// Time, us, and percent of all that came within it or that took longer, at the end of each bucket; the last of those that
/// took longer has none.
fn points(histogram: &Histogram, longer: bool) -> Vec<(f64, f64)> {
    let all = histogram.count();
    let mut within = 0;
    let mut points = Vec::new();
    for bucket in histogram.buckets() {
        within += bucket.count;
        let time = micros(bucket.last.min(histogram.longest()));
        let counted = if longer { all - within } else { within };
        if counted > 0 {
            points.push((time, 100.0 * counted as f64 / all as f64));
        }
    }
    points
}
