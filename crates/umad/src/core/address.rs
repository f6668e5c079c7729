//! Conversion between user addresses of datagrams and packet addresses.

use weft_transport::PortStatus;
use weft_wire::bits::load;
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;

/// The LID that stands for a directed route in 16 bits.
pub const PERMISSIVE_16: u16 = 0xFFFF;
/// The vendor's identifier in the upper 24 bits of a GID's lower half: then the lower 32 are a LID.
const GID_OUI: u64 = 0x00_066A;
/// From here on LIDs do not fit in a user address's 16 bits: they are those of multicast.
const EXTENDED: u32 = 0xC000;

/// The global route that a user address may have beside its LID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GlobalRoute {
    /// The other side's GID.
    pub gid: [u8; 16],
    /// Flow label, traffic class and hop limit, which nothing here looks at.
    pub flow_label: u32,
    /// See `flow_label`.
    pub traffic_class: u8,
    /// See `flow_label`.
    pub hop_limit: u8,
}

/// The other side of a datagram, as programs see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Address {
    /// Queue pair.
    pub qpn: u32,
    /// Queue key.
    pub qkey: u32,
    /// LID, as far as it fits.
    pub lid: u16,
    /// Service level.
    pub sl: u8,
    /// Low bits of the own LID.
    pub path_bits: u8,
    /// Index of the partition key in the own port's table.
    pub pkey_index: u16,
    /// The global route, if there is one.
    pub route: Option<GlobalRoute>,
}

impl Address {
    /// The destination: the LID in the GID, where there is one, or the short one.
    pub fn dlid(&self) -> Lid {
        if let Some(route) = &self.route {
            let interface = load(&route.gid, 8, 8);
            if interface >> 40 == GID_OUI {
                return Lid(interface as u32);
            }
        }
        match self.lid {
            PERMISSIVE_16 => Lid::PERMISSIVE,
            // Multicast LIDs are in the upper quarter of 16 bits, and elsewhere in 32.
            lid if u32::from(lid) >= EXTENDED => {
                Lid(Lid::MULTICAST_BASE.0 + u32::from(lid) - EXTENDED)
            }
            lid => Lid(u32::from(lid)),
        }
    }

    /// Source address of a received packet.
    pub fn of_source(packet: &Packet, status: &PortStatus) -> Self {
        let slid = packet.slid;
        let extended = slid.0 >= EXTENDED && slid != Lid::PERMISSIVE;
        let route = extended.then(|| GlobalRoute {
            gid: opa_gid(status.subnet_prefix, slid),
            ..GlobalRoute::default()
        });
        let lids = status.lmc.lids();
        Self {
            qpn: packet.src_qp,
            qkey: if packet.src_qp == 0 { 0 } else { GSI_QKEY },
            lid: slid.0 as u16,
            sl: packet.sl.0,
            path_bits: (packet.dlid.0 & (lids - 1)) as u8,
            pkey_index: index_of(&status.p_keys, packet.pkey),
            route,
        }
    }
}

/// Queue key of general services.
const GSI_QKEY: u32 = 0x8001_0000;

/// The GID that carries a LID of more than 16 bits.
fn opa_gid(prefix: u64, lid: Lid) -> [u8; 16] {
    let interface = GID_OUI << 40 | u64::from(lid.0);
    let both = u128::from(prefix) << 64 | u128::from(interface);
    both.to_be_bytes()
}

/// The index of a partition key: of the key itself, or of the other kind of membership; 0 when the
/// port has neither.
fn index_of(p_keys: &[u16], key: PKey) -> u16 {
    let same = |own: &u16| *own == key.0;
    let partition = |own: &u16| *own != 0 && (own ^ key.0) & 0x7FFF == 0;
    let found = p_keys.iter().position(same);
    let found = found.or_else(|| p_keys.iter().position(partition));
    found.unwrap_or(0) as u16
}

/// The packet that carries `mad` to `address`; the P_Key's index is all that can be wrong.
pub fn packet(address: &Address, status: &PortStatus, qp: u32, mad: Vec<u8>) -> Option<Packet> {
    let key = status.p_keys.get(usize::from(address.pkey_index))?;
    let dlid = address.dlid();
    let path = u32::from(address.path_bits) & (status.lmc.lids() - 1);
    let slid = match dlid {
        Lid::PERMISSIVE => dlid,
        _ => Lid(status.base_lid.0 | path),
    };
    Some(Packet {
        slid,
        dlid,
        sl: Sl(address.sl),
        pkey: PKey(*key),
        dest_qp: address.qpn,
        src_qp: qp,
        mad,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_wire::id::Lmc;

    fn status() -> PortStatus {
        PortStatus {
            base_lid: Lid(0x10),
            lmc: Lmc(2),
            subnet_prefix: 0xFE80 << 48,
            p_keys: vec![0x8001, 0x7FFF, 0xFFFF, 0],
            ..PortStatus::default()
        }
    }

    #[test]
    fn long_lids_travel_in_the_gid() {
        let mut packet = packet(&Address::default(), &status(), 1, vec![])
            .unwrap_or_else(|| unreachable!("index 0 is there"));
        for (slid, short, extended) in [
            (1, 1, false),
            (0xBFFF, 0xBFFF, false),
            (0x1_0002, 2, true),
            (Lid::PERMISSIVE.0, 0xFFFF, false),
        ] {
            packet.slid = Lid(slid);
            let address = Address::of_source(&packet, &status());
            assert_eq!((address.lid, address.route.is_some()), (short, extended));
            assert_eq!(address.dlid(), Lid(slid), "and back");
        }
    }

    #[test]
    fn p_keys_travel_as_their_index() {
        let cases = [
            (0x7FFF, 1),
            (0xFFFF, 2),
            (0x0001, 0),
            (0x8001, 0),
            (0x1234, 0),
            (0, 3),
        ];
        for (key, index) in cases {
            assert_eq!(index_of(&status().p_keys, PKey(key)), index, "{key:#x}");
        }
        let wrong = Address {
            pkey_index: 4,
            ..Address::default()
        };
        assert_eq!(packet(&wrong, &status(), 1, vec![]), None);
    }

    #[test]
    fn the_path_bits_choose_among_the_own_lids() {
        let address = Address {
            lid: 5,
            path_bits: 7,
            ..Address::default()
        };
        let sent = packet(&address, &status(), 1, vec![]).map(|packet| packet.slid);
        assert_eq!(sent, Some(Lid(0x13)));
    }
}
