//! Traffic settings of devices: congestion control, adaptive routing, packet lifetimes.

use serde::{Deserialize, Serialize};

use crate::finding::Rule;
use crate::section::{Also, One, Sub, section};
use crate::syntax::{
    Named, flag, keyword, keywords, named, timeout, timeout_code, u8s, u16s, u32s,
};
use crate::value::TimeExponent;

section! {
    /// `CongestionControl`: marking at switches, throttling at hosts.
    pub struct CongestionControl {
        /// Whether it is on.
        enable: bool = false, "Enable" => One(flag());
        /// Development: more messages.
        #[no_effect("for development of the vendor's manager")]
        debug: bool = false, "Debug" => One(flag());
        /// Settings of switches.
        switch: SwitchCongestion = SwitchCongestion::default(), "Switch" => Sub;
        /// Settings of hosts.
        fi: HostCongestion = HostCongestion::default(), "Fi" => Sub;
    }
}

section! {
    /// `Switch` of congestion control.
    pub struct SwitchCongestion {
        /// Threshold at which packets are marked: 0 never, 15 at the shortest queue.
        threshold: u8 = 8, "Threshold" => One(u8s().clamped(0, 15));
        /// Minimum size of marked packets, in units of 64 bytes.
        packet_size: u8 = 0, "PacketSize" => One(u8s().clamped(0, 162));
        /// The mean number of packets between two marked ones.
        marking_rate: u32 = 0, "MarkingRate" => One(u32s().clamped(0, 255));
        /// Whether packets delayed by congestion elsewhere are marked, too.
        victim_marking_enable: bool = false, "VictimMarkingEnable" => One(flag());
        /// `Threshold` for credit starvation.
        #[no_effect("the vendor's manager does not write it either")]
        cs_threshold: u8 = 0, "CsThreshold" => One(u8s().strictly(0, 15));
        /// Time that a starved port waits before it returns credits.
        #[no_effect("the vendor's manager does not write it either")]
        cs_return_delay: u16 = 0, "CsReturnDelay" => One(u16s());
    }
}

/// Unit that a host throttles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CongestionBasis {
    /// One queue pair.
    #[default]
    QueuePair,
    /// All of a service level.
    ServiceLevel,
}

keywords! { CongestionBasis { "qp" => QueuePair, "sl" => ServiceLevel } }

section! {
    /// `Fi` of congestion control.
    pub struct HostCongestion {
        /// Throttled unit.
        basis: CongestionBasis = CongestionBasis::default(), "Basis" => One(keyword());
        /// Number of table steps by which a marked packet slows its flow down.
        increase: u8 = 5, "Increase" => One(u8s());
        /// Time after which a flow becomes one step faster, in units of 1.024 µs.
        timer: u16 = 10, "Timer" => One(u16s());
        /// Step at which the host logs.
        threshold: u8 = 8, "Threshold" => One(u8s());
        /// The lowest step of the table.
        min: u8 = 0, "Min" => One(u8s());
        /// The highest step of the table.
        limit: u16 = 127, "Limit" => One(u16s().clamped(1, 895));
        /// The delay of the highest step, in nanoseconds.
        desired_max_delay_ns: u32 = 8000, "DesiredMaxDelay" => One(u32s());
    }
}

/// Choice of a switch among the ports of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdaptiveAlgorithm {
    /// At random.
    Random,
    /// The least loaded one.
    Greedy,
    /// At random among the least loaded ones.
    #[default]
    GreedyRandom,
}

section! {
    /// `AdaptiveRouting`: switches leave the routes of the tables where they are loaded or lost.
    pub struct AdaptiveRouting {
        /// Whether it is on.
        enable: bool = false, "Enable" => One(flag());
        /// Whether only lost routes are moved, never congested ones.
        lost_route_only: bool = false, "LostRouteOnly" => One(flag());
        /// Choice of a switch among ports.
        algorithm: AdaptiveAlgorithm = AdaptiveAlgorithm::default(), "Algorithm" => One(ALGORITHM);
        /// The least time between two choices of a switch: 64 ms times two to this power.
        frequency: u8 = 4, "ARFrequency" => One(u8s().strictly(0, 7));
        /// Load that counts as congestion: 0 is the highest threshold of the device, 7 the least load.
        threshold: u8 = 3, "Threshold" => One(u8s().strictly(0, 7));
        /// Development: more messages.
        #[no_effect("for development of the vendor's manager")]
        debug: u8 = 0, "Debug" => One(u8s());
    }
    finish |_, id, cx| {
        // The vendor's parser refuses the section without it, although there is a default.
        if cx.all(&["Sm", "AdaptiveRouting", "Algorithm"]).is_empty() {
            cx.error(id, Rule::Count, "an AdaptiveRouting needs an Algorithm, here or in Common");
        }
    };
}

impl AdaptiveAlgorithm {
    const ALL: [Self; 3] = [Self::Random, Self::Greedy, Self::GreedyRandom];

    /// The number of the algorithm in SwitchInfo and in the file.
    pub fn code(self) -> u8 {
        self as u8
    }
}

const ALGORITHM: Named<AdaptiveAlgorithm, u8> = named(
    u8s().within(0, 2),
    |code| AdaptiveAlgorithm::ALL[usize::from(code.min(2))],
    |algorithm| algorithm.code(),
);

section! {
    /// `DynamicPacketLifetime`: packet lifetimes by the number of hops between two ports.
    pub struct DynamicPacketLifetime {
        /// Whether PathRecords use these values in place of `PacketLifetime`.
        enable: bool = true, "Enable" => One(flag());
        /// For one hop.
        hops01: TimeExponent = TimeExponent(0), "Hops01" => One(timeout()), "Hops01_Int" => Also(timeout_code());
        /// For two hops.
        hops02: TimeExponent = TimeExponent(0), "Hops02" => One(timeout()), "Hops02_Int" => Also(timeout_code());
        /// For three hops.
        hops03: TimeExponent = TimeExponent(0), "Hops03" => One(timeout()), "Hops03_Int" => Also(timeout_code());
        /// For four hops.
        hops04: TimeExponent = TimeExponent(0), "Hops04" => One(timeout()), "Hops04_Int" => Also(timeout_code());
        /// For five hops.
        hops05: TimeExponent = TimeExponent(0), "Hops05" => One(timeout()), "Hops05_Int" => Also(timeout_code());
        /// For six hops.
        hops06: TimeExponent = TimeExponent(0), "Hops06" => One(timeout()), "Hops06_Int" => Also(timeout_code());
        /// For seven hops.
        hops07: TimeExponent = TimeExponent(0), "Hops07" => One(timeout()), "Hops07_Int" => Also(timeout_code());
        /// For eight hops.
        hops08: TimeExponent = TimeExponent(0), "Hops08" => One(timeout()), "Hops08_Int" => Also(timeout_code());
        /// For nine hops and more.
        hops09: TimeExponent = TimeExponent(0), "Hops09" => One(timeout()), "Hops09_Int" => Also(timeout_code());
    }
}

impl DynamicPacketLifetime {
    /// The lifetimes by the number of hops: index 0 is one hop, index 8 nine hops and more.
    pub fn by_hops(&self) -> [TimeExponent; 9] {
        [
            self.hops01,
            self.hops02,
            self.hops03,
            self.hops04,
            self.hops05,
            self.hops06,
            self.hops07,
            self.hops08,
            self.hops09,
        ]
    }
}
