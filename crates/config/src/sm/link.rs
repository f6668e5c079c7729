//! Links: which degraded ones are used, which ports are quarantined, how packets preempt others.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{One, Sub, section};
use crate::syntax::{flag, keyword, keywords, minutes, steps, u16s, u32s};
use crate::xml::Id;

section! {
    /// `HFILinkPolicy`, `ISLLinkPolicy`: which degraded links are used.
    pub struct LinkPolicy {
        /// Number of lanes that a link may lose before it is taken out of use.
        max_dropped_lanes: u16 = 1, "MaxDroppedLanes" => One(u16s().strictly(0, 3));
        /// The width that a link must come up with.
        width_policy: WidthPolicy = WidthPolicy::default(), "WidthPolicy" => Sub;
        /// The speed that a link must come up with.
        speed_policy: SpeedPolicy = SpeedPolicy::default(), "SpeedPolicy" => Sub;
    }
}

/// The width that a link must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WidthRequirement {
    /// The widest that both ends support.
    #[default]
    Supported,
    /// The same, and at least two lanes.
    X2,
    /// The same, and at least three lanes.
    X3,
    /// The same, and four lanes.
    X4,
}

keywords! { WidthRequirement { "Supported" => Supported, "2x" => X2, "3x" => X3, "4x" => X4 } }

section! {
    /// `WidthPolicy`.
    pub struct WidthPolicy {
        /// Whether it is used.
        enable: bool = true, "Enable" => One(flag());
        /// The width: the widest that both ends support, with `2x`, `3x` and `4x` at least so many lanes besides.
        policy: WidthRequirement = WidthRequirement::default(), "Policy" => One(keyword());
    }
}

/// The speed that a link must have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpeedRequirement {
    /// The fastest that both ends support.
    #[default]
    Supported,
}

keywords! { SpeedRequirement { "Supported" => Supported } }

section! {
    /// `SpeedPolicy`.
    pub struct SpeedPolicy {
        /// Whether it is used.
        enable: bool = false, "Enable" => One(flag());
        /// The speed.
        policy: SpeedRequirement = SpeedRequirement::default(), "Policy" => One(keyword());
    }
}

section! {
    /// `LongTermPortQuarantine`: ports whose links go down again and again.
    pub struct LongTermPortQuarantine {
        /// Whether such ports are taken out of use.
        enable: bool = true, "Enable" => One(flag());
        /// When a port is such a port.
        flapping: Flapping = Flapping::default(), "Flapping" => Sub;
    }
    finish check_flapping;
}

section! {
    /// `Flapping`.
    pub struct Flapping {
        /// Time in minutes for which the loss of a port's link counts; with 0 none does.
        window_size: Duration = Duration::from_secs(900), "WindowSize" => One(minutes());
        /// Losses in the window at which a port is taken out of use; 0 counts as 1, more than 1024 as 1024.
        high_threshold: u32 = 25, "HighThreshold" => One(u32s());
        /// Most losses in the window with which it returns to use.
        low_threshold: u32 = 0, "LowThreshold" => One(u32s());
    }
}

fn check_flapping(quarantine: &mut LongTermPortQuarantine, id: Id, cx: &mut Cx<'_>) {
    let given = |tag| {
        !cx.all(&["Sm", "LongTermPortQuarantine", "Flapping", tag])
            .is_empty()
    };
    if given("HighThreshold") && !given("LowThreshold") {
        // The vendor's parser refuses the one without the other, although there is a default.
        cx.error(
            id,
            Rule::Count,
            "Flapping with a HighThreshold needs a LowThreshold, here or in Common",
        );
    }
    let Flapping {
        high_threshold,
        low_threshold,
        ..
    } = quarantine.flapping;
    if high_threshold < low_threshold {
        let message = format!(
            "Flapping/HighThreshold {high_threshold} is below LowThreshold {low_threshold}"
        );
        cx.error(id, Rule::Conflict, message);
    }
}

section! {
    /// `Preemption`: when a packet may interrupt another; sizes in bytes.
    pub struct Preemption {
        /// Packets of at most this size may interrupt others.
        small_packet: u32 = 256, "SmallPacket" => One(steps(32, 8192, 32));
        /// Packets of at least this size may be interrupted.
        large_packet: u32 = 4096, "LargePacket" => One(steps(512, 8192, 512));
        /// Amount of data that may be sent between the parts of an interrupted packet; 0 turns preemption off.
        preempt_limit: u32 = 4096, "PreemptLimit" => One(steps(256, 65_024, 256).or_endless(65_280));
    }
}
