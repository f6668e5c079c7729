//! The thread that owns the manager: datagrams and commands in, everything else out.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{self, MissedTickBehavior};
use tracing::{debug, info, warn};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Snapshot, Tick};
use weft_manager::sm::Settings;
use weft_manager::sm::drains::Drains;
use weft_manager::sm::reroute::{Arrangement, Basis, Change, Condition, RerouteError};
use weft_manager::{
    Command, CommandError, Event, Input, Manager, MulticastLid, Output, PortAction, Reply,
    SweepPhase,
};
use weft_transport::{Closed, Connection};
use weft_wire::packet::Packet;

use crate::fabric::Source;
use crate::hub::{Happening, Hub};
use crate::metrics::Metrics;
use crate::narrate::narrate;
use crate::store::Latest;
use crate::switchboard::{Line, Switchboard};

/// Requests that wait for the manager's thread.
pub(crate) const REQUESTS_MAX: usize = 64;
/// How often the thread says that it is alive and brings its counters up to date.
pub(crate) const HEARTBEAT: Duration = Duration::from_millis(250);
/// Longest pause between two attempts to reach a fabric that has gone.
const REATTACH_PAUSE_MAX: Duration = Duration::from_secs(5);

/// How long answers that may be on their way are waited for before a request counts as unanswered.
const LATE: Duration = Duration::from_millis(1);
/// Batches of them that are taken in at most.
const LATE_MAX: usize = 64;

/// What others ask of the manager.
pub(crate) enum Request {
    /// Sweep; the answer is the number of the sweep that will have seen everything from now on.
    Sweep(oneshot::Sender<u64>),
    /// Change a port.
    Port {
        node: Guid,
        port: PortNum,
        action: PortAction,
        done: oneshot::Sender<Result<(), CommandError>>,
    },
    /// Go on with other settings.
    Reconfigure(Box<Settings>),
    /// What a plan of a change depends on.
    Basis {
        change: Change,
        done: oneshot::Sender<Result<Box<Basis>, RerouteError>>,
    },
    /// Put an arrangement in force.
    Adopt {
        condition: Condition,
        wanted: Box<Arrangement>,
        done: oneshot::Sender<Result<Adopted, RerouteError>>,
    },
    /// What is drained.
    Drains(oneshot::Sender<Drains>),
}

/// An arrangement that has been put in force.
pub(crate) struct Adopted {
    /// The one that was in force.
    pub(crate) before: Arrangement,
    /// Number of the sweep that will have brought the fabric in line.
    pub(crate) sweep: u64,
}

pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Waits for the future where there is one, for ever where there is none.
pub(crate) async fn finish<T>(future: &mut Option<BoxFuture<T>>) -> T {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

/// What ends the work on one connection.
enum End {
    Stopped,
    FabricGone,
}

/// The manager with all that connects it.
pub(crate) struct Engine {
    manager: Manager,
    hub: Arc<Hub>,
    metrics: Arc<Metrics>,
    start: Instant,
    persist: watch::Sender<Latest>,
    /// When the thread was alive last.
    alive: watch::Sender<Instant>,
    next_id: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<(), CommandError>>>,
    last_sweep: u64,
    to_send: Vec<Packet>,
    switchboard: Switchboard,
    queries: ToQueries,
}

/// What the thread that answers queries is told, and tells.
pub(crate) struct ToQueries {
    /// The fabric; none while another manager runs it.
    pub(crate) snapshot: watch::Sender<Option<Arc<Snapshot>>>,
    /// Notices for those who subscribed; what finds no room is dropped.
    pub(crate) notices: mpsc::Sender<Vec<u8>>,
    /// Who is in which multicast group; none before it is known.
    pub(crate) multicast: watch::Receiver<Option<Vec<MulticastLid>>>,
}

impl Engine {
    pub(crate) fn new(
        manager: Manager,
        hub: Arc<Hub>,
        metrics: Arc<Metrics>,
        persist: watch::Sender<Latest>,
        alive: watch::Sender<Instant>,
        switchboard: Switchboard,
        queries: ToQueries,
    ) -> Self {
        Self {
            manager,
            hub,
            metrics,
            start: Instant::now(),
            persist,
            alive,
            next_id: 0,
            waiting: HashMap::new(),
            last_sweep: 0,
            to_send: Vec::new(),
            switchboard,
            queries,
        }
    }

    /// Runs until `stop` says so, or the fabric is gone for good.
    pub(crate) async fn run(
        mut self,
        source: &Source,
        mut connection: Connection,
        mut requests: mpsc::Receiver<Request>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<(), String> {
        // Known before the first sweep, so that it programs the groups that are there from the start.
        self.multicast_told();
        self.handle(Input::Tick);
        loop {
            let line = self.switchboard.connect(connection).await;
            match self.drive(line, &mut requests, &mut stop).await {
                End::Stopped => return Ok(()),
                End::FabricGone if !source.can_return() => {
                    return Err("the emulated fabric has ended".to_owned());
                }
                End::FabricGone => warn!("the connection to the fabric is lost"),
            }
            let Some(again) = self.reattach(source, &mut stop).await else {
                return Ok(());
            };
            connection = again;
            info!("the fabric is there again");
            self.command(Command::Sweep, None);
        }
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
        let mut heartbeat = time::interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        if sender.set_is_sm(true).await.is_err() {
            return End::FabricGone;
        }
        loop {
            if sending.is_none() && !self.to_send.is_empty() {
                let (batch, sender) = (std::mem::take(&mut self.to_send), sender.clone());
                sending = Some(Box::pin(async move { sender.send(batch).await }));
            }
            let pause = self.pause();
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return End::Stopped,
                sent = finish(&mut sending) => match sent {
                    Ok(()) => sending = None,
                    Err(Closed) => return End::FabricGone,
                },
                batch = receiver.recv() => match batch {
                    Some(batch) => self.receive(batch),
                    None => return End::FabricGone,
                },
                Some(request) = requests.recv() => self.request(request),
                Ok(()) = self.queries.multicast.changed() => self.multicast_told(),
                () = time::sleep(pause) => {
                    self.receive_late(&mut receiver).await;
                    self.handle(Input::Tick);
                }
                _ = heartbeat.tick() => self.report(),
            }
        }
    }

    /// Tries until the fabric is there again; none when it shall stop.
    async fn reattach(
        &mut self,
        source: &Source,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Connection> {
        let mut pause = HEARTBEAT;
        self.to_send.clear();
        loop {
            self.report();
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return None,
                () = time::sleep(pause) => {}
            }
            match source.attach().await {
                Ok(connection) => return Some(connection),
                Err(error) => debug!(%error, "the fabric is still gone"),
            }
            pause = (pause * 2).min(REATTACH_PAUSE_MAX);
        }
    }

    fn now(&self) -> Tick {
        Tick(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long the manager has nothing to do by itself.
    fn pause(&self) -> Duration {
        let far = Duration::from_secs(3600);
        let now = self.now();
        self.manager
            .deadline()
            .map_or(far, |at| at.since(now).min(far))
    }

    fn receive(&mut self, batch: Vec<Packet>) {
        let now = self.now();
        for packet in batch {
            self.manager.handle(now, Input::Received(packet));
        }
        self.drain();
    }

    /// Takes what has arrived and what comes at once: this thread may have been busy for so long that
    /// the answers to its requests wait, some of them still in the socket.
    async fn receive_late(&mut self, receiver: &mut mpsc::Receiver<Vec<Packet>>) {
        for _ in 0..LATE_MAX {
            if !self.pause().is_zero() {
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

    fn request(&mut self, request: Request) {
        match request {
            Request::Sweep(told) => {
                // Who asked may have gone.
                let _ = told.send(self.last_sweep + 1);
                self.command(Command::Sweep, None);
            }
            Request::Port {
                node,
                port,
                action,
                done,
            } => {
                self.command(Command::Port { node, port, action }, Some(done));
            }
            Request::Reconfigure(settings) => {
                self.manager.reconfigure(self.now(), *settings);
                self.drain();
            }
            Request::Basis { change, done } => {
                let basis = self.manager.basis(change).map(Box::new);
                let _ = done.send(basis);
            }
            Request::Adopt {
                condition,
                wanted,
                done,
            } => {
                let adopted = self.manager.adopt(self.now(), &condition, *wanted);
                let adopted = adopted.map(|(before, sweep)| Adopted { before, sweep });
                let _ = done.send(adopted);
                self.drain();
            }
            Request::Drains(told) => {
                let _ = told.send(self.manager.arrangement().drains);
            }
        }
    }

    fn command(
        &mut self,
        command: Command,
        done: Option<oneshot::Sender<Result<(), CommandError>>>,
    ) {
        self.next_id += 1;
        let id = self.next_id;
        if let Some(done) = done {
            self.waiting.insert(id, done);
        }
        self.handle(Input::Command { id, command });
    }

    fn drain(&mut self) {
        while let Some(output) = self.manager.poll() {
            match output {
                Output::Send(packet) => self.to_send.push(packet),
                Output::Publish(snapshot) => self.publish(&snapshot),
                Output::Persist(bytes) => {
                    self.persist.send_replace(Some(bytes));
                }
                Output::Event(event) => self.event(event),
                Output::Notice(notice) => {
                    let _ = self.queries.notices.try_send(notice);
                }
                Output::Reply { id, result } => self.reply(id, result),
            }
        }
    }

    fn publish(&self, snapshot: &Snapshot) {
        self.hub.publish(snapshot);
        let is_master = self.queries.snapshot.borrow().is_some();
        if is_master {
            self.queries
                .snapshot
                .send_replace(Some(self.hub.snapshot()));
        }
    }

    /// Who does not run the fabric does not answer for it.
    fn take_role(&self, role: SmState) {
        let snapshot = (role == SmState::MASTER).then(|| self.hub.snapshot());
        self.queries.snapshot.send_replace(snapshot);
    }

    fn multicast_told(&mut self) {
        let groups = self.queries.multicast.borrow_and_update().clone();
        if let Some(groups) = groups {
            self.handle(Input::Multicast(groups));
        }
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::Role { role, .. } => self.take_role(*role),
            // The end of the sweep is told by its report.
            Event::Phase(SweepPhase::Idle) => return,
            Event::SweepStarted { number, .. } => self.last_sweep = *number,
            Event::SweepEnded(report) => self.metrics.sweep(report),
            _ => {}
        }
        // Who waits for an event, or for its line in the log, then finds the status that goes with it.
        if matches!(event, Event::SweepEnded(_) | Event::Role { .. }) {
            self.report();
        }
        self.hub.tell(Happening::Fabric(event.clone()));
        narrate(&event);
    }

    fn reply(&mut self, id: u64, result: Result<Reply, CommandError>) {
        if let Err(error) = &result {
            warn!(%error, "a command was not carried out");
        }
        if let Some(done) = self.waiting.remove(&id) {
            // Who asked may have gone.
            let _ = done.send(result.map(|_| ()));
        }
    }

    fn report(&self) {
        self.alive.send_replace(Instant::now());
        self.hub.set_status(self.manager.status());
    }
}
