//! Connections with TLS.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;
use tracing::debug;

use crate::tls::Tls;

/// Longest time of a handshake, and handshakes at a time: further readers wait.
const SHAKING_MAX: Duration = Duration::from_secs(10);
const SHAKING_AT_ONCE: usize = 64;
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

type Shaken = (TlsStream<TcpStream>, SocketAddr);

/// Accepts connections; who shakes hands slowly keeps nobody else waiting.
#[derive(Debug)]
pub(super) struct Encrypted {
    address: SocketAddr,
    shaken: mpsc::Receiver<Shaken>,
}

impl Encrypted {
    pub(super) fn new(listener: TcpListener, tls: Tls) -> io::Result<Self> {
        let (ready, shaken) = mpsc::channel(1);
        let address = listener.local_addr()?;
        tokio::spawn(accept(listener, tls, ready));
        Ok(Self { address, shaken })
    }
}

impl Listener for Encrypted {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Shaken {
        match self.shaken.recv().await {
            Some(shaken) => shaken,
            // Its task runs as long as this does.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}

async fn accept(listener: TcpListener, tls: Tls, ready: mpsc::Sender<Shaken>) {
    let places = Arc::new(Semaphore::new(SHAKING_AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = ready.closed() => return,
        };
        let Ok((stream, address)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let (tls, ready) = (tls.clone(), ready.clone());
        tokio::spawn(async move {
            let _place = place;
            match timeout(SHAKING_MAX, tls.accept_reader(stream)).await {
                // Nobody serves any more.
                Ok(Ok(stream)) => drop(ready.send((stream, address)).await),
                Ok(Err(error)) => {
                    debug!(event = "metrics_refused", %error, "a reader of the metrics at {address}: {error}")
                }
                Err(_) => {}
            }
        });
    }
}
