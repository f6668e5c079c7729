//! The files of images, and the thread that writes them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use weft_manager::pm::settings::DiskSettings;
use weft_manager::pm::{Image, ImageName, Kept, PmInput};

use super::file::{decode, encode, head};
use super::files::Files;
use super::jobs::{IMAGES_MAX, Job, RECALLS_MAX, Refused, queue};
use super::keeper::Keeper;
use super::{ImagePlace, KeptImages, keeper};

const START: u64 = 1_700_000_000;

/// An image without ports: sweep, and sweeps that it was put together from.
fn image(run: u32, sweep: u64, images: u32) -> Image {
    let mut bytes = Vec::new();
    bytes.extend(run.to_le_bytes());
    bytes.extend(sweep.to_le_bytes());
    bytes.extend(images.to_le_bytes());
    bytes.extend((START + 10 * sweep).to_le_bytes());
    bytes.extend((10 * images).to_le_bytes());
    // Durations, statistics, weights, names, lanes, counts, managers, nodes and ports.
    bytes.extend([0; 8 + 8 + 20 + 25 + 2 + 1 + 20 + 160 + 4 + 4]);
    // Counters of ports and lanes, and their counts.
    bytes.extend([0; 2 * (27 + 14)]);
    Image::from_bytes(&bytes).unwrap()
}

fn name(run: u32, sweep: u64) -> ImageName {
    ImageName {
        run,
        sweep,
        composite: true,
    }
}

fn settings(dir: &Path) -> DiskSettings {
    DiskSettings {
        dir: dir.to_str().unwrap().to_owned(),
        images: 3,
        files_max: 100,
        bytes_max: 1 << 20,
        divisions: 2,
    }
}

fn write(files: &mut Files, sweep: u64, settings: &DiskSettings) -> Result<Vec<u64>, String> {
    let image = image(1, sweep, 1);
    let mut gone = Vec::new();
    files.write(&image, &image.kept().unwrap(), settings, &mut gone)?;
    Ok(gone.iter().map(|name| name.sweep).collect())
}

fn sweeps(kept: &[Kept]) -> Vec<u64> {
    kept.iter().map(|kept| kept.name.sweep).collect()
}

/// Bytes of the files in a directory.
fn usage(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum()
}

#[test]
fn images_come_back_after_a_restart_and_other_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let foreign = [
        "c20261127074128.zhist",
        "weft-1.images",
        "weft-+000000009.images",
        "pm_0",
    ];
    for file in foreign {
        fs::write(dir.path().join(file), "theirs").unwrap();
    }
    fs::write(dir.path().join("weft-unfinished"), "half").unwrap();
    let settings = settings(dir.path());
    let (mut files, damage) = Files::open(dir.path()).unwrap();
    assert_eq!(damage, Vec::<String>::new());
    for sweep in [7, 5, 9] {
        assert_eq!(write(&mut files, sweep, &settings), Ok(vec![]));
    }
    let locked = Files::open(dir.path()).unwrap_err();
    assert!(
        locked.contains("each instance needs its own StorageLocation"),
        "{locked}"
    );
    drop(files);
    let (mut files, _) = Files::open(dir.path()).unwrap();
    // In the order in which they were written.
    assert_eq!(sweeps(&files.kept()), [7, 5, 9]);
    assert_eq!(
        files.read(name(1, 5)).unwrap().kept(),
        image(1, 5, 1).kept()
    );
    assert!(files.read(name(2, 5)).is_err());
    assert!(foreign.iter().all(|file| dir.path().join(file).exists()));
    assert!(!dir.path().join("weft-unfinished").exists());
}

#[test]
fn no_more_is_kept_than_hours_and_bytes_allow() {
    let dir = tempfile::tempdir().unwrap();
    let (mut files, _) = Files::open(dir.path()).unwrap();
    let mut settings = settings(dir.path());
    settings.files_max = 3;
    for sweep in 1..=3 {
        assert_eq!(write(&mut files, sweep, &settings), Ok(vec![]));
    }
    assert_eq!(write(&mut files, 4, &settings), Ok(vec![1]));
    let one = usage(dir.path()) / 3;
    settings.bytes_max = 2 * one + 1;
    assert_eq!(write(&mut files, 5, &settings), Ok(vec![2, 3]));
    assert_eq!(sweeps(&files.kept()), [4, 5]);
    for sweep in 6..20 {
        write(&mut files, sweep, &settings).unwrap();
        assert!(usage(dir.path()) <= settings.bytes_max);
    }
    // A smaller bound counts at once; one below a single image keeps none and says so.
    settings.bytes_max = one;
    let mut gone = Vec::new();
    files.fit(&settings, 0, 0, &mut gone).unwrap();
    assert_eq!((gone, sweeps(&files.kept())), (vec![name(1, 18)], vec![19]));
    settings.bytes_max = 10;
    let refused = write(&mut files, 20, &settings).unwrap_err();
    assert!(refused.contains("MaxDiskSpace"), "{refused}");
    assert_eq!(sweeps(&files.kept()), [19]);
}

#[test]
fn a_file_has_as_many_parts_as_are_asked_for() {
    let image = image(1, 4, 3);
    let kept = image.kept().unwrap();
    for divisions in [1, 2, 8, 32] {
        let file = encode(&image, &kept, divisions).unwrap();
        let (_, len) = head(&file).unwrap();
        assert_eq!(len, 16 + 4 + 8 + 4 + 8 + 4 + 8 + 1 + 8 * divisions + 4);
        assert_eq!(decode(&file).unwrap().kept(), Some(kept));
    }
}

#[test]
fn every_flipped_bit_and_every_torn_end_is_seen() {
    let image = image(1, 4, 3);
    let file = encode(&image, &image.kept().unwrap(), 2).unwrap();
    for len in 0..file.len() {
        assert!(decode(&file[..len]).is_err(), "{len} bytes");
    }
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut bad = file.clone();
            bad[at] ^= 1 << bit;
            assert!(decode(&bad).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_damaged_file_is_told_left_out_and_removed_in_its_turn() {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = settings(dir.path());
    let (mut files, _) = Files::open(dir.path()).unwrap();
    for sweep in 1..=3 {
        write(&mut files, sweep, &settings).unwrap();
    }
    drop(files);
    let path = |number: u64| dir.path().join(format!("weft-{number:010}.images"));
    fs::write(path(1), "").unwrap();
    let mut second = fs::read(path(2)).unwrap();
    *second.last_mut().unwrap() ^= 1;
    fs::write(path(2), second).unwrap();
    let (mut files, damage) = Files::open(dir.path()).unwrap();
    assert_eq!(damage.len(), 1);
    assert!(
        damage[0].ends_with("0000000001.images: its head ends early"),
        "{damage:?}"
    );
    // Only who reads the second one finds out.
    assert_eq!(sweeps(&files.kept()), [2, 3]);
    let said = files.read(name(1, 2)).unwrap_err();
    assert!(
        said.ends_with("0000000002.images: a checksum is wrong"),
        "{said}"
    );
    assert_eq!(sweeps(&files.kept()), [3]);
    settings.files_max = 2;
    assert_eq!(write(&mut files, 4, &settings), Ok(vec![]));
    assert!(!path(1).exists() && !path(2).exists() && path(3).exists());
    // A file that somebody removes is no longer there, and no more.
    fs::remove_file(path(3)).unwrap();
    assert!(files.read(name(1, 3)).is_err());
    assert_eq!(write(&mut files, 5, &settings), Ok(vec![]));
}

#[test]
fn a_full_disk_costs_one_image() {
    let dir = tempfile::tempdir().unwrap();
    let settings = settings(dir.path());
    let (mut files, _) = Files::open(dir.path()).unwrap();
    write(&mut files, 1, &settings).unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("weft-unfinished")).unwrap();
    let said = write(&mut files, 2, &settings).unwrap_err();
    assert!(said.contains("No space left on device"), "{said}");
    write(&mut files, 3, &settings).unwrap();
    assert_eq!(sweeps(&files.kept()), [1, 3]);
}

/// What the thread says to some jobs until it ends.
fn run(place: ImagePlace, jobs: Vec<Job>) -> Vec<PmInput> {
    let (tell, mut told) = mpsc::channel(256);
    let mut keeper = Keeper::new(place, &tell);
    jobs.into_iter().for_each(|job| keeper.work(job));
    keeper.close();
    drop(keeper);
    drop(tell);
    std::iter::from_fn(|| told.try_recv().ok()).collect()
}

/// The images that the manager was given: the sweep, and from how many it was put together; none where it was not there.
type Given = Vec<(u64, Option<u32>)>;

/// What the manager knows of in the end, and the images that it was given.
fn learnt(said: &[PmInput]) -> (Vec<(u64, u32)>, Given) {
    let (mut kept, mut given) = (Vec::<Kept>::new(), Given::new());
    for what in said {
        match what {
            PmInput::Kept(more) => {
                // As the manager does: the newest may have grown, others are new.
                for one in more {
                    kept.pop_if(|last| last.name == one.name);
                    kept.push(*one);
                }
            }
            PmInput::Removed(gone) => kept.retain(|one| !gone.contains(&one.name)),
            PmInput::Recalled { name, image } => {
                let images = image.as_ref().and_then(|image| image.kept());
                given.push((name.sweep, images.map(|kept| kept.images)));
            }
            other => panic!("{other:?}"),
        }
    }
    let kept = kept.iter().map(|kept| (kept.name.sweep, kept.images));
    (kept.collect(), given)
}

fn sweep(number: u64) -> Job {
    Job::Image(Arc::new(image(1, number, 1)))
}

#[test]
fn sweeps_are_put_together_and_the_last_ones_are_written_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let on = || Job::Settings(Some(settings(dir.path())));
    let recall = |sweep| Job::Recall(name(1, sweep));
    let mut jobs = vec![on()];
    jobs.extend((1..=5).map(sweep));
    // The one that is being put together can be asked for, too.
    jobs.extend([recall(1), recall(4), recall(2)]);
    // Sweep 6 is missing: images are of sweeps without gaps.
    jobs.extend([sweep(7), sweep(8)]);
    let (kept, given) = learnt(&run(ImagePlace::Configured, jobs));
    assert_eq!(kept, [(1, 3), (4, 2), (7, 2)]);
    assert_eq!(given, [(1, Some(3)), (4, Some(2)), (2, None)]);
    // After a restart.
    let jobs = vec![on(), recall(7), Job::Tell];
    let (kept, given) = learnt(&run(ImagePlace::Configured, jobs));
    assert_eq!((kept.len(), given), (3, vec![(7, Some(2))]));
    // Where nothing is to be kept any more, nothing is asked for, and the files stay.
    let jobs = vec![on(), Job::Settings(None), sweep(9), recall(7)];
    let (kept, given) = learnt(&run(ImagePlace::Configured, jobs));
    assert_eq!((kept, given), (vec![], vec![(7, None)]));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3 + 1);
}

#[test]
fn an_emulated_fabric_has_a_place_of_its_own_and_settings_can_change() {
    let (dir, configured) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let with = |images| {
        Job::Settings(Some(DiskSettings {
            images,
            ..settings(configured.path())
        }))
    };
    let place = ImagePlace::Dir(dir.path().join("images.0"));
    let jobs = vec![
        with(2),
        sweep(1),
        with(1),
        sweep(2),
        with(4),
        sweep(3),
        sweep(4),
    ];
    let (kept, _) = learnt(&run(place, jobs));
    assert_eq!(kept, [(1, 1), (2, 1), (3, 2)]);
    assert_eq!(fs::read_dir(configured.path()).unwrap().count(), 0);
}

#[test]
fn without_a_directory_the_manager_goes_on_and_with_one_again_all_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("images");
    fs::write(&place, "a file").unwrap();
    let on = Job::Settings(Some(settings(&place)));
    let mut jobs = vec![on];
    jobs.extend((1..=3).map(sweep));
    assert_eq!(learnt(&run(ImagePlace::Configured, jobs)).0, []);
    fs::remove_file(&place).unwrap();
    let (give, queue) = queue();
    let (tell, mut told) = mpsc::channel(256);
    give.settings(Some(settings(&place)));
    let thread = std::thread::spawn(move || keeper::run(ImagePlace::Configured, queue, &tell));
    let hand_over = |numbers: std::ops::RangeInclusive<u64>| {
        for number in numbers {
            while give.images() >= IMAGES_MAX {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            give.image(Arc::new(image(1, number, 1)));
        }
    };
    let wait = |done: &dyn Fn() -> bool| {
        while !done() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    hand_over(1..=3);
    wait(&|| place.join("weft-0000000001.images").exists());
    // Somebody removes it all.
    fs::remove_dir_all(&place).unwrap();
    hand_over(4..=6);
    wait(&|| place.join("weft-0000000001.images").exists());
    drop(give);
    thread.join().unwrap();
    let said: Vec<PmInput> = std::iter::from_fn(|| told.try_recv().ok()).collect();
    assert_eq!(learnt(&said).0, [(4, 3)]);
}

#[test]
fn however_much_waits_settings_and_the_request_to_tell_all_arrive() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut files, _) = Files::open(other.path()).unwrap();
    write(&mut files, 3, &settings(other.path())).unwrap();
    drop(files);
    let (tell, mut told) = mpsc::channel(2 * RECALLS_MAX);
    let (jobs, queue) = queue();
    // The disk hangs: nothing is taken out of the queue meanwhile.
    let name = name(1, 3);
    for _ in 0..RECALLS_MAX {
        assert_eq!(jobs.recall(name), Ok(()));
    }
    assert_eq!(jobs.recall(name), Err(Refused::Busy));
    (0..100).for_each(|number| jobs.image(Arc::new(image(1, number, 1))));
    assert_eq!(jobs.images(), IMAGES_MAX);
    for _ in 0..1000 {
        jobs.settings(None);
        jobs.settings(Some(settings(dir.path())));
        jobs.tell();
    }
    jobs.settings(Some(settings(other.path())));
    drop(jobs);
    keeper::run(ImagePlace::Configured, queue, &tell);
    drop(tell);
    let said: Vec<PmInput> = std::iter::from_fn(|| told.try_recv().ok()).collect();
    let answered = said
        .iter()
        .filter(|what| matches!(what, PmInput::Recalled { .. }));
    assert_eq!(answered.count(), RECALLS_MAX);
    // Told twice: when the directory was opened, and because all was to be told.
    let kept = said.iter().filter_map(|what| match what {
        PmInput::Kept(kept) => Some(sweeps(kept)),
        _ => None,
    });
    assert_eq!(kept.collect::<Vec<_>>(), [[3], [3]]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_full_queue_refuses_and_an_ended_thread_has_no_image() {
    let (jobs, queue) = queue();
    let (_, told) = mpsc::channel(1);
    let kept = KeptImages { jobs, told };
    let name = name(1, 7);
    for _ in 0..RECALLS_MAX {
        assert!(kept.recall(name).is_none(), "it is asked for");
    }
    let busy = kept.recall(name);
    assert!(matches!(busy, Some(PmInput::RecallRefused(of)) if of == name));
    drop(queue);
    let none = kept.recall(name);
    assert!(matches!(none, Some(PmInput::Recalled { image: None, .. })));
}
