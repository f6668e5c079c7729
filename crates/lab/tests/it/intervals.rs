//! What is told of links, jobs, ranks and single messages over time: sums of intervals are the totals, and looking
//! changes nothing.
#![allow(clippy::unwrap_used)]

use weft_dataplane::packets::{MICRO, Picos};
use weft_lab::experiment::intervals::{Came, Intervals};
use weft_lab::experiment::{Outcome, Scenario, perform};

fn run(text: &str) -> Outcome {
    run_on(text, 1)
}

fn run_on(text: &str, threads: usize) -> Outcome {
    let scenario: Scenario = text.parse().unwrap();
    perform(&scenario.cases[0], 1, threads).unwrap()
}

/// Two jobs of messages and one of packets, one of the first beginning late.
const JOBS: &str = "fabric one-switch:4\nranks 2\ntraffic osu_bw bytes=64K window=4 iterations=8\n\
    job late osu_latency bytes=8K iterations=20 begin=40us\njob noise uniform load=0.2 bytes=1056\n";

/// Time of the largest packet on a link, ps.
const PACKET: f64 = 0.7e6;

fn sum(came: &[Came]) -> Came {
    came.iter().fold(Came::default(), |sum, one| Came {
        count: sum.count + one.count,
        bytes: sum.bytes + one.bytes,
    })
}

/// That moments rise, and that each table has an entry for each interval.
fn check_shape(intervals: &Intervals) {
    assert!(intervals.moments.windows(2).all(|two| two[0] < two[1]));
    let count = intervals.spans().count();
    assert_eq!(intervals.moments.len(), count + 1);
    assert_eq!(intervals.fabric.len(), count);
    assert!(intervals.jobs.iter().all(|job| job.came.len() == count));
    let links = &intervals.links;
    assert!(links.iter().all(|link| link.percent.len() == count));
    let loads = links
        .iter()
        .flat_map(|link| intervals.spans().zip(&link.percent));
    for ((begin, end), load) in loads {
        // A packet counts where it begins to leave.
        let span = (end - begin) as f64;
        let most = 100.0 * (span + PACKET) / span;
        assert!((0.0..most).contains(load), "{load} % in {span} ps");
    }
}

#[test]
fn intervals_of_jobs_add_up_to_what_came() {
    let outcome = run(&format!("{JOBS}intervals 20us\nlinks all"));
    let intervals = &outcome.intervals;
    check_shape(intervals);
    let names: Vec<Option<&str>> = intervals
        .jobs
        .iter()
        .map(|job| job.job.as_deref())
        .collect();
    assert_eq!(names, [None, Some("late"), Some("noise")]);
    for job in &intervals.jobs {
        let latencies = outcome.latencies.iter().find(|one| one.job == job.job);
        let count = latencies.unwrap().histogram.count();
        assert_eq!(sum(&job.came).count, count, "{:?}", job.job);
        if job.job.as_deref() == Some("noise") {
            continue;
        }
        let ranks = outcome.ranks.iter().filter(|rank| rank.job == job.job);
        let received: u64 = ranks.clone().map(|rank| rank.received).sum();
        assert_eq!(sum(&job.came).bytes, received);
        assert_eq!(ranks.map(|rank| rank.sent).sum::<u64>(), received);
    }
    // Nothing of a job before it begins.
    let late = intervals.spans().zip(&intervals.jobs[1].came);
    for ((_, end), came) in late {
        assert_eq!(came.count > 0, end > 40 * MICRO, "at {end}: {came:?}");
    }
    let hops: u64 = intervals.fabric.iter().map(|one| one.hops).sum();
    assert_eq!(hops, outcome.hops);
    let lost: u64 = intervals.fabric.iter().map(|one| one.lost).sum();
    assert_eq!(lost, outcome.lost);
}

/// 4 hosts on one switch have eight directions of links, idle or not; `links 3` the busiest three of them.
#[test]
fn all_links_or_some_are_kept() {
    let text = "fabric one-switch:4\npairs 0>1\ntraffic osu_bw bytes=1M window=4 iterations=4\n";
    let all = run(&format!("{text}links all"));
    assert_eq!(all.links.len(), 8);
    let idle = all.links.iter().filter(|link| link.percent == 0.0);
    assert_eq!(idle.count(), 4, "{:?}", all.links);
    let busy: Vec<_> = all
        .links
        .iter()
        .filter(|link| link.percent > 90.0)
        .collect();
    assert_eq!(busy.len(), 2, "{:?}", all.links);
    let one = run(&format!("{text}links 1"));
    assert_eq!(one.links, all.links[..1]);
    assert_eq!(run(&format!("{text}links on")).links, all.links[..2]);
    assert_eq!(run(text).links, []);
    for (line, what) in [
        (
            "links 0",
            "no whole number from 1 to 65536, nor on, off or all",
        ),
        ("links some", "nor on, off or all"),
        ("intervals 0us", "no time at all"),
        ("messages 0", "no whole number from 1 to 1048576"),
    ] {
        let error = format!("{text}{line}").parse::<Scenario>().unwrap_err();
        assert!(error.what.contains(what) && error.line == 4, "{error}");
    }
    for (traffic, line) in [
        ("bisection matchings=1", "intervals 1us"),
        ("mpi_nxnlatbw", "messages 9"),
        ("uniform", "messages 9"),
    ] {
        let text = format!("fabric one-switch:4\ntraffic {traffic}\n{line}");
        let error = text.parse::<Scenario>().unwrap_err();
        let word = line.split(' ').next().unwrap();
        assert!(
            error.what.contains(&format!("no {word} of this traffic")),
            "{error}"
        );
    }
}

/// Loads are those since half of the run also where that has many parts.
#[test]
fn links_of_many_rounds_are_told() {
    let text = "fabric one-switch:32\nlinks all\ntraffic mpi_nxnlatbw bytes=1 skip=1 iterations=2 sessions=1";
    let outcome = run(text);
    assert_eq!(outcome.links.len(), 64);
    // One message at a time, on two links one after the other: 64 bytes take 5 ns of its 0.9 us.
    let loads: f64 = outcome.links.iter().map(|link| link.percent).sum();
    assert!((0.5..2.0).contains(&loads), "{loads}");
}

/// Bandwidth over time: one link at half of its rate is there in each interval of the measured half.
#[test]
fn packets_by_a_pattern_have_intervals_of_their_measured_half() {
    let text = "fabric one-switch:4\nlinks all\ntraffic shift by=1 bytes=8256 load=0.5 span=2ms\nintervals 500us";
    let outcome = run(text);
    check_shape(&outcome.intervals);
    let moments: Vec<Picos> = (4..=8).map(|half| half * 500 * MICRO).collect();
    assert_eq!(outcome.intervals.moments, moments);
    for link in &outcome.intervals.links {
        for load in &link.percent {
            assert!((35.0..65.0).contains(load), "{link:?}");
        }
    }
    let accepted = outcome.get("accepted").unwrap().value / 100.0;
    let bytes = sum(&outcome.intervals.jobs[0].came).bytes as f64;
    // Four hosts, 12.5 GB/s, 2 ms.
    let share = bytes / (4.0 * 12.5e9 * 2e-3);
    assert!((share - accepted).abs() < 0.01, "{share} {accepted}");
}

/// The outcome with what looks have found left out, and the moment at which the end is noticed, which is looked for every
/// 10 us.
fn without_looks(outcome: Outcome) -> String {
    let outcome = Outcome {
        links: Vec::new(),
        intervals: Intervals::default(),
        messages: Vec::new(),
        span: 0,
        ..outcome
    };
    format!("{outcome:?}")
}

#[test]
fn looking_changes_nothing_also_while_a_manager_writes() {
    let faults = "fabric pgft:2;4,2;1,2;1,1\nengine shortestpath\nfault 60us link-down edge1:5\n\
        fault 250us link-up edge1:5\n";
    for (traffic, messages) in [
        ("traffic shift by=4 span=300us load=0.5", ""),
        (
            "traffic osu_mbw_mr bytes=1M window=4 iterations=20\nlimit 30s",
            "messages 100",
        ),
    ] {
        let text = format!("{faults}{traffic}\n");
        let plain = without_looks(run(&text));
        let looked = run(&format!("{text}links all\nintervals 7us\n{messages}"));
        assert!(looked.intervals.moments.len() > 10);
        let seen = format!("{:?}", looked.intervals);
        assert_eq!(without_looks(looked), plain, "{traffic}");
        let two = run_on(&format!("{text}links all\nintervals 7us\n{messages}"), 2);
        assert_eq!(format!("{:?}", two.intervals), seen, "{traffic}");
    }
}

/// However short intervals are, they are as many as fit, and double.
#[test]
fn intervals_are_bounded() {
    let text = "fabric one-switch:2\ntraffic uniform load=0.5 span=5ms\nintervals 1us";
    let intervals = run(text).intervals;
    check_shape(&intervals);
    let count = intervals.spans().count();
    assert!((500..=1_024).contains(&count), "{count}");
    let (first, end) = intervals.spans().next().unwrap();
    assert_eq!(end - first, 8 * MICRO);
}

/// Each message by itself, its time among those that the histogram has.
#[test]
fn messages_are_kept_one_by_one() {
    let outcome = run(&format!("{JOBS}messages 100000"));
    for job in [None, Some("late".to_owned())] {
        let of = outcome.messages.iter().filter(|one| one.job == job);
        let latencies = outcome.latencies.iter().find(|one| one.job == job).unwrap();
        assert_eq!(of.clone().count() as u64, latencies.histogram.count());
        let longest = of.clone().map(|one| one.time).max();
        assert_eq!(longest, Some(latencies.histogram.longest()));
        for rank in outcome.ranks.iter().filter(|rank| rank.job == job) {
            let sent = of.clone().filter(|one| one.from == rank.rank);
            assert_eq!(sent.map(|one| one.bytes).sum::<u64>(), rank.sent);
            let received = of.clone().filter(|one| one.to == rank.rank);
            assert_eq!(
                received.clone().map(|one| one.bytes).sum::<u64>(),
                rank.received
            );
        }
    }
    let late = outcome.messages.iter().filter(|one| one.job.is_some());
    assert_eq!(late.map(|one| one.begun).min(), Some(40 * MICRO));
    let ends = outcome.messages.iter().map(|one| one.begun + one.time);
    assert!(ends.is_sorted());
    let first = run(&format!("{JOBS}messages 7"));
    assert_eq!(first.messages, outcome.messages[..7]);
}
