//! OpenSM's tables, read back from the files that it dumps.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use weft_fabric::{LinearTables, Lmc, Topology};

use crate::Failure;
use crate::opensm::dumps::{LOG_LEVEL, read_nodes, read_tables, used, with_lids};
use crate::opensm::{Simulator, command, socket};

const PATIENCE: Duration = Duration::from_secs(900);
const POLL: Duration = Duration::from_millis(50);

/// OpenSM's result on a fabric.
pub(super) struct Peer {
    /// The fabric with the LIDs that it gave.
    pub(super) topology: Topology,
    pub(super) linear: LinearTables,
    /// The engine that made the tables: OpenSM falls back if the requested one fails.
    pub(super) engine: String,
}

/// Routes a fabric with one of its engines.
pub(super) fn route(topology: &Topology, engine: &str, lmc: Lmc) -> Result<Peer, Failure> {
    let dir = tempfile::tempdir().map_err(Failure::io("temporary directory"))?;
    let socket = socket();
    let _fabric = Simulator::start(topology, dir.path(), &socket)?;
    let opensm = command(topology, dir.path(), &socket)
        .args([
            "-o",
            "-R",
            engine,
            "-D",
            LOG_LEVEL,
            "-l",
            &lmc.0.to_string(),
        ])
        .spawn()
        .map_err(Failure::io("opensm"))?;
    let failed = |why: String| Failure::OpenSm {
        engine: engine.to_owned(),
        why,
    };
    wait(opensm).map_err(failed)?;
    let nodes = read_nodes(dir.path(), topology)?;
    let topology = with_lids(topology, &nodes, lmc);
    let linear = read_tables(dir.path(), &topology, &nodes)?;
    Ok(Peer {
        engine: used(dir.path())?.ok_or_else(|| failed("its log names no engine".to_owned()))?,
        topology,
        linear,
    })
}

/// Waits until it has done its sweep.
fn wait(mut opensm: Child) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match opensm.try_wait() {
            Ok(Some(_)) => return Ok(()),
            Err(why) => return Err(why.to_string()),
            Ok(None) if start.elapsed() > PATIENCE => {
                let stopped = opensm.kill().and_then(|()| opensm.wait());
                let why = stopped.err().map_or(String::new(), |why| why.to_string());
                return Err(format!("no end after {} s {why}", PATIENCE.as_secs()));
            }
            Ok(None) => sleep(POLL),
        }
    }
}
