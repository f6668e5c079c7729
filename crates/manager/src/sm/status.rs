//! Status of the manager.

use serde::{Deserialize, Serialize};
use weft_fabric::Guid;
use weft_routing::Note;
use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::sm::AttributeId;

use super::Manager;
use super::pause::Pause;
use crate::io::{CommandError, SweepPhase};

/// Requests of one attribute since the start, those inside of Aggregates included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct AttributeCount {
    /// The attribute.
    pub attribute: AttributeId,
    /// Reads.
    pub gets: u64,
    /// Writes.
    pub sets: u64,
}

/// The state of the manager at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Role: master, standby, …
    pub role: SmState,
    /// Port GUID of the master; none while it is not known.
    pub master: Option<Guid>,
    /// GUID of its own port while that has a link.
    pub own_port: Option<Guid>,
    /// Current phase; `None` between sweeps.
    pub phase: Option<SweepPhase>,
    /// Number of the current sweep, or of the last one.
    pub sweep: u64,
    /// Requests that wait for their answers.
    pub outstanding: usize,
    /// Counts since the start.
    pub totals: Totals,
    /// Smoothed round trip over all nodes, nanoseconds; none before the first answer.
    pub round_trip_ns: Option<u64>,
    /// The priority that counts in the election.
    pub priority: u8,
    /// Whether that is the elevated one.
    pub elevated: bool,
    /// The pause of sweeps.
    pub pause: Option<Pause>,
    /// The engine whose routes are planned; empty without routes.
    pub engine: String,
    /// Routing engines that were given up before the one whose routes are planned.
    pub engines_given_up: u32,
    /// Lanes that destinations are spread over; 0 without routes.
    pub lanes: u8,
    /// How often a standby has ceased to count on what it was told of its master's registrations, since the start:
    /// they are to be told again.
    pub registration_doubts: u64,
}

/// Counters since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct Totals {
    /// Datagrams sent, retries included.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams sent again.
    pub retries: u64,
    /// Requests that were never answered.
    pub timeouts: u64,
    /// Answers without a request: late, duplicate, or forged.
    pub stray: u64,
    /// Datagrams that could not be read, or that were for another class.
    pub unreadable: u64,
    /// Traps received.
    pub traps: u64,
    /// Traps that came again, or too many in one second to be passed on.
    pub traps_left: u64,
    /// Faults of devices.
    pub faults: u64,
    /// Tables that were not as their devices had confirmed them.
    pub promises_broken: u64,
    /// Requests by attribute, in order of its number.
    pub by_attribute: Vec<AttributeCount>,
}

impl Totals {
    /// ActCount of SMInfo: grows with the manager's actions.
    pub(crate) fn act_count(&self) -> u32 {
        self.sent as u32
    }

    /// Counts one attribute of a request.
    pub(crate) fn count(&mut self, attribute: AttributeId, set: bool) {
        let all = &mut self.by_attribute;
        let place = all.binary_search_by_key(&attribute, |count| count.attribute);
        let place = place.unwrap_or_else(|place| {
            let none = AttributeCount {
                attribute,
                gets: 0,
                sets: 0,
            };
            all.insert(place, none);
            place
        });
        let count = &mut all[place];
        *(if set {
            &mut count.sets
        } else {
            &mut count.gets
        }) += 1;
    }
}

impl Manager {
    /// Role of this manager.
    pub fn role(&self) -> SmState {
        self.election.role()
    }

    /// Requests that wait for their answers.
    pub fn outstanding(&self) -> usize {
        self.requests.transactions.outstanding()
    }

    /// The state of the manager at this moment.
    pub fn status(&self) -> Status {
        let routed = self.planning.plan.routes.routed.as_ref();
        let fallback = |note: &&Note| matches!(note, Note::Fallback { .. });
        let given_up = routed.map(|routed| routed.notes().iter().filter(fallback).count());
        Status {
            role: self.election.role(),
            master: self.master_guid(),
            own_port: self.devices.own_port_with_link(),
            phase: self.sweep.phase(),
            sweep: self.sweep.number,
            outstanding: self.requests.transactions.outstanding(),
            totals: self.out.totals.clone(),
            round_trip_ns: self.requests.transactions.overall().smoothed_ns(),
            priority: self.election.priority(&self.settings.election),
            elevated: self.election.is_elevated(&self.settings.election),
            pause: self.sweep.pause,
            engine: routed.map_or_else(String::new, |routed| routed.engine().to_string()),
            engines_given_up: given_up.unwrap_or(0) as u32,
            lanes: routed.map_or(0, |routed| routed.lanes().count()),
            registration_doubts: self.registration_doubts(),
        }
    }

    /// Nodes that did not answer the last request, by GUID.
    pub fn silent(&self) -> Vec<Guid> {
        let mut silent: Vec<Guid> = self.devices.silent().collect();
        silent.sort_unstable();
        silent
    }

    /// Port GUID of the master: this manager's, or that of the one that it stands by for.
    pub(super) fn master_guid(&self) -> Option<Guid> {
        match self.election.is_master() {
            true => Some(self.devices.own_port_guid()),
            false => self.election.master(),
        }
    }

    /// Error for commands, if another manager runs the fabric; one that still discovers may be the master.
    pub(super) fn not_master(&self) -> Option<CommandError> {
        let waits = matches!(self.election.role(), SmState::STANDBY | SmState::NOT_ACTIVE);
        self.must_be_master().err().filter(|_| waits)
    }

    /// Refuses commands that write, unless this manager runs the fabric.
    pub(super) fn must_be_master(&self) -> Result<(), CommandError> {
        match self.election.is_master() {
            true => Ok(()),
            false => Err(CommandError::NotMaster {
                role: self.election.role(),
                master: self.master_guid().unwrap_or_default(),
            }),
        }
    }
}
