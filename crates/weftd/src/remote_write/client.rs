//! The connection to the receiver.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::task;
use weft_fabric::text::innermost;

use super::args::{RemoteWriteArgs, Target};
use crate::error::DaemonError;
use crate::store;

/// Longest time for a request, connecting included.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a token at most.
const TOKEN_MAX: usize = 4096;
/// Bytes of a refusal that are read.
const SAID_MAX: usize = 4096;

/// Why a request was not taken.
#[derive(Debug)]
pub(super) enum Failure {
    /// It may be taken later.
    Away(String),
    /// It never will.
    Refused(String),
}

/// Sends requests.
#[derive(Debug)]
pub(super) struct Client {
    http: HttpClient<HttpsConnector<HttpConnector>, Body>,
    target: Target,
    token: Option<PathBuf>,
}

impl Client {
    /// # Errors
    /// [`DaemonError::Usage`] where https has no CA, [`DaemonError::Tls`] where it cannot be used.
    pub(super) fn new(args: &RemoteWriteArgs, target: Target) -> Result<Self, DaemonError> {
        let mut roots = RootCertStore::empty();
        match &args.remote_write_ca {
            Some(path) => add(&mut roots, path)?,
            None if target.is_encrypted() => {
                let what = format!("--remote-write {target} needs --remote-write-ca FILE");
                return Err(DaemonError::Usage(what));
            }
            None => {}
        }
        let provider = rustls::crypto::ring::default_provider().into();
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| DaemonError::Tls(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .build();
        Ok(Self {
            http: HttpClient::builder(TokioExecutor::new()).build(connector),
            target,
            token: args.remote_write_token.clone(),
        })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Sends a request.
    ///
    /// # Errors
    /// [`Failure`].
    pub(super) async fn send(&self, body: &[u8]) -> Result<(), Failure> {
        let mut request = Request::post(self.target.uri())
            .header(header::CONTENT_TYPE, "application/x-protobuf")
            .header(header::CONTENT_ENCODING, "snappy")
            .header(
                header::USER_AGENT,
                concat!("weftd/", env!("CARGO_PKG_VERSION")),
            )
            .header("X-Prometheus-Remote-Write-Version", "0.1.0");
        if let Some(token) = self.token().await? {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Body::from(body.to_vec()));
        let request = request.map_err(|error| Failure::Away(error.to_string()))?;
        let answer = tokio::time::timeout(PATIENCE, self.http.request(request)).await;
        let answer =
            answer.map_err(|_| Failure::Away(format!("no answer in {} s", PATIENCE.as_secs())))?;
        let answer = answer.map_err(|error| Failure::Away(innermost(&error)))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => {
                let body = axum::body::to_bytes(Body::new(answer.into_body()), SAID_MAX);
                let body = tokio::time::timeout(PATIENCE, body).await;
                let said = body.ok().and_then(Result::ok).unwrap_or_default();
                let said = String::from_utf8_lossy(&said);
                let said = said.lines().next().unwrap_or_default();
                let text = format!("status {status}: {said}");
                Err(match is_final(status) {
                    true => Failure::Refused(text),
                    false => Failure::Away(text),
                })
            }
        }
    }

    async fn token(&self) -> Result<Option<String>, Failure> {
        let Some(path) = self.token.clone() else {
            return Ok(None);
        };
        let read = task::spawn_blocking(move || token_of(&path)).await;
        let read = read.map_err(|error| Failure::Away(error.to_string()))?;
        read.map(Some).map_err(Failure::Away)
    }
}

/// The token in a file.
fn token_of(path: &Path) -> Result<String, String> {
    let name = path.display();
    let bytes =
        store::read(path, TOKEN_MAX as u64 + 2).map_err(|error| format!("{name}: {error}"))?;
    let text = String::from_utf8(bytes.unwrap_or_default());
    let text = text.map_err(|_| format!("{name} is no text"))?;
    let token = text.trim();
    match token.len() {
        1..=TOKEN_MAX => Ok(token.to_owned()),
        0 => Err(format!("{name} has no token, or is not there")),
        _ => Err(format!(
            "{name} has more than the {TOKEN_MAX} bytes of a token"
        )),
    }
}

/// Whether the same request would be refused again: the protocol says of 4xx that it would, but for too many of them. A
/// wrong token can be mended.
fn is_final(status: StatusCode) -> bool {
    let again = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::NOT_FOUND,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !again.contains(&status)
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), DaemonError> {
    let unusable = |why: String| {
        let path = path.display();
        DaemonError::Tls(format!(
            "--remote-write-ca {path} cannot be used: {why}; expected the authority's certificate, PEM"
        ))
    };
    let certificates = CertificateDer::pem_file_iter(path);
    let certificates = certificates.map_err(|error| unusable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| unusable(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unusable("no certificate is in it".to_owned())),
        false => Ok(()),
    }
}
