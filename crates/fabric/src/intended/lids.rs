//! LIDs of a topology file, which `LidStrategy` topology gives to the fabric.

use weft_wire::id::{Lid, Lmc, PortNum};

use super::{Intended, IntendedError};
use crate::topology::Node;

impl Intended {
    /// Base LID and LMC of a node's port, port 0 for a switch; none where the file has none.
    pub fn lids(&self, node: u32, port: PortNum) -> Option<(Lid, Lmc)> {
        self.lids.get(&(node, port)).copied()
    }

    /// The node that a device is: by its GUID or that of an HFI in whose place it is, else the first one of its description and kind, as opa-fm looks it up
    /// for LIDs (`sm_get_exp_lid_lmc` in `sm_utility.c`).
    pub fn device(&self, node: &Node) -> Option<u32> {
        let named = || self.named(&node.description, node.info.node_type).next();
        self.node_of(node).or_else(named)
    }

    /// The lowest base LID up to `highest` of a range that no port of the file has, none where there is none.
    pub fn free_lid(&self, lmc: Lmc, highest: Lid) -> Option<Lid> {
        let step = lmc.lids();
        let mut base = step;
        for (from, to) in self.ranges() {
            if base + step <= from {
                break;
            }
            base = base.max(to.next_multiple_of(step));
        }
        (base + step - 1 <= highest.0).then_some(Lid(base))
    }

    /// Checks that the LIDs can be given: every switch and HFI has some, none twice. Returns the line of a node with
    /// its error.
    ///
    /// # Errors
    /// [`IntendedError::NoLid`], [`IntendedError::BadLid`], [`IntendedError::LidTaken`].
    pub fn check_lids(&self, highest: Lid) -> Result<(), (u64, IntendedError)> {
        let line = |node: u32| self.nodes[node as usize].line;
        for node in 0..self.nodes.len() as u32 {
            let ports = match self.nodes[node as usize].is_switch() {
                true => PortNum(0)..=PortNum(0),
                false => PortNum(1)..=PortNum(u8::MAX),
            };
            let (start, end) = ports.into_inner();
            if self
                .lids
                .range((node, start)..=(node, end))
                .next()
                .is_none()
            {
                return Err((line(node), IntendedError::NoLid(self.name(node))));
            }
        }
        for ((node, _), (lid, lmc)) in &self.lids {
            let fits = lmc.0 <= 7 && lid.0 != 0 && lid.0.is_multiple_of(lmc.lids());
            if !fits || u64::from(lid.0) + u64::from(lmc.lids()) - 1 > u64::from(highest.0) {
                let (node_name, lid) = (self.name(*node), *lid);
                let lmc = lmc.0;
                let error = IntendedError::BadLid {
                    node: node_name,
                    lid,
                    lmc,
                    highest,
                };
                return Err((line(*node), error));
            }
        }
        self.check_taken()
            .map_err(|(node, error)| (line(node), error))
    }

    fn check_taken(&self) -> Result<(), (u32, IntendedError)> {
        let mut all: Vec<(u32, u32, u32)> = self
            .lids
            .iter()
            .map(|((node, _), (lid, lmc))| (lid.0, lmc.lids(), *node))
            .collect();
        all.sort_unstable();
        let overlap = all
            .windows(2)
            .find(|pair| pair[0].0 + pair[0].1 > pair[1].0);
        match overlap {
            Some(&[(_, _, first), (lid, _, second)]) => {
                let (node, other) = (self.name(second), self.name(first));
                let lid = Lid(lid);
                Err((second, IntendedError::LidTaken { node, lid, other }))
            }
            _ => Ok(()),
        }
    }

    /// The LIDs of each port from the first to beyond the last, in order.
    fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let all = self.lids.values();
        let mut ranges: Vec<(u32, u32)> = all
            .map(|(lid, lmc)| (lid.0, lid.0.saturating_add(lmc.lids())))
            .collect();
        ranges.sort_unstable();
        ranges.into_iter()
    }
}
