//! Connections of readers as they come in, with TLS or without.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::debug;

use crate::places::{Place, Places};
use crate::tls::Tls;

/// Connections at the same time.
const CONNECTIONS_MAX: usize = 64;
/// Longest time of a handshake.
const SHAKING_MAX: Duration = Duration::from_secs(10);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections; who shakes hands slowly keeps nobody else waiting.
#[derive(Debug)]
pub(super) struct Incoming {
    address: SocketAddr,
    connections: mpsc::Receiver<(Connection, SocketAddr)>,
}

impl Incoming {
    pub(super) fn new(listener: TcpListener, tls: Option<Tls>) -> io::Result<Self> {
        let (ready, connections) = mpsc::channel(1);
        let address = listener.local_addr()?;
        tokio::spawn(accept(listener, tls, ready));
        Ok(Self {
            address,
            connections,
        })
    }
}

impl Listener for Incoming {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        match self.connections.recv().await {
            Some(connection) => connection,
            // Its task runs as long as this does.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept(
    listener: TcpListener,
    tls: Option<Tls>,
    ready: mpsc::Sender<(Connection, SocketAddr)>,
) {
    let places = Places::new(CONNECTIONS_MAX);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ready.closed() => return,
        };
        let Ok((stream, address)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let mut place = places.take(address.ip().into());
        let (tls, ready) = (tls.clone(), ready.clone());
        tokio::spawn(async move {
            let shaken = tokio::select! {
                shaken = timeout(SHAKING_MAX, shake(stream, tls)) => shaken,
                () = place.lost() => return,
            };
            match shaken {
                Ok(Ok(stream)) => {
                    // Nobody serves any more.
                    let _ = ready.send((Connection { stream, place }, address)).await;
                }
                Ok(Err(error)) => {
                    debug!(event = "metrics_refused", %error, "a reader of the metrics at {address}: {error}");
                }
                Err(_) => {}
            }
        });
    }
}

async fn shake(stream: TcpStream, tls: Option<Tls>) -> io::Result<Box<dyn Stream>> {
    match tls {
        None => Ok(Box::new(stream)),
        Some(tls) => Ok(Box::new(tls.accept_reader(stream).await?)),
    }
}

/// Bytes to and from a reader, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection, which ends when another one gets its place.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    place: Place,
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if pin!(self.place.lost()).poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if pin!(self.place.lost()).poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
