//! Looks at a case while it runs: what links, packets and jobs have done until then.

use weft_dataplane::packets::{MILLI, Picos, Totals};
use weft_dataplane::{Network, PortIndex};

use super::intervals::{Came, FabricInterval, Intervals, JobIntervals, LinkIntervals};
use super::links::{LinkUse, Links};
use super::managed::{Managed, Packets};
use super::scenario::Case;
use super::values::picos;

/// Time between two looks at first, where intervals are not asked for.
const INTERVAL: Picos = MILLI;
/// Looks that are kept at most, and where intervals are asked for.
const LOOKS_MAX: (usize, usize) = (64, 1_024);
/// Times of ports that are kept at most in all looks together, and where intervals of all links are asked for.
const TIMES_MAX: (usize, usize) = (1 << 24, 1 << 20);

/// State at a moment.
#[derive(Debug, Clone)]
struct Look {
    at: Picos,
    /// Time in which each port has sent.
    times: Vec<Picos>,
    totals: Totals,
    in_flight: u64,
    jobs: Vec<Came>,
}

/// The looks at a case.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    links: Links,
    /// Whether intervals are asked for.
    with_intervals: bool,
    /// All ports, none if links are not kept.
    ports: Vec<PortIndex>,
    interval: Picos,
    due: Picos,
    looks: Vec<Look>,
    /// Most looks: then every other one is dropped and the interval doubled.
    looks_max: usize,
}

impl Watch {
    pub(super) fn new(network: &Network, case: &Case) -> Self {
        let is_on = case.links != Links::Off || case.intervals.is_some();
        let ports: Vec<PortIndex> = match case.links {
            Links::Off => Vec::new(),
            _ => ports(network).collect(),
        };
        let times_max = match case.links {
            Links::All => TIMES_MAX.1,
            _ => TIMES_MAX.0,
        };
        let looks_max = match case.intervals {
            None => LOOKS_MAX.0,
            Some(_) => (times_max / ports.len().max(1)).clamp(LOOKS_MAX.0, LOOKS_MAX.1),
        };
        Self {
            links: case.links,
            with_intervals: case.intervals.is_some(),
            ports,
            interval: case.intervals.map_or(INTERVAL, picos),
            due: if is_on { 0 } else { Picos::MAX },
            looks: Vec::new(),
            looks_max,
        }
    }

    /// When to look next.
    pub(super) fn next(&self) -> Picos {
        self.due
    }

    /// Looks, if that is asked for; `jobs` is what has come of each.
    pub(super) fn look(
        &mut self,
        packets: &impl Packets,
        at: Picos,
        jobs: impl FnOnce() -> Vec<Came>,
    ) {
        if self.due == Picos::MAX {
            return;
        }
        if self.looks.len() >= self.looks_max {
            let mut keep = false;
            self.looks.retain(|_| {
                keep = !keep;
                keep
            });
            self.interval = self.interval.saturating_mul(2);
        }
        self.due = at.saturating_add(self.interval);
        let times = self.ports.iter().map(|port| packets.link_time(*port));
        self.looks.push(Look {
            at,
            times: times.collect(),
            totals: packets.totals(),
            in_flight: packets.in_flight(),
            jobs: jobs(),
        });
    }

    /// The links that the case keeps, by their load since the look nearest to half of the run, and its intervals. `begin` is
    /// when the case's own traffic began; `names` are those of the jobs, none for its own traffic.
    pub(super) fn results(
        mut self,
        packets: &mut impl Packets,
        managed: &mut Managed,
        begin: Picos,
        jobs: Vec<Came>,
        names: &[Option<String>],
    ) -> (Vec<LinkUse>, Intervals) {
        packets.settle(managed.network_mut());
        let now = packets.now();
        let half = now / 2;
        let look = self.looks.iter().min_by_key(|look| look.at.abs_diff(half));
        let Some(look) = look else {
            return Default::default();
        };
        let ports = self.ports.iter().zip(&look.times);
        let sent = ports.map(|(port, before)| (*port, packets.link_time(*port) - before));
        let span = now.saturating_sub(look.at);
        let links = self.links.chosen(managed.network(), sent, span);
        let intervals = match self.with_intervals {
            true => {
                if self.looks.last().is_some_and(|last| last.at < now) {
                    self.looks_max = usize::MAX;
                    self.look(packets, now, || jobs);
                }
                self.intervals(&links, begin, names)
            }
            false => Intervals::default(),
        };
        (links.into_iter().map(|(_, link)| link).collect(), intervals)
    }

    fn intervals(
        &self,
        links: &[(PortIndex, LinkUse)],
        begin: Picos,
        names: &[Option<String>],
    ) -> Intervals {
        let pairs = || self.looks.windows(2).map(|pair| (&pair[0], &pair[1]));
        let moments = self.looks.iter().map(|look| look.at.saturating_sub(begin));
        let fabric = pairs().map(|(before, after)| FabricInterval {
            delivered: after.totals.delivered - before.totals.delivered,
            lost: after.totals.lost - before.totals.lost,
            hops: after.totals.hops - before.totals.hops,
            in_flight: after.in_flight,
        });
        let came = |look: &Look, place: usize| look.jobs.get(place).copied().unwrap_or_default();
        let jobs = names.iter().enumerate().map(|(place, name)| JobIntervals {
            job: name.clone(),
            came: pairs()
                .map(|(before, after)| came(after, place).since(came(before, place)))
                .collect(),
        });
        let links = links.iter().filter_map(|(port, link)| {
            let place = self.ports.binary_search(port).ok()?;
            let percent = pairs().map(|(before, after)| {
                let time = after.times[place] - before.times[place];
                100.0 * time as f64 / (after.at - before.at).max(1) as f64
            });
            Some(LinkIntervals {
                from: link.from.clone(),
                to: link.to.clone(),
                percent: percent.collect(),
            })
        });
        Intervals {
            moments: moments.collect(),
            fabric: fabric.collect(),
            jobs: jobs.collect(),
            links: links.collect(),
        }
    }
}

/// In ascending order.
fn ports(network: &Network) -> impl Iterator<Item = PortIndex> + '_ {
    let devices = network.devices();
    devices.flat_map(|(_, device)| device.ports().map(|(_, port)| port))
}
