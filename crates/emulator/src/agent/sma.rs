//! The subnet management agent: headers, keys and aggregates; attributes are in `attributes`.

use weft_dataplane::{Network, PortIndex};
use weft_fabric::{NodeId, Tick};
use weft_wire::Layout;
use weft_wire::bits::{load, store};
use weft_wire::header::{class, method, status, version};
use weft_wire::sm::AttributeId;
use weft_wire::sm::aggregate::{MAX_SEGMENTS, SegmentHeader, segments_mut};
use weft_wire::smp::{
    DIRECTED_HEADER_LEN, DIRECTED_PAYLOAD_MAX, LID_ROUTED_HEADER_LEN, LID_ROUTED_PAYLOAD_MAX,
};

use super::{Failure, Request, attributes, ib};
use crate::claims::Claims;
use crate::observe::{Observer, SetDone};
use crate::stats::Stats;

/// Byte offsets of fields in the common header.
pub(crate) mod at {
    pub(crate) const BASE_VERSION: usize = 0;
    pub(crate) const CLASS: usize = 1;
    pub(crate) const CLASS_VERSION: usize = 2;
    pub(crate) const METHOD: usize = 3;
    pub(crate) const STATUS: usize = 4;
    pub(crate) const TRANSACTION: usize = 8;
    pub(crate) const ATTRIBUTE: usize = 16;
    pub(crate) const MODIFIER: usize = 20;
    /// Offset of the hop count in directed routes.
    pub(crate) const HOP_COUNT: usize = 7;
    /// Offset of the M_Key in SMPs.
    pub(crate) const M_KEY: usize = 24;
}

/// The lease of a node's M_Key: the end of its protection, while wrong keys are being tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KeyLease(Option<Tick>);

/// Rights that the M_Key gives to a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    All,
    /// All but see the key.
    KeyHidden,
    None,
}

/// A request to a node's agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) node: NodeId,
    /// The port that sent it.
    pub(crate) from: PortIndex,
    /// The port that it came in by.
    pub(crate) ingress: PortIndex,
    pub(crate) now: Tick,
    pub(crate) claims: Claims,
}

/// Observes the requests that agents carry out.
#[derive(Debug)]
pub(crate) struct Witness<'a> {
    pub(crate) stats: &'a mut Stats,
    pub(crate) observer: Option<&'a mut dyn Observer>,
    /// The key of a datagram was wrong, and that counts.
    pub(crate) violated: bool,
}

impl Witness<'_> {
    /// A request was carried out, or refused: a part of a PortInfo may have been written all the same.
    fn tried(
        &mut self,
        network: &Network,
        request: &Request,
        attribute: AttributeId,
        done: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_denied = request.claims.denies == Some(attribute);
        if done.is_ok() || attribute == AttributeId::PORT_INFO || is_denied {
            self.done(network, request, attribute);
        }
        done
    }

    /// A Set has been applied to a node's registers.
    fn done(&mut self, network: &Network, request: &Request, attribute: AttributeId) {
        let claims = [request.claims.ignores, request.claims.pretends];
        let is_done = request.set && !claims.contains(&Some(attribute));
        if let Some(observer) = self.observer.as_mut().filter(|_| is_done) {
            let done = SetDone {
                now: request.now,
                from: request.from,
                node: request.node,
                attribute,
                modifier: request.modifier,
            };
            observer.set_done(network, done);
        }
    }
}

/// Turns an SMP into its answer; none is given to what cannot be read, is no request, or has a
/// wrong key.
pub(crate) fn answer(
    network: &mut Network,
    asked: Asked,
    lease: &mut KeyLease,
    witness: &mut Witness<'_>,
    mad: &mut Vec<u8>,
) -> Option<()> {
    let (header, capacity) = match mad.get(at::CLASS)? {
        &class::SM_DIRECTED_ROUTE => (DIRECTED_HEADER_LEN, DIRECTED_PAYLOAD_MAX),
        _ => (LID_ROUTED_HEADER_LEN, LID_ROUTED_PAYLOAD_MAX),
    };
    if mad.len() < header || mad.len() > header + capacity {
        return None;
    }
    let method = mad[at::METHOD];
    let mut request = Request {
        node: asked.node,
        from: asked.from,
        ingress: asked.ingress,
        modifier: load(mad, at::MODIFIER, 4) as u32,
        set: method == method::SET,
        hide_m_key: false,
        now: asked.now,
        claims: asked.claims,
    };
    match mad[at::BASE_VERSION] {
        version::OPA => {}
        version::IB => return ib::answer(network, &request, mad),
        _ => return None,
    }
    if method & method::RESPONSE != 0 {
        return None;
    }
    let outcome = if mad[at::CLASS_VERSION] != version::OPA {
        status::UNSUPPORTED_CLASS_OR_VERSION
    } else if !matches!(method, method::GET | method::SET) {
        status::UNSUPPORTED_METHOD
    } else {
        match check_key(network, &request, lease, load(mad, at::M_KEY, 8)) {
            Access::None => {
                witness.violated = true;
                return None;
            }
            Access::KeyHidden => request.hide_m_key = true,
            Access::All => {}
        }
        perform(network, request, witness, mad, header, capacity)
    };
    finish(mad, outcome);
    Some(())
}

fn check_key(network: &mut Network, request: &Request, lease: &mut KeyLease, key: u64) -> Access {
    let end = network.end_port(request.ingress);
    let own = network.port(end).info().m_key;
    if own == 0 || own == key {
        lease.0 = None;
        return Access::All;
    }
    if lease.0.is_some_and(|over| over <= request.now) {
        network.expire_m_key(end);
        lease.0 = None;
    }
    let info = network.port(end).info();
    match (info.m_key_protect_bits, request.set) {
        (0, false) => Access::All,
        (1, false) => Access::KeyHidden,
        _ => {
            let seconds = u64::from(info.m_key_lease_period);
            network.count_m_key_violation(end);
            if seconds > 0 && lease.0.is_none() {
                let over = request.now.0.saturating_add(seconds * 1_000_000_000);
                lease.0 = Some(Tick(over));
            }
            Access::None
        }
    }
}

/// Executes a request, with the answer in place of its payload; returns its status.
fn perform(
    network: &mut Network,
    request: Request,
    witness: &mut Witness<'_>,
    mad: &mut Vec<u8>,
    header: usize,
    capacity: usize,
) -> u16 {
    let attribute = AttributeId(load(mad, at::ATTRIBUTE, 2) as u16);
    if attribute == AttributeId::AGGREGATE {
        witness.stats.count(request.node, attribute, request.set);
        if !request.set {
            make_room(mad, header, capacity, request.modifier as usize);
        }
        return aggregate(
            network,
            request,
            witness,
            mad.get_mut(header..).unwrap_or_default(),
        );
    }
    match single(network, request, witness, attribute, mad, header, capacity) {
        Ok(()) => status::OK,
        Err(failure) => failure.status(),
    }
}

fn single(
    network: &mut Network,
    request: Request,
    witness: &mut Witness<'_>,
    attribute: AttributeId,
    mad: &mut Vec<u8>,
    header: usize,
    capacity: usize,
) -> Result<(), Failure> {
    let len = attributes::length(attribute, request.modifier)?;
    if len > capacity || request.set && mad.len() < header + len {
        return Err(Failure::Invalid);
    }
    mad.resize(header + len.next_multiple_of(8).min(capacity), 0);
    witness.stats.count(request.node, attribute, request.set);
    let data = mad.get_mut(header..header + len).unwrap_or_default();
    let done = attributes::access(network, &request, attribute, data);
    witness.tried(network, &request, attribute, done)
}

/// Extends the datagram for the answer of an Aggregate's last segment: a Get may omit it.
fn make_room(mad: &mut Vec<u8>, header: usize, capacity: usize, count: usize) {
    let mut end = header;
    for _ in 0..count.min(MAX_SEGMENTS) {
        let Some(Ok(head)) = mad.get(end..).map(SegmentHeader::decode) else {
            return;
        };
        end += SegmentHeader::LEN + 8 * usize::from(head.request_length);
    }
    if mad.len() < end && end <= header + capacity {
        mad.resize(end, 0);
    }
}

/// Does one segment after the other and stops at the first that fails; that one is marked, and the
/// datagram's status stays good.
fn aggregate(
    network: &mut Network,
    request: Request,
    witness: &mut Witness<'_>,
    payload: &mut [u8],
) -> u16 {
    let count = request.modifier as usize;
    if count == 0 || count > MAX_SEGMENTS {
        return status::INVALID_ATTRIB;
    }
    for segment in segments_mut(payload, count) {
        let Ok(mut segment) = segment else {
            return status::INVALID_ATTRIB;
        };
        let request = Request {
            modifier: segment.modifier,
            ..request
        };
        let attribute = segment.attribute;
        let done = in_segment(network, &request, witness, attribute, segment.data);
        segment.set_error(done.is_err());
        if done.is_err() {
            break;
        }
    }
    status::OK
}

fn in_segment(
    network: &mut Network,
    request: &Request,
    witness: &mut Witness<'_>,
    attribute: AttributeId,
    data: &mut [u8],
) -> Result<(), Failure> {
    let len = attributes::length(attribute, request.modifier)?;
    let data = data.get_mut(..len).ok_or(Failure::Invalid)?;
    witness.stats.count(request.node, attribute, request.set);
    let done = attributes::access(network, request, attribute, data);
    witness.tried(network, request, attribute, done)
}

/// Makes the header an answer's.
fn finish(mad: &mut [u8], outcome: u16) {
    let directed = mad[at::CLASS] == class::SM_DIRECTED_ROUTE;
    let direction = if directed { status::DIRECTION } else { 0 };
    store(mad, at::METHOD, 1, u64::from(method::GET_RESP));
    store(mad, at::STATUS, 2, u64::from(outcome | direction));
    store(mad, at::M_KEY, 8, 0);
}
