//! Options of the API's encryption.

use std::path::PathBuf;

/// Options of the API's encryption. The files are read again at SIGHUP and when they change.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TlsArgs {
    /// Certificate of the API, PEM; with its key, authority and revocation lists read again when the files change.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(super) tls_cert: Option<PathBuf>,
    /// Key of that certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_key: Option<PathBuf>,
    /// CA of client certificates, PEM; without it, any client may connect.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(super) tls_client_ca: Option<PathBuf>,
    /// Revocation lists of the CA of client certificates, PEM: a client whose certificate is on one is not let in, nor any
    /// client once a list has expired. May be given several times; each authority in a client's chain needs its list.
    #[arg(long, value_name = "FILE", requires = "tls_client_ca")]
    pub(super) tls_crl: Vec<PathBuf>,
}

impl TlsArgs {
    /// Files of this daemon's certificate, its key, and the CA of clients.
    pub(crate) fn own(&self) -> [Option<&PathBuf>; 3] {
        [&self.tls_cert, &self.tls_key, &self.tls_client_ca].map(Option::as_ref)
    }

    /// Whether they let in nobody without a certificate.
    pub(super) fn are_complete(&self) -> bool {
        self.tls_cert.is_some() && self.tls_client_ca.is_some()
    }
}
