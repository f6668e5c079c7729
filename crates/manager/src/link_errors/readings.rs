//! What an image of performance management tells of links between active ports.

use weft_fabric::{PortRef, Tick, Topology};
use weft_wire::pm::Counter;
use weft_wire::sm::PortInfo;

use super::{End, PortReading};
use crate::pm::{Image, Reading, RosterPort};

/// The counters that rules are about.
const COUNTERS: [Counter; 3] = [
    Counter::LocalLinkIntegrityErrors,
    Counter::XmitDiscards,
    Counter::LinkDowned,
];

/// Which ports were read in the last image, by place.
#[derive(Debug, Default)]
pub(super) struct LastRead(Vec<bool>);

impl LastRead {
    /// The time between an image and the one before it, and the ports that both have read, as far as they have
    /// errors or are watched. Counts of a port that one of them lacks are left out: nobody knows when they came.
    pub(super) fn take(
        &mut self,
        image: &Image,
        is_watched: impl Fn(End) -> bool,
        is_bad: impl Fn(u8) -> bool,
    ) -> ((Tick, Tick), Vec<PortReading>) {
        let is_read =
            |place: usize| matches!(image.reading(place), Reading::Done | Reading::ClearFailed);
        let ports = image.roster.ports.iter().enumerate();
        let readings = ports.filter_map(|(place, port)| {
            let neighbor = port.neighbor.filter(|_| port.is_active && is_read(place))?;
            let before = image.place_in_last(place)?;
            if !self.0.get(before).copied().unwrap_or_default() {
                return None;
            }
            let counts = image.steps(place, COUNTERS)?;
            let quality = image.quality(place);
            let end = (image.roster.member_of(port).guid, port.number);
            if counts == [0; 3] && !is_bad(quality) && !is_watched(end) {
                return None;
            }
            reading(image, (port, end), neighbor, counts, quality)
        });
        let readings = readings.collect();
        self.0 = (0..image.roster.ports.len()).map(is_read).collect();
        let from = Tick(image.started.0.saturating_sub(image.span_ns));
        ((from, image.started), readings)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn reading(
    image: &Image,
    (port, end): (&RosterPort, End),
    neighbor: u32,
    [symbol_errors, discards, downs]: [u64; 3],
    quality: u8,
) -> Option<PortReading> {
    let roster = &image.roster;
    let far = roster.ports.get(neighbor as usize)?;
    let at = PortRef {
        node: roster.member_of(port).node,
        port: port.number,
    };
    Some(PortReading {
        port: end,
        far: (roster.member_of(far).guid, far.number),
        bits_per_second: bits_per_second(&roster.snapshot.topology, at)?,
        symbol_errors,
        discards,
        quality,
        has_been_down: downs > 0,
    })
}

/// Bits that a port receives each second.
fn bits_per_second(topology: &Topology, at: PortRef) -> Option<u64> {
    let info: &PortInfo = &topology.port(at)?.info;
    let lanes = info.link_width_downgrade_rx_active.lanes();
    let mbps = u64::from(info.link_speed_active.lane_mbps()) * u64::from(lanes);
    // 32 of 33 bits on the wire are data.
    (mbps > 0).then_some(mbps * 1_000_000 / 32 * 33)
}
