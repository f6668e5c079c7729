#![allow(clippy::unwrap_used)]

use weft_fabric::Tick;
use weft_state::PIECE;

use super::Checkpoint;
use crate::file::{Header, Writer};
use crate::replay::Replay;

/// A recording of the first chunks of a checkpoint of so many zeros.
fn recording(len: usize, chunks: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    for chunk in Checkpoint::from(vec![0; len]).chunks(Tick(0)).take(chunks) {
        writer.chunk(&chunk).unwrap();
    }
    file
}

#[test]
fn a_recording_that_ends_between_two_pieces_of_its_checkpoint_is_torn() {
    for pieces in [1, 2] {
        let file = recording(2 * PIECE + 1, pieces);
        let mut replay = Replay::new(&file[..]).unwrap();
        assert!(replay.next().unwrap().is_none());
        assert_eq!(replay.torn_at(), Some(file.len() as u64), "{pieces}");
    }
    // The same with all of them is no manager's state.
    let file = recording(2 * PIECE + 1, 3);
    let error = Replay::new(&file[..]).unwrap().next().unwrap_err();
    assert!(error.to_string().contains("its checkpoint: "), "{error}");
}
