//! Lets programs of other processes into an emulated fabric, over Unix and TCP sockets.

use std::future::Future;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::time::timeout;
use weft_transport::client::{fill, take_packets};
use weft_transport::frame::{VERSION, encode_packet};
use weft_transport::{
    Address, Attach, ConnectionReceiver, ConnectionSender, Decoder, Document, Frame, FromFabric,
    Hello, ToFabric, Welcome,
};

use crate::control::answer;
use crate::host::HostHandle;

/// Where an emulator listens, and `weft-emulator ctl` looks for one, unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "unix:/tmp/weft-emulator.sock";

/// Timeout of a client's Hello.
const HELLO_PATIENCE: Duration = Duration::from_secs(10);
/// Time without progress of a write after which a client is cut off.
const WRITE_PATIENCE: Duration = Duration::from_secs(3);
/// Bytes that are written at once before more is waited for.
const WRITE_SIZE: usize = 512 * 1024;
/// Mode of the Unix socket: owner only.
const SOCKET_MODE: u32 = 0o600;
/// Longest pause after the system refused a connection, e.g. for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the server cannot listen.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The address is open to other machines.
    #[error(
        "{address} can be reached from other machines, which could then control the fabric without \
         a password; use a loopback address, or allow it explicitly"
    )]
    NotLocal {
        /// The address.
        address: Address,
    },
    /// Another process listens there.
    #[error("another process listens on {path}")]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// There is something that is no socket.
    #[error("{path} exists and is no socket")]
    NotASocket {
        /// The operation.
        path: PathBuf,
    },
    /// The system does not let us.
    #[error("cannot listen on {address}: {error}")]
    System {
        /// Where.
        address: Address,
        /// Why.
        error: io::Error,
    },
}

/// A socket that clients can connect to.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    address: Address,
}

#[derive(Debug)]
enum Listener {
    Unix {
        listener: UnixListener,
        /// Removed with the server, if it is still the same.
        path: PathBuf,
        /// Its device and inode.
        inode: (u64, u64),
    },
    Tcp(TcpListener),
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix { path, inode, .. } = self
            && inode_of(path).is_ok_and(|found| found == *inode)
        {
            let _removed = std::fs::remove_file(path);
        }
    }
}

impl Server {
    /// Opens a socket. A Unix socket is for its owner alone; it is removed when the server ends,
    /// and one that a dead process has left is replaced.
    ///
    /// # Errors
    /// [`ListenError`]; a TCP address that other machines can reach is refused unless `anywhere`.
    pub async fn listen(address: &Address, anywhere: bool) -> Result<Self, ListenError> {
        if !anywhere && !address.is_local() {
            let address = address.clone();
            return Err(ListenError::NotLocal { address });
        }
        let system = |error| ListenError::System {
            address: address.clone(),
            error,
        };
        match address {
            Address::Unix(path) => {
                remove_stale(path).await?;
                let listener = bind_private(path).map_err(system)?;
                let inode = inode_of(path).map_err(system)?;
                let path = path.clone();
                Ok(Self {
                    listener: Listener::Unix {
                        listener,
                        path,
                        inode,
                    },
                    address: address.clone(),
                })
            }
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).await;
                let listener = listener.map_err(system)?;
                let port = listener.local_addr().map_err(system)?.port();
                let host = host.clone();
                Ok(Self {
                    listener: Listener::Tcp(listener),
                    address: Address::Tcp { host, port },
                })
            }
        }
    }

    /// Address for clients; with the actual port if port 0 was requested.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Lets clients in until `stop` is done.
    pub async fn run(self, handle: HostHandle, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = self.accept_all(handle) => {}
            () = stop => {}
        }
    }

    async fn accept_all(&self, handle: HostHandle) {
        loop {
            let accepted = match &self.listener {
                Listener::Unix { listener, .. } => {
                    let accepted = listener.accept().await;
                    accepted.map(|(stream, _)| start(stream, &handle))
                }
                Listener::Tcp(listener) => {
                    let accepted = listener.accept().await;
                    accepted.and_then(|(stream, _)| {
                        stream.set_nodelay(true)?;
                        start(stream, &handle);
                        Ok(())
                    })
                }
            };
            if let Err(error) = accepted {
                tracing::warn!(%error, "a client could not be let in");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Removes a socket that no process listens on.
async fn remove_stale(path: &Path) -> Result<(), ListenError> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    let path = path.to_owned();
    if !found.file_type().is_socket() {
        return Err(ListenError::NotASocket { path });
    }
    if UnixStream::connect(&path).await.is_ok() {
        return Err(ListenError::InUse { path });
    }
    std::fs::remove_file(&path).map_err(|error| ListenError::System {
        address: Address::Unix(path),
        error,
    })
}

/// What tells a file from another one that has its path by now.
fn inode_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// Binds a socket that is private from its first moment: it gets its name after its mode is
/// set, unless another process has taken the name meanwhile.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let hidden = PathBuf::from(name);
    let listener = UnixListener::bind(&hidden)?;
    let named = std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(SOCKET_MODE))
        .and_then(|()| std::fs::hard_link(&hidden, path));
    let _removed = std::fs::remove_file(&hidden);
    named.map(|()| listener)
}

fn start(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, handle: &HostHandle) {
    let handle = handle.clone();
    tokio::spawn(async move {
        match serve(stream, handle).await {
            Ok(()) => {}
            Err(Gone::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                tracing::debug!("a client hung up");
            }
            Err(why) => tracing::info!(%why, "a client is gone"),
        }
    });
}

/// Why a client is gone.
#[derive(Debug, Error)]
enum Gone {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] weft_transport::FrameError),
    #[error("it said no Hello within {} s", HELLO_PATIENCE.as_secs())]
    NoHello,
    #[error("it does not read its data")]
    Slow,
    #[error("it was refused: {0}")]
    Refused(String),
    #[error("it sent a frame that is not a client's")]
    WrongFrame,
    #[error("the fabric let it go")]
    LetGo,
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    handle: HostHandle,
) -> Result<(), Gone> {
    let mut decoder = Decoder::new();
    let hello = timeout(HELLO_PATIENCE, read_hello(&mut stream, &mut decoder)).await;
    let hello = hello.map_err(|_| Gone::NoHello)??;
    if hello.version != VERSION {
        let reason = format!(
            "version {} is not spoken here, only {VERSION}",
            hello.version
        );
        return refuse(&mut stream, reason).await;
    }
    if hello.attach == Attach::ControlOnly {
        let welcome = Welcome {
            guid: weft_fabric::Guid(0),
            port: weft_fabric::PortNum(0),
            client: 0,
        };
        write_frame(&mut stream, &Frame::Welcome(welcome)).await?;
        return control_only(&mut stream, decoder, handle).await;
    }
    match handle.connect_socket(hello.attach, hello.classes).await {
        Ok((connection, welcome)) => {
            write_frame(&mut stream, &Frame::Welcome(welcome)).await?;
            let (sender, receiver) = connection.split();
            let (reader, writer) = tokio::io::split(stream);
            tokio::select! {
                gone = read(reader, decoder, sender) => gone,
                gone = write(writer, receiver) => gone,
            }
        }
        Err(error) => refuse(&mut stream, error.to_string()).await,
    }
}

async fn refuse(stream: &mut (impl AsyncWrite + Unpin), reason: String) -> Result<(), Gone> {
    let frame = Frame::Refuse {
        reason: reason.clone(),
    };
    write_frame(stream, &frame).await?;
    Err(Gone::Refused(reason))
}

async fn read_hello(
    stream: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> Result<Hello, Gone> {
    match next_frame(stream, decoder).await? {
        Frame::Hello(hello) => Ok(hello),
        _ => Err(Gone::WrongFrame),
    }
}

async fn next_frame(
    stream: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> Result<Frame, Gone> {
    loop {
        if let Some(frame) = decoder.next_frame()? {
            return Ok(frame);
        }
        fill(stream, decoder).await?;
    }
}

async fn write_frame(stream: &mut (impl AsyncWrite + Unpin), frame: &Frame) -> Result<(), Gone> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    write_bytes(stream, &bytes).await
}

async fn write_bytes(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> Result<(), Gone> {
    let written = timeout(WRITE_PATIENCE, stream.write_all(bytes)).await;
    Ok(written.map_err(|_| Gone::Slow)??)
}

async fn control_only(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    mut decoder: Decoder,
    handle: HostHandle,
) -> Result<(), Gone> {
    let mut request = Document::default();
    loop {
        let Frame::Control(part) = next_frame(stream, &mut decoder).await? else {
            return Err(Gone::WrongFrame);
        };
        let Some(json) = request.add(&part)? else {
            continue;
        };
        let reply = Frame::ControlReply(answer(&handle, &json).await);
        write_frame(stream, &reply).await?;
    }
}

async fn read(
    mut stream: impl AsyncRead + Unpin,
    mut decoder: Decoder,
    sender: ConnectionSender,
) -> Result<(), Gone> {
    loop {
        let (packets, other) = take_packets(&mut decoder)?;
        if !packets.is_empty() {
            sender.send(packets).await.map_err(|_| Gone::LetGo)?;
        }
        let told = match other {
            Some(Frame::IsSm(is_sm)) => ToFabric::IsSm(is_sm),
            Some(Frame::Watch) => ToFabric::Watch,
            Some(Frame::Register(registration)) => ToFabric::Register(registration),
            Some(Frame::Unregister { token }) => ToFabric::Unregister(token),
            Some(_) => return Err(Gone::WrongFrame),
            None => {
                fill(&mut stream, &mut decoder).await?;
                continue;
            }
        };
        sender.tell(told).await.map_err(|_| Gone::LetGo)?;
    }
}

async fn write(
    mut stream: impl AsyncWrite + Unpin,
    mut receiver: ConnectionReceiver,
) -> Result<(), Gone> {
    let mut bytes = Vec::new();
    while let Some(first) = receiver.recv_any().await {
        bytes.clear();
        encode(first, &mut bytes);
        // Waiting data goes with it.
        while bytes.len() < WRITE_SIZE
            && let Some(more) = receiver.try_recv_any()
        {
            encode(more, &mut bytes);
        }
        write_bytes(&mut stream, &bytes).await?;
    }
    Err(Gone::LetGo)
}

fn encode(sent: FromFabric, bytes: &mut Vec<u8>) {
    match sent {
        FromFabric::Packets(packets) => packets
            .iter()
            .for_each(|packet| encode_packet(packet, bytes)),
        FromFabric::Port(status) => Frame::Port(status).encode(bytes),
        FromFabric::Registered { token, accepted } => {
            Frame::Registered { token, accepted }.encode(bytes);
        }
    }
}
