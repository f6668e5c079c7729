//! Adaptive routing as `opafmcmd smAdaptiveRouting` shows and changes it.

use super::message::Return;
use crate::control::AdaptiveOrder;

/// Highest frequency and threshold; a higher one asks for that of the configuration.
const HIGHEST: u32 = 7;

/// The order in the same three numbers as [`shown`].
pub(super) fn order([enable, frequency, threshold]: [u32; 3]) -> AdaptiveOrder {
    let given = |value: u32| u8::try_from(value).ok().filter(|_| value <= HIGHEST);
    AdaptiveOrder {
        enable: enable != 0,
        frequency: given(frequency),
        threshold: given(threshold),
    }
}

/// Three numbers of 32 bits: whether it is enabled, its frequency, its threshold; all 0 where it is not.
///
/// # Errors
/// [`Return::Internal`] where the configuration in force has no such instance.
pub(super) fn shown(effective: &str, instance: usize) -> Result<Vec<u8>, Return> {
    let checked = weft_config::check(effective, "the configuration in force");
    let instances = checked.config.map(|config| config.instances);
    let instance = instances.as_ref().and_then(|all| all.get(instance));
    let adaptive = &instance.ok_or(Return::Internal)?.sm.adaptive_routing;
    let numbers = match adaptive.enable {
        true => [1, adaptive.frequency.into(), adaptive.threshold.into()],
        false => [0; 3],
    };
    Ok(numbers.into_iter().flat_map(u32::to_ne_bytes).collect())
}
