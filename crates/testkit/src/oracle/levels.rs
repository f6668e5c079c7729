//! I1 for each service level: packets of those that virtual fabrics use arrive, packets of all others
//! reach nobody. Service channels and lanes are those of the registers, hop by hop.

use std::collections::{BTreeMap, BTreeSet};

use super::{Breach, Invariant};
use crate::view::FabricView;
use crate::view::channels::CHANNELS;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, Sl};

/// A packet at a switch: the switch, the port that it came in by and its service channel.
type At = (usize, u8, u8);

/// I1 from every host that is served from `root` to every LID of every other, at each service level:
/// a packet arrives where the level is in `used`, and nowhere else.
pub fn check(view: &FabricView, root: usize, used: &BTreeSet<Sl>) -> Vec<Breach> {
    let served = view.served(root);
    let hosts = (0..view.nodes.len()).filter(|node| served[*node] && !view.nodes[*node].switch);
    let hosts: Vec<usize> = hosts.collect();
    let mut breaches = Vec::new();
    for target in &hosts {
        for lid in view.nodes[*target].lids() {
            let mut ways = Ways {
                view,
                target: *target,
                lid,
                known: BTreeMap::new(),
            };
            for from in hosts.iter().filter(|from| *from != target) {
                breaches.extend(ways.judge(*from, used));
            }
        }
    }
    breaches
}

/// The paths to a LID, by place and channel.
struct Ways<'a> {
    view: &'a FabricView,
    target: usize,
    lid: Lid,
    /// Whether a packet arrives from there.
    known: BTreeMap<At, bool>,
}

impl Ways<'_> {
    /// The first level at which a host's packets do not do as they should, if any.
    fn judge(&mut self, from: usize, used: &BTreeSet<Sl>) -> Option<Breach> {
        let levels = (0..CHANNELS).map(Sl);
        let wrong = levels
            .map(|level| (level, self.arrives(from, level)))
            .find(|(level, arrives)| *arrives != used.contains(level));
        let (Sl(level), arrives) = wrong?;
        let guid = |node: usize| -> Guid { self.view.nodes[node].guid };
        let what = format!(
            "{} to LID {} of {} at SL {level}: {}",
            guid(from),
            self.lid,
            guid(self.target),
            match arrives {
                true => "arrives, and no virtual fabric uses the level",
                false => "dropped on the way",
            }
        );
        Some(Breach::new(Invariant::Reachable, what))
    }

    fn arrives(&mut self, from: usize, level: Sl) -> bool {
        let channels = &self.view.nodes[from].channels;
        let channel = channels.of_level(level);
        let Some((node, ingress)) = self.cross(from, 1, channel) else {
            return false;
        };
        let mut way = Vec::new();
        let mut at = (node, ingress, channel);
        let arrives = loop {
            if !self.view.nodes[at.0].switch {
                break at.0 == self.target;
            }
            if let Some(known) = self.known.get(&at) {
                break *known;
            }
            // A circle is I2's; nothing arrives out of it.
            if way.contains(&at) {
                break false;
            }
            way.push(at);
            match self.next(at) {
                Some(next) => at = next,
                None => break false,
            }
        };
        self.known.extend(way.into_iter().map(|at| (at, arrives)));
        arrives
    }

    fn next(&self, (node, ingress, channel): At) -> Option<At> {
        let switch = &self.view.nodes[node];
        let egress = switch.lft.get(self.lid.0 as usize).copied()?;
        let channel = switch.channels.across(ingress, egress, channel);
        let (node, ingress) = self.cross(node, egress, channel)?;
        Some((node, ingress, channel))
    }

    /// The other end of a link, if it carries data and the channel has a lane on it.
    fn cross(&self, node: usize, egress: u8, channel: u8) -> Option<(usize, u8)> {
        let sender = &self.view.nodes[node];
        sender.channels.lane(egress, channel)?;
        let end = sender.port(egress)?;
        let peer = end.peer.filter(|_| end.state == PortState::ACTIVE)?;
        let far = self.view.nodes[peer.0].port(peer.1)?;
        (far.state >= PortState::ARMED).then_some(peer)
    }
}
