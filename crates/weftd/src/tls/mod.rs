//! Encryption of the API, and certificates of its clients.
//!
//! | module | contents |
//! |---|---|
//! | `files` | reads certificates, keys and revocation lists |
//! | `names` | what a certificate says of its holder, and until when |
//! | `renew` | reads them again when the files change |
//! | `metrics` | when certificates end |

mod args;
mod files;
mod metrics;
mod names;
mod renew;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::access::Holder;
use crate::error::DaemonError;
pub(crate) use args::TlsArgs;
pub(crate) use files::read as read_certificate;
use files::{Files, Loaded};

/// What the API's addresses are encrypted with. The next connection is met with what was read last.
#[derive(Debug, Clone)]
pub(crate) struct Tls(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: Files,
    loaded: RwLock<Loaded>,
}

impl Tls {
    /// Loads the files named on the command line; `None` without any, which only loopback allows.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] if one of `addresses` can be reached from elsewhere and certificates are missing,
    /// [`DaemonError::File`] if a file cannot be read, and [`DaemonError::Tls`] if its content cannot be used.
    pub(crate) fn new(
        args: &TlsArgs,
        addresses: impl IntoIterator<Item = (&'static str, SocketAddr)>,
    ) -> Result<Option<Self>, DaemonError> {
        let mut addresses = addresses.into_iter();
        let outside = addresses.find(|(_, one)| !one.ip().is_loopback());
        if let Some((option, address)) = outside.filter(|_| !args.are_complete()) {
            return Err(DaemonError::Usage(format!(
                "{option} {address} can be reached from other machines: it needs --tls-cert, --tls-key and \
                 --tls-client-ca, because whoever reaches the API can switch ports off"
            )));
        }
        let Some(files) = Files::of(args) else {
            return Ok(None);
        };
        let loaded = RwLock::new(files.load()?);
        Ok(Some(Self(Arc::new(Inner { files, loaded }))))
    }

    /// Shakes hands with a client. Where certificates are asked for, one without is let in only if `strangers` are.
    pub(crate) async fn accept(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        strangers: bool,
    ) -> io::Result<(TlsStream<TcpStream>, Option<Holder>)> {
        let config = match strangers {
            true => Arc::clone(&self.loaded().of_strangers),
            false => Arc::clone(&self.loaded().of_clients),
        };
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        let (_, session) = stream.get_ref();
        let shown = session.peer_certificates().and_then(<[_]>::first);
        let holder = shown.map(|shown| Holder {
            address,
            names: names::of_holder(shown),
            ends: names::end(shown).unwrap_or(0),
        });
        Ok((stream, holder))
    }

    /// Whether clients are asked for certificates.
    pub(crate) fn asks_for_certificates(&self) -> bool {
        self.0.files.asks_for_certificates()
    }

    /// Shakes hands with a reader of the metrics, who needs no certificate.
    pub(crate) async fn accept_reader(
        &self,
        stream: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let config = Arc::clone(&self.loaded().of_readers);
        TlsAcceptor::from(config).accept(stream).await
    }

    fn loaded(&self) -> RwLockReadGuard<'_, Loaded> {
        let loaded = self.0.loaded.read();
        loaded.unwrap_or_else(PoisonError::into_inner)
    }
}
