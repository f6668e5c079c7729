//! The subnet manager with settings of a file, on an emulated fabric.

use std::collections::BTreeSet;
use std::time::Duration;

use weft_emulator::io::{Control, Faults, LinkTrap};
use weft_emulator::{Claims, Options};
use weft_fabric::powered_on::{let_interleave, limit_managers};
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Topology};
use weft_manager::{Event, ManagerSettings, Sa, SaInput, SaOutput};
use weft_wire::header::method;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;

use super::case::{Case, Scene};
use super::services::{create_and_leave, joins};
use crate::common::{World, fabric, far_link, latency};
use crate::sa::client::Served;

/// Place of the method in a datagram, and of its transaction identifier.
const METHOD: usize = 3;
const TRANSACTION: std::ops::Range<usize> = 8..16;

/// Where a fabric is after its scene.
pub(super) fn world(case: &Case, settings: &ManagerSettings) -> World {
    let options = Options {
        faults: match case.scene {
            Scene::Lossy => Faults {
                loss: 0.05,
                ..Faults::default()
            },
            _ => Faults::default(),
        },
        ..latency()
    };
    let mut world = World::with(topology(case), settings.sm.clone(), options, None);
    world.sent = Some(Vec::new());
    before(case.scene, &mut world);
    world.sweep();
    let mut served = served(&world, settings);
    joins(&mut served);
    tell_groups(&mut served, &mut world);
    world.run_for(5.0);
    if case.scene == Scene::EndsGroups {
        end_groups(&mut served, &mut world);
    }
    after(case.scene, &mut world);
    world
}

/// A host ends groups, one a second; the subnet manager is told what subnet administration makes of that.
fn end_groups(served: &mut Served, world: &mut World) {
    for _ in 0..5 {
        served.now = served.now + Duration::from_secs(1);
        create_and_leave(served, 3);
        for output in std::mem::take(&mut served.other) {
            if let SaOutput::Storm(storm) = output {
                let input = weft_manager::Input::MulticastStorm(storm);
                world.manager.handle(world.now, input);
            }
        }
        world.run_for(1.0);
    }
}

/// The fabric as it is switched on.
fn topology(case: &Case) -> Topology {
    let mut topology = fabric(case.fabric);
    limit_managers(&mut topology, 1, &[]);
    if case.interleaves {
        let_interleave(&mut topology);
    }
    for id in topology.switches().to_vec() {
        let info = topology.node_mut(id).unwrap().switch.as_mut().unwrap();
        info.is_addr_range_config_supported = true;
    }
    if case.scene == Scene::Chassis {
        for id in topology.switches().to_vec().into_iter().take(3) {
            let info = &mut topology.node_mut(id).unwrap().info;
            info.system_image_guid = Guid(0xC);
        }
    }
    topology
}

/// Subnet administration with the fabric as it is.
pub(super) fn served(world: &World, settings: &ManagerSettings) -> Served {
    let mut sa = Sa::new(settings.sa.clone());
    sa.handle(world.now, SaInput::RegistrationsLost { asked: 0 });
    Served::with(sa, world.manager.snapshot())
}

/// Tells the subnet manager the groups of subnet administration, as they are a second later.
pub(super) fn tell_groups(served: &mut Served, world: &mut World) {
    served.now = served.now + Duration::from_secs(1);
    served.sa.handle(served.now, SaInput::Tick);
    let outputs = std::iter::from_fn(|| served.sa.poll());
    let groups = outputs.filter_map(|output| match output {
        SaOutput::Multicast(groups) => Some(groups),
        _ => None,
    });
    if let Some(groups) = groups.last() {
        let input = weft_manager::Input::Multicast(groups);
        world.manager.handle(world.now, input);
    }
}

fn last_host(world: &World) -> (Guid, PortNum) {
    let (_, host) = world.topology.hfis().last().unwrap();
    (host.guid(), PortNum(1))
}

/// The switches with the higher numbers.
fn later_half(world: &World) -> Vec<Guid> {
    let switches = world.topology.switches();
    let later = &switches[switches.len() / 2..];
    let guid = |id: &NodeId| world.topology.node(*id).unwrap().guid();
    later.iter().map(guid).collect()
}

/// The links of a mesh's second switch in its second row onwards along the row, and to the first row.
fn holes(world: &World) -> [(Guid, PortNum); 2] {
    let mut nodes = world.topology.nodes();
    let here = nodes.find(|(_, node)| node.name() == "switch-1-1").unwrap();
    let port_to = |name: &str| {
        let mut ports = here.1.external_ports();
        let leads = |peer: PortRef| world.topology.node(peer.node).unwrap().name() == name;
        let (port, _) = ports
            .find(|(_, port)| port.peer.is_some_and(leads))
            .unwrap();
        (here.1.guid(), port)
    };
    ["switch-2-1", "switch-1-0"].map(port_to)
}

/// What the last node of a kind claims about itself: a switch where it is about multicast, else a host.
fn claims(scene: Scene) -> Option<Claims> {
    let none = Claims::default();
    match scene {
        Scene::Liar => Some(Claims {
            port_guid: Some(Guid(1)),
            ..none
        }),
        Scene::RefusesMulticast => Some(Claims {
            refuses: Some(AttributeId::MULTICAST_FDB),
            ..none
        }),
        Scene::OneLane => Some(Claims {
            lanes: Some(1),
            ..none
        }),
        _ => None,
    }
}

fn before(scene: Scene, world: &mut World) {
    if scene == Scene::Grows {
        for node in later_half(world) {
            world.control(Control::NodeDown { node });
        }
    }
    if scene == Scene::Holes {
        for (node, port) in holes(world) {
            world.control(Control::LinkDown { node, port });
        }
    }
    if scene == Scene::UncheckedFirmware {
        let node = later_half(world)[0];
        let unchecked = true;
        world.control(Control::UncheckedFirmware { node, unchecked });
    }
    if let Some(claims) = claims(scene) {
        let node = match scene {
            Scene::RefusesMulticast => later_half(world)[0],
            _ => last_host(world).0,
        };
        world.control(Control::Claim { node, claims });
    }
    let (node, port) = match scene {
        Scene::NarrowIsl => far_link(world),
        Scene::NarrowHost => last_host(world),
        _ => return,
    };
    world.control(Control::LinkDown { node, port });
    world.control(Control::LinkLanes {
        node,
        port,
        lanes: 2,
    });
    world.control(Control::LinkUp { node, port });
}

/// A link between switches goes down and comes back, each for so many seconds.
fn flap(world: &mut World, times: usize, seconds: f64) {
    let (node, port) = far_link(world);
    for _ in 0..times {
        world.control(Control::LinkDown { node, port });
        world.run_for(seconds);
        world.control(Control::LinkUp { node, port });
        world.run_for(seconds);
    }
}

fn after(scene: Scene, world: &mut World) {
    match scene {
        Scene::Long => world.run_for(1200.0),
        Scene::LosesLanes | Scene::HostLosesLanes => {
            let (node, port) = match scene {
                Scene::LosesLanes => far_link(world),
                _ => last_host(world),
            };
            for lanes in [3, 2] {
                world.control(Control::LinkLanes { node, port, lanes });
                world.run_for(2.0);
                world.forced_sweep();
            }
        }
        Scene::Flap => {
            flap(world, 2, 0.3);
            world.run_for(20.0);
        }
        Scene::LinkErrors => {
            let (node, port) = far_link(world);
            for _ in 0..30 {
                world.control(Control::LinkErrors {
                    node,
                    port,
                    trap: LinkTrap::Integrity,
                });
                world.run_for(1.0);
            }
        }
        Scene::Flaps => {
            flap(world, 5, 1.0);
            world.run_for(600.0);
        }
        Scene::Grows => {
            for node in later_half(world) {
                world.control(Control::NodeUp { node });
            }
            world.run_for(20.0);
        }
        Scene::HostsGoSilent | Scene::SweepOfSilentHosts => {
            world.run_for(5.0);
            for (_, host) in world.topology.clone().hfis().skip(1) {
                let node = host.guid();
                world.control(Control::Silence { node, silent: true });
            }
            if scene == Scene::SweepOfSilentHosts {
                world.forced_sweep();
                world.run_for(20.0);
            }
        }
        Scene::Silent => {
            let (node, _) = last_host(world);
            world.control(Control::Silence { node, silent: true });
            for _ in 0..8 {
                world.forced_sweep();
                world.run_for(60.0);
            }
        }
        _ => world.run_for(20.0),
    }
}

/// A datagram without its transaction identifier, which only counts.
fn plain(packet: &Packet) -> Vec<u8> {
    let mut mad = packet.mad.clone();
    mad[TRANSACTION].fill(0);
    mad
}

/// The engine and its notes, sweep by sweep.
pub(super) fn routing(case: &Case, settings: &ManagerSettings) -> String {
    let events = world(case, settings).events.into_iter();
    let told = events.filter_map(|event| match event {
        Event::SweepEnded(report) => Some(report.routing),
        _ => None,
    });
    told.collect()
}

/// Links that are not as the topology file has them, devices that are not let in, and links without use.
pub(super) fn against_file(case: &Case, settings: &ManagerSettings) -> String {
    let events = world(case, settings).events.into_iter();
    let told = events.filter_map(|event| match event {
        Event::TopologyFault(fault) => Some(fault.to_string()),
        Event::TopologyFaultsUntold { count } => Some(format!("{count} more")),
        Event::DeviceRefused(refused) => Some(refused.to_string()),
        Event::LinkUnused(link) => Some(format!("unused: {} {}", link.a, link.reason)),
        _ => None,
    });
    told.collect()
}

/// The distinct Sets of the manager.
pub(super) fn writes(case: &Case, settings: &ManagerSettings) -> String {
    let world = world(case, settings);
    let sent = world.sent.unwrap();
    let sets = sent.iter().filter(|sent| sent.mad[METHOD] == method::SET);
    let sets: BTreeSet<Vec<u8>> = sets.map(plain).collect();
    format!("{sets:?}")
}

/// The datagrams of the manager in order, and its sweeps with their times.
pub(super) fn datagrams(case: &Case, settings: &ManagerSettings) -> String {
    let world = world(case, settings);
    let sent: Vec<Vec<u8>> = world.sent.iter().flatten().map(plain).collect();
    let sweeps: Vec<(u64, u64)> = world
        .reports()
        .iter()
        .map(|report| (report.number, report.elapsed_ns))
        .collect();
    format!("{:?} {sweeps:?} {sent:?}", world.events.len())
}
