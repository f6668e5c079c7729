//! `<PortStatus>`: what a port has counted.

use weft_wire::pm::Counter;
use weft_wire::sm::PortInfo;

use crate::counts::{PortCounts, element_name};
use crate::import::ImportError;
use crate::import::xml::Element;

/// The counters of a port; none where the snapshot has been taken without them. A counter that is missing is 0.
pub(super) fn read_counts(
    port: &Element<'_>,
    info: &PortInfo,
) -> Result<Option<PortCounts>, ImportError> {
    let Some(status) = port.child("PortStatus") else {
        return Ok(None);
    };
    let mut counters = [0; Counter::COUNT];
    for counter in Counter::ALL {
        counters[counter as usize] = status.optional(element_name(counter))?.unwrap_or(0);
    }
    let up = info.link_width_active.lanes();
    let left = info.link_width_downgrade_rx_active;
    let has_lost = left.0 < info.link_width_active.0;
    Ok(Some(PortCounts {
        counters,
        quality: status.optional("LinkQualityIndicator")?,
        lanes_down: match has_lost {
            true => up.saturating_sub(left.lanes()) as u8,
            false => 0,
        },
    }))
}
