//! The file in the state directory in which totals outlast the daemon.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::task;
use tracing::{error, info, warn};
use weft_manager::port_totals::PortTotals;

use crate::store::{read, replace};

/// Size limit of the file on reading, bytes: above what a million busy ports take.
const MAX_LEN: u64 = 256 << 20;

/// The file, and whether it could be written the last time.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    file: PathBuf,
    failed: bool,
}

impl Kept {
    pub(super) fn new(file: PathBuf) -> Self {
        let failed = false;
        Self { file, failed }
    }

    /// The totals of the daemon before; none where there are none, or they cannot be used.
    pub(super) fn load(&self) -> Option<PortTotals> {
        let file = self.file.display();
        let bytes = match read(&self.file, MAX_LEN) {
            Ok(bytes) => bytes?,
            Err(error) => {
                warn!(event = "counters_refused", %error, "cannot read {file}; counters begin anew");
                return None;
            }
        };
        match PortTotals::decode(&bytes) {
            Ok(totals) => Some(totals),
            Err(error) => {
                warn!(event = "counters_refused", %error, "the totals in {file} cannot be used; counters begin anew");
                None
            }
        }
    }

    /// Replaces the file; a crash leaves the old or the new totals. Before the first image there is nothing to write.
    pub(super) async fn save(&mut self, totals: Arc<PortTotals>) {
        let file = self.file.clone();
        let saved = task::spawn_blocking(move || {
            totals
                .encode()
                .map_or(Ok(()), |bytes| replace(&file, &bytes))
        });
        let saved = saved
            .await
            .map_err(io::Error::other)
            .and_then(|saved| saved);
        match &saved {
            Err(error) if !self.failed => {
                error!(event = "counters_unsaved", %error, "cannot write the totals of counters to the state directory; \
                     after a restart they go on from the last that could be written");
            }
            Ok(()) if self.failed => info!(
                event = "counters_saved",
                "the totals of counters are written again"
            ),
            _ => {}
        }
        self.failed = saved.is_err();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_that_is_none_of_totals_is_left_until_there_are_some() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("counters.0");
        let mut kept = Kept::new(file.clone());
        assert!(kept.load().is_none());
        std::fs::write(&file, b"WEFTCNTS and nothing that fits").unwrap();
        assert!(kept.load().is_none());
        kept.save(Arc::default()).await;
        assert!(!kept.failed);
        assert!(file.exists());
    }
}
