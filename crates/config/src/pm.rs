//! `Pm`: the performance manager.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::section::{One, Opt, Sub, section};
use crate::shared::{Election, Logging, Ssl, Startup};
use crate::syntax::{Text, flag, hours, limit, millis, seconds, u8s, u32s, u64s};

/// A number of messages, or any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// No limit.
    #[default]
    Unlimited,
    /// An upper limit.
    At(u32),
}

section! {
    /// `Pm`: the performance manager and performance administration.
    pub struct Pm {
        /// Whether the PM of this instance runs.
        start: bool = true, "Start" => One(flag());
        /// Lease of the PM's service record.
        service_lease: Duration = Duration::from_secs(60), "ServiceLease" => One(seconds());
        /// Interval between readings of the counters.
        sweep_interval: Duration = Duration::from_secs(10), "SweepInterval" => One(seconds().within(1, 43_200));
        /// Maximum number of clients that hold images.
        max_clients: u32 = 3, "MaxClients" => One(u32s().strictly(3, 20));
        /// Number of images (sweeps) kept in memory.
        total_images: u32 = 10, "TotalImages" => One(u32s().strictly(3, 100_000));
        /// Maximum number of images that clients hold.
        freeze_frame_images: u32 = 5, "FreezeFrameImages" => One(u32s().strictly(2, 100));
        /// Time after which a silent client loses its image.
        freeze_frame_lease: Duration = Duration::from_secs(60), "FreezeFrameLease" => One(seconds());
        /// Interval at which clients see the running sweep's results; half of `SweepInterval` if absent, 0 at its end only.
        #[no_effect("a standby receives no images of the master")]
        image_update_interval: Option<Duration> = None, "ImageUpdateInterval" => Opt(seconds().strictly(0, 43_199));
        /// From which weighted count a port is worth a look.
        thresholds: Thresholds = Thresholds::default(), "Thresholds" => Sub;
        /// Maximum number of such ports logged per sweep.
        thresholds_exceeded_msg_limit: ThresholdsExceededMsgLimit = ThresholdsExceededMsgLimit::default(),
            "ThresholdsExceededMsgLimit" => Sub;
        /// Weights of the integrity count.
        integrity_weights: IntegrityWeights = IntegrityWeights::default(), "IntegrityWeights" => Sub;
        /// Weights of the congestion count.
        congestion_weights: CongestionWeights = CongestionWeights::default(), "CongestionWeights" => Sub;
        /// Minimum change of two counters that counts.
        resolution: Resolution = Resolution::default(), "Resolution" => Sub;
        /// Level at which an error counter is cleared, in eighths of its range; 0 clears any non-zero value.
        error_clear: u8 = 7, "ErrorClear" => One(u8s().strictly(0, 7));
        /// Whether data counters are cleared, too.
        clear_data_xfer: bool = false, "ClearDataXfer" => One(flag());
        /// Whether 64-bit error counters are cleared.
        clear_64bit: bool = false, "Clear64bit" => One(flag());
        /// Whether 32-bit error counters are cleared.
        clear_32bit: bool = true, "Clear32bit" => One(flag());
        /// Whether 8-bit error counters are cleared.
        clear_8bit: bool = true, "Clear8bit" => One(flag());
        /// Whether hosts are read.
        process_hfi_counters: bool = true, "ProcessHFICounters" => One(flag());
        /// Whether counters of virtual lanes are read.
        process_vl_counters: bool = true, "ProcessVLCounters" => One(flag());
        /// Whether the causes of errors are read.
        process_error_info: bool = true, "ProcessErrorInfo" => One(flag());
        /// Maximum number of datagrams in flight to one device.
        pma_batch_size: u32 = 2, "PmaBatchSize" => One(u32s().strictly(1, u32::MAX as u64));
        /// Maximum number of devices with datagrams in flight.
        max_parallel_nodes: u32 = 10, "MaxParallelNodes" => One(u32s().strictly(1, u32::MAX as u64));
        /// Maximum number of times that a datagram is sent.
        max_attempts: u32 = 3, "MaxAttempts" => One(u32s().strictly(1, u32::MAX as u64));
        /// Timeout of an answer.
        resp_timeout: Duration = Duration::from_millis(250), "RespTimeout" => One(millis());
        /// Timeout of the first answer; later ones may take longer, up to `RespTimeout`.
        min_resp_timeout: Duration = Duration::from_millis(35), "MinRespTimeout" => One(millis());
        /// Maximum number of failed devices logged per sweep.
        sweep_errors_log_threshold: u32 = 10, "SweepErrorsLogThreshold" => One(u32s());
        /// Maximum number of error causes logged per sweep.
        sweep_error_info_log_thresholds: SweepErrorInfoLogThresholds = SweepErrorInfoLogThresholds::default(),
            "SweepErrorInfoLogThresholds" => Sub;
        /// Images on disk.
        short_term_history: ShortTermHistory = ShortTermHistory::default(), "ShortTermHistory" => Sub;
        /// Development: logs the duration of the parts of a sweep.
        #[no_effect("the duration of a sweep is always in the metrics")]
        pm_perf_debug: bool = false, "PmPerfDebug" => One(flag());
    }
    flat {
        /// Size.
        startup: Startup, without "StartupRetries", without "StartupStableWait";
        /// Priorities in the election of the master.
        #[no_effect("the PM runs where the SM is master")]
        election: Election;
        /// Logs.
        #[no_effect("the section Sm counts for all managers")]
        logging: Logging;
        /// Certificates for clients.
        ssl: Ssl;
    }
}

impl Pm {
    /// Interval at which clients see the running sweep's results; zero at its end only.
    pub fn effective_image_update_interval(&self) -> Duration {
        let half = self
            .sweep_interval
            .as_secs()
            .div_ceil(2)
            .min((self.sweep_interval.as_secs() / 2).max(1));
        self.image_update_interval
            .unwrap_or(Duration::from_secs(half))
    }
}

section! {
    /// `Thresholds`: weighted counts above which a port is reported; 0 never.
    pub struct Thresholds {
        /// Errors of the link.
        integrity: u32 = 100, "Integrity" => One(u32s());
        /// Packets that wait, are marked or dropped.
        congestion: u32 = 100, "Congestion" => One(u32s());
        /// Management packets that wait, are marked or dropped.
        sma_congestion: u32 = 100, "SmaCongestion" => One(u32s());
        /// Gaps within packets.
        bubble: u32 = 100, "Bubble" => One(u32s());
        /// Violations of partitions.
        security: u32 = 10, "Security" => One(u32s());
        /// Packets without a route.
        routing: u32 = 100, "Routing" => One(u32s());
    }
}

section! {
    /// `ThresholdsExceededMsgLimit`: maximum number of ports over the threshold logged per sweep.
    pub struct ThresholdsExceededMsgLimit {
        /// Errors of the link.
        integrity: u32 = 10, "Integrity" => One(u32s());
        /// Packets that wait, are marked or dropped.
        congestion: u32 = 0, "Congestion" => One(u32s());
        /// Management packets that wait, are marked or dropped.
        sma_congestion: u32 = 0, "SmaCongestion" => One(u32s());
        /// Gaps within packets.
        bubble: u32 = 0, "Bubble" => One(u32s());
        /// Violations of partitions.
        security: u32 = 10, "Security" => One(u32s());
        /// Packets without a route.
        routing: u32 = 10, "Routing" => One(u32s());
    }
}

section! {
    /// `IntegrityWeights`: weight of each counter.
    pub struct IntegrityWeights {
        /// LocalLinkIntegrityErrors.
        local_link_integrity_errors: u8 = 0, "LocalLinkIntegrityErrors" => One(u8s());
        /// PortRcvErrors.
        rcv_errors: u8 = 100, "RcvErrors" => One(u8s());
        /// ExcessiveBufferOverruns.
        excessive_buffer_overruns: u8 = 100, "ExcessiveBufferOverruns" => One(u8s());
        /// LinkErrorRecovery.
        link_error_recovery: u8 = 0, "LinkErrorRecovery" => One(u8s());
        /// LinkDowned.
        link_downed: u8 = 25, "LinkDowned" => One(u8s());
        /// UncorrectableErrors.
        uncorrectable_errors: u8 = 100, "UncorrectableErrors" => One(u8s());
        /// FMConfigErrors.
        fm_config_errors: u8 = 100, "FMConfigErrors" => One(u8s());
        /// LinkQualityIndicator below its best.
        link_quality_indicator: u8 = 40, "LinkQualityIndicator" => One(u8s());
        /// Lanes that a link has lost.
        link_width_downgrade: u8 = 100, "LinkWidthDowngrade" => One(u8s());
    }
}

section! {
    /// `CongestionWeights`: weight of each counter.
    pub struct CongestionWeights {
        /// PortXmitWait, in percent of the time.
        xmit_wait_pct: u8 = 10, "XmitWaitPct" => One(u8s());
        /// Packets dropped for congestion.
        cong_discards: u8 = 100, "CongDiscards" => One(u8s());
        /// Packets received with a forward mark, in percent.
        rcv_fecn_pct: u8 = 5, "RcvFECNPct" => One(u8s());
        /// Packets received with a backward mark, in percent.
        rcv_becn_pct: u8 = 1, "RcvBECNPct" => One(u8s());
        /// PortXmitTimeCong, in percent of the time.
        xmit_time_cong_pct: u8 = 25, "XmitTimeCongPct" => One(u8s());
        /// Packets that the port marked, in percent.
        mark_fecn_pct: u8 = 25, "MarkFECNPct" => One(u8s());
    }
}

section! {
    /// `Resolution`: minimum change of counters that counts.
    pub struct Resolution {
        /// LocalLinkIntegrityErrors.
        local_link_integrity: u64 = 8_000_000, "LocalLinkIntegrity" => One(u64s());
        /// LinkErrorRecovery.
        link_error_recovery: u32 = 100_000, "LinkErrorRecovery" => One(u32s());
    }
}

section! {
    /// `SweepErrorInfoLogThresholds`: maximum number of error causes logged per sweep.
    pub struct SweepErrorInfoLogThresholds {
        /// Errors of the link.
        integrity: Limit = Limit::Unlimited, "Integrity" => One(limit());
        /// Violations of partitions.
        security: Limit = Limit::At(10), "Security" => One(limit());
        /// Packets without a route.
        routing: Limit = Limit::At(10), "Routing" => One(limit());
    }
}

section! {
    /// `ShortTermHistory`: images on disk.
    pub struct ShortTermHistory {
        /// Whether they are kept.
        enable: bool = true, "Enable" => One(flag());
        /// Directory of the files; each instance needs its own. Of an emulated fabric it is `images.N` in the state directory instead.
        storage_location: String = "/var/lib/opa-fm".to_owned(), "StorageLocation" => One(Text::absolute_path());
        /// Hours of history to keep; times when no manager ran do not count.
        total_history: Duration = Duration::from_secs(24 * 3600), "TotalHistory" => One(hours().strictly(1, u32::MAX as u64 - 1));
        /// Number of sweeps that are put together in a file.
        images_per_composite: u32 = 3, "ImagesPerComposite" => One(u32s().strictly(1, u32::MAX as u64));
        /// Maximum disk space, in MiB; the oldest files are removed.
        max_disk_space_mib: u64 = 1024, "MaxDiskSpace" => One(u64s());
        /// Number of parts of a file, each compressed and read by its own thread.
        compression_divisions: u8 = 1, "CompressionDivisions" => One(u8s().strictly(1, 32));
    }
}
