//! From a snapshot and a delta to the next snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_wire::id::Guid;

use super::{Delta, DeltaError, Place, cables, place, unplugged};
use crate::snapshot::{SmRecord, Snapshot};
use crate::tables::{LFT_BLOCK, LinearTables, PortGroupTables, SwitchPortGroups, UNREACHABLE};
use crate::topology::{Node, NodeId, PortRef, SwitchIndex, Topology, TopologyBuilder};

impl Delta {
    /// The snapshot that this delta leads to.
    ///
    /// # Errors
    /// [`DeltaError`] when `from` is not the snapshot that the delta starts from.
    pub fn apply(&self, from: &Snapshot) -> Result<Snapshot, DeltaError> {
        if from.generation != self.generations.0 {
            return Err(DeltaError::Generation {
                expected: self.generations.0,
                actual: from.generation,
            });
        }
        let topology = self.apply_topology(&from.topology)?;
        let linear = self.apply_linear(from, &topology)?;
        let groups = self.apply_groups(from, &topology);
        let sms = self.apply_managers(from, &topology)?;
        Ok(Snapshot {
            generation: self.generations.1,
            unix_time: self.unix_time,
            topology: Arc::new(topology),
            linear: Arc::new(linear),
            groups: Arc::new(groups),
            multicast: Arc::clone(&from.multicast),
            // A delta carries no tables of ports, and nodes may have other numbers now.
            port_tables: Arc::default(),
            sms,
        })
    }

    fn apply_topology(&self, old: &Topology) -> Result<Topology, DeltaError> {
        let mut cables = cables(old);
        for cable in &self.unplugged {
            cables.remove(cable);
        }
        cables.extend(&self.plugged);
        let mut nodes: BTreeMap<Guid, Arc<Node>> = BTreeMap::new();
        for (_, node) in
            (0..old.len() as u32).filter_map(|id| Some((id, old.node_shared(NodeId(id))?)))
        {
            nodes.insert(node.guid(), unplugged(node));
        }
        for guid in &self.vanished {
            nodes.remove(guid);
        }
        let appeared = self
            .appeared
            .iter()
            .map(|node| (node.guid(), Arc::clone(node)));
        nodes.extend(appeared);
        self.change_nodes(&mut nodes)?;
        let order = self.order.clone().unwrap_or_else(|| self.usual_order(old));
        let mut builder = TopologyBuilder::new();
        for guid in order {
            builder.add(nodes.remove(&guid).ok_or(DeltaError::NoNode { guid })?)?;
        }
        for (a, b) in cables {
            let [a, b] = [
                port_at(builder.topology(), a)?,
                port_at(builder.topology(), b)?,
            ];
            builder.connect(a, b)?;
        }
        Ok(builder.build()?)
    }

    fn change_nodes(&self, nodes: &mut BTreeMap<Guid, Arc<Node>>) -> Result<(), DeltaError> {
        for change in &self.nodes {
            let guid = change.info.node_guid;
            let node = nodes.get_mut(&guid).ok_or(DeltaError::NoNode { guid })?;
            let node = Arc::make_mut(node);
            (node.info, node.description, node.switch) =
                (change.info, change.description, change.switch);
        }
        for change in &self.ports {
            let (guid, number) = change.at;
            let node = nodes.get_mut(&guid).map(Arc::make_mut);
            let port = node.and_then(|node| node.port_mut(number));
            port.ok_or(DeltaError::NoNode { guid })?.info = change.to;
        }
        Ok(())
    }

    fn apply_linear(
        &self,
        from: &Snapshot,
        topology: &Topology,
    ) -> Result<LinearTables, DeltaError> {
        let mut rows: BTreeMap<Guid, Arc<[u8]>> = BTreeMap::new();
        for id in topology.switches() {
            let guid = topology.node(*id).map_or(Guid(0), Node::guid);
            let old = old_switch(&from.topology, guid, &self.vanished);
            let row = old.and_then(|index| from.linear.row_shared(index));
            rows.insert(guid, row.cloned().unwrap_or_else(|| Arc::from([])));
        }
        for (guid, length) in &self.lengths {
            let row = rows
                .get_mut(guid)
                .ok_or(DeltaError::NoNode { guid: *guid })?;
            let mut longer = row.to_vec();
            longer.resize(*length as usize, UNREACHABLE);
            *row = longer.into();
        }
        for change in &self.blocks {
            let guid = change.switch;
            let row = rows.get_mut(&guid).ok_or(DeltaError::NoNode { guid })?;
            let start = change.block as usize * LFT_BLOCK;
            let block = Arc::make_mut(row).get_mut(start..).unwrap_or_default();
            block
                .iter_mut()
                .zip(change.entries)
                .for_each(|(to, from)| *to = from);
        }
        if rows.values().all(|row| row.is_empty()) {
            return Ok(LinearTables::default());
        }
        let order = topology
            .switches()
            .iter()
            .filter_map(|id| rows.remove(&topology.node(*id)?.guid()));
        Ok(LinearTables::new(order.collect()))
    }

    fn apply_groups(&self, from: &Snapshot, topology: &Topology) -> PortGroupTables {
        let adaptive = self.adaptive.unwrap_or(!from.groups.switches.is_empty());
        if !adaptive {
            return PortGroupTables::default();
        }
        let changed: BTreeMap<Guid, &Arc<SwitchPortGroups>> = self
            .groups
            .iter()
            .map(|(guid, groups)| (*guid, groups))
            .collect();
        let switches = topology.switches().iter().map(|id| {
            let guid = topology.node(*id).map_or(Guid(0), Node::guid);
            let old = || {
                let index = old_switch(&from.topology, guid, &self.vanished)?;
                from.groups.switches.get(index.0 as usize)
            };
            changed
                .get(&guid)
                .copied()
                .or_else(old)
                .cloned()
                .unwrap_or_default()
        });
        PortGroupTables {
            switches: switches.collect(),
        }
    }

    fn apply_managers(
        &self,
        from: &Snapshot,
        topology: &Topology,
    ) -> Result<Vec<SmRecord>, DeltaError> {
        let old = || -> Vec<(Place, SmRecord)> {
            let sms = from.sms.iter();
            sms.map(|sm| (place(&from.topology, sm.port), sm.clone()))
                .collect()
        };
        let sms = self.sms.clone().unwrap_or_else(old);
        let moved = sms.into_iter().map(|(at, sm)| {
            Ok(SmRecord {
                port: port_at(topology, at)?,
                ..sm
            })
        });
        moved.collect()
    }
}

fn port_at(topology: &Topology, (guid, port): Place) -> Result<PortRef, DeltaError> {
    let node = topology.find(guid).ok_or(DeltaError::NoNode { guid })?;
    Ok(PortRef { node, port })
}

fn old_switch(old: &Topology, guid: Guid, vanished: &[Guid]) -> Option<SwitchIndex> {
    if vanished.binary_search(&guid).is_ok() {
        return None;
    }
    old.switch_index(old.find(guid)?)
}
