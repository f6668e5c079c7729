//! `weft what-if`: what links would carry after a change.
//!
//! | module | contents |
//! |---|---|
//! | `traffic` | a file of traffic |
//! | `shown` | the answer as text and as JSON |

mod shown;
mod traffic;

use std::process::ExitCode;

use weft_api::v1;
use weft_api::v1::get_forecast_request::Change;

use crate::args::{Args, WhatIfArgs, WhatIfCommand};
use crate::changes::part;
use crate::config::finding_line;
use crate::connect::{Effort, Session, connect};
use crate::drain::target;
use crate::error::CliError;
use crate::output;
use crate::pager::Pages;
use crate::progress::Progress;
use crate::route::text;

pub(crate) async fn run(all: &Args, command: &WhatIfCommand) -> Result<ExitCode, CliError> {
    let (WhatIfCommand::Drain { with, .. }
    | WhatIfCommand::Fault { with, .. }
    | WhatIfCommand::Plan { with, .. }
    | WhatIfCommand::Config { with, .. }) = command;
    let traffic = match &with.traffic {
        Some(file) => traffic::read(file)?,
        None => Vec::new(),
    };
    let at = with.at.moment()?;
    let session = connect(&all.daemon).await?;
    let (change, words) = change(&session, command).await?;
    let forecast = {
        let _progress = Progress::start("computing what would be");
        let mut service = session.services(Effort::Long).what_if();
        let asked = service.get_forecast(v1::GetForecastRequest {
            at,
            traffic,
            limit: with.limit,
            change: Some(change),
        });
        session.answer(Effort::Long, asked).await?
    };
    tell(all, command, with, &words, &forecast)
}

fn tell(
    all: &Args,
    command: &WhatIfCommand,
    with: &WhatIfArgs,
    words: &str,
    forecast: &v1::GetForecastResponse,
) -> Result<ExitCode, CliError> {
    with.at.tell(forecast.moment.as_ref()).or_else(|error| {
        // Without a forecast there is no moment either.
        match forecast.findings.is_empty() {
            true => Err(error),
            false => Ok(()),
        }
    })?;
    for warning in &forecast.warnings {
        output::complain("weft: ", warning);
    }
    if with.json {
        output::json(&shown::as_json(forecast))?;
    } else {
        let file = match command {
            WhatIfCommand::Config { file, .. } => file.display().to_string(),
            _ => String::new(),
        };
        let findings = forecast.findings.iter();
        let findings: String = findings.map(|one| finding_line(&file, one)).collect();
        let mut pages = Pages::new(all.no_pager);
        pages.text(findings)?;
        if !forecast.engine.is_empty() {
            pages.text(shown::as_text(words, forecast))?;
        }
        pages.end()?;
    }
    match forecast.engine.is_empty() {
        false => Ok(ExitCode::SUCCESS),
        true => Err(CliError::Refused("the configuration has errors".to_owned())),
    }
}

/// The change, and in words.
async fn change(session: &Session, command: &WhatIfCommand) -> Result<(Change, String), CliError> {
    Ok(match command {
        WhatIfCommand::Drain { point, .. } => {
            let target = target(session, &part(point)).await?;
            (
                Change::Drain(target.message),
                format!("If {point} were drained"),
            )
        }
        WhatIfCommand::Fault { points, .. } => {
            let words = format!("If {} were lost", points.join(", "));
            let points = points.iter().map(|point| part(point)).collect();
            (Change::Lost(v1::LostLinks { points }), words)
        }
        WhatIfCommand::Plan {
            engine: Some(engine),
            ..
        } => (
            Change::Engine(engine.clone()),
            format!("If {engine} made the routes"),
        ),
        WhatIfCommand::Plan { undrain, .. } => {
            let point = undrain.as_deref().unwrap_or_default();
            let target = target(session, &part(point)).await?;
            let words = format!("If {point} were used again");
            (Change::Undrain(target.message), words)
        }
        WhatIfCommand::Config { file, .. } => (
            Change::Config(text(file)?),
            format!("If {} were in force", file.display()),
        ),
    })
}
