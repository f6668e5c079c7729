//! The other managers, and asking them who they are.

use weft_fabric::{Guid, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::sm::{AttributeId, SmInfo, SmInfoControl};
use weft_wire::smp::{DirectedRoute, Smp, SmpView};

use super::super::batch::{Reply, Verdict};
use super::super::devices::Stage;
use super::super::pump::directed_packet;
use super::super::transactions::Target;
use super::super::{Manager, Tag};
use super::{PEERS_MAX, Peer};

impl Manager {
    /// Whether a node's port says that a subnet manager runs there, this one apart.
    pub(in super::super) fn may_run_sm(&self, node: u32) -> bool {
        let device = &self.devices[node];
        let port = device.observed.port(device.end_port());
        node != 0 && port.is_some_and(|info| info.capability_mask.is_sm)
    }

    /// Asks the manager on a node who it is, and says who asks.
    pub(in super::super) fn ask_sm(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        if self.devices[node].work.cursor > 0 {
            return false;
        }
        self.devices[node].work.cursor = 1;
        let own = self.own_sm_info(true);
        self.batch
            .push(AttributeId::SM_INFO, 0, SmInfo::LEN, |to| own.encode(to))
    }

    /// The manager on a node has said who it is, or its agent that none runs there.
    pub(in super::super) fn sm_found(&mut self, node: u32, reply: &Reply<'_>) {
        let device = &self.devices[node];
        let info = match (reply.verdict, SmInfo::decode(reply.data)) {
            (Verdict::Done, Ok(info)) => info,
            _ => return,
        };
        let guid = device.identity.guid;
        let port = device
            .observed
            .node
            .as_ref()
            .map_or(Guid(0), |node| node.info.port_guid);
        if info.port_guid != port {
            let said = info.port_guid;
            self.fault(
                Some(guid),
                format!("the subnet manager on port {port} says that it is on port {said}"),
            );
            return;
        }
        let peer = Peer {
            node: guid,
            path: device.identity.path.clone(),
            info,
            sweep: self.sweep.number,
        };
        let standing = &mut self.standing;
        if standing.peers.len() >= PEERS_MAX && !standing.peers.contains_key(&port) {
            self.sweep
                .unfinished(format!("more than {PEERS_MAX} other subnet managers"));
            return;
        }
        standing.saw_another = true;
        standing.peers.insert(port, peer);
        if info.sm_key != self.settings.election.sm_key {
            let what =
                "runs a subnet manager with another SM_Key; it takes no part in the election";
            self.fault(Some(guid), what);
        }
    }

    /// The manager on a node did not answer: it counts as absent.
    pub(in super::super) fn sm_not_found(&mut self, node: u32) {
        self.standing.silent_in = self.sweep.number;
        self.devices[node].work.enter(Stage::Idle);
    }

    /// Forgets the managers that this sweep did not find.
    pub(super) fn forget_absent_peers(&mut self) {
        let number = self.sweep.number;
        let standing = &mut self.standing;
        standing.peers.retain(|_, peer| peer.sweep == number);
        let peers = &standing.peers;
        standing.heard.retain(|guid, _| peers.contains_key(guid));
    }

    /// Sends Get(SMInfo), or a Set with what it asks for, along a directed route.
    pub(super) fn send_sm_info(
        &mut self,
        now: Tick,
        path: &[PortNum],
        control: Option<SmInfoControl>,
        tag: Tag,
    ) {
        let Ok(route) = DirectedRoute::new(path) else {
            return; // paths are bounded when they are made
        };
        if !self.transactions.has_room() {
            return; // as if it were lost: who asks asks again
        }
        let smp = Smp {
            method: control.map_or(method::GET, |_| method::SET),
            attribute: AttributeId::SM_INFO,
            modifier: control.map_or(0, |control| control as u32),
            transaction_id: 0,
            m_key: self.settings.m_key,
        };
        let mut mad = Vec::new();
        smp.write_directed(&route, &self.own_sm_info(true).to_bytes(), &mut mad);
        let round_trip = self.transactions.overall();
        let target = Target {
            node: 0,
            round_trip,
            silent: false,
        };
        self.transactions.begin(now, target, tag, &mut mad);
        self.totals.count(AttributeId::SM_INFO, control.is_some());
        self.send(directed_packet(mad));
    }

    /// What a manager answered; none when its agent says that no manager runs there.
    pub(super) fn answer_of(view: &SmpView<'_>) -> Option<SmInfo> {
        let done = view.status() == 0;
        SmInfo::decode(view.payload).ok().filter(|_| done)
    }
}
