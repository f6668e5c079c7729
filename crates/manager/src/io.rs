//! Inputs and outputs of the manager: closed enums, all of them data.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_fabric::admission::Defects;
use weft_fabric::intended::Faults;
use weft_fabric::{Guid, Lid, PortNum, Snapshot};
use weft_wire::enums::{PhysState, PortState, SmState};
use weft_wire::packet::Packet;

use crate::multicast::MulticastLid;
use crate::refused::RefusedDevice;
use crate::sm::pause::Pause;
use crate::sm::plan::{PlanInput, Planned};

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
    /// A port ends multicast groups too often: it is changed, unless the manager reaches the fabric over it.
    MulticastStorm(MulticastStorm),
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
    Port {
        /// The node.
        node: Guid,
        /// One of its external ports, or an HFI's port.
        port: PortNum,
        /// The action.
        action: PortAction,
    },
}

/// Actions on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortAction {
    /// Switch it off; it stays off until it is enabled.
    Disable,
    /// Let it come up again.
    Enable,
    /// Take its link down once: it trains again. Of a port that is down, nothing changes.
    Bounce,
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

fn lost(begun: bool) -> &'static str {
    match begun {
        true => {
            "while this was under way: whether it was done is not known, look again when it is back"
        }
        false => "before this was begun: nothing was sent",
    }
}

/// Why a sweep began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Phases of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Links that are up and carry no data: routes are made without them.
    pub unused_links: u32,
    /// The first 256 of them.
    pub unused: Vec<UnusedLink>,
}

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkEnd {
    /// GUID of the node.
    pub node: Guid,
    /// Name of the node.
    pub name: String,
    /// The port.
    pub port: PortNum,
}

impl fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {} of {} ({})", self.port, self.name, self.node)
    }
}

/// A link that is up and carries no data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedLink {
    /// One end.
    pub a: LinkEnd,
    /// The other.
    pub b: LinkEnd,
    /// Why it carries none.
    pub reason: UnusedReason,
}

/// A port whose link is not to be used for the time being.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BarredPort {
    /// The port.
    pub port: LinkEnd,
    /// Held back, or in quarantine.
    pub reason: UnusedReason,
    /// Losses of its link within `WindowSize`.
    pub losses: u32,
    /// How long this has been so.
    pub since: Duration,
    /// Time until it ends, if the link is not lost again; none where an operator ends it, or another cable.
    pub left: Option<Duration>,
    /// The operator's words where it was put into quarantine by hand; what is wrong where it is not as the topology
    /// file has it, or leads to a device that is not let into the fabric.
    pub comment: String,
}

/// Why a link carries no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Error)]
pub enum UnusedReason {
    /// WidthPolicy refuses it.
    #[error("it came up with {lanes} lanes, WidthPolicy asks for {least}")]
    Width {
        /// Lanes with which it came up.
        lanes: u32,
        /// Lanes required by the policy.
        least: u32,
    },
    /// SpeedPolicy refuses it.
    #[error("its lanes came up at {mbps} Mb/s, SpeedPolicy asks for {least}")]
    Speed {
        /// Rate of a lane, Mb/s.
        mbps: u32,
        /// Rate required by the policy, Mb/s.
        least: u32,
    },
    /// MaxDroppedLanes refuses it.
    #[error("it has lost {lost} lanes, MaxDroppedLanes allows {most}")]
    LostLanes {
        /// Lanes lost since it came up.
        lost: u32,
        /// Lanes that it may lose.
        most: u32,
    },
    /// It goes down again and again: used again after a while without a loss.
    #[error("it went down {losses} times lately: it is used again after a while without a loss")]
    HeldBack {
        /// Losses within WindowSize when it was held back.
        losses: u32,
    },
    /// It went down so often that its port is in quarantine.
    #[error("it went down {losses} times within WindowSize: its port is in quarantine")]
    Quarantined {
        /// Losses within WindowSize when the quarantine began.
        losses: u32,
    },
    /// Its port is in quarantine by an operator's order.
    #[error("its port was put into quarantine by hand")]
    QuarantinedByHand,
    /// It is not as the file of PreDefinedTopology has it.
    #[error("it is not as the topology file has it: {faults}")]
    Unintended {
        /// What differs at its far end.
        faults: Faults,
    },
    /// Only links lead to it that are not as the file of PreDefinedTopology has them.
    #[error("only links lead to it that are not as the topology file has them")]
    Behind,
    /// One of its nodes has no LID, as the topology file has none for it that is free.
    #[error("the topology file has no LID for one of its nodes that is free")]
    NoLid,
    /// The device behind it is not let into the fabric.
    #[error("it leads to a device that is not let into the fabric: {defects}")]
    Refused {
        /// What is wrong with the device.
        defects: Defects,
    },
    /// A port stays in Init or Armed although the manager has set it to Active.
    #[error("a port stays in state {state}")]
    Inactive {
        /// State of the end that is further from Active.
        state: PortState,
    },
}

impl UnusedReason {
    /// Whether a port is in quarantine, not only held back.
    pub fn is_quarantine(&self) -> bool {
        matches!(
            self,
            Self::Quarantined { .. }
                | Self::QuarantinedByHand
                | Self::Unintended { .. }
                | Self::Refused { .. }
        )
    }
}

/// A link or node that is not as the topology file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyFault {
    /// The end nearer to the manager; none for the manager's own node.
    pub trusted: Option<LinkEnd>,
    /// The other end, which is judged.
    pub found: LinkEnd,
    /// What differs.
    pub faults: Faults,
    /// That of it for which the link is in quarantine.
    pub enforced: Faults,
    /// What the file has at the other end; none for a link that it lacks.
    pub expected: Option<ExpectedNode>,
}

/// A node of the topology file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedNode {
    /// NodeDesc, or its GUID where the file has none.
    pub name: String,
    /// NodeGUID, none where the file has none.
    pub guid: Option<Guid>,
    /// Line in the file, from 1.
    pub line: u64,
}

impl fmt::Display for TopologyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, faults) = (&self.found, self.faults);
        let Some(trusted) = &self.trusted else {
            return write!(
                f,
                "the manager's own node {} ({}) is not among the managers of the topology file: {faults}",
                found.name, found.node
            );
        };
        write!(
            f,
            "{found} is connected to {trusted}; the topology file has "
        )?;
        match &self.expected {
            None => f.write_str("no such link"),
            Some(ExpectedNode { name, guid, line }) => {
                let guid = guid.map_or_else(String::new, |guid| format!(" ({guid})"));
                write!(f, "{name}{guid} there, line {line}: {faults}")
            }
        }
    }
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
    /// A node stopped answering.
    NodeSilent {
        /// Its GUID.
        node: Guid,
        /// The requested attribute.
        attribute: String,
    },
    /// A device broke the rules.
    DeviceFault {
        /// Its GUID, where it is known.
        node: Option<Guid>,
        /// The fault.
        what: String,
    },
    /// A trap arrived.
    Trap {
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
