//! The files in `examples/` match their README.
#![allow(clippy::unwrap_used)]

use weft_fabric::enums::LinkWidth;
use weft_fabric::import::import_fabric;
use weft_fabric::{Snapshot, Topology, powered_on};

fn example(name: &str) -> Snapshot {
    let path = format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"));
    import_fabric(&std::fs::read(path).unwrap()).unwrap()
}

fn size(topology: &Topology) -> (usize, usize, usize) {
    (
        topology.hfis().count(),
        topology.switches().len(),
        topology.links().count(),
    )
}

#[test]
fn four_hosts() {
    let topology = example("four-hosts.ibnetdiscover").topology;
    assert_eq!(size(&topology), (4, 4, 8));
    assert_eq!(topology.nodes().next().unwrap().1.name(), "login hfi1_0");
}

/// A power failure heals neither the lost cable nor the lost lanes.
#[test]
fn a_degraded_tree() {
    let snapshot = example("degraded.snapshot.xml");
    let restarted = powered_on::restart(&snapshot.topology).unwrap();
    for topology in [&*snapshot.topology, &restarted] {
        assert_eq!(size(topology), (6, 5, 6 + 5));
        let narrow = topology.links().filter(|(a, b)| {
            let widths = [a, b].map(|end| topology.port(*end).unwrap().width());
            assert_eq!(widths[0], widths[1]);
            widths[0] == LinkWidth::X2
        });
        let names = narrow.map(|(a, b)| [a, b].map(|end| topology.node(end.node).unwrap().name()));
        assert_eq!(names.collect::<Vec<_>>(), [["edge2", "core1"]]);
    }
    assert_eq!(snapshot.linear.len(), 5);
    assert_eq!(snapshot.sms.len(), 1);
}
