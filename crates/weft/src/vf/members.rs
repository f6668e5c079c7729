//! `weft vf members`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;

use super::membership;
use crate::connect::{Effort, Session};
use crate::error::CliError;
use crate::output;
use crate::sweep::{port_json, port_name};

/// Members of one answer.
const PAGE: u32 = 10_000;

pub(super) async fn run(session: &Session, name: &str, json: bool) -> Result<ExitCode, CliError> {
    let members = members(session, name).await?;
    if json {
        output::json(&members.iter().map(as_json).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match members.is_empty() {
        true => format!("{name} has no members\n"),
        false => members.iter().map(line).collect(),
    };
    output::text(text)?;
    Ok(ExitCode::SUCCESS)
}

async fn members(session: &Session, name: &str) -> Result<Vec<v1::VirtualFabricMember>, CliError> {
    let mut service = session.services(Effort::Look).virtual_fabrics();
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let listed = service.list_virtual_fabric_members(v1::ListVirtualFabricMembersRequest {
            name: name.to_owned(),
            page_size: PAGE,
            page_token,
        });
        let page = session.answer(Effort::Look, listed).await?;
        all.extend(page.members);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(all);
        }
    }
}

fn line(member: &v1::VirtualFabricMember) -> String {
    format!(
        "{}: {}, by {}\n",
        port_name(member.port.as_ref()),
        membership(member.full),
        member.device_groups.join(", ")
    )
}

fn as_json(member: &v1::VirtualFabricMember) -> Value {
    json!({
        "port": port_json(member.port.as_ref()),
        "full": member.full,
        "device_groups": member.device_groups,
    })
}
