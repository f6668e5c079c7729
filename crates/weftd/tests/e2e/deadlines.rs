//! Calls without an answer: each ends by its deadline.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::harness::{Daemon, Start, stock_config, text, weft};
use crate::process::{output, program};

/// Far more than the deadlines of these tests, also on a machine that is busy; less than what reports and
/// changes have without `--timeout`.
const SOON: Duration = Duration::from_secs(30);

#[test]
fn who_accepts_and_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let commands: [&[&str]; 10] = [
        &["fabric", "show"],
        &["fabric", "export", "--dot"],
        &["report", "nodes"],
        &["sweep", "--wait"],
        &["port", "disable", "lid:1"],
        &["route", "plan", "--engine", "dmodc"],
        &["drain", "node:core1"],
        &["watch"],
        &["top", "--once"],
        &["config", "reload"],
    ];
    for command in commands {
        let start = Instant::now();
        let mut weft = program(weft());
        weft.env("WEFT_TIMEOUT", "300ms");
        let ended = output(weft.args(["--address", &address]).args(command));
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(5), "{command:?}: {said}");
        assert!(said.contains("no answer from http://127"), "{said}");
        assert!(said.contains("within 0.30 s; --timeout"), "{said}");
        assert!(start.elapsed() < SOON, "{command:?}");
    }
}

/// A server whose queue of connections is full: the kernel drops further ones without a word, as a firewall
/// does.
fn black_hole() -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(stream);
    }
    (listener, waiting)
}

#[test]
fn an_emulator_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (hole, _waiting) = black_hole();
    for (listener, what) in [(silent, "silent"), (hole, "black hole")] {
        let address = format!("tcp:{}", listener.local_addr().unwrap());
        let dir = tempfile::tempdir().unwrap();
        std::fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
        let mut start = Start::on(dir, &["--connect", &address]);
        let since = Instant::now();
        let ended = output(&mut start.command);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(4), "{said}");
        let expected = format!("{address} did not answer within 5 s");
        assert!(said.contains(&expected), "{what}: {said}");
        assert!(since.elapsed() < SOON, "{what}");
    }
}

#[test]
fn a_stopped_daemon_is_given_up_and_found_again() {
    let daemon = Daemon::up("one-switch:2");
    daemon.signal("STOP");
    let start = Instant::now();
    let said = daemon.weft_fails(5, &["--timeout", "1s", "report", "nodes"]);
    assert!(said.contains("within 1.00 s"), "{said}");
    assert!(start.elapsed() < SOON);
    daemon.signal("CONT");
    assert!(daemon.weft_ok(&["fabric", "show"]).contains("2 HFIs"));
    let wrong = daemon.weft_fails(2, &["--timeout", "soon", "fabric", "show"]);
    assert!(
        wrong.contains("a number over 0 with ms, s, m or h"),
        "{wrong}"
    );
}

#[test]
fn nothing_but_the_result_is_written_where_there_is_no_terminal() {
    let daemon = Daemon::up("one-switch:2");
    let swept = daemon.weft(&["sweep", "--wait"]);
    assert!(swept.status.success());
    assert_eq!(text(&swept.stderr), "");
}
