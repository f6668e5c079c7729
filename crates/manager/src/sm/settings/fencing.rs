//! Fencing: M_Keys that hold for one term of one master, so that devices refuse what an earlier master still sends.

use std::fmt;

use ring::hmac::{HMAC_SHA256, Key, sign};
use weft_fabric::{Guid, PortNum};
use weft_wire::bits::load;

/// What is signed begins with this, so that the secret may serve other purposes too.
const PURPOSE: &[u8] = b"weft M_Key 1";

/// The secret of a site, and whether its terms are to end.
#[derive(Clone)]
pub struct Fencing {
    secret: Box<[u8]>,
    key: Key,
    /// Ports get the M_Key of opafm.xml back.
    pub ends: bool,
}

/// The secret stays here.
impl fmt::Debug for Fencing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fencing")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Fencing {
    fn eq(&self, other: &Self) -> bool {
        (&self.secret, self.ends) == (&other.secret, other.ends)
    }
}

impl Fencing {
    /// Least and most bytes of a secret.
    pub const SECRET: std::ops::RangeInclusive<usize> = 32..=4096;

    /// With the secret of the site; none where its length is not allowed.
    pub fn new(secret: &[u8], ends: bool) -> Option<Self> {
        Self::SECRET.contains(&secret.len()).then(|| Self {
            secret: secret.into(),
            key: Key::new(HMAC_SHA256, secret),
            ends,
        })
    }

    /// The M_Key of a term for an end port: the first 8 bytes of HMAC-SHA256(secret, purpose, term, node GUID, port), never
    /// 0, which would be no key.
    pub(crate) fn m_key(&self, term: u64, (node, port): (Guid, PortNum)) -> u64 {
        let numbers = [term.to_be_bytes(), node.0.to_be_bytes()].concat();
        let signed = [PURPOSE, &numbers, &[port.0]].concat();
        let tag = sign(&self.key, &signed);
        load(tag.as_ref(), 0, 8).max(1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: u64 = 0xE57A_3C10_FF4E_A83B;

    #[test]
    fn keys_are_those_of_another_program() {
        // { printf 'weft M_Key 1'; printf '%016x%016x%02x' 7 0x11 1 | xxd -r -p; } |
        //   openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf 'ab%.0s' {1..32})
        let fencing = Fencing::new(&[0xAB; 32], false).unwrap();
        assert_eq!(fencing.m_key(7, (Guid(0x11), PortNum(1))), KEY);
        assert_ne!(fencing.m_key(8, (Guid(0x11), PortNum(1))), KEY);
        assert_ne!(fencing.m_key(7, (Guid(0x12), PortNum(1))), KEY);
        assert_ne!(fencing.m_key(7, (Guid(0x11), PortNum(0))), KEY);
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_shown() {
        assert_eq!(Fencing::new(&[1; 31], false), None);
        let shown = format!("{:?}", Fencing::new(&[0x41; 32], true).unwrap());
        assert_eq!(shown, "Fencing { ends: true, .. }");
    }
}
