//! The parts of what outlasts a restart.

use std::sync::Arc;

use weft_api::v1;

/// A part, as a file of the state directory has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// LIDs, drains, disabled ports, quarantine, replaced HFIs.
    State,
    /// Registrations at subnet administration.
    Registrations,
    /// Running totals of counters.
    Counters,
    /// Settings that standbys are to have too.
    Settings,
    /// The plan in force that the configuration file lacks, in words.
    Plan,
}

impl PartKind {
    /// All of them, in the order in which they are sent.
    pub(crate) const ALL: [Self; 5] = [
        Self::State,
        Self::Registrations,
        Self::Counters,
        Self::Settings,
        Self::Plan,
    ];

    pub(super) fn of(part: v1::StatePart) -> Option<Self> {
        match part {
            v1::StatePart::State => Some(Self::State),
            v1::StatePart::Registrations => Some(Self::Registrations),
            v1::StatePart::Counters => Some(Self::Counters),
            v1::StatePart::Settings => Some(Self::Settings),
            v1::StatePart::Plan => Some(Self::Plan),
            v1::StatePart::Unspecified => None,
        }
    }

    pub(super) fn code(self) -> v1::StatePart {
        match self {
            Self::State => v1::StatePart::State,
            Self::Registrations => v1::StatePart::Registrations,
            Self::Counters => v1::StatePart::Counters,
            Self::Settings => v1::StatePart::Settings,
            Self::Plan => v1::StatePart::Plan,
        }
    }
}

/// A part as it is since a change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Number of the change; 0 for none yet.
    pub(crate) sequence: u64,
    /// None where nothing of it holds.
    pub(crate) bytes: Option<Arc<[u8]>>,
}

/// All parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts([Part; PartKind::ALL.len()]);

impl Parts {
    /// Number of the last change.
    pub(super) fn sequence(&self) -> u64 {
        self.0.iter().map(|part| part.sequence).max().unwrap_or(0)
    }

    /// Another content of a part; returns the number of the change.
    pub(super) fn put(&mut self, kind: PartKind, bytes: Option<Arc<[u8]>>) -> u64 {
        let sequence = self.sequence() + 1;
        self.0[kind as usize] = Part { sequence, bytes };
        sequence
    }

    /// The part that changed first after a change.
    pub(crate) fn next_after(&self, sequence: u64) -> Option<(PartKind, Part)> {
        let all = PartKind::ALL.iter().zip(&self.0);
        let later = all.filter(|(_, part)| part.sequence > sequence);
        let next = later.min_by_key(|(_, part)| part.sequence);
        next.map(|(kind, part)| (*kind, part.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_come_in_order_and_only_the_last_of_each_part() {
        let mut parts = Parts::default();
        assert!(parts.next_after(0).is_none());
        parts.put(PartKind::Counters, Some(Arc::from([1])));
        parts.put(PartKind::State, Some(Arc::from([2])));
        parts.put(PartKind::Counters, None);
        let mut seen = Vec::new();
        let mut last = 0;
        while let Some((kind, part)) = parts.next_after(last) {
            last = part.sequence;
            seen.push((kind, part.sequence, part.bytes.is_some()));
        }
        let expected = [(PartKind::State, 2, true), (PartKind::Counters, 3, false)];
        assert_eq!(seen, expected);
        assert_eq!(parts.sequence(), 3);
    }
}
