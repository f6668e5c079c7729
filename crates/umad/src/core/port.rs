//! Port events.

use std::collections::VecDeque;

use weft_transport::PortStatus;
use weft_umad_abi::verbs;

/// `PortState` of an active port.
pub const ACTIVE: u8 = 4;
/// Most events that wait for a program; later ones are dropped, since each says only that
/// something is to be looked at again.
const EVENTS_MAX: usize = 64;

/// Something happened to the port (`enum ibv_event_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its device is gone.
    DeviceFatal = verbs::EVENT_DEVICE_FATAL as isize,
    /// It became active.
    PortActive = verbs::EVENT_PORT_ACTIVE as isize,
    /// It is active no longer.
    PortError = verbs::EVENT_PORT_ERR as isize,
    /// It has other LIDs.
    LidChange = verbs::EVENT_LID_CHANGE as isize,
    /// Its partition keys are others.
    PKeyChange = verbs::EVENT_PKEY_CHANGE as isize,
    /// The subnet manager is elsewhere.
    SmChange = verbs::EVENT_SM_CHANGE as isize,
    /// The subnet manager requests programs to register again.
    Reregister = verbs::EVENT_CLIENT_REREGISTER as isize,
    /// Its GIDs are others.
    GidChange = verbs::EVENT_GID_CHANGE as isize,
}

/// Events between two states.
pub fn events(before: &PortStatus, after: &PortStatus) -> Vec<Event> {
    let active = |status: &PortStatus| status.state == ACTIVE;
    let sm = |status: &PortStatus| (status.sm_lid, status.sm_sl);
    let lids = |status: &PortStatus| (status.base_lid, status.lmc);
    let gids = |status: &PortStatus| (status.subnet_prefix, status.port_guid);
    let cases = [
        (lids(before) != lids(after), Event::LidChange),
        (gids(before) != gids(after), Event::GidChange),
        (before.p_keys != after.p_keys, Event::PKeyChange),
        (sm(before) != sm(after), Event::SmChange),
        (!active(before) && active(after), Event::PortActive),
        (active(before) && !active(after), Event::PortError),
        (
            before.reregistrations != after.reregistrations,
            Event::Reregister,
        ),
    ];
    let happened = cases.into_iter().filter(|(happened, _)| *happened);
    happened.map(|(_, event)| event).collect()
}

/// The events that wait for one program.
#[derive(Debug, Default)]
pub struct Watch {
    waiting: VecDeque<Event>,
    /// Number of those of which the program has not been alerted.
    news: usize,
}

impl Watch {
    /// Adds events; returns whether there are any.
    pub(super) fn add(&mut self, events: &[Event]) -> bool {
        let room = EVENTS_MAX.saturating_sub(self.waiting.len());
        let added = &events[..events.len().min(room)];
        self.waiting.extend(added);
        self.news += added.len();
        !added.is_empty()
    }

    /// Adds the event after which there are no others, whether or not there is room.
    pub(super) fn add_last(&mut self, event: Event) {
        self.waiting.push_back(event);
        self.news += 1;
    }

    pub(super) fn take_news(&mut self) -> usize {
        std::mem::take(&mut self.news)
    }

    pub(super) fn next(&mut self) -> Option<Event> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_wire::id::Lid;

    #[test]
    fn each_change_is_an_event() {
        let before = PortStatus::default();
        type Change = fn(&mut PortStatus);
        let cases: [(Change, &[Event]); 8] = [
            (|_| {}, &[]),
            (|status| status.base_lid = Lid(4), &[Event::LidChange]),
            (|status| status.p_keys.push(1), &[Event::PKeyChange]),
            (|status| status.sm_lid = Lid(1), &[Event::SmChange]),
            (|status| status.state = ACTIVE, &[Event::PortActive]),
            (|status| status.subnet_prefix = 1, &[Event::GidChange]),
            (|status| status.reregistrations = 1, &[Event::Reregister]),
            (|status| status.rate = 100, &[]),
        ];
        for (change, expected) in cases {
            let mut after = before.clone();
            change(&mut after);
            assert_eq!(events(&before, &after), expected);
        }
        let active = PortStatus {
            state: ACTIVE,
            ..before.clone()
        };
        assert_eq!(events(&active, &before), [Event::PortError]);
    }

    #[test]
    fn a_program_that_does_not_look_misses_events() {
        let mut watch = Watch::default();
        for _ in 0..2 * EVENTS_MAX {
            watch.add(&[Event::SmChange]);
        }
        assert_eq!(watch.take_news(), EVENTS_MAX);
        assert_eq!(std::iter::from_fn(|| watch.next()).count(), EVENTS_MAX);
    }
}
