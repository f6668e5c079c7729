//! Digests of outputs, of a published snapshot its number, nodes with their LIDs, links and linear tables.
//!
//! Each output is hashed by itself, from the digest of those before it on: a digest at the end of each input costs nothing more.
//! The first of a chunk is hashed from 0 on, so that whoever has a chunk has all that its digests are made of.

use std::hash::Hasher;

use twox_hash::XxHash64;
use weft_fabric::{Snapshot, SwitchIndex};

use crate::inputs::Expected;
use crate::keys::Keys;
use crate::outputs::{Made, Outputs, PUBLISHED, Rest};

/// Of all outputs so far of the inputs in a chunk, keys masked.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// The next outputs, up to a place among them.
    pub(crate) fn add(&mut self, outputs: &mut Rest<'_>, up_to: usize, keys: &Keys) {
        while outputs.taken() < up_to
            && let Some(output) = outputs.next(keys)
        {
            match output {
                Made::Bytes(bytes) => self.0 = XxHash64::oneshot(self.0, bytes),
                Made::Snapshot(snapshot) => self.snapshot(snapshot),
            }
        }
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let mut hash = XxHash64::with_seed(self.0);
        let topology = &snapshot.topology;
        numbers(&mut hash, &[snapshot.generation, topology.len() as u64]);
        for (_, node) in topology.nodes() {
            hash.write_u64(node.guid().0);
        }
        for (at, lid, lmc) in topology.end_ports() {
            numbers(&mut hash, &[at.node.0.into(), lid.0.into(), lmc.0.into()]);
        }
        for (a, b) in topology.links() {
            let ends = [a, b].map(|end| u64::from(end.node.0) << 8 | u64::from(end.port.0));
            numbers(&mut hash, &ends);
        }
        for switch in 0..snapshot.linear.len() {
            let row = snapshot.linear.row(SwitchIndex(switch as u32));
            numbers(&mut hash, &[row.len() as u64]);
            hash.write(row);
        }
        self.0 = hash.finish();
    }
}

fn numbers(hash: &mut XxHash64, numbers: &[u64]) {
    hash.write_u8(PUBLISHED);
    for number in numbers {
        hash.write(&number.to_le_bytes());
    }
}

/// Outputs that are compared with recorded digests.
#[derive(Default)]
pub(crate) struct Compared {
    outputs: Outputs,
    digest: Digest,
    keys: Keys,
}

impl Compared {
    /// Adds what `put` puts among outputs.
    pub(crate) fn add(&mut self, put: impl FnOnce(&mut Outputs)) {
        put(&mut self.outputs);
        let all = self.outputs.memory();
        self.digest.add(&mut self.outputs.read(), all, &self.keys);
        self.outputs.clear();
    }

    /// Whether the outputs up to now have the recorded digest.
    pub(crate) fn is(&mut self, recorded: Expected) -> bool {
        let digest = self.digest.value();
        match recorded {
            Expected::Low(low) => digest as u16 == low,
            Expected::Whole(whole) => {
                self.digest = Digest::default();
                digest == whole
            }
        }
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
