//! Keys of each term: an old master that does not know that it was replaced writes nothing.
//!
//! The old one's clock stands still while it is stopped, as in a virtual machine that was paused: it has no other way to
//! notice that time has passed, and goes on with what it had in flight.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weft_dataplane::{Network, PortIndex};
use weft_emulator::io::{Control, Faults};
use weft_emulator::observe::{Observer, SetDone};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::Event;
use weft_manager::sm::settings::Fencing;
use weft_manager::sm::{Settings, Told};
use weft_testkit::cluster::Cluster;
use weft_wire::sm::AttributeId;

use crate::pair::two;

const SECRET: [u8; 32] = [0x5E; 32];
/// Of another site.
const OTHER: [u8; 32] = [0x5F; 32];
/// Terms that are looked for around the last one, as docs/security.md says: at the manager's own port, and elsewhere.
const OWN_REACH: u64 = 1024;
const REACH: usize = 16;

/// Sets that devices have carried out, by the port that sent them.
#[derive(Debug, Clone, Default)]
struct Done(Arc<Mutex<BTreeMap<PortIndex, usize>>>);

impl Observer for Done {
    fn set_done(&mut self, _: &Network, done: SetDone) {
        *self.0.lock().unwrap().entry(done.from).or_default() += 1;
    }
}

struct Site {
    cluster: Cluster,
    done: Done,
}

fn fenced(ends: bool) -> Option<Fencing> {
    Fencing::new(&SECRET, ends)
}

/// A state of version 6, which ends with the term and the checksum, with another term.
fn with_term(mut state: Vec<u8>, term: u64) -> Vec<u8> {
    assert_eq!(state[8..12], 6_u32.to_be_bytes(), "version");
    state.truncate(state.len() - 12);
    state.extend_from_slice(&term.to_be_bytes());
    let sum = crc32c::crc32c(&state);
    state.extend_from_slice(&sum.to_be_bytes());
    state
}

fn term_of(state: &[u8]) -> u64 {
    let at = state.len() - 12;
    u64::from_be_bytes(state[at..at + 8].try_into().unwrap())
}

impl Site {
    /// A master, number 0, and its standby.
    fn new(fencing: [Option<Fencing>; 2]) -> Self {
        let mut site = Self::with_master(fencing);
        site.cluster.start(1).unwrap();
        site.cluster.run_until(Tick(30_000_000_000)).unwrap();
        assert_eq!(site.roles(), [SmState::MASTER, SmState::STANDBY]);
        site.cluster.take_events();
        site
    }

    /// A master, number 0; the other one has not begun.
    fn with_master(fencing: [Option<Fencing>; 2]) -> Self {
        let settings = fencing.map(|fencing| Settings {
            fencing,
            ..Settings::default()
        });
        let mut cluster = two(settings);
        let done = Done::default();
        cluster.emulator.observe(Box::new(done.clone()));
        cluster.start(0).unwrap();
        cluster.run_until(Tick(10_000_000_000)).unwrap();
        Self { cluster, done }
    }

    /// The master ends and begins again: a new term.
    fn restart(&mut self) {
        self.cluster.kill(0).unwrap();
        self.cluster.start(0).unwrap();
        self.after(Duration::from_secs(3));
    }

    /// Nodes that managers have found to have keys of nobody of this site, since this was last called, with the manager.
    fn take_strange(&mut self) -> Vec<(usize, Guid)> {
        let events = self.cluster.take_events().into_iter();
        let strange = events.filter_map(|(_, member, event)| match event {
            Event::DeviceFault {
                node: Some(node),
                what,
            } if what.contains("an M_Key that is none of this site's") => Some((member, node)),
            _ => None,
        });
        strange.collect()
    }

    /// Gets of an attribute that all nodes have answered.
    fn gets(&self, attribute: AttributeId) -> u64 {
        self.cluster.emulator.stats().total(attribute).0
    }

    fn nodes(&self) -> usize {
        self.cluster.emulator.network().devices().count()
    }

    fn roles(&self) -> Vec<SmState> {
        let running = self.cluster.running();
        running.map(|(_, manager)| manager.role()).collect()
    }

    fn after(&mut self, time: Duration) {
        let until = self.cluster.now() + time;
        self.cluster.run_until(until).unwrap();
    }

    fn suspect_master(&mut self) {
        let standby = self.cluster.running().find(|(number, _)| *number == 1);
        let (_, standby) = standby.unwrap();
        let port = standby.status().master.unwrap();
        self.cluster
            .tell(1, Told::MasterSuspected(port, "silence".to_owned()));
    }

    /// Sets of a manager that were carried out since this was last called.
    fn take_done(&self, member: usize) -> usize {
        let (node, port) = self.cluster.port(member);
        let network = self.cluster.emulator.network();
        let device = network.device_at(network.find(node).unwrap());
        let at = device.port(port).unwrap();
        self.done.0.lock().unwrap().remove(&at).unwrap_or(0)
    }

    /// Keys of all end ports, sorted, with the number of requests that they were missing in.
    fn keys(&self) -> (Vec<u64>, u32) {
        let network = self.cluster.emulator.network();
        let devices = network.devices().map(|(_, device)| device);
        let infos = devices.map(|device| {
            let number = PortNum(u8::from(!device.is_switch()));
            let (_, at) = device.ports().find(|(port, _)| *port == number).unwrap();
            *network.port(at).info()
        });
        let infos: Vec<_> = infos.collect();
        let mut keys: Vec<u64> = infos.iter().map(|info| info.m_key).collect();
        keys.sort_unstable();
        let violations = infos.iter().map(|info| u32::from(info.violations_m_key));
        (keys, violations.sum())
    }

    /// A link between switches goes down or comes back.
    fn link(&mut self, up: bool) {
        let network = self.cluster.emulator.network();
        let switches = network.devices().map(|(_, device)| device);
        let switch = switches.filter(|device| device.is_switch()).last();
        let (node, port) = (switch.unwrap().info.node_guid, PortNum(1));
        let control = match up {
            true => Control::LinkUp { node, port },
            false => Control::LinkDown { node, port },
        };
        self.cluster.control(control).unwrap();
    }

    /// Stops the master in the middle of its writes.
    fn stop_while_it_writes(&mut self) {
        self.link(false);
        let is_begun = |site: &mut Self| {
            let events = site.cluster.take_events();
            let begins = |event: &Event| matches!(event, Event::SweepStarted { .. });
            events.iter().any(|(_, _, event)| begins(event))
        };
        let mut begun = false;
        for _ in 0..100_000 {
            self.after(Duration::from_micros(100));
            if is_begun(self) {
                begun = true;
                break;
            }
        }
        assert!(begun, "no sweep after a link went down");
        self.cluster.take_writes();
        for _ in 0..100_000 {
            self.after(Duration::from_micros(10));
            if !self.cluster.take_writes().is_empty() {
                self.cluster.freeze(0);
                return;
            }
        }
        panic!("the sweep writes nothing");
    }

    /// The master is stopped in the middle of its writes for a minute, replaced, and wakes with a clock that stood still.
    /// Sets of it that were carried out after it was replaced.
    fn wakes_unaware(&mut self) -> usize {
        self.stop_while_it_writes();
        self.after(Duration::from_millis(300));
        self.suspect_master();
        self.after(Duration::from_secs(1));
        assert_eq!(self.roles(), [SmState::MASTER], "the standby leads");
        self.link(true);
        self.after(Duration::from_secs(60));
        self.take_done(0);
        let (_, before) = self.keys();
        assert_eq!(before, 0, "the new master knows all keys");
        self.cluster.thaw_unaware(0);
        self.after(Duration::from_secs(60));
        self.take_done(0)
    }
}

#[test]
fn a_master_that_wakes_unaware_writes_nothing_with_fencing_and_something_without() {
    let mut open = Site::new([None, None]);
    assert!(open.wakes_unaware() > 0, "the check can fail");

    let mut site = Site::new([fenced(false), fenced(false)]);
    let (first, _) = site.keys();
    assert!(first.windows(2).all(|two| two[0] != two[1]) && first[0] != 0);
    assert_eq!(site.wakes_unaware(), 0);
    assert_eq!(site.roles(), [SmState::STANDBY, SmState::MASTER]);
    let (second, violations) = site.keys();
    assert!(violations > 0, "it tried");
    assert!(
        second.iter().all(|key| !first.contains(key)),
        "each port has a new key"
    );
}

#[test]
fn a_standby_that_was_told_the_term_and_one_that_was_not_find_the_keys() {
    for told in [true, false] {
        let mut site = Site::new([fenced(false), fenced(false)]);
        let mut terms = Vec::new();
        for round in 0..3 {
            let (leads, follows) = (round % 2, 1 - round % 2);
            if told {
                let state = site.cluster.stored(leads).unwrap().to_vec();
                site.cluster.tell(follows, Told::State(state));
            }
            site.cluster.take_events();
            site.cluster.kill(leads).unwrap();
            site.after(Duration::from_secs(60));
            assert_eq!(site.roles(), [SmState::MASTER], "{told} {round}");
            let faults = site.cluster.take_events();
            let fault = |event: &Event| matches!(event, Event::DeviceFault { .. });
            assert!(
                !faults.iter().any(|(_, _, event)| fault(event)),
                "{faults:?}"
            );
            terms.push(site.keys());
            site.cluster.start(leads).unwrap();
            site.after(Duration::from_secs(20));
        }
        assert!(terms.iter().all(|(_, violations)| *violations == 0));
        assert!(terms[0].0 != terms[1].0 && terms[1].0 != terms[2].0);
    }
}

/// A Set that changes a key may be lost, or its answer: the device has either key then.
#[test]
fn a_standby_takes_over_where_datagrams_are_lost() {
    let mut site = Site::new([fenced(false), fenced(false)]);
    let (before, _) = site.keys();
    let faults = Faults {
        loss: 0.05,
        ..Faults::default()
    };
    site.cluster.control(Control::Faults(faults)).unwrap();
    site.cluster.kill(0).unwrap();
    site.after(Duration::from_secs(60));
    assert_eq!(site.roles(), [SmState::MASTER]);
    let events = site.cluster.take_events();
    let given_up = |event: &Event| {
        matches!(
            event,
            Event::NodeSilent { .. } | Event::DeviceFault { .. } | Event::NodeVanished { .. }
        )
    };
    let given_up = events.iter().filter(|(_, _, event)| given_up(event));
    let given_up: Vec<_> = given_up.collect();
    assert!(given_up.is_empty(), "{given_up:?}");
    let (after, _) = site.keys();
    assert!(after.iter().all(|key| !before.contains(key)));
}

#[test]
fn who_lacks_the_secret_changes_nothing_and_says_so() {
    let mut site = Site::new([fenced(false), None]);
    let (keys, _) = site.keys();
    site.take_done(1);
    site.cluster.kill(0).unwrap();
    site.after(Duration::from_secs(120));
    let events = site.cluster.take_events();
    assert_eq!(site.take_done(1), 0, "{events:?}");
    assert_eq!(site.keys().0, keys);
    let fabric = |event: &Event| matches!(event, Event::NodeSilent { .. });
    assert!(
        events.iter().any(|(_, _, event)| fabric(event)),
        "{events:?}"
    );
}

#[test]
fn the_end_of_fencing_gives_the_key_of_the_configuration_back() {
    let mut site = Site::new([fenced(false), fenced(true)]);
    site.cluster.kill(0).unwrap();
    site.after(Duration::from_secs(60));
    assert_eq!(site.roles(), [SmState::MASTER]);
    let (keys, violations) = site.keys();
    assert!(keys.iter().all(|key| *key == 0), "{keys:x?}");
    assert_eq!(violations, 0);
}

#[test]
fn a_restart_is_a_new_term() {
    let mut site = Site::new([fenced(false), fenced(false)]);
    site.cluster.kill(1).unwrap();
    site.cluster.kill(0).unwrap();
    let (before, _) = site.keys();
    site.cluster.start(0).unwrap();
    site.after(Duration::from_secs(5));
    let (after, violations) = site.keys();
    assert!(after.iter().all(|key| !before.contains(key)));
    assert_eq!(violations, 0);
}

#[test]
fn another_secret_is_a_fault_of_each_device_and_changes_nothing() {
    let mut site = Site::new([fenced(false), Fencing::new(&OTHER, false)]);
    let (keys, _) = site.keys();
    site.take_done(1);
    site.cluster.kill(0).unwrap();
    site.after(Duration::from_secs(60));
    let strange = site.take_strange();
    assert_eq!(site.take_done(1), 0);
    assert_eq!(site.keys().0, keys);
    assert!(!strange.is_empty(), "devices' keys are told");
    assert!(strange.iter().all(|(member, _)| *member == 1));
    let mut nodes: Vec<Guid> = strange.iter().map(|(_, node)| *node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    assert_eq!(nodes.len(), site.nodes(), "each is named");
}

/// The two never find each other's keys. What was tried at a port is not tried again in each sweep.
#[test]
fn a_search_that_has_failed_costs_a_sweep_nothing() {
    let mut site = Site::new([fenced(false), Fencing::new(&OTHER, false)]);
    site.cluster.kill(0).unwrap();
    // It has tried all, and goes on to look for a fabric that it may write to.
    site.after(Duration::from_secs(60));
    let sweeps = |site: &mut Site| {
        let events = site.cluster.take_events();
        let begins = |event: &Event| matches!(event, Event::SweepStarted { .. });
        events.iter().filter(|(_, _, event)| begins(event)).count() as u64
    };
    sweeps(&mut site);
    let before = site.gets(AttributeId::NODE_INFO);
    site.after(Duration::from_secs(300));
    let (sweeps, gets) = (
        sweeps(&mut site),
        site.gets(AttributeId::NODE_INFO) - before,
    );
    let nodes = site.nodes() as u64;
    assert!(sweeps >= 3, "{sweeps} sweeps");
    // Once a sweep, and two terms more where one has begun.
    let most = 3 * sweeps * nodes;
    assert!(
        gets <= most,
        "{gets} Gets of {nodes} nodes in {sweeps} sweeps"
    );
}

#[test]
fn devices_that_were_switched_off_get_the_keys_of_the_term() {
    let mut site = Site::new([fenced(false), fenced(false)]);
    let network = site.cluster.emulator.network();
    let managers = [site.cluster.host(0), site.cluster.host(1)];
    let guids = network
        .devices()
        .map(|(_, device)| (device.is_switch(), device.info.node_guid));
    let guids: Vec<(bool, Guid)> = guids.collect();
    let host = guids
        .iter()
        .find(|(is_switch, guid)| !is_switch && !managers.contains(guid));
    let switch = guids.iter().rfind(|(is_switch, _)| *is_switch);
    let (keys, _) = site.keys();
    for (_, node) in [host, switch].into_iter().flatten().copied() {
        site.cluster.control(Control::NodeDown { node }).unwrap();
        site.after(Duration::from_secs(5));
        site.cluster.control(Control::NodeUp { node }).unwrap();
        assert_ne!(site.keys().0, keys, "it has lost its key");
        site.after(Duration::from_secs(30));
        assert_eq!(site.keys().0, keys, "{node}");
    }
    assert_eq!(site.take_strange(), []);
    site.cluster.kill(0).unwrap();
    site.after(Duration::from_secs(60));
    assert_eq!(site.roles(), [SmState::MASTER]);
    assert_eq!(site.keys().1, 0, "no key was tried in vain");
}

/// A host that was cut off while so many terms began has the key of then. A master searches from the term before its own
/// on, whose keys it has found.
#[test]
fn keys_of_sixteen_terms_before_the_last_one_are_found_and_no_older_ones() {
    for (terms, found) in [(REACH + 1, true), (REACH + 2, false)] {
        let mut site = Site::with_master([fenced(false), None]);
        let network = site.cluster.emulator.network();
        let (own, _) = site.cluster.port(0);
        let hosts = network.devices().filter(|(_, device)| !device.is_switch());
        let hosts = hosts.map(|(_, device)| device.info.node_guid);
        let (node, port) = (
            hosts.filter(|node| *node != own).last().unwrap(),
            PortNum(1),
        );
        site.cluster
            .control(Control::LinkDown { node, port })
            .unwrap();
        (0..terms).for_each(|_| site.restart());
        site.take_strange();
        site.cluster
            .control(Control::LinkUp { node, port })
            .unwrap();
        site.after(Duration::from_secs(30));
        let strange = site.take_strange();
        assert_eq!(strange.is_empty(), found, "{terms} terms: {strange:?}");
    }
}

/// A manager that knows no term finds that of its own port, and by it all others.
#[test]
fn a_manager_without_a_state_finds_term_1024_and_no_later_one() {
    for (term, found) in [(OWN_REACH, true), (OWN_REACH + 1, false)] {
        let mut site = Site::with_master([fenced(false), fenced(false)]);
        site.cluster.kill(0).unwrap();
        // The next term is one more.
        let change = |state| with_term(state, term - 1);
        site.cluster.change_stored(0, change);
        site.cluster.start(0).unwrap();
        site.after(Duration::from_secs(10));
        let (keys, _) = site.keys();
        assert_eq!(site.roles(), [SmState::MASTER]);
        assert_eq!(term_of(site.cluster.stored(0).unwrap()), term);
        site.cluster.kill(0).unwrap();
        site.cluster.start(1).unwrap();
        site.after(Duration::from_secs(60));
        let (after, _) = site.keys();
        let strange = site.take_strange();
        let taken_over = after.iter().all(|key| !keys.contains(key));
        assert_eq!((taken_over, strange.is_empty()), (found, found), "{term}");
    }
}
