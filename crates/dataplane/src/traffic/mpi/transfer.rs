//! Messages on their way.

use super::stack::Method;

/// A message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// The program's word.
    pub(super) tag: u32,
    pub(super) method: Method,
    /// The receiver reads it: its sender's card answers by itself.
    pub(super) read: bool,
    /// Bytes of each packet but the last.
    pub(super) payload: u32,
    pub(super) packets: u32,
    /// Packets that the processor has written into the send buffer.
    pub(super) written: u32,
    /// Packets handed to the link, and packets that may be.
    pub(super) sent: u32,
    pub(super) granted: u32,
    /// Packets that were lost and are to be handed to the link again.
    pub(super) again: u32,
    pub(super) received: u32,
    /// Packets that the receiver has asked for.
    pub(super) asked: u32,
    /// The LID, after the destination's first, that the next packets take.
    pub(super) path: u32,
    /// It waits in its host's list of transfers.
    pub(super) listed: bool,
}

impl Transfer {
    /// Whether the receiver must ask before data comes.
    pub(super) fn is_asked_for(&self) -> bool {
        self.read || self.method == Method::Rendezvous
    }
}

/// All of them; places are used again.
#[derive(Debug, Clone, Default)]
pub(super) struct Transfers {
    all: Vec<Transfer>,
    free: Vec<u32>,
}

impl Transfers {
    pub(super) fn add(&mut self, transfer: Transfer) -> u32 {
        if let Some(id) = self.free.pop() {
            self.all[id as usize] = transfer;
            return id;
        }
        self.all.push(transfer);
        self.all.len() as u32 - 1
    }

    pub(super) fn remove(&mut self, id: u32) -> Transfer {
        self.free.push(id);
        self.all[id as usize]
    }

    pub(super) fn get(&self, id: u32) -> &Transfer {
        &self.all[id as usize]
    }

    pub(super) fn get_mut(&mut self, id: u32) -> &mut Transfer {
        &mut self.all[id as usize]
    }
}
