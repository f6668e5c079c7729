//! Programs on the hosts that attack nobody: they ask the SA for paths to each other, and are members of a group.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Lid, Tick, Topology};
use weft_wire::Layout;
use weft_wire::header::{method, status};
use weft_wire::id::{Gid, PKey};
use weft_wire::rmpp::DATA_AT;
use weft_wire::sa::{McMemberRecord, PathRecord, attribute as attributes};

use crate::campaign::programs::{CREATE, GROUPS, Port, Programs};
use crate::cluster::{Cluster, Delivered};
use crate::oracle::multicast::Group;
use crate::oracle::{Breach, Invariant};
use crate::world::WorldError;

/// A request without an answer after so long is lost: hosts' kernels wait longer before they ask again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most that 99 of 100 requests may take: a hundredth of the time that the SA tells its clients to wait for an answer
/// (`SaRespTime` 19, 2.1 s), so that no client notices.
const P99_MAX: Duration = Duration::from_millis(20);
/// The bystanders' group.
const MGID: Gid = Gid {
    prefix: GROUPS,
    interface: Guid(0xB757),
};
/// Their partition, in which they send no datagrams.
pub(super) const PARTITION: PKey = PKey(0x8123);
/// Number of wrong answers that are told.
const TOLD_MAX: usize = 3;

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    /// A path to a host with this LID.
    Path(Lid),
    /// Membership.
    Member,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Bystanders {
    pub(super) hosts: Vec<Port>,
    pub(super) programs: Programs<(Tick, Wanted)>,
    /// LIDs before the attack, by host.
    lids: BTreeMap<Guid, Lid>,
    /// Times from request to answer during the attack.
    times: Vec<Duration>,
    /// Row of the group in the switches' tables.
    row: Option<u32>,
    wrong: Vec<String>,
    wrong_count: usize,
}

impl Bystanders {
    pub(super) fn new(hosts: Vec<Port>, topology: &Topology) -> Self {
        Self {
            hosts,
            // Those of the attacker's requests are smaller.
            programs: Programs::new(topology, 1 << 48),
            lids: BTreeMap::new(),
            times: Vec::new(),
            row: None,
            wrong: Vec::new(),
            wrong_count: 0,
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
        let wanted = (cluster.now(), Wanted::Path(lid));
        if !self.programs.ask_path(cluster, (from, to), wanted)? {
            self.cannot_ask(from);
        }
        Ok(())
    }

    /// All join their group.
    pub(super) fn join(&mut self, cluster: &mut Cluster) -> Result<(), WorldError> {
        for host in self.hosts.clone() {
            let record = self.membership(host).to_bytes();
            let what = (method::SET, attributes::MC_MEMBER_RECORD, CREATE);
            let wanted = (cluster.now(), Wanted::Member);
            if !self.programs.send(cluster, host, what, &record, wanted)? {
                self.cannot_ask(host);
            }
        }
        Ok(())
    }

    /// A host as a member of their group.
    pub(super) fn membership(&self, host: Port) -> McMemberRecord {
        self.programs.membership(host, MGID)
    }

    fn cannot_ask(&mut self, (node, _): Port) {
        self.tell(format!("{node} knows no SM"));
    }

    /// An answer has come to one.
    pub(super) fn take(&mut self, delivered: &Delivered) {
        if delivered.packet.pkey == PARTITION {
            self.tell(format!(
                "{} gets a datagram of the bystanders' partition from LID {}",
                delivered.host.0, delivered.packet.slid
            ));
        }
        let Some((mad, (asked, wanted))) = self.programs.answered(delivered) else {
            return;
        };
        let Delivered { at, host, packet } = delivered;
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
        let before = self.programs.open.len();
        let open = &mut self.programs.open;
        open.retain(|_, (asked, _)| now.since(*asked) <= PATIENCE);
        let lost = before - open.len();
        if lost > 0 {
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

    /// What went wrong for them, in one.
    pub(super) fn harm(&mut self) -> Option<Breach> {
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
        (!wrong.is_empty()).then(|| breach(wrong.join("; ")))
    }
}
