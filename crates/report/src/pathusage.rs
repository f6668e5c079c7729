//! `pathusage`, `treepathusage`: how many paths between HFIs use each link between switches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use rayon::prelude::*;
use serde::Serialize;
use weft_fabric::enums::NodeType;
use weft_fabric::{Guid, Lid, NodeId, PortRef, Sl, Snapshot};

use crate::RULE;
use crate::focus::{Detail, Head, Options};
use crate::names::as_text;
use crate::spread::Spread;
use crate::tables::{NO_ROUTES, known_ports, nodes_by_guid};
use crate::validate::{Distances, Next, State, States, first_channel, is_switch, walk};
use crate::xml::{Xml, XmlWriter};

/// Paths on the links between switches.
#[derive(Debug, Clone, Serialize)]
pub struct PathUsageReport {
    #[serde(flatten)]
    head: Head,
    /// Switches in the fabric.
    pub total: usize,
    /// Paths that do not arrive; they count as far as they go.
    pub incomplete: u64,
    /// Those that the focus leaves, in order of GUID.
    pub switches: Vec<SwitchPaths>,
    /// The forwarding tables are known; else nothing was followed.
    pub with_routes: bool,
    #[serde(skip)]
    is_tree: bool,
    #[serde(skip)]
    detail: Detail,
}

/// Paths on the links of a switch.
#[derive(Debug, Clone, Serialize)]
pub struct SwitchPaths {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Tier, 1 for switches with HFIs; 0 where none leads to it.
    pub tier: u32,
    /// Its ports with a link to a switch, in order.
    pub ports: Vec<PortPaths>,
}

/// Paths through a port. In a tree those that leave by it, upward and downward, else those that come in and leave.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PortPaths {
    /// The port.
    pub port: u8,
    /// Upward, or in.
    pub first: Paths,
    /// Downward, or out.
    pub second: Paths,
}

/// Numbers of paths.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Paths {
    /// To all LIDs.
    pub all: u64,
    /// To base LIDs.
    pub base: u64,
}

/// Makes the report of paths that come in and leave.
pub fn pathusage(snapshot: &Snapshot, options: &Options) -> PathUsageReport {
    report(snapshot, options, false)
}

/// Makes the report of paths that lead upward and downward in a tree.
pub fn treepathusage(snapshot: &Snapshot, options: &Options) -> PathUsageReport {
    report(snapshot, options, true)
}

fn report(snapshot: &Snapshot, options: &Options, is_tree: bool) -> PathUsageReport {
    let with_routes = !snapshot.lacking.routes;
    let title = if is_tree {
        "Tree Path Usage"
    } else {
        "Path Usage"
    };
    let tiers = tiers(snapshot);
    let known = known_ports(snapshot).into_iter();
    let ends: Vec<PortRef> = known.filter(|at| !is_switch(snapshot, at.node)).collect();
    let chosen: Vec<PortRef> = ends
        .iter()
        .copied()
        .filter(|at| options.node(at.node))
        .collect();
    let ends = if chosen.is_empty() { ends } else { chosen };
    let switches = || snapshot.topology.switches().iter();
    // A focus on HFIs alone chooses paths, not switches.
    let all = !switches().any(|id| options.node(*id));
    let used = match with_routes {
        true => Usage::new(snapshot, ends, is_tree.then_some(&tiers)).tabulate(),
        false => Used::default(),
    };
    let nodes = nodes_by_guid(snapshot).into_iter().filter(|_| with_routes);
    let nodes = nodes.filter(|id| all || options.node(*id));
    let tier = |id: NodeId| tiers.get(&id).copied().unwrap_or(0);
    PathUsageReport {
        head: Head::new(title, options),
        total: snapshot.topology.switches().len(),
        incomplete: used.lost,
        switches: nodes
            .filter_map(|id| SwitchPaths::new(snapshot, id, tier(id), &used))
            .collect(),
        with_routes,
        is_tree,
        detail: options.detail,
    }
}

/// Tiers of switches from those with HFIs up.
fn tiers(snapshot: &Snapshot) -> BTreeMap<NodeId, u32> {
    let topology = &snapshot.topology;
    let hfis = topology
        .hfis()
        .flat_map(|(_, node)| node.ports().filter_map(|(_, port)| port.peer));
    let first: BTreeSet<NodeId> = hfis
        .map(|peer| peer.node)
        .filter(|id| is_switch(snapshot, *id))
        .collect();
    let mut tiers: BTreeMap<NodeId, u32> = first.iter().map(|id| (*id, 1)).collect();
    let mut queue: VecDeque<NodeId> = first.into_iter().collect();
    while let Some(id) = queue.pop_front() {
        let tier = tiers.get(&id).copied().unwrap_or(0) + 1;
        let ports = topology.node(id).into_iter().flat_map(|node| node.ports());
        let peers = ports
            .filter_map(|(_, port)| port.peer)
            .map(|peer| peer.node);
        for peer in peers.filter(|peer| is_switch(snapshot, *peer)) {
            tiers.entry(peer).or_insert_with(|| {
                queue.push_back(peer);
                tier
            });
        }
    }
    tiers
}

#[derive(Debug, Default)]
struct Used {
    ports: BTreeMap<PortRef, [Paths; 2]>,
    lost: u64,
}

struct Usage<'a> {
    snapshot: &'a Snapshot,
    ends: Vec<PortRef>,
    states: States<'a>,
    /// Where packets come into switches, none where they come into none, with the ports that send them.
    sources: BTreeMap<Option<State>, Vec<usize>>,
    tiers: Option<&'a BTreeMap<NodeId, u32>>,
    most: u32,
}

impl<'a> Usage<'a> {
    fn new(
        snapshot: &'a Snapshot,
        ends: Vec<PortRef>,
        tiers: Option<&'a BTreeMap<NodeId, u32>>,
    ) -> Self {
        let states = States::new(snapshot);
        let mut sources: BTreeMap<Option<State>, Vec<usize>> = BTreeMap::new();
        for (number, at) in ends.iter().enumerate() {
            let channel = first_channel(snapshot, *at, Sl(0));
            let peer = snapshot.topology.peer(*at);
            let state = channel
                .zip(peer)
                .and_then(|((sc, _), peer)| states.at(peer, sc));
            sources.entry(state).or_default().push(number);
        }
        let most = ends.iter().map(|at| lids(snapshot, *at)).max().unwrap_or(1);
        Self {
            snapshot,
            ends,
            states,
            sources,
            tiers,
            most,
        }
    }

    fn tabulate(&self) -> Used {
        let targets = 0..self.ends.len();
        let targets: Vec<(usize, u32)> = targets
            .flat_map(|of| (0..self.most).map(move |offset| (of, offset)))
            .collect();
        let new = || (Distances::new(&self.states), Used::default());
        let used = targets
            .into_par_iter()
            .fold(new, |(mut distances, mut used), (of, offset)| {
                self.follow(&mut distances, &mut used, of, offset);
                (distances, used)
            });
        used.map(|(_, used)| used)
            .reduce(Used::default, |mut all, one| {
                all.lost += one.lost;
                for (port, paths) in one.ports {
                    let sums = all.ports.entry(port).or_default();
                    for (sum, paths) in sums.iter_mut().zip(paths) {
                        sum.all += paths.all;
                        sum.base += paths.base;
                    }
                }
                all
            })
    }

    fn follow(&self, distances: &mut Distances, used: &mut Used, of: usize, offset: u32) {
        distances.clear();
        let base = self
            .snapshot
            .topology
            .port(self.ends[of])
            .map_or(0, |port| port.info.lid.0);
        let lid = Lid(base | offset);
        for (state, sources) in &self.sources {
            let sends = |source: &&usize| {
                **source != of && lids(self.snapshot, self.ends[**source]) > offset
            };
            let mut sources = sources.iter().filter(sends);
            let Some(first) = sources.next() else {
                continue;
            };
            let count = 1 + sources.count() as u64;
            match state.filter(|from| distances.arrive(&self.states, *from, lid)) {
                Some(from) => self.add_path(used, from, lid, count, offset == 0),
                None => {
                    let is_lost = !walk(self.snapshot, self.ends[*first], lid, Sl(0)).complete;
                    used.lost += if is_lost { count } else { 0 };
                    self.add_steps(used, self.ends[*first], lid, count, offset == 0);
                }
            }
        }
    }

    /// Adds paths that arrive.
    fn add_path(&self, used: &mut Used, from: State, lid: Lid, count: u64, is_base: bool) {
        let mut state = from;
        while let Next::To(exit, next) = self.states.next(state, lid) {
            self.add(used, exit, 1, count, is_base);
            if let Some(peer) = self.snapshot.topology.peer(exit) {
                self.add(used, peer, 0, count, is_base);
            }
            state = next;
        }
    }

    /// Adds paths as far as they go.
    fn add_steps(&self, used: &mut Used, from: PortRef, lid: Lid, count: u64, is_base: bool) {
        for step in walk(self.snapshot, from, lid, Sl(0)).steps {
            for (at, side) in [(step.entry, 0), (step.exit, 1)] {
                if let Some(at) = at {
                    self.add(used, at, side, count, is_base);
                }
            }
        }
    }

    /// Adds paths that come in by a port (side 0) or leave by it (side 1).
    fn add(&self, used: &mut Used, at: PortRef, side: usize, count: u64, is_base: bool) {
        let side = match self.tiers {
            None => side,
            Some(_) if side == 0 => return,
            Some(tiers) => {
                let tier = |id: NodeId| tiers.get(&id).copied().unwrap_or(0);
                let above = self
                    .snapshot
                    .topology
                    .peer(at)
                    .map_or(0, |peer| tier(peer.node));
                usize::from(tier(at.node) >= above)
            }
        };
        let paths = &mut used.ports.entry(at).or_default()[side];
        paths.all += count;
        paths.base += if is_base { count } else { 0 };
    }
}

/// LIDs of a port.
fn lids(snapshot: &Snapshot, at: PortRef) -> u32 {
    snapshot
        .topology
        .port(at)
        .map_or(1, |port| port.info.lmc.lids())
}

impl SwitchPaths {
    /// None for a switch without a table.
    fn new(snapshot: &Snapshot, id: NodeId, tier: u32, used: &Used) -> Option<Self> {
        let topology = &snapshot.topology;
        let node = topology.node(id)?;
        let row = snapshot.linear.row(topology.switch_index(id)?);
        let between = node
            .external_ports()
            .filter(|(_, port)| port.peer.is_some_and(|peer| is_switch(snapshot, peer.node)));
        let ports = between.map(|(port, _)| {
            let at = PortRef { node: id, port };
            let [first, second] = used.ports.get(&at).copied().unwrap_or_default();
            PortPaths {
                port: port.0,
                first,
                second,
            }
        });
        (!row.is_empty()).then(|| Self {
            guid: node.guid(),
            name: node.name().to_string(),
            tier,
            ports: ports.collect(),
        })
    }
}

/// Spreads of all, base and other paths, for each side.
struct Spreads {
    /// Ports with paths on each side, or all ports.
    ports: [u64; 2],
    sides: [[Spread; 3]; 2],
}

impl Spreads {
    fn of<'a>(ports: impl Iterator<Item = &'a PortPaths> + Clone, is_tree: bool) -> Self {
        let side = |second: bool| {
            let paths = ports
                .clone()
                .map(move |port| if second { port.second } else { port.first });
            let count = paths
                .clone()
                .filter(|paths| !is_tree || paths.all > 0)
                .count() as u64;
            let spread = |value: fn(Paths) -> u64| Spread::of(paths.clone().map(value), count);
            let spreads = [
                spread(|paths| paths.all),
                spread(|paths| paths.base),
                spread(|paths| paths.all - paths.base),
            ];
            (count, spreads)
        };
        let [(a, first), (b, second)] = [side(false), side(true)];
        Self {
            ports: [a, b],
            sides: [first, second],
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, is_tree: bool, pad: &str) -> fmt::Result {
        let [up, down] = self.ports;
        if is_tree {
            writeln!(f, "{pad}{up} Uplink Port(s)  {down} Downlink Port(s)")?;
        }
        let names = if is_tree {
            ["Up", "Down"]
        } else {
            ["Recv", "Xmit"]
        };
        for ((name, spreads), count) in names.iter().zip(&self.sides).zip(self.ports) {
            if is_tree && count == 0 {
                continue;
            }
            for (spread, kind) in
                spreads
                    .iter()
                    .zip(["All Paths:     ", "Base Paths:    ", "Non-Base Paths:"])
            {
                spread.write(f, pad, &format!("{name} {kind}"))?;
            }
        }
        Ok(())
    }

    fn write_xml(&self, to: &mut XmlWriter, is_tree: bool) {
        if is_tree {
            to.value("UplinkPortCount", self.ports[0]);
            to.value("DownlinkPortCount", self.ports[1]);
        }
        let names = if is_tree {
            ["Uplink", "Downlink"]
        } else {
            ["Recv", "Xmit"]
        };
        for (name, spreads) in names.iter().zip(&self.sides) {
            for (spread, kind) in spreads.iter().zip(["All", "Base", "NonBase"]) {
                spread.write_xml(to, &format!("{name}{kind}Paths"));
            }
        }
    }
}

impl PathUsageReport {
    fn spreads(&self) -> Spreads {
        Spreads::of(
            self.switches.iter().flat_map(|switch| &switch.ports),
            self.is_tree,
        )
    }

    fn ports(&self) -> usize {
        self.switches.iter().map(|switch| switch.ports.len()).sum()
    }

    fn write_switch(&self, f: &mut fmt::Formatter<'_>, switch: &SwitchPaths) -> fmt::Result {
        let SwitchPaths {
            guid,
            name,
            tier,
            ports,
        } = switch;
        let lists = self.detail > Detail::BRIEF;
        match self.is_tree {
            true => writeln!(f, "NodeGUID         Type Tier Name")?,
            false => writeln!(f, "NodeGUID         Type Name")?,
        }
        if lists && self.is_tree {
            writeln!(
                f,
                "    Port Up: FI-All     FI-Base  FI-NonBase Down: FI-All    FI-Base  FI-NonBase"
            )?;
        } else if lists {
            writeln!(
                f,
                "    Port Rcv: FI-All    FI-Base  FI-NonBase  Xmt: FI-All    FI-Base  FI-NonBase"
            )?;
        }
        match self.is_tree {
            true => writeln!(f, "{guid} SW {tier:>4} {name}")?,
            false => writeln!(f, "{guid} SW {name}")?,
        }
        for PortPaths {
            port,
            first,
            second,
        } in ports.iter().filter(|_| lists)
        {
            write!(f, "    {port:>3}")?;
            for paths in [first, second] {
                let Paths { all, base } = paths;
                write!(f, "  {all:>10}  {base:>10}  {:>10}", all - base)?;
            }
            writeln!(f)?;
        }
        writeln!(f, "    {} Reported Port(s)", ports.len())?;
        if self.is_tree {
            writeln!(f, "    {} Incomplete Route(s)", self.incomplete)?;
        }
        match ports.is_empty() {
            true => Ok(()),
            false => Spreads::of(ports.iter(), self.is_tree).write(f, self.is_tree, "    "),
        }
    }

    fn write_switch_xml(&self, to: &mut XmlWriter, switch: &SwitchPaths) {
        to.within_as("Node", format_args!("id=\"{}\"", switch.guid), |to| {
            to.value("NodeGUID", switch.guid);
            to.value("NodeType", NodeType::SWITCH);
            if self.is_tree {
                to.value("Tier", switch.tier);
            }
            to.text("NodeDesc", &switch.name);
            if self.detail > Detail::BRIEF && !switch.ports.is_empty() {
                to.within("Ports", |to| {
                    switch
                        .ports
                        .iter()
                        .for_each(|port| self.write_port_xml(to, port));
                });
            }
            to.value("ReportedPortCount", switch.ports.len());
            if self.is_tree {
                to.value("IncompleteRoutes", self.incomplete);
            }
            if !switch.ports.is_empty() {
                Spreads::of(switch.ports.iter(), self.is_tree).write_xml(to, self.is_tree);
            }
        });
    }

    fn write_port_xml(&self, to: &mut XmlWriter, port: &PortPaths) {
        let names = if self.is_tree {
            ["Uplink", "Downlink"]
        } else {
            ["Recv", "Xmit"]
        };
        to.within_as("Value", format_args!("Port=\"{}\"", port.port), |to| {
            for (name, paths) in names.iter().zip([port.first, port.second]) {
                to.value(&format!("Ca{name}AllPath"), paths.all);
                to.value(&format!("Ca{name}BaseLid"), paths.base);
                to.value(&format!("Ca{name}NonBaseLid"), paths.all - paths.base);
            }
        });
    }
}

impl Xml for PathUsageReport {
    fn xml(&self, to: &mut XmlWriter) {
        if !self.with_routes {
            return to.line(format_args!("<!-- {NO_ROUTES} -->"));
        }
        to.within(
            if self.is_tree {
                "TreePathUsage"
            } else {
                "PathUsage"
            },
            |to| {
                self.head.write_xml(to);
                to.value("ConnectedSwitchCount", self.total);
                for switch in self.switches.iter().filter(|_| self.detail.lists()) {
                    self.write_switch_xml(to, switch);
                }
                to.value("ReportedSwitchCount", self.switches.len());
                to.value("ReportedPortCount", self.ports());
                if !self.is_tree {
                    to.value("IncompleteRoutes", self.incomplete);
                }
                if self.ports() > 0 {
                    self.spreads().write_xml(to, self.is_tree);
                }
            },
        );
    }
}

impl fmt::Display for PathUsageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "{NO_ROUTES}");
        }
        let colon = if self.detail.lists() { ":" } else { "" };
        write!(f, "{}", self.head)?;
        writeln!(f, "{} Connected Switch(es) in Fabric{colon}", self.total)?;
        for switch in self.switches.iter().filter(|_| self.detail.lists()) {
            self.write_switch(f, switch)?;
        }
        writeln!(f, "{} Reported Switch(es)", self.switches.len())?;
        writeln!(f, "{} Reported Port(s)", self.ports())?;
        if !self.is_tree {
            writeln!(f, "{} Incomplete Route(s)", self.incomplete)?;
        }
        if self.ports() > 0 {
            self.spreads().write(f, self.is_tree, "")?;
        }
        writeln!(f, "{RULE}")
    }
}
