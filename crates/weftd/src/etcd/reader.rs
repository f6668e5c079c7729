//! A standby reads its master's state from etcd, and keeps it for a takeover.

use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message;
use tracing::warn;
use weft_api::v1;
use weft_etcd::{Client, EtcdError, pb};
use weft_fabric::Guid;
use weft_fabric::enums::SmState;
use weft_manager::sm::Told;

use super::copy::{Head, KEPT, name};
use super::place::Place;
use crate::event_hub::EventHub;
use crate::peer::{Assembler, Part, PartKind, Takers, Unlike};

/// Heads that are read.
const HEADS: i64 = 16;
/// Pieces in an answer: 1 MiB.
const PIECES: i64 = 4;
/// Most pieces of a part: 256 MiB.
const PIECES_MAX: usize = 1024;

/// The master whose state it is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Leader {
    port: Guid,
    host: String,
    term: u64,
}

/// What is read, and where it goes.
pub(super) struct Reader {
    hub: Arc<EventHub>,
    takers: Takers,
    prefix: u64,
    unlike: Unlike,
    /// Who holds the key, or held it last.
    leader: Option<Leader>,
    /// This manager has stood by for that one, and for no other since.
    followed: bool,
    /// The changes that were taken.
    taken: BTreeMap<&'static str, Head>,
    /// What was refused last.
    refused: String,
}

impl Reader {
    pub(super) fn new(hub: Arc<EventHub>, takers: Takers, prefix: u64) -> Self {
        Self {
            hub,
            takers,
            prefix,
            unlike: Unlike::default(),
            leader: None,
            followed: false,
            taken: BTreeMap::new(),
            refused: String::new(),
        }
    }

    /// Another manager holds the key.
    pub(super) fn follow(&mut self, port: Guid, host: &str, term: u64) {
        let host = host.to_owned();
        let leader = Some(Leader { port, host, term });
        if self.leader != leader {
            self.leader = leader;
            self.followed = false;
            self.taken.clear();
        }
    }

    /// Whether this manager stands by for who wrote the state, or did before that one was gone.
    fn follows(&mut self) -> bool {
        let status = self.hub.status();
        let leader = self.leader.as_ref().map(|leader| leader.port);
        self.followed = match status.role {
            SmState::STANDBY => leader.is_some() && status.master == leader,
            SmState::DISCOVERING => self.followed,
            _ => false,
        };
        self.followed
    }

    /// Takes what has changed.
    ///
    /// # Errors
    /// Where etcd does not answer. What it answers is taken or refused.
    pub(super) async fn read(&mut self, client: &Client, place: &Place) -> Result<(), EtcdError> {
        if !self.follows() {
            return Ok(());
        }
        let [from, to] = place.heads();
        let heads = client.range(&from, &to, HEADS).await?;
        for kind in KEPT {
            let key = place.head(kind);
            let found = heads.iter().find(|head| head.key == key.as_bytes());
            let Some(found) = found else { continue };
            let head = match Head::from_bytes(&found.value, self.prefix) {
                Ok(head) => head,
                Err(why) => {
                    self.refuse(kind, &why);
                    continue;
                }
            };
            if self.taken.get(name(kind)) == Some(&head) {
                continue;
            }
            match gather(client, place, kind, head).await? {
                Ok(part) => {
                    self.take(kind, head, part).await;
                    self.taken.insert(name(kind), head);
                }
                // Where the master has written a newer one meanwhile, that is read next.
                Err(why) => self.refuse(kind, &why),
            }
        }
        self.compare().await;
        Ok(())
    }

    async fn take(&mut self, kind: PartKind, head: Head, part: Part) {
        let leader = self.leader.as_ref();
        let is_of_leader = leader.is_some_and(|leader| leader.term == head.term);
        match kind {
            PartKind::State => {
                let state = part.bytes.unwrap_or_default().to_vec();
                self.takers.tell(Told::State(state)).await;
            }
            PartKind::Plan => {
                let bytes = part.bytes.filter(|_| is_of_leader);
                self.takers.plan.send_replace(bytes);
            }
            PartKind::Settings => {
                if let Err(why) = self.unlike.hear(part.bytes.as_deref()) {
                    self.refuse(kind, &why);
                }
            }
            // Not kept.
            PartKind::Counters | PartKind::Registrations => {}
        }
    }

    async fn compare(&mut self) {
        let Some(Leader { port, host, .. }) = &self.leader else {
            return;
        };
        let master = format!("port {port}, host {host:?}");
        self.unlike.compare(&master, &self.hub.config());
        let status = self.hub.status();
        let follows = status.master == Some(*port);
        if let Some(unlike) = self.unlike.verdict(status.role, follows) {
            self.takers.tell(Told::OtherSettings(unlike)).await;
        }
    }

    /// Says once what is wrong with a part.
    fn refuse(&mut self, kind: PartKind, why: &str) {
        let what = format!("{}: {why}", name(kind));
        if self.refused != what {
            warn!(
                event = "copy_refused",
                "the copy of the master's state in etcd is not taken, {what}"
            );
            self.refused = what;
        }
    }
}

/// A part whose pieces are read.
#[derive(Default)]
struct Gathering {
    assembler: Assembler,
    count: usize,
    done: Option<(Option<PartKind>, Part)>,
}

impl Gathering {
    fn add(&mut self, found: &pb::KeyValue) -> Result<(), String> {
        self.count += 1;
        let piece = v1::StatePiece::decode(found.value.as_slice());
        let piece = piece.map_err(|why| format!("a piece that is none ({why})"))?;
        self.done = self.assembler.take(&piece)?;
        Ok(())
    }

    fn end(self, kind: PartKind, head: Head) -> Result<Part, String> {
        match self.done {
            Some((of, part)) if of == Some(kind) && part.sequence == head.sequence => Ok(part),
            Some(_) => Err("pieces of another part".to_owned()),
            None => Err("pieces are missing".to_owned()),
        }
    }
}

/// Reads the pieces of a change, and makes a part of them if they are one.
async fn gather(
    client: &Client,
    place: &Place,
    kind: PartKind,
    head: Head,
) -> Result<Result<Part, String>, EtcdError> {
    let mut gathering = Gathering::default();
    let [mut from, end] = place.pieces(kind, head);
    while gathering.count < PIECES_MAX && gathering.done.is_none() {
        let found = client.range(&from, &end, PIECES).await?;
        if found.is_empty() {
            break;
        }
        for piece in &found {
            if let Err(why) = gathering.add(piece) {
                return Ok(Err(why));
            }
        }
        from = place.piece(kind, head, gathering.count);
    }
    Ok(gathering.end(kind, head))
}
