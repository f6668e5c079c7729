//! Requests of hosts to subnet administration, as their kernels send them.

use weft_dataplane::Network;
use weft_fabric::{Guid, Lid, PortNum, Sl};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, version};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{Envelope, RmppHeader};
use weft_wire::sa::SaHeader;

/// A request of one datagram.
#[derive(Debug, Clone, Copy)]
pub struct SaRequest<'a> {
    /// Its method.
    pub method: u8,
    /// The attribute.
    pub attribute: u16,
    /// Whether it is of InfiniBand's version, not Omni-Path's.
    pub ib: bool,
    /// Components of the record that count.
    pub mask: u64,
    /// The record, encoded.
    pub record: &'a [u8],
    /// Tells its answer from others.
    pub transaction: u64,
}

impl SaRequest<'_> {
    /// The datagram's content.
    pub fn mad(&self) -> Vec<u8> {
        let (base_version, class_version) = match self.ib {
            true => (version::IB, version::IB_SA),
            false => (version::OPA, version::OPA),
        };
        let mut class = [0; SaHeader::LEN];
        let header = SaHeader {
            component_mask: self.mask,
            ..SaHeader::default()
        };
        header.encode(&mut class);
        let envelope = Envelope {
            mad: MadHeader {
                base_version,
                class_version,
                mgmt_class: class::SUBN_ADM,
                method: self.method,
                transaction_id: self.transaction,
                attribute_id: self.attribute,
                ..MadHeader::default()
            },
            class,
        };
        let mut mad = Vec::new();
        envelope.write(&RmppHeader::default(), self.record, &mut mad);
        mad
    }
}

/// The LIDs of a host's port and of the SM that it knows, by its registers; none where it lacks one, and can ask nobody.
pub fn own_and_sm(network: &Network, (node, port): (Guid, PortNum)) -> Option<(Lid, Lid)> {
    let at = network.device_at(network.find(node)?).port(port)?;
    let info = network.port(at).info();
    let known = info.lid != Lid(0) && info.master_sm_lid != Lid(0);
    known.then_some((info.lid, info.master_sm_lid))
}

/// A datagram from a host's LID to that of its SM.
pub fn to_sm((slid, dlid): (Lid, Lid), mad: Vec<u8>) -> Packet {
    Packet {
        slid,
        dlid,
        sl: Sl(0),
        pkey: PKey::MGMT_LIMITED,
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}
