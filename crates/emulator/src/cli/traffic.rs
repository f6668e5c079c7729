//! Traffic between hosts.

use std::error::Error;

use clap::{Args, Subcommand};
use weft_emulator::io::Control;
use weft_emulator::traffic::{TrafficJob, TrafficPattern};

#[derive(Debug, Subcommand)]
pub(super) enum Traffic {
    /// Start traffic that runs until it is stopped
    Start(Job),
    /// Print running jobs and their throughput, as JSON
    List,
    /// Stop a job, or all jobs if none is named
    Stop {
        /// Name of the job
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(super) struct Job {
    /// Name of the job
    #[arg(value_name = "NAME")]
    name: String,
    /// Pattern: pairs node1:node5 node2:node6, permutation seed=7, shift by=3, uniform,
    /// hotspot to=node1 percent=50
    #[arg(value_name = "PATTERN", required = true, num_args = 1..)]
    pattern: Vec<String>,
    /// Limit for each sender, percent of a link
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    rate: f64,
    /// Payload of a packet, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8192)]
    payload: u32,
}

impl Job {
    fn job(self) -> Result<TrafficJob, Box<dyn Error>> {
        let pattern: TrafficPattern = self.pattern.join(" ").parse()?;
        Ok(TrafficJob {
            rate_percent: self.rate,
            payload: self.payload,
            ..TrafficJob::new(self.name, pattern)
        })
    }
}

impl Traffic {
    /// The change, with what is said of it; `None` for a query.
    pub(super) fn change(self) -> Result<Option<(Control, String)>, Box<dyn Error>> {
        Ok(Some(match self {
            Self::List => return Ok(None),
            Self::Start(job) => {
                let said = format!("traffic {} started", job.name);
                (Control::TrafficStart(job.job()?), said)
            }
            Self::Stop { name } => {
                let said = match &name {
                    Some(name) => format!("traffic {name} stopped"),
                    None => "all traffic stopped".to_owned(),
                };
                (Control::TrafficStop { name }, said)
            }
        }))
    }
}
