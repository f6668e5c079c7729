//! Runs a fabric until a stop signal.

use std::error::Error;
use std::io::{Write, stdout};
use std::path::Path;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use weft_emulator::server::Server;
use weft_emulator::{Options, host};
use weft_fabric::generate::FabricSpec;
use weft_fabric::import::import_fabric;
use weft_fabric::{Topology, powered_on, text};

use super::Run;

/// Largest file that is read, bytes.
const FILE_MAX: u64 = 1 << 30;

pub(crate) async fn run(run: Run) -> Result<(), Box<dyn Error>> {
    let spec = run.fabric.clone().ok_or("FABRIC is missing")?;
    let mut topology = topology(&spec)?;
    if run.interleave {
        powered_on::let_interleave(&mut topology);
    }
    powered_on::limit_managers(&mut topology, run.managers, &[]);
    let topology = Arc::new(topology);
    let handle = host::spawn_task(topology.clone(), options(&run))?;
    let server = Server::listen(&run.listen, run.allow_remote).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The fabric keeps running even if nobody reads this.
    let (fabric, address) = (describe(&topology), server.address());
    let _ = writeln!(stdout(), "{fabric}\nlistening on {address}");
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    server.run(handle.clone(), stop).await;
    handle.stop().await;
    tracing::info!("stopped");
    Ok(())
}

fn options(run: &Run) -> Options {
    Options {
        seed: run.seed,
        agent_latency_ns: run.latency,
        hop_latency_ns: run.hop_latency,
        faults: run.transit.faults(0, run.delay),
    }
}

fn topology(spec: &FabricSpec) -> Result<Topology, Box<dyn Error>> {
    match spec {
        FabricSpec::File(path) => read_file(Path::new(path)),
        spec => Ok(spec.generate()?),
    }
}

/// The nodes and cables of a file, switched off and on again.
fn read_file(path: &Path) -> Result<Topology, Box<dyn Error>> {
    let failed = |error: &dyn Error| format!("{}: {error}", path.display());
    let len = std::fs::metadata(path)
        .map_err(|error| failed(&error))?
        .len();
    if len > FILE_MAX {
        return Err(format!("{}: {len} bytes, allowed: {FILE_MAX}", path.display()).into());
    }
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let snapshot = import_fabric(&text).map_err(|error| failed(&error))?;
    Ok(powered_on::restart(&snapshot.topology)?)
}

fn describe(topology: &Topology) -> String {
    let switches = text::count(topology.switches().len(), "switch");
    let hosts = text::count(topology.hfis().count(), "host");
    let first = topology.hfis().next();
    let first = first.map_or("none".to_owned(), |(_, node)| {
        format!("{} ({})", node.name(), node.guid())
    });
    let links = text::count(topology.links().count(), "link");
    format!("{hosts}, {switches}, {links}; first host: {first}")
}
