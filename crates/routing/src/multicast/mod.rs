//! Multicast: spanning trees over the switches, and the part of them that each group needs.
//!
//! All groups share one tree if all links and switches support the groups' requirements. Groups
//! with higher requirements get a tree of the links and switches that support them. Nothing depends on
//! the numbering of nodes: two managers at different places of one fabric make the same tables.

mod graph;
mod root;
mod rows;
mod tree;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_fabric::{Guid, Lid, MLIDS, MulticastTables, NodeId, PortRef, Topology};
use weft_state::State;
use weft_wire::enums::Mtu;

use crate::certificate::{MulticastCertificate, MulticastRefusal, certify_multicast};
use graph::{Class, Graph};
use root::Costs;
use tree::Forest;

/// Choice of the root of the tree (`<RootSelectionAlgorithm>`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum RootChoice {
    /// The switch with the least sum of costs to all others.
    #[default]
    LeastTotalCost,
    /// The switch whose farthest other switch is the least far.
    LeastWorstCaseCost,
    /// The switch next to the manager.
    ManagerNeighbor,
}

/// Settings of multicast routing (`<Multicast>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct MulticastSettings {
    /// Choice of the root.
    pub root: RootChoice,
    /// Percent by which another root must be better before the tree moves to it
    /// (`<MinCostImprovement>`).
    pub min_improvement: u8,
    /// Cuts the tree of each group to what its members need (`<EnablePruning>`). Otherwise every
    /// switch has all ports of the tree for every group, and a join changes one switch.
    pub pruning: bool,
    /// Rows that may be used, from the first on (`<MLIDTableCap>`).
    pub rows_max: u32,
}

impl Default for MulticastSettings {
    fn default() -> Self {
        Self {
            root: RootChoice::default(),
            min_improvement: 50,
            pruning: false,
            rows_max: 1024,
        }
    }
}

/// The members of one multicast LID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    /// The LID.
    pub mlid: Lid,
    /// Largest packet that its members send.
    pub mtu: Mtu,
    /// Least rate of the links of its tree, Mb/s.
    pub rate_mbps: u32,
    /// End ports that receive; they may send, too.
    pub receivers: Vec<PortRef>,
    /// End ports that only send.
    pub senders: Vec<PortRef>,
}

impl MulticastGroup {
    /// Its row in the tables; none when its LID is no multicast LID.
    pub fn row(&self) -> Option<u32> {
        let row = self.mlid.0.checked_sub(Lid::MULTICAST_BASE.0);
        row.filter(|row| *row < MLIDS)
    }
}

/// Inputs of multicast tables.
#[derive(Debug, Clone, Copy)]
pub struct MulticastRequest<'a> {
    /// Nodes and links.
    pub topology: &'a Topology,
    /// How.
    pub settings: &'a MulticastSettings,
    /// Each LID once.
    pub groups: &'a [MulticastGroup],
    /// The manager's node.
    pub manager: NodeId,
    /// Previous result: its root stays unless another one is much better.
    pub before: Option<&'a RoutedMulticast>,
    /// Switches, links and the choice of the root are as they were then.
    pub same_links: bool,
}

/// Something the administrator should know about the result.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub enum MulticastNote {
    /// Groups without a row, because rows are exhausted or their LIDs are invalid.
    NoRow {
        /// The first of them.
        mlid: Lid,
        /// Number of groups.
        groups: usize,
        /// Rows that may be used.
        rows_max: u32,
    },
    /// Members that are kept apart by links or switches that cannot carry the group.
    Apart {
        /// The first such group.
        mlid: Lid,
        /// Number of groups.
        groups: usize,
        /// Switches of the first group's members that the largest part does not reach.
        switches: usize,
    },
    /// Switches whose tables are smaller than the rows in use.
    SmallTables {
        /// The first of them.
        switch: NodeId,
        /// Number of switches.
        switches: usize,
        /// Rows of its table (`SwitchInfo.MulticastFDBCap`).
        cap: u32,
        /// Rows in use.
        rows: u32,
    },
}

impl fmt::Display for MulticastNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRow {
                mlid,
                groups,
                rows_max,
            } => write!(
                f,
                "{groups} multicast LIDs from {mlid} on get no tree: only the first {rows_max} may have one"
            ),
            Self::Apart {
                mlid,
                groups,
                switches,
            } => write!(
                f,
                "the members of {groups} multicast groups do not all reach each other: links or switches between them carry less than the groups ask for; first LID {mlid}, with {switches} switches cut off"
            ),
            Self::SmallTables {
                switches,
                cap,
                rows,
                ..
            } => write!(
                f,
                "multicast tables of {switches} switches hold less than the {rows} rows in use, the first {cap}"
            ),
        }
    }
}

/// Certified multicast tables.
#[derive(Debug, Clone, State)]
pub struct RoutedMulticast {
    tables: Arc<MulticastTables>,
    root: Option<Guid>,
    notes: Vec<MulticastNote>,
    certificate: MulticastCertificate,
    costs: Arc<Costs>,
}

impl RoutedMulticast {
    /// The tables of all switches.
    pub fn tables(&self) -> &Arc<MulticastTables> {
        &self.tables
    }

    /// Root of the tree that the manager's part of the fabric has; none without a switch.
    pub fn root(&self) -> Option<Guid> {
        self.root
    }

    /// Limits met during routing.
    pub fn notes(&self) -> &[MulticastNote] {
        &self.notes
    }

    /// The proof.
    pub fn certificate(&self) -> &MulticastCertificate {
        &self.certificate
    }
}

/// Makes the multicast tables of all groups and certifies them.
///
/// # Errors
/// [`MulticastRefusal`] when the tables do not pass.
pub fn route_multicast(request: MulticastRequest<'_>) -> Result<RoutedMulticast, MulticastRefusal> {
    let graph = Graph::new(request.topology);
    let kept = request.before.filter(|_| request.same_links);
    let costs = kept.map_or_else(
        || Arc::new(Costs::new(&graph, request.settings.root)),
        |before| Arc::clone(&before.costs),
    );
    let root = costs.choose(&graph, &request);
    let (groups, mut notes) = placed(&request);
    let forests = forests(&graph, &costs, root, &groups);
    let tables = rows::tables(&graph, &forests, &groups, request.settings.pruning);
    notes.extend(rows::notes(&graph, &forests, &groups));
    let certificate = certify_multicast(request.topology, &tables, &groups)?;
    Ok(RoutedMulticast {
        tables: Arc::new(tables),
        root: root.map(|root| graph.guid(root)),
        notes,
        certificate,
        costs,
    })
}

/// The groups that get a row, in order of rows.
fn placed(request: &MulticastRequest<'_>) -> (Vec<MulticastGroup>, Vec<MulticastNote>) {
    let rows_max = request.settings.rows_max.min(MLIDS);
    let has_row = |group: &&MulticastGroup| group.row().is_some_and(|row| row < rows_max);
    let by_lid: BTreeMap<Lid, &MulticastGroup> = request
        .groups
        .iter()
        .map(|group| (group.mlid, group))
        .collect();
    let (kept, left): (Vec<_>, Vec<_>) = by_lid.into_values().partition(has_row);
    let note = left.first().map(|first| MulticastNote::NoRow {
        mlid: first.mlid,
        groups: left.len(),
        rows_max,
    });
    (
        kept.into_iter().cloned().collect(),
        note.into_iter().collect(),
    )
}

/// A forest for each class of groups that links and switches tell apart.
fn forests(
    graph: &Graph,
    costs: &Costs,
    root: Option<usize>,
    groups: &[MulticastGroup],
) -> BTreeMap<Class, Forest> {
    let mut forests = BTreeMap::new();
    for group in groups {
        let class = graph.class_of(group);
        forests
            .entry(class)
            .or_insert_with(|| Forest::grow(graph, class, root, costs));
    }
    forests
}
