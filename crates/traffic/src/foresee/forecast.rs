//! Loads of links and rates of hosts, before and after a change.

use std::collections::BTreeMap;

use weft_fabric::PortRef;

use super::matrix::estimate;
use super::rates::rates;
use super::ways::{Fabric, Ports, Ways};
use super::{Doubt, NoForecast, Pair, Stop, Traffic};

/// What is asked.
pub struct Question<'a> {
    /// The fabric as it is.
    pub before: Fabric<'a>,
    /// The fabric as it would be; nodes have the same numbers.
    pub after: Fabric<'a>,
    /// Numbers of ports.
    pub ports: &'a Ports,
    /// What links carry.
    pub traffic: &'a Traffic,
    /// What pairs want to send; none where that is to be estimated from what links carry.
    pub given: Option<Vec<Pair>>,
}

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkChange {
    /// The port that sends.
    pub from: PortRef,
    /// The port that receives.
    pub to: PortRef,
    /// Bytes a second that it can carry.
    pub capacity: f64,
    /// Bytes a second that it carries: as counted, or as computed where the traffic is given.
    pub before: f64,
    /// That it would carry; 0 where it would carry no data.
    pub after: f64,
    /// That pairs would send over it if no link limited them: more than its capacity where it fills.
    pub wanted: f64,
}

/// A host's port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostChange {
    /// The port.
    pub at: PortRef,
    /// Bytes a second that it sends, and would send, to LIDs with a route.
    pub sends: (f64, f64),
    /// That it receives, and would receive.
    pub receives: (f64, f64),
}

/// A pair whose packets would not arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// The pair and what it sends now.
    pub pair: Pair,
}

/// What would come of a change.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    /// Directions of all links of the fabric before.
    pub links: Vec<LinkChange>,
    /// Ports of all hosts with traffic.
    pub hosts: Vec<HostChange>,
    /// Pairs with traffic that would be cut off.
    pub cut: Vec<Cut>,
    /// Pairs with traffic.
    pub pairs: usize,
    /// How far it can be trusted; none where the traffic is given.
    pub doubt: Option<Doubt>,
}

/// Computes what would come of a change.
///
/// # Errors
/// [`NoForecast`].
pub fn forecast(question: Question<'_>, stop: Stop<'_>) -> Result<Forecast, NoForecast> {
    let Question {
        before,
        after,
        ports,
        traffic,
        given,
    } = question;
    let is_given = given.is_some();
    let (mut pairs, doubt) = match given {
        Some(pairs) => (pairs, None),
        None => {
            let estimate = estimate(before, ports, traffic, stop)?;
            (estimate.pairs, Some(estimate.doubt))
        }
    };
    if !is_given {
        want(&mut pairs, before, ports, traffic);
    }
    let wanted: Vec<f64> = pairs.iter().map(|pair| pair.rate).collect();
    let capacities = [before, after].map(|fabric| ports.capacities(fabric.topology));
    let ways = [
        Ways::of(before, ports, &pairs, stop)?,
        Ways::of(after, ports, &pairs, stop)?,
    ];
    let got = |time: usize| rates(&ways[time], &wanted, &capacities[time], stop);
    let got = [got(0)?, got(1)?];
    let loads = [0, 1].map(|time| ways[time].loads(&got[time], ports.len()));
    let offered = ways[1].loads(&wanted, ports.len());
    let known = |port: usize| match is_given {
        true => None,
        false => traffic.loads.get(port).copied().flatten(),
    };
    let links = (0..ports.len()).filter_map(|port| {
        let from = ports.at(port);
        let to = before.topology.peer(from)?;
        let capacity = capacities[0][port];
        let counted = known(port).unwrap_or(loads[0][port]);
        // What the matrix does not explain of a link's load stays as it is.
        let unexplained = counted - loads[0][port];
        let room = capacities[1][port];
        let stays = after.topology.peer(from).is_some() && loads[1][port] > 0.0;
        let left = if stays { unexplained } else { 0.0 };
        Some(LinkChange {
            from,
            to,
            capacity,
            before: counted,
            after: (loads[1][port] + left).clamp(0.0, room),
            wanted: offered[port],
        })
    });
    let cut = pairs
        .iter()
        .enumerate()
        .filter(|(place, _)| got[0][*place] > 0.0 && ways[1].links(*place).0.is_empty());
    Ok(Forecast {
        links: links.collect(),
        cut: cut.map(|(_, pair)| Cut { pair: *pair }).collect(),
        hosts: hosts(&pairs, &got, &ways),
        pairs: pairs.len(),
        doubt,
    })
}

/// What pairs want: a host that waits for credits would send for that time as well.
fn want(pairs: &mut [Pair], fabric: Fabric<'_>, ports: &Ports, traffic: &Traffic) {
    let capacities = ports.capacities(fabric.topology);
    for pair in pairs {
        let Some(port) = ports.number(pair.from) else {
            continue;
        };
        let load = traffic.loads.get(port).copied().flatten().unwrap_or(0.0);
        let wait = traffic.waits.get(port).copied().unwrap_or(0.0);
        let used = load / capacities[port].max(1.0);
        if used > 0.0 && wait >= crate::job::WAITS {
            pair.rate *= ((used + wait) / used).min(1.0 / used).max(1.0);
        }
    }
}

/// Packets to LIDs without a route do not count.
fn hosts(pairs: &[Pair], got: &[Vec<f64>; 2], ways: &[Ways; 2]) -> Vec<HostChange> {
    let mut hosts: BTreeMap<PortRef, HostChange> = BTreeMap::new();
    fn of(hosts: &mut BTreeMap<PortRef, HostChange>, at: PortRef) -> &mut HostChange {
        hosts.entry(at).or_insert(HostChange {
            at,
            sends: (0.0, 0.0),
            receives: (0.0, 0.0),
        })
    }
    for (place, pair) in pairs.iter().enumerate() {
        let [before, after] = [0, 1].map(|time| got[time][place] * ways[time].arriving(place));
        let sender = of(&mut hosts, pair.from);
        sender.sends = (sender.sends.0 + before, sender.sends.1 + after);
        let receiver = of(&mut hosts, pair.to);
        receiver.receives = (receiver.receives.0 + before, receiver.receives.1 + after);
    }
    hosts.into_values().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_fabric::generate::FabricSpec;
    use weft_fabric::{Lid, LinearTables, SwitchIndex, Topology, UNREACHABLE};
    use weft_routing::{Settings, route};
    use weft_wire::id::{Lmc, PortNum};

    use super::*;

    const GO_ON: Stop<'static> = &|| false;

    /// Four edge switches with four hosts each under four cores, with LIDs and full links.
    fn tree() -> Topology {
        let spec: FabricSpec = "pgft:2;4,4;1,4;1,1".parse().unwrap();
        let mut topology = spec.generate().unwrap();
        let nodes: Vec<_> = topology.nodes().map(|(node, _)| node).collect();
        for (number, id) in nodes.into_iter().enumerate() {
            let node = topology.node_mut(id).unwrap();
            let ends: Vec<PortNum> = node.end_ports().map(|(port, _)| port).collect();
            for end in ends {
                node.port_mut(end).unwrap().info.lid = Lid(number as u32 + 1);
            }
            let ports: Vec<PortNum> = node.external_ports().map(|(port, _)| port).collect();
            for port in ports {
                let info = &mut node.port_mut(port).unwrap().info;
                info.link_speed_active = weft_wire::enums::LinkSpeed::G25;
                info.link_width_active = weft_wire::enums::LinkWidth::X4;
            }
        }
        topology
    }

    fn hosts(topology: &Topology) -> Vec<PortRef> {
        let ends = topology.end_ports().map(|(at, ..)| at);
        ends.filter(|at| topology.switch_index(at.node).is_none())
            .collect()
    }

    /// Each host sends to all others.
    fn all_to_all(topology: &Topology, rate: f64) -> Vec<Pair> {
        let hosts = hosts(topology);
        let pairs = hosts.iter().flat_map(|from| {
            let others = hosts.iter().filter(move |to| *to != from);
            others.map(move |to| Pair {
                from: *from,
                to: *to,
                rate,
            })
        });
        pairs.collect()
    }

    fn without_core(topology: &Topology) -> Topology {
        let mut lost = topology.clone();
        let core = topology
            .switches()
            .iter()
            .find(|id| {
                topology
                    .node(**id)
                    .is_some_and(|node| node.name() == "core1")
            })
            .copied()
            .unwrap();
        for port in 1..=4 {
            lost.disconnect(PortRef {
                node: core,
                port: PortNum(port),
            });
        }
        lost
    }

    #[test]
    fn what_counters_show_gives_the_loads_after_a_loss() {
        let topology = tree();
        let settings = Settings::default();
        let routed = route(&topology, &settings).unwrap();
        let lost = without_core(&topology);
        let rerouted = route(&lost, &settings).unwrap();
        let ports = Ports::new(&topology);
        let before = Fabric {
            topology: &topology,
            linear: routed.linear(),
        };
        let after = Fabric {
            topology: &lost,
            linear: rerouted.linear(),
        };
        let ask = |traffic: &Traffic, given: Option<Vec<Pair>>| {
            let question = Question {
                before,
                after,
                ports: &ports,
                traffic,
                given,
            };
            forecast(question, GO_ON).unwrap()
        };
        let truth = ask(&Traffic::default(), Some(all_to_all(&topology, 0.2e9)));
        assert_eq!((truth.pairs, truth.cut.len(), truth.doubt), (240, 0, None));
        // The same from the loads alone.
        let mut traffic = Traffic {
            loads: vec![None; ports.len()],
            waits: vec![0.0; ports.len()],
        };
        for link in &truth.links {
            traffic.loads[ports.number(link.from).unwrap()] = Some(link.before);
        }
        let estimated = ask(&traffic, None);
        for (link, expected) in estimated.links.iter().zip(&truth.links) {
            let difference = (link.after - expected.after).abs() / link.capacity;
            assert!(difference < 0.02, "{link:?} is not {expected:?}");
        }
        let doubt = estimated.doubt.unwrap();
        assert_eq!(doubt.links, 32);
        assert!(doubt.median < 0.02 && doubt.unexplained < 0.01, "{doubt:?}");
        let lost_links = estimated
            .links
            .iter()
            .filter(|link| link.before > 0.0 && link.after == 0.0);
        assert_eq!(lost_links.count(), 8);
    }

    #[test]
    fn hosts_lose_what_full_links_cannot_carry() {
        let topology = tree();
        let routed = route(&topology, &Settings::default()).unwrap();
        let fabric = Fabric {
            topology: &topology,
            linear: routed.linear(),
        };
        let ports = Ports::new(&topology);
        let hosts = hosts(&topology);
        // Two hosts want 10 GB/s each at one, whose link has 12.5.
        let pairs = [1, 2].map(|from| Pair {
            from: hosts[from],
            to: hosts[0],
            rate: 10e9,
        });
        let question = Question {
            before: fabric,
            after: fabric,
            ports: &ports,
            traffic: &Traffic::default(),
            given: Some(pairs.to_vec()),
        };
        let forecast = forecast(question, GO_ON).unwrap();
        let receiver = forecast
            .hosts
            .iter()
            .find(|host| host.at == hosts[0])
            .unwrap();
        assert!((receiver.receives.1 - 12.5e9).abs() < 1e3, "{receiver:?}");
        let full = forecast
            .links
            .iter()
            .find(|link| link.to == hosts[0])
            .unwrap();
        assert!((full.wanted / full.capacity - 1.6).abs() < 1e-6, "{full:?}");
    }

    #[test]
    fn what_goes_to_a_lid_without_a_route_does_not_arrive() {
        let mut topology = tree();
        // Even LIDs, two for each port.
        let ends: Vec<PortRef> = topology.end_ports().map(|(at, ..)| at).collect();
        for (number, at) in ends.iter().enumerate() {
            let is_host = topology.switch_index(at.node).is_none();
            let node = topology.node_mut(at.node).unwrap();
            let info = &mut node.port_mut(at.port).unwrap().info;
            info.lid = Lid(2 * (number as u32 + 1));
            info.lmc = Lmc(u8::from(is_host));
        }
        let routed = route(&topology, &Settings::default()).unwrap();
        let hosts = hosts(&topology);
        let second = Lid(topology.port(hosts[0]).unwrap().info.lid.0 + 1);
        let rows = (0..topology.switches().len()).map(|switch| {
            let mut row = routed.linear().row(SwitchIndex(switch as u32)).to_vec();
            row[second.0 as usize] = UNREACHABLE;
            row.into()
        });
        let broken = LinearTables::new(rows.collect());
        let fabric = |linear| Fabric {
            topology: &topology,
            linear,
        };
        let question = Question {
            before: fabric(routed.linear()),
            after: fabric(&broken),
            ports: &Ports::new(&topology),
            traffic: &Traffic::default(),
            given: Some(vec![Pair {
                from: hosts[1],
                to: hosts[0],
                rate: 4e9,
            }]),
        };
        let forecast = forecast(question, GO_ON).unwrap();
        assert_eq!(forecast.cut, []);
        let of = |at| forecast.hosts.iter().find(|host| host.at == at).unwrap();
        assert_eq!(of(hosts[1]).sends, (4e9, 2e9));
        assert_eq!(of(hosts[0]).receives, (4e9, 2e9));
    }

    #[test]
    fn nobody_who_waits_ends_it() {
        let topology = tree();
        let routed = route(&topology, &Settings::default()).unwrap();
        let fabric = Fabric {
            topology: &topology,
            linear: routed.linear(),
        };
        let question = Question {
            before: fabric,
            after: fabric,
            ports: &Ports::new(&topology),
            traffic: &Traffic::default(),
            given: Some(all_to_all(&topology, 1.0)),
        };
        assert_eq!(
            forecast(question, &|| true).err(),
            Some(NoForecast::Stopped)
        );
    }
}
