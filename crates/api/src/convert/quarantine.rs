//! Quarantine of ports.

use std::time::Duration;

use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::settings::FlapSettings;
use weft_manager::{BarredPort, Standing, UnusedReason};

use crate::v1;

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<BarredPort> for v1::QuarantinedPort {
    fn from(barred: BarredPort) -> Self {
        let errors = barred.errors;
        let standing = errors.as_ref().map(|errors| errors.standing);
        let is_used = standing.is_some_and(|standing| standing != Standing::Isolated);
        Self {
            quarantined: barred.reason.is_quarantine() && !is_used,
            reason: barred.reason.to_string(),
            port: Some(barred.port.into()),
            losses: barred.losses,
            since_ns: nanos(barred.since),
            by_hand: barred.reason == UnusedReason::QuarantinedByHand,
            by_topology: matches!(barred.reason, UnusedReason::Unintended { .. }),
            refused: matches!(barred.reason, UnusedReason::Refused { .. }),
            by_errors: errors.is_some(),
            dry_run: standing == Some(Standing::DryRun),
            spared: standing.map(spared).unwrap_or_default(),
            far: errors.map(|errors| errors.far.into()),
            left_ns: barred.left.map_or(0, nanos),
            comment: barred.comment,
        }
    }
}

/// Why a link stays in use, in words; empty where it does not, or its rule only tells.
pub(super) fn spared(standing: Standing) -> String {
    match standing {
        Standing::Spared(why) => why.to_string(),
        Standing::Isolated | Standing::DryRun => String::new(),
    }
}

impl From<LinkUse> for v1::LinkUse {
    fn from(link: LinkUse) -> Self {
        match link {
            LinkUse::Down => Self::Down,
            LinkUse::Used => Self::Used,
            LinkUse::UsedAllTheSame => Self::UsedAllTheSame,
            LinkUse::UsedUntilSweep => Self::UsedUntilSweep,
            LinkUse::LeftOut(_) => Self::LeftOut,
        }
    }
}

impl From<FlapSettings> for v1::LossThresholds {
    fn from(settings: FlapSettings) -> Self {
        let FlapSettings { window, high, low } = settings;
        let window_ns = nanos(window);
        Self {
            window_ns,
            high,
            low,
        }
    }
}
