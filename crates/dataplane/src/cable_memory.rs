//! What cables say of themselves, and whether their memory can be read.

use crate::network::{Network, PortIndex};

/// Text of a field of a cable's memory, padded with spaces.
pub type CableText = [u8; 16];

/// What a cable's end has that differs from what is usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CableEnd {
    serial: Option<CableText>,
    part: Option<CableText>,
    /// Its memory cannot be read now.
    busy: bool,
}

/// Text as it is in a cable's memory: 16 bytes, longer ones cut.
pub fn cable_text(text: &str) -> CableText {
    let mut field = [b' '; 16];
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = from;
    }
    field
}

impl Network {
    /// Serial number of the cable in a port, the same at both ends and wherever it is plugged in.
    pub fn cable_serial(&self, at: PortIndex) -> CableText {
        let set = self.cable_ends.get(&at).and_then(|end| end.serial);
        set.unwrap_or_else(|| self.first_serial(at))
    }

    /// That of a cable that was there from the beginning: from the node and port of its lower end.
    fn first_serial(&self, at: PortIndex) -> CableText {
        let lower = self.peer(at).map_or(at, |peer| at.min(peer));
        let guid = self.device_at(self.node_of(lower)).info.node_guid.0;
        cable_text(&format!(
            "W{:012X}{:03}",
            guid & 0xFFFF_FFFF_FFFF,
            self.number_of(lower).0
        ))
    }

    /// Part number of the cable in a port, none for the usual one of its kind.
    pub fn cable_part(&self, at: PortIndex) -> Option<CableText> {
        self.cable_ends.get(&at)?.part
    }

    /// Whether the memory of the cable in a port cannot be read now, as while another reads it or its bus hangs.
    pub fn is_cable_busy(&self, at: PortIndex) -> bool {
        self.cable_ends.get(&at).is_some_and(|end| end.busy)
    }

    /// Sets that.
    pub fn set_cable_busy(&mut self, at: PortIndex, busy: bool) {
        self.cable_ends.entry(at).or_default().busy = busy;
    }

    /// Puts another cable in the place of the one at a port: its link goes down and comes up again, and nothing is wrong
    /// with the new one. Without a part number it has the usual one.
    pub fn replace_cable(&mut self, at: PortIndex, serial: CableText, part: Option<CableText>) {
        let Some(peer) = self.peer(at) else { return };
        self.plug_cable(at, peer);
        for end in [at, peer] {
            let end = self.cable_ends.entry(end).or_default();
            (end.serial, end.part) = (Some(serial), part);
        }
    }

    /// Lets a cable keep its serial number wherever it is plugged in from now on.
    pub(crate) fn keep_serial(&mut self, at: PortIndex) {
        let serial = self.cable_serial(at);
        for end in [Some(at), self.peer(at)].into_iter().flatten() {
            self.cable_ends.entry(end).or_default().serial = Some(serial);
        }
    }

    /// Gives a new cable a serial number that no other one has.
    pub(crate) fn name_cable(&mut self, at: PortIndex) {
        self.cables_plugged += 1;
        let serial = cable_text(&format!("WNEW{:012}", self.cables_plugged));
        for end in [Some(at), self.peer(at)].into_iter().flatten() {
            self.cable_ends.entry(end).or_default().serial = Some(serial);
        }
    }
}
