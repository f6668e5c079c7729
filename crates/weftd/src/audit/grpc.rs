//! Records calls of the API that may change something: before they are carried out, and with their outcome.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::Extensions;
use axum::middleware::Next;
use axum::response::Response;
use serde_json::Value;
use tonic::Status;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};
use weft_api::{ChangingCall, Said};
use weft_history::audit::{Asked, Hash, LINE_MAX};

use super::Audit;
use super::answer::Recorded;

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
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, REQUEST_MAX).await else {
        let why = format!("the request is cut off, or longer than {REQUEST_MAX} bytes");
        return Status::resource_exhausted(why).into_http();
    };
    let asked = asked(&call, &path, &body, peer(&parts.extensions));
    let open = audit.asked(asked).await;
    let answer = next.run(Request::from_parts(parts, Body::from(body))).await;
    Recorded::answer(answer, open, call).await
}

fn asked(call: &ChangingCall, path: &str, body: &[u8], peer: String) -> Asked {
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
        way: "grpc".to_owned(),
        author,
        peer,
        method: path.trim_start_matches('/').to_owned(),
        digest: digest(message.unwrap_or(body)),
        request: json,
        reason,
        generation: 0,
    }
}

/// The message in the one frame of a request: a byte that says whether it is compressed, four of its length, itself.
pub(super) fn message(frame: &[u8]) -> Option<&[u8]> {
    let (head, message) = frame.split_first_chunk::<5>()?;
    let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    (head[0] == 0 && message.len() == len as usize).then_some(message)
}

/// The address of the client.
fn peer(extensions: &Extensions) -> String {
    let tls = extensions.get::<TlsConnectInfo<TcpConnectInfo>>();
    let tcp = tls.map(TlsConnectInfo::get_ref);
    let info = tcp.or_else(|| extensions.get::<TcpConnectInfo>());
    let address = info.and_then(TcpConnectInfo::remote_addr);
    address.map_or_else(String::new, |address| address.ip().to_string())
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
        asked(&call, PATH, body, "::1".to_owned())
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
