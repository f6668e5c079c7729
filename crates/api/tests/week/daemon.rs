//! What a daemon keeps beside its manager: the fabric's states and counters in its history, and running totals of counters, which
//! it saves for its next run and hands on to its standby.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weft_api::snapshot::{KeptState, ROUTING, of_pieces};
use weft_emulator::io::{Input, Output};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Snapshot, Tick};
use weft_history::{
    Mark, PortKey, PortRow, PortValues, Reader, Recorder, StateAnswer, StateHead, StateQuestion,
    StateRecord, Totals,
};
use weft_manager::Manager;
use weft_manager::pm::{Image, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::port_totals::PortTotals;
use weft_manager::sm::back::RoutingState;
use weft_testkit::cluster::Cluster;

use crate::oracle::{Copy, Look, Oracle};
use crate::{HOUR_MS, START};

const BUDGET: u64 = 256 << 20;
/// Between two writes of the totals, and two times at which the standby gets them, as in the daemon.
const SAVE_MS: i64 = 60_000;
const HAND_ON_MS: i64 = 10_000;

pub(crate) struct Daemon {
    dir: PathBuf,
    /// None while the daemon does not run.
    recorder: Option<Recorder>,
    /// What was looked at last: what was published, and what is kept of it.
    seen: Option<(Arc<Snapshot>, KeptState)>,
    begins: bool,
    oracle: Oracle,
    pm: Pm,
    /// The performance manager's clock: it goes ahead where an answer does not come.
    pm_now: Tick,
    totals: PortTotals,
    /// Totals in the file, and since when.
    saved: (Option<Vec<u8>>, i64),
    handed_on_ms: i64,
    /// Totals of the last reading of each port, and those that the master handed on.
    counted: BTreeMap<PortKey, Totals>,
    inherited: BTreeMap<PortKey, Totals>,
}

fn pm() -> Pm {
    Pm::new(PmSettings {
        interval: Duration::from_secs(1),
        ..PmSettings::default()
    })
}

impl Daemon {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            recorder: None,
            seen: None,
            begins: true,
            oracle: Oracle::default(),
            pm: pm(),
            pm_now: Tick(0),
            totals: PortTotals::default(),
            saved: (None, i64::MIN / 2),
            handed_on_ms: i64::MIN / 2,
            counted: BTreeMap::new(),
            inherited: BTreeMap::new(),
        }
    }

    /// A process begins on its files.
    pub(crate) fn start(&mut self, time_ms: i64) {
        self.recorder = Some(Recorder::open(&self.dir, BUDGET).unwrap());
        (self.seen, self.begins) = (None, true);
        self.pm = pm();
        let saved = self.saved.0.as_deref();
        self.totals = saved.map_or_else(PortTotals::default, |saved| {
            PortTotals::decode(saved).unwrap()
        });
        let mut warn = |word| panic!("{word}");
        let last = Reader::new(&self.dir).reading(time_ms, &mut warn).unwrap();
        let ports = last.into_iter().flat_map(|last| last.ports);
        let known = ports.map(|port| {
            let key = (Guid(port.key.guid), PortNum(port.key.port));
            (key, port.values.totals)
        });
        self.totals.not_below(known);
    }

    /// The process ends, in order or not.
    pub(crate) fn end(&mut self, manager: &Manager, time_ms: i64, in_order: bool) {
        if in_order {
            self.look(manager, time_ms, Some(Mark::End));
            self.save(time_ms);
        }
        self.recorder = None;
    }

    fn save(&mut self, time_ms: i64) {
        if let Some(bytes) = self.totals.encode() {
            self.saved = (Some(bytes), time_ms);
        }
    }

    /// Whether something else is published than at the last look.
    pub(crate) fn has_news(&self, manager: &Manager) -> bool {
        let seen = self.seen.as_ref();
        !seen.is_some_and(|(seen, _)| Arc::ptr_eq(seen, &manager.snapshot()))
    }

    /// Records the state where it has changed, else with `mark` that it has not.
    pub(crate) fn look(&mut self, manager: &Manager, time_ms: i64, mark: Option<Mark>) {
        let (published, status) = (manager.snapshot(), manager.status());
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        if published.generation == 0 {
            return;
        }
        let head = StateHead {
            time_ms,
            sweep: status.sweep,
            generation: published.generation,
        };
        let led = matches!(status.role, SmState::STANDBY | SmState::NOT_ACTIVE);
        let routing = || serde_json::to_vec(&manager.routing_state()).unwrap();
        let now = match led && status.master.is_some() {
            true => KeptState::of_follower(&published, None),
            false => KeptState {
                snapshot: Arc::clone(&published),
                routing: Some(routing()),
                health: None,
            },
        };
        let before = self.seen.as_ref();
        let same = before.is_some_and(|(seen, kept)| {
            Arc::ptr_eq(seen, &published) && kept.routing == now.routing
        });
        let whole = recorder.needs_whole_state(time_ms);
        if !same || whole {
            let before = before.filter(|_| !whole).map(|(_, kept)| kept);
            let mut record = match before {
                Some(_) => StateRecord::changed(head),
                None => StateRecord::whole(head),
            };
            let kept = now.pieces_since(before, &mut |piece| {
                record.piece(piece.key, piece.before, piece.now)
            });
            kept.unwrap();
            recorder.state(record).unwrap();
        }
        let copy = match (same, self.oracle.last()) {
            (true, Some(last)) => Arc::clone(&last.copy),
            _ => Arc::new(Copy::of(&now)),
        };
        let is_mark = same && !whole && mark.is_some();
        if let Some(mark) = mark.filter(|_| is_mark) {
            recorder.mark_state(head, mark).unwrap();
        }
        if !same || whole || is_mark {
            self.oracle.push(Look {
                time_ms,
                begins: std::mem::take(&mut self.begins),
                ends: is_mark && mark == Some(Mark::End),
                copy,
            });
        }
        self.seen = Some((published, now));
    }

    /// A standby has no counters of its own.
    pub(crate) fn stand_by(&mut self, now: Tick) {
        self.pm_now = self.pm_now.max(now);
        self.pm.handle(self.pm_now, PmInput::StandBy);
    }

    /// Takes the master's totals, as they were handed on.
    pub(crate) fn inherit(&mut self, told: &[u8], counted: &BTreeMap<PortKey, Totals>) {
        self.totals = self.totals.succeeded_by(PortTotals::decode(told).unwrap());
        self.inherited.clone_from(counted);
    }

    /// The totals, where it is time to hand them on.
    pub(crate) fn hand_on(&mut self, time_ms: i64) -> Option<(Vec<u8>, BTreeMap<PortKey, Totals>)> {
        let is_due = time_ms - self.handed_on_ms >= HAND_ON_MS;
        let bytes = self.totals.encode().filter(|_| is_due)?;
        self.handed_on_ms = time_ms;
        Some((bytes, self.counted.clone()))
    }

    /// Reads all counters and records them.
    pub(crate) fn read_counters(&mut self, cluster: &mut Cluster, member: usize, time_ms: i64) {
        let Some(image) = self.image(cluster, member) else {
            return;
        };
        self.totals.follow(image);
        let rows = self.rows();
        for PortRow { key, values, .. } in &rows {
            let before = self.counted.insert(*key, values.totals);
            assert!(
                before.is_none_or(|before| goes_on(&before, &values.totals)),
                "{key:?}"
            );
            let inherited = self.inherited.remove(key);
            assert!(
                inherited.is_none_or(|told| goes_on(&told, &values.totals)),
                "{key:?}"
            );
        }
        self.recorder
            .as_mut()
            .unwrap()
            .image(time_ms, rows)
            .unwrap();
        if time_ms - self.saved.1 >= SAVE_MS {
            self.save(time_ms);
        }
    }

    fn rows(&self) -> Vec<PortRow> {
        let image = self.totals.image().unwrap();
        let roster = &image.roster;
        let ports = roster.ports.iter().enumerate();
        let rows = ports.filter_map(|(place, port)| {
            let member = roster.members.get(port.member as usize)?;
            Some(PortRow {
                key: PortKey {
                    guid: member.guid.0,
                    port: port.number.0,
                },
                name: Arc::from("node"),
                values: PortValues {
                    totals: self.totals.port(place)?.counters,
                    link_quality: image.known_quality(place),
                },
            })
        });
        let mut rows: Vec<PortRow> = rows.collect();
        rows.sort_unstable_by_key(|row| row.key);
        rows.dedup_by_key(|row| row.key);
        rows
    }

    /// The image of a sweep of the performance manager; none where it does not end.
    fn image(&mut self, cluster: &mut Cluster, member: usize) -> Option<Arc<Image>> {
        let (node, port) = cluster.port(member);
        let snapshot = cluster.running().find(|(number, _)| *number == member);
        let snapshot = snapshot?.1.snapshot();
        self.pm_now = self.pm_now.max(cluster.now());
        self.pm.handle(self.pm_now, PmInput::Published(snapshot));
        for _ in 0..1_000 {
            let mut image = None;
            while let Some(output) = self.pm.poll() {
                match output {
                    PmOutput::Send(packet) => {
                        let send = Input::Send { node, port, packet };
                        cluster.emulator.handle(cluster.now(), send).unwrap();
                    }
                    PmOutput::Image(done) => image = Some(done),
                    PmOutput::Event(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
                }
            }
            if image.is_some() {
                return image;
            }
            let mut answered = false;
            while let Some(Output::Deliver { packet, .. }) = cluster.emulator.poll() {
                answered = true;
                self.pm.handle(self.pm_now, PmInput::Received(packet));
            }
            if !answered {
                self.pm_now = self.pm_now.max(self.pm.deadline()?);
                self.pm.handle(self.pm_now, PmInput::Tick);
            }
        }
        None
    }

    /// What the history says of a moment is what the oracle kept; returns whether it is known.
    pub(crate) fn check_at(&self, time_ms: i64) -> bool {
        let mut warn = |word| panic!("{word}");
        let reader = Reader::new(&self.dir);
        let answer = reader.state(StateQuestion::At(time_ms), &mut warn).unwrap();
        match (answer, self.oracle.at(time_ms)) {
            (StateAnswer::Unknown { .. }, None) => false,
            (StateAnswer::Known(mut state), Some(expected)) => {
                let routing = state.pieces.remove(&ROUTING[..]);
                let routing = routing.map(|routing| routing.to_vec());
                if let Some(routing) = &routing {
                    let decided: RoutingState = serde_json::from_slice(routing).unwrap();
                    let mut authors = decided.disabled.iter().map(|one| &one.note.author);
                    assert!(authors.all(|author| author.starts_with("person ")));
                }
                let snapshot = Arc::new(of_pieces(&state.pieces).unwrap());
                assert_eq!(Copy::new(&snapshot, routing), *expected, "{time_ms}");
                true
            }
            (answer, expected) => panic!(
                "{time_ms}: known in the history: {}, to the oracle: {}",
                matches!(answer, StateAnswer::Known(_)),
                expected.is_some()
            ),
        }
    }

    pub(crate) fn first_ms(&self) -> i64 {
        self.oracle.first_ms()
    }

    /// Counters of the history never go back, over restarts and failovers as well.
    pub(crate) fn check_counters(&self, to_ms: i64) {
        let ports: Vec<PortKey> = self.counted.keys().copied().collect();
        let mut warn = |word| panic!("{word}");
        let (span, step) = ((START, to_ms), HOUR_MS as i64 / 6);
        let reader = Reader::new(&self.dir);
        let samples = reader.samples(&ports, span, step, &mut warn).unwrap();
        let mut steps = 0;
        for (key, samples) in ports.iter().zip(samples) {
            for pair in samples.windows(2) {
                let [before, now] = [&pair[0], &pair[1]].map(|sample| &sample.values.totals);
                assert!(goes_on(before, now), "{key:?} at {}", pair[1].time_ms);
                steps += 1;
            }
            let last = samples.last().map(|sample| sample.values.totals);
            assert_eq!(last, Some(self.counted[key]), "{key:?}");
        }
        assert!(
            steps > ports.len(),
            "{steps} steps of {} ports",
            ports.len()
        );
    }
}

fn goes_on(before: &Totals, now: &Totals) -> bool {
    before.iter().zip(now).all(|(before, now)| before <= now)
}
