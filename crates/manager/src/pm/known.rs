//! The fabric as the performance manager knows it between sweeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Guid, Lid};

use super::Pm;
use super::roster::{Member, Roster};
use super::sweep::Peer;

impl Pm {
    /// LID of the port that the manager runs on.
    pub(super) fn own_lid(&self) -> Option<Lid> {
        let own = self.roster.own_port()?;
        let lid = self.roster.snapshot.topology.port(own)?.info.lid;
        lid.is_unicast().then_some(lid)
    }

    /// Rebuilds the roster when the fabric has changed; data of known agents is kept.
    pub(super) fn refresh_roster(&mut self) {
        let Some(snapshot) = &self.snapshot else {
            return;
        };
        if Arc::ptr_eq(snapshot, &self.roster.snapshot) {
            return;
        }
        let roster = Roster::new(Arc::clone(snapshot), &self.settings);
        let key = |member: &Member| (member.guid, member.lid);
        let known: BTreeMap<(Guid, Lid), Peer> = (self.roster.members.iter().map(key))
            .zip(self.peers.iter().copied())
            .collect();
        let peers = roster.members.iter().map(|member| known.get(&key(member)));
        self.peers = peers
            .map(|peer| peer.copied().unwrap_or_default())
            .collect();
        self.roster = Arc::new(roster);
    }
}
