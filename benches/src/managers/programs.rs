//! The managers as processes.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use super::fabric::Fabric;
use crate::Failure;

pub(crate) const VENDOR: &str = "/usr/lib/opa-fm/runtime/sm";
pub(crate) const VENDOR_CONTROL: &str = "/usr/sbin/opafmcmd";
const STOCK: &str = "/etc/opa-fm/opafm.xml";
/// Mounts a directory over the vendor's manager's socket directory, for one command: managers of
/// other fabrics on this machine use it too.
const WITH_OWN_SOCKETS: &str = r#"mount --bind "$0" /var/lib/opa-fm && exec "$@""#;
/// Time limit for a program to report the address of its API.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest number of hosts for which a tree of 48-port switches has two tiers.
const TWO_TIERS_MAX: u64 = 1_152;

/// Kind of manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// opa-fm's `sm`.
    Vendor,
    /// `weftd`.
    Weft,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vendor => "opa-fm",
            Self::Weft => "weftd",
        })
    }
}

/// Paths of the programs, in this one's directory.
pub(crate) struct Programs {
    pub(crate) weftd: PathBuf,
    pub(crate) weft: PathBuf,
    pub(crate) preload: PathBuf,
}

impl Programs {
    /// Finds the programs that these managers need.
    pub(crate) fn find(kinds: &[Kind]) -> Result<Self, Failure> {
        let this = std::env::current_exe().map_err(Failure::io("this program"))?;
        let dir = this.parent().unwrap_or(Path::new("."));
        let programs = Self {
            weftd: dir.join("weftd"),
            weft: dir.join("weft"),
            preload: dir.join("libweft_umad.so"),
        };
        let mut needed = vec![Path::new(STOCK)];
        for kind in kinds {
            needed.extend(match kind {
                Kind::Vendor => [Path::new(VENDOR), &programs.preload],
                Kind::Weft => [programs.weftd.as_path(), &programs.weft],
            });
        }
        for file in needed {
            fs::metadata(file).map_err(Failure::io(file.display().to_string()))?;
        }
        Ok(programs)
    }
}

/// Whether performance management runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithPm {
    /// It does.
    Yes,
    /// It does not, so that only subnet management is measured.
    No,
}

/// A running manager; killed when dropped.
pub(crate) struct Manager {
    process: Child,
    /// Command that requests a sweep.
    sweep: Vec<String>,
}

impl Manager {
    /// Starts a manager on a fabric, without performance management.
    pub(crate) fn start(programs: &Programs, kind: Kind, fabric: &Fabric) -> Result<Self, Failure> {
        Self::start_with_pm(programs, kind, fabric, WithPm::No)
    }

    /// Starts a manager on a fabric.
    pub(crate) fn start_with_pm(
        programs: &Programs,
        kind: Kind,
        fabric: &Fabric,
        pm: WithPm,
    ) -> Result<Self, Failure> {
        let config = fabric.dir().join("opafm.xml");
        fs::write(&config, config_for(fabric, pm)?).map_err(Failure::io("opafm.xml"))?;
        match kind {
            Kind::Vendor => start_vendor(programs, fabric, &config),
            Kind::Weft => start_weft(programs, fabric, &config),
        }
    }

    /// Requests a sweep of the unchanged fabric.
    pub(super) fn sweep(&self) -> Result<(), Failure> {
        run(&self.sweep)
    }

    /// Peak memory, MiB.
    pub(super) fn peak_mib(&self) -> u64 {
        crate::memory::peak_mib(&self.process.id().to_string())
    }

    /// CPU time so far, milliseconds.
    pub(crate) fn cpu_ms(&self) -> u64 {
        crate::memory::cpu_ms(&self.process.id().to_string())
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The stock file, adjusted to the fabric's tree, with the performance manager off because it is not
/// compared.
pub(crate) fn config_for(fabric: &Fabric, with_pm: WithPm) -> Result<String, Failure> {
    let stock = fs::read_to_string(STOCK).map_err(Failure::io(STOCK))?;
    let tiers = if fabric.hosts <= TWO_TIERS_MAX { 2 } else { 3 };
    let log = fabric.dir().join("sm.log");
    let pm = stock.find("<Pm>").unwrap_or(stock.len());
    let (before, after) = stock.split_at(pm);
    let after = match with_pm {
        WithPm::Yes => after.to_owned(),
        WithPm::No => after.replacen("<Start>1</Start>", "<Start>0</Start>", 1),
    };
    let text = before.to_owned() + &after;
    let edits = [
        (
            "<RoutingAlgorithm>shortestpath</RoutingAlgorithm>",
            "<RoutingAlgorithm>fattree</RoutingAlgorithm>".to_owned(),
        ),
        (
            "<TierCount>3</TierCount>",
            format!("<TierCount>{tiers}</TierCount>"),
        ),
        (
            "<SubnetSize>9216</SubnetSize>",
            "<SubnetSize>32768</SubnetSize>".to_owned(),
        ),
        (
            "<!-- <LogFile>/var/log/fm.log</LogFile> -->",
            format!("<LogFile>{}</LogFile>", log.display()),
        ),
    ];
    edits.into_iter().try_fold(text, |text, (from, to)| {
        if text.contains(from) {
            Ok(text.replacen(from, &to, 1))
        } else {
            let why = std::io::Error::other(format!("no {from} in it"));
            Err(Failure::io(STOCK)(why))
        }
    })
}

/// Prefix of a command that uses `dir` for the sockets of the vendor's manager.
fn with_own_sockets(dir: &Path) -> Vec<String> {
    let words = ["unshare", "-rm", "sh", "-c", WITH_OWN_SOCKETS];
    let mut words: Vec<String> = words.map(str::to_owned).to_vec();
    words.push(dir.display().to_string());
    words
}

/// The vendor's manager, which is not started yet, and the beginning of commands to it.
pub(crate) fn vendor(
    programs: &Programs,
    fabric: &Fabric,
    dir: &Path,
    config: &Path,
) -> Result<(Command, Vec<String>), Failure> {
    let sockets = dir.join("sockets");
    fs::create_dir(&sockets).map_err(Failure::io("sockets"))?;
    let own = with_own_sockets(&sockets);
    let mut command = Command::new(&own[0]);
    command
        .args(&own[1..])
        .arg("env")
        .arg(format!("LD_PRELOAD={}", programs.preload.display()))
        .args([VENDOR, "-e", "sm_0", "-X"])
        .arg(config)
        .env("WEFT_EMULATOR", fabric.address().to_string())
        .env("OMP_NUM_THREADS", "1");
    quiet(&mut command, dir);
    Ok((command, own))
}

/// `weftd`, which is not started yet, and its file of addresses.
pub(crate) fn weftd(
    programs: &Programs,
    fabric: &Fabric,
    dir: &Path,
    config: &Path,
) -> (Command, PathBuf) {
    let addresses = dir.join("addresses");
    let mut command = Command::new(&programs.weftd);
    command
        .arg("--config")
        .arg(config)
        .args(["--connect", &fabric.address().to_string()])
        .args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"])
        .arg("--state-dir")
        .arg(dir)
        .arg("--address-file")
        .arg(&addresses);
    quiet(&mut command, dir);
    (command, addresses)
}

fn quiet(command: &mut Command, dir: &Path) {
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
}

/// Runs a command to a manager to its end.
pub(crate) fn run(words: &[String]) -> Result<(), Failure> {
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

fn start_vendor(programs: &Programs, fabric: &Fabric, config: &Path) -> Result<Manager, Failure> {
    let (mut command, mut sweep) = vendor(programs, fabric, fabric.dir(), config)?;
    let process = command.spawn();
    sweep.extend([VENDOR_CONTROL, "smForceSweep"].map(str::to_owned));
    Ok(Manager {
        process: process.map_err(Failure::io(VENDOR))?,
        sweep,
    })
}

fn start_weft(programs: &Programs, fabric: &Fabric, config: &Path) -> Result<Manager, Failure> {
    let (mut command, addresses) = weftd(programs, fabric, fabric.dir(), config);
    let process = command.spawn().map_err(Failure::io("weftd"))?;
    let mut manager = Manager {
        process,
        sweep: Vec::new(),
    };
    let api = api_address(&addresses)?;
    let weft = programs.weft.display().to_string();
    manager.sweep = vec![weft, "--address".to_owned(), api, "sweep".to_owned()];
    Ok(manager)
}

/// Waits for the daemon's file of addresses.
pub(crate) fn api_address(file: &Path) -> Result<String, Failure> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("api "));
        if let Some(address) = line {
            return Ok(address.to_owned());
        }
        sleep(Duration::from_millis(5));
    }
    let why = std::io::Error::other("weftd does not say where its API is");
    Err(Failure::io(file.display().to_string())(why))
}
