//! Frames on a socket.
//!
//! A frame is a big-endian u32, the number of bytes that follow, then one byte for the type of
//! frame, then its content. A client begins with [`Hello`] and waits for [`Welcome`].
//!
//! | byte | frame | content |
//! |---|---|---|
//! | 1 | Hello | `WEFT`, version u16, kind u8 (0 GUID, 1 name, 2 first host, 3 control only), GUID u64, port u8, number of classes u8, that many classes, name to the end |
//! | 2 | Welcome | GUID u64, port u8, client's number u32 |
//! | 3 | Refuse | reason, UTF-8 to the end |
//! | 4 | Mad | SLID u32, DLID u32, SL u8, P_Key u16, destination QP u32, source QP u32, datagram to the end |
//! | 5 | IsSm | u8: 0 or 1 |
//! | 6 | Control | JSON to the end; a full frame continues in the next |
//! | 7 | ControlReply | likewise |
//! | 8 | Watch | nothing |
//! | 9 | Port | base LID u32, SM LID u32, LMC u8, SM SL u8, state u8, physical state u8, rate u16, number of P_Keys u16, capability mask u32, reregistrations u32, subnet prefix u64, port GUID u64, node GUID u64, system GUID u64, that many P_Keys u16 |
//! | 10 | Register | token u32, class u8, class version u8, OUI u32, methods u128 |
//! | 11 | Registered | token u32, u8: 0 or 1 |
//! | 12 | Unregister | token u32 |
//!
//! After Watch the server sends Port, at once and whenever the port's state differs from the last report,
//! before any datagram that arrives afterwards. Each Register is answered by Registered.

use thiserror::Error;
use weft_wire::bits::load;
use weft_wire::id::{Guid, Lid, PKey, PortNum, Sl};
use weft_wire::packet::Packet;

use crate::document::{DOCUMENT_MAX, parts};
use crate::port::{
    PortStatus, Registration, decode_registration, decode_status, encode_registration,
    encode_status,
};

/// The version of the format that this code speaks.
pub const VERSION: u16 = 2;
/// Most bytes of a frame after its length.
pub const FRAME_MAX: usize = 64 * 1024;
/// Numbers of clients are below this. A program puts its number, counted from 1, into 20 bits of its
/// transaction identifiers.
pub const CLIENT_NUMBERS: u32 = (1 << 20) - 1;
/// Most bytes of a name in [`Attach::Name`].
pub const NAME_MAX: usize = 64;
/// Most management classes that a program can serve.
pub const CLASSES_MAX: usize = 16;

const MAGIC: &[u8; 4] = b"WEFT";
const LENGTH: usize = 4;
/// Bytes of a Mad frame's content before the datagram.
const PACKET_HEADER: usize = 19;
/// Bytes of a Hello's content before its classes.
const HELLO_HEADER: usize = 17;

mod tag {
    pub(super) const HELLO: u8 = 1;
    pub(super) const WELCOME: u8 = 2;
    pub(super) const REFUSE: u8 = 3;
    pub(super) const MAD: u8 = 4;
    pub(super) const IS_SM: u8 = 5;
    pub(super) const CONTROL: u8 = 6;
    pub(super) const CONTROL_REPLY: u8 = 7;
    pub(super) const WATCH: u8 = 8;
    pub(super) const PORT: u8 = 9;
    pub(super) const REGISTER: u8 = 10;
    pub(super) const REGISTERED: u8 = 11;
    pub(super) const UNREGISTER: u8 = 12;
}

/// The host that a program wants to attach to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attach {
    /// On a port of the HFI with this GUID.
    Node {
        /// The HFI.
        guid: Guid,
        /// Its port.
        port: PortNum,
    },
    /// On a port of the first HFI with this name.
    Name {
        /// Its node description.
        name: String,
        /// Its port.
        port: PortNum,
    },
    /// On port 1 of the first HFI.
    FirstHost,
    /// Nowhere: it only changes the fabric.
    ControlOnly,
}

/// First frame of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version of the format that it speaks.
    pub version: u16,
    /// The requested host.
    pub attach: Attach,
    /// Management classes whose requests and traps are for it.
    pub classes: Vec<u8>,
}

/// The server's reply to [`Hello`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Welcome {
    /// The HFI that the program is on; 0 for [`Attach::ControlOnly`].
    pub guid: Guid,
    /// Its port.
    pub port: PortNum,
    /// The server's number of this client, below [`CLIENT_NUMBERS`]: no other has it while this one
    /// is there.
    pub client: u32,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The client's first.
    Hello(Hello),
    /// The server's answer.
    Welcome(Welcome),
    /// The server's answer when it does not want the client; it hangs up after it.
    Refuse {
        /// Why.
        reason: String,
    },
    /// A datagram, in either direction.
    Mad(Packet),
    /// The client runs a subnet manager, or does no longer.
    IsSm(bool),
    /// The client changes the fabric; JSON, or when it is received, a part of it for a
    /// [`Document`](crate::document::Document).
    Control(Vec<u8>),
    /// Result of a control command, in JSON; a full frame continues in the next.
    ControlReply(Vec<u8>),
    /// The client wants to know how its port stands, now and whenever that changes.
    Watch,
    /// State of the client's port.
    Port(PortStatus),
    /// The client wants certain requests and traps.
    Register(Registration),
    /// Whether it gets them: not when another program on the port has one of them already.
    Registered {
        /// Number of the registration.
        token: u32,
        /// Whether it holds.
        accepted: bool,
    },
    /// The client does not want them any longer.
    Unregister {
        /// Number of the registration.
        token: u32,
    },
}

/// Bytes that are no frame; the connection cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The length is out of range.
    #[error("a frame of {len} bytes, allowed: 1 to {FRAME_MAX}")]
    Length {
        /// The length in its header.
        len: usize,
    },
    /// Nothing is known by this number.
    #[error("unknown frame {tag}, allowed: 1 to 12")]
    Tag {
        /// The number.
        tag: u8,
    },
    /// A document is too long.
    #[error("a document of more than {} bytes: {len} so far", DOCUMENT_MAX)]
    Document {
        /// Bytes so far.
        len: usize,
    },
    /// The content does not fit the frame.
    #[error("{frame} frame: {what}")]
    Content {
        /// Name of the frame.
        frame: &'static str,
        /// The defect.
        what: &'static str,
    },
}

impl Frame {
    /// Appends the frame to `out`, a document that is longer than a frame as several. Names, reasons,
    /// classes and datagrams that are too long are cut to the format's limits, text between
    /// two characters.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Mad(packet) => encode_packet(packet, out),
            Self::Hello(hello) => framed(out, tag::HELLO, |out| encode_hello(hello, out)),
            Self::Welcome(welcome) => framed(out, tag::WELCOME, |out| {
                out.extend_from_slice(&welcome.guid.0.to_be_bytes());
                out.push(welcome.port.0);
                out.extend_from_slice(&welcome.client.to_be_bytes());
            }),
            Self::Refuse { reason } => framed(out, tag::REFUSE, |out| {
                out.extend_from_slice(cut(reason, FRAME_MAX - 1));
            }),
            Self::IsSm(is_sm) => framed(out, tag::IS_SM, |out| out.push(u8::from(*is_sm))),
            Self::Control(json) => encode_document(out, tag::CONTROL, json),
            Self::ControlReply(json) => encode_document(out, tag::CONTROL_REPLY, json),
            Self::Watch => framed(out, tag::WATCH, |_| {}),
            Self::Port(status) => framed(out, tag::PORT, |out| encode_status(status, out)),
            Self::Register(registration) => framed(out, tag::REGISTER, |out| {
                encode_registration(registration, out);
            }),
            Self::Registered { token, accepted } => framed(out, tag::REGISTERED, |out| {
                out.extend_from_slice(&token.to_be_bytes());
                out.push(u8::from(*accepted));
            }),
            Self::Unregister { token } => framed(out, tag::UNREGISTER, |out| {
                out.extend_from_slice(&token.to_be_bytes());
            }),
        }
    }
}

/// The longest prefix of whole characters that fits into `max` bytes.
fn cut(text: &str, max: usize) -> &[u8] {
    let end = text.floor_char_boundary(max);
    &text.as_bytes()[..end]
}

fn encode_document(out: &mut Vec<u8>, tag: u8, json: &[u8]) {
    for part in parts(json) {
        framed(out, tag, |out| out.extend_from_slice(part));
    }
}

fn framed(out: &mut Vec<u8>, tag: u8, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    out.push(tag);
    content(out);
    let len = (out.len() - start - LENGTH) as u32;
    out[start..start + LENGTH].copy_from_slice(&len.to_be_bytes());
}

/// Appends a Mad frame to `out`.
pub fn encode_packet(packet: &Packet, out: &mut Vec<u8>) {
    framed(out, tag::MAD, |out| {
        out.extend_from_slice(&packet.slid.0.to_be_bytes());
        out.extend_from_slice(&packet.dlid.0.to_be_bytes());
        out.push(packet.sl.0);
        out.extend_from_slice(&packet.pkey.0.to_be_bytes());
        out.extend_from_slice(&packet.dest_qp.to_be_bytes());
        out.extend_from_slice(&packet.src_qp.to_be_bytes());
        let len = packet.mad.len().min(Packet::MAD_LEN_MAX);
        out.extend_from_slice(&packet.mad[..len]);
    });
}

fn encode_hello(hello: &Hello, out: &mut Vec<u8>) {
    let (kind, guid, port, name) = match &hello.attach {
        Attach::Node { guid, port } => (0, guid.0, port.0, ""),
        Attach::Name { name, port } => (1, 0, port.0, name.as_str()),
        Attach::FirstHost => (2, 0, 0, ""),
        Attach::ControlOnly => (3, 0, 0, ""),
    };
    let classes = &hello.classes[..hello.classes.len().min(CLASSES_MAX)];
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&hello.version.to_be_bytes());
    out.push(kind);
    out.extend_from_slice(&u64::to_be_bytes(guid));
    out.push(port);
    out.push(classes.len() as u8);
    out.extend_from_slice(classes);
    out.extend_from_slice(cut(name, NAME_MAX));
}

fn decode(bytes: &[u8]) -> Result<Frame, FrameError> {
    let (tag, content) = bytes.split_first().ok_or(FrameError::Length { len: 0 })?;
    match *tag {
        tag::HELLO => decode_hello(content).map(Frame::Hello),
        tag::WELCOME => decode_welcome(content).map(Frame::Welcome),
        tag::REFUSE => Ok(Frame::Refuse {
            reason: String::from_utf8_lossy(content).into_owned(),
        }),
        tag::MAD => decode_packet(content).map(Frame::Mad),
        tag::IS_SM => match content {
            [value @ (0 | 1)] => Ok(Frame::IsSm(*value == 1)),
            _ => Err(wrong("IsSm", "neither 0 nor 1")),
        },
        tag::CONTROL => Ok(Frame::Control(content.to_vec())),
        tag::CONTROL_REPLY => Ok(Frame::ControlReply(content.to_vec())),
        tag::WATCH | tag::PORT | tag::REGISTER | tag::REGISTERED | tag::UNREGISTER => {
            decode_port_frame(*tag, content)
        }
        tag => Err(FrameError::Tag { tag }),
    }
}

fn wrong(frame: &'static str, what: &'static str) -> FrameError {
    FrameError::Content { frame, what }
}

/// The frames about a client's port.
fn decode_port_frame(tag: u8, content: &[u8]) -> Result<Frame, FrameError> {
    let (name, decoded) = match tag {
        tag::WATCH => ("Watch", exact(content, 0).map(|()| Frame::Watch)),
        tag::PORT => ("Port", decode_status(content).map(Frame::Port)),
        tag::REGISTER => (
            "Register",
            decode_registration(content).map(Frame::Register),
        ),
        tag::REGISTERED => ("Registered", decode_registered(content)),
        _ => {
            let token = load(content, 0, 4) as u32;
            let frame = exact(content, 4).map(|()| Frame::Unregister { token });
            ("Unregister", frame)
        }
    };
    decoded.map_err(|what| wrong(name, what))
}

fn exact(content: &[u8], len: usize) -> Result<(), &'static str> {
    if content.len() == len {
        Ok(())
    } else {
        Err("of another length")
    }
}

fn decode_registered(content: &[u8]) -> Result<Frame, &'static str> {
    exact(content, 5)?;
    let accepted = match content[4] {
        0 => false,
        1 => true,
        _ => return Err("neither 0 nor 1"),
    };
    let token = load(content, 0, 4) as u32;
    Ok(Frame::Registered { token, accepted })
}

fn decode_welcome(content: &[u8]) -> Result<Welcome, FrameError> {
    if content.len() != 13 {
        return Err(wrong("Welcome", "not 13 bytes"));
    }
    Ok(Welcome {
        guid: Guid(load(content, 0, 8)),
        port: PortNum(load(content, 8, 1) as u8),
        client: load(content, 9, 4) as u32,
    })
}

fn decode_packet(content: &[u8]) -> Result<Packet, FrameError> {
    let (header, mad) = content
        .split_at_checked(PACKET_HEADER)
        .ok_or(wrong("Mad", "shorter than its addresses"))?;
    if mad.len() > Packet::MAD_LEN_MAX {
        return Err(wrong("Mad", "a datagram of more than 2048 bytes"));
    }
    Ok(Packet {
        slid: Lid(load(header, 0, 4) as u32),
        dlid: Lid(load(header, 4, 4) as u32),
        sl: Sl(load(header, 8, 1) as u8),
        pkey: PKey(load(header, 9, 2) as u16),
        dest_qp: load(header, 11, 4) as u32,
        src_qp: load(header, 15, 4) as u32,
        mad: mad.to_vec(),
    })
}

fn decode_hello(content: &[u8]) -> Result<Hello, FrameError> {
    let (header, rest) = content
        .split_at_checked(HELLO_HEADER)
        .ok_or(wrong("Hello", "too short"))?;
    if header[..4] != *MAGIC {
        return Err(wrong("Hello", "does not begin with WEFT"));
    }
    let count = usize::from(header[16]);
    let (classes, name) = rest
        .split_at_checked(count)
        .filter(|_| count <= CLASSES_MAX)
        .ok_or(wrong("Hello", "more classes than allowed or there"))?;
    if name.len() > NAME_MAX {
        return Err(wrong("Hello", "a name of more than 64 bytes"));
    }
    let guid = Guid(load(header, 7, 8));
    let port = PortNum(header[15]);
    let attach = match header[6] {
        0 => Attach::Node { guid, port },
        1 => Attach::Name {
            name: String::from_utf8(name.to_vec())
                .map_err(|_| wrong("Hello", "a name that is not UTF-8"))?,
            port,
        },
        2 => Attach::FirstHost,
        3 => Attach::ControlOnly,
        _ => return Err(wrong("Hello", "unknown kind, allowed: 0 to 3")),
    };
    Ok(Hello {
        version: load(header, 4, 2) as u16,
        attach,
        classes: classes.to_vec(),
    })
}

/// Finds frames in a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: Vec<u8>,
    start: usize,
}

impl Decoder {
    /// No bytes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffer to which received bytes are appended. Take all frames out with [`Self::next_frame`]
    /// before appending more: then there is never more than one incomplete frame.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.buffer.drain(..self.start);
        self.start = 0;
        &mut self.buffer
    }

    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// [`FrameError`]; then the stream cannot be read on.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.start..];
        if rest.len() < LENGTH {
            return Ok(None);
        }
        let len = load(rest, 0, LENGTH) as usize;
        if len == 0 || len > FRAME_MAX {
            return Err(FrameError::Length { len });
        }
        let Some(bytes) = rest.get(LENGTH..LENGTH + len) else {
            return Ok(None);
        };
        let frame = decode(bytes)?;
        self.start += LENGTH + len;
        Ok(Some(frame))
    }
}
