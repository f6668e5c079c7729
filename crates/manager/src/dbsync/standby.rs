//! A standby: answers the master, and keeps what it is told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Guid, Tick};
use weft_wire::Layout;
use weft_wire::dbsync::{
    CHECKSUMS_SENT, Checksums, NOT_COMPARED, SYNC_STATE_SENT, SyncState, VERSION, action,
    attribute, status as copy_status,
};
use weft_wire::header::status;

use super::Registrations;
use super::io::{DbSyncEvent, Inherited, Numbers};
use super::tables::{Record, by_key, decode};
use crate::gsi::{Request, Requester};

/// Time for which changes are collected before they are passed on.
const COLLECT: Duration = Duration::from_millis(100);

/// Answer to a request: a status, and data.
pub(super) struct Reaction {
    pub(super) status: u16,
    pub(super) data: Vec<u8>,
}

impl Reaction {
    fn of(status: u16) -> Self {
        let data = Vec::new();
        Self { status, data }
    }
}

/// The copy at a standby.
#[derive(Debug)]
pub(super) struct Standby {
    /// GUID of the master's port.
    pub(super) master: Guid,
    registrations: Registrations,
    state: SyncState,
    /// Tables that came since the master last said that all is there.
    came: Came,
    from: Option<Requester>,
    /// When changes are passed on, none while there are none.
    due: Option<Tick>,
    told: bool,
}

/// Tables that were replaced in a copy of all of them. A master leaves out those without records, except groups.
#[derive(Debug, Clone, Copy, Default)]
struct Came {
    groups: bool,
    services: bool,
    subscriptions: bool,
}

impl Standby {
    /// Has nothing yet of the master on a port.
    pub(super) fn new(master: Guid) -> Self {
        Self {
            master,
            registrations: Registrations::default(),
            state: SyncState {
                version: VERSION,
                ..SyncState::default()
            },
            came: Came::default(),
            from: None,
            due: None,
            told: false,
        }
    }

    /// When [`Self::pass_on`] has something.
    pub(super) fn deadline(&self) -> Option<Tick> {
        self.due
    }

    /// Executes a request of the master.
    pub(super) fn asked(
        &mut self,
        now: Tick,
        request: &Request,
        events: &mut Vec<DbSyncEvent>,
    ) -> Reaction {
        let (table, what) = (request.mad.attribute_id, request.mad.attribute_modifier);
        let taken = match (table, what) {
            (attribute::SYNC, _) => return self.asked_state(now, what, request, events),
            (attribute::GROUP, _) => {
                let groups = &mut self.registrations.groups;
                self.came.groups |= what == action::SET;
                change(groups, what, &request.data)
            }
            (attribute::SERVICE, _) => {
                let services = &mut self.registrations.services;
                self.came.services |= what == action::SET;
                change(services, what, &request.data)
            }
            (attribute::INFORM, _) => {
                let subscriptions = &mut self.registrations.subscriptions;
                self.came.subscriptions |= what == action::SET;
                change(subscriptions, what, &request.data)
            }
            // Trees and datelines are computed here: nothing of the master's is needed.
            (attribute::MULTICAST_ROOT | attribute::DATELINE, action::SET) => {
                return Reaction::of(status::OK);
            }
            _ => Err((status::UNSUPPORTED_METHOD_ATTRIB, None)),
        };
        match taken {
            Ok(()) => {
                if self.is_whole() {
                    self.due.get_or_insert(now + COLLECT);
                }
                self.from = Some(request.from);
                Reaction::of(status::OK)
            }
            Err((code, why)) => {
                let from = self.master;
                events.extend(why.map(|why| DbSyncEvent::Refused { from, why }));
                Reaction::of(code)
            }
        }
    }

    fn asked_state(
        &mut self,
        now: Tick,
        what: u32,
        request: &Request,
        events: &mut Vec<DbSyncEvent>,
    ) -> Reaction {
        let (len, mut data) = match what {
            action::GET => (SYNC_STATE_SENT, self.state.to_bytes()),
            action::GET_CHECKSUMS => {
                let checksums = Checksums {
                    protocol_version: NOT_COMPARED,
                    ..Checksums::default()
                };
                (CHECKSUMS_SENT, checksums.to_bytes())
            }
            action::SET => return self.told_state(now, request, events),
            // A standby here needs no file: its own are what counts. Refused, the vendor's master would
            // never hand over where it sends images of counters.
            action::SEND_FILE | action::RECONFIGURE => return Reaction::of(status::OK),
            _ => return Reaction::of(status::UNSUPPORTED_METHOD_ATTRIB),
        };
        data.resize(len, 0);
        Reaction {
            status: status::OK,
            data,
        }
    }

    /// The master says which tables are there.
    fn told_state(
        &mut self,
        now: Tick,
        request: &Request,
        events: &mut Vec<DbSyncEvent>,
    ) -> Reaction {
        let mut bytes = request.data.clone();
        if bytes.len() < SYNC_STATE_SENT {
            let why = format!(
                "the state of the copy has {} bytes, at least {SYNC_STATE_SENT} are needed",
                bytes.len()
            );
            let from = self.master;
            events.push(DbSyncEvent::Refused { from, why });
            return Reaction::of(status::INVALID_ATTRIB);
        }
        bytes.resize(bytes.len().max(SyncState::LEN), 0);
        let Ok(state) = SyncState::decode(&bytes) else {
            return Reaction::of(status::INVALID_ATTRIB);
        };
        self.state = SyncState {
            version: VERSION,
            ..state
        };
        let came = std::mem::take(&mut self.came);
        if came.groups {
            if !came.services {
                self.registrations.services.clear();
            }
            if !came.subscriptions {
                self.registrations.subscriptions.clear();
            }
        }
        self.from = Some(request.from);
        if self.is_whole() {
            // Who takes over at once has all.
            self.due = Some(now);
            if !std::mem::replace(&mut self.told, true) {
                let numbers = Numbers::of(&self.registrations);
                let from = self.master;
                events.push(DbSyncEvent::Received { from, numbers });
            }
        }
        Reaction::of(status::OK)
    }

    /// Whether the master has sent everything once.
    fn is_whole(&self) -> bool {
        self.state.full.status == copy_status::SYNCHRONIZED
    }

    /// The registrations, where they have changed and are due.
    pub(super) fn pass_on(&mut self, now: Tick) -> Option<Inherited> {
        self.due.take_if(|due| *due <= now)?;
        Some(Inherited {
            master: self.master,
            from: self.from?,
            registrations: Arc::new(self.registrations.clone()),
        })
    }
}

/// Executes an action on a table.
fn change<R: Record>(
    table: &mut BTreeMap<R::Key, R>,
    what: u32,
    data: &[u8],
) -> Result<(), (u16, Option<String>)> {
    if ![action::SET, action::ADD, action::DELETE].contains(&what) {
        return Err((status::UNSUPPORTED_METHOD_ATTRIB, None));
    }
    let records =
        by_key(decode::<R>(data).map_err(|why| (status::INVALID_ATTRIB, Some(why.to_string())))?);
    match what {
        action::SET => *table = records,
        action::ADD => table.extend(records),
        _ => table.retain(|key, _| !records.contains_key(key)),
    }
    Ok(())
}
