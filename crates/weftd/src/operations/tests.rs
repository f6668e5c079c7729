#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_fabric::enums::SmState;
use weft_manager::{Event, SweepPhase, SweepReason, SweepReport};

use super::*;
use crate::event_hub::InForce;

fn new() -> (Arc<EventHub>, Arc<Operations>) {
    let hub = Arc::new(EventHub::new(InForce::default()));
    (hub.clone(), Arc::new(Operations::new(hub)))
}

fn begin(operations: &Operations, id: &str, state: OperationState) -> Begun {
    let origin = Origin {
        id: id.to_owned(),
        ..Origin::default()
    };
    let kind = OperationKind::RoutePlan;
    operations.begin(&origin, kind, state, "engine x").unwrap()
}

fn sweep_ends(hub: &EventHub, number: u64, unfinished: &[&str]) {
    hub.tell(DaemonEvent::Fabric(Event::SweepEnded(SweepReport {
        number,
        unfinished: unfinished.iter().map(|one| (*one).to_owned()).collect(),
        unfinished_devices: unfinished.len() as u32,
        ..SweepReport::default()
    })));
}

async fn settled(operations: &Operations, id: &str) -> v1::Operation {
    let by = Instant::now() + Duration::from_secs(60);
    let (operation, settled) = operations.settled(id, by).await.unwrap();
    assert!(settled);
    operation
}

#[tokio::test]
async fn a_plan_goes_from_state_to_state() {
    let (hub, operations) = new();
    tokio::spawn(follow(operations.clone()));
    tokio::task::yield_now().await;
    begin(&operations, "mine", OperationState::Planning);
    assert!(operations.planned("mine", 3, v1::RoutePlan::default()));
    assert_eq!(operations.of_plan(3), "mine");
    operations.applies(3, &Origin::default()).unwrap();
    operations.not_applied(3, "busy", false);
    let again = operations.get("mine").unwrap();
    assert_eq!(
        (again.state(), &*again.error),
        (OperationState::Planned, "busy")
    );
    operations.applies(3, &Origin::default()).unwrap();
    operations.sweeps("mine", 8);
    sweep_ends(&hub, 7, &[]);
    let reason = SweepReason::Forced;
    hub.tell(DaemonEvent::Fabric(Event::SweepStarted {
        number: 8,
        reason,
        traps: Vec::new(),
    }));
    hub.tell(DaemonEvent::Fabric(Event::Phase(SweepPhase::Program)));
    while operations.get("mine").unwrap().steps_done < 2 {
        tokio::task::yield_now().await;
    }
    let late = operations
        .cancel("mine", v1::OperationAsker::default())
        .unwrap_err();
    assert!(matches!(late, OperationError::Applying { sweep: 8, .. }));
    sweep_ends(&hub, 8, &[]);
    let done = settled(&operations, "mine").await;
    assert_eq!((done.state(), done.steps_done), (OperationState::Done, 4));
    assert!(done.end_time.is_some());
    let over = operations
        .cancel("mine", v1::OperationAsker::default())
        .unwrap_err();
    assert!(matches!(over, OperationError::Ended { state: "done", .. }));
}

#[tokio::test]
async fn a_sweep_that_ended_before_it_was_known_counts() {
    let (hub, operations) = new();
    let begun = begin(&operations, "", OperationState::Applying);
    sweep_ends(&hub, 4, &[]);
    operations.sweeps(&begun.id, 4);
    let done = settled(&operations, &begun.id).await;
    assert_eq!((done.state(), &*done.note), (OperationState::Done, ""));
}

#[tokio::test]
async fn what_devices_take_in_a_later_sweep_is_done() {
    let (hub, operations) = new();
    let begun = begin(&operations, "", OperationState::Applying);
    operations.sweeps(&begun.id, 4);
    sweep_ends(&hub, 4, &["core1 does not answer", "core2 does not answer"]);
    operations.catch_up();
    let tries = operations.get(&begun.id).unwrap();
    assert_eq!((tries.state(), tries.sweep), (OperationState::Applying, 5));
    assert_eq!(
        tries.note,
        "the next sweep tries again: sweep 4: core1 does not answer; core2 does not answer"
    );
    sweep_ends(&hub, 5, &["core1 does not answer"]);
    sweep_ends(&hub, 6, &[]);
    operations.catch_up();
    let done = settled(&operations, &begun.id).await;
    assert_eq!((done.state(), &*done.error), (OperationState::Done, ""));
    assert_eq!((done.steps_done, done.sweep), (STEPS, 6));
    assert_eq!(
        done.note,
        "in force after 3 sweeps; 2 devices were slow and asked again"
    );
}

#[tokio::test]
async fn what_devices_never_take_fails_after_some_sweeps() {
    let (hub, operations) = new();
    let begun = begin(&operations, "", OperationState::Applying);
    operations.sweeps(&begun.id, 4);
    for sweep in 4..4 + u64::from(attempts::SWEEPS_MAX) {
        operations.catch_up();
        let applies = operations.get(&begun.id).unwrap();
        assert_eq!(applies.state(), OperationState::Applying, "{sweep}");
        sweep_ends(&hub, sweep, &["core1 does not answer"]);
    }
    // Sweeps that come one upon the other leave devices no time.
    operations.catch_up();
    let applies = operations.get(&begun.id).unwrap();
    assert_eq!(applies.state(), OperationState::Applying);
    sweep_ends(&hub, 8, &["core1 does not answer"]);
    operations.catch_up_at(Instant::now() + attempts::SHORTEST);
    let failed = settled(&operations, &begun.id).await;
    assert_eq!(failed.state(), OperationState::Failed);
    assert_eq!(failed.error, "sweep 8: core1 does not answer");
    assert_eq!(failed.note, "");
}

#[tokio::test]
async fn where_no_sweep_tries_again_it_fails_after_a_while() {
    let (hub, operations) = new();
    let begun = begin(&operations, "", OperationState::Applying);
    operations.sweeps(&begun.id, 4);
    sweep_ends(&hub, 4, &["core1 does not answer"]);
    let now = Instant::now();
    for (passed, expected) in [
        (Duration::ZERO, OperationState::Applying),
        (
            attempts::LONGEST - Duration::from_secs(1),
            OperationState::Applying,
        ),
        (
            attempts::LONGEST + Duration::from_secs(1),
            OperationState::Failed,
        ),
    ] {
        operations.catch_up_at(now + passed);
        let one = operations.get(&begun.id).unwrap();
        assert_eq!(one.state(), expected, "after {passed:?}");
    }
    let failed = operations.get(&begun.id).unwrap();
    assert_eq!(failed.error, "sweep 4: core1 does not answer");
}

#[tokio::test]
async fn a_sweep_that_was_asked_for_ends_with_itself() {
    let (hub, operations) = new();
    let (kind, state) = (OperationKind::Sweep, OperationState::Applying);
    let begun = operations
        .begin(&Origin::default(), kind, state, "sweep")
        .unwrap();
    operations.sweeps(&begun.id, 4);
    sweep_ends(&hub, 4, &["core1 does not answer"]);
    operations.catch_up();
    let failed = settled(&operations, &begun.id).await;
    assert_eq!(failed.error, "sweep 4: core1 does not answer");
}

#[tokio::test]
async fn an_operation_that_switches_ports_ends_with_the_sweep_that_has_seen_them() {
    for (seen, sweeps) in [(Some(6), ""), (None, "in force after 3 sweeps")] {
        let (hub, operations) = new();
        let begun = begin(&operations, "", OperationState::Applying);
        operations.switches(&begun.id);
        operations.sweeps(&begun.id, 4);
        sweep_ends(
            &hub,
            4,
            &["the other ends of links at 1 port are not known"],
        );
        operations.catch_up();
        let waits = operations.get(&begun.id).unwrap();
        assert_eq!(waits.state(), OperationState::Applying);
        operations.switched(&begun.id, None, seen);
        sweep_ends(
            &hub,
            5,
            &["the other ends of links at 1 port are not known"],
        );
        sweep_ends(&hub, 6, &[]);
        operations.catch_up();
        let ended = settled(&operations, &begun.id).await;
        assert_eq!(ended.state(), OperationState::Done, "{ended:?}");
        assert!(ended.note.starts_with(sweeps), "{ended:?}");
        assert_eq!(ended.note.is_empty(), sweeps.is_empty(), "{ended:?}");
    }
}

#[tokio::test]
async fn an_operation_whose_ports_were_not_all_switched_has_failed_and_names_them() {
    let port = "edge1 port 5 was not disabled: no answer";
    for (unfinished, expected) in [
        (&[][..], port.to_owned()),
        (
            &["core1 does not answer"],
            format!("sweep 7: core1 does not answer; {port}"),
        ),
    ] {
        let (hub, operations) = new();
        let begun = begin(&operations, "", OperationState::Applying);
        operations.switches(&begun.id);
        operations.sweeps(&begun.id, 3);
        operations.switched(&begun.id, Some(port.to_owned()), Some(4));
        sweep_ends(&hub, 4, unfinished);
        operations.catch_up();
        for sweep in 5..4 + u64::from(attempts::SWEEPS_MAX) {
            sweep_ends(&hub, sweep, unfinished);
        }
        operations.catch_up_at(Instant::now() + attempts::SHORTEST);
        let failed = settled(&operations, &begun.id).await;
        assert_eq!(failed.state(), OperationState::Failed);
        assert_eq!(failed.error, expected);
    }
}

#[tokio::test]
async fn a_link_that_comes_up_meanwhile_fails_no_operation() {
    let (hub, operations) = new();
    let begun = begin(&operations, "", OperationState::Applying);
    operations.sweeps(&begun.id, 4);
    hub.tell(DaemonEvent::Fabric(Event::SweepEnded(SweepReport {
        number: 4,
        unfinished: vec!["the other ends of links at 1 port are not known".to_owned()],
        only_links: true,
        ..SweepReport::default()
    })));
    operations.catch_up();
    let done = settled(&operations, &begun.id).await;
    assert_eq!((done.state(), &*done.error), (OperationState::Done, ""));
    assert_eq!(done.steps_done, STEPS);
}

#[tokio::test]
async fn who_is_no_master_any_more_applies_nothing() {
    let (hub, operations) = new();
    tokio::spawn(follow(operations.clone()));
    tokio::task::yield_now().await;
    let begun = begin(&operations, "", OperationState::Applying);
    operations.sweeps(&begun.id, 4);
    hub.tell(DaemonEvent::Fabric(Event::Role {
        role: SmState::STANDBY,
        master: None,
        why: "another one has a higher priority".to_owned(),
    }));
    let failed = settled(&operations, &begun.id).await;
    assert!(failed.error.contains("higher priority"), "{failed:?}");
}

#[tokio::test]
async fn a_cancelled_plan_is_never_applied() {
    let (_, operations) = new();
    let mut begun = begin(&operations, "", OperationState::Planning);
    let by = v1::OperationAsker {
        reason: "not needed".to_owned(),
        ..v1::OperationAsker::default()
    };
    let cancelled = operations.cancel(&begun.id, by.clone()).unwrap();
    assert_eq!(cancelled.state(), OperationState::Cancelled);
    assert_eq!(cancelled.cancelled, Some(by));
    begun.cancelled().await;
    assert!(!operations.planned(&begun.id, 1, v1::RoutePlan::default()));

    let begun = begin(&operations, "", OperationState::Planning);
    assert!(operations.planned(&begun.id, 2, v1::RoutePlan::default()));
    operations
        .cancel(&begun.id, v1::OperationAsker::default())
        .unwrap();
    let refused = operations.applies(2, &Origin::default());
    assert!(matches!(refused, Err(OperationError::Cancelled { .. })));
}

#[test]
fn the_list_is_bounded_and_loses_what_has_ended_first() {
    let (_, operations) = new();
    begin(&operations, "first", OperationState::Planning);
    for number in 0..2 * KEPT {
        let begun = begin(&operations, &format!("n{number}"), OperationState::Planning);
        operations.failed(&begun.id, "no");
    }
    let all = operations.all();
    assert_eq!(all.len(), KEPT);
    assert_eq!(all[0].1.id, format!("n{}", 2 * KEPT - 1));
    assert_eq!(all[KEPT - 1].1.id, "first");
    let taken = operations.begin(
        &Origin {
            id: "first".to_owned(),
            ..Origin::default()
        },
        OperationKind::Sweep,
        OperationState::Applying,
        "sweep",
    );
    assert!(matches!(taken, Err(OperationError::Taken { .. })));
}
