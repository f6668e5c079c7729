//! I1 for each service level: packets of those that virtual fabrics use arrive, packets of all others
//! reach nobody. Service channels and lanes are those of the registers, hop by hop.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Breach, Invariant};
use crate::view::FabricView;
use crate::view::channels::CHANNELS;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Sl};

/// A packet at a node: the node, the port that it came in by and its service channel.
type At = (usize, u8, u8);

/// I1 from every host that is served from `root` to every LID of every other, at each service level:
/// a packet arrives where the level is in `used`, and nowhere else.
pub fn check(view: &FabricView, root: usize, used: &BTreeSet<Sl>) -> Vec<Breach> {
    let served = view.served(root);
    let hosts = (0..view.nodes.len()).filter(|node| served[*node] && !view.nodes[*node].switch);
    let hosts: Vec<usize> = hosts.collect();
    let mut starts = Starts::of(view, &hosts);
    let mut breaches = Vec::new();
    for target in &hosts {
        for lid in view.nodes[*target].lids() {
            let mut ways = Ways {
                view,
                target: *target,
                lid,
                known: HashMap::new(),
            };
            for (switch, behind) in &starts.behind {
                let egress = ways.egress(*switch);
                let groups = starts.groups.entry((*switch, egress));
                let groups = groups.or_insert_with(|| group(view, behind, egress));
                for group in groups.iter() {
                    breaches.extend(ways.judge(group, used));
                }
            }
            for from in &starts.apart {
                let group = Group {
                    hosts: vec![*from],
                    steps: alone(view, *from),
                };
                breaches.extend(ways.judge(&group, used));
            }
        }
    }
    breaches
}

/// Where packets of hosts begin.
struct Starts {
    /// Hosts by the switch at their cables.
    behind: BTreeMap<usize, Vec<usize>>,
    /// Hosts without a switch.
    apart: Vec<usize>,
    /// The hosts of a switch whose packets do the same when they leave it by a port.
    groups: HashMap<(usize, u8), Vec<Group>>,
}

/// Where packets are by service level, those levels together whose packets are at one place; none where they are
/// dropped.
type Steps = BTreeMap<Option<At>, Vec<Sl>>;

/// Hosts whose packets do the same.
struct Group {
    hosts: Vec<usize>,
    steps: Steps,
}

impl Starts {
    fn of(view: &FabricView, hosts: &[usize]) -> Self {
        let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut apart = Vec::new();
        for host in hosts {
            let peer = view.nodes[*host].port(1).and_then(|port| port.peer);
            match peer.filter(|(peer, _)| view.nodes[*peer].switch) {
                Some((switch, _)) => behind.entry(switch).or_default().push(*host),
                None => apart.push(*host),
            }
        }
        Self {
            behind,
            apart,
            groups: HashMap::new(),
        }
    }
}

/// The hosts of a switch by where their packets are when they have left it by a port.
fn group(view: &FabricView, hosts: &[usize], egress: u8) -> Vec<Group> {
    let mut groups: BTreeMap<Steps, Vec<usize>> = BTreeMap::new();
    for host in hosts {
        let behind = |level| onward(view, first(view, *host, level)?, egress);
        groups.entry(steps(behind)).or_default().push(*host);
    }
    let groups = groups.into_iter();
    groups
        .map(|(steps, hosts)| Group { hosts, steps })
        .collect()
}

/// The same of a host behind its own cable.
fn alone(view: &FabricView, host: usize) -> Steps {
    steps(|level| first(view, host, level))
}

fn steps(at: impl Fn(Sl) -> Option<At>) -> Steps {
    let mut steps = Steps::new();
    for level in (0..CHANNELS).map(Sl) {
        steps.entry(at(level)).or_default().push(level);
    }
    steps
}

/// Where a host's packet is behind its own cable.
fn first(view: &FabricView, host: usize, level: Sl) -> Option<At> {
    let channel = view.nodes[host].channels.of_level(level);
    let (node, ingress) = cross(view, host, 1, channel)?;
    Some((node, ingress, channel))
}

/// Where a packet at a switch is that leaves it by a port.
fn onward(view: &FabricView, (node, ingress, channel): At, egress: u8) -> Option<At> {
    let channel = view.nodes[node].channels.across(ingress, egress, channel);
    let (node, ingress) = cross(view, node, egress, channel)?;
    Some((node, ingress, channel))
}

/// The other end of a link, if it carries data and the channel has a lane on it.
fn cross(view: &FabricView, node: usize, egress: u8, channel: u8) -> Option<(usize, u8)> {
    let sender = &view.nodes[node];
    sender.channels.lane(egress, channel)?;
    let end = sender.port(egress)?;
    let peer = end.peer.filter(|_| end.state == PortState::ACTIVE)?;
    let far = view.nodes[peer.0].port(peer.1)?;
    (far.state >= PortState::ARMED).then_some(peer)
}

/// The paths to a LID, by place and channel.
struct Ways<'a> {
    view: &'a FabricView,
    target: usize,
    lid: Lid,
    /// Whether a packet arrives from there.
    known: HashMap<At, bool>,
}

impl Ways<'_> {
    fn egress(&self, switch: usize) -> u8 {
        let table = &self.view.nodes[switch].lft;
        table.get(self.lid.0 as usize).copied().unwrap_or(0xFF)
    }

    /// A breach for each host whose packets do not do as they should, for the first such level.
    fn judge(&mut self, group: &Group, used: &BTreeSet<Sl>) -> Vec<Breach> {
        let judged = group.steps.iter().filter_map(|(at, levels)| {
            let arrives = at.is_some_and(|at| self.arrives(at));
            let wrong = |level: &&Sl| used.contains(level) != arrives;
            Some((*levels.iter().find(wrong)?, arrives))
        });
        let Some((level, arrives)) = judged.min() else {
            return Vec::new();
        };
        let others = group.hosts.iter().filter(|host| **host != self.target);
        let breaches = others.map(|from| self.breach(*from, level, arrives));
        breaches.collect()
    }

    fn breach(&self, from: usize, Sl(level): Sl, arrives: bool) -> Breach {
        let guid = |node: usize| -> Guid { self.view.nodes[node].guid };
        let what = format!(
            "{} to LID {} of {} at SL {level}: {}",
            guid(from),
            self.lid,
            guid(self.target),
            match arrives {
                true => "arrives, and no virtual fabric uses the level",
                false => "dropped on the way",
            }
        );
        Breach::new(Invariant::Reachable, what)
    }

    fn arrives(&mut self, start: At) -> bool {
        let mut way = Vec::new();
        let mut at = start;
        let arrives = loop {
            if !self.view.nodes[at.0].switch {
                break at.0 == self.target;
            }
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            // A circle is I2's; nothing arrives out of it.
            if way.contains(&at) {
                break false;
            }
            way.push(at);
            match onward(self.view, at, self.egress(at.0)) {
                Some(next) => at = next,
                None => break false,
            }
        };
        self.known.extend(way.into_iter().map(|at| (at, arrives)));
        arrives
    }
}
