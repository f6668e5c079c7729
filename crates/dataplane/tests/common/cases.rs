//! Fabrics and programs for properties.

use proptest::prelude::*;
use weft_dataplane::packets::{HeadOfQueue, Queueing};

use super::{Preempt, Program};

pub const FABRICS: [&str; 7] = [
    "back-to-back",
    "one-switch:6,radix=8",
    "pgft:2;3,4;1,2;1,1",
    "pgft:2;2,4;1,3;1,2",
    "pgft:3;2,2,3;1,2,2;1,1,1",
    "mesh:3x2,hosts=2",
    "fattree:32,radix=8",
];

/// Few and many lanes and credits, short lifetimes and endless ones, with and without preemption.
pub fn programs() -> impl Strategy<Value = Program> {
    let lanes = 1_u8..=8;
    let life = prop_oneof![Just(31_u8), 0_u8..6];
    let sizes = (0_u16..300, 135_u16..1_000);
    let preempt = proptest::option::of(preempts());
    let program = (lanes, sizes, life.clone(), life, 0_u8..8, preempt);
    program.prop_map(
        |(lanes, (dedicated, shared), hoq, switch, stall, preempt)| Program {
            lanes,
            dedicated,
            shared,
            hoq_life: hoq,
            switch_life: switch,
            stall_count: stall,
            preempt,
            ..Program::default()
        },
    )
}

/// Any lanes interrupt any others, sizes that overlap, no limit among the limits.
fn preempts() -> impl Strategy<Value = Preempt> {
    let limit = prop_oneof![Just(255_u8), 0_u8..16];
    let sizes = (0_u8..64, 0_u8..16, limit);
    (any::<[u8; 8]>(), sizes).prop_map(|(rows, (small, large, limit))| Preempt {
        matrix: rows.map(u32::from),
        small,
        large,
        limit,
    })
}

/// Orders of packets at an egress lane, and packets whose lifetime ends.
pub fn queueings() -> impl Strategy<Value = (Queueing, HeadOfQueue)> {
    let order =
        proptest::sample::select(vec![Queueing::Oldest, Queueing::RoundRobin, Queueing::Fifo]);
    let head = proptest::sample::select(vec![HeadOfQueue::EgressLane, HeadOfQueue::Input]);
    (order, head)
}
