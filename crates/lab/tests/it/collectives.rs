//! Collectives of scenarios, and what a program adds to them.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use weft_lab::experiment::collectives::{Call, Collective, Member, Sequence};
use weft_lab::experiment::{Metric, Outcome, Registry, Scenario, compare, outcome_store, perform};

/// A word around the ring of all members, twice as long at each step: no collective of the laboratory.
struct Rumour;

impl Collective for Rumour {
    fn name(&self) -> &'static str {
        "rumour"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        let (to, from) = member.at_distance(1);
        let bytes = call.bytes << member.place();
        if member.place() > 0 {
            sequence.go(member.receive(from));
        }
        sequence.go(member.send(to, bytes));
        if member.place() == 0 {
            sequence.go(member.receive(from));
        }
    }
}

/// A collective whose messages nobody waits for.
struct Unheard;

impl Collective for Unheard {
    fn name(&self) -> &'static str {
        "unheard"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        sequence.go(member.send(member.at_distance(1).0, call.bytes));
    }
}

/// Bytes that all ranks have sent.
struct Sent;

impl Metric for Sent {
    fn name(&self) -> &'static str {
        "sent"
    }

    fn unit(&self) -> &'static str {
        "B"
    }

    fn of(&self, outcome: &Outcome) -> Option<f64> {
        Some(outcome.ranks.iter().map(|rank| rank.sent).sum::<u64>() as f64)
    }
}

fn run_with(registry: &Registry, text: &str) -> Result<(Scenario, Vec<Outcome>), String> {
    let open = |file: &str| Err(file.to_owned());
    let scenario = Scenario::read_with(registry, text, open).map_err(|error| error.to_string())?;
    let outcomes = scenario.cases.iter().map(|case| perform(case, 1, 1));
    let outcomes: Result<Vec<Outcome>, _> = outcomes.collect();
    let mut outcomes = outcomes.map_err(|error| error.to_string())?;
    compare(&scenario, &mut outcomes);
    Ok((scenario, outcomes))
}

fn sent(outcome: &Outcome) -> Vec<u64> {
    outcome.ranks.iter().map(|rank| rank.sent).collect()
}

fn value(outcome: &Outcome, metric: &str) -> f64 {
    outcome.get(metric).unwrap().value
}

/// A program's own collective runs from a scenario as those that are there, alone and as a job; its own metric is
/// measured, can be published and plotted.
#[test]
fn a_program_adds_a_collective_and_a_metric() {
    let registry = Registry::default()
        .with_collective(Rumour)
        .with_metric(Sent)
        .unwrap();
    let text = "fabric one-switch:5\nplot sent over bytes Sent\npublished sent 310 0.1% at 10\n\
                traffic collective=rumour bytes=10 iterations=2\nsweep bytes 10 20";
    let (scenario, outcomes) = run_with(&registry, text).unwrap();
    assert_eq!(sent(&outcomes[0]), [20, 40, 80, 160, 320]);
    assert_eq!(sent(&outcomes[1]), [40, 80, 160, 320, 640]);
    assert_eq!(value(&outcomes[0], "sent"), 620.0);
    assert!(!scenario.cases[0].figures()[0].holds(620.0));
    let text =
        "fabric one-switch:4\ntraffic osu_latency bytes=8\njob own collective=rumour bytes=1";
    let (_, outcomes) = run_with(&registry, text).unwrap();
    let of_job = outcomes[0].ranks.iter().filter(|rank| rank.job.is_some());
    assert_eq!(of_job.map(|rank| rank.sent).sum::<u64>(), 1 + 2 + 4 + 8);
    let text = "fabric one-switch:2\ntraffic osu_latency bytes=8\npublished sent 1 1%";
    assert!(text.parse::<Scenario>().is_err());
}

/// A metric with any name.
struct Named(&'static str);

impl Metric for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn unit(&self) -> &'static str {
        ""
    }

    fn of(&self, _: &Outcome) -> Option<f64> {
        None
    }
}

/// Metrics of one's own are named as scenarios can name them, and only where they are.
#[test]
fn a_metric_with_a_name_that_cannot_be_told_apart_is_refused() {
    for (name, told) in [
        ("time", "is there already"),
        ("own.time", "one word without a full stop"),
        ("own time", "one word without a full stop"),
        ("", "one word without a full stop"),
    ] {
        let refused = Registry::default().with_metric(Named(name)).map(drop);
        assert!(refused.unwrap_err().contains(told), "{name}");
    }
    let registry = Registry::default().with_metric(Sent).unwrap();
    let text = "fabric one-switch:4\ntraffic alltoall\njob a bulk\npublished a.sent 1 1%";
    let error = run_with(&registry, text).map(drop).unwrap_err();
    let (_, told) = error
        .split_once("unknown metric \"a.sent\", allowed: ")
        .unwrap();
    assert!(!told.split(", ").any(|name| name == "sent"), "{error}");
}

/// A program's broadcast, to the next member only.
struct OwnBcast;

impl Collective for OwnBcast {
    fn name(&self) -> &'static str {
        "bcast"
    }

    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence) {
        // Nearly as often around the circle as there are numbers for.
        let rounds = (u32::MAX / member.count() - 1) * member.count();
        let (to, from) = member.at_distance(rounds + 1);
        assert_eq!((to, from), member.at_distance(1));
        sequence.together([member.send(to, call.bytes), member.receive(from)]);
    }
}

/// Outcomes that were kept of a standard collective are not taken for those of the one in its place.
#[test]
fn a_collective_in_place_of_a_standard_one_has_outcomes_of_its_own() {
    let kept = |registry: &Registry| {
        let text = "fabric one-switch:3\ntraffic collective=bcast bytes=8";
        let (scenario, outcomes) = run_with(registry, text).unwrap();
        (
            outcome_store::key(&scenario.cases[0], 1),
            sent(&outcomes[0]),
        )
    };
    let (standard, sent) = kept(&Registry::default());
    assert_eq!(sent, [16, 0, 0]);
    let (own, sent) = kept(&Registry::default().with_collective(OwnBcast));
    assert_eq!(sent, [8, 8, 8]);
    assert_ne!(own, standard);
}

/// What is wrong with a collective or its call is said, instead of a run without end.
#[test]
fn a_collective_that_cannot_be_called_so_is_refused() {
    let registry = Registry::default().with_collective(Unheard);
    for (traffic, told) in [
        ("collective=unheard", "sent and not received"),
        (
            "collective=rumour",
            "unknown collective \"rumour\", allowed: allgather, ",
        ),
        (
            "collective=bcast root=3",
            "no rank 3, allowed: root below 3",
        ),
        ("collective=bcast order=ring", "unknown key"),
        ("collective=alltoall iterations=1M", "operations, allowed"),
    ] {
        let text = format!("fabric one-switch:3\ntraffic {traffic}");
        let error = run_with(&registry, &text).map(drop).unwrap_err();
        assert!(error.contains(told), "{traffic}: {error}");
    }
}

/// Bytes that each rank sends, by the definitions of the collectives (MPI standard, chapter 6) and of their algorithms.
#[test]
fn each_rank_sends_what_its_algorithm_says() {
    for (name, each) in [
        ("alltoall", [500, 500, 500, 500, 500, 500]),
        ("barrier", [0; 6]),
        // Binomial trees from rank 1: 2, 3 and 5 are below it, 4 below 3, 0 below 5.
        ("bcast root=1", [0, 300, 0, 100, 0, 100]),
        ("reduce root=1", [100, 0, 100, 100, 100, 100]),
        ("gather root=1", [100, 0, 100, 200, 100, 200]),
        ("incast root=1", [100, 0, 100, 100, 100, 100]),
        ("permutation", [100; 6]),
        ("allgather", [500; 6]),
    ] {
        let text = format!("fabric one-switch:6\ntraffic collective={name} bytes=100");
        let (_, outcomes) = run_with(&Registry::default(), &text).unwrap();
        assert_eq!(sent(&outcomes[0]), each, "{name}");
    }
    for (name, all) in [("allreduce", 2 * 5 * 60), ("reduce-scatter", 5 * 60)] {
        let text = format!("fabric one-switch:6\ntraffic collective={name} bytes=60");
        let (_, outcomes) = run_with(&Registry::default(), &text).unwrap();
        assert_eq!(sent(&outcomes[0]).iter().sum::<u64>(), all, "{name}");
    }
}

/// A permutation is another one with another seed, and the same one with the same.
#[test]
fn a_permutation_is_drawn_by_the_seed() {
    let text = "fabric one-switch:16\ntraffic collective=permutation bytes=64\nmessages 16";
    let scenario: Scenario = text.parse().unwrap();
    let ends = |seed| {
        let outcome = perform(&scenario.cases[0], seed, 1).unwrap();
        let ends = outcome.messages.iter().map(|one| (one.from, one.to));
        let mut ends: Vec<(u32, u32)> = ends.collect();
        ends.sort_unstable();
        ends
    };
    let first = ends(1);
    let mut to: Vec<u32> = first.iter().map(|(_, to)| *to).collect();
    to.sort_unstable();
    assert_eq!(to, (0..16).collect::<Vec<u32>>());
    assert!(first.iter().all(|(from, to)| from != to));
    assert_eq!(ends(1), first);
    assert_ne!(ends(2), first);
}

/// Messages over sockets carry the headers of TCP in each segment, and cost more than those of PSM2; `registration cold`
/// slows down large messages of PSM2 only.
#[test]
fn stacks_and_registration_differ_where_they_should() {
    let latency = |settings: &str, bytes: u64| {
        let text = format!(
            "fabric one-switch:2\ntraffic osu_latency bytes={bytes} iterations=4\n{settings}"
        );
        let scenario: Scenario = text.parse().unwrap();
        value(&perform(&scenario.cases[0], 1, 1).unwrap(), "latency")
    };
    let all = ["stack psm2", "stack opx", "stack verbs", "stack sockets"];
    for bytes in [1, 1 << 20] {
        let warm = all.map(|stack| latency(stack, bytes));
        let cold = all.map(|stack| latency(&format!("{stack}\nregistration cold"), bytes));
        let [psm2, opx, verbs, sockets] = warm;
        assert!(opx <= psm2 && psm2 < verbs.min(sockets), "{warm:?}");
        for (at, (warm, cold)) in warm.into_iter().zip(cold).enumerate() {
            assert_eq!(cold > warm, at < 2 && bytes > 1, "{} {bytes}", all[at]);
        }
    }
}

/// The example of a program of one's own is what the documentation shows, and runs a scenario that `weft-lab` refuses.
#[test]
fn a_program_of_ones_own_runs_scenarios() {
    let code = include_str!("../../examples/own_collective.rs");
    let (_, code) = code.split_once("\n\n").unwrap();
    let shown = include_str!("../../../../docs/research/experiments.md");
    assert!(shown.contains(&format!("```rust\n{code}```")));
    let stage = tempfile::tempdir().unwrap();
    let file = stage.path().join("own.scenario");
    fs::write(
        &file,
        "fabric one-switch:4\ntraffic collective=shift-by-one bytes=64K\n",
    )
    .unwrap();
    let programs = std::env::current_exe().unwrap();
    let own = programs.parent().unwrap().with_file_name("examples");
    let run = |program: &std::path::Path| {
        let output = Command::new(program)
            .arg("run")
            .arg(&file)
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let own = own.join("own_collective");
    assert!(
        own.exists(),
        "{} is not there: `cargo build -p weft-lab --example own_collective` makes it, with this test's --profile",
        own.display()
    );
    let (code, text) = run(&own);
    assert!(code == Some(0) && text.contains("| time | "), "{text}");
    let (code, text) = run(env!("CARGO_BIN_EXE_weft-lab").as_ref());
    assert!(
        code == Some(2) && text.contains("unknown collective"),
        "{text}"
    );
}
