//! A fabric against its topology file: every kind of wrong cable is found and called what it is, and none where
//! there is none.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::export::write_topology;
use weft_fabric::import::{import_topology, import_topology_with_lids};
use weft_fabric::intended::{
    Cable, Difference, Fault, Faults, Finding, Intended, Judgement, Look, Rules, compare, judge,
};
use weft_fabric::{Guid, Lid, Lmc, NodeId, PortNum, PortRef, Snapshot, Topology, TopologyBuilder};

use crate::common::{bring_up, generate};

/// Two switches with four hosts each, and two switches above them.
const FABRIC: &str = "pgft:2;4,2;1,2;1,1";

fn file(snapshot: &Snapshot) -> String {
    let mut text = Vec::new();
    write_topology(snapshot, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A fabric and its file.
fn world() -> (Topology, Intended) {
    let snapshot = bring_up(generate(FABRIC), 0);
    let intended = import_topology(file(&snapshot).as_bytes()).unwrap();
    ((*snapshot.topology).clone(), intended)
}

type Cables = Vec<(PortRef, PortRef)>;

/// The fabric with other cables.
fn recabled(topology: &Topology, change: impl FnOnce(&mut Cables)) -> Topology {
    let mut links: Cables = topology.links().collect();
    change(&mut links);
    let mut builder = TopologyBuilder::new();
    for (id, _) in topology.nodes() {
        let mut node = (**topology.node_shared(id).unwrap()).clone();
        let ports: Vec<PortNum> = node.ports().map(|(port, _)| port).collect();
        for port in ports {
            node.port_mut(port).unwrap().peer = None;
        }
        builder.add(node).unwrap();
    }
    for (a, b) in links {
        builder.connect(a, b).unwrap();
    }
    builder.build().unwrap()
}

/// Another node in place of one.
fn altered(topology: &Topology, id: NodeId, change: impl Fn(&mut weft_fabric::Node)) -> Topology {
    let mut builder = TopologyBuilder::new();
    for (node, _) in topology.nodes() {
        let mut copy = (**topology.node_shared(node).unwrap()).clone();
        if node == id {
            change(&mut copy);
        }
        builder.add(copy).unwrap();
    }
    builder.build().unwrap()
}

/// Without one node, and its cables.
fn without(topology: &Topology, id: NodeId) -> Topology {
    let number = |other: NodeId| NodeId(other.0 - u32::from(other.0 > id.0));
    let mut builder = TopologyBuilder::new();
    for (node, _) in topology.nodes().filter(|(node, _)| *node != id) {
        let mut copy = (**topology.node_shared(node).unwrap()).clone();
        let ports: Vec<PortNum> = copy.ports().map(|(port, _)| port).collect();
        for port in ports {
            let end = copy.port_mut(port).unwrap();
            let peer = end.peer.filter(|peer| peer.node != id);
            end.peer = peer.map(|peer| PortRef {
                node: number(peer.node),
                ..peer
            });
        }
        builder.add(copy).unwrap();
    }
    builder.build().unwrap()
}

fn host(topology: &Topology, place: usize) -> NodeId {
    topology.hfis().nth(place).unwrap().0
}

/// Where a host's cable is in a list.
fn cable(links: &Cables, node: NodeId) -> usize {
    links
        .iter()
        .position(|(a, b)| a.node == node || b.node == node)
        .unwrap()
}

/// Where a cable between switches is, and the next one from another switch.
fn isls(topology: &Topology, links: &Cables) -> Vec<usize> {
    let is_switch = |end: PortRef| topology.switch_index(end.node).is_some();
    let isl = |at: &usize| is_switch(links[*at].0) && is_switch(links[*at].1);
    (0..links.len()).filter(isl).collect()
}

fn spare(topology: &Topology, node: NodeId) -> PortRef {
    let ports = topology.node(node).unwrap().external_ports();
    let (port, _) = ports.last().unwrap();
    PortRef { node, port }
}

fn texts(found: &[Difference]) -> Vec<String> {
    let text = found.iter().map(ToString::to_string);
    text.map(|text| text.split(':').next().unwrap().to_owned())
        .collect()
}

fn strict(intended: &Intended, topology: &Topology) -> Judgement {
    judge(
        intended,
        topology,
        host(topology, 0),
        &Rules::all(Look::Enforce),
    )
}

#[test]
fn a_fabric_that_is_as_its_file_says_has_no_difference() {
    let (topology, intended) = world();
    assert_eq!(compare(&intended, &topology), []);
    assert_eq!(strict(&intended, &topology), Judgement::default());
    let sms = intended.sms();
    assert_eq!(
        sms[0].node_guid,
        Some(topology.node(host(&topology, 0)).unwrap().guid())
    );
}

#[test]
fn twelve_kinds_of_wrong_cables_are_found_and_named() {
    let (topology, intended) = world();
    let topology = wider(&topology);
    let h = |place| host(&topology, place);
    let swap = |links: &mut Cables, a: usize, b: usize| {
        let (first, second) = (links[a].1, links[b].1);
        (links[a].1, links[b].1) = (second, first);
    };
    let cases: Vec<(&str, Topology, &[&str])> = vec![
        (
            "two hosts of one switch are swapped",
            recabled(&topology, |links| {
                let (a, b) = (cable(links, h(1)), cable(links, h(2)));
                swap(links, a, b);
            }),
            &["swapped links"],
        ),
        (
            "two hosts of two switches are swapped",
            recabled(&topology, |links| {
                let (a, b) = (cable(links, h(1)), cable(links, h(6)));
                swap(links, a, b);
            }),
            &["swapped links"],
        ),
        (
            "a host is in a free port",
            recabled(&topology, |links| {
                let at = cable(links, h(3));
                let to = spare(&topology, links[at].1.node);
                links[at].1 = to;
            }),
            &["moved link"],
        ),
        (
            "a link between switches is missing",
            recabled(&topology, |links| {
                let at = isls(&topology, links)[0];
                links.remove(at);
            }),
            &["missing link"],
        ),
        (
            "a link between switches is extra",
            recabled(&topology, |links| {
                let (a, b) = links[isls(&topology, links)[0]];
                links.push((spare(&topology, a.node), spare(&topology, b.node)));
            }),
            &["unexpected link"],
        ),
        (
            "a cable from a switch to itself",
            recabled(&topology, |links| {
                let at = links[cable(links, h(1))].1.node;
                let last = spare(&topology, at);
                let other = PortRef {
                    port: PortNum(last.port.0 - 1),
                    ..last
                };
                links.push((other, last));
            }),
            &["unexpected link"],
        ),
        (
            "two links between switches are swapped",
            recabled(&topology, |links| {
                let isls = isls(&topology, links);
                let (first, last) = (isls[0], *isls.last().unwrap());
                swap(links, first, last);
            }),
            &["swapped links"],
        ),
        (
            "three hosts in a circle",
            recabled(&topology, |links| {
                let [a, b, c] = [1, 2, 5].map(|place| cable(links, h(place)));
                swap(links, a, b);
                swap(links, b, c);
            }),
            &["moved link", "moved link", "moved link"],
        ),
        (
            "a host is missing, and a link",
            {
                let less = recabled(&topology, |links| {
                    let at = isls(&topology, links)[1];
                    links.remove(at);
                });
                without(&less, h(4))
            },
            &["missing node", "missing link"],
        ),
        (
            "an HFI is replaced",
            altered(&topology, h(2), |node| {
                node.info.node_guid = Guid(0x0011_7501_01ff_0001);
                node.info.port_guid = node.info.node_guid;
            }),
            &["replaced node"],
        ),
        (
            "an HFI is replaced by one of another name",
            altered(&topology, h(2), |node| {
                node.info.node_guid = Guid(0x0011_7501_01ff_0001);
                node.info.port_guid = node.info.node_guid;
                node.description.node_string.0[..5].copy_from_slice(b"other");
            }),
            &["replaced node"],
        ),
        (
            "a host has another name, and two are swapped",
            {
                let swapped = recabled(&topology, |links| {
                    let (a, b) = (cable(links, h(1)), cable(links, h(2)));
                    swap(links, a, b);
                });
                altered(&swapped, h(5), |node| {
                    node.description.node_string.0[..5].copy_from_slice(b"other");
                })
            },
            &["wrong description", "swapped links"],
        ),
    ];
    assert_eq!(compare(&intended, &topology), []);
    for (what, fabric, expected) in cases {
        let found = compare(&intended, &fabric);
        assert_eq!(texts(&found), expected, "{what}: {found:#?}");
    }
}

/// The fabric with two more ports at each switch, without cables.
fn wider(topology: &Topology) -> Topology {
    let mut builder = TopologyBuilder::new();
    for (id, node) in topology.nodes() {
        let shared = topology.node_shared(id).unwrap();
        let Some(switch) = node.switch else {
            builder.add(Arc::clone(shared)).unwrap();
            continue;
        };
        let mut ports: Vec<weft_fabric::Port> =
            node.ports().map(|(_, port)| port.clone()).collect();
        for _ in 0..2 {
            let number = PortNum(ports.len() as u8);
            let kind = weft_fabric::enums::PortType::STANDARD;
            let info = weft_fabric::powered_on::switch_port(number, kind);
            ports.push(weft_fabric::Port { info, peer: None });
        }
        let mut info = node.info;
        info.num_ports += 2;
        let node = weft_fabric::Node::new(info, node.description, Some(switch), ports);
        builder.add(node.unwrap()).unwrap();
    }
    builder.build().unwrap()
}

/// What is found wrong, by the names of both ends.
fn named(topology: &Topology, findings: &[Finding]) -> Vec<(String, u8, String, u8, String)> {
    let name = |end: PortRef| topology.node(end.node).unwrap().name();
    let named = findings.iter().map(|one| {
        let (near, far) = (one.trusted, one.found);
        let faults = one.faults.to_string();
        (name(near), near.port.0, name(far), far.port.0, faults)
    });
    named.collect()
}

#[test]
fn the_node_at_the_far_end_is_judged_and_nothing_behind_it() {
    let (topology, intended) = world();
    let swapped = recabled(&topology, |links| {
        let (a, b) = (
            cable(links, host(&topology, 1)),
            cable(links, host(&topology, 2)),
        );
        let (first, second) = (links[a].1, links[b].1);
        (links[a].1, links[b].1) = (second, first);
    });
    let judged = strict(&intended, &swapped);
    let found = named(&swapped, &judged.findings);
    assert_eq!(found.len(), 2, "{found:?}");
    for (.., faults) in &found {
        assert_eq!(
            faults,
            "another NodeDesc, another NodeGUID, another PortGUID"
        );
    }
    assert!(judged.findings.iter().all(|one| one.enforced == one.faults));
    assert!(judged.behind.is_empty(), "hosts have one cable each");
}

#[test]
fn a_replaced_switch_is_left_out_with_what_only_it_leads_to() {
    let (topology, intended) = world();
    // The edge switch of the second four hosts.
    let last = host(&topology, 7);
    let edge = topology
        .links()
        .find(|(a, b)| a.node == last || b.node == last);
    let (a, b) = edge.unwrap();
    let edge = if a.node == last { b.node } else { a.node };
    let fabric = altered(&topology, edge, |node| {
        node.info.node_guid = Guid(0x0011_7501_02ff_0001);
    });
    let judged = strict(&intended, &fabric);
    let uplinks = judged.findings.len();
    assert_eq!(uplinks, 2, "{judged:?}");
    assert_eq!(judged.behind.len(), 4, "its four hosts: {judged:?}");
    let mut guid = Faults::default();
    guid.insert(Fault::NodeGuid);
    assert!(judged.findings.iter().all(|one| one.enforced == guid));
    let warned = judge(
        &intended,
        &fabric,
        host(&fabric, 0),
        &Rules::all(Look::Warn),
    );
    assert!(warned.behind.is_empty());
    // Its own links are not in the file either.
    assert!(warned.findings.len() > uplinks);
    assert!(warned.findings.iter().all(|one| one.enforced.is_empty()));
}

#[test]
fn the_manager_s_own_link_stays_in_use() {
    let (topology, intended) = world();
    let own = host(&topology, 0);
    let fabric = altered(&topology, own, |node| {
        node.info.node_guid = Guid(0x0011_7501_01ff_0001);
        node.info.port_guid = node.info.node_guid;
    });
    let judged = strict(&intended, &fabric);
    assert_eq!(judged.findings.len(), 1, "{judged:?}");
    assert!(judged.findings[0].enforced.is_empty());
    assert!(judged.own.contains(Fault::NodeGuid) && judged.own.contains(Fault::PortGuid));
    assert!(judged.behind.is_empty());
}

#[test]
fn an_hfi_in_the_place_of_the_file_s_one_is_that_one() {
    let (topology, intended) = world();
    for place in [0, 2] {
        let id = host(&topology, place);
        let old = topology.node(id).unwrap().guid();
        let is_other = altered(&topology, id, |node| {
            node.info.node_guid = Guid(0x0011_7501_01ff_0001);
            node.info.port_guid = node.info.node_guid;
            node.description.node_string.0[..5].copy_from_slice(b"other");
        });
        assert_eq!(texts(&compare(&intended, &is_other)), ["replaced node"]);
        let counts = altered(&is_other, id, |node| node.replaces = vec![Guid(7), old]);
        let node = counts.node(id).unwrap();
        assert!(node.counts_as(old) && node.counts_as(node.guid()) && !node.counts_as(Guid(8)));
        assert_eq!(texts(&compare(&intended, &counts)), ["wrong description"]);
        let judged = strict(&intended, &counts);
        assert!(judged.own.is_empty());
        let desc = |one: &Finding| one.faults.to_string() == "another NodeDesc";
        assert!(judged.findings.iter().all(desc), "{judged:?}");
        let lids = |node| intended.lids(intended.device(node).unwrap(), PortNum(1));
        assert!(lids(node).is_some());
        assert_eq!(lids(node), lids(topology.node(id).unwrap()));
    }
}

#[test]
fn an_exchanged_node_has_other_guids_and_the_same_cables() {
    let (mut topology, _) = world();
    let (id, other) = (host(&topology, 2), host(&topology, 3));
    let (old, taken) = (
        topology.node(id).unwrap().guid(),
        topology.node(other).unwrap().guid(),
    );
    let new = Guid(0x0011_7501_0100_00ff);
    assert!(topology.exchange(id, taken).is_err());
    topology.exchange(id, new).unwrap();
    assert_eq!((topology.find(old), topology.find(new)), (None, Some(id)));
    let node = topology.node(id).unwrap();
    assert_eq!(node.port_guid(PortNum(1)), Some(new));
    let port = PortRef {
        node: id,
        port: PortNum(1),
    };
    let back = topology.peer(topology.peer(port).unwrap());
    assert_eq!(back, Some(port));
}

#[test]
fn without_guids_nodes_are_known_by_their_descriptions() {
    let snapshot = bring_up(generate(FABRIC), 0);
    let text = file(&snapshot);
    let lines = text.lines().filter(|line| !line.contains("GUID>"));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let intended = import_topology(text.as_bytes()).unwrap();
    let topology = &*snapshot.topology;
    assert_eq!(compare(&intended, topology), []);
    let own = host(topology, 0);
    let rules = Rules {
        node_guid: Look::Off,
        port_guid: Look::Off,
        ..Rules::all(Look::Enforce)
    };
    assert_eq!(
        judge(&intended, topology, own, &rules),
        Judgement::default()
    );
    // With GUIDs looked at, no link is known.
    let judged = judge(&intended, topology, own, &Rules::all(Look::Warn));
    assert_eq!(judged.findings.len(), topology.links().count());
}

#[test]
fn each_file_that_makes_no_topology_is_refused_with_its_place() {
    let snapshot = bring_up(generate(FABRIC), 0);
    let text = file(&snapshot);
    let first_link = text.find("  <Link>").unwrap();
    let end_link = text.find("  </Link>\n").unwrap() + "  </Link>\n".len();
    let link = &text[first_link..end_link];
    let port = &link[link.find("    <Port>").unwrap()..link.find("    </Port>\n").unwrap() + 12];
    let guid = &text[text.find("<NodeGUID>").unwrap()..text.find("</NodeGUID>").unwrap()];
    for (what, text, why) in [
        ("nothing", String::new(), "no element"),
        ("another document", "<Snapshot/>".into(), "<Snapshot>"),
        (
            "no link",
            format!("{}</LinkSummary></Topology>", &text[..first_link]),
            "no cable",
        ),
        ("it ends early", text[..end_link].to_owned(), "ends early"),
        (
            "a link twice",
            text.replacen(link, &format!("{link}{link}"), 1),
            "a second cable at port",
        ),
        ("one end", text.replacen(port, "", 1), "1 <Port>"),
        (
            "an unknown node",
            text.replacen(guid, "<NodeGUID>0x7", 1),
            "not in <Nodes>",
        ),
        (
            "a long number",
            text.replace("<PortNum>1<", "<PortNum>999<"),
            "999",
        ),
        (
            "a host on its own",
            text.replacen(link, "", 1),
            "no cables join",
        ),
        (
            "two lists",
            text.replace("</Topology>", "<LinkSummary/></Topology>"),
            "second list",
        ),
    ] {
        let error = import_topology(text.as_bytes()).map(|_| what).unwrap_err();
        assert!(error.to_string().contains(why), "{what}: {error}");
    }
}

#[test]
fn the_vendor_s_own_file_is_read() {
    let text = include_bytes!("../data/fattree4.topology.xml");
    let intended = import_topology(text).unwrap();
    assert_eq!((intended.nodes().len(), intended.links().len()), (8, 8));
    assert_eq!(intended.sms().len(), 1);
}

/// Both ends of a cable, in order.
fn ends(cable: &Cable) -> [(Option<Guid>, PortNum); 2] {
    let mut ends = [&cable.a, &cable.b].map(|end| (end.node.guid, end.port));
    ends.sort_unstable();
    ends
}

/// All cables of a fabric, in order.
fn cables(topology: &Topology) -> BTreeSet<[(Option<Guid>, PortNum); 2]> {
    let end = |at: PortRef| (Some(topology.node(at.node).unwrap().guid()), at.port);
    let links = topology.links().map(|(a, b)| {
        let mut ends = [end(a), end(b)];
        ends.sort_unstable();
        ends
    });
    links.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Ends of cables change places at random, some cables are pulled: exactly the cables of the fabric that the file
    /// lacks are named as found, and exactly those of the file that are not there as intended.
    #[test]
    fn exactly_what_is_wrong_is_named(
        swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 0..6),
        pulled in prop::collection::vec(any::<usize>(), 0..3),
    ) {
        let (topology, intended) = world();
        let fabric = recabled(&topology, |links| {
            for (a, b) in &swaps {
                let (a, b) = (a % links.len(), b % links.len());
                let (first, second) = (links[a].1, links[b].1);
                (links[a].1, links[b].1) = (second, first);
            }
            for at in &pulled {
                links.remove(at % links.len());
            }
        });
        let (mut found, mut missing) = (BTreeSet::new(), BTreeSet::new());
        for difference in compare(&intended, &fabric) {
            match difference {
                Difference::MissingLink { intended } => drop(missing.insert(ends(&intended))),
                Difference::UnexpectedLink { found: cable } => drop(found.insert(ends(&cable))),
                Difference::MovedLink { intended, found: cable } => {
                    missing.insert(ends(&intended));
                    found.insert(ends(&cable));
                }
                Difference::SwappedLinks { intended, found: cables } => {
                    missing.extend(intended.iter().map(ends));
                    found.extend(cables.iter().map(ends));
                }
                other => prop_assert!(false, "{other}"),
            }
        }
        let (right, there) = (cables(&topology), cables(&fabric));
        prop_assert_eq!(found, there.difference(&right).copied().collect());
        prop_assert_eq!(missing, right.difference(&there).copied().collect());
        // A manager that reaches everything finds something wrong where, and only where, some cable is.
        let warned = judge(&intended, &fabric, host(&fabric, 0), &Rules::all(Look::Warn));
        let is_whole = warned.behind.is_empty();
        prop_assert!(!is_whole || there.is_subset(&right) || !warned.findings.is_empty());
        prop_assert!(warned.findings.is_empty() || !there.is_subset(&right));
    }

    #[test]
    fn mutated_files_do_no_harm(edits in prop::collection::vec((0..120_usize, 0..120_usize), 1..8)) {
        let snapshot = bring_up(generate(FABRIC), 0);
        let text = file(&snapshot);
        let mut lines: Vec<&str> = text.lines().collect();
        for (from, to) in edits {
            let (from, to) = (from % lines.len(), to % lines.len());
            match (from + to) % 3 {
                0 => lines.swap(from, to),
                1 => drop(lines.remove(from)),
                _ => lines.insert(to, lines[from]),
            }
        }
        if let Ok(intended) = import_topology(lines.join("\n").as_bytes()) {
            compare(&intended, &snapshot.topology);
            strict(&intended, &snapshot.topology);
        }
    }
}

/// What is wrong with the LIDs of a file.
fn lid_error(text: &str) -> String {
    let imported = import_topology_with_lids(text.as_bytes(), Lid(1_000));
    imported.unwrap_err().to_string()
}

#[test]
fn a_file_prescribes_the_lids_that_were_exported() {
    let snapshot = bring_up(generate(FABRIC), 1);
    let text = file(&snapshot);
    let intended = import_topology_with_lids(text.as_bytes(), Lid::MAX_UNICAST_16).unwrap();
    let mut highest = 0;
    for (port, lid, lmc) in snapshot.topology.end_ports() {
        let node = snapshot.topology.node(port.node).unwrap();
        let found = intended.device(node);
        assert_eq!(intended.lids(found.unwrap(), port.port), Some((lid, lmc)));
        highest = highest.max(lid.0 + lmc.lids());
    }
    let free = intended.free_lid(Lmc(2), Lid::MAX_UNICAST_16).unwrap();
    assert!(free.0 >= 4 && free.0.is_multiple_of(4) && free.0 <= highest.next_multiple_of(4));
    assert_eq!(intended.free_lid(Lmc(7), Lid(100)), None);
}

#[test]
fn lids_that_cannot_be_given_are_refused() {
    let snapshot = bring_up(generate(FABRIC), 1);
    let text = file(&snapshot);
    let (first, rest) = text.split_once("<LID>").unwrap();
    let (lid, rest) = rest.split_once("</LID><LMC>1<").unwrap();
    let (_, after) = rest.split_once("</Port>").unwrap();
    let with =
        |lid: &str, lmc: &str| format!("{first}<LID>{lid}</LID><LMC>{lmc}</LMC></Port>{after}");
    assert!(import_topology_with_lids(with(lid, "1").as_bytes(), Lid(1_000)).is_ok());
    for (lid, lmc, error) in [
        ("0", "0", "has LID 0x0000 with LMC 0"),
        ("999", "0", ""),
        ("1000", "1", "LIDs 1 to 0x03e8"),
        ("0xffffffff", "0", "LIDs 1 to 0x03e8"),
        ("501", "1", "multiples of 2^LMC"),
        ("512", "200", "LMC 0 to 7"),
        ("4", "1", "of node2 hfi1_0 is one of node1 hfi1_0 already"),
    ] {
        let text = with(lid, lmc);
        match error {
            "" => assert!(import_topology_with_lids(text.as_bytes(), Lid(1_000)).is_ok()),
            error => assert!(lid_error(&text).contains(error), "{}", lid_error(&text)),
        }
        import_topology(text.as_bytes()).unwrap();
    }
    let (before, _) = first.rsplit_once("<Port>").unwrap();
    let without = format!("{before}{after}");
    assert!(lid_error(&without).contains("node1 hfi1_0 has no LID"));
    let port = "<Port><PortNum>1</PortNum><LID>900</LID></Port>";
    let twice = format!("{before}{port}{port}{after}");
    let twice = import_topology(twice.as_bytes()).unwrap_err();
    assert!(
        twice.to_string().contains("a second description of port 1"),
        "{twice}"
    );
}
