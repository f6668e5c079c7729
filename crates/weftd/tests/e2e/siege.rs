//! Many watchers, readers that do not read, and connections that say nothing: the daemon goes on as before.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};
use weft_api::v1;
use weft_api::v1::watch_response::Content;
use weft_api::v1::watch_service_client::WatchServiceClient;

use crate::access::{with, with_certificates};
use crate::harness::{Daemon, Start, text, wait_for};
use crate::process::output;

const TREE: &str = "fattree:16,radix=8";
/// Watchers that read, where `WEFT_WATCHERS` says no other number, and those that do not; streams of a connection.
const WATCHERS: usize = 2_000;
const SLOW: usize = 1_000;
const OF_ONE: usize = 125;
/// Sweeps while all of them watch.
const SWEEPS: u32 = 20;
/// Memory for a watcher, KiB.
const EACH_KIB: u64 = 48;
/// Connections that say nothing, at each address; more than it has places.
const SILENT: usize = 600;

type Watch = Streaming<v1::WatchResponse>;

/// Memory of a process, KiB.
fn resident_kib(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.unwrap().split_whitespace().nth(1).unwrap();
    number.parse().unwrap()
}

/// So many watches, of which the marker has come.
async fn watches(api: &str, count: usize, window: u32) -> Vec<Watch> {
    let endpoint = Endpoint::from_shared(api.to_owned()).unwrap();
    let endpoint = endpoint.initial_stream_window_size(window);
    let mut watches = Vec::new();
    while watches.len() < count {
        let channel = endpoint.connect().await.unwrap();
        let mut client: WatchServiceClient<Channel> = WatchServiceClient::new(channel);
        for _ in 0..OF_ONE.min(count - watches.len()) {
            let mut watch = begin(&mut client).await;
            let first = watch.message().await.unwrap().unwrap();
            assert!(matches!(first.content, Some(Content::Marker(_))));
            watches.push(watch);
        }
    }
    watches
}

/// Begins to watch, as fast as the daemon lets one caller call.
async fn begin(client: &mut WatchServiceClient<Channel>) -> Watch {
    loop {
        match client.watch(v1::WatchRequest::default()).await {
            Ok(watch) => return watch.into_inner(),
            Err(status) => assert!(status.message().contains("calls in a second"), "{status:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Reads until so many sweeps have ended.
async fn reads(mut watch: Watch, mut sweeps: u32) {
    while sweeps > 0 {
        let message = watch.message().await.unwrap().unwrap();
        sweeps -= u32::from(matches!(message.content, Some(Content::SweepEnded(_))));
    }
}

/// The middle of the times that a client waits for a sweep.
fn sweep_time(daemon: &Daemon, count: u32) -> Duration {
    let mut times: Vec<Duration> = (0..count)
        .map(|_| {
            let begun = Instant::now();
            daemon.weft_ok(&["sweep", "--wait"]);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn thousands_watch_and_a_thousand_do_not_read() {
    let watchers = std::env::var("WEFT_WATCHERS");
    let watchers = watchers.map_or(WATCHERS, |count| count.parse().unwrap());
    let daemon = Daemon::up(TREE);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let quiet = sweep_time(&daemon, SWEEPS);
    let before = resident_kib(&daemon);
    let slow = SLOW.min(watchers);
    // Of theirs a few messages are on the way, some wait in the daemon, and the rest only in its memory of events.
    let unread = runtime.block_on(watches(&daemon.api, slow, 512));
    let read = runtime.block_on(watches(&daemon.api, watchers - slow, 65_535));
    let reading: Vec<_> = read
        .into_iter()
        .map(|watch| runtime.spawn(reads(watch, SWEEPS)))
        .collect();
    // The client makes its own calls at the same rate.
    std::thread::sleep(Duration::from_secs(5));
    let watched = sweep_time(&daemon, SWEEPS);
    for reader in reading {
        runtime.block_on(reader).unwrap();
    }
    let added = resident_kib(&daemon).saturating_sub(before);
    println!(
        "{watchers} watchers, {slow} of which do not read: {added} KiB; a sweep takes {watched:?}, {quiet:?} without them"
    );
    assert!(added < watchers as u64 * EACH_KIB, "{added} KiB");
    drop(unread);
    let log = daemon.log();
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
fn a_connection_has_as_many_watches_as_the_bound_says() {
    let daemon = Daemon::up("one-switch:2");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = runtime.block_on(async {
        let channel = Channel::from_shared(daemon.api.clone()).unwrap();
        let mut client = WatchServiceClient::new(channel.connect().await.unwrap());
        let mut watches = Vec::new();
        loop {
            match client.watch(v1::WatchRequest::default()).await {
                Ok(watch) => watches.push(watch),
                Err(status) => break (watches.len(), status),
            }
        }
    });
    let (count, status) = status;
    assert_eq!(count, 128);
    assert_eq!(status.code(), tonic::Code::ResourceExhausted);
    let said = "this connection has 128 Watch streams already, which is the most";
    assert_eq!(status.message(), said);
}

/// Addresses at which the daemon listens, without their scheme.
fn addresses(daemon: &Daemon) -> Vec<SocketAddr> {
    let addresses = std::fs::read_to_string(daemon.dir.path().join("addresses")).unwrap();
    let words = addresses.split_whitespace();
    let urls = words.filter_map(|word| word.strip_prefix("http://"));
    let mut all: Vec<SocketAddr> = urls
        .map(|url| url.split('/').next().unwrap().parse().unwrap())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let daemon = Start::new(TREE).args(&["--web", "127.0.0.1:0"]).up();
    let addresses = addresses(&daemon);
    assert_eq!(addresses.len(), 3, "API, page and metrics");
    let open = |address: &SocketAddr| TcpStream::connect(address).unwrap();
    let silent: Vec<TcpStream> = addresses
        .iter()
        .flat_map(|address| (0..SILENT).map(move |_| open(address)))
        .collect();
    let begun = Instant::now();
    daemon.weft_ok(&["fabric", "show"]);
    assert!(daemon.scrape().contains("weft_master 1"));
    let api: SocketAddr = daemon.api.trim_start_matches("http://").parse().unwrap();
    for address in addresses.iter().filter(|address| **address != api) {
        let mut page = open(address);
        let host = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        page.write_all(host.as_bytes()).unwrap();
        let mut answer = Vec::new();
        page.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{address}");
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid()));
    let open = descriptors.unwrap().count();
    assert!(
        open < 400,
        "{open} descriptors for {} connections",
        silent.len()
    );
}

#[test]
fn who_shakes_no_hands_at_an_encrypted_address_keeps_nobody_out() {
    let daemon = with_certificates(&[]);
    let address: SocketAddr = daemon.api.trim_start_matches("https://").parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let silent = runtime.block_on(async {
        let mut silent = Vec::new();
        for number in 0..SILENT {
            let socket = TcpSocket::new_v4().unwrap();
            // Half of them from the address of those who are to be let in.
            let from = [[127, 0, 0, 66], [127, 0, 0, 1]][number % 2];
            socket.bind((from, 0).into()).unwrap();
            silent.push(socket.connect(address).await.unwrap());
        }
        silent
    });
    let begun = Instant::now();
    let shown = with(&daemon, "ci", &["fabric", "show"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    drop(silent);
}

#[test]
fn one_user_leaves_room_at_the_unix_socket() {
    if !crate::access::is_root() {
        println!("not run: only root becomes another user");
        return;
    }
    let daemon = crate::access::start(&[]);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(daemon.dir.path(), open).unwrap();
    let socket = crate::access::socket_of(daemon.dir.path());
    let file = socket.trim_start_matches("unix:");
    let taken: Vec<_> = (0..SILENT)
        .map(|_| std::os::unix::net::UnixStream::connect(file).unwrap())
        .collect();
    daemon.logs("has 128 connections to the API already, which is the most");
    let shown = crate::access::as_nobody(&socket, &["fabric", "show"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    drop(taken);
    let mut own = crate::process::program(crate::harness::weft());
    own.args(["--address", &socket, "fabric", "show"]);
    wait_for(|| output(&mut own).status.success().then_some(()));
}
