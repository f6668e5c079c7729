//! The file of a recording.
//!
//! A line that says what it is, then the header, then chunks. Each of them: its length and the CRC32C of its bytes,
//! both four bytes with the lowest first, then the bytes. Those of the header are JSON; those of the chunks are one zstd
//! stream, flushed after each, so that what is written can be read at any time and a torn end costs one chunk.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::stream::write::Encoder;
use zstd::zstd_safe::DParameter;

/// The first bytes of a recording. The number is that of the format, and of what digests are made of.
const MAGIC: &[u8] = b"weft recording 3\n";
/// The same of any format.
const ANY: &[u8] = b"weft recording ";
/// Version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Fingerprint of the code that a replay runs: the sources of the manager and of what it is made of.
pub const CORE: &str = env!("WEFT_CORE");

/// Bytes of a header, and of a chunk as it is in the file, at most.
const PART_MAX: usize = 64 << 20;
/// Bytes of a chunk's inputs at most: the topology file of 30,000 hosts is among the first.
const CHUNK_MAX: usize = 256 << 20;
/// Most data that a match reaches back in a file that is read, as a power of two: it bounds the reader's memory.
const WINDOW_LOG_MAX: u32 = 24;
/// How hard zstd tries. Its window of 2 MiB holds a sweep of 3,000 hosts, which the next one repeats. Searched further, inputs
/// take several times as long and no fewer bytes.
const LEVEL: i32 = 3;

/// What a recording says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the program that recorded.
    pub version: String,
    /// Fingerprint of its code.
    pub core: String,
    /// When it began, nanoseconds since 1970; 0 under a virtual clock.
    pub begun_unix_ns: u64,
    /// The manager's host, or the campaign.
    pub source: String,
}

impl Header {
    /// That of a recording of this program.
    pub fn new(begun_unix_ns: u64, source: impl Into<String>) -> Self {
        Self {
            version: VERSION.to_owned(),
            core: CORE.to_owned(),
            begun_unix_ns,
            source: source.into(),
        }
    }

    /// Whether it was recorded by the code that would replay it.
    pub fn is_of_this_program(&self) -> bool {
        self.version == VERSION && self.core == CORE
    }
}

/// Why a recording cannot be read.
#[derive(Debug, Error)]
pub enum FileError {
    /// It is something else.
    #[error("this is no recording: it does not begin with \"weft recording 3\"")]
    NoRecording,
    /// It is one of another format.
    #[error(
        "this is a recording of another format than 3, the only one that weft {VERSION} reads: play it with the version that recorded it"
    )]
    OtherFormat,
    /// The file cannot be read.
    #[error("cannot read the recording: {0}")]
    Io(#[from] io::Error),
    /// It begins with a checkpoint, which only the code reads that wrote it.
    #[error(
        "it begins with a checkpoint of weft {version}, code {core}: only that code reads it, and this is weft {VERSION}, code \
         {CORE}"
    )]
    OtherProgram {
        /// Version of the program that recorded.
        version: String,
        /// Fingerprint of its code.
        core: String,
    },
    /// Its bytes have changed.
    #[error("damaged at byte {at}: {why}")]
    Damaged {
        /// Where the part begins.
        at: u64,
        /// What is wrong.
        why: String,
    },
}

/// Writes a recording.
pub struct Writer<W: Write> {
    to: W,
    encoder: Encoder<'static, Vec<u8>>,
    written: u64,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Writer({} bytes)", self.written)
    }
}

impl<W: Write> Writer<W> {
    /// Begins a recording.
    ///
    /// # Errors
    /// What writing says.
    pub fn new(to: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self {
            to,
            encoder: Encoder::new(Vec::new(), LEVEL)?,
            written: 0,
        };
        writer.write(MAGIC)?;
        writer.part(&serde_json::to_vec(header)?)?;
        Ok(writer)
    }

    /// Writes a chunk of a [`crate::Recorder`]; returns the bytes of the file so far.
    ///
    /// # Errors
    /// What writing says.
    pub fn chunk(&mut self, chunk: &[u8]) -> io::Result<u64> {
        self.encoder.write_all(chunk)?;
        self.encoder.flush()?;
        let bytes = std::mem::take(self.encoder.get_mut());
        self.part(&bytes)?;
        self.to.flush()?;
        Ok(self.written)
    }

    /// Bytes of the file so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn part(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut part = Vec::with_capacity(bytes.len() + 8);
        part.extend((bytes.len() as u32).to_le_bytes());
        part.extend(crc32c::crc32c(bytes).to_le_bytes());
        part.extend(bytes);
        self.write(&part)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }
}

/// Reads a recording.
pub(crate) struct Reader<R> {
    from: R,
    at: u64,
    decoder: Decoder<'static>,
}

/// The next chunk of a recording.
pub(crate) enum Next {
    Chunk(Vec<u8>),
    /// There is none.
    End,
    /// A part of one: it was being written when the program or the machine stopped.
    Torn,
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(from: R) -> Result<(Self, Header), FileError> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        let mut reader = Self {
            from,
            at: 0,
            decoder,
        };
        let magic = reader.up_to(MAGIC.len())?;
        if magic != MAGIC {
            return Err(match magic.starts_with(ANY) {
                true => FileError::OtherFormat,
                false => FileError::NoRecording,
            });
        }
        let at = reader.at;
        let damaged = |why: String| FileError::Damaged { at, why };
        let header = reader.part()?;
        let header = header.ok_or_else(|| damaged("it ends within its header".to_owned()))?;
        let header = serde_json::from_slice(&header);
        let header = header.map_err(|error| damaged(format!("its header: {error}")))?;
        Ok((reader, header))
    }

    /// Where the next part begins.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn next(&mut self) -> Result<Next, FileError> {
        let at = self.at;
        let Some(bytes) = self.part()? else {
            return Ok(match self.at == at {
                true => Next::End,
                false => Next::Torn,
            });
        };
        let damaged = |why: String| FileError::Damaged { at, why };
        let mut input = InBuffer::around(&bytes);
        let mut chunk = Vec::new();
        let mut piece = vec![0; 1 << 17];
        loop {
            let mut output = OutBuffer::around(piece.as_mut_slice());
            let run = self.decoder.run(&mut input, &mut output);
            run.map_err(|error| damaged(format!("it cannot be expanded: {error}")))?;
            let (len, room) = (output.pos(), output.capacity());
            chunk.extend(piece.get(..len).unwrap_or_default());
            if chunk.len() > CHUNK_MAX {
                let most = CHUNK_MAX >> 20;
                return Err(damaged(format!("a chunk expands to more than {most} MiB")));
            }
            if input.pos() == bytes.len() && len < room {
                return Ok(Next::Chunk(chunk));
            }
        }
    }

    /// The next part; none where it is not all there.
    fn part(&mut self) -> Result<Option<Vec<u8>>, FileError> {
        let at = self.at;
        let head = self.up_to(8)?;
        let Ok(head) = <[u8; 8]>::try_from(head) else {
            return Ok(None);
        };
        let number = u64::from_le_bytes(head);
        let (len, crc) = (number as u32 as usize, (number >> 32) as u32);
        if len > PART_MAX {
            let why = format!("a part of {len} bytes, at most {PART_MAX} are allowed");
            return Err(FileError::Damaged { at, why });
        }
        let bytes = self.up_to(len)?;
        if bytes.len() < len {
            return Ok(None);
        }
        match crc32c::crc32c(&bytes) == crc {
            true => Ok(Some(bytes)),
            false => Err(FileError::Damaged {
                at,
                why: "its checksum is another".to_owned(),
            }),
        }
    }

    /// So many bytes, or fewer at the end.
    fn up_to(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self
            .from
            .by_ref()
            .take(len as u64)
            .read_to_end(&mut bytes)?;
        self.at += read as u64;
        Ok(bytes)
    }
}
