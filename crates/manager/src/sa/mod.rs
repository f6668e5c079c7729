//! Subnet administration: answers who is where, who reaches whom and how, and keeps what clients
//! register. It reads the snapshots that the subnet manager publishes and never waits for a sweep.
//!
//! | module | what it is about |
//! |---|---|
//! | `dispatch` | which attribute is answered by what, and to whom |
//! | `query` | a request, matching by component mask, and an answer |
//! | `view` | a snapshot with indexes: LIDs, GUIDs, virtual fabrics, hops |
//! | `records` | records that are read from the snapshot, a file a family |
//! | `path` | paths: virtual fabrics, selectors, pairs of LIDs |
//! | `services` | services that clients register, with their leases |
//! | `multicast` | groups, their members and LIDs |

mod class_port_info;
mod dispatch;
mod io;
mod multicast;
mod path;
mod query;
mod rates;
mod records;
mod services;
mod settings;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_wire::header::class;

pub use io::{SaInput, SaOutput};
pub use services::OwnService;
pub use settings::{MulticastSettings, PathSelection, PathSettings, SaSettings, VirtualFabric};

use crate::gsi::{Counters, Request, Server};
use dispatch::Handler;
use query::{Found, Query, Refusal};
use view::View;

/// Subnet administration of one fabric.
///
/// Call [`Sa::handle`] with each input, then [`Sa::poll`] until it gives nothing more; call
/// [`Sa::handle`] with [`SaInput::Tick`] when [`Sa::deadline`] has come.
#[derive(Debug)]
pub struct Sa {
    pub(crate) settings: SaSettings,
    server: Server,
    view: View,
    services: services::Services,
    groups: multicast::Groups,
    outputs: VecDeque<SaOutput>,
}

impl Sa {
    /// An administration that answers BUSY until the first snapshot comes.
    pub fn new(settings: SaSettings) -> Self {
        let mut sa = Self {
            server: Server::new(class::SUBN_ADM, settings.limits),
            settings,
            view: View::default(),
            services: services::Services::default(),
            groups: multicast::Groups::default(),
            outputs: VecDeque::new(),
        };
        sa.create_configured_groups();
        sa
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: SaInput) {
        match input {
            SaInput::Tick => {}
            SaInput::Received(packet) => {
                if let Some(request) = self.server.received(now, &packet) {
                    self.request(now, &request);
                }
            }
            SaInput::Published(snapshot) => self.published(now, snapshot),
        }
        self.server.expire(now);
        self.services.expire(now);
        if self.groups.deadline().is_some_and(|due| due <= now) {
            let told = self.groups.for_manager();
            self.outputs.push_back(SaOutput::Multicast(told));
        }
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<SaOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        self.server.poll().map(SaOutput::Send)
    }

    /// When [`SaInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        let deadlines = [
            self.server.deadline(),
            self.services.deadline(),
            self.groups.deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// What has been received and sent.
    pub fn counters(&self) -> Counters {
        self.server.counters()
    }

    fn published(&mut self, now: Tick, snapshot: Arc<Snapshot>) {
        self.view = View::new(snapshot, &self.settings);
        self.offer_own_services();
        self.forget_lost_members(now);
    }

    fn request(&mut self, now: Tick, request: &Request) {
        if request.is_response() {
            return;
        }
        let query = Query::new(request);
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
