//! Lanes: the assignment of destination LIDs to sets of virtual lanes.
//!
//! A packet keeps its lane all the way, so that links wait for each other in one lane at a time.
//! Routes that would close a credit cycle together do not if they are in different lanes. The
//! lane of a destination is the service level of its path records. In a torus each lane has two
//! halves, see [`crate::datelines`].

use std::sync::Arc;

use weft_wire::id::Lid;

use crate::datelines::Datelines;

/// The lane of every LID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes {
    /// By LID; LIDs beyond the end are in lane 0.
    of_lid: Vec<u8>,
    halves: Option<Halves>,
}

/// Lanes have two halves.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Halves {
    datelines: Arc<Datelines>,
    /// The second half of lane n has the virtual lanes of lane n + `offset`, which no LID is in.
    offset: u8,
}

impl Lanes {
    /// All traffic in one lane.
    pub const SINGLE: &'static Self = &Self {
        of_lid: Vec::new(),
        halves: None,
    };

    /// Lanes by LID, each below 255; LIDs beyond the end are in lane 0.
    pub fn new(of_lid: Vec<u8>) -> Self {
        if of_lid.iter().all(|lane| *lane == 0) {
            return Self::default();
        }
        Self {
            of_lid,
            halves: None,
        }
    }

    /// Gives each lane two halves. The second one of lane n has what else would be lane
    /// n + `offset`; an offset below the number of lanes counts as that.
    pub fn with_datelines(self, datelines: Arc<Datelines>, offset: u8) -> Self {
        let offset = offset.max(self.count());
        Self {
            halves: (!datelines.is_empty()).then_some(Halves { datelines, offset }),
            ..self
        }
    }

    /// Where packets change to the second half of their lane; none where lanes have no halves.
    pub fn datelines(&self) -> Option<&Arc<Datelines>> {
        self.halves.as_ref().map(|halves| &halves.datelines)
    }

    /// Whether packets change halves alike in both, at the switches that are in both.
    pub fn change_halves_alike(&self, other: &Self) -> bool {
        match (&self.halves, &other.halves) {
            (None, None) => true,
            (Some(own), Some(others)) => {
                own.offset == others.offset && own.datelines.agree(&others.datelines)
            }
            _ => false,
        }
    }

    /// The lanes of LIDs here with the halves of `other`.
    pub fn with_halves_of(&self, other: &Self) -> Self {
        match &other.halves {
            Some(Halves { datelines, offset }) => {
                let own = Self::new(self.of_lid.clone());
                own.with_datelines(Arc::clone(datelines), *offset)
            }
            None => Self::new(self.of_lid.clone()),
        }
    }

    /// Distance from a lane to its second half; none where lanes have no halves.
    pub fn offset(&self) -> Option<u8> {
        self.halves.as_ref().map(|halves| halves.offset)
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

    /// Number of lanes that LIDs are in, at least 1; second halves do not count.
    pub fn count(&self) -> u8 {
        let highest = self.of_lid.iter().max().copied().unwrap_or(0);
        highest.saturating_add(1)
    }
}
