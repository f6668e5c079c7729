//! Subnet administration: answers queries about nodes and paths, and keeps the registrations of
//! clients. It reads the snapshots that the subnet manager publishes and never waits for a sweep.
//!
//! | module | contents |
//! |---|---|
//! | `dispatch` | handlers of attributes, and access rights |
//! | `query` | a request, matching by component mask, and an answer |
//! | `view` | a snapshot with indexes: LIDs, GUIDs, virtual fabrics, hops |
//! | `records` | records that are read from the snapshot, one file per family |
//! | `path` | paths: virtual fabrics, selectors, pairs of LIDs |
//! | `services` | services that clients register, with their leases |
//! | `inform` | subscriptions, and reports to subscribers |
//! | `multicast` | groups, their members and LIDs |
//! | `kept` | registrations that survive a restart |
//! | `copies` | registrations for standbys, and from a master |
//! | `state` | the whole state as bytes and back |

mod class_port_info;
mod copies;
mod dispatch;
mod inform;
mod io;
mod kept;
mod multicast;
mod path;
mod query;
mod records;
mod selector;
mod services;
mod settings;
mod state;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Guid, Snapshot, Tick};
use weft_wire::Layout;
use weft_wire::header::class;
use weft_wire::id::Gid;
use weft_wire::sm::Notice;

pub use io::{SaInput, SaOutput};
pub use kept::KeptError;
pub use multicast::MulticastStormSettings;
pub use records::groups::device_groups;
pub use records::quarantined::quarantined_nodes;
pub use records::vf_info::virtual_fabrics;
pub use services::OwnService;
pub use settings::{MulticastSettings, PathSelection, PathSettings, Quotas, SaSettings};

use crate::cables::CableMemories;
use crate::congestion::CongestionHeld;
use crate::gsi::{Counters, Request, Server};
use dispatch::Handler;
use query::{Found, Query, Refusal};
use view::View;

/// Subnet administration of one fabric.
///
/// Call [`Sa::handle`] with each input, then [`Sa::poll`] until it gives nothing more; call
/// [`Sa::handle`] with [`SaInput::Tick`] when [`Sa::deadline`] has come.
#[derive(Debug, Clone)]
pub struct Sa {
    pub(crate) settings: SaSettings,
    server: Server,
    view: Arc<View>,
    cables: Arc<CableMemories>,
    congestion: Arc<CongestionHeld>,
    services: services::Services,
    groups: multicast::Groups,
    subscriptions: inform::Subscriptions,
    keeping: kept::Keeping,
    /// The time of the last input.
    now: Tick,
    outputs: VecDeque<SaOutput>,
}

/// Numbers of registrations of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// Services, its own included.
    pub services: usize,
    /// Subscriptions to notices.
    pub subscriptions: usize,
    /// Answers of several segments in flight.
    pub transfers: usize,
}

impl Sa {
    /// An administration without registrations, which answers BUSY until the first snapshot. The
    /// subnet manager receives members once [`SaInput::RegistrationsLost`] has given the number of ports that
    /// register first.
    pub fn new(settings: SaSettings) -> Self {
        let mut sa = Self {
            server: Server::new(class::SUBN_ADM, settings.limits),
            settings,
            view: Arc::default(),
            cables: Arc::default(),
            congestion: Arc::default(),
            services: services::Services::default(),
            groups: multicast::Groups::default(),
            subscriptions: inform::Subscriptions::default(),
            keeping: kept::Keeping::default(),
            now: Tick(0),
            outputs: VecDeque::new(),
        };
        sa.server.set_silent_if_busy(sa.settings.silent_if_busy);
        sa.create_configured_groups();
        sa.keeping.settle(sa.changes());
        sa
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: SaInput) {
        self.now = now;
        match input {
            SaInput::Tick => {}
            SaInput::Received(packet) => {
                if let Some(request) = self.server.received(now, &packet) {
                    self.request(now, &request);
                }
            }
            SaInput::Published(snapshot) => self.published(now, snapshot),
            SaInput::Cables(memories) => self.cables = memories,
            SaInput::Congestion(held) => self.congestion = held,
            SaInput::RegistrationsLost { asked } => self.registrations_lost(now, asked),
            SaInput::Notice(bytes) => {
                if let Ok(notice) = Notice::decode(&bytes) {
                    self.subscriptions.report(now, &notice, &mut self.outputs);
                }
            }
        }
        self.server.expire(now);
        self.services.expire(now);
        self.report_news(now);
        self.subscriptions.expire(now, &mut self.outputs);
        if self.groups.deadline().is_some_and(|due| due <= now) {
            self.tell_groups();
        }
        self.keep(now);
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<SaOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        self.server.poll().map(SaOutput::Send)
    }

    /// Changes the settings. Groups of virtual fabrics that are new are created, those of partitions
    /// that are gone go with their members.
    pub fn reconfigure(&mut self, settings: SaSettings) {
        self.server.set_silent_if_busy(settings.silent_if_busy);
        self.settings = settings;
        self.drop_undeclared();
        self.create_configured_groups();
        self.groups.touch(self.now);
        self.published(self.now, Arc::clone(&self.view.snapshot));
        self.keep(self.now);
    }

    /// When [`SaInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        let deadlines = [
            self.server.deadline(),
            self.services.deadline(),
            self.groups.deadline(),
            self.subscriptions.deadline(),
            self.keeping.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Numbers of datagrams received and sent.
    pub fn counters(&self) -> Counters {
        self.server.counters()
    }

    /// Numbers of registrations.
    pub fn registered(&self) -> Registered {
        Registered {
            services: self.services.len(),
            subscriptions: self.subscriptions.len(),
            transfers: self.server.transfers(),
        }
    }

    fn published(&mut self, now: Tick, snapshot: Arc<Snapshot>) {
        self.view = Arc::new(View::new(snapshot, &self.settings));
        if self.view.snapshot.generation == 0 {
            return; // the fabric is not known yet
        }
        self.offer_own_services();
        self.groups.asked(now);
        self.forget_lost_members(now);
        let view = &self.view;
        self.services
            .forget_lost(|port| view.by_guid(port).is_some());
        self.subscriptions.forget_lost(|lid| view.guid_of(lid));
    }

    /// Outputs the groups as they are, and from now on counts members as known.
    pub fn tell_groups(&mut self) {
        let told = self.groups.for_manager();
        self.outputs.push_back(SaOutput::Multicast(told));
        self.publish_groups();
    }

    fn publish_groups(&mut self) {
        let groups = Arc::new(self.groups.for_readers());
        self.outputs.push_back(SaOutput::Groups(groups));
    }

    /// Starts without registrations.
    fn registrations_lost(&mut self, now: Tick, asked: usize) {
        self.groups.clear();
        self.services.clear();
        self.subscriptions.clear();
        self.create_configured_groups();
        self.groups.expect(now, asked);
        self.publish_groups();
    }

    /// GUID of the requesting port.
    fn port_of(&self, query: &Query<'_>) -> Option<Guid> {
        self.view.guid_of(query.request.from.lid)
    }

    /// Reports groups that came or went.
    fn report_news(&mut self, now: Tick) {
        let news = std::mem::take(&mut self.groups.news);
        let Some(master) = self.view.snapshot.sms.first() else {
            return;
        };
        let issuer = Gid {
            prefix: self.settings.subnet_prefix,
            interface: master.port_guid,
        };
        for (created, mgid) in news {
            let notice = inform::group_notice(created, mgid, master.lid, issuer);
            self.subscriptions.report(now, &notice, &mut self.outputs);
        }
    }

    fn request(&mut self, now: Tick, request: &Request) {
        if request.is_response() {
            self.subscriptions.answered(request);
            return;
        }
        let query = Query::new(request);
        if !dispatch::is_allowed(&query) {
            self.server.forget(request);
            return;
        }
        let outcome = self.outcome(now, &query);
        let answer = query.answer(outcome);
        self.server.answer(now, request, answer);
    }

    fn outcome(&mut self, now: Tick, query: &Query<'_>) -> Result<Found, Refusal> {
        if self.view.snapshot.generation == 0 {
            return Err(Refusal::BUSY);
        }
        match dispatch::handler(query)? {
            Handler::View(read) => read(&self.view, query),
            Handler::Read(read) => read(self, query),
            Handler::Write(write) => write(self, now, query),
        }
    }
}
