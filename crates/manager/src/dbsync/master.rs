//! A master: finds out which standbys take a copy, and sends it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use weft_fabric::{Guid, Lid, Snapshot, Tick};
use weft_wire::Layout;
use weft_wire::dbsync::{
    SYNC_STATE_SENT, SyncState, TableState, VERSION, VERSION_UNKNOWN, action, attribute, status,
};
use weft_wire::enums::SmState;
use weft_wire::header::MadHeader;
use weft_wire::packet::Packet;

use super::changes::{Held, everything};
use super::exchange::{Exchange, Outcome, Question};
use super::io::{DbSyncEvent, Numbers};
use super::{DbSyncSettings, Registrations};

/// Time for which changes are collected before they are sent: the start of a job makes thousands at once.
const COLLECT: Duration = Duration::from_millis(100);
/// To the next attempt with a standby that is reading its configuration, or still finds its place.
const SOON: Duration = Duration::from_secs(2);
/// To the next attempt after a failure.
const RETRY: Duration = Duration::from_secs(60);
/// Failures in a row after which attempts come at the interval of full copies.
const RETRIES: u32 = 3;
/// Standbys that get a copy; the election knows no more managers.
const STANDBYS_MAX: usize = 64;

/// What a standby has.
#[derive(Debug)]
enum Copy {
    /// Whether it takes a copy is to be asked.
    Unknown,
    /// It is to get everything.
    Wanted,
    /// It is getting this.
    Sending(Held, Numbers),
    /// It has this, since then.
    Made(Held, Tick),
}

/// A standby.
#[derive(Debug)]
struct Peer {
    lid: Lid,
    copy: Copy,
    /// Messages that follow the one under way.
    next: VecDeque<Question>,
    exchange: Option<Exchange>,
    /// Nothing is begun before.
    not_before: Tick,
    failures: u32,
    /// Whether people know how the copy is.
    told: Option<bool>,
}

/// The copies at standbys.
#[derive(Debug, Default)]
pub(super) struct Master {
    own: Lid,
    peers: BTreeMap<Guid, Peer>,
    transaction: u64,
    /// When the registrations are asked for, because they have changed or a standby has nothing.
    due: Option<Tick>,
    /// The registrations are being asked for.
    is_asked: bool,
}

/// What a call gives out.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) packets: Vec<Packet>,
    pub(super) events: Vec<DbSyncEvent>,
    /// The registrations are wanted.
    pub(super) asks: bool,
}

impl Peer {
    fn new(lid: Lid) -> Self {
        Self {
            lid,
            copy: Copy::Unknown,
            next: VecDeque::new(),
            exchange: None,
            not_before: Tick(0),
            failures: 0,
            told: None,
        }
    }

    /// Whether its next step needs the registrations.
    fn wants(&self, settings: &DbSyncSettings, now: Tick) -> bool {
        let is_old = match &self.copy {
            Copy::Wanted => true,
            Copy::Made(_, since) => now.since(*since) >= settings.interval,
            Copy::Unknown | Copy::Sending(..) => false,
        };
        is_old && self.exchange.is_none() && self.not_before <= now
    }

    fn deadline(&self, settings: &DbSyncSettings) -> Option<Tick> {
        if let Some(exchange) = &self.exchange {
            return Some(exchange.deadline());
        }
        match &self.copy {
            Copy::Made(_, since) => Some((*since + settings.interval).max(self.not_before)),
            _ => Some(self.not_before),
        }
    }
}

impl Master {
    /// Standbys in the fabric as it is now.
    pub(super) fn published(&mut self, now: Tick, snapshot: &Snapshot, settings: &DbSyncSettings) {
        let Some(own) = snapshot.sms.first() else {
            return;
        };
        self.own = own.lid;
        let standbys = snapshot.sms.iter().skip(1).filter(|sm| {
            sm.state == SmState::STANDBY && sm.sm_key == settings.sm_key && sm.lid.is_unicast()
        });
        let standbys: BTreeMap<Guid, Lid> = standbys
            .take(STANDBYS_MAX)
            .map(|sm| (sm.port_guid, sm.lid))
            .collect();
        self.peers.retain(|guid, peer| {
            let lid = standbys.get(guid);
            lid == Some(&peer.lid)
        });
        for (guid, lid) in standbys {
            self.peers.entry(guid).or_insert_with(|| Peer {
                not_before: now,
                ..Peer::new(lid)
            });
        }
    }

    /// Registrations have changed.
    pub(super) fn changed(&mut self, now: Tick) {
        if self
            .peers
            .values()
            .any(|peer| !matches!(peer.copy, Copy::Unknown))
        {
            self.due.get_or_insert(now + COLLECT);
        }
    }

    /// Forgets all copies.
    pub(super) fn restart(&mut self) {
        self.peers.clear();
        (self.due, self.is_asked) = (None, false);
    }

    /// When [`Self::advance`] is due.
    pub(super) fn deadline(&self, settings: &DbSyncSettings) -> Option<Tick> {
        if self.is_asked {
            return None; // the answer comes at once
        }
        let peers = self.peers.values();
        let peers = peers.filter_map(|peer| peer.deadline(settings));
        peers.chain(self.due).min()
    }

    /// Performs everything that is due.
    pub(super) fn advance(&mut self, now: Tick, settings: &DbSyncSettings) -> Effects {
        let mut effects = Effects::default();
        let guids: Vec<Guid> = self.peers.keys().copied().collect();
        for guid in guids {
            self.advance_peer(now, guid, settings, &mut effects);
        }
        let wanted = self.peers.values().any(|peer| peer.wants(settings, now))
            || self.due.is_some_and(|due| due <= now);
        if wanted && !self.is_asked {
            (self.due, self.is_asked) = (None, true);
            effects.asks = true;
        }
        effects
    }

    fn advance_peer(
        &mut self,
        now: Tick,
        guid: Guid,
        settings: &DbSyncSettings,
        effects: &mut Effects,
    ) {
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        if let Some(exchange) = &mut peer.exchange {
            let outcome = exchange.expire(now, &mut effects.packets);
            return self.went(now, guid, outcome, settings, effects);
        }
        if peer.not_before > now {
            return;
        }
        if let Copy::Unknown = peer.copy {
            let question = Question {
                table: attribute::SYNC,
                action: action::GET,
                data: Vec::new(),
            };
            self.begin(now, guid, question, effects);
        }
    }

    fn begin(&mut self, now: Tick, guid: Guid, question: Question, effects: &mut Effects) {
        self.transaction += 1;
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        let ends = (self.own, peer.lid);
        let mut exchange = Exchange::new(now, self.transaction, ends, question);
        exchange.send(&mut effects.packets);
        peer.exchange = Some(exchange);
    }

    /// The registrations as they are now.
    pub(super) fn registrations(
        &mut self,
        now: Tick,
        registrations: &Registrations,
        unix_s: u64,
        settings: &DbSyncSettings,
    ) -> Effects {
        self.is_asked = false;
        let mut effects = Effects::default();
        let held = Held::of(registrations);
        let guids: Vec<Guid> = self.peers.keys().copied().collect();
        for guid in guids {
            let Some(peer) = self.peers.get_mut(&guid) else {
                continue;
            };
            let whole = peer.wants(settings, now);
            let missing = match &peer.copy {
                Copy::Unknown | Copy::Wanted if !whole => continue,
                // It gets the rest when it has this.
                Copy::Sending(..) => {
                    self.due.get_or_insert(now + COLLECT);
                    continue;
                }
                Copy::Made(old, _) if !whole => old.missing(&held, registrations),
                _ => None,
            };
            let sends: Vec<Question> = match missing {
                Some(sends) if sends.is_empty() => continue,
                Some(sends) => sends,
                None => {
                    let all = everything(registrations).into_iter();
                    all.chain([state(unix_s)]).collect()
                }
            };
            peer.copy = Copy::Sending(held.clone(), Numbers::of(registrations));
            peer.next = sends.into();
            if let Some(first) = peer.next.pop_front() {
                self.begin(now, guid, first, &mut effects);
            }
        }
        effects
    }

    /// A datagram of a standby's.
    pub(super) fn received(
        &mut self,
        now: Tick,
        mad: &MadHeader,
        packet: &Packet,
        settings: &DbSyncSettings,
    ) -> Effects {
        let mut effects = Effects::default();
        let mut peers = self.peers.iter_mut();
        let found = peers.find_map(|(guid, peer)| {
            let exchange = peer.exchange.as_mut()?;
            exchange.is_for(packet, mad).then_some((*guid, exchange))
        });
        if let Some((guid, exchange)) = found {
            let outcome = exchange.received(now, packet, &mut effects.packets);
            self.went(now, guid, outcome, settings, &mut effects);
        }
        effects
    }

    /// Continues after an exchange.
    fn went(
        &mut self,
        now: Tick,
        guid: Guid,
        outcome: Outcome,
        settings: &DbSyncSettings,
        effects: &mut Effects,
    ) {
        let Some(peer) = self.peers.get_mut(&guid) else {
            return;
        };
        let data = match outcome {
            Outcome::Open => return,
            Outcome::Answered(data) => data,
            Outcome::Refused(code) => {
                let why = format!("it refuses with status {code:#06x}");
                return peer.failed(now, guid, why, settings, effects);
            }
            Outcome::Failed(why) => {
                return peer.failed(now, guid, why.to_owned(), settings, effects);
            }
        };
        peer.exchange = None;
        if let Copy::Unknown = peer.copy {
            return peer.said(now, guid, &data, settings, effects);
        }
        if let Some(question) = peer.next.pop_front() {
            return self.begin(now, guid, question, effects);
        }
        if let Copy::Sending(held, numbers) = std::mem::replace(&mut peer.copy, Copy::Wanted) {
            peer.copy = Copy::Made(held, now);
            peer.failures = 0;
            if peer.told.replace(true) != Some(true) {
                effects
                    .events
                    .push(DbSyncEvent::Copied { to: guid, numbers });
            }
        }
    }

    /// The standbys that have everything.
    pub(super) fn up_to_date(&self) -> impl Iterator<Item = Guid> {
        let made = |peer: &Peer| matches!(peer.copy, Copy::Made(..));
        let peers = self.peers.iter().filter(move |(_, peer)| made(peer));
        peers.map(|(guid, _)| *guid)
    }
}

impl Peer {
    /// It has told the state of its copy.
    fn said(
        &mut self,
        now: Tick,
        guid: Guid,
        data: &[u8],
        settings: &DbSyncSettings,
        effects: &mut Effects,
    ) {
        let version = data.first_chunk::<4>().copied().map(u32::from_be_bytes);
        match version {
            Some(VERSION) => {
                self.copy = Copy::Wanted;
                self.not_before = now;
            }
            Some(VERSION_UNKNOWN) => self.not_before = now + SOON,
            Some(other) => {
                let why = format!("it takes version {other} of the copy, this is {VERSION}");
                self.failed(now, guid, why, settings, effects);
            }
            None => {
                let why = "it tells no version of the copy".to_owned();
                self.failed(now, guid, why, settings, effects);
            }
        }
    }

    fn failed(
        &mut self,
        now: Tick,
        guid: Guid,
        why: String,
        settings: &DbSyncSettings,
        effects: &mut Effects,
    ) {
        self.exchange = None;
        self.next.clear();
        self.failures += 1;
        // What it has is not known.
        self.copy = Copy::Unknown;
        let pause = match self.failures {
            // It may not have found its place yet.
            1 => SOON,
            failures if failures <= RETRIES => RETRY,
            _ => settings.interval.max(RETRY),
        };
        self.not_before = now + pause;
        if self.failures > 1 && self.told.replace(false) != Some(false) {
            effects
                .events
                .push(DbSyncEvent::CopyFailed { to: guid, why });
        }
    }
}

/// The message that all is there.
fn state(unix_s: u64) -> Question {
    let made = TableState {
        status: status::SYNCHRONIZED,
        synced_at: unix_s as u32,
        ..TableState::default()
    };
    let state = SyncState {
        version: VERSION,
        full: made,
        inform: made,
        group: made,
        service: made,
        ..SyncState::default()
    };
    let mut data = state.to_bytes();
    data.truncate(SYNC_STATE_SENT);
    Question {
        table: attribute::SYNC,
        action: action::SET,
        data,
    }
}
