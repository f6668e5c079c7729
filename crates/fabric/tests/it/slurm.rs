//! Topology files of Slurm. What is expected is computed from the names that generated fabrics have.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use weft_fabric::export::slurm::{
    Change, KnownNodes, Note, Placed, Plugin, Refusal, Request, Shape, SlurmTopology, place,
    read_conf, read_yaml, write_conf, write_yaml,
};
use weft_fabric::{NodeId, PortRef, Topology};
use weft_wire::sm::NodeDescription;

use crate::common::generate;

type Lists = BTreeMap<String, BTreeSet<String>>;

fn known(text: &str) -> KnownNodes {
    KnownNodes::read(text).unwrap()
}

fn request<'a>(known: &'a KnownNodes, shape: Shape, old: Option<&'a SlurmTopology>) -> Request<'a> {
    Request {
        known,
        plugin: Plugin::Tree,
        shape,
        block_sizes: &[],
        old,
        prune: false,
    }
}

fn numbered(prefix: &str, numbers: impl Iterator<Item = usize>) -> BTreeSet<String> {
    numbers.map(|number| format!("{prefix}{number}")).collect()
}

/// Edge switches with equal numbers of hosts, which are numbered through.
fn edges(switches: usize, hosts: usize) -> Lists {
    let nodes = |edge| numbered("node", edge * hosts + 1..(edge + 1) * hosts + 1);
    (0..switches)
        .map(|edge| (format!("edge{}", edge + 1), nodes(edge)))
        .collect()
}

fn cut(topology: &mut Topology, node: NodeId) {
    let ports: Vec<_> = topology
        .node(node)
        .unwrap()
        .external_ports()
        .map(|(port, _)| port)
        .collect();
    for port in ports {
        topology.disconnect(PortRef { node, port });
    }
}

fn named(topology: &Topology, name: &str) -> NodeId {
    let mut nodes = topology.nodes();
    nodes.find(|(_, node)| node.name() == name).unwrap().0
}

fn rename(topology: &mut Topology, name: &str, new: &str) {
    let id = named(topology, name);
    topology.node_mut(id).unwrap().description = NodeDescription::from_text(new);
}

#[test]
fn a_fat_tree_of_two_tiers() {
    let fabric = generate("fattree:1152");
    let known = known("node[1-1152]");
    let full = place(&fabric, &request(&known, Shape::Full, None));
    assert_eq!(full.notes, []);
    assert_eq!(full.topology.leaves, edges(48, 24));
    let all = numbered("edge", 1..49);
    let cores = (1..25).map(|core| (format!("core{core}"), all.clone()));
    assert_eq!(full.topology.above, cores.collect());
    let skeleton = place(&fabric, &request(&known, Shape::Skeleton, None)).topology;
    assert_eq!(skeleton.leaves, edges(48, 24));
    assert_eq!(skeleton.above, Lists::from([("fabric".to_owned(), all)]));
    let text = write_conf(&skeleton);
    assert!(
        text.contains("\nSwitchName=edge1 Nodes=node[1-24]\nSwitchName=edge2 Nodes=node[25-48]\n"),
        "{text}"
    );
    assert!(
        text.ends_with("\nSwitchName=fabric Switches=edge[1-48]\n"),
        "{text}"
    );
}

#[test]
fn a_fat_tree_of_three_tiers() {
    // Two pods of two edges and two spines, and cores that join the pods.
    let fabric = generate("pgft:3;3,2,2;1,2,2;1,1,1");
    let known = known("node[1-12]");
    let full = place(&fabric, &request(&known, Shape::Full, None)).topology;
    assert_eq!(full.leaves, edges(4, 3));
    let spines: Vec<(&String, &BTreeSet<String>)> = full
        .above
        .iter()
        .filter(|(name, _)| name.starts_with("spine"))
        .collect();
    assert_eq!(spines.len(), 4, "{spines:?}");
    let pods = [numbered("edge", 1..3), numbered("edge", 3..5)];
    for pod in &pods {
        assert_eq!(spines.iter().filter(|(_, below)| *below == pod).count(), 2);
    }
    let cores = full
        .above
        .iter()
        .filter(|(name, _)| name.starts_with("core"));
    for (core, below) in cores.clone() {
        let reached: BTreeSet<&String> =
            below.iter().flat_map(|spine| &full.above[spine]).collect();
        assert_eq!(reached.len(), 4, "{core}: {below:?}");
    }
    assert_eq!(cores.count(), 4);
    assert!(!full.above.contains_key("fabric"));
}

#[test]
fn blocks_are_leaf_switches() {
    let fabric = generate("pgft:2;4,3;1,2;1,1");
    let known = known("node[1-11]");
    let blocks = Request {
        plugin: Plugin::Block,
        ..request(&known, Shape::Full, None)
    };
    let placed = place(&fabric, &blocks);
    assert_eq!(placed.notes, [Note::Unknown(vec!["node12".to_owned()])]);
    let text = write_conf(&placed.topology);
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let expected = [
        "BlockName=edge1 Nodes=node[1-4]",
        "BlockName=edge2 Nodes=node[5-8]",
        "BlockName=edge3 Nodes=node[9-11]",
        "BlockSizes=3",
    ];
    assert_eq!(lines, expected);
    let sizes = Request {
        block_sizes: &[4, 8],
        ..blocks
    };
    assert!(write_conf(&place(&fabric, &sizes).topology).ends_with("\nBlockSizes=4,8\n"));
    assert_eq!(read_conf(&text).unwrap(), placed.topology);
    assert_eq!(
        read_yaml(&write_yaml(&placed.topology)).unwrap(),
        placed.topology
    );
}

#[test]
fn a_torus_and_parted_fabrics_get_roots() {
    let torus = generate("torus:3x3,hosts=2");
    let known_nodes = known("node[1-18]");
    for shape in [Shape::Full, Shape::Skeleton] {
        let placed = place(&torus, &request(&known_nodes, shape, None)).topology;
        assert_eq!(placed.leaves.len(), 9);
        let all: BTreeSet<String> = placed.leaves.keys().cloned().collect();
        assert_eq!(
            placed.above,
            Lists::from([("fabric".to_owned(), all)]),
            "{shape:?}"
        );
    }
    let mut parted = generate("pgft:2;2,4;1,2;1,1");
    for (core, lost) in [("core1", ["edge3", "edge4"]), ("core2", ["edge1", "edge2"])] {
        let core = named(&parted, core);
        for edge in lost.map(|edge| named(&parted, edge)) {
            let ends: Vec<_> = parted.links().collect();
            let is_between = |(a, b): &&(PortRef, PortRef)| {
                (a.node == edge && b.node == core) || (a.node == core && b.node == edge)
            };
            let (end, _) = *ends.iter().find(is_between).unwrap();
            assert!(parted.disconnect(end));
        }
    }
    let known_nodes = known("node[1-8]");
    let placed = place(&parted, &request(&known_nodes, Shape::Skeleton, None)).topology;
    let roots = [("fabric", 1..3), ("fabric2", 3..5)];
    let roots = roots.map(|(root, below)| (root.to_owned(), numbered("edge", below)));
    assert_eq!(placed.above, Lists::from(roots));
    // A fabric that was whole and is in parts keeps its root.
    let whole = place(
        &generate("pgft:2;2,4;1,2;1,1"),
        &request(&known_nodes, Shape::Skeleton, None),
    )
    .topology;
    let again = place(
        &parted,
        &request(&known_nodes, Shape::Skeleton, Some(&whole)),
    )
    .topology;
    assert_eq!(again, whole);
}

#[test]
fn hosts_at_a_core_have_a_leaf_of_their_own_there() {
    let mut fabric = generate("pgft:2;4,3;1,2;1,1");
    let (host, core) = (named(&fabric, "node12 hfi1_0"), named(&fabric, "core1"));
    cut(&mut fabric, host);
    let fabric = connect(&fabric, host, core);
    let known = known("node[1-12]");
    let full = place(&fabric, &request(&known, Shape::Full, None)).topology;
    assert_eq!(full.leaves["core1_nodes"], numbered("node", 12..13));
    assert!(full.above["core1"].contains("core1_nodes"));
    assert_eq!(full.above["core2"], numbered("edge", 1..4));
    let skeleton = place(&fabric, &request(&known, Shape::Skeleton, None)).topology;
    assert_eq!(skeleton.leaves["core1"], numbered("node", 12..13));
}

/// The fabric with one more cable, between the first free ports of two nodes.
fn connect(fabric: &Topology, a: NodeId, b: NodeId) -> Topology {
    let mut builder = weft_fabric::TopologyBuilder::new();
    for node in fabric.nodes_shared() {
        builder.add(node.clone()).unwrap();
    }
    let free = |node: NodeId| {
        let ports = fabric.node(node).unwrap();
        let port = ports.external_ports().find(|(_, port)| port.peer.is_none());
        PortRef {
            node,
            port: port.unwrap().0,
        }
    };
    builder.connect(free(a), free(b)).unwrap();
    builder.build().unwrap()
}

#[test]
fn a_host_that_moves_moves_alone() {
    let fabric = generate("pgft:2;4,3;1,2;1,1");
    let known = known("node[1-12]");
    let old = place(&fabric, &request(&known, Shape::Full, None)).topology;
    let mut moved = fabric.clone();
    for host in ["node1 hfi1_0", "node12 hfi1_0"].map(|name| named(&fabric, name)) {
        cut(&mut moved, host);
    }
    let moved = connect(
        &moved,
        named(&fabric, "node1 hfi1_0"),
        named(&fabric, "edge3"),
    );
    let new = place(&moved, &request(&known, Shape::Full, Some(&old)));
    let change = Change::between(&old, &new.topology);
    let expected = [("node1", "edge1", "edge3")];
    let expected =
        expected.map(|(node, from, to)| (node.to_owned(), from.to_owned(), to.to_owned()));
    assert_eq!(
        change,
        Change {
            moved: expected.to_vec(),
            ..Change::default()
        }
    );
    assert_eq!(new.notes, [Note::Kept(vec!["node12".to_owned()])]);
    let pruned = Request {
        prune: true,
        ..request(&known, Shape::Full, Some(&old))
    };
    let pruned = place(&moved, &pruned);
    assert_eq!(pruned.notes, [Note::Unplaced(vec!["node12".to_owned()])]);
    assert_eq!(Change::between(&old, &pruned.topology).removed, ["node12"]);
}

#[test]
fn names_are_valid_and_differ() {
    let mut fabric = generate("pgft:2;2,4;1,2;1,1");
    for (name, new) in [
        ("edge1", "leaf [1]=#"),
        ("edge2", "leaf,1="),
        ("edge3", "fabric"),
        ("edge4", ""),
    ] {
        rename(&mut fabric, name, new);
    }
    let known = known("node[1-8]");
    let placed = place(&fabric, &request(&known, Shape::Skeleton, None)).topology;
    let names: Vec<&str> = placed.leaves.keys().map(String::as_str).collect();
    let guid = |number| format!("001175010200000{number}");
    let expected = [
        format!("_{}", guid(4)),
        format!("fabric_{}", guid(3)),
        format!("leaf_1__{}", guid(1)),
        format!("leaf_1__{}", guid(2)),
    ];
    assert_eq!(names, expected);
    for text in [write_conf(&placed), write_yaml(&placed)] {
        let read = if text.contains("---") {
            read_yaml(&text)
        } else {
            read_conf(&text)
        };
        assert_eq!(read.unwrap(), placed, "{text}");
    }
    // The name stays when the other switch of that name is gone.
    let gone = named(&fabric, "leaf,1=");
    let nodes: Vec<_> = fabric.nodes().map(|(id, _)| id).collect();
    let mut builder = weft_fabric::TopologyBuilder::new();
    cut(&mut fabric, gone);
    let hosts = ["node3 hfi1_0", "node4 hfi1_0"].map(|name| named(&fabric, name));
    assert!(nodes.contains(&gone));
    rename(&mut fabric, "leaf,1=", "other");
    for node in fabric.nodes_shared() {
        builder.add(node.clone()).unwrap();
    }
    let fabric = builder.build().unwrap();
    assert!(hosts.iter().all(|host| {
        fabric
            .node(*host)
            .unwrap()
            .external_ports()
            .all(|(_, port)| port.peer.is_none())
    }));
    let again = place(&fabric, &request(&known, Shape::Skeleton, Some(&placed))).topology;
    assert_eq!(again, placed);
}

#[test]
fn a_host_with_two_hfis_is_placed_once() {
    let mut fabric = generate("pgft:2;4,2;1,2;1,1");
    // node1 to node4 have a second HFI, at the other edge.
    for number in 1..5 {
        rename(
            &mut fabric,
            &format!("node{} hfi1_0", number + 4),
            &format!("node{number} hfi1_1"),
        );
    }
    let known = known("node[1-4]");
    let placed = place(&fabric, &request(&known, Shape::Full, None));
    let old = placed.topology;
    assert_eq!(
        old.leaves,
        Lists::from([("edge1".to_owned(), numbered("node", 1..5))])
    );
    // With the first HFI off, a host is where it was.
    let host = named(&fabric, "node2 hfi1_0");
    cut(&mut fabric, host);
    let again = place(&fabric, &request(&known, Shape::Full, Some(&old)));
    assert_eq!(again.topology, old);
    assert_eq!(again.notes, []);
}

#[test]
fn nothing_and_less_than_half_are_refused() {
    let fabric = generate("one-switch:4");
    let (all, few, none) = (known("node[1-4]"), known("node1"), known("x[1-4]"));
    let old = place(&fabric, &request(&all, Shape::Full, None)).topology;
    let admitted = |known: &KnownNodes| {
        let new = place(&fabric, &request(known, Shape::Full, Some(&old))).topology;
        Change::between(&old, &new).admit(&old, &new)
    };
    assert_eq!(admitted(&all), Ok(()));
    assert_eq!(admitted(&known("node[1-2]")), Ok(()));
    assert_eq!(admitted(&few), Err(Refusal::Lost { lost: 3, before: 4 }));
    assert_eq!(admitted(&none), Err(Refusal::Empty));
}

#[test]
fn files_that_are_not_understood_are_refused_with_their_line() {
    for (text, line, why) in [
        ("SwitchName=a Nodes=n[1-\n", 1, "do not match"),
        ("# x\nSwitchName=a[1-2] Nodes=n1", 2, "no name of a single"),
        ("include other.conf", 1, "are understood"),
        ("BlockSizes=x", 1, "no list of sizes"),
    ] {
        let error = read_conf(text).unwrap_err();
        assert_eq!(error.line, line, "{text}");
        assert!(error.what.contains(why), "{error}");
    }
    let byhand = "SwitchName=a \\\n  Nodes=n[1-2] LinkSpeed=100 # all\nswitchname=top switches=a,b";
    let read = read_conf(byhand).unwrap();
    assert_eq!(
        read.leaves,
        Lists::from([("a".to_owned(), numbered("n", 1..3))])
    );
    assert_eq!(
        read.above["top"],
        BTreeSet::from(["a".to_owned(), "b".to_owned()])
    );
    for text in [
        "- topology: other\n",
        "- topology: weft\n  flat: true\n",
        "nodes: n1",
        "junk",
    ] {
        assert!(
            read_yaml(text).unwrap_err().what.contains("is not what"),
            "{text}"
        );
    }
}

fn placed_again(fabric: &Topology, shape: Shape, old: &SlurmTopology, hosts: usize) -> Placed {
    let known = known(&format!("node[1-{hosts}]"));
    place(fabric, &request(&known, shape, Some(old)))
}

/// Cuts all links between two nodes.
fn cut_between(fabric: &mut Topology, names: [&str; 2]) {
    let ends: Vec<_> = fabric.links().collect();
    let name = |end: PortRef| fabric.node(end.node).unwrap().name().to_string();
    let between =
        |[a, b]: [PortRef; 2]| names == [&name(a), &name(b)] || names == [&name(b), &name(a)];
    let cut: Vec<_> = ends
        .into_iter()
        .filter(|(a, b)| between([*a, *b]))
        .collect();
    assert!(!cut.is_empty(), "{names:?}");
    for (end, _) in cut {
        fabric.disconnect(end);
    }
}

/// A file that was written while all hosts of a switch were down has that switch above others.
#[test]
fn a_switch_whose_hosts_come_up_is_a_leaf_again() {
    let whole = generate("pgft:2;4,6;1,3;1,2");
    let known = known("node[1-24]");
    let mut damaged = whole.clone();
    for host in [
        "node1 hfi1_0",
        "node2 hfi1_0",
        "node3 hfi1_0",
        "node4 hfi1_0",
    ] {
        cut_between(&mut damaged, ["edge1", host]);
    }
    for (core, edge) in [("core1", "edge2"), ("core2", "edge3"), ("core3", "edge4")] {
        cut_between(&mut damaged, [core, edge]);
    }
    let first = place(&damaged, &request(&known, Shape::Full, None)).topology;
    assert!(first.above.contains_key("edge1"), "{first:?}");
    let second = placed_again(&whole, Shape::Full, &first, 24).topology;
    assert_eq!(second.leaves, edges(6, 4));
    let third = placed_again(&damaged, Shape::Full, &second, 24).topology;
    assert_eq!(third, second);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is cut, the file stays as it was while the fabric was whole.
    #[test]
    fn what_is_down_changes_nothing(
        spec in prop::sample::select(vec![
            ("pgft:2;4,6;1,3;1,2", 24), ("pgft:3;2,3,2;1,2,2;1,1,1", 12), ("torus:3x3,hosts=2", 18), ("one-switch:5", 5),
        ]),
        links in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        nodes in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        is_skeleton: bool,
    ) {
        let (spec, hosts) = spec;
        let shape = if is_skeleton { Shape::Skeleton } else { Shape::Full };
        let mut fabric = generate(spec);
        let known = known(&format!("node[1-{hosts}]"));
        let old = place(&fabric, &request(&known, shape, None)).topology;
        let cables: Vec<_> = fabric.links().collect();
        for link in links {
            fabric.disconnect(link.get(&cables).0);
        }
        for node in nodes {
            let node = NodeId(node.index(fabric.len()) as u32);
            cut(&mut fabric, node);
        }
        let again = placed_again(&fabric, shape, &old, hosts).topology;
        prop_assert_eq!(&again, &old);
        prop_assert_eq!(read_conf(&write_conf(&old)).unwrap(), old.clone());
        prop_assert_eq!(read_yaml(&write_yaml(&old)).unwrap(), old);
    }

    /// A file that was written while much was down becomes that of the whole fabric, or one that says the same of its
    /// leaves, and then stays.
    #[test]
    fn what_comes_up_is_added_once(
        links in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        is_skeleton: bool,
    ) {
        let shape = if is_skeleton { Shape::Skeleton } else { Shape::Full };
        let whole = generate("pgft:2;4,6;1,3;1,2");
        let known = known("node[1-24]");
        let mut damaged = whole.clone();
        let cables: Vec<_> = whole.links().collect();
        for link in links {
            damaged.disconnect(link.get(&cables).0);
        }
        let first = place(&damaged, &request(&known, shape, None)).topology;
        let second = placed_again(&whole, shape, &first, 24).topology;
        prop_assert_eq!(&second.leaves, &edges(6, 4));
        let third = placed_again(&damaged, shape, &second, 24).topology;
        prop_assert_eq!(third, second);
    }

    /// No text makes a reader panic, and what it reads can be written and read again.
    #[test]
    fn readers_take_any_text(text in "[-SwitchNamesodBlkz=\\[\\],#:0-9 \n\"]{0,120}") {
        let _ = KnownNodes::read(&text);
        let _ = read_yaml(&text);
        if let Ok(read) = read_conf(&text) {
            let _ = write_conf(&read);
        }
    }
}
