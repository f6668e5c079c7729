//! Changes of many ports in one call: all are checked first, then one is changed after the other as long as the client
//! reads the answers.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Status};
use weft_api::{port_message, v1};
use weft_fabric::{Guid, PortNum};
use weft_manager::{CommandError, PortAction, PortNote, PortOrder};

use super::facts::Facts;
use super::port::named;
use super::reason::code;
use super::refusal::{list_refused, port_refused, status, wrong_field, wrong_field_with};
use super::{Services, stopping};
use crate::access::{Bounds, Caller, caller_of};
use crate::control::{Refusal, usual_deadline};
use crate::request::{MayChange, Request as Ask, ask};

/// Most ports of a call.
const PORTS_MAX: usize = 4096;

/// The answers to a call, one for each port.
pub(super) type PortsStream =
    Pin<Box<dyn Stream<Item = Result<v1::SetPortsResponse, Status>> + Send>>;

/// A port of a call, and whether it could be changed.
struct Item {
    order: PortOrder,
    may: MayChange,
    /// Ports after it.
    left: u32,
}

impl Services {
    pub(super) async fn change_ports(
        &self,
        request: Request<v1::SetPortsRequest>,
    ) -> Result<PortsStream, Status> {
        let peer = peer(&request);
        let bounds = self.access.bounds(request.extensions(), "SetPorts");
        let request = request.into_inner();
        let validate_only = request.validate_only;
        let orders = orders(request, &peer)?;
        self.must_be_master()?;
        self.must_be_attached()?;
        let (action, force) = (orders[0].action, orders[0].force);
        let ends = orders.iter().map(|order| (order.node, order.port));
        let bounds = bounds.filter(|_| action == PortAction::Disable);
        if let Some(bounds) = &bounds {
            let within = self.ports_within(bounds, ends.clone()).await;
            within.map_err(|refusal| status(&refusal))?;
        }
        let bounds = bounds.map(Arc::new);
        let may = self.may_change(ends.collect(), action, force).await?;
        let refused = |may: &&MayChange| forbids_list(&may.result, force);
        if !validate_only && may.iter().any(|may| refused(&may)) {
            let errors = may.iter().filter(refused);
            let errors = errors.filter_map(|may| may.result.as_ref().err());
            return Err(list_refused(errors, orders.len()));
        }
        let services = self.clone();
        let answers = tokio_stream::iter(in_order(orders, may, action)).then(move |item| {
            let (services, bounds) = (services.clone(), bounds.clone());
            async move {
                let changed = services.change_one(item, validate_only, bounds.as_deref());
                Ok(changed.await)
            }
        });
        Ok(Box::pin(answers))
    }

    /// Asks the manager whether ports could be changed.
    pub(super) async fn may_change(
        &self,
        ends: Vec<(Guid, PortNum)>,
        action: PortAction,
        force: bool,
    ) -> Result<Vec<MayChange>, Status> {
        let (told, answer) = oneshot::channel();
        let asked = Ask::MayChange {
            ends,
            action,
            force,
            told,
        };
        ask(&self.engine, asked).map_err(|refusal| status(&refusal))?;
        let may = answer.await.map_err(|_| stopping())?;
        may.map_err(|error| port_refused(&error))
    }

    async fn change_one(
        &self,
        item: Item,
        validate_only: bool,
        bounds: Option<&Bounds>,
    ) -> v1::SetPortsResponse {
        let Item { order, may, left } = item;
        let (node, port) = (order.node, order.port);
        let (outcome, refusal) = match (may.result, validate_only) {
            (Err(error), _) => (v1::PortOutcome::Refused, Some(Refusal::Port(error))),
            (Ok(()), true) => (v1::PortOutcome::WouldBeDone, None),
            (Ok(()), false) => match self.change_port(order, usual_deadline(), bounds).await {
                Ok(()) => (v1::PortOutcome::Done, None),
                Err(refusal) if was_begun(&refusal) => (v1::PortOutcome::Failed, Some(refusal)),
                Err(refusal) => (v1::PortOutcome::Refused, Some(refusal)),
            },
        };
        v1::SetPortsResponse {
            port: Some(v1::NamedPort {
                port: Some(port_message(node, port)),
                node_name: self.hub.name_of(node),
            }),
            outcome: outcome.into(),
            code: refusal.as_ref().map_or("", code).to_owned(),
            message: refusal.map_or_else(String::new, |refusal| refusal.to_string()),
            left,
        }
    }
}

/// The orders of a call: at least one.
fn orders(request: v1::SetPortsRequest, peer: &str) -> Result<Vec<PortOrder>, Status> {
    let action = action(request.action(), request.link)?;
    let count = request.ports.len();
    if !(1..=PORTS_MAX).contains(&count) {
        let what = format!("{count} ports, allowed are 1 to {PORTS_MAX}");
        return Err(wrong_field_with("ports", &what, Facts::limit(PORTS_MAX)));
    }
    let mut seen = BTreeSet::new();
    let mut orders = Vec::with_capacity(count);
    for (place, target) in request.ports.into_iter().enumerate() {
        let (node, port) = named(target.port)?;
        if !seen.insert((node, port)) {
            let what = format!("port {port} of {node} is there twice");
            return Err(wrong_field(&format!("ports[{place}]"), &what));
        }
        let reason = match target.reason.is_empty() {
            true => request.reason.clone(),
            false => target.reason,
        };
        let note = PortNote {
            reason,
            author: request.author.clone(),
            peer: peer.to_owned(),
        };
        note.check().map_err(|error| port_refused(&error))?;
        orders.push(PortOrder {
            node,
            port,
            action,
            force: request.force,
            note,
        });
    }
    Ok(orders)
}

/// The ports in the order in which they are changed: one that goes may take along those behind it.
fn in_order(orders: Vec<PortOrder>, may: Vec<MayChange>, action: PortAction) -> Vec<Item> {
    let mut items: Vec<(PortOrder, MayChange)> = orders.into_iter().zip(may).collect();
    match action {
        PortAction::Enable => items.sort_by_key(|(_, may)| may.hops),
        _ => items.sort_by_key(|(_, may)| Reverse(may.hops)),
    }
    let after = (0..items.len() as u32).rev();
    let items = items.into_iter().zip(after);
    items
        .map(|((order, may), left)| Item { order, may, left })
        .collect()
}

/// Whether a list with this port is not begun.
fn forbids_list(result: &Result<(), CommandError>, force: bool) -> bool {
    match result {
        Err(CommandError::CutsOff { .. }) => true,
        Err(CommandError::OwnLink { .. }) => !force,
        _ => false,
    }
}

/// Whether something was sent, or may have been, before an order failed.
fn was_begun(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Port(error) => matches!(
            error,
            CommandError::NoAnswer { .. }
                | CommandError::Refused { .. }
                | CommandError::NotDone { .. }
                | CommandError::NotSet { .. }
                | CommandError::Detached { begun: true }
        ),
        Refusal::NotDurable { .. } => true,
        _ => false,
    }
}

/// The action of a request.
pub(super) fn action(
    action: v1::PortAction,
    link: Option<v1::LinkSettings>,
) -> Result<PortAction, Status> {
    weft_api::port_action(action, link).map_err(|(field, what)| wrong_field(field, &what))
}

/// Where a client is: an address, or a user of this host.
pub(super) fn peer<T>(request: &Request<T>) -> String {
    caller_of(request.extensions()).map_or_else(String::new, Caller::place)
}
