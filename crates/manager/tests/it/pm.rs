//! The performance manager on emulated fabrics: it reads the devices' counters, within its
//! bounds, even if agents are silent.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use crate::pm_common::{UNIX_START, Watched};
use weft_emulator::ErrorCounts;
use weft_emulator::io::{Control, Faults};
use weft_emulator::traffic::TrafficJob;
use weft_fabric::enums::PortState;
use weft_fabric::{PortNum, Vl};
use weft_manager::pm::{LinkView, PmEvent, PmInput, PmSettings, Reading, Sending};
use weft_wire::Layout;
use weft_wire::header::MadHeader;
use weft_wire::pm::{Counter, VlCounter, attribute};

const FABRIC: &str = "fattree:32,radix=8";

/// Number of requests of an attribute.
fn count(watched: &Watched, attribute: u16) -> usize {
    let headers = watched
        .sent
        .iter()
        .map(|packet| MadHeader::decode(&packet.mad).unwrap());
    headers
        .filter(|header| header.attribute_id == attribute)
        .count()
}

#[test]
fn all_active_ports_are_read_and_hold_what_the_devices_counted() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    let image = watched.sweep();
    let report = watched.report();
    assert_eq!((report.failed_ports, report.retries), (0, 0));
    assert_eq!(
        report.ports,
        image.roster.hfi_ports + image.roster.switch_ports
    );
    assert_eq!(image.unix_time, UNIX_START + watched.now.0 / 1_000_000_000);
    let (node, _) = watched.own;
    let network = watched.emulator.network();
    let mut compared = 0;
    for (place, port) in image.roster.ports.iter().enumerate() {
        let member = image.roster.member_of(port);
        let device = network.device(network.find(member.guid).unwrap()).unwrap();
        let at = device.port(port.number).unwrap();
        let active = network.state(at) == PortState::ACTIVE;
        assert_eq!(port.is_active, active || port.number == PortNum(0));
        assert_eq!(
            image.reading(place),
            if port.is_active {
                Reading::Done
            } else {
                Reading::Skipped
            }
        );
        // What answers of the sweep itself counted later is not in the image.
        let settled = [
            Counter::LinkDowned,
            Counter::RcvErrors,
            Counter::XmitDiscards,
        ];
        for counter in settled {
            assert_eq!(
                image.counters(place)[counter as usize],
                network.counter(at, counter)
            );
        }
        let sent = image.counters(place)[Counter::XmitPkts as usize];
        assert!(sent <= network.counter(at, Counter::XmitPkts));
        if member.guid == node {
            assert!(sent > 0, "the manager's own port sent nothing");
        }
        for (vl, lane) in image.lanes(place) {
            let held = network.lane_counter(at, vl, VlCounter::XmitPkts);
            assert!(lane[VlCounter::XmitPkts as usize] <= held);
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * image.roster.ports.len());
}

#[test]
fn the_own_port_counts_what_the_sweep_sends() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    watched.sent.clear();
    let image = watched.sweep();
    let own = image.roster.snapshot.topology.find(watched.own.0).unwrap();
    let member = image
        .roster
        .members
        .iter()
        .position(|member| member.node == own)
        .unwrap();
    let place = image.roster.port_of(member, PortNum(1)).unwrap();
    let delta = image.delta(place).counters;
    // Everything is sent over the wire except the manager's requests to its own host.
    let sent = watched.sent.len() as u64;
    let counted = delta[Counter::XmitPkts as usize];
    assert!(
        counted > sent / 2 && counted <= 2 * sent,
        "{counted} of {sent}"
    );
    let lane0 = image
        .lane_deltas(place)
        .find(|(vl, _)| *vl == Vl(0))
        .unwrap()
        .1;
    assert_eq!(lane0[VlCounter::XmitPkts as usize], counted);
    assert_eq!(
        watched.pm.running_total(place).unwrap()[Counter::XmitPkts as usize],
        counted
    );
}

#[test]
fn a_quiet_sweep_asks_for_data_and_for_errors_of_a_third_of_the_ports() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    assert_eq!(
        count(&watched, attribute::CLASS_PORT_INFO),
        watched.images[0].roster.members.len()
    );
    watched.sent.clear();
    let image = watched.sweep();
    let switches = image.roster.switches as usize;
    let hosts = image.roster.members.len() - switches;
    // Five ports with two lanes each fit in an answer; a switch of eight ports and port 0 takes two.
    assert_eq!(count(&watched, attribute::DATA_PORT_COUNTERS), 2 * switches);
    assert_eq!(count(&watched, attribute::PORT_STATUS), hosts);
    // The nine ports of a switch in three sweeps, three at a time.
    assert_eq!(count(&watched, attribute::ERROR_PORT_COUNTERS), switches);
    assert_eq!(watched.sent.len(), 3 * switches + hosts);
    assert_eq!(watched.report().sent, watched.sent.len() as u64);
}

#[test]
fn errors_that_the_summary_hides_are_seen_within_three_sweeps() {
    const FEW: u64 = 2_400;
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    let image = watched.sweep();
    let switch = image.roster.members.iter().find(|one| one.is_switch);
    let (switch, lid) = switch.map(|one| (one.guid, one.lid)).unwrap();
    let lli = Counter::LocalLinkIntegrityErrors as usize;
    for port in (1..=4).map(PortNum) {
        let errors = ErrorCounts {
            symbol_errors: FEW,
            ..ErrorCounts::default()
        };
        watched.control(Control::CountErrors {
            node: switch,
            port,
            errors,
        });
    }
    let before = image.unix_time;
    let seen: Vec<Vec<bool>> = (0..3)
        .map(|_| {
            let image = watched.sweep();
            let ports = (1..=4).map(PortNum);
            let ports = ports.map(|port| {
                let place = image.find(lid, port).unwrap();
                let counted = image.counters(place)[lli];
                let read_at = image.errors_at(place).unwrap();
                assert!(counted == 0 || counted == FEW, "{counted}");
                assert_eq!(counted > 0, read_at > before, "port {port}");
                counted > 0
            });
            ports.collect()
        })
        .collect();
    assert!(!seen[0].iter().all(|seen| *seen), "each sweep reads a part");
    assert_eq!(seen[2], [true; 4]);
}

#[test]
fn sweeps_begin_an_interval_apart_and_stay_within_their_bounds() {
    let settings = PmSettings {
        interval: Duration::from_secs(3),
        ..PmSettings::default()
    };
    let bound = settings.requests.nodes as usize * usize::from(settings.requests.per_node);
    let mut watched = Watched::new(FABRIC, settings);
    let first = watched.sweep();
    let second = watched.sweep();
    assert_eq!(second.unix_time - first.unix_time, 3);
    assert_eq!((first.number, second.number, second.interval_s), (1, 2, 3));
    assert_eq!((first.span_ns, second.span_ns), (0, 3_000_000_000));
    assert!(watched.outstanding_max <= bound && watched.outstanding_max > 1);
}

#[test]
fn links_carry_what_hosts_send() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    let first = watched.sweep();
    let quiet = |link: LinkView<'_>| link.sending == [Sending::default(); 2];
    assert!(first.links().all(quiet), "nothing is known before it");
    // Two hosts to a third one, at the same switch.
    let pairs = "pairs node1:node3 node2:node3".parse().unwrap();
    let job = TrafficJob::new("incast", pairs);
    watched.control(Control::TrafficStart(job));
    watched.sweep();
    let image = watched.sweep();
    let network = watched.emulator.network();
    let links = network.topology().links().count();
    assert_eq!(image.links().count(), links);
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 1e-3;
    let mut seen = [0; 3];
    for LinkView { ends, sending } in image.links() {
        assert!(sending[0].share >= sending[1].share);
        let names = [ends[0].name(), ends[1].name()].map(|name| name.replace(" hfi1_0", ""));
        let (share, wait, kind) = match [&names[0][..], &names[1][..]] {
            ["node1" | "node2", _] => (0.5, 0.5, 0),
            [_, "node3"] => (1.0, 0.0, 1),
            _ => (0.0, 0.0, 2),
        };
        seen[kind] += 1;
        let [sent, back] = sending;
        assert!(
            near(sent.share, share) && near(sent.wait, wait),
            "{names:?}: {sent:?}"
        );
        assert!(
            near(sent.bytes_per_second / 12.5e9, share),
            "{names:?}: {sent:?}"
        );
        assert!(near(back.share, 0.0), "{names:?}: {back:?}");
    }
    assert_eq!(seen, [2, 1, links - 3]);
}

#[test]
fn silent_agents_do_not_hold_up_the_rest() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    let first = watched.sweep();
    let hosts: Vec<_> = first
        .roster
        .members
        .iter()
        .filter(|member| !member.is_switch)
        .collect();
    let silent: Vec<_> = hosts
        .iter()
        .map(|member| member.guid)
        .filter(|guid| *guid != watched.own.0)
        .collect();
    for node in silent.iter().skip(1).copied() {
        watched.control(Control::Silence { node, silent: true });
    }
    for _ in 0..2 {
        let image = watched.sweep();
        assert_eq!(image.totals.failed_nodes as usize, silent.len() - 1);
        for (place, port) in image.roster.ports.iter().enumerate() {
            let quiet = silent[1..].contains(&image.roster.member_of(port).guid);
            let expected = if quiet {
                Reading::Failed
            } else {
                Reading::Done
            };
            assert_eq!(image.reading(place), expected);
        }
    }
    // The second time they get less patience, and the others come first.
    let image = watched.images.last().unwrap();
    assert!(image.duration_us < 10_000_000, "{}", image.duration_us);
    let failures = watched
        .events
        .iter()
        .filter(|event| matches!(event, PmEvent::NodeFailed { .. }));
    assert!(failures.count() <= 2 * PmSettings::default().failure_messages as usize);
    for node in silent {
        watched.control(Control::Silence {
            node,
            silent: false,
        });
    }
    assert_eq!(watched.sweep().totals.failed_ports, 0);
}

#[test]
fn lost_answers_are_asked_for_again() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    watched.control(Control::Faults(Faults {
        loss: 0.05,
        duplicate: 0.05,
        reorder: 0.05,
        delay_max_ns: 100_000,
        ..Faults::default()
    }));
    let image = watched.sweep();
    assert!(watched.report().retries > 0);
    assert_eq!(image.totals.failed_ports, 0);
}

#[test]
fn a_standby_reads_nothing_and_goes_on_when_it_is_master_again() {
    let mut watched = Watched::new(FABRIC, PmSettings::default());
    watched.sweep();
    watched.tell(PmInput::StandBy);
    watched.sent.clear();
    let later = weft_fabric::Tick(watched.now.0 + 100_000_000_000);
    assert!(!watched.run(later, |watched| !watched.sent.is_empty()));
    assert_eq!(watched.pm.deadline(), None);
    watched.publish();
    assert_eq!(watched.sweep().number, 2);
}

#[test]
fn hosts_are_left_alone_when_they_are_not_to_be_read() {
    let mut settings = PmSettings::default();
    settings.process.hfis = false;
    let mut watched = Watched::new(FABRIC, settings);
    let image = watched.sweep();
    assert_eq!(image.totals.skipped_ports, image.roster.hfi_ports);
    assert_eq!(count(&watched, attribute::PORT_STATUS), 0);
}

#[test]
fn the_same_fabric_gives_the_same_datagrams() {
    let run = || {
        let mut watched = Watched::new(FABRIC, PmSettings::default());
        watched.sweep();
        watched.sweep();
        watched.sent
    };
    assert_eq!(run(), run());
}
