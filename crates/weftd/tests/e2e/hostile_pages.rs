//! Pages that ask for all that is heavy, again and again: sweeps and orders go on as without them, and what is made for pages
//! at a time is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use weft_api::client::Client;
use weft_api::time::{Timestamp, timestamp};
use weft_api::v1;

use crate::access::{at_socket, socket_of};
use crate::harness::{Daemon, READ_OFTEN, Start, configure, text, wait_for};
use crate::process::output;
use crate::quarantine::json;

const TREE: &str = "fattree:288,radix=24";
/// Connections, and calls of one that are under way at a time.
const PAGES: usize = 6;
const CALLS: usize = 48;
/// Sweeps that are asked for meanwhile.
const SWEEPS: usize = 5;
/// Threads that the daemon may have more than before, besides those of readers of the past: four for other answers, and some
/// for the columns, another engine, orders, and what has just ended.
const THREADS_MORE: usize = 20;
/// Readers of the past at a time, and threads of one at most.
const READERS: usize = 4;
const READS_MAX: usize = 8;
const SECOND_NS: u64 = 1_000_000_000;

/// What a page asks for.
#[derive(Debug, Clone, Copy)]
enum Asked {
    /// The fabric of a moment that nobody else asks for.
    Past,
    /// A route as another engine would make it.
    Engine,
    Layout,
    Columns,
    Events,
    Groups,
}

const ALL: [Asked; 6] = [
    Asked::Past,
    Asked::Engine,
    Asked::Layout,
    Asked::Columns,
    Asked::Events,
    Asked::Groups,
];

/// What has become of the calls.
#[derive(Debug, Default)]
struct Told {
    answered: [AtomicUsize; ALL.len()],
    under_way: AtomicUsize,
    number: AtomicUsize,
    ended: AtomicBool,
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_nanos() as u64
}

/// A moment since the fabric is known that nobody has asked for.
fn moment(up_ns: u64, number: usize) -> Timestamp {
    let known = (now_ns() - up_ns).max(1);
    timestamp(up_ns + (number as u64 * 7_919_000_000) % known)
}

async fn call(client: &Client, asked: Asked, number: usize, up_ns: u64) -> Result<(), Status> {
    match asked {
        Asked::Past => {
            let moment = v1::moment::Moment::Time(moment(up_ns, number));
            let at = Some(v1::Moment {
                moment: Some(moment),
            });
            let request = v1::GetPastRequest { at, from: None };
            client.web().get_past(request).await.map(drop)
        }
        Asked::Engine => {
            let engines = ["dmodc", "shortestpath", "fattree"];
            let request = v1::GetRouteRequest {
                source: "node:node1 hfi1_0".to_owned(),
                destination: "node:node288 hfi1_0".to_owned(),
                engine: engines[number % engines.len()].to_owned(),
                at: None,
            };
            client.routes().get_route(request).await.map(drop)
        }
        Asked::Layout => {
            let request = v1::GetLayoutRequest::default();
            client.web().get_layout(request).await.map(drop)
        }
        Asked::Columns => {
            let request = v1::GetColumnsRequest::default();
            client.web().get_columns(request).await.map(drop)
        }
        Asked::Events => {
            let request = v1::ListPastEventsRequest::default();
            let mut events = client.history().list_past_events(request).await?;
            while events.get_mut().message().await?.is_some() {}
            Ok(())
        }
        Asked::Groups => {
            let request = v1::ListMulticastGroupsRequest::default();
            let mut groups = client.multicast();
            groups.list_multicast_groups(request).await.map(drop)
        }
    }
}

/// Asks until the siege ends. What is refused is refused as too often or as busy, in words.
async fn besieges(client: Client, told: Arc<Told>, up_ns: u64) {
    while !told.ended.load(Ordering::Relaxed) {
        let number = told.number.fetch_add(1, Ordering::Relaxed);
        let kind = number % ALL.len();
        told.under_way.fetch_add(1, Ordering::Relaxed);
        let done = call(&client, ALL[kind], number, up_ns).await;
        told.under_way.fetch_sub(1, Ordering::Relaxed);
        match done {
            Ok(()) => {
                told.answered[kind].fetch_add(1, Ordering::Relaxed);
            }
            Err(refused) => {
                let is_expected = matches!(
                    refused.code(),
                    Code::ResourceExhausted | Code::Unavailable | Code::NotFound
                );
                assert!(is_expected, "{:?}: {refused:?}", ALL[kind]);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }
}

fn threads(daemon: &Daemon) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.pid()));
    tasks.unwrap().count()
}

/// What the client prints for somebody at the Unix socket, whom no call of a page counts for.
fn ordered(daemon: &Daemon, args: &[&str]) -> String {
    let done = output(&mut at_socket(daemon, args));
    assert!(
        done.status.success(),
        "{args:?}: {}\n{}",
        text(&done.stderr),
        daemon.log()
    );
    text(&done.stdout)
}

/// A sweep of the whole fabric that was asked for.
#[derive(Debug, Clone, Copy)]
struct Swept {
    active_ports: u64,
    /// Datagrams.
    sent: u64,
    seconds: f64,
}

fn swept(daemon: &Daemon) -> Swept {
    let swept = json(&ordered(daemon, &["sweep", "--wait", "--json"]));
    let count = |name: &str| swept[name].as_u64().unwrap();
    Swept {
        active_ports: count("active_ports"),
        sent: count("sent"),
        seconds: swept["seconds"].as_f64().unwrap(),
    }
}

/// Prints the figures of docs/research/benchmarks.md.
fn told_of(what: &str, sweeps: &[Swept]) {
    let mut times: Vec<f64> = sweeps.iter().map(|one| one.seconds * 1e3).collect();
    times.sort_unstable_by(f64::total_cmp);
    let (middle, most) = (times[times.len() / 2], times[times.len() - 1]);
    println!("sweeps {what}: {middle:.1} ms, at most {most:.1} ms");
}

fn begin(runtime: &Runtime, daemon: &Daemon, told: &Arc<Told>, up_ns: u64) -> Vec<JoinHandle<()>> {
    let connect = || {
        runtime
            .block_on(Client::connect(&daemon.api, None))
            .unwrap()
    };
    let clients: Vec<Client> = (0..PAGES).map(|_| connect()).collect();
    let calls = clients.into_iter().flat_map(|client| vec![client; CALLS]);
    let calls = calls.map(|client| runtime.spawn(besieges(client, Arc::clone(told), up_ns)));
    calls.collect()
}

#[test]
fn sweeps_and_orders_go_on_while_pages_ask_for_all_that_is_heavy() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(crate::harness::stock_config(), dir.path().join("opafm.xml")).unwrap();
    configure(&dir.path().join("opafm.xml"), &READ_OFTEN);
    let socket = socket_of(dir.path());
    let start = Start::in_dir(dir, TREE);
    let daemon = start.args(&["--listen", &socket]).up();
    let up_ns = now_ns();
    let quiet: Vec<Swept> = (0..SWEEPS).map(|_| swept(&daemon)).collect();
    let active = quiet[0].active_ports;
    daemon.readings(2);
    // What is asked of the past is at least some seconds long.
    wait_for(|| (now_ns() > up_ns + 4 * SECOND_NS).then_some(()));
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let told = Arc::new(Told::default());
    let before = threads(&daemon);
    let pages = begin(&runtime, &daemon, &told, up_ns);
    let all_ask = || (told.under_way.load(Ordering::Relaxed) > PAGES * CALLS / 4).then_some(());
    let mut most = before;
    let mut besieged = Vec::new();
    for _ in 0..SWEEPS {
        wait_for(all_ask);
        let one = swept(&daemon);
        assert_eq!(one.active_ports, active);
        // As many datagrams as ever, but for those that were sent again.
        assert!(one.sent >= quiet[0].sent, "{one:?}, before {quiet:?}");
        most = most.max(threads(&daemon));
        besieged.push(one);
    }
    told_of("alone", &quiet);
    told_of("under a siege of pages", &besieged);
    // An order is carried out, and seen by the next sweep.
    let port = "node:edge1:port:13";
    ordered(&daemon, &["port", "disable", "--reason", "siege", port]);
    wait_for(|| (swept(&daemon).active_ports == active - 2).then_some(()));
    most = most.max(threads(&daemon));
    wait_for(|| {
        let answered = told.answered.iter();
        let each = answered.map(|count| count.load(Ordering::Relaxed));
        each.min().filter(|least| *least > 1)
    });
    wait_for(all_ask);
    let processors = std::thread::available_parallelism().unwrap().get();
    let more = THREADS_MORE + READERS * processors.min(READS_MAX);
    assert!(most <= before + more, "{most} threads, before {before}");
    told.ended.store(true, Ordering::Relaxed);
    for page in pages {
        runtime.block_on(page).unwrap();
    }
}
