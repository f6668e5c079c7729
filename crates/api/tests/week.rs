//! Virtual days of a fabric with faults, drains, plans, disabled ports and restarts, recorded as the daemon records them: at
//! random moments the history has what was published then, what was decided then and by whom, and no counter goes back.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use weft_api::snapshot::{ROUTING, of_pieces, parts, pieces};
use weft_api::v1::SnapshotExtra;
use weft_emulator::Options;
use weft_emulator::io::{Control, Input, Output};
use weft_emulator::traffic::TrafficJob;
use weft_fabric::{FabricSpec, Guid, PortNum, PortRef, Snapshot, Tick};
use weft_history::{
    Mark, PortKey, PortRow, PortValues, Reader, Recorder, STATE_LASTS_MS, StateAnswer, StateHead,
    StateQuestion, StateRecord,
};
use weft_manager::io::Command;
use weft_manager::pm::{Image, Pm, PmInput, PmOutput, PmSettings};
use weft_manager::port_totals::PortTotals;
use weft_manager::sm::Settings;
use weft_manager::sm::back::RoutingState;
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition};
use weft_manager::{PortAction, PortNote, PortOrder};
use weft_routing::EngineKind;
use weft_testkit::{NoTap, Wait, World};

/// Four edge switches with two hosts each under three cores.
const FABRIC: &str = "pgft:2;2,4;1,3;1,1;radix=8";
const WITHIN: Duration = Duration::from_secs(60);
/// Milliseconds since 1970 at the start of the virtual clock.
const START: i64 = 1_795_000_000_000;
const HOUR_MS: u64 = 3_600_000;
/// Between two looks at the fabric, at most: below [`STATE_LASTS_MS`].
const LOOK_MS: u64 = 10_000;
/// Between two readings of counters.
const READING_MS: u64 = 60_000;
const BUDGET: u64 = 256 << 20;
const MOMENTS: usize = 1_000;
const EXTRAS: [SnapshotExtra; 2] = [SnapshotExtra::MulticastTables, SnapshotExtra::PortTables];

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// A plain copy of what was published and decided.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Copy {
    generation: u64,
    /// Digest of every part that a reader gets.
    digest: u64,
    routing: Vec<u8>,
}

fn digest(snapshot: &Snapshot) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts(Arc::new(snapshot.clone()), &EXTRAS, None) {
        part.encode_to_vec().hash(&mut hasher);
    }
    hasher.finish()
}

/// A moment at which the state was looked at.
#[derive(Debug)]
struct Look {
    time_ms: i64,
    /// The first one of a run.
    begins: bool,
    /// The last one of a run that ended in order.
    ends: bool,
    copy: Arc<Copy>,
}

/// All of them.
#[derive(Debug, Default)]
struct Oracle(Vec<Look>);

impl Oracle {
    /// What was there at a time; none where nobody looked.
    fn at(&self, time_ms: i64) -> Option<&Copy> {
        let place = self.0.partition_point(|look| look.time_ms <= time_ms);
        let look = &self.0[place.checked_sub(1)?];
        let until = match self.0.get(place) {
            _ if look.ends => look.time_ms,
            None => look.time_ms + STATE_LASTS_MS,
            Some(next) if next.begins => look.time_ms,
            Some(next) => next.time_ms,
        };
        (time_ms <= until).then_some(&*look.copy)
    }
}

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Disabled {
    port: (Guid, PortNum),
    author: String,
}

struct Days {
    world: World,
    pm: Pm,
    /// The performance manager's clock: it goes ahead where an answer does not come.
    pm_now: Tick,
    totals: PortTotals,
    /// None while the daemon is away.
    recorder: Option<Recorder>,
    recorded: Option<(Arc<Snapshot>, Vec<u8>)>,
    begins: bool,
    oracle: Oracle,
    random: Random,
    down: Vec<Control>,
    disabled: Vec<Disabled>,
    done: BTreeMap<&'static str, u32>,
    /// Totals of the last reading of each port.
    seen: BTreeMap<PortKey, [u64; 27]>,
    orders: u64,
    dir: std::path::PathBuf,
}

fn pm() -> Pm {
    Pm::new(PmSettings {
        interval: Duration::from_secs(1),
        ..PmSettings::default()
    })
}

impl Days {
    fn new(dir: &Path, seed: u64) -> Self {
        let topology = FABRIC.parse::<FabricSpec>().unwrap().generate().unwrap();
        let options = Options {
            seed,
            ..Options::default()
        };
        let topology = Arc::new(topology);
        let mut world = World::new(topology, options, Settings::default(), NoTap).unwrap();
        assert_eq!(world.bring_up(WITHIN).unwrap(), Wait::Done);
        let uniform = "uniform".parse().unwrap();
        let traffic = Control::TrafficStart(TrafficJob::new("all", uniform));
        world.control(traffic).unwrap();
        Self {
            pm_now: world.now(),
            world,
            pm: pm(),
            totals: PortTotals::default(),
            recorder: Some(Recorder::open(dir, BUDGET).unwrap()),
            recorded: None,
            begins: true,
            oracle: Oracle::default(),
            random: Random(seed),
            down: Vec::new(),
            disabled: Vec::new(),
            done: BTreeMap::new(),
            seen: BTreeMap::new(),
            orders: 0,
            dir: dir.to_owned(),
        }
    }

    fn recorder(&mut self) -> &mut Recorder {
        self.recorder.as_mut().unwrap()
    }

    fn time_ms(&self) -> i64 {
        START + (self.world.now().0 / 1_000_000) as i64
    }

    fn head(&self) -> StateHead {
        StateHead {
            time_ms: self.time_ms(),
            sweep: self.world.manager().status().sweep,
            generation: self.world.snapshot().generation,
        }
    }

    /// Records the state where it has changed, else with `mark` that it has not.
    fn look(&mut self, mark: Option<Mark>) {
        let snapshot = self.world.snapshot();
        if snapshot.generation == 0 {
            return;
        }
        let routing = serde_json::to_vec(&self.world.manager().routing_state()).unwrap();
        let same = self
            .recorded
            .as_ref()
            .is_some_and(|(last, decided)| Arc::ptr_eq(last, &snapshot) && *decided == routing);
        let head = self.head();
        let whole = self.recorder().needs_whole_state(head.time_ms);
        if !same || whole {
            let before = self.recorded.as_ref().filter(|_| !whole);
            let mut record = match before {
                Some(_) => StateRecord::changed(head),
                None => StateRecord::whole(head),
            };
            let last = before.map(|(last, _)| &**last);
            let kept = pieces(last, &snapshot, &mut |piece| {
                record.piece(piece.key, piece.before, piece.now)
            });
            kept.unwrap();
            let decided = before.map(|(_, decided)| decided.as_slice());
            record.piece(&ROUTING, decided, Some(&routing)).unwrap();
            self.recorder().state(record).unwrap();
        }
        let copy = match (same, self.oracle.0.last()) {
            (true, Some(last)) => Arc::clone(&last.copy),
            _ => Arc::new(Copy {
                generation: snapshot.generation,
                digest: digest(&snapshot),
                routing: routing.clone(),
            }),
        };
        let is_mark = same && !whole && mark.is_some();
        if let Some(mark) = mark.filter(|_| is_mark) {
            self.recorder().mark_state(head, mark).unwrap();
        }
        if !same || whole || is_mark {
            self.oracle.0.push(Look {
                time_ms: head.time_ms,
                begins: std::mem::take(&mut self.begins),
                ends: is_mark && mark == Some(Mark::End),
                copy,
            });
        }
        self.recorded = Some((snapshot, routing));
    }

    /// Lets virtual time pass: every snapshot is looked at, and that nothing changes as well.
    fn pass(&mut self, ms: u64) {
        let end = self.world.now() + Duration::from_millis(ms);
        while self.world.now() < end {
            let until = end.min(self.world.now() + Duration::from_millis(LOOK_MS));
            while self.world.step(until).unwrap() {
                let last = self.recorded.as_ref().map(|(last, _)| last);
                if !last.is_some_and(|last| Arc::ptr_eq(last, &self.world.snapshot())) {
                    self.look(None);
                }
            }
            self.look(Some(Mark::Still));
        }
        // Every change is told by an event, and every sweep has a reason.
        let breaches = self.world.take_breaches();
        assert_eq!(breaches, [], "at {} ms", self.time_ms() - START);
        self.world.take_events();
    }

    /// A number of nodes' ports, the far end a switch.
    fn any_link(&mut self) -> (Guid, PortNum) {
        let topology = Arc::clone(self.world.emulator.network().topology());
        let is_switch = |end: PortRef| topology.node(end.node).unwrap().is_switch();
        let links = topology.links();
        let links: Vec<_> = links
            .filter(|(a, b)| is_switch(*a) && is_switch(*b))
            .collect();
        let (end, _) = links[self.random.next(links.len() as u64) as usize];
        (topology.node(end.node).unwrap().guid(), end.port)
    }

    fn any_node(&mut self, switch: bool) -> Guid {
        let topology = Arc::clone(self.world.emulator.network().topology());
        let nodes = topology.nodes().skip(1).map(|(_, node)| node);
        // The last switches are cores; hosts and cores may go.
        let nodes: Vec<Guid> = match switch {
            true => nodes
                .filter(|node| node.is_switch())
                .map(|node| node.guid())
                .collect(),
            false => nodes
                .filter(|node| !node.is_switch())
                .map(|node| node.guid())
                .collect(),
        };
        let nodes = match switch {
            true => &nodes[nodes.len() - 3..],
            false => &nodes[..],
        };
        nodes[self.random.next(nodes.len() as u64) as usize]
    }

    fn count(&mut self, what: &'static str, done: bool) {
        *self.done.entry(what).or_default() += u32::from(done);
    }

    fn plan(&mut self, what: &'static str, change: Change) {
        let planned = self
            .world
            .basis(change)
            .ok()
            .filter(|basis| basis.plan().is_ok());
        let adopted = planned.is_some_and(|basis| {
            let condition = Condition::Epoch(basis.epoch);
            self.world.adopt(&condition, basis.wanted).is_ok()
        });
        self.look(None);
        self.count(what, adopted);
    }

    fn order(&mut self, port: (Guid, PortNum), action: PortAction, author: &str) -> bool {
        let note = PortNote {
            reason: format!("order {}", self.orders),
            author: author.to_owned(),
            peer: "10.0.0.1".to_owned(),
        };
        let order = PortOrder {
            note,
            ..PortOrder::new(port, action)
        };
        let id = self.world.command(Command::Port(order));
        self.pass(3_000);
        self.world.reply(id).is_some_and(|reply| reply.is_ok())
    }

    /// Something happens, or somebody does something.
    fn happen(&mut self) {
        match self.random.next(9) {
            0 | 1 => {
                let (node, port) = self.any_link();
                let done = self.world.control(Control::LinkDown { node, port }).is_ok();
                self.down.push(Control::LinkUp { node, port });
                self.count("link down", done);
            }
            2 => {
                let switch = self.random.next(2) == 0;
                let node = self.any_node(switch);
                let done = self.world.control(Control::NodeDown { node }).is_ok();
                self.down.push(Control::NodeUp { node });
                self.count("node down", done);
            }
            3 => {
                let node = self.any_node(true);
                self.plan("drain", Change::Drain(Drain::Switch(node)));
            }
            4 => {
                let drains = self.world.manager().arrangement().drains;
                if let Some(drain) = drains.first() {
                    self.plan("undrain", Change::Undrain(*drain));
                }
            }
            5 => {
                let engines = [
                    EngineKind::Dmodc,
                    EngineKind::ShortestPath,
                    EngineKind::Automatic,
                ];
                let engine = engines[self.random.next(3) as usize];
                self.plan("engine", Change::Engine(engine));
            }
            6 => {
                let port = self.any_link();
                self.orders += 1;
                let author = format!("person {}", self.orders);
                let is_new = !self.disabled.iter().any(|one| one.port == port);
                let done = is_new && self.order(port, PortAction::Disable, &author);
                if done {
                    self.disabled.push(Disabled { port, author });
                }
                self.count("disable", done);
            }
            7 => {
                if let Some(one) = self.disabled.pop() {
                    let done = self.order(one.port, PortAction::Enable, "somebody");
                    self.count("enable", done);
                }
            }
            _ => self.restart(),
        }
        // Some of what is down comes back.
        if !self.down.is_empty() && self.random.next(2) == 0 {
            let place = self.random.next(self.down.len() as u64) as usize;
            let up = self.down.swap_remove(place);
            self.world.control(up).unwrap();
        }
    }

    /// The daemon ends, in order or not, and another one begins on its files.
    fn restart(&mut self) {
        let ends = self.random.next(2) == 0;
        if ends {
            self.look(Some(Mark::End));
        }
        self.count("restart", ends);
        self.count("crash", !ends);
        let settings = Settings::default();
        self.world.restart(settings).unwrap();
        self.pm = pm();
        self.recorder = None;
        self.recorder = Some(Recorder::open(&self.dir, BUDGET).unwrap());
        (self.recorded, self.begins) = (None, true);
        // Nothing is known while it is away.
        let away = Duration::from_millis(1 + self.random.next(60_000));
        let until = self.world.now() + away;
        let up = |world: &mut World| world.now() >= until && world.snapshot().generation > 0;
        assert_eq!(self.world.run_while(WITHIN * 3, up).unwrap(), Wait::Done);
        self.world.take_breaches();
        self.look(None);
    }

    /// Reads all counters, of which some were set to zero before, and records them.
    fn read_counters(&mut self) {
        if self.random.next(10) == 0 {
            let network = self.world.emulator.network_mut();
            let ports = network.devices().flat_map(|(_, device)| device.ports());
            let ports: Vec<_> = ports.map(|(_, at)| at).collect();
            let at = ports[self.random.next(ports.len() as u64) as usize];
            network.clear_counters(at, u32::MAX);
        }
        let Some(image) = self.image() else { return };
        self.totals.follow(image);
        let time_ms = self.time_ms();
        let rows = self.rows();
        for row in &rows {
            let before = self.seen.insert(row.key, row.values.totals);
            let grown = before
                .is_none_or(|before| before.iter().zip(&row.values.totals).all(|(a, b)| a <= b));
            assert!(grown, "{:?} went back", row.key);
        }
        self.recorder().image(time_ms, rows).unwrap();
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
    fn image(&mut self) -> Option<Arc<Image>> {
        let (node, port) = self.world.host();
        let snapshot = self.world.snapshot();
        self.pm_now = self.pm_now.max(self.world.now());
        self.pm.handle(self.pm_now, PmInput::Published(snapshot));
        for _ in 0..1_000 {
            let mut image = None;
            while let Some(output) = self.pm.poll() {
                match output {
                    PmOutput::Send(packet) => {
                        let send = Input::Send { node, port, packet };
                        self.world.emulator.handle(self.world.now(), send).unwrap();
                    }
                    PmOutput::Image(done) => image = Some(done),
                    PmOutput::Event(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
                }
            }
            if image.is_some() {
                return image;
            }
            let mut answered = false;
            while let Some(Output::Deliver { packet, .. }) = self.world.emulator.poll() {
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

    /// Random moments: what the history says of them is what the oracle kept.
    fn check(&mut self) {
        let reader = Reader::new(&self.dir);
        let (first, last) = (self.oracle.0[0].time_ms, self.time_ms());
        let (mut known, mut unknown) = (0, 0);
        for place in 0..MOMENTS {
            let time_ms = first + self.random.next((last - first) as u64 + 1) as i64;
            let mut warn = |word| panic!("{word}");
            let answer = reader.state(StateQuestion::At(time_ms), &mut warn).unwrap();
            let expected = self.oracle.at(time_ms);
            match (answer, expected) {
                (StateAnswer::Unknown { .. }, None) => unknown += 1,
                (StateAnswer::Known(mut state), Some(expected)) => {
                    known += 1;
                    let routing = state.pieces.remove(&ROUTING[..]).unwrap();
                    let decided: RoutingState = serde_json::from_slice(&routing).unwrap();
                    let authors = decided.disabled.iter().map(|one| &one.note.author);
                    assert!(authors.clone().all(|author| author.starts_with("person ")));
                    let snapshot = of_pieces(&state.pieces).unwrap();
                    let found = Copy {
                        generation: snapshot.generation,
                        digest: digest(&snapshot),
                        routing: routing.to_vec(),
                    };
                    assert_eq!(found, *expected, "moment {place}, {time_ms}");
                }
                (answer, expected) => panic!(
                    "moment {place}, {time_ms}: known in the history: {}, to the oracle: {}",
                    matches!(answer, StateAnswer::Known(_)),
                    expected.is_some()
                ),
            }
        }
        assert!(
            known > MOMENTS * 8 / 10,
            "{known} of {MOMENTS} moments are known, {unknown} not"
        );
    }

    /// Counters of the history never go back, over restarts as well.
    fn check_counters(&self) {
        let reader = Reader::new(&self.dir);
        let ports: Vec<PortKey> = self.seen.keys().copied().collect();
        let mut warn = |word| panic!("{word}");
        let span = (self.oracle.0[0].time_ms, self.time_ms());
        let step = HOUR_MS as i64 / 6;
        let samples = reader.samples(&ports, span, step, &mut warn).unwrap();
        let mut steps = 0;
        for (key, samples) in ports.iter().zip(samples) {
            for pair in samples.windows(2) {
                let grown = pair[0]
                    .values
                    .totals
                    .iter()
                    .zip(&pair[1].values.totals)
                    .all(|(a, b)| a <= b);
                assert!(grown, "{key:?} went back at {}", pair[1].time_ms);
                steps += 1;
            }
            let last = samples.last().map(|sample| sample.values.totals);
            assert_eq!(last, Some(self.seen[key]), "{key:?}");
        }
        assert!(
            steps > ports.len(),
            "{steps} steps of {} ports",
            ports.len()
        );
    }
}

/// Virtual hours, with something new every so many minutes on average.
fn live(hours: u64, minutes: u64, seed: u64) {
    let dir = tempfile::tempdir().unwrap();
    let mut days = Days::new(dir.path(), seed);
    days.look(None);
    let end = days.world.now() + Duration::from_millis(hours * HOUR_MS);
    let mut next = days.world.now();
    while days.world.now() < end {
        if days.world.now() >= next {
            days.happen();
            let pause = 1 + days.random.next(2 * minutes * 60_000);
            next = days.world.now() + Duration::from_millis(pause);
        }
        let rest = next.since(days.world.now()).as_millis() as u64;
        days.pass(rest.clamp(1, READING_MS));
        if days.world.is_idle() {
            days.read_counters();
        }
    }
    days.look(Some(Mark::Still));
    let done = days.done.clone();
    for what in ["link down", "node down", "drain", "engine", "disable"] {
        assert!(done.get(what).is_some_and(|times| *times > 0), "{done:?}");
    }
    let restarts = done.get("restart").zip(done.get("crash"));
    assert!(
        restarts.is_some_and(|(ends, crashes)| ends + crashes > 1),
        "{done:?}"
    );
    days.check();
    days.check_counters();
    println!("{hours} h: {done:?}, {} looks", days.oracle.0.len());
}

#[test]
fn a_day_is_remembered_as_it_was() {
    live(12, 10, 1);
}

#[test]
#[ignore = "minutes"]
fn a_week_is_remembered_as_it_was() {
    live(7 * 24, 30, 2);
}
