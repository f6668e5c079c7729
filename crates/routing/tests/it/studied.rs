//! Engines on the fabrics that people study: which is free of deadlock there, by the certificate and by an oracle that
//! follows routes itself. docs/routing.md has the same table.
#![allow(clippy::unwrap_used)]

use crate::common::{fabric, judge_lanes, settings};
use weft_routing::{EngineKind, EngineUsed, Note, Routed, Settings, route};

/// What comes of an engine: the one that made the routes, its lanes, and how many of 1,000 LIDs have detours.
type Came = (EngineUsed, u8, u64);

fn came(text: &str, engine: EngineKind, lanes: u8) -> Came {
    let topology = fabric(text, 0);
    let settings = Settings {
        lanes,
        ..settings(engine, 1)
    };
    let routed = route(&topology, &settings).unwrap();
    let detours = detours(&routed);
    let is_least = detours == 0 && routed.engine() != EngineUsed::UpDown;
    judge_lanes(&topology, routed.linear(), routed.lanes(), is_least).unwrap();
    (routed.engine(), routed.certificate().lanes(), detours)
}

fn detours(routed: &Routed) -> u64 {
    let of = routed.notes().iter().map(|note| match note {
        Note::Detours { lids, of, .. } => lids * 1_000 / of,
        _ => 0,
    });
    of.sum()
}

/// The routes of `shortestpath`, which leaves lanes alone, and those of `layered` in at most 2, 4 and 8.
type Row = (&'static str, EngineUsed, [(u8, u64); 3]);

#[test]
fn engines_on_fabrics_that_people_study() {
    use EngineUsed::{ShortestPath, UpDown};
    let rows: [Row; 7] = [
        ("dragonfly:2,4,2", UpDown, [(2, 666), (4, 55), (8, 0)]),
        ("dragonfly-plus:2,4,4,2", ShortestPath, [(1, 0); 3]),
        ("hyperx:4x4,hosts=2", ShortestPath, [(2, 0), (4, 0), (4, 0)]),
        ("hyperx:4x4x4", UpDown, [(2, 0), (4, 0), (4, 0)]),
        ("slimfly:5,hosts=2", UpDown, [(2, 560), (3, 0), (5, 0)]),
        ("jellyfish:50,7", UpDown, [(2, 640), (4, 220), (4, 0)]),
        (
            "fattree:512,radix=24,tiers=3,oversubscription=2,taper=2",
            ShortestPath,
            [(1, 0); 3],
        ),
    ];
    for (text, shortest, layered) in rows {
        assert_eq!(
            came(text, EngineKind::ShortestPath, 1),
            (shortest, 1, 0),
            "{text}"
        );
        for (lanes, (used, detours)) in [2, 4, 8].into_iter().zip(layered) {
            let wanted = (EngineUsed::Layered, used, detours);
            assert_eq!(
                came(text, EngineKind::Layered, lanes),
                wanted,
                "{text}, {lanes}"
            );
        }
    }
}
