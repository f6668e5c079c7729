//! Programs of other processes, over real sockets.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use weft_emulator::control::Controller;
use weft_emulator::host::{self, AttachError, HostHandle};
use weft_emulator::io::Control;
use weft_emulator::server::{ListenError, Server};
use weft_emulator::traffic::TrafficJob;
use weft_emulator::{Emulator, Options};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, PortNum, Topology};
use weft_transport::client::fill;
use weft_transport::frame::VERSION;
use weft_transport::{
    Address, Attach, ConnectError, Connection, Decoder, Frame, Hello, connect, request_control,
};
use weft_wire::Layout;
use weft_wire::header::{class, method};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, NodeInfo};
use weft_wire::smp::{DirectedRoute, Smp, SmpView};

const LONG: Duration = Duration::from_secs(20);

struct Bench {
    handle: HostHandle,
    address: Address,
    path: PathBuf,
    topology: Topology,
    server: tokio::task::JoinHandle<()>,
    stop: tokio::sync::oneshot::Sender<()>,
    _directory: tempfile::TempDir,
}

impl Bench {
    async fn start(options: Options) -> Self {
        let spec: FabricSpec = "one-switch:3,radix=8".parse().unwrap();
        let topology = spec.generate().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fabric.sock");
        let address = Address::Unix(path.clone());
        let handle = host::spawn(topology.clone(), options).unwrap();
        let server = Server::listen(&address, false).await.unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(server.run(handle.clone(), async {
            stopped.await.ok();
        }));
        Self {
            handle,
            address,
            path,
            topology,
            server,
            stop,
            _directory: directory,
        }
    }

    fn host(&self, index: usize) -> Guid {
        self.topology.hfis().nth(index).unwrap().1.guid()
    }

    async fn attach(&self, index: usize, classes: &[u8]) -> Connection {
        let attach = Attach::Node {
            guid: self.host(index),
            port: PortNum(1),
        };
        connect(&self.address, attach, classes.to_vec())
            .await
            .unwrap()
    }
}

fn node_info_request(path: &[u8], transaction: u64) -> Packet {
    let ports: Vec<_> = path.iter().map(|port| PortNum(*port)).collect();
    let mut mad = Vec::new();
    Smp::get(AttributeId::NODE_INFO, 0, transaction, 0).write_directed(
        &DirectedRoute::new(&ports).unwrap(),
        &[],
        &mut mad,
    );
    Packet::directed(mad)
}

async fn receive(connection: &mut Connection, count: usize) -> Vec<Packet> {
    let mut packets = Vec::new();
    while packets.len() < count {
        let batch = timeout(LONG, connection.recv()).await.unwrap();
        packets.extend(batch.expect("the connection ended"));
    }
    packets
}

fn node_guid(packet: &Packet) -> Guid {
    let view = SmpView::parse(&packet.mad).unwrap();
    assert_eq!(view.header.method, method::GET_RESP);
    NodeInfo::decode(view.payload).unwrap().node_guid
}

#[tokio::test]
async fn a_client_asks_nodes_over_the_socket() {
    let bench = Bench::start(Options::default()).await;
    let mut client = bench.attach(0, &[]).await;
    assert_eq!((client.guid(), client.port()), (bench.host(0), PortNum(1)));
    let requests = vec![node_info_request(&[], 1), node_info_request(&[1, 3], 2)];
    client.send(requests).await.unwrap();
    let answers = receive(&mut client, 2).await;
    assert_eq!(node_guid(&answers[0]), bench.host(0));
    assert_eq!(node_guid(&answers[1]), bench.host(2));
}

#[tokio::test]
async fn clients_of_one_host_get_their_own_answers() {
    let bench = Bench::start(Options::default()).await;
    let mut first = bench.attach(0, &[]).await;
    let mut second = bench.attach(0, &[class::SM_LID_ROUTED]).await;
    for round in 0..50 {
        let (a, b) = (2 * round, 2 * round + 1);
        first.send(vec![node_info_request(&[1], a)]).await.unwrap();
        second.send(vec![node_info_request(&[], b)]).await.unwrap();
        let switch = node_guid(&receive(&mut first, 1).await[0]);
        assert_ne!(switch, bench.host(0));
        let own = node_guid(&receive(&mut second, 1).await[0]);
        assert_eq!(own, bench.host(0));
    }
}

#[tokio::test]
async fn a_class_is_served_by_one_program_of_a_host() {
    let bench = Bench::start(Options::default()).await;
    let first = bench.attach(0, &[class::SUBN_ADM]).await;
    let attach = Attach::FirstHost;
    let refused = connect(&bench.address, attach.clone(), vec![class::SUBN_ADM]).await;
    let ConnectError::Refused { reason, .. } = refused.unwrap_err() else {
        panic!("not refused");
    };
    assert!(reason.contains("0x03"), "{reason}");
    bench.attach(1, &[class::SUBN_ADM]).await;
    drop(first);
    let again = async {
        while connect(&bench.address, attach.clone(), vec![class::SUBN_ADM])
            .await
            .is_err()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, again).await.unwrap();
}

#[tokio::test]
async fn places_that_do_not_exist_are_refused_in_words() {
    let bench = Bench::start(Options::default()).await;
    let name = |name: &str| Attach::Name {
        name: name.to_owned(),
        port: PortNum(1),
    };
    let (guid, port) = (Guid(0xDEAD), PortNum(1));
    let cases = [
        (Attach::Node { guid, port }, "no node 0x000000000000dead"),
        (name("nobody"), "no host is called \"nobody\""),
        (
            Attach::Node {
                guid: bench.host(0),
                port: PortNum(2),
            },
            "has no port 2",
        ),
    ];
    for (attach, expected) in cases {
        let error = connect(&bench.address, attach, vec![]).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let first = bench.topology.hfis().next().unwrap().1.name();
    let client = connect(&bench.address, name(&first), vec![]).await.unwrap();
    assert_eq!(client.guid(), bench.host(0));
}

#[tokio::test]
async fn a_subnet_manager_hears_of_others_until_it_is_gone() {
    let bench = Bench::start(Options::default()).await;
    let sm = bench.attach(1, &[class::SM_DIRECTED_ROUTE]).await;
    let guid = bench.host(1);
    let is_sm = |emulator: &Emulator| {
        let network = emulator.network();
        let device = network.device_at(
            network
                .find(
                    emulator
                        .network()
                        .topology()
                        .hfis()
                        .nth(1)
                        .unwrap()
                        .1
                        .guid(),
                )
                .unwrap(),
        );
        network
            .port(device.first_port_index())
            .info()
            .capability_mask
            .is_sm
    };
    assert_eq!(sm.guid(), guid);
    sm.set_is_sm(true).await.unwrap();
    let becomes = async |wanted| {
        while bench.handle.inspect(is_sm).await.unwrap() != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(LONG, becomes(true)).await.unwrap();
    drop(sm);
    timeout(LONG, becomes(false)).await.unwrap();
}

async fn raw(bench: &Bench) -> UnixStream {
    UnixStream::connect(&bench.path).await.unwrap()
}

async fn say_hello(stream: &mut UnixStream, version: u16) {
    let hello = Hello {
        version,
        attach: Attach::FirstHost,
        classes: vec![],
    };
    let mut bytes = Vec::new();
    Frame::Hello(hello).encode(&mut bytes);
    stream.write_all(&bytes).await.unwrap();
}

#[tokio::test]
async fn hostile_clients_are_cut_off_and_others_served() {
    let bench = Bench::start(Options::default()).await;
    let mut good = bench.attach(0, &[]).await;
    let attacks: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xFF; 64],
        &[0, 0, 0, 1, 4],
        &[0, 0, 0, 0],
    ];
    for attack in attacks {
        let mut stream = raw(&bench).await;
        stream.write_all(attack).await.unwrap();
        let mut rest = Vec::new();
        let end = timeout(LONG, stream.read_to_end(&mut rest)).await;
        assert!(end.is_ok(), "{attack:?} was not cut off");
    }
    let mut stream = raw(&bench).await;
    say_hello(&mut stream, 9).await;
    let mut answer = Vec::new();
    timeout(LONG, stream.read_to_end(&mut answer))
        .await
        .unwrap()
        .unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("version 9"));
    good.send(vec![node_info_request(&[1], 5)]).await.unwrap();
    assert_eq!(receive(&mut good, 1).await.len(), 1);
}

/// The server's log on this thread, where its tasks run.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Collects until the guard is dropped.
    fn start(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || log.clone());
        tracing::subscriber::set_default(subscriber.finish())
    }

    async fn wait_for(&self, text: &str) {
        let says = || String::from_utf8_lossy(&self.0.lock().unwrap()).contains(text);
        while !says() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A client that was let in.
async fn let_in(bench: &Bench) -> (UnixStream, Decoder) {
    let mut stream = raw(bench).await;
    say_hello(&mut stream, VERSION).await;
    let mut decoder = Decoder::new();
    let welcome = loop {
        match decoder.next_frame().unwrap() {
            Some(frame) => break frame,
            None => fill(&mut stream, &mut decoder).await.unwrap(),
        }
    };
    assert!(matches!(welcome, Frame::Welcome(_)), "{welcome:?}");
    (stream, decoder)
}

fn requests(transactions: std::ops::Range<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for transaction in transactions {
        Frame::Mad(node_info_request(&[1], transaction)).encode(&mut bytes);
    }
    bytes
}

/// The answers that a client gets until its connection ends.
async fn answers_until_the_end(mut stream: UnixStream, mut decoder: Decoder) -> usize {
    let mut answers = 0;
    loop {
        while let Some(frame) = decoder.next_frame().unwrap() {
            assert!(matches!(frame, Frame::Mad(_)), "{frame:?}");
            answers += 1;
        }
        if fill(&mut stream, &mut decoder).await.is_err() {
            return answers;
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_and_others_served() {
    let log = Log::default();
    let _collects = log.start();
    let bench = Bench::start(Options::default()).await;
    let mut good = bench.attach(1, &[]).await;
    let (mut slow, decoder) = let_in(&bench).await;
    // More answers than its socket holds, fewer than the backlog that is allowed.
    let asked = 8_000;
    slow.write_all(&requests(0..asked)).await.unwrap();
    let gone = log.wait_for("a client is gone why=it does not read its data");
    timeout(LONG, gone).await.expect("nobody was too slow");
    let got = timeout(LONG, answers_until_the_end(slow, decoder)).await;
    let got = got.expect("the connection goes on");
    assert!((1..asked as usize).contains(&got), "{got} answers");
    good.send(vec![node_info_request(&[1], 5)]).await.unwrap();
    assert_eq!(receive(&mut good, 1).await.len(), 1);
}

#[tokio::test]
async fn a_client_that_asks_on_and_does_not_read_is_cut_off_too() {
    let log = Log::default();
    let _collects = log.start();
    let bench = Bench::start(Options::default()).await;
    let mut good = bench.attach(1, &[]).await;
    let (mut slow, decoder) = let_in(&bench).await;
    let mut asked = 0;
    let ask = async {
        while slow.write_all(&requests(asked..asked + 64)).await.is_ok() {
            asked += 64;
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, ask).await.expect("it is served for ever");
    let gone = log.wait_for("a client is gone why=it does not read its data");
    timeout(LONG, gone).await.expect("nobody was too slow");
    // The backlog did not grow with the number of requests: 12,288 datagrams and the socket's buffer.
    let got = answers_until_the_end(slow, decoder).await;
    assert!(got < 20_000 && got < asked as usize, "{got} of {asked}");
    good.send(vec![node_info_request(&[1], 5)]).await.unwrap();
    assert_eq!(receive(&mut good, 1).await.len(), 1);
}

#[tokio::test]
async fn a_fabric_is_changed_over_the_socket() {
    let bench = Bench::start(Options::default()).await;
    let node = bench.topology.switches()[0];
    let node = bench.topology.node(node).unwrap().guid();
    let port = PortNum(2);
    let ask = async |control: &str| {
        let json = control.as_bytes().to_vec();
        let reply = request_control(&bench.address, json).await.unwrap();
        String::from_utf8(reply).unwrap()
    };
    let down = serde_json::to_string(&Control::LinkDown { node, port }).unwrap();
    assert_eq!(ask(&down).await, "null");
    let state = bench.handle.inspect(move |emulator| {
        let network = emulator.network();
        let device = network.device_at(network.find(node).unwrap());
        network.state(device.port(port).unwrap())
    });
    assert_eq!(state.await.unwrap(), weft_fabric::enums::PortState::DOWN);
    let nowhere = serde_json::to_string(&Control::NodeDown { node: Guid(1) }).unwrap();
    assert!(ask(&nowhere).await.contains("no node"));
    assert!(ask("{\"Explode\":{}}").await.contains("error"));
    assert!(ask("not json").await.contains("error"));
    // Longer than a frame.
    let up = serde_json::to_string(&Control::LinkUp { node, port }).unwrap();
    assert_eq!(ask(&(" ".repeat(200_000) + &up)).await, "null");
    let unknown = format!("\"{}\"", "x".repeat(200_000));
    let refused = ask(&unknown).await;
    assert!(refused.len() > 200_000 && refused.ends_with("\"}"));
}

#[tokio::test]
async fn traffic_is_started_and_told_over_the_socket_and_in_the_process() {
    let bench = Bench::start(Options::default()).await;
    let there = Controller::Socket(bench.address.clone());
    let here = Controller::Here(bench.handle.clone());
    let job = TrafficJob::new("all", "shift by=1".parse().unwrap());
    there
        .control(Control::TrafficStart(job.clone()))
        .await
        .unwrap();
    let again = here.control(Control::TrafficStart(job)).await.unwrap_err();
    assert!(again.to_string().contains("is running"), "{again}");
    let told = there.traffic().await.unwrap();
    assert_eq!(told, here.traffic().await.unwrap());
    // No LIDs have been assigned yet.
    assert_eq!((told.jobs[0].senders, told.jobs[0].blocked), (3, 3));
    let stop = Control::TrafficStop { name: None };
    here.control(stop).await.unwrap();
    assert!(there.traffic().await.unwrap().jobs.is_empty());
    let nowhere = Controller::Socket("unix:/no/socket".parse().unwrap());
    let error = nowhere.traffic().await.unwrap_err();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn latency_is_that_of_the_wall_clock() {
    let options = Options {
        agent_latency_ns: 30_000_000,
        ..Options::default()
    };
    let bench = Bench::start(options).await;
    let mut client = bench.attach(0, &[]).await;
    let start = std::time::Instant::now();
    client.send(vec![node_info_request(&[1], 1)]).await.unwrap();
    receive(&mut client, 1).await;
    assert!(start.elapsed() >= Duration::from_millis(30));
}

#[tokio::test]
async fn the_socket_is_private_and_goes_with_its_server() {
    let bench = Bench::start(Options::default()).await;
    let mode = std::fs::metadata(&bench.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = Server::listen(&bench.address, false).await;
    assert!(matches!(second, Err(ListenError::InUse { .. })));
    bench.stop.send(()).unwrap();
    timeout(LONG, bench.server).await.unwrap().unwrap();
    assert!(!bench.path.exists());
    // A dead process's socket is replaced; any other file is not.
    drop(std::os::unix::net::UnixListener::bind(&bench.path).unwrap());
    drop(Server::listen(&bench.address, false).await.unwrap());
    std::fs::write(&bench.path, "precious").unwrap();
    let third = Server::listen(&bench.address, false).await;
    assert!(matches!(third, Err(ListenError::NotASocket { .. })));
}

#[tokio::test]
async fn other_machines_are_let_in_only_when_asked_for() {
    let anywhere: Address = "tcp:0.0.0.0:0".parse().unwrap();
    let refused = Server::listen(&anywhere, false).await;
    assert!(matches!(refused, Err(ListenError::NotLocal { .. })));
    assert!(Server::listen(&anywhere, true).await.is_ok());
    let local: Address = "tcp:127.0.0.1:0".parse().unwrap();
    let server = Server::listen(&local, false).await.unwrap();
    let address = server.address().clone();
    let bench = Bench::start(Options::default()).await;
    tokio::spawn(server.run(bench.handle.clone(), std::future::pending()));
    let mut client = connect(&address, Attach::FirstHost, vec![]).await.unwrap();
    client.send(vec![node_info_request(&[1], 1)]).await.unwrap();
    assert_eq!(receive(&mut client, 1).await.len(), 1);
}

#[tokio::test]
async fn a_program_may_send_much_before_it_reads() {
    let bench = Bench::start(Options::default()).await;
    let mut client = bench.handle.connect(Attach::FirstHost, &[]).await.unwrap();
    for number in 0..5_000 {
        let request = node_info_request(&[1], number);
        client.send(vec![request]).await.unwrap();
    }
    assert_eq!(receive(&mut client, 5_000).await.len(), 5_000);
}

#[tokio::test]
async fn in_one_process_it_works_the_same() {
    let bench = Bench::start(Options::default()).await;
    let mut client = bench.handle.connect(Attach::FirstHost, &[]).await.unwrap();
    let requests = (0..10_000).map(|n| node_info_request(&[1, 2], n)).collect();
    client.send(requests).await.unwrap();
    assert_eq!(receive(&mut client, 10_000).await.len(), 10_000);
    bench.handle.stop().await;
    assert!(timeout(LONG, client.recv()).await.unwrap().is_none());
    let late = bench.handle.connect(Attach::FirstHost, &[]).await;
    assert_eq!(late.unwrap_err(), AttachError::Stopped);
}
