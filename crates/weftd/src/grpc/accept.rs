//! Connections of clients as they come in, at all addresses of the API.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;
use tracing::{info, warn};

use super::limits::{CONNECTIONS_MAX, Limits, leave};
use crate::access::{Caller, Client, ConnectionId, User};
use crate::listen::Listener;
use crate::page::Links;
use crate::places::{Origin, Place, Places};
use crate::tls::Tls;

/// Connections of one user of this host, or of one holder of a certificate: others find a place too.
const CONNECTIONS_PER_CALLER: usize = CONNECTIONS_MAX / 2;
/// Those of one address whose clients have no certificate where one is asked for.
const CONNECTIONS_PER_STRANGER: usize = CONNECTIONS_MAX / 8;
/// Connections at one address whose clients have not shown yet who they are.
const STRANGERS_MAX: usize = 64;
/// Longest time until a client has shown who he is, or, where nobody has to, has said anything.
const SHAKING_MAX: Duration = Duration::from_secs(10);
/// Shortest time between two lines of the log about clients that are not let in, of each kind.
const TELL: Duration = Duration::from_secs(1);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections that come in, at most [`CONNECTIONS_MAX`] at a time at each address.
pub(super) fn incoming(
    listeners: Vec<Listener>,
    tls: Option<Tls>,
    limits: Limits,
    links: Option<Links>,
) -> ReceiverStream<io::Result<Connection>> {
    let (ready, connections) = mpsc::channel(1);
    let door = Door {
        tls,
        limits,
        links,
        callers: Callers::default(),
        refused: Seldom::default(),
        full: Seldom::default(),
        ready,
    };
    for listener in listeners {
        tokio::spawn(door.clone().accept(listener));
    }
    ReceiverStream::new(connections)
}

/// What lets clients in.
#[derive(Debug, Clone)]
struct Door {
    tls: Option<Tls>,
    limits: Limits,
    /// Links of the page: while one or its session is open, a browser without a certificate is let in to show that.
    links: Option<Links>,
    callers: Callers,
    /// Lines about clients that have not shown who they are.
    refused: Seldom,
    /// Lines about connections beyond a bound.
    full: Seldom,
    ready: mpsc::Sender<io::Result<Connection>>,
}

/// A connection of which it is not known yet who calls.
enum Stranger {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Stranger {
    fn origin(&self) -> io::Result<Origin> {
        match self {
            Self::Tcp(_, address) => Ok(address.ip().into()),
            Self::Unix(stream) => Ok(Origin::User(stream.peer_cred()?.uid())),
        }
    }
}

impl Door {
    /// Accepts connections until nobody serves them.
    async fn accept(self, listener: Listener) {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let strangers = Places::new(STRANGERS_MAX);
        loop {
            let accepted = tokio::select! {
                accepted = next(&listener) => accepted,
                () = self.ready.closed() => return,
            };
            let stranger = match accepted {
                Ok(stranger) => stranger,
                Err(error) => {
                    warn!(
                        event = "connection_refused", %error,
                        "a connection to the API cannot be accepted: {error}"
                    );
                    sleep(PAUSE).await;
                    continue;
                }
            };
            // Whose end of it nobody can tell has gone.
            if let Ok(origin) = stranger.origin() {
                let seat = strangers.take(origin);
                let places = Arc::clone(&places);
                tokio::spawn(self.clone().let_in(stranger, seat, places));
            }
        }
    }

    /// Finds out who calls, and hands the connection to the server.
    async fn let_in(self, stranger: Stranger, mut seat: Place, places: Arc<Semaphore>) {
        let patience = SHAKING_MAX.min(self.limits.silence_max());
        let shown = tokio::select! {
            shown = timeout(patience, self.ask(stranger)) => shown,
            () = seat.lost() => return,
            () = self.ready.closed() => return,
        };
        let (stream, caller) = match shown {
            Ok(Ok(shown)) => shown,
            Ok(Err((from, error))) => {
                if self.refused.is_due() {
                    info!(
                        event = "client_refused", from, %error,
                        "a client at {from} is not let in: {error}"
                    );
                }
                return;
            }
            Err(_) => return,
        };
        let one_of = match self.callers.enter(&caller) {
            Ok(one_of) => one_of,
            Err((who, most)) => {
                if self.full.is_due() {
                    warn!(
                        event = "connection_refused",
                        identity = who,
                        "{who} has {most} connections to the API already, which is the most: one more is closed"
                    );
                }
                return;
            }
        };
        let Ok(place) = places.try_acquire_owned() else {
            if self.full.is_due() {
                warn!(
                    event = "connection_refused",
                    "{CONNECTIONS_MAX} connections to the API are open already, which is the most: one more is closed"
                );
            }
            return;
        };
        drop(seat);
        let connection = Connection {
            stream,
            client: Client {
                connection: ConnectionId::next(),
                caller: Arc::new(caller),
            },
            silence_max: self.limits.silence_max(),
            silent: None,
            _place: place,
            _one_of: one_of,
        };
        // Nobody serves any more.
        let _ = self.ready.send(Ok(connection)).await;
    }

    /// Who calls: where he cannot be told, his address and why.
    async fn ask(
        &self,
        stranger: Stranger,
    ) -> Result<(Box<dyn Stream>, Caller), (String, io::Error)> {
        let (stream, address) = match stranger {
            Stranger::Unix(stream) => {
                let user = user(&stream).await;
                let user = user.map_err(|error| ("the Unix socket".to_owned(), error))?;
                return Ok((Box::new(stream), Caller::User(user)));
            }
            Stranger::Tcp(stream, address) => (stream, address),
        };
        // Without it, small answers wait for the client's acknowledgement.
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            // Who says nothing has no place of those who do. What ends here ends for the server too.
            let _ = stream.peek(&mut [0]).await;
            return Ok((Box::new(stream), Caller::Loopback(address)));
        };
        let strangers = self
            .links
            .as_ref()
            .is_some_and(|links| links.are_open(Instant::now()));
        let shaken = tls.accept(stream, address, strangers).await;
        let (stream, holder) = shaken.map_err(|error| (address.ip().to_string(), error))?;
        let caller = match holder {
            Some(holder) => Caller::Holder(holder),
            None if tls.asks_for_certificates() => Caller::Stranger(address),
            None => Caller::Loopback(address),
        };
        Ok((Box::new(stream), caller))
    }
}

async fn next(listener: &Listener) -> io::Result<Stranger> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, address) = listener.accept().await?;
            Ok(Stranger::Tcp(stream, address))
        }
        Listener::Unix(socket) => {
            let (stream, _) = socket.listener.accept().await?;
            Ok(Stranger::Unix(stream))
        }
    }
}

/// The user at the other end: as who he was when he connected, whatever he becomes later.
async fn user(stream: &UnixStream) -> io::Result<User> {
    let shown = stream.peer_cred()?;
    let looking = spawn_blocking(move || User::look_up(shown.uid(), shown.gid()));
    looking.await.map_err(io::Error::other)
}

/// What is told of once within a second, whoever causes it.
#[derive(Debug, Clone, Default)]
struct Seldom(Arc<Mutex<Option<Instant>>>);

impl Seldom {
    fn is_due(&self) -> bool {
        let now = Instant::now();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= TELL);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

/// As whom a caller is counted, and how many connections each has at most.
fn bounds(caller: &Caller) -> Vec<(String, usize)> {
    let mut bounds = Vec::new();
    if let Caller::Stranger(address) = caller {
        let own = format!("stranger at {}", address.ip());
        bounds.push((own, CONNECTIONS_PER_STRANGER));
    }
    let identity = caller.counted_as();
    bounds.extend(identity.map(|identity| (identity, CONNECTIONS_PER_CALLER)));
    bounds
}

/// Connections by caller.
#[derive(Debug, Clone, Default)]
struct Callers(Arc<Mutex<HashMap<String, usize>>>);

/// One connection of a caller.
#[derive(Debug)]
struct OneOf {
    callers: Callers,
    counted: Vec<(String, usize)>,
}

impl Callers {
    /// One more; as whom he has too many, and how many, where he has.
    fn enter(&self, caller: &Caller) -> Result<OneOf, (String, usize)> {
        let counted = bounds(caller);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_most = |(who, most): &&(String, usize)| all.get(who).is_some_and(|own| own >= most);
        if let Some(bound) = counted.iter().find(has_most) {
            return Err(bound.clone());
        }
        for (who, _) in &counted {
            *all.entry(who.clone()).or_default() += 1;
        }
        let callers = self.clone();
        Ok(OneOf { callers, counted })
    }
}

impl Drop for OneOf {
    fn drop(&mut self) {
        let all = &self.callers.0;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for (who, _) in &self.counted {
            leave(&mut all, who);
        }
    }
}

/// Bytes to and from a client, of whatever kind of connection.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection that takes a place as long as it is open.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    client: Client,
    silence_max: Duration,
    /// The end of the client's silence, while it is silent.
    silent: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
    _one_of: OneOf,
}

impl Connected for Connection {
    type ConnectInfo = Client;

    fn connect_info(&self) -> Client {
        self.client.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.silent = None;
            return read;
        }
        let silence_max = self.silence_max;
        let silent = self
            .silent
            .get_or_insert_with(|| Box::pin(sleep(silence_max)));
        silent
            .as_mut()
            .poll(context)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test]
    async fn one_connection_too_many_is_closed_and_a_place_is_free_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut incoming = Box::pin(incoming(
            vec![Listener::Tcp(listener)],
            None,
            Limits::USUAL,
            None,
        ));
        let mut clients = Vec::new();
        let mut places = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            clients.push(caller(address).await);
            places.push(incoming.next().await.unwrap().unwrap());
        }
        let mut refused = caller(address).await;
        let waiting = tokio::time::timeout(Duration::from_millis(200), incoming.next()).await;
        assert!(waiting.is_err(), "it is not served");
        assert_eq!(
            refused.read(&mut [0; 1]).await.unwrap_or(0),
            0,
            "it is closed"
        );
        places.pop();
        let _next = caller(address).await;
        assert!(incoming.next().await.unwrap().is_ok());
    }

    /// Somebody who has said something.
    async fn caller(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"P").await.unwrap();
        stream
    }

    #[tokio::test]
    async fn who_opens_connections_and_says_nothing_keeps_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listeners = vec![Listener::Tcp(listener)];
        let mut incoming = Box::pin(incoming(listeners, None, Limits::USUAL, None));
        let mut silent = Vec::new();
        for _ in 0..2 * CONNECTIONS_MAX {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let _caller = caller(address).await;
        let let_in = timeout(SHAKING_MAX / 2, incoming.next()).await;
        assert!(let_in.unwrap().unwrap().is_ok());
        let end = timeout(SHAKING_MAX / 2, silent[0].read(&mut [0; 1])).await;
        assert_eq!(end.unwrap().unwrap_or(0), 0, "the oldest is closed");
    }

    #[test]
    fn callers_are_bounded_each_and_strangers_by_their_address_too() {
        let callers = Callers::default();
        let stranger = |last: u8| Caller::Stranger(([192, 0, 2, last], 1000).into());
        let mut open: Vec<OneOf> = (0..CONNECTIONS_PER_STRANGER)
            .map(|_| callers.enter(&stranger(1)).unwrap())
            .collect();
        let (who, most) = callers.enter(&stranger(1)).unwrap_err();
        assert_eq!((&*who, most), ("stranger at 192.0.2.1", 32));
        for last in 2..5 {
            open.extend(
                (0..CONNECTIONS_PER_STRANGER).map(|_| callers.enter(&stranger(last)).unwrap()),
            );
        }
        let (who, most) = callers.enter(&stranger(5)).unwrap_err();
        assert_eq!((&*who, most), ("stranger", 128));
        drop(open);
        assert!(callers.0.lock().unwrap().is_empty());
    }
}
