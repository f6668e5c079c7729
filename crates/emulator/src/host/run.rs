//! The thread that runs the core: receives commands, advances time, sends datagrams.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use weft_fabric::Tick;
use weft_transport::{Attach, Endpoint, ToFabric, Welcome};
use weft_wire::packet::Packet;

use super::clients::{Clients, Gone, Place};
use super::status::{place_of, port_status};
use super::{AttachError, Attached, ClientId, Command, Patience, connection};
use crate::Emulator;
use crate::io::{Control, Input, Output};

/// Commands that are carried out before the datagrams that come of them are sent on.
const AT_ONCE: usize = 64;
/// The runtime's timer counts milliseconds; shorter waits are made of such naps.
const TIMER: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(50);

/// Longest time for which datagrams are carried out before what comes of them is sent on, one datagram aside: programs wait
/// some 35 ms for an answer.
const HELD: Duration = Duration::from_millis(2);
/// When a program that did not take a batch is tried again.
const RETRY: Duration = Duration::from_millis(1);

struct Runner {
    emulator: Emulator,
    clients: Clients,
    start: Instant,
    /// [`Emulator::changes`] when port states were last reported to programs.
    told: u64,
    /// When datagrams were last sent on.
    given_out: Instant,
}

/// Runs until it is stopped, or all senders of commands have gone.
pub(super) async fn run(emulator: Emulator, mut commands: mpsc::Receiver<Command>) {
    let mut runner = Runner {
        emulator,
        clients: Clients::default(),
        start: Instant::now(),
        told: 0,
        given_out: Instant::now(),
    };
    let mut waiting = Vec::with_capacity(AT_ONCE);
    loop {
        let wake = runner.wake();
        tokio::select! {
            biased;
            count = commands.recv_many(&mut waiting, AT_ONCE) => {
                if count == 0 {
                    return;
                }
                for command in waiting.drain(..) {
                    if runner.obey(command).is_break() {
                        return;
                    }
                }
            }
            () = pause(wake), if wake.is_some() => runner.input(Input::Tick),
        }
        runner.give_out();
    }
}

/// Waits until `wake`, or a part of the time.
async fn pause(wake: Option<Instant>) {
    let left = wake.map(|wake| wake.saturating_duration_since(Instant::now()));
    match left {
        Some(left) if left >= TIMER => tokio::time::sleep(left - TIMER / 2).await,
        Some(left) => {
            std::thread::sleep(left.min(NAP));
            tokio::task::yield_now().await;
        }
        None => {}
    }
}

impl Runner {
    fn now(&self) -> Tick {
        Tick(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// When there is something to do next: in the fabric, or for a program that may take now what
    /// it did not take before.
    fn wake(&self) -> Option<Instant> {
        let deadline = self.emulator.deadline();
        let event = deadline.and_then(|Tick(at)| self.start.checked_add(Duration::from_nanos(at)));
        let retry = self.clients.has_backlog().then(|| Instant::now() + RETRY);
        event.into_iter().chain(retry).min()
    }

    /// Passes an input that cannot be wrong to the core: it was checked before.
    fn input(&mut self, input: Input) {
        let now = self.now();
        if let Err(error) = self.emulator.handle(now, input) {
            tracing::error!(%error, "the emulator refused");
        }
    }

    fn obey(&mut self, command: Command) -> ControlFlow<()> {
        match command {
            Command::Sent { client, sent } => self.sent(client, sent),
            Command::Attach {
                attach,
                classes,
                patience,
                inbox,
                reply,
            } => {
                let attached = self.attach(&attach, classes, patience, inbox);
                // The requester may have gone; then its end is dropped, which detaches it.
                drop(reply.send(attached));
            }
            Command::Detach { client } => {
                let gone = self.clients.detach(client);
                self.forget(gone);
            }
            Command::Control { control, reply } => {
                let now = self.now();
                let done = self.emulator.handle(now, Input::Control(control));
                drop(reply.send(done.map(|()| now)));
            }
            Command::Inspect(look) => look(&self.emulator),
            Command::Stop => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn sent(&mut self, client: ClientId, sent: ToFabric) {
        match sent {
            ToFabric::Packets(packets) => self.packets(client, packets),
            ToFabric::IsSm(is_sm) => {
                if let Some((place, runs)) = self.clients.set_is_sm(client, is_sm) {
                    self.set_is_sm(place, runs);
                }
            }
            ToFabric::Watch => {
                self.clients.watch(client);
                self.tell_ports();
            }
            ToFabric::Register(registration) => self.clients.register(client, registration),
            ToFabric::Unregister(token) => self.clients.unregister(client, token),
        }
    }

    fn packets(&mut self, client: ClientId, packets: Vec<Packet>) {
        let Some(place) = self.clients.place(client) else {
            return;
        };
        let (node, port) = place;
        for packet in packets {
            self.clients.note_request(client, place, &packet);
            self.input(Input::Send { node, port, packet });
            if self.given_out.elapsed() >= HELD {
                self.give_out();
            }
        }
    }

    fn attach(
        &mut self,
        attach: &Attach,
        classes: Vec<u8>,
        patience: Patience,
        inbox: mpsc::Sender<Command>,
    ) -> Result<Attached, AttachError> {
        let place = place_of(&self.emulator, attach)?;
        let (connection, endpoint) = connection(place.0, place.1, patience);
        let Endpoint { receiver, sender } = endpoint;
        let (client, number) = self.clients.attach(place, classes, patience, sender)?;
        tokio::spawn(forward(client, receiver, inbox));
        let (guid, port) = place;
        let welcome = Welcome {
            guid,
            port,
            client: number,
        };
        Ok(Attached {
            connection,
            welcome,
        })
    }

    fn set_is_sm(&mut self, (node, port): Place, is_sm: bool) {
        self.input(Input::Control(Control::IsSm { node, port, is_sm }));
    }

    fn forget(&mut self, gone: Option<Gone>) {
        if let Some(gone) = gone.filter(|gone| gone.was_sm) {
            self.set_is_sm(gone.place, false);
        }
    }

    /// Reports changed port states to the programs that watch them.
    fn tell_ports(&mut self) {
        self.told = self.emulator.changes();
        let emulator = &self.emulator;
        self.clients
            .tell_ports(|place| port_status(emulator, place));
    }

    /// Takes all datagrams out of the core and sends them to the programs.
    fn give_out(&mut self) {
        if self.told != self.emulator.changes() {
            self.tell_ports();
        }
        while let Some(Output::Deliver { node, port, packet }) = self.emulator.poll() {
            if !self.clients.deliver((node, port), packet) {
                tracing::debug!(%node, %port, "no program takes a datagram");
            }
        }
        for gone in self.clients.flush() {
            self.forget(Some(gone));
        }
        self.given_out = Instant::now();
    }
}

/// Forwards a program's datagrams to the core, until one of them has gone.
async fn forward(
    client: ClientId,
    mut receiver: mpsc::Receiver<ToFabric>,
    inbox: mpsc::Sender<Command>,
) {
    while let Some(sent) = receiver.recv().await {
        let command = Command::Sent { client, sent };
        if inbox.send(command).await.is_err() {
            return;
        }
    }
    // The core may have stopped.
    let _detached = inbox.send(Command::Detach { client }).await;
}
