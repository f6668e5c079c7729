//! Which requests of browsers are answered, and the headers of all answers.
//!
//! A browser carries requests of any site that its user looks at to any address that it reaches. So a request is answered
//! only where its `Host` is a name of this listener (a name that an attacker points to this address is not), and where it
//! was made by this page itself (`Origin`, `Sec-Fetch-Site`). Nothing here decides what a caller may do: that is the
//! API's matter, as for every other client.

use std::net::IpAddr;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, ORIGIN,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tonic_web::GrpcWebLayer;

use crate::assets;

/// How browsers reach the listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// At a loopback address without encryption, under its names of this host alone; a tunnel may give it another port.
    Loopback,
    /// With TLS, under the names of the certificate, which the browser checks.
    Encrypted,
}

/// What every answer has.
const HEADERS: [(HeaderName, &str); 8] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'; \
         require-trusted-types-for 'script'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Content of a request that is taken though nobody looks at it, bytes.
const UNREAD_MAX: usize = 64 << 10;
/// Longest time for it.
const UNREAD_TIME: Duration = Duration::from_secs(1);
/// Where a browser sends the token of a one-time link.
pub const LINK: &str = "/link";

/// Serves the page, and the API of a router to it as gRPC-Web, or as plain gRPC. `entrance` answers at [`LINK`].
pub fn serve(api: Router, entrance: Router, reach: Reach) -> Router {
    api.layer(GrpcWebLayer::new())
        .merge(entrance)
        .layer(from_fn_with_state(reach, pass))
}

/// Answers with a file, or passes a call on, where the request may be answered.
async fn pass(State(reach): State<Reach>, request: Request, next: Next) -> Response {
    let mut answer = match judge(reach, &request) {
        Err((status, why)) => {
            let answer = (status, format!("weftd: {why}\n"));
            turn_away(request, answer.into_response()).await
        }
        Ok(()) => match *request.method() {
            Method::GET | Method::HEAD => file(&request),
            Method::POST if is_call(request.headers()) || request.uri().path() == LINK => {
                next.run(request).await
            }
            Method::POST => {
                let why =
                    "weftd: only calls of the API are taken here (application/grpc-web+proto)\n";
                let answer = (StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
                turn_away(request, answer.into_response()).await
            }
            _ => {
                let allowed = [(ALLOW, "GET, HEAD, POST")];
                (StatusCode::METHOD_NOT_ALLOWED, allowed).into_response()
            }
        },
    };
    let headers = answer.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Files say so themselves.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Answers a request whose content nobody looks at, after it has been read to its end, within bounds.
///
/// HTTP/2 tells a client that is answered earlier to stop sending (`RST_STREAM` with `NO_ERROR`), and some, curl 7.88
/// among them, report that as a lost connection instead of the answer.
pub async fn turn_away(request: Request, answer: Response) -> Response {
    // Whether all of it came, and in which state, does not matter.
    let _ = timeout(UNREAD_TIME, to_bytes(request.into_body(), UNREAD_MAX)).await;
    answer
}

fn file(request: &Request) -> Response {
    match assets::find(request.uri().path()) {
        Some(asset) => asset.answer(request.headers()),
        None => (
            StatusCode::NOT_FOUND,
            "weftd: there is no such file; the page is at /\n",
        )
            .into_response(),
    }
}

fn is_call(headers: &HeaderMap) -> bool {
    text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/grpc"))
}

/// Whether a request may be answered; if not, how it is refused.
fn judge(reach: Reach, request: &Request) -> Result<(), (StatusCode, String)> {
    let headers = request.headers();
    let host = host(request).ok_or_else(|| {
        let why = "one Host is needed, a name or an address with or without a port";
        (StatusCode::BAD_REQUEST, why.to_owned())
    })?;
    if reach == Reach::Loopback && !is_loopback(host.host()) {
        let why = "this page is served under the names of this host alone: open it at localhost, 127.0.0.1 or [::1]";
        return Err((StatusCode::MISDIRECTED_REQUEST, why.to_owned()));
    }
    let foreign = |name: &str| {
        let why = format!("a request of another site is not answered ({name})");
        Err((StatusCode::FORBIDDEN, why))
    };
    let mut origins = headers.get_all(ORIGIN).iter();
    let scheme = match reach {
        Reach::Loopback => "http://",
        Reach::Encrypted => "https://",
    };
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok();
        let named = origin.and_then(|origin| origin.strip_prefix(scheme));
        named.is_some_and(|named| named.eq_ignore_ascii_case(host.as_str()))
    };
    if !origins.all(is_own) {
        return foreign("Origin");
    }
    match text(headers, &FETCH_SITE) {
        None | Some("same-origin" | "none") => Ok(()),
        // A link of another site may lead to the page.
        Some(_)
            if request.method() == Method::GET
                && request.uri().path() == "/"
                && text(headers, &FETCH_MODE) == Some("navigate") =>
        {
            Ok(())
        }
        Some(_) => foreign("Sec-Fetch-Site"),
    }
}

/// The host that a request is for: of the request's target in HTTP/2, else of its one `Host`.
fn host(request: &Request) -> Option<Authority> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let first = hosts.next();
    if hosts.next().is_some() {
        return None;
    }
    let named = first.map(|host| Authority::try_from(host.as_bytes()).ok());
    let host = match (request.uri().authority(), named) {
        (Some(target), None) => target.clone(),
        (Some(target), Some(Some(named))) if *target == named => named,
        (None, Some(Some(named))) => named,
        _ => return None,
    };
    (!host.as_str().contains('@')).then_some(host)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
