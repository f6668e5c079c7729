//! One byte for each port.

use weft_fabric::enums::{PhysState, PortState};
use weft_fabric::{Guid, Port, PortNum, Topology};
use weft_health::{Kind as Wrong, Page};
use weft_manager::pm::{Image, PortView, Reading};

use crate::layout::{Layout, NO_PEER};

/// States of a port's link.
pub mod states {
    /// There is no cable.
    pub const EMPTY: u8 = 0;
    /// It carries data.
    pub const ACTIVE: u8 = 1;
    /// It is not ready yet.
    pub const RISING: u8 = 2;
    /// It was there.
    pub const LOST: u8 = 3;
    /// The port is switched off.
    pub const DISABLED: u8 = 4;
    /// It is up, and carries no data.
    pub const UNUSED: u8 = 5;
    /// The port's node is gone.
    pub const GONE: u8 = 6;
}

/// What is wrong with a port, as bits.
pub mod marks {
    /// Its link is slower than it could be.
    pub const SLOW: u8 = 1;
    /// Its link has errors.
    pub const ERRORS: u8 = 2;
    /// Its link goes down again and again.
    pub const FLAPPING: u8 = 4;
    /// Its link is kept out of use.
    pub const OUT_OF_USE: u8 = 8;
    /// Its link, or its switch, is drained.
    pub const DRAINED: u8 = 16;
    /// Something else.
    pub const OTHER: u8 = 32;
}

/// In place of a share that is not known.
const UNKNOWN: u8 = u8::MAX;
/// Shares are in units of 0.5 %.
const WHOLE: f64 = 200.0;
/// Units of a rate of errors for each doubling of it.
const DOUBLING: f64 = 8.0;

/// Bytes of a single port that has changed: its place and its value.
const PLACE_BYTES: usize = 5;

/// What a column tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of [`states`].
    State,
    /// Bits of [`marks`].
    Marks,
    /// Share of the link's rate that is sent.
    Load,
    /// Share of time in which data waits for credits.
    Wait,
    /// Errors of the link a minute, on a logarithmic scale.
    Errors,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::State,
        Self::Marks,
        Self::Load,
        Self::Wait,
        Self::Errors,
    ];
}

/// The columns of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns([Vec<u8>; Kind::ALL.len()]);

/// What is other in a column than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The whole column.
    Whole(Vec<u8>),
    /// Some ports: their places, 4 bytes each, and their values.
    Some {
        /// Places, little-endian.
        places: Vec<u8>,
        /// Values.
        values: Vec<u8>,
    },
}

impl Columns {
    /// The columns of a fabric, what was counted last and the page of what is wrong.
    pub fn of(layout: &Layout, topology: &Topology, shares: Shares, page: &Page) -> Self {
        let Shares { load, wait, errors } = shares;
        let (state, marks) = (states_of(layout, topology), marks_of(layout, page));
        Self([state, marks, load, wait, errors])
    }

    /// A column.
    pub fn get(&self, kind: Kind) -> &[u8] {
        &self.0[kind as usize]
    }

    /// What is other than before, in as few bytes as whole columns and single ports allow.
    pub fn since(&self, before: Option<&Self>) -> Vec<(Kind, Change)> {
        let changes = Kind::ALL.into_iter().filter_map(|kind| {
            let now = self.get(kind);
            let whole = || Change::Whole(now.to_vec());
            let Some(before) = before.map(|before| before.get(kind)) else {
                return Some((kind, whole()));
            };
            if before == now {
                return None;
            }
            if before.len() != now.len() {
                return Some((kind, whole()));
            }
            let other: Vec<usize> = (0..now.len())
                .filter(|at| before[*at] != now[*at])
                .collect();
            let change = match other.len() * PLACE_BYTES < now.len() {
                false => whole(),
                true => Change::Some {
                    places: other
                        .iter()
                        .flat_map(|at| (*at as u32).to_le_bytes())
                        .collect(),
                    values: other.iter().map(|at| now[*at]).collect(),
                },
            };
            Some((kind, change))
        });
        changes.collect()
    }
}

fn states_of(layout: &Layout, topology: &Topology) -> Vec<u8> {
    let mut column = vec![states::EMPTY; layout.peers.len()];
    for place in &layout.places {
        let at = place.first as usize;
        let own = &mut column[at..at + usize::from(place.ports)];
        let Some(node) = topology.find(place.guid).and_then(|id| topology.node(id)) else {
            own.fill(states::GONE);
            continue;
        };
        let peers = &layout.peers[at..];
        for ((state, (_, port)), peer) in own.iter_mut().zip(node.external_ports()).zip(peers) {
            *state = state_of(port, *peer != NO_PEER);
        }
    }
    column
}

fn state_of(port: &Port, has_cable: bool) -> u8 {
    let (state, phys) = (port.info.port_state, port.info.phys_state);
    if port.peer.is_some() {
        return match state {
            PortState::ACTIVE => states::ACTIVE,
            _ => states::RISING,
        };
    }
    match phys {
        PhysState::DISABLED => states::DISABLED,
        PhysState::LINK_UP if state > PortState::DOWN => states::UNUSED,
        _ if has_cable => states::LOST,
        _ => states::EMPTY,
    }
}

fn marks_of(layout: &Layout, page: &Page) -> Vec<u8> {
    let mut column = vec![0; layout.peers.len()];
    for finding in &page.findings {
        let mark = mark_of(finding.kind);
        for end in [Some(&finding.a), finding.b.as_ref()].into_iter().flatten() {
            // What is wrong with a node says nothing of a port without a cable.
            let port = end.port.filter(|port| *port != PortNum(0));
            for at in ports_of(layout, end.node, port) {
                if port.is_some() || layout.peers[at] != NO_PEER {
                    column[at] |= mark;
                }
            }
        }
    }
    column
}

fn mark_of(kind: Wrong) -> u8 {
    match kind {
        Wrong::Degraded | Wrong::Asymmetric => marks::SLOW,
        Wrong::Errors | Wrong::Quality | Wrong::Module => marks::ERRORS,
        Wrong::Flapping => marks::FLAPPING,
        Wrong::Quarantined | Wrong::Unused | Wrong::Refused => marks::OUT_OF_USE,
        Wrong::Drained => marks::DRAINED,
        Wrong::PastErrors | Wrong::SameName => 0,
        _ => marks::OTHER,
    }
}

/// Places of the port, or of all ports of the node.
fn ports_of(layout: &Layout, node: Guid, port: Option<PortNum>) -> std::ops::Range<usize> {
    match (layout.find(node), port) {
        (None, _) => 0..0,
        (Some(place), None) => {
            let first = place.first as usize;
            first..first + usize::from(place.ports)
        }
        (Some(_), Some(port)) => match layout.port(node, port) {
            Some(at) => at as usize..at as usize + 1,
            None => 0..0,
        },
    }
}

/// What was counted at each port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shares {
    load: Vec<u8>,
    wait: Vec<u8>,
    errors: Vec<u8>,
}

impl Shares {
    /// Those of an image; without an image before it, an image tells no rates. Nothing is known of a port that was not read,
    /// nor of what it sent where the other end was not read either.
    pub fn of(layout: &Layout, image: Option<&Image>) -> Self {
        let none = vec![UNKNOWN; layout.peers.len()];
        let mut shares = Self {
            load: none.clone(),
            wait: none.clone(),
            errors: none,
        };
        let Some(image) = image.filter(|image| image.span_ns > 0) else {
            return shares;
        };
        let days = image.span_ns as f64 / (86_400.0 * 1e9);
        let is_read = |end: &PortView| matches!(end.reading, Reading::Done | Reading::ClearFailed);
        for link in image.links() {
            let read = link.ends.each_ref().map(is_read);
            let ends = link.ends.iter().zip(&link.sending).zip(read);
            for ((end, sending), own) in ends {
                let Some(at) = layout.port(end.node, end.port).map(|at| at as usize) else {
                    continue;
                };
                if read[0] || read[1] {
                    shares.load[at] = share(sending.share);
                }
                if own {
                    shares.wait[at] = share(sending.wait);
                    shares.errors[at] = rate(end.link_errors() as f64 / days);
                }
            }
        }
        shares
    }
}

/// A share from 0 to 1 as a byte; what is more than nothing is at least one unit.
fn share(share: f64) -> u8 {
    (share.clamp(0.0, 1.0) * WHOLE).ceil() as u8
}

/// A rate of errors as a byte; one error in any time is at least one unit.
fn rate(per_day: f64) -> u8 {
    let units = (per_day.ln_1p() / std::f64::consts::LN_2 * DOUBLING).ceil();
    units.clamp(0.0, f64::from(UNKNOWN - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_errors_double_with_every_eighth_unit() {
        let rates = [0.0, 1e-9, 1.0, 3.0, 1023.0, 1e6, 1e18].map(rate);
        assert_eq!(rates, [0, 1, 8, 16, 80, 160, 254]);
    }
}
