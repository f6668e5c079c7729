//! Traffic that moves counters as time passes.

use weft_emulator::JOBS_MAX;
use weft_emulator::io::{Control, ControlError, Input, TrafficError};
use weft_emulator::traffic::{PatternError, TrafficJob};
use weft_fabric::Tick;
use weft_wire::sm::{AttributeId, LinearFdb};

use crate::agents::performance::{HFI, SWITCH, player, port_status};
use crate::agents::player::{ONE, Player};

const MILLISECOND: u64 = 1_000_000;
/// Flits that a link carries in a millisecond.
const FULL: u64 = 1_562_500;

fn job(name: &str, pattern: &str) -> TrafficJob {
    TrafficJob::new(name, pattern.parse().unwrap())
}

fn start(player: &mut Player, name: &str, pattern: &str) {
    player.control(Control::TrafficStart(job(name, pattern)));
}

/// Lets time pass; due events happen.
fn pass(player: &mut Player, ns: u64) {
    let now = Tick(player.emulator.now().0 + ns);
    player.emulator.handle(now, Input::Tick).unwrap();
}

/// Data, packets and waits that a port of the switch has sent in the next millisecond.
fn sent(player: &mut Player, port: u8) -> (u64, u64, u64) {
    let before = port_status(player, SWITCH, port).0;
    pass(player, MILLISECOND);
    let after = port_status(player, SWITCH, port).0;
    (
        after.port_xmit_data - before.port_xmit_data,
        after.port_xmit_pkts - before.port_xmit_pkts,
        after.port_xmit_wait - before.port_xmit_wait,
    )
}

fn is_near(value: u64, wanted: u64) -> bool {
    // A few flits are management traffic.
    value.abs_diff(wanted) <= 200
}

#[test]
fn counters_advance_until_traffic_stops() {
    let mut player = player();
    start(&mut player, "all", "pairs node1:node2");
    let (data, packets, waits) = sent(&mut player, 2);
    assert!(is_near(data, FULL), "{data}");
    assert!(packets.abs_diff(FULL / 1_032) <= 4, "{packets}");
    assert_eq!(waits, 0);
    let lanes = port_status(&mut player, SWITCH, 2).1;
    assert!(lanes[0].port_vl_xmit_data >= FULL, "{lanes:?}");
    // A second sender to the same host: both wait half of the time.
    start(&mut player, "more", "pairs node3:node2");
    let before = port_status(&mut player, HFI, 1).0;
    pass(&mut player, MILLISECOND);
    let after = port_status(&mut player, HFI, 1).0;
    assert!(is_near(
        after.port_xmit_data - before.port_xmit_data,
        FULL / 2
    ));
    assert!(is_near(
        after.port_xmit_wait - before.port_xmit_wait,
        FULL / 2
    ));
    let report = player.emulator.traffic();
    let rates: Vec<f64> = report.jobs.iter().map(|job| job.bytes_per_second).collect();
    // Of 12.5 GB/s payload has 8,192 of 8,256 bytes.
    for rate in rates {
        assert!(
            (rate - 12.5e9 / 2.0 * 8_192.0 / 8_256.0).abs() < 1.0,
            "{rate}"
        );
    }
    player.control(Control::TrafficStop {
        name: Some("more".to_owned()),
    });
    assert!(is_near(sent(&mut player, 2).0, FULL));
    player.control(Control::TrafficStop { name: None });
    let (data, ..) = sent(&mut player, 2);
    assert!(data < 200, "{data}");
    assert_eq!(player.emulator.deadline(), None, "nothing goes on");
}

#[test]
fn rates_follow_tables_and_links() {
    let mut player = player();
    // 1 to 2, 2 to 3, 3 to 1.
    start(&mut player, "all", "shift by=1");
    assert!(is_near(sent(&mut player, 2).0, FULL));
    // LID 2 has no route any more.
    let mut block = [LinearFdb::UNREACHABLE; 64];
    (block[1], block[3], block[4]) = (1, 3, 0);
    assert_eq!(player.set(&[1], AttributeId::LINEAR_FDB, ONE, &block).0, 0);
    pass(&mut player, 10 * MILLISECOND);
    assert!(sent(&mut player, 2).0 < 200);
    assert_eq!(player.emulator.traffic().jobs[0].blocked, 1);
    let (node, port) = (player.node_info(&[1]).node_guid, weft_fabric::PortNum(3));
    player.control(Control::LinkDown { node, port });
    // The host there neither sends nor receives.
    assert_eq!(player.emulator.traffic().jobs[0].blocked, 3);
}

#[test]
fn jobs_that_make_no_sense_are_refused() {
    let mut player = player();
    start(&mut player, "one", "shift");
    let range = |what, value, allowed| ControlError::Range {
        what,
        value,
        allowed,
    };
    let with = |change: fn(&mut TrafficJob)| {
        let mut job = job("two", "uniform");
        change(&mut job);
        job
    };
    let cases = [
        (
            job("one", "uniform"),
            TrafficError::Exists("one".to_owned()).into(),
        ),
        (
            job("two", "pairs node1:nobody"),
            TrafficError::Pattern(PatternError::NoHost {
                name: "nobody".to_owned(),
                near: [1, 2, 3].map(|host| format!("node{host} hfi1_0")).to_vec(),
            })
            .into(),
        ),
        (
            job("two", "pairs node1:node1"),
            TrafficError::Pattern(PatternError::Itself("node1".to_owned())).into(),
        ),
        (
            with(|job| job.name = String::new()),
            range("length of the name", 0.0, "1 to 64 characters"),
        ),
        (
            job("\u{1b}[2J\n", "uniform"),
            TrafficError::HiddenName("\u{1b}[2J\n".to_owned()).into(),
        ),
        (
            with(|job| job.rate_percent = 0.0),
            range("rate", 0.0, "over 0, up to 100 percent"),
        ),
        (
            with(|job| job.payload = 10_241),
            range("payload", 10_241.0, "8 to 10240 bytes"),
        ),
    ];
    let now = player.emulator.now();
    for (job, expected) in cases {
        let done = player
            .emulator
            .handle(now, Input::Control(Control::TrafficStart(job)));
        assert_eq!(done, Err(expected));
    }
    let name = Some("two".to_owned());
    let stop = Input::Control(Control::TrafficStop { name });
    let expected = TrafficError::NoJob("two".to_owned()).into();
    assert_eq!(player.emulator.handle(now, stop), Err(expected));
    for number in 1..JOBS_MAX {
        start(&mut player, &number.to_string(), "hotspot to=node1");
    }
    let more = Input::Control(Control::TrafficStart(job("more", "uniform")));
    let full = TrafficError::TooManyJobs { max: JOBS_MAX };
    assert_eq!(player.emulator.handle(now, more), Err(full.into()));
    assert_eq!(player.emulator.traffic().jobs.len(), JOBS_MAX);
}

#[test]
fn too_many_ways_are_refused() {
    let mut player = Player::new("fattree:2048");
    let now = player.emulator.now();
    let all = Input::Control(Control::TrafficStart(job("all", "uniform")));
    let (ways, max) = (2_048 * 2_047, weft_dataplane::fluid::live::WAYS_MAX);
    let expected = TrafficError::TooManyWays { ways, max };
    assert_eq!(player.emulator.handle(now, all), Err(expected.into()));
}
