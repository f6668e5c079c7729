//! Planted faults: each is found once, named right, and nothing else is told; and nothing is left once it is mended.

use std::collections::BTreeSet;

use weft_emulator::io::Control;
use weft_emulator::{Claims, ErrorCounts};
use weft_fabric::import::import_fabric;
use weft_fabric::powered_on::restart;
use weft_fabric::{FabricSpec, Guid, NodeId, PortNum, Topology};
use weft_health::{Color, FigureName, Gone, Kind, Memory, Page, Target};
use weft_manager::io::Command;
use weft_manager::{PortAction, PortOrder};
use weft_peers::public_file;

use crate::lab::{Lab, ends, kinds};

/// A real fabric: 400 switches, 2,328 hosts.
pub(crate) const REAL: &str = "hdr-400sw-2328hca.ibnetdiscover";

fn fabric(spec: &str) -> Topology {
    spec.parse::<FabricSpec>().unwrap().generate().unwrap()
}

fn color(page: &Page, name: FigureName) -> Color {
    let mut figures = page.figures.iter();
    figures.find(|figure| figure.name == name).unwrap().color
}

/// What is missing is told by its kind; what has one name is no fault that was planted.
fn has_no_fault(lab: &mut Lab, what: &str) {
    lab.calm();
    let page = lab.page();
    let faults = page.findings.iter();
    let faults: Vec<_> = faults.filter(|one| one.kind != Kind::SameName).collect();
    assert_eq!(faults.len(), 0, "{what}: {faults:#?}");
    assert_eq!(page.color, Color::Green, "{what}: {:#?}", page.figures);
}

fn port_command(lab: &mut Lab, node: Guid, port: PortNum, action: PortAction) {
    let id = lab
        .world
        .command(Command::Port(PortOrder::new((node, port), action)));
    lab.pass(5);
    lab.world.reply(id).unwrap().unwrap();
    lab.sweep();
}

/// Everything that can be planted without reading counters.
fn faults_of_links_and_nodes(topology: Topology) {
    let mut lab = Lab::new(topology);
    has_no_fault(&mut lab, "as it is");
    let edge = lab.edge();
    let hosts = lab.hosts_of(edge);
    let host = hosts[0];
    let between = lab.link_between(edge);
    let of_host = lab.link_of(host);

    // A link between switches.
    let (node, port) = lab.end(between.0);
    lab.control(Control::LinkDown { node, port });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingLink, "{found:?}");
    assert_eq!(ends(&found), lab.key(between));
    assert_eq!(found.hosts as usize, hosts.len().max(1), "{found:?}");
    assert!(found.since.is_some());
    let page = lab.page();
    assert_eq!(color(&page, FigureName::Topology), Color::Yellow);
    assert_eq!(color(&page, FigureName::Stability), Color::Yellow);
    assert_eq!(page.color, Color::Yellow);
    lab.control(Control::LinkUp { node, port });
    lab.sweep();
    has_no_fault(&mut lab, "the link is back");

    // A host, by its cable and by its power.
    let (node, port) = lab.end(of_host.1);
    lab.control(Control::LinkDown { node, port });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingHost, "{found:?}");
    assert_eq!(ends(&found), lab.key(of_host));
    assert_eq!(found.host_names, [lab.name(host)]);
    let page = lab.page();
    assert_eq!(color(&page, FigureName::Endpoints), Color::Yellow);
    lab.control(Control::LinkUp { node, port });
    lab.sweep();
    has_no_fault(&mut lab, "the cable of the host is back");
    let guid = lab.guid(host);
    lab.control(Control::NodeDown { node: guid });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingHost, "{found:?}");
    assert!(found.what.contains("Polling"), "{found:?}");
    lab.control(Control::NodeUp { node: guid });
    lab.sweep();
    has_no_fault(&mut lab, "the host is back");

    // A switch with all its hosts, and one without.
    dead_switch(&mut lab, edge, &hosts);
    let upper = between.1.node;
    if lab.hosts_of(upper).is_empty() {
        dead_switch(&mut lab, upper, &[]);
    }

    // A port that is switched off.
    let (node, port) = lab.end(of_host.1);
    port_command(&mut lab, node, port, PortAction::Disable);
    let found = lab.only();
    assert_eq!(found.kind, Kind::Disabled, "{found:?}");
    assert_eq!((found.a.node, found.a.port), (node, Some(port)));
    assert_eq!(found.host_names, [lab.name(host)]);
    assert_eq!(
        found.next,
        format!("weft port enable nodeguid:{node}:port:{}", port.0)
    );
    port_command(&mut lab, node, port, PortAction::Enable);
    has_no_fault(&mut lab, "the port is on again");

    // Lanes of a cable.
    let (node, port) = lab.end(between.0);
    lab.control(Control::LinkLanes {
        node,
        port,
        lanes: 1,
    });
    lab.sweep();
    let found = lab.only();
    assert_eq!(ends(&found), lab.key(between));
    // Where it trained again, WidthPolicy refuses it.
    let carries_data = "1 lane instead of 4";
    let (kind, words) = match found.what.contains(carries_data) {
        true => (Kind::Degraded, carries_data),
        false => (Kind::Unused, "carries no data: it came up with 1 lane,"),
    };
    assert_eq!(found.kind, kind, "{found:?}");
    assert!(found.what.contains(words), "{found:?}");
    assert!(found.hosts > 0, "routes lead over it: {found:?}");
    lab.control(Control::LinkLanes {
        node,
        port,
        lanes: 4,
    });
    port_command(&mut lab, node, port, PortAction::Bounce);
    has_no_fault(&mut lab, "the lanes are back");

    // A link that flaps.
    for _ in 0..3 {
        lab.control(Control::LinkDown { node, port });
        lab.sweep();
        lab.control(Control::LinkUp { node, port });
        lab.sweep();
    }
    let found = lab.only();
    assert_eq!(found.kind, Kind::Flapping, "{found:?}");
    assert_eq!(ends(&found), lab.key(between));
    assert_eq!(found.times, 3);
    has_no_fault(&mut lab, "it flaps no more");

    // An agent that does not answer, at first in the fabric, later out of it.
    lab.sweep();
    lab.control(Control::Silence {
        node: guid,
        silent: true,
    });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::Silent, "{found:?}");
    assert_eq!(found.a.node, guid);
    assert_eq!(found.host_names, [lab.name(host)]);
    assert!(lab.snapshot().topology.find(guid).is_some());
    lab.pass(3_600);
    lab.sweep();
    assert!(lab.snapshot().topology.find(guid).is_none());
    let found = lab.only();
    assert_eq!(found.kind, Kind::Silent, "out of the fabric: {found:?}");
    assert_eq!(ends(&found), lab.key(of_host));
    lab.calm();
    lab.control(Control::Silence {
        node: guid,
        silent: false,
    });
    lab.sweep();
    let page = lab.page();
    assert_eq!(kinds(&page), [] as [Kind; 0], "it answers again");

    // Another HFI in the place of one.
    let new = Guid(guid.0 ^ 0x00F0_0000);
    lab.control(Control::Replace { node: guid, new });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::Replaced, "{found:?}");
    assert_eq!(found.a.node, guid);
    assert!(found.what.contains(&new.to_string()), "{found:?}");
    let target = Target::parse(&format!("nodeguid:{guid}"), &lab.memory).unwrap();
    lab.memory.forget(&target);
    let page = lab.page();
    assert_eq!(kinds(&page), [] as [Kind; 0], "it is forgotten");
}

/// A switch without power is one finding, whatever hung on it.
fn dead_switch(lab: &mut Lab, switch: NodeId, hosts: &[NodeId]) {
    let node = lab.guid(switch);
    lab.control(Control::NodeDown { node });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingSwitch, "{found:?}");
    assert_eq!(found.a.node, node);
    assert_eq!(found.hosts as usize, hosts.len(), "{found:?}");
    let color = if hosts.is_empty() {
        Color::Yellow
    } else {
        Color::Red
    };
    assert_eq!(found.color, color);
    // All that is gone with it is known.
    let gone = lab.page().gone;
    let of_it = hosts.iter().map(|host| lab.guid(*host));
    let of_it: BTreeSet<Guid> = of_it.chain([node]).collect();
    let guids = gone.nodes.iter().map(|gone| gone.guid);
    assert_eq!(guids.collect::<BTreeSet<_>>(), of_it);
    let peers = lab.topology.node(switch).unwrap().external_ports();
    let peers = peers.filter(|(_, port)| port.peer.is_some()).count();
    assert_eq!(gone.cables.len(), peers);
    // Without a memory, ports with a cable and no link are all that shows.
    let memory = std::mem::take(&mut lab.memory);
    let page = lab.page();
    assert!(!page.findings.is_empty());
    assert!(kinds(&page).iter().all(|kind| *kind == Kind::Down));
    lab.memory = memory;
    lab.control(Control::NodeUp { node });
    lab.sweep();
    lab.sweep();
    has_no_fault(lab, "the switch is back");
    assert_eq!(lab.page().gone, Gone::default());
}

#[test]
fn on_1152_hosts() {
    faults_of_links_and_nodes(fabric("fattree:1152"));
}

#[test]
fn on_a_real_fabric() {
    let Some(file) = public_file(REAL) else {
        return;
    };
    let bytes = std::fs::read(file).unwrap();
    let topology = restart(&import_fabric(&bytes).unwrap().topology).unwrap();
    faults_of_links_and_nodes(topology);
}

/// Faults that show in counters.
#[test]
fn errors_and_quality_are_found_and_their_trend_is_told() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    lab.read_counters();
    has_no_fault(&mut lab, "as it is");
    let edge = lab.edge();
    let between = lab.link_between(edge);
    let (node, port) = lab.end(between.0);
    let count = |symbol_errors| Control::CountErrors {
        node,
        port,
        errors: ErrorCounts {
            symbol_errors,
            ..ErrorCounts::default()
        },
    };
    // A cable of four lanes may have 368 in an hour.
    lab.control(count(300));
    lab.pass(120);
    assert_eq!(kinds(&lab.page()), [] as [Kind; 0]);
    lab.pass(3_600);
    lab.control(count(1_000));
    lab.pass(120);
    let found = lab.only();
    assert_eq!(found.kind, Kind::Errors, "{found:?}");
    assert_eq!(ends(&found), lab.key(between));
    assert_eq!((found.a.node, found.a.port), (node, Some(port)));
    assert!(
        found.what.contains(
            "LocalLinkIntegrityErrors 1000 in the last hour, rising; only in this direction"
        ),
        "{found:?}"
    );
    lab.pass(2_400);
    let found = lab.only();
    assert!(found.what.contains("falling"), "{found:?}");
    lab.pass(1_800);
    assert_eq!(kinds(&lab.page()), [] as [Kind; 0], "an hour later");

    let quality = |quality| Control::LinkQuality {
        node,
        port,
        quality,
    };
    lab.control(quality(3));
    lab.pass(130);
    let found = lab.only();
    assert_eq!(found.kind, Kind::Quality, "{found:?}");
    assert_eq!((found.a.node, found.a.port), (node, Some(port)));
    lab.control(quality(5));
    lab.pass(130);
    assert_eq!(kinds(&lab.page()), [] as [Kind; 0]);
}

#[test]
fn a_device_that_lies_is_refused_and_told_once() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let host = lab.hosts_of(lab.edge())[0];
    let (own, place) = lab.link_of(host);
    let node = lab.guid(host);
    let claims = Claims {
        node_guid: Some(Guid(0x0011_7501_0100_ABCD)),
        ..Claims::default()
    };
    lab.control(Control::Claim { node, claims });
    let (switch, port) = lab.end(place);
    port_command(&mut lab, switch, port, PortAction::Bounce);
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::Refused, "{found:?}");
    let b = found.b.unwrap();
    assert_eq!((b.node, b.port), (switch, Some(port)));
    assert_eq!(found.hosts, 1);
    assert_eq!(own.node, host);
}

/// A device with the GUID of another one is not let in, and is told by its place.
#[test]
fn a_duplicate_guid_is_refused_and_told() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let hosts = lab.hosts_of(lab.edge());
    let (_, place) = lab.link_of(hosts[0]);
    let claims = Claims {
        node_guid: Some(lab.guid(hosts[1])),
        ..Claims::default()
    };
    let node = lab.guid(hosts[0]);
    lab.control(Control::Claim { node, claims });
    let (switch, port) = lab.end(place);
    port_command(&mut lab, switch, port, PortAction::Bounce);
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::Refused, "{found:?}");
    assert_eq!(found.b.unwrap().port, Some(port));
    assert_eq!(found.a.node, lab.guid(hosts[1]), "as it says");
}

#[test]
fn a_port_that_does_not_become_active_is_told() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let between = lab.link_between(lab.edge());
    let (node, port) = lab.end(between.0);
    lab.control(Control::RefuseArm {
        node,
        port,
        refuse: true,
    });
    port_command(&mut lab, node, port, PortAction::Bounce);
    lab.sweep();
    lab.calm();
    let found = lab.only();
    assert_eq!(found.kind, Kind::Unused, "{found:?}");
    assert_eq!(ends(&found), lab.key(between));
}

/// Two switches that die at once are two findings, and a pod that is cut off by a cable is one.
#[test]
fn two_causes_are_two_findings() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let edge = lab.edge();
    let upper = lab.link_between(edge).1.node;
    for switch in [edge, upper] {
        let node = lab.guid(switch);
        lab.control(Control::NodeDown { node });
    }
    lab.sweep();
    let page = lab.page();
    assert_eq!(kinds(&page), [Kind::MissingSwitch; 2], "{page:#?}");
    assert_eq!(page.findings[0].a.node, lab.guid(edge), "hosts cost most");
    assert_eq!(page.findings[0].hosts, 4);

    // Behind a single cable, a switch and what hangs on it.
    let mut lab = Lab::new(fabric("pgft:2;2,2;1,1;1,1;radix=4"));
    let edge = lab.edge();
    let between = lab.link_between(edge);
    let (node, port) = lab.end(between.1);
    lab.control(Control::LinkDown { node, port });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingSwitch);
    assert_eq!((found.a.node, found.hosts), (lab.guid(edge), 2));
}

/// Without its own cable the manager sees nothing: that is one cause, too.
#[test]
fn a_manager_that_is_cut_off_misses_one_switch() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let own = lab.topology.find(lab.world.host().0).unwrap();
    let (near, far) = lab.link_of(own);
    let (node, port) = lab.end(near);
    lab.control(Control::LinkDown { node, port });
    lab.sweep();
    let found = lab.only();
    assert_eq!(found.kind, Kind::MissingSwitch, "{found:?}");
    assert_eq!(found.a.node, lab.guid(far.node));
    assert_eq!(found.hosts, 15);
    assert_eq!(lab.page().color, Color::Red);
    lab.control(Control::LinkUp { node, port });
    lab.sweep();
    has_no_fault(&mut lab, "its cable is back");
}

/// A memory outlasts a restart: what is missing then is told by the first page.
#[test]
fn what_was_there_is_missed_after_a_restart() {
    let mut lab = Lab::new(fabric("pgft:2;4,4;1,4;1,1;radix=8"));
    let host = lab.hosts_of(lab.edge())[0];
    let stored = lab.memory.encode(7);
    let node = lab.guid(host);
    lab.control(Control::NodeDown { node });
    lab.memory = Memory::decode(&stored, 7).unwrap();
    lab.sweep();
    let found = lab.only();
    assert_eq!((found.kind, found.a.node), (Kind::MissingHost, node));
    assert_eq!(found.a.name, lab.name(host));
}
