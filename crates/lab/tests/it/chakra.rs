//! Execution traces of Chakra: what they say, what is refused, and what comes out beside the lab's own collectives.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use serde_json::Value;
use weft_lab::experiment::{Outcome, Scenario, perform};

/// Node types, and types of collectives.
const COMP: u64 = 4;
const SEND: u64 = 5;
const RECV: u64 = 6;
const COLL: u64 = 7;
const ALL_REDUCE: u64 = 0;
const REDUCE: u64 = 1;
const ALL_GATHER: u64 = 2;
const GATHER: u64 = 3;
const SCATTER: u64 = 4;
const BROADCAST: u64 = 5;
const ALL_TO_ALL: u64 = 6;
const REDUCE_SCATTER: u64 = 7;
const BARRIER: u64 = 9;

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7F {
        bytes.push(value as u8 & 0x7F | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn text(field: u64, value: &[u8]) -> Vec<u8> {
    [
        &varint(field << 3 | 2)[..],
        &varint(value.len() as u64),
        value,
    ]
    .concat()
}

fn message(body: &[u8]) -> Vec<u8> {
    [&varint(body.len() as u64), body].concat()
}

/// A node with its dependencies, its time in us, and attributes.
fn node(id: u64, kind: u64, waits: &[u64], micros: u64, attributes: &[(&str, u64)]) -> Vec<u8> {
    let mut body = [number(1, id), text(2, b"n"), number(3, kind)].concat();
    body.extend(waits.iter().flat_map(|wait| number(5, *wait)));
    body.extend(number(7, micros));
    for (name, value) in attributes {
        let attribute = [text(1, name.as_bytes()), number(9, *value)].concat();
        body.extend(text(10, &attribute));
    }
    message(&body)
}

/// A computation whose operations are a double.
fn fraction(id: u64) -> Vec<u8> {
    let value = [&varint(3 << 3 | 1)[..], &8.5_f64.to_le_bytes()].concat();
    let attribute = [text(1, b"num_ops"), value].concat();
    message(&[number(1, id), number(3, COMP), text(10, &attribute)].concat())
}

fn collective(id: u64, waits: &[u64], kind: u64, bytes: u64, group: &str) -> Vec<u8> {
    let mut body = number(1, id);
    body.extend(number(3, COLL));
    // Packed, as encoders write them.
    let packed: Vec<u8> = waits.iter().flat_map(|wait| varint(*wait)).collect();
    body.extend(text(5, &packed));
    for (name, value) in [("comm_type", kind), ("comm_size", bytes)] {
        body.extend(text(
            10,
            &[text(1, name.as_bytes()), number(13, value)].concat(),
        ));
    }
    if !group.is_empty() {
        let name = [text(1, b"pg_name"), text(29, group.as_bytes())].concat();
        body.extend(text(10, &name));
    }
    message(&body)
}

/// A collective of all ranks with a root.
fn rooted(id: u64, kind: u64, bytes: u64, root: u64) -> Vec<u8> {
    let attributes = [
        ("comm_type", kind),
        ("comm_size", bytes),
        ("root_rank", root),
    ];
    node(id, COLL, &[], 0, &attributes)
}

fn trace(nodes: &[Vec<u8>]) -> Vec<u8> {
    [message(&text(1, b"1.0.0")), nodes.concat()].concat()
}

/// A scenario of four hosts whose traffic is a trace for each rank.
fn read(traces: &[Vec<u8>], more: &str) -> Result<Scenario, String> {
    let ranks = traces.len();
    read_text(
        traces,
        &format!("fabric one-switch:4\ntraffic file=t.*.et ranks={ranks}{more}"),
    )
}

fn read_text(traces: &[Vec<u8>], text: &str) -> Result<Scenario, String> {
    let open = |name: &str| {
        let rank = name
            .strip_prefix("t.")
            .and_then(|name| name.strip_suffix(".et"));
        Ok(traces[rank.unwrap().parse::<usize>().unwrap()].clone())
    };
    Scenario::read(text, open).map_err(|error| error.to_string())
}

fn run(traces: &[Vec<u8>]) -> Outcome {
    perform(&read(traces, "").unwrap().cases[0], 1, 1).unwrap()
}

fn time(outcome: &Outcome) -> f64 {
    outcome.get("time").unwrap().value
}

/// The same node at four ranks.
fn alike(nodes: &[Vec<u8>]) -> Vec<Vec<u8>> {
    vec![trace(nodes); 4]
}

/// Of 8 bytes: two endpoints of 400 ns, two cables of 10 ns, 100 ns inside a block of ports, 64 bytes.
const HOP: f64 = 0.4 + 0.01 + 0.1 + 0.01 + 0.4 + 0.00512;

#[test]
fn an_exchange_takes_as_long_as_the_labs_own() {
    let own: Scenario = "fabric one-switch:4\ntraffic alltoall bytes=64K skip=0 iterations=1"
        .parse()
        .unwrap();
    let own = time(&perform(&own.cases[0], 1, 1).unwrap());
    let of_trace = time(&run(&alike(&[collective(1, &[], ALL_TO_ALL, 4 << 16, "")])));
    assert!((of_trace / own - 1.0).abs() < 1e-3, "{of_trace} and {own}");
}

/// A ring of four has three steps, or twice three.
#[test]
fn collectives_take_their_steps() {
    for (kind, bytes, hops) in [
        (ALL_REDUCE, 32, 6.0),
        (REDUCE_SCATTER, 32, 3.0),
        (ALL_GATHER, 8, 3.0),
        (ALL_TO_ALL, 32, 3.0),
        (BROADCAST, 8, 2.0),
        (REDUCE, 8, 2.0),
        (GATHER, 8, 2.0),
        (SCATTER, 32, 2.0),
        (BARRIER, 0, 2.0),
    ] {
        let found = time(&run(&alike(&[collective(7, &[], kind, bytes, "")])));
        assert!(found > (hops - 0.02) * HOP, "{kind}: {found}");
        assert!(found < (hops + 0.5) * HOP, "{kind}: {found}");
    }
}

/// Each rank sends what is published of the algorithm: 2 (n - 1) / n of the data.
#[test]
fn a_ring_sends_its_share_whether_it_divides_or_not() {
    for bytes in [1 << 20, (1 << 20) + 3] {
        let outcome = run(&alike(&[collective(7, &[], ALL_REDUCE, bytes, "")]));
        let sent: Vec<u64> = outcome.ranks.iter().map(|rank| rank.sent).collect();
        assert_eq!(sent.iter().sum::<u64>(), 2 * 3 * bytes);
        let share = 2.0 * 3.0 / 4.0 * bytes as f64;
        assert!(
            sent.iter().all(|sent| (*sent as f64 - share).abs() < 6.0),
            "{sent:?}"
        );
        // At most the rate of a link.
        assert!(time(&outcome) > share / 12.5e3);
    }
}

/// Up and down a binomial tree, whose members send for all below them: of five, with rank 3 as the root, 3 is above 4, 0
/// and 2, and 0 above 1.
#[test]
fn trees_carry_what_is_below_each_rank() {
    for (kind, bytes, wanted) in [
        (REDUCE, 100, [100, 100, 100, 0, 100]),
        // Each one's 100 bytes.
        (GATHER, 100, [200, 100, 100, 0, 100]),
        // 20 bytes for each.
        (SCATTER, 100, [20, 0, 0, 80, 0]),
        // 0, 1, 1, 1 and 1 byte.
        (SCATTER, 4, [1, 0, 0, 3, 0]),
        (BROADCAST, 100, [100, 0, 0, 300, 0]),
    ] {
        let traces = vec![trace(&[rooted(1, kind, bytes, 3)]); 5];
        let text = "fabric one-switch:5\ntraffic file=t.*.et ranks=5";
        let scenario = read_text(&traces, text).unwrap();
        let outcome = perform(&scenario.cases[0], 1, 1).unwrap();
        let sent: Vec<u64> = outcome.ranks.iter().map(|rank| rank.sent).collect();
        assert_eq!(sent, wanted, "{kind}: {bytes}");
    }
}

/// Groups work at once, each with collectives of its own; a node begins when those before it have ended.
#[test]
fn groups_and_dependencies_are_kept() {
    let of = |group: &str| {
        trace(&[
            node(10, COMP, &[], 5, &[]),
            collective(4, &[10], ALL_REDUCE, 16, group),
            collective(5, &[4], BARRIER, 0, ""),
            node(11, COMP, &[5], 7, &[]),
        ])
    };
    let found = time(&run(&[of("a"), of("b"), of("a"), of("b")]));
    // Of two ranks two steps; then two of four.
    let wanted = 5.0 + 2.0 * HOP + 2.0 * HOP + 7.0;
    assert!((found / wanted - 1.0).abs() < 0.01, "{found} and {wanted}");
}

/// An accelerator and a processor of the host each do one thing at a time.
#[test]
fn computations_take_turns_on_their_processor() {
    let with = |is_cpu_op: u64| {
        let host = [("is_cpu_op", is_cpu_op)];
        time(&run(&[trace(&[
            node(1, COMP, &[], 5, &[]),
            node(2, COMP, &[], 5, &host),
        ])]))
    };
    assert_eq!((with(0), with(1)), (10.0, 5.0));
    let operations = [trace(&[node(1, COMP, &[], 0, &[("num_ops", 3_000)])])];
    let error = read(&operations, "").map(|_| ()).unwrap_err();
    assert!(error.contains("add flops="), "{error}");
    let scenario = read(&operations, " flops=1e9").unwrap();
    assert_eq!(time(&perform(&scenario.cases[0], 1, 1).unwrap()), 3.0);
}

#[test]
fn messages_between_two_ranks_are_matched() {
    let sender = trace(&[
        node(1, COMP, &[], 3, &[]),
        node(
            2,
            SEND,
            &[1],
            0,
            &[("comm_dst", 1), ("comm_size", 8), ("comm_tag", 4)],
        ),
    ]);
    let receiver = |tag: u64| {
        let attributes = [("comm_src", 0), ("comm_size", 8), ("comm_tag", tag)];
        trace(&[node(9, RECV, &[], 0, &attributes)])
    };
    let found = time(&run(&[sender.clone(), receiver(4)]));
    assert!((found - 3.0 - HOP).abs() < 1e-6, "{found}");
    let error = read(&[sender, receiver(5)], "").map(|_| ()).unwrap_err();
    assert!(
        error.contains("with tag 4: 1 messages are sent and not received"),
        "{error}"
    );
}

#[test]
fn traces_that_are_wrong_are_refused_with_their_rank() {
    let good = collective(1, &[], ALL_REDUCE, 8, "");
    let one = |nodes: &[Vec<u8>]| vec![trace(std::slice::from_ref(&good)), trace(nodes)];
    for (traces, what) in [
        (vec![vec![]], "rank 0: the file ends in its metadata"),
        (vec![vec![3, 1]], "rank 0: the file ends in its metadata"),
        (
            vec![message(&[0xFF])],
            "rank 0: no execution trace of Chakra",
        ),
        (one(&[vec![9, 8]]), "rank 1: the file ends in node 1"),
        (one(&[message(&[0xFF])]), "rank 1: node 1: "),
        (
            one(&[node(3, 9, &[], 0, &[])]),
            "rank 1: node 3: type 9, allowed: 1 to 7",
        ),
        (
            one(&[node(3, SEND, &[], 0, &[])]),
            "rank 1: node 3: no comm_dst",
        ),
        (
            one(&[node(3, RECV, &[], 0, &[("comm_src", 2)])]),
            "rank 1: node 3: comm_src 2, allowed: at most 1",
        ),
        (
            one(&[node(3, COLL, &[], 0, &[("comm_type", 10)])]),
            "rank 1: node 3: comm_type 10, allowed: at most 9",
        ),
        (
            one(&[node(
                3,
                COLL,
                &[],
                0,
                &[("comm_type", 2), ("comm_size", u64::MAX)],
            )]),
            "rank 1: node 3: comm_size is below 0",
        ),
        (
            one(&[node(3, COLL, &[], 0, &[("comm_type", 2)])]),
            "rank 1: node 3: no comm_size",
        ),
        (
            one(&[node(3, COLL, &[], 0, &[("comm_size", 8)])]),
            "rank 1: node 3: no comm_type",
        ),
        (
            one(&[collective(3, &[], ALL_GATHER, 8, &"g".repeat(257))]),
            "rank 1: node 3: length of pg_name 257, allowed: at most 256",
        ),
        (
            one(&[fraction(3)]),
            "rank 1: node 3: num_ops is a floating-point number, allowed: an integer",
        ),
        (
            one(&[collective(1, &[], ALL_GATHER, 8, "")]),
            "collective 0 of group \"\" at rank 1 is another one than before: ALL_GATHER of 8 bytes",
        ),
        (
            one(&[]),
            "collective 0 of group \"\" (ALL_REDUCE of 8 bytes) is called by 1 ranks of 2",
        ),
        (
            one(&[good.clone(), good.clone()]),
            "is called by 1 ranks of 2",
        ),
        (
            vec![trace(&[rooted(1, GATHER, 8, 1)])],
            "rank 0: node 1: root_rank 1 is no member",
        ),
        (
            one(&[good.clone(), node(2, COMP, &[8], 0, &[])]),
            "rank 1: node 2 waits for 8, which is not there",
        ),
        (
            one(&[good.clone(), node(1, COMP, &[], 0, &[])]),
            "rank 1: node 1: there are two",
        ),
        (
            one(&[
                good.clone(),
                node(2, COMP, &[3], 0, &[]),
                node(3, COMP, &[2], 0, &[]),
            ]),
            "waits for itself, through what it depends on",
        ),
        (
            one(&[node(2, COMP, &[], u64::MAX, &[])]),
            "rank 1: node 2: duration_micros",
        ),
    ] {
        let error = read(&traces, "").map(|_| ()).unwrap_err();
        assert!(
            error.starts_with("line 2: t.*.et: ") && error.contains(what),
            "{what:?}: {error}"
        );
    }
    let error = |line: &str| {
        let text = format!("fabric one-switch:4\ntraffic {line}");
        Scenario::read(&text, |_| Ok(Vec::new()))
            .unwrap_err()
            .to_string()
    };
    assert!(error("file=a.et ranks=2").contains("a name with one *"));
    assert!(error("file=a.*.et").contains("chakra needs ranks="));
    assert!(error("file=a.goal ranks=2").contains("no effect but on chakra"));
}

proptest! {
    /// Whatever is changed or cut off, the reader ends with an answer, and what it accepts has its ranks.
    #[test]
    fn damaged_traces_are_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let good = trace(&[
            node(1, COMP, &[], 5, &[("is_cpu_op", 1), ("num_ops", 9)]),
            collective(4, &[1], ALL_REDUCE, 1 << 20, "all"),
            node(5, COMP, &[4, 1], 5, &[]),
        ]);
        let mut bad = good.clone();
        for (at, byte) in edits {
            let place = at.index(bad.len());
            bad[place] = byte;
        }
        if cut {
            bad.truncate(length.index(bad.len()));
        }
        match read(&[good, bad], "") {
            Ok(scenario) => prop_assert_eq!(scenario.cases.len(), 1),
            Err(error) => prop_assert!(error.starts_with("line 2: "), "{}", error),
        }
    }
}

/// The example's traces: each rank sends what its groups' all-reduces send, and computing takes its time.
#[test]
fn a_step_of_a_transformer_is_replayed() {
    let Some(python) = weft_peers::program("python3") else {
        return;
    };
    let stage = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/transformer.py");
    let shape = [
        "--tensor=2",
        "--data=4",
        "--layers=2",
        "--hidden=256",
        "--sequence=128",
    ];
    let mut command = Command::new(python);
    let command = command.arg(script).arg("trace").args(shape);
    let output = command.current_dir(stage.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft-lab"));
    let command = command.args(["run", "trace/transformer.scenario", "--json", "out.jsonl"]);
    let output = command.current_dir(stage.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = fs::read_to_string(stage.path().join("out.jsonl")).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let of = |kind: &str| {
        let lines = lines.iter().filter(|line| line["kind"] == kind);
        lines.collect::<Vec<_>>()
    };
    // Eight all-reduces of 64 KiB in a group of two, two of 768 KiB in one of four.
    let sent = 8 * (2 * 128 * 256) + 2 * (2 * 12 * 256 * 256 / 2) * 2 * 3 / 4;
    let ranks: Vec<u64> = of("rank")
        .iter()
        .map(|line| line["bytes_sent"].as_u64().unwrap())
        .collect();
    assert_eq!(ranks, [sent; 8]);
    // Four halves forwards, four backwards at twice the time, the optimizer.
    let computing = 100.0 * (4.0 + 8.0 + 1.0);
    let time = of("measurement")[0]["value"].as_f64().unwrap();
    // One thing after the other would take more than this, with every message at the rate of a link.
    let most = computing + sent as f64 / 12.5e3;
    assert!(
        time > computing && time < most,
        "{time} of {computing} to {most}"
    );
}
