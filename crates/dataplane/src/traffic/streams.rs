//! Packets at a rate, or as many as fit.

use weft_fabric::Sl;

use super::{Hosts, Pattern};
use crate::network::PortIndex;
use crate::packets::{Delivery, Notice, Parcel, Picos, Random, Simulation, Traffic};

/// How packets are sent.
#[derive(Debug, Clone)]
pub struct StreamsOptions {
    /// Who sends to whom.
    pub pattern: Pattern,
    /// Bytes of each packet on the link.
    pub bytes: u32,
    /// Service levels, drawn for each packet; none is SL 0.
    pub levels: Vec<Sl>,
    /// Share of the rate of a full link, at random moments; none for as many as fit.
    pub load: Option<f64>,
    /// Seed of all that is random.
    pub seed: u64,
}

/// What a host received.
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

/// Hosts that send by a pattern. Each draws from a sequence of its own, so what it sends does not
/// depend on what others do.
#[derive(Debug, Clone)]
pub struct Streams {
    hosts: Hosts,
    options: StreamsOptions,
    /// What each host draws from.
    random: Vec<Random>,
    received: Vec<Received>,
    lost: u64,
    /// Mean time between two packets of a host, 0 for as many as fit.
    interval: f64,
    /// Tags of its packets and timers are those of its hosts from here on.
    base: u64,
}

/// Where tags of the packets beside others begin.
const BESIDE: u64 = 1 << 28;

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
            lost: 0,
            base: 0,
            hosts,
            options,
        }
    }

    /// The same beside other packets of the same simulation.
    fn beside(hosts: Hosts, options: StreamsOptions) -> Self {
        Self {
            base: BESIDE,
            ..Self::new(hosts, options)
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
                self.wait(simulation, from);
            } else {
                self.send(simulation, from);
            }
        }
    }

    /// What each host has received since the beginning or the last [`Self::forget`].
    pub fn received(&self) -> &[Received] {
        &self.received
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
    }

    fn wait(&mut self, simulation: &mut Simulation, from: u32) {
        let random = &mut self.random[from as usize];
        let at = simulation.now() + random.exponential(self.interval);
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
        simulation.send(Parcel {
            from: host.port,
            dlid: other.lid,
            sl: self
                .hosts
                .level_to(other.lid, level.copied().unwrap_or(Sl(0))),
            bytes: self.options.bytes,
            tag: self.base + u64::from(from),
        });
    }

    fn room(&mut self, simulation: &mut Simulation, at: PortIndex) {
        if self.interval > 0.0 {
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
                    self.wait(simulation, from);
                }
            }
        }
    }
}

/// Packets of one kind, and maybe of another beside them.
#[derive(Debug, Clone)]
pub struct TwoStreams {
    /// The first kind.
    pub front: Streams,
    /// The other one.
    pub back: Option<Streams>,
}

impl TwoStreams {
    /// Traffic among `hosts` that has not begun.
    pub fn new(hosts: Hosts, front: StreamsOptions, back: Option<StreamsOptions>) -> Self {
        Self {
            back: back.map(|back| Streams::beside(hosts.clone(), back)),
            front: Streams::new(hosts, front),
        }
    }

    /// Lets all hosts begin that the simulation moves.
    pub fn start(&mut self, simulation: &mut Simulation) {
        self.front.start(simulation);
        if let Some(back) = &mut self.back {
            back.start(simulation);
        }
    }

    /// Sets what was received to zero: the warm-up is over.
    pub fn forget(&mut self) {
        self.front.forget();
        if let Some(back) = &mut self.back {
            back.forget();
        }
    }
}

impl Traffic for TwoStreams {
    fn handle(&mut self, simulation: &mut Simulation, notice: Notice) {
        let Some(back) = &mut self.back else {
            return self.front.handle(simulation, notice);
        };
        let tag = match notice {
            Notice::Delivered(delivery) => delivery.tag,
            Notice::Lost(loss) => loss.tag,
            Notice::Timer(tag) => tag,
            Notice::Room(_) => {
                self.front.handle(simulation, notice);
                return back.handle(simulation, notice);
            }
        };
        match tag < BESIDE {
            true => self.front.handle(simulation, notice),
            false => back.handle(simulation, notice),
        }
    }
}
