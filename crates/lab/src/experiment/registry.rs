//! What scenarios can name: collectives and metrics, those of this crate and those that a program adds.

use std::sync::Arc;

use super::collectives::{Chosen, Collective, standard};
use super::perform::Outcome;
use super::scenario::METRICS;
use super::values::{Checked, unknown};

/// A measurement made of an outcome: of what links, ranks, messages and intervals tell, of several runs the first.
pub trait Metric: Send + Sync {
    /// Its name in scenarios: one word without a full stop.
    fn name(&self) -> &'static str;

    /// Its unit, empty for none.
    fn unit(&self) -> &'static str;

    /// Its value; none where the outcome does not have it.
    fn of(&self, outcome: &Outcome) -> Option<f64>;
}

/// Collectives and metrics by name.
#[derive(Clone)]
pub struct Registry {
    collectives: Vec<Chosen>,
    metrics: Vec<Arc<dyn Metric>>,
}

impl Default for Registry {
    /// Those of this crate.
    fn default() -> Self {
        Self {
            collectives: standard(),
            metrics: Vec::new(),
        }
    }
}

impl Registry {
    /// With another collective, in place of the one of its name if there is one.
    #[must_use]
    pub fn with_collective(mut self, one: impl Collective + 'static) -> Self {
        self.collectives
            .retain(|other| other.of.name() != one.name());
        self.collectives.push(Chosen::own(one));
        self
    }

    /// With another metric, in place of the one of its name that was added before.
    ///
    /// # Errors
    /// Its name is that of a metric of this crate, or not one word without a full stop.
    pub fn with_metric(mut self, one: impl Metric + 'static) -> Result<Self, String> {
        let name = one.name();
        if METRICS.contains(&name) {
            return Err(format!("metric {name:?} is there already"));
        }
        if name.is_empty() || name.contains(|letter: char| letter == '.' || letter.is_whitespace())
        {
            return Err(format!(
                "metric name {name:?}, allowed: one word without a full stop"
            ));
        }
        self.metrics.retain(|other| other.name() != name);
        self.metrics.push(Arc::new(one));
        Ok(self)
    }

    /// A collective by its name.
    pub(super) fn collective(&self, name: &str) -> Checked<Chosen> {
        let found = self.collectives.iter().find(|one| one.of.name() == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.collectives.iter().map(|one| one.of.name()).collect();
            unknown("collective", name, &names.join(", "))
        })
    }

    /// The metrics that were added.
    pub(super) fn metrics(&self) -> &[Arc<dyn Metric>] {
        &self.metrics
    }

    /// The name of a metric, or `JOB.METRIC` of one of this crate.
    pub(super) fn metric(&self, text: &str) -> Checked<String> {
        let (name, mut allowed) = match text.split_once('.') {
            Some((_, metric)) => (metric, Vec::new()),
            None => (text, self.metrics.iter().map(|one| one.name()).collect()),
        };
        allowed.splice(0..0, METRICS);
        match allowed.contains(&name) {
            true => Ok(text.to_owned()),
            false => Err(unknown("metric", text, &allowed.join(", "))),
        }
    }
}
