//! A host that sends requests, at its own socket.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::time::timeout;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum};
use weft_transport::client::fill;
use weft_transport::frame::{VERSION, encode_packet};
use weft_transport::{Attach, Decoder, Frame, Hello, PortStatus};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, method, status};
use weft_wire::rmpp::{DATA_AT, Envelope, RMPP_AT, Received, Receiver, RmppHeader, kind};

use super::question::{Question, packet};

/// Timeout of a client for an answer, or for the next part of one, before it retries.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of attempts of a client.
const ATTEMPTS: u32 = 30;
/// Pause of a client after BUSY.
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// Most bytes of a table.
const TABLE_MAX: usize = 64 << 20;
/// Segments that may come before one is acknowledged, as the kernel's clients have it.
const WINDOW: u32 = 64;

/// A program on a host.
pub(super) struct Client {
    stream: UnixStream,
    decoder: Decoder,
    transaction: u64,
    out: Vec<u8>,
    pub(super) port: PortStatus,
}

/// Results of a client.
#[derive(Debug, Default)]
pub(super) struct Experience {
    /// Times from the first attempt of a request to its answer, seconds.
    pub(super) latencies: Vec<f64>,
    /// Number of retries.
    pub(super) again: u64,
    /// Answers that said BUSY.
    pub(super) busy: u64,
}

/// A reply.
enum Reply {
    Records(Vec<u8>),
    Busy,
}

impl Client {
    /// Sits down at a host and waits until its port can carry data.
    pub(super) async fn attach(path: &std::path::Path, guid: Guid) -> io::Result<Self> {
        let mut client = Self {
            stream: UnixStream::connect(path).await?,
            decoder: Decoder::new(),
            transaction: 0,
            out: Vec::new(),
            port: PortStatus::default(),
        };
        let port = PortNum(1);
        let hello = Hello {
            version: VERSION,
            attach: Attach::Node { guid, port },
            classes: Vec::new(),
        };
        Frame::Hello(hello).encode(&mut client.out);
        Frame::Watch.encode(&mut client.out);
        client.flush().await?;
        loop {
            match client.frame().await? {
                Frame::Port(status) if status.state == PortState::ACTIVE.0 => {
                    client.port = status;
                    return Ok(client);
                }
                Frame::Refuse { reason } => return Err(io::Error::other(reason)),
                _ => {}
            }
        }
    }

    async fn flush(&mut self) -> io::Result<()> {
        let written = self.stream.write_all(&self.out).await;
        self.out.clear();
        written
    }

    async fn frame(&mut self) -> io::Result<Frame> {
        loop {
            let next = self.decoder.next_frame();
            if let Some(frame) = next.map_err(io::Error::other)? {
                return Ok(frame);
            }
            fill(&mut self.stream, &mut self.decoder).await?;
        }
    }

    /// Requests paths to one host after the other.
    pub(super) async fn ask_all(
        &mut self,
        question: Question,
        hosts: usize,
        others: impl Iterator<Item = PortStatus>,
    ) -> io::Result<Experience> {
        let mut experience = Experience::default();
        for other in others {
            let start = Instant::now();
            let records = self.ask_until(question, &other, &mut experience).await?;
            experience.latencies.push(start.elapsed().as_secs_f64());
            if let Some(why) = question.complaint(&self.port, &other, hosts, &records) {
                return Err(io::Error::other(why));
            }
        }
        Ok(experience)
    }

    async fn ask_until(
        &mut self,
        question: Question,
        other: &PortStatus,
        experience: &mut Experience,
    ) -> io::Result<Vec<u8>> {
        for _ in 0..ATTEMPTS {
            self.transaction += 1;
            let asked = question.packet(&self.port, other, self.transaction);
            encode_packet(&asked, &mut self.out);
            self.flush().await?;
            match self.answer().await? {
                Some(Reply::Records(records)) => return Ok(records),
                Some(Reply::Busy) => {
                    experience.busy += 1;
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                None => experience.again += 1,
            }
        }
        Err(io::Error::other(format!(
            "no answer to {ATTEMPTS} questions"
        )))
    }

    /// Waits for the answer to the last request; `None` on a timeout.
    async fn answer(&mut self) -> io::Result<Option<Reply>> {
        let mut receiver = Receiver::new(TABLE_MAX, WINDOW);
        loop {
            let Ok(frame) = timeout(PATIENCE, self.frame()).await else {
                return Ok(None);
            };
            let Frame::Mad(packet) = frame? else {
                continue;
            };
            if let Some(reply) = self.part(&mut receiver, &packet.mad).await? {
                return Ok(Some(reply));
            }
        }
    }

    /// Processes a datagram; returns the answer that it completes.
    async fn part(&mut self, receiver: &mut Receiver, mad: &[u8]) -> io::Result<Option<Reply>> {
        let header = MadHeader::decode(mad).map_err(io::Error::other)?;
        if header.transaction_id != self.transaction || !method::is_response(header.method) {
            return Ok(None);
        }
        match header.status {
            status::OK => {}
            status::BUSY => return Ok(Some(Reply::Busy)),
            status => return Err(io::Error::other(format!("status {status:#06x}"))),
        }
        let rmpp = RmppHeader::decode(mad.get(RMPP_AT..).unwrap_or_default());
        if rmpp.map_err(io::Error::other)?.rmpp_type == kind::NONE {
            let records = mad.get(DATA_AT..).unwrap_or_default();
            return Ok(Some(Reply::Records(records.to_vec())));
        }
        match receiver.push(mad) {
            Ok(Received::Nothing) => Ok(None),
            Ok(Received::Ack {
                segment_num,
                window_last,
            }) => {
                self.acknowledge(header, segment_num, window_last).await?;
                Ok(None)
            }
            Ok(Received::Complete { segment_num }) => {
                self.acknowledge(header, segment_num, segment_num).await?;
                let table = receiver.message().unwrap_or_default();
                Ok(Some(Reply::Records(table.to_vec())))
            }
            Err(abort) => Err(io::Error::other(format!("{abort:?}"))),
        }
    }

    async fn acknowledge(&mut self, mad: MadHeader, segment: u32, window: u32) -> io::Result<()> {
        let class = [0; weft_wire::rmpp::CLASS_LEN];
        let mut ack = Vec::new();
        Envelope { mad, class }.write_ack(segment, window, &mut ack);
        encode_packet(&packet(&self.port, ack), &mut self.out);
        self.flush().await
    }
}
