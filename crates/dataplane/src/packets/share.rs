//! The devices that one of several simulations owns, and its mail for the others.

use std::sync::Arc;

use super::Picos;
use super::calendar::Event;
use super::simulation::Simulation;
use super::store::Packet;
use crate::network::PortIndex;

/// Mail for another simulation.
#[derive(Debug, Clone, Default)]
pub(super) struct Mail {
    /// Packets on cables.
    flights: Vec<Packet>,
    /// Returning credits, and notices of late tails.
    events: Vec<Event>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        self.flights.is_empty() && self.events.is_empty()
    }
}

/// Its own devices. All of them by default.
#[derive(Debug, Clone, Default)]
pub(super) struct Share {
    /// The simulation that each port belongs to; empty where there is only one.
    owners: Arc<[u8]>,
    own: u8,
    /// For each simulation.
    out: Vec<Mail>,
    /// Time of the first item in `out`.
    first: Option<Picos>,
    /// Packets in `out`.
    packets: usize,
}

impl Share {
    /// The share number `own` of `count`.
    pub(super) fn new(owners: Arc<[u8]>, own: u8, count: usize) -> Self {
        Self {
            owners,
            own,
            out: vec![Mail::default(); count],
            first: None,
            packets: 0,
        }
    }

    #[inline]
    pub(super) fn owns(&self, port: u32) -> bool {
        self.owners
            .get(port as usize)
            .is_none_or(|owner| *owner == self.own)
    }

    fn mail(&mut self, to: u32, at: Picos) -> &mut Mail {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        &mut self.out[usize::from(self.owners[to as usize])]
    }
}

impl Simulation {
    /// Whether it moves the device that a port is on.
    pub fn owns(&self, port: PortIndex) -> bool {
        self.share.owns(port.0)
    }

    pub(super) fn moves_switch(&self, index: usize) -> bool {
        self.share.owns(self.switches[index].base)
    }

    /// A packet on a cable to another's device.
    #[cold]
    pub(super) fn fly_away(&mut self, id: u32) {
        let packet = self.store.remove(id);
        let (at, _) = self.landing(&packet);
        self.share.packets += 1;
        self.share.mail(packet.ingress, at).flights.push(packet);
    }

    /// Sends an event to a port of another simulation's device.
    #[cold]
    pub(super) fn send_away(&mut self, port: u32, event: Event) {
        self.share.mail(port, event.at).events.push(event);
    }

    /// When the first thing will happen that it knows of, its own or another's.
    pub(super) fn next(&self) -> Option<Picos> {
        let own = self.calendar.peek();
        own.into_iter().chain(self.share.first).min()
    }

    /// Packets that it has, and has for others.
    pub(super) fn packets(&self) -> usize {
        self.store.len() + self.share.packets
    }

    /// Passes its mail for each other simulation to `give`, which empties it.
    pub(super) fn post(&mut self, mut give: impl FnMut(usize, &mut Mail)) {
        if self.share.first.take().is_none() {
            return;
        }
        self.share.packets = 0;
        for (to, mail) in self.share.out.iter_mut().enumerate() {
            if !mail.is_empty() {
                give(to, mail);
            }
        }
    }

    /// Takes what another has put into a box.
    pub(super) fn take_in(&mut self, mail: &mut Mail) {
        for packet in mail.flights.drain(..) {
            let id = self.store.add(packet);
            self.land(id);
        }
        for event in mail.events.drain(..) {
            self.calendar.push(event.at, event.code);
        }
    }
}
