//! Whether the tables as the devices have them lead every host to every other.

use weft_fabric::enums::PortState;
use weft_testkit::view::{FabricView, NodeView};

/// Maximum number of switches on a path.
const HOPS_MAX: usize = 64;

/// Faults of a fabric that a manager should have made ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Ports whose link is up and that are not active.
    pub inactive: usize,
    /// Number of paths followed: from every HFI to every LID of every other.
    pub ways: usize,
    /// Number of paths that do not arrive.
    pub lost: usize,
    /// The first of those: source and LID.
    pub first_lost: Option<(String, u32)>,
}

impl Judgement {
    /// Whether there are no faults, and there was something to check.
    pub fn is_good(&self) -> bool {
        self.inactive == 0 && self.lost == 0 && self.ways > 0
    }
}

/// Judges a fabric by its registers.
pub fn judge(view: &FabricView) -> Judgement {
    let mut judgement = Judgement {
        inactive: inactive(view),
        ..Judgement::default()
    };
    let hosts: Vec<usize> = (0..view.nodes.len())
        .filter(|place| !view.nodes[*place].switch)
        .collect();
    for destination in &hosts {
        for lid in lids(&view.nodes[*destination]) {
            follow_all(view, &hosts, *destination, lid, &mut judgement);
        }
    }
    judgement
}

/// Ports whose link is up and that are not active.
pub fn inactive(view: &FabricView) -> usize {
    let ports = view.nodes.iter().flat_map(NodeView::external);
    ports
        .filter(|(_, port)| port.peer.is_some() && port.state != PortState::ACTIVE)
        .count()
}

fn lids(node: &NodeView) -> std::ops::Range<u32> {
    match node.end_port() {
        Some(port) if port.lid.0 != 0 => port.lid.0..port.lid.0 + port.lmc.lids(),
        _ => 0..1,
    }
}

fn follow_all(
    view: &FabricView,
    hosts: &[usize],
    destination: usize,
    lid: u32,
    judgement: &mut Judgement,
) {
    for source in hosts.iter().filter(|source| **source != destination) {
        judgement.ways += 1;
        if !arrives(view, *source, destination, lid) {
            judgement.lost += 1;
            let name = view.nodes[*source].guid.to_string();
            judgement.first_lost.get_or_insert((name, lid));
        }
    }
}

fn arrives(view: &FabricView, source: usize, destination: usize, lid: u32) -> bool {
    let peer = |place: usize, port: u8| {
        let port = view.nodes[place].ports.get(usize::from(port))?.as_ref()?;
        port.peer.map(|(place, _)| place)
    };
    let Some(mut here) = peer(source, 1) else {
        return false;
    };
    for _ in 0..HOPS_MAX {
        if here == destination {
            return true;
        }
        let egress = view.nodes[here].lft.get(lid as usize);
        match egress.and_then(|egress| peer(here, *egress)) {
            Some(next) => here = next,
            None => return false,
        }
    }
    false
}
