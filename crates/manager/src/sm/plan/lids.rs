//! LIDs of a plan: from the configuration, the topology file, the store and the devices.

use weft_fabric::intended::Intended;
use weft_fabric::{Lid, Lmc, text};

use super::Planning;
use crate::sm::Manager;
use crate::sm::devices::{Device, Devices};
use crate::sm::lids::{EndPort, Wish};
use crate::sm::settings::LidSettings;

impl Manager {
    pub(super) fn give_lids(&mut self) {
        let settings = &self.settings;
        let file = settings.topology.as_ref().map(|file| &*file.intended);
        let file = file.filter(|_| settings.lids.by_topology);
        let sweep = self.sweep.number;
        let without = self
            .planning
            .give_lids(&self.devices, sweep, settings.lids, file);
        // Links of nodes that the file lacks are told as unused.
        if without > 0 && file.is_none() {
            let what = format!("no LID is left for {}", text::count(without, "port"));
            self.sweep.unfinished(what);
        }
        self.persist();
    }
}

impl Planning {
    /// Gives LIDs to the end ports of all nodes, those of `file` if there is one; returns the number of ports for which none
    /// is left.
    fn give_lids(
        &mut self,
        devices: &Devices,
        sweep: u64,
        settings: LidSettings,
        file: Option<&Intended>,
    ) -> usize {
        let ports = devices.numbers().map(|node| {
            let device = &devices[node];
            match file {
                Some(file) => file_port(device, sweep, node == 0, settings, file),
                None => end_port(device, sweep, node == 0, settings),
            }
        });
        let ports: Vec<EndPort> = ports.collect();
        let given = self.lids.assign(&ports, settings.highest);
        let ends = given
            .iter()
            .zip(&ports)
            .filter(|(lid, _)| lid.0 != 0)
            .map(|(lid, port)| Lid(lid.0 + port.lmc.lids() - 1));
        self.plan.top = ends.max().unwrap_or_default();
        let pairs = given.iter().zip(&ports);
        let without = pairs.filter(|(lid, port)| lid.0 == 0 && port.reported.is_some());
        let without = without.count();
        let lmcs = ports.iter().map(|port| port.lmc);
        self.plan.lids = given.into_iter().zip(lmcs).collect();
        without
    }
}

/// Inputs for the LID of a node's end port. What it said in an earlier sweep than this one may no longer be so: another
/// manager may have given it a LID.
fn end_port(device: &Device, sweep: u64, is_own: bool, settings: LidSettings) -> EndPort {
    let port = device.end_port();
    let lmc = match device.observed.switch() {
        None => settings.lmc,
        Some(switch) if switch.enhanced_port0 => settings.lmc_e0.min(settings.lmc),
        Some(_) => Lmc(0),
    };
    let held = device.observed.port(port);
    let held = held.filter(|_| device.health.answered == sweep);
    EndPort {
        owner: (device.identity.guid, port),
        lmc,
        reported: held.map(|info| info.lid),
        wish: match settings.own.filter(|_| is_own) {
            Some(lid) => Wish::Before(lid),
            None => Wish::Any,
        },
    }
}

/// Inputs where LIDs and LMCs are those of a topology file. What it lacks gets none, as under opa-fm, but for the
/// manager's own port: it gets one that the file gives to nobody.
fn file_port(
    device: &Device,
    sweep: u64,
    is_own: bool,
    settings: LidSettings,
    file: &Intended,
) -> EndPort {
    let port = end_port(device, sweep, is_own, settings);
    let node = device.observed.node.as_deref();
    let found = node.and_then(|node| file.device(node));
    let (lid, lmc) = match found.and_then(|found| file.lids(found, device.end_port())) {
        Some(prescribed) => prescribed,
        None if is_own => {
            let free = file.free_lid(port.lmc, settings.highest);
            (free.unwrap_or_default(), port.lmc)
        }
        None => (Lid(0), port.lmc),
    };
    let wish = Wish::Only(lid);
    EndPort { lmc, wish, ..port }
}
