//! A manager on a host, as a process.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;

use weft_fabric::Guid;

use crate::Failure;
use crate::managers::fabric::Fabric;
use crate::managers::programs::{
    Kind, Programs, VENDOR, VENDOR_CONTROL, WithPm, api_address, config_for, run, vendor, weftd,
};

/// Elevated priority of every master, above all others.
const ELEVATED: u8 = 8;

/// What a manager is started with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat<'a> {
    pub(super) host: Guid,
    pub(super) priority: u8,
    /// API of the daemon that it follows.
    pub(super) peer: Option<SocketAddr>,
    /// Where it keeps its files.
    pub(super) dir: &'a Path,
}

/// A manager that runs; killed when dropped.
pub(super) struct Daemon {
    process: Child,
    /// Command that has a better standby take over.
    restore: Vec<String>,
    /// Where its API is, of one that has one.
    pub(super) api: Option<SocketAddr>,
}

impl Daemon {
    pub(super) fn start(
        programs: &Programs,
        kind: Kind,
        fabric: &Fabric,
        seat: Seat<'_>,
    ) -> Result<Self, Failure> {
        fs::create_dir(seat.dir).map_err(Failure::io("directory of a manager"))?;
        let config = seat.dir.join("opafm.xml");
        let text = config_for(fabric, WithPm::No)?
            .replacen(
                "<Priority>0</Priority>",
                &format!("<Priority>{}</Priority>", seat.priority),
                1,
            )
            .replacen(
                "<ElevatedPriority>0</ElevatedPriority>",
                &format!("<ElevatedPriority>{ELEVATED}</ElevatedPriority>"),
                1,
            )
            .replacen(
                &fabric.dir().join("sm.log").display().to_string(),
                &seat.dir.join("sm.log").display().to_string(),
                1,
            );
        fs::write(&config, text).map_err(Failure::io("opafm.xml"))?;
        match kind {
            Kind::Vendor => start_vendor(programs, fabric, seat, &config),
            Kind::Weft => start_weft(programs, fabric, seat, &config),
        }
    }

    /// Sends its process a signal.
    pub(super) fn signal(&self, signal: &str) -> Result<(), Failure> {
        let id = self.process.id().to_string();
        run(&["kill".to_owned(), format!("-{signal}"), id])
    }

    /// Has a better standby take over.
    pub(super) fn restore_priority(&self) -> Result<(), Failure> {
        run(&self.restore)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn start_vendor(
    programs: &Programs,
    fabric: &Fabric,
    seat: Seat<'_>,
    config: &Path,
) -> Result<Daemon, Failure> {
    let (mut command, mut restore) = vendor(programs, fabric, seat.dir, config)?;
    let process = command.env("WEFT_HOST", seat.host.to_string()).spawn();
    restore.extend([VENDOR_CONTROL, "smRestorePriority"].map(str::to_owned));
    Ok(Daemon {
        process: process.map_err(Failure::io(VENDOR))?,
        restore,
        api: None,
    })
}

fn start_weft(
    programs: &Programs,
    fabric: &Fabric,
    seat: Seat<'_>,
    config: &Path,
) -> Result<Daemon, Failure> {
    let (mut command, addresses) = weftd(programs, fabric, seat.dir, config);
    command
        .args(["--host", &seat.host.to_string()])
        .args(["--opafmcmd", "off"]);
    if let Some(peer) = seat.peer {
        command.args(["--peer", &format!("http://{peer}")]);
    }
    let mut daemon = Daemon {
        process: command.spawn().map_err(Failure::io("weftd"))?,
        restore: Vec::new(),
        api: None,
    };
    let api = api_address(&addresses)?;
    daemon.api = api.trim_start_matches("http://").parse().ok();
    let weft = programs.weft.display().to_string();
    let words = ["--address", &api, "fm", "restore-priority"].map(str::to_owned);
    daemon.restore = [vec![weft], words.to_vec()].concat();
    Ok(daemon)
}
