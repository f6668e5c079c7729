//! `Fe`: the fabric executive, which relays between remote clients and the managers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Many, One, Sub, section};
use crate::shared::{CoreDump, Logging, Ssl, Startup};
use crate::syntax::{Named, flag, micros, named, or_number, u16s, u32s};
use crate::xml::Id;

/// Why no tag of this section has an effect.
pub(crate) const NO_EXECUTIVE: &str = "there is no fabric executive; remote clients use gRPC";

/// The most traps that are subscribed to one by one.
pub const MAX_TRAPS: usize = 20;

/// The number of a notice, as in `Notice.TrapNumber`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrapNumber(pub u16);

impl TrapNumber {
    /// All notices.
    pub const ALL: Self = Self(0xffff);

    /// The notices that managers send on (`STL_TRAP_*` of the vendor's `stl_sm_types.h`).
    const KNOWN: &'static [u16] = &[
        64, 65, 66, 67, 68, 69, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259, 0x800, 0x801,
        0xffff,
    ];
}

const TRAP: Named<TrapNumber, u16> = named(u16s(), TrapNumber, |trap| trap.0);

section! {
    /// `Fe`: the fabric executive.
    pub struct Fe {
        /// Whether the FE of this instance runs.
        start: bool = false, "Start" => One(flag());
        /// The TCP port on which clients connect; each instance needs its own.
        tcp_port: u16 = 3245, "TcpPort" => One(named(u32s().strictly(1, 65_535), |port| port as u16, |port: &u16| u32::from(*port)));
        /// Window of an answer: packets in flight.
        window: u32 = 1, "Window" => One(u32s().strictly(1, 16));
        /// Notices that are forwarded to clients.
        trap_subscriptions: TrapSubscriptions = TrapSubscriptions::default(), "TrapSubscriptions" => Sub;
        /// Interval at which the FE checks for its managers.
        manager_check_rate: Duration = Duration::from_secs(60), "ManagerCheckRate" => One(micros());
    }
    flat {
        /// Size and start.
        startup: Startup;
        /// Core files.
        core_dump: CoreDump;
        /// Logs.
        #[no_effect("the section Sm counts for all managers")]
        logging: Logging;
        /// Certificates for clients.
        ssl: Ssl, without "SslSecurityFmCaCertificate";
    }
}

section! {
    /// `TrapSubscriptions`.
    pub struct TrapSubscriptions {
        /// The notices; `All` selects all.
        traps: Vec<TrapNumber> = Vec::new(), "TrapNumber" => Many(or_number(&[("All", TrapNumber::ALL)], TRAP), 256);
    }
    finish check_traps;
}

fn check_traps(subscriptions: &mut TrapSubscriptions, id: Id, cx: &mut Cx<'_>) {
    let traps = &mut subscriptions.traps;
    for trap in traps
        .iter()
        .filter(|trap| !TrapNumber::KNOWN.contains(&trap.0))
    {
        cx.error(
            id,
            Rule::Range,
            format!("trap {} is not one that managers send on", trap.0),
        );
    }
    if traps.contains(&TrapNumber::ALL) {
        *traps = vec![TrapNumber::ALL];
    } else if traps.len() > MAX_TRAPS {
        cx.warn(
            id,
            Rule::NoEffect,
            format!("only the first {MAX_TRAPS} traps count"),
        );
        traps.truncate(MAX_TRAPS);
    }
}
