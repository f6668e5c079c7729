//! Attacks of a host whose root is hostile, on a fabric with two managers, their SAs and PMs, judged by what other hosts
//! notice of them: docs/security.md has the table.
//!
//! Each attack is a program on one host. It sends what it likes from its port, and its agent claims what it likes; all
//! other devices do what they are built to do.
//!
//! | module | attack |
//! |---|---|
//! | `set_to_switch` | 1: tables and port states of others are written |
//! | `stolen_key` | 2: the same, with the key of the attacker's own port |
//! | `rogue_manager` | 3: a subnet manager of higher priority |
//! | `clone` | 4: the GUIDs of another host |
//! | `forged_source` | 5: requests in the name of other hosts |
//! | `sa_flood` | 6: registrations without end, and queries |
//! | `foreign_partition` | 7: the P_Key of a partition of others |
//! | `trap_storm` | 8: traps without end, about others too |
//! | `multicast_storm` | 9: groups that come and go |
//! | `slow_receiver` | 10: nothing is taken of what is sent to it |
//! | `site` | the fabric and its clock |
//! | `judges` | what others notice, and what the managers tell |
//! | `bystanders` | what other hosts ask for, and get |
//! | `guard` | the configurations |

mod bystanders;
mod clone;
mod foreign_partition;
mod forged_source;
mod guard;
mod judges;
mod multicast_storm;
mod rogue_manager;
mod sa_flood;
mod set_to_switch;
mod site;
mod slow_receiver;
mod stolen_key;
mod trap_storm;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Tick, Topology};
use weft_manager::io::Event;

use super::bring_up::RunError;
use crate::oracle::Breach;
pub use guard::{Guard, HARDENED};
use site::Site;

/// How long the fabric is left alone after an attack, before it is judged a last time.
const AFTERWARDS: Duration = Duration::from_secs(30);

/// Declares attacks with number and name.
macro_rules! attacks {
    ($($(#[doc = $doc:literal])+ $attack:ident = $number:literal, $name:literal, $run:path;)+) => {
        /// An attack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Attack {
            $($(#[doc = $doc])+ $attack,)+
        }

        impl Attack {
            /// All of them, by number.
            pub const ALL: &[Self] = &[$(Self::$attack,)+];

            /// Its number in docs/security.md.
            pub fn number(self) -> u8 {
                match self {
                    $(Self::$attack => $number,)+
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$attack => $name,)+
                }
            }

            /// Carries it out; returns what the attacker got, none where that is nothing.
            fn carry_out(self, site: &mut Site) -> Result<Option<String>, RunError> {
                match self {
                    $(Self::$attack => $run(site),)+
                }
            }
        }
    };
}

attacks! {
    /// Sets to switches and other hosts.
    SetToSwitch = 1, "Sets to others' devices", set_to_switch::attack;
    /// The same, with the M_Key of the attacker's own port.
    StolenKey = 2, "the M_Key of its own port, at others", stolen_key::attack;
    /// A subnet manager of the highest priority.
    RogueManager = 3, "rogue subnet manager", rogue_manager::attack;
    /// The GUIDs of another host.
    Clone = 4, "GUIDs of another host", clone::attack;
    /// Requests with the LIDs of others.
    ForgedSource = 5, "source LIDs of others", forged_source::attack;
    /// Registrations and queries without end.
    SaFlood = 6, "flood of the SA", sa_flood::attack;
    /// The P_Key of a partition of others.
    ForeignPartition = 7, "a P_Key that is not its own", foreign_partition::attack;
    /// Traps without end.
    TrapStorm = 8, "trap storm, forged traps", trap_storm::attack;
    /// Groups that come and go.
    MulticastStorm = 9, "multicast groups without end", multicast_storm::attack;
    /// Nothing is taken of what is sent to the attacker.
    SlowReceiver = 10, "a host that takes nothing", slow_receiver::attack;
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number(), self.name())
    }
}

impl FromStr for Attack {
    type Err = String;

    /// An attack by its number.
    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<u8> = text.parse().ok();
        let mut all = Self::ALL.iter();
        let found = all.find(|attack| Some(attack.number()) == number);
        found.copied().ok_or_else(|| {
            let numbers = Self::ALL.iter().map(|attack| attack.number().to_string());
            let numbers: Vec<String> = numbers.collect();
            format!(
                "{text:?} is no attack that is carried out here; their numbers are {}",
                numbers.join(", ")
            )
        })
    }
}

/// What came of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The attacker got nothing, and nobody else noticed it.
    Stopped,
    /// He got something, as much as a bound allows, and nobody else noticed it.
    Bounded,
    /// Others were harmed.
    Succeeded,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Stopped => "stopped",
            Self::Bounded => "bounded",
            Self::Succeeded => "succeeds",
        })
    }
}

/// Whether the managers' events tell of an attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// They name the attacker's host, or the port before it.
    Who,
    /// They tell of it, without its author.
    What,
    /// Only counters have it: of the port before him, or of the API.
    Counted,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Who => "who and where",
            Self::What => "what",
            Self::Counted => "counters",
        })
    }
}

/// Result of a seed of an attack.
#[derive(Debug)]
pub struct Outcome {
    /// The attack.
    pub attack: Attack,
    /// How the managers are configured.
    pub guard: Guard,
    /// The seed.
    pub seed: u64,
    /// What others noticed.
    pub harm: Vec<Breach>,
    /// What the attacker got.
    pub got: Option<String>,
    /// What the managers' events tell of it.
    pub told: Told,
    /// 99 of 100 requests of other hosts were answered within this time during the attack.
    pub p99: Duration,
    /// Digest of all datagrams of the managers, with their times.
    pub datagrams: u64,
    /// What the attacker did.
    steps: Vec<(Tick, String)>,
    /// The managers' events, with their numbers.
    events: Vec<(Tick, usize, Event)>,
}

impl Outcome {
    /// What came of it.
    pub fn verdict(&self) -> Verdict {
        match (self.harm.is_empty(), &self.got) {
            (false, _) => Verdict::Succeeded,
            (true, Some(_)) => Verdict::Bounded,
            (true, None) => Verdict::Stopped,
        }
    }

    /// Harm, what the attacker did, and the last `events_max` events.
    pub fn describe(&self, events_max: usize) -> String {
        super::story(&self.harm, &self.steps, &self.events, events_max)
    }
}

/// Runs one seed of an attack in a fabric of at least five hosts.
///
/// # Errors
/// [`RunError`] when it cannot be run to its end, or the fabric is not well before it.
pub fn run(
    attack: Attack,
    guard: Guard,
    topology: &Arc<Topology>,
    seed: u64,
) -> Result<Outcome, RunError> {
    let mut site = Site::new(attack, guard, topology, seed)?;
    site.settle()?;
    let got = attack.carry_out(&mut site)?;
    site.end_attack();
    site.pass(AFTERWARDS)?;
    site.judge_in_quiet();
    let (told, p99) = (site.is_told(), site.bystanders.p99());
    Ok(Outcome {
        attack,
        guard,
        seed,
        got,
        told,
        p99,
        datagrams: site.cluster.datagrams(),
        harm: site.harm,
        steps: site.steps,
        events: site.events,
    })
}
