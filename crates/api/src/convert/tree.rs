//! The tiers of a fabric, and what does not fit.

use weft_fabric::tree::{Odd, Tier, Tree};

use crate::v1::{self, TreeFindingKind as Kind};

impl v1::CheckTreeResponse {
    /// The answer for a fabric of this generation.
    pub fn new(generation: u64, tree: Tree) -> Self {
        Self {
            generation,
            hosts: tree.hosts as u32,
            tiers: tree.tiers.into_iter().map(Into::into).collect(),
            findings: tree.odd.into_iter().map(Into::into).collect(),
            more: tree.more as u64,
        }
    }
}

impl From<Tier> for v1::TreeTier {
    fn from(tier: Tier) -> Self {
        Self {
            switches: tier.switches as u32,
            down: tier.down as u32,
            up: tier.up as u32,
            each: tier.each as u32,
        }
    }
}

impl From<Odd> for v1::TreeFinding {
    fn from(odd: Odd) -> Self {
        let mut message = Self {
            text: odd.to_string(),
            ..Self::default()
        };
        let kind = match odd {
            Odd::NoTree { sideways, links } => {
                (message.found, message.usual) = (sideways as u32, links as u32);
                Kind::NoTree
            }
            Odd::Unjoined { switch } => {
                message.node = Some(switch.into());
                Kind::Unjoined
            }
            Odd::Sideways { link } => {
                message.link = Some(link.into());
                Kind::Sideways
            }
            Odd::Hosts {
                switch,
                found,
                usual,
            } => {
                message.of_switch(switch.into(), found, usual);
                Kind::Hosts
            }
            Odd::Down {
                switch,
                found,
                usual,
            } => {
                message.of_switch(switch.into(), found, usual);
                Kind::Down
            }
            Odd::Up {
                switch,
                found,
                usual,
            } => {
                message.of_switch(switch.into(), found, usual);
                Kind::Up
            }
            Odd::Pair {
                lower,
                upper,
                found,
                usual,
            } => {
                message.of_switch(lower.into(), found, usual);
                message.upper = Some(upper.into());
                Kind::Pair
            }
        };
        message.set_kind(kind);
        message
    }
}

impl v1::TreeFinding {
    fn of_switch(&mut self, switch: v1::TopologyNode, found: usize, usual: usize) {
        self.node = Some(switch);
        (self.found, self.usual) = (found as u32, usual as u32);
    }
}
