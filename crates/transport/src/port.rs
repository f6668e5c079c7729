//! Queries of a program about its port, beyond datagrams: its state, and the requests that the
//! program serves.

use weft_wire::bits::load;
use weft_wire::id::{Guid, Lid, Lmc, Sl};

/// Most partition keys in a [`PortStatus`].
pub const P_KEYS_MAX: usize = 1024;
/// Bytes of a [`PortStatus`] before its partition keys.
const STATUS_LEN: usize = 56;
/// Bytes of a [`Registration`].
const REGISTRATION_LEN: usize = 26;

/// State of an HFI port, as host software sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PortStatus {
    /// Its first LID; 0 when it has none.
    pub base_lid: Lid,
    /// Its LMC.
    pub lmc: Lmc,
    /// The LID of the subnet manager; 0 when it knows none.
    pub sm_lid: Lid,
    /// The service level to the subnet manager.
    pub sm_sl: Sl,
    /// `PortInfo.PortStates.PortState`: 1 down, 2 init, 3 armed, 4 active.
    pub state: u8,
    /// `PortInfo.PortStates.PortPhysicalState`: 5 is link-up.
    pub phys_state: u8,
    /// Gb/s.
    pub rate: u16,
    /// `PortInfo.CapabilityMask`.
    pub capability_mask: u32,
    /// Prefix of its GIDs.
    pub subnet_prefix: u64,
    /// GUID of the port.
    pub port_guid: Guid,
    /// GUID of the HFI.
    pub node_guid: Guid,
    /// GUID of the system that the HFI is in.
    pub system_guid: Guid,
    /// Number of times that a subnet manager has asked programs to register again.
    pub reregistrations: u32,
    /// The partition keys, by index; 0 where there is none.
    pub p_keys: Vec<u16>,
}

/// Requests and traps that a program wants: those of a class and its version, with certain methods
/// and, in vendor classes, of one vendor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// The program's name for it.
    pub token: u32,
    /// Management class.
    pub class: u8,
    /// Version of the class.
    pub version: u8,
    /// The vendor's identifier, 24 bits; read from classes 0x30 to 0x4F only.
    pub oui: u32,
    /// Bit n stands for method n.
    pub methods: u128,
}

impl Registration {
    /// Whether both want some of the same datagrams.
    pub fn collides(&self, other: &Self) -> bool {
        self.class == other.class
            && self.version == other.version
            && self.methods & other.methods != 0
            && (!has_oui(self.class) || self.oui == other.oui)
    }

    /// Whether a request or trap is wanted.
    pub fn wants(&self, mad: &[u8]) -> bool {
        let byte = |place: usize| mad.get(place).copied().unwrap_or(0);
        let method = byte(3) & 0x7F;
        self.class == byte(1)
            && self.version == byte(2)
            && self.methods >> method & 1 == 1
            && (!has_oui(self.class) || Some(self.oui) == oui(mad))
    }
}

/// Whether datagrams of a class carry their vendor's identifier.
pub fn has_oui(class: u8) -> bool {
    matches!(class, 0x30..=0x4F)
}

/// The vendor's identifier in a datagram of a vendor class.
pub fn oui(mad: &[u8]) -> Option<u32> {
    (mad.len() >= 40).then(|| load(mad, 37, 3) as u32)
}

pub(crate) fn encode_status(status: &PortStatus, out: &mut Vec<u8>) {
    out.extend_from_slice(&status.base_lid.0.to_be_bytes());
    out.extend_from_slice(&status.sm_lid.0.to_be_bytes());
    let small = [
        status.lmc.0,
        status.sm_sl.0,
        status.state,
        status.phys_state,
    ];
    out.extend_from_slice(&small);
    out.extend_from_slice(&status.rate.to_be_bytes());
    let p_keys = &status.p_keys[..status.p_keys.len().min(P_KEYS_MAX)];
    out.extend_from_slice(&(p_keys.len() as u16).to_be_bytes());
    out.extend_from_slice(&status.capability_mask.to_be_bytes());
    out.extend_from_slice(&status.reregistrations.to_be_bytes());
    out.extend_from_slice(&status.subnet_prefix.to_be_bytes());
    for guid in [status.port_guid, status.node_guid, status.system_guid] {
        out.extend_from_slice(&guid.0.to_be_bytes());
    }
    p_keys
        .iter()
        .for_each(|key| out.extend_from_slice(&key.to_be_bytes()));
}

pub(crate) fn decode_status(content: &[u8]) -> Result<PortStatus, &'static str> {
    let (head, keys) = content.split_at_checked(STATUS_LEN).ok_or("too short")?;
    let count = load(head, 14, 2) as usize;
    if count > P_KEYS_MAX || keys.len() != 2 * count {
        return Err("the number of partition keys does not match");
    }
    Ok(PortStatus {
        base_lid: Lid(load(head, 0, 4) as u32),
        sm_lid: Lid(load(head, 4, 4) as u32),
        lmc: Lmc(head[8]),
        sm_sl: Sl(head[9]),
        state: head[10],
        phys_state: head[11],
        rate: load(head, 12, 2) as u16,
        capability_mask: load(head, 16, 4) as u32,
        reregistrations: load(head, 20, 4) as u32,
        subnet_prefix: load(head, 24, 8),
        port_guid: Guid(load(head, 32, 8)),
        node_guid: Guid(load(head, 40, 8)),
        system_guid: Guid(load(head, 48, 8)),
        p_keys: keys
            .chunks_exact(2)
            .map(|key| load(key, 0, 2) as u16)
            .collect(),
    })
}

pub(crate) fn encode_registration(registration: &Registration, out: &mut Vec<u8>) {
    out.extend_from_slice(&registration.token.to_be_bytes());
    out.extend_from_slice(&[registration.class, registration.version]);
    out.extend_from_slice(&registration.oui.to_be_bytes());
    out.extend_from_slice(&registration.methods.to_be_bytes());
}

pub(crate) fn decode_registration(content: &[u8]) -> Result<Registration, &'static str> {
    if content.len() != REGISTRATION_LEN {
        return Err("not 26 bytes");
    }
    let (high, low) = (load(content, 10, 8), load(content, 18, 8));
    Ok(Registration {
        token: load(content, 0, 4) as u32,
        class: content[4],
        version: content[5],
        oui: load(content, 6, 4) as u32,
        methods: u128::from(high) << 64 | u128::from(low),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PA: Registration = Registration {
        token: 7,
        class: 0x32,
        version: 0x80,
        oui: 0x0000_066A,
        methods: 1 << 1 | 1 << 2 | 1 << 0x12,
    };

    #[test]
    fn who_wants_what() {
        let mut mad = vec![0u8; 56];
        mad[..4].copy_from_slice(&[0x80, 0x32, 0x80, 0x12]);
        mad[37..40].copy_from_slice(&[0x00, 0x06, 0x6A]);
        assert!(PA.wants(&mad));
        for (place, value) in [(1, 0x31), (2, 1), (3, 0x13), (38, 7)] {
            let mut other = mad.clone();
            other[place] = value;
            assert!(!PA.wants(&other), "byte {place}");
        }
        assert!(!PA.wants(&mad[..30]), "without its vendor");
        assert!(!PA.wants(&[]));
    }

    #[test]
    fn collisions_need_a_method_in_common() {
        assert!(PA.collides(&PA));
        let cases = [
            Registration {
                methods: 1 << 3,
                ..PA
            },
            Registration { oui: 1, ..PA },
            Registration { version: 1, ..PA },
            Registration { class: 0x31, ..PA },
        ];
        for other in cases {
            assert!(!PA.collides(&other), "{other:?}");
        }
        let sa = Registration { class: 3, ..PA };
        assert!(sa.collides(&Registration { oui: 1, ..sa }));
    }
}
