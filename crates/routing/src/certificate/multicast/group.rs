//! Judges the rows of one group.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{
    Lid, MulticastTables, NodeId, PortMask, PortNum, PortRef, SwitchIndex, Topology,
};

use super::MulticastCertificate;
use super::cables::{Cables, Far, Sets};
use super::finding::MulticastFinding;
use crate::certificate::view::far_end;
use crate::multicast::MulticastGroup;

/// Requirements of a group on switches: MTU in bytes, rate in Mb/s, rows.
type Needs = (u32, u32, u32);

/// A cable of a group's tree from the side of one switch.
#[derive(Debug, Clone, Copy)]
struct Branch {
    port: PortNum,
    to: usize,
    back: PortNum,
}

/// Judges groups one after the other.
pub(super) struct Judge<'a> {
    topology: &'a Topology,
    cables: &'a Cables,
    tables: &'a MulticastTables,
    sets: Sets,
    /// Switches that links with enough capacity join.
    able: BTreeMap<Needs, Vec<u32>>,
    branches: Vec<Vec<Branch>>,
}

/// A group's members.
struct Members {
    /// By switch and port of the switch.
    receivers: Vec<(usize, PortNum, PortRef)>,
    /// Members of any kind, by switch.
    at: Vec<u64>,
    /// Receivers, by switch.
    receiving: Vec<u64>,
}

impl Members {
    fn is_receiver(&self, switch: usize, port: PortNum, end: PortRef) -> bool {
        self.receivers.binary_search(&(switch, port, end)).is_ok()
    }
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        topology: &'a Topology,
        cables: &'a Cables,
        tables: &'a MulticastTables,
    ) -> Self {
        Self {
            topology,
            cables,
            tables,
            sets: Sets::new(cables.len()),
            able: BTreeMap::new(),
            branches: vec![Vec::new(); cables.len()],
        }
    }

    pub(super) fn group(
        &mut self,
        group: &MulticastGroup,
        certificate: &mut MulticastCertificate,
        findings: &mut Vec<MulticastFinding>,
    ) {
        let Some(row) = group.row() else {
            return;
        };
        let members = self.members(group);
        let needs = self.needs(group, row);
        self.read(group.mlid, row, &members, needs, findings);
        let (tables, cables) = (self.tables, self.cables);
        if let Some(on_it) = cables.circle(&mut self.sets, |switch| mask(tables, switch, row)) {
            let switch = self.node(on_it);
            findings.push(MulticastFinding::Circle {
                mlid: group.mlid,
                switch,
            });
            return;
        }
        self.judge_members(group, row, &members, needs, findings);
        certificate.groups += 1;
        certificate.receivers += members.receivers.len() as u64;
        certificate.cables += self
            .branches
            .iter()
            .map(|list| list.len() as u64)
            .sum::<u64>()
            / 2;
    }

    fn node(&self, switch: usize) -> NodeId {
        self.topology
            .switches()
            .get(switch)
            .copied()
            .unwrap_or(NodeId(0))
    }

    fn needs(&self, group: &MulticastGroup, row: u32) -> Needs {
        let fitting = self.cables.caps.iter().copied().filter(|cap| *cap > row);
        (
            group.mtu.bytes(),
            group.rate_mbps,
            fitting.min().unwrap_or(u32::MAX),
        )
    }

    fn members(&self, group: &MulticastGroup) -> Members {
        let switches = self.cables.len();
        let mut members = Members {
            receivers: Vec::new(),
            at: vec![0; switches],
            receiving: vec![0; switches],
        };
        for end in &group.receivers {
            if let Some((switch, port)) = self.attachment(*end) {
                members.receivers.push((switch, port, *end));
                members.at[switch] += 1;
                members.receiving[switch] += 1;
            }
        }
        for (switch, _) in group.senders.iter().filter_map(|end| self.attachment(*end)) {
            members.at[switch] += 1;
        }
        members.receivers.sort_unstable();
        members
    }

    /// The switch and the port of it at which an end port is.
    fn attachment(&self, end: PortRef) -> Option<(usize, PortNum)> {
        if let Some(own) = self.topology.switch_index(end.node) {
            return (end.port == PortNum(0)).then_some((own.0 as usize, end.port));
        }
        let far = far_end(self.topology, end)?;
        let switch = self.topology.switch_index(far.node)?;
        Some((switch.0 as usize, far.port))
    }

    /// Reads the rows: the cables in them, and ports that should not be there.
    fn read(
        &mut self,
        mlid: Lid,
        row: u32,
        members: &Members,
        needs: Needs,
        findings: &mut Vec<MulticastFinding>,
    ) {
        self.branches.iter_mut().for_each(Vec::clear);
        for from in 0..self.cables.len() {
            let switch = self.node(from);
            for port in mask(self.tables, from, row).iter() {
                match self.cables.far(from, port) {
                    Far::Nothing => {
                        findings.push(MulticastFinding::DeadPort { mlid, switch, port })
                    }
                    Far::End(end) if !members.is_receiver(from, port, end) => {
                        findings.push(MulticastFinding::Stranger { mlid, port: end });
                    }
                    Far::End(_) => {}
                    Far::Switch {
                        to,
                        port: back,
                        mtu_bytes,
                        rate_mbps,
                    } => {
                        let (to, back) = (to as usize, PortNum(back));
                        let fits = |switch: usize| self.cables.caps[switch] >= needs.2;
                        if mtu_bytes < needs.0 || rate_mbps < needs.1 || !fits(from) || !fits(to) {
                            findings.push(MulticastFinding::TooSmall { mlid, switch, port });
                        }
                        let told = mask(self.tables, to, row).contains(back);
                        if !told || (from, port) < (to, back) {
                            self.branches[from].push(Branch { port, to, back });
                            self.branches[to].push(Branch {
                                port: back,
                                to: from,
                                back: port,
                            });
                        }
                    }
                }
            }
        }
    }

    fn judge_members(
        &mut self,
        group: &MulticastGroup,
        row: u32,
        members: &Members,
        needs: Needs,
        findings: &mut Vec<MulticastFinding>,
    ) {
        let mlid = group.mlid;
        let able = self.able(needs).to_vec();
        for (switch, port, end) in &members.receivers {
            let held = mask(self.tables, *switch, row).contains(*port);
            if !held && self.cables.caps[*switch] >= needs.2 {
                findings.push(MulticastFinding::NotDelivered { mlid, port: *end });
            }
        }
        // Senders need not be connected if there is no receiver.
        let switches = 0..members.at.len();
        let receive: BTreeSet<u32> = switches
            .clone()
            .filter(|switch| members.receiving[*switch] > 0)
            .map(|switch| able[switch])
            .collect();
        let mut first_of: BTreeMap<u32, usize> = BTreeMap::new();
        for switch in
            switches.filter(|switch| members.at[*switch] > 0 && receive.contains(&able[*switch]))
        {
            let first = *first_of.entry(able[switch]).or_insert(switch);
            if self.sets.find(first) != self.sets.find(switch) {
                let (first, second) = (self.node(first), self.node(switch));
                findings.push(MulticastFinding::Apart {
                    mlid,
                    first,
                    second,
                });
            }
        }
        let mut seen = vec![false; members.at.len()];
        for switch in first_of.into_values() {
            self.judge_tree(group, row, switch, members, &mut seen, findings);
        }
    }

    /// Walks the tree from a switch and determines for each cable the traffic required of both sides.
    fn judge_tree(
        &self,
        group: &MulticastGroup,
        row: u32,
        root: usize,
        members: &Members,
        seen: &mut [bool],
        findings: &mut Vec<MulticastFinding>,
    ) {
        let order = self.preorder(root, seen);
        let (mut at, mut receiving) = (members.at.clone(), members.receiving.clone());
        for (switch, up) in order.iter().rev() {
            if let Some(up) = up {
                at[up.to] += at[*switch];
                receiving[up.to] += receiving[*switch];
            }
        }
        let mlid = group.mlid;
        let mut ask = |switch: usize, port: PortNum| {
            if !mask(self.tables, switch, row).contains(port) {
                let switch = self.node(switch);
                findings.push(MulticastFinding::NotForwarded { mlid, switch, port });
            }
        };
        for (switch, up) in &order {
            let Some(up) = up else { continue };
            let (inside, outside) = (at[*switch], at[root] - at[*switch]);
            if outside > 0 && receiving[*switch] > 0 {
                ask(up.to, up.back);
            }
            if inside > 0 && receiving[root] > receiving[*switch] {
                ask(*switch, up.port);
            }
        }
    }

    /// The switches of a tree from its root on, each with its branch towards the root.
    fn preorder(&self, root: usize, seen: &mut [bool]) -> Vec<(usize, Option<Branch>)> {
        let mut order: Vec<(usize, Option<Branch>)> = vec![(root, None)];
        seen[root] = true;
        let mut next = 0;
        while let Some((switch, _)) = order.get(next).copied() {
            next += 1;
            for branch in &self.branches[switch] {
                if !std::mem::replace(&mut seen[branch.to], true) {
                    let up = Branch {
                        port: branch.back,
                        to: switch,
                        back: branch.port,
                    };
                    order.push((branch.to, Some(up)));
                }
            }
        }
        order
    }

    /// For each switch the lowest one that links with enough capacity join it to.
    fn able(&mut self, needs: Needs) -> &[u32] {
        let cables = self.cables;
        self.able.entry(needs).or_insert_with(|| {
            let mut sets = Sets::new(cables.len());
            let fits = |switch: usize| cables.caps[switch] >= needs.2;
            for from in (0..cables.len()).filter(|from| fits(*from)) {
                for port in (0..=u8::MAX).map(PortNum) {
                    if let Far::Switch {
                        to,
                        mtu_bytes,
                        rate_mbps,
                        ..
                    } = cables.far(from, port)
                        && mtu_bytes >= needs.0
                        && rate_mbps >= needs.1
                        && fits(to as usize)
                    {
                        sets.join(from, to as usize);
                    }
                }
            }
            (0..cables.len())
                .map(|switch| sets.find(switch) as u32)
                .collect()
        })
    }
}

fn mask(tables: &MulticastTables, switch: usize, row: u32) -> PortMask {
    let rows = tables.row(SwitchIndex(switch as u32));
    rows.get(row as usize).copied().unwrap_or_default()
}
