//! Cable memories: they are read after a sweep has published the fabric, at
//! their own pace, so that no sweep and no port waits for them.
//!
//! A memory is read once for as long as its link lasts from one published snapshot to the next. A port that
//! refuses is not asked again meanwhile; one that does not answer is asked again later. A cable may be exchanged so quickly that no
//! snapshot lacks its link: every [`COMPARE_EVERY`] the half of each memory that has the serial number is read once more, and
//! all of it where that is another.
//!
//! What modules measure changes: cables that are not of passive copper are read at both ends, first when the cable is
//! known, then every [`MEASURE_EVERY`], one datagram a module. A module's thresholds are read once.

mod io;
mod links;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Lid, Sl, Snapshot, Tick};
use weft_wire::header::status;
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, CableInfo, CableInfoModifier};
use weft_wire::smp::Smp;

pub use io::{CablesInput, CablesOutput, CablesSettings};
pub use weft_config::sm::CableInfoPolicy;
pub use weft_fabric::cables::{CABLE_MEMORY, CableMemories, CableMemory};

use crate::ask::{Agents, Budget, Later, Patience, Target, Unanswered, lid_routed};
use links::{End, Links};

/// Requests in flight: cables are not urgent, and their memories are slow.
const WINDOW: usize = 4;
/// Timeouts: a memory behind a module's bus answers late.
const PATIENCE: Patience = Patience {
    first: Duration::from_millis(500),
    floor: Duration::from_millis(100),
    ceiling: Duration::from_secs(2),
    attempts: 3,
};
/// Maximum time that reading continues before clients get the memories read so far.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// The same while modules are measured, of which clients have the values of before.
const MEASURED_TELL_EVERY: Duration = Duration::from_secs(5);

/// Time from the beginning of one reading of all modules to the next.
pub const MEASURE_EVERY: Duration = Duration::from_secs(600);

/// Time from the beginning of one comparison of all cables with what is known of them to the next.
pub const COMPARE_EVERY: Duration = Duration::from_secs(3600);

/// What is read of a memory, each 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// Half of what says what cable it is: 0 or 1.
    Identity(u8),
    /// The second of these halves, to be compared with what is known.
    Serial,
    /// The monitors of the module.
    Monitors,
    /// Half of the page of thresholds: 0 or 1.
    Thresholds(u8),
}

impl What {
    /// Linear address of the first byte.
    fn address(self) -> u16 {
        let (start, half) = match self {
            Self::Monitors => (0, 0),
            Self::Identity(half) => (*CABLE_MEMORY.start(), half),
            Self::Serial => (*CABLE_MEMORY.start(), 1),
            Self::Thresholds(half) => (512, half),
        };
        start + u16::from(half) * u16::from(CableInfo::MAX_LEN)
    }
}

/// A part of a memory that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    end: End,
    lid: Lid,
    what: What,
    /// Number of the snapshot that it is for.
    round: u64,
}

/// Reads the memories of a fabric's cables.
///
/// Call [`Cables::handle`] with each input, then [`Cables::poll`] until it gives nothing more; call
/// [`Cables::handle`] with [`CablesInput::Tick`] when [`Cables::deadline`] has come.
#[derive(Debug)]
pub struct Cables {
    settings: CablesSettings,
    agents: Agents<Part>,
    links: Links,
    queue: VecDeque<Part>,
    /// Parts of this round that were not answered for.
    later: Later<Part>,
    round: u64,
    /// Halves that came before the others: of thresholds, or of what cable it is.
    halves: BTreeMap<(End, bool), [Option<[u8; 64]>; 2]>,
    /// Modules that are to be read.
    to_measure: VecDeque<End>,
    /// When all of them are read again, none while no module measures anything.
    measure_at: Option<Tick>,
    /// Ends whose cables are to be compared with what is known of them.
    to_compare: VecDeque<End>,
    /// When all are compared again, none while no cable is known.
    compare_at: Option<Tick>,
    /// Latest time at which read memories are output.
    tell_at: Option<Tick>,
    outputs: VecDeque<CablesOutput>,
}

impl Cables {
    /// Reads nothing before the first snapshot comes.
    pub fn new(settings: CablesSettings) -> Self {
        Self {
            settings,
            agents: Agents::new(Budget::new(WINDOW, WINDOW as u8, PATIENCE), 0),
            links: Links::default(),
            queue: VecDeque::new(),
            later: Later::default(),
            round: 0,
            halves: BTreeMap::new(),
            to_measure: VecDeque::new(),
            measure_at: None,
            to_compare: VecDeque::new(),
            compare_at: None,
            tell_at: None,
            outputs: VecDeque::new(),
        }
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: CablesInput) {
        match input {
            CablesInput::Tick => {}
            CablesInput::Received(packet) => self.received(now, &packet),
            CablesInput::Published(snapshot) => self.published(now, &snapshot),
            CablesInput::StandBy => self.stand_by(),
        }
        self.expire(now);
        self.begin_measuring(now);
        self.begin_comparing(now);
        self.queue.extend(self.later.take_due(now));
        self.send(now);
        self.agents.settle();
        self.tell(now);
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<CablesOutput> {
        self.outputs.pop_front()
    }

    /// When [`CablesInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        let due = [
            self.agents.deadline(),
            self.later.deadline(),
            self.tell_at,
            self.measure_at,
            self.compare_at,
        ];
        due.into_iter().flatten().min()
    }

    /// Changes the settings; they hold from the next snapshot on.
    pub fn reconfigure(&mut self, settings: CablesSettings) {
        self.settings = settings;
    }

    fn stand_by(&mut self) {
        self.queue.clear();
        self.to_measure.clear();
        self.measure_at = None;
        self.to_compare.clear();
        self.compare_at = None;
        self.later.clear();
        self.round += 1;
    }

    /// Discards memories of lost links, and reads new ones.
    fn published(&mut self, now: Tick, snapshot: &Snapshot) {
        let Some(own) = snapshot.sms.first() else {
            return;
        };
        self.agents.sit_at(own.lid, Sl(0));
        self.round += 1;
        for part in std::mem::take(&mut self.queue) {
            self.read_later(part);
        }
        self.later.clear();
        let before = self.links.memories.len();
        let wanted = self.links.renew(snapshot, self.settings.policy);
        if self.links.memories.len() != before {
            self.tell_at.get_or_insert(now);
        }
        self.halves.clear();
        for (end, lid) in wanted {
            let round = self.round;
            let part = |half| Part {
                end,
                lid,
                what: What::Identity(half),
                round,
            };
            self.queue.extend([part(0), part(1)]);
        }
        // After a time as standby, or another policy.
        if self.measure_at.is_none() && !self.links.modules().is_empty() {
            self.measure_at = Some(now);
        }
        if self.compare_at.is_none() && !self.links.memories.is_empty() {
            self.compare_at = Some(now);
        }
    }

    /// Reads all modules again, where that is due and the last reading has ended.
    fn begin_measuring(&mut self, now: Tick) {
        if self.measure_at.is_none_or(|at| at > now) {
            return;
        }
        let modules = match self.settings.policy {
            CableInfoPolicy::None => Vec::new(),
            CableInfoPolicy::ByLink | CableInfoPolicy::ByPort => self.links.modules(),
        };
        self.measure_at = (!modules.is_empty()).then_some(now + MEASURE_EVERY);
        if self.to_measure.is_empty() {
            self.to_measure.extend(modules);
        }
    }

    /// Compares all cables with what is known of them, where that is due.
    fn begin_comparing(&mut self, now: Tick) {
        if self.compare_at.is_none_or(|at| at > now) {
            return;
        }
        let ends = self.links.read_ends();
        self.compare_at = (!ends.is_empty()).then_some(now + COMPARE_EVERY);
        if self.to_compare.is_empty() {
            self.to_compare.extend(ends);
        }
    }

    /// A reading that was broken off by a new round goes on in that.
    fn read_later(&mut self, part: Part) {
        match part.what {
            What::Monitors => self.to_measure.push_back(part.end),
            What::Serial => self.to_compare.push_back(part.end),
            What::Identity(_) | What::Thresholds(_) => {}
        }
    }

    /// The next part to read: what cable it is goes first.
    fn next_part(&mut self) -> Option<Part> {
        loop {
            if let Some(part) = self.queue.pop_front() {
                return Some(part);
            }
            if let Some(end) = self.to_measure.pop_front() {
                if self.links.is_measuring(&end) {
                    self.queue.extend(self.part(end, What::Monitors));
                }
                continue;
            }
            let end = self.to_compare.pop_front()?;
            if self.links.memories.get(end.0, end.1).is_some() {
                self.queue.extend(self.part(end, What::Serial));
            }
        }
    }

    fn part(&self, end: End, what: What) -> Option<Part> {
        Some(Part {
            end,
            lid: self.links.lid(&end)?,
            what,
            round: self.round,
        })
    }

    fn send(&mut self, now: Tick) {
        while self.agents.has_room() {
            let Some(part) = self.next_part() else {
                return;
            };
            if self.links.is_refused(&part.end) {
                continue;
            }
            let m_key = self.settings.m_key;
            let smp = Smp::get(AttributeId::CABLE_INFO, modifier(&part), 0, m_key);
            let mad = lid_routed(&smp, &[]);
            let target = Target::default();
            let packet = self.agents.ask(now, part.lid, target, mad, part);
            self.outputs.push_back(CablesOutput::Send(packet));
        }
    }

    /// Processes an answer; one without a request is dropped.
    fn received(&mut self, now: Tick, packet: &Packet) {
        let Some((part, answer)) = self.agents.take_smp(now, packet) else {
            return;
        };
        if part.round != self.round {
            self.read_later(part);
            return;
        }
        match answer.payload.first_chunk::<64>() {
            Some(bytes) if answer.status() == status::OK => self.learn(now, &part, *bytes),
            _ => self.refused(&part),
        }
    }

    fn learn(&mut self, now: Tick, part: &Part, bytes: [u8; 64]) {
        if self.links.is_refused(&part.end) {
            return;
        }
        let end = part.end;
        match part.what {
            What::Identity(half) => {
                if let Some(memory) = self.whole((end, false), half, bytes) {
                    let modules = self.links.learn(end, memory, self.settings.policy);
                    self.to_measure.extend(modules);
                    self.measure_at.get_or_insert(now + MEASURE_EVERY);
                    self.compare_at.get_or_insert(now + COMPARE_EVERY);
                    self.tell_at.get_or_insert(now + TELL_EVERY);
                }
            }
            What::Serial => {
                if self.links.is_other(end, &bytes) {
                    self.links.forget(end, self.settings.policy);
                    let parts = [0, 1].map(|half| self.part(end, What::Identity(half)));
                    self.queue.extend(parts.into_iter().flatten());
                    self.tell_at.get_or_insert(now + TELL_EVERY);
                }
            }
            What::Monitors => {
                if self.links.measured(end, bytes) {
                    let parts = [0, 1].map(|half| self.part(end, What::Thresholds(half)));
                    self.queue.extend(parts.into_iter().flatten());
                }
                self.tell_at.get_or_insert(now + MEASURED_TELL_EVERY);
            }
            What::Thresholds(half) => {
                if let Some(page) = self.whole((end, true), half, bytes) {
                    self.links.learn_thresholds(end, Some(page));
                    self.tell_at.get_or_insert(now + MEASURED_TELL_EVERY);
                }
            }
        }
    }

    /// Both halves, when the second comes.
    fn whole(&mut self, of: (End, bool), half: u8, bytes: [u8; 64]) -> Option<[u8; 128]> {
        let halves = self.halves.entry(of).or_default();
        halves[usize::from(half & 1)] = Some(bytes);
        let [Some(lower), Some(upper)] = *halves else {
            return None;
        };
        self.halves.remove(&of);
        let mut all = [0; 128];
        all[..64].copy_from_slice(&lower);
        all[64..].copy_from_slice(&upper);
        Some(all)
    }

    /// A port without a memory, or a module without a part of it.
    fn refused(&mut self, part: &Part) {
        match part.what {
            What::Identity(_) => {
                self.halves.remove(&(part.end, false));
                self.links.refuse(part.end);
            }
            // Its link is up: what is known holds until another cable answers.
            What::Serial => {}
            What::Monitors => self.links.silence_module(part.end),
            What::Thresholds(_) => {
                self.halves.remove(&(part.end, true));
                self.links.learn_thresholds(part.end, None);
            }
        }
    }

    fn expire(&mut self, now: Tick) {
        while let Some(expired) = self.agents.expire(now) {
            match expired {
                Unanswered::Again { tag, packet } if tag.round == self.round => {
                    self.outputs.push_back(CablesOutput::Send(packet));
                }
                // These are read again in any case.
                Unanswered::GivenUp { tag, .. }
                    if tag.round == self.round
                        && !matches!(tag.what, What::Monitors | What::Serial) =>
                {
                    self.later.add(now, tag);
                }
                Unanswered::GivenUp { tag, .. } if tag.round != self.round => {
                    self.read_later(tag);
                }
                Unanswered::Again { .. } | Unanswered::GivenUp { .. } => {}
            }
        }
    }

    /// Outputs read memories, at the end or from time to time.
    fn tell(&mut self, now: Tick) {
        let done = self.queue.is_empty()
            && self.to_measure.is_empty()
            && self.to_compare.is_empty()
            && self.agents.is_idle();
        if self.tell_at.is_some_and(|at| done || at <= now) {
            self.tell_at = None;
            let memories = self.links.memories.clone();
            let told = CablesOutput::Memories(Arc::new(memories));
            self.outputs.push_back(told);
        }
    }
}

fn modifier(part: &Part) -> u32 {
    CableInfoModifier {
        address: part.what.address(),
        len_less_one: CableInfo::MAX_LEN - 1,
        port: part.end.1,
    }
    .bits()
}
