//! The paths of every LID from one port to another, and where they meet.

use std::fmt;

use serde::Serialize;
use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, Snapshot};

use super::measure::{Measure, Spread};
use super::view::{End, View};
use crate::RULE;
use crate::focus::Detail;
use crate::focus::Options;
use crate::links::LinkEnd;
use crate::links::LinkEntry as Hop;
use crate::names::{as_text, node_line};
use crate::point::Selection;
use crate::route::{TooManyRoutes, ends, write_between};

/// The dispersion between two selections.
#[derive(Debug, Clone, Serialize)]
pub struct PairDispersionReport {
    from: Vec<String>,
    to: Vec<String>,
    /// One for each pair of ports that have LIDs and a cable to a switch.
    pub pairs: Vec<PairDispersion>,
    #[serde(skip)]
    detail: Detail,
}

/// The paths from one port to another.
#[derive(Debug, Clone, Serialize)]
pub struct PairDispersion {
    /// Source of packets.
    pub from: LinkEnd,
    /// Destination of packets.
    pub to: LinkEnd,
    /// Number of disjoint paths, reached and possible. All zero if both ports are at one switch.
    #[serde(flatten)]
    pub spread: Spread,
    /// One for each LID of the destination.
    pub paths: Vec<DispersedPath>,
    /// Links between switches that several of them pass.
    pub shared_links: Vec<SharedLink>,
    /// Switches in between that several of them pass.
    pub shared_switches: Vec<SharedSwitch>,
}

/// The path of packets to one LID, between the first and the last switch.
#[derive(Debug, Clone, Serialize)]
pub struct DispersedPath {
    /// The destination LID.
    pub lid: u32,
    /// They arrive.
    pub complete: bool,
    /// The links between switches that they pass.
    pub hops: Vec<Hop>,
}

/// A link and the LIDs whose paths meet there.
#[derive(Debug, Clone, Serialize)]
pub struct SharedLink {
    /// The link.
    #[serde(flatten)]
    pub hop: Hop,
    /// Destination LIDs.
    pub lids: Vec<u32>,
}

/// A switch and the LIDs whose paths meet there.
#[derive(Debug, Clone, Serialize)]
pub struct SharedSwitch {
    /// NodeGUID.
    #[serde(serialize_with = "as_text")]
    pub guid: Guid,
    /// Its name.
    pub name: String,
    /// Destination LIDs.
    pub lids: Vec<u32>,
    #[serde(skip)]
    line: String,
}

/// Makes the report for every pair of a port of `from` and a port of `to`; of a node that is
/// selected whole, the ports that have LIDs.
///
/// # Errors
/// [`TooManyRoutes`] beyond [`MAX_PAIRS`](crate::MAX_PAIRS).
pub fn dispersion_between(
    snapshot: &Snapshot,
    from: &Selection,
    to: &Selection,
    detail: Detail,
) -> Result<PairDispersionReport, TooManyRoutes> {
    let (sources, destinations) = ends(snapshot, from, to)?;
    let view = View::new(&snapshot.topology);
    let mut measure = Measure::new(&view, &snapshot.linear);
    let end = |at: &PortRef| View::end(&snapshot.topology, *at);
    let destinations: Vec<End> = destinations.iter().filter_map(end).collect();
    let mut pairs = Vec::new();
    for source in sources.iter().filter_map(end) {
        let made = destinations
            .iter()
            .filter_map(|to| PairDispersion::new(snapshot, (&view, &mut measure), &source, to));
        pairs.extend(made);
    }
    Ok(PairDispersionReport {
        from: from.lines(snapshot, &Options::default()),
        to: to.lines(snapshot, &Options::default()),
        pairs,
        detail,
    })
}

impl PairDispersion {
    fn new(
        snapshot: &Snapshot,
        (view, measure): (&View, &mut Measure<'_>),
        from: &End,
        to: &End,
    ) -> Option<Self> {
        let spread = measure.spread(from.switch, to);
        let paths: Vec<&[u32]> = measure.paths().collect();
        let hop = |link: &u32| {
            let link = view.links.get(*link as usize)?;
            let node = *snapshot.topology.switches().get(link.from as usize)?;
            let at = PortRef {
                node,
                port: PortNum(link.port),
            };
            Hop::new(
                snapshot,
                &Options::default(),
                at,
                snapshot.topology.peer(at)?,
            )
        };
        let dispersed = |(path, lid): (&&[u32], u32)| {
            let arrives = path
                .last()
                .map_or(from.switch, |link| view.links[*link as usize].to)
                == to.switch;
            DispersedPath {
                lid,
                complete: arrives && ends_at(snapshot, to, lid),
                hops: path.iter().filter_map(hop).collect(),
            }
        };
        let inner = |path: &&[u32]| -> Vec<u32> {
            let links = path.iter().take(path.len().saturating_sub(1));
            links.map(|link| view.links[*link as usize].to).collect()
        };
        let links: Vec<Vec<u32>> = paths.iter().map(|path| path.to_vec()).collect();
        let switches: Vec<Vec<u32>> = paths.iter().map(inner).collect();
        let shared_links = shared(&links, to.lid).into_iter();
        let shared_switches = shared(&switches, to.lid).into_iter();
        Some(Self {
            from: LinkEnd::new(snapshot, &Options::default(), from.at)?,
            to: LinkEnd::new(snapshot, &Options::default(), to.at)?,
            spread,
            paths: paths.iter().zip(to.lid..).map(dispersed).collect(),
            shared_links: shared_links
                .filter_map(|(link, lids)| {
                    Some(SharedLink {
                        hop: hop(&link)?,
                        lids,
                    })
                })
                .collect(),
            shared_switches: shared_switches
                .filter_map(|(switch, lids)| {
                    let node = *snapshot.topology.switches().get(switch as usize)?;
                    SharedSwitch::new(snapshot, node, lids)
                })
                .collect(),
        })
    }
}

/// Whether the last switch sends a LID to its port.
fn ends_at(snapshot: &Snapshot, to: &End, lid: u32) -> bool {
    let last = weft_fabric::SwitchIndex(to.switch);
    snapshot.linear.egress(last, Lid(lid)) == Some(PortNum(to.port))
}

/// Elements that several of some paths cross, in order, with the LIDs of these paths.
fn shared(paths: &[Vec<u32>], base: u32) -> Vec<(u32, Vec<u32>)> {
    let mut passed: Vec<(u32, u32)> = Vec::new();
    for (path, lid) in paths.iter().zip(base..) {
        passed.extend(path.iter().map(|place| (*place, lid)));
    }
    passed.sort_unstable();
    passed.dedup();
    let places = passed
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|lids| lids.len() > 1);
    places
        .map(|lids| (lids[0].0, lids.iter().map(|(_, lid)| *lid).collect()))
        .collect()
}

impl SharedSwitch {
    fn new(snapshot: &Snapshot, id: NodeId, lids: Vec<u32>) -> Option<Self> {
        let node = snapshot.topology.node(id)?;
        Some(Self {
            guid: node.guid(),
            name: node.name().to_string(),
            lids,
            line: node_line(snapshot, id),
        })
    }
}

/// LIDs one after the other.
struct List<'a>(&'a [u32]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|lid| write!(f, " {}", Lid(*lid)))
    }
}

impl PairDispersion {
    fn write_paths(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for path in &self.paths {
            let state = if path.complete {
                ""
            } else {
                ", Route Incomplete"
            };
            let count = path.hops.len();
            writeln!(
                f,
                "    DLID: {}: {count} Links between Switches{state}",
                Lid(path.lid)
            )?;
            for hop in &path.hops {
                writeln!(f, "        {:>4} {}", hop.rate, hop.from)?;
                writeln!(f, "        ->   {}", hop.to)?;
            }
        }
        Ok(())
    }

    fn write_shared(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for SharedLink { hop, lids } in &self.shared_links {
            writeln!(f, "    Shared Link, DLIDs{}", List(lids))?;
            writeln!(f, "        {:>4} {}", hop.rate, hop.from)?;
            writeln!(f, "        ->   {}", hop.to)?;
        }
        for shared in &self.shared_switches {
            writeln!(f, "    Shared Switch, DLIDs{}", List(&shared.lids))?;
            writeln!(f, "        {}", shared.line)?;
        }
        Ok(())
    }
}

impl fmt::Display for PairDispersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread {
            lids,
            reached,
            possible,
            ..
        } = self.spread;
        writeln!(f, "Paths between ports:")?;
        writeln!(f, "     {}", self.from)?;
        writeln!(f, "and  {}", self.to)?;
        if possible.links == 0 {
            return writeln!(f, "{lids} Paths, no Link between Switches");
        }
        writeln!(
            f,
            "{lids} Paths: {} of {} possible share no link, {} of {} no switch in between",
            reached.links, possible.links, reached.switches, possible.switches
        )
    }
}

impl fmt::Display for PairDispersionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Dispersion Summary Between:")?;
        write_between(f, &self.from, &self.to)?;
        for pair in &self.pairs {
            write!(f, "{pair}")?;
            if self.detail > Detail::BRIEF {
                pair.write_paths(f)?;
            }
            if self.detail > Detail::COUNTS {
                pair.write_shared(f)?;
            }
        }
        writeln!(f, "{RULE}")
    }
}
