//! Any bytes as any structure: decoding twice gives the same as once, printing works, and too few
//! bytes are an error.

use weft_wire::registry::ALL;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(input: &[u8]) {
    let Some((choice, bytes)) = input.split_first_chunk::<2>() else {
        return;
    };
    let entry = &ALL[usize::from(u16::from_be_bytes(*choice)) % ALL.len()];
    let Ok(once) = (entry.recode)(bytes) else {
        assert!(bytes.len() < entry.len);
        return;
    };
    assert_eq!(once.len(), entry.len);
    assert_eq!((entry.recode)(&once).as_ref(), Ok(&once));
    assert!(
        once.iter()
            .zip(bytes)
            .all(|(ours, theirs)| ours & !theirs == 0)
    );
    assert!((entry.print)(bytes).is_ok_and(|text| text.starts_with(entry.name)));
}
