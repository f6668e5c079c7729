//! Configuration of the performance manager.

use crate::layout::layout;

layout! {
    /// Weights of the congestion category (`STL_CONGESTION_WEIGHTS_T`).
    pub struct CongestionWeights: 8, "STL_CONGESTION_WEIGHTS_T" {
        /// Weight of PortXmitWait.
        port_xmit_wait: u8 = u8 @ 0, "PortXmitWait";
        /// Weight of SwPortCongestion.
        sw_port_congestion: u8 = u8 @ 1, "SwPortCongestion";
        /// Weight of PortRcvFECN.
        port_rcv_fecn: u8 = u8 @ 2, "PortRcvFECN";
        /// Weight of PortRcvBECN.
        port_rcv_becn: u8 = u8 @ 3, "PortRcvBECN";
        /// Weight of PortXmitTimeCong.
        port_xmit_time_cong: u8 = u8 @ 4, "PortXmitTimeCong";
        /// Weight of PortMarkFECN.
        port_mark_fecn: u8 = u8 @ 5, "PortMarkFECN";
    }
}

layout! {
    /// Thresholds of the categories (`STL_PM_CATEGORY_THRESHOLDS`).
    pub struct CategoryThresholds: 24, "STL_PM_CATEGORY_THRESHOLDS" {
        /// Integrity.
        integrity_errors: u32 = u32 @ 0, "integrityErrors";
        /// Congestion.
        congestion: u32 = u32 @ 4, "congestion";
        /// Congestion of management traffic.
        sma_congestion: u32 = u32 @ 8, "smaCongestion";
        /// Bubbles.
        bubble: u32 = u32 @ 12, "bubble";
        /// Security.
        security_errors: u32 = u32 @ 16, "securityErrors";
        /// Routing.
        routing_errors: u32 = u32 @ 20, "routingErrors";
    }
}

layout! {
    /// Weights of the integrity category (`STL_INTEGRITY_WEIGHTS_T`).
    pub struct IntegrityWeights: 16, "STL_INTEGRITY_WEIGHTS_T" {
        /// Weight of LocalLinkIntegrityErrors.
        local_link_integrity_errors: u8 = u8 @ 0, "LocalLinkIntegrityErrors";
        /// Weight of PortRcvErrors.
        port_rcv_errors: u8 = u8 @ 1, "PortRcvErrors";
        /// Weight of ExcessiveBufferOverruns.
        excessive_buffer_overruns: u8 = u8 @ 2, "ExcessiveBufferOverruns";
        /// Weight of LinkErrorRecovery.
        link_error_recovery: u8 = u8 @ 3, "LinkErrorRecovery";
        /// Weight of LinkDowned.
        link_downed: u8 = u8 @ 4, "LinkDowned";
        /// Weight of UncorrectableErrors.
        uncorrectable_errors: u8 = u8 @ 5, "UncorrectableErrors";
        /// Weight of FMConfigErrors.
        fm_config_errors: u8 = u8 @ 6, "FMConfigErrors";
        /// Weight of LinkQualityIndicator.
        link_quality_indicator: u8 = u8 @ 7, "LinkQualityIndicator";
        /// Weight of LinkWidthDowngrade.
        link_width_downgrade: u8 = u8 @ 8, "LinkWidthDowngrade";
    }
}

layout! {
    /// Configuration of the performance manager, query 0xA6 (`STL_PA_PM_CFG_DATA`).
    pub struct PmConfig: 104, "STL_PA_PM_CFG_DATA" {
        /// Seconds from sweep to sweep.
        sweep_interval: u32 = u32 @ 0, "sweepInterval";
        /// Most clients.
        max_clients: u32 = u32 @ 4, "maxClients";
        /// Images kept.
        size_history: u32 = u32 @ 8, "sizeHistory";
        /// Images that can be frozen.
        size_freeze: u32 = u32 @ 12, "sizeFreeze";
        /// Seconds that a frozen image is kept.
        lease: u32 = u32 @ 16, "lease";
        /// Processing options (`STL_PM_PROCESS_*`).
        pm_flags: u32 = u32 @ 20, "pmFlags";
        /// Weights.
        congestion_weights: CongestionWeights = block @ 24, "congestionWeights";
        /// Thresholds.
        category_thresholds: CategoryThresholds = block @ 32, "categoryThresholds";
        /// Weights.
        integrity_weights: IntegrityWeights = block @ 56, "integrityWeights";
        /// Bytes of memory in use.
        memory_footprint: u64 = u64 @ 72, "memoryFootprint";
        /// Attempts of a request.
        max_attempts: u32 = u32 @ 80, "maxAttempts";
        /// Milliseconds to the last answer.
        resp_timeout: u32 = u32 @ 84, "respTimeout";
        /// Milliseconds to the first answer.
        min_resp_timeout: u32 = u32 @ 88, "minRespTimeout";
        /// Nodes read in parallel.
        max_parallel_nodes: u32 = u32 @ 92, "maxParallelNodes";
        /// Requests to a node at a time.
        pma_batch_size: u32 = u32 @ 96, "pmaBatchSize";
        /// Share of a counter's range at which it is cleared, in units of 1/8.
        error_clear: u8 = u8 @ 100, "errorClear";
    }
}
