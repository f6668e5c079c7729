//! Coordinates of each switch in a mesh or torus: found by walking along the configured pairs of ports.

use std::collections::{BTreeMap, VecDeque};

use crate::network::Network;
use crate::settings::DorSettings;

/// No link.
const NONE: u16 = u16::MAX;

/// A mesh or torus.
pub(super) struct Grid<'a> {
    pub(super) settings: &'a DorSettings,
    /// Part of the fabric and coordinates of each switch.
    pub(super) place: Vec<(u32, Vec<i32>)>,
    /// For each switch, dimension and direction the links to the next switch, a run of them.
    steps: Vec<Vec<u16>>,
    /// The cables between switches that are not of the grid, in words, the first ones only.
    pub(super) ignored: Vec<String>,
    pub(super) ignored_count: u64,
}

/// A direction along a dimension: up is towards larger coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Up,
    Down,
}

impl<'a> Grid<'a> {
    /// Finds the coordinates.
    ///
    /// # Errors
    /// When two switches would be at one place, or a dimension is longer than configured.
    pub(super) fn find(network: &Network, settings: &'a DorSettings) -> Result<Self, String> {
        let mut grid = Self {
            settings,
            place: vec![(u32::MAX, Vec::new()); network.len()],
            steps: vec![Vec::new(); network.len() * settings.dimensions.len() * 2],
            ignored: Vec::new(),
            ignored_count: 0,
        };
        for (part, start) in (0u32..).zip(0..network.len()) {
            if grid.place[start].0 == u32::MAX {
                grid.walk(network, start, part);
            }
        }
        grid.normalise();
        grid.check(network)?;
        grid.turn(network);
        grid.read_steps(network);
        Ok(grid)
    }

    /// The dimension and direction of a cable by its ports.
    fn step_of(&self, network: &Network, from: usize, index: usize) -> Option<(usize, Way)> {
        let link = &network.egress(from)[index];
        let (port, far) = (link.port, link.far_port);
        let dimensions = self.settings.dimensions.iter().enumerate();
        dimensions
            .flat_map(|(dimension, data)| data.pairs.iter().map(move |pair| (dimension, *pair)))
            .find_map(|(dimension, (up, down))| match (port, far) {
                ends if ends == (up, down) => Some((dimension, Way::Up)),
                ends if ends == (down, up) => Some((dimension, Way::Down)),
                _ => None,
            })
    }

    fn walk(&mut self, network: &Network, start: usize, part: u32) {
        let origin = vec![0; self.settings.dimensions.len()];
        self.place[start] = (part, origin);
        let mut queue = VecDeque::from([start]);
        while let Some(from) = queue.pop_front() {
            for (index, link) in network.egress(from).iter().enumerate() {
                let to = link.to as usize;
                let Some((dimension, way)) = self.step_of(network, from, index) else {
                    continue;
                };
                if self.place[to].0 == u32::MAX {
                    let next = self.beside(from, dimension, way);
                    self.place[to] = (part, next);
                    queue.push_back(to);
                }
            }
        }
    }

    /// The coordinates one step on. A pair of equal ports has no direction: it joins 0 and 1.
    fn beside(&self, from: usize, dimension: usize, way: Way) -> Vec<i32> {
        let data = &self.settings.dimensions[dimension];
        let mut next = self.place[from].1.clone();
        let both_ways = data.pairs.iter().any(|pair| pair.0 == pair.1);
        let at = &mut next[dimension];
        *at += match way {
            _ if both_ways => 1 - 2 * *at,
            Way::Up => 1,
            Way::Down => -1,
        };
        if data.toroidal {
            *at = at.rem_euclid(i32::from(data.length.max(1)));
        }
        next
    }

    /// Lets coordinates of meshes start at 0 in each part.
    fn normalise(&mut self) {
        let mut least: BTreeMap<u32, Vec<i32>> = BTreeMap::new();
        for (part, at) in &self.place {
            let least = least.entry(*part).or_insert_with(|| at.clone());
            least
                .iter_mut()
                .zip(at)
                .for_each(|(least, at)| *least = (*least).min(*at));
        }
        for (part, at) in &mut self.place {
            let least = &least[part];
            let data = self.settings.dimensions.iter();
            for ((at, least), data) in at.iter_mut().zip(least).zip(data) {
                *at -= if data.toroidal { 0 } else { *least };
            }
        }
    }

    fn check(&self, network: &Network) -> Result<(), String> {
        let mut taken: BTreeMap<&(u32, Vec<i32>), usize> = BTreeMap::new();
        for (switch, place) in self.place.iter().enumerate() {
            if let Some(other) = taken.insert(place, switch) {
                let name = |switch: usize| network.switches[switch].guid;
                return Err(format!(
                    "switches {} and {} are both at {:?}",
                    name(other),
                    name(switch),
                    place.1
                ));
            }
            let data = self.settings.dimensions.iter().zip(&place.1);
            for (number, (data, at)) in data.enumerate() {
                if *at >= i32::from(data.length) {
                    return Err(format!(
                        "dimension {number} is longer than its Length {}",
                        data.length
                    ));
                }
            }
        }
        Ok(())
    }

    fn read_steps(&mut self, network: &Network) {
        for from in 0..network.len() {
            for (index, link) in network.egress(from).iter().enumerate() {
                let to = link.to as usize;
                let step = self.step_of(network, from, index);
                let fits = step.filter(|(dimension, way)| {
                    self.beside(from, *dimension, *way) == self.place[to].1
                });
                match fits {
                    Some((dimension, way)) => {
                        let way = self.direction(from, dimension, way);
                        let slot = self.slot(from, dimension, way);
                        self.steps[slot].push(index as u16);
                    }
                    None if from < to => self.ignore(network, from, index),
                    None => {}
                }
            }
        }
        for switch in 0..network.len() {
            let egress = network.egress(switch);
            for slot in 0..self.settings.dimensions.len() * 2 {
                let links = &mut self.steps[switch * self.settings.dimensions.len() * 2 + slot];
                let rate = |link: &u16| egress[usize::from(*link)].rate;
                let best = links.iter().map(rate).max();
                links.retain(|link| Some(rate(link)) == best && *link != NONE);
            }
        }
    }

    /// The actual direction of a cable: a pair of equal ports leads in both.
    fn direction(&self, from: usize, dimension: usize, way: Way) -> Way {
        let pairs = &self.settings.dimensions[dimension].pairs;
        if pairs.iter().all(|pair| pair.0 != pair.1) {
            return way;
        }
        match self.place[from].1[dimension] {
            0 => Way::Up,
            _ => Way::Down,
        }
    }

    fn ignore(&mut self, network: &Network, from: usize, index: usize) {
        let link = &network.egress(from)[index];
        self.ignored_count += 1;
        if self.ignored.len() < self.settings.ignored_told as usize {
            let [a, b] = [from, link.to as usize].map(|at| network.switches[at].guid);
            self.ignored.push(format!(
                "{a} port {} to {b} port {}",
                link.port, link.far_port
            ));
        }
    }

    fn slot(&self, switch: usize, dimension: usize, way: Way) -> usize {
        (switch * self.settings.dimensions.len() + dimension) * 2 + way as usize
    }

    /// The switches of fault regions: those that have no neighbour along some dimension, or lack one along several.
    pub(super) fn faults(&self) -> Vec<bool> {
        let dimensions = 0..self.settings.dimensions.len();
        let last: Vec<i32> = dimensions
            .map(|dimension| {
                let places = self.place.iter().map(|(_, at)| at[dimension]);
                places.max().unwrap_or(0)
            })
            .collect();
        let switches = 0..self.place.len();
        switches
            .map(|switch| self.is_fault(switch, &last))
            .collect()
    }

    /// Whether a switch is in a fault region of a grid with these last coordinates.
    fn is_fault(&self, switch: usize, last: &[i32]) -> bool {
        let mut broken = 0;
        for (dimension, data) in self.settings.dimensions.iter().enumerate() {
            let [up, down] = [Way::Up, Way::Down];
            let [up, down] = [up, down].map(|way| !self.step(switch, dimension, way).is_empty());
            let at = self.place[switch].1[dimension];
            let is_end = |end: i32| !data.is_ring() && at == end;
            if last[dimension] > 0 && !up && !down {
                return true;
            }
            broken += u32::from(!(up || is_end(last[dimension])) || !(down || is_end(0)));
        }
        broken > 1
    }

    /// The links of one step, none where it is broken.
    pub(super) fn step(&self, switch: usize, dimension: usize, way: Way) -> &[u16] {
        &self.steps[self.slot(switch, dimension, way)]
    }
}
