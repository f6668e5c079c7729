//! Converts the entries of a dump to Omni-Path nodes.

use std::collections::{BTreeMap, BTreeSet};

use weft_wire::enums::LinkWidth;
use weft_wire::id::{Guid, Lid, Lmc, PortNum};
use weft_wire::sm::NodeDescription;

use super::line::Kind;
use super::{Cable, Described, Dump, Listed};
use crate::cabling::{Cabling, FIRST_HFI_GUID};
use crate::import::ImportError;
use crate::powered_on;
use crate::topology::{Node, NodeId, Topology, TopologyError};

/// Bytes of a node's name.
const NAME_MAX: usize = 64;

/// The Omni-Path nodes in the making.
pub(super) struct Fabric<'a> {
    dump: &'a Dump,
    cabling: Cabling,
    /// Node and port of each end of a cable in the dump.
    ends: BTreeMap<(u64, u8), (NodeId, u8)>,
    guids: BTreeSet<u64>,
    lids: BTreeMap<u32, u32>,
    next_guid: u64,
}

impl<'a> Fabric<'a> {
    pub(super) fn build(dump: &'a Dump, cables: &[Cable]) -> Result<Topology, ImportError> {
        let mut fabric = Self {
            dump,
            cabling: Cabling::with_capacity(dump.nodes.len()),
            ends: BTreeMap::new(),
            guids: dump.by_guid.keys().copied().collect(),
            lids: BTreeMap::new(),
            next_guid: FIRST_HFI_GUID,
        };
        let mut cabled: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for (guid, port) in cables.iter().flat_map(|cable| cable.ends) {
            cabled.entry(guid).or_default().push(port);
        }
        for node in dump.nodes.iter().filter(|node| !node.is_left_out()) {
            let ports = cabled.remove(&node.guid).unwrap_or_default();
            let added = match node.kind {
                Kind::Switch => fabric.switch(node, &ports),
                _ => fabric.hfis(node, ports),
            };
            added.map_err(|error| ImportError::topology(node.line, &error))?;
        }
        fabric.connect(cables)
    }

    fn switch(&mut self, node: &Described, ports: &[u8]) -> Result<(), TopologyError> {
        let [guid, system] = [node.guid, node.system].map(Guid);
        let mut switch = powered_on::switch(guid, system, "", node.ports)?;
        switch.description = description(&node.name);
        self.set_lid(&mut switch, PortNum(0), node.lid);
        let id = self.cabling.add(switch);
        self.ends
            .extend(ports.iter().map(|&port| ((node.guid, port), (id, port))));
        Ok(())
    }

    fn hfis(&mut self, node: &Described, mut ports: Vec<u8>) -> Result<(), TopologyError> {
        ports.sort_unstable();
        let several = ports.len() > 1;
        for (index, port) in ports.iter().copied().enumerate() {
            let guid = if index == 0 {
                self.hfi_guid(node.guid)
            } else {
                self.new_guid()
            };
            let mut name = node.name.clone();
            if several {
                let suffix = format!(" port{port}");
                name.truncate(NAME_MAX - suffix.len());
                name.extend_from_slice(suffix.as_bytes());
            }
            let id = self.hfi(guid, &name, self.dump.listed.get(&(node.guid, port)))?;
            self.ends.insert((node.guid, port), (id, 1));
        }
        if ports.is_empty() {
            let guid = self.hfi_guid(node.guid);
            self.hfi(guid, &node.name, None)?;
        }
        Ok(())
    }

    fn hfi(
        &mut self,
        guid: u64,
        name: &[u8],
        listed: Option<&Listed>,
    ) -> Result<NodeId, TopologyError> {
        let mut hfi = powered_on::hfi(Guid(guid), "")?;
        hfi.description = description(name);
        self.set_lid(
            &mut hfi,
            PortNum(1),
            listed.map_or((0, 0), |listed| listed.own_lid),
        );
        Ok(self.cabling.add(hfi))
    }

    fn set_lid(&mut self, node: &mut Node, port: PortNum, (lid, lmc): (u32, u8)) {
        let lmc = if node.is_switch() { Lmc(0) } else { Lmc(lmc) };
        let last = lid.saturating_add(lmc.lids() - 1);
        let aligned = lid.is_multiple_of(lmc.lids());
        let below = self.lids.range(..=last).next_back();
        let free = below.is_none_or(|(_, end)| *end < lid);
        if lid == 0 || last > Lid::MAX_UNICAST_16.0 || !aligned || !free {
            return;
        }
        self.lids.insert(lid, last);
        if let Some(port) = node.port_mut(port) {
            (port.info.lid, port.info.lmc) = (Lid(lid), lmc);
        }
    }

    fn hfi_guid(&mut self, guid: u64) -> u64 {
        let possible = guid >> 32 != 0 && guid >> 30 & 3 == 0;
        if possible { guid } else { self.new_guid() }
    }

    fn new_guid(&mut self) -> u64 {
        while !self.guids.insert(self.next_guid) {
            self.next_guid += 1;
        }
        self.next_guid
    }

    fn connect(mut self, cables: &[Cable]) -> Result<Topology, ImportError> {
        for cable in cables {
            let ends = cable.ends.map(|end| self.ends.get(&end).copied());
            let [Some(a), Some(b)] = ends else {
                continue;
            };
            self.cabling
                .connect(a, b, width(cable.lanes))
                .map_err(|error| ImportError::topology(cable.line, &error))?;
        }
        let built = self.cabling.build();
        built.map_err(|error| ImportError::topology(0, &error))
    }
}

fn width(lanes: u32) -> LinkWidth {
    match lanes {
        1 => LinkWidth::X1,
        2 => LinkWidth::X2,
        3 => LinkWidth::X3,
        _ => LinkWidth::X4,
    }
}

/// The first 64 bytes of a name, which a NUL ends.
fn description(name: &[u8]) -> NodeDescription {
    let mut description = NodeDescription::default();
    let field = description.node_string.iter_mut();
    let name = name.iter().take_while(|byte| **byte != 0);
    field.zip(name).for_each(|(to, from)| *to = *from);
    description
}
