//! `validatecreditloops`, `validatevlcreditloops`: whether links wait for each other in a circle.
//!
//! The dependencies are those of all paths between HFIs: a link waits for the one that a packet takes next. A circle
//! of them can stop for ever once all its buffers are full.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rayon::prelude::*;
use serde::Serialize;
use weft_fabric::{Lid, NodeId, PortRef, PortTable, Sl, Snapshot};
use weft_wire::sm::ScVlMap;

use super::circles::{Channel, Circle, circles};
use super::routes::levels;
use super::states::{Distances, Next, State, States};
use super::walk::{first_channel, is_switch};
use crate::RULE;
use crate::focus::{Detail, Options};
use crate::point::Selection;
use crate::route::{RouteReport, route};
use crate::tables::{NO_ROUTES, known_ports, table};
use crate::xml::{Xml, XmlWriter};

/// Paths that do not arrive that are listed; the others are counted.
const PATHS_MAX: usize = 1000;

/// Links with their dependencies.
#[derive(Debug, Clone, Serialize)]
pub struct CreditLoopsReport {
    /// HFIs and switches on paths.
    pub devices: usize,
    /// HFIs on paths.
    pub hfis: usize,
    /// Switches on paths.
    pub switches: usize,
    /// Directions of links on paths; those of each service channel in use, if channels count.
    pub connections: usize,
    /// Decisions of devices on paths: one for each LID that a path to it asks there.
    pub routing_decisions: u64,
    /// Paths between HFIs.
    pub analyzed: u64,
    /// Paths that do not arrive.
    pub incomplete: u64,
    /// The first of these.
    pub paths: Vec<RouteReport>,
    /// Circles; no link begins two of them.
    pub circles: Vec<CreditLoop>,
    /// The forwarding tables are known; else nothing was followed.
    pub with_routes: bool,
    #[serde(skip)]
    detail: Detail,
}

/// Links that wait for each other in a circle.
#[derive(Debug, Clone, Serialize)]
pub struct CreditLoop {
    /// Each waits for the next, the last for the first.
    pub links: Vec<WaitingLink>,
}

/// A direction of a link, on a lane.
#[derive(Debug, Clone, Serialize)]
pub struct WaitingLink {
    /// Its number among the links in circles.
    pub id: usize,
    /// Name of the node that sends.
    pub from: String,
    /// Its port.
    pub from_port: u8,
    /// Name of the node that receives.
    pub to: String,
    /// Its port.
    pub to_port: u8,
    /// Virtual lane.
    pub vl: u8,
}

/// Makes the report for packets of service level 0.
pub fn validate_credit_loops(snapshot: &Snapshot, options: &Options) -> CreditLoopsReport {
    report(snapshot, options, false)
}

/// Makes the report for packets of every service level that a virtual fabric uses, with each channel of a link by itself.
pub fn validate_vl_credit_loops(snapshot: &Snapshot, options: &Options) -> CreditLoopsReport {
    report(snapshot, options, true)
}

fn report(snapshot: &Snapshot, options: &Options, by_channel: bool) -> CreditLoopsReport {
    let mut report = CreditLoopsReport {
        devices: 0,
        hfis: 0,
        switches: 0,
        connections: 0,
        routing_decisions: 0,
        analyzed: 0,
        incomplete: 0,
        paths: Vec::new(),
        circles: Vec::new(),
        with_routes: !snapshot.lacking.routes,
        detail: options.detail,
    };
    if report.with_routes {
        let by_channel = by_channel && !snapshot.lacking.port_tables;
        Fabric::new(snapshot, by_channel).complete(&mut report);
    }
    report
}

/// What the paths to some LIDs use.
#[derive(Default)]
struct Used {
    decisions: u64,
    arrived: u64,
    lost: u64,
    /// For a LID that some do not reach: its port, its place among the port's LIDs, and where these come in.
    unreached: Vec<(usize, u32, Vec<Option<State>>)>,
    /// Switches on paths.
    switches: BTreeSet<NodeId>,
    /// Ports that packets leave by.
    exits: BTreeSet<PortRef>,
    /// Channels, and those that packets take next.
    next: BTreeMap<Channel, BTreeSet<Channel>>,
}

impl Used {
    fn join(mut self, other: Self) -> Self {
        self.decisions += other.decisions;
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.unreached.extend(other.unreached);
        self.switches.extend(other.switches);
        self.exits.extend(other.exits);
        for (channel, next) in other.next {
            self.next.entry(channel).or_default().extend(next);
        }
        self
    }
}

struct Fabric<'a> {
    snapshot: &'a Snapshot,
    by_channel: bool,
    ends: Vec<PortRef>,
    levels: Vec<Sl>,
    states: States<'a>,
    /// The states in which packets of service level 0 come in, none where they come into no switch, with the ports that
    /// send them.
    sources: BTreeMap<Option<State>, Vec<usize>>,
    /// Those in which packets of any level come in.
    entries: BTreeSet<State>,
}

impl<'a> Fabric<'a> {
    fn new(snapshot: &'a Snapshot, by_channel: bool) -> Self {
        let states = States::new(snapshot);
        let known = known_ports(snapshot).into_iter();
        let ends: Vec<PortRef> = known.filter(|at| !is_switch(snapshot, at.node)).collect();
        let levels = if by_channel {
            levels(snapshot)
        } else {
            vec![Sl(0)]
        };
        let state = |at: PortRef, sl: Sl| {
            let (sc, _) = first_channel(snapshot, at, sl)?;
            states.at(snapshot.topology.peer(at)?, sc)
        };
        let mut sources: BTreeMap<Option<State>, Vec<usize>> = BTreeMap::new();
        for (number, at) in ends.iter().enumerate() {
            sources.entry(state(*at, Sl(0))).or_default().push(number);
        }
        let pairs = ends
            .iter()
            .flat_map(|at| levels.iter().map(move |sl| (*at, *sl)));
        let entries = pairs.filter_map(|(at, sl)| state(at, sl)).collect();
        Self {
            snapshot,
            by_channel,
            ends,
            levels,
            states,
            sources,
            entries,
        }
    }

    fn complete(&self, report: &mut CreditLoopsReport) {
        let lids: Vec<(Lid, usize, u32)> = self
            .ends
            .iter()
            .enumerate()
            .flat_map(|(of, at)| {
                let info = self.snapshot.topology.port(*at).map(|port| &port.info);
                let info = info.filter(|info| info.lid.0 != 0);
                info.into_iter().flat_map(move |info| {
                    let base = info.lid.0;
                    (0..info.lmc.lids()).map(move |offset| (Lid(base | offset), of, offset))
                })
            })
            .collect();
        let used = lids
            .into_par_iter()
            .fold(
                || (Distances::new(&self.states), Used::default()),
                |(mut distances, mut used), (lid, of, offset)| {
                    self.follow(&mut distances, &mut used, lid, (of, offset));
                    (distances, used)
                },
            )
            .map(|(_, used)| used)
            .reduce(Used::default, Used::join);
        self.count(report, &used);
        report.paths = self.paths(&used, report.detail);
        report.circles = self.circles(&used);
    }

    fn follow(
        &self,
        distances: &mut Distances,
        used: &mut Used,
        lid: Lid,
        (of, offset): (usize, u32),
    ) {
        distances.clear();
        let mut asked: BTreeSet<NodeId> = BTreeSet::new();
        let mut unreached = Vec::new();
        for (state, sources) in &self.sources {
            let sends = |source: &&usize| self.sends(**source, of, offset);
            let count = sources.iter().filter(sends).count() as u64;
            if count == 0 {
                continue;
            }
            let Some(from) = state.filter(|from| distances.arrive(&self.states, *from, lid)) else {
                used.lost += count;
                unreached.push(*state);
                continue;
            };
            used.arrived += count;
            used.decisions += count;
            let sources = sources.iter().filter(sends);
            used.exits.extend(sources.map(|source| self.ends[*source]));
            self.ask(used, &mut asked, from, lid);
        }
        if !unreached.is_empty() {
            used.unreached.push((of, offset, unreached));
        }
        used.decisions += asked.len() as u64;
        if offset == 0 {
            self.depend(used, distances, lid);
        }
    }

    /// Whether there is a path from a port to a LID of another: they use as many LIDs as both have. One to the other end of
    /// a cable does not count.
    fn sends(&self, source: usize, of: usize, offset: u32) -> bool {
        let topology = &self.snapshot.topology;
        let at = self.ends[source];
        let lids = topology.port(at).map_or(0, |port| port.info.lmc.lids());
        source != of && offset < lids && topology.peer(at) != Some(self.ends[of])
    }

    /// The first paths that do not arrive, in order of the ports' GUIDs.
    fn paths(&self, used: &Used, detail: Detail) -> Vec<RouteReport> {
        let mut unreached: Vec<_> = used.unreached.iter().collect();
        unreached.sort();
        let mut state_of = vec![None; self.ends.len()];
        for (state, sources) in &self.sources {
            sources.iter().for_each(|source| state_of[*source] = *state);
        }
        let lost = (0..self.ends.len()).flat_map(|source| {
            let state = state_of[source];
            let lids = unreached.iter().filter(move |(of, offset, states)| {
                self.sends(source, *of, *offset) && states.contains(&state)
            });
            lids.map(move |(of, ..)| (self.ends[source], self.ends[*of]))
        });
        let options = Options {
            detail,
            ..Options::default()
        };
        let report = |(from, to): (PortRef, PortRef)| {
            let [from, to] = [from, to].map(|at| Selection::Ports(vec![at]));
            route(self.snapshot, &from, &to, &options).ok()
        };
        lost.take(PATHS_MAX).filter_map(report).collect()
    }

    /// Notes the switches on a way, up to the first that is known.
    fn ask(&self, used: &mut Used, asked: &mut BTreeSet<NodeId>, from: State, lid: Lid) {
        let mut state = from;
        while asked.insert(self.states.entry(state).node) {
            used.switches.insert(self.states.entry(state).node);
            match self.states.next(state, lid) {
                Next::Lost => return,
                Next::Arrived(exit) => {
                    used.exits.insert(exit);
                    return;
                }
                Next::To(exit, next) => {
                    used.exits.insert(exit);
                    state = next;
                }
            }
        }
    }

    /// Notes what links between switches wait for on the ways to a LID. Links from HFIs wait for others, and none waits
    /// for them.
    fn depend(&self, used: &mut Used, distances: &mut Distances, lid: Lid) {
        let mut known: BTreeSet<State> = BTreeSet::new();
        for from in &self.entries {
            if !distances.arrive(&self.states, *from, lid) {
                continue;
            }
            let mut state = *from;
            let mut before: Option<Channel> = None;
            loop {
                let seen = !known.insert(state);
                let Next::To(exit, next) = self.states.next(state, lid) else {
                    break;
                };
                let channel = (exit, if self.by_channel { next.channel() } else { 0 });
                if let Some(before) = before {
                    used.next.entry(before).or_default().insert(channel);
                }
                if seen {
                    break;
                }
                before = Some(channel);
                state = next;
            }
        }
    }

    fn count(&self, report: &mut CreditLoopsReport, used: &Used) {
        let topology = &self.snapshot.topology;
        let pairs = self.ends.len() > 1;
        let hfis: BTreeSet<NodeId> = self
            .ends
            .iter()
            .filter(|_| pairs)
            .map(|at| at.node)
            .collect();
        report.hfis = hfis.len();
        report.switches = used.switches.len();
        report.devices = report.hfis + report.switches;
        report.routing_decisions = used.decisions;
        (report.analyzed, report.incomplete) = (used.arrived, used.lost);
        let directions = used
            .exits
            .iter()
            .filter_map(|exit| Some((*exit, topology.peer(*exit)?)));
        let directions: BTreeSet<PortRef> = directions.flat_map(|(a, b)| [a, b]).collect();
        let channels = if self.by_channel {
            self.channels().len()
        } else {
            1
        };
        report.connections = directions.len() * channels;
    }

    /// Channels that packets of the levels in use are on anywhere.
    fn channels(&self) -> BTreeSet<u8> {
        let ends = self.snapshot.topology.end_ports().map(|(at, ..)| at);
        let first = ends.flat_map(|at| {
            self.levels
                .iter()
                .filter_map(move |sl| first_channel(self.snapshot, at, *sl))
        });
        let mut channels: BTreeSet<u8> = first.map(|(sc, _)| sc).collect();
        loop {
            let behind = self.states.channels_behind(&channels);
            let before = channels.len();
            channels.extend(behind);
            if channels.len() == before {
                return channels;
            }
        }
    }

    fn circles(&self, used: &Used) -> Vec<CreditLoop> {
        let mut id = 0;
        let named = circles(&used.next).into_iter().map(|Circle(channels)| {
            let links = channels.into_iter().filter_map(|channel| {
                id += 1;
                self.link(id - 1, channel)
            });
            CreditLoop {
                links: links.collect(),
            }
        });
        named.collect()
    }

    fn link(&self, id: usize, (exit, sc): Channel) -> Option<WaitingLink> {
        let topology = &self.snapshot.topology;
        let entry = topology.peer(exit)?;
        let name = |at: PortRef| Some(topology.node(at.node)?.name().to_string());
        let lanes: ScVlMap = table(self.snapshot, exit, PortTable::ScToVlt).unwrap_or_default();
        Some(WaitingLink {
            id,
            from: name(exit)?,
            from_port: exit.port.0,
            to: name(entry)?,
            to_port: entry.port.0,
            vl: lanes.get(weft_fabric::Sc(sc)).0,
        })
    }
}

impl fmt::Display for WaitingLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            from,
            from_port,
            to,
            to_port,
            vl,
            ..
        } = self;
        write!(f, "{from}:{from_port} to {to}:{to_port} VL:{vl}")
    }
}

impl CreditLoop {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail) -> fmt::Result {
        let end = if detail > Detail::BRIEF { ':' } else { ' ' };
        if let Some(first) = self.links.first() {
            let length = self.links.len();
            writeln!(
                f,
                "LINK {} ({first}) is in a CYCLE of {length}{end}",
                first.id
            )?;
        }
        for (step, link) in self
            .links
            .iter()
            .enumerate()
            .filter(|_| detail > Detail::BRIEF)
        {
            writeln!(f, "    {step}: LINK {} ({link})", link.id)?;
        }
        Ok(())
    }
}

/// Writes a path as the report on routes, but for the first end, which opareport does not indent here.
fn write_path(f: &mut fmt::Formatter<'_>, path: &RouteReport) -> fmt::Result {
    let mut is_first = true;
    for line in path.to_string().lines() {
        is_first &= !line.starts_with("and ");
        let shown = line.strip_prefix("    ").filter(|_| is_first);
        writeln!(f, "{}", shown.unwrap_or(line))?;
    }
    Ok(())
}

impl Xml for CreditLoop {
    fn xml(&self, to: &mut XmlWriter) {
        let Some(first) = self.links.first() else {
            return;
        };
        to.blank();
        to.within("LinkSummary", |to| {
            to.value("LinkCycle", self.links.len());
            to.value("LinkId", first.id);
            to.text("LinkName", &first.to_string());
            for (step, link) in self.links.iter().enumerate() {
                to.blank();
                to.within("LinkStepSummary", |to| {
                    to.value("LinkStep", step);
                    to.value("LinkId", link.id);
                    to.text("LinkName", &link.to_string());
                });
            }
        });
    }
}

impl Xml for CreditLoopsReport {
    /// Whether there is no circle and all packets arrive, as far as the tables are known.
    fn is_good(&self) -> bool {
        self.circles.is_empty() && self.incomplete == 0
    }

    fn xml(&self, to: &mut XmlWriter) {
        if !self.with_routes {
            return to.line(format_args!("<!-- {NO_ROUTES} -->"));
        }
        to.blank();
        to.within("ValidateCreditLoopRoutes", |to| {
            self.paths.iter().for_each(|path| path.xml(to));
            if self.detail.lists() {
                to.within("CreditLoopFabricSummary", |to| {
                    to.value("Devices", self.devices);
                    to.value("HFIs", self.hfis);
                    to.value("Switches", self.switches);
                    to.value("Connections", self.connections);
                    to.value("RoutingDecisions", self.routing_decisions);
                    to.value("AnalyzedRoutes", self.analyzed);
                    to.value("IncompleteRoutes", self.incomplete);
                });
            }
            self.circles.iter().for_each(|circle| circle.xml(to));
        });
    }
}

impl fmt::Display for CreditLoopsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "{NO_ROUTES}");
        }
        writeln!(f, "Validate Credit Loop Routes")?;
        self.paths.iter().try_for_each(|path| write_path(f, path))?;
        if self.detail.lists() {
            let Self {
                devices,
                hfis,
                switches,
                ..
            } = self;
            writeln!(
                f,
                "Fabric summary: {devices} devices, {hfis} HFIs, {switches} switches,"
            )?;
            let Self {
                connections,
                routing_decisions,
                ..
            } = self;
            writeln!(
                f,
                "\t{connections} connections, {routing_decisions} routing decisions,"
            )?;
            let Self {
                analyzed,
                incomplete,
                ..
            } = self;
            writeln!(
                f,
                "\t{analyzed} analyzed routes, {incomplete} incomplete routes"
            )?;
        }
        match self.circles.is_empty() {
            true => writeln!(f, "Routes are deadlock free (No credit loops detected)")?,
            false => writeln!(f, "Deadlock detected in routes (Credit loops detected)")?,
        }
        for circle in &self.circles {
            circle.write(f, self.detail)?;
        }
        writeln!(f, "{RULE}")
    }
}
