//! `validateroutes`, `validatevlroutes`: whether packets from every port arrive at every LID.

use std::collections::BTreeMap;
use std::fmt;

use rayon::prelude::*;
use serde::Serialize;
use weft_fabric::{Lid, PortRef, Sl, Snapshot};

use super::states::{Distances, State, States};
use super::walk::{Walk, answers, first_channel, is_switch, walk};
use crate::RULE;
use crate::focus::{Detail, Options};
use crate::links::LinkEnd;
use crate::tables::{NO_ROUTES, known_ports};
use crate::xml::{Xml, XmlWriter, port_id};

/// Paths that are listed; the others are counted.
pub const MAX_LISTED: usize = 10_000;

/// Whether packets arrive.
#[derive(Debug, Clone, Serialize)]
pub struct RoutesReport {
    /// Ports with LIDs.
    pub lids: usize,
    /// HFIs.
    pub hfis: usize,
    /// Switches.
    pub switches: usize,
    /// Paths that were followed: from every port with a LID to every LID of the others, at each service level.
    pub analyzed: u64,
    /// Paths that do not arrive.
    pub incomplete: u64,
    /// The first of these, in order of the ports' GUIDs.
    pub paths: Vec<IncompletePath>,
    /// The forwarding tables are known; else nothing was followed.
    pub with_routes: bool,
    #[serde(skip)]
    by_level: bool,
    #[serde(skip)]
    detail: Detail,
}

/// A path that does not arrive.
#[derive(Debug, Clone, Serialize)]
pub struct IncompletePath {
    /// Where it begins.
    pub from: LinkEnd,
    /// The port that has the LID.
    pub to: LinkEnd,
    /// The LID.
    pub dlid: u32,
    /// Service level.
    pub sl: u8,
    /// Ports that packets pass before they are lost.
    pub ports: Vec<PassedPort>,
}

/// A port on a path.
#[derive(Debug, Clone, Serialize)]
pub struct PassedPort {
    /// The port.
    #[serde(flatten)]
    pub port: LinkEnd,
    /// Virtual lane.
    pub vl: u8,
}

/// Makes the report for packets of service level 0.
pub fn validate_routes(snapshot: &Snapshot, options: &Options) -> RoutesReport {
    report(snapshot, options, false)
}

/// Makes the report for packets of every service level that a virtual fabric uses, with the maps of channels and lanes.
pub fn validate_vl_routes(snapshot: &Snapshot, options: &Options) -> RoutesReport {
    report(snapshot, options, true)
}

fn report(snapshot: &Snapshot, options: &Options, by_level: bool) -> RoutesReport {
    let known = known_ports(snapshot).into_iter();
    let ends: Vec<PortRef> = known
        .filter(|at| !is_switch(snapshot, at.node) || at.port.0 == 0)
        .collect();
    let has_lid = |at: &&PortRef| {
        snapshot
            .topology
            .port(**at)
            .is_some_and(|port| port.info.lid.0 != 0)
    };
    let mut report = RoutesReport {
        lids: ends.iter().filter(has_lid).count(),
        hfis: snapshot.topology.hfis().count(),
        switches: snapshot.topology.switches().len(),
        analyzed: 0,
        incomplete: 0,
        paths: Vec::new(),
        with_routes: !snapshot.lacking.routes,
        by_level,
        detail: options.detail,
    };
    if report.with_routes {
        let levels = if by_level {
            levels(snapshot)
        } else {
            vec![Sl(0)]
        };
        Validation::new(snapshot, ends, levels).complete(&mut report);
    }
    report
}

/// Service levels that virtual fabrics use for unicast, in order; level 0 where none is known.
pub(crate) fn levels(snapshot: &Snapshot) -> Vec<Sl> {
    let fabrics = &snapshot.administration.virtual_fabrics;
    let used = |sl: &Sl| {
        fabrics.iter().any(|fabric| {
            fabric.sl_base == *sl || fabric.sl_response_specified && fabric.sl_response == *sl
        })
    };
    let levels: Vec<Sl> = (0..32).map(Sl).filter(used).collect();
    match levels.is_empty() || snapshot.lacking.port_tables {
        true => vec![Sl(0)],
        false => levels,
    }
}

/// How packets of a port begin their way at a service level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Start {
    /// They are not sent.
    Never,
    /// They come to another HFI.
    Direct(PortRef),
    /// They come into a switch.
    Switch(State),
}

/// Ports whose packets take the same way, each by its number among the ends.
type Sources = BTreeMap<Vec<Start>, Vec<usize>>;

/// The LIDs of a port, with the sources that do not reach each: a bit for each group and level.
struct Unreached {
    lid: Lid,
    of: usize,
    lost: Vec<bool>,
}

struct Validation<'a> {
    snapshot: &'a Snapshot,
    ends: Vec<PortRef>,
    levels: Vec<Sl>,
    states: States<'a>,
    sources: Sources,
}

impl<'a> Validation<'a> {
    fn new(snapshot: &'a Snapshot, ends: Vec<PortRef>, levels: Vec<Sl>) -> Self {
        let states = States::new(snapshot);
        let mut sources = Sources::new();
        for (number, at) in ends.iter().enumerate() {
            let starts = levels.iter().map(|sl| start(&states, *at, *sl));
            sources.entry(starts.collect()).or_default().push(number);
        }
        Self {
            snapshot,
            ends,
            levels,
            states,
            sources,
        }
    }

    fn complete(&self, report: &mut RoutesReport) {
        let lids = self.lids();
        let others = self.ends.len().saturating_sub(1) as u64;
        report.analyzed = lids.len() as u64 * others * self.levels.len() as u64;
        let unreached: Vec<Unreached> = lids
            .into_par_iter()
            .map_init(
                || Distances::new(&self.states),
                |distances, (lid, of)| self.unreached(distances, lid, of),
            )
            .flatten()
            .collect();
        report.incomplete = unreached.iter().map(|lid| self.count(lid)).sum();
        if report.incomplete > 0 {
            report.paths = self.list(&unreached);
        }
    }

    /// All LIDs, with the number of the port that has each.
    fn lids(&self) -> Vec<(Lid, usize)> {
        let ends = self.ends.iter().enumerate();
        let lids = ends.flat_map(|(of, at)| {
            let info = self.snapshot.topology.port(*at).map(|port| &port.info);
            info.into_iter().flat_map(move |info| {
                let base = info.lid;
                (0..info.lmc.lids()).map(move |offset| (Lid(base.0 | offset), of))
            })
        });
        lids.collect()
    }

    /// The sources that do not reach a LID, none where all do.
    fn unreached(&self, distances: &mut Distances, lid: Lid, of: usize) -> Option<Unreached> {
        distances.clear();
        let starts = self.sources.keys().flatten();
        let lost: Vec<bool> = starts
            .map(|start| match start {
                Start::Never => true,
                Start::Direct(at) => !answers(self.snapshot, *at, lid),
                Start::Switch(state) => !distances.arrive(&self.states, *state, lid),
            })
            .collect();
        lost.contains(&true).then_some(Unreached { lid, of, lost })
    }

    /// Paths to a LID that do not arrive; a port sends nothing to itself.
    fn count(&self, unreached: &Unreached) -> u64 {
        let groups = unreached.lost.chunks(self.levels.len());
        let counts = groups.zip(self.sources.values()).map(|(lost, sources)| {
            let own = usize::from(sources.binary_search(&unreached.of).is_ok());
            let levels = lost.iter().filter(|lost| **lost).count();
            (levels * (sources.len() - own)) as u64
        });
        counts.sum()
    }

    fn list(&self, unreached: &[Unreached]) -> Vec<IncompletePath> {
        let mut group_of = vec![0; self.ends.len()];
        for (group, sources) in self.sources.values().enumerate() {
            sources.iter().for_each(|source| group_of[*source] = group);
        }
        let paths = (0..self.ends.len()).flat_map(|source| {
            let group = group_of[source] * self.levels.len();
            let lids = unreached
                .chunk_by(|a, b| a.of == b.of)
                .filter(move |lids| lids[0].of != source);
            lids.flat_map(move |lids| {
                let levels = self.levels.iter().enumerate();
                levels.flat_map(move |(level, sl)| {
                    let lost = lids.iter().filter(move |lid| lid.lost[group + level]);
                    lost.map(move |lid| (source, lid, *sl))
                })
            })
        });
        let paths = paths.take(MAX_LISTED);
        paths
            .filter_map(|(source, lid, sl)| self.path(source, lid, sl))
            .collect()
    }

    fn path(&self, source: usize, lid: &Unreached, sl: Sl) -> Option<IncompletePath> {
        let from = self.ends[source];
        let Walk { steps, .. } = walk(self.snapshot, from, lid.lid, sl);
        let ports = steps.iter().flat_map(|step| {
            let ports = [step.entry, step.exit].into_iter().flatten();
            ports.map(|at| (at, step.vl))
        });
        let ports = ports.filter_map(|(at, vl)| {
            let port = LinkEnd::plain(self.snapshot, at)?;
            Some(PassedPort { port, vl })
        });
        Some(IncompletePath {
            from: LinkEnd::plain(self.snapshot, from)?,
            to: LinkEnd::plain(self.snapshot, self.ends[lid.of])?,
            dlid: lid.lid.0,
            sl: sl.0,
            ports: ports.collect(),
        })
    }
}

fn start(states: &States<'_>, from: PortRef, sl: Sl) -> Start {
    let snapshot = states.snapshot;
    let Some((sc, _)) = first_channel(snapshot, from, sl) else {
        return Start::Never;
    };
    let at = match is_switch(snapshot, from.node) {
        true => Some(from),
        false => snapshot.topology.peer(from),
    };
    match at {
        None => Start::Never,
        Some(at) => states.at(at, sc).map_or(Start::Direct(at), Start::Switch),
    }
}

impl RoutesReport {
    fn unlisted(&self) -> u64 {
        self.incomplete - self.paths.len() as u64
    }
}

impl IncompletePath {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail, by_level: bool) -> fmt::Result {
        let (from, to) = (&self.from, &self.to);
        let sl = if by_level {
            format!("{:>2}", self.sl)
        } else {
            String::new()
        };
        let none = if by_level { "  " } else { "" };
        writeln!(
            f,
            "          {} {:>3}  {sl}   {}  {}",
            from.guid, from.port, from.node_type, from.name
        )?;
        writeln!(
            f,
            "-> {:#010x} {} {:>3}   {none}  {}  {}",
            self.dlid, to.guid, to.port, to.node_type, to.name
        )?;
        if detail < Detail::USUAL {
            return writeln!(f);
        }
        let vl = if by_level { "VL " } else { "" };
        writeln!(
            f,
            "IncompletePath:\n    NodeGUID         Port Type {vl}Name"
        )?;
        for PassedPort { port, vl } in &self.ports {
            write!(f, "    {} {:>3} {} ", port.guid, port.port, port.node_type)?;
            if by_level {
                write!(f, " {vl:>2} ")?;
            }
            writeln!(f, "{}", port.name)?;
        }
        writeln!(f)
    }

    fn write_xml(&self, to: &mut XmlWriter, detail: Detail, by_level: bool) {
        to.within("Path", |to| {
            self.from.xml(to);
            write_end(to, &self.to, |to| to.value("DLID", Lid(self.dlid)), |_| {});
            if by_level {
                to.value("SL", self.sl);
            }
            if detail < Detail::USUAL {
                return;
            }
            to.within("IncompletePath", |to| {
                for PassedPort { port, vl } in &self.ports {
                    write_end(
                        to,
                        port,
                        |_| {},
                        |to| {
                            if by_level {
                                to.value("VL", vl);
                            }
                        },
                    );
                }
            });
        });
    }
}

/// Writes a port with elements before its GUIDs and before its name.
fn write_end(
    to: &mut XmlWriter,
    end: &LinkEnd,
    first: impl FnOnce(&mut XmlWriter),
    before_name: impl FnOnce(&mut XmlWriter),
) {
    let attributes = port_id(end.guid, end.port);
    to.within_as("Port", format_args!("{attributes}"), |to| {
        first(to);
        to.value("NodeGUID", end.guid);
        if let Some(guid) = end.port_guid {
            to.value("PortGUID", guid);
        }
        to.value("PortNum", end.port);
        to.node_type(end.node_type);
        before_name(to);
        to.text("NodeDesc", &end.name);
    });
}

impl Xml for RoutesReport {
    /// Whether all packets arrive, as far as the tables are known.
    fn is_good(&self) -> bool {
        self.incomplete == 0
    }

    fn xml(&self, to: &mut XmlWriter) {
        if !self.with_routes {
            return to.line(format_args!("<!-- {NO_ROUTES} -->"));
        }
        to.within("ValidateRoutes", |to| {
            to.value("FabricLIDCount", self.lids);
            to.value("ConnectedFICount", self.hfis);
            to.value("ConnectedSwitchCount", self.switches);
            if self.detail.lists() {
                to.within("IncompletePaths", |to| {
                    for path in &self.paths {
                        path.write_xml(to, self.detail, self.by_level);
                    }
                    if self.unlisted() > 0 {
                        to.value("NotListed", self.unlisted());
                    }
                });
            }
            to.value("AnalyzedRoutes", self.analyzed);
            to.value("IncompleteRoutes", self.incomplete);
        });
    }
}

impl fmt::Display for RoutesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.with_routes {
            return writeln!(f, "{NO_ROUTES}");
        }
        let colon = if self.detail.lists() { ":" } else { "" };
        writeln!(f, "Validate Routes\n{} LID(s) in Fabric{colon}", self.lids)?;
        writeln!(f, "{} Connected FIs in Fabric{colon}", self.hfis)?;
        writeln!(f, "{} Connected Switch(es) in Fabric{colon}", self.switches)?;
        if self.detail.lists() {
            writeln!(f, "Incomplete Paths:")?;
            match self.by_level {
                true => writeln!(f, "    DLID  NodeGUID          Port  SL Type Name")?,
                false => writeln!(f, "    DLID  NodeGUID             Port Type Name")?,
            }
            for path in &self.paths {
                path.write(f, self.detail, self.by_level)?;
            }
            if self.unlisted() > 0 {
                writeln!(f, "{} further paths are not listed", self.unlisted())?;
            }
        }
        writeln!(f, "{} Analyzed Routes", self.analyzed)?;
        writeln!(f, "{} Incomplete Route(s)\n{RULE}", self.incomplete)
    }
}
