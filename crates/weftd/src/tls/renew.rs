//! Reads the files again when they change.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use tracing::{error, info};

use super::Tls;
use super::files::Loaded;
use crate::page::{Links, Whose};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// What tells one content of a file from another without reading it: inode, length, time of the last change in nanoseconds.
type Stamp = Option<(u64, u64, i128)>;

fn stamp(file: &Path) -> Stamp {
    let found = std::fs::metadata(file).ok()?;
    let changed = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    Some((found.ino(), found.len(), changed))
}

impl Tls {
    /// Reads the files whenever they have changed, for ever. A certificate and its key that do not belong together, because
    /// only one of them is there yet, are looked at again. Where others say who is let in, `links` of holders of certificates end.
    pub(crate) async fn renew(self, links: Links) {
        let mut last = self.stamps().await;
        let mut failed = None;
        loop {
            sleep(LOOK).await;
            let now = self.stamps().await;
            if now == last && failed.is_none() {
                continue;
            }
            last = now;
            failed = self.read_again(failed, &links).await;
        }
    }

    /// Reads the files; where they cannot be used, those that were read before stay in force and the log says why.
    pub(crate) async fn reload(&self, links: &Links) {
        self.read_again(None, links).await;
    }

    /// Reads the files; why not, which is told unless it was told before.
    async fn read_again(&self, told: Option<String>, links: &Links) -> Option<String> {
        let tls = self.clone();
        let read = spawn_blocking(move || tls.0.files.load().map_err(|error| error.to_string()));
        let why = match read.await.map_err(|error| error.to_string()).flatten() {
            Ok(loaded) => {
                if self.take(loaded) {
                    links.end(Whose::OfHolders, Instant::now());
                }
                info!(
                    event = "certificates_read",
                    applied = true,
                    "certificates of the API have been read again; connections from now on use them"
                );
                return None;
            }
            Err(why) => why,
        };
        if told.as_ref() != Some(&why) {
            error!(
                event = "certificates_read",
                applied = false,
                "certificates of the API cannot be used, those that were read before stay in force: {why}"
            );
        }
        Some(why)
    }

    /// Puts what was read in force; whether others than before say who is let in.
    fn take(&self, loaded: Loaded) -> bool {
        let held = self.0.loaded.write();
        let mut held = held.unwrap_or_else(PoisonError::into_inner);
        let others = held.judges != loaded.judges;
        *held = loaded;
        others
    }

    async fn stamps(&self) -> Vec<Stamp> {
        let tls = self.clone();
        let stamps = spawn_blocking(move || tls.0.files.all().map(stamp).collect());
        // A panic of the thread is told by its hook.
        stamps.await.unwrap_or_default()
    }

    /// When certificates end, in seconds since 1970: that of the API, and the first one of the clients' authority.
    pub(crate) fn ends(&self) -> [(&'static str, Option<u64>); 2] {
        let loaded = self.loaded();
        [
            ("api", loaded.certificate_ends),
            ("client_ca", loaded.authority_ends),
        ]
    }
}
