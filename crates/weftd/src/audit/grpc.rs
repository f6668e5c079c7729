//! Records calls of the API that may change something: before they are carried out, and with their outcome.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Extensions;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tonic::Status;
use weft_api::{ChangingCall, Said};
use weft_history::audit::{Asked, Hash, LINE_MAX};

use super::answer::Recorded;
use super::{Audit, Outcome};
use crate::access::{Caller, HasReason, caller_of};

/// Longest request, bytes: no service takes a longer one.
const REQUEST_MAX: usize = 2 * weft_config::MAX_BYTES + 1024;
/// Longest request, as JSON, that is told whole; of a longer one only the digest is.
const JSON_MAX: usize = LINE_MAX / 4;
/// Longest author, reason and other text from a client.
const TEXT_MAX: usize = 1_000;

/// Passes a call on, and records it if it may change something.
pub(crate) async fn record_call(
    State(audit): State<Audit>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let Some(call) = ChangingCall::of(&path) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let caller = caller_of(&parts.extensions).cloned();
    let awaited = Awaited::new(&audit, by(caller.as_ref(), &path));
    let Ok(body) = to_bytes(body, REQUEST_MAX).await else {
        return awaited.refuse().await;
    };
    awaited.came();
    let asked = asked(&call, by(caller.as_ref(), &path), &body);
    let has_reason = message(&body).is_some_and(|message| call.has_reason(message));
    parts.extensions.insert(HasReason(has_reason));
    let open = audit.asked(asked).await;
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    Recorded::answer(answer, open, call).await
}

/// A call whose request has not come whole yet. Dropped so, its client has gone, which is recorded.
struct Awaited {
    audit: Audit,
    /// What is known of it: no author, reason or digest. None where the rest has come, or is refused.
    asked: Option<Asked>,
}

impl Awaited {
    fn new(audit: &Audit, asked: Asked) -> Self {
        Self {
            audit: audit.clone(),
            asked: Some(asked),
        }
    }

    /// The request is there.
    fn came(mut self) {
        self.asked = None;
    }

    /// It will not come whole: refuses the call, and records that.
    async fn refuse(mut self) -> Response {
        let why = format!("the request is cut off, or longer than {REQUEST_MAX} bytes");
        let outcome = Outcome::refused("resource_exhausted", why.clone());
        if let Some(recorded) = self.record(outcome) {
            // A panic of the task is told by its hook.
            let _ = recorded.await;
        }
        Status::resource_exhausted(why).into_http()
    }

    /// Records it with its outcome, also where nobody waits for that: a client that has gone takes its call with it.
    fn record(&mut self, outcome: Outcome) -> Option<JoinHandle<()>> {
        let (asked, audit) = (self.asked.take()?, self.audit.clone());
        // At the end of the daemon there is no runtime; then nothing has been asked for.
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move { audit.asked(asked).await.ended(outcome).await }))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let why = "the client went away before its request had come".to_owned();
        self.record(Outcome::refused("cancelled", why));
    }
}

/// Name of a call, such as `weft.v1.PortService/SetPortState`.
fn method(path: &str) -> String {
    path.trim_start_matches('/').to_owned()
}

/// A call of which only its name and its caller are told: a refused one that changes nothing.
pub(crate) fn refused_read(path: &str, extensions: &Extensions) -> Asked {
    by(caller_of(extensions), path)
}

/// What is known of a call before its request has come.
fn by(caller: Option<&Caller>, path: &str) -> Asked {
    Asked {
        way: "grpc".to_owned(),
        peer: caller.map_or_else(String::new, Caller::place),
        identity: caller.map_or_else(String::new, Caller::identity),
        method: method(path),
        ..Asked::default()
    }
}

fn asked(call: &ChangingCall, known: Asked, body: &[u8]) -> Asked {
    let message = message(body);
    let digest = |text: &[u8]| Hash::digest(text).to_string();
    let said = message.and_then(|message| call.request(message, &digest));
    let Said {
        mut author,
        mut reason,
        mut json,
        ..
    } = said.unwrap_or_default();
    if json.to_string().len() > JSON_MAX {
        json = Value::Null;
    }
    for text in [&mut author, &mut reason] {
        text.truncate(text.floor_char_boundary(TEXT_MAX));
    }
    Asked {
        author,
        digest: digest(message.unwrap_or(body)),
        request: json,
        reason,
        ..known
    }
}

/// The message in the one frame of a request: a byte that says whether it is compressed, four of its length, itself.
pub(super) fn message(frame: &[u8]) -> Option<&[u8]> {
    let (head, message) = frame.split_first_chunk::<5>()?;
    let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    (head[0] == 0 && message.len() == len as usize).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_frame_without_compression_is_read() {
        for (frame, expected) in [
            (&[0, 0, 0, 0, 2, 8, 1][..], Some(&[8, 1][..])),
            (&[0, 0, 0, 0, 0], Some(&[])),
            (&[1, 0, 0, 0, 2, 8, 1], None),
            (&[0, 0, 0, 0, 3, 8, 1], None),
            (&[0, 0, 0, 0, 1, 8, 1], None),
            (&[0, 0, 0, 0], None),
            (&[], None),
        ] {
            assert_eq!(message(frame), expected, "{frame:?}");
        }
    }

    const PATH: &str = "/weft.v1.PortService/SetPortState";

    fn asked_with(body: &[u8]) -> Asked {
        let call = ChangingCall::of(PATH).expect("a call");
        asked(&call, by(None, PATH), body)
    }

    #[test]
    fn long_texts_of_a_client_are_cut_between_letters() {
        let request = weft_api::v1::SetPortStateRequest {
            author: "a".repeat(TEXT_MAX - 1) + "é",
            reason: "because".to_owned(),
            ..Default::default()
        };
        let message = prost::Message::encode_to_vec(&request);
        let len = u32::try_from(message.len()).expect("short").to_be_bytes();
        let asked = asked_with(&[&[0], &len[..], &message].concat());
        assert_eq!(asked.author, "a".repeat(TEXT_MAX - 1));
        assert_eq!(asked.reason, "because");
        assert_eq!(asked.method, PATH[1..]);
        assert_eq!(asked.digest, Hash::digest(&message).to_string());
    }

    #[test]
    fn a_request_that_cannot_be_read_is_recorded_by_its_digest_alone() {
        for body in [&b"\xff"[..], b"\0\0\0\0\x01\xff"] {
            let asked = asked_with(body);
            assert_eq!(asked.request, Value::Null, "{body:?}");
            assert_eq!(asked.digest.len(), 64);
        }
        assert_ne!(asked_with(b"\xff").digest, asked_with(b"\xfe").digest);
    }
}
