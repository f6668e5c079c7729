//! Keys of the fabric: elements whose values only a reader of the file sees.

/// Tags whose values are keys.
const TAGS: [&str; 2] = ["SmKey", "MKey"];

/// Whether the value of an element is a key.
pub fn is_key(tag: &str) -> bool {
    TAGS.contains(&tag)
}
