//! Finding out who is there, by directed routes only: the search goes on from each port as soon as
//! its answer is there.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Guid, PortMask, PortNum, Tick};
use weft_wire::Layout;
use weft_wire::enums::{NodeType, PhysState, PortState};
use weft_wire::sm::{
    AttributeId, BlockModifier, NodeDescription, NodeInfo, PortInfo, PortModifier, PortStateInfo,
    Repeated, SwitchInfo,
};

use super::Manager;
use super::batch::STATES_PER_REQUEST;
use super::devices::{IdentityAnswers, Lft, Stage};
use super::learn::complete_identity;

/// Longest directed route: the last byte of the path stays free for the node's own ports.
pub(super) const HOPS_MAX: usize = 62;
/// Most nodes; what lies beyond is left out and reported.
const NODES_MAX: usize = 131_072;
/// Ports whose PortInfo one datagram carries.
const PORTS_PER_REQUEST: u8 = 7;

/// Whether a port has a link that datagrams can cross.
pub(super) fn is_up(info: &PortInfo) -> bool {
    info.port_state >= PortState::INIT && info.phys_state == PhysState::LINK_UP
}

impl Manager {
    /// Starts with the manager's own port.
    pub(super) fn begin_discovery(&mut self) {
        let own = self.devices.own_or_new();
        own.identity.path = Box::default();
        if own.health.failed {
            // It may have told a wrong GUID, or another device may be there now.
            self.devices.forget_own_name();
        }
        self.reset_discovery();
        for state in self.devices.iter_mut() {
            state.work.kept = false;
        }
        self.identify(0);
    }

    /// Forgets what the last sweep noted for itself.
    pub(super) fn reset_discovery(&mut self) {
        self.election.begin_sweep(self.devices.own_master_lid());
        for state in self.devices.iter_mut() {
            state.health.failed = false;
            state.observed.bounced_ports = PortMask::EMPTY;
            state.work.stage = Stage::Idle;
        }
    }

    /// Asks a node who it is; what hangs on it follows.
    pub(super) fn identify(&mut self, node: u32) {
        let number = self.sweep.number;
        let state = &mut self.devices[node];
        (state.health.seen, state.work.kept) = (number, false);
        self.sweep.report.asked += 1;
        *state.work.reading.identity = IdentityAnswers::default();
        state.work.enter(Stage::Identify);
        self.requests
            .schedule
            .make_ready(node, &mut self.devices[node].work);
    }

    /// Goes on to the node at the other end of a port's cable, unless it is known already.
    pub(super) fn expand(&mut self, from: u32, port: PortNum) {
        let state = &self.devices[from];
        let Some(info) = state.observed.port(port).filter(|info| is_up(info)) else {
            return;
        };
        let (guid, said_switch) = (info.neighbor_node_guid, info.neighbor_node_type == 1);
        if guid == state.identity.guid {
            return; // a cable from a node to itself carries no routes
        }
        if guid == Guid(0) {
            let own = state.identity.guid;
            self.out.fault(
                Some(own),
                format!("port {port} has a link but does not say to whom"),
            );
            return;
        }
        let known = self.devices.find(guid);
        if known.is_some_and(|known| self.devices[known].health.seen == self.sweep.number) {
            return;
        }
        if state.identity.path.len() >= HOPS_MAX
            || (known.is_none() && self.devices.len() >= NODES_MAX)
        {
            self.sweep.unfinished(format!(
                "node {guid} is left out: it is more than {HOPS_MAX} hops away, or beyond {NODES_MAX} nodes"
            ));
            return;
        }
        let mut path = Vec::with_capacity(state.identity.path.len() + 1);
        path.extend_from_slice(&state.identity.path);
        path.push(port);
        let node = known.unwrap_or_else(|| self.devices.add(guid, said_switch));
        let state = &mut self.devices[node];
        state.identity.path = path.into();
        state.identity.said_switch = said_switch;
        self.identify(node);
    }

    /// The next request of a node that is being discovered.
    pub(super) fn next_discovery(&mut self, node: u32) -> bool {
        match self.devices[node].work.stage {
            Stage::Identify => self.ask_identity(node),
            Stage::Rearm => self.ask_rearm(node),
            Stage::States => self.ask_states(node),
            Stage::Ports => self.ask_ports(node),
            Stage::ReadMulticast => self.ask_multicast(node),
            _ => self.ask_table(node),
        }
    }

    fn ask_identity(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let state = &mut self.devices[node];
        let unknown = state.identity.guid == Guid(0);
        let own_port = PortNum(u8::from(!state.identity.said_switch));
        let port = PortModifier::one(own_port).starting_configuration().bits();
        let items = [
            (AttributeId::NODE_INFO, 0, NodeInfo::LEN),
            (AttributeId::NODE_DESCRIPTION, 0, NodeDescription::LEN),
            (AttributeId::PORT_INFO, port, PortInfo::LEN),
            (AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN),
        ];
        let count = match (unknown, state.identity.said_switch) {
            (true, _) => 1,
            (false, true) => 4,
            (false, false) => 3,
        };
        for (attribute, modifier, len) in items.iter().take(count).skip(state.work.cursor as usize)
        {
            if !self.requests.batch.get(*attribute, *modifier, *len) {
                break;
            }
            state.work.cursor += 1;
        }
        !self.requests.batch.is_empty()
    }

    /// Writes the switch's note of a state change back, so that the next change causes a trap. This
    /// comes before the states are read: what changes after it is told.
    fn ask_rearm(&mut self, node: u32) -> bool {
        self.start_batch(node, true);
        let state = &mut self.devices[node];
        let info = state.observed.switch();
        let Some(info) = info.filter(|_| state.work.cursor == 0) else {
            return false;
        };
        state.work.cursor = 1;
        let info = SwitchInfo {
            port_state_change: true,
            ..info
        };
        self.requests
            .batch
            .push(AttributeId::SWITCH_INFO, 0, SwitchInfo::LEN, |to| {
                info.encode(to)
            })
    }

    fn ask_states(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let state = &mut self.devices[node];
        let first = state.work.cursor as u8 + 1;
        let ports = state.observed.num_ports();
        if u32::from(ports) <= state.work.cursor {
            return false;
        }
        let count = (ports - state.work.cursor as u8).min(STATES_PER_REQUEST);
        state.work.cursor += u32::from(count);
        let mut modifier = PortModifier::range(PortNum(first), count);
        if !self.election.has_won_in(self.sweep.number) {
            modifier = modifier.starting_configuration();
        }
        let len = usize::from(count) * PortStateInfo::STRIDE;
        self.requests
            .batch
            .get(AttributeId::PORT_STATE_INFO, modifier.bits(), len)
    }

    /// Neighbouring ports in one read, ports apart from each other as an Aggregate.
    fn ask_ports(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let state = &mut self.devices[node];
        let mut budget = PORTS_PER_REQUEST;
        loop {
            let wanted = state.work.reading.ports;
            let from = state.work.cursor;
            let Some(first) = wanted.iter().find(|port| u32::from(port.0) >= from) else {
                break;
            };
            let run = (first.0..=u8::MAX).take_while(|port| wanted.contains(PortNum(*port)));
            let count = run.take(usize::from(budget)).count() as u8;
            let modifier = PortModifier::range(first, count).starting_configuration();
            let len = PortInfo::STRIDE * usize::from(count - 1) + PortInfo::LEN;
            // Runs longer than a segment can hold fill a request of their own.
            if !self
                .requests
                .batch
                .get(AttributeId::PORT_INFO, modifier.bits(), len)
            {
                break;
            }
            state.work.cursor = u32::from(first.0) + u32::from(count);
            budget -= count;
            if budget == 0 {
                break;
            }
        }
        !self.requests.batch.is_empty()
    }

    fn ask_table(&mut self, node: u32) -> bool {
        self.start_batch(node, false);
        let state = &mut self.devices[node];
        let left = state.work.reading.blocks.saturating_sub(state.work.cursor);
        let count = left.min(self.settings.requests.blocks() as u32) as u8;
        if count == 0 {
            return false;
        }
        let modifier = BlockModifier {
            count,
            all_blocks: false,
            block: state.work.cursor,
        };
        state.work.cursor += u32::from(count);
        let len = usize::from(count) * LFT_BLOCK;
        self.requests
            .batch
            .get(AttributeId::LINEAR_FDB, modifier.bits(), len)
    }

    /// What follows a stage of discovery that is done; says whether the node goes on at once.
    pub(super) fn after_discovery(&mut self, now: Tick, node: u32) -> bool {
        let next = match self.devices[node].work.stage {
            Stage::Identify if self.devices[node].identity.guid == Guid(0) => {
                return self.own_node_known(now, node);
            }
            Stage::Identify => {
                if let Err(what) = complete_identity(&mut self.devices[node]) {
                    let guid = self.devices[node].identity.guid;
                    self.out.fault(Some(guid), what);
                    self.give_up(now, node);
                    return false;
                }
                self.after_identity(node)
            }
            Stage::Rearm => Stage::States,
            Stage::States => Stage::Ports,
            Stage::Ports => self.after_ports(node),
            Stage::ReadTable => {
                self.devices[node].take_reading();
                self.before_multicast(node)
            }
            _ => Stage::Idle,
        };
        self.devices[node].work.enter(next);
        next != Stage::Idle
    }

    /// The manager's own node has told its NodeInfo.
    fn own_node_known(&mut self, now: Tick, node: u32) -> bool {
        let state = &mut self.devices[node];
        let Some(info) = state
            .work
            .reading
            .identity
            .info
            .filter(|info| info.node_guid != Guid(0))
        else {
            self.out
                .fault(None, "the manager's own port does not tell its node's GUID");
            self.give_up(now, node);
            return false;
        };
        state.identity.said_switch = info.node_type == NodeType::SWITCH;
        self.devices.name_own(info.node_guid);
        true
    }

    fn after_identity(&mut self, node: u32) -> Stage {
        let number = self.sweep.number;
        let state = &mut self.devices[node];
        state.health.answered = number;
        match state.observed.switch() {
            Some(switch) if switch.port_state_change && self.election.is_master() => Stage::Rearm,
            Some(_) => Stage::States,
            None => {
                let port = state.identity.entered;
                if node == 0 {
                    self.expand(node, port);
                }
                match node != 0 && self.devices[node].names_sm() {
                    true => Stage::AskSm,
                    false => Stage::Idle,
                }
            }
        }
    }

    /// A switch that uses a table of which nothing is certain is read: the way from its table to the
    /// new one must be safe too. That it has no LID says nothing of its table: it may have lost both in the
    /// middle of a sweep and got the table again.
    fn after_ports(&mut self, node: u32) -> Stage {
        let state = &mut self.devices[node];
        let switch = state.observed.switch();
        let doubtful = std::mem::take(&mut state.health.doubtful);
        let Some(switch) = switch.filter(|switch| switch.linear_fdb_top > 0) else {
            if doubtful {
                state.observed.lft = Lft::Unknown;
            }
            state.observed.mft.reset();
            return Stage::Idle;
        };
        if !doubtful && !matches!(state.observed.lft, Lft::Unknown) {
            return self.before_multicast(node);
        }
        state.work.reading.lft = Lft::Unknown;
        let top = switch
            .linear_fdb_top
            .min(switch.linear_fdb_cap.saturating_sub(1));
        state.work.reading.blocks = top.min(self.settings.lids.highest.0) / LFT_BLOCK as u32 + 1;
        Stage::ReadTable
    }

    /// What follows the linear table: the multicast table, where it is in use and not known.
    fn before_multicast(&self, node: u32) -> Stage {
        match self.needs().must_read_multicast(node) {
            true => Stage::ReadMulticast,
            false => Stage::Idle,
        }
    }

    /// A node does not answer, or not sensibly: what is known of it stays for a while, as long as
    /// others see its links.
    fn lost_in_discovery(&mut self, now: Tick, node: u32) {
        let sweeps = self.settings.sweeps;
        let number = self.sweep.number;
        let state = &mut self.devices[node];
        let (guid, missed) = (state.identity.guid, number - state.health.answered);
        if node != 0 {
            self.sweep.lost_at = Some(now);
        }
        let keep = node != 0
            && state.observed.node.is_some()
            && missed <= u64::from(sweeps.silent_sweeps_max)
            && now.since(state.health.answered_at) <= sweeps.silent_max;
        self.sweep
            .unfinished(format!("node {guid} does not answer"));
        if !keep {
            state.health.seen = 0;
            return;
        }
        let ports: Vec<PortNum> = match state.is_switch() {
            true => (1..=state.observed.num_ports()).map(PortNum).collect(),
            false => Vec::new(),
        };
        for port in ports {
            self.expand(node, port);
        }
    }

    /// A node does not go on in this sweep.
    pub(super) fn give_up(&mut self, now: Tick, node: u32) {
        let device = &mut self.devices[node];
        if device.health.failed {
            return;
        }
        device.health.failed = true;
        let during = std::mem::replace(&mut device.work.stage, Stage::Idle);
        self.gave_up(now, node, during);
    }

    /// A node has given up its work of this sweep.
    fn gave_up(&mut self, now: Tick, node: u32, during: Stage) {
        match during {
            stage if stage.is_discovery() => {
                if stage == Stage::ReadTable {
                    self.devices[node].stop_reading();
                }
                self.lost_in_discovery(now, node);
            }
            _ => {
                // What was written and not confirmed may hold or not.
                let device = &mut self.devices[node];
                device.health.doubtful = true;
                let guid = device.identity.guid;
                self.sweep
                    .unfinished(format!("node {guid} did not take all of its settings"));
            }
        }
    }
}
