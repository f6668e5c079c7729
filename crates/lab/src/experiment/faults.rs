//! Faults of a fabric during traffic, as changes of the emulator.

use std::sync::Arc;

use weft_dataplane::packets::Picos;
use weft_dataplane::training::LinkTraining;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Node, PortNum, Topology};

use super::perform::ExperimentError;
use super::scenario::{Fault, FaultKind, FaultPlace};
use super::stage::drawn_links;
use super::values::picos;
use weft_testkit::world::first_host;

/// Sets the links that are drawn apart from those of `gone`.
const DRAWN: u64 = 0x6661_756C_7473;

/// Faults as changes, with their times. Drawn links exclude those that are cut already.
///
/// # Errors
/// [`ExperimentError::Fault`] for parts that the fabric lacks.
pub(super) fn resolve(
    topology: &Topology,
    faults: &[Arc<Fault>],
    seed: u64,
    cuts: &[(Guid, PortNum)],
) -> Result<Vec<(Picos, Vec<Control>)>, ExperimentError> {
    let changes = |fault: &Arc<Fault>| {
        let changes = match &fault.place {
            FaultPlace::Port(name, port) => vec![of_port(topology, fault.what, name, *port)?],
            FaultPlace::Node(name) => vec![of_node(topology, fault.what, name)?],
            FaultPlace::Drawn(percent) => of_drawn(topology, fault.what, *percent, seed, cuts)?,
        };
        Ok((picos(fault.at), changes))
    };
    faults.iter().map(changes).collect()
}

fn of_port(
    topology: &Topology,
    what: FaultKind,
    name: &str,
    port: u8,
) -> Result<Control, ExperimentError> {
    let node = find(topology, name)?;
    let port = PortNum(port);
    let cabled = node.port(port).is_some_and(|port| port.peer.is_some());
    match cabled {
        true => Ok(of_link(what, (node.guid(), port))),
        false => Err(fault(format!("{name:?} has no cable at port {}", port.0))),
    }
}

fn of_drawn(
    topology: &Topology,
    what: FaultKind,
    percent: f64,
    seed: u64,
    cuts: &[(Guid, PortNum)],
) -> Result<Vec<Control>, ExperimentError> {
    let links = drawn_links(topology, percent, seed ^ DRAWN, cuts);
    match links.is_empty() {
        true => Err(fault(format!(
            "{percent} % of the links between switches are none"
        ))),
        false => Ok(links.into_iter().map(|link| of_link(what, link)).collect()),
    }
}

fn of_link(what: FaultKind, (node, port): (Guid, PortNum)) -> Control {
    match what {
        FaultKind::Down | FaultKind::Reboot(_) => Control::LinkDown { node, port },
        FaultKind::Up => Control::LinkUp { node, port },
        FaultKind::Lanes(lanes) => Control::LinkLanes { node, port, lanes },
        FaultKind::Errors(errors) => Control::CableErrors { node, port, errors },
        FaultKind::Loss(lost) => Control::LinkLoss {
            node,
            port,
            loss: f64::from(lost) / 1e6,
        },
        FaultKind::Stuck(stuck) => Control::LinkTraining {
            at: Some((node, port)),
            how: LinkTraining {
                stuck,
                ..LinkTraining::default()
            },
        },
    }
}

fn of_node(topology: &Topology, what: FaultKind, name: &str) -> Result<Control, ExperimentError> {
    let node = find(topology, name)?.guid();
    if first_host(topology).is_some_and(|(host, _)| host == node) {
        return Err(fault(format!("the manager runs on {name:?}")));
    }
    match what {
        FaultKind::Down => Ok(Control::NodeDown { node }),
        FaultKind::Up => Ok(Control::NodeUp { node }),
        FaultKind::Reboot(off) => Ok(Control::Reboot {
            node,
            off_ns: u64::try_from(off.as_nanos()).unwrap_or(u64::MAX),
        }),
        _ => Err(fault(format!("{name:?} is a node, the fault is of a link"))),
    }
}

/// The one node of a description.
fn find<'a>(topology: &'a Topology, name: &str) -> Result<&'a Node, ExperimentError> {
    let nodes = topology.nodes().map(|(_, node)| node);
    let mut named = nodes.filter(|node| node.description.text() == name);
    match (named.next(), named.next()) {
        (Some(node), None) => Ok(node),
        (None, _) => Err(fault(format!("no node is called {name:?}"))),
        (Some(_), Some(_)) => Err(fault(format!("two nodes are called {name:?}"))),
    }
}

fn fault(what: String) -> ExperimentError {
    ExperimentError::Fault { what }
}
