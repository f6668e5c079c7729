//! Details of refusals (google.rpc): every one has ErrorInfo, a wrong argument BadRequest, a wrong state
//! PreconditionFailure.

use axum::response::Response;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::facts::Facts;
use super::reason::of_code;

/// Domain of the reasons in google.rpc.ErrorInfo.
pub(crate) const DOMAIN: &str = "weft.v1";
/// Longest message, bytes. It travels in headers, of which clients take 16 KiB: up to three bytes for each in
/// `grpc-message`, and in base64 as a message and as a violation in `grpc-status-details-bin`.
const MESSAGE_MAX: usize = 2_000;

/// A refusal with its details: the message of a wrong argument begins with the name of the field.
pub(super) fn detailed(status: &Status, reason: &str, facts: Facts) -> Status {
    let mut details = ErrorDetails::new();
    let message = bounded(status.message());
    match status.code() {
        Code::InvalidArgument => {
            let (field, what) = split(message);
            details.add_bad_request_violation(field, what);
            details.set_error_info(reason, DOMAIN, facts.field(field));
        }
        Code::FailedPrecondition => {
            details.add_precondition_failure_violation(reason, "fabric", message);
            details.set_error_info(reason, DOMAIN, facts);
        }
        _ => _ = details.set_error_info(reason, DOMAIN, facts),
    }
    Status::with_error_details(status.code(), message, details)
}

/// A refusal of a field that its message does not begin with.
pub(super) fn about_field(status: &Status, field: &str, reason: &str, facts: Facts) -> Status {
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, facts.field(field));
    let message = bounded(status.message());
    details.add_bad_request_violation(field, message);
    Status::with_error_details(status.code(), message, details)
}

/// The beginning of a message that names something too long for headers.
pub(super) fn bounded(message: &str) -> &str {
    &message[..message.floor_char_boundary(MESSAGE_MAX)]
}

/// The field that a message begins with, empty if there is none, and the rest.
fn split(message: &str) -> (&str, &str) {
    let is_field = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.[]".contains(c))
    };
    match message.split_once(": ") {
        Some((field, rest)) if is_field(field) => (field, rest),
        _ => ("", message),
    }
}

/// Adds details to an answer that is a refusal without them: of a service, or of the server itself.
pub(super) async fn complete(mut response: Response) -> Response {
    let status = Status::from_header_map(response.headers());
    let lacking = status.filter(|one| one.code() != Code::Ok && one.details().is_empty());
    if let Some(status) = lacking {
        let full = detailed(&status, of_code(status.code()), Facts::none());
        let mut headers = response.headers().clone();
        // Details that do not fit into a header are left out.
        if full.add_header(&mut headers).is_ok() {
            *response.headers_mut() = headers;
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_where_a_message_begins_with_one() {
        for (message, field) in [
            ("page_token: expected next_page_token", "page_token"),
            ("ports[3].port: 256 is too large", "ports[3].port"),
            ("Lmc: 9", ""),
            ("no such thing: really", ""),
            (": x", ""),
            ("", ""),
        ] {
            assert_eq!(split(message).0, field, "{message}");
        }
    }
}
