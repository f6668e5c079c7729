//! Sweeps that end without new routes because too many devices have fallen silent at once: the fabric may be other than
//! what such a sweep has seen.

use std::collections::BTreeSet;

use weft_fabric::{Guid, text};
use weft_state::State;

use crate::sm::settings::SweepSettings;

/// Devices that fell silent since the last completed sweep, and the sweeps abandoned since then.
#[derive(Debug, Clone, Default, State)]
pub(in crate::sm) struct Abandoned {
    silent: BTreeSet<Guid>,
    in_a_row: u32,
}

impl Abandoned {
    /// Records that a device no longer answers.
    pub(in crate::sm) fn fell_silent(&mut self, node: Guid) {
        self.silent.insert(node);
    }

    /// Decides at the end of discovery: what is left to do where the sweep is to be abandoned, none where it is to be
    /// completed.
    pub(super) fn judge(
        &mut self,
        settings: &SweepSettings,
        is_silent: impl Fn(Guid) -> bool,
    ) -> Option<String> {
        self.silent.retain(|node| is_silent(*node));
        let (silent, most) = (self.silent.len(), settings.silent_devices_max);
        let is_completed = most == 0 || silent <= most as usize;
        if is_completed || self.in_a_row >= settings.abandoned_max {
            *self = Self::default();
            return None;
        }
        self.in_a_row += 1;
        Some(format!(
            "abandoned ({} of at most {}): {} fell silent, more than {most}; routes stay as they are",
            self.in_a_row,
            settings.abandoned_max,
            text::count(silent, "device")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: fn() -> SweepSettings = || SweepSettings {
        silent_devices_max: 2,
        abandoned_max: 2,
        ..SweepSettings::default()
    };

    fn silent(nodes: u64) -> Abandoned {
        let mut abandoned = Abandoned::default();
        (0..nodes).for_each(|node| abandoned.fell_silent(Guid(node)));
        abandoned
    }

    #[test]
    fn as_many_are_abandoned_as_may_be_and_then_one_is_completed() {
        let mut abandoned = silent(3);
        let judge = |abandoned: &mut Abandoned| abandoned.judge(&SETTINGS(), |_| true).is_some();
        assert!(judge(&mut abandoned));
        assert!(judge(&mut abandoned));
        assert!(!judge(&mut abandoned));
        assert!(!judge(&mut abandoned), "known to be silent by now");
    }

    #[test]
    fn few_devices_and_those_that_answer_again_do_not_count() {
        assert_eq!(silent(2).judge(&SETTINGS(), |_| true), None);
        assert_eq!(silent(3).judge(&SETTINGS(), |node| node.0 > 0), None);
        let never = SweepSettings {
            silent_devices_max: 0,
            ..SETTINGS()
        };
        assert_eq!(silent(9).judge(&never, |_| true), None);
    }
}
