//! A manager on a host, as a process.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use weft_fabric::Guid;

use crate::Failure;
use crate::managers::fabric::Fabric;
use crate::managers::programs::{
    Kind, Programs, VENDOR, VENDOR_CONTROL, WithPm, api_address, config_for, with_own_sockets,
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

fn run(words: &[String]) -> Result<(), Failure> {
    let [program, words @ ..] = words else {
        return Ok(());
    };
    let ran = Command::new(program)
        .args(words)
        .stdout(Stdio::null())
        .status();
    let status = ran.map_err(Failure::io(program.clone()))?;
    let refused = || std::io::Error::other(format!("ended with {status}"));
    match status.success() {
        true => Ok(()),
        false => Err(Failure::io(format!("{program} {}", words.join(" ")))(
            refused(),
        )),
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn start_vendor(
    programs: &Programs,
    fabric: &Fabric,
    seat: Seat<'_>,
    config: &Path,
) -> Result<Daemon, Failure> {
    let sockets = seat.dir.join("sockets");
    fs::create_dir(&sockets).map_err(Failure::io("sockets"))?;
    let mut words = with_own_sockets(&sockets);
    let preload = format!("LD_PRELOAD={}", programs.preload.display());
    words.extend(["env", &preload, VENDOR, "-e", "sm_0", "-X"].map(str::to_owned));
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .arg(config)
        .env("WEFT_EMULATOR", fabric.address().to_string())
        .env("WEFT_HOST", seat.host.to_string())
        .env("OMP_NUM_THREADS", "1")
        .current_dir(seat.dir);
    let process = quiet(&mut command).spawn();
    let mut restore = with_own_sockets(&sockets);
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
    let addresses: PathBuf = seat.dir.join("addresses");
    let mut command = Command::new(&programs.weftd);
    command
        .arg("--config")
        .arg(config)
        .args(["--connect", &fabric.address().to_string()])
        .args(["--host", &seat.host.to_string()])
        .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
        .args(["--opafmcmd", "off"])
        .arg("--state-dir")
        .arg(seat.dir)
        .arg("--address-file")
        .arg(&addresses)
        .current_dir(seat.dir);
    if let Some(peer) = seat.peer {
        command.args(["--peer", &format!("http://{peer}")]);
    }
    let process = quiet(&mut command).spawn();
    let mut daemon = Daemon {
        process: process.map_err(Failure::io("weftd"))?,
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
