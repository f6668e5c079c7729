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

mod class_port_info;
mod dispatch;
mod io;
mod path;
mod query;
mod rates;
mod records;
mod settings;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_wire::header::class;

pub use io::{SaInput, SaOutput};
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
    outputs: VecDeque<SaOutput>,
}

impl Sa {
    /// An administration that answers BUSY until the first snapshot comes.
    pub fn new(settings: SaSettings) -> Self {
        Self {
            server: Server::new(class::SUBN_ADM, settings.limits),
            settings,
            view: View::default(),
            outputs: VecDeque::new(),
        }
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
            SaInput::Published(snapshot) => self.published(snapshot),
            SaInput::Notice(_) => {}
        }
        self.server.expire(now);
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<SaOutput> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        self.server.poll().map(SaOutput::Send)
    }

    /// Changes the settings.
    pub fn reconfigure(&mut self, settings: SaSettings) {
        self.settings = settings;
        self.published(Arc::clone(&self.view.snapshot));
    }

    /// When [`SaInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        self.server.deadline()
    }

    /// What has been received and sent.
    pub fn counters(&self) -> Counters {
        self.server.counters()
    }

    fn published(&mut self, snapshot: Arc<Snapshot>) {
        self.view = View::new(snapshot, &self.settings);
    }

    fn request(&mut self, now: Tick, request: &Request) {
        if request.is_response() {
            return;
        }
        let query = Query::new(request);
        let outcome = self.outcome(&query);
        let answer = query.answer(outcome);
        self.server.answer(now, request, answer);
    }

    fn outcome(&self, query: &Query<'_>) -> Result<Found, Refusal> {
        if self.view.snapshot.generation == 0 {
            return Err(Refusal::BUSY);
        }
        match dispatch::handler(query)? {
            Handler::View(read) => read(&self.view, query),
            Handler::Read(read) => read(self, query),
        }
    }
}
