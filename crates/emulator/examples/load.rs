//! Measures the emulator's throughput and memory, with the datagrams of a bring-up:
//! `cargo run --release -p weft-emulator --example load -- fattree:27648`.
//!
//! Each phase visits all nodes in order of distance from the first host, by directed routes, as
//! a subnet manager does before the tables are written. Time for making requests is not counted.

use std::collections::VecDeque;
use std::error::Error;
use std::time::{Duration, Instant};

use weft_emulator::io::{Input, Output};
use weft_emulator::{Emulator, Options};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, NodeId, PortNum, Tick, Topology};
use weft_wire::Layout;
use weft_wire::packet::Packet;
use weft_wire::sm::aggregate::AggregateBuilder;
use weft_wire::sm::{AttributeId, SwitchInfo};
use weft_wire::smp::{DIRECTED_PAYLOAD_MAX, DirectedRoute, Smp};

/// A node with the directed route to it.
struct Target {
    node: NodeId,
    route: DirectedRoute,
    ports: u8,
    switch: Option<SwitchInfo>,
}

/// A request for a node: its attribute and payload.
type Request = (Smp, Vec<u8>);

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).unwrap_or("fattree:1152".to_owned());
    let topology = text.parse::<FabricSpec>()?.generate()?;
    println!(
        "{text}: {} nodes, {} MiB for the topology",
        topology.len(),
        rss_mib()
    );
    let targets = targets(&topology)?;
    let host = topology.hfis().next().ok_or("no host")?.1.guid();
    let start = Instant::now();
    let mut emulator = Emulator::new(topology, Options::default())?;
    println!("switched on in {:.2?}, {} MiB", start.elapsed(), rss_mib());
    let lids = targets.len() as u32;
    let mut all = (0, Duration::ZERO);
    for (name, make) in phases(lids) {
        let mut count = 0;
        let mut time = Duration::ZERO;
        for target in &targets {
            let packets: Vec<_> = make(target)
                .into_iter()
                .map(|request| packet(target, &request))
                .collect();
            count += packets.len();
            time += exchange(&mut emulator, host, packets)?;
        }
        let each = time.as_nanos() as usize / count.max(1);
        println!(
            "{name:28} {count:8} datagrams, {each:5} ns each, {} MiB",
            rss_mib()
        );
        all = (all.0 + count, all.1 + time);
    }
    let each = all.1.as_nanos() as usize / all.0;
    println!("{:28} {:8} datagrams, {each:5} ns each", "all", all.0);
    println!("{} different tables", emulator.network().distinct_tables());
    Ok(())
}

/// Sends requests and takes the answers; every one must be answered.
fn exchange(
    emulator: &mut Emulator,
    node: Guid,
    packets: Vec<Packet>,
) -> Result<Duration, Box<dyn Error>> {
    let expected = packets.len();
    let port = PortNum(1);
    let mut answers = 0;
    let start = Instant::now();
    for packet in packets {
        emulator.handle(Tick(0), Input::Send { node, port, packet })?;
        while let Some(Output::Deliver { packet, .. }) = emulator.poll() {
            answers += usize::from(packet.mad[4..6] == [0x80, 0]);
        }
    }
    let time = start.elapsed();
    if answers != expected {
        return Err(format!("{expected} requests, {answers} good answers").into());
    }
    Ok(time)
}

fn targets(topology: &Topology) -> Result<Vec<Target>, Box<dyn Error>> {
    let first = topology.hfis().next().ok_or("no host")?.0;
    let mut seen = vec![false; topology.len()];
    let mut queue = VecDeque::from([(first, Vec::new())]);
    let mut targets = Vec::new();
    seen[first.0 as usize] = true;
    while let Some((id, path)) = queue.pop_front() {
        let node = topology.node(id).ok_or("no node")?;
        if node.is_switch() || path.is_empty() {
            for (number, port) in node.external_ports() {
                if let Some(peer) = port.peer
                    && !std::mem::replace(&mut seen[peer.node.0 as usize], true)
                {
                    let mut path = path.clone();
                    path.push(number);
                    queue.push_back((peer.node, path));
                }
            }
        }
        targets.push(Target {
            node: id,
            route: DirectedRoute::new(&path)?,
            ports: node.info.num_ports,
            switch: node.switch,
        });
    }
    Ok(targets)
}

fn packet(target: &Target, (smp, payload): &Request) -> Packet {
    let mut mad = Vec::new();
    smp.write_directed(&target.route, payload, &mut mad);
    Packet::directed(mad)
}

type Make = Box<dyn Fn(&Target) -> Vec<Request>>;

fn phases(lids: u32) -> Vec<(&'static str, Make)> {
    vec![
        (
            "Get NodeInfo",
            Box::new(|_| vec![get(AttributeId::NODE_INFO, 0)]),
        ),
        (
            "Get discovery aggregate",
            Box::new(|target| vec![discovery(target)]),
        ),
        ("Get PortInfo, 7 ports each", Box::new(port_infos)),
        ("Set PortInfo, 7 ports each", Box::new(set_port_infos)),
        ("Set lane maps of each port", Box::new(lane_maps)),
        ("Set arbitration of each port", Box::new(arbitration)),
        (
            "Set LinearFDB, 29 blocks each",
            Box::new(move |target| tables(target, lids)),
        ),
        (
            "Get LinearFDB, 29 blocks each",
            Box::new(move |target| read_tables(target, lids)),
        ),
    ]
}

fn get(attribute: AttributeId, modifier: u32) -> Request {
    (Smp::get(attribute, modifier, 7, 0), Vec::new())
}

fn discovery(target: &Target) -> Request {
    let mut builder = AggregateBuilder::new();
    let one = 1 << 24;
    builder.push_get(AttributeId::NODE_DESCRIPTION, 0, 64, DIRECTED_PAYLOAD_MAX);
    builder.push_get(
        AttributeId::PORT_INFO,
        one | 0x200,
        248,
        DIRECTED_PAYLOAD_MAX,
    );
    if target.switch.is_some() {
        builder.push_get(AttributeId::SWITCH_INFO, 0, 88, DIRECTED_PAYLOAD_MAX);
    }
    let count = builder.count() as u32;
    (
        Smp::get(AttributeId::AGGREGATE, count, 7, 0),
        builder.finish(),
    )
}

/// Ranges of ports of a node, 7 at a time, as count and first port.
fn ranges(target: &Target) -> impl Iterator<Item = u32> + use<> {
    let (first, last) = match target.switch {
        Some(_) => (0, u32::from(target.ports)),
        None => (1, 1),
    };
    (first..=last)
        .step_by(7)
        .map(move |port| (last + 1 - port).min(7) << 24 | port)
}

fn port_infos(target: &Target) -> Vec<Request> {
    let modifiers = ranges(target);
    modifiers
        .map(|modifier| get(AttributeId::PORT_INFO, modifier | 0x200))
        .collect()
}

/// PortInfo as a manager writes it: nothing but a LID and "no change".
fn set_port_infos(target: &Target) -> Vec<Request> {
    let lid = target.node.0 + 1;
    let modifiers = ranges(target);
    modifiers
        .map(|modifier| {
            let count = (modifier >> 24) as usize;
            let mut payload = vec![0; (count - 1) * 248 + 242];
            for info in payload.chunks_mut(248) {
                info[..4].copy_from_slice(&lid.to_be_bytes());
            }
            (Smp::set(AttributeId::PORT_INFO, modifier, 7, 0), payload)
        })
        .collect()
}

fn lane_maps(target: &Target) -> Vec<Request> {
    let map: Vec<u8> = (0..32).map(|sc| sc % 8).collect();
    let all = if target.switch.is_some() { 0x100 } else { 0 };
    let attributes = [AttributeId::SC_TO_VLR, AttributeId::SC_TO_VLT];
    attributes
        .map(|attribute| (Smp::set(attribute, 1 << 24 | all | 1, 7, 0), map.clone()))
        .to_vec()
}

/// Arbitration of every port by itself, and not the same for all.
fn arbitration(target: &Target) -> Vec<Request> {
    let ports = 1..=u32::from(target.ports);
    let table = |port: u32| (0..256).map(|place| (place * (port % 3)) as u8).collect();
    ports
        .map(|port| {
            let smp = Smp::set(AttributeId::VL_ARBITRATION, 1 << 24 | port, 7, 0);
            (smp, table(port))
        })
        .collect()
}

fn spans(lids: u32) -> impl Iterator<Item = u32> {
    let blocks = lids.div_ceil(64) + 1;
    (0..blocks)
        .step_by(29)
        .map(move |block| (blocks - block).min(29) << 24 | block)
}

fn tables(target: &Target, lids: u32) -> Vec<Request> {
    let Some(mut info) = target.switch else {
        return Vec::new();
    };
    info.linear_fdb_top = lids;
    let set = Smp::set(AttributeId::SWITCH_INFO, 0, 7, 0);
    let first = (set, info.to_bytes());
    let blocks = spans(lids).map(|span| {
        let payload = vec![1; (span >> 24) as usize * 64];
        (Smp::set(AttributeId::LINEAR_FDB, span, 7, 0), payload)
    });
    std::iter::once(first).chain(blocks).collect()
}

fn read_tables(target: &Target, lids: u32) -> Vec<Request> {
    let switch = target.switch.is_some();
    let spans = spans(lids).filter(|_| switch);
    spans
        .map(|span| get(AttributeId::LINEAR_FDB, span))
        .collect()
}

/// Memory of this process, MiB.
fn rss_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}
