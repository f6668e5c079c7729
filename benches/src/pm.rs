//! Sweeps of performance management: in this process up to the largest fabric, and beside the vendor's manager, each in
//! its own process over the same socket.

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Args;
use weft_config::link_rules::LinkRules;
use weft_emulator::stats::Burst;

use crate::Failure;
use crate::managers::fabric::Fabric;
use crate::managers::programs::{Kind, Manager, Programs, WithPm};
use crate::memory::peak_mib;
use crate::reader::{Counts, Reader};
use crate::table::{Table, millis};

/// Options of `weft-bench pm`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Numbers of hosts of the fat trees, of 48-port switches.
    #[arg(long, value_delimiter = ',', default_value = "1152,27648")]
    hosts: Vec<u64>,
    /// Time that each agent takes for a request, microseconds.
    #[arg(long, value_delimiter = ',', default_value = "20,200")]
    latency_us: Vec<u64>,
    /// Hosts whose agents are silent, percent.
    #[arg(long, value_delimiter = ',', default_value = "0,1")]
    silent: Vec<u32>,
    /// The vendor's manager and weftd on 1,152 hosts, one after the other, instead.
    #[arg(long)]
    peer: bool,
    /// Number of sweeps; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
}

/// Ports of the switches.
const RADIX: u8 = 48;
/// Hosts of the fabric of both managers.
const PEER_HOSTS: u64 = 1_152;
/// Silence between two sweeps of performance management: an interval is 10 s.
const QUIET: Duration = Duration::from_millis(1_500);
/// Longest wait for the sweeps of a manager.
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures and prints the table.
///
/// # Errors
/// [`Failure`] when a program is missing, or a fabric does not come up or is not read.
pub fn run(options: &Options) -> Result<(), Failure> {
    match options.peer {
        true => beside(options),
        false => alone(options),
    }
}

/// In this process: the time of a sweep by the virtual clock, with agents that take their time, and what the core
/// computes for it.
fn alone(options: &Options) -> Result<(), Failure> {
    let mut table = Table::new([
        "hosts",
        "agents µs",
        "silent %",
        "ports",
        "nodes",
        "datagrams",
        "sent again",
        "MiB sent",
        "MiB received",
        "sweep ms",
        "core ms",
        "peak MiB",
    ]);
    for hosts in &options.hosts {
        for latency_us in &options.latency_us {
            for silent in &options.silent {
                let mut reader =
                    Reader::with_latency(*hosts, RADIX, LinkRules::default(), *latency_us)?;
                // The first ones ask for capabilities and clear counters.
                reader.read()?;
                let silenced = reader.silence(*silent)?;
                reader.read()?;
                let mut best: Option<(f64, Counts, usize, usize)> = None;
                for _ in 0..options.runs.max(1) {
                    reader.forget_counts();
                    let image = reader.read()?;
                    let failed = image.totals.failed_nodes + image.totals.skipped_nodes;
                    if u64::from(failed) < silenced {
                        return Err(
                            reader.failed(format!("{failed} nodes failed, {silenced} are silent"))
                        );
                    }
                    let seconds = image.duration_us as f64 / 1e6;
                    let counts = reader.counts();
                    if best.as_ref().is_none_or(|(least, ..)| seconds < *least) {
                        let ports = image.roster.ports.len();
                        best = Some((seconds, counts, ports, image.roster.snapshot.topology.len()));
                    }
                }
                let Some((seconds, counts, ports, nodes)) = best else {
                    continue;
                };
                let mib = |bytes: u64| format!("{:.1}", bytes as f64 / f64::from(1 << 20));
                table.row([
                    hosts.to_string(),
                    latency_us.to_string(),
                    silent.to_string(),
                    ports.to_string(),
                    nodes.to_string(),
                    counts.sent.to_string(),
                    counts.again.to_string(),
                    mib(counts.bytes_sent),
                    mib(counts.bytes_received),
                    millis(seconds),
                    millis(counts.core.as_secs_f64()),
                    peak_mib("self").to_string(),
                ]);
            }
        }
    }
    print!("{table}");
    Ok(())
}

/// Both managers: what the agents of the fabric see of the second and later sweeps.
fn beside(options: &Options) -> Result<(), Failure> {
    let kinds = [Kind::Vendor, Kind::Weft];
    let programs = Programs::find(&kinds)?;
    let mut table = Table::new([
        "hosts",
        "agents µs",
        "manager",
        "sweep ms",
        "datagrams",
        "CPU ms a sweep",
    ]);
    for latency_us in &options.latency_us {
        let mut seconds = Vec::new();
        for kind in kinds {
            let fabric = Fabric::start(PEER_HOSTS, *latency_us)?;
            let manager = Manager::start_with_pm(&programs, kind, &fabric, WithPm::Yes)?;
            // The first sweep asks for more, and the fabric comes up during it.
            let mut last = next_burst(&fabric, None)?;
            last = next_burst(&fabric, Some(last))?;
            let cpu = manager.cpu_ms();
            let mut bursts = Vec::new();
            for _ in 0..options.runs.max(1) {
                last = next_burst(&fabric, Some(last))?;
                bursts.push(last);
            }
            let cpu = (manager.cpu_ms() - cpu) / bursts.len() as u64;
            let took = |burst: &Burst| burst.last.since(burst.first).as_secs_f64();
            let Some(best) = bursts.iter().min_by(|a, b| took(a).total_cmp(&took(b))) else {
                continue;
            };
            seconds.push(took(best));
            table.row([
                PEER_HOSTS.to_string(),
                latency_us.to_string(),
                kind.to_string(),
                millis(took(best)),
                best.datagrams.to_string(),
                cpu.to_string(),
            ]);
        }
        if let [vendor, weft] = seconds.as_slice() {
            let none = String::new;
            table.row([
                PEER_HOSTS.to_string(),
                latency_us.to_string(),
                "times faster".to_owned(),
                format!("{:.1}", vendor / weft),
                none(),
                none(),
            ]);
        }
    }
    print!("{table}");
    Ok(())
}

/// The next sweep of performance management that has ended.
fn next_burst(fabric: &Fabric, after: Option<Burst>) -> Result<Burst, Failure> {
    let start = Instant::now();
    let mut seen = None;
    let mut since = Instant::now();
    while start.elapsed() < PATIENCE {
        let burst = fabric.performance()?;
        if seen != burst {
            (seen, since) = (burst, Instant::now());
        }
        let is_next = |burst: &Burst| after.is_none_or(|after| burst.first > after.last);
        if let Some(burst) = seen.filter(is_next)
            && since.elapsed() >= QUIET
        {
            return Ok(burst);
        }
        sleep(Duration::from_millis(5));
    }
    Err(fabric.failed("performance management does not sweep"))
}
