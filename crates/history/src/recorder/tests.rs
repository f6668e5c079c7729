use super::*;
use crate::row::{PortKey, PortValues};

const BUDGET: u64 = 64 << 20;

fn reading(number: u64) -> Vec<PortRow> {
    let port = |guid: u64| PortRow {
        key: PortKey { guid, port: 1 },
        name: format!("node{guid}").into(),
        values: PortValues {
            totals: [number.wrapping_mul(guid).wrapping_mul(0x9E37_79B9) >> 3; _],
            link_quality: Some(5),
        },
    };
    (1..=50).map(port).collect()
}

#[test]
fn a_roll_up_for_which_there_is_no_room_is_told_once_and_made_later() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut recorder = Recorder::open(dir.path(), BUDGET).expect("a recorder");
    for number in 0..6 {
        let time_ms = 1_700_000_000_000 + 10_000 * number as i64;
        recorder.image(time_ms, reading(number)).expect("recorded");
        let closed = recorder
            .counters
            .close(&recorder.root, &mut recorder.files, BUDGET);
        closed.expect("a segment");
    }
    let waiting = |recorder: &Recorder| recorder.files.not_rolled_up(Resolution::Image).len();
    recorder.files.budget = recorder.total() + 10;
    for words in [1, 0] {
        recorder.roll_up_all().expect("no failure of a reading");
        let told = recorder.warnings();
        assert_eq!(told.len(), words, "{told:?}");
        assert!(
            told.iter()
                .all(|word| word.starts_with("counters of each 60 s do not fit"))
        );
        assert_eq!(waiting(&recorder), 6);
    }
    recorder.files.budget = BUDGET;
    recorder.roll_up_all().expect("a roll-up");
    assert_eq!((waiting(&recorder), recorder.warnings().len()), (0, 0));
}
