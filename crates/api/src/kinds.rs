//! Kinds of events: the fields of `WatchResponse.content`, by name and number.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prost::Message;
use prost_types::FileDescriptorSet;

use crate::DESCRIPTORS;
use crate::v1::watch_response::Content;

/// Numbers of the fields of `WatchResponse` that belong to its `oneof`, by name.
static NUMBERS: LazyLock<BTreeMap<String, u32>> = LazyLock::new(|| {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap_or_default();
    let messages = set
        .file
        .into_iter()
        .filter(|file| file.package() == "weft.v1");
    let mut messages = messages.flat_map(|file| file.message_type);
    let response = messages.find(|message| message.name() == "WatchResponse");
    let fields = response.map(|response| response.field).unwrap_or_default();
    let kinds = fields
        .into_iter()
        .filter(|field| field.oneof_index.is_some());
    kinds
        .filter_map(|field| Some((field.name().to_owned(), u32::try_from(field.number()).ok()?)))
        .collect()
});

/// The number of the events with this name, such as `node_vanished`; `None` if there are none.
pub fn event_kind(name: &str) -> Option<u32> {
    NUMBERS.get(name).copied()
}

/// The names of all kinds, in order.
pub fn event_kinds() -> impl Iterator<Item = &'static str> {
    NUMBERS.keys().map(String::as_str)
}

/// The number of an event's kind.
pub fn kind_of(content: &Content) -> u32 {
    let mut bytes = Vec::new();
    content.encode(&mut bytes);
    // The first tag: three bits of it are the wire type.
    let tag = prost::encoding::decode_varint(&mut &bytes[..]).unwrap_or_default();
    u32::try_from(tag >> 3).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1;

    #[test]
    fn an_event_has_the_number_of_its_name() {
        for (content, name) in [
            (Content::Marker(v1::Marker::default()), "marker"),
            (
                Content::NodeVanished(v1::NodeEvent::default()),
                "node_vanished",
            ),
            (
                Content::OperationProgress(v1::OperationProgress::default()),
                "operation_progress",
            ),
        ] {
            assert_eq!(Some(kind_of(&content)), event_kind(name), "{name}");
        }
        for none in ["generation", "", "nothing"] {
            assert_eq!(event_kind(none), None);
        }
        assert!(event_kinds().count() > 40);
    }
}
