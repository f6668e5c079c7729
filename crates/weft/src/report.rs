//! `weft report`.

use std::fmt::Display;
use std::process::ExitCode;

use serde::Serialize;
use weft_fabric::Snapshot;
use weft_report::{Detail, Focus, Options, Point, Sample, Selection};

use crate::args::{Common, Daemon, Dispersion, Focused, Report, Route};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;

pub(crate) async fn run(daemon: &Daemon, report: &Report) -> Result<ExitCode, CliError> {
    match report {
        Report::Nodes(args) => focused(daemon, args, weft_report::nodes).await,
        Report::Links(args) => focused(daemon, args, weft_report::links).await,
        Report::Comps(args) => focused(daemon, args, weft_report::comps).await,
        Report::Lids(args) => focused(daemon, args, weft_report::lids).await,
        Report::Linear(args) => focused(daemon, args, weft_report::linear).await,
        Report::Route(args) => route(daemon, args).await,
        Report::Dispersion(args) => dispersion(daemon, args).await,
    }
}

async fn focused<R: Display + Serialize>(
    daemon: &Daemon,
    args: &Focused,
    make: fn(&Snapshot, &Options) -> R,
) -> Result<ExitCode, CliError> {
    let point = args.focus.as_deref().map(parse).transpose()?;
    let snapshot = load(daemon, &args.common).await?;
    let focus = match (&point, &args.focus) {
        (Some(point), Some(text)) => {
            let selection = select(&snapshot, point, text)?;
            Some(Focus::new(&snapshot, &selection, args.quietfocus))
        }
        _ => None,
    };
    let options = Options {
        focus,
        detail: Detail(args.common.detail),
    };
    print(&make(&snapshot, &options), &args.common)
}

async fn route(daemon: &Daemon, args: &Route) -> Result<ExitCode, CliError> {
    let (source, destination) = (parse(&args.src)?, parse(&args.dest)?);
    let snapshot = load(daemon, &args.common).await?;
    let source = select(&snapshot, &source, &args.src)?;
    let destination = select(&snapshot, &destination, &args.dest)?;
    let detail = Detail(args.common.detail);
    print(
        &weft_report::route(&snapshot, &source, &destination, detail)?,
        &args.common,
    )
}

async fn dispersion(daemon: &Daemon, args: &Dispersion) -> Result<ExitCode, CliError> {
    let detail = Detail(args.common.detail);
    let (Some(from), Some(to)) = (&args.src, &args.dest) else {
        let sample = Sample {
            pairs: args.pairs,
            seed: args.seed,
        };
        let snapshot = load(daemon, &args.common).await?;
        let report = weft_report::dispersion(&snapshot, sample, detail);
        return print(&report, &args.common);
    };
    let (source, destination) = (parse(from)?, parse(to)?);
    let snapshot = load(daemon, &args.common).await?;
    let source = select(&snapshot, &source, from)?;
    let destination = select(&snapshot, &destination, to)?;
    let report = weft_report::dispersion_between(&snapshot, &source, &destination, detail)?;
    print(&report, &args.common)
}

/// Understands a point; files that it names are read here.
pub(crate) fn parse(text: &str) -> Result<Point, CliError> {
    let read = |file: &str| std::fs::read_to_string(file).map_err(|error| error.to_string());
    Ok(Point::parse(text, &read)?)
}

/// Resolves a point.
pub(crate) fn select(
    snapshot: &Snapshot,
    point: &Point,
    text: &str,
) -> Result<Selection, CliError> {
    let not_found = |source| CliError::NotFound {
        point: text.to_owned(),
        source,
    };
    point.select(snapshot).map_err(not_found)
}

async fn load(daemon: &Daemon, common: &Common) -> Result<Snapshot, CliError> {
    let Some(file) = &common.snapshot else {
        return connect(daemon).await?.snapshot().await;
    };
    let text = output::read(file)?;
    let wrong = |why: String| CliError::Content {
        file: file.clone(),
        why,
    };
    weft_fabric::import::import_fabric(&text).map_err(|error| wrong(error.to_string()))
}

fn print<R: Display + Serialize>(report: &R, common: &Common) -> Result<ExitCode, CliError> {
    match common.json {
        true => output::json(report)?,
        false => output::text(report)?,
    }
    Ok(ExitCode::SUCCESS)
}
