//! Statistics of groups of ports.

use crate::layout::layout;

layout! {
    /// Utilization of a group's links (`STL_PA_PM_UTIL_STATS`).
    pub struct UtilStats: 88, "STL_PA_PM_UTIL_STATS" {
        /// All together, MB/s.
        total_mbps: u64 = u64 @ 0, "totalMBps";
        /// All together, thousand packets/s.
        total_kpps: u64 = u64 @ 8, "totalKPps";
        /// Average, MB/s.
        avg_mbps: u32 = u32 @ 16, "avgMBps";
        /// Least, MB/s.
        min_mbps: u32 = u32 @ 20, "minMBps";
        /// Most, MB/s.
        max_mbps: u32 = u32 @ 24, "maxMBps";
        /// Buckets, 10.
        num_bw_buckets: u32 = u32 @ 28, "numBWBuckets";
        /// Ports by utilization, 10 % a bucket.
        bw_buckets: [u32; 10] = block @ 32, "BWBuckets";
        /// Average, thousand packets/s.
        avg_kpps: u32 = u32 @ 72, "avgKPps";
        /// Least, thousand packets/s.
        min_kpps: u32 = u32 @ 76, "minKPps";
        /// Most, thousand packets/s.
        max_kpps: u32 = u32 @ 80, "maxKPps";
        /// Ports that did not answer.
        pma_no_resp_ports: u16 = u16 @ 84, "pmaNoRespPorts";
        /// Ports without a known neighbour.
        topo_incomp_ports: u16 = u16 @ 86, "topoIncompPorts";
    }
}

layout! {
    /// Highest values by category (`STL_PA_PM_CATEGORY_SUMMARY`).
    pub struct CategorySummary: 40, "STL_PA_PM_CATEGORY_SUMMARY" {
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
        /// Utilization in units of 10 %.
        utilization_pct10: u16 = u16 @ 24, "utilizationPct10";
        /// Discards in units of 10 %.
        discards_pct10: u16 = u16 @ 26, "discardsPct10";
    }
}

layout! {
    /// Ports in a bucket by category (`STL_PM_CATEGORY_BUCKET`).
    pub struct CategoryBucket: 24, "STL_PM_CATEGORY_BUCKET" {
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
    /// Categories of a group (`STL_PM_CATEGORY_STATS`).
    pub struct CategoryStats: 160, "STL_PM_CATEGORY_STATS" {
        /// Highest values.
        category_maximums: CategorySummary = block @ 0, "categoryMaximums";
        /// Ports by how near they are to the threshold: 25 % of it a bucket, the last above it.
        ports: [CategoryBucket; 5] = block @ 40, "ports";
    }
}
