//! An answer whose end is recorded before the client has it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use axum::response::Response;
use http_body::Frame;
use tonic::{Code, Status};
use weft_api::ChangingCall;

use super::grpc::message;
use super::{OpenRequest, Outcome};

/// Bytes of an answer that are looked at for the number of a plan.
const ANSWER_MAX: usize = 256 << 10;

type Recording = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of an answer. Its end waits until the outcome is on the disk.
pub(super) struct Recorded {
    inner: Body,
    open: Option<OpenRequest>,
    call: ChangingCall,
    /// The answer's beginning.
    begin: Vec<u8>,
    /// The end of the answer, and the write that it waits for.
    ending: Option<(Option<HeaderMap>, Recording)>,
}

impl Recorded {
    /// Records the outcome of a refusal, which has no body; else when the body ends.
    pub(super) async fn answer(
        answer: Response,
        open: OpenRequest,
        call: ChangingCall,
    ) -> Response {
        if let Some(outcome) = outcome(answer.headers(), 0) {
            open.ended(outcome).await;
            return answer;
        }
        answer.map(|inner| {
            Body::new(Self {
                inner,
                open: Some(open),
                call,
                begin: Vec::new(),
                ending: None,
            })
        })
    }

    /// Begins to record the end of the answer.
    fn end(&mut self, trailers: Option<HeaderMap>) {
        let plan = message(&self.begin).map_or(0, |message| self.call.plan_of_answer(message));
        let outcome = trailers
            .as_ref()
            .and_then(|trailers| outcome(trailers, plan));
        let outcome = outcome.unwrap_or_else(|| {
            Outcome::refused("unknown", "the answer ends without a status".to_owned())
        });
        let open = self.open.take();
        let recording = Box::pin(async move {
            if let Some(open) = open {
                open.ended(outcome).await;
            }
        });
        self.ending = Some((trailers, recording));
    }

    fn data(&mut self, data: &Bytes) {
        if self.begin.len() + data.len() <= ANSWER_MAX {
            self.begin.extend_from_slice(data);
        }
    }
}

/// The outcome that headers or trailers tell; none without a status.
fn outcome(headers: &HeaderMap, plan: u64) -> Option<Outcome> {
    let status = Status::from_header_map(headers)?;
    let message = status.message();
    let result = match status.code() {
        Code::Ok => "ok".to_owned(),
        code => word(code),
    };
    Some(Outcome {
        result,
        message: message[..message.floor_char_boundary(4_000)].to_owned(),
        plan,
    })
}

/// A code in lower case, such as `failed_precondition`.
pub(super) fn word(code: Code) -> String {
    snake_case(&format!("{code:?}"))
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for (place, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

impl HttpBody for Recorded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let Some((trailers, recording)) = &mut self.ending {
                ready!(recording.as_mut().poll(context));
                let trailers = trailers.take();
                self.ending = None;
                return Poll::Ready(trailers.map(|trailers| Ok(Frame::trailers(trailers))));
            }
            match ready!(Pin::new(&mut self.inner).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_trailers() {
                    Ok(trailers) => self.end(Some(trailers)),
                    Err(frame) => {
                        if let Some(data) = frame.data_ref() {
                            let data = data.clone();
                            self.data(&data);
                        }
                        return Poll::Ready(Some(Ok(frame)));
                    }
                },
                None if self.open.is_some() => self.end(None),
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_written_in_lower_case() {
        let mut headers = HeaderMap::new();
        assert_eq!(outcome(&headers, 3), None);
        let refused = Status::failed_precondition("not now");
        refused.add_header(&mut headers).expect("it fits");
        let expected = Outcome {
            result: "failed_precondition".to_owned(),
            message: "not now".to_owned(),
            plan: 3,
        };
        assert_eq!(outcome(&headers, 3), Some(expected));
    }
}
