//! Compiled schedules of GOAL: they say what their text says, and anything else is refused.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use proptest::prelude::*;
use weft_dataplane::traffic::mpi::RankSchedule;
use weft_lab::experiment::scenario::Traffic;
use weft_lab::experiment::{Outcome, Scenario, perform};

fn scenario(file: &str, content: &[u8]) -> Result<Scenario, String> {
    let text = format!("fabric one-switch:4\ntraffic file={file}");
    let scenario = Scenario::read(&text, |_| Ok(content.to_vec()));
    scenario.map_err(|error| error.to_string())
}

fn ranks(file: &str, content: &[u8]) -> Result<Arc<Vec<RankSchedule>>, String> {
    let scenario = scenario(file, content)?;
    match &scenario.cases[0].traffic {
        Traffic::File { ranks, .. } => Ok(ranks.clone()),
        other => panic!("{other:?}"),
    }
}

fn run(file: &str, content: &[u8]) -> Outcome {
    perform(&scenario(file, content).unwrap().cases[0], 1, 1).unwrap()
}

/// A text, and what LogGOPSim's txt2bin has made of it.
const TEXT: &[u8] = include_bytes!("goal/three.goal");
const COMPILED: &[u8] = include_bytes!("goal/three.bin");

#[test]
fn a_compiled_schedule_runs_as_its_text_does() {
    assert_eq!(ranks("a.bin", COMPILED), ranks("a.goal", TEXT));
    assert_eq!(ranks("a.goal", COMPILED), ranks("a.x format=goal", TEXT));
    let (text, compiled) = (run("a.goal", TEXT), run("a.bin", COMPILED));
    assert_eq!(compiled.measurements, text.measurements);
    assert_eq!(compiled.ranks, text.ranks);
    assert_eq!(compiled.latencies, text.latencies);
    assert!(compiled.get("time").unwrap().value > 71.0);
}

/// The compiler itself judges: it takes lines that are not indented.
#[test]
#[ignore = "needs LogGOPSim's txt2bin, which WEFT_TXT2BIN names"]
fn the_compiler_of_loggopsim_agrees() {
    let compiler = std::env::var("WEFT_TXT2BIN").unwrap();
    let stage = tempfile::tempdir().unwrap();
    let ring = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ring.goal");
    let ring = fs::read_to_string(ring).unwrap();
    let lines = ring.lines().map(|line| line.trim().to_owned() + "\n");
    let ring: String = lines.collect();
    for text in [ring.as_bytes(), TEXT] {
        fs::write(stage.path().join("in.goal"), text).unwrap();
        let mut command = Command::new(&compiler);
        let command = command.args(["-i", "in.goal", "-o", "out.bin"]);
        let output = command.current_dir(stage.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let compiled = fs::read(stage.path().join("out.bin")).unwrap();
        assert_eq!(ranks("a.bin", &compiled), ranks("a.goal", text));
    }
}

/// An operation of a random schedule.
#[derive(Debug, Clone)]
struct One {
    /// A message to the next rank and its receipt, or a computation.
    sends: bool,
    size: u64,
    tag: u32,
    processor: u8,
    /// It waits for the operation so many places before it, for its beginning alone or its end.
    after: Option<(usize, bool)>,
}

fn one() -> impl Strategy<Value = One> {
    let after = prop::option::of((1..6_usize, any::<bool>()));
    (any::<bool>(), 0..100_000_u64, 0..9_u32, 0..4_u8, after).prop_map(
        |(sends, size, tag, processor, after)| One {
            sends,
            size,
            tag,
            processor,
            after,
        },
    )
}

/// The same schedule as text and compiled: each rank does the same, receipts stand behind all other operations.
fn both(all: &[One], ranks: u32) -> (String, Vec<u8>) {
    let (mut text, mut parts) = (format!("num_ranks {ranks}\n"), Vec::new());
    for rank in 0..ranks {
        let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        text += &format!("rank {rank} {{\n");
        let mut records = Vec::new();
        for (number, one) in all.iter().enumerate() {
            let (size, tag, processor) = (one.size, one.tag, one.processor);
            let (kind, peer, tag) = match one.sends {
                true => {
                    text += &format!("o{number}: send {size}b to {to} tag {tag}\n");
                    (1, to, tag)
                }
                false => {
                    text += &format!("o{number}: calc {size} cpu {processor}\n");
                    (3, 0, 0)
                }
            };
            records.push((kind, peer, size, tag, processor));
        }
        for (number, one) in all.iter().enumerate().filter(|(_, one)| one.sends) {
            text += &format!(
                "r{number}: recv {}b from {from} tag {}\n",
                one.size, one.tag
            );
            records.push((2, from, one.size, one.tag, 0));
        }
        let mut waiting = vec![(Vec::new(), Vec::new()); records.len()];
        let mut waits = vec![0_u32; records.len()];
        for (number, one) in all.iter().enumerate() {
            let Some((back, begun)) = one.after.filter(|(back, _)| *back <= number) else {
                continue;
            };
            let other = number - back;
            text += &match begun {
                true => format!("o{number} irequires o{other}\n"),
                false => format!("o{number} requires o{other}\n"),
            };
            waits[number] += 1;
            let (ended, started) = &mut waiting[other];
            if begun { started } else { ended }.push(number as u32);
        }
        text += "}\n";
        parts.push(part(&records, &waits, &waiting));
    }
    (text, file(&parts))
}

type Record = (u8, u32, u64, u32, u8);

fn part(records: &[Record], waits: &[u32], waiting: &[(Vec<u32>, Vec<u32>)]) -> Vec<u8> {
    let free: Vec<u32> = (0..waits.len() as u32)
        .filter(|place| waits[*place as usize] == 0)
        .collect();
    let mut bytes = Vec::new();
    for word in [&[records.len() as u32, free.len() as u32][..], &free].concat() {
        bytes.extend(word.to_le_bytes());
    }
    let (mut list, mut listed) = (Vec::new(), 0_u32);
    for (place, (kind, peer, size, tag, processor)) in records.iter().enumerate() {
        bytes.extend(waits[place].to_le_bytes());
        bytes.push(*kind);
        bytes.extend(peer.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(tag.to_le_bytes());
        bytes.extend([*processor, 0]);
        for range in [&waiting[place].0, &waiting[place].1] {
            bytes.extend((range.len() as u32).to_le_bytes());
            bytes.extend(listed.to_le_bytes());
            listed += range.len() as u32;
            list.extend(range.iter().flat_map(|word| word.to_le_bytes()));
        }
    }
    [bytes, list].concat()
}

fn file(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = 4_223_u64.to_le_bytes().to_vec();
    bytes.extend((parts.len() as u32).to_le_bytes());
    bytes.extend([3, 0]);
    let mut place = 6 + 16 * parts.len() as u64;
    for part in parts {
        bytes.extend(place.to_le_bytes());
        place += part.len() as u64;
        bytes.extend(place.to_le_bytes());
    }
    [bytes, parts.concat()].concat()
}

proptest! {
    #[test]
    fn any_schedule_is_read_as_its_text_is(all in prop::collection::vec(one(), 0..12), count in 1..4_u32) {
        let (text, compiled) = both(&all, count);
        prop_assert_eq!(ranks("a.bin", &compiled), ranks("a.goal", text.as_bytes()));
    }

    /// Whatever is changed or cut off, the reader ends with an answer.
    #[test]
    fn damaged_schedules_are_read_or_refused(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        length in any::<prop::sample::Index>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = COMPILED.to_vec();
        for (at, byte) in edits {
            let place = at.index(bytes.len());
            bytes[place] = byte;
        }
        if cut {
            bytes.truncate(length.index(bytes.len()));
        }
        if let Err(error) = scenario("a.bin", &bytes) {
            prop_assert!(error.starts_with("line 2: "), "{}", error);
        }
    }
}

#[test]
fn a_schedule_that_is_wrong_is_refused_with_its_rank() {
    let changed = |place: usize, word: &[u8]| {
        let mut bytes = COMPILED.to_vec();
        bytes[place..place + word.len()].copy_from_slice(word);
        bytes
    };
    let words = |place: usize, word: u32| changed(place, &word.to_le_bytes());
    // Rank 0 begins behind the table; it has five operations, of which two are free.
    let part = 8 + 6 + 3 * 16;
    let first = part
        + 8
        + 4 * u32::from_le_bytes(COMPILED[part + 4..part + 8].try_into().unwrap()) as usize;
    let cases: [(Vec<u8>, &str); 14] = [
        (changed(0, &2_342_u64.to_le_bytes()), "used up by LogGOPSim"),
        (COMPILED[..10].to_vec(), "the file ends in the header"),
        (words(8, 0), "0 ranks, allowed: 1 to 262144"),
        (words(8, 70_000), "the file ends in the table of ranks"),
        (words(14, 1), "rank 0: its part does not lie behind"),
        ([COMPILED, &[0]].concat(), "1 bytes behind the last rank"),
        (words(part, u32::MAX), "4294967295 statements, allowed"),
        (words(part, 9), "rank 0: its part is too short"),
        (
            changed(first + 4, &[9]),
            "rank 0: operation 0: kind 9, allowed: 1",
        ),
        (
            words(first + 39 + 5, u32::MAX),
            "rank 0: operation 1: rank 4294967295, allowed: 0 to 2",
        ),
        (changed(first + 22, &[1]), "nic 1, allowed: 0"),
        (
            words(first, 3),
            "operation 0 waits for 0, and for 3 by its own account",
        ),
        (words(first + 23, 1 << 30), "dependencies in a list of"),
        (
            words(first + 39 + 17, 8),
            "from rank 0 to rank 1 with tag 7: 1 messages are received and not sent",
        ),
    ];
    for (content, what) in cases {
        let error = scenario("a.bin", &content).map(|_| ()).unwrap_err();
        assert!(error.contains(what), "{what:?}: {error}");
    }
}

/// Ranges of many operations over one list would be read as many times as there are operations.
#[test]
fn a_file_does_not_grow_as_it_is_read() {
    let records = vec![(3, 0, 0, 0, 0); 4_000];
    let waits = vec![0; records.len()];
    let mut waiting = vec![(Vec::new(), Vec::new()); records.len()];
    waiting[0].0 = vec![1; 100_000];
    let mut part = part(&records, &waits, &waiting);
    let operations = 8 + 4 * records.len();
    for place in 1..records.len() {
        let range = operations + 39 * place + 23;
        part[range..range + 4].copy_from_slice(&100_000_u32.to_le_bytes());
        part[range + 4..range + 8].copy_from_slice(&0_u32.to_le_bytes());
    }
    let error = scenario("a.bin", &file(&[part])).map(|_| ()).unwrap_err();
    assert!(
        error.contains("400000000 dependencies in a list"),
        "{error}"
    );
}
