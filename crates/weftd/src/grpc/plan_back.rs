//! The way back to a moment: what was decided about routes then, and what else differs from now.

use std::sync::Arc;

use tokio::task;
use tonic::{Code, Status};
use weft_api::port_message;
use weft_api::v1;
use weft_fabric::{Guid, PortNum, Snapshot, Topology};
use weft_manager::PortAction;
use weft_manager::sm::back::{Back, RoutingState, Then};
use weft_manager::sm::drains::Drain;
use weft_report::{ChangedNode, ChangesReport, changes};

use super::Services;
use super::details::detailed;
use super::facts::Facts;
use super::past::{NOT_KEPT, Past};
use crate::control::{PlanRequest, PortsSwitched};
use crate::route_settings::{Changed, RouteSettings};

/// Ports that an answer names at most, and nodes.
const PORTS_MAX: usize = 1_000;
const NODES_MAX: usize = 100;
/// A moment to go back to.
pub(super) struct Moment {
    then: Then,
    shown: v1::MomentShown,
    /// What else is not as it was.
    changes: ChangesReport,
}

impl Services {
    /// What was decided at a moment, and the request for a plan that leads back there.
    pub(super) async fn way_back(&self, at: v1::Moment) -> Result<(PlanRequest, Moment), Status> {
        let Past { state: kept, shown } = self.past_of("as_of", at).await?;
        let time = shown.time.map(|time| time.to_string());
        let time = time.unwrap_or_default();
        let state = state(kept.routing.as_deref()).map_err(|why| not_kept(&time, &why))?;
        let then = Then {
            state,
            fabric: Arc::clone(&kept.snapshot),
        };
        let (before, now) = (Arc::clone(&then.fabric), self.hub.snapshot());
        let changes = task::spawn_blocking(move || changes(&before, &now)).await;
        let changes = changes.map_err(|error| Status::internal(error.to_string()))?;
        let what = format!("back to {time}");
        let request = PlanRequest::Back(Box::new(then.clone()), what);
        let moment = Moment {
            then,
            shown,
            changes,
        };
        Ok((request, moment))
    }

    /// What a way back changes besides routes, and what of the fabric is not as it was.
    pub(super) fn way_back_message(&self, moment: Moment, back: &Back) -> v1::WayBack {
        let Moment {
            then,
            shown,
            changes,
        } = moment;
        let name = |guid: Guid| self.name_then_or_now(&then.fabric, guid);
        let named = |port: (Guid, PortNum)| named(port, name(port.0));
        let routing = self.hub.routing();
        let settings = routing.map_or_else(Vec::new, |routing| settings(&routing, &then.state));
        let drained = back.drained.iter().map(|drain| (*drain, true));
        let drains = drained.chain(back.undrained.iter().map(|drain| (*drain, false)));
        let drain = |(drain, drained)| v1::DrainBack {
            part: Some(named(part(drain))),
            drained,
        };
        let ports = back.ports.iter().take(PORTS_MAX).map(|one| v1::PortBack {
            port: Some(named(one.port)),
            disabled: one.action == PortAction::Disable,
            reason: one.note.reason.clone(),
            author: one.note.author.clone(),
        });
        let gone = back.ports_gone.iter().take(PORTS_MAX);
        v1::WayBack {
            moment: Some(shown),
            settings,
            drains: drains.map(drain).collect(),
            ports: ports.collect(),
            port_count: back.ports.len() as u32,
            ports_gone: gone.map(|port| named(*port)).collect(),
            nodes_gone: nodes(&changes.nodes_gone),
            nodes_gone_count: changes.nodes_gone.len() as u32,
            nodes_new: nodes(&changes.nodes_new),
            nodes_new_count: changes.nodes_new.len() as u32,
            links_gone_count: changes.links_gone.len() as u32,
            links_new_count: changes.links_new.len() as u32,
        }
    }

    fn name_then_or_now(&self, then: &Snapshot, guid: Guid) -> String {
        let of = |topology: &Topology| {
            let node = topology.node(topology.find(guid)?)?;
            Some(node.name().to_string())
        };
        of(&then.topology).unwrap_or_else(|| self.hub.name_of(guid))
    }

    /// Ports that a plan has switched, as a message.
    pub(super) fn switched_message(&self, switched: PortsSwitched) -> v1::PortsSwitched {
        let failed = switched.failed.into_iter().map(|one| v1::PortNotSwitched {
            port: Some(named(one.port, self.hub.name_of(one.port.0))),
            disabled: one.action == PortAction::Disable,
            why: one.why.to_string(),
        });
        v1::PortsSwitched {
            count: switched.count,
            failed: failed.take(PORTS_MAX).collect(),
        }
    }
}

fn named((guid, port): (Guid, PortNum), node_name: String) -> v1::NamedPort {
    v1::NamedPort {
        port: Some(port_message(guid, port)),
        node_name,
    }
}

fn part(drain: Drain) -> (Guid, PortNum) {
    match drain {
        Drain::Switch(guid) => (guid, PortNum(0)),
        Drain::Link(guid, port) => (guid, port),
    }
}

fn nodes(all: &[ChangedNode]) -> Vec<v1::NodeName> {
    let first = all.iter().take(NODES_MAX);
    let message = |node: &ChangedNode| v1::NodeName {
        guid: node.guid.0,
        name: node.name.clone(),
    };
    first.map(message).collect()
}

fn state(routing: Option<&[u8]>) -> Result<RoutingState, String> {
    let lacking = "the engine, drains and disabled ports of then: another manager ran the fabric, or a version of weftd that \
                   did not keep them yet";
    let bytes = routing.ok_or_else(|| lacking.to_owned())?;
    let other = |error| {
        format!("settings of routes as this version knows them: another one wrote them ({error})")
    };
    serde_json::from_slice(bytes).map_err(other)
}

fn not_kept(time: &str, why: &str) -> Status {
    let text = format!(
        "the state of {time} has not {why}; `weft route show --at` and `weft report --at` show its routes, \
         `weft route plan --engine` and `weft drain` change them by hand"
    );
    let status = Status::new(Code::FailedPrecondition, text);
    detailed(&status, NOT_KEPT, Facts::none())
}

/// Settings with another value then.
fn settings(now: &RoutingState, then: &RoutingState) -> Vec<v1::ChangedSetting> {
    let of = |state: &RoutingState| RouteSettings::of(&state.routing, state.multicast);
    let message = |one: Changed| v1::ChangedSetting {
        element: one.element,
        before: one.before,
        after: one.after,
    };
    of(now).changed(&of(then)).map(message).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_manager::sm::Settings;
    use weft_manager::sm::back::SwitchedOff;

    use super::*;

    fn decided() -> RoutingState {
        let Settings {
            routing, multicast, ..
        } = Settings::default();
        RoutingState {
            routing,
            multicast,
            drains: [Drain::Link(Guid(7), PortNum(3))].into(),
            disabled: vec![SwitchedOff {
                port: (Guid(9), PortNum(1)),
                note: weft_manager::PortNote::default(),
            }],
        }
    }

    #[test]
    fn what_was_decided_is_read_back_and_what_lacks_is_told() {
        let kept = serde_json::to_vec(&decided()).unwrap();
        assert_eq!(state(Some(&kept)), Ok(decided()));
        let said = state(None).unwrap_err();
        assert!(said.contains("did not keep them yet"), "{said}");
        let older = String::from_utf8(kept).unwrap();
        let older = older.replace("\"spine_first\"", "\"spines\"");
        let said = state(Some(older.as_bytes())).unwrap_err();
        assert!(said.contains("spine_first"), "{said}");
    }
}
