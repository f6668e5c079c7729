//! Connections to the daemon's address.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tonic::codegen::http::Uri;
use tonic::codegen::{BoxFuture, Service, StdError};

/// A connection that ends sooner was not lost: the other side does not want it.
const SHORTEST: Duration = Duration::from_secs(1);

/// Makes connections, but not a second one right after the first. A channel of tonic connects again
/// as often as a connection ends before it has carried a call; with a daemon that ends each one, because
/// it wants a certificate for example, that would go on until the call's deadline.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    /// The socket to connect to in place of an address.
    socket: Option<PathBuf>,
    last: Option<Instant>,
}

impl Connector {
    pub(super) fn new(socket: Option<PathBuf>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        Self {
            tcp,
            socket,
            last: None,
        }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
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
        if let Some(socket) = self.socket.clone() {
            return Box::pin(async {
                let connected = UnixStream::connect(socket).await?;
                Ok(TokioIo::new(Wire::Unix(connected)))
            });
        }
        let connecting = self.tcp.call(address);
        Box::pin(async {
            let connected: TokioIo<TcpStream> = connecting.await?;
            Ok(TokioIo::new(Wire::Tcp(connected.into_inner())))
        })
    }
}

/// A connection of either kind.
#[derive(Debug)]
pub(super) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What both kinds can do.
trait Both: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Both for T {}

impl Wire {
    fn inner(self: Pin<&mut Self>) -> Pin<&mut dyn Both> {
        let stream: &mut dyn Both = match self.get_mut() {
            Self::Tcp(stream) => stream,
            Self::Unix(stream) => stream,
        };
        Pin::new(stream)
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.inner().poll_read(context, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.inner().poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner().poll_shutdown(context)
    }
}
