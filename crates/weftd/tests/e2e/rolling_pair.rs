//! Two versions as a pair: this one follows a master of the version before, and a standby of the version before follows
//! this one; a state of a later version is not taken, and said so on both sides.
//!
//! `tests/data/peer-5` has what two daemons of the version before said to each other, each message after its length: the
//! `master` in the state of `state-5`, to which a disabled port and two members of a group were added, and its
//! `standby`. They had the `opafm.xml` beside.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prost::Message;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, Streaming};
use weft_api::client::Client;
use weft_api::v1;
use weft_api::v1::peer_service_server::{PeerService, PeerServiceServer};

use crate::harness::{Daemon, data, wait_for};
use crate::pair::{Pair, leads, role};
use crate::registrations::Site;
use crate::rolling::{TREE, earlier, has_all, make_later_bytes, version_of};

/// Hosts that have joined the group.
const MEMBERS: [usize; 2] = [2, 5];
/// Why a port was disabled after the state was written.
const TOLD: &str = "told to the standby";
/// A part that no version has yet.
const LATER_PART: i32 = 99;

/// Recorded messages.
fn recorded<M: Message + Default>(name: &str) -> Vec<M> {
    let bytes = fs::read(data("peer-5").join(name)).unwrap();
    let mut rest = bytes.as_slice();
    std::iter::from_fn(|| {
        (!rest.is_empty()).then(|| M::decode_length_delimited(&mut rest).unwrap())
    })
    .collect()
}

/// The last part of each kind, with the number of the change.
type Parts = BTreeMap<i32, (u64, Vec<u8>)>;

/// The parts in these messages.
fn parts<'a>(messages: impl IntoIterator<Item = &'a v1::WatchStateResponse>) -> Parts {
    let mut packed: BTreeMap<(i32, u64), Vec<u8>> = BTreeMap::new();
    for piece in messages.into_iter().filter_map(|one| one.piece.as_ref()) {
        let of = packed.entry((piece.part, piece.sequence)).or_default();
        of.extend_from_slice(&piece.data);
    }
    let unpacked = packed
        .into_iter()
        .map(|((part, sequence), bytes)| (part, (sequence, zstd::decode_all(&*bytes).unwrap())));
    unpacked.collect()
}

fn piece(part: i32, sequence: u64, bytes: &[u8]) -> v1::StatePiece {
    let data = zstd::encode_all(bytes, 1).unwrap();
    v1::StatePiece {
        part,
        sequence,
        bytes: bytes.len() as u64,
        crc32c: crc32c::crc32c(bytes),
        cleared: false,
        packed_bytes: data.len() as u64,
        data,
    }
}

/// A manager that says what it is given, and then that it lives.
struct Saying {
    messages: Vec<v1::WatchStateResponse>,
    heard: Arc<Mutex<Vec<v1::WatchStateRequest>>>,
}

#[tonic::async_trait]
impl PeerService for Saying {
    type WatchStateStream = ReceiverStream<Result<v1::WatchStateResponse, Status>>;

    async fn watch_state(
        &self,
        request: Request<Streaming<v1::WatchStateRequest>>,
    ) -> Result<Response<Self::WatchStateStream>, Status> {
        let (sender, receiver) = mpsc::channel(4);
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let mut sign = messages.last().unwrap().clone();
            sign.piece = None;
            for message in messages {
                if sender.send(Ok(message)).await.is_err() {
                    return;
                }
            }
            while sender.send(Ok(sign.clone())).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let heard = Arc::clone(&self.heard);
        let mut said = request.into_inner();
        tokio::spawn(async move {
            while let Ok(Some(word)) = said.message().await {
                heard.lock().unwrap().push(word);
            }
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }
}

/// The manager before, as far as its standby hears it; it ends with the runtime.
struct Before {
    runtime: Runtime,
    url: String,
    heard: Arc<Mutex<Vec<v1::WatchStateRequest>>>,
}

impl Before {
    fn saying(messages: Vec<v1::WatchStateResponse>) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heard = Arc::default();
        let saying = Saying {
            messages,
            heard: Arc::clone(&heard),
        };
        let serving = tonic::transport::Server::builder()
            .add_service(PeerServiceServer::new(saying))
            .serve_with_incoming(TcpListenerStream::new(listener));
        runtime.spawn(serving);
        Self {
            runtime,
            url,
            heard,
        }
    }

    /// The last word of the standby.
    fn last_word(&self) -> Option<v1::WatchStateRequest> {
        self.heard.lock().unwrap().last().cloned()
    }

    fn end(self) {
        self.runtime.shutdown_background();
    }
}

/// A directory with the configuration that the two had.
fn configured() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(data("peer-5/opafm.xml"), dir.path().join("opafm.xml")).unwrap();
    dir
}

/// The same, with the state of then.
fn earlier_configured() -> TempDir {
    let dir = earlier();
    fs::copy(data("peer-5/opafm.xml"), dir.path().join("opafm.xml")).unwrap();
    dir
}

fn state(daemon: &Daemon) -> Option<Vec<u8>> {
    fs::read(daemon.dir.path().join("state/state.0")).ok()
}

/// The bytes of a part.
fn bytes(parts: &Parts, part: v1::StatePart) -> &[u8] {
    &parts[&i32::from(part)].1
}

#[test]
fn a_standby_takes_all_that_a_master_of_the_version_before_hands_on() {
    let messages: Vec<v1::WatchStateResponse> = recorded("master");
    let head = messages.last().unwrap().sequence;
    let handed_on = parts(&messages);
    let site = Site::new(TREE);
    let master = site.start(earlier_configured(), 0).up();
    site.join(&MEMBERS);
    site.settled();
    let before = Before::saying(messages);
    let peer = ["--peer", &before.url];
    let standby = site.start(configured(), 1).args(&peer).up();
    let told = bytes(&handed_on, v1::StatePart::State);
    wait_for(|| (state(&standby)? == told).then_some(()));
    wait_for(|| (before.last_word()?.taken == head).then_some(()));
    let word = before.last_word().unwrap();
    assert_eq!(word.refused, "");
    let differ = word.settings.expect("they were compared");
    assert_eq!(differ.count, 0, "{differ:?}");
    assert_eq!(role(&standby), "Standby");
    drop(master);
    before.end();
    leads(&standby, Instant::now());
    has_all(&standby);
    let disabled = standby.weft_ok(&["port", "list", "--disabled"]);
    assert!(disabled.contains(TOLD), "{disabled}");
    site.settled();
    assert_eq!(site.asked(), [0; 16], "hosts notice nothing");
    let log = standby.log();
    for words in [
        "cannot be used",
        "cannot be read",
        "are asked to register again",
    ] {
        assert!(!log.contains(words), "{log}");
    }
}

/// The follower of a master: what it says, and what has come.
struct Follower {
    runtime: Runtime,
    says: mpsc::Sender<v1::WatchStateRequest>,
    come: Arc<Mutex<Vec<v1::WatchStateResponse>>>,
}

impl Follower {
    /// Begins with these words.
    fn of(master: &Daemon, words: Vec<v1::WatchStateRequest>) -> Self {
        let runtime = Runtime::new().unwrap();
        let (says, to_say) = mpsc::channel(words.len() + 1);
        for word in words {
            says.try_send(word).unwrap();
        }
        let come = Arc::<Mutex<Vec<_>>>::default();
        let (api, comes) = (master.api.clone(), Arc::clone(&come));
        runtime.spawn(async move {
            let client = Client::connect(&api, None).await.unwrap();
            let call = client
                .peers()
                .watch_state(ReceiverStream::new(to_say))
                .await;
            let mut stream = call.unwrap().into_inner();
            while let Ok(Some(message)) = stream.message().await {
                comes.lock().unwrap().push(message);
            }
        });
        Self {
            runtime,
            says,
            come,
        }
    }

    fn say(&self, word: v1::WatchStateRequest) {
        self.runtime.block_on(self.says.send(word)).unwrap();
    }

    /// Waits until all parts have come that the version before hands on, none of them empty that was not; and the
    /// number of the last change.
    fn has(&self, before: &Parts) -> (Parts, u64) {
        wait_for(|| {
            let come = self.come.lock().unwrap();
            let parts = parts(come.iter());
            let head = come.last()?.sequence;
            let all = before.iter().all(|(kind, (_, then))| {
                let now = parts.get(kind);
                now.is_some_and(|(_, now)| then.is_empty() || !now.is_empty())
            });
            all.then_some((parts, head))
        })
    }
}

#[test]
fn a_standby_of_the_version_before_reads_all_that_a_master_hands_on() {
    let before = parts(&recorded::<v1::WatchStateResponse>("master"));
    let words: Vec<v1::WatchStateRequest> = recorded("standby");
    let last = words.last().unwrap().clone();
    let site = Site::new(TREE);
    let master = site.start(earlier_configured(), 0).up();
    site.join(&MEMBERS);
    let follower = Follower::of(&master, words);
    let (now, head) = follower.has(&before);
    // What it reads is in the formats that it knows.
    for part in [
        v1::StatePart::State,
        v1::StatePart::Registrations,
        v1::StatePart::Counters,
    ] {
        let formats = [&before, &now].map(|parts| version_of(bytes(parts, part)));
        assert_eq!(formats[0], formats[1], "{part:?}");
    }
    let settings = [&before, &now].map(|parts| {
        let settings = bytes(parts, v1::StatePart::Settings);
        serde_json::from_slice::<BTreeMap<String, String>>(settings).unwrap()
    });
    assert_eq!(settings[0], settings[1]);
    // It acknowledges as it did then.
    follower.say(v1::WatchStateRequest {
        taken: head,
        ..last
    });
    wait_for(|| {
        let shown = Pair::shown(&master)?;
        let even = shown["follows"] == true && shown["behind"] == 0;
        (even && shown["refused"].is_null()).then_some(())
    });
}

#[test]
fn a_state_of_a_later_version_is_not_taken_and_both_sides_say_so() {
    let mut messages: Vec<v1::WatchStateResponse> = recorded("master");
    let mut last = messages.last().unwrap().clone();
    let handed_on = parts(&messages);
    let mut later = bytes(&handed_on, v1::StatePart::State).to_vec();
    make_later_bytes(&mut later);
    let state_part = Some(i32::from(v1::StatePart::State));
    messages.retain(|one| one.piece.as_ref().map(|piece| piece.part) != state_part);
    // The state is the oldest part, and comes with the first word of a connection.
    let mut first = messages[0].clone();
    first.piece = Some(piece(v1::StatePart::State.into(), 1, &later));
    messages.insert(0, first);
    last.sequence += 1;
    last.piece = Some(piece(LATER_PART, last.sequence, b"?"));
    messages.push(last.clone());
    let head = last.sequence;
    let site = Site::new(TREE);
    let master = site.start(earlier_configured(), 0).up();
    let before = Before::saying(messages);
    let peer = ["--peer", &before.url];
    let standby = site.start(earlier_configured(), 1).args(&peer).up();
    // A part that this version does not know holds nothing up.
    // As long as it is inactive it acknowledges what it has not looked at.
    let why = "the state has format 99, the standby reads up to 6: upgrade the standby";
    wait_for(|| {
        let word = before.last_word()?;
        (word.taken == head && word.refused == why).then_some(())
    });
    standby.logs("the master's: it has format version 99, this program reads versions 1 to 6");
    let shown = standby.weft_ok(&["fabric", "show"]);
    let words = format!(": CANNOT TAKE THE STATE\n  {why}\n");
    assert!(shown.contains(&words), "{shown}");
    // What it had stays.
    let had = fs::read(data("state-5/state.0")).unwrap();
    assert_eq!(state(&standby), Some(had));
    let follower = Follower::of(&master, recorded("standby"));
    let refused = v1::WatchStateRequest {
        refused: why.to_owned(),
        ..v1::WatchStateRequest::default()
    };
    follower.say(refused);
    wait_for(|| (Pair::shown(&master)?["refused"] == why).then_some(()));
    assert!(master.weft_ok(&["fabric", "show"]).contains(&words));
}
