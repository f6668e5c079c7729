//! Weft's own manager, `weftd`, run like the vendor's: on a host, with the preload library, so that
//! the tests cover the code for real HFIs.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::build::built;
use crate::fabric::{Fabric, library};
use crate::running::Running;
use crate::vendor_sm::{SmSettings, write_config};

/// Interval at which the log is read.
const PAUSE: Duration = Duration::from_millis(20);

/// Log message of a new master.
const MASTER: &str = "this manager is master";
/// Log message of a standby.
const STANDBY: &str = "this manager is standby";
/// Log messages at the end of a sweep, the first one and later ones.
const SWEPT: [&str; 2] = ["fabric up: ", ") ended in "];

/// A running manager. It is killed when this is dropped, and the test fails if it has complained.
#[derive(Debug)]
pub struct Weftd {
    process: Running,
    log: PathBuf,
}

impl Weftd {
    /// Starts it on a host, with the vendor's configuration as the vendor's manager would have it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(fabric: &Fabric, host: &str, settings: &SmSettings) -> Self {
        Self::start_with(fabric, host, settings, "off", &[])
    }

    /// The same with so many MiB of recordings.
    ///
    /// # Panics
    /// Where it cannot be started.
    pub fn start_with_recordings(
        fabric: &Fabric,
        host: &str,
        settings: &SmSettings,
        mib: &str,
    ) -> Self {
        let options = ["--recording-budget", mib];
        Self::start_with(fabric, host, settings, "off", &options)
    }

    /// The same, where `opafmcmd` finds it. Take a [`turn`](crate::vendor_sm::turn) first.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start_for_opafmcmd(fabric: &Fabric, host: &str, settings: &SmSettings) -> Self {
        Self::start_with(fabric, host, settings, "/var/lib/opa-fm", &[])
    }

    fn start_with(
        fabric: &Fabric,
        host: &str,
        settings: &SmSettings,
        opafmcmd: &str,
        options: &[&str],
    ) -> Self {
        let directory = fabric.directory();
        let config = write_config(fabric, host, settings);
        let log = directory.join(format!("weftd-{host}.log"));
        let mut command = fabric.command(host, &program().to_string_lossy());
        command.arg("--config").arg(&config).args(options);
        let socket = directory.join(format!("api-{host}.sock"));
        command.args(["--listen", &format!("unix:{}", socket.display())]);
        command.args(["--metrics", "127.0.0.1:0"]);
        command.args(["--opafmcmd", opafmcmd]);
        command
            .arg("--state-dir")
            .arg(directory.join(format!("state-{host}")));
        println!("{host}: weftd with {settings:?}");
        command
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap());
        let process = Running::start(&mut command);
        Self { process, log }
    }

    /// The log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Address of its API, none before it listens.
    pub fn api(&self) -> Option<String> {
        let log = self.log();
        let (_, rest) = log.split_once("API at ")?;
        Some(rest.split_once(',')?.0.to_owned())
    }

    /// Runs the client `weft` on it.
    ///
    /// # Panics
    /// When it does not listen yet, or the client cannot be run.
    pub fn client(&self, arguments: &[&str]) -> Output {
        let mut client = Command::new(built("weft", program()));
        let client = client.args(arguments);
        let client = client.env("WEFT_ADDRESS", self.api().unwrap());
        client.output().unwrap()
    }

    /// What the client prints.
    ///
    /// # Panics
    /// When it fails.
    pub fn told(&self, arguments: &[&str]) -> String {
        let ran = self.client(arguments);
        let [out, err] = [ran.stdout, ran.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(ran.status.success(), "weft {arguments:?}: {out}{err}");
        out
    }

    /// Waits until it is master and a sweep since then has ended.
    ///
    /// # Panics
    /// When that takes longer than `patience`, or it has ended.
    pub fn wait_until_master(&mut self, patience: Duration) {
        self.wait("to be master and to have swept", patience, |log| {
            let led = log.rsplit_once(MASTER);
            led.is_some_and(|(_, since)| SWEPT.iter().any(|text| since.contains(text)))
        });
    }

    /// Waits until it stands by.
    ///
    /// # Panics
    /// When that takes longer than `patience`, or it has ended.
    pub fn wait_until_standby(&mut self, patience: Duration) {
        self.wait("to stand by", patience, |log| {
            log.rfind(STANDBY)
                .is_some_and(|at| !log[at..].contains(MASTER))
        });
    }

    fn wait(&mut self, what: &str, patience: Duration, holds: impl Fn(&str) -> bool) {
        let until = Instant::now() + patience;
        loop {
            let log = self.log();
            if holds(&log) {
                return;
            }
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "weftd ended: {ended:?}\n{log}");
            assert!(Instant::now() < until, "weftd was {what}; its log:\n{log}");
            std::thread::sleep(PAUSE);
        }
    }

    /// The faults of devices, and the errors, that it has logged.
    pub fn complaints(&self) -> Vec<String> {
        complaints(&self.log())
    }

    /// Ends it without a clean exit, as by `kill -9`.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}

impl Drop for Weftd {
    fn drop(&mut self) {
        self.process.end();
        let complaints = self.complaints().join("\n");
        assert!(
            complaints.is_empty() || std::thread::panicking(),
            "weftd complained:\n{complaints}"
        );
    }
}

fn complaints(log: &str) -> Vec<String> {
    let bad = |line: &&str| line.contains("ERROR ") || line.contains("broke the rules");
    log.lines().filter(bad).map(str::to_owned).collect()
}

/// The program, built if need be: it is another package's.
///
/// # Panics
/// When it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built("weftd", &library()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A daemon's end with a log, as if it had run.
    fn ended_with(log: &str) -> Weftd {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (_, path) = file.keep().unwrap();
        std::fs::write(&path, log).unwrap();
        let process = Running::start(&mut std::process::Command::new("true"));
        Weftd { process, log: path }
    }

    #[test]
    #[should_panic(expected = "weftd complained")]
    fn an_error_of_the_daemon_fails_the_test() {
        drop(ended_with(
            "2026-01-01T00:00:00Z  INFO weftd: fabric up\n\
             2026-01-01T00:00:01Z ERROR weftd: the state could not be saved\n",
        ));
    }

    #[test]
    fn other_lines_are_no_complaints() {
        let log = "2026-01-01T00:00:00Z  INFO weftd: fabric up: 0 errors\n\
                   2026-01-01T00:00:01Z  WARN weftd: the manager went\n";
        drop(ended_with(log));
        assert_eq!(complaints(log), Vec::<String>::new());
    }
}
