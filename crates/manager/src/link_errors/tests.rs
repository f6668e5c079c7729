//! The meter, held against a list of all readings.

use proptest::prelude::*;
use weft_config::link_rules::{Action, LinkRules};

use super::*;

const PORT: End = (Guid(7), PortNum(3));
const FAR: End = (Guid(2), PortNum(9));
/// Four lanes of 25.78125 Gb/s.
const RATE: u64 = 103_125_000_000;
/// One in 10^11 of the bits of 12 minutes at that rate.
const SHORT_LIMIT: u64 = 742;

fn rules() -> LinkRules {
    let mut rules = LinkRules::default();
    rules.symbol_errors.action = Action::Quarantine;
    rules.discards.action = Action::DryRun;
    rules.link_quality.action = Action::Quarantine;
    rules
}

fn at(seconds: u64) -> Tick {
    Tick(seconds * 1_000_000_000)
}

fn clean(port: End, far: End) -> PortReading {
    PortReading {
        port,
        far,
        bits_per_second: RATE,
        symbol_errors: 0,
        discards: 0,
        quality: 5,
        has_been_down: false,
    }
}

fn errors(symbol_errors: u64) -> PortReading {
    PortReading {
        symbol_errors,
        ..clean(PORT, FAR)
    }
}

/// Readings every ten seconds; all that is told after the last.
fn after(meter: &mut ErrorMeter, readings: &[PortReading]) -> Vec<LinkExcess> {
    let mut told = Vec::new();
    for (index, reading) in readings.iter().enumerate() {
        let from = at(1000 + 10 * index as u64);
        told = meter.read((from, from + Duration::from_secs(10)), [*reading]);
    }
    told
}

#[test]
fn a_burst_beyond_the_limit_is_told_once_it_has_come_and_until_it_is_over() {
    let mut meter = ErrorMeter::new(rules());
    assert_eq!(after(&mut meter, &[errors(SHORT_LIMIT)]), []);
    let told = meter.read((at(1010), at(1020)), [errors(1)]);
    let [excess] = told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((excess.port, excess.far, excess.link()), (PORT, FAR, FAR));
    assert_eq!(
        (excess.rule, excess.is_over),
        (ErrorRule::SymbolErrors, true)
    );
    assert_eq!(
        excess.to_string(),
        "743 symbol errors within 12 min, bit error rate 1e-11; the limit is 742, 9.993e-12"
    );
    // The long window forgets it after two hours; the port takes no memory then.
    let mut last_over = 0;
    for index in 0..1000 {
        let from = at(1020 + 10 * index);
        let told = meter.read((from, from + Duration::from_secs(10)), [errors(0)]);
        if told.iter().any(|one| one.is_over) {
            last_over = index * 10;
        }
    }
    assert!((650..=710).contains(&last_over), "{last_over}");
    assert!(meter.tracks.is_empty());
}

#[test]
fn each_limit_is_told_of() {
    let told = after(&mut ErrorMeter::new(rules()), &[errors(800)]);
    let windows: Vec<u64> = told.iter().map(|one| one.window.as_secs()).collect();
    assert_eq!(windows, [720, 7500]);
}

#[test]
fn a_reading_with_a_link_that_went_down_adds_nothing_and_begins_anew() {
    let mut meter = ErrorMeter::new(rules());
    let down = PortReading {
        has_been_down: true,
        ..errors(1_000_000)
    };
    assert_eq!(after(&mut meter, &[errors(700), down, errors(700)]), []);
    assert_eq!(after(&mut meter, &[down]), []);
    let moved = PortReading {
        far: (Guid(3), PortNum(1)),
        ..errors(700)
    };
    let told = after(&mut ErrorMeter::new(rules()), &[errors(700), moved]);
    assert_eq!(told, [], "errors of another cable do not count");
}

#[test]
fn quality_counts_when_all_readings_of_the_time_were_bad() {
    let bad = PortReading {
        quality: 2,
        ..clean(PORT, FAR)
    };
    let good = PortReading {
        quality: 3,
        ..clean(PORT, FAR)
    };
    let mut meter = ErrorMeter::new(rules());
    let mut readings = vec![bad; 60];
    readings.push(good);
    readings.extend([bad; 72]);
    assert_eq!(after(&mut meter, &readings), []);
    readings.push(bad);
    let told = after(&mut ErrorMeter::new(rules()), &readings);
    assert_eq!(
        told[0].to_string(),
        "link quality 2 for 12 min; 2 and less is bad"
    );
    let down = PortReading { quality: 0, ..bad };
    readings.push(down);
    assert_eq!(after(&mut ErrorMeter::new(rules()), &readings), []);
}

#[test]
fn rules_that_are_off_are_not_applied_and_the_one_that_acts_goes_first() {
    let both = PortReading {
        discards: 1_000_000,
        ..errors(800)
    };
    let mut off = rules();
    let told = after(&mut ErrorMeter::new(off), &[both]);
    assert_eq!(told[0].rule, ErrorRule::SymbolErrors);
    off.symbol_errors.action = Action::Off;
    let told = after(&mut ErrorMeter::new(off), &[both]);
    assert_eq!(
        told[0].to_string(),
        "1000000 packets dropped within 12 min; the limit is 72000"
    );
    off.discards.action = Action::Off;
    assert_eq!(after(&mut ErrorMeter::new(off), &[both]), []);
}

#[test]
fn a_link_is_told_once_by_its_worse_end_and_the_worst_links_first() {
    let other = (Guid(50), PortNum(1));
    let readings = [
        errors(745),
        PortReading {
            port: FAR,
            far: PORT,
            ..errors(760)
        },
        PortReading {
            port: other,
            far: (Guid(51), PortNum(1)),
            ..errors(770)
        },
    ];
    let told = ErrorMeter::new(rules()).read((at(1000), at(1010)), readings);
    let ports: Vec<End> = told.iter().map(|one| one.port).collect();
    assert_eq!(ports, [other, FAR]);
}

#[test]
fn what_is_kept_and_told_is_bounded() {
    let readings = (0..2 * PORTS_MAX as u64).map(|node| PortReading {
        port: (Guid(node), PortNum(1)),
        far: (Guid(1 << 40), PortNum(1)),
        ..errors(1_000_000 + node)
    });
    let mut meter = ErrorMeter::new(rules());
    let told = meter.read((at(1000), at(1010)), readings);
    assert_eq!((meter.tracks.len(), told.len()), (PORTS_MAX, TOLD_MAX));
    assert_eq!(told[0].measured, 1_000_000 + PORTS_MAX as u64 - 1);
    // What the documentation says.
    assert!(size_of::<Track>() <= 400);
}

#[test]
fn a_port_that_is_not_read_is_not_judged_and_not_forgotten_at_once() {
    let mut meter = ErrorMeter::new(rules());
    assert!(after(&mut meter, &[errors(760)])[0].is_over);
    let told = meter.read((at(1010), at(1020)), []);
    assert_eq!(told.len(), 1);
    assert!(!told[0].is_over);
    assert_eq!(meter.read((at(1020), at(3000)), []), []);
}

proptest! {
    /// Errors that come evenly at a rate below the limit are never judged, and above it they are, within two
    /// windows.
    #[test]
    fn steady_errors_are_judged_by_their_rate(
        percent in prop_oneof![1_u64..99, 110_u64..1000],
        interval in 1_u64..40,
        start in 0_u64..100_000,
    ) {
        let mut rules = rules();
        rules.symbol_errors.long_limit = rules.symbol_errors.short_limit;
        let mut meter = ErrorMeter::new(rules);
        // Errors up to a moment.
        let until = |seconds: u64| SHORT_LIMIT * percent * seconds / 100 / 720;
        let (mut now, mut judged) = (0, false);
        while now < 15_000 && !judged {
            let count = until(now + interval) - until(now);
            let time = (at(start + now), at(start + now + interval));
            judged = !meter.read(time, [errors(count)]).is_empty();
            now += interval;
        }
        prop_assert_eq!(judged, percent > 100, "after {} s", now);
        prop_assert!(!judged || now <= 1440);
    }

    /// Whatever comes, a link is told as beyond its limit only when its readings of the last windows are.
    #[test]
    fn what_is_told_is_beyond_its_limit(
        counts in proptest::collection::vec((prop_oneof![Just(0_u64), 0_u64..300], prop::bool::weighted(0.02)), 1..400),
    ) {
        let mut meter = ErrorMeter::new(rules());
        let mut since_down: Vec<(u64, u64)> = Vec::new();
        for (index, (count, down)) in counts.into_iter().enumerate() {
            let from = 1000 + 10 * index as u64;
            let reading = PortReading { has_been_down: down, ..errors(count) };
            let told = meter.read((at(from), at(from + 10)), [reading]);
            match down {
                true => since_down.clear(),
                false => since_down.push((from, count)),
            }
            let within = |seconds: u64| -> u64 {
                let begin = (from + 10).saturating_sub(seconds + 10);
                since_down.iter().filter(|(at, _)| *at >= begin).map(|(_, count)| count).sum()
            };
            let is_over = told.iter().any(|one| one.is_over);
            prop_assert!(!is_over || within(720) > SHORT_LIMIT || within(7500) > 773);
            prop_assert!(is_over || within(680) <= SHORT_LIMIT + 24, "{} is not told", within(680));
        }
    }
}
