//! Notifications to systemd, over a socket as systemd opens it.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

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
    let ready = systemd.told(&["READY=1", "STATUS=fabric up: 4 HFIs, 1 switches, 4 links"]);
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
