//! Whether the lanes and buffers of a port fit the virtual fabrics that it is in.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use weft_fabric::{PortRef, PortTable, Sc, Snapshot};
use weft_wire::sa::VfInfoRecord;
use weft_wire::sm::{BufferControlTable, ScVlMap, SlScMap};

use crate::tables::{NO_DATA, channel_and_lane, table};
use crate::xml::{Xml, XmlWriter};

/// Bit of `option_flags`: quality of service.
const QOS: u8 = 2;

/// What does not fit together at a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// A virtual fabric has no lane.
    NoLane {
        /// Its name.
        virtual_fabric: String,
    },
    /// The lane of a virtual fabric has no buffer.
    NoBuffers {
        /// Its name.
        virtual_fabric: String,
    },
    /// Several service levels with quality of service share a lane.
    SharedLane {
        /// The lane.
        vl: u8,
        /// Service levels.
        levels: usize,
        /// Virtual fabrics.
        virtual_fabrics: usize,
    },
    /// A lane that no virtual fabric uses has a buffer.
    UnusedBuffers {
        /// The lane.
        vl: u8,
    },
    /// The port sends a channel on another lane than its neighbour returns credits for.
    Mismatch {
        /// The channel.
        sc: u8,
        /// Lane at the port.
        vl: u8,
        /// Lane at the neighbour.
        neighbor_vl: u8,
        /// Name and port number.
        port: (String, u8),
        /// Name and port number of the neighbour.
        neighbor: (String, u8),
    },
}

/// All findings at an end port that is in `fabrics`; `buffers` are none where they are not known or not used.
pub(crate) fn findings(
    snapshot: &Snapshot,
    at: PortRef,
    fabrics: &[&VfInfoRecord],
    buffers: Option<&BufferControlTable>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for fabric in fabrics {
        let virtual_fabric = fabric.vf_name.text().into_owned();
        let (_, vl) = channel_and_lane(snapshot, at, fabric.sl_base);
        let limits = buffers.map(|buffers| buffers.vl[usize::from(vl.0)]);
        let empty = limits.is_some_and(|of| of.tx_dedicated_limit == 0 && of.tx_shared_limit == 0);
        if vl.0 == NO_DATA {
            findings.push(Finding::NoLane { virtual_fabric });
        } else if empty {
            findings.push(Finding::NoBuffers { virtual_fabric });
        }
    }
    findings.extend(shared_lanes(snapshot, at, fabrics));
    if let Some(buffers) = buffers {
        findings.extend(unused_buffers(snapshot, at, buffers));
    }
    findings.extend(mismatches(snapshot, at));
    findings
}

/// A service level counts for the first virtual fabric that brings it to its lane.
fn shared_lanes(snapshot: &Snapshot, at: PortRef, fabrics: &[&VfInfoRecord]) -> Vec<Finding> {
    let mut levels = vec![BTreeSet::new(); 32];
    let mut sharing = [0; 32];
    for fabric in fabrics
        .iter()
        .filter(|fabric| fabric.option_flags & QOS != 0)
    {
        let multicast = fabric.sl_multicast_specified.then_some(fabric.sl_multicast);
        let mut lanes = BTreeSet::new();
        for sl in [Some(fabric.sl_base), multicast].into_iter().flatten() {
            let (_, vl) = channel_and_lane(snapshot, at, sl);
            let lane = usize::from(vl.0);
            if vl.0 != NO_DATA && levels[lane].insert(sl) && lanes.insert(lane) {
                sharing[lane] += 1;
            }
        }
    }
    let lanes = levels
        .iter()
        .zip(sharing)
        .enumerate()
        .filter(|(_, (levels, _))| levels.len() > 1);
    let shared = lanes.map(|(vl, (levels, virtual_fabrics))| Finding::SharedLane {
        vl: vl as u8,
        levels: levels.len(),
        virtual_fabrics,
    });
    shared.collect()
}

/// A lane counts as used if the first channel on it is the first service level's of a virtual fabric.
fn unused_buffers(snapshot: &Snapshot, at: PortRef, buffers: &BufferControlTable) -> Vec<Finding> {
    let lanes: ScVlMap = table(snapshot, at, PortTable::ScToVlt).unwrap_or_default();
    let channels: SlScMap = table(snapshot, at, PortTable::SlToSc).unwrap_or_default();
    let fabrics = &snapshot.administration.virtual_fabrics;
    let is_used = |vl: u8| {
        let sc = lanes.scvl_map.iter().position(|entry| entry.vl.0 == vl)?;
        let sl = channels
            .slsc_map
            .iter()
            .position(|entry| usize::from(entry.sc.0) == sc)?;
        fabrics.iter().find(|fabric| {
            let multicast = fabric.sl_multicast_specified.then_some(fabric.sl_multicast);
            let levels = [Some(fabric.sl_base), multicast];
            levels
                .iter()
                .flatten()
                .any(|level| usize::from(level.0) == sl)
        })
    };
    let limits = (0..32).zip(&buffers.vl).filter(|(vl, limits)| {
        *vl != NO_DATA && (limits.tx_dedicated_limit != 0 || limits.tx_shared_limit != 0)
    });
    let unused = limits.filter(|(vl, _)| is_used(*vl).is_none());
    unused
        .map(|(vl, _)| Finding::UnusedBuffers { vl })
        .collect()
}

fn mismatches(snapshot: &Snapshot, at: PortRef) -> Vec<Finding> {
    let topology = &snapshot.topology;
    let lanes = table::<ScVlMap>(snapshot, at, PortTable::ScToVlt);
    let Some((lanes, peer)) = lanes.zip(topology.peer(at)) else {
        return Vec::new();
    };
    let Some(back) = table::<ScVlMap>(snapshot, peer, PortTable::ScToVlnt) else {
        return Vec::new();
    };
    let named = |at: PortRef| {
        let node = topology.node(at.node);
        (
            node.map_or_else(String::new, |node| node.name().to_string()),
            at.port.0,
        )
    };
    let channels = (0..32).map(|sc| (sc, lanes.get(Sc(sc)).0, back.get(Sc(sc)).0));
    let differ = channels.filter(|(_, vl, neighbor_vl)| vl != neighbor_vl);
    let mismatch = |(sc, vl, neighbor_vl)| Finding::Mismatch {
        sc,
        vl,
        neighbor_vl,
        port: named(at),
        neighbor: named(peer),
    };
    differ.map(mismatch).collect()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLane { virtual_fabric } => {
                writeln!(f, "    No VL allocated for VF: {virtual_fabric}")
            }
            Self::NoBuffers { virtual_fabric } => {
                writeln!(f, "    No buffers allocated for VF: {virtual_fabric}")
            }
            Self::SharedLane {
                vl,
                levels,
                virtual_fabrics,
            } => writeln!(
                f,
                "    Contracted link: {levels} unique SLs in {virtual_fabrics} unique VFs \
                 (not counting shared SLs) mapped to VL {vl}"
            ),
            Self::UnusedBuffers { vl } => writeln!(
                f,
                "    Buffers allocated to VL: {vl}, but it is not mapped to any VirtualFabric"
            ),
            Self::Mismatch {
                sc,
                vl,
                neighbor_vl,
                port,
                neighbor,
            } => {
                writeln!(f, "    SCVLt/SCVLnt mapping mismatch:")?;
                writeln!(f, "        {} Port {}: SC {sc} -> VL {vl}", port.0, port.1)?;
                let (name, port) = neighbor;
                writeln!(
                    f,
                    "        Neighbor {name} Port {port}: SC {sc} -> VL {neighbor_vl}"
                )
            }
        }
    }
}

impl Xml for Finding {
    fn xml(&self, to: &mut XmlWriter) {
        match self {
            Self::NoLane { virtual_fabric } => to.text("VFNoVLAllocated", virtual_fabric),
            Self::NoBuffers { virtual_fabric } => to.text("VFNoBufferAllocated", virtual_fabric),
            Self::SharedLane { vl, levels, .. } => {
                to.line(format_args!(
                    "<ContractedLink VL=\"{vl}\">{levels}</ContractedLink>"
                ));
            }
            Self::UnusedBuffers { vl } => to.value("VLExtraBuffersAllocated", vl),
            Self::Mismatch {
                sc,
                vl,
                neighbor_vl,
                ..
            } => to.within("SCVLMismatch", |to| {
                to.line(format_args!("<Local SC=\"{sc}\">{vl}</Local>"));
                to.line(format_args!(
                    "<Neighbor SC=\"{sc}\">{neighbor_vl}</Neighbor>"
                ));
            }),
        }
    }
}
