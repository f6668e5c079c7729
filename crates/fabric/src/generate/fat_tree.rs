//! Fat trees by number of hosts, on switches of one kind.

use super::{GenerateError, HOSTS_MAX, Pgft, RADIX_MAX, in_range};

/// A fat tree of two or three tiers for a number of hosts.
///
/// An edge switch splits its ports between hosts and uplinks by the oversubscription. Parallel
/// links are used where they save switches at the top, unless their number is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FatTree {
    /// Number of hosts.
    pub hosts: u64,
    /// Ports of a switch.
    pub radix: u8,
    /// Tiers of switches, 2 or 3; none: 2 if that is enough.
    pub tiers: Option<u8>,
    /// Host ports for each uplink of an edge switch; 1 is full bisection.
    pub oversubscription: u8,
    /// Ports downwards for each uplink of a switch of the middle tier, where there are three; 1 is full bisection.
    pub taper: u8,
    /// Cables between a switch of the last but one tier and each core; none: as many as fit.
    pub links: Option<u32>,
}

impl FatTree {
    /// The tree's parameters.
    ///
    /// # Errors
    /// [`GenerateError::OutOfRange`] if the hosts do not fit.
    pub fn pgft(&self) -> Result<Pgft, GenerateError> {
        in_range("radix", self.radix.into(), 2, RADIX_MAX.into())?;
        in_range("number of hosts", self.hosts, 1, HOSTS_MAX)?;
        let ratio = u64::from(self.oversubscription);
        in_range("oversubscription", ratio, 1, u64::from(self.radix) - 1)?;
        let down = u64::from(self.radix) * ratio / (ratio + 1);
        let up = (down / ratio).max(1);
        let enough = if self.hosts <= down * u64::from(self.radix) {
            2
        } else {
            3
        };
        let tiers = self.tiers.unwrap_or(enough);
        match in_range("number of tiers", tiers.into(), 2, 3)? {
            2 => self.two_tiers(down, up),
            _ => self.three_tiers(down, up),
        }
    }

    fn two_tiers(&self, down: u64, up: u64) -> Result<Pgft, GenerateError> {
        let radix = u64::from(self.radix);
        in_range("taper of two tiers", self.taper.into(), 1, 1)?;
        in_range("number of hosts in two tiers", self.hosts, 1, down * radix)?;
        let edges = self.hosts.div_ceil(down);
        let links = self.parallel(up, edges)?;
        Ok(self.tree(&[down, edges], &[1, up / links], &[1, links]))
    }

    fn three_tiers(&self, down: u64, up: u64) -> Result<Pgft, GenerateError> {
        let radix = u64::from(self.radix);
        let taper = in_range("taper", self.taper.into(), 1, radix - 1)?;
        let spine_down = radix * taper / (taper + 1);
        let spine_up = (spine_down / taper).max(1);
        in_range(
            "number of hosts in three tiers",
            self.hosts,
            1,
            down * spine_down * radix,
        )?;
        let pods = self.hosts.div_ceil(down * spine_down);
        let links = self.parallel(spine_up, pods)?;
        let parents = [1, up, spine_up / links];
        Ok(self.tree(&[down, spine_down, pods], &parents, &[1, 1, links]))
    }

    /// Cables from each of `lower` switches with `up` uplinks to each core: a divisor of `up`, so
    /// that a core has ports for all.
    fn parallel(&self, up: u64, lower: u64) -> Result<u64, GenerateError> {
        let most = (u64::from(self.radix) / lower).max(1);
        let fits = |links: &u64| up.is_multiple_of(*links);
        match self.links {
            None => Ok((1..=most.min(up)).rev().find(fits).unwrap_or(1)),
            Some(links) => {
                let links = in_range("links", links.into(), 1, most.min(up))?;
                in_range("uplinks left over by links", up % links, 0, 0)?;
                Ok(links)
            }
        }
    }

    fn tree(&self, children: &[u64], parents: &[u64], links: &[u64]) -> Pgft {
        // All are at most the number of hosts, which is below 2^32.
        let narrow = |values: &[u64]| values.iter().map(|&value| value as u32).collect();
        Pgft {
            children: narrow(children),
            parents: narrow(parents),
            links: narrow(links),
            radix: self.radix,
            hosts: Some(self.hosts),
        }
    }
}
