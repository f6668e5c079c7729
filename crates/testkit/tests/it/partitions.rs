//! Partitions on an emulated fabric: permitted and forbidden pairs.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use crate::common::brought_up;
use weft_dataplane::{Network, PortIndex};
use weft_emulator::io::Control;
use weft_emulator::traffic::TrafficJob;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PKey, PortNum, powered_on};
use weft_manager::sm::Settings;
use weft_manager::sm::settings::{MANAGEMENT_KEY, Members, Partition, Selector};
use weft_testkit::NoTap;

fn secured(key: u16, hosts: &[Guid]) -> Partition {
    Partition {
        key,
        secured: true,
        full: Members::of(hosts.iter().copied().map(Selector::NodeGuid)),
        limited: Members::default(),
    }
}

fn ports(network: &Network) -> Vec<PortIndex> {
    let hfis = network.topology().hfis();
    let ports = hfis.map(|(id, _)| network.device_at(id).port(PortNum(1)).unwrap());
    ports.collect()
}

#[test]
fn hosts_of_two_partitions_reach_their_own_and_only_managers_manage() {
    let spec: FabricSpec = "one-switch:4".parse().unwrap();
    let mut topology = spec.generate().unwrap();
    powered_on::limit_managers(&mut topology, 1, &[]);
    let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let mut settings = Settings::default();
    settings.partitions.retain(|one| one.key == MANAGEMENT_KEY);
    settings.partitions.push(secured(5, &hosts[..2]));
    settings.partitions.push(secured(6, &hosts[2..]));
    let mut world = brought_up(Arc::new(topology), settings, NoTap);
    let network = world.emulator.network();
    let ports = ports(network);
    let key = |from: usize, to: usize| network.shared_key(ports[from], ports[to]);
    assert_eq!(
        (key(0, 1), key(1, 0)),
        (Some(PKey(0x8005)), Some(PKey(0x8005)))
    );
    assert_eq!(key(2, 3), Some(PKey(0x8006)));
    assert!(
        [(0, 2), (1, 3), (3, 0)]
            .iter()
            .all(|(a, b)| key(*a, *b).is_none())
    );
    let manages = |at: &PortIndex| network.port(*at).has_p_key(PKey::MGMT_FULL.0);
    let managers: Vec<bool> = ports.iter().map(manages).collect();
    assert_eq!(managers, [true, false, false, false]);
    // Each host sends to the next one: two of the four stay within their partition.
    let job = TrafficJob::new("next", "shift by=1".parse().unwrap());
    world.control(Control::TrafficStart(job)).unwrap();
    let report = world.emulator.traffic();
    assert_eq!((report.jobs[0].senders, report.jobs[0].blocked), (4, 2));
}
