//! The wrong cables, and what is to be reported of each.

use super::site::{Cabling, Site};

/// A wrong cable.
///
/// Names are those of [`Site`]: A and B are hosts' switches, P and Q switches above them, a1 and a2 hosts of A, b1 is
/// one of B. A link that the sweep finds is named from its trusted end on.
pub(super) struct Wrong {
    pub(super) what: &'static str,
    pub(super) make: fn(&mut Cabling<'_>, Site),
    /// What a sweep finds against the file of PreDefinedTopology: it judges links that are there.
    pub(super) sweep: &'static [&'static str],
    /// What `weft check topology` finds, against a file and against a baseline.
    pub(super) check: &'static [&'static str],
    /// What it finds without either. Nothing where the fabric is as clean a tree as before: which host or which of two
    /// like links is at a port cannot be known then.
    pub(super) tree: &'static [&'static str],
}

pub(super) const WRONG: [Wrong; 13] = [
    Wrong {
        what: "two hosts of a switch in each other's port",
        make: |cables, site| cables.swap((site.a1, site.a), (site.a2, site.a)),
        sweep: &["other node A-a1", "other node A-a2"],
        check: &["swapped A-a1 A-a2"],
        tree: &[],
    },
    Wrong {
        what: "hosts of two switches in each other's place",
        make: |cables, site| cables.swap((site.a1, site.a), (site.b1, site.b)),
        sweep: &["other node A-b1", "other node B-a1"],
        check: &["swapped A-a1 B-b1"],
        tree: &[],
    },
    Wrong {
        what: "a host moved to a free port of its switch",
        make: |cables, site| cables.shift((site.a1, site.a), site.a),
        sweep: &["no such link A-a1"],
        check: &["moved A-a1 to A-a1"],
        tree: &[],
    },
    Wrong {
        what: "a host moved to another switch",
        make: |cables, site| cables.shift((site.a1, site.a), site.b),
        sweep: &["no such link B-a1"],
        check: &["moved A-a1 to B-a1"],
        tree: &["hosts A 23 for 24", "hosts B 25 for 24"],
    },
    Wrong {
        what: "a host moved to a switch of the upper tier",
        make: |cables, site| cables.shift((site.a1, site.a), site.p),
        sweep: &["no such link P-a1"],
        check: &["moved A-a1 to P-a1"],
        tree: &["hosts A 23 for 24", "hosts P 1 for 0"],
    },
    Wrong {
        what: "a link between tiers moved to another switch",
        make: |cables, site| cables.shift((site.a, site.p), site.q),
        sweep: &["no such link Q-A"],
        check: &["moved A-P to A-Q"],
        tree: &["pair A-P 0 for 1", "pair A-Q 2 for 1"],
    },
    Wrong {
        what: "two links between tiers swapped",
        make: |cables, site| cables.swap((site.a, site.p), (site.b, site.q)),
        sweep: &["no such link P-B", "no such link Q-A"],
        check: &["swapped A-P B-Q"],
        tree: &[
            "pair A-P 0 for 1",
            "pair A-Q 2 for 1",
            "pair B-P 2 for 1",
            "pair B-Q 0 for 1",
        ],
    },
    Wrong {
        what: "a link between tiers missing",
        make: |cables, site| cables.pull(site.a, site.p),
        sweep: &[],
        check: &["missing A-P"],
        tree: &["pair A-P 0 for 1"],
    },
    Wrong {
        what: "a host's cable missing",
        make: |cables, site| cables.pull(site.a1, site.a),
        sweep: &[],
        check: &["missing node a1"],
        tree: &["hosts A 23 for 24"],
    },
    Wrong {
        what: "an extra link between tiers",
        make: |cables, site| cables.add(site.a, site.p),
        sweep: &["no such link P-A"],
        check: &["unexpected A-P"],
        tree: &["pair A-P 2 for 1"],
    },
    Wrong {
        what: "an extra link within a tier",
        make: |cables, site| cables.add(site.a, site.b),
        sweep: &["no such link A-B"],
        check: &["unexpected A-B"],
        tree: &["within a tier A-B"],
    },
    Wrong {
        what: "a loop at a switch",
        make: |cables, site| cables.add(site.a, site.a),
        sweep: &["no such link A-A"],
        check: &["unexpected A-A"],
        tree: &["within a tier A-A"],
    },
    Wrong {
        what: "another HFI in a host's place",
        make: |cables, site| cables.replace(site.a1),
        sweep: &["other node A-a1"],
        check: &["replaced a1 by a1"],
        tree: &[],
    },
];
