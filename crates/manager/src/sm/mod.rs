//! The subnet manager: discovers the fabric, computes its intended state, and writes the
//! difference.
//!
//! | module | contents |
//! |---|---|
//! | `sweep` | the phases of a sweep, and its triggers |
//! | `leftovers` | time that packets of old routes stay in buffers, for which a change that drains waits |
//! | `keys` | M_Keys of ports, and terms of masters |
//! | `devices`, `tables` | the nodes: confirmed state, work in this sweep, health |
//! | `pump`, `schedule` | the next node to send, and handling of answers and timeouts |
//! | `requests` | datagrams that are sent |
//! | `confirmed`, `device_registers` | the fabric as confirmed by devices, and each of them |
//! | `outbox` | outputs of the manager |
//! | `admission` | devices that are not let into the fabric |
//! | `discover`, `reads`, `links` | discovery, and links on which both ends agree |
//! | `unused_links` | links that are up and carry no data |
//! | `flapping` | links that go down again and again |
//! | `quarantine` | quarantine by an operator's order, its list and its end |
//! | `replacements` | HFIs in the place of others |
//! | `isolation` | links that have too many errors |
//! | `evidence` | what is known of the losses of a link |
//! | `barred_links` | which of all these links are not used |
//! | `multicast_storms` | ports that end multicast groups too often |
//! | `trap_storms` | ports that report errors of their links too often |
//! | `looks` | looks at ports of switches, between sweeps |
//! | `promises` | whether devices still hold the tables that they confirmed |
//! | `lost_links` | lost links that may come back |
//! | `pause` | pause of sweeps |
//! | `own_port` | the manager's own port, looked at between sweeps |
//! | `near` | sweeps limited to reported changes |
//! | `lids`, `plan` | LIDs, routes, and the intended state of every port |
//! | `wanted` | the settings themselves |
//! | `store` | state that survives a restart |
//! | `program` | the remaining work of a node, as a pure difference |
//! | `handover` | partitions that pass from some ports to others |
//! | `programming`, `confirm` | writing the difference, and confirmation by answers |
//! | `reroute`, `drains` | previews of route changes, and drained parts |
//! | `loop_test`, `loop_orders` | the loop test: packets that circle, and its orders |
//! | `multicast`, `mft` | multicast tables, in sweeps and between them |
//! | `strangers` | multicast rows of nodes that are not known |
//! | `activate` | activating ports |
//! | `register` | asking hosts to register again |
//! | `election`, `managers` | the election of the master |
//! | `inherit` | what a standby knows of its master's state |
//! | `traps`, `commands`, `port_change`, `orders` | external requests |
//! | `port_registers` | what such a change reads and writes |
//! | `cut_off` | what a change of ports would cut off |
//! | `disabled` | ports that are switched off, with reasons |
//! | `publish`, `notices` | the published snapshot, and notices for subscribers |
//! | `strays` | answers without a request |

mod activate;
mod admission;
pub mod back;
mod barred_links;
mod commands;
mod confirm;
mod confirmed;
mod cut_off;
pub mod device_registers;
mod devices;
pub mod disabled;
mod discover;
pub mod drains;
mod election;
pub mod evidence;
mod flapping;
mod forged_traps;
mod handover;
mod inherit;
pub mod isolation;
mod keys;
mod learn;
mod leftovers;
mod lids;
mod links;
mod looks;
mod loop_orders;
pub mod loop_test;
mod lost_links;
mod managers;
mod mft;
mod multicast;
mod multicast_storms;
mod near;
mod notices;
mod orders;
mod outbox;
mod own_port;
pub mod pause;
pub mod plan;
mod port_change;
mod port_registers;
mod program;
mod programming;
mod promises;
mod publish;
mod pump;
pub mod quarantine;
mod reads;
mod register;
pub mod replacements;
mod requests;
pub mod reroute;
mod schedule;
pub mod settings;
mod status;
mod store;
mod strangers;
mod strays;
mod sweep;
mod tables;
mod trap_storms;
mod trap_text;
mod traps;
mod unintended;
mod unused_links;
mod unused_now;
pub(crate) mod wanted;

use std::sync::Arc;

use weft_fabric::{Snapshot, Tick};
use weft_state::State;
use weft_wire::packet::Packet;

use crate::ask::Transactions;
use crate::ask::batch::Batch;
use crate::io::{Input, Output, SweepReason};
use commands::Commands;
use devices::Devices;
pub use election::Mandate;
use election::{Election, Question};
use inherit::Inheritance;
pub use inherit::Told;
use looks::Looks;
use loop_test::LoopTest;
use outbox::Outbox;
use own_port::OwnPort;
use plan::Planning;
use promises::Promises;
use register::Registrations;
use schedule::Schedule;
pub use settings::Settings;
pub use status::{AttributeCount, Status, Totals};
pub use store::written_by_newer;
use sweep::Sweep;

/// Purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
enum Tag {
    /// A node's pipeline in this sweep, with the item at which the request began.
    Stage {
        /// First item of the request.
        cursor: u32,
    },
    /// A requested change of a port.
    Port,
    /// A look at the manager's own port.
    OwnPort,
    /// A look at the states of a switch's ports.
    Look,
    /// A table that is read again after this sweep.
    Promise {
        /// Its number.
        sweep: u64,
    },
    /// The election, about another manager.
    Sm(Question),
}

/// The manager of one fabric.
///
/// Call [`Manager::handle`] with each input, then [`Manager::poll`] until it returns nothing;
/// call [`Manager::handle`] with [`Input::Tick`] at [`Manager::deadline`], for the first
/// time to start the first sweep. Requests expire with [`Input::Tick`] only: a caller that was delayed
/// first passes in datagrams that have arrived meanwhile.
#[derive(Debug, Clone, State)]
pub struct Manager {
    settings: Settings,
    /// The fabric as its devices have confirmed it.
    devices: Devices,
    requests: Requests,
    sweep: Sweep,
    /// The intended state of the fabric.
    planning: Planning,
    out: Outbox,
    commands: Commands,
    /// Role of this manager among others.
    election: Election,
    /// Registrations of clients at subnet administration.
    registrations: Registrations,
    /// The master's state, of a standby.
    inheritance: Inheritance,
}

/// Requests to devices, and the order of nodes.
#[derive(Debug, Clone, State)]
struct Requests {
    transactions: Transactions<Tag>,
    /// The request that is being made.
    #[state(skip)]
    batch: Batch,
    schedule: Schedule,
    /// There is more to do at once, after other inputs.
    more_at: Option<Tick>,
    own_port: OwnPort,
    looks: Looks,
    promises: Promises,
}

impl Manager {
    /// A manager that begins its first sweep with the first input. `stored` is the last
    /// [`Output::Persist`], of a manager whose time counts from the same moment as this one's; unusable data is
    /// reported and ignored.
    pub fn new(settings: Settings, stored: Option<&[u8]>) -> Self {
        let requests = Requests {
            transactions: Transactions::new(settings.requests.budget()),
            batch: Batch::default(),
            schedule: Schedule::default(),
            more_at: None,
            own_port: OwnPort::default(),
            looks: Looks::default(),
            promises: Promises::default(),
        };
        let planning = Planning::new(LoopTest::configured(settings.loop_test));
        let mut manager = Self {
            settings,
            devices: Devices::default(),
            requests,
            sweep: Sweep::default(),
            planning,
            out: Outbox::default(),
            commands: Commands::default(),
            election: Election::default(),
            registrations: Registrations::default(),
            inheritance: Inheritance::default(),
        };
        if let Some(stored) = stored {
            manager.load(stored);
        }
        manager
    }

    /// Takes an input. `now` never goes back.
    pub fn handle(&mut self, now: Tick, input: Input) {
        self.take(now, |manager| match input {
            Input::Tick => manager.expire(now),
            Input::Received(packet) => manager.received(now, &packet),
            Input::Command { id, command } => manager.command(now, id, command),
            Input::Multicast(groups) => manager.registrations.told(groups),
            Input::CopiedFrom(master) => manager.registrations.copied_from = master,
            Input::MulticastStorm(storm) => manager.multicast_storm(now, storm),
            Input::LinkErrors(all) => manager.links_with_errors(now, &all),
            Input::Planned(planned) => manager.planned(now, *planned),
            Input::Detached => manager.end_commands(),
        });
    }

    /// Takes a datagram as [`Input::Received`] does; it stays with the caller.
    pub fn receive(&mut self, now: Tick, packet: &Packet) {
        self.take(now, |manager| manager.received(now, packet));
    }

    /// Takes an input by `take`, and does what is due besides.
    fn take(&mut self, now: Tick, take: impl FnOnce(&mut Self)) {
        self.tell_election(now, election::Input::Begun);
        take(self);
        self.tell_election(now, election::Input::Tick);
        self.next_port_change(now);
        self.release_links(now);
        self.release_isolated(now);
        self.end_stale_pause(now);
        self.start_due_sweep(now);
        self.read_own_port(now);
        self.pump(now);
        self.requests.transactions.settle();
        self.election.end_input(self.deadline());
    }

    /// Takes what a standby is told of its master, of which a master knows better, and what a master is told of copies.
    pub fn tell(&mut self, now: Tick, told: Told) {
        match told {
            Told::MasterSuspected(master, why) => {
                self.tell_election(now, election::Input::Suspected(master, &why));
            }
            Told::Behind(behind) => self.tell_election(now, election::Input::Behind(behind)),
            Told::OtherSettings(unlike) => {
                self.tell_election(now, election::Input::OtherSettings(unlike));
            }
            Told::Copied(to) => self.tell_election(now, election::Input::Copied(to)),
            Told::Mandate(mandate) => {
                self.tell_election(now, election::Input::Mandated(mandate));
            }
            told if !self.election.is_master() => self.keep_told(told),
            _ => {}
        }
        self.handle(now, Input::Tick);
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
            self.own_port_due(),
            self.devices.flapping.deadline(),
            self.devices.isolation.deadline(),
            self.sweep.steps.leftovers_until(),
            self.requests.more_at,
            self.planning.look_at(self.election.now()),
            self.election.deadline(),
            self.pause_end(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The published snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.out.published)
    }

    /// Changes the settings; a sweep brings the fabric in line with them.
    pub fn reconfigure(&mut self, now: Tick, settings: Settings) {
        if self.settings != settings {
            // A plan that was made before does not know of these.
            self.planning.epoch += 1;
        }
        self.put_in_force(now, settings);
    }

    fn put_in_force(&mut self, now: Tick, settings: Settings) {
        self.requests
            .transactions
            .set_budget(settings.requests.budget());
        if self.settings.links.flapping != settings.links.flapping {
            self.devices.flapping.forgive_all();
        }
        self.configure_loop_test(settings.loop_test);
        if self.settings.fencing != settings.fencing {
            self.devices.doubt_keys();
        }
        let other_rules = self.settings.links.errors != settings.links.errors;
        self.settings = settings;
        if other_rules {
            self.follow_link_rules(now);
        }
        self.plan_again();
        self.sweep
            .request(now, SweepReason::Reconfigured, &self.settings.sweeps);
        self.handle(now, Input::Tick);
    }
}
