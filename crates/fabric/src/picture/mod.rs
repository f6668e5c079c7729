//! Pictures of a fabric: switches by tiers, each with a count of its hosts, parallel links drawn once.
//!
//! | module | contents |
//! |---|---|
//! | this one | what is drawn, and what is marked in it |
//! | `graph` | boxes and the lines between them |
//! | `labels` | short names, and their order |
//! | `layout` | places of boxes: by tiers, in a grid, in a circle |
//! | `style` | how a line looks, never by its colour alone |
//! | `svg`, `dot` | the files |

mod dot;
mod graph;
mod labels;
mod layout;
mod style;
mod svg;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use thiserror::Error;

use crate::topology::{NodeId, PortRef, Topology};
use graph::Graph;
use layout::Layout;

/// Most hosts that are drawn one by one.
pub const HOSTS_MAX: usize = 512;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The fabric.
    pub topology: &'a Topology,
    /// What stands above it, besides the counts of nodes and links.
    pub title: &'a str,
    /// Hosts one by one, in place of a count at their switch.
    pub hosts: bool,
    /// What is marked in it.
    pub marks: &'a Marks,
}

/// What is marked in a picture.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// Utilization of links by the port that sends, 0 to 1; none where it is not drawn.
    pub load: Option<BTreeMap<PortRef, f64>>,
    /// Routes; their ends are drawn one by one.
    pub courses: Vec<Course>,
    /// Switches that are drained.
    pub drained_switches: BTreeSet<NodeId>,
    /// Links that are drained, by either end.
    pub drained_links: BTreeSet<PortRef>,
    /// Links that were there and are down.
    pub lost: Vec<(PortRef, PortRef)>,
    /// Number of further ones whose other end is gone with its node.
    pub lost_with_node: usize,
}

/// The way of packets through the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Course {
    /// Which of several.
    pub way: Way,
    /// The links, each in the direction of the packets.
    pub links: Vec<(PortRef, PortRef)>,
}

/// Which of several ways from one port to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// That of the base LID.
    Base,
    /// That of another LID of the destination.
    Dispersive,
    /// Those that a switch may choose in place of the base LID's.
    Adaptive,
}

/// What is not drawn.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PictureError {
    /// Too many hosts to draw them one by one.
    #[error("the fabric has {hosts} hosts, allowed to be drawn one by one: {HOSTS_MAX}")]
    TooManyHosts {
        /// Hosts of the fabric.
        hosts: usize,
    },
}

impl Picture<'_> {
    /// Whether it can be drawn.
    ///
    /// # Errors
    /// [`PictureError`].
    pub fn check(&self) -> Result<(), PictureError> {
        let hosts = self.topology.hfis().count();
        match self.hosts && hosts > HOSTS_MAX {
            true => Err(PictureError::TooManyHosts { hosts }),
            false => Ok(()),
        }
    }

    /// Writes it as SVG 1.1; `sink` need not be buffered. More hosts than [`HOSTS_MAX`] are folded.
    ///
    /// # Errors
    /// The sink's.
    pub fn write_svg(&self, sink: impl Write) -> io::Result<()> {
        let graph = Graph::new(self);
        let layout = Layout::new(self.topology, &graph);
        let mut out = BufWriter::with_capacity(1 << 16, sink);
        svg::write(self, &graph, &layout, &mut out)?;
        out.flush()
    }

    /// Writes it as a graph for Graphviz, with every node at its place; `sink` need not be buffered. More hosts than
    /// [`HOSTS_MAX`] are folded.
    ///
    /// # Errors
    /// The sink's.
    pub fn write_dot(&self, sink: impl Write) -> io::Result<()> {
        let graph = Graph::new(self);
        let layout = Layout::new(self.topology, &graph);
        let mut out = BufWriter::with_capacity(1 << 16, sink);
        dot::write(&graph, &layout, &mut out)?;
        out.flush()
    }
}
