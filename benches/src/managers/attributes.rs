//! Attributes read and written by the managers.

use std::fmt;

use weft_wire::sm::AttributeId;

use super::Case;
use super::measure::{Counts, Measured};
use super::programs::Kind;
use crate::table::Table;

/// Counts of each manager's last run on each fabric: in the first sweep, the re-sweep, and for a lost link.
#[derive(Debug, Default)]
pub(super) struct Attributes(Vec<(Case, Kind, [Counts; 3])>);

impl Attributes {
    /// Records a manager's counts.
    pub(super) fn take(&mut self, case: Case, kind: Kind, measured: &Measured) {
        self.0
            .retain(|(other, by, _)| (*other, *by) != (case, kind));
        self.0.push((case, kind, measured.attributes.clone()));
    }
}

impl fmt::Display for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "hosts",
            "agents µs",
            "manager",
            "attribute",
            "first sweep Gets/Sets",
            "re-sweep",
            "lost link",
        ]);
        for (case, kind, [first, again, lost]) in &self.0 {
            let counts = first.iter().zip(again).zip(lost);
            for (attribute, ((first, again), lost)) in AttributeId::ALL.iter().zip(counts) {
                let all = [first, again, lost];
                if all.iter().all(|count| **count == (0, 0)) {
                    continue;
                }
                let [first, again, lost] = all.map(|(gets, sets)| format!("{gets}/{sets}"));
                table.row([
                    case.hosts.to_string(),
                    case.latency_us.to_string(),
                    kind.to_string(),
                    attribute.to_string(),
                    first,
                    again,
                    lost,
                ]);
            }
        }
        table.fmt(f)
    }
}
