//! Inputs and outputs of the manager: closed enums, all of them data.

mod links;
mod ports;
mod sweeps;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::{Guid, Lid, PortNum, Snapshot, text};
use weft_state::State;
use weft_wire::enums::{PhysState, SmState};
use weft_wire::packet::Packet;

use crate::link_errors::{ErrorRule, LinkExcess};
use crate::multicast::MulticastLid;
use crate::refused::RefusedDevice;
use crate::sm::isolation::OverReason;
use crate::sm::pause::Pause;
use crate::sm::plan::{PlanInput, Planned};
use crate::sm::replacements::{Offer, Replaced};

pub use ports::{
    AUTHOR_MAX, DisabledPort, DisabledState, LinkChange, PortAction, PortNote, PortOrder, PortSide,
    REASON_MAX,
};

pub use sweeps::{Certified, ReportedChange, WrittenSwitch, WrittenTables};

pub use links::{
    BarredPort, ErrorEntry, ExpectedNode, LinkEnd, LinkErrors, Spared, Standing, TopologyFault,
    UnusedLink, UnusedReason,
};

/// Inputs of the manager.
#[derive(Debug, Clone)]
pub enum Input {
    /// The time has come that [`crate::Manager::deadline`] named.
    Tick,
    /// A datagram arrived at the manager's HFI port.
    Received(Packet),
    /// A command; the answer is [`Output::Reply`] with the same number.
    Command {
        /// Chosen by the caller.
        id: u64,
        /// The command.
        command: Command,
    },
    /// Members of all multicast groups, in order of their LIDs; replaces the previous
    /// input.
    Multicast(Vec<MulticastLid>),
    /// The members are, and subnet administration holds, what the master on this port had registered; none where
    /// that is not so. A manager that takes over from this master asks no host to register again.
    CopiedFrom(Option<Guid>),
    /// A port ends multicast groups too often: it is changed, unless the manager reaches the fabric over it.
    MulticastStorm(MulticastStorm),
    /// The links that break a rule for links with errors, and no other, by the last reading of the counters; the
    /// worst first, and each as often as it has broken limits.
    LinkErrors(Vec<LinkExcess>),
    /// The plan requested by [`Output::Plan`]; a stale one is dropped.
    Planned(Box<Planned>),
    /// The fabric cannot be reached any more: all commands end, as failed.
    Detached,
}

/// Commands to the manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Sweep now, or once more if a sweep is running. Answered when that sweep has ended.
    Sweep,
    /// Change a port. Answered when the device has confirmed it.
    Port(PortOrder),
}

/// A port that ends multicast groups too often (`<McDosThreshold>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MulticastStorm {
    /// GUID of the port, which is an HFI's.
    pub port: Guid,
    /// Groups that it has ended lately.
    pub groups: u32,
    /// What is to be done to the switch's port before it.
    pub action: PortAction,
}

/// Outputs of the manager.
#[derive(Debug, Clone)]
pub enum Output {
    /// Send a datagram from the manager's HFI port.
    Send(Packet),
    /// Compute this plan and pass it in as [`Input::Planned`]. That takes long in a large fabric:
    /// other inputs may come first. It replaces an earlier request.
    Plan(Arc<PlanInput>),
    /// A new state of the fabric for all readers.
    Publish(Arc<Snapshot>),
    /// Write this to stable storage, atomically, in place of the last.
    Persist(Vec<u8>),
    /// Something happened that people want to know.
    Event(Event),
    /// A trap of a device, or a notice of the manager itself, for subscribers at
    /// subnet administration: the common part and the class data as on the wire.
    Notice(Vec<u8>),
    /// This manager has become master, and earlier registrations at subnet administration are void:
    /// another manager was master meanwhile, or nothing was stored. Multicast tables stay
    /// as they are found until members are passed in.
    RegistrationsLost {
        /// Number of active ports that are asked to register again in this sweep.
        asked: usize,
    },
    /// The answer to a command.
    Reply {
        /// The command's number.
        id: u64,
        /// Result of the command.
        result: Result<Reply, CommandError>,
    },
}

/// The answer to a command that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// The requested sweep.
    Swept(SweepReport),
    /// The device has confirmed the port's state.
    PortChanged,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum CommandError {
    /// No such node in the fabric.
    #[error("no node {node} in the fabric; `weft report nodes` lists them")]
    NoNode {
        /// The GUID that was given.
        node: Guid,
    },
    /// No such port on the node.
    #[error("node {node} has no port {port} that can be changed, allowed: {first} to {last}")]
    NoPort {
        /// The node.
        node: Guid,
        /// The port that was given.
        port: PortNum,
        /// Lowest port allowed.
        first: PortNum,
        /// Highest port allowed.
        last: PortNum,
    },
    /// The change would cut the manager off.
    #[error(
        "port {port} of node {node} is on the manager's own link; changing it would cut the manager off"
    )]
    OwnLink {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// A part of the fabric would be cut off.
    #[error(
        "without the link at port {port} of node {node}{}, {} cannot be reached any more, or only over links \
         that are not to be used: {names}; --force does it all the same", with_others(*.is_list), text::count(.count, "node")
    )]
    CutsOff {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Other ports are to go with it.
        is_list: bool,
        /// Number of nodes that are cut off.
        count: usize,
        /// The first of them.
        names: String,
    },
    /// The reason's words cannot be kept.
    #[error("the reason is longer than {REASON_MAX} bytes, or has control characters")]
    Reason,
    /// The author's name cannot be kept.
    #[error("the author is longer than {AUTHOR_MAX} bytes, or has control characters")]
    Author,
    /// The port cannot have this width or speed.
    #[error("port {port} of node {node} cannot have {what}, it can have {supported}")]
    NotSupported {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// What was asked for.
        what: String,
        /// What it can have.
        supported: String,
    },
    /// The device answered without taking over the setting.
    #[error("node {node} answered, but {what} of its port {port} is not as it was asked for")]
    NotSet {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// The setting.
        what: String,
    },
    /// The device did not answer.
    #[error("node {node} did not answer after {attempts} attempts")]
    NoAnswer {
        /// The node.
        node: Guid,
        /// Number of attempts.
        attempts: u32,
    },
    /// The device refused.
    #[error("node {node} refused with status {status:#06x}")]
    Refused {
        /// The node.
        node: Guid,
        /// Its status.
        status: u16,
    },
    /// Too many commands wait already.
    #[error("{waiting} commands are waiting already; try again when some are done")]
    Busy {
        /// Number of waiting commands.
        waiting: usize,
    },
    /// Another manager runs the fabric.
    #[error("this manager does not run the fabric, it is {role}; {}", which_is_master(*master))]
    NotMaster {
        /// Role of this manager.
        role: SmState,
        /// Port GUID of the master, 0 where it is not known.
        master: Guid,
    },
    /// The device answered without doing it.
    #[error("node {node} answered, but its port {port} is in state {held}")]
    NotDone {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Its physical state.
        held: PhysState,
    },
    /// Too many ports are switched off already.
    #[error("{most} ports are switched off already, which is the most; enable some first")]
    ManyDisabled {
        /// The maximum number.
        most: usize,
    },
    /// The fabric was lost meanwhile.
    #[error("the fabric was lost {}", lost(*.begun))]
    Detached {
        /// Whether it was running; otherwise nothing was sent.
        begun: bool,
    },
    /// Sweeps are paused.
    #[error("sweeps are paused; `weft fm resume` ends the pause with a sweep")]
    Paused,
    /// The sweep could not finish.
    #[error("the sweep failed: {why}")]
    SweepFailed {
        /// The reason.
        why: String,
    },
}

fn with_others(is_list: bool) -> &'static str {
    match is_list {
        true => " and the others of the list",
        false => "",
    }
}

fn lost(begun: bool) -> &'static str {
    match begun {
        true => {
            "while this was under way: whether it was done is not known, look again when it is back"
        }
        false => "before this was begun: nothing was sent",
    }
}

/// Why a sweep began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, State)]
pub enum SweepReason {
    /// The first one.
    Start,
    /// The sweep interval has passed.
    Scheduled,
    /// A client requested it.
    Forced,
    /// A trap said that something changed.
    Trap,
    /// The last sweep could not finish all its work.
    Unfinished,
    /// The configuration changed.
    Reconfigured,
    /// News of other managers, or a new master.
    Election,
    /// The link of the manager's own port has come or gone.
    OwnPort,
    /// A link that was not used because it went down too often may be used again.
    Unquarantine,
    /// A link is taken out of use for its errors, or may be used again.
    LinkErrors,
}

/// Phases of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, State)]
pub enum SweepPhase {
    /// No sweep is running.
    Idle,
    /// Discovering nodes and links.
    Discover,
    /// Giving LIDs and computing routes.
    Plan,
    /// Writing differences.
    Program,
    /// Arming and activating ports.
    Activate,
}

/// Report of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct SweepReport {
    /// Counts up from 1.
    pub number: u64,
    /// Why it began.
    pub reason: Option<SweepReason>,
    /// Role of the manager at its end; only a master writes.
    pub role: SmState,
    /// Generation of the snapshot that it published.
    pub generation: u64,
    /// Nanoseconds from its start to its end.
    pub elapsed_ns: u64,
    /// Nanoseconds in each phase, discover to activate.
    pub phase_ns: [u64; 4],
    /// Nodes examined: all, or after a trap those near the reported change.
    pub asked: u32,
    /// Datagrams sent, retries included.
    pub sent: u64,
    /// Sets among them, counted by attribute (a Set aggregate of three counts three).
    pub sets: u64,
    /// Datagrams sent again.
    pub retries: u64,
    /// Requests that were never answered.
    pub timeouts: u64,
    /// Switches found.
    pub switches: u32,
    /// HFIs found.
    pub hfis: u32,
    /// Cables found.
    pub links: u32,
    /// Ports in state Active, port 0 of switches not counted.
    pub active_ports: u32,
    /// Routing engine, and its notes (fallbacks, unreachable pairs).
    pub routing: String,
    /// Work that failed and will be retried.
    pub unfinished: Vec<String>,
    /// Devices among them that have not answered, or have not taken all that they were to take.
    pub unfinished_devices: u32,
    /// Unfinished work is at links alone, such as one that has come up meanwhile: devices have confirmed everything else.
    pub only_links: bool,
    /// Links that are up and carry no data: routes are made without them.
    pub unused_links: u32,
    /// The first 256 of them.
    pub unused: Vec<UnusedLink>,
    /// The linear tables that it wrote.
    pub tables: Box<WrittenTables>,
}

/// The loops of the loop test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct LoopSummary {
    /// Number of loops.
    pub loops: u32,
    /// LIDs that they have.
    pub lids: u32,
    /// Links between switches.
    pub links: u32,
    /// Links between switches over which no packet circles.
    pub uncovered: u32,
    /// There are more loops, but no LIDs for them.
    pub is_cut_short: bool,
}

/// Something that people want to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A sweep began.
    SweepStarted {
        /// Its number.
        number: u64,
        /// Why.
        reason: SweepReason,
        /// The first 16 traps that have reported changes since the one before began, in order.
        traps: Vec<ReportedChange>,
    },
    /// A sweep entered a phase.
    Phase(SweepPhase),
    /// A sweep ended.
    SweepEnded(SweepReport),
    /// No sweep begins any more, until the pause is over or ended.
    SweepsPaused(Pause),
    /// The pause of sweeps is over.
    SweepsResumed {
        /// Why.
        why: String,
    },
    /// A node is there that was not.
    NodeAppeared {
        /// Its GUID.
        node: Guid,
        /// Its name.
        name: String,
    },
    /// A node is gone.
    NodeVanished {
        /// Its GUID.
        node: Guid,
        /// Its name.
        name: String,
    },
    /// A cable is there that was not.
    LinkAppeared {
        /// One end.
        a: (Guid, PortNum),
        /// The other.
        b: (Guid, PortNum),
    },
    /// A cable is gone.
    LinkVanished {
        /// One end.
        a: (Guid, PortNum),
        /// The other.
        b: (Guid, PortNum),
    },
    /// A link is up and carries no data; routes avoid it.
    LinkUnused(UnusedLink),
    /// A link carries data again.
    LinkUsedAgain {
        /// One end.
        a: LinkEnd,
        /// The other.
        b: LinkEnd,
    },
    /// A port is in quarantine: its link went down too often, see [`UnusedReason::Quarantined`], or an
    /// operator put it there.
    PortQuarantined {
        /// The port.
        port: LinkEnd,
        /// Losses of its link in the last `WindowSize`.
        losses: u32,
        /// The operator's words, none where it went down too often.
        by_hand: Option<String>,
    },
    /// The quarantine of a port is over.
    PortReleased(LinkEnd),
    /// An HFI is gone, and another one is in its place.
    ReplacementRecognised(Offer),
    /// An operator has put an HFI in the place of another.
    HfiReplaced(Replaced),
    /// An HFI counts for itself again.
    ReplacementRemoved {
        /// The old HFI.
        old: Guid,
        /// The one that was in its place.
        new: LinkEnd,
    },
    /// A link breaks a rule for links with errors.
    LinkErrors(LinkErrors),
    /// That is over: the link is used again, or it was in use all the time.
    LinkErrorsOver {
        /// The end that told.
        a: LinkEnd,
        /// The other.
        b: LinkEnd,
        /// The rule.
        rule: ErrorRule,
        /// Whether it was out of use.
        was_out: bool,
        /// Why.
        why: OverReason,
    },
    /// A link, or the manager's own node, is not as the topology file has it.
    TopologyFault(TopologyFault),
    /// More of them than LogMessageThreshold.
    TopologyFaultsUntold {
        /// How many more.
        count: u32,
    },
    /// A link is gone that was not as the topology file has it, or fabric and file agree again.
    TopologyFaultOver {
        /// The end nearer to the manager.
        port: LinkEnd,
    },
    /// A device is not let into the fabric.
    DeviceRefused(RefusedDevice),
    /// It is right again, or gone.
    RefusalOver {
        /// The port before it.
        port: LinkEnd,
    },
    /// A port reports errors of its link so often that it, or the switch's port before it, is disabled.
    TrapStorm {
        /// The port that is disabled.
        port: LinkEnd,
        /// Traps lately.
        traps: u32,
    },
    /// An HFI ends multicast groups so often that the switch's port before it is disabled or bounced.
    MulticastStorm {
        /// The switch's port.
        port: LinkEnd,
        /// Groups that it has ended lately.
        groups: u32,
        /// It is bounced, not disabled.
        bounced: bool,
    },
    /// Links are tested with packets that circle.
    LoopTestStarted {
        /// With few loops.
        fast: bool,
        /// Packets for each loop at a time.
        packets: u32,
        /// Most links of a loop.
        length_max: u8,
    },
    /// They are not tested any more.
    LoopTestStopped,
    /// The loops of the loop test are others than before.
    LoopsPlanned(LoopSummary),
    /// Packets circle in the loops.
    LoopPacketsInjected {
        /// Packets for each loop.
        packets: u32,
        /// Packets that were sent.
        sent: u64,
        /// Packets for each loop since the start of the test.
        injected: u64,
    },
    /// A node stopped answering.
    NodeSilent {
        /// Its GUID.
        node: Guid,
        /// The requested attribute.
        attribute: String,
    },
    /// It answers again.
    NodeAnswers {
        /// Its GUID.
        node: Guid,
    },
    /// A device broke the rules.
    DeviceFault {
        /// Its GUID, where it is known.
        node: Option<Guid>,
        /// The fault.
        what: String,
    },
    /// A device does not hold a table as it confirmed it and the certificate was made for it.
    PromiseBroken {
        /// Its GUID.
        node: Guid,
        /// The first entry that differs.
        what: String,
    },
    /// A trap arrived.
    Trap {
        /// Counts the traps that have arrived, from 1.
        number: u64,
        /// LID of the sender.
        lid: Lid,
        /// Description of the trap.
        what: String,
    },
    /// The manager is something else now than before: master, standby, …
    Role {
        /// The role.
        role: SmState,
        /// Port GUID of the manager that it stands by for.
        master: Option<Guid>,
        /// Why.
        why: String,
    },
    /// The state stored over a restart, LIDs and drains, could not be used.
    StateRefused {
        /// Why.
        why: String,
    },
}

fn which_is_master(port: Guid) -> String {
    match port {
        Guid(0) => "which one is the master is not known".to_owned(),
        port => format!("the master is the one on port {port}"),
    }
}
