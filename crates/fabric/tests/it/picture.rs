//! Pictures: everything is in them once, nothing covers anything else, and a page is enough.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::Reader;
use quick_xml::events::Event;
use weft_fabric::enums::LinkWidth;
use weft_fabric::export::unescape_name;
use weft_fabric::import::import_fabric;
use weft_fabric::picture::{Course, HOSTS_MAX, Marks, Picture, PictureError, Way};
use weft_fabric::{NodeId, PortNum, PortRef, Topology};
use weft_wire::Layout;
use weft_wire::sm::NodeDescription;

/// An element with its attributes, and the text in it but not in those within.
#[derive(Debug, Default, Clone)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    text: String,
    /// Place of the element that it is in.
    within: Option<usize>,
}

impl Element {
    fn number(&self, name: &str) -> f32 {
        self.attributes[name].parse().unwrap()
    }

    fn class(&self) -> &str {
        self.attributes.get("class").map_or("", String::as_str)
    }
}

/// All elements in order; panics where the text is no well-formed document.
fn parse(svg: &str) -> Vec<Element> {
    let mut reader = Reader::from_str(svg);
    reader.config_mut().check_comments = true;
    let mut elements: Vec<Element> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let event = reader.read_event().unwrap();
        let is_empty = matches!(event, Event::Empty(_));
        match event {
            Event::Start(tag) | Event::Empty(tag) => {
                let attributes = tag.attributes().map(|attribute| {
                    let attribute = attribute.unwrap();
                    let key = attribute.key.as_ref().to_owned();
                    (
                        key,
                        attribute
                            .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                            .unwrap()
                            .into_owned(),
                    )
                });
                elements.push(Element {
                    name: tag.name().as_ref().to_owned(),
                    attributes: attributes.collect(),
                    text: String::new(),
                    within: open.last().copied(),
                });
                if !is_empty {
                    open.push(elements.len() - 1);
                }
            }
            Event::End(_) => {
                open.pop().unwrap();
            }
            Event::Text(text) => {
                let text: &str = &text;
                if let Some(at) = open.last() {
                    elements[*at].text += text;
                }
            }
            Event::GeneralRef(reference) => {
                let name = format!("&{};", &*reference);
                let text = quick_xml::escape::unescape(&name).unwrap().into_owned();
                elements[*open.last().unwrap()].text += &text;
            }
            Event::Decl(_) => {}
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty());
    elements
}

fn svg(topology: &Topology, hosts: bool, marks: &Marks) -> String {
    let picture = Picture {
        topology,
        title: "a & b <c>",
        hosts,
        marks,
    };
    let mut out = Vec::new();
    picture.write_svg(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn dot(topology: &Topology, hosts: bool) -> String {
    let picture = Picture {
        topology,
        title: "",
        hosts,
        marks: &Marks::default(),
    };
    let mut out = Vec::new();
    picture.write_dot(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The title of each group of a class.
fn titles<'a>(elements: &'a [Element], classes: &'a [&str]) -> Vec<&'a str> {
    let is_title = |element: &&Element| {
        let within = element.within.map(|at| &elements[at]);
        element.name == "title"
            && within.is_some_and(|group| group.name == "g" && classes.contains(&group.class()))
    };
    let titles = elements.iter().filter(is_title);
    titles.map(|title| title.text.as_str()).collect()
}

/// Rectangles of boxes by the number of their node.
fn boxes(elements: &[Element]) -> BTreeMap<u32, [f32; 4]> {
    let rects = elements.iter().filter(|element| element.name == "rect");
    let rects = rects.filter_map(|rect| {
        let id = elements[rect.within?].attributes.get("id")?;
        let corners = ["x", "y", "width", "height"].map(|name| rect.number(name));
        Some((id.strip_prefix('n').unwrap().parse().unwrap(), corners))
    });
    rects.collect()
}

/// What holds for every picture; returns its size.
pub(crate) fn check(topology: &Topology, hosts: bool) -> (f32, f32) {
    let text = svg(topology, hosts, &Marks::default());
    let elements = parse(&text);
    let boxes = boxes(&elements);
    let shown = boxes.values();
    for (n, [x, y, width, height]) in shown.clone().enumerate() {
        for [x2, y2, width2, height2] in shown.clone().skip(n + 1) {
            let apart =
                x + width <= *x2 || x2 + width2 <= *x || y + height <= *y2 || y2 + height2 <= *y;
            assert!(apart, "{x} {y} and {x2} {y2}");
        }
    }
    // Every node is a box, or named in that of its switch.
    let names: Vec<&str> = titles(&elements, &["switch", "host"])
        .into_iter()
        .flat_map(str::lines)
        .collect();
    let is_joined = |node: NodeId| {
        let node = topology.node(node).unwrap();
        let peers = node.external_ports().filter_map(|(_, port)| port.peer);
        peers
            .filter(|peer| topology.switch_index(peer.node).is_some())
            .count()
            > 0
    };
    for (id, node) in topology.nodes() {
        let is_box = node.is_switch() || hosts || !is_joined(id);
        assert_eq!(boxes.contains_key(&id.0), is_box, "{}", node.name());
        assert!(names.contains(&node.name().as_str()), "{}", node.name());
    }
    // Every link between boxes is told of once.
    let lines = titles(&elements, &["line"]);
    let told = lines.iter().flat_map(|title| title.lines().skip(1));
    let told: BTreeSet<String> = told
        .map(|link| link.split(", ").next().unwrap().to_owned())
        .collect();
    let end = |at: PortRef| format!("{}:{}", topology.node(at.node).unwrap().name(), at.port);
    let links = topology
        .links()
        .filter(|(a, b)| boxes.contains_key(&a.node.0) && boxes.contains_key(&b.node.0));
    let mut count = 0;
    for (a, b) in links {
        let both = [
            format!("{} - {}", end(a), end(b)),
            format!("{} - {}", end(b), end(a)),
        ];
        assert!(both.iter().any(|link| told.contains(link)), "{both:?}");
        count += 1;
    }
    assert_eq!(
        lines
            .iter()
            .map(|title| title.lines().count() - 1)
            .sum::<usize>(),
        count
    );
    let size = view(&elements);
    let margins = shown.clone().all(|[x, y, width, height]| {
        *x >= 0.0 && *y >= 0.0 && x + width <= size.0 && y + height <= size.1
    });
    assert!(margins, "boxes beyond the picture");
    let most = 6_000 + 900 * topology.len() + 500 * topology.links().count();
    assert!(text.len() < most, "{} bytes, {most}", text.len());
    check_dot(topology, hosts, boxes.len());
    size
}

/// The same in Graphviz's language.
fn check_dot(topology: &Topology, hosts: bool, boxes: usize) {
    let dot = dot(topology, hosts);
    let nodes = dot.lines().filter(|line| line.contains(" [pos=")).count();
    assert_eq!(nodes, boxes);
    let shown = |node: NodeId| dot.contains(&format!("\n  n{} [pos=", node.0));
    let pairs = topology
        .links()
        .map(|(a, b)| (a.node.min(b.node), a.node.max(b.node)));
    let pairs: BTreeSet<_> = pairs.filter(|(a, b)| shown(*a) && shown(*b)).collect();
    assert_eq!(dot.matches(" -- n").count(), pairs.len());
}

fn view(elements: &[Element]) -> (f32, f32) {
    let view = elements[0].attributes["viewBox"].split(' ');
    let view: Vec<f32> = view.map(|number| number.parse().unwrap()).collect();
    (view[2], view[3])
}

#[test]
fn fabrics_of_all_shapes_are_drawn_whole() {
    for spec in [
        "back-to-back",
        "one-switch:4",
        "one-switch:40",
        "fattree:16,radix=8",
        "fattree:128,radix=16",
        "pgft:2;1,2;1,1;1,2",
        "pgft:3;4,4,4;1,2,2;1,1,2;radix=16",
        "swd06",
        "mesh:5x3",
        "torus:4x4",
        "torus:8",
        "torus:4x3x3,hosts=2",
        "hypercube:5",
    ] {
        let topology = crate::common::generate(spec);
        check(&topology, true);
        check(&topology, false);
    }
}

#[test]
fn a_thousand_hosts_can_be_read_on_a_page() {
    let topology = crate::common::generate("fattree:1152");
    let (width, height) = check(&topology, false);
    // A4 with margins of 8 mm, in dots of which 96 are an inch: names are at least 6 points high, 8 dots.
    let scale = (1062.0 / width).min(733.0 / height);
    assert!(scale * 10.0 >= 8.0, "{width} × {height}");
}

#[test]
fn a_real_fabric_is_drawn_whole() {
    let Some(text) = crate::common::public_data("hdr-400sw-2328hca.ibnetdiscover") else {
        return;
    };
    let topology = import_fabric(text.as_bytes()).unwrap().topology;
    let (width, height) = check(&topology, false);
    assert!((1.0..2.0).contains(&(width / height)), "{width} × {height}");
}

#[test]
fn edges_are_below_cores_and_in_the_order_of_names() {
    let topology = crate::common::generate("fattree:128,radix=16");
    let elements = parse(&svg(&topology, false, &Marks::default()));
    let boxes = boxes(&elements);
    let named = |name: &str| {
        let mut nodes = topology.nodes().filter(|(_, node)| node.name() == name);
        boxes[&nodes.next().unwrap().0.0]
    };
    for core in 1..=8 {
        for edge in 1..=16 {
            let (core, edge) = (named(&format!("core{core}")), named(&format!("edge{edge}")));
            assert!(core[1] + core[3] < edge[1]);
        }
    }
    let across = |name: &str, last: u32| -> Vec<f32> {
        (1..=last)
            .map(|n| named(&format!("{name}{n}"))[0])
            .collect()
    };
    assert!(across("edge", 16).is_sorted());
    assert!(across("core", 8).is_sorted());
    let hosts = elements.iter().filter(|element| element.text == "8 hosts");
    assert_eq!(hosts.count(), 16);
}

#[test]
fn a_lost_cable_moves_no_switch() {
    let mut topology = crate::common::generate("fattree:128,radix=16");
    let before = boxes(&parse(&svg(&topology, false, &Marks::default())));
    let between = |(a, b): &(PortRef, PortRef)| {
        topology.switch_index(a.node).is_some() && topology.switch_index(b.node).is_some()
    };
    let lost = topology.links().filter(between).nth(11).unwrap();
    topology.disconnect(lost.0);
    let marks = Marks {
        lost: vec![lost],
        ..Marks::default()
    };
    let elements = parse(&svg(&topology, false, &marks));
    assert_eq!(boxes(&elements), before);
    let lost: Vec<&Element> = elements
        .iter()
        .filter(|element| element.class() == "lost")
        .collect();
    // The line, its cross, and the legend's.
    assert_eq!(lost.len(), 3);
    assert!(
        elements
            .iter()
            .any(|element| element.class() == "on" && element.text == "down")
    );
}

#[test]
fn what_is_wrong_differs_in_more_than_colour() {
    let mut topology = crate::common::generate("fattree:16,radix=8");
    let between: Vec<_> = topology.links().collect();
    let between = between.into_iter().filter(|(a, b)| {
        topology.switch_index(a.node).is_some() && topology.switch_index(b.node).is_some()
    });
    let between: Vec<(PortRef, PortRef)> = between.collect();
    let slow = between[0].0;
    let port = topology
        .node_mut(slow.node)
        .unwrap()
        .port_mut(slow.port)
        .unwrap();
    port.info.link_width_downgrade_tx_active = LinkWidth::X2;
    let drained = between[15].0.node;
    let marks = Marks {
        drained_links: [between[4].1].into(),
        drained_switches: [between[15].1.node].into(),
        ..Marks::default()
    };
    assert_ne!(drained, slow.node);
    let text = svg(&topology, false, &marks);
    let elements = parse(&text);
    let count = |class: &str| {
        elements
            .iter()
            .filter(|element| element.class() == class)
            .count()
    };
    assert!(count("degraded") == 2 && count("drained") >= 3 && count("switch out") == 1);
    for class in ["degraded", "drained", "lost", "dispersive", "adaptive"] {
        let rule = text
            .lines()
            .find(|line| line.starts_with(&format!(".{class}{{")));
        assert!(rule.unwrap().contains("stroke-dasharray:"), "{class}");
    }
    let told = elements
        .iter()
        .any(|element| element.class() == "on" && element.text.contains("50g"));
    assert!(told, "{text}");
}

#[test]
fn routes_have_their_ends_and_alternatives() {
    let topology = crate::common::generate("fattree:16,radix=8");
    let id = |name: &str| {
        topology
            .nodes()
            .find(|(_, node)| node.name() == name)
            .unwrap()
            .0
    };
    let link = |a: &str, b: &str, nth: usize| {
        let ports = topology.node(id(a)).unwrap().external_ports();
        let ports = ports.filter_map(|(port, data)| {
            let at = PortRef { node: id(a), port };
            data.peer
                .filter(|peer| peer.node == id(b))
                .map(|peer| (at, peer))
        });
        ports.collect::<Vec<_>>()[nth]
    };
    let course = |way, core: &str| Course {
        way,
        links: vec![
            link("node1 hfi1_0", "edge1", 0),
            link("edge1", core, 1),
            link(core, "edge4", 0),
            link("edge4", "node16 hfi1_0", 0),
        ],
    };
    let marks = Marks {
        courses: vec![course(Way::Base, "core1"), course(Way::Adaptive, "core2")],
        ..Marks::default()
    };
    let elements = parse(&svg(&topology, false, &marks));
    let hosts = titles(&elements, &["host"]);
    assert_eq!(hosts, ["node1 hfi1_0", "node16 hfi1_0"]);
    let lines = |class: &str| {
        elements
            .iter()
            .filter(|e| e.class() == class && e.name == "path")
            .count()
    };
    assert_eq!((lines("base"), lines("adaptive")), (4 + 1, 4 + 1));
    let (out, into) = link("edge1", "core1", 1);
    let label = format!("port {} to {}", out.port, into.port);
    assert!(
        elements
            .iter()
            .any(|element| element.class() == "on" && element.text == label)
    );
    // Everything else steps back.
    let faint = elements
        .iter()
        .filter(|element| element.class() == "line faint")
        .count();
    assert_eq!(faint, 4);
}

#[test]
fn load_is_in_colours_widths_and_words() {
    let topology = crate::common::generate("fattree:16,radix=8");
    let shares = [0.0, 0.2, 0.4, 0.6, 1.0];
    let links = topology.links().zip((0..).map(|n| shares[n % 5]));
    let load = links.flat_map(|((a, b), share)| [(a, share), (b, share / 2.0)]);
    let marks = Marks {
        load: Some(load.collect()),
        ..Marks::default()
    };
    let text = svg(&topology, true, &marks);
    let widths = text.lines().filter(|line| line.starts_with(".load"));
    let widths = widths.map(|line| line.split("stroke-width:").nth(1).unwrap().to_owned());
    assert_eq!(widths.collect::<BTreeSet<_>>().len(), 5);
    let elements = parse(&text);
    for class in 0..5 {
        let class = format!("load{class}");
        let drawn = elements.iter().filter(|element| element.class() == class);
        assert!(drawn.count() >= 2, "{class}");
    }
    let told = titles(&elements, &["line"]);
    assert!(
        told.iter()
            .any(|title| title.contains("50.0 % there, 100.0 % back")),
        "{told:?}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let mut topology = crate::common::generate("one-switch:4");
    let names: [&[u8]; 5] = [
        b"</title><script>alert(1)</script>",
        b"\"&'<>]]>--",
        b"\x1b]0;x\x07\xff\xfe",
        "\u{202e}\u{2028}x".as_bytes(),
        b"'/><rect x='0'",
    ];
    for (node, name) in (0..).map(NodeId).zip(names) {
        let mut bytes = [0; 64];
        bytes[..name.len()].copy_from_slice(name);
        topology.node_mut(node).unwrap().description = NodeDescription::decode(&bytes).unwrap();
    }
    for hosts in [true, false] {
        check(&topology, hosts);
        let text = svg(&topology, hosts, &Marks::default());
        assert!(
            !text.contains("<script") && !text.contains('\u{1b}') && !text.contains('\u{202e}')
        );
        let elements = parse(&text);
        let told: BTreeSet<Vec<u8>> = titles(&elements, &["switch", "host"])
            .into_iter()
            .flat_map(str::lines)
            .map(unescape_name)
            .collect();
        assert!(names.iter().all(|name| told.contains(*name)));
    }
}

#[test]
fn too_many_hosts_are_not_drawn_one_by_one() {
    let topology = crate::common::generate("fattree:1152");
    let picture = Picture {
        topology: &topology,
        title: "",
        hosts: true,
        marks: &Marks::default(),
    };
    assert_eq!(
        picture.check(),
        Err(PictureError::TooManyHosts { hosts: 1152 })
    );
    assert!(
        picture
            .check()
            .unwrap_err()
            .to_string()
            .contains(&HOSTS_MAX.to_string())
    );
    let none = PortRef {
        node: NodeId(u32::MAX),
        port: PortNum(1),
    };
    // What names nothing is not drawn.
    let marks = Marks {
        lost: vec![(none, none)],
        ..Marks::default()
    };
    assert!(!svg(&topology, true, &marks).contains("class=\"lost\""));
}
