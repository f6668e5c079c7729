//! `route`: the path from one port to another, hop by hop, on every LID that the pair has.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use thiserror::Error;
use weft_fabric::{Guid, Lid, NodeId, PortRef, Snapshot};

use crate::RULE;
use crate::extent::{Extent, SKIPPED};
use crate::focus::{Detail, Options};
use crate::links::{Layout, LinkEnd, LinkEntry, write_header};
use crate::names::{as_text, port_guid};
use crate::point::Selection;
use crate::xml::{Xml, XmlWriter};

/// Most pairs of ports that one report walks.
pub const MAX_PAIRS: usize = 65_536;

/// More pairs than one report walks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{sources} sources × {destinations} destinations are too many routes for one report, allowed: {MAX_PAIRS}"
)]
pub struct TooManyRoutes {
    /// Ports that the source names.
    pub sources: usize,
    /// Ports that the destination names.
    pub destinations: usize,
}

/// The routes between two selections.
#[derive(Debug, Clone, Serialize)]
pub struct RouteReport {
    from: Vec<String>,
    to: Vec<String>,
    /// One for each pair of ports.
    pub routes: Vec<Route>,
    #[serde(skip)]
    ends_xml: String,
    #[serde(skip)]
    has_cables: bool,
    #[serde(skip)]
    extent: Extent,
    #[serde(skip)]
    detail: Detail,
}

/// The routes between two ports.
#[derive(Debug, Clone, Serialize)]
pub struct Route {
    /// Source of packets.
    pub from: LinkEnd,
    /// Destination of packets.
    pub to: LinkEnd,
    /// One for each LID that both ends have; none where one end has no LID.
    pub paths: Vec<Path>,
}

/// One end of a path.
#[derive(Debug, Clone, Serialize)]
pub struct PathEnd {
    /// Upper half of its GID.
    #[serde(skip)]
    pub prefix: u64,
    /// Lower half of its GID.
    #[serde(serialize_with = "as_text")]
    pub port_guid: Guid,
    /// The LID that this path uses.
    pub lid: u32,
}

/// The path of a packet with one destination LID.
#[derive(Debug, Clone, Serialize)]
pub struct Path {
    /// Source of packets.
    pub source: PathEnd,
    /// Destination of packets.
    pub destination: PathEnd,
    /// The links that they pass, also those up to where an incomplete path ends.
    pub hops: Vec<LinkEntry>,
    /// Whether they arrive.
    pub outcome: PathOutcome,
}

/// Whether packets arrive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum PathOutcome {
    /// They do.
    Complete,
    /// They do not.
    Incomplete {
        /// Why packets stop.
        why: String,
    },
}

/// Makes the report for every pair of a port of `from` and a port of `to`; of a node that is
/// selected whole, the ports that have LIDs.
///
/// # Errors
/// [`TooManyRoutes`] beyond [`MAX_PAIRS`].
pub fn route(
    snapshot: &Snapshot,
    from: &Selection,
    to: &Selection,
    options: &Options,
) -> Result<RouteReport, TooManyRoutes> {
    let (sources, destinations) = ends(snapshot, from, to)?;
    let pairs = sources
        .iter()
        .flat_map(|a| destinations.iter().map(move |b| (*a, *b)));
    let routes = pairs.filter_map(|(a, b)| {
        let (from, to) = (
            LinkEnd::new(snapshot, options, a)?,
            LinkEnd::new(snapshot, options, b)?,
        );
        Some(Route {
            from,
            to,
            paths: paths(snapshot, options, a, b),
        })
    });
    let mut xml = XmlWriter::default();
    from.write_xml(snapshot, options, &mut xml);
    to.write_xml(snapshot, options, &mut xml);
    Ok(RouteReport {
        ends_xml: xml.into_text(),
        from: from.lines(snapshot, options),
        to: to.lines(snapshot, options),
        routes: routes.collect(),
        has_cables: options.has_cables(),
        extent: options.extent,
        detail: options.detail,
    })
}

/// The ports at either end of the pairs that a report is about: of a node that is selected whole, those
/// that have LIDs.
pub(crate) fn ends(
    snapshot: &Snapshot,
    from: &Selection,
    to: &Selection,
) -> Result<(Vec<PortRef>, Vec<PortRef>), TooManyRoutes> {
    let (sources, destinations) = (from.end_ports(snapshot), to.end_ports(snapshot));
    if sources.len().saturating_mul(destinations.len()) > MAX_PAIRS {
        let (sources, destinations) = (sources.len(), destinations.len());
        return Err(TooManyRoutes {
            sources,
            destinations,
        });
    }
    Ok((sources, destinations))
}

/// The paths from one port to another, one for each LID that both have (2^LMC of the smaller
/// LMC); none where one of them has no LID.
pub fn paths(snapshot: &Snapshot, options: &Options, from: PortRef, to: PortRef) -> Vec<Path> {
    let end = |at: PortRef| {
        let guid = port_guid(&snapshot.topology, at)?;
        let info = &snapshot.topology.port(at)?.info;
        info.lid.is_unicast().then_some((guid, info))
    };
    let (Some((from_guid, from_info)), Some((to_guid, to_info))) = (end(from), end(to)) else {
        return Vec::new();
    };
    let lids = from_info.lmc.min(to_info.lmc).lids();
    let path = |offset| {
        let end = |guid, info: &weft_wire::sm::PortInfo| PathEnd {
            prefix: info.subnet_prefix,
            port_guid: guid,
            lid: info.lid.0.saturating_add(offset),
        };
        let destination = end(to_guid, to_info);
        let (links, stopped) = walk(snapshot, from, to, Lid(destination.lid));
        Path {
            source: end(from_guid, from_info),
            destination,
            hops: links
                .into_iter()
                .filter_map(|(a, b)| LinkEntry::new(snapshot, options, a, b))
                .collect(),
            outcome: match stopped {
                None => PathOutcome::Complete,
                Some(why) => PathOutcome::Incomplete { why },
            },
        }
    };
    (0..lids).map(path).collect()
}

/// All ports on the paths from one selection to another, each once, in order.
pub(crate) fn ports_between(snapshot: &Snapshot, from: &Selection, to: &Selection) -> Vec<PortRef> {
    let destinations = to.end_ports(snapshot);
    let mut ports = BTreeSet::new();
    let pairs = from.end_ports(snapshot).into_iter();
    let pairs = pairs.flat_map(|a| destinations.iter().map(move |b| (a, *b)));
    for (a, b) in pairs.take(MAX_PAIRS) {
        let Some(port) = snapshot.topology.port(b) else {
            continue;
        };
        for offset in 0..port.info.lmc.lids() {
            let lid = Lid(port.info.lid.0.saturating_add(offset));
            let (links, _) = walk(snapshot, a, b, lid);
            ports.extend(links.into_iter().flat_map(|(out, into)| [out, into]));
        }
    }
    ports.into_iter().collect()
}

/// The links of a packet to `lid` from `from`, and the reason if it stops before `to`.
pub(crate) fn walk(
    snapshot: &Snapshot,
    from: PortRef,
    to: PortRef,
    lid: Lid,
) -> (Vec<(PortRef, PortRef)>, Option<String>) {
    let topology = &snapshot.topology;
    let mut links = Vec::new();
    let mut at = from;
    let most = topology.switches().len() + 2;
    while at != to && links.len() <= most {
        let out = match step(snapshot, at, [from, to], lid) {
            Ok(Some(out)) => out,
            Ok(None) => return (links, None),
            Err(why) => return (links, Some(why)),
        };
        let Some(next) = topology.peer(out) else {
            let why = format!(
                "port {} of {} has no link",
                out.port,
                name(snapshot, out.node)
            );
            return (links, Some(why));
        };
        links.push((out, next));
        at = next;
    }
    let stopped = (links.len() > most).then(|| format!("packets to LID {lid} go round in a loop"));
    (links, stopped)
}

/// The port that a packet to `lid` leaves by when it is at `at`; none where it has arrived.
fn step(
    snapshot: &Snapshot,
    at: PortRef,
    [from, to]: [PortRef; 2],
    lid: Lid,
) -> Result<Option<PortRef>, String> {
    let name = || name(snapshot, at.node);
    let Some(switch) = snapshot.topology.switch_index(at.node) else {
        let starts = (at == from).then_some(Some(at));
        return starts.ok_or_else(|| format!("LID {lid} leads to {}", name()));
    };
    match snapshot.linear.egress(switch, lid) {
        Some(port) if port.0 != 0 => Ok(Some(PortRef {
            node: at.node,
            port,
        })),
        Some(_) if at.node == to.node => Ok(None),
        Some(_) => Err(format!("{} takes LID {lid} for its own", name())),
        None => Err(format!("{} has no route to LID {lid}", name())),
    }
}

fn name(snapshot: &Snapshot, node: NodeId) -> String {
    snapshot
        .topology
        .node(node)
        .map_or_else(String::new, |node| node.name().to_string())
}

impl Path {
    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        let (source, destination) = (&self.source, &self.destination);
        to.within("Route", |to| {
            to.within("PathRecord", |to| {
                to.value("SGID", source);
                to.value("DGID", destination);
                to.value("SLID", Lid(source.lid));
                to.value("DLID", Lid(destination.lid));
                to.coded("Reversible", "Y", 1);
            });
            if self.outcome != PathOutcome::Complete {
                let links = "<LinksTraversed>0</LinksTraversed> <!-- Route Incomplete -->";
                return to.line(format_args!("{links}"));
            }
            to.deeper(1, |to| {
                for hop in self.hops.iter().filter(|_| detail.lists()) {
                    hop.write_xml(to, detail.within(), &|_, _| ());
                }
            });
            to.value("LinksTraversed", self.hops.len());
        });
    }
}

impl Route {
    fn write_xml(&self, to: &mut XmlWriter, detail: Detail) {
        to.within("PortRoutes", |to| {
            self.from.xml(to);
            self.to.xml(to);
            to.value("Paths", self.paths.len());
            for path in self.paths.iter().filter(|_| detail.lists()) {
                path.write_xml(to, detail.within());
            }
        });
    }
}

impl Xml for RouteReport {
    fn xml(&self, to: &mut XmlWriter) {
        to.within("RoutesSummary", |to| {
            to.lines(&self.ends_xml);
            if !self.extent.has_passing() {
                return to.line(format_args!("<!-- {SKIPPED} -->"));
            }
            for route in &self.routes {
                route.write_xml(to, self.detail);
            }
        });
    }
}

impl Path {
    fn write(&self, f: &mut fmt::Formatter<'_>, detail: Detail, has_cables: bool) -> fmt::Result {
        let (source, destination) = (&self.source, &self.destination);
        writeln!(f, "    SGID: {source}")?;
        writeln!(f, "    DGID: {destination}")?;
        let (slid, dlid) = (Lid(source.lid), Lid(destination.lid));
        writeln!(f, "    SLID: {slid} DLID: {dlid} Reversible: Y")?;
        if self.outcome != PathOutcome::Complete {
            return writeln!(f, "    Route Incomplete");
        }
        if detail.lists() && !self.hops.is_empty() {
            write_header(f, 8, has_cables && detail.within().lists())?;
        }
        let layout = Layout {
            indent: 8,
            arrow: "->",
            detail: detail.within(),
        };
        for hop in self.hops.iter().filter(|_| detail.lists()) {
            hop.write(f, layout, &|_, _| Ok(()))?;
        }
        writeln!(f, "    {} Links Traversed", self.hops.len())
    }
}

impl fmt::Display for PathEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}:{:016x}", self.prefix, self.port_guid.0)
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Routes between ports:")?;
        writeln!(f, "     {}", self.from)?;
        self.from.write_notes(f, 4, Detail::COUNTS)?;
        writeln!(f, "and  {}", self.to)?;
        self.to.write_notes(f, 4, Detail::COUNTS)?;
        writeln!(f, "{} Paths", self.paths.len())
    }
}

/// Writes the points of the request, under the title of a report on pairs of points.
pub(crate) fn write_between(
    f: &mut fmt::Formatter<'_>,
    from: &[String],
    to: &[String],
) -> fmt::Result {
    for line in from {
        writeln!(f, "    {line}")?;
    }
    for (index, line) in to.iter().enumerate() {
        writeln!(f, "{}{line}", if index == 0 { "and " } else { "" })?;
    }
    writeln!(f)
}

impl fmt::Display for RouteReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Routes Summary Between:")?;
        write_between(f, &self.from, &self.to)?;
        if !self.extent.has_passing() {
            return writeln!(f, "{SKIPPED}\n{RULE}");
        }
        for route in &self.routes {
            write!(f, "{route}")?;
            for path in route.paths.iter().filter(|_| self.detail > Detail::COUNTS) {
                path.write(f, self.detail.within(), self.has_cables)?;
            }
        }
        writeln!(f, "{RULE}")
    }
}
