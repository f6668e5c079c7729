//! The sets of ports that a switch could choose among.

use std::collections::BTreeMap;
use std::ops::Range;

use weft_fabric::{PortMask, PortNum};
use weft_state::State;

use crate::engine::Pruning;
use crate::network::{EndPort, Network};
use crate::paths::{Candidates, Paths};

/// Sets of at least two ports of one switch, each with the LIDs for which the switch may choose
/// any of them.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct PortSets {
    sets: BTreeMap<PortMask, Vec<Range<u32>>>,
}

impl PortSets {
    /// Lets the switch choose among some ports for some LIDs; one port is no choice.
    pub(crate) fn add(&mut self, ports: PortMask, lids: Range<u32>) {
        if ports.len() > 1 {
            push(self.sets.entry(ports).or_default(), lids);
        }
    }

    /// The sets with those of their LIDs that are below `end`, in order of ports.
    pub(super) fn below(&self, end: u32) -> Vec<(PortMask, Vec<Range<u32>>)> {
        let clip = |lids: &Range<u32>| lids.start..lids.end.min(end);
        let clip = |lids: &Vec<Range<u32>>| -> Vec<Range<u32>> {
            let clipped = lids.iter().map(clip);
            clipped.filter(|lids| !lids.is_empty()).collect()
        };
        let sets = self.sets.iter().map(|(ports, lids)| (*ports, clip(lids)));
        sets.filter(|(_, lids)| !lids.is_empty()).collect()
    }

    /// All candidates of a switch on some paths.
    pub(super) fn on_paths(
        (network, lids): (&Network, &Lids),
        (paths, pruning): (&Paths, &Pruning),
        candidates: &mut Candidates,
        switch: usize,
    ) -> Self {
        let egress = network.egress(switch);
        let order: Vec<u16> = (0..egress.len() as u16).collect();
        pruning.fill(candidates, network, paths, switch, &order);
        // By set of candidates, none where it is no choice.
        let mut spans: Vec<Option<Vec<Range<u32>>>> = (0..candidates.len() as u32)
            .map(|set| (candidates.links(set).len() > 1).then(Vec::new))
            .collect();
        for target in (0..network.len()).filter(|target| *target != switch) {
            let set = candidates.set(paths.column(target));
            if let Some(own) = &mut spans[set as usize] {
                lids.at(target).for_each(|lids| push(own, lids));
            }
        }
        let mut sets = Self::default();
        for (set, spans) in (0..).zip(spans) {
            let links = candidates.links(set).iter();
            let ports = links.map(|link| PortNum(egress[usize::from(*link)].port));
            let own = spans.map(|spans| (ports.collect(), spans));
            if let Some((ports, spans)) = own {
                sets.sets.entry(ports).or_default().extend(spans);
            }
        }
        sets
    }
}

fn push(spans: &mut Vec<Range<u32>>, lids: Range<u32>) {
    match spans.last_mut() {
        Some(last) if last.end == lids.start => last.end = lids.end,
        _ => spans.push(lids),
    }
}

/// The LIDs at each switch, HFIs' and its own.
#[derive(Debug)]
pub(super) struct Lids {
    start: Vec<u32>,
    spans: Vec<(u32, u32)>,
}

impl Lids {
    pub(super) fn new(network: &Network) -> Self {
        let mut lids = Self {
            start: vec![0],
            spans: Vec::new(),
        };
        let mut own: Vec<Range<u32>> = Vec::new();
        for switch in 0..network.len() {
            let mut ends: Vec<&EndPort> = network.hfis(switch).iter().collect();
            ends.extend(network.management(switch));
            ends.sort_by_key(|end| end.lid);
            own.clear();
            for EndPort { lid, lmc, .. } in ends {
                push(&mut own, lid.0..lid.0 + lmc.lids());
            }
            lids.spans
                .extend(own.iter().map(|own| (own.start, own.end)));
            lids.start.push(lids.spans.len() as u32);
        }
        lids
    }

    fn at(&self, switch: usize) -> impl Iterator<Item = Range<u32>> + '_ {
        let spans = self.start[switch] as usize..self.start[switch + 1] as usize;
        self.spans[spans].iter().map(|(start, end)| *start..*end)
    }
}
