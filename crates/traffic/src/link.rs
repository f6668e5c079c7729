//! Rates of links.

use weft_fabric::{PortRef, Topology};
use weft_wire::enums::{LinkSpeed, LinkWidth};

/// Bytes of a flit, the unit of XmitData and RcvData.
pub const FLIT_BYTES: f64 = 8.0;
/// Bytes a second of data that a lane of 25 Gb/s carries.
const LANE_BYTES: f64 = 3.125e9;

/// Bytes a second that a port can send over its link; none without a link.
pub fn capacity(topology: &Topology, at: PortRef) -> Option<f64> {
    let info = &topology.port(at)?.info;
    topology.peer(at)?;
    let lanes = match info.link_width_downgrade_tx_active.lanes() {
        0 => info.link_width_active.lanes(),
        lanes => lanes,
    };
    positive(rate(info.link_speed_active, lanes))
}

/// Bytes a second that it would send at the best speed and width that both ends support; none without a link.
pub fn full_capacity(topology: &Topology, at: PortRef) -> Option<f64> {
    let [own, other] = [at, topology.peer(at)?].map(|at| topology.port(at));
    let (own, other) = (&own?.info, &other?.info);
    let speeds = LinkSpeed(own.link_speed_supported.0 & other.link_speed_supported.0);
    let widths = LinkWidth(own.link_width_supported.0 & other.link_width_supported.0);
    let speed = [LinkSpeed::G25, LinkSpeed::G12_5]
        .into_iter()
        .find(|speed| speeds.0 & speed.0 != 0)?;
    let width = [LinkWidth::X4, LinkWidth::X3, LinkWidth::X2, LinkWidth::X1]
        .into_iter()
        .find(|width| widths.0 & width.0 != 0)?;
    positive(rate(speed, width.lanes()))
}

/// Flit times that are one count of a port's XmitWait: an HFI counts flit times, a switch cycles, which are two flit
/// times on a link of four lanes.
pub fn wait_unit(topology: &Topology, at: PortRef) -> f64 {
    match topology.switch_index(at.node) {
        None => 1.0,
        Some(_) => {
            let lanes = topology.port(at).map_or(4, |port| port.width().lanes());
            f64::from(8 / lanes.clamp(1, 4))
        }
    }
}

fn rate(speed: LinkSpeed, lanes: u32) -> f64 {
    let of_25 = match speed {
        LinkSpeed::G25 => 1.0,
        LinkSpeed::G12_5 => 0.5,
        _ => 0.0,
    };
    f64::from(lanes) * LANE_BYTES * of_25
}

fn positive(rate: f64) -> Option<f64> {
    (rate > 0.0).then_some(rate)
}
