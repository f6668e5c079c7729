//! The loop test.

use tracing::info;
use weft_manager::LoopSummary;

/// It runs, with so many packets for each loop.
pub(super) fn started(fast: bool, packets: u32, length_max: u8) {
    info!(
        event = "loop_test_started",
        fast,
        packets,
        length_max,
        "the loop test runs{}: loops of up to {length_max} links, packets for each: {packets}",
        if fast { " in fast mode" } else { "" }
    );
}

/// Its loops are others than before.
pub(super) fn planned(loops: &LoopSummary) {
    info!(
        event = "loops_planned",
        loops = loops.loops,
        lids = loops.lids,
        links = loops.links,
        uncovered = loops.uncovered,
        cut_short = loops.is_cut_short,
        "the loop test has {} loops with {} LIDs; of {} links between switches {} are in none{}",
        loops.loops,
        loops.lids,
        loops.links,
        loops.uncovered,
        if loops.is_cut_short {
            ", and no LIDs are left for more loops"
        } else {
            ""
        }
    );
}

/// Packets circle.
pub(super) fn injected(packets: u32, sent: u64, injected: u64) {
    info!(
        event = "loop_packets_injected",
        packets,
        sent,
        injected,
        "packets on their way for each loop: {packets}, in all: {sent}; for each since the start: {injected}"
    );
}
