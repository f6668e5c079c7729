//! What befalls the hosts of managers: disks and clocks.

use super::process::unix_s;
use super::{Cluster, Life};

impl Cluster {
    /// Lets a manager's disk be full, or have room again, so that what could not be written is.
    pub fn set_disk_full(&mut self, member: usize, full: bool) {
        self.members[member].stored.set_full(full);
    }

    /// Changes what a manager has on its disk, if there is anything; one that runs does not notice.
    pub fn change_stored(&mut self, member: usize, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let stored = &mut self.members[member].stored;
        stored.manager = stored.manager.take().map(change);
    }

    /// What the clock on the wall of a manager's host says, seconds since 1970.
    pub fn unix_s(&self, member: usize) -> u64 {
        let entry = &self.members[member];
        unix_s(entry.clock(self.now), entry.ahead_s)
    }

    /// Sets the clock on the wall of a manager's host, seconds ahead of all others; its time since the start goes on.
    pub fn set_clock(&mut self, member: usize, ahead_s: i64) {
        let entry = &mut self.members[member];
        entry.ahead_s = ahead_s;
        let now = entry.clock(self.now);
        if let Life::Running(process) | Life::Frozen(process) = &mut entry.life {
            process.tell_time(now, ahead_s);
        }
    }
}
