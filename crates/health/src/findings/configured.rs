//! Links whose ends could do more than they may, or than the other end can.

use weft_fabric::PortRef;
use weft_fabric::text::count;
use weft_wire::sm::PortInfo;

use super::links::{fastest, widest};
use super::{Finder, point};
use crate::page::{Color, Kind};

impl Finder<'_> {
    /// Links that are configured to be slower than both ends could be, as `opareport -o misconfiglinks` judges it.
    pub(super) fn misconfigured(&mut self) {
        for (from, to, a, b) in self.open_links() {
            let Some([here, there]) = self.infos(a, b) else {
                continue;
            };
            let Some(what) = withheld(here, there) else {
                continue;
            };
            let (end, far) = match less_enabled(here) {
                true => (from, to),
                false => (to, from),
            };
            let mut finding = self.at_link(Kind::Degraded, what, end, far);
            finding.advice =
                "enable the widths and speeds at both ends, unless it is meant so".to_owned();
            finding.next = format!("weft port show {}", point(end));
            self.found.push(finding);
            self.explain([from, to]);
        }
    }

    /// Links of which one end can do more than the other, as `opareport -o misconnlinks` judges it: only told, as
    /// nothing but other hardware changes it.
    pub(super) fn mismatched(&mut self) {
        for (from, to, a, b) in self.open_links() {
            let Some([here, there]) = self.infos(a, b) else {
                continue;
            };
            let (of_here, of_there) = (able(here), able(there));
            if of_here == of_there {
                continue;
            }
            let words = |able: Able| format!("{} lanes at {} Mb/s", able.width, able.speed);
            let what = format!(
                "its ends can do different things: {} at this end, {} at the other",
                words(of_here),
                words(of_there)
            );
            let mut finding = self.at_link(Kind::Degraded, what, from, to);
            finding.color = Color::Green;
            finding.advice = "a faster device would be used better elsewhere".to_owned();
            finding.next = format!("weft port show {}", point(from));
            self.found.push(finding);
        }
    }

    fn infos(&self, a: PortRef, b: PortRef) -> Option<[&PortInfo; 2]> {
        let info = |at| self.topology.port(at).map(|port| &port.info);
        Some([info(a)?, info(b)?])
    }
}

/// The best that a port supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Able {
    /// Lanes of a link that comes up.
    width: u32,
    /// Lanes of one that has lost some.
    narrowed: u32,
    /// Mb/s a lane.
    speed: u32,
}

fn able(info: &PortInfo) -> Able {
    Able {
        width: widest(info.link_width_supported.0),
        narrowed: widest(info.link_width_downgrade_supported.0),
        speed: fastest(info.link_speed_supported.0),
    }
}

/// Whether a port enables less than it supports.
fn less_enabled(info: &PortInfo) -> bool {
    let able = able(info);
    fastest(info.link_speed_enabled.0) < able.speed
        || widest(info.link_width_enabled.0) < able.width
        || widest(info.link_width_downgrade_enabled.0) < able.narrowed
}

/// What both ends support and is not enabled, in words.
fn withheld(a: &PortInfo, b: &PortInfo) -> Option<String> {
    let best = |of: fn(&PortInfo) -> u16, in_words: fn(u16) -> u32| in_words(of(a) & of(b));
    let speed = best(|info| info.link_speed_supported.0, fastest);
    let width = best(|info| info.link_width_supported.0, widest);
    let enabled_speed = best(|info| info.link_speed_enabled.0, fastest);
    let enabled_width = best(|info| info.link_width_enabled.0, widest);
    if enabled_speed < speed || enabled_width < width {
        return Some(format!(
            "the link is configured to be slower than both ends could be: {width} lanes at {speed} Mb/s are supported"
        ));
    }
    let narrowed = best(|info| info.link_width_downgrade_supported.0, widest);
    let enabled = best(|info| info.link_width_downgrade_enabled.0, widest);
    (enabled < narrowed).then(|| {
        let lanes = count(enabled, "lane");
        format!(
            "LinkWidthDowngrade allows {lanes} at most where both ends support {narrowed}: a link that loses a lane \
             trains again instead of going on"
        )
    })
}
