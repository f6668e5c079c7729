//! Destinations in classes: all LIDs of a class are followed together, as if each of them could
//! take any step that one of them takes.
//!
//! One class for all HFIs of a switch is quick, and its proof holds for every LID of it. If
//! it finds a loop or a cycle, that may come from mixing LIDs: then each LID is its own class,
//! which is exact.

use weft_fabric::UNREACHABLE;

use super::view::View;

/// Classes in one tile: one bit each in a word.
pub(super) const TILE: usize = 64;

/// Some LIDs at one switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    /// The switch that they are on.
    pub(super) target: u32,
    /// Data traffic goes there.
    pub(super) is_data: bool,
    /// Its ends, as a range in [`View::ends`].
    pub(super) first_end: u32,
    pub(super) last_end: u32,
    /// Only this LID of the one end.
    pub(super) lid: Option<u32>,
}

/// Successive LIDs at one port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Bit of the class in its tile.
    pub(super) bit: u64,
    /// First LID.
    pub(super) start: u32,
    /// One past the last.
    pub(super) end: u32,
    /// The port at the target that leads there.
    pub(super) port: u8,
    /// The switch that they are on.
    pub(super) target: u32,
}

/// One class for the HFIs of each switch, one for the switch itself; in order of LID.
pub(super) fn coarse(view: &View) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for (index, end) in view.ends.iter().enumerate() {
        let index = index as u32;
        match classes.last_mut() {
            Some(last) if last.target == end.switch && last.is_data && end.is_hfi() => {
                last.last_end = index + 1;
            }
            _ => classes.push(Class {
                target: end.switch,
                is_data: end.is_hfi(),
                first_end: index,
                last_end: index + 1,
                lid: None,
            }),
        }
    }
    classes.sort_by_key(|class| (!class.is_data, view.ends[class.first_end as usize].lid));
    classes
}

/// Every LID of some classes on its own.
pub(super) fn fine(view: &View, classes: &[Class]) -> Vec<Class> {
    let mut single = Vec::new();
    for class in classes {
        for end in class.first_end..class.last_end {
            let data = view.ends[end as usize];
            let own = data.lid..data.lid + data.lids;
            let lids = class.lid.map_or(own, |lid| lid..lid + 1);
            single.extend(lids.map(|lid| Class {
                first_end: end,
                last_end: end + 1,
                lid: Some(lid),
                ..*class
            }));
        }
    }
    single
}

impl Class {
    /// Its LIDs.
    pub(super) fn lids<'a>(&'a self, view: &'a View) -> impl Iterator<Item = u32> + 'a {
        let mut spans = Vec::new();
        self.spans(view, 1, &mut spans);
        spans.into_iter().flat_map(|span| span.start..span.end)
    }

    /// Adds its spans to a tile's.
    pub(super) fn spans(&self, view: &View, bit: u64, spans: &mut Vec<Span>) {
        for end in &view.ends[self.first_end as usize..self.last_end as usize] {
            let all = (end.lid, end.lid + end.lids);
            let (start, stop) = self.lid.map_or(all, |lid| (lid, lid + 1));
            spans.push(Span {
                bit,
                start,
                end: stop,
                port: end.port,
                target: end.switch,
            });
        }
    }
}

/// The LIDs of a tile's classes.
pub(super) struct Spans {
    /// One for each end, by switch.
    ports: Vec<Span>,
    /// Joined where LIDs follow each other, whatever port they are at.
    long: Vec<Span>,
    /// Single LIDs: class, LID and switch.
    single: Vec<(u64, u32, u32)>,
}

impl Spans {
    pub(super) fn new(view: &View, classes: &[Class]) -> Self {
        let mut ports = Vec::new();
        for (index, class) in classes.iter().enumerate() {
            class.spans(view, 1 << index, &mut ports);
        }
        let (single, long) = joined(&ports)
            .into_iter()
            .partition(|span| span.end - span.start == 1);
        let single: Vec<Span> = single;
        let single = single
            .iter()
            .map(|span| (span.bit, span.start, span.target));
        ports.sort_by_key(|span| span.target);
        Self {
            ports,
            long,
            single: single.collect(),
        }
    }

    /// Those on a switch.
    pub(super) fn at(&self, switch: usize) -> &[Span] {
        let first = self
            .ports
            .partition_point(|span| (span.target as usize) < switch);
        let rest = &self.ports[first..];
        &rest[..rest.partition_point(|span| span.target as usize == switch)]
    }

    /// Marks the ports to which a switch's row sends LIDs on other switches; entries beyond the
    /// row drop.
    #[inline]
    pub(super) fn forwarded(&self, row: &[u8], switch: usize, by_port: &mut [u64; 256]) {
        for &(bit, lid, target) in &self.single {
            let port = row.get(lid as usize).copied().unwrap_or(UNREACHABLE);
            let elsewhere = u64::from(target as usize != switch).wrapping_neg();
            by_port[usize::from(port)] |= bit & elsewhere;
        }
        // Neighbouring spans often have the same entries.
        let mut last: (&[u8], u64) = (&[], 0);
        for span in self
            .long
            .iter()
            .filter(|span| span.target as usize != switch)
        {
            let end = (span.end as usize).min(row.len());
            let start = (span.start as usize).min(end);
            let entries = &row[start..end];
            if entries.first() == last.0.first() && entries == last.0 {
                last.1 |= span.bit;
            } else {
                mark(last, by_port);
                last = (entries, span.bit);
            }
            if end < span.end as usize {
                by_port[usize::from(UNREACHABLE)] |= span.bit;
            }
        }
        mark(last, by_port);
    }
}

/// Marks the ports of some entries; often all are the same.
#[inline]
fn mark((entries, bits): (&[u8], u64), by_port: &mut [u64; 256]) {
    let Some((&first, rest)) = entries.split_first() else {
        return;
    };
    by_port[usize::from(first)] |= bits;
    if *rest != entries[..rest.len()] {
        rest.iter()
            .for_each(|port| by_port[usize::from(*port)] |= bits);
    }
}

/// Spans joined where LIDs follow each other, whatever port they are at.
fn joined(spans: &[Span]) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if last.bit == span.bit && last.end == span.start => last.end = span.end,
            _ => joined.push(*span),
        }
    }
    joined
}
