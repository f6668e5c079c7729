//! Programs on the hosts that attack nobody: they ask the SA for paths to each other, and are members of a group.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Lid, Tick};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status};
use weft_wire::id::{Gid, PKey};
use weft_wire::rmpp::DATA_AT;
use weft_wire::sa::{McMemberRecord, PathRecord, attribute as attributes};

use super::site::{PREFIX, Port};
use crate::cluster::{Cluster, Delivered};
use crate::oracle::multicast::Group;
use crate::oracle::{Breach, Invariant};
use crate::sa_request::{SaRequest, own_and_sm, to_sm};
use crate::world::WorldError;

/// A request without an answer after so long is lost: hosts' kernels wait longer before they ask again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most that 99 of 100 requests may take: a hundredth of the time that the SA tells its clients to wait for an answer
/// (`SaRespTime` 19, 2.1 s), so that no client notices.
const P99_MAX: Duration = Duration::from_millis(20);
/// DGID and SGID of a PathRecord.
const BETWEEN: u64 = 1 << 2 | 1 << 3;
/// MGID, PortGID, Q_Key, P_Key, SL and JoinState of an McMemberRecord: what creates a group.
pub(super) const CREATE: u64 = 0x7 | 1 << 7 | 1 << 12 | 1 << 17;
/// The bystanders' group.
pub(super) const MGID: Gid = Gid {
    prefix: 0xFF12_A01B_FE80_0000,
    interface: Guid(0xB757),
};
/// Number of wrong answers that are told.
const TOLD_MAX: usize = 3;

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// A path to a host with this LID.
    Path(Lid),
    /// Membership.
    Member,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Bystanders {
    pub(super) hosts: Vec<Port>,
    port_guids: BTreeMap<Guid, Guid>,
    /// LIDs before the attack, by host.
    lids: BTreeMap<Guid, Lid>,
    open: BTreeMap<u64, (Tick, Wanted)>,
    transaction: u64,
    /// Times from request to answer during the attack.
    times: Vec<Duration>,
    /// Row of the group in the switches' tables.
    row: Option<u32>,
    wrong: Vec<String>,
    wrong_count: usize,
}

impl Bystanders {
    pub(super) fn new(hosts: Vec<Port>, port_guids: BTreeMap<Guid, Guid>) -> Self {
        Self {
            hosts,
            port_guids,
            // Those of the attacker's requests are smaller.
            transaction: 1 << 48,
            ..Self::default()
        }
    }

    /// The LIDs of now are those that paths must lead to.
    pub(super) fn begin(&mut self, lids: BTreeMap<Guid, Lid>) {
        self.lids = lids;
        self.times.clear();
    }

    /// One asks for the path to another.
    pub(super) fn ask(
        &mut self,
        cluster: &mut Cluster,
        from: Port,
        to: Port,
    ) -> Result<(), WorldError> {
        let Some(lid) = self.lids.get(&to.0).copied() else {
            return Ok(());
        };
        let record = PathRecord {
            sgid: self.gid(from),
            dgid: self.gid(to),
            numb_path: 1,
            ..PathRecord::default()
        };
        let what = (method::GET, attributes::PATH_RECORD, BETWEEN);
        self.send(cluster, from, what, &record.to_bytes(), Wanted::Path(lid))
    }

    /// All join their group.
    pub(super) fn join(&mut self, cluster: &mut Cluster) -> Result<(), WorldError> {
        for host in self.hosts.clone() {
            let record = self.membership(host);
            let what = (method::SET, attributes::MC_MEMBER_RECORD, CREATE);
            self.send(cluster, host, what, &record.to_bytes(), Wanted::Member)?;
        }
        Ok(())
    }

    /// A host as a member of their group.
    pub(super) fn membership(&self, host: Port) -> McMemberRecord {
        McMemberRecord {
            mgid: MGID,
            port_gid: self.gid(host),
            q_key: 0xB1B,
            p_key: PKey(0x8001),
            join_full_member: true,
            ..McMemberRecord::default()
        }
    }

    /// PortGUID of a host.
    pub(super) fn port_guid(&self, node: Guid) -> Guid {
        self.port_guids.get(&node).copied().unwrap_or_default()
    }

    fn gid(&self, (node, _): Port) -> Gid {
        Gid {
            prefix: PREFIX,
            interface: self.port_guid(node),
        }
    }

    fn send(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        (method, attribute, mask): (u8, u16, u64),
        record: &[u8],
        wanted: Wanted,
    ) -> Result<(), WorldError> {
        self.transaction += 1;
        let Some(lids) = own_and_sm(cluster.emulator.network(), host) else {
            self.tell(format!("{} knows no SM", host.0));
            return Ok(());
        };
        let request = SaRequest {
            method,
            attribute,
            ib: attribute == attributes::PATH_RECORD,
            mask,
            record,
            transaction: self.transaction,
        };
        self.open.insert(self.transaction, (cluster.now(), wanted));
        cluster.send_from(host, to_sm(lids, request.mad()))
    }

    /// An answer has come to one.
    pub(super) fn take(&mut self, delivered: &Delivered) {
        let Delivered { at, host, packet } = delivered;
        let Ok(mad) = MadHeader::decode(&packet.mad) else {
            return;
        };
        if mad.mgmt_class != class::SUBN_ADM || !method::is_response(mad.method) {
            return;
        }
        let Some((asked, wanted)) = self.open.remove(&mad.transaction_id) else {
            return;
        };
        self.times.push(at.since(asked));
        if mad.status != status::OK {
            self.tell(format!(
                "{} is refused with status {:#x}",
                host.0, mad.status
            ));
            return;
        }
        let data = packet.mad.get(DATA_AT..).unwrap_or_default();
        match wanted {
            Wanted::Path(lid) => {
                let path = PathRecord::decode(data);
                let right = path.is_ok_and(|path| u32::from(path.dlid) == lid.0);
                if !right {
                    self.tell(format!("{} is told another path than to LID {lid}", host.0));
                }
            }
            Wanted::Member => {
                let row = McMemberRecord::decode(data).ok();
                let row = row.and_then(|it| it.mlid.0.checked_sub(Lid::MULTICAST_BASE.0));
                self.row = self.row.or(row);
            }
        }
    }

    /// Requests that were lost, now that it is `now`.
    pub(super) fn look_for_lost(&mut self, now: Tick) {
        let lost = self.open.values();
        let lost = lost
            .filter(|(asked, _)| now.since(*asked) > PATIENCE)
            .count();
        if lost > 0 {
            self.open
                .retain(|_, (asked, _)| now.since(*asked) <= PATIENCE);
            self.tell(format!(
                "{lost} requests to the SA without an answer after 1 s"
            ));
        }
    }

    /// The group with all of them, once its row is known.
    pub(super) fn group(&self) -> Option<Group> {
        let receivers = self.hosts.iter().map(|(node, _)| *node);
        Some(Group {
            row: self.row?,
            receivers: receivers.collect(),
            senders: Vec::new(),
        })
    }

    /// 99 of 100 requests were answered within this time.
    pub(super) fn p99(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let place = (times.len() * 99).div_ceil(100).saturating_sub(1);
        times.get(place).copied().unwrap_or_default()
    }

    fn tell(&mut self, what: String) {
        self.wrong_count += 1;
        if self.wrong.len() < TOLD_MAX {
            self.wrong.push(what);
        }
    }

    /// What went wrong for them.
    pub(super) fn harm(&mut self) -> Vec<Breach> {
        let mut wrong = std::mem::take(&mut self.wrong);
        let untold = std::mem::take(&mut self.wrong_count) - wrong.len();
        if untold > 0 {
            wrong.push(format!("and {untold} times more"));
        }
        if self.p99() > P99_MAX {
            wrong.push(format!(
                "1 of 100 requests to the SA takes {:?}",
                self.p99()
            ));
        }
        let breach = |what| Breach::new(Invariant::ConsistentSnapshot, what);
        wrong.into_iter().map(breach).collect()
    }
}
