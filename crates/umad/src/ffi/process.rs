//! The one session of a process.

use std::sync::{Arc, Mutex, PoisonError};

use crate::session::Session;
use crate::settings::Settings;

struct Own {
    process: u32,
    session: Arc<Session>,
}

/// Kept for the life of the process: it has no end that a library could see.
static SESSION: Mutex<Option<Own>> = Mutex::new(None);

/// The session, opened if there is none. After a fork the child opens its own: the thread that
/// reads the parent's has stayed there.
pub(super) fn session() -> Option<Arc<Session>> {
    let mut slot = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(session) = live(&slot) {
        return Some(session);
    }
    match open() {
        Ok(session) => {
            let before = slot.replace(Own {
                process: std::process::id(),
                session: Arc::clone(&session),
            });
            // A parent's session is the parent's to close.
            std::mem::forget(before);
            Some(session)
        }
        Err(why) => {
            eprintln!("weft-umad: {why}");
            None
        }
    }
}

/// The session, if it is open.
pub(super) fn current() -> Option<Arc<Session>> {
    let slot = SESSION.lock().unwrap_or_else(PoisonError::into_inner);
    let own = slot.as_ref()?;
    (own.process == std::process::id()).then(|| Arc::clone(&own.session))
}

fn live(slot: &Option<Own>) -> Option<Arc<Session>> {
    let own = slot.as_ref()?;
    let usable = own.process == std::process::id() && !own.session.is_gone();
    usable.then(|| Arc::clone(&own.session))
}

fn open() -> Result<Arc<Session>, String> {
    let variable = |name: &str| std::env::var(name).ok();
    let settings = Settings::read(variable).map_err(|error| error.to_string())?;
    Session::open(&settings).map_err(|error| error.to_string())
}
