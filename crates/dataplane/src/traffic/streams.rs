//! Packets at a rate, or as many as fit.

use weft_fabric::Sl;

use super::{Histogram, Hosts, Pattern};
use crate::network::PortIndex;
use crate::packets::{Delivery, Notice, Parcel, Picos, Random, Simulation, Traffic};

/// Parameters of the packets.
#[derive(Debug, Clone)]
pub struct StreamsOptions {
    /// Choice of destinations.
    pub pattern: Pattern,
    /// Bytes of each packet on the link.
    pub bytes: u32,
    /// Service levels, drawn for each packet; none is SL 0.
    pub levels: Vec<Sl>,
    /// Share of the rate of a full link, at random moments; none for as many as fit.
    pub load: Option<f64>,
    /// When they begin.
    pub begin: Picos,
    /// Seed of all that is random.
    pub seed: u64,
}

/// Data received by a host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Flits of 8 bytes.
    pub flits: u64,
    /// Time from handing over to delivery, summed.
    pub latency: Picos,
    /// The longest of them.
    pub latency_max: Picos,
}

impl std::iter::Sum for Received {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, one| Self {
            packets: sum.packets + one.packets,
            flits: sum.flits + one.flits,
            latency: sum.latency + one.latency,
            latency_max: sum.latency_max.max(one.latency_max),
        })
    }
}

/// Hosts that send by a pattern. Each draws from its own random sequence, so its packets do not
/// depend on the others'.
#[derive(Debug, Clone)]
pub struct Streams {
    hosts: Hosts,
    options: StreamsOptions,
    /// Random numbers of each host.
    random: Vec<Random>,
    received: Vec<Received>,
    /// Times from handing over to delivery.
    latencies: Histogram,
    lost: u64,
    /// Mean time between two packets of a host, 0 for as many as fit.
    interval: f64,
    /// Tags of its packets and timers are those of its hosts from here on.
    base: u64,
}

/// Tags of each kind of packets in a mix.
const TAGS: u64 = 1 << 28;

impl Streams {
    /// Traffic among `hosts` that has not begun.
    pub fn new(hosts: Hosts, options: StreamsOptions) -> Self {
        let time = Simulation::wire_time(options.bytes) as f64;
        Self {
            received: vec![Received::default(); hosts.len()],
            random: (0..hosts.len())
                .map(|host| Random::of(options.seed, host as u64))
                .collect(),
            interval: options.load.map_or(0.0, |load| time / load.max(1e-9)),
            latencies: Histogram::default(),
            lost: 0,
            base: 0,
            hosts,
            options,
        }
    }

    /// The host of a tag, none where it is of other packets.
    #[inline]
    fn sender(&self, tag: u64) -> Option<u32> {
        let number = tag.wrapping_sub(self.base);
        (number < self.hosts.len() as u64).then_some(number as u32)
    }

    /// Lets all hosts begin that the simulation moves.
    pub fn start(&mut self, simulation: &mut Simulation) {
        for from in 0..self.hosts.len() as u32 {
            let host = self.hosts.get(from);
            if host.is_none_or(|host| !simulation.owns(host.port)) {
                continue;
            }
            if self.interval > 0.0 {
                self.wait(simulation, self.options.begin, from);
            } else if self.has_begun(simulation) {
                self.send(simulation, from);
            } else {
                simulation.set_timer(self.options.begin, self.base + u64::from(from));
            }
        }
    }

    fn has_begun(&self, simulation: &Simulation) -> bool {
        simulation.now() >= self.options.begin
    }

    /// Time since they began.
    pub fn time(&self, now: Picos) -> Picos {
        now.saturating_sub(self.options.begin)
    }

    /// Time of one of their packets on a link of 100 Gb/s.
    pub fn packet_time(&self) -> Picos {
        Simulation::wire_time(self.options.bytes)
    }

    /// Data received by each host since the beginning or the last [`Self::forget`].
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// Times of these packets from handing over to delivery.
    pub fn latencies(&self) -> &Histogram {
        &self.latencies
    }

    /// All of it together.
    pub fn total(&self) -> Received {
        self.received.iter().copied().sum()
    }

    /// Packets that were dropped.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Sets what was received to zero: the warm-up is over.
    pub fn forget(&mut self) {
        self.received.fill(Received::default());
        self.latencies = Histogram::default();
    }

    /// Has the next packet sent a while after `since`.
    fn wait(&mut self, simulation: &mut Simulation, since: Picos, from: u32) {
        let random = &mut self.random[from as usize];
        let at = since + random.exponential(self.interval);
        simulation.set_timer(at, self.base + u64::from(from));
    }

    #[inline]
    fn send(&mut self, simulation: &mut Simulation, from: u32) {
        let count = self.hosts.len() as u32;
        let Some(random) = self.random.get_mut(from as usize) else {
            return;
        };
        let Some(to) = self.options.pattern.next(from, count, random) else {
            return;
        };
        let (Some(host), Some(other)) = (self.hosts.get(from), self.hosts.get(to)) else {
            return;
        };
        let levels = &self.options.levels;
        let level = levels.get(random.below(levels.len() as u32) as usize);
        let level = level.copied().unwrap_or(Sl(0));
        simulation.send(Parcel {
            from: host.port,
            dlid: other.lid,
            sl: self.hosts.level_between(from, to, level),
            bytes: self.options.bytes,
            tag: self.base + u64::from(from),
        });
    }

    fn room(&mut self, simulation: &mut Simulation, at: PortIndex) {
        if self.interval > 0.0 || !self.has_begun(simulation) {
            return;
        }
        if let Some(from) = self.hosts.number(at) {
            self.send(simulation, from);
        }
    }

    fn take(&mut self, now: Picos, delivery: &Delivery) {
        let number = self.hosts.number(delivery.at);
        let Some(received) = number.and_then(|number| self.received.get_mut(number as usize))
        else {
            return;
        };
        let latency = now - delivery.born;
        received.packets += 1;
        received.flits += u64::from(delivery.flits);
        received.latency += latency;
        received.latency_max = received.latency_max.max(latency);
        self.latencies.add(latency);
    }
}

impl Traffic for Streams {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        match notice {
            Notice::Delivered(delivery) => self.take(simulation.now(), &delivery),
            Notice::Room(at) => self.room(simulation, at),
            Notice::Lost(_) => self.lost += 1,
            Notice::Timer(tag) => {
                if let Some(from) = self.sender(tag) {
                    self.send(simulation, from);
                    if self.interval > 0.0 {
                        self.wait(simulation, simulation.now(), from);
                    }
                }
            }
        }
    }
}

/// Packets of several kinds, each with tags of its own.
#[derive(Debug, Clone, Default)]
pub struct StreamMix {
    kinds: Vec<Streams>,
    /// First tag of the first kind.
    base: u64,
}

impl StreamMix {
    /// Traffic among `hosts` that has not begun.
    pub fn new(hosts: &Hosts, kinds: impl IntoIterator<Item = StreamsOptions>) -> Self {
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|options| Streams::new(hosts.clone(), options));
        Self {
            kinds: kinds.collect(),
            base: 0,
        }
        .tagged(0)
    }

    /// The mix with tags from `base` on, for each kind one per possible host.
    pub(crate) fn tagged(mut self, base: u64) -> Self {
        self.base = base;
        for (kind, place) in self.kinds.iter_mut().zip(0..) {
            kind.base = base + TAGS * place;
        }
        self
    }

    /// Each kind.
    pub fn kinds(&self) -> &[Streams] {
        &self.kinds
    }

    /// Lets all hosts begin that the simulation moves.
    pub fn start(&mut self, simulation: &mut Simulation) {
        let kinds = self.kinds.iter_mut();
        kinds.for_each(|kind| kind.start(simulation));
    }

    /// Sets what was received to zero: the warm-up is over.
    pub fn forget(&mut self) {
        self.kinds.iter_mut().for_each(Streams::forget);
    }
}

impl Traffic for StreamMix {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        let tag = match notice {
            Notice::Delivered(delivery) => delivery.tag,
            Notice::Lost(loss) => loss.tag,
            Notice::Timer(tag) => tag,
            Notice::Room(_) => {
                let kinds = self.kinds.iter_mut();
                return kinds.for_each(|kind| kind.handle(simulation, notice));
            }
        };
        let place = tag.wrapping_sub(self.base) / TAGS;
        if let Some(kind) = self.kinds.get_mut(place as usize) {
            kind.handle(simulation, notice);
        }
    }
}
