//! The faults that the campaign makes, by the numbers and names of the catalogue in docs/testing.md.

use std::fmt;
use std::str::FromStr;

/// Declares faults with number and name.
macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $fault:ident = $number:literal, $name:literal;)+) => {
        /// A fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault {
            $($(#[doc = $doc])+ $fault,)+
        }

        impl Fault {
            /// All of them, by number.
            pub const ALL: &[Self] = &[$(Self::$fault,)+];

            /// Its number in the catalogue.
            pub fn number(self) -> u8 {
                match self {
                    $(Self::$fault => $number,)+
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$fault => $name,)+
                }
            }
        }
    };
}

faults! {
    /// A cable is pulled.
    LinkDown = 1, "link down";
    /// A link goes down and up, evenly or at random.
    LinkFlaps = 2, "link flaps";
    /// A cable loses lanes.
    FewerLanes = 3, "fewer lanes";
    /// A cable carries half the speed.
    HalfSpeed = 4, "half speed";
    /// A cable damages ever more packets.
    ErrorsRise = 5, "errors rise";
    /// Datagrams of subnet management are lost in one direction of a link.
    OneWayLoss = 6, "one-way loss";
    /// A port refuses to leave Init, or its link stays in a state on its way up.
    Stuck = 7, "stuck in Init or in training";
    /// One end of a cable is plugged in elsewhere.
    CableMoved = 8, "cable moved to another port";
    /// Two cables are exchanged, in one end.
    CablesSwapped = 9, "cables swapped";
    /// A cable between two ports of one switch.
    Loop = 10, "loop of a cable";
    /// Fabrics that were apart, each with a manager of its own, are joined.
    FabricsJoined = 11, "two fabrics joined";
    /// Ports with small packets and few lanes.
    SmallMtu = 12, "smaller MTU, fewer VLs";
    /// A switch loses its power.
    SwitchDies = 13, "switch dies";
    /// A switch starts again, with empty tables.
    SwitchReboots = 14, "switch reboots";
    /// A device starts again, and does not write what it says it has written.
    SetNotApplied = 15, "Set accepted, not applied";
    /// An agent takes a second to answer.
    SlowAgent = 16, "slow SMA";
    /// An agent says nothing, data flows.
    SilentAgent = 17, "silent SMA";
    /// A switch with fewer table entries than LIDs.
    SmallTable = 18, "table too small";
    /// An agent refuses an attribute.
    RefusedAttribute = 19, "attribute refused";
    /// A node with the GUID of another one, or none.
    WrongNodeGuid = 20, "GUID of another node, or 0";
    /// All leaves start again at once.
    LeavesReboot = 21, "all leaves reboot";
    /// A tenth of the hosts, or all but the managers', start again.
    HostsReboot = 22, "hosts reboot";
    /// Nodes are called anything, and otherwise again.
    Descriptions = 23, "node descriptions of any bytes";
    /// An HFI with the port GUID of another one.
    WrongPortGuid = 24, "port GUID of another host";
    /// A host takes the LID of another one.
    StolenLid = 25, "LID of another host taken";
    /// A third manager, which goes before the others, comes and goes.
    ThirdManager = 26, "third manager, higher priority";
    /// Hosts join a multicast group and leave it, over and over.
    JoinStorm = 27, "join and leave storm";
    /// All hosts ask for paths at once.
    PathStorm = 28, "PathRecord storm";
    /// Datagrams that are cut short, too long, or of random bytes.
    Malformed = 29, "malformed datagrams";
    /// Nodes that report errors of links over and over.
    TrapStorm = 30, "trap storm";
    /// Datagrams are lost.
    Loss = 31, "loss";
    /// Datagrams are late.
    Delay = 32, "delay, jitter";
    /// Datagrams come twice.
    Duplicates = 33, "duplicates";
    /// Datagrams overtake each other.
    Reorder = 34, "reordering";
    /// Answers come after the last wait for them.
    LateAnswers = 35, "answers after the timeout";
    /// Answers of an agent come from the LID of another node.
    WrongSource = 36, "answers from a wrong LID";
    /// The master is killed while it writes.
    MasterKilled = 37, "kill -9 while it writes";
    /// The master stops, and goes on when another one is master.
    MasterHangs = 38, "hang";
    /// Managers cannot write their state, or what they have written is damaged.
    StateFile = 40, "disk full, state file torn";
    /// Clocks on the wall are set, and a host stands still for a while.
    ClockJumps = 41, "clocks jump, hosts paused";
    /// The port of the master's host is cut off.
    OwnPort = 42, "own HFI cut off";
    /// Settings change while the master sweeps.
    OtherSettings = 43, "settings change in a sweep";
    /// Managers go on with what an earlier version has written.
    OldState = 44, "state of the first version";
    /// One master after the other is killed.
    Failovers = 45, "one failover after the other";
    /// The master is stopped for a minute.
    OldMaster = 46, "old master after 60 s";
    /// A leaf loses all its links to other switches.
    LeafCut = 47, "leaf cut off";
    /// Hosts of two leaves have no way to each other but down and up again.
    DownAndUp = 48, "only down and up again";
    /// Half of the links between switches are pulled.
    HalfOfLinks = 49, "half of the links gone";
    /// The engine is for fabrics of another shape.
    OtherShape = 50, "fabric does not fit the engine";
    /// People order the master at once, against each other.
    Contradictions = 55, "orders that contradict each other";
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number(), self.name())
    }
}

impl FromStr for Fault {
    type Err = String;

    /// A fault by its number.
    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<u8> = text.parse().ok();
        let found = |fault: &&Self| Some(fault.number()) == number;
        let numbers = || {
            let numbers = Self::ALL.iter().map(|fault| fault.number().to_string());
            numbers.collect::<Vec<_>>().join(", ")
        };
        let wrong = || {
            format!(
                "{text:?} is no fault of this campaign; its numbers are {}",
                numbers()
            )
        };
        Self::ALL.iter().find(found).copied().ok_or_else(wrong)
    }
}

/// Activity of the fabric when a fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nothing happens.
    Idle,
    /// Hosts ask the SA for paths all the time.
    Load,
    /// The master sweeps.
    Sweep,
    /// The master dies, another manager takes over.
    Failover,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Idle, Self::Load, Self::Sweep, Self::Failover];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Load => "load",
            Self::Sweep => "sweep",
            Self::Failover => "failover",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|state| state.name() == text);
        let names = Self::ALL.map(Self::name).join(", ");
        let wrong = || format!("{text:?} is no state, wanted one of {names}");
        found.copied().ok_or_else(wrong)
    }
}
