//! `weft check`.

mod tree;

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio_stream::StreamExt;
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{Check, Daemon};
use crate::connect::{Effort, Session, connect};
use crate::error::CliError;
use crate::output;

/// Bytes of a file in one message.
const CHUNK: usize = 64 << 10;

pub(crate) async fn run(daemon: &Daemon, command: &Check) -> Result<ExitCode, CliError> {
    match command {
        Check::Topology {
            against,
            baseline,
            json,
        } => {
            let (intended, name) = match (against, baseline) {
                (Some(file), _) => (of_file(file)?, file.display().to_string()),
                (None, Some(name)) => (of_baseline(name), format!("baseline {name}")),
                (None, None) => return tree::run(&connect(daemon).await?, *json).await,
            };
            topology(&connect(daemon).await?, intended, &name, *json).await
        }
    }
}

type Intended = Vec<v1::CompareTopologyRequest>;

fn of_file(file: &Path) -> Result<Intended, CliError> {
    let text = output::read(file)?;
    let parts = text.chunks(CHUNK).map(|data| v1::CompareTopologyRequest {
        data: data.to_vec(),
        baseline: String::new(),
    });
    Ok(parts.collect())
}

fn of_baseline(name: &str) -> Intended {
    vec![v1::CompareTopologyRequest {
        data: Vec::new(),
        baseline: name.to_owned(),
    }]
}

async fn topology(
    session: &Session,
    intended: Intended,
    name: &str,
    json: bool,
) -> Result<ExitCode, CliError> {
    let (generation, differences) = differences(session, intended).await?;
    if json {
        output::json(&json!({
            "generation": generation,
            "differences": differences.iter().map(as_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let lines = differences.iter().map(|one| format!("{}\n", one.text));
        let lines: String = lines.collect();
        output::text(match differences.len() {
            0 => format!("the fabric is as {name} has it\n"),
            all => format!("{lines}{} from {name}\n", count(all, "difference")),
        })?;
    }
    Ok(ExitCode::from(u8::from(!differences.is_empty())))
}

/// The differences of the present fabric, and its generation.
async fn differences(
    session: &Session,
    intended: Intended,
) -> Result<(u64, Vec<v1::TopologyDifference>), CliError> {
    let mut service = session.services(Effort::Work).fabric();
    let call = service.compare_topology(tokio_stream::iter(intended));
    let mut messages = session.answer(Effort::Work, call).await?;
    let (mut generation, mut all) = (0, Vec::new());
    loop {
        let next = async { Ok(messages.next().await) };
        match session.in_time(Effort::Work, next).await? {
            Some(Ok(message)) => {
                generation = message.generation;
                all.extend(message.differences);
            }
            Some(Err(status)) => return Err(session.explain(Effort::Work, status).await),
            None => return Ok((generation, all)),
        }
    }
}

fn as_json(one: &v1::TopologyDifference) -> Value {
    let kind = one.kind().as_str_name();
    let kind = kind.trim_start_matches("TOPOLOGY_DIFFERENCE_KIND_");
    json!({
        "kind": kind.to_lowercase(),
        "text": one.text,
        "intended_node": one.intended_node.as_ref().map(node),
        "found_node": one.found_node.as_ref().map(node),
        "at": one.at.as_ref().map(end),
        "intended_links": one.intended_links.iter().map(link).collect::<Vec<_>>(),
        "found_links": one.found_links.iter().map(link).collect::<Vec<_>>(),
    })
}

fn node(node: &v1::TopologyNode) -> Value {
    let guid = (node.guid != 0).then(|| format!("{:#018x}", node.guid));
    json!({ "guid": guid, "name": node.name })
}

fn end(end: &v1::TopologyEnd) -> Value {
    json!({ "node": end.node.as_ref().map(node), "port": end.port })
}

fn link(link: &v1::TopologyLink) -> Value {
    json!({ "a": link.a.as_ref().map(end), "b": link.b.as_ref().map(end) })
}
