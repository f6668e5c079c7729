//! A partition that passes from some ports to others: who loses it writes first.
//!
//! Devices take their P_Key tables over one after the other. Were a partition given to new members while former ones
//! still hold it, both could talk to each other, which neither the old nor the new settings allow. So a port that gains
//! a partition that another one loses waits: until all losses are confirmed it has what its old and its new
//! table have in common. What nobody loses, or nobody gains, is written at once, in one request for each table.
//!
//! What a port in use holds is not always known when a sweep begins to write, as after a restart: such ports are read
//! first, and their partitions change in the rounds of writes that follow.
//!
//! A full member counts for more than a limited one: becoming a full member is a gain, becoming a limited one a loss.
//! Tables of switch ports that check keys change in the same order; ports that are to begin with it do so at the end,
//! and those that are to cease go on until then.
//!
//! | module | contents |
//! |---|---|
//! | `keys` | the keys of a table, and what two tables differ in |
//! | `judge` | which partitions are handed over, and what ports hold until then |
//! | `rounds` | one round of writes after the other |

mod judge;
mod keys;
mod rounds;

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::PortNum;
use weft_state::State;

use super::tables::TableId;

/// A port of a node.
type At = (u32, PortNum);

/// What ports have of their P_Key tables before partitions are handed over.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Handover {
    /// Tables in place of the planned ones, of ports that wait for others.
    meanwhile: BTreeMap<At, TableId>,
    /// Ports whose tables stay as they are in this round.
    untouched: BTreeSet<At>,
    /// Rounds of writes after the first one.
    rounds: u32,
}

impl Handover {
    /// The table that a port is to have for now, none where that is the planned one.
    pub(super) fn meanwhile(&self, node: u32, port: PortNum) -> Option<TableId> {
        self.meanwhile.get(&(node, port)).copied()
    }

    /// Whether a port's table stays as it is for now.
    pub(super) fn is_untouched(&self, node: u32, port: PortNum) -> bool {
        self.untouched.contains(&(node, port))
    }

    /// Whether the first round of writes is over: only P_Key tables are written since.
    pub(super) fn has_begun(&self) -> bool {
        self.rounds > 0
    }

    /// Whether some port does not have its planned table in this round.
    fn is_open(&self) -> bool {
        !(self.meanwhile.is_empty() && self.untouched.is_empty())
    }
}
