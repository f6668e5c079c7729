//! Upper bounds set by a link, whatever is at its ends: drawn with curves over the size of messages.

use weft_dataplane::constants::{FLIT_BITS, FLIT_ONE_LANE};
use weft_dataplane::packets::MICRO;

use super::perform::{Measurement, measurement};

/// Suffix of a metric that is the bound of another one.
pub(super) const BOUND: &str = "_bound";

/// Lanes of a link.
const LANES: f64 = 4.0;

/// Bytes a microsecond.
fn rate() -> f64 {
    let flits = MICRO as f64 / FLIT_ONE_LANE as f64 * LANES;
    flits * FLIT_BITS as f64 / 8.0
}

/// The least time of a message: that of its bytes on a link.
pub(super) fn latency(bytes: u64) -> Measurement {
    measurement("latency_bound", bytes as f64 / rate(), "us")
}

/// The bandwidth of `links` links together.
pub(super) fn bandwidth(links: usize) -> Measurement {
    measurement("bandwidth_bound", links as f64 * rate() / 1e3, "GB/s")
}
