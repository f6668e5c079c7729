//! The emulator as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use weft_emulator::server::DEFAULT_ADDRESS;
use weft_interop::Running;

use crate::harness::{signal, text, wait_for, wait_for_links};
use crate::process::{output, program};

fn weft_emulator() -> &'static Path {
    static EMULATOR: OnceLock<PathBuf> = OnceLock::new();
    EMULATOR.get_or_init(|| {
        weft_interop::built("weft-emulator", Path::new(env!("CARGO_BIN_EXE_weftd")))
    })
}

/// An emulator as a process, killed when dropped.
pub(crate) struct Emulator {
    process: Running,
    address: String,
}

impl Emulator {
    pub(crate) fn start(fabric: &str, socket: &Path) -> Self {
        let listen = format!("unix:{}", socket.display());
        let mut command = program(weft_emulator());
        command.args([fabric, "--listen", &listen]);
        let mut process = Running::start(command.stdout(Stdio::null()));
        wait_for(|| {
            assert_eq!(process.try_wait().unwrap(), None, "the emulator has ended");
            std::os::unix::net::UnixStream::connect(socket).ok()
        });
        Self {
            process,
            address: listen,
        }
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        PathBuf::from(self.address.trim_start_matches("unix:"))
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.process.id(), name);
    }

    /// Changes the fabric, as `weft-emulator ctl` does.
    pub(crate) fn change(&self, change: &[&str]) {
        let mut command = program(weft_emulator());
        command
            .args(["ctl", "--connect", &self.address])
            .args(change);
        let done = output(&mut command);
        assert!(done.status.success(), "{}", text(&done.stderr));
    }

    pub(crate) fn kill(mut self) {
        self.process.kill();
    }
}

/// Without a state directory the socket is where `weft-emulator ctl` looks, for one of several daemons. It is one path for the
/// whole machine: another emulator may have it already.
#[test]
fn a_daemon_without_a_state_directory_listens_where_ctl_looks_or_says_who_does() {
    let dir = tempfile::tempdir().unwrap();
    let mut listening = 0;
    let daemons: Vec<Running> = (0..2)
        .map(|number| {
            let log = dir.path().join(format!("log-{number}"));
            let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
            command.args(["--emulate", "fattree:16,radix=8"]);
            command.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
            command.stderr(std::fs::File::create(&log).unwrap());
            let daemon = Running::start(command.stdout(Stdio::null()));
            let said = wait_for(|| {
                let log = std::fs::read_to_string(&log).ok()?;
                let mut lines = log.lines();
                let said = lines.find(|line| line.contains(" faults by hand: "))?;
                Some(said.to_owned())
            });
            match said.contains("no faults by hand") {
                true => assert!(
                    said.contains(DEFAULT_ADDRESS.trim_start_matches("unix:"))
                        && said.contains("--control chooses another"),
                    "{said}"
                ),
                false => {
                    listening += 1;
                    let cut = ["ctl", "link-down", "edge1:5"];
                    let cut = output(program(weft_emulator()).args(cut));
                    assert!(text(&cut.stdout).starts_with("cable cut: edge1:5 (to core"));
                }
            }
            daemon
        })
        .collect();
    assert!(listening <= 1);
    drop(daemons);
}

#[test]
fn ctl_says_where_the_socket_is_to_be_found() {
    let mut cut = program(weft_emulator());
    cut.args([
        "ctl",
        "link-down",
        "edge1:5",
        "--connect",
        "unix:/nonexistent/s",
    ]);
    let refused = output(&mut cut);
    let said = text(&refused.stderr);
    assert!(!refused.status.success());
    assert!(
        said.contains("cannot be reached") && said.contains("--connect"),
        "{said}"
    );
}

#[test]
fn a_fabric_in_the_daemons_process_has_a_socket_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let daemon = crate::harness::Daemon::up("fattree:16,radix=8");
    let said = wait_for(|| {
        let log = daemon.log();
        let at = log.find("weft-emulator ctl --connect ")?;
        let rest = &log[at + "weft-emulator ctl --connect ".len()..];
        rest.split(['"', '\n', ' ']).next().map(str::to_owned)
    });
    let path = PathBuf::from(said.trim_start_matches("unix:"));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut cut = program(weft_emulator());
    let cut = cut.args(["ctl", "link-down", "edge1:5", "--connect", &said]);
    let cut = output(cut);
    assert!(
        text(&cut.stdout).starts_with("cable cut: edge1:5 (to core"),
        "{}",
        text(&cut.stderr)
    );
    wait_for_links(&daemon, 31);
    let (_, _dir) = daemon.stop();
    assert!(!path.exists());
}
