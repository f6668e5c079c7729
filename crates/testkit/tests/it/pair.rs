//! A standby that is told by another way than the fabric that its master may be gone.

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_fabric::enums::SmState;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::Event;
use weft_manager::sm::settings::ElectionSettings;
use weft_manager::sm::{Settings, Told};
use weft_testkit::cluster::Cluster;

/// When both know their roles.
const SETTLED: Tick = Tick(30_000_000_000);

/// A master, number 0, and its standby, and the master's port.
fn pair() -> (Cluster, Guid) {
    pair_with(|_| {})
}

/// Two managers that have not begun, at the first two hosts of 128, with these settings.
pub(crate) fn two(settings: [Settings; 2]) -> Cluster {
    let topology: FabricSpec = "fattree:128".parse().unwrap();
    let topology = topology.generate().unwrap();
    let hosts = topology.hfis().map(|(_, node)| (node.guid(), PortNum(1)));
    let managers = hosts.zip(settings).map(|(host, mut settings)| {
        settings.election.elevated_priority = 8;
        (host, settings)
    });
    let managers = managers.collect();
    let options = Options {
        agent_latency_ns: 20_000,
        hop_latency_ns: 100,
        ..Options::default()
    };
    Cluster::new(Arc::new(topology), options, managers).unwrap()
}

/// Both have begun, and the first one is master.
fn begun(mut cluster: Cluster) -> Cluster {
    cluster.start(0).unwrap();
    cluster.run_until(Tick(10_000_000_000)).unwrap();
    cluster.start(1).unwrap();
    cluster.run_until(SETTLED).unwrap();
    assert_eq!(roles(&cluster), [SmState::MASTER, SmState::STANDBY]);
    cluster.take_events();
    cluster.take_writes();
    cluster
}

/// The same, with these changes of the settings.
fn pair_with(change: impl Fn(&mut Settings)) -> (Cluster, Guid) {
    let mut settings = [Settings::default(), Settings::default()];
    settings.iter_mut().for_each(change);
    let cluster = begun(two(settings));
    let (_, standby) = cluster.running().nth(1).unwrap();
    let master = standby.status().master.unwrap();
    (cluster, master)
}

pub(crate) fn roles(cluster: &Cluster) -> Vec<SmState> {
    cluster
        .running()
        .map(|(_, manager)| manager.role())
        .collect()
}

pub(crate) fn after(cluster: &mut Cluster, time: Duration) {
    let until = cluster.now() + time;
    cluster.run_until(until).unwrap();
}

fn suspect(cluster: &mut Cluster, master: Guid) {
    cluster.tell(1, Told::MasterSuspected(master, "silence".to_owned()));
}

#[test]
fn a_master_that_answers_in_the_fabric_stays() {
    let (mut cluster, master) = pair();
    for port in [master, Guid(0x99)] {
        suspect(&mut cluster, port);
        after(&mut cluster, Duration::from_secs(2));
        let events = cluster.take_events();
        let is_role = |(_, _, event): &(_, _, Event)| matches!(event, Event::Role { .. });
        assert!(!events.iter().any(is_role), "{events:?}");
    }
    assert_eq!(roles(&cluster), [SmState::MASTER, SmState::STANDBY]);
    assert!(cluster.take_writes().is_empty());
}

/// Registrations are told again to a standby that counts its doubts up, and count for a takeover from then on.
#[test]
fn a_standby_says_that_it_doubts_registrations_when_its_master_has_answered() {
    let (mut cluster, master) = pair();
    let doubts = |cluster: &Cluster| {
        let (_, standby) = cluster.running().last().unwrap();
        assert_eq!(
            standby.status().registration_doubts,
            standby.registration_doubts()
        );
        standby.registration_doubts()
    };
    let before = doubts(&cluster);
    assert!(before > 0, "it has become a standby");
    for alarm in 1..4 {
        cluster.tell(1, Told::Registrations(true));
        suspect(&mut cluster, master);
        assert_eq!(doubts(&cluster), before + alarm - 1, "it has no answer yet");
        after(&mut cluster, Duration::from_millis(100));
        assert_eq!(doubts(&cluster), before + alarm);
    }
    cluster.kill(0).unwrap();
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_secs(5));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    assert_eq!(doubts(&cluster), before + 3, "a takeover forgets no count");
}

#[test]
fn a_dead_process_is_replaced_within_a_moment() {
    let (mut cluster, master) = pair();
    cluster.kill(0).unwrap();
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_millis(100));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
}

#[test]
fn a_frozen_process_is_replaced_half_a_second_after_the_suspicion_and_writes_nothing_when_it_wakes()
{
    let (mut cluster, master) = pair();
    cluster.freeze(0);
    after(&mut cluster, Duration::from_millis(300));
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_millis(500));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    after(&mut cluster, Duration::from_secs(60));
    cluster.take_writes();
    cluster.thaw(0);
    after(&mut cluster, Duration::from_secs(60));
    assert_eq!(roles(&cluster), [SmState::STANDBY, SmState::MASTER]);
    let writes = cluster.take_writes();
    assert!(writes.is_empty(), "{writes:?}");
    assert!(cluster.take_illegal().is_empty());
}

#[test]
fn a_master_that_was_frozen_for_a_moment_only_steps_back_soon() {
    let (mut cluster, master) = pair();
    cluster.freeze(0);
    after(&mut cluster, Duration::from_millis(300));
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_secs(1));
    cluster.thaw(0);
    after(&mut cluster, Duration::from_secs(5));
    assert_eq!(
        roles(&cluster)
            .iter()
            .filter(|role| **role == SmState::MASTER)
            .count(),
        1
    );
}

#[test]
fn what_a_standby_is_told_of_its_masters_state_is_its_own() {
    let (mut cluster, master) = pair();
    for wrong in [vec![], vec![7; 100]] {
        cluster.tell(1, Told::State(wrong));
        after(&mut cluster, Duration::from_millis(1));
        let events = cluster.take_events();
        let refused = |(_, _, event): &(_, _, Event)| matches!(event, Event::StateRefused { .. });
        assert!(events.iter().any(refused), "{events:?}");
    }
    let state = cluster.stored(0).unwrap().to_vec();
    assert_ne!(cluster.stored(1), Some(&state[..]));
    // A standby of an earlier version says that it cannot take what a later one hands on.
    let mut later = state.clone();
    later[8..12].copy_from_slice(&99_u32.to_be_bytes());
    cluster.tell(1, Told::State(later));
    after(&mut cluster, Duration::from_millis(1));
    let events = cluster.take_events();
    let said = events.iter().find_map(|(_, _, event)| match event {
        Event::StateRefused { why } => Some(&**why),
        _ => None,
    });
    let words = "the master's: it has format version 99, this program reads versions 1 to 6";
    assert_eq!(said, Some(words));
    cluster.tell(1, Told::State(state.clone()));
    after(&mut cluster, Duration::from_millis(1));
    assert_eq!(cluster.stored(1), Some(&state[..]));
    cluster.kill(0).unwrap();
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_secs(5));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    assert_eq!(cluster.stored(1), Some(&state[..]), "the LIDs stay");
}

/// A master, number 0, and a better manager, which does not run yet.
fn better_second() -> Cluster {
    let topology: FabricSpec = "fattree:128".parse().unwrap();
    let topology = topology.generate().unwrap();
    let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let hosts = hosts[..2].iter().zip([3, 5]).map(|(host, priority)| {
        let mut settings = Settings::default();
        settings.election.priority = priority;
        ((*host, PortNum(1)), settings)
    });
    let hosts = hosts.collect();
    let mut cluster = Cluster::new(Arc::new(topology), Options::default(), hosts).unwrap();
    cluster.start(0).unwrap();
    cluster.run_until(Tick(10_000_000_000)).unwrap();
    cluster
}

/// Port GUID of a manager.
pub(crate) fn port_of(cluster: &Cluster, member: usize) -> Guid {
    let network = cluster.emulator.network();
    let device = network.device_at(network.find(cluster.host(member)).unwrap());
    device.info.port_guid
}

const FIRST: [SmState; 2] = [SmState::MASTER, SmState::STANDBY];
const SECOND: [SmState; 2] = [SmState::STANDBY, SmState::MASTER];

#[test]
fn a_master_waits_for_the_copy_at_a_better_standby() {
    let mut cluster = better_second();
    let better = port_of(&cluster, 1);
    cluster.tell(0, Told::Copied(Some([Guid(0x99)].into())));
    cluster.start(1).unwrap();
    after(&mut cluster, Duration::from_secs(30));
    assert_eq!(roles(&cluster), FIRST);
    cluster.tell(0, Told::Copied(Some([better].into())));
    after(&mut cluster, Duration::from_secs(2));
    assert_eq!(roles(&cluster), SECOND);
    assert!(cluster.take_illegal().is_empty());
}

#[test]
fn a_master_waits_no_longer_than_a_minute_for_a_copy() {
    let mut cluster = better_second();
    cluster.tell(0, Told::Copied(Some([].into())));
    cluster.start(1).unwrap();
    after(&mut cluster, Duration::from_secs(55));
    assert_eq!(roles(&cluster), FIRST);
    after(&mut cluster, Duration::from_secs(15));
    assert_eq!(roles(&cluster), SECOND);
}

#[test]
fn a_standby_that_is_behind_is_not_preferred() {
    let mut cluster = better_second();
    cluster.start(1).unwrap();
    cluster.tell(1, Told::Behind(true));
    after(&mut cluster, Duration::from_secs(60));
    assert_eq!(roles(&cluster), FIRST);
    cluster.tell(1, Told::Behind(false));
    after(&mut cluster, Duration::from_secs(10));
    assert_eq!(roles(&cluster), SECOND);
}

#[test]
fn a_standby_that_is_behind_leads_where_nobody_else_does() {
    let mut cluster = better_second();
    cluster.start(1).unwrap();
    cluster.tell(1, Told::Behind(true));
    after(&mut cluster, Duration::from_secs(20));
    cluster.kill(0).unwrap();
    after(&mut cluster, Duration::from_secs(20));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    // Its priority is its own again: the first one, which is back, stands by.
    cluster.start(0).unwrap();
    after(&mut cluster, Duration::from_secs(20));
    assert_eq!(roles(&cluster), SECOND);
}

#[test]
fn a_master_looks_for_a_standby_that_asks_no_more() {
    for monitors in [true, false] {
        let (mut cluster, _) = pair_with(|settings| settings.election.monitors_standbys = monitors);
        cluster.freeze(1);
        after(&mut cluster, Duration::from_secs(9));
        assert!(told_of_standby(&mut cluster).is_empty());
        after(&mut cluster, Duration::from_secs(30));
        assert_eq!(told_of_standby(&mut cluster).len(), usize::from(monitors));
        let (_, master) = cluster.running().next().unwrap();
        let managers = master.snapshot().sms.len();
        assert_eq!(managers, if monitors { 1 } else { 2 });
    }
}

/// A standby that asks less often than this master expects is missed once, in the seconds in which both begin, and looked
/// for again only when it is silent for longer than it was before.
#[test]
fn a_standby_that_asks_seldom_is_missed_once() {
    let slow = Settings {
        election: ElectionSettings {
            ping_interval: Duration::from_secs(20),
            ..ElectionSettings::default()
        },
        ..Settings::default()
    };
    let mut cluster = begun(two([Settings::default(), slow]));
    after(&mut cluster, Duration::from_secs(300));
    assert_eq!(roles(&cluster), FIRST);
    assert!(told_of_standby(&mut cluster).is_empty());
    cluster.freeze(1);
    after(&mut cluster, Duration::from_secs(120));
    assert_eq!(told_of_standby(&mut cluster).len(), 1);
    let (_, master) = cluster.running().next().unwrap();
    assert_eq!(master.snapshot().sms.len(), 1);
}

fn told_of_standby(cluster: &mut Cluster) -> Vec<Event> {
    let events = cluster.take_events().into_iter();
    let about = |event: &Event| matches!(event, Event::DeviceFault { what, .. } if what.contains("standby"));
    events.map(|(_, _, event)| event).filter(about).collect()
}
