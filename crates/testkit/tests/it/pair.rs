//! A standby that is told by another way than the fabric that its master may be gone.

use std::sync::Arc;
use std::time::Duration;

use weft_emulator::Options;
use weft_fabric::enums::SmState;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::Event;
use weft_manager::sm::{Settings, Told};
use weft_testkit::cluster::Cluster;

/// When both know their roles.
const SETTLED: Tick = Tick(30_000_000_000);

/// A master, number 0, and its standby, and the master's port.
fn pair() -> (Cluster, Guid) {
    let topology: FabricSpec = "fattree:128".parse().unwrap();
    let topology = topology.generate().unwrap();
    let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let hosts = hosts[..2].iter().map(|host| {
        let mut settings = Settings::default();
        settings.election.elevated_priority = 8;
        ((*host, PortNum(1)), settings)
    });
    let options = Options {
        agent_latency_ns: 20_000,
        hop_latency_ns: 100,
        ..Options::default()
    };
    let hosts = hosts.collect();
    let mut cluster = Cluster::new(Arc::new(topology), options, hosts).unwrap();
    cluster.start(0).unwrap();
    cluster.run_until(Tick(10_000_000_000)).unwrap();
    cluster.start(1).unwrap();
    cluster.run_until(SETTLED).unwrap();
    assert_eq!(roles(&cluster), [SmState::MASTER, SmState::STANDBY]);
    cluster.take_events();
    cluster.take_writes();
    let (_, standby) = cluster.running().nth(1).unwrap();
    let master = standby.status().master.unwrap();
    (cluster, master)
}

fn roles(cluster: &Cluster) -> Vec<SmState> {
    cluster
        .running()
        .map(|(_, manager)| manager.role())
        .collect()
}

fn after(cluster: &mut Cluster, time: Duration) {
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

#[test]
fn a_dead_process_is_replaced_within_a_moment() {
    let (mut cluster, master) = pair();
    cluster.kill(0).unwrap();
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_millis(100));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
}

#[test]
fn a_frozen_process_is_replaced_a_second_after_the_suspicion_and_writes_nothing_when_it_wakes() {
    let (mut cluster, master) = pair();
    cluster.freeze(0);
    after(&mut cluster, Duration::from_millis(300));
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_secs(1));
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
    cluster.tell(1, Told::State(state.clone()));
    after(&mut cluster, Duration::from_millis(1));
    assert_eq!(cluster.stored(1), Some(&state[..]));
    cluster.kill(0).unwrap();
    suspect(&mut cluster, master);
    after(&mut cluster, Duration::from_secs(5));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    assert_eq!(cluster.stored(1), Some(&state[..]), "the LIDs stay");
}
