//! How long plans take. Draws of their own: other parts of a scenario stay as they are when these change.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Plans of seeds from here on take time; those of seeds below are ready at once.
pub const FROM_SEED: u64 = 100_000;

/// Draws of planning.
const STREAM: u64 = 0x706c_616e_7300;
/// Plans that take time take between these, nanoseconds: as in a small fabric, and as in a large one.
const LEAST_NS: u64 = 100_000;
const MOST_NS: u64 = 1_000_000_000;
/// Share of seeds whose plans are ready at once.
const AT_ONCE: f64 = 0.2;

/// From [`weft_manager::io::Output::Plan`] to [`weft_manager::io::Input::Planned`] in a seed's run.
pub(super) fn draw(seed: u64) -> Duration {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ STREAM);
    if seed < FROM_SEED || rng.random_bool(AT_ONCE) {
        return Duration::ZERO;
    }
    // Evenly over the orders of magnitude.
    let (least, most) = ((LEAST_NS as f64).ln(), (MOST_NS as f64).ln());
    Duration::from_nanos(rng.random_range(least..most).exp() as u64)
}
