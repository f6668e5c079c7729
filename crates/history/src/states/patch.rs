//! A value as what differs from the one before: the length of the result, then steps. A step has three numbers, bytes to
//! copy, bytes of the old value to leave out, bytes to insert, and then the inserted ones.

use crate::log::{put, take};

/// Equal bytes between two differences that are not worth a step of their own.
const WORTH: usize = 8;
/// Longest value, bytes.
pub(super) const VALUE_MAX: usize = 32 << 20;

/// What makes the new value of the old one; none where that is no shorter than the new one.
pub(super) fn encode(old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    put(&mut out, new.len() as u64);
    let start = same(old, new);
    let (old, new) = (&old[start..], &new[start..]);
    let end = same_at_end(old, new);
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    if old.len() == new.len() {
        runs(&mut out, start, old, new);
    } else {
        step(&mut out, start, old.len(), new);
    }
    if end > 0 {
        step(&mut out, end, 0, &[]);
    }
    (out.len() < start + new.len() + end).then_some(out)
}

/// Steps between two values of the same length, after so many bytes that are equal.
fn runs(out: &mut Vec<u8>, mut copied: usize, old: &[u8], new: &[u8]) {
    let mut at = 0;
    while at < new.len() {
        let equal = same(&old[at..], &new[at..]);
        (at, copied) = (at + equal, copied + equal);
        let from = at;
        while at < new.len() {
            let equal = same(&old[at..(at + WORTH).min(new.len())], &new[at..]);
            if equal == WORTH {
                break;
            }
            at += equal + usize::from(at + equal < new.len());
        }
        if from < at {
            step(out, copied, at - from, &new[from..at]);
            copied = 0;
        }
    }
    if copied > 0 {
        step(out, copied, 0, &[]);
    }
}

fn step(out: &mut Vec<u8>, copy: usize, skip: usize, insert: &[u8]) {
    for number in [copy, skip, insert.len()] {
        put(out, number as u64);
    }
    out.extend_from_slice(insert);
}

/// Equal bytes at the beginning.
fn same(a: &[u8], b: &[u8]) -> usize {
    const AT_ONCE: usize = 64;
    let chunks = a.chunks_exact(AT_ONCE).zip(b.chunks_exact(AT_ONCE));
    let whole = AT_ONCE * chunks.take_while(|(a, b)| a == b).count();
    let rest = a[whole..].iter().zip(&b[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

/// Equal bytes at the end.
fn same_at_end(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

/// Makes the new value; none where the patch does not fit.
pub(super) fn apply(old: &[u8], mut patch: &[u8]) -> Option<Vec<u8>> {
    let length = |rest: &mut &[u8]| usize::try_from(take(rest)?).ok();
    let len = length(&mut patch).filter(|len| *len <= VALUE_MAX)?;
    let mut new = Vec::with_capacity(len);
    let mut rest = old;
    while !patch.is_empty() {
        let (copy, skip, insert) = (
            length(&mut patch)?,
            length(&mut patch)?,
            length(&mut patch)?,
        );
        let (copied, after) = rest.split_at_checked(copy)?;
        rest = after.get(skip..)?;
        let (inserted, after) = patch.split_at_checked(insert)?;
        patch = after;
        if new.len() + copied.len() + inserted.len() > len {
            return None;
        }
        new.extend_from_slice(copied);
        new.extend_from_slice(inserted);
    }
    (new.len() == len).then_some(new)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_changes_little_takes_little() {
        let old: Vec<u8> = (0..48_000_u32).map(|n| (n * 7 / 3) as u8).collect();
        let mut new = old.clone();
        (new[77], new[40_000]) = (1, 2);
        assert!(encode(&old, &new).unwrap().len() < 30);
        assert!(encode(&old, &old).unwrap().len() < 10);
        let other: Vec<u8> = old.iter().map(|byte| !byte).collect();
        assert_eq!(encode(&old, &other), None);
        let mut grown = old.clone();
        grown.splice(10_000..10_000, [1, 2, 3]);
        let patch = encode(&old, &grown).unwrap();
        assert!(patch.len() < 20 && apply(&old, &patch).unwrap() == grown);
    }

    proptest! {
        #[test]
        fn patches_give_the_new_value(
            old in proptest::collection::vec(0_u8..3, 0..300),
            edits in proptest::collection::vec((0_usize..300, 0_usize..20, proptest::collection::vec(0_u8..3, 0..20)), 0..4),
        ) {
            let mut new = old.clone();
            for (at, gone, come) in edits {
                let at = at.min(new.len());
                new.splice(at..(at + gone).min(new.len()), come);
            }
            if let Some(patch) = encode(&old, &new) {
                prop_assert_eq!(apply(&old, &patch), Some(new));
            }
        }

        #[test]
        fn what_is_no_patch_is_refused(
            old in proptest::collection::vec(any::<u8>(), 0..40),
            patch in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            // No panic, and never longer than it says.
            let _ = apply(&old, &patch);
        }
    }
}
