//! What the key says of the manager that holds it.

use serde::{Deserialize, Serialize};
use weft_fabric::Guid;

/// Format of the value; a later one is refused.
const FORMAT: u32 = 1;
/// Most bytes of a value that is read.
const LEN_MAX: usize = 4096;
/// Longest name of a host, characters.
const HOST_MAX: usize = 64;

/// The manager that holds the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    format: u32,
    /// GUID of its port.
    #[serde(with = "hex")]
    pub(super) port: Guid,
    /// Its host; empty where that has no usable name.
    pub(super) host: String,
    /// Subnet prefix of its fabric.
    #[serde(with = "hex")]
    prefix: Guid,
}

impl Holder {
    /// This manager.
    pub(super) fn new(port: Guid, prefix: u64) -> Self {
        Self {
            format: FORMAT,
            port,
            host: crate::this_host::name().unwrap_or_default(),
            prefix: Guid(prefix),
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        // Numbers and words have no reason to fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// From the value of the key.
    ///
    /// # Errors
    /// In words, where it is none, of a newer version, or of another fabric.
    pub(super) fn from_bytes(bytes: &[u8], prefix: u64) -> Result<Self, String> {
        if bytes.len() > LEN_MAX {
            let len = bytes.len();
            return Err(format!("{len} bytes, at most {LEN_MAX} are read"));
        }
        #[derive(Deserialize)]
        struct Begin {
            format: u32,
        }
        let strange = |why: serde_json::Error| format!("no manager ({why})");
        let Begin { format } = serde_json::from_slice(bytes).map_err(strange)?;
        if format != FORMAT {
            return Err(format!("format {format}, this version knows {FORMAT}"));
        }
        let holder: Self = serde_json::from_slice(bytes).map_err(strange)?;
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
        if holder.host.len() > HOST_MAX || !holder.host.bytes().all(allowed) {
            return Err("a host's name that is none".to_owned());
        }
        if holder.prefix.0 != prefix {
            return Err(format!(
                "a manager of another fabric, with the subnet prefix {}; this one has {}: each fabric needs a name of \
                 its own in --ha",
                holder.prefix,
                Guid(prefix)
            ));
        }
        Ok(holder)
    }
}

/// Numbers as text: JSON's are not exact.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use weft_fabric::Guid;

    pub(super) fn serialize<S: Serializer>(guid: &Guid, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{:#018x}", guid.0))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Guid, D::Error> {
        let text = String::deserialize(from)?;
        let number = text.strip_prefix("0x").unwrap_or_default();
        let guid = u64::from_str_radix(number, 16).map(Guid);
        guid.map_err(|_| D::Error::custom("expected 0x and 16 digits"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PREFIX: u64 = 0xFE80_0000_0000_0000;

    #[test]
    fn a_value_is_what_it_was() {
        let holder = Holder::new(Guid(0x0011_7501_0000_0001), PREFIX);
        let bytes = holder.to_bytes();
        assert_eq!(Holder::from_bytes(&bytes, PREFIX).unwrap(), holder);
    }

    #[test]
    fn strange_values_are_refused_in_words() {
        let mut good = Holder::new(Guid(1), PREFIX);
        let bytes = good.to_bytes();
        let other = Holder::from_bytes(&bytes, 7).unwrap_err();
        assert!(other.contains("another fabric"), "{other}");
        for end in 0..bytes.len() {
            assert!(Holder::from_bytes(&bytes[..end], PREFIX).is_err(), "{end}");
        }
        good.format = 2;
        let newer = Holder::from_bytes(&good.to_bytes(), PREFIX).unwrap_err();
        assert!(newer.contains("format 2"), "{newer}");
        let deep = [b'['; 4000];
        let long = [b'1'; LEN_MAX + 1];
        let named = br#"{"format":1,"port":"0x1","host":"a\u0007b","prefix":"0xfe80000000000000"}"#;
        for wrong in [&b"null"[..], b"\xff\xfe", b"{}", &deep, &long, named] {
            assert!(Holder::from_bytes(wrong, PREFIX).is_err(), "{wrong:?}");
        }
    }
}
