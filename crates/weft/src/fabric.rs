//! `weft fabric`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::count;

use crate::args::{At, Daemon, Export, Fabric};
use crate::connect::{Effort, connect};
use crate::download::download;
use crate::error::CliError;
use crate::mandate;
use crate::output;
use crate::peers;
use crate::picture;
use crate::sweep::{as_json, summary};
use crate::time::{utc_json, utc_of};

pub(crate) async fn run(daemon: &Daemon, command: &Fabric) -> Result<ExitCode, CliError> {
    match command {
        Fabric::Show { at, json } => show(daemon, at, *json).await,
        Fabric::Export(args) => export(daemon, args).await,
    }
}

async fn show(daemon: &Daemon, at: &At, json: bool) -> Result<ExitCode, CliError> {
    let moment = at.moment()?;
    let session = connect(daemon).await?;
    let effort = match moment {
        None => Effort::Look,
        Some(_) => Effort::Work,
    };
    let mut service = session.services(effort).fabric();
    let fabric = service.get_fabric(v1::GetFabricRequest { at: moment });
    let fabric = session.answer(effort, fabric).await?;
    at.tell(fabric.moment.as_ref())?;
    match json {
        true => output::json(&fabric_json(&fabric))?,
        false => output::text(fabric_text(&fabric))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn fabric_text(fabric: &v1::GetFabricResponse) -> String {
    if fabric.moment.is_some() {
        return counts(fabric);
    }
    let mut text = format!(
        "Fabric {} on {}, weftd {}\n",
        fabric.instance, fabric.connected_to, fabric.version
    );
    let config = match fabric.config_file.as_str() {
        "" => "built-in defaults",
        file => file,
    };
    text += &format!("Configuration: {config}\n");
    if !fabric.role.is_empty() && fabric.role != "Master" {
        let master = match fabric.master {
            0 => "the master is not known".to_owned(),
            guid => format!("the master is the manager on port {guid:#018x}"),
        };
        text += &format!("This manager is {}: {master}\n", fabric.role);
    }
    text += &peers::text(&fabric.peers);
    text += &fabric
        .mandate
        .as_ref()
        .map(mandate::text)
        .unwrap_or_default();
    if let Some(lost) = fabric.attachment.filter(|now| !now.attached) {
        text += &format!(
            "NOT ATTACHED since {}: its HFI, driver or emulator is gone; this is what was seen last, at {}\n",
            utc_of(lost.since_time),
            utc_of(fabric.seen_time)
        );
    }
    if let Some(pause) = &fabric.pause {
        text += &format!(
            "SWEEPS PAUSED until {}: changes of the fabric are not acted upon; `weft fm resume` ends that\n",
            utc_of(pause.until_time)
        );
    }
    if fabric.generation == 0 {
        text += "No sweep has ended yet\n";
        return text;
    }
    text += &counts(fabric);
    if let Some(routing) = &fabric.routing {
        text += &format!("Routing: {}{}\n", routing.engine, routing_notes(routing));
    }
    if !fabric.planned.is_empty() {
        text += &format!("Plan: {}\n", fabric.planned);
    }
    if let Some(sweep) = &fabric.last_sweep {
        text += &format!("Last sweep: {}\n", summary(sweep));
    }
    if let Some(sweep) = &fabric.current_sweep {
        text += &format!("Sweep {} is under way\n", sweep.number);
    }
    text
}

/// What is there, which is known of the past too.
fn counts(fabric: &v1::GetFabricResponse) -> String {
    let taken = utc_of(fabric.time);
    let ports = fabric
        .ports
        .iter()
        .map(|count| format!("{} {}", count.ports, state_name(count)));
    format!(
        "Generation {} of {taken}: {}, {}, {}\nPorts: {}\n",
        fabric.generation,
        count(fabric.hfis, "HFI"),
        count(fabric.switches, "switch"),
        count(fabric.links, "link"),
        ports.collect::<Vec<_>>().join(", ")
    )
}

/// Remarks on the routing besides the engine's name.
fn routing_notes(routing: &v1::Routing) -> String {
    let lanes = (routing.lanes > 1).then(|| format!("on {} lanes", routing.lanes));
    let given_up = (routing.engines_given_up > 0).then(|| match routing.engines_given_up {
        1 => "the engine before it did not fit".to_owned(),
        count => format!("the {count} engines before it did not fit"),
    });
    let notes: Vec<String> = [lanes, given_up].into_iter().flatten().collect();
    match notes.is_empty() {
        true => String::new(),
        false => format!(" ({})", notes.join("; ")),
    }
}

fn fabric_json(fabric: &v1::GetFabricResponse) -> Value {
    if let Some(moment) = &fabric.moment {
        return past_json(fabric, moment);
    }
    let ports = fabric
        .ports
        .iter()
        .map(|count| (state_name(count), json!(count.ports)));
    json!({
        "instance": fabric.instance,
        "connected_to": fabric.connected_to,
        "version": fabric.version,
        "generation": fabric.generation,
        "time": utc_json(fabric.time),
        "attached": fabric.attachment.is_none_or(|now| now.attached),
        "attachment_since": fabric.attachment.map(|now| utc_json(now.since_time)),
        "seen": utc_json(fabric.seen_time),
        "hfis": fabric.hfis,
        "switches": fabric.switches,
        "links": fabric.links,
        "ports": ports.collect::<serde_json::Map<_, _>>(),
        "last_sweep": fabric.last_sweep.as_ref().map(as_json),
        "routing": fabric.routing.as_ref().map(|routing| json!({
            "engine": routing.engine,
            "engines_given_up": routing.engines_given_up,
            "lanes": routing.lanes,
        })),
        "planned": fabric.planned,
        "paused_until": fabric.pause.map(|pause| utc_json(pause.until_time)),
        "config_file": fabric.config_file,
        "role": fabric.role,
        "master": format!("{:#018x}", fabric.master),
        "current_sweep": fabric.current_sweep.as_ref().map(|sweep| sweep.number),
        "peers": fabric.peers.iter().map(peers::json).collect::<Vec<_>>(),
        "mandate": fabric.mandate.as_ref().map(mandate::json),
    })
}

/// What is known of the past.
fn past_json(fabric: &v1::GetFabricResponse, moment: &v1::MomentShown) -> Value {
    let ports = fabric
        .ports
        .iter()
        .map(|count| (state_name(count), json!(count.ports)));
    json!({
        "at": utc_json(moment.time),
        "since": utc_json(moment.since),
        "sweep": moment.sweep,
        "generation": fabric.generation,
        "time": utc_json(fabric.time),
        "hfis": fabric.hfis,
        "switches": fabric.switches,
        "links": fabric.links,
        "ports": ports.collect::<serde_json::Map<_, _>>(),
    })
}

fn state_name(count: &v1::PortCount) -> String {
    let name = count.state().as_str_name();
    name.trim_start_matches("PORT_STATE_").to_lowercase()
}

async fn export(daemon: &Daemon, args: &Export) -> Result<ExitCode, CliError> {
    let session = connect(daemon).await?;
    if args.svg || args.dot {
        return picture::export(&session, args).await;
    }
    let format = match (args.snapshot, args.ibnetdiscover) {
        (true, _) => v1::ExportFormat::OpareportSnapshot,
        (_, true) => v1::ExportFormat::Ibnetdiscover,
        _ => v1::ExportFormat::Topology,
    };
    let request = v1::ExportFabricRequest {
        format: format.into(),
        port_tables: args.port_tables,
        at: args.at.moment()?,
    };
    let mut service = session.services(Effort::Work).fabric();
    let exported = service.export_fabric(request);
    let to = args.output.as_deref();
    let mut tell = args.at.tell_first();
    let bytes = |part: v1::ExportFabricResponse| tell(part.moment).map(|()| part.data);
    download(&session, exported, bytes, to).await?;
    Ok(ExitCode::SUCCESS)
}
