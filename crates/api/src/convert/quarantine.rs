//! Quarantine of ports.

use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::settings::FlapSettings;
use weft_manager::{BarredPort, Standing, UnusedReason};

use crate::time::span;
use crate::v1;

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
            age: Some(span(barred.since)),
            by_hand: barred.reason == UnusedReason::QuarantinedByHand,
            by_topology: matches!(barred.reason, UnusedReason::Unintended { .. }),
            refused: matches!(barred.reason, UnusedReason::Refused { .. }),
            by_errors: errors.is_some(),
            dry_run: standing == Some(Standing::DryRun),
            spared: standing.map(spared).unwrap_or_default(),
            far: errors.map(|errors| errors.far.into()),
            left: barred.left.map(span),
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
        Self {
            window: Some(span(window)),
            high,
            low,
        }
    }
}
