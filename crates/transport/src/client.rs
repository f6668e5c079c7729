//! A connection over a socket.

use std::io;
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use weft_wire::packet::Packet;

use crate::address::Address;
use crate::connection::{Connection, Endpoint, FromFabric, ToFabric, pair};
use crate::document::{DOCUMENT_MAX, Document};
use crate::frame::{Attach, Decoder, Frame, FrameError, Hello, VERSION, Welcome, encode_packet};

/// Timeout of a server's acceptance, and of its answer to Hello.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Queue length in each direction, batches.
const BATCHES: usize = 256;
/// Bytes that are read at once at least.
const READ_SIZE: usize = 64 * 1024;

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The socket cannot be reached.
    #[error("{address} cannot be reached: {error}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why.
        error: io::Error,
    },
    /// The connection broke before the answer.
    #[error("{address} hung up: {error}")]
    Broken {
        /// Where.
        address: String,
        /// How.
        error: io::Error,
    },
    /// The request is longer than a document may be.
    #[error("a request of {len} bytes, allowed: {DOCUMENT_MAX}")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// No answer in time.
    #[error("{address} did not answer within {} s", ANSWER_TIMEOUT.as_secs())]
    Silent {
        /// Where.
        address: String,
    },
    /// The server does not want this client.
    #[error("{address} refused: {reason}")]
    Refused {
        /// Where.
        address: String,
        /// The server's reason.
        reason: String,
    },
    /// It does not speak this format.
    #[error("{address} is no Weft emulator: {what}")]
    Foreign {
        /// Where.
        address: String,
        /// The server's message.
        what: String,
    },
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A socket on which the server has said Welcome.
struct Session {
    stream: Box<dyn Stream>,
    decoder: Decoder,
    address: String,
}

/// Attaches to a host of the fabric behind `address`, to serve the management classes in
/// `classes` there. The connection ends with the socket; call again to reconnect.
///
/// # Errors
/// [`ConnectError`].
pub async fn connect(
    address: &Address,
    attach: Attach,
    classes: Vec<u8>,
) -> Result<Connection, ConnectError> {
    let (session, welcome) = open(address, attach, classes).await?;
    let (connection, endpoint) = pair(welcome.guid, welcome.port, BATCHES);
    tokio::spawn(run(session, endpoint));
    Ok(connection)
}

/// Changes the fabric behind `address`; request and answer are JSON.
///
/// # Errors
/// [`ConnectError`].
pub async fn request_control(address: &Address, json: Vec<u8>) -> Result<Vec<u8>, ConnectError> {
    if json.len() > DOCUMENT_MAX {
        return Err(ConnectError::TooLong { len: json.len() });
    }
    let (mut session, _) = open(address, Attach::ControlOnly, Vec::new()).await?;
    session.write(&Frame::Control(json)).await?;
    let mut reply = Document::default();
    loop {
        let whole = match session.read_in_time().await? {
            Frame::ControlReply(part) => reply.add(&part),
            other => return Err(session.foreign(format!("{other:?}"))),
        };
        match whole {
            Ok(Some(reply)) => return Ok(reply),
            Ok(None) => {}
            Err(error) => return Err(session.foreign(error.to_string())),
        }
    }
}

async fn open(
    address: &Address,
    attach: Attach,
    classes: Vec<u8>,
) -> Result<(Session, Welcome), ConnectError> {
    let silent = |_| ConnectError::Silent {
        address: address.to_string(),
    };
    let stream = timeout(ANSWER_TIMEOUT, dial(address)).await;
    let stream = stream.map_err(silent)?;
    let stream = stream.map_err(|error| ConnectError::Unreachable {
        address: address.to_string(),
        error,
    })?;
    let mut session = Session {
        stream,
        decoder: Decoder::new(),
        address: address.to_string(),
    };
    let hello = Hello {
        version: VERSION,
        attach,
        classes,
    };
    session.write(&Frame::Hello(hello)).await?;
    match session.read_in_time().await? {
        Frame::Welcome(welcome) => Ok((session, welcome)),
        Frame::Refuse { reason } => Err(ConnectError::Refused {
            address: session.address,
            reason,
        }),
        other => Err(session.foreign(format!("{other:?}"))),
    }
}

async fn dial(address: &Address) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?)),
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
    }
}

impl Session {
    fn foreign(&self, what: String) -> ConnectError {
        let address = self.address.clone();
        ConnectError::Foreign { address, what }
    }

    fn broken(&self, error: io::Error) -> ConnectError {
        let address = self.address.clone();
        ConnectError::Broken { address, error }
    }

    async fn write(&mut self, frame: &Frame) -> Result<(), ConnectError> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let written = self.stream.write_all(&bytes).await;
        written.map_err(|error| self.broken(error))
    }

    async fn read_in_time(&mut self) -> Result<Frame, ConnectError> {
        match timeout(ANSWER_TIMEOUT, self.read()).await {
            Ok(frame) => frame,
            Err(_) => Err(ConnectError::Silent {
                address: self.address.clone(),
            }),
        }
    }

    async fn read(&mut self) -> Result<Frame, ConnectError> {
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => return Ok(frame),
                Ok(None) => {}
                Err(error) => return Err(self.foreign(error.to_string())),
            }
            let read = fill(&mut self.stream, &mut self.decoder).await;
            read.map_err(|error| self.broken(error))?;
        }
    }
}

/// Reads available bytes into the decoder.
///
/// # Errors
/// The stream's, and [`io::ErrorKind::UnexpectedEof`] at its end.
pub async fn fill(
    stream: &mut (impl AsyncRead + Unpin + ?Sized),
    decoder: &mut Decoder,
) -> io::Result<()> {
    let buffer = decoder.buffer();
    buffer.reserve(READ_SIZE);
    match stream.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// All datagrams that the decoder has, and the first other frame.
///
/// # Errors
/// [`FrameError`].
pub fn take_packets(decoder: &mut Decoder) -> Result<(Vec<Packet>, Option<Frame>), FrameError> {
    let mut packets = Vec::new();
    while let Some(frame) = decoder.next_frame()? {
        match frame {
            Frame::Mad(packet) => packets.push(packet),
            other => return Ok((packets, Some(other))),
        }
    }
    Ok((packets, None))
}

/// Moves datagrams between socket and program until one of them ends.
async fn run(session: Session, endpoint: Endpoint) {
    let (reader, writer) = tokio::io::split(session.stream);
    tokio::select! {
        _ = read(reader, session.decoder, endpoint.sender) => {}
        _ = write(writer, endpoint.receiver) => {}
    }
}

async fn read(
    mut stream: impl AsyncRead + Unpin,
    mut decoder: Decoder,
    to_program: tokio::sync::mpsc::Sender<FromFabric>,
) -> io::Result<()> {
    loop {
        let taken = take_packets(&mut decoder);
        let (packets, other) = taken.map_err(|error| io::Error::other(error.to_string()))?;
        let more = other.is_some();
        let batch = (!packets.is_empty()).then_some(FromFabric::Packets(packets));
        for sent in batch.into_iter().chain(other.and_then(from_fabric)) {
            if to_program.send(sent).await.is_err() {
                return Ok(());
            }
        }
        if !more {
            fill(&mut stream, &mut decoder).await?;
        }
    }
}

/// Converts a server's frame other than a datagram.
fn from_fabric(frame: Frame) -> Option<FromFabric> {
    match frame {
        Frame::Port(status) => Some(FromFabric::Port(status)),
        Frame::Registered { token, accepted } => Some(FromFabric::Registered { token, accepted }),
        _ => None,
    }
}

async fn write(
    mut stream: impl AsyncWrite + Unpin,
    mut from_program: tokio::sync::mpsc::Receiver<ToFabric>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while let Some(sent) = from_program.recv().await {
        bytes.clear();
        match sent {
            ToFabric::Packets(packets) => {
                packets
                    .iter()
                    .for_each(|packet| encode_packet(packet, &mut bytes));
            }
            ToFabric::IsSm(is_sm) => Frame::IsSm(is_sm).encode(&mut bytes),
            ToFabric::Watch => Frame::Watch.encode(&mut bytes),
            ToFabric::Register(registration) => Frame::Register(registration).encode(&mut bytes),
            ToFabric::Unregister(token) => Frame::Unregister { token }.encode(&mut bytes),
        }
        stream.write_all(&bytes).await?;
    }
    stream.shutdown().await
}
