//! Why a daemon cannot be reached, with a remedy.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tonic::codegen::http::Uri;
use tonic::{Code, Status};
use weft_fabric::text::innermost;

/// Timeout for probing the server.
const LOOK: Duration = Duration::from_secs(1);
/// First bytes of an HTTP/2 client: preface and empty settings (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// First byte of a TLS alert and of a frame of HTTP/2 settings: its type.
const TLS_ALERT: u8 = 21;
const SETTINGS: u8 = 4;

/// Reason for a failed connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// No program listens there.
    #[error(
        "nothing listens there (connection refused); start weftd (on a machine without an HFI: `weftd \
         --emulate fattree:16`), or name another address with --address"
    )]
    NothingListens,
    /// The socket's mode, or that of a directory above it, keeps this user out.
    #[error(
        "this user may not connect to that socket (permission denied); see `ls -l` of it and the directories above"
    )]
    ClosedSocket,
    /// The host's name is unknown.
    #[error("the host's name cannot be resolved ({0}); check --address")]
    NoHost(String),
    /// No answer to the connection.
    #[error("no answer while connecting; check the address, the network and firewalls between")]
    Silent,
    /// The client speaks plain to a daemon with certificates.
    #[error("it speaks TLS: use https:// and name its authority with --tls-ca")]
    WantsTls,
    /// The client speaks TLS to a daemon without certificates.
    #[error("it does not speak TLS: use http:// without --tls-ca")]
    WantsPlain,
    /// Some other program.
    #[error(
        "another program answers there, not the API of weftd; its metrics have a port of their own \
         (9315 for instance 0), the API is at port 9313 (9323 for instance 1) unless --listen says otherwise"
    )]
    NoApi,
    /// The daemon's certificate is of another authority.
    #[error("its certificate is not signed by the authority in --tls-ca ({0})")]
    Authority(String),
    /// The daemon's certificate has another name.
    #[error("its certificate is for another name ({0}); --tls-domain sets the expected one")]
    Name(String),
    /// The daemon's certificate cannot be used for another reason.
    #[error("its certificate cannot be used ({0})")]
    Certificate(String),
    /// The daemon requires a client certificate.
    #[error("it lets in only clients with a certificate: give --tls-cert and --tls-key")]
    WantsCertificate,
    /// The client's certificate is refused.
    #[error(
        "it refuses the certificate in --tls-cert ({0}); is it of the authority that weftd has?"
    )]
    CertificateRefused(String),
    /// The connection has ended.
    #[error("the connection was lost ({0})")]
    Lost(String),
}

/// The other side as a client called it.
#[derive(Debug, Clone)]
pub(super) struct Called {
    pub(super) address: Uri,
    /// The socket that was called in place of it.
    pub(super) socket: Option<PathBuf>,
    /// The client has shown a certificate of its own.
    pub(super) identified: bool,
}

impl Called {
    /// The address as a client gives it.
    pub(super) fn text(&self) -> String {
        match &self.socket {
            Some(path) => format!("unix:{}", path.display()),
            None => self.address.to_string().trim_end_matches('/').to_owned(),
        }
    }
}

/// Reason for a failed connection attempt.
pub(super) async fn of_connect(called: &Called, error: &tonic::transport::Error) -> Obstacle {
    if let Some(kind) = io_kind(error) {
        match kind {
            io::ErrorKind::ConnectionRefused => return Obstacle::NothingListens,
            io::ErrorKind::TimedOut => return Obstacle::Silent,
            io::ErrorKind::NotFound if called.socket.is_some() => return Obstacle::NothingListens,
            io::ErrorKind::PermissionDenied if called.socket.is_some() => {
                return Obstacle::ClosedSocket;
            }
            _ => {}
        }
    }
    let why = innermost(error);
    if let Some(obstacle) = of_tls(&why) {
        return obstacle;
    }
    match look(called).await {
        Some(other) => other,
        None if why.contains("lookup") || why.contains("resol") => Obstacle::NoHost(why),
        None if why.contains("deadline") || why.contains("timed out") => Obstacle::Silent,
        None => Obstacle::Lost(why),
    }
}

/// Reason why no daemon answered a call; `None` if a daemon did.
pub(super) async fn of_status(called: &Called, status: &Status) -> Option<Obstacle> {
    // Status::from_error keeps the underlying error as its source; a status from a daemon has none.
    let source = std::error::Error::source(status);
    let foreign = status.message().starts_with("grpc-status header missing");
    let why = match source {
        Some(source) => innermost(source),
        None if foreign => return Some(Obstacle::NoApi),
        None => return None,
    };
    if status.code() == Code::Cancelled {
        return None; // the deadline of the call
    }
    match of_tls(&why) {
        Some(obstacle) => Some(obstacle),
        None => Some(look(called).await.unwrap_or(Obstacle::Lost(why))),
    }
}

/// Interprets rustls' message about a handshake (its `Error` and `AlertDescription`).
fn of_tls(why: &str) -> Option<Obstacle> {
    let told = || why.to_owned();
    let has = |text: &str| why.contains(text);
    if has("invalid peer certificate") {
        return Some(match () {
            () if has("UnknownIssuer") || has("BadSignature") => Obstacle::Authority(told()),
            () if has("not valid for") || has("NotValidForName") => Obstacle::Name(told()),
            () => Obstacle::Certificate(told()),
        });
    }
    if has("CertificateRequired") {
        return Some(Obstacle::WantsCertificate);
    }
    let refused = [
        "UnknownCA",
        "BadCertificate",
        "DecryptError",
        "CertificateUnknown",
    ];
    if has("fatal alert") && refused.iter().any(|alert| has(alert)) {
        return Some(Obstacle::CertificateRefused(told()));
    }
    None
}

fn io_kind(error: &(dyn std::error::Error + 'static)) -> Option<io::ErrorKind> {
    let mut error = Some(error);
    let mut kind = None;
    while let Some(one) = error {
        kind = one
            .downcast_ref::<io::Error>()
            .map(io::Error::kind)
            .or(kind);
        error = one.source();
    }
    kind
}

/// Probes the server without encryption and interprets its first bytes; `None` if they
/// are inconclusive. The alert by which a daemon requires a certificate can get lost if the
/// client writes to a connection that the daemon has closed (RFC 8446, section 4.4.2.4: the handshake
/// is over for the client by then); a client without a certificate still gets this reason from a TLS daemon.
async fn look(called: &Called) -> Option<Obstacle> {
    let plain = called.address.scheme_str() == Some("http");
    let first = timeout(LOOK, greeted(called)).await.ok()?.ok()?;
    match first {
        [TLS_ALERT, 3, ..] if plain => Some(Obstacle::WantsTls),
        [TLS_ALERT, 3, ..] => (!called.identified).then_some(Obstacle::WantsCertificate),
        [_, _, _, SETTINGS, ..] => (!plain).then_some(Obstacle::WantsPlain),
        _ => Some(Obstacle::NoApi),
    }
}

/// The first bytes that come back.
async fn greeted(called: &Called) -> io::Result<[u8; 4]> {
    let address = &called.address;
    if let Some(socket) = &called.socket {
        return greet(UnixStream::connect(socket).await?).await;
    }
    let host = address.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = address.port_u16().unwrap_or(match address.scheme_str() {
        Some("https") => 443,
        _ => 80,
    });
    greet(TcpStream::connect((host, port)).await?).await
}

async fn greet(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<[u8; 4]> {
    stream.write_all(PREFACE).await?;
    let mut first = [0; 4];
    stream.read_exact(&mut first).await?;
    Ok(first)
}
