//! Starts a daemon on an emulated fabric and calls the client.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{output, program};
use weft_interop::Running;
pub(crate) use weft_interop::{PATIENCE, free_address, wait_for};

/// The repository's own stock-like configuration.
pub(crate) fn stock_config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/opafm.xml")
}

/// Changes of the stock configuration after which counters are read every second.
pub(crate) const READ_OFTEN: [(&str, &str); 1] = [(
    "<SweepInterval>10</SweepInterval>",
    "<SweepInterval>1</SweepInterval>",
)];

/// A change of it after which no request is sent again where a busy machine lets answers come late.
pub(crate) const ASKS_ONCE: (&str, &str) = (
    "<Lmc>0</Lmc>",
    "<Lmc>0</Lmc><RespTimeout>2000</RespTimeout><MinRespTimeout>2000</MinRespTimeout>",
);

/// Writes the stock configuration with changes of what stands in it once.
pub(crate) fn configure(file: &Path, changes: &[(&str, &str)]) {
    let mut text = std::fs::read_to_string(stock_config()).unwrap();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    std::fs::write(file, text).unwrap();
}

/// Writes the stock configuration with two LIDs for each port, adaptive routing, and counters read every second.
pub(crate) fn configure_adaptive(file: &Path) {
    configure(file, &[READ_OFTEN[0], ("<Lmc>0</Lmc>", "<Lmc>1</Lmc>")]);
    let text = std::fs::read_to_string(file).unwrap();
    let at = text.find("<AdaptiveRouting>").unwrap();
    let (before, after) = text.split_at(at);
    let after = after.replacen("<Enable>0</Enable>", "<Enable>1</Enable>", 1);
    std::fs::write(file, before.to_owned() + &after).unwrap();
}

/// A file that the tests bring along.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// The client's program, built if need be: it is another package's.
pub(crate) fn weft() -> &'static Path {
    static WEFT: OnceLock<PathBuf> = OnceLock::new();
    WEFT.get_or_init(|| weft_interop::built("weft", Path::new(env!("CARGO_BIN_EXE_weftd"))))
}

/// A daemon, killed when dropped.
pub(crate) struct Daemon {
    process: Running,
    pub(crate) api: String,
    pub(crate) metrics: String,
    pub(crate) dir: TempDir,
}

/// Options of a daemon to start.
pub(crate) struct Start {
    pub(crate) command: Command,
    pub(crate) dir: TempDir,
}

impl Start {
    /// On `fabric`, with the stock configuration, on free ports.
    pub(crate) fn new(fabric: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
        Self::in_dir(dir, fabric)
    }

    /// On the fabric of an emulator that listens at a Unix socket.
    pub(crate) fn connected(socket: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
        Self::connected_in(dir, socket)
    }

    /// Starts in an earlier daemon's directory, on a socket.
    pub(crate) fn connected_in(dir: TempDir, socket: &Path) -> Self {
        Self::on(dir, &["--connect", &format!("unix:{}", socket.display())])
    }

    /// Starts in an earlier daemon's directory.
    pub(crate) fn in_dir(dir: TempDir, fabric: &str) -> Self {
        Self::on(dir, &["--emulate", fabric])
    }

    /// Starts with a fabric given by arguments, in a directory that an earlier daemon may have used.
    pub(crate) fn on(dir: TempDir, fabric: &[&str]) -> Self {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
        command.args(fabric);
        command.args(["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
        command.arg("--config").arg(dir.path().join("opafm.xml"));
        command.arg("--state-dir").arg(dir.path().join("state"));
        command
            .arg("--address-file")
            .arg(dir.path().join("addresses"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, dir }
    }

    pub(crate) fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    /// Starts it and waits until its first sweep has ended.
    pub(crate) fn up(mut self) -> Daemon {
        let stderr = std::fs::File::create(self.dir.path().join("stderr"));
        self.command.stderr(stderr.unwrap());
        let mut daemon = self.up_unlogged();
        let swept = ["fabric up", "standby: another manager"];
        daemon.wait_for(|daemon| {
            let log = daemon.log();
            swept.iter().any(|text| log.contains(text)).then_some(())
        });
        daemon
    }

    /// Starts it with its outputs as they are and waits until its addresses are known.
    pub(crate) fn up_unlogged(mut self) -> Daemon {
        let addresses = self.dir.path().join("addresses");
        let _ = std::fs::remove_file(&addresses);
        let mut daemon = Daemon {
            process: Running::start(&mut self.command),
            api: String::new(),
            metrics: String::new(),
            dir: self.dir,
        };
        let text = daemon.wait_for(|_| {
            let text = std::fs::read_to_string(&addresses).ok();
            // The last line.
            text.filter(|text| text.contains("\nmetrics ") && text.ends_with('\n'))
        });
        let url = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split(' ').nth(1).unwrap().to_owned()
        };
        (daemon.api, daemon.metrics) = (url("api"), url("metrics"));
        daemon
    }
}

impl Daemon {
    pub(crate) fn up(fabric: &str) -> Self {
        Start::new(fabric).up()
    }

    /// Waits until `look` returns a value; fails if the daemon ends before.
    fn wait_for<T>(&mut self, look: impl Fn(&Self) -> Option<T>) -> T {
        wait_for(|| {
            let found = look(self);
            let ended = found.is_none().then(|| self.process.try_wait().unwrap());
            assert_eq!(ended.flatten(), None, "the daemon has ended");
            found
        })
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("stderr")).unwrap()
    }

    /// Waits until the log has a text: it gets events after the clients.
    pub(crate) fn logs(&self, text: &str) {
        let start = Instant::now();
        while !self.log().contains(text) {
            let log = self.log();
            assert!(
                start.elapsed() < PATIENCE,
                "{text:?} is not in the log: {log}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until so many changes have been asked for: the daemon has their requests.
    pub(crate) fn has_been_asked(&self, count: usize) {
        wait_for(|| {
            // Before the first there is no record.
            let asked = text(&self.weft(&["audit", "list", "--json"]).stdout);
            (asked.lines().count() >= count).then_some(())
        });
    }

    /// Waits until the daemon has noticed that the client of a change is gone.
    pub(crate) fn notices_that_a_client_left(&self) {
        self.logs("the client went away before it was answered");
    }

    /// Calls the client.
    pub(crate) fn weft(&self, args: &[&str]) -> Output {
        let mut command = program(weft());
        command.env("WEFT_ADDRESS", &self.api).args(args);
        output(&mut command)
    }

    /// What `weft top` shows; none as long as the counters have not been read twice.
    pub(crate) fn top(&self) -> Option<Value> {
        let top = self.weft(&["top", "--once", "--json"]);
        serde_json::from_slice(&top.stdout).ok()
    }

    /// Waits for so many readings of the counters, of which all but the first begin after now.
    pub(crate) fn readings(&self, count: u64) {
        let image = || self.top()?["image"].as_u64();
        let first = wait_for(image);
        wait_for(|| image().filter(|image| *image >= first + count));
    }

    /// Runs the client, which has to succeed; returns its output.
    pub(crate) fn weft_ok(&self, args: &[&str]) -> String {
        let output = self.weft(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "weft {args:?}: {err}\n{out}\n{}",
            self.log()
        );
        out
    }

    /// Runs the client, which has to fail with `code`; returns its message.
    pub(crate) fn weft_fails(&self, code: i32, args: &[&str]) -> String {
        let output = self.weft(args);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "weft {args:?}: {err}");
        err
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.process.id(), name);
    }

    /// Ends it as a crash does; the directory.
    pub(crate) fn crash(mut self) -> TempDir {
        self.process.kill();
        std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap())
    }

    /// Waits until a signal has ended it; its number and the directory.
    pub(crate) fn killed(mut self) -> (Option<i32>, TempDir) {
        let status = wait_for(|| self.process.try_wait().unwrap());
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        (status.signal(), dir)
    }

    /// Sends SIGTERM and waits; the exit code and the directory.
    pub(crate) fn stop(mut self) -> (Option<i32>, TempDir) {
        self.signal("TERM");
        let status = wait_for(|| self.process.try_wait().unwrap());
        let dir = std::mem::replace(&mut self.dir, tempfile::tempdir().unwrap());
        (status.code(), dir)
    }

    /// The metrics as text, in the default format.
    pub(crate) fn scrape(&self) -> String {
        self.scrape_as("*/*")
    }

    /// The metrics as text in a form that a reader accepts.
    pub(crate) fn scrape_as(&self, accept: &str) -> String {
        let rest = self.metrics.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        answer
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.dir.path().join("stderr"));
            eprintln!("the daemon's log:\n{}", log.unwrap_or_default());
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(pid: u32, name: &str) {
    let mut command = Command::new("kill");
    command.args(["-s", name, &pid.to_string()]);
    assert!(command.status().unwrap().success());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a daemon shows so many links.
pub(crate) fn wait_for_links(daemon: &Daemon, count: u32) {
    wait_for(|| {
        let shown = daemon.weft_ok(&["report", "links", "-d", "0"]);
        shown.contains(&format!("{count} Links")).then_some(())
    });
}
