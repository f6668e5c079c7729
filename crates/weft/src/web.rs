//! `weft web`: the address of the page for a browser.

use std::process::ExitCode;

use serde_json::json;
use weft_api::v1;

use crate::args::{Daemon, Web};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::output::{self, one_line};

pub(crate) async fn run(daemon: &Daemon, args: &Web) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    let mut service = session.services(Effort::Look).web();
    let asked = service.get_page(v1::GetPageRequest {});
    let url = session.answer(Effort::Look, asked).await?.url;
    if args.json {
        output::json(&json!({ "url": url }))?;
    } else if url.is_empty() {
        return Err(CliError::Refused(
            "this daemon serves no page: start weftd with --web 127.0.0.1:9317".to_owned(),
        ));
    } else {
        output::text(one_line(&url) + "\n")?;
    }
    Ok(ExitCode::SUCCESS)
}
