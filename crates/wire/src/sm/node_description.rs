//! NodeDescription, attribute 0x0010: what people call a node.

use std::borrow::Cow;

use crate::layout::layout;
use crate::text::Text;

layout! {
    /// Name of a node (`STL_NODE_DESCRIPTION`): UTF-8, ended by a NUL when shorter than 64
    /// bytes. Invalid bytes are kept unchanged.
    pub struct NodeDescription: 64, "STL_NODE_DESCRIPTION" {
        /// The bytes as they are on the wire.
        node_string: Text<64> = block @ 0, "NodeString";
    }
}

impl NodeDescription {
    /// The bytes up to the first NUL.
    pub fn bytes(&self) -> &[u8] {
        self.node_string.bytes()
    }

    /// The text up to the first NUL; bytes that are no UTF-8 show as U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        self.node_string.text()
    }

    /// `text` cut, at a character's end, to the 63 bytes that leave room for the NUL.
    pub fn from_text(text: &str) -> Self {
        Self {
            node_string: Text::new(text),
        }
    }
}
