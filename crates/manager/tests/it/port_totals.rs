//! Running totals of port counters, held against the registers of emulated devices and a sum kept by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Guid, PortNum};
use weft_manager::pm::settings::ClearSettings;
use weft_manager::pm::{Counters, Image, PmSettings};
use weft_manager::port_totals::{KeptError, PortTotals};
use weft_wire::pm::{Counter, VlCounter};

use crate::pm_common::{UNIX_START, Watched};

const FABRIC: &str = "fattree:32,radix=8";

type Key = (Guid, PortNum);

/// A watched fabric and the totals of its images.
struct Lab {
    watched: Watched,
    totals: PortTotals,
}

impl Lab {
    fn new(settings: PmSettings) -> Self {
        let mut lab = Self {
            watched: Watched::new(FABRIC, settings),
            totals: PortTotals::default(),
        };
        lab.sweep();
        lab
    }

    fn sweep(&mut self) -> Arc<Image> {
        let image = self.watched.sweep();
        self.totals.follow(Arc::clone(&image));
        image
    }

    /// Place of the first active port of a switch that leads somewhere.
    fn place(&self) -> usize {
        let roster = &self.totals.image().unwrap().roster;
        let mut ports = roster.ports.iter();
        let found = ports.position(|port| {
            roster.member_of(port).is_switch && port.is_active && port.neighbor.is_some()
        });
        found.unwrap()
    }

    fn key(&self, place: usize) -> Key {
        let roster = &self.totals.image().unwrap().roster;
        let port = &roster.ports[place];
        (roster.member_of(port).guid, port.number)
    }

    /// Another client sets all counters of a port to zero.
    fn clear(&mut self, (node, port): Key) {
        let network = self.watched.emulator.network();
        let device = network.device(network.find(node).unwrap()).unwrap();
        let at = device.port(port).unwrap();
        let network = self.watched.emulator.network_mut();
        network.clear_counters(at, !0);
    }

    fn total(&self, place: usize, counter: Counter) -> u64 {
        self.totals.port(place).unwrap().counters[counter as usize]
    }

    /// Totals of all ports by name.
    fn all(&self) -> BTreeMap<Key, Counters> {
        let places = 0..self.totals.image().unwrap().roster.ports.len();
        let known =
            places.filter_map(|place| Some((self.key(place), self.totals.port(place)?.counters)));
        known.collect()
    }
}

#[test]
fn totals_begin_at_the_registers_and_go_on_when_others_clear_them() {
    let mut lab = Lab::new(PmSettings::default());
    let (place, began) = (lab.place(), lab.watched.images[0].unix_time);
    let key = lab.key(place);
    lab.watched.count(key, 700, 40);
    lab.sweep();
    let errors = Counter::LocalLinkIntegrityErrors;
    assert_eq!(lab.total(place, errors), lab.watched.register(key, errors));
    assert_eq!(lab.totals.port(place).unwrap().bridges, 0);
    let before = lab.all();
    lab.clear(key);
    lab.watched.count(key, 11, 2);
    let image = lab.sweep();
    assert_eq!(lab.watched.register(key, errors), 11);
    assert_eq!(lab.total(place, errors), 711);
    assert_eq!(lab.total(place, Counter::XmitDiscards), 42);
    let total = lab.totals.port(place).unwrap();
    assert_eq!((total.bridges, total.bridged_unix_s), (1, image.unix_time));
    assert_eq!(total.since_unix_s, began);
    assert!(began >= UNIX_START);
    for (key, counters) in lab.all() {
        let lower = counters
            .iter()
            .zip(before[&key])
            .any(|(now, then)| *now < then);
        assert!(!lower, "{key:?}");
    }
    // Lanes too: what the port counted on all of them is what it counted.
    let sent: u64 = lab
        .totals
        .lanes(place)
        .iter()
        .map(|(_, lane)| lane[VlCounter::XmitPkts as usize])
        .sum();
    assert_eq!(sent, lab.total(place, Counter::XmitPkts));
    assert!(
        sent > lab.watched.register(key, Counter::XmitPkts),
        "{sent}"
    );
}

/// Totals that were kept before the last reading, of a device that was set to zero after it.
#[test]
fn totals_that_are_taken_over_do_not_begin_below_what_is_known_to_have_been_counted() {
    let errors = Counter::LocalLinkIntegrityErrors;
    let mut lab = Lab::new(PmSettings::default());
    let place = lab.place();
    let key = lab.key(place);
    lab.watched.count(key, 700, 40);
    lab.sweep();
    let kept = lab.totals.encode().unwrap();
    lab.watched.count(key, 50, 5);
    lab.sweep();
    let last = lab.totals.clone();
    for is_cleared in [false, true] {
        if is_cleared {
            lab.clear(key);
            lab.watched.count(key, 11, 2);
        }
        let known = lab.all();
        lab.totals = PortTotals::decode(&kept).unwrap();
        lab.totals.not_below(known);
        lab.sweep();
        let (expected, bridges) = match is_cleared {
            false => (750, 0),
            true => (750, 1),
        };
        assert_eq!(lab.total(place, errors), expected);
        assert_eq!(lab.totals.port(place).unwrap().bridges, bridges);
        // A master that was standby meanwhile has what it counted itself.
        lab.totals = last.succeeded_by(PortTotals::decode(&kept).unwrap());
        lab.sweep();
        assert_eq!(lab.total(place, errors), expected);
    }
    // From there on as ever.
    lab.watched.count(key, 3, 1);
    lab.sweep();
    assert_eq!(lab.total(place, errors), 753);
}

#[test]
fn what_the_manager_clears_itself_is_no_bridge() {
    let settings = PmSettings {
        clear: ClearSettings {
            eighths: 0,
            wide: true,
            ..ClearSettings::default()
        },
        ..PmSettings::default()
    };
    let mut lab = Lab::new(settings);
    let place = lab.place();
    let key = lab.key(place);
    for round in 1..=4 {
        lab.watched.count(key, 100, 1);
        lab.sweep();
        let errors = Counter::LocalLinkIntegrityErrors;
        assert_eq!(
            lab.watched.register(key, errors),
            0,
            "the manager has cleared it"
        );
        assert_eq!(lab.total(place, errors), 100 * round);
    }
    assert_eq!(lab.totals.port(place).unwrap().bridges, 0);
}

#[test]
fn an_image_that_was_lost_on_the_way_costs_nothing() {
    let mut lab = Lab::new(PmSettings::default());
    let place = lab.place();
    let key = lab.key(place);
    lab.watched.count(key, 5, 1);
    lab.watched.sweep();
    lab.watched.count(key, 6, 1);
    lab.sweep();
    assert_eq!(lab.total(place, Counter::LocalLinkIntegrityErrors), 11);
}

#[test]
fn a_port_that_leaves_and_returns_with_new_counters_goes_on() {
    let mut lab = Lab::new(PmSettings::default());
    let (whole, place) = (Arc::clone(&lab.watched.snapshot), lab.place());
    let key = lab.key(place);
    lab.watched.count(key, 30, 1);
    lab.sweep();
    let mut less = weft_fabric::Snapshot::clone(&whole);
    let node = less.topology.find(key.0).unwrap();
    let gone = Arc::make_mut(&mut less.topology);
    for port in [key.1, PortNum(0)] {
        gone.node_mut(node)
            .unwrap()
            .port_mut(port)
            .unwrap()
            .info
            .lid = weft_fabric::Lid(0);
    }
    lab.watched.snapshot = Arc::new(less);
    lab.watched.publish();
    lab.sweep();
    lab.sweep();
    assert!(
        !lab.all().contains_key(&key),
        "the switch has no LID, so nobody reads it"
    );
    lab.clear(key);
    lab.watched.count(key, 4, 1);
    lab.watched.snapshot = whole;
    lab.watched.publish();
    lab.sweep();
    lab.sweep();
    assert_eq!(
        lab.all()[&key][Counter::LocalLinkIntegrityErrors as usize],
        34
    );
}

#[test]
fn totals_outlast_the_daemon_and_what_was_cleared_meanwhile() {
    let mut lab = Lab::new(PmSettings::default());
    let place = lab.place();
    let key = lab.key(place);
    lab.watched.count(key, 1_000_000_000_000, 7);
    lab.sweep();
    lab.clear(key);
    lab.watched.count(key, 50, 1);
    lab.sweep();
    let (before, since) = (lab.all(), lab.totals.port(place).unwrap().since_unix_s);
    let bytes = lab.totals.encode().unwrap();
    let ports = before.len();
    assert!(
        bytes.len() < 64 * ports,
        "{} bytes for {ports} ports",
        bytes.len()
    );
    // A daemon that begins anew, after somebody has cleared the port again.
    lab.clear(key);
    lab.totals = PortTotals::decode(&bytes).unwrap();
    lab.sweep();
    for (key, counters) in lab.all() {
        let lower = counters
            .iter()
            .zip(before[&key])
            .any(|(now, then)| *now < then);
        assert!(!lower, "{key:?}");
    }
    let total = lab.totals.port(place).unwrap();
    assert_eq!(
        total.counters[Counter::LocalLinkIntegrityErrors as usize],
        1_000_000_000_050
    );
    assert_eq!((total.bridges, total.since_unix_s), (2, since));
    assert!(total.lanes_since_unix_s > since);
    for wrong in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[wrong] ^= 0x10;
        assert!(PortTotals::decode(&damaged).is_err(), "byte {wrong}");
        assert!(
            PortTotals::decode(&bytes[..wrong]).is_err(),
            "{wrong} bytes"
        );
    }
    assert_eq!(
        PortTotals::decode(b"WEFTKEPT").unwrap_err(),
        KeptError::Foreign
    );
}
