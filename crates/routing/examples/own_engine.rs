//! A routing engine in a page: hop by hop to the nearest switch, the LID picks among equals.
//!
//! ```text
//! cargo run -p weft-routing --example own_engine -- fattree:128,radix=8
//! ```
//!
//! An engine turns a [`Network`] into one row a switch: for each LID the port that leads there. It
//! need not prove anything. [`route_by`] certifies its tables, and takes another engine where they
//! do not pass: try `torus:5x5`.

use std::collections::VecDeque;
use std::error::Error;

use weft_routing::{Engine, EngineUsed, Network, Plan, Settings, route_by};

/// The engine.
struct FewestHops;

impl Engine for FewestHops {
    fn name(&self) -> EngineUsed {
        EngineUsed::Own("fewest hops")
    }

    fn plan(&self, network: &Network) -> Result<Plan, String> {
        if network.is_empty() {
            return Err("there is no switch".to_owned());
        }
        let len = network.max_lid().0 as usize + 1;
        let mut rows = vec![vec![weft_fabric::UNREACHABLE; len]; network.len()];
        for target in 0..network.len() {
            let hops = hops(network, target);
            for (switch, row) in rows.iter_mut().enumerate() {
                fill(network, &hops, switch, target, row);
            }
        }
        let rows = rows.into_iter().map(Into::into).collect();
        Ok(Plan::new(weft_fabric::LinearTables::new(rows)))
    }
}

/// Distance of each switch from one, in links; `None` without a connection.
fn hops(network: &Network, target: usize) -> Vec<Option<u32>> {
    let mut hops = vec![None; network.len()];
    hops[target] = Some(0);
    let mut queue = VecDeque::from([(target, 0)]);
    while let Some((at, far)) = queue.pop_front() {
        for link in network.egress(at) {
            let slot = &mut hops[link.to as usize];
            if slot.is_none() {
                *slot = Some(far + 1);
                queue.push_back((link.to as usize, far + 1));
            }
        }
    }
    hops
}

/// The entries of one switch for all that is attached to another.
fn fill(network: &Network, hops: &[Option<u32>], switch: usize, target: usize, row: &mut [u8]) {
    let nearer = network.egress(switch).iter().filter(|link| {
        let far = hops[link.to as usize];
        far.is_some_and(|far| Some(far + 1) == hops[switch])
    });
    let ways: Vec<u8> = nearer.map(|link| link.port).collect();
    let own = network.management(target);
    for end in network.hfis(target).iter().chain(own) {
        for lid in (end.lid.0 as usize..).take(end.lmc.lids() as usize) {
            if switch == target {
                row[lid] = end.port;
            } else if let Some(way) = lid.checked_rem(ways.len()) {
                row[lid] = ways[way];
            }
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let spec = std::env::args().nth(1);
    let spec = spec.as_deref().unwrap_or("fattree:128,radix=8");
    let mut fabric = spec.parse::<weft_fabric::FabricSpec>()?.generate()?;
    let ends: Vec<_> = fabric.end_ports().map(|(end, _, _)| end).collect();
    for (lid, end) in (1..).zip(ends) {
        let port = fabric
            .node_mut(end.node)
            .and_then(|node| node.port_mut(end.port));
        port.ok_or("no port")?.info.lid = weft_fabric::Lid(lid);
    }
    let routed = route_by(&fabric, &Settings::default(), &FewestHops)?;
    println!("{spec}: routed by {}", routed.engine());
    for note in routed.notes() {
        println!("note: {note}");
    }
    let certificate = routed.certificate();
    println!(
        "{} LIDs, {} routes, {} pairs of waiting links, no cycle",
        certificate.lids(),
        certificate.routes(),
        certificate.dependencies()
    );
    Ok(())
}
