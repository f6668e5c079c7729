//! Any bytes as the payload of an Aggregate: read, answered in place, built again.

use weft_wire::sm::aggregate::{AggregateBuilder, segments, segments_mut};

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Some((count, payload)) = input.split_first() else {
        return;
    };
    let count = usize::from(*count);
    let read: Vec<_> = segments(payload, count).collect();
    let mut copy = payload.to_vec();
    for (segment, before) in segments_mut(&mut copy, count).zip(&read) {
        let (Ok(mut segment), Ok(before)) = (segment, before) else {
            break;
        };
        assert_eq!(segment.data, before.data);
        segment.set_error(!before.error);
    }
    let mut builder = AggregateBuilder::new();
    for (segment, before) in segments(&copy, count).zip(&read).filter_map(both) {
        assert_eq!(segment.error, !before.error);
        assert!(builder.push(before.attribute, before.modifier, before.data, usize::MAX));
    }
    let built = builder.finish();
    let again = segments(&built, count);
    assert!(
        again
            .zip(&read)
            .filter_map(both)
            .all(|(new, old)| new.data == old.data)
    );
}

/// The two where both could be read.
fn both<'a, 'b, T: Copy, E>((new, old): (Result<T, E>, &'b Result<T, E>)) -> Option<(T, &'b T)>
where
    'b: 'a,
{
    Some((new.ok()?, old.as_ref().ok()?))
}
