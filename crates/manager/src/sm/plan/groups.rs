//! The multicast tables that switches should have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_fabric::{Guid, MulticastTables, NodeId, PortMask, PortRef, SwitchIndex, Topology};
use weft_routing::{
    MulticastGroup, MulticastNote, MulticastRequest, MulticastSettings, RoutedMulticast,
    multicast_step, route_multicast,
};
use weft_state::State;

use super::super::drains;
use super::super::settings::Settings;
use super::input::Told;
use super::routes::Routes;
use crate::multicast::MulticastLid;
use crate::rates;

/// The planned multicast tables.
#[derive(Debug, Clone, Default, State)]
pub(in super::super) struct MulticastPlan {
    /// Certified tables, none when there are none that may be written.
    pub(in super::super) routed: Option<RoutedMulticast>,
    /// The groups that they were made for.
    groups: Option<Arc<Vec<MulticastLid>>>,
    settings: MulticastSettings,
    /// The tables being written: these, or those that must come first.
    pub(in super::super) step: Arc<MulticastTables>,
    /// Another step follows when all switches have this one.
    pub(in super::super) more: bool,
}

/// Inputs of multicast tables besides routes.
#[derive(Debug, Clone, State)]
pub(in super::super) struct Members {
    /// Members of each group; `None` if unknown.
    pub(in super::super) groups: Option<Arc<Vec<MulticastLid>>>,
    /// The tables that are in force.
    pub(in super::super) before: MulticastPlan,
}

impl Members {
    /// Plans the tables. `same_links` means that nothing that trees depend on has changed since the last
    /// time. [`MulticastPlan::take_step`] determines the first tables to write.
    pub(in super::super) fn plan(
        &self,
        routes: &Routes,
        settings: &Settings,
        same_links: bool,
        told: &mut Told,
    ) -> MulticastPlan {
        let (before, settings) = (&self.before, settings.multicast);
        let same_links = same_links && before.settings == settings;
        let same = same_links && before.groups == self.groups;
        let stays = same && before.routed.is_some();
        let Some(groups) = self.groups.as_ref().filter(|_| !stays) else {
            return before.clone();
        };
        let topology = match routes.around {
            // Groups have no members on a drained switch.
            true => Arc::new(drains::without(&routes.routable, &routes.drains, false)),
            false => Arc::clone(&routes.routable),
        };
        let request = MulticastRequest {
            topology: &topology,
            settings: &settings,
            groups: &places(&routes.fabric.topology, groups),
            manager: NodeId(0),
            before: before.routed.as_ref(),
            same_links,
        };
        let routed = match route_multicast(request) {
            Ok(routed) => {
                let said = before.routed.as_ref();
                let said = said.map_or(&[][..], RoutedMulticast::notes);
                tell_notes(&routes.fabric.topology, said, routed.notes(), told);
                Some(routed)
            }
            Err(refusal) => {
                told.unfinished.push(refusal.to_string());
                None
            }
        };
        MulticastPlan {
            routed,
            groups: self.groups.clone(),
            settings,
            ..before.clone()
        }
    }
}

/// Reports limits that were met, once.
fn tell_notes(
    topology: &Topology,
    said: &[MulticastNote],
    notes: &[MulticastNote],
    told: &mut Told,
) {
    for note in notes.iter().filter(|note| !said.contains(note)) {
        let switch = match note {
            MulticastNote::SmallTables { switch, .. } => topology.node(*switch),
            _ => None,
        };
        let guid = switch.map(|switch| switch.guid());
        told.faults.push((guid, note.to_string()));
    }
}

/// The groups with their members' places; members that are not in the fabric are left out.
fn places(topology: &Topology, told: &[MulticastLid]) -> Vec<MulticastGroup> {
    if told.is_empty() {
        return Vec::new();
    }
    let mut places: BTreeMap<Guid, PortRef> = BTreeMap::new();
    for (id, node) in topology.nodes() {
        for (port, _) in node.end_ports() {
            if let Some(guid) = node.port_guid(port) {
                places.insert(guid, PortRef { node: id, port });
            }
        }
    }
    let of = |guids: &[Guid]| {
        guids
            .iter()
            .filter_map(|guid| places.get(guid).copied())
            .collect()
    };
    let group = |lid: &MulticastLid| MulticastGroup {
        mlid: lid.mlid,
        mtu: lid.mtu,
        rate_mbps: rates::mbps(lid.rate),
        receivers: of(&lid.receivers),
        senders: of(&lid.senders),
    };
    told.iter().map(group).collect()
}

/// Inputs of the first tables to write.
#[derive(Debug)]
pub(in super::super) struct Step<'a> {
    /// Nodes, and all links that are up or may come up.
    pub(in super::super) links: &'a Topology,
    /// All that switches may hold.
    pub(in super::super) held: &'a MulticastTables,
    /// Rows of these that may lead to nodes that are not known: what those do with them may lead
    /// anywhere.
    pub(in super::super) to_strangers: &'a BTreeSet<usize>,
}

impl MulticastPlan {
    /// Whether members wait for tables: there are none that may be written, or the step before them must
    /// stay for some rows.
    pub(in super::super) fn is_held_back(&self) -> bool {
        match &self.routed {
            None => self.groups.is_some(),
            Some(routed) => *routed.tables() != self.step,
        }
    }

    /// No tables for some members may be written.
    #[cfg(test)]
    pub(in super::super) fn refuse_all(&mut self) {
        (self.routed, self.groups) = (None, Some(Arc::default()));
    }

    /// Determines the first tables to write.
    pub(in super::super) fn take_step(&mut self, from: &Step<'_>) {
        let Some(routed) = &self.routed else {
            return;
        };
        let wanted = routed.tables();
        let step = multicast_step(from.links, from.held, wanted);
        self.more = step.is_some() || !from.to_strangers.is_empty();
        let step = step.map_or_else(|| Arc::clone(wanted), Arc::new);
        self.step = match from.to_strangers.is_empty() {
            true => step,
            false => Arc::new(without_new(&step, from.held, wanted, from.to_strangers)),
        };
    }
}

/// `step`, with only the common ports of old and new tables in these rows.
fn without_new(
    step: &MulticastTables,
    held: &MulticastTables,
    wanted: &MulticastTables,
    rows: &BTreeSet<usize>,
) -> MulticastTables {
    let entries = held.entries().max(wanted.entries()).max(step.entries());
    let switches = (0..step.len().max(wanted.len()) as u32).map(SwitchIndex);
    let tables = switches.map(|switch| {
        let at = |tables: &MulticastTables, row: usize| {
            tables.row(switch).get(row).copied().unwrap_or_default()
        };
        let kept = (0..entries).map(|row| match rows.contains(&row) {
            true => at(held, row) & at(wanted, row),
            false => at(step, row),
        });
        kept.collect::<Vec<PortMask>>().into()
    });
    MulticastTables::new(tables.collect())
}
