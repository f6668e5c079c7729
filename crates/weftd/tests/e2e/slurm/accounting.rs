//! A whole Slurm that runs jobs and keeps account of them: Debian's slurmctld, slurmd for each node, slurmdbd and MariaDB as
//! ordinary processes, with all their files in a directory of the test.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use weft_interop::slurmctld::{node_lines, user};
use weft_interop::{Running, Slurmctld};

use crate::harness::{free_address, text, wait_for};
use crate::process::output;

/// All of its processes, killed when dropped.
pub(crate) struct Slurm {
    nodes: Vec<Running>,
    controller: Slurmctld,
    _accounting: Running,
    _database: Running,
    sbatch: PathBuf,
    sacct: PathBuf,
    scancel: PathBuf,
    squeue: PathBuf,
}

impl Slurm {
    /// Starts it in an empty directory, with nodes of these names. `None` where a program of it is not installed.
    pub(crate) fn start(directory: &Path, nodes: &[&str]) -> Option<Self> {
        let [sbatch, sacct] = ["sbatch", "sacct"].map(weft_peers::program);
        let (sbatch, sacct) = (sbatch?, sacct?);
        let [scancel, squeue] = ["scancel", "squeue"].map(weft_peers::program);
        let (scancel, squeue) = (scancel?, squeue?);
        let (database, port) = database(directory)?;
        let (accounting, port) = slurmdbd(directory, port)?;
        let lines = format!(
            "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\n\
             AccountingStoragePort={port}\n{}",
            node_lines(directory, nodes, 1)
        );
        let controller = Slurmctld::with(directory, &lines)?;
        Some(Self {
            nodes: controller.start_nodes(nodes)?,
            controller,
            _accounting: accounting,
            _database: database,
            sbatch,
            sacct,
            scancel,
            squeue,
        })
    }

    /// The file that `SLURM_CONF` is to name.
    pub(crate) fn conf(&self) -> &Path {
        self.controller.conf()
    }

    /// The program that is asked for jobs.
    pub(crate) fn sacct(&self) -> &Path {
        &self.sacct
    }

    /// Submits a job of that name on all nodes that ends after some seconds. Its number.
    pub(crate) fn submit(&self, name: &str, seconds: u32) -> String {
        let count = self.nodes.len().to_string();
        let wrapped = format!("--wrap=sleep {seconds}");
        wait_for(|| {
            let mut command = self.client(&self.sbatch);
            command.args(["--parsable", "-N", &count, "-J", name, &wrapped]);
            let submitted = output(command.args(["--output=/dev/null", "--chdir=/"]));
            let id = text(&submitted.stdout).trim().to_owned();
            submitted.status.success().then_some(id)
        })
    }

    /// Submits one, and waits until it runs.
    pub(crate) fn run(&self, name: &str, seconds: u32) -> String {
        let id = self.submit(name, seconds);
        self.until(&id, "RUNNING");
        id
    }

    /// Waits until the accounting says that of a job.
    pub(crate) fn until(&self, id: &str, state: &str) {
        wait_for(|| {
            let mut command = self.client(&self.sacct);
            let told = output(command.args(["-j", id, "-X", "-n", "-P", "-o", "State"]));
            (text(&told.stdout).trim() == state).then_some(())
        });
    }

    /// When a job began and ended, in UTC, with a bar between.
    pub(crate) fn times(&self, id: &str) -> String {
        let mut command = self.client(&self.sacct);
        command
            .env("SLURM_TIME_FORMAT", "%Y-%m-%dT%H:%M:%S")
            .env("TZ", "UTC");
        command.args(["-j", id, "-X", "-n", "-P", "-o", "Start,End"]);
        text(&output(&mut command).stdout).trim().to_owned()
    }

    fn client(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.conf());
        command
    }
}

/// Jobs end before their node's daemon does: a step without one lasts.
impl Drop for Slurm {
    fn drop(&mut self) {
        let user = format!("--user={}", user());
        let _cancelled = self.client(&self.scancel).arg(&user).output();
        for _ in 0..100 {
            let left = self.client(&self.squeue).args(["-h", &user]).output();
            if left.is_ok_and(|left| left.stdout.is_empty()) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
    }
}

fn quiet(command: &mut Command) -> Running {
    Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Waits until something listens.
fn until_heard(port: u16) {
    wait_for(|| TcpStream::connect(("127.0.0.1", port)).ok());
}

/// A MariaDB with a user for Slurm, and its port.
fn database(directory: &Path) -> Option<(Running, u16)> {
    let install = weft_peers::program("mariadb-install-db")?;
    let server = weft_peers::program("mariadbd")?;
    let data = directory.join("database");
    let mut command = Command::new(install);
    command
        .args(["--no-defaults", "--skip-test-db"])
        .arg("--auth-root-authentication-method=normal")
        .arg(format!("--user={}", user()))
        .arg(format!("--datadir={}", data.display()));
    let made = output(&mut command);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let first = directory.join("first.sql");
    fs::write(
        &first,
        "CREATE DATABASE slurm;\nGRANT ALL ON slurm.* TO 'slurm'@'localhost' IDENTIFIED BY 'x';\n\
         GRANT ALL ON slurm.* TO 'slurm'@'127.0.0.1' IDENTIFIED BY 'x';\n",
    )
    .unwrap();
    let port = free_address().port();
    let mut command = Command::new(server);
    command
        .args(["--no-defaults", "--bind-address=127.0.0.1"])
        .arg(format!("--user={}", user()))
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}/database.sock", directory.display()))
        .arg(format!("--port={port}"))
        .arg(format!("--init-file={}", first.display()));
    let running = quiet(&mut command);
    until_heard(port);
    Some((running, port))
}

/// The daemon of the accounting on a database at that port, and its own port.
fn slurmdbd(directory: &Path, database: u16) -> Option<(Running, u16)> {
    let program = weft_peers::program("slurmdbd")?;
    let conf = directory.join("slurmdbd.conf");
    let port = free_address().port();
    fs::write(
        &conf,
        format!(
            "AuthType=auth/none\nDbdHost=localhost\nDbdAddr=127.0.0.1\nDbdPort={port}\nSlurmUser={}\n\
             PidFile={at}/slurmdbd.pid\nLogFile={at}/slurmdbd.log\nStorageType=accounting_storage/mysql\n\
             StorageHost=127.0.0.1\nStoragePort={database}\nStorageUser=slurm\nStoragePass=x\nStorageLoc=slurm\n",
            user(),
            at = directory.display()
        ),
    )
    .unwrap();
    // slurmdbd refuses one that others can read.
    fs::set_permissions(&conf, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new(program);
    let running = quiet(command.arg("-D").env("SLURM_CONF", &conf));
    until_heard(port);
    Some((running, port))
}
