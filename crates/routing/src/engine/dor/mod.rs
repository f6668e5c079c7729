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
use crate::network::Network;
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
        let ways: Vec<(usize, Option<Ways>)> = first
            .into_iter()
            .chain(later)
            .map(|target| (target, grid.ways(network, target)))
            .collect();
        self.place(network, &grid, ways)
    }
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
        ways: Vec<(usize, Option<Ways>)>,
    ) -> Result<Plan, String> {
        let Layout { lanes, datelines } = self.layout(network, grid);
        let channels = match &datelines {
            Some(datelines) => Channels::halves(network, datelines),
            None => Channels::whole(network),
        };
        let mut placing = Placing::over(network, channels, lanes);
        let mut detours = Detours::new(network, lanes - 1);
        let (straight, around): (Vec<_>, Vec<_>) =
            ways.iter().partition(|(_, ways)| ways.is_some());
        let own = if around.is_empty() {
            lanes
        } else {
            (lanes - 1).max(1)
        };
        let straight = straight
            .iter()
            .filter_map(|(target, ways)| Some((*target, ways.as_ref()?)));
        let fits = straight
            .into_iter()
            .all(|(target, ways)| detours.try_switch(&mut placing, ways, target, own))
            && around
                .iter()
                .all(|(target, _)| detours.all(&mut placing, *target));
        if !fits {
            return Err(self.too_few(grid, !around.is_empty()));
        }
        placing.cover_answers();
        let choices = match self.adaptive {
            true => {
                let targets = ways.iter().map(|(target, _)| *target);
                let ways: BTreeMap<usize, &Option<Ways>> =
                    ways.iter().map(|(target, ways)| (*target, ways)).collect();
                let ways = |target| ways.get(&target).copied().cloned().flatten();
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
            let own = own.with_datelines(Arc::new(datelines), lanes as u8);
            linear = linear.with_lanes(Arc::new(own));
        }
        Ok(Plan {
            notes,
            choices,
            ..Plan::new(linear)
        })
    }

    /// Why destinations do not fit the lanes.
    fn too_few(&self, grid: &Grid<'_>, are_broken: bool) -> String {
        let lanes = self.lanes.max(1);
        let around = if are_broken {
            ", and as many more for the detours around broken dimensions"
        } else {
            ""
        };
        match grid.ring_count() {
            0 => format!("{lanes} lane(s) are too few: broken dimensions need one more"),
            _ => format!("{lanes} lane(s) are too few: rings need 2{around}"),
        }
    }
}

impl Grid<'_> {
    /// The paths to a switch; `None` if dimension order does not lead there from everywhere.
    fn ways(&self, network: &Network, target: usize) -> Option<Ways> {
        let mut distance = vec![FAR; network.len()];
        distance[target] = 0;
        let mut steps: Vec<Vec<(usize, Way)>> = vec![Vec::new(); network.len()];
        for from in (0..network.len()).filter(|at| self.place[*at].0 == self.place[target].0) {
            if from != target {
                (distance[from], steps[from]) = self.steps_to(network, from, target)?;
            }
        }
        let is_way = |from: usize, port: u8| {
            let mut ways = steps[from].iter();
            let links = network.egress(from);
            ways.any(|(dimension, way)| {
                let step = self.step(from, *dimension, *way).iter();
                step.into_iter()
                    .any(|link| links[usize::from(*link)].port == port)
            })
        };
        Some(Ways::new(network, &distance, |from, link| {
            is_way(from, link.port)
        }))
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
