//! Requests of hosts to join multicast groups, create them and leave them, as their kernel sends them: in
//! InfiniBand's version of subnet administration, the only one in which the vendor's manager has such records.

use std::time::{Duration, Instant};

use tokio::time::timeout;
use weft_fabric::{Guid, PortNum};
use weft_testkit::sa_request::{SaRequest, own_and_sm, to_sm};
use weft_transport::{Attach, Connection};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, status};
use weft_wire::id::{Gid, PKey};
use weft_wire::packet::Packet;
use weft_wire::sa::{IbMcMemberRecord, attribute};

use crate::fabric::Fabric;

/// Components of a request to join or leave: MGID, port and join state.
pub const JOIN: u64 = 0x3 | 1 << 16;
/// Components of a request to create: MGID, port, Q_Key, traffic class, P_Key, service level, flow label,
/// join state.
pub const CREATE: u64 = 0xC7 | 1 << 12 | 1 << 13 | 1 << 16;
/// Timeout of a request before it is sent again: long, since a request that is carried out twice is refused.
const ANSWER: Duration = Duration::from_secs(8);
/// Timeout of a request that is sent again and again.
const GIVE_UP: Duration = Duration::from_secs(20);
/// Timeout of a connection to the fabric.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a request of a host, method and components, to subnet administration; returns the answer's status, none
/// without an answer.
pub fn ask(fabric: &Fabric, host: Guid, mgid: Gid, change: (u8, u64)) -> Option<u16> {
    let own = (host, PortNum(1));
    let lids = fabric.inspect(move |emulator| own_and_sm(emulator.network(), own));
    let record = IbMcMemberRecord {
        mgid,
        p_key: PKey(0x8001),
        port_gid: Gid {
            prefix: 0xFE80_0000_0000_0000,
            interface: host,
        },
        join_full_member: true,
        ..IbMcMemberRecord::default()
    };
    let (method, mask) = change;
    let request = SaRequest {
        method,
        attribute: attribute::MC_MEMBER_RECORD,
        ib: true,
        mask,
        record: &record.to_bytes(),
        transaction: 1 << 32 | 7,
    };
    let packet = to_sm(lids.unwrap(), request.mad());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { exchange(connection(fabric, host).await, packet).await })
}

/// Attaches to a host. The fabric may not have seen yet that the last connection is closed.
async fn connection(fabric: &Fabric, host: Guid) -> Connection {
    let until = Instant::now() + PATIENCE;
    loop {
        let attach = Attach::Node {
            guid: host,
            port: PortNum(1),
        };
        let classes = vec![class::SUBN_ADM];
        match weft_transport::connect(fabric.address(), attach, classes).await {
            Ok(connection) => return connection,
            Err(why) => assert!(Instant::now() < until, "{host}: {why}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends until an answer comes that is not BUSY; its status.
async fn exchange(mut connection: Connection, packet: Packet) -> Option<u16> {
    let until = Instant::now() + GIVE_UP;
    while Instant::now() < until {
        connection.send(vec![packet.clone()]).await.unwrap();
        let Ok(answers) = timeout(ANSWER, connection.recv()).await else {
            continue;
        };
        let mut statuses = answers.unwrap().into_iter().filter_map(|answer| {
            let mad = MadHeader::decode(&answer.mad).ok()?;
            (mad.mgmt_class == class::SUBN_ADM).then_some(mad.status)
        });
        match statuses.next() {
            Some(found) if found != status::BUSY => return Some(found),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    None
}
