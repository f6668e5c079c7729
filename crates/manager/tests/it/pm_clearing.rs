//! Counters that somebody wants set to zero: at the device, in the running totals of clients, and as the place from which
//! totals are counted anew, while totals go on.

#![allow(clippy::unwrap_used)]

use weft_emulator::io::Control;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::pm::{
    CLEAR_ORDERS_MAX, ClearOrder, ClearOutcome, PmInput, PmSettings, clear_selection,
};
use weft_manager::port_totals::PortTotals;
use weft_wire::pm::Counter;

use crate::pm_common::Watched;

const FABRIC: &str = "fattree:32,radix=8";
const ERRORS: Counter = Counter::LocalLinkIntegrityErrors;
const DISCARDS: Counter = Counter::XmitDiscards;

type Key = (Guid, PortNum);

struct Lab {
    watched: Watched,
    totals: PortTotals,
}

impl Lab {
    fn new() -> Self {
        let mut lab = Self {
            watched: Watched::new(FABRIC, PmSettings::default()),
            totals: PortTotals::default(),
        };
        lab.sweep();
        lab
    }

    fn sweep(&mut self) {
        let image = self.watched.sweep();
        self.totals.follow(image);
    }

    /// Ports between switches, with their places.
    fn ports(&self) -> Vec<(usize, Key)> {
        let roster = &self.totals.image().unwrap().roster;
        let ports = roster.ports.iter().enumerate();
        let linked = ports.filter(|(_, port)| {
            roster.member_of(port).is_switch && port.is_active && port.neighbor.is_some()
        });
        let keys = linked.map(|(place, port)| (place, (roster.member_of(port).guid, port.number)));
        keys.collect()
    }

    fn order(&mut self, id: u64, ports: &[Key], counters: &[Counter]) {
        let order = ClearOrder {
            id,
            ports: ports.to_vec(),
            select: clear_selection(counters.iter().copied()),
        };
        self.watched.tell(PmInput::Clear(order));
    }

    fn outcome(&mut self) -> ClearOutcome {
        self.watched.cleared.pop().unwrap()
    }

    fn total(&self, place: usize, counter: Counter) -> u64 {
        self.totals.port(place).unwrap().counters[counter as usize]
    }

    fn since(&self, place: usize, counter: Counter) -> u64 {
        self.totals.since_clear(place).unwrap().counters[counter as usize]
    }

    fn running(&self, place: usize, counter: Counter) -> u64 {
        self.watched.pm.running_total(place).unwrap()[counter as usize]
    }
}

#[test]
fn chosen_counters_of_chosen_ports_are_zero_at_the_device_and_totals_go_on() {
    let mut lab = Lab::new();
    let ports = lab.ports();
    let ((place, key), (other_place, other)) = (ports[0], ports[1]);
    for key in [key, other] {
        lab.watched.count(key, 700, 40);
    }
    lab.sweep();
    let asked_at = lab.watched.now;
    lab.order(7, &[key], &[ERRORS]);
    lab.sweep();
    assert!(
        lab.watched.now.since(asked_at).as_secs() < 1,
        "the reading does not wait for its time"
    );
    let outcome = lab.outcome();
    let number = lab.totals.image().unwrap().number;
    assert_eq!((outcome.id, outcome.image), (7, number));
    assert_eq!(outcome.cleared, [key]);
    assert!(outcome.failed.is_empty() && outcome.skipped.is_empty());
    // The device has lost the one counter of the one port.
    assert_eq!(
        (
            lab.watched.register(key, ERRORS),
            lab.watched.register(key, DISCARDS)
        ),
        (0, 40)
    );
    assert_eq!(lab.watched.register(other, ERRORS), 700);
    lab.watched.count(key, 11, 2);
    lab.sweep();
    assert_eq!(
        (lab.total(place, ERRORS), lab.since(place, ERRORS)),
        (711, 11)
    );
    assert_eq!(
        (lab.total(place, DISCARDS), lab.since(place, DISCARDS)),
        (42, 42)
    );
    assert_eq!(lab.running(place, ERRORS), 11);
    assert_eq!(lab.running(other_place, ERRORS), 700);
    assert_eq!(lab.totals.since_clear(other_place), None);
    let bridges = lab.totals.port(place).unwrap().bridges;
    assert_eq!(bridges, 0, "nobody else has cleared it");
    // A later order moves the beginning of its counters alone.
    lab.order(8, &[key], &[DISCARDS]);
    lab.sweep();
    assert_eq!(
        (lab.since(place, ERRORS), lab.since(place, DISCARDS)),
        (11, 0)
    );
}

#[test]
fn what_was_counted_before_a_clear_is_remembered_over_a_restart() {
    let mut lab = Lab::new();
    let (place, key) = lab.ports()[0];
    lab.watched.count(key, 700, 40);
    lab.sweep();
    assert_eq!(lab.totals.encode().unwrap()[8..12], [0, 0, 0, 1]);
    lab.order(1, &[key], &Counter::ALL);
    lab.sweep();
    lab.watched.count(key, 5, 1);
    lab.sweep();
    let bytes = lab.totals.encode().unwrap();
    let begun = lab.totals.since_clear(place).unwrap();
    assert_eq!(bytes[8..12], [0, 0, 0, 2]);
    lab.totals = PortTotals::decode(&bytes).unwrap();
    lab.sweep();
    let after = lab.totals.since_clear(place).unwrap();
    assert_eq!(after.unix_s, begun.unix_s);
    assert_eq!(
        (lab.total(place, ERRORS), lab.since(place, ERRORS)),
        (705, 5)
    );
    for wrong in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[wrong] ^= 0x10;
        assert!(PortTotals::decode(&damaged).is_err(), "byte {wrong}");
    }
}

#[test]
fn ports_that_are_not_reached_or_not_read_are_told() {
    let mut lab = Lab::new();
    let ports = lab.ports();
    let ((_, silent), (_, well)) = (ports[0], ports[ports.len() - 1]);
    assert_ne!(silent.0, well.0);
    let absent = (Guid(0xABCD), PortNum(1));
    lab.watched.control(Control::Silence {
        node: silent.0,
        silent: true,
    });
    lab.order(1, &[silent, well, absent], &[ERRORS]);
    lab.sweep();
    let outcome = lab.outcome();
    assert_eq!(outcome.cleared, [well]);
    assert_eq!(outcome.failed, [silent]);
    assert_eq!(outcome.skipped, [absent]);
}

#[test]
fn orders_are_bounded_and_answered_where_nobody_reads() {
    let mut lab = Lab::new();
    let (_, key) = lab.ports()[0];
    for id in 0..=CLEAR_ORDERS_MAX as u64 + 1 {
        lab.order(id, &[key], &[ERRORS]);
    }
    lab.sweep();
    lab.sweep();
    let outcomes = &lab.watched.cleared;
    assert_eq!(outcomes.len(), CLEAR_ORDERS_MAX + 2);
    let failed = outcomes.iter().filter(|outcome| !outcome.failed.is_empty());
    assert_eq!(
        failed.count(),
        1,
        "one more than fit, as the first began at once"
    );
    lab.watched.cleared.clear();
    // Another manager has the fabric now.
    lab.order(90, &[key], &[ERRORS]);
    lab.watched.tell(PmInput::StandBy);
    lab.order(91, &[key], &[ERRORS]);
    let until = Tick(lab.watched.now.0 + 1);
    lab.watched.run(until, |watched| watched.cleared.len() == 2);
    let told: Vec<_> = lab
        .watched
        .cleared
        .iter()
        .map(|one| (one.id, one.image))
        .collect();
    assert_eq!(told, [(90, 0), (91, 0)]);
    assert!(lab.watched.cleared.iter().all(|one| one.failed == [key]));
}
