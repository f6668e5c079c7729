//! Lanes: the assignment of destination LIDs to sets of virtual lanes.
//!
//! A packet keeps its lane all the way, so that links wait for each other in one lane at a time.
//! Routes that would close a credit cycle together do not if they are in different lanes. The
//! lane of a destination is the service level of its path records. In a torus each lane has two
//! halves, see [`crate::datelines`].

use std::sync::Arc;

use weft_state::State;
use weft_wire::id::Lid;

use crate::datelines::Datelines;

/// The lane of every LID.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub struct Lanes {
    /// By LID; LIDs beyond the end are in lane 0.
    of_lid: Vec<u8>,
    /// Lanes have two halves: the second half of a lane has what else would be the next lane, which no LID
    /// is in.
    datelines: Option<Arc<Datelines>>,
}

impl Lanes {
    /// All traffic in one lane.
    pub const SINGLE: &'static Self = &Self {
        of_lid: Vec::new(),
        datelines: None,
    };

    /// Lanes by LID, each below 255; LIDs beyond the end are in lane 0.
    pub fn new(of_lid: Vec<u8>) -> Self {
        if of_lid.iter().all(|lane| *lane == 0) {
            return Self::default();
        }
        Self {
            of_lid,
            datelines: None,
        }
    }

    /// Gives each lane two halves. LIDs get lane 2n for lane n: where few lanes are left, the first ones stay
    /// where they are.
    pub fn with_datelines(self, datelines: Arc<Datelines>) -> Self {
        let of_lid = self.of_lid.into_iter().map(|lane| lane.saturating_mul(2));
        Self {
            of_lid: of_lid.collect(),
            datelines: (!datelines.is_empty()).then_some(datelines),
        }
    }

    /// Where packets change to the second half of their lane; none where lanes have no halves.
    pub fn datelines(&self) -> Option<&Arc<Datelines>> {
        self.datelines.as_ref()
    }

    /// The lane of traffic to a LID.
    pub fn of(&self, lid: Lid) -> u8 {
        self.of_lid.get(lid.0 as usize).copied().unwrap_or(0)
    }

    /// The LIDs of which traffic is in another lane here than there.
    pub fn moved<'a>(&'a self, from: &'a Self) -> impl Iterator<Item = Lid> + 'a {
        let lids = 0..self.of_lid.len().max(from.of_lid.len()) as u32;
        lids.map(Lid)
            .filter(move |lid| self.of(*lid) != from.of(*lid))
    }

    /// One more than the highest lane that a LID is in.
    pub fn count(&self) -> u8 {
        let highest = self.of_lid.iter().max().copied().unwrap_or(0);
        highest.saturating_add(1)
    }
}
