//! Files as streams of messages.

use std::io::{self, Write};
use std::pin::Pin;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tonic::Status;

/// Bytes of a file in one message.
const CHUNK: usize = 64 << 10;
/// Messages of a file that wait for their reader.
const AHEAD: usize = 8;

/// Where the reader gets the messages.
pub(super) type Chunks<T> = mpsc::Receiver<Result<T, Status>>;

/// Messages of a stream.
pub(super) type Parts<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// A message before those of a file.
pub(super) fn after<T: Send + 'static>(first: Option<T>, chunks: Chunks<T>) -> Parts<T> {
    let first = tokio_stream::iter(first.map(Ok));
    Box::pin(first.chain(ReceiverStream::new(chunks)))
}

/// Has a file written on a thread that may block; `message` puts the next bytes into a message.
pub(super) fn stream<T: Send + 'static>(
    message: fn(Vec<u8>) -> T,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
) -> Chunks<T> {
    let (sender, receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        let sink = Sink {
            chunks: &sender,
            message,
        };
        let mut sink = io::BufWriter::with_capacity(CHUNK, sink);
        let written = write(&mut sink).and_then(|()| sink.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            // The reader may have gone; nobody else needs the error.
            let _ = sender.blocking_send(Err(Status::internal(error.to_string())));
        }
    });
    receiver
}

/// Sends written bytes as messages; blocks while the reader is behind.
struct Sink<'a, T> {
    chunks: &'a mpsc::Sender<Result<T, Status>>,
    message: fn(Vec<u8>) -> T,
}

impl<T> Write for Sink<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(CHUNK)];
        let chunk = (self.message)(bytes.to_vec());
        match self.chunks.blocking_send(Ok(chunk)) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
