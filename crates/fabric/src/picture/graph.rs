//! Boxes and the lines between them: hosts folded into their switch, parallel links into one line.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::labels;
use super::style::State;
use super::{HOSTS_MAX, Picture, Way};
use crate::natural::Natural;
use crate::text::count;
use crate::topology::{Node, NodeId, Port, PortRef, Topology};

/// Most characters of a host's label.
const HOST_LABEL_MAX: usize = 18;

/// A node that is drawn.
#[derive(Debug, Clone)]
pub(super) struct Box {
    pub(super) node: NodeId,
    pub(super) name: String,
    pub(super) label: String,
    /// The second line: its hosts.
    pub(super) below: String,
    /// Names of hosts that are folded into it.
    pub(super) folded: Vec<String>,
    pub(super) is_switch: bool,
    pub(super) is_drained: bool,
    /// The box that it hangs below: a host's switch.
    pub(super) parent: Option<usize>,
}

/// The links between two boxes.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Places of the boxes, the lower first.
    pub(super) boxes: (usize, usize),
    pub(super) links: Vec<Link>,
}

/// A link of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Ends, in the order of the line's boxes.
    pub(super) ends: (PortRef, PortRef),
    pub(super) state: State,
    /// Rate in use, Mb/s; 0 where it is down.
    pub(super) mbps: u32,
    /// Share of its rate that is used, from the first end and from the second.
    pub(super) load: Option<(f64, f64)>,
}

/// The picture without places.
#[derive(Debug, Clone)]
pub(super) struct Graph {
    pub(super) boxes: Vec<Box>,
    pub(super) lines: Vec<Line>,
    /// By line, the ways over it, with whether they go from its first box to its second.
    pub(super) ways: BTreeMap<usize, BTreeSet<(Way, bool)>>,
    by_node: Vec<Option<usize>>,
}

impl Graph {
    pub(super) fn new(picture: &Picture<'_>) -> Self {
        let topology = picture.topology;
        let mut graph = Self {
            boxes: Vec::new(),
            lines: Vec::new(),
            ways: BTreeMap::new(),
            by_node: vec![None; topology.len()],
        };
        graph.add_switches(picture);
        graph.add_hosts(picture);
        graph.add_lines(picture);
        graph.add_ways(picture);
        graph
    }

    /// The box of a node, none where it is folded.
    pub(super) fn of(&self, node: NodeId) -> Option<usize> {
        self.by_node.get(node.0 as usize).copied().flatten()
    }

    /// Whether neither end is a host.
    pub(super) fn is_between_switches(&self, line: &Line) -> bool {
        let (a, b) = line.boxes;
        self.boxes[a].is_switch && self.boxes[b].is_switch
    }

    /// Boxes that hang below no other.
    pub(super) fn roots(&self) -> impl Iterator<Item = (usize, &Box)> {
        let boxes = self.boxes.iter().enumerate();
        boxes.filter(|(_, of)| of.parent.is_none())
    }

    fn add(&mut self, topology: &Topology, node: NodeId, parent: Option<usize>) -> usize {
        let place = self.boxes.len();
        let name = topology.node(node).map_or_else(String::new, Node::name);
        self.boxes.push(Box {
            node,
            label: name.clone(),
            name,
            below: String::new(),
            folded: Vec::new(),
            is_switch: topology.switch_index(node).is_some(),
            is_drained: false,
            parent,
        });
        self.by_node[node.0 as usize] = Some(place);
        place
    }

    fn add_switches(&mut self, picture: &Picture<'_>) {
        let topology = picture.topology;
        let name = |node: &NodeId| topology.node(*node).map_or_else(String::new, Node::name);
        let mut switches: Vec<_> = topology.switches().to_vec();
        switches.sort_by_cached_key(|node| Natural(name(node)));
        for node in switches {
            let place = self.add(topology, node, None);
            self.boxes[place].is_drained = picture.marks.drained_switches.contains(&node);
        }
        let names: Vec<String> = self.boxes.iter().map(|of| of.name.clone()).collect();
        for (of, label) in self.boxes.iter_mut().zip(labels(&names)) {
            of.label = label;
        }
    }

    fn add_hosts(&mut self, picture: &Picture<'_>) {
        let topology = picture.topology;
        let is_shown_all = picture.hosts && topology.hfis().count() <= HOSTS_MAX;
        let ends = picture
            .marks
            .courses
            .iter()
            .flat_map(|course| &course.links);
        let ends: BTreeSet<NodeId> = ends.flat_map(|(a, b)| [a.node, b.node]).collect();
        let mut hosts: Vec<_> = topology.hfis().collect();
        hosts.sort_by_cached_key(|(_, node)| Natural(node.name()));
        let mut counts = vec![0_usize; self.boxes.len()];
        for (id, node) in hosts {
            let peers = node.external_ports().filter_map(|(_, port)| port.peer);
            let mut leaves: Vec<usize> = peers
                .filter_map(|peer| self.of_switch(topology, peer))
                .collect();
            leaves.dedup();
            leaves.iter().for_each(|leaf| counts[*leaf] += 1);
            match leaves.first() {
                Some(leaf) if is_shown_all || ends.contains(&id) => {
                    let place = self.add(topology, id, Some(*leaf));
                    self.boxes[place].label = shortened(&self.boxes[place].name);
                }
                Some(_) => {
                    let folded = leaves.iter();
                    folded.for_each(|leaf| self.boxes[*leaf].folded.push(node.name()));
                }
                None => {
                    let place = self.add(topology, id, None);
                    self.boxes[place].label = shortened(&self.boxes[place].name);
                }
            }
        }
        for (of, hosts) in self.boxes.iter_mut().zip(counts) {
            of.below = match hosts {
                0 => String::new(),
                hosts => count(hosts, "host"),
            };
        }
    }

    fn of_switch(&self, topology: &Topology, at: PortRef) -> Option<usize> {
        topology.switch_index(at.node)?;
        self.of(at.node)
    }

    fn add_lines(&mut self, picture: &Picture<'_>) {
        let topology = picture.topology;
        let there = topology.links().map(|ends| (ends, false));
        let lost = picture.marks.lost.iter().map(|ends| (*ends, true));
        // A link that is there again is not down.
        let lost =
            lost.filter(|((a, b), _)| topology.peer(*a).is_none() || topology.peer(*a) != Some(*b));
        let mut lines: BTreeMap<(usize, usize), Vec<Link>> = BTreeMap::new();
        for ((a, b), is_lost) in there.chain(lost) {
            let (Some(first), Some(second)) = (self.of(a.node), self.of(b.node)) else {
                continue;
            };
            let (boxes, ends) = match first <= second {
                true => ((first, second), (a, b)),
                false => ((second, first), (b, a)),
            };
            let link = link(picture, ends, is_lost);
            lines.entry(boxes).or_default().push(link);
        }
        self.lines = lines
            .into_iter()
            .map(|(boxes, links)| Line { boxes, links })
            .collect();
        if picture.marks.load.is_some() {
            self.add_load_of_hosts(picture);
        }
    }

    /// The busiest link to a host goes to the second line of its switch.
    fn add_load_of_hosts(&mut self, picture: &Picture<'_>) {
        let topology = picture.topology;
        let mut most: BTreeMap<usize, f64> = BTreeMap::new();
        for (a, b) in topology.links() {
            let ends = [(a, b), (b, a)];
            for (leaf, host) in ends
                .into_iter()
                .filter(|(_, host)| self.of(host.node).is_none())
            {
                if let Some(place) = self.of(leaf.node) {
                    let (up, down) = load(picture, (leaf, host)).unwrap_or_default();
                    let most = most.entry(place).or_default();
                    *most = most.max(up).max(down);
                }
            }
        }
        for (place, share) in most {
            self.boxes[place].below += &format!(", {:.0} %", share * 100.0);
        }
    }

    fn add_ways(&mut self, picture: &Picture<'_>) {
        let lines = self.lines.iter().enumerate();
        let places: BTreeMap<_, _> = lines.map(|(place, line)| (line.boxes, place)).collect();
        for course in &picture.marks.courses {
            for (a, b) in &course.links {
                let (Some(a), Some(b)) = (self.of(a.node), self.of(b.node)) else {
                    continue;
                };
                if let Some(line) = places.get(&(a.min(b), a.max(b))) {
                    self.ways
                        .entry(*line)
                        .or_default()
                        .insert((course.way, a <= b));
                }
            }
        }
    }
}

impl Line {
    /// The worst state of its links.
    pub(super) fn state(&self) -> State {
        let states = self.links.iter().map(|link| link.state);
        states.max().unwrap_or(State::Well)
    }

    /// Links that carry data.
    pub(super) fn up(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|link| link.state != State::Lost)
    }

    /// The largest share of a link's rate that is used, in either direction.
    pub(super) fn load(&self) -> Option<f64> {
        let loads = self.links.iter().filter_map(|link| link.load);
        loads.map(|(a, b)| a.max(b)).reduce(f64::max)
    }

    /// Number and rate of its links, such as `3 × 100g`, and how many of them are not as they should be.
    pub(super) fn weight(&self) -> String {
        let mut rates: BTreeMap<u32, usize> = BTreeMap::new();
        self.up()
            .for_each(|link| *rates.entry(link.mbps).or_default() += 1);
        let rates = rates.into_iter().rev().map(|(mbps, count)| match count {
            1 => rate(mbps),
            count => format!("{count} × {}", rate(mbps)),
        });
        let count = |state| self.links.iter().filter(|link| link.state == state).count();
        let note = |state, what: &str| match (count(state), self.links.len()) {
            (0, _) => None,
            (some, all) if some == all => Some(what.to_owned()),
            (some, _) => Some(format!("{some} {what}")),
        };
        let notes = [note(State::Lost, "down"), note(State::Drained, "drained")];
        let parts: Vec<String> = rates.chain(notes.into_iter().flatten()).collect();
        parts.join(", ")
    }
}

/// A rate in the notation of the vendor's tools.
fn rate(mbps: u32) -> String {
    match mbps % 1_000 {
        0 => format!("{}g", mbps / 1_000),
        _ => format!("{:.1}g", f64::from(mbps) / 1e3),
    }
}

fn link(picture: &Picture<'_>, ends: (PortRef, PortRef), is_lost: bool) -> Link {
    let marks = picture.marks;
    let port = |at| picture.topology.port(at);
    let in_use = [ends.0, ends.1].into_iter().filter_map(port).map(mbps);
    let could = [ends.0, ends.1]
        .into_iter()
        .filter_map(port)
        .map(mbps_possible);
    let (in_use, could) = (in_use.min().unwrap_or(0), could.min().unwrap_or(0));
    let is_drained = |at: PortRef| {
        marks.drained_links.contains(&at) || marks.drained_switches.contains(&at.node)
    };
    let state = match () {
        () if is_lost => State::Lost,
        () if in_use < could => State::Degraded,
        () if is_drained(ends.0) || is_drained(ends.1) => State::Drained,
        () => State::Well,
    };
    Link {
        ends,
        state,
        mbps: if is_lost { 0 } else { in_use },
        load: load(picture, ends).filter(|_| !is_lost),
    }
}

fn load(picture: &Picture<'_>, (a, b): (PortRef, PortRef)) -> Option<(f64, f64)> {
    let loads = picture.marks.load.as_ref()?;
    let of = |at| loads.get(&at).copied();
    match (of(a), of(b)) {
        (None, None) => None,
        (a, b) => Some((a.unwrap_or(0.0), b.unwrap_or(0.0))),
    }
}

fn mbps(port: &Port) -> u32 {
    port.width().lanes() * port.info.link_speed_active.lane_mbps()
}

/// With all lanes that the port is enabled for, at the speed in use.
fn mbps_possible(port: &Port) -> u32 {
    let lanes = port
        .info
        .link_width_active
        .lanes()
        .max(port.width().lanes());
    let enabled = port.info.link_width_enabled.lanes();
    lanes.max(enabled) * port.info.link_speed_active.lane_mbps()
}

fn shortened(name: &str) -> String {
    match name.chars().count() <= HOST_LABEL_MAX {
        true => name.to_owned(),
        false => name.chars().take(HOST_LABEL_MAX - 1).chain(['…']).collect(),
    }
}
