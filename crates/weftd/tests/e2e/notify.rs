//! Notifications to systemd, over a socket as systemd opens it.

use std::io::{PipeReader, Write};
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{PATIENCE, Start};

struct Systemd(UnixDatagram);

impl Systemd {
    /// The next datagram that has all of `expected` among its lines.
    fn told(&self, expected: &[&str]) -> String {
        let mut buffer = [0; 4096];
        let mut seen = Vec::new();
        loop {
            let length = self.0.recv(&mut buffer);
            let length = length.unwrap_or_else(|error| panic!("{expected:?}: {error}, {seen:?}"));
            let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let has = |line: &&str| message.lines().any(|found| found.starts_with(*line));
            if expected.iter().all(has) {
                return message;
            }
            seen.push(message);
        }
    }

    /// Everything that comes within a time.
    fn hears(&self, within: Duration) -> Vec<String> {
        let until = Instant::now() + within;
        let mut buffer = [0; 4096];
        let mut heard = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.0.set_read_timeout(Some(left)).unwrap();
            let Ok(length) = self.0.recv(&mut buffer) else {
                break;
            };
            heard.push(String::from_utf8_lossy(&buffer[..length]).into_owned());
        }
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
        heard
    }
}

/// A pipe with room for `room` bytes, of the 64 KiB that Linux gives it.
fn almost_full_pipe(room: usize) -> (PipeReader, Stdio) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&vec![b'.'; (64 << 10) - room]).unwrap();
    (reader, writer.into())
}

/// Nobody reads the log, and its pipe is full: the thread that writes it hangs, and goes on when somebody
/// reads.
#[test]
fn a_thread_that_hangs_stops_the_watchdog() {
    let limit = Duration::from_secs(2);
    // Of the log, only the events, which are the manager's thread's.
    let mut start = Start::new("one-switch:4").args(&["--log-level", "off,weftd::event_log=debug"]);
    let path = start.dir.path().join("notify");
    let systemd = Systemd(UnixDatagram::bind(&path).unwrap());
    start.command.env("NOTIFY_SOCKET", &path);
    start
        .command
        .env("WATCHDOG_USEC", limit.as_micros().to_string());
    let (mut log, stderr) = almost_full_pipe(8 << 10);
    start.command.stderr(stderr);
    let daemon = start.up_unlogged();
    systemd.told(&["READY=1"]);
    systemd.told(&["WATCHDOG=1"]);
    let sweeps = || daemon.weft(&["--timeout", "1s", "sweep", "--wait"]);
    let hangs = (0..200).any(|_| !sweeps().status.success());
    assert!(hangs, "the log does not fill the pipe");
    systemd.hears(limit);
    assert_eq!(systemd.hears(2 * limit), [""; 0], "while a thread hangs");
    let reads = std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    systemd.told(&["WATCHDOG=1"]);
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
    assert!(reads.join().unwrap().unwrap() > 64 << 10);
}

#[test]
fn ready_watchdog_reload_and_stop() {
    let mut start = Start::new("one-switch:4");
    let path = start.dir.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    start.command.env("NOTIFY_SOCKET", &path);
    start.command.env(
        "WATCHDOG_USEC",
        Duration::from_secs(4).as_micros().to_string(),
    );
    let daemon = start.up();
    let systemd = Systemd(socket);
    let ready = systemd.told(&["READY=1", "STATUS=fabric up: 4 HFIs, 1 switch, 4 links"]);
    assert!(ready.contains("all 8 ports ACTIVE"), "{ready}");
    systemd.told(&["WATCHDOG=1"]);
    systemd.told(&["WATCHDOG=1"]);
    daemon.signal("HUP");
    systemd.told(&["RELOADING=1", "MONOTONIC_USEC="]);
    systemd.told(&["READY=1"]);
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
    systemd.told(&["STOPPING=1"]);
}
