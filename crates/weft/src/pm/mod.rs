//! `weft pm`: groups of ports, and settings of the performance manager.

mod groups;
mod ports;
mod settings;

use std::process::ExitCode;

use weft_api::{FieldMask, v1};

use crate::args::{Args, PmCommand};
use crate::connect::{Effort, Session, connect};
use crate::counters::table::NOT_ATTACHED;
use crate::error::CliError;
use crate::layout;
use crate::output;
use crate::style::Styles;
use weft_report::{Column, Mood, Plain, Row};

pub(crate) use settings::facts;

/// Ports of a page.
const PAGE: u32 = 1_000;

pub(crate) async fn run(args: &Args, command: &PmCommand) -> Result<ExitCode, CliError> {
    let session = connect(&args.daemon).await?;
    let styles = Styles::stdout(args.color);
    match command {
        PmCommand::Groups { names, json } => {
            let listed = self::groups(&session, names, None).await?;
            match (json, names.is_empty()) {
                (true, _) => output::json(&groups::json(&listed))?,
                (false, true) => output::styled(&groups::text(&listed, styles))?,
                (false, false) => output::styled(&groups::details(&listed, styles))?,
            }
        }
        PmCommand::Ports(asked) => {
            let point = asked.focus.as_deref().unwrap_or_default();
            let mut listed = self::ports(&session, &asked.group, point, &[], None).await?;
            ports::choose(&mut listed.ports, asked);
            match asked.json {
                true => output::json(&ports::json(&listed))?,
                false => output::styled(&ports::text(&listed, styles))?,
            }
        }
        PmCommand::Config { json } => {
            let found = self::settings(&session).await?;
            match json {
                true => output::json(&settings::json(&found))?,
                false => output::text(settings::text(&found))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Groups by their names, all where there is none, of now or of a moment of the past.
pub(crate) async fn groups(
    session: &Session,
    names: &[String],
    at: Option<&v1::Moment>,
) -> Result<v1::ListPerfGroupsResponse, CliError> {
    let request = v1::ListPerfGroupsRequest {
        names: names.to_vec(),
        at: at.cloned(),
    };
    let mut service = session.services(Effort::Look).perf_groups();
    let listed = service.list_perf_groups(request);
    session.answer(Effort::Look, listed).await
}

/// The ports of a group that a point names, all for an empty one, with these fields, all for none, of now or of a moment of
/// the past. The image is that of the last page.
pub(crate) async fn ports(
    session: &Session,
    group: &str,
    point: &str,
    fields: &[&str],
    at: Option<&v1::Moment>,
) -> Result<v1::ListGroupPortsResponse, CliError> {
    let paths: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
    let mut request = v1::ListGroupPortsRequest {
        group: group.to_owned(),
        point: point.to_owned(),
        page_size: PAGE,
        page_token: String::new(),
        read_mask: (!paths.is_empty()).then_some(FieldMask { paths }),
        at: at.cloned(),
    };
    let mut ports = Vec::new();
    loop {
        let mut service = session.services(Effort::Look).perf_groups();
        let listed = service.list_group_ports(request.clone());
        let mut listed = session.answer(Effort::Look, listed).await?;
        ports.append(&mut listed.ports);
        if listed.next_page_token.is_empty() {
            listed.ports = ports;
            return Ok(listed);
        }
        request.page_token = listed.next_page_token;
    }
}

/// The settings of the performance manager.
pub(crate) async fn settings(session: &Session) -> Result<v1::GetPerfConfigResponse, CliError> {
    let mut service = session.services(Effort::Look).perf_groups();
    let settings = service.get_perf_config(v1::GetPerfConfigRequest {});
    session.answer(Effort::Look, settings).await
}

/// Which reading, and whether it is the last before the fabric was lost.
fn title(image: Option<&v1::CounterImage>, attachment: Option<&v1::Attachment>) -> String {
    let gone = match attachment.is_some_and(|now| !now.attached) {
        true => NOT_ATTACHED,
        false => "",
    };
    let image = image.copied().unwrap_or_default();
    let time = crate::time::utc_of(image.time);
    let seconds = weft_api::time::seconds(image.span);
    format!("{gone}Image {} of {time}, {seconds:.1} s\n\n", image.number)
}

/// The six categories by their names in JSON.
fn categories(values: Option<&v1::CounterCategories>) -> [(&'static str, u32); 6] {
    let values = values.copied().unwrap_or_default();
    [
        ("integrity", values.integrity),
        ("congestion", values.congestion),
        ("sma_congestion", values.sma_congestion),
        ("bubble", values.bubble),
        ("security", values.security),
        ("routing", values.routing),
    ]
}

/// A table in the width of the terminal, with a line under it.
fn table(
    titles: &[(&'static str, bool)],
    rows: Vec<(Vec<String>, bool)>,
    summary: String,
    styles: Styles,
) -> String {
    let columns = titles.iter();
    let columns = columns.map(|(title, right)| Column {
        title,
        right: *right,
    });
    let rows = rows.into_iter().map(|(cells, is_bad)| Row {
        cells,
        mood: if is_bad { Mood::Warning } else { Mood::Plain },
    });
    let plain = Plain {
        columns: columns.collect(),
        rows: rows.collect(),
        summary,
    };
    let width = output::terminal().map(|(columns, _)| columns);
    layout::table(&plain, width, styles)
}
