//! A disk that is full.

use std::path::Path;
use std::process::Command;

use weft_history::{Reader, Recorder};

use crate::model::{Counting, Model, START};

/// A file system of its own that goes with the test.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(dir.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(dir))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_full_disk_is_told_and_recording_goes_on_when_there_is_room() {
    let Some(disk) = Tmpfs::mount("2m") else {
        eprintln!("not run: no file system can be mounted here");
        return;
    };
    let mut recorder = Recorder::open(disk.path(), 64 << 20).expect("a recorder");
    let (mut fabric, mut model) = (Counting::new(9, 60), Model::default());
    let ballast = disk.path().join("ballast");
    let mut time = START;
    for _ in 0..3 {
        std::fs::write(&ballast, vec![1; 1_000_000]).expect("room");
        let mut refused = 0;
        while refused < 20 {
            let ports = fabric.reading();
            time += 10_000;
            match recorder.image(time, ports.clone()) {
                Ok(()) => model.add(time, &ports),
                Err(error) => {
                    assert!(
                        error.to_string().contains("No space left on device"),
                        "{error}"
                    );
                    refused += 1;
                }
            }
            if refused == 1 {
                model.check(disk.path());
            }
        }
        std::fs::remove_file(&ballast).expect("the ballast");
        for _ in 0..10 {
            let ports = fabric.reading();
            time += 10_000;
            recorder.image(time, ports.clone()).expect("room again");
            model.add(time, &ports);
        }
        model.check(disk.path());
        drop(recorder);
        recorder = Recorder::open(disk.path(), 64 << 20).expect("a recorder");
        assert!(recorder.warnings().is_empty());
        model.check(disk.path());
        // Room for the next round.
        for file in crate::model::files(&disk.path().join("counters")) {
            drop(std::fs::remove_file(file));
        }
        recorder = Recorder::open(disk.path(), 64 << 20).expect("a recorder");
        model = Model::default();
    }
    assert!(
        !Reader::new(disk.path())
            .kept()
            .expect("what is kept")
            .gaps
            .is_empty()
    );
}
