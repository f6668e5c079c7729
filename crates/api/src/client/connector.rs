//! Connections to the daemon's address.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper_util::client::legacy::connect::HttpConnector;
use tonic::codegen::http::Uri;
use tonic::codegen::{BoxFuture, Service, StdError};

/// A connection that ends sooner was not lost: the other side does not want it.
const SHORTEST: Duration = Duration::from_secs(1);

/// Makes TCP connections, but not a second one right after the first. A channel of tonic connects again
/// as often as a connection ends before it has carried a call; with a daemon that ends each one, because
/// it wants a certificate for example, that would go on until the call's deadline.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    last: Option<Instant>,
}

impl Connector {
    pub(super) fn new() -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self { tcp, last: None }
    }
}

impl Service<Uri> for Connector {
    type Response = <HttpConnector as Service<Uri>>::Response;
    type Error = StdError;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let now = Instant::now();
        let last = self.last.replace(now);
        if last.is_some_and(|last| now.duration_since(last) < SHORTEST) {
            let error = io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "the connection ended as soon as it was made",
            );
            return Box::pin(std::future::ready(Err(error.into())));
        }
        let connecting = self.tcp.call(address);
        Box::pin(async { Ok(connecting.await?) })
    }
}
