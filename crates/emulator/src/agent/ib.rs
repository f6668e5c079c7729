//! The InfiniBand form of NodeInfo.
//!
//! Host software reads NodeInfo from the port in an InfiniBand directed-route SMP without hops; an
//! Omni-Path port answers it, with BaseVersion 0x80 in the content.

use weft_dataplane::Network;
use weft_wire::Layout;
use weft_wire::bits::store;
use weft_wire::header::{MadHeader, class, method, status, version};
use weft_wire::sm::AttributeId;

use super::{Request, attributes};

/// Bytes of every InfiniBand datagram.
pub(crate) const MAD_LEN: usize = 256;
/// Offset of an SMP's content.
const CONTENT: usize = 64;
/// Bytes of InfiniBand's NodeInfo.
const NODE_INFO: usize = 40;

/// Turns an InfiniBand SMP into its answer; none is given to what an Omni-Path port does not
/// answer.
pub(crate) fn answer(network: &Network, request: &Request, mad: &mut [u8]) -> Option<()> {
    let header = MadHeader::decode(mad).ok()?;
    let local = header.mgmt_class == class::SM_DIRECTED_ROUTE && header.hop_count == 0;
    if header.class_version != version::IB || !local || mad.len() != MAD_LEN {
        return None;
    }
    let known = AttributeId(header.attribute_id) == AttributeId::NODE_INFO;
    let status = match header.method {
        method::GET if known => status::OK,
        method::GET | method::SET => status::UNSUPPORTED_METHOD_ATTRIB,
        _ => return None,
    };
    if status == status::OK {
        write_node_info(network, request, mad.get_mut(CONTENT..)?);
    }
    store(mad, 3, 1, u64::from(method::GET_RESP));
    store(mad, 4, 2, u64::from(status | status::DIRECTION));
    Some(())
}

fn write_node_info(network: &Network, request: &Request, bytes: &mut [u8]) {
    let info = attributes::node_info_at(network, request);
    let mut opa = [0; 44];
    info.encode(&mut opa);
    let bytes = bytes.get_mut(..NODE_INFO).unwrap_or_default();
    bytes.fill(0);
    // The versions, type and port count are alike; the GUIDs and later fields are 4 bytes earlier.
    for (to, from) in bytes.iter_mut().zip(&opa[..4]) {
        *to = *from;
    }
    for (to, from) in bytes.iter_mut().skip(4).zip(&opa[8..44]) {
        *to = *from;
    }
    store(bytes, 0, 1, u64::from(version::OPA));
}
