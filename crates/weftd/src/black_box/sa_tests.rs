//! Inputs of subnet administration beside the manager's: between two files, and where they rest.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use weft_fabric::{Lid, Sl, Tick};
use weft_manager::{Input, Sa, SaInput, SaSettings, Settings};
use weft_replay::{Chunk, Match, Recorded, RecordedSa, Replay};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;

use super::tests::{noise, place};
use super::*;

/// Budgets of a recording, of a file, and of subnet administration in it.
const BUDGET: u64 = 1 << 20;
const FILE: u64 = BUDGET / 8;
const SA: u64 = FILE / 2;

/// A daemon's manager and subnet administration, and the thread that writes.
struct Both {
    dir: tempfile::TempDir,
    manager: Recorded,
    sa: RecordedSa,
    progress: Arc<Progress>,
    keeping: Keeping,
    now: Tick,
}

impl Both {
    fn begin() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opened = open(Some(place(dir.path(), BUDGET)));
        let now = Tick(1);
        let manager = Recorded::new(now, Settings::default(), None, opened.recorder);
        let recorder = opened.sa_recorder.map(|recorder| (recorder, Tick(0)));
        let sa = RecordedSa::new(now, Sa::new(SaSettings::default()), recorder);
        Self {
            dir,
            manager,
            sa,
            progress: opened.black_box.progress.unwrap(),
            keeping: opened.keeping.unwrap(),
            now,
        }
    }

    /// Subnet administration gets a request that nothing compresses.
    fn asks(&mut self) {
        self.now = Tick(self.now.0 + 1_000);
        let request = datagram(class::SUBN_ADM);
        self.sa.handle(self.now, SaInput::Received(request));
        while self.sa.poll().is_some() {}
    }

    /// The manager has its share of the newest file, and begins the next.
    fn next_file(&mut self) {
        let file = self.progress.file();
        while self.progress.file() == file {
            self.now = Tick(self.now.0 + 1_000);
            let answer = datagram(class::SM_LID_ROUTED);
            self.manager.handle(self.now, Input::Received(answer));
            self.manager.flush();
            while self.manager.poll().is_some() {}
            // The thread that writes has its turn.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Names of the inputs of all files, each of which is as recorded.
    async fn end(self) -> Vec<Vec<&'static str>> {
        let Self {
            dir,
            manager,
            sa,
            keeping,
            ..
        } = self;
        drop((manager, sa));
        drop(keeping.orders);
        keeping.ended.await.unwrap();
        replayed(&dir.path().join("recordings.0"))
    }
}

fn datagram(mgmt_class: u8) -> Packet {
    let mut mad = noise(2_000);
    let header = MadHeader {
        base_version: version::OPA,
        mgmt_class,
        class_version: version::OPA,
        method: 1,
        ..MadHeader::decode(&mad).unwrap()
    };
    header.encode(&mut mad);
    // No segment.
    mad[MadHeader::LEN..][..12].fill(0);
    Packet {
        slid: Lid(9),
        dlid: Lid(1),
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}

fn replayed(ring: &Path) -> Vec<Vec<&'static str>> {
    let files = fs::read_dir(ring).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let names = files.iter().map(|file| {
        let bytes = fs::read(file).unwrap();
        let mut replay = Replay::new(&bytes[..]).unwrap();
        let mut names = Vec::new();
        while let Some(step) = replay.next().unwrap() {
            assert_eq!(step.matches, Match::Same, "step {}", step.number);
            names.push(step.what.name());
        }
        names
    });
    names.collect()
}

fn count(names: &[&str], name: &str) -> usize {
    names.iter().filter(|one| **one == name).count()
}

#[tokio::test]
async fn a_file_says_where_subnet_administration_has_used_its_share_and_the_next_has_it_again() {
    let mut both = Both::begin();
    let mut asked = 0;
    while !both.progress.sa_rests_in(1) {
        asked += 1;
        assert!(asked < 10_000);
        both.asks();
        both.sa.flush(both.now);
        std::thread::sleep(Duration::from_millis(1));
    }
    both.next_file();
    both.asks();
    let files = both.end().await;
    assert_eq!(files.len(), 2);
    let received = count(&files[0], "sa-received");
    assert!(received <= asked && received as u64 * 2_000 > SA - 4_000);
    assert_eq!(count(&files[0], "sa-rests"), 1);
    let second: Vec<&&str> = files[1]
        .iter()
        .filter(|name| name.starts_with("sa-"))
        .collect();
    assert_eq!(second, [&"sa-checkpoint", &"sa-received"]);
}

#[tokio::test]
async fn what_subnet_administration_had_before_its_state_is_in_the_file_before() {
    let mut both = Both::begin();
    for _ in 0..5 {
        both.asks();
    }
    both.next_file();
    for _ in 0..3 {
        both.asks();
    }
    let files = both.end().await;
    let counts: Vec<usize> = files
        .iter()
        .map(|names| count(names, "sa-received"))
        .collect();
    assert_eq!(counts, [5, 3]);
    assert!(files.iter().all(|names| count(names, "sa-checkpoint") == 1));
    assert!(files.iter().all(|names| count(names, "sa-rests") == 0));
}

#[tokio::test]
async fn it_rests_in_the_file_before_as_well() {
    let mut both = Both::begin();
    // As much as a chunk holds, which is more than its share.
    for _ in 0..50 {
        both.asks();
    }
    both.next_file();
    both.asks();
    let files = both.end().await;
    let rests: Vec<usize> = files.iter().map(|names| count(names, "sa-rests")).collect();
    assert_eq!(rests, [1, 0]);
    assert_eq!(count(&files[0], "sa-received"), 50);
    assert_eq!(count(&files[1], "sa-received"), 1);
}

#[test]
fn it_rests_where_half_of_the_orders_wait_for_the_disk() {
    let (orders, mut queue) = mpsc::channel(ORDERS_MAX);
    let progress = Arc::new(Progress::new(BUDGET));
    let mut chunks = SaChunks {
        orders,
        progress: Arc::clone(&progress),
        file: 1,
    };
    let mut taken = 0;
    while chunks.take(vec![0].into()) {
        taken += 1;
    }
    assert_eq!(taken, ORDERS_MAX / 2 + 1);
    assert!(progress.sa_rests_in(1) && !chunks.take(vec![0].into()));
    let last = std::iter::from_fn(|| queue.try_recv().ok()).last();
    assert!(matches!(last, Some(Order::SaRests(1))), "{last:?}");
    // The disk has caught up, and the next file begins.
    assert!(!chunks.take(vec![0].into()));
    progress.next_file();
    assert!(chunks.is_full());
}

/// Keeps the chunks of a recorder.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sink for Kept {
    fn take(&mut self, chunk: Chunk) -> bool {
        self.0.lock().unwrap().push(chunk.into_bytes());
        true
    }
}

#[test]
fn a_slow_disk_is_told_in_a_file_that_has_no_state_yet() {
    let dir = tempfile::tempdir().unwrap();
    let place = place(dir.path(), BUDGET);
    let kept = Kept::default();
    let recorder = Recorder::new(Box::new(kept.clone()));
    let manager = Recorded::new(Tick(1), Settings::default(), None, Some(recorder));
    let progress = Arc::new(Progress::new(BUDGET));
    let mut recording = thread::Recording::begin(place.clone(), progress).unwrap();
    for chunk in kept.0.lock().unwrap().iter() {
        recording.chunk(chunk);
    }
    recording.disk_is_slow(1);
    drop((recording, manager));
    let files = replayed(&place.recordings);
    assert_eq!(files, [["create", "sa-rests"]]);
}
