//! The peer: OpenSM's `ftree` over ibsim, both of Debian. What counts is the time from the line in
//! its log that says routing begins to the one that says the tables are done: computing, no
//! datagrams. On a busy machine the CPU time of its threads between the two lines is less and
//! counts instead.

pub(crate) mod dumps;

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_fabric::Topology;

use crate::Failure;

const PRELOAD: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";
/// Its log.
pub(crate) const LOG: &str = "opensm.log";
const BEGINS: &str = "building routing with 'ftree'";
const DONE: &str = "FatTree routing is done";
/// Errors, information and verbose messages.
const LOG_LEVEL: &str = "0x07";
/// SMPs on the wire at a time.
const SMPS: &str = "64";
/// Time allowed for ibsim to read a net file before OpenSM starts, per host.
const LOADING_MS_PER_HOST: u64 = 1;
const POLL: Duration = Duration::from_millis(2);
const PATIENCE: Duration = Duration::from_secs(900);

/// Seconds that OpenSM takes to route a fat tree.
///
/// # Errors
/// [`Failure::Io`] when a program cannot be run, [`Failure::Silent`] when OpenSM does not finish.
pub fn ftree(topology: &Topology) -> Result<f64, Failure> {
    let dir = tempfile::tempdir().map_err(Failure::io("temporary directory"))?;
    let socket = socket();
    let _fabric = Simulator::start(topology, dir.path(), &socket)?;
    let log = dir.path().join(LOG);
    let mut opensm = command(topology, dir.path(), &socket)
        .args(["-o", "-R", "ftree", "-D", LOG_LEVEL])
        .spawn()
        .map_err(Failure::io("opensm"))?;
    let seconds = wait(&log, opensm.id());
    // It has printed the result; the rest of its sweep is not needed.
    let stopped = opensm.kill().and_then(|()| opensm.wait());
    stopped.map_err(Failure::io("stopping opensm"))?;
    seconds
}

/// A name for the simulator's sockets that no other run has.
pub(crate) fn socket() -> String {
    format!("weft-bench-{}", std::process::id())
}

/// OpenSM on the first host, all of its files in `dir`.
pub(crate) fn command(topology: &Topology, dir: &Path, socket: &str) -> Command {
    let mut command = client("opensm", &name(topology, first_host(topology)), socket);
    command
        .args(["-n", SMPS, "-f", LOG])
        .current_dir(dir)
        .env("OSM_TMP_DIR", dir)
        .env("OSM_CACHE_DIR", dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// A program on a host of the simulator's fabric.
pub(crate) fn client(program: &str, host: &str, socket: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("LD_PRELOAD", PRELOAD)
        .env("SIM_HOST", host)
        .env("IBSIM_SOCKNAME", socket);
    command
}

/// ibsim, stopped when dropped.
pub(crate) struct Simulator {
    process: Child,
    /// Its console: it ends when this does.
    _console: Option<ChildStdin>,
}

impl Simulator {
    /// Starts it on a fabric, whose net file it writes into `dir`, and waits until it has read it.
    pub(crate) fn start(topology: &Topology, dir: &Path, socket: &str) -> Result<Self, Failure> {
        let net = &dir.join("net");
        write_net(topology, net).map_err(Failure::io(net.display().to_string()))?;
        let ports: usize = topology
            .nodes()
            .map(|(_, node)| node.ports().len() + 1)
            .sum();
        let limit = |option: &str, value: usize| [option.to_owned(), (value + 16).to_string()];
        let mut process = Command::new("ibsim")
            .arg("-s")
            .args(limit("-N", topology.len()))
            .args(limit("-S", topology.switches().len()))
            .args(limit("-P", ports))
            .arg(net)
            .env("IBSIM_SOCKNAME", socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Failure::io("ibsim"))?;
        let console = process.stdin.take();
        let hosts = topology.hfis().count() as u64;
        sleep(Duration::from_millis(500 + hosts * LOADING_MS_PER_HOST));
        Ok(Self {
            process,
            _console: console,
        })
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn first_host(topology: &Topology) -> usize {
    let mut hosts = topology.hfis();
    hosts.next().map_or(0, |(node, _)| node.0 as usize)
}

/// Name of a node in the net file.
pub(crate) fn name(topology: &Topology, node: usize) -> String {
    let switch = topology.switch_index(weft_fabric::NodeId(node as u32));
    let kind = if switch.is_some() { 'S' } else { 'H' };
    format!("{kind}{node}")
}

/// GUID of a switch in the net file; those of hosts are lower.
pub(crate) fn switch_guid(node: usize) -> u64 {
    0x20_0000 + node as u64
}

/// The fabric as ibsim reads it.
fn write_net(topology: &Topology, net: &Path) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(net)?);
    for (id, node) in topology.nodes() {
        let kind = if node.is_switch() { "Switch" } else { "Hca" };
        let ports = node.external_ports().count();
        if node.is_switch() {
            writeln!(out, "switchguid=0x{:x}", switch_guid(id.0 as usize))?;
        }
        writeln!(out, "{kind}\t{ports} \"{}\"", name(topology, id.0 as usize))?;
        for (port, end) in node.external_ports() {
            if let Some(peer) = end.peer {
                let far = name(topology, peer.node.0 as usize);
                writeln!(out, "[{port}]\t\"{far}\"[{}]", peer.port)?;
            }
        }
        writeln!(out)?;
    }
    out.flush()
}

/// Waits until the log reports the end of routing; returns the seconds between its two lines, by the clock
/// of the log or of the CPU, whichever is less.
fn wait(log: &Path, process: u32) -> Result<f64, Failure> {
    let start = Instant::now();
    let mut lines = Lines::default();
    let begins = lines.wait(log, BEGINS, start)?;
    let from = cpu(process);
    let done = lines.wait(log, DONE, start)?;
    let busy = from.zip(cpu(process)).map(|(from, to)| to - from);
    // Past midnight the stamps start again.
    let clock = (done - begins).rem_euclid(86_400.0);
    let exact = busy.filter(|busy| *busy > POLL.as_secs_f64() * 10.0);
    Ok(exact.map_or(clock, |busy| busy.min(clock)))
}

/// A log as it grows.
#[derive(Default)]
struct Lines {
    file: Option<File>,
    text: String,
}

impl Lines {
    /// Waits for a line and drops what comes before it.
    fn wait(&mut self, log: &Path, wanted: &'static str, start: Instant) -> Result<f64, Failure> {
        loop {
            if self.file.is_none() {
                self.file = File::open(log).ok();
            }
            if let Some(file) = &mut self.file {
                // What cannot be read yet is read in the next round.
                let _ = file.read_to_string(&mut self.text);
            }
            if let Some(seconds) = stamp(&self.text, wanted) {
                return Ok(seconds);
            }
            if start.elapsed() > PATIENCE {
                return Err(silent(log, &self.text, wanted));
            }
            let whole = self.text.rfind('\n').map_or(0, |end| end + 1);
            self.text.drain(..whole);
            sleep(POLL);
        }
    }
}

/// CPU seconds of all threads of a process.
fn cpu(process: u32) -> Option<f64> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok());
    let nanos = stats.filter_map(|stat| stat.split_whitespace().next()?.parse::<f64>().ok());
    Some(nanos.sum::<f64>() / 1e9)
}

fn silent(log: &Path, text: &str, wanted: &'static str) -> Failure {
    let last: Vec<&str> = text.lines().rev().take(3).collect();
    Failure::Silent {
        log: PathBuf::from(log),
        wanted,
        seconds: PATIENCE.as_secs(),
        end: last.into_iter().rev().collect::<Vec<_>>().join("; "),
    }
}

/// Seconds since midnight of the first line with `text`, which begins like
/// `Nov 21 09:40:20 955721 [`: the last number is microseconds.
fn stamp(log: &str, text: &str) -> Option<f64> {
    let whole = log.rfind('\n')?;
    let line = log[..whole].lines().find(|line| line.contains(text))?;
    let mut words = line.split_whitespace().skip(2);
    let (clock, micros) = (words.next()?, words.next()?);
    let mut clock = clock.split(':').map(|part| part.parse::<f64>().ok());
    let seconds = clock.try_fold(0.0, |sum, part| Some(sum * 60.0 + part?))?;
    Some(seconds + micros.parse::<f64>().ok()? / 1e6)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn stamps_are_read() {
        let log =
            "x\nNov 21 09:40:20 955721 [ACFB26C0] 0x04 -> do_routing: FatTree routing is done\n";
        let seconds = stamp(log, DONE).unwrap();
        assert!((seconds - (9.0 * 3600.0 + 40.0 * 60.0 + 20.955_721)).abs() < 1e-6);
        assert_eq!(stamp(log, BEGINS), None);
    }
}
