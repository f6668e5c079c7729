#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use weft_fabric::Tick;
use weft_manager::{Input, Settings};
use weft_replay::{Match, Recorded, Replay};

use super::*;
use crate::event_hub::InForce;
use crate::heartbeat::Heart;
use crate::supervisor::Supervisor;

pub(super) fn place(dir: &Path, budget: u64) -> RecordingPlace {
    RecordingPlace {
        recordings: dir.join("recordings.0"),
        incidents: dir.join("incidents.0"),
        budget,
    }
}

/// The manager, which takes three inputs and panics then where it is to, or waits for the stop.
fn manager(parts: &mut Supervisor, recorder: Recorder, stopping: &Stopping, panics: bool) {
    let stopping = stopping.clone();
    let work = move || async move {
        let mut manager = Recorded::new(Tick(0), Settings::default(), None, Some(recorder));
        for second in 1..=3 {
            manager.handle(Tick(second * 1_000_000_000), Input::Tick);
        }
        assert!(!panics, "a broken promise\nof the manager");
        stopping.wait().await;
        Ok(())
    };
    parts.thread(Heart::new("manager"), work).unwrap();
}

/// Part of the daemon that panics, and how it does.
type Panics = (&'static str, fn(&mut Supervisor, &Stopping));

const OTHERS: [Panics; 4] = [
    ("queries panicked: no answer", |parts, _| {
        let work = || async { panic!("no {}", "answer") };
        parts.thread(Heart::new("queries"), work).unwrap();
    }),
    ("planner panicked: no plan", |parts, stopping| {
        let work = || async { panic!("no plan") };
        parts.worker("planner", stopping, work).unwrap();
    }),
    ("metrics panicked: no number", |parts, _| {
        parts.task("metrics", async { panic!("no number") });
    }),
    ("history panicked: no past", |parts, _| {
        let ended = crate::supervisor::spawn("history", || panic!("no past")).unwrap();
        parts.task("history", ended);
    }),
];

/// Runs the manager and a part that panics until the daemon has ended for it; what is saved has the manager's inputs.
async fn a_panic_is_saved(words: &str, other: Option<Panics>) {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path(), 1 << 20);
    let Opened {
        black_box,
        recorder,
        keeping,
        ..
    } = open(Some(place));
    let mut parts = Supervisor::default();
    let (stop, stopping) = Stopping::new();
    let hub = Arc::new(EventHub::new(InForce::default()));
    let keeping = keeping.unwrap().run(hub, parts.panics(), stopping.clone());
    parts.task("recording", keeping);
    manager(&mut parts, recorder.unwrap(), &stopping, other.is_none());
    if let Some((_, start)) = other {
        start(&mut parts, &stopping);
    }
    let said = parts.first_end().await.to_string();
    assert!(said.contains(" has ended: it panicked: "), "{said}");
    stop.send_replace(true);
    parts.finish().await.unwrap();
    let all = list(&black_box.incidents_dir().unwrap()).unwrap();
    assert_eq!(all.len(), 1, "{words}");
    assert_eq!(all[0].kind, Kind::Panic);
    assert_eq!(all[0].reason, words);
    let bytes = fs::read(&all[0].path).unwrap();
    let mut replay = Replay::new(&bytes[..]).unwrap();
    let mut inputs = Vec::new();
    while let Some(step) = replay.next().unwrap() {
        assert_eq!(step.matches, Match::Same, "step {}", step.number);
        inputs.push(step.what.name());
    }
    assert_eq!(inputs, ["create", "tick", "tick", "tick"], "{words}");
    let state = black_box.recording().unwrap();
    assert_eq!(state.end, None);
    assert!(state.bytes > 0 && state.budget == 1 << 20);
}

#[tokio::test]
async fn a_panic_of_the_managers_thread_leaves_a_copy_with_its_last_input() {
    a_panic_is_saved("manager panicked: a broken promise of the manager", None).await;
}

#[tokio::test]
async fn a_panic_of_any_other_part_leaves_a_copy_as_well() {
    for other in OTHERS {
        a_panic_is_saved(other.0, Some(other)).await;
    }
}

#[tokio::test]
async fn one_that_cannot_begin_says_why() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("recordings.0"), "a file").unwrap();
    let opened = open(Some(place(dir.path(), 1 << 20)));
    assert!(opened.recorder.is_none() && opened.keeping.is_none());
    let state = opened.black_box.recording().unwrap();
    let (_, why) = state.end.unwrap();
    assert!(why.contains("exists"), "{why}");
    let unsaved = opened.black_box.save(Kind::ByHand, String::new()).await;
    assert_eq!(unsaved, Err(Unsaved::NoRecording));
}

/// Bytes that nothing compresses, others each time: a file compresses what it has had before.
pub(super) fn noise(len: usize) -> Vec<u8> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let mut state = SEED
        .fetch_add(1, Ordering::Relaxed)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    });
    bytes.take(len).collect()
}

/// What is written.
enum Part {
    Chunk(Vec<u8>),
    Checkpoint(Vec<u8>),
}

/// Writes that; returns how far the recording is and the bytes of the ring's files, the oldest first.
fn written(dir: &Path, budget: u64, parts: Vec<Part>) -> (Arc<Progress>, Vec<u64>) {
    let place = place(dir, budget);
    let progress = Arc::new(Progress::new(budget));
    let mut recording = thread::Recording::begin(place.clone(), Arc::clone(&progress)).unwrap();
    for part in parts {
        match part {
            Part::Chunk(chunk) => recording.chunk(&chunk),
            Part::Checkpoint(chunk) => {
                // As the manager's thread does.
                progress.set_full(false);
                recording.next(|to| to(&chunk));
            }
        }
    }
    let files = fs::read_dir(&place.recordings).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let lens = files.iter().map(|file| fs::metadata(file).unwrap().len());
    (progress, lens.collect())
}

#[test]
fn the_oldest_files_make_room_and_the_next_begins_at_its_share() {
    let dir = tempfile::tempdir().unwrap();
    // Of 8 KiB each, of which the first chunk has 2.
    let file = |next| {
        let first = noise(2 << 10);
        let first = match next {
            true => Part::Checkpoint(first),
            false => Part::Chunk(first),
        };
        [first, Part::Chunk(noise(6 << 10))]
    };
    let all = (0..12).flat_map(|number| file(number > 0)).collect();
    let (progress, files) = written(dir.path(), 64 << 10, all);
    assert!(progress.is_full() && !progress.is_over());
    assert_eq!(files.len(), 7, "{files:?}");
    let state = progress.state();
    assert_eq!(state.bytes, files.iter().sum::<u64>());
    assert!(state.bytes <= 64 << 10 && state.bytes > 56 << 10);
}

#[test]
fn a_file_grows_no_older_once_the_recording_has_ended() {
    const MINUTE: u64 = 60_000;
    assert!(thread::is_young(MINUTE, 60 * MINUTE, None));
    assert!(!thread::is_young(MINUTE, 61 * MINUTE, None));
    assert!(thread::is_young(MINUTE, 90 * MINUTE, Some(60 * MINUTE)));
    assert!(!thread::is_young(MINUTE, 90 * MINUTE, Some(61 * MINUTE)));
}

/// The disk is another's: what is in the ring cannot be removed.
#[test]
fn a_ring_in_which_nothing_can_be_removed_ends() {
    let dir = tempfile::tempdir().unwrap();
    let ring = dir.path().join("recordings.0");
    let old = ring.join("1.weftrec");
    let progress = Arc::new(Progress::new(64 << 10));
    let place = place(dir.path(), 64 << 10);
    let mut recording = thread::Recording::begin(place, Arc::clone(&progress)).unwrap();
    recording.chunk(&noise(30 << 10));
    assert!(!progress.is_over());
    // It has a recording's name, and is no file.
    fs::create_dir(&old).unwrap();
    recording.next(|to| to(&noise(40 << 10)));
    let (_, why) = progress.state().end.unwrap();
    assert!(why.starts_with(&format!("{}: ", ring.display())), "{why}");
    assert!(why.contains("directory"), "{why}");
}

#[test]
fn a_large_checkpoint_has_as_much_behind_it() {
    let cases = [
        (10, 8, false),
        (10, 12, true),
        // Up to seven eighths of the budget.
        (40, 15, false),
        (40, 17, true),
        (60, 1, false),
    ];
    for (checkpoint, behind, is_full) in cases {
        let dir = tempfile::tempdir().unwrap();
        let all = vec![
            Part::Chunk(noise(9 << 10)),
            Part::Checkpoint(noise(checkpoint << 10)),
            Part::Chunk(noise(behind << 10)),
        ];
        let (progress, _) = written(dir.path(), 64 << 10, all);
        assert_eq!(progress.is_full(), is_full, "{checkpoint}, {behind}");
        assert!(!progress.is_over(), "{checkpoint}, {behind}");
    }
}

#[test]
fn a_file_that_alone_has_the_budget_ends_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let all = vec![
        Part::Chunk(noise(9 << 10)),
        Part::Checkpoint(noise(2 << 20)),
        Part::Chunk(noise(9)),
    ];
    let (progress, files) = written(dir.path(), 1 << 20, all);
    let (_, why) = progress.state().end.unwrap();
    assert_eq!(
        why,
        "a file of it has 1 MiB, which is all of --recording-budget"
    );
    assert_eq!(files.len(), 1, "{files:?}");
}
