//! The state of subnet administration, with which its row of inputs begins.

use std::fmt;

use weft_fabric::Tick;
use weft_manager::Sa;
use weft_state::{State, StateError, Writer};

use crate::checkpoint::{Checkpoint, write_pieces};
use crate::keys::Keys;
use crate::recorder::{SA_CHECKPOINT, SA_CHECKPOINT_PART};

/// An administration as it was between two inputs. What it shares with the one that goes on is not copied.
pub struct FrozenSa {
    /// The recording's time.
    pub(super) at: Tick,
    /// The recording's time at the moment from which the administration counts.
    pub(super) epoch: Tick,
    pub(super) sa: Box<Sa>,
    pub(super) keys: Keys,
}

impl fmt::Debug for FrozenSa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "FrozenSa(at {} ns)", self.at.0)
    }
}

impl FrozenSa {
    pub(crate) fn at(&self) -> Tick {
        self.at
    }

    /// The chunks of the checkpoint, one after the other.
    pub fn write(mut self, to: impl FnMut(&[u8])) {
        let (epoch, sa) = (self.epoch, &self.sa);
        let state = |to: &mut Writer<'_>| {
            epoch.write(to);
            sa.write(to);
        };
        let kinds = (SA_CHECKPOINT_PART, SA_CHECKPOINT);
        write_pieces(self.at, kinds, &mut self.keys, state, to);
    }
}

/// What [`FrozenSa::write`] wrote.
pub(super) fn read(from: &Checkpoint) -> Result<(Tick, Sa), StateError> {
    weft_state::read(from.bytes())
}
