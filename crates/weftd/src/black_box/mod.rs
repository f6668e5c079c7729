//! The black box: the inputs of the subnet manager and of subnet administration in a ring of files, and copies of the newest when something happens
//! that should not.
//!
//! The manager's thread hands chunks to a thread that compresses and writes, with the datagrams in them as they came: it copies none of
//! them and never waits for the disk. Where that has
//! no time, or the disk refuses, the recording ends, and the log and `weft incident list` say so. The first file of a start
//! begins with the manager's start. When a file has its share of the budget, the manager's thread hands over the manager as
//! it is at the end of an input, with which the next one begins as a checkpoint; the oldest files are removed where the
//! budget asks for it.
//!
//! Subnet administration is on a thread of its own and does the same beside it: its inputs go on in the file before until
//! it hands over its state for the next one, at its next input, so that none is missing. It has one of [`thread::SA_PARTS`] parts of
//! each file: where clients ask for more, its inputs rest until the next file, and the manager's are kept. The file says where they do.
//!
//! | module | contents |
//! |---|---|
//! | `args` | options |
//! | `thread` | the thread that writes |
//! | `incidents` | the copies |
//! | `progress` | how far the recording is, and why it ended |

mod args;
mod incidents;
mod progress;
mod thread;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, oneshot};
use weft_api::v1::watch_response::Content;
use weft_fabric::Guid;
use weft_replay::{Chunk, Frozen, FrozenSa, Recorder, SaRest, Sink};

use crate::error::DaemonError;
use crate::event_hub::EventHub;
use crate::stopping::Stopping;
pub(crate) use args::{RecordingArgs, RecordingPlace};
pub(crate) use incidents::{Incident, Kind, REASON_MAX, list};
use progress::Progress;
pub(crate) use progress::RecordingState;

/// Chunks that wait for the thread, each of 256 KiB and what one input more has.
const ORDERS_MAX: usize = 512;
/// From something to its copy: what the manager does meanwhile is in it, and what it has done is written.
const AFTER: Duration = Duration::from_secs(1);
/// Least time between two copies for one kind of thing.
const BETWEEN: Duration = Duration::from_secs(3600);
/// Time that the thread has at the end.
const END: Duration = Duration::from_secs(5);

/// What the thread is to do.
#[derive(Debug)]
enum Order {
    Chunk(Chunk),
    /// The next file begins.
    Next(Box<Frozen>),
    /// Inputs of subnet administration.
    SaChunk(Chunk),
    /// Those go on, or begin, with this state in the file of this number.
    SaNext(Box<FrozenSa>, u64),
    /// Those rest in the file of this number: the disk is slow.
    SaRests(u64),
    Save {
        kind: Kind,
        reason: String,
        told: Option<oneshot::Sender<Result<Incident, String>>>,
    },
    /// Save at the end, with the manager's last inputs: a part has panicked, and the daemon ends for it.
    Panicked(String),
}

/// Why nothing is saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unsaved {
    /// Nothing is recorded.
    NoRecording,
    /// There is no room, or the disk refuses.
    Failed(String),
}

/// The black box as others see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlackBox {
    place: Option<RecordingPlace>,
    orders: Option<mpsc::WeakSender<Order>>,
    progress: Option<Arc<Progress>>,
}

/// The black box, the recorders of inputs, and what is to run beside it.
pub(crate) struct Opened {
    pub(crate) black_box: BlackBox,
    pub(crate) recorder: Option<Recorder>,
    /// That of the inputs of subnet administration.
    pub(crate) sa_recorder: Option<Recorder>,
    pub(crate) keeping: Option<Keeping>,
}

/// What runs as long as the daemon does.
pub(crate) struct Keeping {
    orders: mpsc::Sender<Order>,
    ended: oneshot::Receiver<()>,
}

/// The end of the manager's thread.
#[derive(Debug)]
struct Chunks {
    orders: mpsc::Sender<Order>,
    progress: Arc<Progress>,
}

/// The end of the thread of subnet administration.
#[derive(Debug)]
struct SaChunks {
    orders: mpsc::Sender<Order>,
    progress: Arc<Progress>,
    /// The file that has its state.
    file: u64,
}

fn hand_over(orders: &mpsc::Sender<Order>, progress: &Progress, order: Order) -> bool {
    if progress.is_over() {
        return false;
    }
    let taken = orders.try_send(order).is_ok();
    if !taken {
        // A replay cannot go on after a gap: nothing more comes.
        progress.end("the disk was too slow for the manager's inputs");
    }
    taken
}

impl Sink for Chunks {
    fn take(&mut self, chunk: Chunk) -> bool {
        hand_over(&self.orders, &self.progress, Order::Chunk(chunk))
    }

    fn is_full(&self) -> bool {
        self.progress.is_full()
    }

    fn begin_next(&mut self, with: Frozen) -> bool {
        self.progress.set_full(false);
        let next = Order::Next(Box::new(with));
        let taken = hand_over(&self.orders, &self.progress, next);
        // After that, so that what subnet administration hands over for the file comes after its beginning.
        self.progress.next_file();
        taken
    }
}

impl SaChunks {
    /// It rests until the next file where the disk is slow: what room is left is for the manager's inputs.
    fn has_room(&self) -> bool {
        if self.progress.sa_rests_in(self.file) {
            return false;
        }
        let has_room = self.orders.capacity() >= ORDERS_MAX / 2;
        if !has_room {
            self.progress.let_sa_rest(self.file, SaRest::Disk);
            // One that does not fit into the other half finds a recording that ends.
            let _ = self.orders.try_send(Order::SaRests(self.file));
        }
        has_room
    }
}

impl Sink for SaChunks {
    fn take(&mut self, chunk: Chunk) -> bool {
        self.has_room() && hand_over(&self.orders, &self.progress, Order::SaChunk(chunk))
    }

    fn is_full(&self) -> bool {
        self.progress.file() != self.file && !self.progress.is_over()
    }

    fn begin_sa(&mut self, with: FrozenSa) -> bool {
        self.file = self.progress.file();
        let next = Order::SaNext(Box::new(with), self.file);
        self.has_room() && hand_over(&self.orders, &self.progress, next)
    }
}

/// Begins a recording where there is a place for it. Without one the daemon does the same work.
pub(crate) fn open(place: Option<RecordingPlace>) -> Opened {
    let Some(place) = place else {
        return Opened {
            black_box: BlackBox::default(),
            recorder: None,
            sa_recorder: None,
            keeping: None,
        };
    };
    let progress = Arc::new(Progress::new(place.budget));
    begin(place.clone(), &progress).unwrap_or_else(|error| {
        progress.end(&error.to_string());
        Opened {
            black_box: BlackBox {
                place: Some(place),
                orders: None,
                progress: Some(progress),
            },
            recorder: None,
            sa_recorder: None,
            keeping: None,
        }
    })
}

fn begin(place: RecordingPlace, progress: &Arc<Progress>) -> io::Result<Opened> {
    let (orders, queue) = mpsc::channel(ORDERS_MAX);
    let (done, ended) = oneshot::channel();
    let recording = thread::Recording::begin(place.clone(), Arc::clone(progress))?;
    let thread = std::thread::Builder::new().name("recording".to_owned());
    thread.spawn(move || {
        recording.run(queue);
        // Nobody waits for a disk that hangs.
        let _ = done.send(());
    })?;
    let chunks = Chunks {
        orders: orders.clone(),
        progress: Arc::clone(progress),
    };
    let sa_chunks = SaChunks {
        orders: orders.clone(),
        progress: Arc::clone(progress),
        file: progress.file(),
    };
    Ok(Opened {
        black_box: BlackBox {
            place: Some(place),
            orders: Some(orders.downgrade()),
            progress: Some(Arc::clone(progress)),
        },
        recorder: Some(Recorder::new(Box::new(chunks))),
        sa_recorder: Some(Recorder::new(Box::new(sa_chunks))),
        keeping: Some(Keeping { orders, ended }),
    })
}

impl Keeping {
    /// Saves copies when something happens that should not, until it is time to stop; then waits for what is still to be
    /// written. `panics` are those of the daemon's parts, in words.
    pub(crate) async fn run(
        self,
        hub: Arc<EventHub>,
        mut panics: mpsc::Receiver<String>,
        stopping: Stopping,
    ) -> Result<(), DaemonError> {
        let Self { orders, ended } = self;
        tokio::select! {
            () = follow(&hub, &orders) => {}
            () = stopping.wait() => {}
        }
        // It is time to stop for the first of them; the thread tells in the log what comes of it.
        let written = async move {
            if let Ok(words) = panics.try_recv() {
                let _ = orders.send(Order::Panicked(words)).await;
            }
            drop(orders);
            let _ = ended.await;
        };
        let _ = tokio::time::timeout(END, written).await;
        Ok(())
    }
}

/// Looks at all events; never ends before the hub does.
async fn follow(hub: &EventHub, orders: &mpsc::Sender<Order>) {
    let mut last = BTreeMap::new();
    let mut events = hub.subscribe(Some(0));
    let mut missed = std::mem::take(&mut events.missed).into_iter();
    loop {
        let event = match missed.next() {
            Some(event) => event,
            None => match events.coming.recv().await {
                Ok(event) => event,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => return,
            },
        };
        let Some((kind, reason)) = trouble(&event.content) else {
            continue;
        };
        let now = Instant::now();
        let is_new = last
            .get(&kind)
            .is_none_or(|last: &Instant| now.duration_since(*last) >= BETWEEN);
        if !is_new {
            continue;
        }
        last.insert(kind, now);
        tokio::time::sleep(AFTER).await;
        let told = None;
        // The thread tells in the log what comes of it; one that has ended has told as well.
        let _ = orders.send(Order::Save { kind, reason, told }).await;
    }
}

/// What should not happen.
fn trouble(content: &Content) -> Option<(Kind, String)> {
    match content {
        Content::SweepEnded(sweep) => {
            let first = sweep.unfinished.first()?;
            let reason = format!("sweep {}: {first}", sweep.number);
            Some((Kind::UnfinishedSweep, reason))
        }
        Content::DeviceFault(fault) => Some((Kind::DeviceFault, fault.what.clone())),
        Content::PromiseBroken(broken) => {
            let called = match &broken.name[..] {
                "" => Guid(broken.guid).to_string(),
                name => name.to_owned(),
            };
            Some((Kind::BrokenPromise, format!("{called}: {}", broken.what)))
        }
        _ => None,
    }
}

impl BlackBox {
    /// Directory of the copies; none where nothing is recorded.
    pub(crate) fn incidents_dir(&self) -> Option<PathBuf> {
        self.place.as_ref().map(|place| place.incidents.clone())
    }

    /// How far the recording of this start is; none where nothing is to be recorded.
    pub(crate) fn recording(&self) -> Option<RecordingState> {
        self.progress.as_ref().map(|progress| progress.state())
    }

    /// Saves what is recorded so far, and what the manager does in the next second.
    pub(crate) async fn save(&self, kind: Kind, reason: String) -> Result<Incident, Unsaved> {
        let orders = self.orders.as_ref().and_then(mpsc::WeakSender::upgrade);
        let orders = orders.ok_or(Unsaved::NoRecording)?;
        tokio::time::sleep(AFTER).await;
        let (told, saved) = oneshot::channel();
        let order = Order::Save {
            kind,
            reason,
            told: Some(told),
        };
        let ended = |_| Unsaved::Failed("the thread that records has ended".to_owned());
        orders
            .send(order)
            .await
            .map_err(|error| ended(error.to_string()))?;
        drop(orders);
        let saved = saved.await.map_err(|error| ended(error.to_string()))?;
        saved.map_err(Unsaved::Failed)
    }
}

#[cfg(test)]
mod sa_tests;
#[cfg(test)]
mod tests;
