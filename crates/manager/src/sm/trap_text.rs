//! Traps in words.

use weft_fabric::Lid;
use weft_wire::sm::{AttributeId, Trap};

use super::Manager;

impl Manager {
    /// What a trap says, and of one about a wrong key who had it, as far as it says so.
    pub(super) fn trap_in_words(&self, trap: Option<&Trap>) -> String {
        let Some(trap) = trap else {
            return "a vendor's notice".into();
        };
        let number = trap.number();
        let what = match Trap::name(number) {
            Some(name) => format!("{name} (trap {number})"),
            None => format!("trap {number}"),
        };
        let (of, sender) = match trap {
            Trap::BadMKey(of) => (format!(" for {}", AttributeId(of.attribute_id)), of.lid),
            Trap::BadPKey(of) | Trap::BadQKey(of) => (String::new(), of.lid1),
            Trap::SwitchBadPKey(of) if of.has_lid1 => (String::new(), of.lid1),
            _ => return what,
        };
        if sender == Lid::PERMISSIVE {
            return what + &of + ", along a directed route";
        }
        let node = self.node_with(sender).map(|node| &self.devices[node]);
        let node = node.and_then(|device| device.observed.node.as_ref());
        let name = node.map_or(String::new(), |node| format!(" ({})", node.name()));
        format!("{what}{of}, from LID {sender}{name}")
    }
}
