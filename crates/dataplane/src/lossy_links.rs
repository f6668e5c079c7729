//! Links that lose datagrams of subnet management in one direction. VL15 has no credits: what a receiving port has
//! no room for is gone, and no counter tells it. Everything else waits for credits, or is sent again by the link.

use crate::network::{Network, PortIndex};
use crate::packets::Random;

/// Datagrams to which [`Network::set_loss`] refers.
pub const LOST_OF: u32 = 1_000_000;

/// What a port sends into such a link.
#[derive(Debug, Clone)]
pub(crate) struct LossyLink {
    /// Lost datagrams of [`LOST_OF`].
    lost: u32,
    random: Random,
}

impl Network {
    /// Lets this many of [`LOST_OF`] datagrams of subnet management that a port sends be lost, drawn by `seed`; at most
    /// all, and 0 ends it.
    pub fn set_loss(&mut self, at: PortIndex, lost: u32, seed: u64) {
        let lost = lost.min(LOST_OF);
        self.links[at.0 as usize].loses = lost > 0;
        let random = Random::of(seed, u64::from(at.0));
        match lost {
            0 => self.lossy_links.remove(&at),
            _ => self.lossy_links.insert(at, LossyLink { lost, random }),
        };
    }

    /// Datagrams that were lost so since the last call.
    pub fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Whether the next datagram that a port sends is lost.
    #[cold]
    pub(crate) fn is_lost(&mut self, at: PortIndex) -> bool {
        let Some(link) = self.lossy_links.get_mut(&at) else {
            return false;
        };
        let lost = link.random.below(LOST_OF) < link.lost;
        self.lost += u64::from(lost);
        lost
    }
}
