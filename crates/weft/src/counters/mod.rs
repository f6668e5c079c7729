//! `weft counters`.
//!
//! | module | contents |
//! |---|---|
//! | `table` | for people |
//! | `units` | numbers with units |
//! | `json`, `csv` | for programs |

mod csv;
mod json;
pub(crate) mod table;
pub(crate) mod units;

use std::process::ExitCode;

use tokio_stream::StreamExt;
use weft_api::v1;
use weft_wire::pm::Counter;

use crate::args::{Counters, Daemon};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;
pub(crate) use json::{end as end_json, image as image_json, port as port_json};
pub(crate) use units::{amount, bytes};

/// Ports of a page; with lanes or virtual fabrics.
const PAGE: u32 = 1_000;
const LARGE_PAGE: u32 = 200;

pub(crate) async fn run(daemon: &Daemon, command: &Counters) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let mut printer = Printer {
        command,
        printed: 0,
    };
    match command.watch {
        true => watch(&session, command, &mut printer).await?,
        false => printer.print(&all(&session, command).await?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What one reading has of the ports that are asked for.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) image: v1::CounterImage,
    pub(crate) ports: Vec<v1::PortCounters>,
    /// Readings since the one before that were missed.
    pub(crate) lost: u64,
    /// Whether the fabric can be reached.
    pub(crate) attached: bool,
    /// Which moment of the past it is, where one was asked for.
    pub(crate) moment: Option<v1::MomentShown>,
}

fn selection(command: &Counters) -> v1::CounterSelection {
    v1::CounterSelection::named(&command.counters, command.per_lane, command.per_vf)
}

/// The ports that are asked for.
async fn all(session: &Session, command: &Counters) -> Result<Read, CliError> {
    let large = command.per_lane || command.per_vf;
    let request = v1::ListPortCountersRequest {
        point: command.focus.clone().unwrap_or_default(),
        selection: Some(selection(command)),
        only_errors: command.only_errors,
        page_size: if large { LARGE_PAGE } else { PAGE },
        page_token: String::new(),
        at: command.at.moment()?,
    };
    let read = pages(session, request).await?;
    command.at.tell(read.moment.as_ref())?;
    Ok(read)
}

/// The counters of all ports.
pub(crate) async fn all_totals(session: &Session) -> Result<Read, CliError> {
    let request = v1::ListPortCountersRequest {
        page_size: PAGE,
        ..v1::ListPortCountersRequest::default()
    };
    pages(session, request).await
}

/// All ports of a request, page by page. Pages may be of later images; the last one is told.
async fn pages(
    session: &Session,
    mut request: v1::ListPortCountersRequest,
) -> Result<Read, CliError> {
    let mut read = Read::default();
    loop {
        let mut service = session.services(Effort::Look).counters();
        let listed = service.list_port_counters(request.clone());
        let listed = session.answer(Effort::Look, listed).await?;
        read.image = listed.image.unwrap_or_default();
        read.attached = listed.attachment.is_none_or(|now| now.attached);
        read.moment = listed.moment;
        read.ports.extend(listed.ports);
        if listed.next_page_token.is_empty() {
            return Ok(read);
        }
        request.page_token = listed.next_page_token;
    }
}

async fn watch(
    session: &Session,
    command: &Counters,
    printer: &mut Printer<'_>,
) -> Result<(), CliError> {
    let request = v1::WatchPortCountersRequest {
        point: command.focus.clone().unwrap_or_default(),
        selection: Some(selection(command)),
        only_errors: command.only_errors,
    };
    let mut service = session.endless().counters();
    let images = service.watch_port_counters(request);
    let mut images = session.answer(Effort::Look, images).await?;
    let mut left = command.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Some(image) = images.next().await else {
            return Err(CliError::Refused("the daemon ended the stream".to_owned()));
        };
        let image = match image {
            Ok(image) => image,
            Err(status) => return Err(session.explain(Effort::Look, status).await),
        };
        printer.print(&Read {
            image: image.image.unwrap_or_default(),
            ports: image.ports,
            lost: image.lost_images,
            attached: image.attachment.is_none_or(|now| now.attached),
            moment: None,
        })?;
        left -= 1;
    }
    Ok(())
}

/// Prints readings as the command line says.
struct Printer<'a> {
    command: &'a Counters,
    printed: u64,
}

impl Printer<'_> {
    fn print(&mut self, read: &Read) -> Result<(), CliError> {
        let Counters {
            rate,
            watch,
            only_errors,
            ..
        } = *self.command;
        if self.command.csv {
            let head = match self.printed {
                0 => csv::head(self.command),
                _ => String::new(),
            };
            output::text(head + &csv::rows(read, self.command))?;
        } else if self.command.json && watch {
            output::json_line(&json::read(read))?;
        } else if self.command.json {
            output::json(&json::read(read))?;
        } else {
            let gap = if self.printed > 0 { "\n" } else { "" };
            output::text(gap.to_owned() + &table::read(read, rate, only_errors))?;
        }
        self.printed += 1;
        Ok(())
    }
}

/// A counter of totals or of rates.
pub(crate) fn value(
    totals: Option<&v1::PortCounts>,
    rates: Option<&v1::PortRates>,
    counter: Counter,
    rate: bool,
) -> Option<f64> {
    match rate {
        true => weft_api::rate_of(rates?, counter),
        false => weft_api::count_of(totals?, counter).map(|count| count as f64),
    }
}
