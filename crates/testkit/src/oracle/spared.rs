//! D3: a drain is refused if and only if the fabric cannot do without the part.

use weft_fabric::{Guid, PortNum};
use weft_manager::sm::drains::{Drain, DrainError, Drains};
use weft_manager::sm::reroute::RerouteError;

use super::drained::{Part, Spare, can_spare};
use super::{Breach, Invariant};
use crate::view::FabricView;

/// Converts to the oracles' type.
pub fn part(drain: Drain) -> Part {
    match drain {
        Drain::Switch(guid) => Part::Switch(guid),
        Drain::Link(guid, PortNum(port)) => Part::Link(guid, port),
    }
}

/// D3 for a drain in the fabric around `root`, besides those in force; `error` is the refusal, if it was
/// refused.
pub fn check(
    view: &FabricView,
    root: usize,
    drains: &Drains,
    drain: Drain,
    error: Option<&RerouteError>,
) -> Option<Breach> {
    let parts = drains.iter().copied().chain([drain]).map(part);
    let spare = can_spare(view, root, &parts.collect::<Vec<Part>>());
    let fits = match (drainable(view, root, drain), error) {
        (Err(wanted), Some(RerouteError::Drain(found))) => wanted(found),
        (Err(_), _) => false,
        (Ok(()), None) => spare != Spare::No,
        (Ok(()), Some(RerouteError::CutsOff(_))) => spare != Spare::Yes,
        (Ok(()), Some(_)) => false,
    };
    let what = || format!("drain of {drain:?} gives {error:?}, spare: {spare:?}");
    (!fits).then(|| Breach::new(Invariant::Spared, what()))
}

type Judge = fn(&DrainError) -> bool;

/// Whether a switch or link is one that can be drained at all, and otherwise which error is right. What is
/// cut off from `root` is not there for the manager.
fn drainable(view: &FabricView, root: usize, drain: Drain) -> Result<(), Judge> {
    let connected = view.connected(root);
    let is_there = |node: &usize| view.nodes[*node].switch && connected[*node];
    let switch = |guid: Guid| view.find(guid).filter(is_there);
    let at = |node: usize, port: PortNum| {
        let end = view.nodes[node].ports.get(usize::from(port.0));
        end.and_then(|end| end.as_ref()?.peer)
    };
    match drain {
        Drain::Switch(guid) => {
            let no_switch: Judge = |error| matches!(error, DrainError::NoSwitch(..));
            let node = switch(guid).ok_or(no_switch)?;
            let mut peers = view.nodes[node]
                .external()
                .filter_map(|(_, port)| port.peer);
            let has_hfis: Judge = |error| matches!(error, DrainError::HasHfis { .. });
            match peers.any(|(peer, _)| !view.nodes[peer].switch) {
                true => Err(has_hfis),
                false => Ok(()),
            }
        }
        Drain::Link(guid, port) => {
            let no_link: Judge = |error| matches!(error, DrainError::NoLink { .. });
            let node = switch(guid).ok_or(no_link)?;
            let (peer, _) = at(node, port).ok_or(no_link)?;
            view.nodes[peer].switch.then_some(()).ok_or(no_link)
        }
    }
}
