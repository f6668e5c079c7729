//! `weft top`.

mod screen;
mod table;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use weft_api::v1;

use crate::args::{Args, SortBy, Top};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
use crate::style::Styles;

/// Number of links requested for a screen, which scrolls.
const LINKS_ON_SCREEN: u32 = 1_000;

pub(crate) async fn run(args: &Args, command: &Top) -> Result<ExitCode, CliError> {
    let source = Source(connect(&args.daemon).await?);
    if command.json {
        let loads = source.read(command.links, command.sort).await?;
        output::json(&table::json(&loads))?;
    } else if command.once || !stdout().is_terminal() {
        let loads = source.read(command.links, command.sort).await?;
        output::text(table::text(&loads, command.sort))?;
    } else {
        let colors = Styles::stdout(args.color);
        screen::run(source, command.sort, colors.is_on()).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Source of link loads.
struct Source(Session);

impl Source {
    async fn read(
        &self,
        limit: u32,
        sort: SortBy,
    ) -> Result<v1::ListBusiestLinksResponse, CliError> {
        let order = match sort {
            SortBy::Utilization => v1::LinkOrder::Utilization,
            SortBy::Data => v1::LinkOrder::Data,
            SortBy::Wait => v1::LinkOrder::Wait,
            SortBy::Congestion => v1::LinkOrder::Congestion,
        };
        let request = v1::ListBusiestLinksRequest {
            limit,
            order: order.into(),
        };
        let mut service = self.0.services(Effort::Look).perf();
        let loads = service.list_busiest_links(request);
        self.0.answer(Effort::Look, loads).await
    }
}
