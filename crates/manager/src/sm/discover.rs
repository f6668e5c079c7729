//! Discovery by directed routes only: the search continues from each port as soon as
//! its answer arrives.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Guid, PortMask, PortNum, Tick};
use weft_wire::enums::NodeType;

use super::Manager;
use super::devices::{IdentityAnswers, Lft, Stage, is_up};
use super::election;
use super::keys::KeyLearned;
use super::learn::complete_identity;
use super::reads::Reader;
use super::tables::{Kind, is_identity};

/// Longest directed route: the last byte of the path stays free for the node's own ports.
pub(super) const HOPS_MAX: usize = 62;
/// Most nodes; what lies beyond is left out and reported.
const NODES_MAX: usize = 131_072;

impl Manager {
    /// Starts with the manager's own port.
    pub(super) fn begin_discovery(&mut self) {
        let own = self.devices.own_or_new();
        own.identity.path = Box::default();
        if own.health.failed {
            // Its GUID may have been wrong, or another device may be there now.
            self.devices.forget_own_name();
        }
        self.reset_discovery();
        for device in self.devices.iter_mut() {
            device.work.kept = false;
        }
        self.identify(0);
    }

    /// Discards data of the last sweep.
    pub(super) fn reset_discovery(&mut self) {
        self.election.begin_sweep(self.devices.own_master_lid());
        self.devices.refusals.begin(self.sweep.near.is_none());
        for device in self.devices.iter_mut() {
            device.health.failed = false;
            device.observed.bounced_ports = PortMask::EMPTY;
            device.work.stage = Stage::Idle;
        }
    }

    /// Reads a node's identity; the nodes behind it follow.
    pub(super) fn identify(&mut self, node: u32) {
        let number = self.sweep.number;
        let device = &mut self.devices[node];
        (device.health.seen, device.work.kept) = (number, false);
        device.work.table_waits = false;
        self.sweep.report.asked += 1;
        *device.work.reading.identity = IdentityAnswers::default();
        self.requests
            .schedule
            .begin(node, &mut device.work, Stage::Identify);
    }

    /// Continues with the node at the other end of a port's cable, unless it is known already.
    pub(super) fn expand(&mut self, from: u32, port: PortNum) {
        let device = &self.devices[from];
        let Some(info) = device.observed.port(port).filter(|info| is_up(info)) else {
            return;
        };
        let (guid, said_switch) = (info.neighbor_node_guid, info.neighbor_node_type == 1);
        let (found_by, said_port) = ((device.identity.guid, port), info.neighbor_port_num);
        if guid == device.identity.guid {
            return; // a cable from a node to itself carries no routes
        }
        if guid == Guid(0) {
            let own = device.identity.guid;
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
        if device.identity.path.len() >= HOPS_MAX
            || (known.is_none() && self.devices.len() >= NODES_MAX)
        {
            self.sweep.unfinished(format!(
                "node {guid} is left out: it is more than {HOPS_MAX} hops away, or beyond {NODES_MAX} nodes"
            ));
            return;
        }
        let mut path = Vec::with_capacity(device.identity.path.len() + 1);
        path.extend_from_slice(&device.identity.path);
        path.push(port);
        let node = known.unwrap_or_else(|| self.devices.add(guid, said_switch));
        let device = &mut self.devices[node];
        device.identity.path = path.into();
        device.identity.said_switch = said_switch;
        device.identity.found_by = Some(found_by);
        device.identity.said_port = said_port;
        self.identify(node);
    }

    /// Puts the next request of a node that is being discovered into the batch; says whether there is
    /// one.
    pub(super) fn next_discovery(&mut self, node: u32) -> bool {
        let stage = self.devices[node].work.stage;
        self.start_batch(node, stage == Stage::Rearm);
        let multicast = match stage {
            Stage::ReadMulticast => self.needs().multicast_extent(node),
            _ => (0, 0),
        };
        let device = &self.devices[node];
        let mut reader = Reader {
            device,
            cursor: device.work.cursor,
            batch: &mut self.requests.batch,
            blocks: self.settings.requests.blocks(),
            marks: !self.election.has_won_in(self.sweep.number),
            multicast,
        };
        let any = reader.next(stage);
        self.devices[node].work.cursor = reader.cursor;
        any
    }

    /// Next stage after a finished stage of discovery; returns whether the node continues at once.
    pub(super) fn after_discovery(&mut self, now: Tick, node: u32) -> bool {
        let next = match self.devices[node].work.stage {
            Stage::Identify if self.devices[node].identity.guid == Guid(0) => {
                return self.own_node_known(now, node);
            }
            Stage::Identify => {
                let asked = self.m_key_of(node);
                let device = &mut self.devices[node];
                if let Err(why) = complete_identity(device, &self.settings.admission) {
                    self.reject(now, node, why);
                    return false;
                }
                match self.learn_key(node, asked) {
                    KeyLearned::Known => {}
                    KeyLearned::OfLaterTerm => {
                        let why = "a port has the key of a later term";
                        self.tell_election(now, election::Input::Replaced(why));
                    }
                    KeyLearned::Hidden => {
                        self.devices[node].work.enter(Stage::Identify);
                        return true;
                    }
                }
                self.after_identity(node)
            }
            Stage::Rearm => Stage::States,
            Stage::States => Stage::Ports,
            Stage::Ports => self.after_ports(node),
            Stage::ReadTable => {
                self.devices[node].take_reading();
                Stage::ReadChannels
            }
            Stage::ReadChannels if self.must_read_channels(node) => Stage::ReadAllChannels,
            Stage::ReadChannels | Stage::ReadAllChannels => self.before_multicast(node),
            _ => Stage::Idle,
        };
        self.devices[node].work.enter(next);
        next != Stage::Idle
    }

    /// The manager's own node has reported its NodeInfo.
    fn own_node_known(&mut self, now: Tick, node: u32) -> bool {
        let device = &mut self.devices[node];
        let Some(info) = device
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
        device.identity.said_switch = info.node_type == NodeType::SWITCH;
        self.devices.name_own(info.node_guid);
        true
    }

    fn after_identity(&mut self, node: u32) -> Stage {
        let number = self.sweep.number;
        let device = &mut self.devices[node];
        device.health.answered = number;
        match device.observed.switch() {
            Some(switch) if switch.port_state_change && self.election.is_master() => Stage::Rearm,
            Some(_) => Stage::States,
            None => {
                let port = device.identity.entered;
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

    /// Reads a switch that uses a table without a certain entry: the transition from its table to the
    /// new one must be safe too. A missing LID means nothing for its table: it may have lost both in the
    /// middle of a sweep and received the table again.
    fn after_ports(&mut self, node: u32) -> Stage {
        let device = &mut self.devices[node];
        device.doubt_after_loss_of_links();
        let switch = device.observed.switch();
        let doubtful = std::mem::take(&mut device.health.doubtful);
        device.health.overwritten = false;
        let Some(switch) = switch.filter(|switch| switch.linear_fdb_top > 0) else {
            if doubtful {
                device.observed.forget_linear_table();
            }
            device.health.foreign = false;
            device.observed.mft.reset();
            return Stage::Idle;
        };
        if !doubtful && !matches!(device.observed.lft, Lft::Unknown) {
            return self.before_multicast(node);
        }
        device.work.reading.lft = Lft::Unknown;
        let top = switch
            .linear_fdb_top
            .min(switch.linear_fdb_cap.saturating_sub(1));
        device.work.reading.blocks = top.min(self.settings.lids.highest.0) / LFT_BLOCK as u32 + 1;
        if self.election.is_master() {
            return Stage::ReadTable;
        }
        (device.work.table_waits, device.health.doubtful) = (true, true);
        Stage::Idle
    }

    /// Reads the tables that waited for the election: before it a master of which this manager has not heard
    /// may write to them. A new master would count on what it read for as long as it runs. Returns whether
    /// there are any.
    pub(super) fn read_waiting_tables(&mut self) -> bool {
        let (number, is_master) = (self.sweep.number, self.election.is_master());
        let mut any = false;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            let waits = std::mem::take(&mut device.work.table_waits);
            if waits && device.work.stage == Stage::Idle && device.health.works_in(number) {
                device.health.doubtful &= !is_master;
                let schedule = &mut self.requests.schedule;
                schedule.begin(node, &mut device.work, Stage::ReadTable);
                any = true;
            }
        }
        any
    }

    /// Whether the maps of service channels from all ports of a switch count: routes need some, or they change
    /// channels, as an earlier manager's routes needed it.
    fn must_read_channels(&self, node: u32) -> bool {
        let first = self.devices[node].observed.table(PortNum(1), Kind::ScToSc);
        self.settings.routing.has_rings() || !is_identity(self.devices.tables.content(first))
    }

    /// Stage after these tables: the multicast table, if it is in use and unknown.
    fn before_multicast(&self, node: u32) -> Stage {
        match self.needs().must_read_multicast(node) {
            true => Stage::ReadMulticast,
            false => Stage::Idle,
        }
    }

    /// A node does not answer, or not sensibly: its state is kept for a while, as long as
    /// others see its links.
    fn lost_in_discovery(&mut self, now: Tick, node: u32) {
        let sweeps = self.settings.sweeps;
        let number = self.sweep.number;
        let device = &mut self.devices[node];
        let missed = number - device.health.answered;
        if node != 0 {
            self.sweep.losses.last = Some(now);
        }
        let keep = node != 0
            && device.observed.node.is_some()
            && missed <= u64::from(sweeps.silent_sweeps_max)
            && now.since(device.health.answered_at) <= sweeps.silent_max;
        let label = device.label();
        self.sweep
            .unfinished_device(format!("{label} does not answer"));
        if !keep {
            device.health.seen = 0;
            return;
        }
        let ports: Vec<PortNum> = match device.is_switch() {
            true => (1..=device.observed.num_ports()).map(PortNum).collect(),
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
                    self.devices[node].health.doubtful = true;
                }
                self.lost_in_discovery(now, node);
            }
            _ => {
                // What was written and not confirmed may hold or not.
                let device = &mut self.devices[node];
                device.health.doubtful = true;
                if during == Stage::WriteGroups {
                    device.observed.forget_groups();
                }
                let label = device.label();
                self.sweep
                    .unfinished_device(format!("{label} did not take all of its settings"));
            }
        }
    }
}
