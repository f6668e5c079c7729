//! Reads certificates, keys and revocation lists.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use weft_history::audit::Hash;

use super::args::TlsArgs;
use super::names;
use crate::config::read_at_most;
use crate::error::DaemonError;

/// The largest file, in bytes: a revocation list of some hundred thousand certificates fits.
const FILE_MAX: u64 = 64 << 20;
/// The protocols of gRPC and of the metrics, HTTP/2 and HTTP/1.1, as clients ask for them (RFC 7301).
const OF_CLIENTS: &[u8] = b"h2";
const OF_READERS: &[u8] = b"http/1.1";

/// The files that the command line names.
#[derive(Debug, Clone)]
pub(super) struct Files {
    cert: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
    crls: Vec<PathBuf>,
}

/// What has been read.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    /// For clients of the API, for those who may come without a certificate too, and for readers of the metrics.
    pub(super) of_clients: Arc<ServerConfig>,
    pub(super) of_strangers: Arc<ServerConfig>,
    pub(super) of_readers: Arc<ServerConfig>,
    /// The end of the API's certificate and of the authority's first one to end, seconds since 1970.
    pub(super) certificate_ends: Option<u64>,
    pub(super) authority_ends: Option<u64>,
    /// The authority's certificates and the revocation lists, which say who is let in.
    pub(super) judges: Vec<Hash>,
}

/// Certificates of an authority, and its revocation lists.
type Trusted = (
    Vec<CertificateDer<'static>>,
    Vec<CertificateRevocationListDer<'static>>,
);

impl Files {
    /// Those of the command line; none without a certificate.
    pub(super) fn of(args: &TlsArgs) -> Option<Self> {
        Some(Self {
            cert: args.tls_cert.clone()?,
            key: args.tls_key.clone()?,
            client_ca: args.tls_client_ca.clone(),
            crls: args.tls_crl.clone(),
        })
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Path> {
        let more = self.client_ca.iter().chain(&self.crls);
        [&self.cert, &self.key]
            .into_iter()
            .chain(more)
            .map(PathBuf::as_path)
    }

    /// Whether clients are asked for certificates.
    pub(super) fn asks_for_certificates(&self) -> bool {
        self.client_ca.is_some()
    }

    /// Reads them.
    pub(super) fn load(&self) -> Result<Loaded, DaemonError> {
        let authorities = match &self.client_ca {
            Some(file) => certificates("authority", file)?,
            None => Vec::new(),
        };
        let mut lists = Vec::new();
        for file in &self.crls {
            lists.extend(revoked(file)?);
        }
        let judges = authorities.iter().map(|one| Hash::digest(one));
        let judges = judges.chain(lists.iter().map(|list| Hash::digest(list)));
        let judges = judges.collect();
        let cert = read("certificate", &self.cert)?;
        let key = read("key", &self.key)?;
        let usable = || -> Result<_, String> {
            let chain = parse_certificates(&cert)?;
            let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| error.to_string())?;
            Ok((chain, key))
        };
        let refused = |why: String| {
            let (cert, key) = (self.cert.display(), self.key.display());
            DaemonError::Tls(format!(
                "--tls-cert {cert} and --tls-key {key} cannot be used: {why}; expected a certificate and \
                 the private key that belongs to it, PEM"
            ))
        };
        let (chain, key) = usable().map_err(refused)?;
        let certificate_ends = chain.first().and_then(names::end);
        let authority_ends = authorities.iter().filter_map(names::end).min();
        let of_clients = |strangers: bool| {
            let builder = ServerConfig::builder();
            let builder = match &self.client_ca {
                None => builder.with_no_client_auth(),
                Some(file) => {
                    let trusted = (authorities.clone(), lists.clone());
                    let verifier = self.verifier(file, trusted, strangers)?;
                    builder.with_client_cert_verifier(verifier)
                }
            };
            let config = builder.with_single_cert(chain.clone(), key.clone_key());
            let mut config = config.map_err(|error| refused(error.to_string()))?;
            config.alpn_protocols.push(OF_CLIENTS.to_vec());
            Ok::<_, DaemonError>(Arc::new(config))
        };
        let (of_strangers, of_clients) = (of_clients(true)?, of_clients(false)?);
        let of_readers = ServerConfig::builder().with_no_client_auth();
        let of_readers = of_readers.with_single_cert(chain, key);
        let mut of_readers = of_readers.map_err(|error| refused(error.to_string()))?;
        of_readers.alpn_protocols.push(OF_READERS.to_vec());
        Ok(Loaded {
            of_clients,
            of_strangers,
            of_readers: Arc::new(of_readers),
            certificate_ends,
            authority_ends,
            judges,
        })
    }

    /// Checks certificates of clients; with `strangers`, none is needed.
    fn verifier(
        &self,
        file: &Path,
        (authorities, lists): Trusted,
        strangers: bool,
    ) -> Result<Arc<dyn ClientCertVerifier>, DaemonError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities);
        let mut builder = WebPkiClientVerifier::builder(Arc::new(roots)).with_crls(lists);
        if !self.crls.is_empty() {
            builder = builder.enforce_revocation_expiration();
        }
        if strangers {
            builder = builder.allow_unauthenticated();
        }
        builder.build().map_err(|error| {
            let lists = if self.crls.is_empty() { "" } else { " and --tls-crl" };
            DaemonError::Tls(format!(
                "--tls-client-ca {}{lists} cannot be used: {error}; expected the authority's certificate, PEM",
                file.display()
            ))
        })
    }
}

fn certificates(
    what: &'static str,
    file: &Path,
) -> Result<Vec<CertificateDer<'static>>, DaemonError> {
    parse_certificates(&read(what, file)?).map_err(|why| {
        DaemonError::Tls(format!(
            "--tls-client-ca {} cannot be used: {why}; expected the authority's certificate, PEM",
            file.display()
        ))
    })
}

fn parse_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => Err("it has no certificate".to_owned()),
        Ok(all) => Ok(all),
        Err(error) => Err(error.to_string()),
    }
}

fn revoked(file: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, DaemonError> {
    let pem = read("revocation list", file)?;
    let all: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(&pem).collect();
    let why = match all {
        Ok(all) if !all.is_empty() => return Ok(all),
        Ok(_) => "it has no revocation list".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(DaemonError::Tls(format!(
        "--tls-crl {} cannot be used: {why}; expected revocation lists (X509 CRL), PEM",
        file.display()
    )))
}

/// The bytes of a certificate, a key or a list of them.
///
/// # Errors
/// [`DaemonError::File`], for `what`.
pub(crate) fn read(what: &'static str, file: &Path) -> Result<Vec<u8>, DaemonError> {
    read_at_most(file, FILE_MAX).map_err(|why| DaemonError::File {
        what,
        file: file.to_owned(),
        source: io::Error::other(why),
    })
}
