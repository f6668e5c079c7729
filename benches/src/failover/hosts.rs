//! Hosts that ask subnet administration, and join multicast groups.

use std::time::{Duration, Instant};

use tokio::time::timeout;
use weft_fabric::{Guid, Lid, PortNum};
use weft_testkit::sa_request::{SaRequest, own_and_sm, to_sm};
use weft_transport::{Attach, Connection};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status};
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{IbMcMemberRecord, PathRecord, attribute};

use crate::Failure;
use crate::managers::fabric::Fabric;

/// Timeout of an answer. Short where the first one is waited for; long where a request must not be carried out twice.
const FIRST: Duration = Duration::from_millis(20);
const ANSWER: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(50);
/// Components of a request to join or leave, and to create.
const JOIN: u64 = 0x3 | 1 << 16;
const CREATE: u64 = 0xC7 | 1 << 12 | 1 << 13 | 1 << 16;
/// Components of a path query: both GIDs, reversible, number of paths.
const PATH: u64 = 1 << 2 | 1 << 3 | 1 << 11 | 1 << 12;
const PREFIX: u64 = 0xFE80_0000_0000_0000;
/// The group.
const GROUP: Gid = Gid {
    prefix: 0xFF12_401B_8001_0000,
    interface: Guid(0x4711),
};

/// A host with a program at its port.
pub(super) struct Host {
    guid: Guid,
    connection: Connection,
    transaction: u64,
}

impl Host {
    pub(super) fn attach(fabric: &Fabric, guid: Guid) -> Result<Self, Failure> {
        let port = PortNum(1);
        let attach = Attach::Node { guid, port };
        let address = fabric.address();
        let classes = vec![class::SUBN_ADM];
        let connected = fabric.block_on(weft_transport::connect(&address, attach, classes));
        let connection = connected.map_err(|error| fabric.failed(error.to_string()))?;
        Ok(Self {
            guid,
            connection,
            transaction: 1 << 32,
        })
    }

    /// Sends a request once; who answers, with which status.
    fn ask(
        &mut self,
        fabric: &Fabric,
        request: SaRequest<'_>,
        patience: Duration,
    ) -> Result<Option<(Lid, u16)>, Failure> {
        self.transaction += 1;
        let transaction = self.transaction;
        let own = (self.guid, PortNum(1));
        let lids = fabric.inspect(move |emulator| own_and_sm(emulator.network(), own))?;
        let Some(lids) = lids else { return Ok(None) };
        let request = SaRequest {
            transaction,
            ..request
        };
        let packet = to_sm(lids, request.mad());
        let connection = &mut self.connection;
        let exchange = async {
            connection.send(vec![packet]).await.ok()?;
            loop {
                let answers = connection.recv().await?.into_iter();
                let mut found = answers.filter_map(|answer| {
                    let mad = MadHeader::decode(&answer.mad).ok()?;
                    let is_it = mad.mgmt_class == class::SUBN_ADM
                        && mad.transaction_id as u32 == transaction as u32;
                    is_it.then_some((answer.slid, mad.status))
                });
                if let Some(found) = found.next() {
                    return Some(found);
                }
            }
        };
        Ok(fabric.block_on(async { timeout(patience, exchange).await.ok().flatten() }))
    }

    /// Asks for a path to another host until the manager with this LID answers; none if it does not in time.
    pub(super) fn first_answer(
        &mut self,
        fabric: &Fabric,
        other: Guid,
        manager: Lid,
        until: Instant,
    ) -> Result<Option<Instant>, Failure> {
        let gid = |interface| Gid {
            prefix: PREFIX,
            interface,
        };
        let record = PathRecord {
            dgid: gid(other),
            sgid: gid(self.guid),
            reversible: true,
            numb_path: 1,
            ..PathRecord::default()
        };
        let record = record.to_bytes();
        let request = SaRequest {
            method: method::GET,
            attribute: attribute::PATH_RECORD,
            ib: true,
            mask: PATH,
            record: &record,
            transaction: 0,
        };
        while Instant::now() < until {
            let answer = self.ask(fabric, request, FIRST)?;
            if answer == Some((manager, status::OK)) {
                return Ok(Some(Instant::now()));
            }
        }
        Ok(None)
    }

    /// Creates the group as its first member, or joins it.
    pub(super) fn join(&mut self, fabric: &Fabric, first: bool) -> Result<(), Failure> {
        let mask = if first { CREATE } else { JOIN };
        match self.change(fabric, method::SET, mask)? {
            Some(status::OK) => Ok(()),
            other => Err(fabric.failed(format!("a host cannot join a group: {other:?}"))),
        }
    }

    /// Leaves the group; returns whether it was a member.
    pub(super) fn leave(&mut self, fabric: &Fabric) -> Result<bool, Failure> {
        let left = self.change(fabric, method::DELETE, JOIN)?;
        Ok(left == Some(status::OK))
    }

    fn change(&mut self, fabric: &Fabric, method: u8, mask: u64) -> Result<Option<u16>, Failure> {
        let record = IbMcMemberRecord {
            mgid: GROUP,
            p_key: PKey(0x8001),
            port_gid: Gid {
                prefix: PREFIX,
                interface: self.guid,
            },
            join_full_member: true,
            ..IbMcMemberRecord::default()
        };
        let record = record.to_bytes();
        let request = SaRequest {
            method,
            attribute: attribute::MC_MEMBER_RECORD,
            ib: true,
            mask,
            record: &record,
            transaction: 0,
        };
        for _ in 0..10 {
            match self.ask(fabric, request, ANSWER)? {
                Some((_, status::BUSY)) | None => std::thread::sleep(PAUSE),
                Some((_, status)) => return Ok(Some(status)),
            }
        }
        Ok(None)
    }
}
