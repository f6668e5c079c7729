//! A topology file's contents in recordings: what is in the file, without the look-ups that are made of it.

use serde::{Deserialize, Serialize};
use weft_wire::id::{Lid, Lmc, PortNum};

use super::build::{IntendedBuilder, IntendedError};
use super::{Intended, IntendedLink, IntendedNode, IntendedSm};

/// The contents, as they are written.
#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    nodes: Vec<IntendedNode>,
    links: Vec<IntendedLink>,
    sms: Vec<IntendedSm>,
    is_external_only: bool,
    /// Index of a node, port, base LID, LMC; in order of the first two.
    lids: Vec<(u32, PortNum, Lid, Lmc)>,
}

impl From<Intended> for Stored {
    fn from(intended: Intended) -> Self {
        let lids = intended.lids.into_iter();
        Self {
            nodes: intended.nodes,
            links: intended.links,
            sms: intended.sms,
            is_external_only: intended.is_external_only,
            lids: lids
                .map(|((node, port), (lid, lmc))| (node, port, lid, lmc))
                .collect(),
        }
    }
}

impl TryFrom<Stored> for Intended {
    type Error = IntendedError;

    fn try_from(stored: Stored) -> Result<Self, IntendedError> {
        let mut builder = IntendedBuilder::new();
        let mut lids = stored.lids.into_iter().peekable();
        for (index, node) in (0..).zip(stored.nodes) {
            builder.node(node);
            while let Some((_, port, lid, lmc)) = lids.next_if(|(node, ..)| *node == index) {
                builder.lids(port, lid, lmc)?;
            }
        }
        if let Some((node, ..)) = lids.next() {
            return Err(IntendedError::UnknownNode(format!("number {node}")));
        }
        stored.sms.into_iter().for_each(|sm| builder.sm(sm));
        if stored.is_external_only {
            builder.set_external_only();
        }
        builder.end_nodes().map_err(|(_, error)| error)?;
        for link in stored.links {
            builder.cable(link)?;
        }
        builder.build().map_err(|(_, error)| error)
    }
}
