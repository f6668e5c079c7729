//! The performance manager and performance administration: reads the counters of all active ports
//! at an interval, keeps the results as images, and answers queries about them.
//!
//! | module | contents |
//! |---|---|
//! | `sweep`, `job`, `answers`, `finish` | a sweep: its requests, handling of answers, and results |
//! | `ask` | requests to agents |
//! | `roster`, `known` | ports, their groups and virtual fabrics; data kept about agents |
//! | `clearing` | counters that somebody wants set to zero |
//! | `counters` | changes between two readings |
//! | `image`, `history` | results of a sweep; recent sweeps and those that clients hold |
//! | `composite`, `kept` | several images put together, as bytes too; those that are on the disk |
//! | `categories`, `view` | interpretation of counters, for queries and for other readers |
//! | `pa` | queries of clients |
//! | `settings`, `io` | settings; inputs and outputs |

mod answers;
mod ask;
mod categories;
mod clearing;
mod composite;
mod counters;
mod finish;
mod history;
mod image;
mod io;
mod job;
mod kept;
mod known;
mod pa;
mod roster;
pub mod settings;
mod sweep;
mod then;
mod view;

use std::collections::VecDeque;
use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class};
use weft_wire::packet::Packet;

use crate::ask::Agents;
use crate::gsi::{Limits, Server};
pub use clearing::{CLEAR_ORDERS_MAX, ClearOrder, ClearOutcome, clear_selection};
pub use composite::{Composite, Malformed};
use counters::ClearLimits;
pub(crate) use counters::step;
pub use counters::{Counters, LaneCounters};
use finish::Running;
use history::History;
pub(crate) use image::Raw;
pub use image::{Delta, Image, ImageName, Reading, Totals};
pub use io::{PmEvent, PmInput, PmOutput, PmReport, PortName};
pub use kept::Kept;
pub use roster::{BUILT_IN_GROUPS, FabricLanes, Member, Roster, RosterPort};
pub use settings::{Categories, PmSettings};
use sweep::{Peer, Sweep, Tag};
pub use then::Recorded;
pub use view::{LinkView, PortView, Sending};

/// The performance manager of one fabric.
///
/// Call [`Pm::handle`] with each input, then [`Pm::poll`] until it gives nothing more; call
/// [`Pm::handle`] with [`PmInput::Tick`] when [`Pm::deadline`] has come. The first
/// [`PmInput::Published`] begins the first sweep.
#[derive(Debug)]
pub struct Pm {
    settings: PmSettings,
    limits: ClearLimits,
    /// When it was how late.
    clock: Option<(Tick, u64)>,
    /// The fabric as it is; none while this manager is not the master.
    snapshot: Option<Arc<Snapshot>>,
    roster: Arc<Roster>,
    /// Data kept about agents, in the order of the roster's members.
    peers: Vec<Peer>,
    agents: Agents<Tag>,
    sweep: Option<Sweep>,
    /// Counters to be set to zero by the next sweep.
    orders: Vec<ClearOrder>,
    sweeps_begun: u64,
    /// When the next sweep begins.
    due: Option<Tick>,
    history: History,
    running: Running,
    /// Tells this manager's images from those of one before it.
    run: u32,
    /// Clients' queries.
    server: Server,
    /// Those that wait for an image on the disk.
    waiting: Vec<pa::Waiting>,
    outputs: VecDeque<PmOutput>,
}

impl Pm {
    /// A manager that waits for the fabric's first state.
    pub fn new(settings: PmSettings) -> Self {
        Self {
            limits: ClearLimits::new(&settings.clear),
            clock: None,
            snapshot: None,
            roster: Arc::default(),
            peers: Vec::new(),
            agents: Agents::new(settings.requests.budget(), 1),
            sweep: None,
            orders: Vec::new(),
            sweeps_begun: 0,
            due: None,
            history: History::new(
                settings.total_images,
                settings.frozen_images,
                settings.lease,
            ),
            running: Running::default(),
            run: 0,
            server: Server::new(class::PA, Limits::default()),
            waiting: Vec::new(),
            outputs: VecDeque::new(),
            settings,
        }
    }

    /// Takes an input. Time never goes back.
    pub fn handle(&mut self, now: Tick, input: PmInput) {
        match input {
            PmInput::Tick => {}
            PmInput::WallClock { unix_s } => self.clock = Some((now, unix_s)),
            PmInput::Published(snapshot) => self.published(now, snapshot),
            PmInput::StandBy => self.stand_by(),
            PmInput::Received(packet) => self.received(now, &packet),
            PmInput::Kept(images) => self.history.kept(images),
            PmInput::Removed(images) => self.history.removed(&images),
            PmInput::Recalled { name, image } => self.recalled(now, name, image),
            PmInput::RecallRefused(name) => self.recall_refused(now, name),
            PmInput::Clear(order) => self.order(now, order),
        }
        self.expire(now);
        self.server.expire(now);
        self.history.forget(now);
        self.start_due_sweep(now);
        self.pump(now);
        self.finish_sweep(now);
        self.agents.settle();
    }

    /// The next thing that the manager wants done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<PmOutput> {
        let own = self.outputs.pop_front();
        own.or_else(|| self.server.poll().map(PmOutput::Send))
    }

    /// When the manager wants [`PmInput::Tick`] at the latest, none when only another input
    /// matters.
    pub fn deadline(&self) -> Option<Tick> {
        let requests = self.sweep.as_ref().and(self.agents.deadline());
        let server = self.server.deadline();
        [requests, self.due, self.patience_ends(), server]
            .into_iter()
            .flatten()
            .min()
    }

    /// Changes the settings; the next sweep follows them.
    pub fn reconfigure(&mut self, settings: PmSettings) {
        self.agents.set_budget(settings.requests.budget());
        self.limits = ClearLimits::new(&settings.clear);
        self.history.resize(
            settings.total_images,
            settings.frozen_images,
            settings.lease,
        );
        self.settings = settings;
        self.roster = Arc::default();
    }

    /// Results of the last sweep, `None` before the first has ended.
    pub fn latest(&self) -> Option<Arc<Image>> {
        self.history.latest().cloned()
    }

    /// Counts of a port since a client last cleared its running totals.
    pub fn running_total(&self, place: usize) -> Option<Counters> {
        self.running.counters.get(place).copied()
    }

    fn published(&mut self, now: Tick, snapshot: Arc<Snapshot>) {
        self.snapshot = Some(snapshot);
        if self.sweep.is_none() && self.due.is_none() {
            self.due = Some(now);
        }
    }

    /// Stops reading.
    fn stand_by(&mut self) {
        self.fail_orders();
        self.snapshot = None;
        self.sweep = None;
        self.due = None;
    }

    fn received(&mut self, now: Tick, packet: &Packet) {
        let Ok(header) = MadHeader::decode(&packet.mad) else {
            return;
        };
        match header.mgmt_class {
            class::PERF => self.answered(now, packet),
            class::PA => self.queried(now, packet),
            _ => {}
        }
    }
}
