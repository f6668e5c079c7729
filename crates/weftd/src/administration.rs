//! The fabric with what subnet administration knows, as it leaves the daemon.

use std::sync::Arc;

use weft_fabric::{Administration, MulticastGroup, Snapshot};
use weft_manager::sa::{self, SaSettings};

/// Parts of it that take longer, and that not everybody needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) device_groups: bool,
    pub(crate) quarantined: bool,
}

/// A published snapshot with multicast groups and virtual fabrics.
pub(crate) fn administered(
    snapshot: Arc<Snapshot>,
    groups: Arc<Vec<MulticastGroup>>,
    settings: &SaSettings,
    wanted: Wanted,
) -> Snapshot {
    let administration = Administration {
        groups,
        virtual_fabrics: sa::virtual_fabrics(settings),
        device_groups: (wanted.device_groups)
            .then(|| sa::device_groups(settings, Arc::clone(&snapshot))),
        quarantined: wanted.quarantined.then(|| sa::quarantined_nodes(&snapshot)),
    };
    Snapshot {
        administration: Arc::new(administration),
        ..snapshot.as_ref().clone()
    }
}
