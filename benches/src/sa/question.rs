//! A client's requests, and checks of the answers.

use std::fmt;

use weft_fabric::Lid;
use weft_transport::PortStatus;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::id::{Gid, PKey};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{Envelope, RmppHeader};
use weft_wire::sa::{PathRecord, SaHeader, attribute};

/// Bits of a path query's component mask.
const DGID: u64 = 1 << 2;
const SGID: u64 = 1 << 3;
const REVERSIBLE: u64 = 1 << 11;
const NUMB_PATH: u64 = 1 << 12;
/// Bytes of an InfiniBand datagram.
const IB_MAD_LEN: usize = 256;

/// Kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// Get(PathRecord): one path to one other host.
    Path,
    /// GetTable(PathRecord): one path to each port that the asking one may talk to.
    PathsToAll,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Path => "one path",
            Self::PathsToAll => "paths to all",
        })
    }
}

impl Question {
    /// The datagram of the request, from one host about another.
    pub(super) fn packet(self, own: &PortStatus, other: &PortStatus, transaction: u64) -> Packet {
        let (method, mask) = match self {
            Self::Path => (method::GET, DGID | SGID | REVERSIBLE | NUMB_PATH),
            Self::PathsToAll => (method::GET_TABLE, SGID | REVERSIBLE | NUMB_PATH),
        };
        let record = PathRecord {
            dgid: gid(other),
            sgid: gid(own),
            reversible: true,
            numb_path: 1,
            ..PathRecord::default()
        };
        let header = SaHeader {
            component_mask: mask,
            ..SaHeader::default()
        };
        let mut class = [0; SaHeader::LEN];
        header.encode(&mut class);
        let envelope = Envelope {
            mad: MadHeader {
                base_version: version::IB,
                mgmt_class: class::SUBN_ADM,
                class_version: version::IB_SA,
                method,
                transaction_id: transaction,
                attribute_id: attribute::PATH_RECORD,
                ..MadHeader::default()
            },
            class,
        };
        let mut mad = Vec::with_capacity(IB_MAD_LEN);
        envelope.write(&RmppHeader::default(), &record.to_bytes(), &mut mad);
        packet(own, mad)
    }

    /// Errors in an answer's records, if there are any.
    pub(super) fn complaint(
        self,
        own: &PortStatus,
        other: &PortStatus,
        hosts: usize,
        records: &[u8],
    ) -> Option<String> {
        let is_own = |path: &PathRecord| path.slid == own.base_lid.0 as u16;
        let whole = records.chunks_exact(PathRecord::LEN);
        let mut paths = whole.filter_map(|record| PathRecord::decode(record).ok());
        match self {
            Self::Path => {
                let path = paths.next().unwrap_or_default();
                let right = is_own(&path) && Lid(path.dlid.into()) == other.base_lid;
                (!right).then(|| format!("another path than was asked for: {path:?}"))
            }
            Self::PathsToAll => {
                let count = paths.filter(is_own).count();
                (count < hosts).then(|| format!("{count} paths to {hosts} hosts"))
            }
        }
    }
}

/// A datagram from a host to the manager's queue pair 1.
pub(super) fn packet(own: &PortStatus, mut mad: Vec<u8>) -> Packet {
    mad.resize(IB_MAD_LEN, 0);
    Packet {
        slid: own.base_lid,
        dlid: own.sm_lid,
        sl: own.sm_sl,
        pkey: PKey::MGMT_LIMITED,
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}

fn gid(status: &PortStatus) -> Gid {
    Gid {
        prefix: status.subnet_prefix,
        interface: status.port_guid,
    }
}
