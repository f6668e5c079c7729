//! The memory of nodes and links in the state directory.

use std::path::PathBuf;

use tracing::{info, warn};
use weft_health::Memory;

use crate::store::{read, replace};

/// Size limit of the file on reading, bytes: above the most nodes and links.
const MAX_LEN: u64 = 256 << 20;

/// The file.
#[derive(Debug, Clone)]
pub(crate) struct SeenFile(pub(crate) PathBuf);

impl SeenFile {
    /// What an earlier run has seen; none where there is nothing that can be used.
    pub(crate) fn load(&self, subnet_prefix: u64) -> Option<Memory> {
        let file = self.0.display();
        let refused = |why: &dyn std::fmt::Display| {
            warn!(
                event = "health_memory_refused",
                "{file} cannot be used: {why}; what was there before is learnt anew, and what is missing now is not told"
            );
        };
        let bytes = match read(&self.0, MAX_LEN) {
            Ok(bytes) => bytes?,
            Err(error) => {
                refused(&error);
                return None;
            }
        };
        match Memory::decode(&bytes, subnet_prefix) {
            Ok(memory) => Some(memory),
            Err(error) => {
                refused(&error);
                None
            }
        }
    }

    /// Stores it; whether that was done.
    pub(super) fn save(
        &self,
        memory: &Memory,
        subnet_prefix: u64,
        failed: &mut Option<String>,
    ) -> bool {
        let written = replace(&self.0, &memory.encode(subnet_prefix));
        let failure = written.err().map(|error| error.to_string());
        match (&failure, &*failed) {
            (Some(why), before) if before.as_ref() != Some(why) => warn!(
                event = "health_memory_unsaved",
                error = why,
                "cannot write what was seen to the state directory; a restart misses nothing that is gone by then, until \
                 a later attempt succeeds"
            ),
            (None, Some(_)) => info!(
                event = "health_memory_saved",
                "what was seen is in the state directory again"
            ),
            _ => {}
        }
        *failed = failure;
        failed.is_none()
    }
}
