//! Nodes and links that come or go, a batch at a time: a group of nodes that hang together, such as a rack, has one
//! line.

use std::collections::{BTreeMap, BTreeSet};

use tracing::{debug, info, warn};
use weft_api::v1;

use super::{called, guid};
use crate::logging::LogLimits;

/// Nodes of a group that its line names.
const NAMED_MAX: usize = 3;
/// Nodes and links of a batch; more are not waited for.
const BATCH_MAX: usize = 65_536;

/// The nodes and links that came or went one after the other, and the lines of this sweep.
#[derive(Debug, Default)]
pub(super) struct Changes {
    nodes: Vec<(Way, v1::NodeEvent)>,
    links: Vec<(Way, v1::LinkEvent)>,
    /// Nodes that came or went in this sweep: their links go without saying.
    known: BTreeSet<u64>,
    lines: Lines,
}

/// Lines of this sweep.
#[derive(Debug, Default)]
struct Lines {
    nodes: u32,
    links: u32,
    /// Comings and goings without a line.
    unsaid: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Appeared,
    Vanished,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
        }
    }

    fn event(self, one: bool) -> &'static str {
        match (self, one) {
            (Self::Appeared, true) => "node_appeared",
            (Self::Appeared, false) => "nodes_appeared",
            (Self::Vanished, true) => "node_vanished",
            (Self::Vanished, false) => "nodes_vanished",
        }
    }
}

impl Changes {
    /// Whether this batch is so large that it is to be written.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() + self.links.len() >= BATCH_MAX
    }

    pub(super) fn node(&mut self, way: Way, node: &v1::NodeEvent) {
        self.known.insert(node.guid);
        self.nodes.push((way, node.clone()));
    }

    pub(super) fn link(&mut self, way: Way, link: &v1::LinkEvent) {
        self.links.push((way, link.clone()));
    }

    /// Writes the batch. Before the first sweep has ended (`is_up`) nothing of it has a line above debug.
    pub(super) fn flush(&mut self, is_up: bool, limits: &LogLimits) {
        let (nodes, links) = (
            std::mem::take(&mut self.nodes),
            std::mem::take(&mut self.links),
        );
        for way in [Way::Vanished, Way::Appeared] {
            let nodes: Vec<&v1::NodeEvent> = of(&nodes, way).collect();
            let links: Vec<&v1::LinkEvent> = of(&links, way).collect();
            for group in groups(&nodes, &links) {
                let has_line = self.lines.node(is_up, limits);
                self.lines.unsaid += u32::from(!has_line) * group.len() as u32;
                say_group(way, &group, has_line);
            }
        }
        for (way, link) in &links {
            let goes_without = ends(link).iter().any(|end| self.known.contains(end));
            let has_line = !goes_without && self.lines.link(is_up, limits);
            self.lines.unsaid += u32::from(!goes_without && !has_line);
            say_link(*way, link, has_line);
        }
    }

    /// The sweep has ended: how many comings and goings had no line.
    pub(super) fn end_sweep(&mut self) -> u32 {
        std::mem::take(self).lines.unsaid
    }
}

impl Lines {
    fn node(&mut self, is_up: bool, limits: &LogLimits) -> bool {
        let has = is_up && limits.nodes.is_none_or(|most| self.nodes < most);
        self.nodes += u32::from(has);
        has
    }

    fn link(&mut self, is_up: bool, limits: &LogLimits) -> bool {
        let has = is_up && limits.links.is_none_or(|most| self.links < most);
        self.links += u32::from(has);
        has
    }
}

fn of<T>(all: &[(Way, T)], way: Way) -> impl Iterator<Item = &T> {
    let of_way = all.iter().filter(move |(one, _)| *one == way);
    of_way.map(|(_, item)| item)
}

fn ends(link: &v1::LinkEvent) -> [u64; 2] {
    [link.a, link.b].map(|end| end.unwrap_or_default().node_guid)
}

/// The nodes that the links connect, group by group, each led by the node with the most links.
fn groups<'a>(
    nodes: &[&'a v1::NodeEvent],
    links: &[&v1::LinkEvent],
) -> Vec<Vec<&'a v1::NodeEvent>> {
    let places: BTreeMap<u64, usize> = nodes.iter().map(|node| node.guid).zip(0..).collect();
    let mut leaders: Vec<usize> = (0..nodes.len()).collect();
    let mut degrees = vec![0_usize; nodes.len()];
    for link in links {
        let [Some(&a), Some(&b)] = ends(link).map(|end| places.get(&end)) else {
            continue;
        };
        degrees[a] += 1;
        degrees[b] += 1;
        let (a, b) = (leader(&mut leaders, a), leader(&mut leaders, b));
        leaders[a.max(b)] = a.min(b);
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in 0..nodes.len() {
        groups
            .entry(leader(&mut leaders, place))
            .or_default()
            .push(place);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(|place| std::cmp::Reverse(degrees[*place]));
    }
    let named = |group: Vec<usize>| group.into_iter().map(|place| nodes[place]).collect();
    groups.into_iter().map(named).collect()
}

/// The place that stands for a group; the way to it becomes shorter.
fn leader(leaders: &mut [usize], mut place: usize) -> usize {
    while leaders[place] != place {
        leaders[place] = leaders[leaders[place]];
        place = leaders[place];
    }
    place
}

fn say_group(way: Way, group: &[&v1::NodeEvent], has_line: bool) {
    let [first, others @ ..] = group else { return };
    if others.is_empty() {
        return say_node(way, first, has_line);
    }
    for node in group {
        say_node(way, node, false);
    }
    if !has_line {
        return;
    }
    let names: Vec<&str> = others
        .iter()
        .take(NAMED_MAX)
        .map(|node| &*node.name)
        .collect();
    let more = match others.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let words = format!(
        "{} nodes {}: {} ({}) and those connected to it: {}{more}; each is logged at debug and shown by 'weft watch'",
        group.len(),
        way.word(),
        called(first.guid, &first.name),
        guid(first.guid),
        names.join(", ")
    );
    let (event, count) = (way.event(false), group.len());
    let (node, node_guid) = (&first.name, guid(first.guid));
    match way {
        Way::Appeared => info!(event, count, node, node_guid, "{words}"),
        Way::Vanished => warn!(event, count, node, node_guid, "{words}"),
    }
}

fn say_node(way: Way, node: &v1::NodeEvent, has_line: bool) {
    let (name, guid, event) = (&node.name, guid(node.guid), way.event(true));
    macro_rules! say {
        ($level:ident) => {
            $level!(
                event,
                node = name,
                node_guid = guid,
                "node {}: {name} ({guid})",
                way.word()
            )
        };
    }
    match (has_line, way) {
        (false, _) => say!(debug),
        (_, Way::Appeared) => say!(info),
        (_, Way::Vanished) => say!(warn),
    }
}

fn say_link(way: Way, link: &v1::LinkEvent, has_line: bool) {
    let (a, b) = (link.a.unwrap_or_default(), link.b.unwrap_or_default());
    let event = match way {
        Way::Appeared => "link_appeared",
        Way::Vanished => "link_vanished",
    };
    let words = format!(
        "link {}: {} port {} - {} port {}",
        way.word(),
        called(a.node_guid, &link.a_name),
        a.port,
        called(b.node_guid, &link.b_name),
        b.port
    );
    macro_rules! say {
        ($level:ident) => {
            $level!(
                event,
                a = link.a_name,
                a_guid = guid(a.node_guid),
                a_port = a.port,
                b = link.b_name,
                b_guid = guid(b.node_guid),
                b_port = b.port,
                "{words}"
            )
        };
    }
    match (has_line, way) {
        (false, _) => say!(debug),
        (_, Way::Appeared) => say!(info),
        (_, Way::Vanished) => say!(warn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_hang_together_are_one_group_led_by_their_switch() {
        let node = |guid: u64| v1::NodeEvent {
            guid,
            name: format!("n{guid}"),
            ..v1::NodeEvent::default()
        };
        let link = |a: u64, b: u64| {
            let end = |node_guid| Some(v1::PortId { node_guid, port: 1 });
            v1::LinkEvent {
                a: end(a),
                b: end(b),
                ..v1::LinkEvent::default()
            }
        };
        let nodes = [1, 2, 3, 9, 5].map(node);
        // 9 is the switch; 77 is still there.
        let links = [link(1, 9), link(9, 2), link(3, 9), link(9, 77), link(5, 77)];
        let (nodes, links) = (nodes.each_ref(), links.each_ref());
        let found: Vec<Vec<u64>> = groups(&nodes, &links)
            .into_iter()
            .map(|group| group.into_iter().map(|node| node.guid).collect())
            .collect();
        assert_eq!(found, [vec![9, 1, 2, 3], vec![5]]);
    }
}
