//! Where a browser shows a link's token and gets a cookie for it, and who a browser with a cookie is.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, COOKIE, HeaderMap, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::time::Instant;
use tonic::Status;
use weft_history::audit::Asked;
use weft_web::turn_away;

use super::leased::Leased;
use super::links::{Entered, Lease, LinkError, Links, Refused, SECRET_DIGITS};
use crate::access::{Access, Caller, Client, Guest};
use crate::audit::{Audit, Outcome};

/// What a browser sends a token as: no form and no script of another site can.
const TOKEN: &str = "application/x-weft-link";
/// The method that ends sessions: who calls it is told so, though his own has ended.
const END: &str = "/weft.v1.WebService/EndSessions";
/// How the record of changes calls it.
const METHOD: &str = "page/UseLink";

/// Lets browsers in.
#[derive(Debug, Clone)]
pub(crate) struct Entrance {
    links: Links,
    access: Access,
    audit: Audit,
    /// Name of the cookie: browsers send those of one port of a host to all others.
    cookie: Arc<str>,
}

impl Entrance {
    pub(crate) fn new(links: Links, access: Access, audit: Audit, port: u16) -> Self {
        Self {
            links,
            access,
            audit,
            cookie: format!("__Host-weft-{port}").into(),
        }
    }

    /// Takes tokens.
    pub(crate) fn router(self) -> Router {
        let taking = post(enter).with_state(self);
        Router::new().route(weft_web::LINK, taking)
    }

    /// Lets somebody in who has shown a token, with the session that his browser has.
    fn admit(
        &self,
        token: &str,
        session: Option<&Session<'_>>,
        caller: &Caller,
        from: IpAddr,
    ) -> Result<Entered, Refused> {
        let judge = |guest: &Guest| {
            let why = self.needless(caller, guest);
            let why = why.or_else(|| taken(&session?.guest, guest));
            why.map_or(Ok(()), Err)
        };
        let leaving = session.map(|session| session.cookie);
        self.links
            .enter(token, leaving, from, Instant::now(), judge)
    }

    /// Why a caller needs no link to come in as a guest.
    fn needless(&self, caller: &Caller, guest: &Guest) -> Option<String> {
        if matches!(caller, Caller::Holder(_)) {
            let why = "the certificate of this browser tells who you are: no link is needed, and this one was not used up";
            return Some(why.to_owned());
        }
        // A stranger has no role.
        let role = self.access.role_of(caller)?;
        (role >= guest.at_most).then(|| needs_none(role.name()))
    }

    async fn record(&self, from: IpAddr, guest: Option<&Guest>, outcome: Outcome) {
        let asked = Asked {
            way: "page".to_owned(),
            peer: from.to_string(),
            identity: guest.map_or_else(String::new, |guest| guest.who.identity()),
            method: METHOD.to_owned(),
            ..Asked::default()
        };
        self.audit.asked(asked).await.ended(outcome).await;
    }

    /// The session that the cookies of a request are of.
    fn session<'a>(&self, headers: &'a HeaderMap, from: IpAddr) -> Option<Session<'a>> {
        let all = headers.get_all(COOKIE).iter();
        let all = all.filter_map(|value| value.to_str().ok());
        let mut pairs = all.flat_map(|value| value.split("; "));
        pairs.find_map(|pair| {
            let (name, cookie) = pair.split_once('=')?;
            let own = name == &*self.cookie;
            let found = own.then(|| self.links.session(cookie, from, Instant::now()));
            let (guest, lease) = found.flatten()?;
            Some(Session {
                cookie,
                guest,
                lease,
            })
        })
    }
}

/// A session of a browser.
struct Session<'a> {
    cookie: &'a str,
    guest: Guest,
    lease: Lease,
}

/// Why a browser with a session does not come in as another guest: nobody is to act in somebody else's name unawares.
fn taken(has: &Guest, guest: &Guest) -> Option<String> {
    let (has, of) = (has.who.identity(), guest.who.identity());
    (has != of).then(|| {
        format!(
            "this browser has a session of {has}, and this link is of {of}: it was not used up; end that session first \
             (weft web --end), or open the link in another browser"
        )
    })
}

/// Why somebody at a loopback address needs no link, where everybody there has this role.
pub(crate) fn needs_none(role: &str) -> String {
    format!("whoever opens this page has the role {role} here: no link is needed for that")
}

async fn enter(State(entrance): State<Entrance>, request: Request) -> Response {
    let Some(caller) = client(&request).map(|client| Arc::clone(&client.caller)) else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let Some(from) = caller.address() else {
        return StatusCode::FORBIDDEN.into_response();
    };
    let kind = request.headers().get(CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != TOKEN) {
        let answer = StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
        return turn_away(request, answer).await;
    }
    let (head, body) = request.into_parts();
    let session = entrance.session(&head.headers, from);
    let token = to_bytes(body, SECRET_DIGITS).await;
    // What is no token at all is a wrong one.
    let token = token
        .ok()
        .and_then(|bytes| String::from_utf8(bytes.into()).ok());
    let token = token.unwrap_or_default();
    match entrance.admit(&token, session.as_ref(), &caller, from) {
        Ok(entered) => {
            let guest = Some(&entered.guest);
            entrance.record(from, guest, Outcome::ok()).await;
            let (name, secret) = (&entrance.cookie, &entered.cookie);
            let life = entered.life.as_secs();
            let cookie = format!(
                "{name}={secret}; Path=/; Max-Age={life}; Secure; HttpOnly; SameSite=Strict"
            );
            match HeaderValue::from_str(&cookie) {
                Ok(cookie) => (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response(),
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
        Err(Refused::Link(error)) => {
            let why = error.to_string();
            let (status, result) = match error {
                LinkError::Unknown => (StatusCode::FORBIDDEN, "unauthenticated"),
                _ => (StatusCode::TOO_MANY_REQUESTS, "resource_exhausted"),
            };
            // Those beyond the bound would fill the record.
            if error != LinkError::TooOften {
                let outcome = Outcome::refused(result, why.clone());
                entrance.record(from, None, outcome).await;
            }
            (status, why).into_response()
        }
        Err(Refused::Unused(guest, why)) => {
            let outcome = Outcome::refused("failed_precondition", why.clone());
            entrance.record(from, Some(&guest), outcome).await;
            (StatusCode::CONFLICT, why).into_response()
        }
    }
}

/// Passes a call on as one of the guest whose cookie it has; its answer ends with his session. Somebody without
/// a certificate gets no further without one.
pub(crate) async fn recognise(
    State(entrance): State<Entrance>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(client) = client(&request).cloned() else {
        return next.run(request).await;
    };
    let nameless = matches!(*client.caller, Caller::Loopback(_) | Caller::Stranger(_));
    let from = client.caller.address().filter(|_| nameless);
    let session = from.and_then(|from| entrance.session(request.headers(), from));
    match session.map(|session| (session.guest, session.lease)) {
        Some((guest, lease)) => {
            let ends_it = request.uri().path() == END;
            request.extensions_mut().insert(Client {
                caller: Arc::new(Caller::Guest(guest)),
                ..client
            });
            let answer = next.run(request).await;
            match ends_it {
                true => answer,
                false => answer.map(|body| Body::new(Leased::new(body, lease))),
            }
        }
        None if matches!(*client.caller, Caller::Stranger(_)) => {
            let why = "nothing tells who you are: this browser has no certificate and no session, or its session has ended; \
                       `weft web --link` makes a link that lets one in";
            turn_away(request, Status::unauthenticated(why).into_http()).await
        }
        None => next.run(request).await,
    }
}

fn client(request: &Request) -> Option<&Client> {
    request.extensions().get::<Client>()
}
