#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use weft_fabric::Tick;
use weft_manager::{Input, Settings};
use weft_replay::{Match, Recorded, Replay};

use super::*;
use crate::event_hub::InForce;
use crate::heartbeat::Heart;
use crate::supervisor::Supervisor;

fn place(dir: &Path, budget: u64) -> RecordingPlace {
    RecordingPlace {
        recordings: dir.join("recordings.0"),
        incidents: dir.join("incidents.0"),
        budget,
    }
}

/// The manager, and a part that has ended with the words of a panic.
async fn panics(recorder: Recorder) -> String {
    let mut parts = Supervisor::default();
    let work = move || async move {
        let mut manager = Recorded::new(Tick(0), Settings::default(), None, Some(recorder));
        for second in 1..=3 {
            manager.handle(Tick(second * 1_000_000_000), Input::Tick);
        }
        panic!("a broken promise");
    };
    parts.thread(Heart::new("manager"), work).unwrap();
    parts.first_end().await.to_string()
}

#[tokio::test]
async fn a_panic_of_the_managers_thread_leaves_a_copy_with_its_last_input() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path(), 1 << 20);
    let Opened {
        black_box,
        recorder,
        keeping,
    } = open(Some(place));
    let said = panics(recorder.unwrap()).await;
    assert!(said.starts_with("manager has ended: it panicked"), "{said}");
    let (stop, stopping) = Stopping::new();
    stop.send_replace(true);
    let hub = Arc::new(EventHub::new(InForce::default()));
    keeping.unwrap().run(hub, stopping).await.unwrap();
    let all = list(&black_box.incidents_dir().unwrap()).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].kind, Kind::Panic);
    assert!(all[0].reason.contains("panicked"), "{}", all[0].reason);
    let bytes = fs::read(&all[0].path).unwrap();
    let mut replay = Replay::new(&bytes[..]).unwrap();
    let mut inputs = Vec::new();
    while let Some(step) = replay.next().unwrap() {
        assert_eq!(step.matches, Match::Same, "step {}", step.number);
        inputs.push(step.what.name());
    }
    assert_eq!(inputs, ["create", "tick", "tick", "tick"]);
    let state = black_box.recording().unwrap();
    assert_eq!(state.end, None);
    assert!(state.bytes > 0 && state.budget == 1 << 20);
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
    let unsaved = opened.black_box.save(String::new()).await;
    assert_eq!(unsaved, Err(Unsaved::NoRecording));
}
