//! An answer to a browser with a session: a stream goes on no longer than that.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use http_body::Frame;
use tonic::Status;

use super::links::Lease;

/// The body of an answer, until the session is over.
pub(super) struct Leased {
    inner: Body,
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Leased {
    pub(super) fn new(inner: Body, lease: Lease) -> Self {
        Self {
            inner,
            over: Box::pin(lease.over()),
        }
    }
}

impl HttpBody for Leased {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // First, as a reader who is slow always has something waiting.
        if !self.inner.is_end_stream() && self.over.as_mut().poll(context).is_ready() {
            self.inner = Body::empty();
            self.over = Box::pin(std::future::pending());
            return Poll::Ready(Some(Ok(Frame::trailers(ended()))));
        }
        Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }
}

/// What tells a client of the end.
fn ended() -> HeaderMap {
    let status = Status::unauthenticated("the session of this browser has ended");
    let mut trailers = HeaderMap::new();
    if status.add_header(&mut trailers).is_err() {
        trailers.insert(Status::GRPC_STATUS, 16.into());
    }
    trailers
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use tokio::time::Instant;
    use tokio_stream::{StreamExt, pending};

    use super::super::links::{Links, Whose};
    use super::*;
    use crate::access::{Caller, Holder, Role, User};
    use crate::event_hub::unix_time_ns;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn alice() -> Caller {
        Caller::User(User {
            uid: 1_000,
            name: Some("alice".to_owned()),
            groups: Vec::new(),
        })
    }

    fn session(links: &Links, who: &Caller) -> Lease {
        let now = Instant::now();
        let made = links.make(who, Role::View, now).expect("a link");
        let entered = links.enter(&made.token, None, HOME, now, |_| Ok(()));
        let cookie = entered.expect("a session").cookie;
        links.session(&cookie, HOME, now).expect("a session").1
    }

    /// One message, and nothing for ever.
    fn stream() -> Body {
        let first = tokio_stream::once(Ok::<_, axum::Error>(Bytes::from_static(b"one")));
        Body::from_stream(first.chain(pending()))
    }

    async fn next(body: &mut Leased) -> Option<Frame<Bytes>> {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        frame.map(|frame| frame.expect("a frame"))
    }

    async fn ends(body: &mut Leased) {
        let last = next(body).await.expect("trailers");
        let status = last.trailers_ref().and_then(Status::from_header_map);
        let status = status.expect("a status");
        assert_eq!(status.code(), tonic::Code::Unauthenticated);
        assert!(next(body).await.is_none());
    }

    #[tokio::test]
    async fn a_stream_ends_when_the_session_is_ended_though_messages_wait() {
        let links = Links::default();
        let mut read = Leased::new(stream(), session(&links, &alice()));
        let mut unread = Leased::new(stream(), session(&links, &alice()));
        let first = next(&mut read)
            .await
            .and_then(|frame| frame.into_data().ok());
        assert_eq!(first, Some(Bytes::from_static(b"one")));
        links.end(Whose::Everybody, Instant::now());
        ends(&mut read).await;
        ends(&mut unread).await;
    }

    #[tokio::test]
    async fn a_stream_ends_with_the_time_of_its_session() {
        let links = Links::default();
        let holder = Caller::Holder(Holder {
            address: SocketAddr::from((HOME, 9)),
            names: Vec::new(),
            ends: unix_time_ns() / 1_000_000_000 + 2,
        });
        let mut body = Leased::new(stream(), session(&links, &holder));
        assert!(next(&mut body).await.is_some_and(|frame| frame.is_data()));
        // With the certificate, after a second or two.
        ends(&mut body).await;
    }

    #[tokio::test]
    async fn an_answer_within_the_session_is_as_it_was() {
        let links = Links::default();
        let mut body = Leased::new(Body::from("all"), session(&links, &alice()));
        assert!(next(&mut body).await.is_some_and(|frame| frame.is_data()));
        assert!(next(&mut body).await.is_none());
    }
}
