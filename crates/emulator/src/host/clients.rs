//! Delivery of datagrams to programs that share a host, as a kernel does it.
//!
//! Requests and traps go to the program that serves their class, answers to the program whose
//! request had their transaction id.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use weft_fabric::{Guid, PortNum};
use weft_transport::frame::CLIENT_NUMBERS;
use weft_transport::{FromFabric, PortStatus, Registration};
use weft_wire::bits::load;
use weft_wire::header::method;
use weft_wire::packet::Packet;

use super::numbers::Numbers;
use super::outbox::Outbox;
use super::{AttachError, ClientId, Patience};

/// Most programs: one on each host of a fabric of 27,648, and the managers' and operators' own; one
/// more is refused. Of sockets the system's limit of open files usually allows fewer.
pub(super) const CLIENTS_MAX: usize = 32_768;
/// Requests of a host's programs that are remembered; the oldest is forgotten first.
const REQUESTS_MAX: usize = 65_536;
/// Most registrations of a program; more are refused.
const REGISTRATIONS_MAX: usize = 256;

/// A port of an HFI.
pub(super) type Place = (Guid, PortNum);

struct Client {
    place: Place,
    number: u32,
    classes: Vec<u8>,
    is_sm: bool,
    sender: mpsc::Sender<FromFabric>,
    /// Datagrams for the next [`Clients::flush`], as far as the program accepts them.
    outbox: Outbox,
    registrations: Vec<Registration>,
    /// Its port's state when it was last reported, if the program watches it.
    watched: Option<Option<PortStatus>>,
}

impl Client {
    fn serves(&self, mad: &[u8]) -> bool {
        let class = mad.get(1).copied().unwrap_or(0);
        self.classes.contains(&class) || self.registrations.iter().any(|own| own.wants(mad))
    }

    /// Whether it already receives some of the requests in `wanted`.
    fn collides(&self, wanted: &Registration) -> bool {
        self.classes.contains(&wanted.class)
            || self.registrations.iter().any(|own| own.collides(wanted))
    }
}

/// The programs on one port of a host.
#[derive(Default)]
struct Host {
    /// In the order in which they came.
    clients: Vec<ClientId>,
    /// Requesters, by class and transaction id; kept only while several programs are attached.
    requests: HashMap<(u8, u64), ClientId>,
    order: VecDeque<(u8, u64)>,
}

/// All programs.
pub(super) struct Clients {
    clients: BTreeMap<ClientId, Client>,
    hosts: BTreeMap<Place, Host>,
    /// Those with a batch that is not empty, each once.
    waiting: Vec<ClientId>,
    next: ClientId,
    numbers: Numbers,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            clients: BTreeMap::new(),
            hosts: BTreeMap::new(),
            waiting: Vec::new(),
            next: 0,
            numbers: Numbers::below(CLIENT_NUMBERS),
        }
    }
}

/// A program that has gone, or was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) place: Place,
    /// It was the last one there that said it runs a subnet manager.
    pub(super) was_sm: bool,
}

impl Clients {
    /// Lets a program in.
    pub(super) fn attach(
        &mut self,
        place: Place,
        classes: Vec<u8>,
        patience: Patience,
        sender: mpsc::Sender<FromFabric>,
    ) -> Result<(ClientId, u32), AttachError> {
        let full = AttachError::Full { max: CLIENTS_MAX };
        if self.clients.len() >= CLIENTS_MAX {
            return Err(full);
        }
        let taken = classes.iter().find(|class| self.is_served(place, **class));
        if let Some(class) = taken {
            let (node, port) = place;
            let class = *class;
            return Err(AttachError::ClassTaken { node, port, class });
        }
        let number = self.numbers.lend().ok_or(full)?;
        let id = self.next;
        self.next += 1;
        self.hosts.entry(place).or_default().clients.push(id);
        let client = Client {
            place,
            number,
            classes,
            is_sm: false,
            sender,
            outbox: Outbox::new(patience),
            registrations: Vec::new(),
            watched: None,
        };
        self.clients.insert(id, client);
        Ok((id, number))
    }

    /// The programs at a place.
    fn at(&self, place: Place) -> impl Iterator<Item = (ClientId, &Client)> {
        let host = self.hosts.get(&place);
        let ids = host.into_iter().flat_map(|host| &host.clients);
        ids.filter_map(|id| Some((*id, self.clients.get(id)?)))
    }

    fn is_served(&self, place: Place, class: u8) -> bool {
        self.at(place).any(|(_, client)| {
            let registered = client.registrations.iter().any(|own| own.class == class);
            registered || client.classes.contains(&class)
        })
    }

    /// The program that requests and traps like this one are for.
    fn server(&self, place: Place, mad: &[u8]) -> Option<ClientId> {
        let mut serving = self.at(place).filter(|(_, client)| client.serves(mad));
        serving.next().map(|(id, _)| id)
    }

    /// Accepts a registration, or refuses it, and answers the program.
    pub(super) fn register(&mut self, id: ClientId, wanted: Registration) {
        let Some(place) = self.place(id) else {
            return;
        };
        let free = !self.at(place).any(|(_, client)| client.collides(&wanted));
        let Some(client) = self.clients.get_mut(&id) else {
            return;
        };
        let accepted = free && client.registrations.len() < REGISTRATIONS_MAX;
        if accepted {
            client.registrations.push(wanted);
        }
        let token = wanted.token;
        self.tell(id, FromFabric::Registered { token, accepted });
    }

    /// Forgets a registration.
    pub(super) fn unregister(&mut self, id: ClientId, token: u32) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.registrations.retain(|own| own.token != token);
        }
    }

    /// Notes that a program wants to know how its port stands.
    pub(super) fn watch(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.watched = Some(None);
        }
    }

    /// Reports changed port states to the programs that watch them.
    pub(super) fn tell_ports(&mut self, status: impl Fn(Place) -> Option<PortStatus>) {
        let mut told = Vec::new();
        for (id, client) in &mut self.clients {
            let Some(before) = &mut client.watched else {
                continue;
            };
            let Some(now) = status(client.place) else {
                continue;
            };
            if before.as_ref() != Some(&now) {
                *before = Some(now.clone());
                told.push((*id, now));
            }
        }
        for (id, now) in told {
            self.tell(id, FromFabric::Port(now));
        }
    }

    fn tell(&mut self, id: ClientId, news: FromFabric) {
        if let Some(client) = self.clients.get_mut(&id) {
            if client.outbox.is_empty() {
                self.waiting.push(id);
            }
            client.outbox.tell(news);
        }
    }

    /// Port of a program.
    pub(super) fn place(&self, id: ClientId) -> Option<Place> {
        self.clients.get(&id).map(|client| client.place)
    }

    /// Takes a program out.
    pub(super) fn detach(&mut self, id: ClientId) -> Option<Gone> {
        let client = self.clients.remove(&id)?;
        self.numbers.take_back(client.number);
        let place = client.place;
        if let Some(host) = self.hosts.get_mut(&place) {
            host.clients.retain(|other| *other != id);
            if host.clients.is_empty() {
                self.hosts.remove(&place);
            }
        }
        Some(Gone {
            place,
            was_sm: client.is_sm && !self.is_sm(place),
        })
    }

    /// Notes that a program runs a subnet manager, or does no longer; returns where it is and whether
    /// one runs there now.
    pub(super) fn set_is_sm(&mut self, id: ClientId, is_sm: bool) -> Option<(Place, bool)> {
        let client = self.clients.get_mut(&id)?;
        client.is_sm = is_sm;
        let place = client.place;
        Some((place, self.is_sm(place)))
    }

    fn is_sm(&self, place: Place) -> bool {
        self.at(place).any(|(_, client)| client.is_sm)
    }

    /// Remembers the requester if the answer could be for several programs.
    pub(super) fn note_request(&mut self, id: ClientId, place: Place, packet: &Packet) {
        let Some(host) = self.hosts.get_mut(&place) else {
            return;
        };
        let key = key(packet);
        if host.clients.len() < 2 || method::is_response(key.2) {
            return;
        }
        let key = (key.0, key.1);
        if host.requests.insert(key, id).is_none() {
            host.order.push_back(key);
        }
        if host.order.len() > REQUESTS_MAX
            && let Some(oldest) = host.order.pop_front()
        {
            host.requests.remove(&oldest);
        }
    }

    /// Puts a datagram into the batch of the program that it is for; returns whether there is one.
    pub(super) fn deliver(&mut self, place: Place, packet: Packet) -> bool {
        let Some(id) = self.receiver(place, &packet) else {
            return false;
        };
        let Some(client) = self.clients.get_mut(&id) else {
            return false;
        };
        if client.outbox.is_empty() {
            self.waiting.push(id);
        }
        if client.outbox.push(packet) {
            let (node, port) = place;
            tracing::warn!(%node, %port, client = id, "program too slow: datagrams are lost");
        }
        true
    }

    fn receiver(&self, place: Place, packet: &Packet) -> Option<ClientId> {
        let (class, transaction, method) = key(packet);
        if !method::is_response(method) {
            return self.server(place, &packet.mad);
        }
        let host = self.hosts.get(&place)?;
        let asked = host.requests.get(&(class, transaction)).copied();
        // Requests sent while it was alone belong to the oldest program.
        let known = asked.filter(|id| self.clients.contains_key(id));
        known.or_else(|| host.clients.first().copied())
    }

    /// Sends as much as the programs accept; the rest waits. Removes programs that are gone or have asked for far
    /// too much news without reading any, and returns them.
    pub(super) fn flush(&mut self) -> Vec<Gone> {
        let mut gone = Vec::new();
        for id in std::mem::take(&mut self.waiting) {
            let Some(client) = self.clients.get_mut(&id) else {
                continue;
            };
            let sent = send(client);
            let (node, port) = client.place;
            if let Some(lost) = client.outbox.take_lost() {
                tracing::warn!(%node, %port, client = id, lost, "program keeps up again");
            }
            match sent {
                Sent::All => {}
                Sent::Part if !client.outbox.overflows() => self.waiting.push(id),
                sent => {
                    if sent == Sent::Part {
                        tracing::warn!(%node, %port, client = id, "program too slow: cut off");
                    }
                    gone.extend(self.detach(id));
                }
            }
        }
        gone
    }

    /// Whether something waits for a program to take it.
    pub(super) fn has_backlog(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    All,
    /// The channel is full; the rest waits.
    Part,
    /// The program has gone.
    Nothing,
}

fn send(client: &mut Client) -> Sent {
    while !client.outbox.is_empty() {
        let place = match client.sender.try_reserve() {
            Ok(place) => place,
            Err(TrySendError::Full(())) => return Sent::Part,
            Err(TrySendError::Closed(())) => return Sent::Nothing,
        };
        if let Some(first) = client.outbox.pop() {
            place.send(first);
        }
    }
    Sent::All
}

/// Class, transaction id and method.
fn key(packet: &Packet) -> (u8, u64, u8) {
    let mad = &packet.mad;
    let transaction = load(mad, 8, 8);
    let byte = |place: usize| mad.get(place).copied().unwrap_or(0);
    (byte(1), transaction, byte(3))
}
