//! Messages on their way.

/// A message.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Transfer {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// The program's word.
    pub(super) tag: u32,
    pub(super) packets: u32,
    /// Packets handed to the link, and packets that may be.
    pub(super) sent: u32,
    pub(super) granted: u32,
    pub(super) received: u32,
    /// Packets that the receiver has asked for.
    pub(super) asked: u32,
    /// The LID, after the destination's first, that the next packets take.
    pub(super) path: u32,
    /// It waits in its host's list of transfers.
    pub(super) listed: bool,
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
