//! Ports that are switched off: which, why, by whom, and what has become of them.

use std::collections::{BTreeMap, BTreeSet};

use weft_fabric::{Guid, PortNum, Tick};
use weft_state::State;
use weft_wire::enums::PhysState;

use super::Manager;
use super::devices::Devices;
use super::port_change::End;
use crate::io::{DisabledPort, DisabledState, PortNote, PortSide};

/// Most ports that a list has.
pub const LISTED_MAX: usize = 16_384;

/// Notes on ports that are switched off, by the end at which that was done.
pub(crate) type Notes = BTreeMap<End, Noted>;

/// The note on a port that is switched off.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub(crate) struct Noted {
    pub since: Tick,
    pub note: PortNote,
    /// The port as it was called.
    pub near: Called,
    /// The other end of its cable.
    pub far: Option<(End, Called)>,
}

/// What a node is called, and its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, State)]
pub(crate) struct Called {
    pub name: String,
    pub is_switch: bool,
}

impl Devices {
    /// What a node is called; nothing is known of one that is not in the fabric.
    pub(super) fn called(&self, guid: Guid) -> Option<Called> {
        let device = &self[self.find(guid)?];
        let node = device.observed.node.as_ref()?;
        Some(Called {
            name: node.name().to_string(),
            is_switch: device.is_switch(),
        })
    }

    /// All ports that report that they are switched off.
    fn ports_off(&self) -> impl Iterator<Item = End> + '_ {
        self.iter().flat_map(|device| {
            let guid = device.identity.guid;
            let node = device.observed.node.as_deref();
            let ports = node.into_iter().flat_map(|node| node.external_ports());
            let off = ports.filter(|(_, port)| port.info.phys_state == PhysState::DISABLED);
            off.map(move |(port, _)| (guid, port))
        })
    }
}

impl Manager {
    /// The ports that are switched off, or were by this manager and are not any more, in order of GUID and port: at most
    /// [`LISTED_MAX`].
    pub fn disabled_ports(&self) -> Vec<DisabledPort> {
        let noted: BTreeSet<End> = self.commands.disabled.values().copied().collect();
        let all: BTreeSet<End> = noted
            .iter()
            .copied()
            .chain(self.devices.ports_off())
            .collect();
        all.into_iter()
            .take(LISTED_MAX)
            .map(|at| self.disabled_port(at, noted.contains(&at)))
            .collect()
    }

    fn disabled_port(&self, at: End, is_noted: bool) -> DisabledPort {
        let noted = self.commands.notes.get(&at);
        let far = self.far_of_disabled(at);
        let side = |end: End, kept: Option<&Called>| {
            let called = self.devices.called(end.0).or_else(|| kept.cloned());
            let Called { name, is_switch } = called.unwrap_or_default();
            PortSide {
                end,
                name,
                is_switch,
            }
        };
        let far_called = noted.and_then(|noted| noted.far.as_ref());
        DisabledPort {
            port: side(at, noted.map(|noted| &noted.near)),
            far: far.map(|far| side(far, far_called.map(|(_, called)| called))),
            state: self.state_of_disabled(at, is_noted),
            noted: noted.map(|noted| (noted.note.clone(), noted.since)),
        }
    }

    /// The other end of the cable of a port that is switched off.
    pub(super) fn far_of_disabled(&self, at: End) -> Option<End> {
        let noted = self.commands.notes.get(&at);
        let noted = noted.and_then(|noted| Some(noted.far.as_ref()?.0));
        let named = || {
            let names = self.commands.disabled.iter();
            let mut others = names.filter(|(name, off_at)| **off_at == at && **name != at);
            others.next().map(|(name, _)| *name)
        };
        noted.or_else(named).or_else(|| self.devices.far_end(at))
    }

    fn state_of_disabled(&self, (guid, port): End, is_noted: bool) -> DisabledState {
        let node = self.devices.find(guid);
        let held = node.and_then(|node| self.devices[node].observed.port(port));
        match held.map(|info| info.phys_state) {
            None => DisabledState::Gone,
            Some(_) if !is_noted => DisabledState::Found,
            // A link that is going down may be in transition.
            Some(PhysState::DISABLED | PhysState::OFFLINE) => DisabledState::Off,
            Some(_) => DisabledState::EnabledElsewhere,
        }
    }

    /// The note on a port that is switched off now at one end of its cable.
    pub(super) fn noted(&self, now: Tick, at: End, far: Option<End>, note: PortNote) -> Noted {
        let called = |guid: Guid| self.devices.called(guid).unwrap_or_default();
        Noted {
            since: now,
            note,
            near: called(at.0),
            far: far.map(|far| (far, called(far.0))),
        }
    }
}

/// Ports keep their notes under the new GUID of a node.
pub(super) fn rename(notes: Notes, renamed: impl Fn((Guid, PortNum)) -> End) -> Notes {
    let renamed = notes.into_iter().map(|(at, noted)| {
        let far = noted.far.map(|(far, called)| (renamed(far), called));
        (renamed(at), Noted { far, ..noted })
    });
    renamed.collect()
}
