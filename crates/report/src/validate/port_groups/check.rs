//! The ways of groups and of linear tables, followed.

use std::collections::BTreeMap;

use weft_fabric::{Guid, Lid, NodeId, PortMask, PortNum, PortRef, Snapshot, UNREACHABLE};
use weft_wire::sm::SwitchInfo;

use super::{Line, PgFinding, PgHop, PgSwitch};
use crate::tables::uses_groups;
use crate::validate::walk::{answers, is_switch};

/// Hops that opareport follows.
const HOPS_MAX: u32 = 128;

/// Something on the way does not fit, and was noted.
struct Wrong;

pub(super) struct Check<'a> {
    snapshot: &'a Snapshot,
    /// Links to each LID that are known, by switch.
    known: BTreeMap<NodeId, Vec<u8>>,
    /// GUIDs of ports by LID.
    guids: BTreeMap<u32, Guid>,
    findings: Vec<PgFinding>,
    pub(super) tested: u64,
}

/// A device behind a port.
enum Behind {
    Nothing,
    Switch(NodeId),
    Host(PortRef),
}

impl<'a> Check<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        let topology = &snapshot.topology;
        let sized = topology.switches().iter().filter_map(|id| {
            let info = topology.node(*id)?.switch.as_ref()?;
            let linear = snapshot.linear.row(topology.switch_index(*id)?).len();
            Some((
                *id,
                vec![0; linear.max(info.linear_fdb_top as usize + 1).min(1 << 20)],
            ))
        });
        let lids = topology.end_ports().flat_map(|(at, lid, lmc)| {
            let guid = topology
                .node(at.node)
                .and_then(|node| node.port_guid(at.port));
            let lids = (0..lmc.lids()).map(move |offset| lid.0 | offset);
            lids.filter_map(move |lid| Some((lid, guid?)))
        });
        Self {
            snapshot,
            known: sized.collect(),
            guids: lids.collect(),
            findings: Vec::new(),
            tested: 0,
        }
    }

    fn lid(&self, id: NodeId) -> u32 {
        let node = self.snapshot.topology.node(id);
        let port = node.and_then(|node| node.port(node.first_port()));
        port.map_or(0, |port| port.info.lid.0)
    }

    fn egress(&self, id: NodeId, dlid: u32) -> u8 {
        let switch = self.snapshot.topology.switch_index(id);
        let row = switch.map_or(&[][..], |switch| self.snapshot.linear.row(switch));
        row.get(dlid as usize).copied().unwrap_or(UNREACHABLE)
    }

    /// The group of a LID with its ports, none where it has none.
    fn group(&self, id: NodeId, dlid: u32) -> Option<PortMask> {
        let switch = self.snapshot.topology.switch_index(id)?;
        let tables = self.snapshot.groups.switches.get(switch.0 as usize)?;
        let group = *tables.fdb.get(dlid as usize)?;
        (group != UNREACHABLE).then(|| {
            tables
                .groups
                .get(usize::from(group))
                .copied()
                .unwrap_or_default()
        })
    }

    fn behind(&self, id: NodeId, port: u8) -> Behind {
        let at = PortRef {
            node: id,
            port: PortNum(port),
        };
        match self.snapshot.topology.peer(at) {
            None => Behind::Nothing,
            Some(peer) if is_switch(self.snapshot, peer.node) => Behind::Switch(peer.node),
            Some(peer) => Behind::Host(peer),
        }
    }

    fn note(&mut self, kind: &'static str, dlid: u32, what: String) {
        self.findings.push(PgFinding {
            what,
            kind,
            dlid,
            hops: Vec::new(),
        });
    }

    /// Adds a device to the way of the last finding.
    fn hop(&mut self, hop: u32, id: NodeId) {
        let node = self.snapshot.topology.node(id);
        let (guid, lid) = (node.map_or(Guid(0), |node| node.guid()), self.lid(id));
        if let Some(finding) = self.findings.last_mut() {
            finding.hops.push(PgHop { hop, guid, lid });
        }
    }

    /// Looks at a node's groups; nothing of an HFI.
    pub(super) fn switch(&mut self, id: NodeId) -> Option<PgSwitch> {
        let node = self.snapshot.topology.node(id)?;
        let info = node.switch.as_ref()?;
        let mut switch = PgSwitch {
            guid: node.guid(),
            name: node.name().to_string(),
            without: match (info.ar_enable, uses_groups(info)) {
                (false, _) => Some("Adaptive Routing Disabled."),
                (true, false) => Some("No port groups defined."),
                (true, true) => None,
            },
            findings: Vec::new(),
            duplicates: Vec::new(),
            groups: Vec::new(),
            lines: Vec::new(),
        };
        if switch.without.is_none() {
            self.duplicates(id, info, &mut switch);
            let count = match info.linear_fdb_top {
                0 => self.known.get(&id).map_or(0, Vec::len) as u32,
                top => top + 1,
            };
            for dlid in 1..count {
                let before = self.findings.len();
                let route = self.route(id, dlid);
                switch
                    .lines
                    .extend((before..self.findings.len()).map(Line::Finding));
                if let Some((hops, alternatives)) = route {
                    let guid = self.guids.get(&dlid).copied().unwrap_or(Guid(0));
                    switch.lines.push(Line::Route {
                        guid,
                        dlid,
                        hops,
                        alternatives,
                    });
                }
            }
            switch.findings = std::mem::take(&mut self.findings);
        }
        Some(switch)
    }

    fn duplicates(&self, id: NodeId, info: &SwitchInfo, switch: &mut PgSwitch) {
        let index = self.snapshot.topology.switch_index(id);
        let tables = index.and_then(|index| self.snapshot.groups.switches.get(index.0 as usize));
        let masks = (0..usize::from(info.port_group_top)).map(|number| {
            let mask = tables.and_then(|tables| tables.groups.get(number)).copied();
            mask.map_or(0, |mask| mask.word(0) >> 1 | mask.word(1) << 63)
        });
        switch.groups = masks.collect();
        let mut sorted = switch.groups.clone();
        sorted.sort_unstable();
        let pairs = sorted.windows(2).filter(|pair| pair[0] == pair[1]);
        switch.duplicates = pairs.map(|pair| pair[0]).collect();
    }

    /// Links to a LID and other ports that lead there, as far as there is a route that is listed.
    fn route(&mut self, id: NodeId, dlid: u32) -> Option<(u32, u32)> {
        let (slid, egress, group) = (self.lid(id), self.egress(id, dlid), self.group(id, dlid));
        if dlid == slid {
            if egress != 0 {
                self.note(
                    "Port0Error",
                    dlid,
                    "ERROR: Switch cannot route to itself.".to_owned(),
                );
            }
            if group.is_some() {
                let what = format!(
                    "ERROR: Switch is in its own port group forwarding table (LID {dlid:#x})."
                );
                self.note("Port0ARError", dlid, what);
            }
            return None;
        }
        match egress {
            UNREACHABLE => {
                if group.is_some() {
                    let what = format!("ERROR: LID {dlid:#x} is in the PGFT but not the LFT.");
                    self.note("BadDLID", dlid, what);
                }
                return None;
            }
            0 => return None,
            _ => {}
        }
        match self.behind(id, egress) {
            Behind::Nothing => {
                self.note("NoPort", dlid, format!("Unable to find port {egress}"));
                None
            }
            Behind::Host(at) => {
                if !answers(self.snapshot, at, Lid(dlid)) {
                    let what = format!("Path to {dlid:#x} terminates at the wrong device:");
                    self.note("BadTermination", dlid, what);
                } else if group.is_some() {
                    let what = format!(
                        "ERROR: LFT path from {slid:#x} to {dlid:#x} terminates but is also in the PGFT. (3)"
                    );
                    self.note("BadMembership", dlid, what);
                }
                Some((0, 0))
            }
            Behind::Switch(next) => {
                let links = self.follow(slid, next, dlid, 0, (HOPS_MAX, true)).ok()?;
                let (alternatives, good) = self.alternatives(id, dlid, links);
                self.remember(id, dlid, links);
                good.then_some((links - 1, alternatives))
            }
        }
    }

    fn remember(&mut self, id: NodeId, dlid: u32, links: u32) {
        if let Some(known) = self
            .known
            .get_mut(&id)
            .and_then(|known| known.get_mut(dlid as usize))
        {
            *known = links as u8;
        }
    }

    /// Ports of the group that lead to a LID, and whether it is listed: all lead there in as many links.
    fn alternatives(&mut self, id: NodeId, dlid: u32, links: u32) -> (u32, bool) {
        let Some(group) = self.group(id, dlid) else {
            return (0, true);
        };
        let slid = self.lid(id);
        let last = group.iter().last().map_or(0, |port| port.0);
        let mut count = 0;
        for port in 1..=last.min(64) {
            if !group.contains(PortNum(port)) {
                self.tested += 1;
                continue;
            }
            match self.behind(id, port) {
                Behind::Nothing => {
                    self.note("NoPort", dlid, format!("Unable to find port {port}"));
                    return (count, false);
                }
                Behind::Host(at) => {
                    self.host(
                        at,
                        slid,
                        dlid,
                        ("terminates at the wrong device.", "path does not. (4)"),
                    );
                    continue;
                }
                Behind::Switch(next) => match self.follow(slid, next, dlid, 0, (links, false)) {
                    Err(Wrong) => {
                        self.hop(1, next);
                        return (count, true);
                    }
                    Ok(other) if other != links => {
                        self.inconsistent(id, dlid, (links, other));
                        return (count, false);
                    }
                    Ok(_) => count += 1,
                },
            }
            self.tested += 1;
        }
        (count, true)
    }

    fn inconsistent(&mut self, id: NodeId, dlid: u32, (a, b): (u32, u32)) {
        let node = self.snapshot.topology.node(id);
        let guid = node.map_or(Guid(0), |node| node.guid());
        let what = format!(
            "ERROR: Paths from {guid}, (LID {:#x}) to LID {dlid:#x} have inconsistent hop counts: {} vs {}",
            self.lid(id),
            a - 1,
            b - 1,
        );
        self.note("InconsistentHopCount", dlid, what);
    }

    /// A port of a group leads to a host.
    fn host(&mut self, at: PortRef, slid: u32, dlid: u32, (wrong, right): (&str, &str)) {
        match answers(self.snapshot, at, Lid(dlid)) {
            false => {
                let what = format!("ERROR: AR Path from {slid:#x} to {dlid:#x} {wrong}");
                self.note("BadTermination", dlid, what);
            }
            true => {
                let what = format!(
                    "ERROR: AR Path from {slid:#x} to {dlid:#x} terminates but LFT {right}"
                );
                self.note("BadMembership", dlid, what);
            }
        }
    }

    /// Links from where `length` of them were passed to a LID: by the linear table alone, or by groups too.
    fn follow(
        &mut self,
        from: u32,
        id: NodeId,
        dlid: u32,
        length: u32,
        (most, linear): (u32, bool),
    ) -> Result<u32, Wrong> {
        let length = length + 1;
        let known = self
            .known
            .get(&id)
            .and_then(|known| known.get(dlid as usize));
        if let Some(links) = known.filter(|links| **links != 0) {
            return Ok(length + u32::from(*links));
        }
        let slid = self.lid(id);
        if dlid == slid {
            return Ok(length);
        }
        if length > most {
            let what = format!(
                "ERROR: Path from {from:#x} to {dlid:#x} exceeds normal path length or max hops."
            );
            self.note("HopsExceeded", dlid, what);
            return self.wrong(length, id);
        }
        let (egress, group) = (self.egress(id, dlid), self.group(id, dlid));
        if egress == UNREACHABLE {
            self.note("NoPath", dlid, format!("No path to LID {dlid:#x}"));
            return self.wrong(length, id);
        }
        let next = match self.behind(id, egress) {
            Behind::Nothing => {
                self.note("NoPort", dlid, format!("Unable to find port {egress}"));
                return Err(Wrong);
            }
            Behind::Host(at) => return self.arrived((from, id, dlid), at, length, group.is_some()),
            Behind::Switch(next) => next,
        };
        let Ok(links) = self.follow(slid, next, dlid, length, (most, true)) else {
            return self.wrong(length, id);
        };
        if linear {
            return Ok(links);
        }
        for port in group
            .unwrap_or_default()
            .iter()
            .filter(|port| port.0 != egress && port.0 <= 64)
        {
            self.other((from, id, dlid), port.0, length, (most, links))?;
        }
        self.remember(id, dlid, links - length);
        Ok(links)
    }

    /// Whether another port of a group leads to a LID in as many links.
    fn other(
        &mut self,
        (from, id, dlid): (u32, NodeId, u32),
        port: u8,
        length: u32,
        (most, links): (u32, u32),
    ) -> Result<(), Wrong> {
        match self.behind(id, port) {
            Behind::Nothing => {
                self.note("NoPort", dlid, format!("Unable to find port {port}"));
                Err(Wrong)
            }
            Behind::Host(at) => {
                self.host(
                    at,
                    from,
                    dlid,
                    ("terminates at the wrong device:", "path does not: (2)"),
                );
                self.hop(length + 1, at.node);
                self.wrong(length, id).map(|_| ())
            }
            Behind::Switch(next) => {
                let slid = self.lid(id);
                match self.follow(slid, next, dlid, length, (most, false)) {
                    Err(Wrong) => self.wrong(length, id).map(|_| ()),
                    Ok(others) if others != links => {
                        self.inconsistent(id, dlid, (links, others));
                        self.wrong(length, next).map(|_| ())
                    }
                    Ok(_) => Ok(()),
                }
            }
        }
    }

    fn arrived(
        &mut self,
        (from, id, dlid): (u32, NodeId, u32),
        at: PortRef,
        length: u32,
        in_group: bool,
    ) -> Result<u32, Wrong> {
        let right = answers(self.snapshot, at, Lid(dlid));
        if right && !in_group {
            self.remember(id, dlid, 1);
            return Ok(length + 1);
        }
        match right {
            false => {
                let what = format!(
                    "ERROR: Path from {from:#x} to {dlid:#x} terminates at the wrong device:"
                );
                self.note("BadTermination", dlid, what);
            }
            true => {
                let what = format!(
                    "ERROR: LFT Path from {from:#x} to {dlid:#x} terminates but is also in the PGFT: (1)"
                );
                self.note("BadMembership", dlid, what);
            }
        }
        self.hop(length + 1, at.node);
        self.wrong(length, id)
    }

    fn wrong(&mut self, length: u32, id: NodeId) -> Result<u32, Wrong> {
        self.hop(length, id);
        Err(Wrong)
    }
}
