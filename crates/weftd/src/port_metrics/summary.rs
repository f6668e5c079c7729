//! One image in numbers that do not grow with the fabric.

use std::cmp::Reverse;

use weft_manager::pm::{Categories, Image, PortView, Reading};
use weft_wire::pm::Counter;

/// Number of ports of each kind with series of their own.
pub(super) const TOP: usize = 10;
/// Classes of utilization, a tenth of the link each.
pub(super) const CLASSES: usize = 10;
/// Possible results of reading a port.
pub(super) const READINGS: [&str; 4] = ["done", "skipped", "failed", "clear_failed"];

/// A port that stands out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Top {
    pub(super) value: u32,
    pub(super) guid: String,
    pub(super) name: String,
    pub(super) port: String,
}

/// Metrics of one image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) duration_us: u64,
    /// Ports by [`READINGS`].
    pub(super) readings: [u32; READINGS.len()],
    /// Ports by the tenth of their links that they used.
    pub(super) classes: [u32; CLASSES],
    /// Ports with some of the trouble.
    pub(super) troubled: [u32; Categories::NAMES.len()],
    /// The most that a port had of it.
    pub(super) worst: [u32; Categories::NAMES.len()],
    /// Those that used most of their links, in units of 0.1 %.
    pub(super) busiest: Vec<Top>,
    /// Those with most trouble with their links.
    pub(super) ailing: Vec<Top>,
    /// Totals of all ports since the previous image.
    pub(super) counted: [u64; Counter::COUNT],
}

impl Summary {
    pub(super) fn of(image: &Image) -> Self {
        let mut summary = Self {
            duration_us: image.duration_us,
            ..Self::default()
        };
        let (mut busiest, mut ailing) = (Vec::new(), Vec::new());
        for view in image.ports() {
            let (utilization, trouble) = (view.utilization(), view.categories());
            summary.add(&view, utilization, &trouble);
            if view.neighbor.is_some() && utilization > 0 {
                busiest.push((utilization, view.clone()));
            }
            if trouble.integrity > 0 {
                ailing.push((trouble.integrity, view));
            }
        }
        summary.busiest = tops(busiest);
        summary.ailing = tops(ailing);
        summary
    }

    fn add(&mut self, view: &PortView<'_>, utilization: u32, trouble: &Categories) {
        self.readings[match view.reading {
            Reading::Done => 0,
            Reading::Skipped => 1,
            Reading::Failed => 2,
            Reading::ClearFailed => 3,
        }] += 1;
        self.classes[(utilization as usize / 100).min(CLASSES - 1)] += 1;
        for (place, value) in trouble.values().into_iter().enumerate() {
            self.troubled[place] += u32::from(value > 0);
            self.worst[place] = self.worst[place].max(value);
        }
        for (sum, counted) in self.counted.iter_mut().zip(view.delta().counters) {
            *sum = sum.saturating_add(counted);
        }
    }
}

/// The ports with the highest values, by name.
fn tops(mut ports: Vec<(u32, PortView<'_>)>) -> Vec<Top> {
    ports.sort_by_key(|(value, view)| (Reverse(*value), view.place));
    ports.truncate(TOP);
    let named = ports.iter().map(|(value, view)| Top {
        value: *value,
        guid: view.node.to_string(),
        name: view.name(),
        port: view.port.to_string(),
    });
    named.collect()
}
