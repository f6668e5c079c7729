//! `weft port show`.

mod module;

use std::process::ExitCode;

use serde_json::{Value, json};
use tonic::Code;
use weft_api::client::ClientError;
use weft_api::v1;
use weft_fabric::text::for_terminal;
use weft_fabric::{Lid, Lmc, Port, PortRef, Snapshot, Vl};
use weft_wire::enums::{LinkWidth, Mtu};

use crate::args::{Args, PortShow};
use crate::connect::{Effort, Session, connect};
use crate::counters::{port_json, table};
use crate::error::CliError;
use crate::output;
use crate::pager::Pages;
use crate::port::{Named, resolve};

pub(crate) async fn run(all: &Args, args: &PortShow) -> Result<ExitCode, CliError> {
    let session = connect(&all.daemon).await?;
    let mut pages = Pages::new(all.no_pager);
    for named in resolve(&session, &args.point, false).await? {
        let known = Known::new(&session, named).await?;
        match args.json {
            true => output::json(&known.json())?,
            false => pages.text(known.text())?,
        }
    }
    pages.end()?;
    Ok(ExitCode::SUCCESS)
}

/// All that is known of a port.
struct Known {
    named: Named,
    /// Its registers, none where it is not in the fabric.
    port: Option<Port>,
    /// LIDs of the port, those of its switch for a port of one.
    lids: Option<(Lid, Lmc)>,
    /// Name of the node at the other end, and its port.
    neighbor: Option<(v1::PortId, String)>,
    link: v1::ExplainQuarantineResponse,
    /// Whether it, or its switch, is drained.
    drained: bool,
    /// What is known of its cable.
    cable: Option<v1::GetCableResponse>,
    /// Its counters, or why there are none.
    counters: Result<v1::PortCounters, String>,
}

impl Known {
    async fn new(session: &Session, named: Named) -> Result<Self, CliError> {
        let id = named.0;
        let snapshot = session.snapshot().await?;
        let at = weft_api::point_of(&id).and_then(|(guid, port)| {
            let node = snapshot.topology.find(guid)?;
            Some(PortRef { node, port })
        });
        let neighbor = at.and_then(|at| neighbor(&snapshot, at));
        let request = v1::ExplainQuarantineRequest { port: Some(id) };
        let mut service = session.services(Effort::Look).ports();
        let link = service.explain_quarantine(request);
        let link = match session.answer(Effort::Look, link).await {
            Ok(link) => link,
            // A device that is gone may have nothing to explain.
            Err(error) if is_absent(&error) => v1::ExplainQuarantineResponse::default(),
            Err(error) => return Err(error),
        };
        let mut service = session.services(Effort::Look).routes();
        let drains = service.list_drains(v1::ListDrainsRequest {});
        let drains = session.answer(Effort::Look, drains).await?.drains;
        let far = neighbor.as_ref().map(|(id, _)| *id);
        Ok(Self {
            drained: drains
                .iter()
                .any(|drain| is_drained(drain, &id, far.as_ref())),
            cable: cable(session, id).await?,
            counters: counters(session, id).await?,
            named,
            port: at.and_then(|at| snapshot.topology.port(at).cloned()),
            lids: at.and_then(|at| lids(&snapshot, at)),
            neighbor,
            link,
        })
    }

    /// The port's entry in quarantine.
    fn entry(&self) -> Option<&v1::QuarantinedPort> {
        self.link.ends.first()?.entry.as_ref()
    }

    fn text(&self) -> String {
        let (id, name) = &self.named;
        let mut lines = vec![format!(
            "Port {} of {} ({:#018x})",
            id.port,
            for_terminal(name),
            id.node_guid
        )];
        match &self.port {
            Some(port) => lines.extend(link_lines(port)),
            None => lines.push("  its node is not in the fabric".to_owned()),
        }
        if let Some(cable) = &self.cable {
            lines.extend(module::lines(cable));
        }
        if let Some((lid, lmc)) = self.lids {
            lines.push(format!("  LID {} (LMC {})", lid.0, lmc.0));
        }
        lines.push(match &self.neighbor {
            Some((far, name)) => format!(
                "  neighbor: port {} of {} ({:#018x})",
                far.port,
                for_terminal(name),
                far.node_guid
            ),
            None => "  neighbor: none".to_owned(),
        });
        lines.push(format!("  routes: {}", self.routes()));
        lines.push(match self.entry() {
            Some(entry) if entry.quarantined => {
                format!("  quarantine: {}", for_terminal(&entry.reason))
            }
            Some(entry) => format!("  held back: {}", for_terminal(&entry.reason)),
            None => "  quarantine: no".to_owned(),
        });
        lines.push(format!(
            "  drain: {}",
            if self.drained { "yes" } else { "no" }
        ));
        let mut text = lines.join("\n") + "\n";
        match &self.counters {
            Ok(port) => {
                text += &table::facts(port);
                text += &table::list(port);
                text += &table::lanes(port, false);
            }
            Err(why) => text += &format!("  counters: {}\n", for_terminal(why)),
        }
        text
    }

    fn routes(&self) -> String {
        let number = self.link.routes;
        match self.link.link_use() {
            v1::LinkUse::Used if number > 0 => format!("{number} lead over the link"),
            v1::LinkUse::Used => "the link is used".to_owned(),
            v1::LinkUse::UsedAllTheSame => {
                "the link is used, because a part would be cut off".to_owned()
            }
            v1::LinkUse::UsedUntilSweep => {
                "the link is used until the next sweep has ended".to_owned()
            }
            v1::LinkUse::LeftOut => format!(
                "the link is left out: {}",
                for_terminal(&self.link.unused_reason)
            ),
            v1::LinkUse::Down => "the link is down".to_owned(),
            v1::LinkUse::Unspecified => "not known".to_owned(),
        }
    }

    fn json(&self) -> Value {
        let (id, name) = &self.named;
        let end = |id: &v1::PortId, name: &str| {
            json!({
                "guid": format!("{:#018x}", id.node_guid),
                "port": id.port,
                "name": name,
            })
        };
        json!({
            "port": end(id, name),
            "link": self.port.as_ref().map(link_json),
            "lid": self.lids.map(|(lid, _)| lid.0),
            "lmc": self.lids.map(|(_, lmc)| lmc.0),
            "neighbor": self.neighbor.as_ref().map(|(id, name)| end(id, name)),
            "link_use": self.link.link_use().as_str_name().trim_start_matches("LINK_USE_").to_lowercase(),
            "routes": self.link.routes,
            "quarantined": self.entry().is_some_and(|entry| entry.quarantined),
            "quarantine_reason": self.entry().map(|entry| &entry.reason),
            "drained": self.drained,
            "cable": self.cable.as_ref().map(module::json),
            "counters": self.counters.as_ref().ok().map(port_json),
            "no_counters": self.counters.as_ref().err(),
        })
    }
}

/// The counters, or why there are none.
async fn counters(
    session: &Session,
    id: v1::PortId,
) -> Result<Result<v1::PortCounters, String>, CliError> {
    let request = v1::GetPortCountersRequest {
        port: Some(id),
        selection: Some(v1::CounterSelection::named(&[], true, true)),
        ..v1::GetPortCountersRequest::default()
    };
    let mut service = session.services(Effort::Look).counters();
    let read = service.get_port_counters(request);
    match session.answer(Effort::Look, read).await {
        Ok(read) => Ok(read.port.ok_or_else(|| "none".to_owned())),
        Err(error) if is_absent(&error) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

/// What is known of its cable; none where nothing is, or the daemon cannot tell.
async fn cable(
    session: &Session,
    id: v1::PortId,
) -> Result<Option<v1::GetCableResponse>, CliError> {
    let request = v1::GetCableRequest { port: Some(id) };
    let mut service = session.services(Effort::Look).cables();
    let read = service.get_cable(request);
    match session.answer(Effort::Look, read).await {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_absent(&error) || is_unknown(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An older daemon does not have the service.
fn is_unknown(error: &CliError) -> bool {
    matches!(error, CliError::Client(ClientError::Refused(status)) if status.code() == Code::Unimplemented)
}

fn is_absent(error: &CliError) -> bool {
    let CliError::Client(ClientError::Refused(status)) = error else {
        return false;
    };
    matches!(status.code(), Code::NotFound | Code::FailedPrecondition)
}

fn neighbor(snapshot: &Snapshot, at: PortRef) -> Option<(v1::PortId, String)> {
    let topology = &snapshot.topology;
    let peer = topology.peer(at)?;
    let name = topology.node(peer.node)?.name();
    Some((weft_api::port_id(topology, peer)?, name))
}

fn lids(snapshot: &Snapshot, at: PortRef) -> Option<(Lid, Lmc)> {
    let node = snapshot.topology.node(at.node)?;
    let mut ends = node.end_ports();
    let end = ends.find(|(number, _)| node.is_switch() || *number == at.port);
    end.map(|(_, port)| (port.info.lid, port.info.lmc))
}

fn is_drained(drain: &v1::Drain, id: &v1::PortId, far: Option<&v1::PortId>) -> bool {
    use v1::drain_target::Target;
    let target = drain
        .target
        .as_ref()
        .and_then(|target| target.target.as_ref());
    match target {
        Some(Target::SwitchGuid(guid)) => {
            *guid == id.node_guid || far.is_some_and(|far| far.node_guid == *guid)
        }
        Some(Target::Link(end)) => end == id || far == Some(end),
        None => false,
    }
}

/// The largest packet on any lane.
fn mtu(port: &Port) -> Mtu {
    let lanes = (0..32).map(|vl| port.info.neighbor_mtu.get(Vl(vl)));
    let largest = lanes.max().filter(|mtu| *mtu != Mtu::NONE);
    largest.unwrap_or(port.info.mtu_cap)
}

fn width(width: LinkWidth) -> String {
    match width {
        LinkWidth::NOP => "none".to_owned(),
        width => width.to_string(),
    }
}

fn link_lines(port: &Port) -> Vec<String> {
    let info = &port.info;
    vec![
        format!(
            "  state {}, {}; link init reason {}, offline reason {}",
            info.port_state, info.phys_state, info.link_init_reason, info.offline_disabled_reason
        ),
        format!(
            "  speed {}, width {} (sends {}, receives {}), MTU {} of {}",
            info.link_speed_active,
            width(info.link_width_active),
            width(info.link_width_downgrade_tx_active),
            width(info.link_width_downgrade_rx_active),
            mtu(port),
            info.mtu_cap
        ),
        format!(
            "  cable: {}; link down reason {}, neighbor's {}",
            info.port_type, info.link_down_reason, info.neighbor_link_down_reason
        ),
    ]
}

fn link_json(port: &Port) -> Value {
    let info = &port.info;
    json!({
        "state": info.port_state.to_string(),
        "physical_state": info.phys_state.to_string(),
        "init_reason": info.link_init_reason.to_string(),
        "offline_reason": info.offline_disabled_reason.to_string(),
        "down_reason": info.link_down_reason.to_string(),
        "neighbor_down_reason": info.neighbor_link_down_reason.to_string(),
        "speed": info.link_speed_active.to_string(),
        "width": width(info.link_width_active),
        "width_tx": width(info.link_width_downgrade_tx_active),
        "width_rx": width(info.link_width_downgrade_rx_active),
        "mtu": mtu(port).to_string(),
        "mtu_cap": info.mtu_cap.to_string(),
        "port_type": info.port_type.to_string(),
    })
}
