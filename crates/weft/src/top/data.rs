//! What the daemon has told.

use std::collections::{HashMap, VecDeque};

use weft_api::v1;

use super::group::Members;
use super::order::Order;
use crate::sparkline::bar;

/// Readings kept of a port: at the usual interval of 10 s the last ten minutes.
const KEPT: usize = 60;
/// Ports whose readings are kept.
const PORTS_KEPT: usize = 16_384;

/// GUID and port.
pub(super) type Key = (u64, u32);

/// One reading, as far as a screen needs it.
#[derive(Debug, Clone, Default)]
pub(super) struct Data {
    pub(super) loads: v1::ListBusiestLinksResponse,
    /// All ports.
    pub(super) ports: Vec<v1::PortCounters>,
    /// The port on the screen, with its lanes.
    pub(super) port: Option<v1::PortCounters>,
    pub(super) fabrics: Vec<v1::VirtualFabric>,
    /// The ports of the two nodes whose links are on the screen.
    pub(super) links: Vec<v1::Port>,
    /// The fabric and its manager.
    pub(super) fabric: Option<v1::GetFabricResponse>,
    /// The groups of the configuration.
    pub(super) groups: Vec<Members>,
    /// The performance manager's settings.
    pub(super) settings: Option<v1::GetPerfConfigResponse>,
}

/// The utilisation of ports in the readings that this client has seen.
#[derive(Debug, Default)]
pub(super) struct History {
    image: u64,
    seen: HashMap<Key, VecDeque<f64>>,
}

impl History {
    /// Adds a reading, once.
    pub(super) fn add(&mut self, data: &Data) {
        if data.loads.image == self.image || data.ports.is_empty() {
            return;
        }
        self.image = data.loads.image;
        for port in &data.ports {
            let key = key(port.port.as_ref());
            if !self.seen.contains_key(&key) && self.seen.len() >= PORTS_KEPT {
                continue;
            }
            let kept = self.seen.entry(key).or_default();
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(Order::Utilization.value(port));
        }
    }

    /// A bar for each reading of a port, oldest first.
    pub(super) fn bars(&self, key: Key) -> String {
        let kept = self.seen.get(&key).into_iter().flatten();
        kept.map(|used| bar(used / 100.0)).collect()
    }
}

/// GUID and port of an end.
pub(super) fn key(end: Option<&v1::LinkEnd>) -> Key {
    let port = end.and_then(|end| end.port).unwrap_or_default();
    (port.node_guid, port.port)
}
