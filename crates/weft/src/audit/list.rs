//! Changes as lines and as JSON.

use std::collections::HashMap;
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use weft_api::time::{timestamp_ms, unix_ms};
use weft_api::v1;
use weft_fabric::text::asker;

use crate::args::{Args, AuditList};
use crate::connect::{Effort, connect};
use crate::error::CliError;
use crate::moment::local;
use crate::output::{self, one_line};
use crate::pager::Pages;
use crate::past::Span;
use crate::time::utc_json;

/// Time that is meant where none is given, milliseconds.
const DAY_MS: i64 = 86_400_000;

pub(super) async fn run(all: &Args, args: &AuditList) -> Result<ExitCode, CliError> {
    let span = Span::new(args.from.as_deref(), args.to.as_deref(), DAY_MS)?;
    let session = connect(&all.daemon).await?;
    let mut service = session.services(Effort::Work).audit();
    let records = service.list_audit_records(v1::ListAuditRecordsRequest {
        from: Some(timestamp_ms(span.from_ms)),
        to: Some(timestamp_ms(span.to_ms)),
        authors: args.author.clone(),
        text: args.text.clone().unwrap_or_default(),
        refused: args.refused,
    });
    let mut records = session.answer(Effort::Work, records).await?;
    let mut pages = Pages::new(all.no_pager);
    if !args.json {
        pages.text(format_args!("Changes from {}\n", span.words()))?;
    }
    let mut count = 0_u64;
    while let Some(record) = records.next().await {
        let record = match record {
            Ok(record) => record,
            Err(status) => return Err(session.explain(Effort::Work, status).await),
        };
        count += 1;
        match args.json {
            true => output::json_line(&as_json(&record))?,
            false => pages.text(lines(&record))?,
        }
    }
    if count == 0 && !args.json {
        pages.text("none\n")?;
    }
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

/// A change: who, what and the result; then what was asked for, and why.
fn lines(record: &v1::ListAuditRecordsResponse) -> String {
    let (_, method) = record
        .method
        .rsplit_once('/')
        .unwrap_or(("", &record.method));
    let who = match asker(&record.author, &record.peer, "") {
        nobody if nobody.is_empty() => record.way.clone(),
        who => who,
    };
    // What the connection proved, where the place does not tell it already.
    let proved = match record.identity.split_once(':') {
        Some(("uri" | "dns" | "cn", _)) => format!(" as {}", record.identity),
        _ => String::new(),
    };
    let result = match &record.result[..] {
        "" => "no outcome".to_owned(),
        "ok" => "done".to_owned(),
        result => result.replace('_', " "),
    };
    let time = unix_ms(record.time);
    let mut lines = format!(
        "{}  {method}: {result}\n    by {}\n",
        local(time),
        one_line(&format!("{who}{proved}"))
    );
    let nodes = record.nodes.iter();
    let names: Names<'_> = nodes.map(|node| (node.guid, node.name.as_str())).collect();
    let request = request(&record.request, &names);
    for (name, text) in [
        ("request", request.as_str()),
        ("reason", &record.reason),
        ("refusal", &record.message),
    ] {
        if !text.is_empty() {
            lines += &format!("    {name}: {}\n", one_line(text));
        }
    }
    if record.plan_id != 0 {
        lines += &format!("    plan {}\n", record.plan_id);
    }
    lines
}

/// Names of nodes by their GUIDs.
type Names<'a> = HashMap<u64, &'a str>;

/// The fields of a request as a person writes them, without author and reason, which are told beside them.
fn request(json: &str, names: &Names<'_>) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(json) else {
        return String::new();
    };
    let mut told = Vec::new();
    for (name, value) in &fields {
        if !["author", "reason", "label"].contains(&name.as_str()) {
            told.push(format!("{name} {}", plain(value, names)));
        }
    }
    told.join(", ")
}

/// The port of a message that is one, `edge1:3`, where its node's name is known.
fn port(fields: &serde_json::Map<String, Value>, names: &Names<'_>) -> Option<String> {
    let guid = fields.get("node_guid")?.as_str()?.parse::<u64>().ok()?;
    // protobuf leaves out a 0.
    let port = fields.get("port").map_or(Some(0), Value::as_u64)?;
    let others = fields
        .keys()
        .any(|name| !["node_guid", "port"].contains(&name.as_str()));
    let name = names.get(&guid).filter(|_| !others)?;
    Some(format!("{name}:{port}"))
}

fn plain(value: &Value, names: &Names<'_>) -> String {
    match value {
        Value::String(text) => match text.parse::<u64>() {
            // A GUID: protobuf writes numbers of 64 bits as texts.
            Ok(number) if number > u64::from(u32::MAX) => match names.get(&number) {
                Some(name) => (*name).to_owned(),
                None => format!("{number:#018x}"),
            },
            _ => text.clone(),
        },
        Value::Object(fields) => {
            if let Some(port) = port(fields, names) {
                return port;
            }
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name} {}", plain(value, names)));
            format!("({})", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => {
            let values = values.iter().map(|value| plain(value, names));
            let values: Vec<String> = values.collect();
            values.join("; ")
        }
        other => other.to_string(),
    }
}

fn as_json(record: &v1::ListAuditRecordsResponse) -> Value {
    json!({
        "sequence": record.sequence,
        "time": utc_json(record.time),
        "way": record.way,
        "author": record.author,
        "peer": record.peer,
        "identity": record.identity,
        "method": record.method,
        "digest": record.digest,
        "request": serde_json::from_str::<Value>(&record.request).unwrap_or_default(),
        "nodes": record.nodes.iter().map(node_json).collect::<Vec<_>>(),
        "reason": record.reason,
        "plan": record.plan_id,
        "generation_before": record.generation_before,
        "generation_after": record.generation_after,
        "end_time": utc_json(record.end_time),
        "result": record.result,
        "message": record.message,
        "hash": record.hash,
    })
}

fn node_json(node: &v1::AuditNode) -> Value {
    json!({ "guid": format!("{:#018x}", node.guid), "name": node.name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_with_who_what_and_why() {
        let record = v1::ListAuditRecordsResponse {
            method: "weft.v1.PortService/SetPortState".to_owned(),
            author: "alice".to_owned(),
            peer: "::1".to_owned(),
            identity: "uri:spiffe://example.org/ci".to_owned(),
            request: r#"{"port":{"node_guid":"76843390398857216","port":3},"reason":"x","action":"PORT_ACTION_DISABLE"}"#
                .to_owned(),
            reason: "RMA-1\u{1b}[31m182".to_owned(),
            result: "failed_precondition".to_owned(),
            message: "it would cut off\ntwo hosts".to_owned(),
            ..v1::ListAuditRecordsResponse::default()
        };
        let lines = lines(&record);
        let (_, told) = lines.split_once("  ").expect("a time");
        assert_eq!(
            told,
            "SetPortState: failed precondition\n    by alice at ::1 as uri:spiffe://example.org/ci\n    \
             request: action PORT_ACTION_DISABLE, port (node_guid 0x0111010101010000, port 3)\n    \
             reason: RMA-1\\x1b[31m182\n    refusal: it would cut off two hosts\n"
                .replace(
                    "0x0111010101010000",
                    &format!("{:#018x}", 76_843_390_398_857_216_u64)
                )
        );
    }

    #[test]
    fn nodes_are_told_by_the_names_that_they_had() {
        let named = |guid, name: &str| v1::AuditNode {
            guid,
            name: name.to_owned(),
        };
        let (edge, core) = (0x0011_7501_0200_0001_u64, 0x0011_7501_0200_0002_u64);
        let mut record = v1::ListAuditRecordsResponse {
            request: format!(
                r#"{{"ports":[{{"node_guid":"{edge}","port":3}},{{"node_guid":"{core}"}}],"drain":{{"switch_guid":"{core}"}}}}"#
            ),
            nodes: vec![named(edge, "edge1"), named(core, "core\u{1b}[31m1")],
            ..v1::ListAuditRecordsResponse::default()
        };
        let told = lines(&record);
        let expected =
            "request: drain (switch_guid core\\x1b[31m1), ports edge1:3; core\\x1b[31m1:0\n";
        assert!(told.contains(expected), "{told}");
        assert_eq!(as_json(&record)["nodes"][0]["guid"], "0x0011750102000001");
        record.nodes.clear();
        let told = lines(&record);
        assert!(
            told.contains("(node_guid 0x0011750102000001, port 3)"),
            "{told}"
        );
    }
}
