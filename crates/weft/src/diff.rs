//! `weft diff`: what differs between two moments.

use std::path::Path;
use std::process::ExitCode;

use weft_fabric::Snapshot;
use weft_report::changes;

use crate::args::{Args, At, Daemon, Diff};
use crate::connect::connect;
use crate::error::CliError;
use crate::output;
use crate::pager::Pages;
use crate::report;

pub(crate) async fn run(all: &Args, args: &Diff) -> Result<ExitCode, CliError> {
    let daemon = &all.daemon;
    let before = fabric(daemon, &args.before).await?;
    let after = fabric(daemon, &args.after).await?;
    let changes = changes(&before, &after);
    match args.json {
        true => output::json(&changes)?,
        false => {
            let mut pages = Pages::new(all.no_pager);
            pages.text(&changes)?;
            pages.end()?;
        }
    }
    Ok(ExitCode::from(u8::from(!changes.is_empty())))
}

/// The fabric of a moment, of now, or of a file.
async fn fabric(daemon: &Daemon, of: &str) -> Result<Snapshot, CliError> {
    let file = Path::new(of);
    if file.is_file() {
        return report::snapshot(daemon, Some(file)).await;
    }
    let at = At {
        at: (of != "now").then(|| of.to_owned()),
    };
    // Before the daemon is asked.
    at.moment()
        .map_err(|error| CliError::Usage(format!("'{of}' is no file and no moment: {error}")))?;
    at.snapshot(&connect(daemon).await?, &[]).await
}
