//! The fabric, the pair of managers, and what befalls them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_emulator::io::Control;
use weft_emulator::traffic::TrafficJob;
use weft_fabric::enums::SmState;
use weft_fabric::{FabricSpec, Guid, PortNum, PortRef};
use weft_history::Mark;
use weft_manager::io::Command;
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition};
use weft_manager::sm::{Settings, Told};
use weft_manager::{Manager, PortAction, PortNote, PortOrder};
use weft_routing::EngineKind;
use weft_testkit::cluster::Cluster;

use crate::daemon::Daemon;
use crate::{LOOK_MS, READING_MS, Random, START};

/// Four edge switches with two hosts each under three cores. The managers are on the hosts of the first one.
const FABRIC: &str = "pgft:2;2,4;1,3;1,1;radix=8";
const MEMBERS: usize = 2;
const MOMENTS: usize = 1_000;
/// Time for a takeover and what follows.
const SETTLE_MS: u64 = 30_000;

/// What becomes of a manager's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strike {
    Stop,
    Kill,
    /// It stands still for a while, and goes on.
    Freeze,
}

pub(crate) struct Days {
    cluster: Cluster,
    daemons: [Daemon; MEMBERS],
    /// The state that the standby has from its master.
    handed_on: Option<(usize, Vec<u8>)>,
    random: Random,
    down: Vec<Control>,
    /// Ports that are switched off, each with who did it.
    disabled: Vec<((Guid, PortNum), String)>,
    done: BTreeMap<&'static str, u32>,
    orders: u64,
}

impl Days {
    pub(crate) fn new(dir: &Path, seed: u64) -> Self {
        let topology = FABRIC.parse::<FabricSpec>().unwrap().generate().unwrap();
        let hosts = topology.hfis().map(|(_, node)| (node.guid(), PortNum(1)));
        let mut settings = Settings::default();
        // Who is master stays it.
        settings.election.elevated_priority = 8;
        let members = hosts.take(MEMBERS).map(|host| (host, settings.clone()));
        let members = members.collect();
        let options = Options {
            seed,
            ..Options::default()
        };
        let cluster = Cluster::new(Arc::new(topology), options, members).unwrap();
        let mut days = Self {
            cluster: cluster.judged(),
            daemons: ["a", "b"].map(|name| Daemon::new(&dir.join(name))),
            handed_on: None,
            random: Random(seed),
            down: Vec::new(),
            disabled: Vec::new(),
            done: BTreeMap::new(),
            orders: 0,
        };
        for member in 0..MEMBERS {
            days.start(member);
            days.pass(SETTLE_MS);
        }
        assert_eq!(days.master(), Some(0));
        let traffic = TrafficJob::new("all", "uniform".parse().unwrap());
        let traffic = Control::TrafficStart(traffic);
        days.cluster.control(traffic).unwrap();
        days
    }

    /// How often what happened.
    pub(crate) fn done(&self) -> &BTreeMap<&'static str, u32> {
        &self.done
    }

    fn time_ms(&self) -> i64 {
        START + (self.cluster.now().0 / 1_000_000) as i64
    }

    fn manager(&self, member: usize) -> Option<&Manager> {
        let mut running = self.cluster.running();
        running
            .find(|(number, _)| *number == member)
            .map(|(_, manager)| manager)
    }

    fn of_role(&self, role: SmState) -> Option<usize> {
        let mut running = self.cluster.running();
        let found = running.find(|(_, manager)| manager.role() == role);
        found.map(|(member, _)| member)
    }

    fn master(&self) -> Option<usize> {
        self.of_role(SmState::MASTER)
    }

    fn look(&mut self, mark: Option<Mark>) {
        let time_ms = self.time_ms();
        for (member, manager) in self.cluster.running() {
            self.daemons[member].look(manager, time_ms, mark);
        }
    }

    fn look_at_news(&mut self) {
        let time_ms = self.time_ms();
        for (member, manager) in self.cluster.running() {
            let daemon = &mut self.daemons[member];
            if daemon.has_news(manager) {
                daemon.look(manager, time_ms, None);
            }
        }
    }

    /// The standby gets its master's state.
    fn hand_on(&mut self) {
        let Some((master, standby)) = self.master().zip(self.of_role(SmState::STANDBY)) else {
            return;
        };
        let Some(state) = self.cluster.last_state(master) else {
            return;
        };
        let has = self.handed_on.as_ref();
        if has.is_some_and(|(from, has)| *from == master && has == state) {
            return;
        }
        let state = state.to_vec();
        self.cluster.tell(standby, Told::State(state.clone()));
        self.cluster.tell(standby, Told::Behind(false));
        self.handed_on = Some((master, state));
    }

    /// Lets virtual time pass: everything that is published is looked at, and that nothing changes as well.
    fn pass(&mut self, ms: u64) {
        let end = self.cluster.now() + Duration::from_millis(ms);
        while self.cluster.now() < end {
            let until = end.min(self.cluster.now() + Duration::from_millis(LOOK_MS));
            while self.cluster.step(until).unwrap() {
                self.look_at_news();
                self.hand_on();
            }
            self.look(Some(Mark::Still));
        }
        // Every change is told by an event, and every sweep has a reason.
        let breaches = self.cluster.take_breaches();
        assert_eq!(breaches, [], "at {} ms", self.time_ms() - START);
        assert_eq!(self.cluster.take_illegal(), []);
        self.cluster.take_events();
        self.cluster.take_writes();
    }

    fn count(&mut self, what: &'static str, done: bool) {
        *self.done.entry(what).or_default() += u32::from(done);
    }

    /// A number of nodes' ports, the far end a switch.
    fn any_link(&mut self) -> (Guid, PortNum) {
        let topology = Arc::clone(self.cluster.emulator.network().topology());
        let is_switch = |end: PortRef| topology.node(end.node).unwrap().is_switch();
        let links = topology.links();
        let links: Vec<_> = links
            .filter(|(a, b)| is_switch(*a) && is_switch(*b))
            .collect();
        let (end, _) = links[self.random.next(links.len() as u64) as usize];
        (topology.node(end.node).unwrap().guid(), end.port)
    }

    /// A core, or a host without a manager.
    fn any_node(&mut self, switch: bool) -> Guid {
        let topology = Arc::clone(self.cluster.emulator.network().topology());
        let managers: Vec<Guid> = (0..MEMBERS)
            .map(|member| self.cluster.host(member))
            .collect();
        let nodes = topology.nodes().map(|(_, node)| node);
        let nodes = nodes.filter(|node| node.is_switch() == switch);
        let nodes = nodes.map(|node| node.guid());
        let nodes: Vec<Guid> = nodes.filter(|guid| !managers.contains(guid)).collect();
        // The last switches are cores.
        let nodes = match switch {
            true => &nodes[nodes.len() - 3..],
            false => &nodes[..],
        };
        nodes[self.random.next(nodes.len() as u64) as usize]
    }

    fn plan(&mut self, what: &'static str, change: Change) {
        let master = self.master().unwrap();
        let planned = self.cluster.basis(master, change).and_then(Result::ok);
        let planned = planned.filter(|basis| basis.plan().is_ok());
        let adopted = planned.and_then(|basis| {
            let condition = Condition::Epoch(basis.epoch);
            self.cluster.adopt(master, &condition, basis.wanted)
        });
        self.look(None);
        self.count(what, adopted.is_some_and(|adopted| adopted.is_ok()));
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
        let master = self.master().unwrap();
        let id = self.cluster.command(master, Command::Port(order));
        self.pass(3_000);
        self.cluster.reply(id).is_some_and(|reply| reply.is_ok())
    }

    /// Something happens, or somebody does something.
    fn happen(&mut self) {
        match self.random.next(9) {
            0 | 1 => {
                let (node, port) = self.any_link();
                let done = self
                    .cluster
                    .control(Control::LinkDown { node, port })
                    .is_ok();
                self.down.push(Control::LinkUp { node, port });
                self.count("link down", done);
            }
            2 => {
                let switch = self.random.next(2) == 0;
                let node = self.any_node(switch);
                let done = self.cluster.control(Control::NodeDown { node }).is_ok();
                self.down.push(Control::NodeUp { node });
                self.count("node down", done);
            }
            3 => {
                let node = self.any_node(true);
                self.plan("drain", Change::Drain(Drain::Switch(node)));
            }
            4 => {
                let master = self.master().and_then(|master| self.manager(master));
                let drains = master.unwrap().arrangement().drains;
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
            6 => self.disable(),
            7 => {
                if let Some((port, _)) = self.disabled.pop() {
                    let done = self.order(port, PortAction::Enable, "somebody");
                    self.count("enable", done);
                }
            }
            _ => self.strike(),
        }
        // Some of what is down comes back.
        if !self.down.is_empty() && self.random.next(2) == 0 {
            let place = self.random.next(self.down.len() as u64) as usize;
            let up = self.down.swap_remove(place);
            self.cluster.control(up).unwrap();
        }
    }

    fn disable(&mut self) {
        let port = self.any_link();
        self.orders += 1;
        let author = format!("person {}", self.orders);
        let is_new = !self.disabled.iter().any(|(one, _)| *one == port);
        let done = is_new && self.order(port, PortAction::Disable, &author);
        if done {
            self.disabled.push((port, author));
        }
        self.count("disable", done);
    }

    /// A process ends or stands still, and comes back: of the master its standby takes over.
    fn strike(&mut self) {
        let strikes = [Strike::Stop, Strike::Kill, Strike::Freeze];
        let strike = strikes[self.random.next(3) as usize];
        let role = [SmState::MASTER, SmState::STANDBY][self.random.next(2) as usize];
        let struck = self.of_role(role).unwrap();
        self.read_often();
        let decided = self.master().and_then(|master| self.manager(master));
        let decided = decided.unwrap().routing_state();
        let time_ms = self.time_ms();
        match strike {
            Strike::Freeze => self.cluster.freeze(struck),
            Strike::Stop | Strike::Kill => {
                let (_, manager) = self
                    .cluster
                    .running()
                    .find(|(one, _)| *one == struck)
                    .unwrap();
                self.daemons[struck].end(manager, time_ms, strike == Strike::Stop);
                self.cluster.kill(struck).unwrap();
            }
        }
        self.clear_counters();
        if role == SmState::MASTER {
            self.take_over(struck);
            let master = self.master().expect("a standby that has taken over");
            // What people have decided is the next master's, with who did it.
            let now = self.manager(master).unwrap().routing_state();
            assert_eq!(
                (now.disabled, now.drains),
                (decided.disabled, decided.drains)
            );
            self.read_often();
        }
        let away = 1 + self.random.next(60_000);
        self.pass(away);
        match strike {
            Strike::Freeze => self.cluster.thaw(struck),
            Strike::Stop | Strike::Kill => self.start(struck),
        }
        self.pass(SETTLE_MS);
        let what = match (role == SmState::MASTER, strike) {
            (true, _) => "failover",
            (false, Strike::Stop) => "restart",
            (false, Strike::Kill) => "crash",
            (false, Strike::Freeze) => "pause",
        };
        self.count(what, true);
    }

    /// The standby hears that its master may be gone, as by the channel of the pair.
    fn take_over(&mut self, struck: usize) {
        let standby = self.of_role(SmState::STANDBY).unwrap();
        let master = self.manager(standby).unwrap().status().master.unwrap();
        let why = format!("the connection to manager {struck} has ended");
        self.cluster
            .tell(standby, Told::MasterSuspected(master, why));
        self.pass(SETTLE_MS);
    }

    fn start(&mut self, member: usize) {
        let time_ms = self.time_ms();
        self.daemons[member].start(time_ms);
        self.cluster.start(member).unwrap();
        // It has not heard of its master yet.
        self.cluster.tell(member, Told::Behind(true));
        self.handed_on = None;
    }

    /// Readings that follow each other faster than totals are saved or handed on.
    fn read_often(&mut self) {
        for _ in 0..self.random.next(6) {
            self.pass(4_000);
            self.read_counters();
        }
    }

    /// Another program sets a port's counters to zero.
    fn clear_counters(&mut self) {
        let network = self.cluster.emulator.network_mut();
        let ports = network.devices().flat_map(|(_, device)| device.ports());
        let ports: Vec<_> = ports.map(|(_, at)| at).collect();
        let at = ports[self.random.next(ports.len() as u64) as usize];
        network.clear_counters(at, u32::MAX);
    }

    /// The master reads all counters, of which some were set to zero before; its standby gets the totals.
    fn read_counters(&mut self) {
        if self.random.next(10) == 0 {
            self.clear_counters();
        }
        let Some((master, manager)) = self
            .master()
            .zip(self.master().and_then(|master| self.manager(master)))
        else {
            return;
        };
        // In the middle of a sweep the answers are the manager's.
        if manager.status().phase.is_some() {
            return;
        }
        let (now, time_ms) = (self.cluster.now(), self.time_ms());
        self.daemons[master].read_counters(&mut self.cluster, master, time_ms);
        if let Some(standby) = self.of_role(SmState::STANDBY) {
            self.daemons[standby].stand_by(now);
            if let Some((bytes, counted)) = self.daemons[master].hand_on(time_ms) {
                self.daemons[standby].inherit(&bytes, &counted);
            }
        }
    }

    /// Virtual time passes, with something new after each pause of this length on average.
    pub(crate) fn live(&mut self, ms: u64, pause_ms: u64) {
        let end = self.cluster.now() + Duration::from_millis(ms);
        let mut next = self.cluster.now();
        while self.cluster.now() < end {
            if self.cluster.now() >= next {
                self.happen();
                let pause = 1 + self.random.next(2 * pause_ms);
                next = self.cluster.now() + Duration::from_millis(pause);
            }
            let rest = next.since(self.cluster.now()).as_millis() as u64;
            self.pass(rest.clamp(1, READING_MS));
            self.read_counters();
        }
        self.look(Some(Mark::Still));
    }

    /// What the histories say is what the oracles kept: at random moments, and of all counters.
    pub(crate) fn check(&mut self) {
        let (first, last) = (self.daemons[0].first_ms(), self.time_ms());
        let mut known = [0; MEMBERS];
        for _ in 0..MOMENTS {
            let time_ms = first + self.random.next((last - first) as u64 + 1) as i64;
            for (daemon, known) in self.daemons.iter().zip(&mut known) {
                *known += usize::from(daemon.check_at(time_ms));
            }
        }
        assert!(
            known.iter().all(|known| *known > MOMENTS * 8 / 10),
            "{known:?} of {MOMENTS} moments are known"
        );
        for daemon in &self.daemons {
            daemon.check_counters(last);
        }
    }
}
