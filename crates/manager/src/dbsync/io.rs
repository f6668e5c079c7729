//! Inputs and outputs of the copy of registrations.

use std::sync::Arc;
use std::time::Duration;

use weft_config::Instance;
use weft_fabric::{Guid, Snapshot};
use weft_state::State;
use weft_wire::packet::Packet;

use super::Registrations;
use crate::gsi::Requester;

/// Settings of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbSyncSettings {
    /// Interval at which a standby receives everything (`<DbSyncInterval>`); zero for no copy at all.
    pub interval: Duration,
    /// Key that managers of the fabric share (`<SmKey>`): others are no standbys.
    pub sm_key: u64,
}

impl Default for DbSyncSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(900),
            sm_key: 0,
        }
    }
}

impl DbSyncSettings {
    /// Settings of an instance of the configuration.
    pub fn from_config(instance: &Instance) -> Self {
        Self {
            interval: instance.sm.db_sync_interval,
            sm_key: instance.sm.sm_key,
        }
    }
}

/// Inputs of the copy.
#[derive(Debug, Clone)]
pub enum DbSyncInput {
    /// The time has come that [`super::DbSync::deadline`] named.
    Tick,
    /// A datagram of class 0x31 arrived at the manager's port.
    Received(Packet),
    /// This manager is master, with the fabric as it is from now on.
    Master(Arc<Snapshot>),
    /// This manager stands by for the one on a port.
    Standby {
        /// GUID of the master's port.
        master: Guid,
    },
    /// This manager looks for a master, or takes no part.
    Neither,
    /// Registrations have changed since they were asked for last, or may have.
    Changed,
    /// The answer to [`DbSyncOutput::Ask`].
    Registrations(Arc<Registrations>),
    /// Time of day.
    WallClock {
        /// Seconds since 1970.
        unix_s: u64,
    },
    /// Other settings.
    Settings(DbSyncSettings),
}

/// Outputs of the copy.
#[derive(Debug, Clone)]
pub enum DbSyncOutput {
    /// Send a datagram from the manager's port.
    Send(Packet),
    /// The registrations are wanted, as [`DbSyncInput::Registrations`].
    Ask,
    /// These are the master's registrations from now on.
    Inherit(Box<Inherited>),
    /// Something happened that people want to know.
    Event(DbSyncEvent),
}

/// A master's registrations at its standby.
#[derive(Debug, Clone, State)]
pub struct Inherited {
    /// GUID of the master's port.
    pub master: Guid,
    /// Where its requests came from.
    pub from: Requester,
    /// All of them.
    pub registrations: Arc<Registrations>,
}

/// Numbers of registrations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Multicast groups.
    pub groups: usize,
    /// Members of all of them.
    pub members: usize,
    /// Services.
    pub services: usize,
    /// Subscriptions to notices.
    pub subscriptions: usize,
}

impl Numbers {
    /// Those of `registrations`.
    pub(super) fn of(registrations: &Registrations) -> Self {
        let groups = registrations.groups.values();
        Self {
            groups: registrations.groups.len(),
            members: groups.map(|group| group.members.len()).sum(),
            services: registrations.services.len(),
            subscriptions: registrations.subscriptions.len(),
        }
    }
}

/// Something that people want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DbSyncEvent {
    /// A standby has all registrations; told the first time, and after a failure.
    Copied {
        /// GUID of the standby's port.
        to: Guid,
        /// How many.
        numbers: Numbers,
    },
    /// A standby did not take them; told the first time.
    CopyFailed {
        /// GUID of the standby's port.
        to: Guid,
        /// What it did not take, and why.
        why: String,
    },
    /// This standby has all registrations of its master; told the first time.
    Received {
        /// GUID of the master's port.
        from: Guid,
        /// How many.
        numbers: Numbers,
    },
    /// The master's message makes no sense; it is told so.
    Refused {
        /// GUID of the master's port.
        from: Guid,
        /// What is wrong.
        why: String,
    },
}
