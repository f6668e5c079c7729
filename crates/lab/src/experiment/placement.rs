//! Hosts of a case's own traffic and of its jobs, as a batch system gives nodes out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use weft_dataplane::Network;
use weft_dataplane::packets::Random;
use weft_dataplane::traffic::Hosts;
use weft_fabric::export::slurm::SlurmTopology;

use super::perform::ExperimentError;
use super::place::edge;
use super::placement_slurm::best_fit;
use super::scenario::{Case, Placement, PlacementKind};

/// Hosts by number, in the order in which ranks stand on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    own: Arc<[u32]>,
    /// One for each job.
    jobs: Vec<Arc<[u32]>>,
}

impl Placed {
    /// Gives out the hosts of a case: to its own traffic, then to its jobs in order. Those without a placement have
    /// all.
    ///
    /// # Errors
    /// [`ExperimentError::Hosts`] when too few are left.
    pub(super) fn new(
        network: &Network,
        hosts: &Hosts,
        case: &Case,
        seed: u64,
    ) -> Result<Self, ExperimentError> {
        let all: Arc<[u32]> = (0..hosts.len() as u32).collect();
        let mut free = Free {
            network,
            hosts,
            slurm: case.slurm.as_deref(),
            left: all.to_vec(),
            random: Random::new(seed),
        };
        let mut give = |name: &str, placement: Option<Placement>| match placement {
            None => Ok(all.clone()),
            Some(placement) => free.give(name, placement),
        };
        let own = give("the traffic", case.placement)?;
        let jobs = case.beside.iter().map(|beside| {
            let name = beside.name.as_deref().unwrap_or("the background");
            give(name, beside.placement)
        });
        Ok(Self {
            jobs: jobs.collect::<Result<_, _>>()?,
            own,
        })
    }

    /// Those of the case's own traffic.
    pub(super) fn own(&self) -> &Arc<[u32]> {
        &self.own
    }

    /// Those of the job at a place.
    pub(super) fn job(&self, place: usize) -> &Arc<[u32]> {
        self.jobs.get(place).unwrap_or(&self.own)
    }
}

/// Hosts that have not been given out.
struct Free<'a> {
    network: &'a Network,
    hosts: &'a Hosts,
    slurm: Option<&'a SlurmTopology>,
    /// In the fabric's order.
    left: Vec<u32>,
    random: Random,
}

impl Free<'_> {
    fn give(&mut self, name: &str, placement: Placement) -> Result<Arc<[u32]>, ExperimentError> {
        let there = self.left.len();
        let wanted = placement.hosts.map_or(there, |hosts| hosts as usize);
        if wanted > there || wanted < 2 {
            let all = self.hosts.len();
            let allowed = match there {
                0 | 1 => "hosts=N in the placements before it, so that 2 are left",
                _ => "2 to as many as are free",
            };
            return Err(ExperimentError::Hosts {
                what: format!(
                    "{name} is placed on {wanted} of {there} that are free, of {all}; allowed: {allowed}"
                ),
            });
        }
        let mut given = match placement.kind {
            PlacementKind::Block => self.left.clone(),
            PlacementKind::Random => self.shuffled(),
            PlacementKind::Switches => self.dealt(),
            PlacementKind::Topology => self.by_slurm(wanted)?,
        };
        given.truncate(wanted);
        let mut taken = given.clone();
        taken.sort_unstable();
        self.left.retain(|host| taken.binary_search(host).is_err());
        Ok(given.into())
    }

    fn shuffled(&mut self) -> Vec<u32> {
        let mut all = self.left.clone();
        self.random.shuffle(&mut all);
        all
    }

    /// As Slurm gives out nodes, which have the first word of their HFIs' descriptions as names.
    fn by_slurm(&self, wanted: usize) -> Result<Vec<u32>, ExperimentError> {
        let name = |host: u32| {
            let node = self.network.node_of(self.hosts.get(host)?.port);
            let description = self.network.topology().node(node)?.description.text();
            let first = description.split_whitespace().next()?;
            Some((host, first.to_owned()))
        };
        let free: Vec<(u32, String)> = self.left.iter().filter_map(|host| name(*host)).collect();
        match self.slurm {
            Some(topology) => best_fit(topology, &free, wanted),
            None => Ok(self.left.clone()),
        }
    }

    /// One of each edge switch, then another one of each, and so on.
    fn dealt(&self) -> Vec<u32> {
        let mut numbers = BTreeMap::new();
        let mut switches: Vec<VecDeque<u32>> = Vec::new();
        for host in &self.left {
            let switch = self
                .hosts
                .get(*host)
                .and_then(|one| edge(self.network, one));
            let switch = switch.map(|(switch, _)| switch);
            let number = *numbers.entry(switch).or_insert(switches.len());
            if number == switches.len() {
                switches.push(VecDeque::new());
            }
            switches[number].push_back(*host);
        }
        let mut all = Vec::new();
        while all.len() < self.left.len() {
            all.extend(switches.iter_mut().filter_map(VecDeque::pop_front));
        }
        all
    }
}
