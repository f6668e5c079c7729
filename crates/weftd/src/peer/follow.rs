//! The stream from another daemon: its parts are kept for a takeover, and where its signs of life end, the manager
//! looks after it at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tracing::{info, warn};
use weft_api::client::Client;
use weft_api::v1;
use weft_fabric::Guid;
use weft_fabric::enums::SmState;
use weft_manager::sm::{Told, written_by_newer};

use super::args::Peer;
use super::parts::{Part, PartKind};
use super::pieces::Assembler;
use super::promised::Promised;
use super::settings;
use super::unlike::Unlike;
use crate::event_hub::EventHub;
use crate::request::Request;

/// Signs of life that may be missed until the master is looked after.
const MISSED: u32 = 3;
/// How long a connection on which nothing comes is kept: a busy host is only late.
const KEPT: Duration = Duration::from_secs(1);
/// Pause before the next attempt to connect, at first and at most.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// Time for an answer to the call.
const ANSWER: Duration = Duration::from_secs(5);
/// Time after which a master that was looked after, and is not replaced, lives.
const LIVES: Duration = Duration::from_secs(2);
/// Acknowledgements that wait.
const WORDS: usize = 8;
/// Time for which this standby may lack a change and counts as even.
const EVEN_WITHIN: Duration = Duration::from_secs(1);
/// Time after the start in which a daemon that has not been reached yet may still be the master.
const REACHED_WITHIN: Duration = Duration::from_secs(60);

/// A part that is not taken yet; no kind where only a newer daemon knows it.
pub(super) type Arrived = (Option<PartKind>, Part);

/// Where parts go.
pub(crate) struct Takers {
    pub(crate) engine: mpsc::Sender<Request>,
    pub(crate) registrations: watch::Sender<Option<Arc<[u8]>>>,
    pub(crate) counters: watch::Sender<Option<Arc<[u8]>>>,
    pub(crate) plan: watch::Sender<Option<Arc<[u8]>>>,
}

impl Takers {
    /// Tells the manager something; false where its thread has ended, as it does with the daemon.
    pub(crate) async fn tell(&self, told: Told) -> bool {
        self.engine.send(Request::Tell(told)).await.is_ok()
    }
}

/// How far this daemon follows another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Following {
    pub(super) address: String,
    pub(super) connected: bool,
    /// The other one is master.
    pub(super) leads: bool,
    /// When it was last heard of, nanoseconds since 1970; 0 for never.
    pub(super) heard_unix_ns: u64,
    /// Number of its last change, and of the last one that was taken.
    pub(super) head: u64,
    pub(super) taken: u64,
    pub(super) behind_since: Option<Instant>,
    /// Which settings differ; none while that is not known.
    pub(super) settings: Option<v1::SettingDifferences>,
    /// Why the other one's state cannot be taken.
    pub(super) refused: Option<String>,
}

/// What is known of the other daemon as a master.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// It has not been reached since the start: it may be the master.
    NotYet,
    /// It said last that it is master, on this port.
    Master(Guid),
    /// It is not the master of this fabric, or not any more: it hands nothing on.
    Other,
}

/// Whether this standby is known to lack something, as its manager was told last.
#[derive(Debug)]
struct Lag {
    told: bool,
    start: Instant,
    heard: Heard,
}

impl Lag {
    fn new() -> Self {
        Self {
            told: false,
            start: Instant::now(),
            heard: Heard::NotYet,
        }
    }

    /// The other one says on which port it is master, if it is.
    fn hear(&mut self, master: Option<Guid>) {
        self.heard = master.map_or(Heard::Other, Heard::Master);
    }

    /// This manager has this role, and this master: where that is another than the one that was followed, nothing of it
    /// is lacking any more.
    fn stand(&mut self, role: SmState, master: Option<Guid>) {
        let Heard::Master(followed) = self.heard else {
            return;
        };
        let settled = matches!(role, SmState::MASTER | SmState::STANDBY);
        if settled && master != Some(followed) {
            self.heard = Heard::Other;
        }
    }

    /// Whether something is lacking now.
    fn is(&self, shown: &Following) -> bool {
        match (shown.connected, shown.leads, self.heard) {
            (true, true, _) => {
                let late = |since: Instant| since.elapsed() >= EVEN_WITHIN || shown.taken == 0;
                shown.refused.is_some() || shown.behind_since.is_some_and(late)
            }
            (true, false, _) => false,
            (false, _, Heard::NotYet) => self.start.elapsed() < REACHED_WITHIN,
            (false, _, Heard::Master(_)) => true,
            (false, _, Heard::Other) => false,
        }
    }
}

/// Follows for ever.
pub(crate) async fn follow(
    peer: Peer,
    hub: Arc<EventHub>,
    takers: Takers,
    shown: watch::Sender<Following>,
) {
    shown.send_modify(|shown| shown.address.clone_from(&peer.address));
    let mut pause = PAUSE;
    let mut told = false;
    let mut lag = Lag::new();
    let mut unlike = Unlike::default();
    loop {
        let mut follower = Follower {
            hub: &hub,
            takers: &takers,
            shown: &shown,
            arrived: Vec::new(),
            promised: Promised::default(),
            master: None,
            lag: &mut lag,
            unlike: &mut unlike,
            address: &peer.address,
        };
        follower.tell_lag().await;
        let (why, was_connected) = follower.once(&peer).await;
        let master = follower.master;
        shown.send_modify(|shown| (shown.connected, shown.leads) = (false, false));
        if was_connected {
            (pause, told) = (PAUSE, false);
        }
        if !std::mem::replace(&mut told, true) {
            warn!(
                event = "peer_lost",
                peer = peer.address,
                "no signs of life of the manager at {}: {why}",
                peer.address
            );
        }
        if let Some(master) = master {
            until_replaced(&peer, &hub, &takers, master, &why).await;
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Has the manager look after its master, and waits until that is replaced, or lives, which is told.
async fn until_replaced(peer: &Peer, hub: &EventHub, takers: &Takers, master: Guid, why: &str) {
    let suspected = Told::MasterSuspected(master, why.to_owned());
    if !takers.tell(suspected).await {
        return;
    }
    let until = Instant::now() + LIVES;
    while Instant::now() < until {
        let status = hub.status();
        if status.role != SmState::STANDBY || status.master != Some(master) {
            return;
        }
        sleep(PAUSE / 5).await;
    }
    // Its clients may be promised more from now on.
    takers.registrations.send_replace(None);
    warn!(
        event = "peer_cut",
        peer = peer.address,
        "the manager at {} gives no signs of life ({why}), but answers in the fabric: it is master still; what it \
         hands on is old until it is heard again",
        peer.address
    );
}

/// One connection.
struct Follower<'a> {
    hub: &'a EventHub,
    takers: &'a Takers,
    shown: &'a watch::Sender<Following>,
    /// Parts that are not taken yet, the last of each kind.
    arrived: Vec<Arrived>,
    promised: Promised,
    /// Port of the other one while it says that it is master.
    master: Option<Guid>,
    lag: &'a mut Lag,
    unlike: &'a mut Unlike,
    address: &'a str,
}

impl Follower<'_> {
    /// Connects and follows to the end of the stream; why it ended, and whether there was one.
    async fn once(&mut self, peer: &Peer) -> (String, bool) {
        let client = match Client::connect(&peer.address, peer.tls.clone()).await {
            Ok(client) => client,
            Err(error) => return (error.to_string(), false),
        };
        let (words, to_say) = mpsc::channel(WORDS);
        // There is room for the first one, with which the call begins.
        let first = v1::WatchStateRequest {
            taken: 0,
            refused: String::new(),
            ..self.word()
        };
        let _ = words.try_send(first);
        let mut service = client.peers();
        let call = service.watch_state(ReceiverStream::new(to_say));
        let mut stream = match timeout(ANSWER, call).await {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return (client.explain(status).await.to_string(), false),
            Err(_) => return ("it does not answer".to_owned(), false),
        };
        info!(
            event = "peer_connected",
            peer = peer.address,
            "connected to the manager at {}",
            peer.address
        );
        self.begin();
        let why = self.read(&mut stream, &words).await;
        (why, true)
    }

    /// A connection begins with everything, and the other one may count anew.
    fn begin(&self) {
        self.shown.send_modify(|shown| {
            (shown.taken, shown.behind_since, shown.refused) = (0, None, None);
        });
    }

    async fn read(
        &mut self,
        stream: &mut Streaming<v1::WatchStateResponse>,
        words: &mpsc::Sender<v1::WatchStateRequest>,
    ) -> String {
        let mut assembler = Assembler::default();
        let (mut patience, mut silence) = (ANSWER, Duration::ZERO);
        loop {
            let sign = match timeout(patience, stream.message()).await {
                Ok(Ok(Some(sign))) => sign,
                Ok(Ok(None)) => return "it has ended the stream".to_owned(),
                Ok(Err(_)) => return "its connection has ended".to_owned(),
                Err(_) => {
                    silence += patience;
                    let why = format!("silence for {} ms", silence.as_millis());
                    let Some(master) = self.master.filter(|_| silence < KEPT) else {
                        return why;
                    };
                    self.takers.tell(Told::MasterSuspected(master, why)).await;
                    patience = KEPT - silence;
                    continue;
                }
            };
            silence = Duration::ZERO;
            let beat = sign.heartbeat.and_then(|beat| beat.try_into().ok());
            patience = beat.map_or(ANSWER, |beat: Duration| (MISSED * beat).min(ANSWER));
            let led = std::mem::replace(
                &mut self.master,
                sign.master.then_some(Guid(sign.port_guid)),
            );
            self.lag.hear(self.master);
            if let (Some(led), None) = (led, self.master) {
                let why = "it says that it is not master any more".to_owned();
                self.takers.tell(Told::MasterSuspected(led, why)).await;
            }
            match sign.piece.as_ref().map(|piece| assembler.take(piece)) {
                Some(Err(why)) => return format!("it sends what cannot be used: {why}"),
                Some(Ok(Some(part))) => {
                    if let (Some(PartKind::Settings), Part { bytes, .. }) = &part
                        && let Err(why) = self.unlike.hear(bytes.as_deref())
                    {
                        return format!("it sends what cannot be used: {why}");
                    }
                    self.arrived.retain(|(kind, _)| *kind != part.0);
                    self.arrived.push(part);
                }
                Some(Ok(None)) | None => {}
            }
            let is_news = self.check_settings().await;
            let taken = self.take().await;
            self.show(&sign, taken);
            self.tell_lag().await;
            if taken.is_some() || is_news {
                let word = self.word();
                if words.send(word).await.is_err() {
                    return "its connection has ended".to_owned();
                }
            }
        }
    }

    /// What the other one is told of this standby.
    fn word(&self) -> v1::WatchStateRequest {
        let shown = self.shown.borrow();
        v1::WatchStateRequest {
            taken: shown.taken,
            settings: shown.settings.clone(),
            refused: shown.refused.clone().unwrap_or_default(),
        }
    }

    /// Compares the settings where they may have changed, and tells the manager whether it may stand by; returns whether
    /// there is something new to show.
    async fn check_settings(&mut self) -> bool {
        if self.master.is_none() {
            return false;
        }
        let is_news = self.unlike.compare(self.address, &self.hub.config());
        if is_news {
            let settings = self.unlike.known().map(settings::message);
            self.shown.send_modify(|shown| shown.settings = settings);
        }
        let status = self.hub.status();
        let follows = status.master == self.master;
        if let Some(unlike) = self.unlike.verdict(status.role, follows) {
            self.takers.tell(Told::OtherSettings(unlike)).await;
        }
        is_news
    }

    /// Takes what has arrived, if it is of the master that this manager stands by for; the number of the last change. One
    /// that is inactive keeps it for later, and lets nobody wait.
    async fn take(&mut self) -> Option<u64> {
        let status = self.hub.status();
        if status.role == SmState::NOT_ACTIVE {
            let last = self.arrived.iter().map(|(_, part)| part.sequence).max();
            return last.filter(|last| *last > self.taken());
        }
        let is_master = status.role == SmState::STANDBY && status.master == self.master;
        if !is_master || self.master.is_none() {
            return None;
        }
        let doubts = status.registration_doubts;
        self.promised.tell_again(doubts, &mut self.arrived);
        if self.arrived.is_empty() {
            return None;
        }
        let mut last = self.taken();
        for (kind, part) in std::mem::take(&mut self.arrived) {
            last = last.max(part.sequence);
            match kind {
                Some(PartKind::State) => {
                    let state = part.bytes.unwrap_or_default().to_vec();
                    let refused = written_by_newer(&state).map(why_refused);
                    self.shown.send_modify(|shown| shown.refused = refused);
                    // What is none is told by the manager.
                    self.takers.tell(Told::State(state)).await;
                }
                Some(PartKind::Registrations) => {
                    self.promised.take(part.clone());
                    self.takers.registrations.send_replace(part.bytes);
                }
                Some(PartKind::Counters) => {
                    self.takers.counters.send_replace(part.bytes);
                }
                Some(PartKind::Plan) => {
                    self.takers.plan.send_replace(part.bytes);
                }
                // Settings were compared when they came.
                Some(PartKind::Settings) | None => {}
            }
        }
        Some(last)
    }

    /// Number of the last change that was taken by this connection.
    fn taken(&self) -> u64 {
        let shown = self.shown.borrow();
        if shown.connected { shown.taken } else { 0 }
    }

    /// Tells the manager when this standby falls behind, and when it is even again.
    async fn tell_lag(&mut self) {
        let status = self.hub.status();
        self.lag.stand(status.role, status.master);
        let behind = self.lag.is(&self.shown.borrow());
        if std::mem::replace(&mut self.lag.told, behind) != behind {
            self.takers.tell(Told::Behind(behind)).await;
        }
    }

    fn show(&self, sign: &v1::WatchStateResponse, taken: Option<u64>) {
        self.shown.send_modify(|shown| {
            shown.connected = true;
            shown.leads = sign.master;
            shown.heard_unix_ns = crate::event_hub::unix_time_ns();
            shown.head = sign.sequence;
            shown.taken = taken.unwrap_or(shown.taken);
            let lacks = shown.taken < shown.head || shown.refused.is_some();
            let behind = sign.master && lacks;
            shown.behind_since = behind.then(|| shown.behind_since.unwrap_or_else(Instant::now));
        });
    }
}

/// Why a state cannot be taken that a newer daemon wrote.
fn why_refused((found, known): (u32, u32)) -> String {
    format!("the state has format {found}, the standby reads up to {known}: upgrade the standby")
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Guid = Guid(0xA);
    const C: Guid = Guid(0xC);

    fn apart() -> Following {
        Following::default()
    }

    #[test]
    fn a_standby_lacks_what_a_master_that_is_not_heard_may_hand_on() {
        let mut lag = Lag::new();
        assert!(lag.is(&apart()), "it has not reached the other one yet");
        lag.hear(Some(A));
        lag.stand(SmState::STANDBY, Some(A));
        assert!(lag.is(&apart()), "the channel is cut");
        lag.stand(SmState::DISCOVERING, None);
        assert!(lag.is(&apart()), "another standby may know more");
    }

    #[test]
    fn a_standby_that_cannot_take_its_masters_state_lacks_it() {
        let mut shown = Following {
            connected: true,
            leads: true,
            taken: 3,
            head: 3,
            ..Following::default()
        };
        let lag = Lag::new();
        assert!(!lag.is(&shown));
        shown.refused = Some(why_refused((7, 6)));
        assert!(lag.is(&shown));
    }

    #[test]
    fn a_standby_of_a_third_manager_lacks_nothing_of_the_one_that_is_gone() {
        for (role, master) in [(SmState::STANDBY, C), (SmState::MASTER, C)] {
            let mut lag = Lag::new();
            lag.hear(Some(A));
            lag.stand(SmState::DISCOVERING, None);
            lag.stand(role, Some(master));
            assert!(!lag.is(&apart()), "{role:?}");
        }
        let mut lag = Lag::new();
        lag.hear(None);
        assert!(
            !lag.is(&apart()),
            "the other one is a standby that has gone"
        );
    }
}
