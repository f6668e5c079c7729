//! `weft job slow`: what the fabric did to a job.
//!
//! | module | contents |
//! |---|---|
//! | `sacct` | hosts and times of a job, from Slurm's accounting |
//! | `shown` | the answer as text and as JSON |

mod sacct;
mod shown;

use std::process::ExitCode;

use weft_api::time::timestamp_ms;
use weft_api::v1;
use weft_fabric::export::slurm::expand;

use crate::args::{Args, JobCommand, JobSlow};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::moment::{now_ms, parse};
use crate::output;
use crate::pager::Pages;
use crate::past::Span;

/// Time that is meant where no beginning is given, milliseconds.
const USUAL_MS: i64 = 3_600_000;

pub(crate) async fn run(all: &Args, command: &JobCommand) -> Result<ExitCode, CliError> {
    match command {
        JobCommand::Slow(args) => slow(all, args).await,
    }
}

async fn slow(all: &Args, args: &JobSlow) -> Result<ExitCode, CliError> {
    let asked = match &args.job {
        Some(job) => of_slurm(all, args, job).await?,
        None => by_hand(args)?,
    };
    let session = connect(&all.daemon).await?;
    let mut service = session.services(Effort::Work).jobs();
    let explained = service.explain_job(v1::ExplainJobRequest {
        hosts: asked.hosts,
        points: asked.points,
        from: Some(timestamp_ms(asked.span.from_ms)),
        to: Some(timestamp_ms(asked.span.to_ms)),
    });
    let explained = session.answer(Effort::Work, explained).await?;
    for warning in &explained.warnings {
        output::complain("weft: ", warning);
    }
    if args.json {
        output::json(&shown::as_json(&explained))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut pages = Pages::new(all.no_pager);
    pages.text(shown::as_text(&asked.name, &explained, args.all))?;
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

/// What is asked of the daemon.
struct Asked {
    /// The job in words.
    name: String,
    hosts: Vec<String>,
    points: Vec<String>,
    span: Span,
}

fn by_hand(args: &JobSlow) -> Result<Asked, CliError> {
    let (mut hosts, mut points) = (Vec::new(), Vec::new());
    for text in &args.nodes {
        match text.contains(':') {
            true => points.push(text.clone()),
            false => hosts.extend(expanded(text)?),
        }
    }
    Ok(Asked {
        name: format!("The job on {}", args.nodes.join(", ")),
        hosts,
        points,
        span: Span::new(args.from.as_deref(), args.to.as_deref(), USUAL_MS)?,
    })
}

/// With times from the command line where they are given: a part of the job.
async fn of_slurm(all: &Args, args: &JobSlow, id: &str) -> Result<Asked, CliError> {
    let job = sacct::job(&all.daemon, id).await?;
    let now = now_ms();
    let read = |option: &str, text: &Option<String>, usual: i64| match text {
        None => Ok(usual),
        Some(text) => parse(text, now).map_err(|why| CliError::Usage(format!("{option}: {why}"))),
    };
    let end_ms = job.end_ms.unwrap_or(now);
    let span = Span {
        from_ms: read("--from", &args.from, job.start_ms)?.max(job.start_ms),
        to_ms: read("--to", &args.to, end_ms)?.min(end_ms),
    };
    if span.from_ms >= span.to_ms {
        return Err(CliError::Usage(format!(
            "job {id} has no time between --from and --to: {}",
            span.words()
        )));
    }
    Ok(Asked {
        name: format!(
            "Job {} ({}, {}) on {}",
            job.id, job.name, job.state, job.nodes
        ),
        hosts: expanded(&job.nodes)?,
        points: Vec::new(),
        span,
    })
}

fn expanded(list: &str) -> Result<Vec<String>, CliError> {
    expand(list).map_err(|why| {
        CliError::Usage(format!(
            "'{list}': {why}; expected hosts such as 'node[1-64,70]', or a point such as 'nodepat:node*'"
        ))
    })
}
