//! A daemon whose host has nothing left, and one whose sockets get anything but requests.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::emulator::Emulator;
use crate::harness::{Daemon, Start, text, wait_for, wait_for_links};

const TREE: &str = "fattree:16,radix=8";
/// File descriptors that are left to the daemon, and connections that want one.
const LEFT: usize = 6;
const CALLERS: usize = 40;
/// Bytes of each piece of garbage.
const GARBAGE: usize = 20_000;

fn descriptors(daemon: &Daemon) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", daemon.pid()));
    open.unwrap().count()
}

#[test]
fn without_file_descriptors_the_fabric_is_taken_care_of_and_callers_are_let_in_later() {
    let dir = tempfile::tempdir().unwrap();
    let fabric = Emulator::start(TREE, &dir.path().join("fabric"));
    let daemon = Start::connected(&fabric.socket()).up();
    wait_for_links(&daemon, 32);
    let most = (descriptors(&daemon) + LEFT).to_string();
    let mut prlimit = std::process::Command::new("prlimit");
    prlimit
        .args(["--pid", &daemon.pid().to_string()])
        .arg(format!("--nofile={most}:{most}"));
    assert!(prlimit.status().unwrap().success());

    let api = daemon.api.trim_start_matches("http://").to_owned();
    let callers: Vec<TcpStream> = (0..CALLERS)
        .map(|_| TcpStream::connect(&api).unwrap())
        .collect();
    daemon.logs("a connection to the API cannot be accepted: Too many open files");
    let sweeps = |daemon: &Daemon| daemon.log().matches(") ended in ").count();
    let before = sweeps(&daemon);
    fabric.change(&["link-down", "edge1:5"]);
    wait_for(|| (sweeps(&daemon) > before).then_some(()));
    // Ten in a second at most.
    let lines = || daemon.log().matches("cannot be accepted").count();
    let (told, since) = (lines(), Instant::now());
    std::thread::sleep(Duration::from_secs(1));
    let (told, took) = (lines() - told, since.elapsed());
    let most = 12.0 * took.as_secs_f64();
    assert!(told as f64 <= most, "{told} lines in {took:?}");

    drop(callers);
    let is_let_in = || daemon.weft(&["report", "links"]).status.success();
    wait_for(|| is_let_in().then_some(()));
    wait_for_links(&daemon, 31);
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
}

#[test]
fn a_full_disk_is_told_to_who_changes_something_and_written_when_there_is_room() {
    let daemon = Start::new(TREE).up();
    let state = daemon.dir.path().join("state/state.0");
    wait_for(|| state.exists().then_some(()));
    let next = state.with_extension("0.new");
    symlink("/dev/full", &next).unwrap();
    let port = "node:edge1:port:5";
    let refused = daemon.weft(&["port", "disable", "--reason", "a bad cable", port]);
    let said = text(&refused.stderr);
    assert!(!refused.status.success(), "it is promised: {said}");
    assert!(said.contains("No space left on device"), "{said}");
    daemon.logs("cannot write LIDs, drains and disabled ports to the state directory");
    assert!(
        daemon.scrape().contains("weft_state_unsaved 1"),
        "{}",
        daemon.scrape()
    );
    wait_for_links(&daemon, 31);

    fs::remove_file(&next).unwrap();
    daemon.logs("the state directory is up to date again");
    let dir = daemon.crash();
    let daemon = Start::in_dir(dir, TREE).up();
    let disabled = daemon.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains("a bad cable"), "{disabled}");
}

/// Memory that a request makes the daemon ask for, far more than it has left.
const LARGE: usize = 100 << 20;

#[test]
fn without_memory_the_daemon_ends_with_the_reason_and_keeps_what_was_promised() {
    let daemon = Start::new(TREE).up();
    let port = "node:edge1:port:5";
    daemon.weft_ok(&["port", "disable", "--reason", "a bad cable", port]);
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let size = status.lines().find(|line| line.starts_with("VmSize:"));
    let kib: u64 = size
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let mut prlimit = std::process::Command::new("prlimit");
    prlimit
        .args(["--pid", &daemon.pid().to_string(), "--core=0"])
        .arg(format!("--as={}", kib << 10));
    assert!(prlimit.status().unwrap().success());
    daemon.weft_ok(&["fabric", "show"]);

    let file = daemon.dir.path().join("large.xml");
    let blanks = " ".repeat(LARGE);
    fs::write(&file, format!("<Report>{blanks}</Report>")).unwrap();
    let asked = daemon.weft(&["check", "topology", "--against", file.to_str().unwrap()]);
    let said = text(&asked.stderr);
    assert_eq!(asked.status.code(), Some(3), "{said}");
    daemon.logs("memory allocation of ");
    let dir = daemon.crash();
    let daemon = Start::in_dir(dir, TREE).up();
    let disabled = daemon.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains("a bad cable"), "{disabled}");
}

/// Bytes without a meaning, the same each time.
fn garbage(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(GARBAGE).collect()
}

/// The beginnings of what is never ended, and bytes without a meaning.
fn pieces() -> Vec<Vec<u8>> {
    let endless = |start: &str, rest: u8| [start.as_bytes(), &vec![rest; GARBAGE]].concat();
    let mut pieces = vec![
        Vec::new(),
        endless("GET /", b'a'),
        endless("GET / HTTP/1.1\r\nHost: ", b'h'),
        endless(
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            0,
        ),
        endless("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0xFF),
        // A TLS record with a length that does not come.
        vec![0x16, 3, 1, 0xFF, 0xFF, 1, 0, 0, 0],
        endless("\0\0\0", 0),
    ];
    pieces.extend((1..8).map(garbage));
    pieces
}

/// Sends a piece and reads what comes until the other end has had enough, or for a moment.
fn throw(mut stream: impl Read + Write, piece: &[u8]) {
    // The other end may have hung up in the middle of it.
    let _ = stream.write_all(piece);
    let _ = stream.read(&mut [0; 4096]);
}

#[test]
fn garbage_at_every_socket_harms_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let (sockets, unix) = (dir.path().join("s"), dir.path().join("api"));
    let listen = format!("unix:{}", unix.display());
    let more = ["--listen", &listen, "--web", "127.0.0.1:0"];
    let start = Start::new(TREE).args(&more);
    let start = start.args(&["--opafmcmd", sockets.to_str().unwrap()]);
    let daemon = start.up();
    let addresses = fs::read_to_string(daemon.dir.path().join("addresses")).unwrap();
    let mut tcp: Vec<&str> = addresses
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("http://"))
        .map(|word| word.split('/').next().unwrap_or(word))
        .collect();
    tcp.sort_unstable();
    tcp.dedup();
    assert!(tcp.len() >= 3, "{addresses}");
    let mut files = vec![unix];
    files.extend(
        fs::read_dir(&sockets)
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    assert!(files.len() >= 2, "{files:?}");
    let wait = Some(Duration::from_millis(200));
    for piece in pieces() {
        for address in &tcp {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(wait).unwrap();
            stream.set_write_timeout(wait).unwrap();
            throw(stream, &piece);
        }
        for file in &files {
            let stream = UnixStream::connect(file).unwrap();
            stream.set_read_timeout(wait).unwrap();
            stream.set_write_timeout(wait).unwrap();
            throw(stream, &piece);
        }
    }
    wait_for_links(&daemon, 32);
    let log = daemon.log();
    assert!(!log.contains("panicked"), "{log}");
    let (code, _dir) = daemon.stop();
    assert_eq!(code, Some(0));
}
