//! 64 classes of destinations at a time, each one bit of a word: loops, dead ends and dependencies
//! by a handful of word operations per link.

use weft_fabric::{Half, SwitchIndex, UNREACHABLE};

use super::Tables;
use super::classes::{Class, Span, Spans};
use super::dependency::Dependencies;
use super::view::{Link, View};

/// Findings of a tile of classes, besides the dependencies.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// Switch and class where an entry leads nowhere although cables do.
    pub(super) dropped: Vec<(u32, Class)>,
    /// Classes whose steps together run in a circle.
    pub(super) looping: Vec<Class>,
}

/// Memory of one thread.
pub(super) struct Tile<'a> {
    view: &'a View,
    /// Tables whose steps are taken together: one set, or old and new ones.
    layers: &'a [Tables<'a>],
    /// Classes that use a link.
    uses: Vec<u64>,
    /// Classes with an entry at a switch that leads nowhere.
    dropped: Vec<u64>,
    /// Classes that surely come to an end from a switch.
    ends: Vec<u64>,
    /// Classes that a switch has data for.
    carries: Vec<u64>,
    /// Classes whose data comes over a link, where lanes have halves.
    over: Vec<u64>,
    queued: Vec<bool>,
    queue: Vec<u32>,
    wave: Vec<u32>,
    /// Findings of a wave.
    found: Vec<(u32, u64)>,
    /// [`Self::ends`] after each wave, one after the other.
    waves: Vec<u64>,
}

/// Most waves that are kept.
const WAVES: usize = 16;

impl<'a> Tile<'a> {
    pub(super) fn new(view: &'a View, layers: &'a [Tables<'a>]) -> Self {
        Self {
            view,
            layers,
            uses: vec![0; view.links.len()],
            dropped: vec![0; view.len()],
            ends: vec![0; view.len()],
            carries: vec![0; view.len()],
            over: vec![0; if view.has_halves { view.links.len() } else { 0 }],
            queued: vec![false; view.len()],
            queue: Vec::with_capacity(view.len()),
            wave: Vec::with_capacity(view.len()),
            found: Vec::new(),
            waves: Vec::new(),
        }
    }

    /// Classes that each switch had data for when they were followed.
    pub(super) fn carries(&self) -> &[u64] {
        &self.carries
    }

    /// By wave, the classes that surely came to an end by then from each switch, so that every step
    /// leads from a later wave to an earlier one; none where there were too many waves.
    pub(super) fn waves(&self) -> Option<&[u64]> {
        (self.waves.len() <= WAVES * self.view.len()).then_some(&self.waves)
    }

    /// Follows the classes, at most 64; adds the dependencies of those that end.
    pub(super) fn follow(
        &mut self,
        classes: &[Class],
        graph: &mut Dependencies,
        shown: &mut Shown,
    ) {
        let all = u64::MAX >> (64 - classes.len());
        self.read(&Spans::new(self.view, classes));
        self.settle(all);
        let looping = self.ends.iter().fold(0, |bits, ends| bits | !ends) & all;
        let data = mask(classes, |class| class.is_data) & !looping;
        self.carries.fill(0);
        self.over.fill(0);
        match (data, self.view.has_halves) {
            (0, _) => {}
            (_, false) => {
                self.carry(data);
                self.depend(graph);
            }
            (_, true) => {
                self.carry_in_halves(data);
                self.depend_in_halves(graph);
            }
        }
        self.report(classes, looping, shown);
    }

    /// Reads the entries of all switches.
    fn read(&mut self, spans: &Spans) {
        let mut by_port = [0u64; 256];
        for switch in 0..self.view.len() {
            for tables in self.layers {
                read(tables, spans, switch, &mut by_port);
            }
            self.store(switch, &mut by_port);
        }
    }

    /// Separates traffic over links from dead ends, and empties `by_port`.
    fn store(&mut self, switch: usize, by_port: &mut [u64; 256]) {
        for link in self.view.links_of(switch) {
            let Link { port, half, .. } = self.view.links[link];
            self.uses[link] = match half {
                Half::First => std::mem::take(&mut by_port[usize::from(port)]),
                Half::Second => self.uses[link - 1],
            };
        }
        self.dropped[switch] = by_port.iter().fold(0, |bits, word| bits | word);
        by_port.fill(0);
    }

    /// Finds the classes that come to an end from each switch: all their next switches do.
    fn settle(&mut self, all: u64) {
        self.ends.fill(0);
        self.waves.clear();
        self.start_with_all();
        while !self.wave.is_empty() {
            let wave = std::mem::take(&mut self.wave);
            for &switch in &wave {
                let switch = switch as usize;
                self.queued[switch] = false;
                let links = self.view.links_of(switch);
                let steps = self.uses[links.clone()].iter().zip(&self.view.links[links]);
                let ends = steps.fold(all, |ends, (uses, link)| {
                    ends & (!uses | self.ends[link.to as usize])
                });
                if ends != self.ends[switch] {
                    self.found.push((switch as u32, ends));
                }
            }
            self.end_wave();
            self.next_wave(wave);
        }
    }

    /// Adds the findings of a wave: only now, so that it leads to earlier waves.
    fn end_wave(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        for (switch, ends) in found.drain(..) {
            self.ends[switch as usize] = ends;
            self.requeue_neighbours(switch as usize);
        }
        self.found = found;
        if self.waves.len() <= WAVES * self.view.len() {
            self.waves.extend_from_slice(&self.ends);
        }
    }

    fn start_with_all(&mut self) {
        self.queued.fill(true);
        self.wave.clear();
        self.wave.extend(0..self.view.len() as u32);
    }

    fn requeue_neighbours(&mut self, switch: usize) {
        for link in &self.view.links[self.view.links_of(switch)] {
            let queued = &mut self.queued[link.to as usize];
            if !std::mem::replace(queued, true) {
                self.queue.push(link.to);
            }
        }
    }

    fn next_wave(&mut self, mut old: Vec<u32>) {
        old.clear();
        self.wave = std::mem::replace(&mut self.queue, old);
    }

    /// Finds the classes that each switch has data for: from the switches with HFIs onwards.
    fn carry(&mut self, data: u64) {
        let sends = self.view.sends.iter();
        for (carries, sends) in self.carries.iter_mut().zip(sends) {
            *carries = if *sends { data } else { 0 };
        }
        self.start_with_all();
        while !self.wave.is_empty() {
            let wave = std::mem::take(&mut self.wave);
            for &switch in &wave {
                let switch = switch as usize;
                self.queued[switch] = false;
                let carries = self.carries[switch];
                for link in self.view.links_of(switch) {
                    let to = self.view.links[link].to;
                    let fresh = carries & self.uses[link] & !self.carries[to as usize];
                    if fresh != 0 {
                        self.carries[to as usize] |= fresh;
                        if !std::mem::replace(&mut self.queued[to as usize], true) {
                            self.queue.push(to);
                        }
                    }
                }
            }
            self.next_wave(wave);
        }
    }

    /// Adds the pairs of successive links that some class has data for.
    fn depend(&self, graph: &mut Dependencies) {
        for (index, link) in self.view.links.iter().enumerate() {
            let via = self.uses[index] & self.carries[link.from as usize];
            if via == 0 {
                continue;
            }
            let onward = &self.uses[self.view.links_of(link.to as usize)];
            wait(graph.row_mut(index), via, onward);
        }
    }

    /// Finds the classes whose data comes over each half of each link: from the switches with HFIs
    /// onwards.
    fn carry_in_halves(&mut self, data: u64) {
        let view = self.view;
        let mut open: Vec<u32> = Vec::new();
        for (index, link) in view.links.iter().enumerate() {
            let fresh = data & self.uses[index];
            if view.sends[link.from as usize] && view.is_entered(index) && fresh != 0 {
                self.over[index] = fresh;
                open.push(index as u32);
            }
        }
        while let Some(index) = open.pop() {
            let index = index as usize;
            let onward = view.links_of(view.links[index].to as usize);
            for next in onward.filter(|next| view.leads_to_half(index, *next)) {
                let fresh = self.over[index] & self.uses[next] & !self.over[next];
                if fresh != 0 {
                    self.over[next] |= fresh;
                    open.push(next as u32);
                }
            }
        }
    }

    /// Adds the pairs of successive halves of links that some class has data for.
    fn depend_in_halves(&self, graph: &mut Dependencies) {
        let view = self.view;
        for (index, link) in view.links.iter().enumerate() {
            let row = graph.row_mut(index);
            for (place, next) in view.links_of(link.to as usize).enumerate() {
                let waits = self.over[index] & self.uses[next] != 0;
                let waits = waits && view.leads_to_half(index, next);
                row[place / 64] |= u64::from(waits) << (place % 64);
            }
        }
    }

    /// The classes just followed whose data takes any of these pairs of links.
    pub(super) fn users(&self, pairs: &Dependencies) -> u64 {
        let mut users = 0;
        for (index, link) in self.view.links.iter().enumerate() {
            let via = match self.view.has_halves {
                true => self.over[index],
                false => self.uses[index] & self.carries[link.from as usize],
            };
            for next in pairs.successors(self.view, index) {
                users |= via & self.uses[next];
            }
        }
        users
    }

    fn report(&self, classes: &[Class], looping: u64, shown: &mut Shown) {
        shown.looping.extend(chosen(classes, looping));
        for (switch, &dropped) in self.dropped.iter().enumerate() {
            if dropped != 0 {
                let part = self.view.part[switch];
                let here = |class: &Class| self.view.part[class.target as usize] == part;
                let wrong = dropped & mask(classes, here);
                shown
                    .dropped
                    .extend(chosen(classes, wrong).map(|class| (switch as u32, class)));
            }
        }
    }
}

/// Reads a switch's entries for the classes: by port, those that go there, except
/// local deliveries.
pub(super) fn read(tables: &Tables<'_>, spans: &Spans, switch: usize, by_port: &mut [u64; 256]) {
    let row = tables.linear.row(SwitchIndex(switch as u32));
    spans.forwarded(row, switch, by_port);
    for span in spans.at(switch) {
        delivery(row, span, by_port);
    }
    grouped(tables, switch, spans, by_port);
}

/// Adds to the row of a link the links onward that take some of the classes that come over it.
#[inline]
pub(super) fn wait(row: &mut [u64], via: u64, onward: &[u64]) {
    for (word, uses) in row.iter_mut().zip(onward.chunks(64)) {
        let bits = uses.iter().enumerate();
        *word |= bits.fold(0, |row, (bit, uses)| {
            row | u64::from(uses & via != 0) << bit
        });
    }
}

fn mask(classes: &[Class], is: impl Fn(&Class) -> bool) -> u64 {
    let bits = classes.iter().enumerate();
    bits.fold(0, |mask, (bit, class)| mask | u64::from(is(class)) << bit)
}

fn chosen(classes: &[Class], mask: u64) -> impl Iterator<Item = Class> + '_ {
    let bits = classes.iter().enumerate();
    bits.filter(move |(bit, _)| mask >> bit & 1 == 1)
        .map(|(_, class)| *class)
}

/// Marks the ports of a span's entries at the switch that it is on: only what does not go to its
/// port counts.
fn delivery(row: &[u8], span: &Span, by_port: &mut [u64; 256]) {
    for lid in span.start..span.end {
        let port = row.get(lid as usize).copied().unwrap_or(UNREACHABLE);
        if port != span.port {
            by_port[usize::from(port)] |= span.bit;
        }
    }
}

/// Marks the ports of adaptive groups: the classes of each group first, which are read as entries
/// are, then its ports once for all of them.
fn grouped(tables: &Tables<'_>, switch: usize, spans: &Spans, by_port: &mut [u64; 256]) {
    let Some(groups) = tables.groups.switches.get(switch) else {
        return;
    };
    if groups.groups.is_empty() {
        return;
    }
    let mut by_group = [0u64; 256];
    spans.forwarded(&groups.fdb, switch, &mut by_group);
    for span in spans.at(switch) {
        let end = (span.end as usize).min(groups.fdb.len());
        let start = (span.start as usize).min(end);
        let own = groups.fdb[start..end].iter();
        own.for_each(|group| by_group[usize::from(*group)] |= span.bit);
    }
    by_group[usize::from(UNREACHABLE)] = 0;
    let used = groups.groups.iter().zip(by_group);
    for (ports, bits) in used.filter(|(_, bits)| *bits != 0) {
        for port in ports.iter() {
            by_port[usize::from(port.0)] |= bits;
        }
    }
}
