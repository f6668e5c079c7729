//! Port counters as metrics: sums, shares and the worst ports of each kind, so that the number of
//! series does not grow with the fabric. Counters of single ports are available from
//! performance administration, from CounterService, and of chosen ports as metrics.

mod summary;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tokio::sync::watch;
use weft_manager::pm::{Categories, Image};
use weft_wire::pm::Counter;

use summary::{CLASSES, READINGS, Summary, Top};

/// Queue length of images to be summed up; further images are missing from the sums, but not from the totals of ports.
pub(crate) const IMAGES_MAX: usize = 8;

#[derive(Debug)]
struct State {
    images: u64,
    totals: [u64; Counter::COUNT],
    last: Summary,
}

/// The sums since the daemon began, and the last image's summary.
#[derive(Debug)]
pub(crate) struct PortMetrics {
    state: Mutex<State>,
    latest: watch::Sender<Option<Arc<Image>>>,
}

impl Default for PortMetrics {
    fn default() -> Self {
        let state = State {
            images: 0,
            totals: [0; Counter::COUNT],
            last: Summary::default(),
        };
        Self {
            state: Mutex::new(state),
            latest: watch::Sender::default(),
        }
    }
}

impl PortMetrics {
    /// The image of the last sweep; `None` before the first.
    pub(crate) fn latest(&self) -> Option<Arc<Image>> {
        self.latest.borrow().clone()
    }

    /// Images as they come; one that comes right after another may hide it.
    pub(crate) fn images(&self) -> watch::Receiver<Option<Arc<Image>>> {
        self.latest.subscribe()
    }

    /// Adds an image.
    pub(crate) fn add(&self, image: Arc<Image>) {
        let summary = Summary::of(&image);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.images += 1;
        for (total, counted) in state.totals.iter_mut().zip(summary.counted) {
            *total = total.saturating_add(counted);
        }
        state.last = summary;
        drop(state);
        self.latest.send_replace(Some(image));
    }

    /// Writes the metrics; nothing before the first image.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.images == 0 {
            return Ok(());
        }
        let mut out = Out(encoder);
        out.sums(&state)?;
        out.shares(&state.last)?;
        out.tops(&state.last)
    }
}

struct Out<'a, 'b>(&'a mut DescriptorEncoder<'b>);

impl Out<'_, '_> {
    fn sums(&mut self, state: &State) -> fmt::Result {
        let images = ConstCounter::new(state.images);
        let help = "Sweeps that read counters of ports";
        images.encode(self.0.encode_descriptor(
            "pm_sweeps",
            help,
            None,
            images.metric_type(),
        )?)?;
        let seconds = ConstGauge::new(state.last.duration_us as f64 / 1e6);
        let help = "Time that the last sweep took to read counters";
        seconds.encode(self.0.encode_descriptor(
            "pm_last_sweep_duration",
            help,
            Some(&Unit::Seconds),
            seconds.metric_type(),
        )?)?;
        let help = "What all ports counted together, data in flits of 8 bytes";
        let mut family = self
            .0
            .encode_descriptor("pm_counted", help, None, MetricType::Counter)?;
        for (counter, total) in Counter::ALL.into_iter().zip(state.totals) {
            let labels = [("counter", format!("{counter:?}"))];
            ConstCounter::new(total).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn shares(&mut self, last: &Summary) -> fmt::Result {
        let help = "Active ports in the last sweep, by what came of reading them";
        self.gauges("pm_ports", help, "reading", READINGS, last.readings)?;
        let help = "Ports in the last sweep, by the share of its link that each used";
        let classes: [String; CLASSES] =
            std::array::from_fn(|class| format!("{}-{}", class * 10, class * 10 + 10));
        self.gauges("pm_utilized_ports", help, "percent", classes, last.classes)?;
        let names = Categories::NAMES.map(|name| name.to_lowercase().replace(' ', "_"));
        let help = "Ports with trouble in the last sweep, by category";
        self.gauges(
            "pm_troubled_ports",
            help,
            "category",
            names.clone(),
            last.troubled,
        )?;
        let help = "The most trouble that a port had in the last sweep, by category";
        self.gauges("pm_worst_trouble", help, "category", names, last.worst)
    }

    fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: [impl Into<String>; N],
        counts: [u32; N],
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (value, count) in values.into_iter().zip(counts) {
            let labels = [(label, value.into())];
            ConstGauge::new(i64::from(count)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn tops(&mut self, last: &Summary) -> fmt::Result {
        let help = "Share of its link that a port used in the last sweep, of the busiest";
        let share = |value: u32| f64::from(value) / 1_000.0;
        self.links("pm_busiest_ratio", help, &last.busiest, share)?;
        let help = "Trouble with its link that a port had in the last sweep, of the worst";
        self.links("pm_ailing", help, &last.ailing, f64::from)
    }

    fn links(
        &mut self,
        name: &str,
        help: &str,
        tops: &[Top],
        scale: fn(u32) -> f64,
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for top in tops {
            let labels = [
                ("guid", top.guid.as_str()),
                ("name", top.name.as_str()),
                ("port", top.port.as_str()),
            ];
            ConstGauge::new(scale(top.value)).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
