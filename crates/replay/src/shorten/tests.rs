use weft_fabric::Tick;

use crate::inputs::{Entry, What};

#[test]
fn a_checkpoint_counts_with_all_its_bytes() {
    let entry = |what| Entry {
        at: Tick(0),
        what,
        digest: None,
        chunk_at: 0,
    };
    let checkpoint = What::Checkpoint(vec![0; 5000].into());
    let more = entry(checkpoint).bytes() - entry(What::Tick).bytes();
    assert_eq!(more, 5000);
}
