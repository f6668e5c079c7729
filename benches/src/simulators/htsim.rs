//! htsim, event by event, with RoCE over lossless Ethernet: pauses instead of credits.

use std::fmt::Write as _;
use std::path::Path;

use weft_dataplane::packets::Random;
use weft_dataplane::traffic::Pattern;

use super::process::{Cost, end, number_after, run, unclear};
use super::{OMNI_PATH, Simulator, Traffic, Tree};
use crate::Failure;

const NAME: &str = "htsim";
/// Bytes of a packet.
const PACKET: u32 = 2_048;
/// Each flow on one path, as packets that overtake each other are sent again; buffers so large that
/// pauses come in time; an end long after the last packet.
const ARGUMENTS: &str =
    "-topo tree.topo -tm permutation.cm -strat ecmp_host -paths 1 -q 1000 -end 100000";

pub(super) const HTSIM: Simulator = Simulator {
    name: NAME,
    program: "htsim_roce",
    packet: "2,048 bytes or its ACK",
    tree: OMNI_PATH,
    traffic: &[Traffic::Permutation],
    lengths: [50, 250],
    run: simulate,
};

fn simulate(program: &Path, dir: &Path, _: Traffic, packets: u32) -> Result<Cost, Failure> {
    let write = |name: &str, text: String| {
        std::fs::write(dir.join(name), text).map_err(Failure::io("htsim's files"))
    };
    write("tree.topo", topology(OMNI_PATH))?;
    write("permutation.cm", permutation(OMNI_PATH, packets * PACKET))?;
    let mut arguments: Vec<&str> = ARGUMENTS.split(' ').collect();
    let (hosts, bytes) = (OMNI_PATH.hosts(), PACKET.to_string());
    let nodes = hosts.to_string();
    arguments.extend(["-nodes", &nodes, "-mtu", &bytes]);
    let (said, seconds) = run(NAME, program, dir, &arguments)?;
    let whole = said.matches(" finished at ").count() == hosts as usize;
    if !whole || number_after(NAME, &said, "Rtx:")? > 0.0 {
        return Err(unclear(NAME, format!("flows were cut: {}", end(&said))));
    }
    // Each packet is acknowledged by one of its own.
    let packets = 2.0 * f64::from(packets) * f64::from(hosts);
    let hops = packets * OMNI_PATH.mean_hops();
    Ok(Cost { hops, seconds })
}

fn topology(tree: Tree) -> String {
    let Tree { edges, cores } = tree;
    format!(
        "Nodes {}\nTiers 2\nPodsize {}\n\n\
         Tier 0\nDownlink_speed_Gbps 100\nRadix_Down {cores}\nRadix_Up {cores}\n\
         Downlink_Latency_ns 50\nSwitch_Latency_ns 100\nOversubscribed 1\n\n\
         Tier 1\nDownlink_speed_Gbps 100\nRadix_Down {edges}\n\
         Downlink_Latency_ns 50\nSwitch_Latency_ns 100\n",
        tree.hosts(),
        tree.hosts(),
    )
}

/// Flows of `bytes` bytes to the destinations of our hosts.
fn permutation(tree: Tree, bytes: u32) -> String {
    let hosts = tree.hosts();
    let mut random = Random::new(1);
    let pattern = Pattern::random_permutation(hosts, &mut random);
    let mut text = format!("Nodes {hosts}\nConnections {hosts}\n");
    for (id, host) in (0..hosts).enumerate() {
        let Some(to) = pattern.next(host, hosts, &mut random) else {
            continue;
        };
        let id = id + 1;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{host}->{to} id {id} start 0 size {bytes}");
    }
    text
}
