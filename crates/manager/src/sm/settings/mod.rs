//! Settings of the subnet manager: plain data.

mod admission;
mod fencing;
mod from_config;

use crate::ask::batch::BLOCKS_MAX;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_config::link_rules::LinkRules;
use weft_config::sm::CascadeActivate;
use weft_fabric::intended::{Intended, Rules};
use weft_fabric::{Lid, Lmc, PortNum, Sl};
use weft_routing::{AdaptiveSettings, Dimension, EngineKind, MulticastSettings, PortCost};
use weft_state::State;
use weft_wire::enums::{LinkSpeed, LinkWidth, Mtu};

pub use admission::AdmissionSettings;
pub use fencing::Fencing;
pub use from_config::SettingsError;

use crate::ask::{Budget, Patience, SkippedWrites};
use crate::settings::lane_levels::{LANES_MAX, LaneLevels};
pub use crate::settings::members::{Members, Selector};

/// Settings of one fabric. [`Settings::default`] equals the stock opafm.xml.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct Settings {
    /// Upper half of all GIDs (`<SubnetPrefix>`).
    pub subnet_prefix: u64,
    /// Key that protects ports' settings (`<MKey>`), 0 for none.
    #[state(key)]
    pub m_key: u64,
    /// Keys of each master's term in its place; none where that protects. No recording has it.
    #[serde(skip)]
    #[state(skip)]
    pub fencing: Option<Fencing>,
    /// This manager among others.
    pub election: ElectionSettings,
    /// LIDs.
    pub lids: LidSettings,
    /// Routes.
    pub routing: RoutingSettings,
    /// Multicast trees (`<Multicast>`).
    pub multicast: MulticastSettings,
    /// Queues and timers of the data path.
    pub traffic: TrafficSettings,
    /// When to sweep.
    pub sweeps: SweepSettings,
    /// Settings of requests to agents.
    pub requests: RequestSettings,
    /// Which links may carry data.
    pub links: LinkSettings,
    /// Which devices are let into the fabric.
    pub admission: AdmissionSettings,
    /// The fabric as it should be (`<PreDefinedTopology>`); none where it is not compared with a file.
    pub topology: Option<TopologySettings>,
    /// The loop test, unless an operator's order goes before.
    pub loop_test: LoopTestSettings,
    /// The partitions of the virtual fabrics, in order of their indexes in P_Key tables. The
    /// management partition is among them.
    pub partitions: Vec<Partition>,
    /// The service levels in use.
    pub levels: Vec<Level>,
}

/// The loop test (`<LoopTestOn>`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LoopTestSettings {
    /// It runs.
    pub on: bool,
    /// With few loops (`<LoopTestFastMode>`).
    pub fast: bool,
    /// Packets for each loop at a time; more than 10 count as 10 (`<LoopTestPackets>`).
    pub packets: u32,
}

/// SMInfo and timing of this manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct ElectionSettings {
    /// Key that the subnet managers of one fabric share (`<SmKey>`).
    #[state(key)]
    pub sm_key: u64,
    /// 0 to 15 (`<Priority>`).
    pub priority: u8,
    /// Priority once it is master and has met another manager, 0 to 15 (`<ElevatedPriority>`).
    pub elevated_priority: u8,
    /// Interval at which a standby polls the master (`<MasterPingInterval>`).
    pub ping_interval: Duration,
    /// After how many questions in a row without a good answer the master counts as dead, at least
    /// 1 (`<MasterPingMaxFail>`).
    pub ping_max_fail: u32,
    /// A master looks for a standby that has asked it nothing for as long as a standby asks a dead master
    /// (`<MonitorStandby>`).
    pub monitors_standbys: bool,
}

/// Settings of LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LidSettings {
    /// LMC of HFIs, 0 to 7 (`<Lmc>`).
    pub lmc: Lmc,
    /// LMC of enhanced switch ports 0, at most `lmc` (`<LmcE0>`).
    pub lmc_e0: Lmc,
    /// The manager's own base LID (`<LID>`), none to choose freely.
    pub own: Option<Lid>,
    /// LIDs and LMCs are those of the topology file (`<LidStrategy>`).
    pub by_topology: bool,
    /// Highest unicast LID.
    pub highest: Lid,
}

/// Settings of routing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, State)]
pub struct RoutingSettings {
    /// `<RoutingAlgorithm>`.
    pub engine: EngineKind,
    /// `<SpineFirstRouting>`.
    pub spine_first: bool,
    /// `<FatTreeTopology>`.
    pub fat_tree: FatTree,
    /// `<RoutingOrder>` of `dgshortestpath`.
    pub order: Vec<OrderedGroup>,
    /// `<HypercubeTopology>`.
    pub hypercube: Hypercube,
    /// `<MeshTorusTopology>` of `dor`.
    pub mesh: Mesh,
    /// `<AdaptiveRouting>`, none when it is off.
    pub adaptive: Option<AdaptiveSettings>,
}

impl RoutingSettings {
    /// Whether `dor` routes rings: switches change a packet's service channel at their datelines.
    pub(crate) fn has_rings(&self) -> bool {
        self.engine == EngineKind::Dor && self.mesh.dimensions.iter().any(Dimension::is_ring)
    }
}

/// The section `<FatTreeTopology>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct FatTree {
    /// Tiers of switches, 1 to 10.
    pub tier_count: u8,
    /// All HFIs are on the lowest tier.
    pub fis_on_same_tier: bool,
    /// Switches of the highest tier.
    pub core_switches: Members,
    /// HFIs that are placed after all others.
    pub route_last: Members,
    /// Places a destination by its number on its edge switch.
    pub pass_through: bool,
    /// Lets all routes to one edge switch meet at one core switch.
    pub converge: bool,
}

/// A group of destinations in `<RoutingOrder>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub enum OrderedGroup {
    /// These ports.
    Of(Members),
    /// All that no other group names: the group `All`.
    Others,
}

/// The section `<HypercubeTopology>`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, State)]
pub struct Hypercube {
    /// HFIs that are placed after all others.
    pub route_last: Members,
    /// `<EnhancedRoutingCtrl>`.
    pub ports: Vec<HypercubePorts>,
}

/// The section `<EnhancedRoutingCtrl>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct HypercubePorts {
    /// Switches, none for all that no other section names.
    pub switches: Option<Members>,
    /// Their ports.
    pub ports: Vec<(PortNum, PortCost)>,
}

/// The section `<MeshTorusTopology>`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct Mesh {
    /// The dimensions, in the order in which routes take them.
    pub dimensions: Vec<Dimension>,
    /// HFIs whose switches are placed after all others.
    pub route_last: Members,
    /// Detours around broken dimensions have lanes of their own (`<UseEscapeVLs>`).
    pub detour_lane: bool,
    /// Detours avoid switches that lack neighbours along several dimensions, or both along one
    /// (`<UseFaultRegions>`).
    pub fault_regions: bool,
    /// Cables of no dimension that are told one by one (`<WarnThreshold>`).
    pub ignored_told: u32,
}

impl Default for Mesh {
    fn default() -> Self {
        Self {
            dimensions: Vec::new(),
            route_last: Members::default(),
            detour_lane: true,
            fault_regions: true,
            ignored_told: 5,
        }
    }
}

/// Queues and timers of the data path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct TrafficSettings {
    /// Packet lifetime in a switch: 4.096 µs · 2^value on the wire (`<SwitchLifetime>`).
    pub switch_lifetime: u8,
    /// Head-of-line lifetime of packets: 4.096 µs · 2^value on the wire
    /// (`<HoqLife>`).
    pub hoq_life: u8,
    /// Packets dropped in a row that stall a VL, 0 to 7 (`<VLStallCount>`).
    pub vl_stall_count: u8,
    /// Pace of VL15 credits towards HFIs that may not manage, 0 to 21 (`<VL15CreditRate>`).
    pub vl15_credit_rate: u8,
    /// Percentage of a buffer that all lanes share at least (`<MinSharedVLMem>`).
    pub min_shared: u8,
    /// Lanes that wait for others have twice the head-of-line lifetime (`<TimerScalingEnable>`).
    pub timer_scaling: bool,
    /// Dedicated buffers of each VL in packets of the largest MTU (`<DedicatedVLMemMulti>`).
    pub dedicated_packets: u8,
    /// Bytes on the wire in place of what PortInfo says (`<WireDepthOverride>`).
    pub wire_depth: Option<u32>,
    /// Bytes in the replay buffer in place of what PortInfo says (`<ReplayDepthOverride>`).
    pub replay_depth: Option<u32>,
    /// Most data lanes that are handed out, 1 to 8 (`<MaxFixedVLs>`).
    pub lanes_max: u8,
    /// High bits that mark a multicast LID, 1 to 7 (`<MulticastMask>`).
    pub multicast_mask: u8,
    /// Preemption settings, if a level may preempt others (`<Preemption>`).
    pub preemption: Preemption,
}

/// Sizes of packets that interrupt others, in bytes on the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Preemption {
    /// Largest packet that interrupts others, 32 to 8,192 in steps of 32 (`<SmallPacket>`).
    pub small_packet: u32,
    /// Smallest packet that is interrupted, 512 to 8,192 in steps of 512 (`<LargePacket>`).
    pub large_packet: u32,
    /// All packets together that interrupt one, 0 to 65,024 in steps of 256; from 65,280 on there is
    /// no limit (`<PreemptLimit>`).
    pub limit: u32,
}

/// When to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct SweepSettings {
    /// From the end of one sweep to the next, zero for never (`<SweepInterval>`).
    pub interval: Duration,
    /// Traps do not start sweeps (`<IgnoreTraps>`).
    pub ignore_traps: bool,
    /// Traps that come sooner than this after a sweep are collected until it has passed
    /// (`<TrapHoldDown>`).
    pub trap_hold_down: Duration,
    /// From a sweep that could not finish all its work to the next; doubled each time up to
    /// `<SweepInterval>`.
    pub retry: Duration,
    /// Time for which a silent node stays in the fabric while its link is up
    /// (`<NonRespTimeout>`).
    pub silent_max: Duration,
    /// For how many sweeps it stays (`<NonRespMaxCount>`).
    pub silent_sweeps_max: u32,
    /// Duration of a sweep from which on no request is sent a second time, zero for none
    /// (`<CumulativeTimeoutLimit>`).
    pub longest_wait: Duration,
    /// Most devices that may fall silent between sweeps; where there are more, a sweep is abandoned. 0 for any number
    /// (`<SweepErrorsThreshold>`).
    pub silent_devices_max: u32,
    /// Most sweeps that are abandoned in a row (`<SweepAbandonThreshold>`).
    pub abandoned_max: u32,
}

/// Settings of requests to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct RequestSettings {
    /// Attempts that are always made (`<MaxAttempts>`).
    pub attempts: u32,
    /// Longest wait for one answer (`<RespTimeout>`).
    pub timeout: Duration,
    /// First wait while no round trip is known (`<MinRespTimeout>`).
    pub first_timeout: Duration,
    /// Shortest wait, however short the measured round trip is.
    pub floor: Duration,
    /// Requests outstanding to all nodes together (`<MaxParallelReqs>`).
    pub outstanding: usize,
    /// Requests outstanding to one node (`<SmaBatchSize>`).
    pub outstanding_per_node: u8,
    /// Blocks of a forwarding table in one datagram, 1 to 29 (`<LftMultiblock>`).
    pub table_blocks: u8,
    /// Several attributes in one datagram where agents can (`<UseAggregateMADs>`).
    pub aggregates: bool,
    /// Buffer control of several ports in one datagram (`<OptimizedBufferControl>`).
    pub shares_buffer_control: bool,
    /// Every full sweep writes settings, tables of ports and linear tables again that are confirmed
    /// (`<ForceAttributeRewrite>`).
    pub rewrites: bool,
    /// Attributes that sweeps do not write (`<SkipAttributeWrite>`).
    pub skips: SkippedWrites,
    /// A multicast table counts as written whatever the device answers (`<CheckMftResponses>` 0).
    pub trusts_multicast: bool,
    /// Number of attempts to activate a port while its neighbour is not ready
    /// (`<NeighborNormalRetries>`).
    pub neighbor_normal_retries: u32,
}

/// Links that may carry data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkSettings {
    /// Policy of links between a switch and an HFI (`<HFILinkPolicy>`).
    pub hfi: LinkPolicy,
    /// Policy of links between switches (`<ISLLinkPolicy>`).
    pub switch: LinkPolicy,
    /// Errors that take a link down (`<DefaultPortErrorAction>`, bits of
    /// `STL_PORT_INFO.PortErrorAction`).
    pub error_action: u32,
    /// Those that go down again and again (`<LongTermPortQuarantine>`); none where they stay in use.
    pub flapping: Option<FlapSettings>,
    /// Those that have many errors; none where they stay in use.
    pub storms: Option<StormSettings>,
    /// Rules for links with errors, from a file of Weft's own; none where there are none.
    pub errors: Option<LinkRules>,
    /// Ports that become active with their neighbours (`<SwitchCascadeActivateEnable>`).
    pub cascade: CascadeActivate,
}

impl Default for LinkSettings {
    fn default() -> Self {
        Self {
            hfi: LinkPolicy::default(),
            switch: LinkPolicy::default(),
            error_action: 0x0017_2000,
            flapping: Some(FlapSettings::default()),
            storms: None,
            errors: None,
            cascade: CascadeActivate::default(),
        }
    }
}

/// The fabric as it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct TopologySettings {
    /// Contents of the file (`<TopologyFilename>`).
    pub intended: Arc<Intended>,
    /// What is done about each kind of difference (`<FieldEnforcement>`).
    pub rules: Rules,
    /// Most new differences of a sweep that are reported one by one, 0 for all (`<LogMessageThreshold>`).
    pub messages_max: u32,
}

/// When a port reports errors of its link too often (traps 129 to 131).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct StormSettings {
    /// Traps per minute at which it is disabled, at least 1 (`<TrapThreshold>`).
    pub per_minute: u32,
    /// Least number of traps (`<TrapThresholdMinCount>`).
    pub least: u32,
}

/// When a link goes down too often (`<Flapping>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct FlapSettings {
    /// Time for which a loss counts (`<WindowSize>`).
    pub window: Duration,
    /// Losses in this time at which a port comes into quarantine (`<HighThreshold>`).
    pub high: u32,
    /// Most losses in this time with which it leaves it (`<LowThreshold>`).
    pub low: u32,
}

impl Default for FlapSettings {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(900),
            high: 25,
            low: 0,
        }
    }
}

/// Policy of links that may carry data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LinkPolicy {
    /// Lanes that a link may lose while it is up, 0 to 3 (`<MaxDroppedLanes>`).
    pub max_dropped_lanes: u8,
    /// Least width in lanes.
    pub width: Least<LinkWidth>,
    /// Least speed.
    pub speed: Least<LinkSpeed>,
}

/// A least value that is required of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum Least<T> {
    /// None is required.
    Any,
    /// The best that both ends support.
    Supported,
    /// The best that both ends support, and at least this one.
    Of(T),
}

/// One partition of the fabric, made from the virtual fabrics that share its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, State)]
pub struct Partition {
    /// The key without its membership bit, 1 to 0x7FFF.
    pub key: u16,
    /// Members are checked: limited ones cannot talk to each other, and switches check packets.
    pub secured: bool,
    /// Full members.
    pub full: Members,
    /// Limited members.
    pub limited: Members,
}

/// A service level and its properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Level {
    /// The service level, 0 to 15.
    pub sl: Sl,
    /// Share of a link in percent.
    pub bandwidth: u8,
    /// Goes before all levels that are not.
    pub high_priority: bool,
    /// Largest packet, `None` for the links' limit.
    pub max_mtu: Option<Mtu>,
    /// Flow control is off.
    pub flow_control_disable: bool,
    /// Head-of-line lifetime of packets, `None` for the common value.
    pub hoq_life: Option<u8>,
    /// Its packets interrupt those of lower rank, 1 to 127; with 0 they neither interrupt others nor
    /// are interrupted.
    pub preempt_rank: u8,
    /// It has no virtual lane of its own and uses the last one of this level: multicast with `<OverlayMulticast>`.
    pub overlays: Option<Sl>,
}

/// Key of the management partition.
pub const MANAGEMENT_KEY: u16 = 0x7FFF;

impl Default for ElectionSettings {
    fn default() -> Self {
        Self {
            sm_key: 0,
            priority: 0,
            elevated_priority: 0,
            ping_interval: Duration::from_secs(5),
            ping_max_fail: 3,
            monitors_standbys: true,
        }
    }
}

impl Default for FatTree {
    fn default() -> Self {
        Self {
            tier_count: 3,
            fis_on_same_tier: true,
            core_switches: Members::default(),
            route_last: Members::default(),
            pass_through: false,
            converge: false,
        }
    }
}

impl Default for LinkPolicy {
    fn default() -> Self {
        Self {
            max_dropped_lanes: 1,
            width: Least::Supported,
            speed: Least::Supported,
        }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self {
            sl: Sl(0),
            bandwidth: 100,
            high_priority: false,
            max_mtu: None,
            flow_control_disable: false,
            hoq_life: None,
            preempt_rank: 0,
            overlays: None,
        }
    }
}

impl Preemption {
    /// Whether a packet may be interrupted without limit: 255 steps of 256 bytes
    /// (`STL_PORT_PREEMPTION_LIMIT_NONE`).
    pub(crate) fn is_unlimited(&self) -> bool {
        self.limit >= 255 * 256
    }
}

impl Default for Preemption {
    fn default() -> Self {
        Self {
            small_packet: 256,
            large_packet: 4_096,
            limit: 4_096,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            subnet_prefix: 0xFE80_0000_0000_0000,
            m_key: 0,
            fencing: None,
            election: ElectionSettings::default(),
            lids: LidSettings {
                lmc: Lmc(0),
                lmc_e0: Lmc(0),
                own: None,
                by_topology: false,
                highest: Lid::MAX_UNICAST_16,
            },
            routing: RoutingSettings {
                spine_first: true,
                ..RoutingSettings::default()
            },
            multicast: MulticastSettings::default(),
            traffic: TrafficSettings {
                switch_lifetime: 13,
                hoq_life: 11,
                vl_stall_count: 7,
                vl15_credit_rate: 18,
                min_shared: 0,
                timer_scaling: false,
                dedicated_packets: 1,
                wire_depth: None,
                replay_depth: None,
                lanes_max: LANES_MAX,
                multicast_mask: 4,
                preemption: Preemption::default(),
            },
            sweeps: SweepSettings::default(),
            requests: RequestSettings::default(),
            links: LinkSettings::default(),
            admission: AdmissionSettings::default(),
            topology: None,
            loop_test: LoopTestSettings::default(),
            partitions: stock_partitions(),
            levels: vec![Level::default()],
        }
    }
}

impl Settings {
    /// The policy for links between two switches, or for links with an HFI at one end.
    pub fn link_policy(&self, between_switches: bool) -> &LinkPolicy {
        match between_switches {
            true => &self.links.switch,
            false => &self.links.hfi,
        }
    }

    /// The service level that stands for one of [`Self::levels`] on paths to LIDs in a lane, as path
    /// records tell it.
    pub fn level_in_lane(&self, level: Sl, lane: u8) -> Sl {
        LaneLevels::of(&self.levels).in_lane(level, lane)
    }
}

impl Default for SweepSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(300),
            ignore_traps: false,
            trap_hold_down: Duration::from_secs(1),
            retry: Duration::from_secs(1),
            silent_max: Duration::from_secs(600),
            silent_sweeps_max: 3,
            longest_wait: Duration::from_secs(300),
            silent_devices_max: 0,
            abandoned_max: 2,
        }
    }
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            attempts: 3,
            timeout: Duration::from_millis(250),
            first_timeout: Duration::from_millis(35),
            floor: Duration::from_millis(35),
            outstanding: 256,
            outstanding_per_node: 2,
            table_blocks: BLOCKS_MAX,
            aggregates: true,
            shares_buffer_control: true,
            rewrites: false,
            trusts_multicast: false,
            skips: SkippedWrites::default(),
            neighbor_normal_retries: 10,
        }
    }
}

/// The virtual fabrics Default and Admin of the stock file.
fn stock_partitions() -> Vec<Partition> {
    let default = Partition {
        key: 1,
        secured: false,
        full: Members::of([Selector::All]),
        limited: Members::default(),
    };
    let admin = Partition {
        key: MANAGEMENT_KEY,
        secured: true,
        full: Members::of([
            Selector::HfiDirectConnect,
            Selector::MgmtAllowed,
            Selector::SwitchPort0,
        ]),
        limited: Members::of([Selector::All]),
    };
    vec![default, admin]
}

impl RequestSettings {
    /// Blocks of a forwarding table in a datagram of their own.
    pub(crate) fn blocks(&self) -> usize {
        usize::from(self.table_blocks.clamp(1, BLOCKS_MAX))
    }

    pub(crate) fn budget(&self) -> Budget {
        let patience = Patience {
            first: self.first_timeout,
            floor: self.floor,
            ceiling: self.timeout,
            attempts: self.attempts,
        };
        Budget::new(
            self.outstanding.clamp(1, 65_535),
            self.outstanding_per_node.max(1),
            patience,
        )
    }
}
