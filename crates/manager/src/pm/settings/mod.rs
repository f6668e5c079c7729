//! Settings of the performance manager: plain data.

mod from_config;
mod weights;

use std::time::Duration;

use weft_fabric::Sl;

use crate::ask::{Budget, Patience};
use crate::settings::virtual_fabric::stock_fabrics;
use crate::settings::{Members, VirtualFabric};

/// Settings for one fabric. [`PmSettings::default`] equals the stock opafm.xml.
#[derive(Debug, Clone, PartialEq)]
pub struct PmSettings {
    /// From the start of one sweep to the next (`<SweepInterval>`), at least a second.
    pub interval: Duration,
    /// Upper half of all GIDs (`<SubnetPrefix>`).
    pub subnet_prefix: u64,
    /// Clients that may hold images, as PM configuration reports it (`<MaxClients>`).
    pub max_clients: u32,
    /// Images that are kept (`<TotalImages>`), at least 2.
    pub total_images: u32,
    /// Images that clients may hold beyond their time (`<FreezeFrameImages>`).
    pub frozen_images: u32,
    /// Time after which a client that does not use its image loses it (`<FreezeFrameLease>`).
    pub lease: Duration,
    /// Where images are kept beyond those in memory (`<ShortTermHistory>`), none where they are not. The manager asks for them;
    /// whoever runs it keeps them.
    pub disk: Option<DiskSettings>,
    /// From which value of a category a port is worth a look.
    pub thresholds: Categories,
    /// Ports over a threshold that one sweep reports.
    pub threshold_messages: Categories,
    /// Weights of the integrity category.
    pub integrity: IntegrityWeights,
    /// Weights of the congestion categories.
    pub congestion: CongestionWeights,
    /// When counters of devices are set to zero.
    pub clear: ClearSettings,
    /// Units in which two counters take part in the error summary.
    pub resolution: Resolution,
    /// Data to read.
    pub process: Process,
    /// Settings of requests to agents.
    pub requests: RequestSettings,
    /// Nodes that failed and ports that were cleared by others that one sweep reports one by one
    /// (`<SweepErrorsLogThreshold>`).
    pub failure_messages: u32,
    /// Groups of ports besides All, HFIs and SWs (`<PmPortGroups>`), at most
    /// [`USER_GROUPS_MAX`].
    pub groups: Vec<PortGroup>,
    /// The virtual fabrics that carry traffic, at most [`FABRICS_MAX`].
    pub fabrics: Vec<MonitoredFabric>,
    /// Service level of the manager's own datagrams.
    pub sl: Sl,
}

/// Images on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskSettings {
    /// Directory of the files (`<StorageLocation>`).
    pub dir: String,
    /// Sweeps that are put together in a file (`<ImagesPerComposite>`), at least 1.
    pub images: u32,
    /// Files at most: those of `<TotalHistory>`, of which times when no manager ran are no part. At least 1.
    pub files_max: u64,
    /// Bytes of all files at most (`<MaxDiskSpace>`).
    pub bytes_max: u64,
    /// Parts of a file, each compressed and read by its own thread (`<CompressionDivisions>`), 1 to 32.
    pub divisions: u8,
}

/// Most groups of ports that a user may define; further ones are left out.
pub const USER_GROUPS_MAX: usize = 8;
/// Maximum number of virtual fabrics that are counted separately (`STL_PM_MAX_VFS`); further ones are left out.
pub const FABRICS_MAX: usize = 32;

/// One number for each category of trouble.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Categories {
    /// Errors of the link.
    pub integrity: u32,
    /// Packets that wait, are marked or dropped.
    pub congestion: u32,
    /// Congestion on the lane of subnet management.
    pub sma_congestion: u32,
    /// Gaps within packets.
    pub bubble: u32,
    /// Violations of partitions.
    pub security: u32,
    /// Packets without a route.
    pub routing: u32,
}

impl Categories {
    /// One number for all.
    pub fn all(value: u32) -> Self {
        Self::from_fn(|_| value)
    }

    /// In the order of [`Self::NAMES`].
    pub fn values(&self) -> [u32; 6] {
        [
            self.integrity,
            self.congestion,
            self.sma_congestion,
            self.bubble,
            self.security,
            self.routing,
        ]
    }

    /// Names of the categories.
    pub const NAMES: [&'static str; 6] = [
        "integrity",
        "congestion",
        "SMA congestion",
        "bubble",
        "security",
        "routing",
    ];

    /// The number of each category by its place in [`Self::NAMES`].
    pub fn from_fn(mut value: impl FnMut(usize) -> u32) -> Self {
        Self {
            integrity: value(0),
            congestion: value(1),
            sma_congestion: value(2),
            bubble: value(3),
            security: value(4),
            routing: value(5),
        }
    }
}

/// Weight of each counter in the integrity category (`<IntegrityWeights>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntegrityWeights {
    /// LocalLinkIntegrityErrors.
    pub local_link_integrity: u8,
    /// PortRcvErrors.
    pub rcv_errors: u8,
    /// ExcessiveBufferOverruns of the neighbour.
    pub buffer_overruns: u8,
    /// LinkErrorRecovery.
    pub link_error_recovery: u8,
    /// LinkDowned.
    pub link_downed: u8,
    /// UncorrectableErrors.
    pub uncorrectable: u8,
    /// FMConfigErrors.
    pub fm_config: u8,
    /// 2^(5 − LinkQualityIndicator) − 1.
    pub link_quality: u8,
    /// Lanes that the link has lost.
    pub lanes_down: u8,
}

/// Weight of each counter in the congestion categories (`<CongestionWeights>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CongestionWeights {
    /// Share of the time in which data waited.
    pub xmit_wait: u8,
    /// Packets dropped for congestion.
    pub discards: u8,
    /// Share of packets with a forward mark that the neighbour received.
    pub rcv_fecn: u8,
    /// Share of packets received with a backward mark, of hosts.
    pub rcv_becn: u8,
    /// Share of the time in congestion.
    pub xmit_time: u8,
    /// Share of packets that the port marked.
    pub mark_fecn: u8,
}

/// When counters of devices are set to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClearSettings {
    /// Level in eighths of its range, 0 to 7; 0 clears any non-zero value (`<ErrorClear>`).
    pub eighths: u8,
    /// Counters of data and packets too (`<ClearDataXfer>`).
    pub data: bool,
    /// Other counters of 64 bits (`<Clear64bit>`).
    pub wide: bool,
    /// Counters of 32 bits (`<Clear32bit>`).
    pub medium: bool,
    /// Counters of 8 bits (`<Clear8bit>`).
    pub narrow: bool,
}

/// Minimum change of two counters that changes the error summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// LocalLinkIntegrityErrors.
    pub local_link_integrity: u64,
    /// LinkErrorRecovery.
    pub link_error_recovery: u64,
}

/// Data to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Counters of hosts (`<ProcessHFICounters>`).
    pub hfis: bool,
    /// Counters of virtual lanes (`<ProcessVLCounters>`).
    pub lanes: bool,
    /// Details of the last errors (`<ProcessErrorInfo>`).
    pub error_info: bool,
}

/// Settings of requests to agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSettings {
    /// Attempts that are always made (`<MaxAttempts>`).
    pub attempts: u32,
    /// Longest wait for one answer (`<RespTimeout>`).
    pub timeout: Duration,
    /// First wait while no round trip is known (`<MinRespTimeout>`).
    pub first_timeout: Duration,
    /// Shortest wait, however short the measured round trip is.
    pub floor: Duration,
    /// Maximum number of nodes with requests in flight (`<MaxParallelNodes>`).
    pub nodes: u32,
    /// Requests outstanding to one node (`<PmaBatchSize>`).
    pub per_node: u8,
}

/// Ports whose counters are added up.
#[derive(Debug, Clone, PartialEq)]
pub struct PortGroup {
    /// Its name, at most 63 bytes.
    pub name: String,
    /// Its ports.
    pub members: Members,
}

/// A virtual fabric with the lanes whose counters are its own.
#[derive(Debug, Clone, PartialEq)]
pub struct MonitoredFabric {
    /// The virtual fabric. Its name is shown up to 63 bytes.
    pub fabric: VirtualFabric,
    /// The virtual lanes that it uses, one bit each.
    pub lanes: u32,
}

impl Default for PmSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            subnet_prefix: 0xFE80_0000_0000_0000,
            max_clients: 3,
            total_images: 10,
            frozen_images: 5,
            lease: Duration::from_secs(60),
            disk: Some(DiskSettings {
                dir: "/var/lib/opa-fm/pm0_pahistory".to_owned(),
                images: 3,
                files_max: 2_880,
                bytes_max: 1 << 30,
                divisions: 8,
            }),
            thresholds: Categories {
                security: 10,
                ..Categories::all(100)
            },
            threshold_messages: Categories {
                integrity: 10,
                security: 10,
                routing: 10,
                ..Categories::default()
            },
            integrity: IntegrityWeights::default(),
            congestion: CongestionWeights::default(),
            clear: ClearSettings::default(),
            resolution: Resolution {
                local_link_integrity: 10_000,
                link_error_recovery: 1_024,
            },
            process: Process {
                hfis: true,
                lanes: true,
                error_info: true,
            },
            requests: RequestSettings::default(),
            failure_messages: 10,
            groups: Vec::new(),
            // Those of the stock file share lane 0.
            fabrics: stock_fabrics()
                .into_iter()
                .map(|fabric| MonitoredFabric { fabric, lanes: 1 })
                .collect(),
            sl: Sl(0),
        }
    }
}

impl Default for IntegrityWeights {
    fn default() -> Self {
        Self {
            local_link_integrity: 0,
            rcv_errors: 100,
            buffer_overruns: 100,
            link_error_recovery: 0,
            link_downed: 25,
            uncorrectable: 100,
            fm_config: 100,
            link_quality: 40,
            lanes_down: 100,
        }
    }
}

impl Default for CongestionWeights {
    fn default() -> Self {
        Self {
            xmit_wait: 0,
            discards: 100,
            rcv_fecn: 5,
            rcv_becn: 1,
            xmit_time: 25,
            mark_fecn: 25,
        }
    }
}

impl Default for ClearSettings {
    fn default() -> Self {
        Self {
            eighths: 7,
            data: false,
            wide: false,
            medium: true,
            narrow: true,
        }
    }
}

impl Default for RequestSettings {
    fn default() -> Self {
        Self {
            attempts: 3,
            timeout: Duration::from_millis(250),
            first_timeout: Duration::from_millis(35),
            floor: Duration::from_millis(8),
            nodes: 10,
            per_node: 2,
        }
    }
}

/// Upper limit of nodes with requests in flight, whatever the configuration says.
const NODES_MAX: u32 = 4_096;
/// Most requests outstanding to one node.
pub(crate) const PER_NODE_MAX: u8 = 16;

impl RequestSettings {
    /// Maximum number of nodes with requests in flight.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.clamp(1, NODES_MAX) as usize
    }

    /// Requests outstanding to one node.
    pub(crate) fn per_node(&self) -> u8 {
        self.per_node.clamp(1, PER_NODE_MAX)
    }

    pub(crate) fn budget(&self) -> Budget {
        let patience = Patience {
            first: self.first_timeout,
            floor: self.floor,
            ceiling: self.timeout,
            attempts: self.attempts,
        };
        Budget::new(
            self.nodes() * usize::from(self.per_node()),
            self.per_node(),
            patience,
        )
    }
}
