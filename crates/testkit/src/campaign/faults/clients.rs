//! Programs on hosts that ask the SA, and judge its answers by the registers.

use std::collections::BTreeMap;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Guid, Lid, PortNum, Topology};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status, version};
use weft_wire::id::{Gid, PKey};
use weft_wire::rmpp::DATA_AT;
use weft_wire::sa::{McMemberRecord, PathRecord, attribute as attributes};

use super::place::Port;
use crate::cluster::{Cluster, Delivered};
use crate::oracle::{Breach, Invariant};
use crate::sa_request::{SaRequest, own_and_sm, to_sm};
use crate::world::WorldError;

/// Subnet prefix of the stock configuration.
const PREFIX: u64 = 0xFE80_0000_0000_0000;
/// DGID and SGID of a PathRecord.
const BETWEEN: u64 = 1 << 2 | 1 << 3;
/// MGID, PortGID, Q_Key, P_Key, SL and JoinState of an McMemberRecord: what creates a group.
const CREATE: u64 = 0x7 | 1 << 7 | 1 << 12 | 1 << 17;
/// MGID, PortGID and JoinState: what leaves one.
const LEAVE: u64 = 0x3 | 1 << 17;
/// Longest datagram of random bytes.
const GARBAGE_MAX: usize = 2048;
/// Wrong answers that are told.
const WRONG_MAX: usize = 3;

/// A request in flight.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// The host that the path leads to; none where it is a membership.
    to: Option<Port>,
}

/// Programs on all hosts.
#[derive(Debug, Default)]
pub(super) struct Clients {
    port_guids: BTreeMap<Guid, Guid>,
    open: BTreeMap<u64, Asked>,
    transaction: u64,
    /// Answers with a path.
    pub(super) answered: u64,
    wrong: Vec<Breach>,
}

impl Clients {
    pub(super) fn new(topology: &Topology) -> Self {
        let hosts = topology.hfis();
        let port_guids = hosts.map(|(_, node)| (node.guid(), node.info.port_guid));
        Self {
            port_guids: port_guids.collect(),
            ..Self::default()
        }
    }

    /// One host asks for the path to another.
    pub(super) fn ask(
        &mut self,
        cluster: &mut Cluster,
        from: Port,
        to: Port,
    ) -> Result<(), WorldError> {
        let record = PathRecord {
            sgid: self.gid(from),
            dgid: self.gid(to),
            numb_path: 1,
            ..PathRecord::default()
        };
        let asked = Asked { to: Some(to) };
        let what = (method::GET, attributes::PATH_RECORD, BETWEEN);
        self.send(cluster, from, what, &record.to_bytes(), asked)
    }

    /// A host joins a group, or leaves it.
    pub(super) fn join(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        joins: bool,
    ) -> Result<(), WorldError> {
        let record = McMemberRecord {
            mgid: Gid {
                prefix: 0xFF12_A01B_FE80_0000,
                interface: Guid(u64::from(host.0.0 as u8 % 4)),
            },
            port_gid: self.gid(host),
            q_key: 0xB1B,
            p_key: PKey(0x8001),
            join_full_member: true,
            ..McMemberRecord::default()
        };
        let what = match joins {
            true => (method::SET, attributes::MC_MEMBER_RECORD, CREATE),
            false => (method::DELETE, attributes::MC_MEMBER_RECORD, LEAVE),
        };
        self.send(cluster, host, what, &record.to_bytes(), Asked { to: None })
    }

    /// A host sends a datagram of random length and bytes, some with a header of a class that a manager serves.
    pub(super) fn garbage(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), WorldError> {
        let mut mad = vec![0; rng.random_range(0..=GARBAGE_MAX)];
        rng.fill(&mut mad[..]);
        if rng.random_bool(0.8) {
            let start = [
                version::OPA,
                [
                    class::SUBN_ADM,
                    class::SM_LID_ROUTED,
                    class::PA,
                    class::PERF,
                ][rng.random_range(0..4)],
                version::OPA,
                [method::GET, method::SET, method::GET_TABLE, method::TRAP][rng.random_range(0..4)],
            ];
            mad.iter_mut()
                .zip(start)
                .for_each(|(byte, new)| *byte = new);
        }
        let Some(lids) = own_and_sm(cluster.emulator.network(), host) else {
            return Ok(());
        };
        cluster.send_from(host, to_sm(lids, mad))
    }

    fn gid(&self, (node, _): Port) -> Gid {
        Gid {
            prefix: PREFIX,
            interface: self.port_guids.get(&node).copied().unwrap_or_default(),
        }
    }

    /// A host without a LID, or that knows no SM, asks nobody.
    fn send(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        (method, attribute, mask): (u8, u16, u64),
        record: &[u8],
        asked: Asked,
    ) -> Result<(), WorldError> {
        let Some(lids) = own_and_sm(cluster.emulator.network(), host) else {
            return Ok(());
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
        let mad = request.mad();
        self.open.insert(self.transaction, asked);
        cluster.send_from(host, to_sm(lids, mad))
    }

    /// Takes what has come to hosts, and judges it by the registers of now: an answer leads to the host that was asked
    /// for.
    pub(super) fn take(&mut self, cluster: &mut Cluster) {
        for Delivered { at, packet, .. } in cluster.take_delivered() {
            let Ok(mad) = MadHeader::decode(&packet.mad) else {
                continue;
            };
            if mad.mgmt_class != class::SUBN_ADM || !method::is_response(mad.method) {
                continue;
            }
            let Some(asked) = self.open.remove(&mad.transaction_id) else {
                continue; // a second answer, of a datagram that came twice
            };
            let (Some((node, port)), status::OK) = (asked.to, mad.status) else {
                continue;
            };
            let path = packet.mad.get(DATA_AT..).map(PathRecord::decode);
            let Some(Ok(path)) = path else {
                self.tell(format!("at {} ns an answer of the SA is no path", at.0));
                continue;
            };
            self.answered += 1;
            let network = cluster.emulator.network();
            let registered = port_of(network, (node, port)).map(|at| network.port(at).info());
            // A host that has just started again has no LID yet.
            let registered = registered.filter(|info| info.lid != Lid(0));
            let right = registered.is_none_or(|info| {
                let lids = info.lid.0..info.lid.0 + info.lmc.lids();
                lids.contains(&u32::from(path.dlid))
            });
            if !right {
                let lid = registered.map(|info| info.lid.0);
                self.tell(format!(
                    "at {} ns the SA says that {node} has LID {:#x}; its register: {lid:#x?}",
                    at.0, path.dlid
                ));
            }
        }
    }

    fn tell(&mut self, what: String) {
        if self.wrong.len() < WRONG_MAX {
            let breach = Breach::new(Invariant::ConsistentSnapshot, what);
            self.wrong.push(breach);
        }
    }

    /// Wrong answers since the last call.
    pub(super) fn take_wrong(&mut self) -> Vec<Breach> {
        std::mem::take(&mut self.wrong)
    }
}

fn port_of(network: &Network, (node, port): (Guid, PortNum)) -> Option<PortIndex> {
    network.device_at(network.find(node)?).port(port)
}
