//! Subnet management packets (SMPs): LID-routed, directed-route, and the mix of both.

mod hop;

pub use hop::{Hop, advance};

use crate::bits::{load, store};
use crate::error::DecodeError;
use crate::header::{DirectedRouteHeader, MadHeader, class, method, status, version};
use crate::id::{Lid, PortNum};
use crate::layout::Layout;
use crate::packet::Packet;
use crate::sm::AttributeId;

/// Bytes before the payload of a LID-routed SMP.
pub const LID_ROUTED_HEADER_LEN: usize = 32;
/// Bytes before the payload of a directed-route SMP.
pub const DIRECTED_HEADER_LEN: usize = 176;
/// Most bytes of payload in a LID-routed SMP (`STL_MAX_PAYLOAD_SMP_LR`).
pub const LID_ROUTED_PAYLOAD_MAX: usize = 2016;
/// Most bytes of payload in a directed-route SMP (`STL_MAX_PAYLOAD_SMP_DR`).
pub const DIRECTED_PAYLOAD_MAX: usize = 1872;
/// Most hops of a directed route: the path's first byte is not used.
pub const MAX_HOPS: usize = 63;

const M_KEY_AT: usize = MadHeader::LEN;

/// An SMP, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmpView<'a> {
    /// Common header.
    pub header: MadHeader,
    /// The key that protects the port's settings.
    pub m_key: u64,
    /// Directed route, of class 0x81.
    pub directed: Option<DirectedRouteHeader>,
    /// Data after the headers; empty in most Gets.
    pub payload: &'a [u8],
}

impl<'a> SmpView<'a> {
    /// Reads an Omni-Path SMP.
    ///
    /// # Errors
    /// [`DecodeError::Short`] when the headers are not all there, [`DecodeError::Value`] when the
    /// base version or the class is another, a directed route has more than [`MAX_HOPS`] hops, or
    /// the datagram is longer than [`Packet::MAD_LEN_MAX`].
    pub fn parse(mad: &'a [u8]) -> Result<Self, DecodeError> {
        let header = MadHeader::decode(mad)?;
        check(&header, mad.len())?;
        let directed = match header.mgmt_class {
            class::SM_DIRECTED_ROUTE => Some(DirectedRouteHeader::decode(
                mad.get(M_KEY_AT..).unwrap_or_default(),
            )?),
            _ => None,
        };
        let start = match directed {
            Some(_) => DIRECTED_HEADER_LEN,
            None => LID_ROUTED_HEADER_LEN,
        };
        DecodeError::take("SMP", mad, start)?;
        Ok(Self {
            header,
            m_key: load(mad, M_KEY_AT, 8),
            directed,
            payload: mad.get(start..).unwrap_or_default(),
        })
    }

    /// The attribute.
    pub fn attribute(&self) -> AttributeId {
        AttributeId(self.header.attribute_id)
    }

    /// Whether it answers a request.
    pub fn is_response(&self) -> bool {
        method::is_response(self.header.method)
    }

    /// Status without the directed route's direction bit.
    pub fn status(&self) -> u16 {
        match self.directed {
            Some(_) => status::code(self.header.status),
            None => self.header.status,
        }
    }

    /// Most bytes of payload that an SMP of this class takes.
    pub fn payload_max(&self) -> usize {
        match self.directed {
            Some(_) => DIRECTED_PAYLOAD_MAX,
            None => LID_ROUTED_PAYLOAD_MAX,
        }
    }
}

/// Checks that a datagram is a readable SMP.
fn check(header: &MadHeader, len: usize) -> Result<(), DecodeError> {
    let directed = header.mgmt_class == class::SM_DIRECTED_ROUTE;
    let wrong = if header.base_version != version::OPA {
        ("base_version", u64::from(header.base_version), "0x80")
    } else if !class::is_sm(header.mgmt_class) {
        ("mgmt_class", u64::from(header.mgmt_class), "0x01 or 0x81")
    } else if directed && usize::from(header.hop_count) > MAX_HOPS {
        ("hop_count", u64::from(header.hop_count), "0 to 63")
    } else if len > Packet::MAD_LEN_MAX {
        ("length", len as u64, "up to 2048")
    } else {
        return Ok(());
    };
    let (field, value, allowed) = wrong;
    Err(DecodeError::Value {
        what: "SMP",
        field,
        value,
        allowed,
    })
}

/// Content of an SMP, without its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Smp {
    /// Method, see [`method`].
    pub method: u8,
    /// Attribute.
    pub attribute: AttributeId,
    /// Attribute modifier.
    pub modifier: u32,
    /// Chosen by the requester and echoed.
    pub transaction_id: u64,
    /// The key that protects the port's settings.
    pub m_key: u64,
}

/// The directed part of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectedRoute {
    /// Start of the directed part; [`Lid::PERMISSIVE`] if that is the sender.
    pub dr_slid: Lid,
    /// Destination of the last, LID-routed part; [`Lid::PERMISSIVE`] if there is none.
    pub dr_dlid: Lid,
    hop_count: u8,
    initial_path: [u8; 64],
}

impl DirectedRoute {
    /// A fully directed route that leaves through `ports`, one after the other. Without ports
    /// it is for the node itself.
    ///
    /// # Errors
    /// [`DecodeError::Value`] with more than [`MAX_HOPS`] ports.
    pub fn new(ports: &[PortNum]) -> Result<Self, DecodeError> {
        Self::after_lid(Lid::PERMISSIVE, ports)
    }

    /// A route that is LID-routed to a switch first and directed from there: the packet's
    /// destination LID names the switch, `dr_slid` is the sender's LID.
    ///
    /// # Errors
    /// [`DecodeError::Value`] with more than [`MAX_HOPS`] ports.
    pub fn after_lid(dr_slid: Lid, ports: &[PortNum]) -> Result<Self, DecodeError> {
        if ports.len() > MAX_HOPS {
            return Err(DecodeError::Value {
                what: "directed route",
                field: "hops",
                value: ports.len() as u64,
                allowed: "0 to 63",
            });
        }
        let mut initial_path = [0; 64];
        for (to, port) in initial_path.iter_mut().skip(1).zip(ports) {
            *to = port.0;
        }
        Ok(Self {
            dr_slid,
            dr_dlid: Lid::PERMISSIVE,
            hop_count: ports.len() as u8,
            initial_path,
        })
    }

    /// The ports that it leaves through.
    pub fn ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let hops = usize::from(self.hop_count);
        self.initial_path
            .iter()
            .skip(1)
            .take(hops)
            .map(|p| PortNum(*p))
    }
}

impl Smp {
    /// A Get without payload.
    pub fn get(attribute: AttributeId, modifier: u32, transaction_id: u64, m_key: u64) -> Self {
        Self {
            method: method::GET,
            attribute,
            modifier,
            transaction_id,
            m_key,
        }
    }

    /// A Set.
    pub fn set(attribute: AttributeId, modifier: u32, transaction_id: u64, m_key: u64) -> Self {
        Self {
            method: method::SET,
            ..Self::get(attribute, modifier, transaction_id, m_key)
        }
    }

    /// Writes a LID-routed SMP over `mad`: headers and `payload`, padded to a multiple of 8 bytes.
    /// Payload beyond [`LID_ROUTED_PAYLOAD_MAX`] is cut.
    pub fn write_lid_routed(&self, payload: &[u8], mad: &mut Vec<u8>) {
        mad.clear();
        mad.resize(LID_ROUTED_HEADER_LEN, 0);
        self.header(class::SM_LID_ROUTED).encode(mad);
        store(mad, M_KEY_AT, 8, self.m_key);
        append(mad, payload, LID_ROUTED_PAYLOAD_MAX);
    }

    /// Overwrites `mad` with a directed-route SMP at the start of its path: headers and `payload`,
    /// padded to a multiple of 8 bytes. Payload beyond [`DIRECTED_PAYLOAD_MAX`] is truncated.
    pub fn write_directed(&self, route: &DirectedRoute, payload: &[u8], mad: &mut Vec<u8>) {
        mad.clear();
        mad.resize(DIRECTED_HEADER_LEN, 0);
        let header = MadHeader {
            hop_count: route.hop_count,
            ..self.header(class::SM_DIRECTED_ROUTE)
        };
        header.encode(mad);
        let directed = DirectedRouteHeader {
            m_key: self.m_key,
            dr_slid: route.dr_slid,
            dr_dlid: route.dr_dlid,
            initial_path: route.initial_path,
            return_path: [0; 64],
        };
        directed.encode(mad.get_mut(M_KEY_AT..).unwrap_or_default());
        append(mad, payload, DIRECTED_PAYLOAD_MAX);
    }

    fn header(&self, mgmt_class: u8) -> MadHeader {
        MadHeader {
            base_version: version::OPA,
            mgmt_class,
            class_version: version::OPA,
            method: self.method,
            attribute_id: self.attribute.0,
            attribute_modifier: self.modifier,
            transaction_id: self.transaction_id,
            ..MadHeader::default()
        }
    }
}

/// Appends `payload`, cut to `max` bytes and padded to a multiple of 8.
fn append(mad: &mut Vec<u8>, payload: &[u8], max: usize) {
    let payload = payload.get(..max).unwrap_or(payload);
    mad.extend_from_slice(payload);
    mad.resize(mad.len().next_multiple_of(8), 0);
}

/// Writes the answer to `request` over `mad`: its headers with the response's method, `status` and
/// `payload`, padded to a multiple of 8 bytes.
///
/// A directed route is turned: the direction bit is set, and the hop pointer stays as it came, so
/// that [`advance`] takes the answer back. The M_Key is echoed.
pub fn respond(request: &SmpView<'_>, status: u16, payload: &[u8], mad: &mut Vec<u8>) {
    let directed = request.directed.is_some();
    let header = MadHeader {
        method: response_method(request.header.method),
        status: status | if directed { status::DIRECTION } else { 0 },
        ..request.header
    };
    mad.clear();
    mad.resize(LID_ROUTED_HEADER_LEN, 0);
    header.encode(mad);
    store(mad, M_KEY_AT, 8, request.m_key);
    if let Some(route) = request.directed {
        mad.resize(DIRECTED_HEADER_LEN, 0);
        route.encode(mad.get_mut(M_KEY_AT..).unwrap_or_default());
    }
    append(mad, payload, request.payload_max());
}

/// The method that answers `request`: traps are repressed, the rest is answered with a GetResp or
/// the request's number with the response bit.
pub fn response_method(request: u8) -> u8 {
    match request {
        method::SET => method::GET_RESP,
        method::TRAP => method::TRAP_REPRESS,
        other => other | method::RESPONSE,
    }
}
