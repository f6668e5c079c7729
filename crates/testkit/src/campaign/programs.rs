//! Programs on hosts that ask the SA: their requests, and which answer belongs to which.

use std::collections::BTreeMap;

use weft_fabric::{Guid, PortNum, Topology};
use weft_manager::sm::Settings;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method};
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{McMemberRecord, PathRecord, attribute as attributes};

use crate::cluster::{Cluster, Delivered};
use crate::sa_request::{SaRequest, own_and_sm, to_sm};
use crate::world::WorldError;

/// A port, by its node.
pub(super) type Port = (Guid, PortNum);

/// First half of the MGIDs of these programs' groups.
pub(super) const GROUPS: u64 = 0xFF12_A01B_FE80_0000;
/// DGID and SGID of a PathRecord.
const BETWEEN: u64 = 1 << 2 | 1 << 3;
/// MGID, PortGID, Q_Key, P_Key, SL and JoinState of an McMemberRecord: what creates a group.
pub(super) const CREATE: u64 = 0x7 | 1 << 7 | 1 << 12 | 1 << 17;
/// MGID, PortGID and JoinState: what leaves one.
pub(super) const LEAVE: u64 = 0x3 | 1 << 17;

/// Programs on all hosts; of each request in flight they know an `A`.
#[derive(Debug)]
pub(super) struct Programs<A> {
    port_guids: BTreeMap<Guid, Guid>,
    /// Subnet prefix of the stock configuration.
    prefix: u64,
    /// Requests in flight, by transaction.
    pub(super) open: BTreeMap<u64, A>,
    transaction: u64,
}

impl<A> Programs<A> {
    /// Transactions of the requests come after `transaction`.
    pub(super) fn new(topology: &Topology, transaction: u64) -> Self {
        let hosts = topology.hfis();
        let port_guids = hosts.map(|(_, node)| (node.guid(), node.info.port_guid));
        Self {
            port_guids: port_guids.collect(),
            prefix: Settings::default().subnet_prefix,
            open: BTreeMap::new(),
            transaction,
        }
    }

    /// PortGUID of a host.
    pub(super) fn port_guid(&self, node: Guid) -> Guid {
        self.port_guids.get(&node).copied().unwrap_or_default()
    }

    /// GID of a host.
    pub(super) fn gid(&self, (node, _): Port) -> Gid {
        Gid {
            prefix: self.prefix,
            interface: self.port_guid(node),
        }
    }

    /// A host as a member of a group.
    pub(super) fn membership(&self, host: Port, mgid: Gid) -> McMemberRecord {
        McMemberRecord {
            mgid,
            port_gid: self.gid(host),
            q_key: 0xB1B,
            p_key: PKey(0x8001),
            join_full_member: true,
            ..McMemberRecord::default()
        }
    }

    /// One host asks for the path to another; false if it can ask nobody.
    pub(super) fn ask_path(
        &mut self,
        cluster: &mut Cluster,
        (from, to): (Port, Port),
        asked: A,
    ) -> Result<bool, WorldError> {
        let record = PathRecord {
            sgid: self.gid(from),
            dgid: self.gid(to),
            numb_path: 1,
            ..PathRecord::default()
        };
        let what = (method::GET, attributes::PATH_RECORD, BETWEEN);
        self.send(cluster, from, what, &record.to_bytes(), asked)
    }

    /// Method, attribute and component mask, and a record; false for a host without a LID, or that knows no SM, which asks
    /// nobody.
    pub(super) fn send(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        (method, attribute, mask): (u8, u16, u64),
        record: &[u8],
        asked: A,
    ) -> Result<bool, WorldError> {
        let Some(lids) = own_and_sm(cluster.emulator.network(), host) else {
            return Ok(false);
        };
        self.transaction += 1;
        let request = SaRequest {
            method,
            attribute,
            ib: attribute == attributes::PATH_RECORD,
            mask,
            record,
            transaction: self.transaction,
        };
        self.open.insert(self.transaction, asked);
        cluster.send_from(host, to_sm(lids, request.mad()))?;
        Ok(true)
    }

    /// The header of an answer of the SA, and what it answers; none for other datagrams, and for a second answer.
    pub(super) fn answered(&mut self, delivered: &Delivered) -> Option<(MadHeader, A)> {
        let mad = MadHeader::decode(&delivered.packet.mad).ok()?;
        if mad.mgmt_class != class::SUBN_ADM || !method::is_response(mad.method) {
            return None;
        }
        let asked = self.open.remove(&mad.transaction_id)?;
        Some((mad, asked))
    }
}
