//! Events as JSON, as protobuf defines it, with the names of fields as they are in the API; and back.

use std::sync::OnceLock;

use prost::Message;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, SerializeOptions,
};
use serde_json::Value;

use crate::time::Timestamp;
use crate::v1::watch_response::Content;
use crate::{DESCRIPTORS, v1};

/// The message that has all events.
fn descriptor() -> Option<MessageDescriptor> {
    static FOUND: OnceLock<Option<MessageDescriptor>> = OnceLock::new();
    let find = || {
        let pool = DescriptorPool::decode(DESCRIPTORS).ok()?;
        pool.get_message_by_name("weft.v1.WatchResponse")
    };
    FOUND.get_or_init(find).clone()
}

/// Kind of an event, which is the name of its field, and what it says.
pub fn event_json(content: &Content) -> Option<(String, Value)> {
    let message = v1::WatchResponse {
        content: Some(content.clone()),
        ..v1::WatchResponse::default()
    };
    let message = DynamicMessage::decode(descriptor()?, &message.encode_to_vec()[..]).ok()?;
    let Value::Object(fields) = as_json(&message)? else {
        return None;
    };
    fields.into_iter().next()
}

/// A message as JSON, with the names of fields as they are in the API.
pub(crate) fn as_json(message: &DynamicMessage) -> Option<Value> {
    let options = SerializeOptions::new().use_proto_field_name(true);
    let value = message.serialize_with_options(serde_json::value::Serializer, &options);
    value.ok()
}

/// An event of the past as it was sent to watchers; without content where this version does not know it. Fields that it
/// does not know are left out.
pub fn event_of_json(kind: &str, body: &str, time: Timestamp) -> v1::WatchResponse {
    let read = || {
        let body: Value = serde_json::from_str(body).ok()?;
        let fields = Value::Object([(kind.to_owned(), body)].into_iter().collect());
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let message = DynamicMessage::deserialize_with_options(descriptor()?, fields, &options);
        let message = message.ok()?;
        v1::WatchResponse::decode(&message.encode_to_vec()[..]).ok()
    };
    v1::WatchResponse {
        time: Some(time),
        ..read().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{duration, timestamp};

    #[test]
    fn an_event_is_read_back_and_an_unknown_one_is_empty() {
        let content = Content::NodeVanished(v1::NodeEvent {
            guid: u64::MAX,
            ..v1::NodeEvent::default()
        });
        let (kind, body) = event_json(&content).expect("an object");
        assert_eq!(kind, "node_vanished");
        let event = event_of_json(&kind, &body.to_string(), timestamp(7));
        let read = (event.content, event.time);
        assert_eq!(read, (Some(content), Some(timestamp(7))));
        for (kind, body) in [
            ("nothing", "{}"),
            ("node_vanished", "{"),
            ("node_vanished", "[1]"),
        ] {
            assert_eq!(
                event_of_json(kind, body, timestamp(7)).content,
                None,
                "{kind} {body}"
            );
        }
    }

    #[test]
    fn a_field_that_is_not_known_is_left_out() {
        let body = r#"{"number": "7", "elapsed_ns": "12", "elapsed": "1.5s"}"#;
        let event = event_of_json("sweep_ended", body, timestamp(7));
        let sweep = v1::Sweep {
            number: 7,
            elapsed: Some(duration(1_500_000_000)),
            ..v1::Sweep::default()
        };
        assert_eq!(event.content, Some(Content::SweepEnded(sweep)));
    }
}
