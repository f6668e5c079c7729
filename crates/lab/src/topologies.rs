//! Fabrics of campaigns: described, or read from files.

use std::path::Path;
use std::sync::Arc;

use crate::experiment::fabric::Fabric;
use weft_fabric::{FabricSpec, Topology};

use crate::run::files::read;

/// Longest file of a fabric.
const FILE_MAX: u64 = 64 << 20;

/// A fabric that is described, or read from a file.
pub(crate) fn topology(fabric: &str) -> Result<Arc<Topology>, String> {
    let spec: FabricSpec = fabric.parse().map_err(|error| format!("{error}"))?;
    let wrong = |error: &dyn std::fmt::Display| format!("{fabric}: {error}");
    let made = match spec {
        FabricSpec::File(path) => Fabric::import(&read(Path::new(&path), FILE_MAX)?)
            .map_err(|error| wrong(&error))?
            .generate(),
        spec => spec.generate(),
    };
    made.map(Arc::new).map_err(|error| wrong(&error))
}
