//! Managers of which one at a time holds a mandate to be master, given outside the fabric.

use std::time::Duration;

use weft_fabric::enums::SmState;
use weft_fabric::{Guid, Tick};
use weft_manager::sm::{Mandate, Settings, Told};
use weft_testkit::cluster::Cluster;

use crate::pair::{after, port_of, roles, two};

const FIRST: [SmState; 2] = [SmState::MASTER, SmState::STANDBY];
const SECOND: [SmState; 2] = [SmState::STANDBY, SmState::MASTER];

fn mandate(cluster: &mut Cluster, manager: usize, mandate: Mandate) {
    cluster.tell(manager, Told::Mandate(mandate));
}

/// Starts one with what it knows of the mandate.
fn start(cluster: &mut Cluster, manager: usize, knows: Mandate) {
    cluster.start(manager).unwrap();
    mandate(cluster, manager, knows);
}

/// Two that ask for the mandate; the first one holds it and is master.
fn first_leads() -> Cluster {
    let mut cluster = two([Settings::default(), Settings::default()]);
    start(&mut cluster, 0, Mandate::Held(7));
    after(&mut cluster, Duration::from_secs(10));
    let holder = port_of(&cluster, 0);
    start(&mut cluster, 1, Mandate::Withheld(Some(holder)));
    after(&mut cluster, Duration::from_secs(10));
    assert_eq!(roles(&cluster), FIRST);
    cluster.take_writes();
    cluster
}

#[test]
fn without_the_mandate_nobody_becomes_master() {
    for (mandated, leads) in [
        (Mandate::Withheld(None), false),
        (Mandate::Withheld(Some(Guid(0x99))), false),
        (Mandate::Held(1), true),
        (Mandate::Unknown, true),
    ] {
        let mut cluster = two([Settings::default(), Settings::default()]);
        start(&mut cluster, 0, Mandate::Withheld(None));
        after(&mut cluster, Duration::from_secs(30));
        assert_eq!(roles(&cluster), [SmState::DISCOVERING]);
        assert!(cluster.take_writes().is_empty());
        mandate(&mut cluster, 0, mandated);
        after(&mut cluster, Duration::from_secs(1));
        let leader = [SmState::MASTER];
        assert_eq!(roles(&cluster) == leader, leads, "{mandated:?}");
    }
}

#[test]
fn of_two_that_begin_the_holder_leads_whatever_its_port_and_priority() {
    for holder in [0, 1] {
        let mut settings = [Settings::default(), Settings::default()];
        settings[1 - holder].election.priority = 9;
        let mut cluster = two(settings);
        for manager in [0, 1] {
            start(&mut cluster, manager, Mandate::Withheld(None));
        }
        after(&mut cluster, Duration::from_secs(5));
        mandate(&mut cluster, holder, Mandate::Held(3));
        let other = Mandate::Withheld(Some(port_of(&cluster, holder)));
        mandate(&mut cluster, 1 - holder, other);
        after(&mut cluster, Duration::from_secs(5));
        assert_eq!(roles(&cluster), [FIRST, SECOND][holder], "{holder}");
        assert!(cluster.take_illegal().is_empty());
    }
}

#[test]
fn a_standby_that_is_given_the_mandate_replaces_a_dead_master_at_once() {
    let mut cluster = first_leads();
    cluster.kill(0).unwrap();
    after(&mut cluster, Duration::from_secs(1));
    mandate(&mut cluster, 1, Mandate::Held(9));
    after(&mut cluster, Duration::from_millis(200));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    assert!(cluster.take_illegal().is_empty());
}

#[test]
fn a_living_master_hands_over_to_who_is_given_the_mandate() {
    for knows in [true, false] {
        let mut cluster = first_leads();
        if knows {
            let holder = port_of(&cluster, 1);
            mandate(&mut cluster, 0, Mandate::Withheld(Some(holder)));
        } else {
            mandate(&mut cluster, 0, Mandate::Unknown);
        }
        mandate(&mut cluster, 1, Mandate::Held(9));
        after(&mut cluster, Duration::from_secs(3));
        assert_eq!(roles(&cluster), SECOND, "{knows}");
        let writes = cluster.take_writes();
        assert!(cluster.take_illegal().is_empty());
        println!("{knows}: {} writes", writes.len());
    }
}

#[test]
fn a_frozen_master_that_wakes_without_the_mandate_writes_nothing() {
    let mut cluster = first_leads();
    cluster.freeze(0);
    after(&mut cluster, Duration::from_secs(4));
    mandate(&mut cluster, 1, Mandate::Held(9));
    after(&mut cluster, Duration::from_secs(1));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    after(&mut cluster, Duration::from_secs(55));
    cluster.take_writes();
    cluster.thaw(0);
    after(&mut cluster, Duration::from_secs(30));
    assert_eq!(roles(&cluster), SECOND);
    assert!(cluster.take_writes().is_empty());
    assert!(cluster.take_illegal().is_empty());
}

#[test]
fn where_nobody_can_be_asked_the_master_stays_and_is_replaced_only_when_it_is_gone() {
    let mut settings = [Settings::default(), Settings::default()];
    settings[1].election.priority = 9;
    let mut cluster = two(settings);
    start(&mut cluster, 0, Mandate::Held(7));
    after(&mut cluster, Duration::from_secs(10));
    start(&mut cluster, 1, Mandate::Withheld(None));
    after(&mut cluster, Duration::from_secs(10));
    for manager in [0, 1] {
        mandate(&mut cluster, manager, Mandate::Unknown);
    }
    cluster.take_writes();
    after(&mut cluster, Duration::from_secs(120));
    assert_eq!(roles(&cluster), FIRST);
    assert!(cluster.take_writes().is_empty());
    cluster.kill(0).unwrap();
    after(&mut cluster, Duration::from_secs(30));
    assert_eq!(roles(&cluster), [SmState::MASTER]);
    // The one that is back stands by for it, whatever their priorities.
    start(&mut cluster, 0, Mandate::Unknown);
    let until = cluster.now() + Duration::from_secs(20);
    cluster.run_until(Tick(until.0)).unwrap();
    assert_eq!(roles(&cluster), SECOND);
}
