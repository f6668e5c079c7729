//! Congestion control: marking by switches, and throttling by hosts. It is written after a sweep has
//! published the fabric, at its own pace, so that no sweep and no port waits for it.
//!
//! A device's settings are read once for as long as it stays in the fabric, and written
//! if they differ. One that does not answer is asked again later.

mod io;
mod wanted;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Guid, PortNum, PortRef, Sl, Snapshot, Tick};
use weft_wire::header::status;
use weft_wire::packet::Packet;
use weft_wire::sm::AttributeId;
use weft_wire::smp::Smp;

pub use io::{CongestionInput, CongestionOutput, CongestionSettings};

use crate::ask::{Agents, Budget, Later, Patience, Target, Unanswered, lid_routed};
use wanted::{Maker, Want};

/// Requests in flight.
const WINDOW: usize = 16;
const PATIENCE: Patience = Patience {
    first: Duration::from_millis(250),
    floor: Duration::from_millis(100),
    ceiling: Duration::from_secs(1),
    attempts: 3,
};
/// Maximum number of refusals reported for one snapshot.
const REFUSALS_MAX: usize = 8;

/// A setting's place: the node, its end port, and which setting.
pub type Place = (Guid, PortNum, AttributeId);

/// Settings held by devices, each as on the wire.
pub type CongestionHeld = BTreeMap<Place, Arc<[u8]>>;

/// A request for one of the settings of a round.
#[derive(Debug, Clone, Copy)]
struct Job {
    want: u32,
    writes: bool,
    round: u64,
}

/// Writes a fabric's congestion control.
///
/// Call [`Congestion::handle`] with each input, then [`Congestion::poll`] until it gives nothing more;
/// call [`Congestion::handle`] with [`CongestionInput::Tick`] when [`Congestion::deadline`] has come.
#[derive(Debug)]
pub struct Congestion {
    settings: CongestionSettings,
    snapshot: Option<Arc<Snapshot>>,
    agents: Agents<Job>,
    /// Known settings of devices.
    held: CongestionHeld,
    /// Whether they have changed since the last output.
    news: bool,
    wants: Vec<Want>,
    queue: VecDeque<Job>,
    /// Jobs of this round that were not answered for.
    later: Later<Job>,
    round: u64,
    refusals: usize,
    outputs: VecDeque<CongestionOutput>,
}

impl Congestion {
    /// Writes nothing before the first snapshot comes.
    pub fn new(settings: CongestionSettings) -> Self {
        Self {
            settings,
            snapshot: None,
            agents: Agents::new(Budget::new(WINDOW, WINDOW as u8, PATIENCE), 0),
            held: BTreeMap::new(),
            news: false,
            wants: Vec::new(),
            queue: VecDeque::new(),
            later: Later::default(),
            round: 0,
            refusals: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: CongestionInput) {
        match input {
            CongestionInput::Tick => {}
            CongestionInput::Received(packet) => self.received(now, &packet),
            CongestionInput::Published(snapshot) => {
                self.snapshot = Some(snapshot);
                self.plan();
            }
            CongestionInput::StandBy => self.stand_by(),
            CongestionInput::Settings(settings) if settings != self.settings => {
                self.settings = settings;
                self.plan();
            }
            CongestionInput::Settings(_) => {}
        }
        self.expire(now);
        self.queue.extend(self.later.take_due(now));
        self.send(now);
        self.agents.settle();
        self.tell();
    }

    /// The next thing that is to be done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<CongestionOutput> {
        self.outputs.pop_front()
    }

    /// When [`CongestionInput::Tick`] is due at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        let due = [self.agents.deadline(), self.later.deadline()];
        due.into_iter().flatten().min()
    }

    fn stand_by(&mut self) {
        self.queue.clear();
        self.later.clear();
        self.held.clear();
        self.snapshot = None;
        self.round += 1;
    }

    /// Discards settings of lost devices, and reads those that may have changed.
    fn plan(&mut self) {
        let Some(snapshot) = self.snapshot.clone() else {
            return;
        };
        let Some(own) = snapshot.sms.first() else {
            return;
        };
        self.agents.sit_at(own.lid, Sl(0));
        self.round += 1;
        self.refusals = 0;
        self.queue.clear();
        self.later.clear();
        self.wants = Maker::new(&self.settings.control).all(&snapshot);
        let mut held = std::mem::take(&mut self.held);
        self.news = true;
        for (index, want) in self.wants.iter().enumerate() {
            let place = place(&snapshot, want);
            let known = held.remove(&place);
            let good = |content: &Arc<[u8]>| match &want.content {
                Some(wanted) => content == wanted,
                None => content.len() == want.len,
            };
            match known.filter(good) {
                Some(content) => {
                    self.held.insert(place, content);
                }
                None => self.queue.push_back(Job {
                    want: index as u32,
                    writes: false,
                    round: self.round,
                }),
            }
        }
    }

    /// The key of the agent that a port belongs to: the one that it has told, else that of opafm.xml.
    fn m_key(&self, at: PortRef) -> u64 {
        let snapshot = self.snapshot.as_ref();
        let node = snapshot.and_then(|snapshot| snapshot.topology.node(at.node));
        let end = node.and_then(|node| match node.is_switch() {
            true => node.port(PortNum(0)),
            false => node.port(at.port),
        });
        let told = end.map_or(0, |port| port.info.m_key);
        if told == 0 { self.settings.m_key } else { told }
    }

    fn send(&mut self, now: Tick) {
        while self.agents.has_room() {
            let Some(job) = self.queue.pop_front() else {
                return;
            };
            let Some(want) = self.wants.get(job.want as usize) else {
                continue;
            };
            let m_key = self.m_key(want.at);
            let smp = match job.writes {
                true => Smp::set(want.attribute, want.modifier, 0, m_key),
                false => Smp::get(want.attribute, want.modifier, 0, m_key),
            };
            let content = want.content.as_deref().filter(|_| job.writes);
            let mad = lid_routed(&smp, content.unwrap_or_default());
            let target = Target::default();
            let packet = self.agents.ask(now, want.lid, target, mad, job);
            self.outputs.push_back(CongestionOutput::Send(packet));
        }
    }

    /// Processes an answer; one without a request is dropped.
    fn received(&mut self, now: Tick, packet: &Packet) {
        let Some((job, answer)) = self.agents.take_smp(now, packet) else {
            return;
        };
        let want = self.wants.get(job.want as usize).cloned();
        let current = job.round == self.round;
        if let Some(want) = want.filter(|_| current) {
            self.answered(job, &want, answer.status(), answer.payload);
        }
    }

    fn answered(&mut self, job: Job, want: &Want, status: u16, payload: &[u8]) {
        let told = payload.get(..want.len).filter(|_| status == status::OK);
        let Some(told) = told else {
            return self.refused(want, status);
        };
        let content = match &want.content {
            None => Arc::from(told),
            Some(wanted) if **wanted == *told => Arc::clone(wanted),
            Some(_) if job.writes => return self.refused(want, status),
            Some(_) if self.settings.skips.cover(want.attribute) => Arc::from(told),
            Some(_) => {
                let write = Job {
                    writes: true,
                    ..job
                };
                return self.queue.push_front(write);
            }
        };
        if let Some(snapshot) = &self.snapshot {
            self.held.insert(place(snapshot, want), content);
            self.news = true;
        }
    }

    /// Outputs the devices' settings when all have been read; nothing if congestion control is off.
    fn tell(&mut self) {
        let done = self.queue.is_empty() && self.agents.is_idle();
        if done && std::mem::take(&mut self.news) {
            let on = self.settings.control.enable;
            let held = if on {
                self.held.clone()
            } else {
                CongestionHeld::new()
            };
            let told = CongestionOutput::Held(Arc::new(held));
            self.outputs.push_back(told);
        }
    }

    fn refused(&mut self, want: &Want, status: u16) {
        // Where congestion control is off, a device that knows none is as it should be.
        if !self.settings.control.enable || self.refusals >= REFUSALS_MAX {
            return;
        }
        self.refusals += 1;
        let Some(snapshot) = &self.snapshot else {
            return;
        };
        let (node, port, attribute) = place(snapshot, want);
        self.outputs.push_back(CongestionOutput::Refused {
            node,
            port,
            attribute,
            status,
        });
    }

    /// Retries requests without an answer; those that fail are read again later.
    fn expire(&mut self, now: Tick) {
        while let Some(expired) = self.agents.expire(now) {
            match expired {
                Unanswered::Again { tag, packet } if tag.round == self.round => {
                    self.outputs.push_back(CongestionOutput::Send(packet));
                }
                Unanswered::GivenUp { tag, .. } if tag.round == self.round => {
                    let read = Job {
                        writes: false,
                        ..tag
                    };
                    self.later.add(now, read);
                }
                _ => {}
            }
        }
    }
}

fn place(snapshot: &Snapshot, want: &Want) -> Place {
    let node = snapshot.topology.node(want.at.node);
    let guid = node.map_or(Guid(0), |node| node.guid());
    (guid, want.at.port, want.attribute)
}
