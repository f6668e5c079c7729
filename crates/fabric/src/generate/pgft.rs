//! Parallel-ports generalised fat trees, PGFT(h; m; w; p) of Zahavi ("Fat-tree routing and node
//! ordering providing contention free traffic for MPI global collectives", 2010).

use std::ops::Range;

use weft_wire::enums::LinkWidth;

use super::{GenerateError, HOSTS_MAX, LINKS_MAX, RADIX_MAX, SWITCHES_MAX, in_range};
use crate::cabling::Cabling;
use crate::topology::{NodeId, Topology};

/// A tree of `height` tiers of switches over its hosts.
///
/// A switch of tier l has `children[l-1]` children and, below the top, `parents[l]` parents, with
/// `links[l-1]` and `links[l]` cables to each. Its ports to child c are `1 + c + k·children`,
/// k = 0 … links - 1; those to its parents follow in the same pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pgft {
    /// m: children of a node of each tier, from the hosts up.
    pub children: Vec<u32>,
    /// w: parents of a node below each tier.
    pub parents: Vec<u32>,
    /// p: cables between a node and each of its parents.
    pub links: Vec<u32>,
    /// Ports of a switch.
    pub radix: u8,
    /// Hosts, when fewer than fit: the last places stay empty, and edge switches without any host
    /// are left out.
    pub hosts: Option<u64>,
}

impl Pgft {
    /// Tiers of switches.
    pub fn height(&self) -> usize {
        self.children.len()
    }

    /// The fabric.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] when the parameters do not fit each other or a limit.
    pub fn generate(&self) -> Result<Topology, GenerateError> {
        let hosts = self.check()?;
        let mut cabling = Cabling::with_capacity(hosts as usize);
        let mut below = Vec::with_capacity(hosts as usize);
        for _ in 0..hosts {
            below.push(Some(cabling.add_hfi()?));
        }
        for tier in 1..=self.height() {
            let switches = self.add_tier(&mut cabling, tier, hosts)?;
            self.connect_tier(&mut cabling, tier, &below, &switches)?;
            below = switches;
        }
        Ok(cabling.build()?)
    }

    fn check(&self) -> Result<u64, GenerateError> {
        let height = self.height() as u64;
        in_range("height of the tree", height, 1, 8)?;
        in_range(
            "number of values in parents",
            self.parents.len() as u64,
            height,
            height,
        )?;
        in_range(
            "number of values in links",
            self.links.len() as u64,
            height,
            height,
        )?;
        for value in [&self.children, &self.parents, &self.links] {
            for &one in value {
                in_range("a value of the tree", one.into(), 1, HOSTS_MAX)?;
            }
        }
        // An HFI has one port.
        in_range("parents of a host", self.parents[0].into(), 1, 1)?;
        in_range("cables of a host", self.links[0].into(), 1, 1)?;
        self.check_radix()?;
        self.check_size()
    }

    fn check_radix(&self) -> Result<(), GenerateError> {
        in_range("radix", self.radix.into(), 1, RADIX_MAX.into())?;
        for tier in 1..=self.height() {
            let used = self.down_ports(tier) + self.up_ports(tier);
            in_range("ports that a switch needs", used, 1, self.radix.into())?;
        }
        Ok(())
    }

    fn check_size(&self) -> Result<u64, GenerateError> {
        let capacity = self.tier_size(0);
        let hosts = self.hosts.unwrap_or(capacity);
        in_range("number of hosts", hosts, 1, capacity.min(HOSTS_MAX))?;
        let switches = (1..=self.height())
            .map(|tier| self.tier_size(tier))
            .fold(0, u64::saturating_add);
        in_range("number of switches", switches, 1, SWITCHES_MAX)?;
        let links = (1..=self.height())
            .map(|tier| self.tier_size(tier).saturating_mul(self.down_ports(tier)))
            .fold(0, u64::saturating_add);
        in_range("number of links", links, 1, LINKS_MAX)?;
        Ok(hosts)
    }

    fn down_ports(&self, tier: usize) -> u64 {
        u64::from(self.children[tier - 1]) * u64::from(self.links[tier - 1])
    }

    fn up_ports(&self, tier: usize) -> u64 {
        match (self.parents.get(tier), self.links.get(tier)) {
            (Some(&parents), Some(&links)) => u64::from(parents) * u64::from(links),
            _ => 0,
        }
    }

    /// The radices of a node's digits in its tier, the fastest first: which of the parallel trees
    /// it is in for the tiers up to its own, which of the subtrees above.
    fn digits(&self, tier: usize) -> impl Iterator<Item = u64> + '_ {
        let own = self.parents.iter().take(tier);
        own.chain(self.children.iter().skip(tier))
            .map(|&digit| digit.into())
    }

    /// Nodes of a tier; 0 is that of the hosts.
    fn tier_size(&self, tier: usize) -> u64 {
        self.digits(tier).fold(1, u64::saturating_mul)
    }

    fn add_tier(
        &self,
        cabling: &mut Cabling,
        tier: usize,
        hosts: u64,
    ) -> Result<Vec<Option<NodeId>>, GenerateError> {
        let name = self.tier_name(tier);
        let used = |index: u64| tier > 1 || index * u64::from(self.children[0]) < hosts;
        (0..self.tier_size(tier))
            .map(|index| {
                used(index)
                    .then(|| cabling.add_switch(&format!("{name}{}", index + 1), self.radix, None))
                    .transpose()
            })
            .collect::<Result<_, _>>()
            .map_err(GenerateError::from)
    }

    fn tier_name(&self, tier: usize) -> String {
        match (tier, self.height()) {
            (1, _) => "edge".to_owned(),
            (_, height) if tier == height => "core".to_owned(),
            (_, 3) => "spine".to_owned(),
            _ => format!("spine{tier}-"),
        }
    }

    /// Cables between the nodes of tier - 1 and those of a tier: two are neighbours when they
    /// differ in no digit but that of the tier.
    fn connect_tier(
        &self,
        cabling: &mut Cabling,
        tier: usize,
        below: &[Option<NodeId>],
        switches: &[Option<NodeId>],
    ) -> Result<(), GenerateError> {
        let inner: u64 = self.digits(tier).take(tier - 1).product();
        let [children, parents] = [self.children[tier - 1], self.parents[tier - 1]];
        for (lower, child) in below.iter().enumerate() {
            let (rest, low) = (lower as u64 / inner, lower as u64 % inner);
            let [digit, high] = [rest % u64::from(children), rest / u64::from(children)];
            for parent in 0..u64::from(parents) {
                let upper = low + inner * (parent + u64::from(parents) * high);
                let above = switches.get(upper as usize).copied().flatten();
                if let (Some(child), Some(above)) = (*child, above) {
                    self.cables(cabling, tier, (child, parent), (above, digit))?;
                }
            }
        }
        Ok(())
    }

    fn cables(
        &self,
        cabling: &mut Cabling,
        tier: usize,
        (child, parent): (NodeId, u64),
        (above, digit): (NodeId, u64),
    ) -> Result<(), GenerateError> {
        let first_up = if tier == 1 {
            1
        } else {
            1 + self.down_ports(tier - 1)
        };
        let up = ports(
            first_up + parent,
            self.parents[tier - 1],
            self.links[tier - 1],
        );
        let down = ports(1 + digit, self.children[tier - 1], self.links[tier - 1]);
        for (up, down) in up.zip(down) {
            cabling.connect((child, up), (above, down), LinkWidth::X4)?;
        }
        Ok(())
    }
}

/// Ports of parallel cables; [`Pgft::check_radix`] holds them below 255.
fn ports(first: u64, stride: u32, links: u32) -> impl Iterator<Item = u8> {
    let range: Range<u64> = 0..links.into();
    range.map(move |link| (first + link * u64::from(stride)) as u8)
}
