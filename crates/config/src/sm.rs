//! `Sm`: the subnet manager and subnet administration.

mod link;
mod multicast;
mod topology;
mod traffic;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::id::{Guid, Lid, Lmc, PKey};

pub use link::{
    Flapping, LinkPolicy, LongTermPortQuarantine, Preemption, SpeedPolicy, SpeedRequirement,
    WidthPolicy, WidthRequirement,
};
pub use multicast::{MlidShare, Multicast, MulticastGroup, RootSelection};
pub use topology::{
    DgShortestPathTopology, Dimension, Enforcement, EnhancedRoutingCtrl, FatTreeTopology,
    FieldEnforcement, HypercubeTopology, MeshTorusTopology, PortData, PreDefinedTopology,
    RoutingOrder,
};
pub use traffic::{
    AdaptiveAlgorithm, AdaptiveRouting, CongestionBasis, CongestionControl, DynamicPacketLifetime,
    HostCongestion, SwitchCongestion,
};

use crate::finding::Rule;
use crate::section::{Also, One, Opt, Sub, Whole, section};
use crate::shared::{Election, Logging, Ssl, Startup};
use crate::syntax::{
    GuidNumber, Named, PKeyText, Text, bits32, flag, keyword, keywords, lifetime, lifetime_code,
    millis, minutes, named, percent_number, seconds, signed32, strict_flag, timeout, timeout_code,
    u8s, u32s, u64s,
};
use crate::value::{Percent, TimeExponent};

/// Routing algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoutingAlgorithm {
    /// Weft's choice: `dmodc` on a tree, `shortestpath` elsewhere. An extension.
    #[default]
    Auto,
    /// Closed form for trees, whole or degraded. An extension.
    Dmodc,
    /// Shortest paths on any topology, kept free of deadlock by virtual lanes. An extension.
    Layered,
    /// Shortest paths on any topology.
    ShortestPath,
    /// Reproduces opa-fm's `shortestpath`, for comparison. An extension.
    OpaShortestPath,
    /// Up and down a fat tree.
    FatTree,
    /// Shortest paths, group of destinations by group.
    DgShortestPath,
    /// Dimension order on a mesh or torus.
    Dor,
    /// Shortest paths on an enhanced hypercube.
    Hypercube,
}

keywords! { RoutingAlgorithm {
    "auto" => Auto, "shortestpath" => ShortestPath,
    "opa-shortestpath" => OpaShortestPath, "fattree" => FatTree, "dgshortestpath" => DgShortestPath,
    "dor" => Dor, "hypercube" => Hypercube, "dmodc" => Dmodc, "layered" => Layered,
} }

/// Strategies of assigning LIDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LidStrategy {
    /// The next free one.
    #[default]
    Serial,
    /// From the planned topology.
    Topology,
}

keywords! { LidStrategy { "serial" => Serial, "topology" => Topology } }

/// Choice of the LID pairs that form the paths between two ports with several LIDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, State)]
pub enum PathSelection {
    /// The minimum that uses each LID.
    #[default]
    Minimal,
    /// Each LID of the side with more, once.
    Pairwise,
    /// The pairwise ones, then all others.
    OrderAll,
    /// All pairs.
    SrcDstAll,
}

keywords! { PathSelection {
    "Minimal" => Minimal, "Pairwise" => Pairwise, "OrderAll" => OrderAll, "SrcDstAll" => SrcDstAll,
} }

/// Cable information to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CableInfoPolicy {
    /// Read at one end of each link.
    #[default]
    ByLink,
    /// Read at both ends.
    ByPort,
    /// Nothing.
    None,
}

keywords! { CableInfoPolicy { "ByLink" => ByLink, "ByPort" => ByPort, "None" => None } }

/// Action against a port that ends too many multicast groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum McDosAction {
    /// It is disabled.
    #[default]
    Disable,
    /// It is taken down and up.
    Bounce,
}

const MC_DOS_ACTION: Named<McDosAction, u32> = named(
    u32s().strictly(0, 1),
    |code| {
        if code == 0 {
            McDosAction::Disable
        } else {
            McDosAction::Bounce
        }
    },
    |action| *action as u32,
);

/// Ports that become active by themselves once their neighbour is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, State)]
pub enum CascadeActivate {
    /// None.
    Disabled,
    /// Those of switches.
    #[default]
    Switches,
    /// All.
    All,
}

const CASCADE: Named<CascadeActivate, u32> = named(
    u32s().strictly(0, 2),
    |code| {
        [
            CascadeActivate::Disabled,
            CascadeActivate::Switches,
            CascadeActivate::All,
        ][code.min(2) as usize]
    },
    |cascade| *cascade as u32,
);

const LMC: Named<Lmc, u32> = named(
    u32s().strictly(0, 7),
    |lmc| Lmc(lmc as u8),
    |lmc| u32::from(lmc.0),
);

section! {
    /// `Sm`: the subnet manager and subnet administration.
    pub struct Sm {
        /// Whether the SM of this instance runs.
        start: bool = true, "Start" => One(flag());
        /// Key that other SMs must present to be trusted.
        sm_key: u64 = 0, "SmKey" => One(u64s().hex());
        /// The M_Key of all ports.
        mkey: u64 = 0, "MKey" => One(u64s().hex());
        /// Interval at which a standby polls the master.
        master_ping_interval: Duration = Duration::from_secs(5), "MasterPingInterval" => One(seconds());
        /// Number of unanswered polls after which the master counts as dead.
        master_ping_max_fail: u32 = 3, "MasterPingMaxFail" => One(u32s());
        /// Interval at which a standby receives all of the master's state; 0 never.
        db_sync_interval: Duration = Duration::from_secs(900), "DbSyncInterval" => One(minutes());
        /// Routing algorithm.
        routing_algorithm: RoutingAlgorithm = RoutingAlgorithm::default(),
            "RoutingAlgorithm" => One(keyword().unchecked_by_vendor(Rule::StrictRouting));
        /// Whether links to the spine of the own chassis are preferred.
        spine_first_routing: bool = false, "SpineFirstRouting" => One(flag());
        /// Whether equally short paths share the load by counting destinations.
        #[no_effect("equally short paths always share the load", acts_as = true)]
        shortest_path_balanced: bool = true, "ShortestPathBalanced" => One(flag());
        /// Each host port gets 2^`Lmc` LIDs.
        lmc: Lmc = Lmc(0), "Lmc" => One(LMC);
        /// LMC of the port 0 of switches; at most `Lmc`.
        lmc_e0: Lmc = Lmc(0), "LmcE0" => One(LMC);
        /// The SM's own LID, a multiple of its LIDs; 0 leaves it to `LidStrategy`.
        lid: Lid = Lid(0), "LID" => One(named(u32s().within(0, 0xbffe).hex(), Lid, |lid: &Lid| lid.0));
        /// Strategy of assigning LIDs.
        lid_strategy: LidStrategy = LidStrategy::default(), "LidStrategy" => One(keyword());
        /// Whether the provider of path records on hosts is in use; needs `LidStrategy` topology.
        dsap_in_use: bool = false, "DsapInUse" => One(strict_flag());
        /// Number of leading bits of a 32-bit LID that mark multicast.
        multicast_mask: u32 = 4, "MulticastMask" => One(u32s().within(1, 7));
        /// Whether all routes are recomputed in each sweep that finds a change.
        #[no_effect("routes always are those that a new calculation gives")]
        force_rebalance: bool = false, "ForceRebalance" => One(flag());
        /// Whether descriptions of known nodes are not read again.
        #[no_effect("NodeInfo and descriptions are read in every sweep", acts_as = false)]
        use_cached_node_data: bool = false, "UseCachedNodeData" => One(flag());
        /// Whether a cable from a port to itself is no error.
        #[no_effect("a cable from a port to itself is never an error", acts_as = true)]
        loopback_mode: bool = false, "LoopbackMode" => One(flag());
        /// Lifetime of a packet in a switch.
        switch_lifetime: TimeExponent = TimeExponent(13),
            "SwitchLifetime" => One(lifetime()), "SwitchLifetime_Int" => Also(lifetime_code());
        /// Head-of-line lifetime of packets.
        hoq_life: TimeExponent = TimeExponent(8), "HoqLife" => One(lifetime()), "HoqLife_Int" => Also(lifetime_code());
        /// Number of expired packets after which a virtual lane is emptied at once.
        vl_stall_count: u32 = 7, "VLStallCount" => One(u32s().strictly(0, 7));
        /// Whether management's lane works without credits.
        vl15_flow_control_disable: bool = true, "VL15FlowControlDisable" => One(flag());
        /// Rate of management's lane, which sends without credits: a code, lower is faster.
        vl15_credit_rate: u32 = 18, "VL15CreditRate" => One(u32s().within(0, 21));
        /// Share of a buffer that stays common to all lanes, whatever these need for themselves.
        min_shared_vl_mem: Percent = Percent(0), "MinSharedVLMem" => One(percent_number());
        /// Factor by which each lane's dedicated buffer exceeds its minimum.
        dedicated_vl_mem_multi: u32 = 1, "DedicatedVLMemMulti" => One(u32s().within(0, 255));
        /// Number of bytes in flight on a cable; −1 reads it from the port, 0 ignores it.
        wire_depth_override_bytes: i32 = -1, "WireDepthOverride" => One(signed32(-1));
        /// Size of a port's replay buffer, bytes; −1 reads it from the port, 0 ignores it.
        replay_depth_override_bytes: i32 = -1, "ReplayDepthOverride" => One(signed32(-1));
        /// Whether `HoqLife` is twice as long on lanes that wait for others: without priority beside lanes with it,
        /// with less than 25 % of the bandwidth, or interrupted without limit.
        timer_scaling_enable: bool = false, "TimerScalingEnable" => One(flag());
        /// Timeout of a client for an answer of the SA.
        sa_resp_time: TimeExponent = TimeExponent(19), "SaRespTime" => One(timeout()), "SaRespTime_Int" => Also(timeout_code());
        /// Packet lifetime in PathRecords.
        packet_lifetime: TimeExponent = TimeExponent(16),
            "PacketLifetime" => One(timeout()), "PacketLifetime_Int" => Also(timeout_code());
        /// Packet lifetime by the number of hops.
        dynamic_packet_lifetime: DynamicPacketLifetime = DynamicPacketLifetime::default(), "DynamicPacketLifetime" => Sub;
        /// Choice of the LID pairs that form the paths between two ports.
        path_selection: PathSelection = PathSelection::default(), "PathSelection" => One(keyword());
        /// Whether the SA checks queries as strictly as the InfiniBand specification.
        query_validation: bool = false, "QueryValidation" => One(flag());
        /// Whether PathRecords are limited to virtual fabrics that both ports share.
        enforce_vf_path_record: bool = true, "EnforceVFPathRecord" => One(flag());
        /// Whether a busy SA stays silent instead of answering that it is busy.
        no_reply_if_busy: bool = false, "NoReplyIfBusy" => One(flag());
        /// Maximum number of datagrams in flight to one device.
        sma_batch_size: u32 = 2, "SmaBatchSize" => One(u32s().clamped(1, u32::MAX as u64));
        /// Maximum number of requests in flight to all devices together; 3, the vendor's default, is 256 here.
        max_parallel_reqs: u32 = 3, "MaxParallelReqs" => One(u32s().clamped(1, u32::MAX as u64));
        /// Number of forwarding table blocks in one datagram.
        lft_multiblock: u32 = 29, "LftMultiblock" => One(u32s().capped(1, 29));
        /// Whether several attributes share a datagram.
        use_aggregate_mads: bool = true, "UseAggregateMADs" => One(flag());
        /// Whether the buffer control of all ports of a switch shares a datagram.
        optimized_buffer_control: bool = true, "OptimizedBufferControl" => One(flag());
        /// Number of threads that program devices.
        #[no_effect("one thread does all management, with many requests in flight")]
        ps_threads: u8 = 4, "PsThreads" => One(u8s().strictly(1, 254));
        /// Whether devices are refused whose statements about themselves are not what their neighbour's hardware
        /// reports, and switches drop packets with a source LID that is not the host's.
        sma_spoofing_check: bool = true, "SmaSpoofingCheck" => One(flag());
        /// Whether switches are refused whose firmware the hardware of their neighbours has not checked.
        neighbor_fw_authen_enable: bool = false, "NeighborFWAuthenEnable" => One(flag());
        /// Interval of sweeps without a cause; 0 never.
        sweep_interval: Duration = Duration::from_secs(300), "SweepInterval" => One(seconds().within(3, 86_400).or_zero());
        /// Whether traps do not start a sweep.
        ignore_traps: bool = false, "IgnoreTraps" => One(flag());
        /// The least time from the beginning of a sweep to one that a trap starts: later traps share the next one.
        trap_hold_down: Duration = Duration::from_secs(1), "TrapHoldDown" => One(seconds());
        /// Maximum number of times that a datagram is sent.
        max_attempts: u32 = 3, "MaxAttempts" => One(u32s().strictly(1, u32::MAX as u64));
        /// Timeout of an answer.
        resp_timeout: Duration = Duration::from_millis(250), "RespTimeout" => One(millis());
        /// Timeout of the first answer; later ones may take longer, up to `RespTimeout`.
        min_resp_timeout: Duration = Duration::from_millis(35), "MinRespTimeout" => One(millis());
        /// Duration of a sweep after which no request of it is sent a second time; 0 never.
        cumulative_timeout_limit: Duration = Duration::from_secs(300), "CumulativeTimeoutLimit" => One(seconds().strictly(0, u32::MAX as u64 - 1));
        /// Maximum number of devices that may fall silent from one sweep to the next; where there are more, the sweep ends
        /// without new routes, and another one follows; 0 any number.
        sweep_errors_threshold: u32 = 8, "SweepErrorsThreshold" => One(u32s());
        /// Number of consecutive sweeps that may end so; the next one is completed.
        sweep_abandon_threshold: u32 = 2, "SweepAbandonThreshold" => One(u32s());
        /// Traps about errors of a port's link (129 to 131) per minute at which the port is disabled; 0 never.
        trap_threshold: u32 = 0, "TrapThreshold" => One(u32s().strictly(10, 100).or_zero());
        /// Least number of such traps at which the port is disabled.
        trap_threshold_min_count: u32 = 10, "TrapThresholdMinCount" => One(u32s().strictly(2, 100));
        /// Number of multicast groups that a port ends in `McDosInterval`, as their last member, at which the
        /// action is taken; 0 never.
        mc_dos_threshold: u32 = 0, "McDosThreshold" => One(u32s());
        /// The time in which they are counted.
        mc_dos_interval: Duration = Duration::from_secs(60), "McDosInterval" => One(seconds());
        /// What is done to the switch's port before it: 0 disables it, 1 lets its link train again.
        mc_dos_action: McDosAction = McDosAction::default(), "McDosAction" => One(MC_DOS_ACTION);
        /// Time that a device without answers is kept.
        non_resp_timeout: Duration = Duration::from_secs(600), "NonRespTimeout" => One(seconds().strictly(0, u32::MAX as u64 - 1));
        /// Number of sweeps for which it is kept.
        non_resp_max_count: u32 = 3, "NonRespMaxCount" => One(u32s());
        /// Maximum number of nodes, or groups of connected nodes, that come or go logged per sweep; 0 all.
        node_appearance_msg_threshold: u32 = 0, "NodeAppearanceMsgThreshold" => One(u32s());
        /// A trap that follows another one of its source within this time is not logged; 0 logs all.
        trap_log_suppress_trigger_interval: Duration = Duration::from_secs(30),
            "TrapLogSuppressTriggerInterval" => One(seconds());
        /// Ports that become active by themselves once their neighbour is, also where the manager's datagram to them is lost:
        /// 0 none, 1 those of switches, 2 all.
        switch_cascade_activate_enable: CascadeActivate = CascadeActivate::default(),
            "SwitchCascadeActivateEnable" => One(CASCADE);
        /// Number of times that activation waits for a neighbour.
        neighbor_normal_retries: u32 = 2, "NeighborNormalRetries" => One(u32s());
        /// Maximum number of links that come or go logged per sweep; 0 all.
        port_bounce_log_limit: u32 = 0, "PortBounceLogLimit" => One(u32s());
        /// Whether every full sweep writes SwitchInfo, PortInfo, the tables of ports and linear forwarding tables, also where
        /// they hold what they should.
        force_attribute_rewrite: bool = false, "ForceAttributeRewrite" => One(flag());
        /// Attributes that sweeps do not write, for experiments: bit 0 PortInfo, 3 SwitchInfo, 5 arbitration, 6 maps of
        /// levels, channels and lanes, 7 forwarding tables, 8 adaptive groups, 9 P_Keys, 10 congestion control, 11 buffers,
        /// 13 port states. Other bits stand for nothing that sweeps write.
        skip_attribute_write: u32 = 0, "SkipAttributeWrite" => One(bits32());
        /// Errors that take a port down, by bit as in PortInfo's PortErrorAction.
        default_port_error_action: u32 = 0x0017_2000, "DefaultPortErrorAction" => One(bits32());
        /// Whether answers to multicast tables are checked; 0: a switch that refuses one counts as if it had taken it.
        check_mft_responses: bool = true, "CheckMftResponses" => One(flag());
        /// Whether the master looks for a standby that asks it no more.
        monitor_standby: bool = true, "MonitorStandby" => One(flag());
        /// Whether memory for ports is allocated on demand.
        #[no_effect("memory is always allocated on demand")]
        dynamic_port_alloc: bool = true, "DynamicPortAlloc" => One(flag());
        /// Cable information to keep.
        cable_info_policy: CableInfoPolicy = CableInfoPolicy::default(), "CableInfoPolicy" => One(keyword());
        /// Most virtual lanes that service levels are spread over; more than 8 count as 8. Levels for which there is no
        /// lane share the last one.
        max_fixed_vls: u32 = 8, "MaxFixedVLs" => One(u32s().strictly(1, 31));
        /// Whether ports with fewer lanes than the virtual fabrics need are used, with those that they have.
        allow_mixed_vls: bool = false, "AllowMixedVLs" => One(flag());
        /// The partition of packets with 8-byte headers; 0 is none.
        #[no_effect("packets with 8-byte headers are not used by any HFI that exists")]
        pkey_8b: PKey = PKey(0), "PKey_8B" => One(PKeyText::B8);
        /// The partition of packets with 10-byte headers; 0 is none.
        #[no_effect("packets with 10-byte headers are not used by any HFI that exists")]
        pkey_10b: PKey = PKey(0), "PKey_10B" => One(PKeyText::B10);
        /// Multicast.
        multicast: Multicast = Multicast::default(), "Multicast" => Sub;
        /// Degraded host links to use.
        hfi_link_policy: LinkPolicy = LinkPolicy::default(), "HFILinkPolicy" => Sub;
        /// Degraded inter-switch links to use.
        isl_link_policy: LinkPolicy = LinkPolicy::default(), "ISLLinkPolicy" => Sub;
        /// Ports that go down again and again.
        long_term_port_quarantine: LongTermPortQuarantine = LongTermPortQuarantine::default(),
            "LongTermPortQuarantine" => Sub;
        /// When a packet may interrupt another.
        preemption: Preemption = Preemption::default(), "Preemption" => Sub;
        /// Congestion control.
        congestion_control: CongestionControl = CongestionControl::default(), "CongestionControl" => Sub;
        /// Adaptive routing.
        adaptive_routing: AdaptiveRouting = AdaptiveRouting::default(), "AdaptiveRouting" => Sub;
        /// The topology of `fattree`.
        fat_tree: FatTreeTopology = FatTreeTopology::default(), "FatTreeTopology" => Sub;
        /// The topology of `dgshortestpath`.
        dg_shortest_path: DgShortestPathTopology = DgShortestPathTopology::default(), "DGShortestPathTopology" => Whole;
        /// The topology of `dor`.
        mesh_torus: Option<MeshTorusTopology> = None, "MeshTorusTopology" => Whole;
        /// The topology of `hypercube`.
        hypercube: HypercubeTopology = HypercubeTopology::default(), "HypercubeTopology" => Sub;
        /// The cabling as it should be.
        pre_defined_topology: PreDefinedTopology = PreDefinedTopology::default(), "PreDefinedTopology" => Sub;
        /// Hosts that are trusted like switches.
        sm_appliances: SmAppliances = SmAppliances::default(), "SmAppliances" => Sub;
        /// Development: number of sweeps after which the SM ends; 0 never.
        #[no_effect("for development of the vendor's manager")]
        terminate_after: u8 = 0, "TerminateAfter" => One(u8s());
        /// Development: the file to which counters are written at the end.
        #[no_effect("for development of the vendor's manager")]
        dump_counters: Option<String> = None, "DumpCounters" => Opt(Text::of(99));
        /// Development: logs the duration of the parts of a sweep.
        #[no_effect("the duration of each part of a sweep is always in log and metrics")]
        sm_perf_debug: bool = false, "SmPerfDebug" => One(flag());
        /// Development: logs the duration of queries.
        #[no_effect("the time that queries take is not measured")]
        sa_perf_debug: bool = false, "SaPerfDebug" => One(flag());
        /// Development: answers of the SA carry a checksum.
        #[no_effect("for development of the vendor's manager")]
        sa_rmpp_checksum: bool = false, "SaRmppChecksum" => One(flag());
        /// Links between switches are tested with packets that run in circles.
        loop_test_on: bool = false, "LoopTestOn" => One(flag());
        /// With few circles of up to four links and one injection of packets, otherwise with all of up to three and
        /// packets in each sweep.
        loop_test_fast_mode: bool = false, "LoopTestFastMode" => One(flag());
        /// Number of packets that are injected into each circle at a time; more than 10 count as 10.
        loop_test_packets: u32 = 0, "LoopTestPackets" => One(u32s());
        /// Development: messages about jobs.
        #[no_effect("for development of the vendor's manager")]
        debug_jm: u32 = 0, "DebugJm" => One(u32s());
        /// Development: messages about virtual fabrics.
        #[no_effect("for development of the vendor's manager")]
        debug_vf: u32 = 0, "DebugVf" => One(u32s());
        /// Development: messages about routing.
        #[no_effect("for development of the vendor's manager")]
        debug_routing: u32 = 0, "DebugRouting" => One(u32s());
        /// Development: messages about LIDs.
        #[no_effect("for development of the vendor's manager")]
        debug_lid_assign: u32 = 0, "DebugLidAssign" => One(u32s());
    }
    flat {
        /// Size and start.
        startup: Startup;
        /// Priorities in the election of the master.
        election: Election;
        /// Logs.
        logging: Logging;
        /// Certificates for clients.
        ssl: Ssl;
    }
    ignored {
        "MinSupportedVLs" => "the least number of lanes follows from the virtual fabrics";
    }
}

section! {
    /// `SmAppliances`: hosts that are trusted like switches.
    pub struct SmAppliances {
        /// Whether these hosts are trusted: `SmaSpoofingCheck` does not concern them, switches let in what they send with
        /// any source LID, and they get VL15 credits without a limit.
        enable: bool = false, "Enable" => One(flag());
        /// NodeGUID of the first host; 0 is none.
        appliance01: Guid = Guid(0), "Appliance01" => One(GuidNumber);
        /// That of the second.
        appliance02: Guid = Guid(0), "Appliance02" => One(GuidNumber);
        /// That of the third.
        appliance03: Guid = Guid(0), "Appliance03" => One(GuidNumber);
        /// That of the fourth.
        appliance04: Guid = Guid(0), "Appliance04" => One(GuidNumber);
        /// That of the fifth.
        appliance05: Guid = Guid(0), "Appliance05" => One(GuidNumber);
    }
}

impl SmAppliances {
    /// The hosts that are given.
    pub fn nodes(&self) -> impl Iterator<Item = Guid> {
        let all = [
            self.appliance01,
            self.appliance02,
            self.appliance03,
            self.appliance04,
            self.appliance05,
        ];
        all.into_iter().filter(|guid| guid.0 != 0)
    }
}
