//! Whether the daemon is attached to its fabric, and since when.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::event_hub::unix_time_ns;

/// State of the connection to the fabric, since its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// Datagrams can be sent to the fabric.
    pub(crate) attached: bool,
    /// When that began, nanoseconds since 1970.
    pub(crate) since_unix_ns: u64,
}

/// The fabric cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the fabric is out of reach for {}: its HFI, driver or emulator is gone; nothing was sent. weftd \
     attaches again by itself, `weft fabric show` says when it has",
    Ago(*.since_unix_ns)
)]
pub(crate) struct Detached {
    /// When it was lost, nanoseconds since 1970.
    pub(crate) since_unix_ns: u64,
}

impl Attachment {
    /// From this moment on.
    pub(crate) fn now(attached: bool) -> Self {
        Self {
            attached,
            since_unix_ns: unix_time_ns(),
        }
    }

    /// Refuses commands that need the fabric while it is gone.
    pub(crate) fn required(&self) -> Result<(), Detached> {
        let since_unix_ns = self.since_unix_ns;
        match self.attached {
            true => Ok(()),
            false => Err(Detached { since_unix_ns }),
        }
    }

    /// One line for systemd.
    pub(crate) fn line(&self) -> String {
        match self.attached {
            true => "attached to the fabric".to_owned(),
            false => {
                "NOT ATTACHED: the fabric is gone, attaching again as soon as it is back".to_owned()
            }
        }
    }
}

/// The seconds since a moment, given in nanoseconds since 1970.
struct Ago(u64);

impl fmt::Display for Ago {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ago = Duration::from_nanos(unix_time_ns().saturating_sub(self.0));
        write!(to, "{} s", ago.as_secs())
    }
}
