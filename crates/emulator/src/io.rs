//! Inputs and outputs of the emulator.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_dataplane::training::LinkTraining;
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::packet::Packet;
use weft_wire::sm::NodeDescription;

use crate::claims::Claims;
use crate::error_counts::ErrorCounts;
use crate::module::Measured;
use crate::traffic::{PatternError, TrafficJob};

/// Inputs of the emulator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Input {
    /// The time has come that `deadline` named.
    Tick,
    /// A program on a host sends a datagram from an HFI port.
    Send {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The datagram.
        packet: Packet,
    },
    /// A change of the fabric.
    Control(Control),
}

/// Outputs of the emulator.
#[derive(Debug, Clone)]
pub enum Output {
    /// A datagram arrives at an HFI port and is for a program there: the emulator's own agents
    /// have no use for it (responses, traps to the SM, SMInfo and SA requests).
    Deliver {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The datagram.
        packet: Packet,
    },
}

/// A change of the emulated fabric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Control {
    /// Cuts the cable at a port.
    LinkDown {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// Mends the cable at a port.
    LinkUp {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// Sets the number of working lanes of the cable at a port: its link continues with fewer, or goes down if
    /// that is not enabled. Returning lanes are used when the link next comes up.
    LinkLanes {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// 1 to 4.
        lanes: u8,
    },
    /// The same of what a port sends alone: its link is wider in the other direction.
    LinkLanesOut {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// 1 to 4.
        lanes: u8,
    },
    /// Sets whether the lanes of the cable at a port carry 12.5 Gb/s, not 25; its link trains again.
    LinkSlow {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Whether they do.
        slow: bool,
    },
    /// Lets the link of a port go down and come up again, evenly in a time: down at once, up at the end. Another change
    /// of whether its cable is cut, or of where it is plugged in, ends it.
    Flap {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// How often: 1 to 1,000.
        times: u32,
        /// The time, nanoseconds: up to a day.
        over_ns: u64,
    },
    /// Sets how links come up from now on; one on its way begins again.
    LinkTraining {
        /// A port whose link it is; none for all links.
        at: Option<(Guid, PortNum)>,
        /// How it comes up. Times are up to an hour; a link that may fail needs a time of a millisecond in
        /// Polling and Training together.
        how: LinkTraining,
    },
    /// Exchanges the cables in two ports.
    ExchangeCables {
        /// The ports, each by its node.
        ports: [(Guid, PortNum); 2],
    },
    /// Plugs an end of a cable into another port, which has none.
    MoveCable {
        /// Where it is pulled, by the node.
        from: (Guid, PortNum),
        /// Where it is plugged in.
        to: (Guid, PortNum),
    },
    /// Plugs a new cable into two ports; those that are there are pulled. Two ports of one switch make a loop.
    PlugCable {
        /// The ports, each by its node.
        ports: [(Guid, PortNum); 2],
    },
    /// Pulls the cable at a port out of both its ends: neither has a module.
    PullCable {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// Puts another cable in the place of the one at a port.
    ReplaceCable {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Its serial number: up to 16 characters of ASCII.
        serial: String,
        /// Its part number likewise; none for the usual one.
        part: Option<String>,
    },
    /// Sets whether the memory of the module in a port cannot be read.
    CableBusy {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Whether it cannot.
        busy: bool,
    },
    /// Lets the cable at a port damage data packets in both directions: the receiving port counts them as
    /// LocalLinkIntegrityErrors, and none is lost.
    CableErrors {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Of a million packets, 0 to 1,000,000; 0 for a good cable.
        errors: u32,
    },
    /// Lets the cable at a port damage ever more packets: one of a million now, and each time as many times more until
    /// it is `to` of them. Another change of its errors ends it.
    ErrorsRise {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Of a million packets at the end, 0 to 1,000,000.
        to: u32,
        /// The time, nanoseconds: up to a day.
        over_ns: u64,
    },
    /// Lets datagrams of subnet management be lost that a port sends into its link; those of the other direction are
    /// not. VL15 has no credits; everything else waits for them, or is sent again by the link.
    LinkLoss {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// The share that is lost: 0 to 1.
        loss: f64,
    },
    /// Makes a port refuse to leave Init, as a faulty one does; its link stays as it is until it next
    /// comes up.
    RefuseArm {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// Whether it refuses.
        refuse: bool,
    },
    /// Lets a node report errors of a port's link.
    LinkErrors {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// By which trap.
        #[serde(default)]
        trap: LinkTrap,
    },
    /// Lets a port count errors of its link, besides those that it has counted.
    CountErrors {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// How many.
        errors: ErrorCounts,
    },
    /// Sets what a port says about its link while that is up (LinkQualityIndicator).
    LinkQuality {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// 5 excellent to 1 bad.
        quality: u8,
    },
    /// Sets what the module in a port measures; its cable must be optical.
    Module {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
        /// What it measures.
        measured: Measured,
    },
    /// Powers a node off: its links drop, its registers are lost.
    NodeDown {
        /// The node.
        node: Guid,
    },
    /// Powers a node on.
    NodeUp {
        /// The node.
        node: Guid,
    },
    /// Powers a node off, and on again after a time.
    Reboot {
        /// The node.
        node: Guid,
        /// The time, nanoseconds: up to an hour.
        off_ns: u64,
    },
    /// Puts another device of its kind in the place of one that is powered off with that, and powers it on.
    Replace {
        /// The HFI or switch.
        node: Guid,
        /// NodeGUID of the new one.
        new: Guid,
    },
    /// Silences an agent or lets it answer again; its links stay unchanged.
    Silence {
        /// The node.
        node: Guid,
        /// Whether its agent is silent.
        silent: bool,
    },
    /// Sets an agent's time to answer, beyond the common one.
    Slow {
        /// The node.
        node: Guid,
        /// Nanoseconds.
        extra_ns: u64,
    },
    /// Lets an agent claim something about its node, until it is told something else.
    Claim {
        /// The node.
        node: Guid,
        /// All that it claims.
        claims: Claims,
    },
    /// Lets an HFI's port take another LID, as its host can do.
    TakeLid {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The LID.
        lid: Lid,
    },
    /// Gives a node another description, of any bytes, as its host can do: it tells of it by trap 144.
    Describe {
        /// The node.
        node: Guid,
        /// The bytes.
        description: NodeDescription,
    },
    /// Makes a node a part of another system, of which it tells by trap 145.
    SystemGuid {
        /// The node.
        node: Guid,
        /// SystemImageGUID.
        guid: Guid,
    },
    /// Lets a program on a host send datagrams with a P_Key to another node. A port that does not let it through counts
    /// them, and its node tells of it: an HFI by trap 257, a switch by trap 259.
    UsePKey {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The node that they are for.
        to: Guid,
        /// The P_Key.
        p_key: u16,
        /// How many: 1 to 100,000.
        count: u32,
    },
    /// Lets a program on a host send datagrams with a Q_Key to the queue pair of general services of another host. Where
    /// it is not 0x80010000, that host counts them, and tells of it by trap 258.
    UseQKey {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The HFI that they are for.
        to: Guid,
        /// The Q_Key.
        q_key: u32,
        /// How many: 1 to 100,000.
        count: u32,
    },
    /// Lets a program on a host send writes with an M_Key to a node's agent. Where it is wrong the node counts them,
    /// answers none, and tells of it by trap 256.
    UseMKey {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// The node that they are for.
        to: Guid,
        /// The M_Key.
        m_key: u64,
        /// How many: 1 to 100,000.
        count: u32,
    },
    /// Sets whether the hardware of a node's neighbours reports that it has not checked the node's firmware.
    UncheckedFirmware {
        /// The node.
        node: Guid,
        /// Whether it reports that.
        unchecked: bool,
    },
    /// Sets the faults of datagrams in transit.
    Faults(Faults),
    /// Sets whether a subnet manager runs at a host: then SMInfo is for programs there.
    IsSm {
        /// The HFI.
        node: Guid,
        /// Its port.
        port: PortNum,
        /// Whether one runs.
        is_sm: bool,
    },
    /// Starts traffic that runs until it is stopped.
    TrafficStart(TrafficJob),
    /// Stops traffic.
    TrafficStop {
        /// The job's name; none for all jobs.
        name: Option<String>,
    },
}

/// A trap about a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkTrap {
    /// Too many errors: trap 129.
    #[default]
    Integrity,
    /// A buffer overran: trap 130.
    Overrun,
    /// Flow control stood still: trap 131.
    Watchdog,
}

/// Faults of datagrams in transit; each probability applies to one datagram in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Lost: 0 to 1.
    pub loss: f64,
    /// Delivered twice: 0 to 1.
    pub duplicate: f64,
    /// Overtaken by later ones: 0 to 1; such a datagram waits up to `delay_max_ns` longer.
    pub reorder: f64,
    /// Shortest extra delay of every datagram, nanoseconds.
    pub delay_min_ns: u64,
    /// Longest extra delay, nanoseconds; drawn evenly between the two.
    pub delay_max_ns: u64,
}

/// A control that makes no sense.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ControlError {
    /// No such node.
    #[error("no node {node} in the emulated fabric")]
    NoNode {
        /// The GUID that was given.
        node: Guid,
    },
    /// No cable there.
    #[error("port {port} of node {node} has no cable")]
    NoCable {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// No port there that a cable fits in.
    #[error("node {node} has no port {port} for a cable")]
    NoPort {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// A cable is there.
    #[error("port {port} of node {node} has a cable; exchange the two, or pull that one first")]
    Occupied {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// One port for both ends of a cable.
    #[error("both ends of a cable cannot be in port {port} of node {node}")]
    OnePort {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// A text that a cable's memory does not hold.
    #[error("{0:?} is not 1 to 16 printable characters of ASCII, as a cable's memory has them")]
    CableText(String),
    /// The cable there measures nothing.
    #[error(
        "the cable in port {port} of node {node} is of copper; only modules between switches measure something"
    )]
    Copper {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// No host there.
    #[error("node {node} has no port {port} where a program could be: only HFI ports have hosts")]
    NoHost {
        /// The node.
        node: Guid,
        /// The port.
        port: PortNum,
    },
    /// A GUID that no node, or no HFI, can have, or that is taken.
    #[error(
        "GUID {guid} is that of another node, 0, or for an HFI has bits 30 or 31, its port's number"
    )]
    Guid {
        /// The GUID that was given.
        guid: Guid,
    },
    /// A number outside its range.
    #[error("{what} is {value}, allowed: {allowed}")]
    Range {
        /// Which.
        what: &'static str,
        /// The value.
        value: f64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// About traffic.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
}

/// Traffic that cannot be started or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// The pattern does not fit the fabric.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Another job is called so.
    #[error("a job called {0:?} is running; stop it first, or choose another name")]
    Exists(String),
    /// The name would act on a terminal.
    #[error("the name {0:?} has characters that do not show; choose one without them")]
    HiddenName(String),
    /// No job is called so.
    #[error("no job is called {0:?}")]
    NoJob(String),
    /// Too many jobs.
    #[error("{max} jobs are running; stop one first")]
    TooManyJobs {
        /// The maximum number.
        max: usize,
    },
    /// Too many sender-receiver pairs.
    #[error("{ways} sender-receiver pairs, allowed in all jobs: {max}")]
    TooManyWays {
        /// The number that would result.
        ways: usize,
        /// The maximum number.
        max: usize,
    },
}
