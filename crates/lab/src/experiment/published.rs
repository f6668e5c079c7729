//! Published values of a measurement: a figure, or bounds.

use std::fmt;

/// A figure that was published.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// The measurement: a metric, or that of a job, `NAME.METRIC`.
    pub metric: String,
    /// Expected value, in that measurement's unit.
    pub wanted: Wanted,
    /// Why it must come out, if it follows from an input of the model or from how it is built: it is compared,
    /// as all are, but its coming out shows nothing.
    pub given: Option<String>,
}

/// Expected value of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wanted {
    /// Near a value.
    Near {
        /// The value.
        value: f64,
        /// Percent by which ours may differ; a published 0 must come out exactly.
        within: f64,
    },
    /// Within bounds, of which at least one is there.
    Within {
        /// The lower one.
        least: Option<Bound>,
        /// The upper one.
        most: Option<Bound>,
    },
}

/// What became of a published figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It came out, and could have failed to.
    Held,
    /// It did not come out, or was not measured.
    Missed,
    /// It came out, as it must.
    Given,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::Given => "given",
        })
    }
}

/// One end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound.
    pub value: f64,
    /// It does not belong to the range itself.
    pub strict: bool,
}

impl Published {
    /// Percent by which a measurement differs, none where nothing was published but 0 or bounds.
    pub fn difference(&self, measured: f64) -> Option<f64> {
        match self.wanted {
            Wanted::Near { value, .. } if value != 0.0 => Some(100.0 * (measured / value - 1.0)),
            _ => None,
        }
    }

    /// Whether a measurement equals the published value.
    pub fn holds(&self, measured: f64) -> bool {
        match self.wanted {
            Wanted::Near { value: 0.0, .. } => measured == 0.0,
            Wanted::Near { value, within } => (100.0 * (measured / value - 1.0)).abs() <= within,
            Wanted::Within { least, most } => {
                least.is_none_or(|least| least.is_below(measured))
                    && most.is_none_or(|most| most.is_above(measured))
            }
        }
    }

    /// What became of it, where a value was measured.
    pub fn verdict(&self, measured: Option<f64>) -> Verdict {
        match (measured, &self.given) {
            (Some(value), Some(_)) if self.holds(value) => Verdict::Given,
            (Some(value), None) if self.holds(value) => Verdict::Held,
            _ => Verdict::Missed,
        }
    }

    /// The values that it names.
    pub fn values(&self) -> Vec<f64> {
        match self.wanted {
            Wanted::Near { value, .. } => vec![value],
            Wanted::Within { least, most } => {
                let bounds = least.into_iter().chain(most);
                bounds.map(|bound| bound.value).collect()
            }
        }
    }

    /// In words, with the unit after each value.
    pub fn with_unit(&self, unit: &str) -> String {
        let unit = match unit {
            "" => String::new(),
            unit => format!(" {unit}"),
        };
        match self.wanted {
            Wanted::Near { value: 0.0, .. } => format!("0{unit}"),
            Wanted::Near { value, within } => format!("{value}{unit} ± {within} %"),
            Wanted::Within { least, most } => {
                let least = least.map(|bound| format!("{}{unit}", Side("≥", ">", bound)));
                let most = most.map(|bound| format!("{}{unit}", Side("≤", "<", bound)));
                let both: Vec<String> = least.into_iter().chain(most).collect();
                both.join(", ")
            }
        }
    }
}

impl Bound {
    fn is_below(self, measured: f64) -> bool {
        self.value < measured || (self.value == measured && !self.strict)
    }

    fn is_above(self, measured: f64) -> bool {
        measured < self.value || (self.value == measured && !self.strict)
    }
}

/// A bound behind its sign: of one that belongs to the range, and of one that does not.
struct Side(&'static str, &'static str, Bound);

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(loose, strict, bound) = self;
        let sign = if bound.strict { strict } else { loose };
        write!(f, "{sign} {}", bound.value)
    }
}
