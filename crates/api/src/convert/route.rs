//! Routes.

use weft_report::{Hop, Path, PathOutcome, Route};

use crate::v1;

impl From<Route> for v1::Route {
    fn from(route: Route) -> Self {
        Self {
            source: Some(route.from.into()),
            destination: Some(route.to.into()),
            paths: route.paths.into_iter().map(v1::Path::from).collect(),
        }
    }
}

impl From<Path> for v1::Path {
    fn from(path: Path) -> Self {
        let complete = path.outcome == PathOutcome::Complete;
        let incomplete_reason = match path.outcome {
            PathOutcome::Complete => String::new(),
            PathOutcome::Incomplete { why } => why,
        };
        Self {
            source_lid: path.source.lid,
            destination_lid: path.destination.lid,
            hops: path.hops.into_iter().map(v1::Hop::from).collect(),
            complete,
            incomplete_reason,
            levels: Vec::new(),
        }
    }
}

impl From<Hop> for v1::Hop {
    fn from(hop: Hop) -> Self {
        Self {
            from: Some(hop.from.into()),
            to: Some(hop.to.into()),
            rate: hop.rate,
            choices: Vec::new(),
        }
    }
}
