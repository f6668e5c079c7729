//! A host that floods subnet administration, and one beside it that asks as always.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use weft_transport::connection::{FromFabric, ToFabric};
use weft_transport::{Address, Attach, ConnectionReceiver, ConnectionSender, PortStatus, connect};
use weft_wire::Layout;
use weft_wire::enums::PortState;
use weft_wire::header::{MadHeader, class, method, status, version};
use weft_wire::id::{Gid, Lid, PKey, PortNum};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{DATA_AT, Envelope, RmppHeader};
use weft_wire::sa::{PathRecord, SaHeader, attribute};

use crate::emulator::Emulator;
use crate::harness::Start;

/// DGID and SGID of a path query.
const BETWEEN: u64 = 1 << 2 | 1 << 3;
/// Hosts' kernels ask again after this.
const PATIENCE: Duration = Duration::from_secs(2);
/// Requests of the host that asks as always, one after the other.
const QUESTIONS: u64 = 300;

/// 99 of 100 are answered within this time, under the flood too, on a machine that does other things.
const P99_MAX: Duration = Duration::from_millis(500);
/// What the log says of requests that were dropped.
const DROPPED: &str = "dropped: it sends more than its share";

/// A program on a host.
struct Host {
    sender: ConnectionSender,
    receiver: ConnectionReceiver,
    port: PortStatus,
}

impl Host {
    /// Once its port carries data.
    async fn attach(address: &Address, name: &str) -> Self {
        let attach = Attach::Name {
            name: name.to_owned(),
            port: PortNum(1),
        };
        let connection = connect(address, attach, Vec::new()).await.unwrap();
        let (sender, mut receiver) = connection.split();
        sender.tell(ToFabric::Watch).await.unwrap();
        loop {
            if let Some(FromFabric::Port(port)) = receiver.recv_any().await
                && port.state == PortState::ACTIVE.0
            {
                return Self {
                    sender,
                    receiver,
                    port,
                };
            }
        }
    }

    /// Asks for the path to another host.
    fn question(&self, other: &PortStatus, transaction_id: u64) -> Packet {
        let gid = |port: &PortStatus| Gid {
            prefix: port.subnet_prefix,
            interface: port.port_guid,
        };
        let record = PathRecord {
            dgid: gid(other),
            sgid: gid(&self.port),
            numb_path: 1,
            ..PathRecord::default()
        };
        let header = SaHeader {
            component_mask: BETWEEN,
            ..SaHeader::default()
        };
        let mut class_header = [0; SaHeader::LEN];
        header.encode(&mut class_header);
        let envelope = Envelope {
            mad: MadHeader {
                base_version: version::IB,
                mgmt_class: class::SUBN_ADM,
                class_version: version::IB_SA,
                method: method::GET,
                transaction_id,
                attribute_id: attribute::PATH_RECORD,
                ..MadHeader::default()
            },
            class: class_header,
        };
        let mut mad = Vec::new();
        envelope.write(&RmppHeader::default(), &record.to_bytes(), &mut mad);
        mad.resize(256, 0);
        Packet {
            slid: self.port.base_lid,
            dlid: self.port.sm_lid,
            sl: self.port.sm_sl,
            pkey: PKey::MGMT_LIMITED,
            dest_qp: 1,
            src_qp: 1,
            mad,
        }
    }

    /// Status and path of the answer to one request.
    async fn answer(&mut self, other: &PortStatus, number: u64) -> (u16, PathRecord) {
        let question = self.question(other, number);
        self.sender.send(vec![question]).await.unwrap();
        let answer = async {
            loop {
                for packet in self.receiver.recv().await.unwrap() {
                    let mad = MadHeader::decode(&packet.mad).unwrap();
                    if mad.transaction_id == number {
                        return (
                            mad.status,
                            PathRecord::decode(&packet.mad[DATA_AT..]).unwrap(),
                        );
                    }
                }
            }
        };
        let answer = timeout(PATIENCE, answer).await;
        answer.unwrap_or_else(|_| panic!("no answer to request {number}"))
    }

    /// Asks until subnet administration has its first snapshot: ports are Active a moment before.
    async fn wait_for_sa(&mut self, other: &PortStatus) {
        let begun = Instant::now();
        for number in 0.. {
            match self.answer(other, number).await.0 {
                status::BUSY => assert!(begun.elapsed() < PATIENCE, "BUSY for too long"),
                _ => return,
            }
        }
    }

    /// The time to the answer of one request, which is right.
    async fn ask(&mut self, other: &PortStatus, number: u64) -> Duration {
        let begun = Instant::now();
        let (status, path) = self.answer(other, number).await;
        assert_eq!(status, status::OK);
        assert_eq!(Lid(path.dlid.into()), other.base_lid);
        begun.elapsed()
    }

    /// Sends as much as it can, and reads what is answered.
    async fn flood(mut self, other: PortStatus) {
        let mut number = 0;
        loop {
            let batch: Vec<Packet> = (0..256)
                .map(|one| self.question(&other, number + one))
                .collect();
            number += 256;
            self.sender.send(batch).await.unwrap();
            while self.receiver.try_recv().is_some() {}
        }
    }
}

/// The time within which 99 of 100 were answered.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[(times.len() * 99).div_ceil(100) - 1]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_floods_the_sa_waits_for_himself_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("fabric");
    let emulator = Emulator::start("fattree:128,radix=16", &socket);
    let daemon = Start::connected(&socket).up();
    let address = Address::Unix(emulator.socket());
    let attacker = Host::attach(&address, "node7 hfi1_0").await;
    let mut bystander = Host::attach(&address, "node9 hfi1_0").await;
    let other = attacker.port.clone();
    bystander.wait_for_sa(&other).await;
    let mut quiet = Vec::new();
    for number in 0..QUESTIONS {
        quiet.push(bystander.ask(&other, 1 << 32 | number).await);
    }
    let flooding = tokio::spawn(attacker.flood(bystander.port.clone()));
    sleep(Duration::from_millis(500)).await;
    let mut flooded = Vec::new();
    for number in 0..QUESTIONS {
        flooded.push(bystander.ask(&other, 1 << 33 | number).await);
    }
    flooding.abort();
    let (quiet, flooded) = (p99(quiet), p99(flooded));
    assert!(flooded < P99_MAX, "{flooded:?}, without a flood {quiet:?}");
    daemon.logs(DROPPED);
    let log = daemon.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains(DROPPED)).collect();
    let names_attacker = |line: &&str| line.contains("(node7 hfi1_0)");
    assert!(told.iter().all(names_attacker), "{told:?}");
    assert!(!log.contains("the fabric is gone"), "{log}");
}
