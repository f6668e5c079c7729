//! Programs on hosts that ask the SA, and judge its answers by the registers.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use weft_dataplane::{Network, PortIndex};
use weft_fabric::{Guid, Lid, PortNum, Topology};
use weft_wire::Layout;
use weft_wire::header::{class, method, status, version};
use weft_wire::id::Gid;
use weft_wire::rmpp::DATA_AT;
use weft_wire::sa::{PathRecord, attribute as attributes};

use crate::campaign::programs::{CREATE, GROUPS, LEAVE, Port, Programs};
use crate::cluster::{Cluster, Delivered};
use crate::oracle::{Breach, Invariant};
use crate::sa_request::{own_and_sm, to_sm};
use crate::world::WorldError;

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
#[derive(Debug)]
pub(super) struct Clients {
    programs: Programs<Asked>,
    /// Answers with a path.
    pub(super) answered: u64,
    wrong: Vec<Breach>,
}

impl Clients {
    pub(super) fn new(topology: &Topology) -> Self {
        Self {
            programs: Programs::new(topology, 0),
            answered: 0,
            wrong: Vec::new(),
        }
    }

    /// One host asks for the path to another.
    pub(super) fn ask(
        &mut self,
        cluster: &mut Cluster,
        from: Port,
        to: Port,
    ) -> Result<(), WorldError> {
        let asked = Asked { to: Some(to) };
        self.programs.ask_path(cluster, (from, to), asked)?;
        Ok(())
    }

    /// A host joins a group, or leaves it.
    pub(super) fn join(
        &mut self,
        cluster: &mut Cluster,
        host: Port,
        joins: bool,
    ) -> Result<(), WorldError> {
        let mgid = Gid {
            prefix: GROUPS,
            interface: Guid(u64::from(host.0.0 as u8 % 4)),
        };
        let record = self.programs.membership(host, mgid).to_bytes();
        let what = match joins {
            true => (method::SET, attributes::MC_MEMBER_RECORD, CREATE),
            false => (method::DELETE, attributes::MC_MEMBER_RECORD, LEAVE),
        };
        let asked = Asked { to: None };
        self.programs.send(cluster, host, what, &record, asked)?;
        Ok(())
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

    /// Takes what has come to hosts, and judges it by the registers of now: an answer leads to the host that was asked
    /// for.
    pub(super) fn take(&mut self, cluster: &mut Cluster) {
        for delivered in cluster.take_delivered() {
            let Some((mad, asked)) = self.programs.answered(&delivered) else {
                continue;
            };
            let Delivered { at, packet, .. } = delivered;
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
