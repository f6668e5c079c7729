//! The subnet manager: finds out what is there, decides what it should be, and writes the
//! difference.
//!
//! | module | what it is about |
//! |---|---|
//! | `sweep` | the phases of a sweep, and what starts one |
//! | `leftovers` | how long packets of old routes stay in buffers, which a change that drains waits for |
//! | `devices`, `tables` | the nodes: what each has confirmed, its work in this sweep, its health |
//! | `pump`, `schedule` | which node sends next, and what an answer or a timeout leads to |
//! | `requests` | datagrams that are sent |
//! | `confirmed` | the fabric as devices have confirmed it |
//! | `outbox` | what the manager wants done |
//! | `discover`, `reads`, `links` | who is there, and which links both ends agree on |
//! | `unused_links` | links that are up and carry no data |
//! | `lost_links` | links that were there and may come back |
//! | `near` | sweeps that look only where something was reported |
//! | `lids`, `plan` | LIDs, routes, and what every port should hold |
//! | `wanted` | the settings themselves |
//! | `store` | what outlasts a restart |
//! | `program` | what a node still needs, as a pure difference |
//! | `programming`, `confirm` | writing the difference, and believing only answers |
//! | `reroute`, `drains` | changes of routes planned before they are made, and what carries no data |
//! | `multicast`, `mft` | multicast tables, in sweeps and between them |
//! | `activate` | activating ports |
//! | `register` | asking hosts to register again |
//! | `election`, `managers` | who of several managers runs the fabric |
//! | `traps`, `commands`, `port_change` | what others ask for |
//! | `publish`, `notices` | what readers see and subscribers are told |
//! | `strays` | answers that nobody waits for |

mod activate;
mod commands;
mod confirm;
mod confirmed;
mod devices;
mod discover;
pub mod drains;
mod election;
mod learn;
mod leftovers;
mod lids;
mod links;
mod lost_links;
mod managers;
mod mft;
mod multicast;
mod near;
mod notices;
mod outbox;
pub mod plan;
mod port_change;
mod program;
mod programming;
mod publish;
mod pump;
mod reads;
mod register;
mod requests;
pub mod reroute;
mod schedule;
pub mod settings;
mod status;
mod store;
mod strays;
mod sweep;
mod tables;
mod traps;
mod unused_links;
pub(crate) mod wanted;

use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};

use crate::ask::Transactions;
use crate::ask::batch::Batch;
use crate::io::{Event, Input, Output, SweepReason};
use commands::Commands;
use devices::Devices;
use election::{Election, Question};
use outbox::Outbox;
use plan::Planning;
use register::Registrations;
use schedule::Schedule;
pub use settings::Settings;
pub use status::{AttributeCount, Status, Totals};
use store::Kept;
pub use store::written_by_newer;
use sweep::Sweep;

/// Who waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// A node's pipeline in this sweep, with the item at which the request began.
    Stage {
        /// First item of the request.
        cursor: u32,
    },
    /// The change of a port that somebody asked for.
    Port,
    /// The election, about another manager.
    Sm(Question),
}

/// The manager of one fabric.
///
/// Call [`Manager::handle`] with each input, then [`Manager::poll`] until it gives nothing more;
/// call [`Manager::handle`] with [`Input::Tick`] when [`Manager::deadline`] has come, for the first
/// time to start the first sweep. Requests expire with [`Input::Tick`] only: who was kept from calling
/// hands in first what has arrived meanwhile.
#[derive(Debug)]
pub struct Manager {
    settings: Settings,
    /// The fabric as its devices have confirmed it.
    devices: Devices,
    requests: Requests,
    sweep: Sweep,
    /// What the fabric should be.
    planning: Planning,
    out: Outbox,
    commands: Commands,
    /// Where this manager stands among others.
    election: Election,
    /// What clients have registered at subnet administration.
    registrations: Registrations,
}

/// What is asked of devices, and who asks next.
#[derive(Debug)]
struct Requests {
    transactions: Transactions<Tag>,
    /// The request that is being made.
    batch: Batch,
    schedule: Schedule,
    /// There is more to do at once, after other inputs.
    more_at: Option<Tick>,
}

impl Manager {
    /// A manager that begins its first sweep with the first input. `stored` is what the last
    /// [`Output::Persist`] wrote; what cannot be used of it is reported and left.
    pub fn new(settings: Settings, stored: Option<&[u8]>) -> Self {
        let requests = Requests {
            transactions: Transactions::new(settings.requests.budget()),
            batch: Batch::default(),
            schedule: Schedule::default(),
            more_at: None,
        };
        let mut manager = Self {
            settings,
            devices: Devices::default(),
            requests,
            sweep: Sweep::default(),
            planning: Planning::default(),
            out: Outbox::default(),
            commands: Commands::default(),
            election: Election::default(),
            registrations: Registrations::default(),
        };
        if let Some(stored) = stored {
            manager.load(stored);
        }
        manager
    }

    fn load(&mut self, stored: &[u8]) {
        match store::decode(stored, self.settings.subnet_prefix) {
            Ok(Kept {
                lids,
                drains,
                disabled,
            }) => {
                self.planning.lids = lids;
                self.planning.drains = drains;
                self.commands.disabled = disabled;
                self.out.persisted = stored.to_vec();
            }
            Err(why) => self.out.event(Event::StateRefused {
                why: why.to_string(),
            }),
        }
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: Input) {
        self.tell_election(now, election::Input::Begun);
        match input {
            Input::Tick => self.expire(now),
            Input::Received(packet) => self.received(now, &packet),
            Input::Command { id, command } => self.command(now, id, command),
            Input::Multicast(groups) => self.registrations.told(groups),
            Input::Planned(planned) => self.planned(*planned),
            Input::Detached => self.end_commands(),
        }
        self.tell_election(now, election::Input::Tick);
        self.start_due_sweep(now);
        self.pump(now);
        self.requests.transactions.settle();
        self.election.end_input(self.deadline());
    }

    /// The next thing that the manager wants done, none when there is nothing more.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// When the manager wants [`Input::Tick`] at the latest, none when only another input matters.
    pub fn deadline(&self) -> Option<Tick> {
        [
            self.requests.transactions.deadline(),
            self.requests.schedule.deadline(),
            self.sweep_due(),
            self.sweep.steps.leftovers_until(),
            self.requests.more_at,
            self.planning.look_at(self.election.now()),
            self.election.deadline(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// What readers see.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.out.published)
    }

    /// Changes the settings; a sweep brings the fabric in line with them.
    pub fn reconfigure(&mut self, now: Tick, settings: Settings) {
        self.requests
            .transactions
            .set_budget(settings.requests.budget());
        if self.settings != settings {
            // A plan that was made before does not know of these.
            self.planning.epoch += 1;
        }
        self.settings = settings;
        self.plan_again();
        self.sweep
            .request(now, SweepReason::Reconfigured, &self.settings.sweeps);
        self.handle(now, Input::Tick);
    }
}
