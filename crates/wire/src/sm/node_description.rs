//! NodeDescription, attribute 0x0010: what people call a node.

use std::borrow::Cow;

use crate::layout::layout;

layout! {
    /// What people call a node (`STL_NODE_DESCRIPTION`): UTF-8, ended by a NUL when shorter than 64
    /// bytes. Any bytes are kept as they came.
    pub struct NodeDescription: 64, "STL_NODE_DESCRIPTION" {
        /// The bytes as they are on the wire.
        node_string: [u8; 64] = block @ 0, "NodeString";
    }
}

impl NodeDescription {
    /// The bytes up to the first NUL.
    pub fn bytes(&self) -> &[u8] {
        up_to_nul(&self.node_string)
    }

    /// The text up to the first NUL; bytes that are no UTF-8 show as U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// `text` cut, at a character's end, to the 63 bytes that leave room for the NUL.
    pub fn from_text(text: &str) -> Self {
        Self {
            node_string: from_text(text),
        }
    }
}

/// The bytes of `field` up to its first NUL.
pub(crate) fn up_to_nul(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0);
    field.get(..end.unwrap_or(field.len())).unwrap_or_default()
}

/// `text` cut, at a character's end, to what leaves room for a NUL.
pub(crate) fn from_text<const N: usize>(text: &str) -> [u8; N] {
    let mut end = text.len().min(N.saturating_sub(1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut field = [0; N];
    for (to, from) in field.iter_mut().zip(text.as_bytes().iter().take(end)) {
        *to = *from;
    }
    field
}
