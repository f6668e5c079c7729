//! Which of several subnet managers runs the fabric.
//!
//! A manager begins as discovering: it reads the fabric and writes nothing. Where another is master
//! already, or a better one is about to be, it stands by: it asks the master from time to time whether
//! it lives, and starts over when it does not. Otherwise it is master. The higher priority is better,
//! the lower port GUID where that is equal. Managers with another SM_Key take no part.
//!
//! | module | what it is about |
//! |---|---|
//! | `decide` | what a manager becomes at the end of a discovery |
//! | `peers` | the other managers, and asking them who they are |
//! | `standby` | watching the master |
//! | `handover` | giving the fabric to a better manager |
//! | `asked` | what other managers ask or tell this one |

mod asked;
mod decide;
mod handover;
mod peers;
mod standby;

pub(super) use decide::Verdict;

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_wire::enums::SmState;
use weft_wire::sm::SmInfo;

use super::Manager;
use super::lids::LidMap;
use crate::io::{Event, SweepReason};

/// How late a master may be before it takes itself for one that others have replaced: less than
/// others take to find that out.
const LATE_MAX: Duration = Duration::from_secs(3);
/// Other managers that are remembered; more are left out.
const PEERS_MAX: usize = 64;
/// From one question to a master that did not answer well to the next, and from the election to the
/// first one.
const QUICK: Duration = Duration::from_secs(1);

/// Another subnet manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    /// The HFI that it runs on.
    node: Guid,
    /// Egress ports of the directed route to it.
    path: Box<[PortNum]>,
    /// What it said of itself last.
    pub info: SmInfo,
    /// The sweep that found it last.
    sweep: u64,
}

/// A handover that waits for its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handover {
    /// Port GUID of the manager that shall take over.
    to: Guid,
    /// Until when this manager waits for it.
    until: Tick,
}

/// Where this manager stands among the others.
#[derive(Debug)]
pub(super) struct Standing {
    role: SmState,
    /// The sweep in which it became master.
    won_in: u64,
    /// MasterSMLID of its own port before the sweep under way.
    own_master_lid: Lid,
    /// Since when it is master.
    master_since: Tick,
    /// Port GUID of the manager that this one stands by for.
    master: Option<Guid>,
    /// Another manager was seen since the start: the priority of a master is the elevated one.
    saw_another: bool,
    /// Next question to the master.
    poll_at: Option<Tick>,
    /// Bad answers of the master, and missing ones, in a row; of a newcomer, discoveries in a row in
    /// which some manager did not answer.
    fails: u32,
    /// The sweep in which some manager did not answer last.
    silent_in: u64,
    handover: Option<Handover>,
    /// No further handover before this: the last one was not acknowledged.
    no_handover_before: Tick,
    /// Other managers, by their port GUIDs.
    peers: BTreeMap<Guid, Peer>,
    /// What managers said when they asked this one, by their port GUIDs: a change is looked into
    /// once.
    heard: BTreeMap<Guid, (SmState, u8)>,
    /// The time of the last input.
    now: Tick,
    /// When the next input was due at the latest.
    due: Option<Tick>,
    /// The sweep under way writes nothing more.
    cut_off: bool,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            role: SmState::DISCOVERING,
            won_in: 0,
            own_master_lid: Lid(0),
            master_since: Tick(0),
            master: None,
            saw_another: false,
            poll_at: None,
            fails: 0,
            silent_in: 0,
            handover: None,
            no_handover_before: Tick(0),
            peers: BTreeMap::new(),
            heard: BTreeMap::new(),
            now: Tick(0),
            due: None,
            cut_off: false,
        }
    }
}

impl Standing {
    /// What this manager is.
    pub(super) fn role(&self) -> SmState {
        self.role
    }

    /// Whether it may change the fabric.
    pub(super) fn is_master(&self) -> bool {
        self.role == SmState::MASTER
    }

    /// Whether it may sweep: to find out who is master, or as master.
    pub(super) fn may_sweep(&self) -> bool {
        matches!(self.role, SmState::MASTER | SmState::DISCOVERING) && self.handover.is_none()
    }

    /// Whether it became master in this sweep, which has read the fabric already.
    pub(super) fn has_won_in(&self, sweep: u64) -> bool {
        self.won_in == sweep
    }

    /// When something is to be done at the latest.
    pub(super) fn deadline(&self) -> Option<Tick> {
        let handover = self.handover.map(|handover| handover.until);
        self.poll_at.into_iter().chain(handover).min()
    }

    /// The other managers, in order of their port GUIDs.
    pub(super) fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.peers.values()
    }

    /// Whether the sweep under way writes nothing more.
    pub(super) fn is_cut_off(&self) -> bool {
        self.cut_off
    }
}

impl Peer {
    /// The HFI that it runs on.
    pub(super) fn node(&self) -> Guid {
        self.node
    }

    fn rank(&self) -> Rank {
        Rank::of(self.info.priority, self.info.port_guid)
    }
}

/// Who is better: the greater rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u8, std::cmp::Reverse<Guid>);

impl Rank {
    fn of(priority: u8, port: Guid) -> Self {
        Self(priority, std::cmp::Reverse(port))
    }
}

impl Manager {
    /// The priority that counts at present.
    pub(super) fn priority(&self) -> u8 {
        let election = self.settings.election;
        match self.standing.is_master() && self.standing.saw_another {
            true => election.priority.max(election.elevated_priority),
            false => election.priority,
        }
    }

    fn rank(&self) -> Rank {
        Rank::of(self.priority(), self.devices.own_port_guid())
    }

    /// What this manager says of itself; its key only to those who know it.
    pub(super) fn own_sm_info(&self, with_key: bool) -> SmInfo {
        let election = self.settings.election;
        let standing = &self.standing;
        let seconds = match standing.is_master() {
            true => standing.now.since(standing.master_since).as_secs(),
            false => 0,
        };
        SmInfo {
            port_guid: self.devices.own_port_guid(),
            sm_key: if with_key { election.sm_key } else { 0 },
            act_count: self.act_count(),
            elapsed_time: u32::try_from(seconds).unwrap_or(u32::MAX),
            priority: self.priority(),
            elevated_priority: election.elevated_priority,
            initial_priority: election.priority,
            sm_state_current: standing.role,
        }
    }

    /// Changes what this manager is, and tells it.
    fn take_role(&mut self, role: SmState, master: Option<Guid>, why: String) {
        let standing = &mut self.standing;
        let same = standing.role == role && standing.master == master;
        if role == SmState::MASTER && standing.role != role {
            standing.master_since = standing.now;
            self.registering.take_over();
        }
        standing.role = role;
        standing.master = master;
        standing.poll_at = None;
        standing.fails = 0;
        standing.handover = None;
        if !same {
            self.event(Event::Role { role, master, why });
        }
        // What devices hold is read again before anything is written: others may have changed it.
        if role != SmState::MASTER {
            self.stop_update();
            self.devices.doubt_all();
        }
        // The LIDs that another master has given count.
        if role == SmState::STANDBY {
            self.lids = LidMap::default();
        }
    }

    /// Looks for the master anew.
    fn discover_again(&mut self, now: Tick, why: String) {
        self.take_role(SmState::DISCOVERING, None, why);
        self.request_sweep(now, SweepReason::Election);
    }

    /// A master that was not heard of for so long that another may have taken over (its process was
    /// stopped, its machine asleep) writes nothing before it knows. What it `computed` itself takes
    /// the time that it takes.
    pub(super) fn begin_input(&mut self, now: Tick, computed: bool) {
        let standing = &mut self.standing;
        standing.now = now;
        let late = standing.due.is_some_and(|due| now > due + LATE_MAX);
        if late && !computed && standing.is_master() {
            standing.cut_off = self.sweep.phase().is_some();
            let why = "it did nothing for a while: it was stopped, or had no fabric".to_owned();
            self.take_role(SmState::DISCOVERING, None, why);
            self.drop_work();
            self.request_sweep(now, SweepReason::Election);
        }
    }

    /// Notes when the manager is to be called again.
    pub(super) fn end_input(&mut self) {
        self.standing.due = self.deadline();
    }

    /// The sweep that is under way has ended.
    pub(super) fn end_cut(&mut self) {
        self.standing.cut_off = false;
    }

    /// Does what is due.
    pub(super) fn run_election(&mut self, now: Tick) {
        self.poll_master(now);
        self.end_stale_handover(now);
    }
}
