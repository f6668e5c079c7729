//! One-time links for browsers that nothing else tells who they are, and the sessions that begin with them.
//!
//! A link has a random token in its fragment, which browsers send to nobody; the page posts it, once, and gets a cookie for it.
//! Of tokens and cookies only digests are kept, in memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use weft_history::audit::Hash;

use crate::access::{Caller, Guest, Role};

/// How long a link can be used.
pub(crate) const LINK_LIFE: Duration = Duration::from_secs(10 * 60);
/// How long a session lasts.
pub(crate) const SESSION_LIFE: Duration = Duration::from_secs(8 * 60 * 60);
/// Links that one identity, and all together, may have open.
const LINKS_EACH: usize = 8;
const LINKS_MAX: usize = 64;
/// The same of sessions.
const SESSIONS_EACH: usize = 16;
const SESSIONS_MAX: usize = 128;
/// Attempts that are refused, from one address and from all, within [`TRIES_IN`]; further ones are refused without a look at why.
const TRIES_EACH: usize = 10;
const TRIES_MAX: usize = 100;
const TRIES_IN: Duration = Duration::from_secs(60);
/// Random bytes of a token or a cookie, and their hexadecimal digits.
const SECRET_LEN: usize = 32;
pub(super) const SECRET_DIGITS: usize = 2 * SECRET_LEN;

/// Why there is no link or no session.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum LinkError {
    #[error(
        "this link lets nobody in: it was used already, is older than {} minutes, or never was one; `weft web --link` makes another",
        LINK_LIFE.as_secs() / 60
    )]
    Unknown,
    #[error("too many links were shown in vain: try again in a minute")]
    TooOften,
    #[error("{what} are open already, which is the most: `weft web --end` ends them")]
    TooMany { what: String },
    #[error("the certificate of who asks for a link has ended")]
    Expired,
    #[error("no random numbers are to be had")]
    Random,
}

/// Links and sessions that are open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    /// By the digests of their secrets.
    links: HashMap<String, Held>,
    sessions: HashMap<String, Held>,
    tries: Tries,
}

/// A new link.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) token: String,
    /// How long it can be used, and how long its session lasts at most.
    pub(crate) life: Duration,
    pub(crate) session: Duration,
}

/// A browser that was let in.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) guest: Guest,
    /// The secret of his cookie.
    pub(super) cookie: String,
    pub(super) life: Duration,
}

/// Whose links and sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose<'a> {
    /// Those with the identity of a caller.
    Of(&'a Caller),
    /// Those of holders of certificates.
    OfHolders,
    Everybody,
}

impl Whose<'_> {
    fn has(self, who: &Caller) -> bool {
        match self {
            Self::Of(caller) => who.identity() == caller.identity(),
            Self::OfHolders => matches!(who, Caller::Holder(_)),
            Self::Everybody => true,
        }
    }
}

/// A link or a session.
#[derive(Debug, Clone)]
struct Held {
    who: Arc<Caller>,
    at_most: Role,
    ends: Instant,
    /// Closed when it is no longer held.
    held: watch::Sender<()>,
}

/// How long a session goes on.
#[derive(Debug)]
pub(super) struct Lease {
    ends: Instant,
    held: watch::Receiver<()>,
}

impl Lease {
    /// Waits for its end.
    pub(super) async fn over(mut self) {
        tokio::select! {
            () = sleep_until(self.ends) => {}
            _ = self.held.changed() => {}
        }
    }
}

impl Links {
    /// Makes a link with the identity of a caller and at most this role.
    pub(crate) fn make(
        &self,
        who: &Caller,
        at_most: Role,
        now: Instant,
    ) -> Result<Made, LinkError> {
        let life = life(LINK_LIFE, who);
        if life.is_zero() {
            return Err(LinkError::Expired);
        }
        let mut open = self.open(now);
        room("links", open.links.values(), who, (LINKS_EACH, LINKS_MAX))?;
        let token = secret()?;
        let held = Held {
            who: Arc::new(who.clone()),
            at_most,
            ends: now + life,
            held: watch::Sender::new(()),
        };
        open.links.insert(digest(&token), held);
        Ok(Made {
            token,
            life,
            session: self::life(SESSION_LIFE, who),
        })
    }

    /// Lets somebody at an address in by a token, which is then used up, as is his session before, of the cookie `leaving`.
    /// Where `judge` has something against him both stay.
    pub(super) fn enter(
        &self,
        token: &str,
        leaving: Option<&str>,
        from: IpAddr,
        now: Instant,
        judge: impl FnOnce(&Guest) -> Result<(), String>,
    ) -> Result<Entered, Refused> {
        let mut open = self.open(now);
        let leaving = leaving.map(digest);
        let entered = open.enter(&digest(token), leaving.as_deref(), from, now, judge);
        entered.map_err(|refused| match open.tries.add(from, now) {
            true => Refused::Link(LinkError::TooOften),
            false => refused,
        })
    }

    /// Who has a session with this cookie, and for how long.
    pub(super) fn session(
        &self,
        cookie: &str,
        from: IpAddr,
        now: Instant,
    ) -> Option<(Guest, Lease)> {
        let open = self.open(now);
        let held = open.sessions.get(&digest(cookie))?;
        let lease = Lease {
            ends: held.ends,
            held: held.held.subscribe(),
        };
        Some((held.guest(from), lease))
    }

    /// Whether somebody without a certificate may have a link or a session.
    pub(crate) fn are_open(&self, now: Instant) -> bool {
        let open = self.open(now);
        !open.links.is_empty() || !open.sessions.is_empty()
    }

    /// Ends links and sessions; how many of each.
    pub(crate) fn end(&self, whose: Whose<'_>, now: Instant) -> (usize, usize) {
        let ended = |all: &mut HashMap<String, Held>| {
            let before = all.len();
            all.retain(|_, held| !whose.has(&held.who));
            before - all.len()
        };
        let mut open = self.open(now);
        let links = ended(&mut open.links);
        (links, ended(&mut open.sessions))
    }

    /// Those that have not ended.
    fn open(&self, now: Instant) -> MutexGuard<'_, Open> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.links.retain(|_, held| held.ends > now);
        open.sessions.retain(|_, held| held.ends > now);
        open
    }
}

impl Open {
    fn enter(
        &mut self,
        key: &str,
        leaving: Option<&str>,
        from: IpAddr,
        now: Instant,
        judge: impl FnOnce(&Guest) -> Result<(), String>,
    ) -> Result<Entered, Refused> {
        let held = self.links.get(key).cloned();
        let held = held.ok_or(Refused::Link(LinkError::Unknown))?;
        let guest = held.guest(from);
        judge(&guest).map_err(|why| Refused::Unused(guest.clone(), why))?;
        let bounds = (SESSIONS_EACH, SESSIONS_MAX);
        let others = self.sessions.iter();
        let others = others.filter(|(key, _)| Some(key.as_str()) != leaving);
        let others = others.map(|(_, held)| held);
        room("sessions", others, &held.who, bounds).map_err(Refused::Link)?;
        let cookie = secret().map_err(Refused::Link)?;
        self.links.remove(key);
        if let Some(leaving) = leaving {
            self.sessions.remove(leaving);
        }
        let life = life(SESSION_LIFE, &held.who);
        let session = Held {
            ends: now + life,
            ..held
        };
        self.sessions.insert(digest(&cookie), session);
        Ok(Entered {
            guest,
            cookie,
            life,
        })
    }
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refused {
    Link(LinkError),
    /// He needs no link, or is somebody else already: whose link it is, and why it is not used.
    Unused(Guest, String),
}

impl Held {
    fn guest(&self, from: IpAddr) -> Guest {
        Guest {
            address: from,
            who: Arc::clone(&self.who),
            at_most: self.at_most,
        }
    }
}

/// How long something of a caller lasts: not longer than his certificate.
fn life(most: Duration, who: &Caller) -> Duration {
    who.certificate_left().map_or(most, |left| most.min(left))
}

/// Whether there is room for one more of a caller.
fn room<'a>(
    what: &str,
    all: impl Iterator<Item = &'a Held>,
    who: &Caller,
    (each, most): (usize, usize),
) -> Result<(), LinkError> {
    let identity = who.identity();
    let (mut all_of_them, mut own) = (0, 0);
    for held in all {
        all_of_them += 1;
        own += usize::from(held.who.identity() == identity);
    }
    let what = match (own >= each, all_of_them >= most) {
        (true, _) => format!("{each} {what} of {identity}"),
        (_, true) => format!("{most} {what}"),
        _ => return Ok(()),
    };
    Err(LinkError::TooMany { what })
}

/// A secret that cannot be guessed, hexadecimal.
fn secret() -> Result<String, LinkError> {
    let mut bytes = [0; SECRET_LEN];
    let filled = default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| LinkError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What stands for a secret: how long it takes to find one tells nothing of others.
fn digest(secret: &str) -> String {
    Hash::digest(secret.as_bytes()).to_string()
}

/// Attempts that were refused, of the last while.
#[derive(Debug, Default)]
struct Tries(Vec<(Instant, IpAddr)>);

impl Tries {
    /// One more; whether it is too many. Those are not counted, so that a good link is not kept waiting.
    fn add(&mut self, from: IpAddr, now: Instant) -> bool {
        self.0
            .retain(|(then, _)| now.duration_since(*then) < TRIES_IN);
        let own = self.0.iter().filter(|(_, address)| *address == from);
        if own.count() >= TRIES_EACH || self.0.len() >= TRIES_MAX {
            return true;
        }
        self.0.push((now, from));
        false
    }
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
