//! Cable memories: they are read after a sweep has published the fabric, at
//! their own pace, so that no sweep and no port waits for them.
//!
//! A memory is read once for as long as its link lasts from one published snapshot to the next. A port that
//! refuses is not asked again meanwhile; one that does not answer is asked again later.

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
pub use links::{CABLE_MEMORY, CableMemories, CableMemory};
pub use weft_config::sm::CableInfoPolicy;

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

/// A part of a memory that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    end: End,
    lid: Lid,
    /// The half of the memory: 0 or 1.
    half: u8,
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
    /// Halves that came before the others.
    halves: BTreeMap<End, [Option<[u8; 64]>; 2]>,
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
        let due = [self.agents.deadline(), self.later.deadline(), self.tell_at];
        due.into_iter().flatten().min()
    }

    /// Changes the settings; they hold from the next snapshot on.
    pub fn reconfigure(&mut self, settings: CablesSettings) {
        self.settings = settings;
    }

    fn stand_by(&mut self) {
        self.queue.clear();
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
        self.queue.clear();
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
                half,
                round,
            };
            self.queue.extend([part(0), part(1)]);
        }
    }

    fn send(&mut self, now: Tick) {
        while self.agents.has_room() {
            let Some(part) = self.queue.pop_front() else {
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
            return;
        }
        match answer.payload.first_chunk::<64>() {
            Some(bytes) if answer.status() == status::OK => self.learn(now, &part, *bytes),
            _ => self.refused(part.end),
        }
    }

    fn learn(&mut self, now: Tick, part: &Part, bytes: [u8; 64]) {
        if self.links.is_refused(&part.end) {
            return;
        }
        let halves = self.halves.entry(part.end).or_default();
        halves[usize::from(part.half & 1)] = Some(bytes);
        let [Some(lower), Some(upper)] = *halves else {
            return;
        };
        self.halves.remove(&part.end);
        let mut memory = [0; 128];
        memory[..64].copy_from_slice(&lower);
        memory[64..].copy_from_slice(&upper);
        self.links.learn(part.end, memory, self.settings.policy);
        self.tell_at.get_or_insert(now + TELL_EVERY);
    }

    /// A port without a memory.
    fn refused(&mut self, end: End) {
        self.halves.remove(&end);
        self.links.refuse(end);
    }

    fn expire(&mut self, now: Tick) {
        while let Some(expired) = self.agents.expire(now) {
            match expired {
                Unanswered::Again { tag, packet } if tag.round == self.round => {
                    self.outputs.push_back(CablesOutput::Send(packet));
                }
                Unanswered::GivenUp { tag, .. } if tag.round == self.round => {
                    self.later.add(now, tag);
                }
                _ => {}
            }
        }
    }

    /// Outputs read memories, at the end or from time to time.
    fn tell(&mut self, now: Tick) {
        let done = self.queue.is_empty() && self.agents.is_idle();
        if self.tell_at.is_some_and(|at| done || at <= now) {
            self.tell_at = None;
            let memories = self.links.memories.clone();
            let told = CablesOutput::Memories(Arc::new(memories));
            self.outputs.push_back(told);
        }
    }
}

fn modifier(part: &Part) -> u32 {
    let len = u16::from(CableInfo::MAX_LEN);
    CableInfoModifier {
        address: CableInfo::PAGE_LEN + u16::from(part.half) * len,
        len_less_one: CableInfo::MAX_LEN - 1,
        port: part.end.1,
    }
    .bits()
}
