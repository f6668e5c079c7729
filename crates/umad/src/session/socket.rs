//! The socket to the fabric.
#![allow(unsafe_code)]

use std::io::{self, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use weft_transport::frame::VERSION;
use weft_transport::{Address, Decoder, Frame, Hello, Welcome};

use super::{ANSWER_TIMEOUT, SessionError};
use crate::settings::Settings;

/// Bytes that are read at once.
const READ_SIZE: usize = 256 * 1024;

#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn dial(address: &Address) -> io::Result<Self> {
        let stream = match address {
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
            Address::Tcp { host, port } => {
                let stream = connect_tcp(host, *port)?;
                stream.set_nodelay(true)?;
                Self::Tcp(stream)
            }
        };
        stream.set_patience(true)?;
        Ok(stream)
    }

    /// Whether reading ends when nothing comes.
    fn set_patience(&self, limited: bool) -> io::Result<()> {
        let timeout = limited.then_some(ANSWER_TIMEOUT);
        match self {
            Self::Unix(stream) => stream.set_read_timeout(timeout),
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn share(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
        })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(buffer),
            Self::Tcp(stream) => stream.read(buffer),
        }
    }
}

/// Connects to the first address of a name that accepts, each within [`ANSWER_TIMEOUT`].
fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut refused = io::ErrorKind::NotFound.into();
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The half that sends.
#[derive(Debug)]
pub(super) struct Writer(Stream);

impl Writer {
    /// Writes all bytes. A fabric that is gone is an error, never SIGPIPE, which would end a program
    /// that knows nothing of a socket.
    ///
    /// # Errors
    /// The socket's.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let fd = self.0.fd().as_raw_fd();
            // SAFETY: the descriptor is open, and the bytes are there to be read.
            let sent =
                unsafe { libc::send(fd, left.as_ptr().cast(), left.len(), libc::MSG_NOSIGNAL) };
            match usize::try_from(sent) {
                Ok(sent) => left = left.get(sent..).unwrap_or_default(),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.kind() != io::ErrorKind::Interrupted {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}

/// The half that receives.
#[derive(Debug)]
pub(super) struct Reader {
    stream: Stream,
    decoder: Decoder,
    buffer: Vec<u8>,
}

impl Reader {
    /// Waits for bytes and reads the frames that are complete with them.
    ///
    /// # Errors
    /// The stream's; that it has ended; that it carries no frames.
    pub(super) fn read(&mut self) -> io::Result<Vec<Frame>> {
        let len = match self.stream.read(&mut self.buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        let read = self.buffer.get(..len).unwrap_or_default();
        self.decoder.buffer().extend_from_slice(read);
        let mut frames = Vec::new();
        while let Some(frame) = self.next_frame()? {
            frames.push(frame);
        }
        Ok(frames)
    }

    fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        let next = self.decoder.next_frame();
        next.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Waits for the first frame; what comes with it stays in the decoder.
    fn read_one(&mut self) -> io::Result<Frame> {
        loop {
            if let Some(frame) = self.next_frame()? {
                return Ok(frame);
            }
            let len = self.stream.read(&mut self.buffer)?;
            if len == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let read = self.buffer.get(..len).unwrap_or_default();
            self.decoder.buffer().extend_from_slice(read);
        }
    }
}

impl AsFd for Reader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.fd()
    }
}

impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }
}

/// Connects to a fabric and selects the host of the program.
pub(super) fn connect(settings: &Settings) -> Result<(Reader, Writer, Welcome), SessionError> {
    let address = settings.emulator.to_string();
    let greeted = greet(settings).map_err(|error| SessionError::Io {
        address: address.clone(),
        error,
    });
    match greeted? {
        (reader, writer, Frame::Welcome(welcome)) => Ok((reader, writer, welcome)),
        (_, _, Frame::Refuse { reason }) => Err(SessionError::Refused { address, reason }),
        (_, _, other) => Err(SessionError::Foreign {
            address,
            what: format!("{other:?}"),
        }),
    }
}

fn greet(settings: &Settings) -> io::Result<(Reader, Writer, Frame)> {
    let stream = Stream::dial(&settings.emulator)?;
    let mut writer = Writer(stream.share()?);
    let mut reader = Reader {
        stream,
        decoder: Decoder::new(),
        buffer: vec![0; READ_SIZE],
    };
    let hello = Frame::Hello(Hello {
        version: VERSION,
        attach: settings.attach.clone(),
        classes: Vec::new(),
    });
    let mut bytes = Vec::new();
    hello.encode(&mut bytes);
    writer.write(&bytes)?;
    let answer = reader.read_one()?;
    reader.stream.set_patience(false)?;
    Ok((reader, writer, answer))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_that_drops_all_packets_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        // Once the queue of connections is full, the kernel drops further ones without a word.
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&local, Duration::from_millis(300)) {
            waiting.push(stream);
        }
        let address: Address = format!("tcp:{local}").parse().unwrap();
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || sender.send(Stream::dial(&address).map(drop)));
        let dialled = ended.recv_timeout(3 * ANSWER_TIMEOUT).expect("it waits on");
        assert_eq!(dialled.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
