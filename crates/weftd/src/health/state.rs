//! What is remembered from one page to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_api::v1::{self, watch_response::Content};
use weft_fabric::enums::SmState;
use weft_fabric::intended::Intended;
use weft_fabric::{Guid, Snapshot};
use weft_health::{
    ErrorLog, Forgotten, Idle, LastSweep, LinkEnd, LossLog, Memory, Moment, Page, PointError,
    RequestLog, Shape, Silent, Target, check,
};
use weft_manager::SweepReport;
use weft_manager::cables::CableMemories;
use weft_manager::pm::Image;
use weft_manager::sm::Status;

use super::file::SeenFile;
use crate::attachment::Attachment;
use crate::event_hub::{Stamped, unix_time_ns};
use crate::query_thread::QuerySettings;
use crate::request::HealthState;

/// Seconds between two writes of the memory.
const WRITE_EVERY: u64 = 10;
/// Seconds after which it is written although nothing has changed, so that the last time of what is there is known.
const WRITE_ANYWAY: u64 = 3_600;
/// Bytes of a cable's serial number in the upper half of its memory.
const SERIAL: std::ops::Range<usize> = 68..84;

/// What is known at a moment from elsewhere.
pub(super) struct Known {
    /// State of the manager; none where it is too busy to answer.
    pub(super) held: Option<Box<HealthState>>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) status: Arc<Status>,
    pub(super) attachment: Attachment,
    /// Why etcd cannot be asked.
    pub(super) mandate_unknown: Option<String>,
    pub(super) settings: QuerySettings,
    pub(super) cables: Arc<CableMemories>,
    pub(super) image: Option<Arc<Image>>,
}

/// What is remembered.
#[derive(Default)]
pub(super) struct State {
    memory: Memory,
    /// Cables of which the memory has the serial numbers.
    cables: Arc<CableMemories>,
    errors: ErrorLog,
    losses: LossLog,
    requests: RequestLog,
    silent: BTreeMap<Guid, Silent>,
    last_sweep: Option<LastSweep>,
    held: HealthState,
    shape: Shape,
    /// Generation of the snapshot, changes of the memory, and what carries no data, for which it was computed.
    computed_for: Option<(u64, u64, Idle)>,
    /// Changes of the memory that are stored, and when that was done.
    saved: (u64, u64),
    failed: Option<String>,
}

impl State {
    pub(super) fn new(memory: Memory) -> Self {
        Self {
            saved: (memory.changes(), now()),
            memory,
            ..Self::default()
        }
    }

    /// Takes an event; returns whether a page is due for it.
    pub(super) fn note(&mut self, event: &Stamped) -> bool {
        let at = event.unix_time_ns / 1_000_000_000;
        match &event.content {
            Content::LinkVanished(link) => {
                let end = |port: &Option<v1::PortId>| port.as_ref().and_then(weft_api::point_of);
                if let (Some(a), Some(b)) = (end(&link.a), end(&link.b)) {
                    self.losses.note(at, (a.min(b), a.max(b)));
                }
                true
            }
            Content::NodeSilent(silent) => {
                let fresh = Silent {
                    since: at,
                    times: 0,
                    attribute: silent.attribute.clone(),
                };
                self.silent.entry(Guid(silent.guid)).or_insert(fresh).times += 1;
                true
            }
            Content::SweepEnded(_)
            | Content::AttachmentChanged(_)
            | Content::RoleChanged(_)
            | Content::PortChanged(_)
            | Content::PortQuarantined(_)
            | Content::PortReleased(_)
            | Content::LinkIsolated(_)
            | Content::LinkErrorsOver(_)
            | Content::DeviceRefused(_)
            | Content::RefusalOver(_)
            | Content::SweepsPaused(_)
            | Content::SweepsResumed(_)
            | Content::PlanInForce(_)
            | Content::PlanUndone(_) => true,
            _ => false,
        }
    }

    /// Takes in the fabric after a sweep.
    pub(super) fn look(
        &mut self,
        now: u64,
        keep: u64,
        report: &SweepReport,
        snapshot: &Snapshot,
        cables: &CableMemories,
    ) {
        if report.hfis + report.switches == 0 {
            return;
        }
        self.last_sweep = Some(LastSweep {
            ended: now,
            elapsed_ns: report.elapsed_ns,
            unfinished: report.unfinished.clone(),
            unused: report.unused.clone(),
        });
        let serial = |end| serial(cables, end);
        self.memory.look(now, &snapshot.topology, keep, serial);
    }

    /// Forgets what is gone and not in the topology file.
    pub(super) fn follow(&mut self, intended: &Intended) {
        self.memory.follow(intended);
    }

    /// Takes a reading of all counters.
    pub(super) fn take_image(&mut self, image: Option<Arc<Image>>) {
        match image {
            Some(image) => self.errors.note(now(), &image),
            None => self.errors.clear(),
        }
    }

    pub(super) fn forget(
        &mut self,
        point: &str,
        validate_only: bool,
    ) -> Result<Forgotten, PointError> {
        let targets = Target::parse(point, &self.memory)?;
        Ok(match validate_only {
            true => self.memory.clone().forget(&targets),
            false => self.memory.forget(&targets),
        })
    }

    pub(super) fn forget_gone(&mut self) {
        self.memory.forget_gone();
    }

    /// Takes in cables that were read since the last page.
    fn learn_cables(&mut self, cables: &Arc<CableMemories>) {
        if !Arc::ptr_eq(&self.cables, cables) {
            self.memory.learn_serials(|end| serial(cables, end));
            self.cables = Arc::clone(cables);
        }
    }

    /// The page.
    pub(super) fn page(&mut self, known: &Known) -> Page {
        let now = now();
        self.advance(now, known);
        self.learn_cables(&known.cables);
        let snapshot = &*known.snapshot;
        let topology = &snapshot.topology;
        let idle = Idle::of(topology, &self.held.drains, self.last_sweep.as_ref());
        let computed_for = Some((snapshot.generation, self.memory.changes(), idle.clone()));
        if self.computed_for != computed_for {
            self.shape = Shape::of(topology, &self.memory, idle);
            self.computed_for = computed_for;
        }
        let status = &known.status;
        let none = Arc::new(CableMemories::default());
        let cables = match status.role {
            SmState::MASTER => &known.cables,
            _ => &none,
        };
        let mut page = check(&Moment {
            now,
            snapshot,
            memory: &self.memory,
            intended: known.settings.intended.as_deref(),
            cables,
            image: known.image.as_ref(),
            errors: &self.errors,
            losses: &self.losses,
            barred: &self.held.barred,
            drains: &self.held.drains,
            silent: &self.silent,
            role: status.role,
            requests: self.requests.last_hour(status.round_trip_ns),
            attachment: weft_health::Attachment {
                attached: known.attachment.attached,
                since: known.attachment.since_unix_ns / 1_000_000_000,
            },
            mandate_unknown: known.mandate_unknown.as_deref(),
            last_sweep: self.last_sweep.as_ref(),
            sweep_interval: known.settings.sweep_interval.as_secs(),
            paused_until: status.pause.map(|pause| pause.until.0 / 1_000_000_000),
            shape: &self.shape,
        });
        let keys = page.findings.iter().map(weft_health::Finding::key);
        let ages = self.memory.age(now, keys);
        for finding in &mut page.findings {
            let known = ages.get(&finding.key()).copied();
            finding.since = finding.since.or(known);
        }
        page
    }

    fn advance(&mut self, now: u64, known: &Known) {
        self.errors.advance(now);
        self.losses.advance(now);
        let totals = &known.status.totals;
        self.requests
            .note(now, [totals.sent, totals.retries, totals.timeouts]);
        if let Some(held) = &known.held {
            self.held = HealthState::clone(held);
            self.silent
                .retain(|guid, _| held.silent.binary_search(guid).is_ok());
            for guid in &held.silent {
                self.silent.entry(*guid).or_insert_with(|| Silent {
                    since: now,
                    times: 1,
                    attribute: String::new(),
                });
            }
        }
    }

    /// Stores the memory where it has changed, or where that is long ago.
    pub(super) fn save(&mut self, file: &SeenFile, subnet_prefix: u64, is_last: bool) {
        let (now, changes) = (now(), self.memory.changes());
        let (saved, at) = self.saved;
        let age = now.saturating_sub(at);
        let is_due = changes != saved && (age >= WRITE_EVERY || is_last) || age >= WRITE_ANYWAY;
        let is_due = is_due || is_last && self.memory.looked() > at;
        if is_due && file.save(&self.memory, subnet_prefix, &mut self.failed) {
            self.saved = (changes, now);
        }
    }
}

/// The serial number of the cable in a port, where it is known.
fn serial(cables: &CableMemories, (node, port): LinkEnd) -> Option<[u8; 16]> {
    cables.get(node, port)?[SERIAL].try_into().ok()
}

/// Seconds since 1970.
fn now() -> u64 {
    unix_time_ns() / 1_000_000_000
}
