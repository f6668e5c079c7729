//! I13: a manager that ends in the middle of writing leaves a fabric that keeps forwarding.

use super::reach::lost_ways;
use super::{Breach, Invariant};
use crate::view::FabricView;

/// I13 between the moment before a change and any moment after its manager has ended: every pair that could
/// communicate then, and is still connected, still can.
pub fn check(before: &FabricView, after: &FabricView, root: usize) -> Vec<Breach> {
    let lost = lost_ways(before, after, root, |_| false);
    let breach = |what| Breach::new(Invariant::KeepsForwarding, what);
    lost.into_iter().map(breach).collect()
}
