//! Recordings of managers, replayed: the same bytes out, and what is said where they are not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_emulator::Options;
use weft_fabric::Tick;
use weft_manager::io::{Command, Event};
use weft_manager::sm::Settings;
use weft_manager::{Manager, Output, PlanInput, SweepReason};
use weft_replay::{Checkpoint, FileError, Header, Match, Recorded, Replay, Step, What, Writer};
use weft_testkit::campaign::{bring_up, maintenance};
use weft_testkit::{NoTap, Tap, Tape, World};
use weft_wire::packet::Packet;

use crate::common::generate;

/// Plans that a manager has asked for, which its checkpoint has beside it.
type Plans = BTreeMap<u64, Arc<PlanInput>>;

/// Keys that no recording may have.
const M_KEY: u64 = 0x1122_3344_5566_7788;
const SM_KEY: u64 = 0x99AA_BBCC_DDEE_FF00;

/// Keeps the datagrams that the manager sent.
#[derive(Debug, Clone, Default)]
struct Sent(Arc<Mutex<Vec<(Tick, Packet)>>>);

impl Tap for Sent {
    fn see(&mut self, now: Tick, sent: bool, packet: &Packet) {
        if sent {
            self.0.lock().unwrap().push((now, packet.clone()));
        }
    }
}

/// All steps, which have to end at the recording's end.
fn steps(file: &[u8]) -> Vec<Step> {
    let mut replay = Replay::new(file).unwrap();
    let all: Vec<Step> = std::iter::from_fn(|| replay.next().unwrap()).collect();
    assert_eq!(replay.torn_at(), None);
    all
}

fn all_same(file: &[u8], what: &str) -> usize {
    let mut replay = Replay::new(file).unwrap();
    while let Some(step) = replay.next().unwrap() {
        let (number, at) = (step.number, step.at.0);
        assert_eq!(step.panic, None, "{what}: step {number} at {at} ns");
        assert_eq!(
            step.matches,
            Match::Same,
            "{what}: step {number} at {at} ns"
        );
    }
    assert_eq!(replay.torn_at(), None, "{what}");
    assert!(replay.header().is_of_this_program());
    replay.manager().unwrap().status().sweep as usize
}

/// A fabric of 4 hosts, brought up with keys, and swept once more.
fn recorded() -> (Vec<u8>, Vec<(Tick, Packet)>) {
    let tape = Tape::default();
    let sent = recorded_on(&tape);
    let [file] = tape.files().try_into().unwrap();
    (file, sent)
}

/// The same on any tape; returns the datagrams that the manager sent.
fn recorded_on(tape: &Tape) -> Vec<(Tick, Packet)> {
    let sent = Sent::default();
    let mut settings = Settings {
        m_key: M_KEY,
        ..Settings::default()
    };
    settings.election.sm_key = SM_KEY;
    let (options, tap) = (Options::default(), sent.clone());
    let fabric = generate("fattree:4");
    let mut world = World::taped(fabric, options, settings, tap, Some(tape.clone())).unwrap();
    assert_eq!(
        world.bring_up(Duration::from_secs(60)).unwrap(),
        weft_testkit::Wait::Done
    );
    let id = world.command(Command::Sweep);
    let done = world.run_while(Duration::from_secs(60), |world| world.reply(id).is_some());
    assert_eq!(done.unwrap(), weft_testkit::Wait::Done);
    world.end_tape();
    sent.0.lock().unwrap().clone()
}

#[test]
fn a_hundred_seeds_of_campaigns_replay_byte_for_byte() {
    let mut managers = 0;
    for seed in 7_000..7_050 {
        let (fire, care) = (Tape::default(), Tape::default());
        bring_up::run_taped(seed, Some(fire.clone())).unwrap();
        maintenance::run_taped(seed, Some(care.clone())).unwrap();
        for (campaign, tape) in [("bring-up", fire), ("maintenance", care)] {
            let files = tape.files();
            assert!(!files.is_empty());
            for (number, file) in files.iter().enumerate() {
                managers += 1;
                all_same(file, &format!("{campaign}, seed {seed}, manager {number}"));
            }
        }
    }
    assert!(managers >= 150, "only {managers}");
}

/// The checkpoint with which a recording begins.
fn begins_with(file: &[u8]) -> Option<Checkpoint> {
    match Replay::new(file).unwrap().next().unwrap()?.what {
        What::Checkpoint(checkpoint) => Some(checkpoint),
        _ => None,
    }
}

/// The manager at the end of a recording, which has to be the same to the last byte.
fn at_the_end(file: &[u8], what: &str) -> Recorded {
    let mut replay = Replay::new(file).unwrap();
    while let Some(step) = replay.next().unwrap() {
        assert_eq!(step.matches, Match::Same, "{what}: step {}", step.number);
        assert_eq!(step.panic, None, "{what}: step {}", step.number);
    }
    assert_eq!(replay.torn_at(), None, "{what}");
    replay.into_manager().unwrap().0
}

#[test]
fn recordings_go_on_from_checkpoints_byte_for_byte_and_end_in_the_next_one() {
    let (mut checkpoints, mut under_way, mut planning) = (0, 0, 0);
    for seed in 9_000..9_025 {
        let (fire, care) = (Tape::turning(seed, 400), Tape::turning(seed, 400));
        bring_up::run_taped(seed, Some(fire.clone())).unwrap();
        maintenance::run_taped(seed, Some(care.clone())).unwrap();
        for (campaign, tape) in [("bring-up", fire), ("maintenance", care)] {
            let mut before: Option<Recorded> = None;
            for (number, file) in tape.files().iter().enumerate() {
                let what = format!("{campaign}, seed {seed}, recording {number}");
                if let Some(checkpoint) = begins_with(file) {
                    let mut before = before.take().unwrap();
                    assert!(before.checkpoint() == checkpoint, "{what}: another state");
                    checkpoints += 1;
                    under_way += usize::from(before.status().phase.is_some());
                    planning += usize::from(before.waits_for_a_plan());
                }
                before = Some(at_the_end(file, &what));
            }
        }
    }
    assert!(checkpoints >= 100, "only {checkpoints}");
    assert!(under_way >= 20, "only {under_way} of them in a sweep");
    assert!(planning >= 1, "none of them while a plan is made");
}

#[test]
fn what_goes_on_is_what_went_on_without_a_checkpoint() {
    for seed in 9_100..9_105 {
        let (whole, turning) = (Tape::default(), Tape::turning(seed, 300));
        bring_up::run_taped(seed, Some(whole.clone())).unwrap();
        bring_up::run_taped(seed, Some(turning.clone())).unwrap();
        let [whole, turning] = [whole, turning].map(|tape| tape.files());
        let datagrams = |files: &[Vec<u8>]| {
            let steps = files.iter().flat_map(|file| steps(file));
            let outputs = steps.flat_map(|step| step.outputs);
            let sends = outputs.filter_map(|output| match output {
                Output::Send(packet) => Some(packet),
                _ => None,
            });
            sends.collect::<Vec<_>>()
        };
        assert!(datagrams(&whole) == datagrams(&turning), "seed {seed}");
        let [mut one, mut other] =
            [&whole, &turning].map(|files| at_the_end(files.last().unwrap(), "the end"));
        assert!(one.checkpoint() == other.checkpoint(), "seed {seed}");
    }
}

/// A recording that begins with these bytes as a checkpoint.
fn with_checkpoint(bytes: &[u8], header: &Header) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, header).unwrap();
    for chunk in Checkpoint::from(bytes.to_vec()).chunks(Tick(0)) {
        writer.chunk(&chunk).unwrap();
    }
    file
}

#[test]
fn damaged_checkpoints_are_refused_in_words() {
    let mut manager = at_the_end(&recorded().0, "the recording");
    let checkpoint = manager.checkpoint();
    let bytes = checkpoint.bytes();
    let header = Header::new(0, "a test");
    let first = |bytes: &[u8]| {
        Replay::new(&with_checkpoint(bytes, &header)[..])
            .unwrap()
            .next()
    };
    assert!(first(bytes).unwrap().is_some());
    for cut in [0, 1, 100, bytes.len() / 2, bytes.len() - 1] {
        let error = first(&bytes[..cut]).unwrap_err().to_string();
        assert!(error.contains("its checkpoint: "), "{error}");
    }
    let mut refused = 0;
    for place in (0..bytes.len()).step_by(97) {
        for bit in [0x01, 0x80, 0xFF] {
            let mut changed = bytes.to_vec();
            changed[place] ^= bit;
            // A number may be another one, and is one still; none panics.
            refused += usize::from(first(&changed).is_err());
        }
    }
    assert!(refused > 50, "only {refused}");
    let elsewhere = Header {
        version: "9.9.9".to_owned(),
        core: "0123456789abcdef".to_owned(),
        ..header
    };
    let file = with_checkpoint(bytes, &elsewhere);
    let error = Replay::new(&file[..]).unwrap_err();
    let words = error.to_string();
    assert!(
        words
            .contains("a checkpoint of weft 9.9.9, code 0123456789abcdef: only that code reads it"),
        "{words}"
    );
}

/// Prints what one takes; `WEFT_CHECKPOINT_HOSTS` has more hosts.
#[test]
fn a_checkpoint_of_a_thousand_hosts_takes_milliseconds() {
    let hosts = std::env::var("WEFT_CHECKPOINT_HOSTS");
    let hosts = hosts.map_or(1_152, |hosts| hosts.parse().unwrap());
    let tape = Tape::default();
    let fabric = generate(&format!("fattree:{hosts},radix=48"));
    let (options, settings) = (Options::default(), Settings::default());
    let mut world = World::taped(fabric, options, settings, NoTap, Some(tape.clone())).unwrap();
    let up = world.bring_up(Duration::from_secs(600)).unwrap();
    assert_eq!(up, weft_testkit::Wait::Done);
    world.end_tape();
    let mut manager = at_the_end(&tape.files()[0], "the bring-up");
    let started = Instant::now();
    let frozen = manager.freeze(Tick(1));
    let froze = started.elapsed();
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    let started = Instant::now();
    frozen.write(|chunk| assert!(writer.chunk(chunk).unwrap() > 0));
    let written = started.elapsed();
    let started = Instant::now();
    let mut replay = Replay::new(&file[..]).unwrap();
    assert!(replay.next().unwrap().is_some());
    let read = started.elapsed();
    let mut again = replay.into_manager().unwrap().0;
    let checkpoint = again.checkpoint();
    let (raw, len) = (checkpoint.bytes().len(), file.len());
    println!(
        "{hosts} hosts: frozen in {froze:?}; {raw} bytes, compressed {len}, written in {written:?}, read in {read:?}"
    );
    assert!(checkpoint == manager.checkpoint());
    let state = |most| weft_state::read_within::<(Manager, Plans)>(checkpoint.bytes(), most);
    let times = (1..).find(|times| state(times * raw).is_ok()).unwrap();
    println!("read within {times} bytes of memory for each of it");
    // Others may take twice as much, whatever is granted to small ones.
    let granted = weft_state::memory_max(raw) - weft_state::memory_max(0);
    assert!(2 * times * raw <= granted, "{times}");
    let most = Duration::from_millis(hosts / 10);
    assert!(froze < most, "{froze:?}, at most {most:?}");
}

#[test]
fn no_key_is_in_a_checkpoint() {
    let tape = Tape::turning(1, 8);
    let _ = recorded_on(&tape);
    let files = tape.files();
    let checkpoints: Vec<Checkpoint> = files.iter().filter_map(|file| begins_with(file)).collect();
    assert!(checkpoints.len() > 5, "only {}", checkpoints.len());
    for checkpoint in checkpoints {
        let mut eights = checkpoint.bytes().windows(8);
        assert!(!eights.any(|eight| {
            [M_KEY, SM_KEY]
                .iter()
                .any(|key| eight == key.to_be_bytes() || eight == key.to_le_bytes())
        }));
    }
}

#[test]
fn a_replay_sends_the_datagrams_that_were_sent_but_for_the_keys() {
    let (file, sent) = recorded();
    let steps = steps(&file);
    assert!(steps.iter().all(|step| step.matches == Match::Same));
    let again = steps.iter().flat_map(|step| {
        let sends = step.outputs.iter().filter_map(|output| match output {
            Output::Send(packet) => Some(packet),
            _ => None,
        });
        sends.map(|packet| (step.at, packet))
    });
    let mut masked = 0;
    let mut count = 0;
    for ((at, packet), (then, original)) in again.zip(&sent) {
        assert_eq!(at, *then);
        let mut mad = original.mad.clone();
        for place in 0..mad.len().saturating_sub(7) {
            for key in [M_KEY, SM_KEY] {
                if mad[place..place + 8] == key.to_be_bytes() {
                    mad[place..place + 8].copy_from_slice(&packet.mad[place..place + 8]);
                    masked += 1;
                }
            }
        }
        assert_eq!(packet.mad, mad);
        count += 1;
    }
    assert_eq!(count, sent.len());
    assert!(masked > 20, "keys in {masked} places");
}

#[test]
fn no_key_is_in_a_recording() {
    let (file, sent) = recorded();
    let has = |bytes: &[u8], key: u64| bytes.windows(8).any(|eight| eight == key.to_be_bytes());
    assert!(sent.iter().any(|(_, packet)| has(&packet.mad, M_KEY)));
    for step in steps(&file) {
        let text = match &step.what {
            What::Received(packet) => {
                assert!(!has(&packet.mad, M_KEY) && !has(&packet.mad, SM_KEY));
                continue;
            }
            what => format!("{what:?}"),
        };
        for key in [M_KEY, SM_KEY] {
            assert!(!text.contains(&key.to_string()), "{text}");
        }
    }
}

#[test]
fn a_recording_of_a_sweep_says_why_it_began() {
    let steps = steps(&recorded().0);
    let mut events = steps.iter().flat_map(|step| &step.outputs);
    assert!(events.any(|output| matches!(
        output,
        Output::Event(Event::SweepStarted {
            number: 2,
            reason: SweepReason::Forced,
            ..
        })
    )));
}

#[test]
fn a_flipped_bit_is_found_where_it_is() {
    let (file, _) = recorded();
    for place in [40, 120, file.len() / 2, file.len() - 3] {
        let mut damaged = file.clone();
        damaged[place] ^= 4;
        let error = read_to_end(&damaged).unwrap_err();
        let FileError::Damaged { at, .. } = error else {
            panic!("byte {place}: {error}");
        };
        assert!(at <= place as u64, "byte {place}: {error}");
    }
}

#[test]
fn a_torn_end_costs_what_is_after_the_last_chunk() {
    let (file, _) = recorded();
    let whole = read_to_end(&file).unwrap();
    for cut in [1, 9, 1000] {
        let (steps, torn_at) = read_to_end(&file[..file.len() - cut]).unwrap();
        let at = torn_at.unwrap();
        assert!(at < file.len() as u64, "{at}");
        assert!(steps < whole.0, "{steps} of {}", whole.0);
    }
    assert_eq!(whole.1, None);
}

#[test]
fn what_is_no_recording_is_refused() {
    for bytes in [&b""[..], b"weft", b"<?xml version=\"1.0\"?><Config/>"] {
        let error = Replay::new(bytes).unwrap_err();
        assert!(matches!(error, FileError::NoRecording), "{error}");
    }
    let (mut file, _) = recorded();
    for other in [b'2', b'4'] {
        file[b"weft recording ".len()] = other;
        let error = Replay::new(&file[..]).unwrap_err();
        assert!(matches!(error, FileError::OtherFormat), "{error}");
    }
}

#[test]
fn a_recording_of_other_code_says_so() {
    let header = Header {
        core: "0123456789abcdef".to_owned(),
        ..Header::new(0, "elsewhere")
    };
    let mut file = Vec::new();
    weft_replay::Writer::new(&mut file, &header).unwrap();
    let replay = Replay::new(&file[..]).unwrap();
    assert!(!replay.header().is_of_this_program());
}

/// Steps up to the end, and where the file is torn.
fn read_to_end(file: &[u8]) -> Result<(u64, Option<u64>), FileError> {
    let mut replay = Replay::new(file)?;
    let mut steps = 0;
    while let Some(step) = replay.next()? {
        steps = step.number;
    }
    Ok((steps, replay.torn_at()))
}
