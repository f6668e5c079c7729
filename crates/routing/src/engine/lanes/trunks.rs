//! LIDs of one end port that the same hosts send over a switch should leave it over different links
//! of a trunk. The number of LIDs on a link is not enough for that: their senders matter,
//! so senders are recorded switch by switch.

use crate::network::Network;

/// Whose traffic to LIDs of the current end port takes which links.
pub(super) struct Trunks {
    /// Number of words with a bit for each switch with HFIs; 0 without trunks, or without LIDs
    /// to spread.
    words: usize,
    /// The bit of each switch that has HFIs.
    bit: Vec<Option<usize>>,
    /// By switch: whose traffic to the LID at hand comes there or starts there.
    senders: Vec<u64>,
    /// By link: whose traffic to other LIDs of the end port takes it.
    taken: Vec<u64>,
    /// Links in use.
    in_use: Vec<u32>,
}

impl Trunks {
    /// Without placed LIDs; `alike` has for each link the first one of its trunk.
    pub(super) fn new(network: &Network, alike: &[u32]) -> Self {
        let has_trunks = (0..).zip(alike).any(|(link, first)| link != *first);
        let has_lids = network.end_ports().any(|end| end.lmc.lids() > 1);
        let mut bits = 0..;
        let bit = (0..network.len()).map(|switch| match network.hfis(switch) {
            [] => None,
            _ => bits.next(),
        });
        let bit: Vec<Option<usize>> = bit.collect();
        let words = match has_trunks && has_lids {
            true => bits.start.div_ceil(u64::BITS as usize),
            false => 0,
        };
        Self {
            words,
            senders: vec![0; words * bit.len()],
            taken: vec![0; words * alike.len()],
            in_use: Vec::new(),
            bit,
        }
    }

    /// Whether there is anything to deal out.
    pub(super) fn are_there(&self) -> bool {
        self.words > 0
    }

    /// A new end port.
    pub(super) fn next_end(&mut self) {
        for link in self.in_use.drain(..) {
            let at = link as usize * self.words;
            self.taken[at..at + self.words].fill(0);
        }
    }

    /// Another LID, on a switch.
    pub(super) fn start(&mut self, target: usize) {
        if !self.are_there() {
            return;
        }
        self.senders.fill(0);
        for (switch, bit) in self.bit.iter().enumerate() {
            if let Some(bit) = bit.filter(|_| switch != target) {
                self.senders[switch * self.words + bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// All traffic of a switch continues to another one.
    pub(super) fn go(&mut self, from: usize, to: usize) {
        for word in 0..self.words {
            self.senders[to * self.words + word] |= self.senders[from * self.words + word];
        }
    }

    /// Number of senders that would have several LIDs on a link if the switch's traffic took it.
    pub(super) fn shared(&self, from: usize, link: u32) -> u32 {
        let senders = &self.senders[from * self.words..][..self.words];
        let taken = &self.taken[link as usize * self.words..][..self.words];
        let both = senders.iter().zip(taken).map(|(a, b)| (a & b).count_ones());
        both.sum()
    }

    /// The traffic of a switch takes a link.
    pub(super) fn add(&mut self, from: usize, link: u32) {
        if !self.are_there() {
            return;
        }
        let senders = &self.senders[from * self.words..][..self.words];
        let taken = &mut self.taken[link as usize * self.words..][..self.words];
        taken.iter_mut().zip(senders).for_each(|(a, b)| *a |= b);
        self.in_use.push(link);
    }
}
