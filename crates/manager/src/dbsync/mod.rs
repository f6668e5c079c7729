//! The copy of registrations from a master to its standbys, as the vendor's managers make it (DbSync): multicast
//! groups, services and subscriptions. A standby that has them takes over without asking hosts to
//! register again, and the vendor's manager hands over to no other.
//!
//! | module | contents |
//! |---|---|
//! | `io` | inputs and outputs |
//! | `tables` | registrations as tables of records, and as bytes |
//! | `standby` | answers the master, and keeps what it is told |
//! | `master` | finds out who takes a copy, and sends it |
//! | `changes` | what a standby lacks |
//! | `exchange` | one request and its answer |

mod changes;
mod exchange;
mod io;
mod master;
mod standby;
mod tables;

pub use io::{DbSyncEvent, DbSyncInput, DbSyncOutput, DbSyncSettings, Inherited, Numbers};
pub use tables::{
    CopiedGroup, CopiedSubscription, Registrations, ServiceKey, SubscriptionKey, TableError,
};

use std::collections::{BTreeSet, VecDeque};

use weft_fabric::{Guid, Tick};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::CLASS_LEN;
use weft_wire::sa::SaHeader;

use crate::gsi::{Answer, Limits, Request, Server};
use master::{Effects, Master};
use standby::Standby;

/// Bytes of one message: an image of counters of the largest fabric is longer than all registrations.
const MESSAGE_MAX: usize = 64 << 20;
/// Messages that come at once: one, and what is left of one that a master that is gone did not end.
const MESSAGES_MAX: usize = 2;

/// Role in the copy.
#[derive(Debug)]
enum Role {
    Neither,
    Master(Box<Master>),
    Standby(Box<Standby>),
}

/// The copy of registrations between the managers of a fabric.
///
/// Call [`DbSync::handle`] with each input, then [`DbSync::poll`] until it gives nothing more; call
/// [`DbSync::handle`] with [`DbSyncInput::Tick`] when [`DbSync::deadline`] has come.
#[derive(Debug)]
pub struct DbSync {
    settings: DbSyncSettings,
    server: Server,
    role: Role,
    /// Seconds since 1970.
    unix_s: u64,
    outputs: VecDeque<DbSyncOutput>,
}

impl DbSync {
    /// Takes no part until it is told its role.
    pub fn new(settings: DbSyncSettings) -> Self {
        let limits = Limits {
            receptions: MESSAGES_MAX,
            request_bytes: MESSAGE_MAX,
            unanswered: MESSAGES_MAX,
            transfers: 16,
            ..Limits::default()
        };
        Self {
            settings,
            server: Server::new(class::SM_DBSYNC, limits),
            role: Role::Neither,
            unix_s: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: DbSyncInput) {
        match input {
            DbSyncInput::Tick => {}
            DbSyncInput::Received(packet) => self.received(now, &packet),
            DbSyncInput::Master(snapshot) => {
                if !matches!(self.role, Role::Master(_)) {
                    self.role = Role::Master(Box::default());
                }
                if let Role::Master(master) = &mut self.role {
                    master.published(now, &snapshot, &self.settings);
                }
            }
            DbSyncInput::Standby { master } => self.stand_by(master),
            DbSyncInput::Neither => self.lead_no_more(),
            DbSyncInput::Changed => {
                if let Role::Master(master) = &mut self.role {
                    master.changed(now);
                }
            }
            DbSyncInput::Registrations(registrations) => {
                if let Role::Master(master) = &mut self.role {
                    let effects =
                        master.registrations(now, &registrations, self.unix_s, &self.settings);
                    self.take(effects);
                }
            }
            DbSyncInput::WallClock { unix_s } => self.unix_s = unix_s,
            DbSyncInput::Settings(settings) => self.reconfigure(settings),
        }
        self.server.expire(now);
        self.advance(now);
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<DbSyncOutput> {
        let output = self.outputs.pop_front();
        output.or_else(|| self.server.poll().map(DbSyncOutput::Send))
    }

    /// When [`DbSyncInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        let role = match &self.role {
            Role::Neither => None,
            Role::Master(master) if self.is_on() => master.deadline(&self.settings),
            Role::Master(_) => None,
            Role::Standby(standby) => standby.deadline(),
        };
        self.server.deadline().into_iter().chain(role).min()
    }

    /// The standbys that have all registrations, as of a moment ago; none where this manager makes no copies.
    pub fn up_to_date(&self) -> Option<BTreeSet<Guid>> {
        match &self.role {
            Role::Master(master) if self.is_on() => Some(master.up_to_date().collect()),
            _ => None,
        }
    }

    fn is_on(&self) -> bool {
        !self.settings.interval.is_zero()
    }

    fn reconfigure(&mut self, settings: DbSyncSettings) {
        self.settings = settings;
        match &mut self.role {
            Role::Master(master) if settings.interval.is_zero() => master.restart(),
            _ => {}
        }
    }

    /// A standby that looks for its master again keeps what it has.
    fn lead_no_more(&mut self) {
        if matches!(self.role, Role::Master(_)) {
            self.role = Role::Neither;
        }
    }

    fn stand_by(&mut self, master: Guid) {
        let same = matches!(&self.role, Role::Standby(standby) if standby.master == master);
        if !same {
            self.role = Role::Standby(Box::new(Standby::new(master)));
        }
    }

    fn advance(&mut self, now: Tick) {
        let is_on = self.is_on();
        match &mut self.role {
            Role::Master(master) if is_on => {
                let effects = master.advance(now, &self.settings);
                self.take(effects);
            }
            Role::Standby(standby) => {
                if let Some(inherited) = standby.pass_on(now) {
                    let output = DbSyncOutput::Inherit(Box::new(inherited));
                    self.outputs.push_back(output);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, effects: Effects) {
        let Effects {
            packets,
            events,
            asks,
        } = effects;
        let packets = packets.into_iter().map(DbSyncOutput::Send);
        self.outputs.extend(packets);
        let events = events.into_iter().map(DbSyncOutput::Event);
        self.outputs.extend(events);
        self.outputs.extend(asks.then_some(DbSyncOutput::Ask));
    }

    /// Answers to a master, and requests to a standby. Who is no full member of the management partition gets
    /// no answer.
    fn received(&mut self, now: Tick, packet: &Packet) {
        let Ok(mad) = MadHeader::decode(&packet.mad) else {
            return;
        };
        if packet.pkey != PKey::MGMT_FULL || !self.is_on() {
            return;
        }
        if let (Role::Master(master), true) = (&mut self.role, method::is_response(mad.method)) {
            let effects = master.received(now, &mad, packet, &self.settings);
            return self.take(effects);
        }
        if matches!(self.role, Role::Standby(_))
            && let Some(request) = self.server.received(now, packet)
        {
            self.request(now, &request);
        }
    }

    fn request(&mut self, now: Tick, request: &Request) {
        let Role::Standby(standby) = &mut self.role else {
            return;
        };
        if request.mad.method != method::GET_TABLE {
            return self.server.forget(request);
        }
        let mut events = Vec::new();
        let reaction = standby.asked(now, request, &mut events);
        self.outputs
            .extend(events.into_iter().map(DbSyncOutput::Event));
        let header = SaHeader {
            attribute_offset: reaction.data.len().div_ceil(8) as u16,
            ..SaHeader::default()
        };
        let mut class = [0; CLASS_LEN];
        header.encode(&mut class);
        let answer = Answer {
            status: reaction.status,
            class,
            data: reaction.data.into(),
        };
        self.server.answer(now, request, answer);
    }
}
