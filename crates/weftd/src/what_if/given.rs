//! Traffic that a client gives, by names of hosts.

use std::collections::BTreeMap;

use weft_api::v1::TrafficFlow;
use weft_fabric::{PortRef, Topology};
use weft_traffic::foresee::Pair;

/// Flows of one request.
pub(crate) const FLOWS_MAX: usize = 65_536;
/// Bytes a second of one flow: many times what a link carries.
const RATE_MAX: f64 = 1e12;

/// The pairs of ports that flows name.
///
/// # Errors
/// Which flow is wrong and why.
pub(crate) fn given(topology: &Topology, flows: &[TrafficFlow]) -> Result<Vec<Pair>, String> {
    let mut hosts: BTreeMap<String, PortRef> = BTreeMap::new();
    for (at, lid, _) in topology.end_ports() {
        let node = topology.node(at.node).filter(|node| !node.is_switch());
        if let Some(node) = node.filter(|_| lid.is_unicast()) {
            let name = node.name();
            let host = name.split(' ').next().unwrap_or_default().to_owned();
            hosts.entry(host).or_insert(at);
            hosts.entry(name).or_insert(at);
        }
    }
    let mut sums: BTreeMap<(PortRef, PortRef), f64> = BTreeMap::new();
    for (number, flow) in flows.iter().enumerate() {
        let wrong = |what: String| format!("flow {}: {what}", number + 1);
        let end = |name: &String| {
            let found = hosts.get(name).copied();
            found.ok_or_else(|| wrong(format!("no host {name} with a LID in the fabric")))
        };
        let (from, to) = (end(&flow.from)?, end(&flow.to)?);
        let rate = flow.bytes_per_second;
        if !(rate > 0.0 && rate <= RATE_MAX) {
            return Err(wrong(format!(
                "{rate} bytes a second; expected a number over 0, at most {RATE_MAX} (1,000 GB/s)"
            )));
        }
        if from == to {
            return Err(wrong(format!("{} sends to itself", flow.from)));
        }
        *sums.entry((from, to)).or_insert(0.0) += rate;
    }
    let pairs = sums.into_iter();
    Ok(pairs
        .map(|((from, to), rate)| Pair { from, to, rate })
        .collect())
}
