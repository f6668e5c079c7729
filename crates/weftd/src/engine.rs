//! The thread that owns the manager: datagrams and commands in, everything else out.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{self, MissedTickBehavior};
use tracing::{debug, info, warn};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Snapshot, Tick, text};
use weft_manager::link_errors::LinkExcess;
use weft_manager::sm::Told;
use weft_manager::{
    Command, CommandError, Event, Input, MulticastLid, MulticastStorm, Output, PortOrder, Reply,
    SweepPhase,
};
use weft_replay::Recorded;
use weft_transport::{Closed, Connection};
use weft_wire::packet::Packet;

use crate::attachment::Detached;
use crate::clock::Clock;
use crate::error::DaemonError;
use crate::event::DaemonEvent;
use crate::event_hub::EventHub;
use crate::fabric::Source;
use crate::mad_dispatch::{Line, MadDispatch};
use crate::metrics::Metrics;
use crate::planner::Plans;
use crate::request::{Adopted, HealthState, Kept, MayChange, Replacing, Request};
use crate::store::Latest;

/// Interval at which the thread publishes its counters.
const REPORT: Duration = Duration::from_millis(250);
/// Pause between two attempts to reach a fabric that has gone, at first and at most.
const REATTACH_PAUSE: Duration = Duration::from_millis(250);
const REATTACH_PAUSE_MAX: Duration = Duration::from_secs(5);
/// Datagrams that wait to be sent; while there are more, none is taken in: an answer may lead to more.
const TO_SEND_MAX: usize = 65_536;

/// Grace period for answers in transit before a request counts as unanswered.
const LATE: Duration = Duration::from_millis(1);
/// Batches of them that are taken in at most.
const LATE_MAX: usize = 64;

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Waits for the future where there is one, for ever where there is none.
pub(crate) async fn finish<T>(future: &mut Option<BoxFuture<T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

/// Reason for the end of a connection's work.
enum End {
    Stopped,
    FabricGone,
}

/// A command to change a port whose answer has not come.
struct PortCommand {
    order: PortOrder,
    done: oneshot::Sender<Result<u64, CommandError>>,
}

/// The manager with all that connects it.
pub(crate) struct Engine {
    manager: Recorded,
    plans: Plans,
    hub: Arc<EventHub>,
    metrics: Arc<Metrics>,
    clock: Clock,
    persist: watch::Sender<Latest>,
    last_id: u64,
    ports: HashMap<u64, PortCommand>,
    last_sweep: u64,
    to_send: Vec<Packet>,
    dispatch: MadDispatch,
    queries: ToQueries,
    /// The members of groups that were told last are another master's.
    inherits: bool,
}

/// Channels to and from the queries thread.
pub(crate) struct ToQueries {
    /// The fabric; none while another manager runs it.
    pub(crate) snapshot: watch::Sender<Option<Arc<Snapshot>>>,
    /// Notices for subscribers; dropped if the channel is full.
    pub(crate) notices: mpsc::Sender<Vec<u8>>,
    /// What this manager is.
    pub(crate) role: watch::Sender<Role>,
    /// Members of each multicast group; `None` before they are known.
    pub(crate) multicast: watch::Receiver<Option<Memberships>>,
    /// Ports that end multicast groups too often.
    pub(crate) storms: mpsc::Receiver<MulticastStorm>,
    /// The links that break a rule for links with errors, by each reading of the counters.
    pub(crate) errors: mpsc::Receiver<Vec<LinkExcess>>,
    /// Registrations were lost; sent before the snapshot of the sweep that found it.
    pub(crate) lost: watch::Sender<Lost>,
}

/// Multicast groups from registrations received since the `loss`th loss.
#[derive(Debug, Clone)]
pub(crate) struct Memberships {
    pub(crate) loss: u64,
    /// Port of the master that they were copied from by DbSync, none where they are this manager's own.
    pub(crate) copied_from: Option<Guid>,
    pub(crate) groups: Vec<MulticastLid>,
    /// They are those that the other daemon of a pair, which is master, has promised.
    pub(crate) inherited: bool,
}

/// What this manager is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// It looks for a master, or takes no part.
    #[default]
    Neither,
    Master,
    /// It stands by for the manager on this port.
    Standby(Guid),
}

/// The registrations at subnet administration are void.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lost {
    /// Number of losses so far.
    pub(crate) loss: u64,
    /// Number of ports that are asked to register again.
    pub(crate) asked: usize,
}

impl Engine {
    pub(crate) fn new(
        manager: Recorded,
        plans: Plans,
        hub: Arc<EventHub>,
        metrics: Arc<Metrics>,
        persist: watch::Sender<Latest>,
        dispatch: MadDispatch,
        queries: ToQueries,
    ) -> Self {
        Self {
            manager,
            plans,
            hub,
            metrics,
            clock: Clock::start(),
            persist,
            last_id: 0,
            ports: HashMap::new(),
            last_sweep: 0,
            to_send: Vec::new(),
            dispatch,
            queries,
            inherits: false,
        }
    }

    /// Runs until `stop`, or until the fabric is gone for good.
    pub(crate) async fn run(
        mut self,
        source: &Source,
        mut connection: Connection,
        mut requests: mpsc::Receiver<Request>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), DaemonError> {
        // Known before the first sweep, so that it programs the groups that are there from the start.
        self.multicast_told();
        self.handle(Input::Tick);
        loop {
            let line = self.dispatch.connect(connection).await;
            match self.drive(line, &mut requests, &mut stop).await {
                End::Stopped => return Ok(()),
                End::FabricGone => match source.lost_for_good() {
                    Some(error) => return Err(error),
                    None => self.detached(),
                },
            }
            let again = tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return Ok(()),
                again = self.reattach(source, &mut requests) => again,
            };
            connection = again?;
            self.hub.set_attached(true);
            info!(event = "attached", "the fabric is back");
            self.command(Command::Sweep);
        }
    }

    /// The fabric is gone: pending datagrams are not sent when it is back.
    fn detached(&mut self) {
        self.hub.set_attached(false);
        warn!(
            event = "detached",
            "the fabric is gone: its HFI, driver or emulator does not answer any more; what is shown \
             from now on is what was seen last"
        );
        self.handle(Input::Detached);
        self.to_send.clear();
    }

    async fn drive(
        &mut self,
        line: Line,
        requests: &mut mpsc::Receiver<Request>,
        stop: &mut watch::Receiver<bool>,
    ) -> End {
        let Line {
            sender,
            mut receiver,
        } = line;
        let mut sending: Option<BoxFuture<Result<(), Closed>>> = None;
        let mut reports = time::interval(REPORT);
        reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        if sender.set_is_sm(true).await.is_err() {
            return End::FabricGone;
        }
        loop {
            if sending.is_none() && !self.to_send.is_empty() {
                let (batch, sender) = (std::mem::take(&mut self.to_send), sender.clone());
                self.hub.counters().sent(&batch);
                sending = Some(Box::pin(async move { sender.send(batch).await }));
            }
            let pause = self.pause();
            let room = self.has_room();
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return End::Stopped,
                sent = finish(&mut sending) => match sent {
                    Ok(()) => sending = None,
                    Err(Closed) => return End::FabricGone,
                },
                batch = receiver.recv(), if room => match batch {
                    Some(batch) => self.receive(batch),
                    None => return End::FabricGone,
                },
                Some(planned) = self.plans.next() => self.handle(Input::Planned(planned)),
                Some(request) = requests.recv() => self.request(request),
                Ok(()) = self.queries.multicast.changed() => self.multicast_told(),
                Some(storm) = self.queries.storms.recv() => self.handle(Input::MulticastStorm(storm)),
                Some(all) = self.queries.errors.recv() => self.handle(Input::LinkErrors(all)),
                () = time::sleep(pause), if room => {
                    self.receive_late(&mut receiver).await;
                    self.handle(Input::Tick);
                }
                _ = reports.tick() => {
                    self.report();
                    self.manager.flush();
                }
            }
        }
    }

    /// Tries until the fabric is back; meanwhile requests are answered, those that need it refused.
    ///
    /// # Errors
    /// [`DaemonError`] where it cannot come back to this process.
    async fn reattach(
        &mut self,
        source: &Source,
        requests: &mut mpsc::Receiver<Request>,
    ) -> Result<Connection, DaemonError> {
        let mut pause = REATTACH_PAUSE;
        loop {
            let wait = pause;
            let attempt = async move {
                time::sleep(wait).await;
                source.attach().await
            };
            let mut attempt = std::pin::pin!(attempt);
            let attached = loop {
                tokio::select! {
                    attached = &mut attempt => break attached,
                    Some(request) = requests.recv() => self.request(request),
                }
                self.to_send.clear();
            };
            match (attached, source.lost_for_good()) {
                (Ok(connection), _) => return Ok(connection),
                (Err(_), Some(error)) => return Err(error),
                (Err(error), None) => {
                    debug!(event = "still_detached", %error, "the fabric is still gone");
                }
            }
            self.report();
            pause = (pause * 2).min(REATTACH_PAUSE_MAX);
        }
    }

    /// The manager's clock.
    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    fn now(&self) -> Tick {
        self.clock.now()
    }

    /// Time until the manager's next deadline.
    fn pause(&self) -> Duration {
        let far = Duration::from_secs(3600);
        let now = self.now();
        self.manager
            .deadline()
            .map_or(far, |at| at.since(now).min(far))
    }

    /// Whether more may be received: a received datagram may need an answer.
    fn has_room(&self) -> bool {
        self.to_send.len() < TO_SEND_MAX
    }

    fn receive(&mut self, batch: Vec<Packet>) {
        let now = self.now();
        self.hub.counters().received(&batch);
        for packet in batch {
            self.manager.handle(now, Input::Received(packet));
        }
        self.drain();
    }

    /// Takes what has arrived and what comes at once: this thread may have been busy for so long that
    /// the answers to its requests wait, some of them still in the socket.
    async fn receive_late(&mut self, receiver: &mut mpsc::Receiver<Vec<Packet>>) {
        for _ in 0..LATE_MAX {
            if !self.has_room() || !self.pause().is_zero() {
                return;
            }
            match time::timeout(LATE, receiver.recv()).await {
                Ok(Some(batch)) => self.receive(batch),
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn handle(&mut self, input: Input) {
        self.manager.handle(self.now(), input);
        self.drain();
    }

    /// Executes a request, unless its requester has gone.
    fn request(&mut self, request: Request) {
        match request {
            Request::Tell(told) => {
                self.manager.tell(self.now(), told);
                self.drain();
            }
            Request::Sweep(told) => self.sweep(told),
            Request::Port { order, done } => self.port(order, done),
            Request::MayChange {
                ends,
                action,
                force,
                told,
            } => {
                if !told.is_closed() {
                    let may = self.manager.may_change(&ends, action, force);
                    let hops = |end: &(Guid, PortNum)| self.manager.hops_to(end.0);
                    let each = |results: Vec<_>| {
                        let results = results.into_iter().zip(&ends);
                        let each = results.map(|(result, end)| {
                            let hops = hops(end);
                            MayChange { result, hops }
                        });
                        each.collect()
                    };
                    let _ = told.send(may.map(each));
                }
            }
            Request::DisabledPorts(told) => {
                let _ = told.send(self.manager.disabled_ports());
            }
            Request::Reconfigure { settings, done } => {
                let before = self.manager.arrangement();
                self.manager.reconfigure(self.now(), *settings);
                self.drain();
                // The requester may have gone.
                let _ = done.send(before);
            }
            Request::Basis { change, done } => {
                if !done.is_closed() {
                    let _ = done.send(self.manager.basis(change).map(Box::new));
                }
            }
            Request::Adopt {
                condition,
                wanted,
                done,
            } => {
                let adopted = self.manager.adopt(self.now(), &condition, *wanted);
                self.drain();
                let state = self.persist.borrow().number;
                let _ = done.send(adopted.map(|(before, sweep)| Adopted {
                    before,
                    sweep,
                    state,
                }));
            }
            Request::RouteEpoch(told) => {
                let _ = told.send(self.manager.route_epoch());
            }
            Request::Drains(told) => {
                let _ = told.send(self.manager.arrangement().drains);
            }
            Request::Health(told) => {
                if !told.is_closed() {
                    let _ = told.send(Box::new(HealthState {
                        barred: self.manager.quarantine(self.now()),
                        drains: self.manager.arrangement().drains,
                        silent: self.manager.silent(),
                    }));
                }
            }
            Request::Quarantine(told) => {
                let _ = told.send(self.manager.quarantine(self.now()));
            }
            Request::Explain { port, told } => {
                if !told.is_closed() {
                    let _ = told.send(self.manager.explain(self.now(), port));
                }
            }
            Request::PutInQuarantine { port, order, done } => {
                if !done.is_closed() {
                    let sweep = self.last_sweep + 1;
                    let put = self.manager.put_in_quarantine(self.now(), port, order);
                    self.drain();
                    let state = self.persist.borrow().number;
                    let _ = done.send(put.map(|()| Kept { sweep, state }));
                }
            }
            Request::MayQuarantine { port, order, told } => {
                let _ = told.send(self.manager.may_quarantine(port, &order));
            }
            Request::Replacing(request) => self.replacing(request),
            Request::LoopTest { order, done } => {
                if !done.is_closed() {
                    let ordered = self.manager.order_loop_test(self.now(), order);
                    self.changed_at_once();
                    let _ = done.send(ordered);
                }
            }
            Request::LoopTestStatus(told) => {
                let _ = told.send(Box::new(self.manager.loop_test()));
            }
            Request::Pause { time, done } => {
                let paused = self.manager.pause_sweeps(self.now(), time);
                self.changed_at_once();
                // The requester may have gone; so below.
                let _ = done.send(paused);
            }
            Request::Resume(done) => {
                let was_paused = self.manager.resume_sweeps(self.now());
                self.changed_at_once();
                let _ = done.send(was_paused);
            }
            Request::RestorePriority(done) => {
                let restored = self.manager.restore_priority(self.now());
                self.changed_at_once();
                let _ = done.send(restored);
            }
            Request::Release { port, done } => {
                if !done.is_closed() {
                    let sweep = self.last_sweep + 1;
                    let released = self.manager.release(self.now(), port);
                    self.drain();
                    let state = self.persist.borrow().number;
                    let _ = done.send(released.then_some(Kept { sweep, state }));
                }
            }
        }
    }

    /// Executes a request about HFIs in the place of others.
    fn replacing(&mut self, request: Replacing) {
        let sweep = self.last_sweep + 1;
        match request {
            Replacing::List(told) => {
                let offers = self.manager.replacement_offers();
                // The requester may have gone.
                let _ = told.send((offers, self.manager.replacements(self.now())));
            }
            Replacing::Replace { done, .. } if done.is_closed() => {}
            Replacing::Replace { order, done } => {
                let is_change = !order.validate_only;
                let replaced = self.manager.replace(self.now(), order);
                self.drain();
                let state = self.persist.borrow().number;
                let kept = is_change.then_some(Kept { sweep, state });
                let _ = done.send(replaced.map(|replaced| (replaced, kept)));
            }
            Replacing::End { done, .. } if done.is_closed() => {}
            Replacing::End { guid, done } => {
                let ended = self.manager.end_replacement(self.now(), guid);
                self.drain();
                let state = self.persist.borrow().number;
                let _ = done.send(ended.map(|old| (old, Kept { sweep, state })));
            }
        }
    }

    /// Takes the outputs, and publishes the status, so that who asked finds it as it is now.
    fn changed_at_once(&mut self) {
        self.drain();
        self.report();
    }

    fn sweep(&mut self, told: oneshot::Sender<Result<u64, Detached>>) {
        if told.is_closed() {
            return;
        }
        let attached = self.hub.attachment().required();
        let begins = attached.is_ok();
        // The requester may have gone.
        let _ = told.send(attached.map(|()| self.last_sweep + 1));
        if begins {
            self.command(Command::Sweep);
        }
    }

    fn port(&mut self, order: PortOrder, done: oneshot::Sender<Result<u64, CommandError>>) {
        if done.is_closed() {
            return;
        }
        if !self.hub.attachment().attached {
            let _ = done.send(Err(CommandError::Detached { begun: false }));
        } else {
            let id = self.next_id();
            let command = Command::Port(order.clone());
            self.ports.insert(id, PortCommand { order, done });
            self.handle(Input::Command { id, command });
        }
    }

    fn command(&mut self, command: Command) {
        let id = self.next_id();
        self.handle(Input::Command { id, command });
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll() {
            match output {
                Output::Send(packet) => self.to_send.push(packet),
                Output::Plan(input) => self.plans.begin(input),
                Output::Publish(snapshot) => self.publish(&snapshot),
                Output::Persist(bytes) => self.persist.send_modify(|latest| {
                    latest.number += 1;
                    latest.bytes = bytes.into();
                }),
                Output::Event(event) => self.event(event),
                Output::Notice(notice) => {
                    let _ = self.queries.notices.try_send(notice);
                }
                Output::RegistrationsLost { asked } => self.registrations_lost(asked),
                Output::Reply { id, result } => self.reply(id, result),
            }
        }
        // Who follows the master tells registrations again at its next sign of life.
        if self.hub.status().registration_doubts != self.manager.registration_doubts() {
            self.report();
        }
    }

    fn publish(&self, snapshot: &Snapshot) {
        self.routing_told();
        self.hub.publish(snapshot);
        let is_master = self.queries.snapshot.borrow().is_some();
        if is_master {
            self.queries
                .snapshot
                .send_replace(Some(self.hub.snapshot()));
        }
    }

    /// A manager that is not master does not answer for the fabric.
    fn take_role(&self, role: SmState, master: Option<Guid>) {
        self.queries.role.send_replace(match (role, master) {
            (SmState::MASTER, _) => Role::Master,
            (SmState::STANDBY, Some(master)) => Role::Standby(master),
            _ => Role::Neither,
        });
        let snapshot = (role == SmState::MASTER).then(|| self.hub.snapshot());
        self.queries.snapshot.send_replace(snapshot);
    }

    fn registrations_lost(&self, asked: usize) {
        if asked > 0 {
            info!(
                event = "registrations_lost",
                asked,
                "{} asked to register again",
                text::count_and(asked, "port", ["is", "are"])
            );
        }
        self.queries.lost.send_modify(|lost| {
            lost.loss += 1;
            lost.asked = asked;
        });
    }

    fn multicast_told(&mut self) {
        let loss = self.queries.lost.borrow().loss;
        let told = self.queries.multicast.borrow_and_update().clone();
        // Memberships from before a loss are void.
        let told = told.filter(|told| told.loss == loss);
        let Some(Memberships {
            groups,
            copied_from,
            inherited,
            ..
        }) = told
        else {
            return;
        };
        self.handle(Input::Multicast(groups));
        self.handle(Input::CopiedFrom(copied_from));
        if std::mem::replace(&mut self.inherits, inherited) || inherited {
            self.manager
                .tell(self.now(), Told::Registrations(inherited));
            self.drain();
        }
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::Role { role, master, .. } => self.take_role(*role, *master),
            // The report announces the end of the sweep.
            Event::Phase(SweepPhase::Idle) => return,
            Event::SweepStarted { number, .. } => self.last_sweep = *number,
            Event::SweepEnded(report) => {
                self.metrics.sweep(report);
                self.hub.counters().sweep(report);
            }
            Event::SweepsPaused(_) | Event::SweepsResumed { .. } => self.report(),
            _ => {}
        }
        // Anyone who waits for an event, or for its log line, then finds the matching status.
        if matches!(event, Event::SweepEnded(_) | Event::Role { .. }) {
            self.report();
        }
        self.hub.tell(DaemonEvent::Fabric(event));
    }

    fn reply(&mut self, id: u64, result: Result<Reply, CommandError>) {
        let state = self.persist.borrow().number;
        let unheard = match (self.ports.remove(&id), result.map(|_| state)) {
            (Some(PortCommand { order, done }), result) => {
                if result.is_ok() {
                    // Before the events of the sweep that it causes.
                    self.hub.tell(DaemonEvent::Port(Box::new(order)));
                }
                done.send(result).err().and_then(Result::err)
            }
            (None, result) => result.err(),
        };
        if let Some(error) = unheard {
            warn!(event = "command_failed", %error, "a command was not carried out");
        }
    }

    /// Publishes what people have decided about routes, where that has changed.
    fn routing_told(&self) {
        let told = self.hub.routing();
        if !told.is_some_and(|told| self.manager.has_routing_state(&told)) {
            self.hub.set_routing(self.manager.routing_state());
        }
    }

    fn report(&self) {
        self.routing_told();
        self.hub.set_status(self.manager.status());
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
