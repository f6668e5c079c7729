//! NodeDescription, attribute 0x0010: what people call a node.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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

/// As a list of the bytes up to the last that is not NUL.
impl Serialize for NodeDescription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = &self.node_string.0;
        let end = bytes.iter().rposition(|byte| *byte != 0);
        serializer.collect_seq(bytes.iter().take(end.map_or(0, |last| last + 1)))
    }
}

impl<'de> Deserialize<'de> for NodeDescription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        let mut field = [0; 64];
        let Some(start) = field.get_mut(..bytes.len()) else {
            let what = "a description of at most 64 bytes";
            return Err(de::Error::invalid_length(bytes.len(), &what));
        };
        start.copy_from_slice(&bytes);
        Ok(Self {
            node_string: Text(field),
        })
    }
}
