//! The other managers.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::sm::SmInfo;

use super::{Act, Election, View};
use crate::sm::settings::ElectionSettings;

/// Other managers that are remembered; more are left out.
const PEERS_MAX: usize = 64;
/// Longest time for which a standby may say nothing before it is looked for, however seldom it asked before.
const SLOWEST: Duration = Duration::from_secs(600);

/// Another subnet manager.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(in crate::sm) struct Peer {
    /// The HFI that it runs on.
    pub node: Guid,
    /// Egress ports of the directed route to it.
    pub path: Box<[PortNum]>,
    /// Its last reported SMInfo.
    pub info: SmInfo,
    /// The sweep that found it last.
    pub sweep: u64,
}

impl Peer {
    pub(super) fn rank(&self) -> Rank {
        Rank::of(self.info.priority, self.info.port_guid)
    }
}

/// Rank in the election: the greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank(u8, std::cmp::Reverse<Guid>);

impl Rank {
    pub(super) fn of(priority: u8, port: Guid) -> Self {
        Self(priority, std::cmp::Reverse(port))
    }
}

/// How a standby asks its master.
#[derive(Debug, Clone, Copy, State)]
struct Asks {
    /// When it asked last.
    last: Tick,
    /// How long it may say nothing: longer for one that was missed and has asked again, since it only asks less often.
    patience: Duration,
    /// It was missed, and has not asked since.
    missed: bool,
}

impl Asks {
    /// When it is overdue; none once it was missed.
    fn due(&self) -> Option<Tick> {
        (!self.missed).then(|| self.last + self.patience)
    }
}

/// The other managers that were met.
#[derive(Debug, Clone, Default, State)]
pub(super) struct Others {
    /// By their port GUIDs.
    pub peers: BTreeMap<Guid, Peer>,
    /// Roles and priorities in requests of other managers, by port GUID: a
    /// change is examined once.
    heard: BTreeMap<Guid, (SmState, u8)>,
    /// How standbys ask this master, by port GUID.
    asks: BTreeMap<Guid, Asks>,
    /// Another manager was seen since the start: the priority of a master is the elevated one.
    pub any_seen: bool,
}

impl Others {
    /// Whether a further manager, or this one again, can be remembered.
    fn have_room<T>(of: &BTreeMap<Guid, T>, port: Guid) -> bool {
        of.len() < PEERS_MAX || of.contains_key(&port)
    }

    /// Another role: nobody is expected to ask.
    pub(super) fn forget_asks(&mut self) {
        self.asks.clear();
    }

    /// Records a manager's SMInfo. Returns whether that is news; `None` if no further manager
    /// can be stored.
    pub(super) fn hear(&mut self, said: &SmInfo) -> Option<bool> {
        let news = (said.sm_state_current, said.priority);
        if !Self::have_room(&self.heard, said.port_guid) {
            return None;
        }
        let known = self.heard.insert(said.port_guid, news);
        Some(known != Some(news))
    }
}

impl Election {
    /// Discovery has found a manager.
    pub(super) fn found(&mut self, view: &View, peer: Peer) {
        let (node, sm_key) = (peer.node, peer.info.sm_key);
        let port = peer.info.port_guid;
        if !Others::have_room(&self.others.peers, port) {
            let what = format!("more than {PEERS_MAX} other subnet managers");
            self.acts.push(Act::Unfinished(what));
            return;
        }
        self.others.any_seen = true;
        self.others.peers.insert(port, peer);
        if sm_key != view.settings.sm_key {
            let what =
                "runs a subnet manager with another SM_Key; it takes no part in the election";
            self.acts.push(Act::Fault { node, what });
        }
    }

    /// Whether the manager on a node has shown that it has the SM_Key.
    pub(in crate::sm) fn shares_key_with(&self, settings: &ElectionSettings, node: Guid) -> bool {
        let mut peers = self.others.peers.values();
        peers.any(|peer| peer.node == node && peer.info.sm_key == settings.sm_key)
    }

    /// Forgets the managers that this sweep did not find.
    pub(super) fn forget_absent_peers(&mut self, view: &View) {
        let Others {
            peers, heard, asks, ..
        } = &mut self.others;
        peers.retain(|_, peer| peer.sweep == view.sweep);
        heard.retain(|guid, _| peers.contains_key(guid));
        asks.retain(|guid, _| peers.contains_key(guid));
    }

    /// The best of those other managers that take part and that `wanted` names.
    pub(super) fn best(&self, view: &View, wanted: impl Fn(&Peer) -> bool) -> Option<Peer> {
        let key = view.settings.sm_key;
        let takes_part = |peer: &&Peer| {
            peer.info.sm_key == key && peer.info.sm_state_current != SmState::NOT_ACTIVE
        };
        let peers = self.others.peers.values();
        let wanted = peers.filter(takes_part).filter(|peer| wanted(peer));
        wanted.max_by_key(|peer| peer.rank()).cloned()
    }

    /// A standby has asked this master.
    pub(super) fn standby_asked(&mut self, now: Tick, view: &View, port: Guid) {
        let settings = &view.settings;
        let times = settings.ping_max_fail.max(1);
        let patience = settings.ping_interval.saturating_mul(times);
        let watched = settings.monitors_standbys && !patience.is_zero();
        if !watched || !Others::have_room(&self.others.asks, port) {
            return;
        }
        let before = self.others.asks.get(&port);
        let patience = before.map_or(patience, |before| match before.missed {
            true => now.since(before.last).saturating_mul(times).min(SLOWEST),
            false => before.patience,
        });
        let asks = Asks {
            last: now,
            patience,
            missed: false,
        };
        self.others.asks.insert(port, asks);
    }

    /// When a standby is overdue.
    pub(super) fn standby_due(&self) -> Option<Tick> {
        self.others.asks.values().filter_map(Asks::due).min()
    }

    /// Whether standbys ask no more, so that a sweep is to look where they are: it forgets those that are gone. Each is
    /// missed once until it asks again.
    pub(super) fn miss_standbys(&mut self, now: Tick) -> bool {
        let Others { peers, asks, .. } = &mut self.others;
        let mut any = false;
        for (port, asks) in asks {
            if asks.due().is_none_or(|due| due > now) {
                continue;
            }
            (asks.missed, any) = (true, true);
            if let Some(peer) = peers.get(port) {
                let (node, what) = (peer.node, "runs a standby that asks its master no more");
                self.acts.push(Act::Fault { node, what });
            }
        }
        any
    }

    /// Whether another manager that takes part is in this state.
    pub(super) fn has_rival(&self, view: &View, state: SmState) -> bool {
        self.best(view, |peer| peer.info.sm_state_current == state)
            .is_some()
    }
}
