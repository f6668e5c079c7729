//! Any datagrams at the port of a performance manager in the midst of a sweep: answers of agents
//! and queries of clients, each with a length of two bytes before it.

use std::sync::Arc;

use weft_fabric::{Lid, Sl, Tick};
use weft_manager::pm::{Pm, PmInput, PmSettings};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;

use crate::three_hosts::FABRIC;

/// Outputs to one input: more than there can be on so small a fabric.
const OUTPUTS_MAX: usize = 10_000;
/// LID of the switch that is watched.
const SWITCH: Lid = Lid(4);

/// Runs one input.
///
/// # Panics
/// When the manager does not come to an end.
pub fn run(mut bytes: &[u8]) {
    let mut pm = Pm::new(PmSettings::default());
    pm.handle(Tick(0), PmInput::Published(Arc::clone(&FABRIC)));
    let mut now = 0;
    while let Some((len, after)) = bytes.split_first_chunk::<2>() {
        let len = usize::from(u16::from_be_bytes(*len)).min(after.len());
        let (mad, after) = after.split_at(len);
        bytes = after;
        now += 1_000_000;
        pm.handle(Tick(now), PmInput::Received(packet(mad)));
        let outputs = std::iter::from_fn(|| pm.poll()).take(OUTPUTS_MAX);
        assert!(outputs.count() < OUTPUTS_MAX);
    }
}

fn packet(mad: &[u8]) -> Packet {
    Packet {
        slid: SWITCH,
        dlid: Lid(1),
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 1,
        src_qp: 1,
        mad: mad.to_vec(),
    }
}
