//! The master's state as keys: which they are, and what their heads say.
//!
//! A part of the state is one or more pieces, each small enough for a request to etcd, under keys that no other change has;
//! its head, written with the last of them, says which they are. So a reader has a part of one moment or none.

use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::peer::PartKind;

/// Format of heads and pieces; a later one is refused.
const FORMAT: u32 = 1;
/// Most bytes of a head that is read.
const LEN_MAX: usize = 1024;

/// The parts that are kept: neither the totals of counters, whose changes every 10 s would fill etcd, nor registrations,
/// which the master copies to standbys in the fabric.
pub(super) const KEPT: [PartKind; 3] = [PartKind::State, PartKind::Settings, PartKind::Plan];

/// What the key of a part says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    format: u32,
    /// Term of the master that wrote it, and the number of its change.
    pub(super) term: u64,
    pub(super) sequence: u64,
    /// Subnet prefix of its fabric.
    prefix: u64,
}

impl Head {
    pub(super) fn new(term: u64, sequence: u64, prefix: u64) -> Self {
        Self {
            format: FORMAT,
            term,
            sequence,
            prefix,
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        // Numbers have no reason to fail.
        serde_json::to_vec(&self).unwrap_or_default()
    }

    /// From the value of a key.
    ///
    /// # Errors
    /// In words, where it is none, of a newer version, or of another fabric.
    pub(super) fn from_bytes(bytes: &[u8], prefix: u64) -> Result<Self, String> {
        if bytes.len() > LEN_MAX {
            let len = bytes.len();
            return Err(format!("{len} bytes, at most {LEN_MAX} are read"));
        }
        let head: Self = serde_json::from_slice(bytes).map_err(|why| why.to_string())?;
        match (head.format, head.prefix) {
            (FORMAT, own) if own == prefix => Ok(head),
            (FORMAT, _) => Err("it is of another fabric".to_owned()),
            (format, _) => Err(format!("format {format}, this version knows {FORMAT}")),
        }
    }
}

/// A part's name in keys.
pub(super) fn name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::State => "state",
        PartKind::Registrations => "registrations",
        PartKind::Counters => "counters",
        PartKind::Settings => "settings",
        PartKind::Plan => "plan",
    }
}

impl Place {
    fn key(&self, rest: &str) -> String {
        format!("/weft/{}/{rest}", self.fabric)
    }

    /// From the first key that standbys watch up to, and without, the last: heads, and the master.
    pub(super) fn watched(&self) -> [String; 2] {
        [self.key("head/"), self.key("n")]
    }

    /// From the first head up to, and without, the end of all of them.
    pub(super) fn heads(&self) -> [String; 2] {
        [self.key("head/"), self.key("head0")]
    }

    /// The head of a part.
    pub(super) fn head(&self, kind: PartKind) -> String {
        self.key(&format!("head/{}", name(kind)))
    }

    /// From the first piece of a change up to, and without, those of the next one.
    pub(super) fn pieces(&self, kind: PartKind, head: Head) -> [String; 2] {
        let of = |end| {
            let change = format!("{:016x}-{:016x}{end}", head.term, head.sequence);
            self.key(&format!("piece/{}/{change}", name(kind)))
        };
        [of("/"), of("0")]
    }

    /// A piece of a change.
    pub(super) fn piece(&self, kind: PartKind, head: Head, place: usize) -> String {
        let [first, _] = self.pieces(kind, head);
        format!("{first}{place:06}")
    }

    /// From the first piece of a part up to, and without, the end of all of them.
    pub(super) fn all_pieces(&self, kind: PartKind) -> [String; 2] {
        ["/", "0"].map(|end| self.key(&format!("piece/{}{end}", name(kind))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_what_they_were_and_others_are_refused() {
        let head = Head::new(7, 9, 0xFE80);
        let bytes = head.to_bytes();
        assert_eq!(Head::from_bytes(&bytes, 0xFE80).unwrap(), head);
        let other = Head::from_bytes(&bytes, 1).unwrap_err();
        assert!(other.contains("another fabric"), "{other}");
        for end in 0..bytes.len() {
            assert!(Head::from_bytes(&bytes[..end], 0xFE80).is_err());
        }
        let newer = Head { format: 2, ..head }.to_bytes();
        let newer = Head::from_bytes(&newer, 0xFE80).unwrap_err();
        assert!(newer.contains("format 2"), "{newer}");
        for wrong in [&b""[..], b"null", b"\xff", &[b'['; 900], &[b'1'; 2000]] {
            assert!(Head::from_bytes(wrong, 0xFE80).is_err());
        }
    }

    #[test]
    fn keys_are_in_order_and_apart() {
        let place: Place = "etcd://a:1/hall".parse().unwrap();
        let [from, to] = place.watched();
        for key in [place.head(PartKind::State), place.master()] {
            assert!(from < key && key < to, "{key}");
        }
        let [from, heads_end] = place.heads();
        let head_key = place.head(PartKind::Settings);
        assert!(from < head_key && head_key < heads_end);
        assert!(heads_end < place.master());
        let head = Head::new(7, 9, 0);
        let [first, end] = place.pieces(PartKind::State, head);
        let piece = place.piece(PartKind::State, head, 3);
        assert!(first < piece && piece < end && to < piece, "{piece}");
        let next = place.piece(PartKind::State, Head::new(7, 10, 0), 0);
        assert!(end < next, "{next}");
        let [all, none] = place.all_pieces(PartKind::State);
        assert!(all < first && next < none);
        let other = place.piece(PartKind::Settings, head, 0);
        assert!(other < all || none < other);
    }
}
