//! Quarantine of ports.

use std::time::Duration;

use weft_manager::sm::evidence::LinkUse;
use weft_manager::sm::settings::FlapSettings;
use weft_manager::{BarredPort, UnusedReason};

use crate::v1;

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<BarredPort> for v1::QuarantinedPort {
    fn from(barred: BarredPort) -> Self {
        Self {
            quarantined: barred.reason.is_quarantine(),
            reason: barred.reason.to_string(),
            port: Some(barred.port.into()),
            losses: barred.losses,
            since_ns: nanos(barred.since),
            by_hand: barred.reason == UnusedReason::QuarantinedByHand,
            by_topology: matches!(barred.reason, UnusedReason::Unintended { .. }),
            refused: matches!(barred.reason, UnusedReason::Refused { .. }),
            left_ns: barred.left.map_or(0, nanos),
            comment: barred.comment,
        }
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
