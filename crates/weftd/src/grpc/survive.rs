//! A call that panics before its answer has begun is answered all the same, and its connection goes on.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use tonic::Status;

/// Carries a call out; the log has what a panic said.
pub(super) async fn survive(request: Request, next: Next) -> Response {
    let mut call = pin!(next.run(request));
    poll_fn(|context| {
        // Nothing of the call is looked at again.
        let polled = catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(context)));
        polled.unwrap_or_else(|_| {
            let status =
                Status::internal("a fault of the daemon: its log says where (event panicked)");
            Poll::Ready(status.into_http())
        })
    })
    .await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use tonic::Code;
    use tower::ServiceExt;

    use super::*;

    #[tokio::test]
    async fn a_call_that_panics_is_answered() {
        let panics = async || -> &'static str { panic!("no answer") };
        let routes = axum::Router::new()
            .route("/shaky", get(panics))
            .route("/steady", get(async || "well"));
        let routes = routes.layer(from_fn(survive));
        let ask = |path| Request::builder().uri(path).body(Body::empty()).unwrap();
        let answer = routes.clone().oneshot(ask("/shaky")).await.unwrap();
        let status = Status::from_header_map(answer.headers()).unwrap();
        assert_eq!(status.code(), Code::Internal);
        let answer = routes.oneshot(ask("/steady")).await.unwrap();
        assert!(
            answer.status().is_success() && Status::from_header_map(answer.headers()).is_none()
        );
    }
}
