//! How links come up.

use clap::{Args, ValueEnum};
use weft_dataplane::training::{ATTEMPTS, LinkTraining, Stuck};

use super::nanoseconds;

#[derive(Debug, Args)]
pub(crate) struct TrainingFields {
    /// Time in Polling
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    polling: u64,
    /// Time in Training
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    training: u64,
    /// Up to so much longer in each of the two, drawn evenly
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    jitter: u64,
    /// The other end is up so much later than the named one; an HFI than its switch where none is named
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
    lag: u64,
    /// Fraction of attempts that fail in Training, so that the link polls again: 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.0, value_parser = fraction)]
    failing: f64,
    /// State that the link does not leave; in offline only the named end is
    #[arg(long, value_name = "STATE")]
    stuck: Option<StuckField>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StuckField {
    Offline,
    Polling,
    Training,
}

impl From<&TrainingFields> for LinkTraining {
    fn from(fields: &TrainingFields) -> Self {
        Self {
            polling_ns: fields.polling,
            training_ns: fields.training,
            jitter_ns: fields.jitter,
            lag_ns: fields.lag,
            failing: (fields.failing * f64::from(ATTEMPTS)).round() as u32,
            stuck: fields.stuck.map(|stuck| match stuck {
                StuckField::Offline => Stuck::Offline,
                StuckField::Polling => Stuck::Polling,
                StuckField::Training => Stuck::Training,
            }),
        }
    }
}

pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or("a number from 0 to 1".to_owned())
}
