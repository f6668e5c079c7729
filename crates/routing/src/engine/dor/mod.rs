//! `dor`: dimension by dimension through a mesh or torus.
//!
//! A route corrects its first differing coordinate first. In a ring it takes the shorter direction, or the
//! longer one if that is broken. Rings close credit cycles; they do not where packets change to another
//! half of their lane at a dateline, see [`weft_fabric::datelines`]. So all destinations are in one lane,
//! however many rings there are. Destinations that dimension order cannot reach from everywhere take
//! detours in the last lane.

mod datelines;
mod grid;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_fabric::{Datelines, Lanes};

use self::grid::{Grid, Way};
use super::lanes::{Channels, Detours, Placing, Ways};
use super::{Choices, Engine, Plan};
use crate::network::{Egress, Network};
use crate::routed::{EngineUsed, Note};
use crate::settings::DorSettings;

/// Not reached.
const FAR: u32 = u32::MAX;

/// The engine.
pub(crate) struct Dor<'a> {
    pub(crate) settings: &'a DorSettings,
    /// Lanes that it may use.
    pub(crate) lanes: u8,
    /// Find sets of ports for adaptive groups, too.
    pub(crate) adaptive: bool,
}

impl Engine for Dor<'_> {
    fn name(&self) -> EngineUsed {
        EngineUsed::Dor
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        if self.settings.dimensions.is_empty() {
            return Err("no dimension is configured".to_owned());
        }
        let grid = Grid::find(network, self.settings)?;
        let (first, later) = self.targets(network);
        let targets = first.into_iter().chain(later);
        let faults = match self.settings.fault_regions {
            true => grid.faults(),
            false => vec![false; network.len()],
        };
        let reached: Vec<Reached> = targets
            .map(|target| grid.ways(network, &faults, target))
            .collect();
        self.place(network, &grid, &reached)
    }
}

/// The paths to a switch.
struct Reached {
    target: usize,
    ways: Ways,
    /// Dimension order leads there from everywhere: there are no detours.
    is_whole: bool,
}

/// Lanes of a grid.
struct Layout {
    /// Those that LIDs can be in.
    lanes: usize,
    /// Where packets change halves; none where lanes have no halves.
    datelines: Option<Datelines>,
}

impl Dor<'_> {
    /// Switches; those with HFIs that are routed last come later.
    fn targets(&self, network: &Network) -> (Vec<usize>, Vec<usize>) {
        let is_late = |switch: &usize| {
            let mut hfis = network.hfis(*switch).iter();
            hfis.any(|end| self.settings.route_last.contains(&end.at))
        };
        (0..network.len()).partition(|switch| !is_late(switch))
    }

    /// Two virtual lanes make a lane with halves, if there are rings.
    fn layout(&self, network: &Network, grid: &Grid<'_>) -> Layout {
        let lanes = usize::from(self.lanes.max(1));
        let datelines = (grid.ring_count() > 0 && lanes > 1).then(|| grid.datelines(network));
        let lanes = match (self.settings.detour_lane, &datelines) {
            (false, _) => 1,
            (true, Some(_)) => lanes / 2,
            (true, None) => lanes,
        };
        Layout { lanes, datelines }
    }

    fn place(
        &self,
        network: &Network,
        grid: &Grid<'_>,
        reached: &[Reached],
    ) -> Result<Plan, String> {
        let Layout { lanes, datelines } = self.layout(network, grid);
        if datelines.is_some() {
            check_ports(network)?;
        }
        let channels = match &datelines {
            Some(datelines) => Channels::halves(network, datelines),
            None => Channels::whole(network),
        };
        let mut placing = Placing::over(network, channels, lanes);
        let mut detours = Detours::new(network, lanes - 1);
        if !place_all(&mut placing, &mut detours, reached, lanes) {
            return Err(self.too_few(grid));
        }
        placing.cover_answers();
        let choices = match self.adaptive {
            true => {
                let targets = reached.iter().map(|one| one.target);
                let ways: BTreeMap<usize, &Ways> =
                    reached.iter().map(|one| (one.target, &one.ways)).collect();
                let ways = |target| ways.get(&target).map(|ways| Ways::clone(ways));
                Choices::Sets(detours.sets(&mut placing, targets, ways))
            }
            false => Choices::None,
        };
        let mut notes = detours.notes();
        notes.extend((grid.ignored_count > 0).then(|| Note::LinksIgnored {
            links: grid.ignored_count,
            first: grid.ignored.join(", "),
        }));
        let mut linear = placing.finish();
        if let Some(datelines) = datelines {
            let own = Lanes::clone(linear.lanes());
            let own = own.with_datelines(Arc::new(datelines));
            linear = linear.with_lanes(Arc::new(own));
        }
        Ok(Plan {
            notes,
            choices,
            ..Plan::new(linear)
        })
    }

    /// Why destinations do not fit the lanes.
    fn too_few(&self, grid: &Grid<'_>) -> String {
        let lanes = self.lanes.max(1);
        let needed = if grid.ring_count() > 0 { 2 } else { 1 };
        format!(
            "{lanes} lane(s) are too few: {needed} are needed, {} with detours around broken \
             dimensions",
            2 * needed
        )
    }
}

/// Most egress ports of a switch whose SCtoSC maps a datagram carries: those beyond keep their channels.
const MAPPED_PORTS_MAX: u8 = 58;

/// Checks that all links between switches leave through ports that SCtoSC maps reach.
fn check_ports(network: &Network) -> Result<(), String> {
    for switch in 0..network.len() {
        let mut links = network.egress(switch).iter();
        if let Some(link) = links.find(|link| link.port > MAPPED_PORTS_MAX) {
            return Err(format!(
                "port {} of switch {} leads to a switch: with rings, ports up to {MAPPED_PORTS_MAX} can",
                link.port, network.switches[switch].guid
            ));
        }
    }
    Ok(())
}

/// Places what dimension order reaches, and then what it does not from everywhere, which leaves the last
/// lane to it; false where that closes a cycle.
fn place_all(
    placing: &mut Placing<'_>,
    detours: &mut Detours<'_>,
    reached: &[Reached],
    lanes: usize,
) -> bool {
    let (whole, around): (Vec<&Reached>, Vec<&Reached>) =
        reached.iter().partition(|one| one.is_whole);
    let own = match around.is_empty() {
        true => lanes,
        false => (lanes - 1).max(1),
    };
    let mut whole = whole.iter();
    let mut around = around.iter();
    whole.all(|one| detours.try_switch(placing, &one.ways, one.target, own))
        && around.all(|one| detours.around(placing, &one.ways, one.target))
}

impl Grid<'_> {
    /// The paths to a switch, in dimension order where that leads there, else not over `faults` that can be
    /// avoided.
    fn ways(&self, network: &Network, faults: &[bool], target: usize) -> Reached {
        let mut distance = vec![FAR; network.len()];
        distance[target] = 0;
        let mut steps: Vec<Vec<(usize, Way)>> = vec![Vec::new(); network.len()];
        let mut is_whole = true;
        for from in (0..network.len()).filter(|at| self.place[*at].0 == self.place[target].0) {
            match self.steps_to(network, from, target) {
                _ if from == target => {}
                Some((count, first)) => (distance[from], steps[from]) = (count, first),
                None => is_whole = false,
            }
        }
        let is_way = |from: usize, link: &Egress| {
            let mut ways = steps[from].iter();
            let links = network.egress(from);
            ways.any(|(dimension, way)| {
                let mut step = self.step(from, *dimension, *way).iter();
                step.any(|other| links[usize::from(*other)].port == link.port)
            })
        };
        let ways = match is_whole {
            true => Ways::new(network, &distance, is_way),
            false => Ways::with_detours(network, &distance, is_way, |switch| {
                faults[switch] && switch != target
            }),
        };
        Reached {
            target,
            ways,
            is_whole,
        }
    }

    /// Number of steps to a switch, and the candidates for the first one.
    fn steps_to(
        &self,
        network: &Network,
        from: usize,
        target: usize,
    ) -> Option<(u32, Vec<(usize, Way)>)> {
        let mut at = from;
        let mut count = 0;
        let mut first = Vec::new();
        while at != target {
            let (dimension, ways) = self.next(network, at, target)?;
            if at == from {
                first = ways.iter().map(|(way, _)| (dimension, *way)).collect();
            }
            let (way, steps) = *ways.first()?;
            for _ in 0..steps {
                at = self.beyond(network, at, dimension, way)?;
            }
            count += steps;
        }
        Some((count, first))
    }

    /// The first dimension that differs and the directions to take, with the number of steps; two
    /// directions if they are equally short.
    fn next(
        &self,
        network: &Network,
        at: usize,
        target: usize,
    ) -> Option<(usize, Vec<(Way, u32)>)> {
        let (here, there) = (&self.place[at].1, &self.place[target].1);
        let dimension = (0..here.len()).find(|dimension| here[*dimension] != there[*dimension])?;
        let data = &self.settings.dimensions[dimension];
        let gap = there[dimension] - here[dimension];
        let length = i32::from(data.length);
        let mut ways = match data.toroidal {
            true => vec![
                (Way::Up, gap.rem_euclid(length) as u32),
                (Way::Down, (-gap).rem_euclid(length) as u32),
            ],
            false if gap > 0 => vec![(Way::Up, gap as u32)],
            false => vec![(Way::Down, -gap as u32)],
        };
        ways.retain(|(way, steps)| self.leads(network, at, (dimension, *way), *steps));
        let least = ways.iter().map(|(_, steps)| *steps).min()?;
        ways.retain(|(_, steps)| *steps == least);
        Some((dimension, ways))
    }

    fn leads(
        &self,
        network: &Network,
        from: usize,
        (dimension, way): (usize, Way),
        steps: u32,
    ) -> bool {
        let mut at = Some(from);
        for _ in 0..steps {
            at = at.and_then(|at| self.beyond(network, at, dimension, way));
        }
        at.is_some()
    }

    fn beyond(&self, network: &Network, at: usize, dimension: usize, way: Way) -> Option<usize> {
        let link = self.step(at, dimension, way).first()?;
        Some(network.egress(at)[usize::from(*link)].to as usize)
    }
}
