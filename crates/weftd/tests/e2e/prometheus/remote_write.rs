//! Remote write: to Debian's Prometheus, with and without encryption, also where it comes late; and with a token.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use weft_interop::Running;

use super::server::{encoded, get};
use crate::harness::{Start, free_address, text, wait_for};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

/// Prometheus as a receiver that scrapes nothing; none where it is not installed.
fn receiver(dir: &Path, address: &str, web: Option<&str>) -> Option<Running> {
    let prometheus = weft_peers::program("prometheus")?;
    let at = |name: &str| dir.join(name).display().to_string();
    fs::write(at("prometheus.yml"), "global: {}\n").unwrap();
    let mut server = Command::new(prometheus);
    server
        .arg(format!("--config.file={}", at("prometheus.yml")))
        .arg(format!("--storage.tsdb.path={}", at("data")))
        .arg(format!("--web.listen-address={address}"))
        .arg("--web.enable-remote-write-receiver");
    if let Some(web) = web {
        fs::write(at("web.yml"), web).unwrap();
        server.arg(format!("--web.config.file={}", at("web.yml")));
    }
    server.stdout(Stdio::null()).stderr(Stdio::null());
    Some(Running::start(&mut server))
}

/// The series of a query, from an answer.
fn series(answer: &str) -> Vec<Value> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["data"]["result"].as_array().unwrap().clone()
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs_f64()
}

/// A value of the daemon's own page.
fn counted(page: &str, name: &str) -> u64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

#[test]
fn prometheus_has_what_waited_for_it() {
    let (address, dir) = (free_address().to_string(), tempfile::tempdir().unwrap());
    let url = format!("http://{address}/api/v1/write");
    let daemon = Start::new("one-switch:3")
        .args(&["--remote-write", &url, "--remote-write-interval", "1"])
        .args(&["--remote-write-label", "fabric=north \"1\""])
        .up();
    daemon.logs("takes no metrics");
    std::thread::sleep(std::time::Duration::from_secs(2));
    let begun = now();
    let Some(_receiver) = receiver(dir.path(), &address, None) else {
        return;
    };
    daemon.logs("takes metrics again");
    let query = encoded("weft_fabric_links[10m]");
    let found = wait_for(|| {
        let answer = get(&address, &format!("/api/v1/query?query={query}"))?;
        let found = series(&answer);
        (!found.is_empty()).then_some(found)
    });
    let [links] = &found[..] else {
        panic!("{found:?}");
    };
    let labels = &links["metric"];
    assert_eq!(labels["job"], "weft");
    assert_eq!(labels["instance"], "0");
    assert_eq!(labels["fabric"], "north \"1\"");
    let [first, value] = &links["values"][0].as_array().unwrap()[..] else {
        panic!("{links}");
    };
    assert!(first.as_f64().unwrap() < begun, "{links} at {begun}");
    assert_eq!(value, "3");
    let page = daemon.scrape();
    let sent = counted(&page, "weft_remote_write_samples_total{result=\"sent\"}");
    assert!(sent > 100, "{page}");
    let dropped = "weft_remote_write_samples_total{result=\"dropped\"} 0\n";
    assert!(page.contains(dropped), "{page}");
}

#[test]
fn metrics_leave_the_host_encrypted() {
    let (address, dir) = (free_address().to_string(), tempfile::tempdir().unwrap());
    let port = address.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}/api/v1/write");
    let web = format!(
        "tls_server_config:\n  cert_file: {DATA}/server.pem\n  key_file: {DATA}/server.key\n"
    );
    let Some(_receiver) = receiver(dir.path(), &address, Some(&web)) else {
        return;
    };
    let ca = format!("{DATA}/ca.pem");
    let common = ["--remote-write", &url, "--remote-write-interval", "1"];
    let daemon = Start::new("one-switch:2")
        .args(&common)
        .args(&["--remote-write-ca", &ca])
        .up();
    wait_for(|| {
        let name = "weft_remote_write_samples_total{result=\"sent\"}";
        (counted(&daemon.scrape(), name) > 100).then_some(())
    });
    // A receiver that no authority vouches for has nothing.
    let strangers = format!("{DATA}/client.pem");
    let daemon = Start::new("one-switch:2")
        .args(&common)
        .args(&["--remote-write-ca", &strangers])
        .up();
    daemon.logs("takes no metrics");
    let page = daemon.scrape();
    assert!(page.contains("weft_remote_write_samples_total{result=\"sent\"} 0\n"));
}

/// One request at a receiver that answers with a status; returns its head.
fn answered(listener: &TcpListener, status: &str) -> String {
    let (mut stream, _) = listener.accept().unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
    stream.read_exact(&mut body).unwrap();
    respond(&mut stream, status);
    head
}

fn respond(stream: &mut TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
}

#[test]
fn a_token_is_read_each_time_and_what_is_refused_for_good_is_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    fs::write(&token, "first\n").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/write", listener.local_addr().unwrap());
    let daemon = Start::new("one-switch:2")
        .args(&["--remote-write", &url, "--remote-write-interval", "1"])
        .args(&["--remote-write-token", token.to_str().unwrap()])
        .up();
    let head = answered(&listener, "401 Unauthorized");
    assert!(head.starts_with("post /write http/1.1\r\n"), "{head}");
    for line in [
        "authorization: bearer first",
        "content-encoding: snappy",
        "content-type: application/x-protobuf",
        "x-prometheus-remote-write-version: 0.1.0",
    ] {
        assert!(head.contains(&format!("\r\n{line}\r\n")), "{line}: {head}");
    }
    daemon.logs("status 401 Unauthorized");
    fs::write(&token, "second").unwrap();
    let head = answered(&listener, "204 No Content");
    assert!(head.contains("authorization: bearer second"), "{head}");
    daemon.logs("takes metrics again");
    answered(&listener, "400 Bad Request");
    daemon.logs("refused metrics are dropped");
    let log = daemon.log();
    assert!(log.contains("status 400 Bad Request"), "{log}");
    assert!(!log.contains("first") && !log.contains("second"), "{log}");
    let page = daemon.scrape();
    let name = "weft_remote_write_samples_total{result=\"dropped\"}";
    assert!(counted(&page, name) > 50, "{page}");
}

#[test]
fn what_would_leave_the_host_in_the_clear_is_refused() {
    for (args, said) in [
        (
            &["--remote-write", "http://192.0.2.1/write"][..],
            "metrics leave this host encrypted",
        ),
        (
            &["--remote-write", "https://metrics.example.com/write"],
            "needs --remote-write-ca FILE",
        ),
        (&["--remote-write-token", "/x"], "--remote-write"),
        (
            &[
                "--remote-write",
                "https://localhost/write",
                "--remote-write-ca",
                "/nonexistent",
            ],
            "--remote-write-ca /nonexistent cannot be used",
        ),
    ] {
        let ended = Start::new("one-switch:2").args(args).command.output();
        let ended = ended.unwrap();
        let error = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
}
