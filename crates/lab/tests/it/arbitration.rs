//! Service levels get the shares of a link that they were given, measured where it is too narrow for
//! all of them.
#![allow(clippy::unwrap_used)]

use weft_lab::experiment::{Outcome, Scenario, perform};

/// Share of a level, and the load that its hosts offer.
#[derive(Debug, Clone, Copy)]
enum Level {
    /// Percent; always something to send.
    Share(u8),
    /// Goes before all others, at this load.
    High(f64),
}
use Level::{High, Share};

/// Four hosts at each end of one link send to those at the other end, in packets of `bytes`, in all
/// levels at once. The part of the link that each level has, percent.
fn parts(levels: &[Level], bytes: u32) -> Vec<f64> {
    let mut text = "fabric mesh:2,hosts=4\nsl 0\n".to_owned();
    for (sl, level) in levels.iter().enumerate() {
        text += &match level {
            Share(percent) => format!("qos-group base-sl={sl} bandwidth={percent}%\n"),
            High(_) => format!("qos-group base-sl={sl} high-priority=1\n"),
        };
    }
    for (sl, level) in levels.iter().enumerate() {
        let load = match level {
            Share(_) => 1.0,
            High(load) => *load,
        };
        let pattern = format!("shift by=4 bytes={bytes} load={load}");
        text += &match sl {
            0 => format!("traffic {pattern} span=2ms\n"),
            _ => format!("job l{sl} {pattern} sl={sl}\n"),
        };
    }
    let scenario: Scenario = text.parse().unwrap();
    let outcome = perform(&scenario.cases[0], 1, 1).unwrap();
    let accepted = |sl| accepted(&outcome, sl);
    let each: Vec<f64> = (0..levels.len()).map(accepted).collect();
    let all: f64 = each.iter().sum();
    // The link carries a quarter of the hosts' capacity.
    assert!((24.0..25.5).contains(&all), "{levels:?}: {each:?}");
    each.iter().map(|part| 100.0 * part / all).collect()
}

/// Throughput, percent of the capacity of the hosts' links.
fn accepted(outcome: &Outcome, sl: usize) -> f64 {
    let metric = match sl {
        0 => "accepted".to_owned(),
        sl => format!("l{sl}.accepted"),
    };
    outcome.get(&metric).unwrap().value
}

#[test]
fn levels_get_their_shares() {
    for shares in [
        &[30, 70][..],
        &[50, 20, 30],
        &[40, 10, 20, 30],
        &[50, 15, 35],
        &[80, 5, 15],
        &[67, 33],
    ] {
        for bytes in [10_240, 8_256, 4_096, 1_024] {
            let levels: Vec<Level> = shares.iter().map(|share| Share(*share)).collect();
            let parts = parts(&levels, bytes);
            println!("{shares:?} in packets of {bytes}: {parts:.1?}");
            for (part, share) in parts.iter().zip(shares) {
                let off = (part - f64::from(*share)).abs();
                assert!(off < 3.0, "{shares:?} in packets of {bytes}: {parts:.1?}");
            }
        }
    }
}

/// A level with priority gets its full load, and the others share the rest.
#[test]
fn a_level_with_priority_goes_first() {
    for bytes in [10_240, 2_048] {
        let parts = parts(&[Share(20), High(0.1), Share(80)], bytes);
        println!("packets of {bytes}: {parts:.1?}");
        for (part, wanted) in parts.iter().zip([0.2 * 60.0, 40.0, 0.8 * 60.0]) {
            assert!((part - wanted).abs() < 3.0, "{bytes}: {parts:.1?}");
        }
    }
}
