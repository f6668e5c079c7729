//! Plots of measurements, as SVG: lines over a swept parameter, otherwise bars for each case; `chart_latencies` has
//! those of times.

use std::fmt::Write;

use super::bound::BOUND;
use super::chart_bars::Bars;
use super::chart_latencies;
use super::perform::Outcome;
use super::published::Published;
use super::scale::Scale;
use super::scenario::{Case, LATENCIES, Plot, Scenario};

/// Size of a chart, and its margins, pixels.
pub(super) const WIDTH: f64 = 780.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 250.0;
pub(super) const TOP: f64 = 44.0;
pub(super) const BOTTOM: f64 = 56.0;

/// Colours for readers with colour vision deficiency (Okabe and Ito).
pub(super) const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// One measurement of one case.
struct Mark<'a> {
    case: &'a Case,
    /// Its curve, and where it is on the axis; none without an axis.
    place: Option<(String, f64)>,
    value: f64,
    unit: &'a str,
    published: Vec<f64>,
    /// The bound set by the link.
    bound: Option<f64>,
}

/// A plot of a scenario as an SVG document, none when nothing of it was measured.
pub fn draw(scenario: &Scenario, outcomes: &[Outcome], plot: &Plot) -> Option<String> {
    if plot.metric == LATENCIES {
        return chart_latencies::draw(scenario, outcomes, plot);
    }
    let cases = scenario.cases.iter().zip(outcomes);
    let bound = format!("{}{BOUND}", plot.metric);
    let marks = cases.filter_map(|(case, outcome)| {
        let place = match (&plot.over, &case.point) {
            (Some(word), Some(point)) => Some((point.curve(word), point.value(word)?)),
            (None, None) => None,
            _ => return None,
        };
        let one = outcome.get(&plot.metric)?;
        let figure = case.figure(&plot.metric);
        Some(Mark {
            case,
            place,
            value: one.value,
            unit: &one.unit,
            published: figure.map_or_else(Vec::new, Published::values),
            bound: outcome.get(&bound).map(|bound| bound.value),
        })
    });
    let marks: Vec<Mark<'_>> = marks.collect();
    let curves = curves(&marks);
    match (marks.is_empty(), curves.is_empty()) {
        (true, _) => None,
        (false, true) => Some(bars(plot, &marks)),
        (false, false) => Some(lines(plot, &marks, &curves)),
    }
}

/// Names of the curves in order.
fn curves<'a>(marks: &'a [Mark<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in marks.iter().filter_map(|mark| mark.place.as_ref()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

pub(super) fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
        escaped(title)
    )
}

pub(super) fn label(text: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = escaped(words);
    let _ = writeln!(
        text,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

pub(super) fn rule(text: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
    let _ = writeln!(
        text,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"
    );
}

pub(super) const GRID: &str = "stroke=\"#dddddd\"";
pub(super) const AXIS: &str = "stroke=\"#444444\"";
/// Curves beyond the number of colours, and beyond twice as many.
const DASHES: [&str; 3] = ["", "stroke-dasharray=\"6 4\"", "stroke-dasharray=\"2 3\""];
const PUBLISHED: &str = "stroke=\"#444444\" stroke-width=\"2\" stroke-dasharray=\"3 2\"";

const BOUND_STYLE: &str = "stroke=\"#888888\" stroke-dasharray=\"1 4\" stroke-linecap=\"round\"";

/// The area of a chart with lines.
pub(super) struct Area {
    across: Scale,
    up: Scale,
}

impl Area {
    /// With two axes.
    pub(super) fn new(across: Scale, up: Scale) -> Self {
        Self {
            across: across.onto(LEFT, WIDTH - RIGHT),
            up: up.onto(HEIGHT - BOTTOM, TOP),
        }
    }

    /// A document with the lines behind the curves, and what its axes are.
    pub(super) fn begin(&self, title: &str, across: &str, up: &str) -> String {
        let mut text = open(WIDTH, HEIGHT, title);
        self.grid(&mut text);
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        label(&mut text, (middle, HEIGHT - 14.0), "middle", across);
        label(&mut text, (LEFT, TOP - 6.0), "end", up);
        text
    }

    pub(super) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.across.place(x), self.up.place(y))
    }

    /// The lines behind the curves, with their values.
    fn grid(&self, text: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, name) in self.up.ticks() {
            let y = self.up.place(value);
            rule(text, (LEFT, y), (right, y), GRID);
            label(text, (LEFT - 8.0, y + 4.0), "end", &name);
        }
        for (value, name) in self.across.ticks() {
            let x = self.across.place(value);
            rule(text, (x, TOP), (x, bottom), GRID);
            label(text, (x, bottom + 18.0), "middle", &name);
        }
        rule(text, (LEFT, bottom), (right, bottom), AXIS);
        rule(text, (LEFT, TOP), (LEFT, bottom), AXIS);
    }
}

/// A measurement on its curve.
struct OnCurve<'a> {
    curve: &'a str,
    along: f64,
    mark: &'a Mark<'a>,
}

fn on_curve<'a>(mark: &'a Mark<'_>) -> Option<OnCurve<'a>> {
    let (curve, along) = mark.place.as_ref()?;
    Some(OnCurve {
        curve,
        along: *along,
        mark,
    })
}

fn lines(plot: &Plot, marks: &[Mark<'_>], curves: &[&str]) -> String {
    let points: Vec<OnCurve<'_>> = marks.iter().filter_map(on_curve).collect();
    let along = points.iter().map(|one| one.along);
    let values = marks.iter();
    let values = values.flat_map(|mark| {
        let published = mark.published.iter().copied();
        published.chain([mark.value]).chain(mark.bound)
    });
    let area = Area::new(
        Scale::new(along, None),
        Scale::new(values, Some(plot.logarithmic)),
    );
    let axis = plot.over.as_deref().unwrap_or_default();
    let unit = marks.first().map_or("", |mark| mark.unit);
    let mut text = area.begin(&plot.title, axis, unit);
    bounds(&mut text, &area, &points, curves);
    for (place, name) in curves.iter().enumerate() {
        let of_curve: Vec<_> = points.iter().filter(|one| one.curve == *name).collect();
        let (colour, stroke) = stroke(place);
        let at = |one: &&OnCurve<'_>| area.place((one.along, one.mark.value));
        let places: Vec<(f64, f64)> = of_curve.iter().map(at).collect();
        curve(&mut text, &places, colour, &stroke);
        for one in of_curve {
            for value in &one.mark.published {
                let (x, y) = area.place((one.along, *value));
                rule(&mut text, (x - 6.0, y), (x + 6.0, y), PUBLISHED);
            }
        }
        legend(&mut text, place, name, &stroke);
    }
    text.push_str("</svg>\n");
    text
}

/// Colour of a curve, and the style of its line.
pub(super) fn stroke(place: usize) -> (&'static str, String) {
    let colour = COLOURS[place % COLOURS.len()];
    let dashes = DASHES[place / COLOURS.len() % DASHES.len()];
    (colour, format!("stroke=\"{colour}\" {dashes}"))
}

/// A line of the legend.
pub(super) fn legend(text: &mut String, place: usize, name: &str, stroke: &str) {
    let y = TOP + 16.0 * place as f64 + 4.0;
    let x = WIDTH - RIGHT + 12.0;
    let style = format!("{stroke} stroke-width=\"3\"");
    rule(text, (x, y), (x + 18.0, y), &style);
    label(text, (x + 24.0, y + 4.0), "start", name);
}

/// Bounds set by the links: a line for each different bound of a curve.
fn bounds(text: &mut String, area: &Area, points: &[OnCurve<'_>], curves: &[&str]) {
    let mut drawn: Vec<String> = Vec::new();
    for name in curves {
        let of_curve = points.iter().filter(|one| one.curve == *name);
        let places = of_curve.filter_map(|one| {
            let (x, y) = area.place((one.along, one.mark.bound?));
            Some(format!("{x:.1},{y:.1}"))
        });
        let line = places.collect::<Vec<_>>().join(" ");
        if !line.is_empty() && !drawn.contains(&line) {
            drawn.push(line);
        }
    }
    for line in &drawn {
        let _ = writeln!(
            text,
            "<polyline points=\"{line}\" fill=\"none\" {BOUND_STYLE} stroke-width=\"2\"/>"
        );
    }
    if !drawn.is_empty() {
        legend(text, curves.len(), "what the links allow", BOUND_STYLE);
    }
}

/// A line through places.
pub(super) fn line(text: &mut String, places: &[(f64, f64)], stroke: &str) {
    let points: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" {stroke} stroke-width=\"2\"/>",
        points.join(" ")
    );
}

fn curve(text: &mut String, places: &[(f64, f64)], colour: &str, stroke: &str) {
    line(text, places, stroke);
    for (x, y) in places {
        let _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
        );
    }
}

fn bars(plot: &Plot, marks: &[Mark<'_>]) -> String {
    let values = marks
        .iter()
        .flat_map(|mark| mark.published.iter().copied().chain([mark.value, 0.0]));
    let mut drawing = Bars::begin(&plot.title, marks.len(), values, plot.logarithmic);
    let fill = format!("fill=\"{}\"", COLOURS[0]);
    for (place, mark) in marks.iter().enumerate() {
        drawing.bar(place, mark.value, &fill);
        drawing.name(place, &mark.case.name);
        drawing.words(place, mark.value, &super::report::digits(mark.value));
        for value in &mark.published {
            drawing.mark(place, *value, PUBLISHED);
        }
    }
    let unit = marks.first().map_or("", |mark| mark.unit);
    let has_published = marks.iter().any(|mark| !mark.published.is_empty());
    match has_published {
        true => drawing.end(&format!("{unit}; dashed: published")),
        false => drawing.end(unit),
    }
}

fn escaped(words: &str) -> String {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    words.replace('>', "&gt;").replace('"', "&quot;")
}
